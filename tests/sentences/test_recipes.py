"""Recipes: the training parts of public sets as they are published, and whom to credit."""

import gzip
import json

import pytest

from wordveil.errors import ParameterError
from wordveil.sentences.building import StockSettings, build_stock
from wordveil.sentences.recipes import RECIPES, followed, gathered
from wordveil.sentences.stock import load_stock
from wordveil_lab.rows import data_folder, read_rows

TRAINING = [f"She {did} the {what} again." for did in ("saw", "moved", "washed") for what in ("card", "boat", "house")]
OTHER = "The test part must not be in here."
SPLITS = "data/paper_splits/splits_annotated_at_turn_level"
TURNS = "conversationId\tturnNumber\tutteranceId\tutterance\tslot-labels\tintent\n"


def published(folder):
    """Write the sets as their authors publish them, a few rows each: where they are nested, how they are quoted."""
    files = {
        "banking_data/train.csv": 'text,category\n"Is my card here, or lost?",card\n' + "".join(
            f"{text},card\n" for text in TRAINING
        ),
        "banking_data/test.csv": f"text,category\n{OTHER},card\n",
        f"{SPLITS}/airline/train.tsv": f"{TURNS}"
        'c\t0\tu\ti want to "book" a flight\tO O O O O O\tbook\nc\t1\tu\tmy name is brown now\tO O O name O\tcontent\n',
        f"{SPLITS}/media/train.tsv": f"{TURNS}c\t0\tu\tfix the slow net\tO O O O\tx\n"
        "c\t1\tu\tit is down again\tO O O O\tx\n",
        f"{SPLITS}/media/test.tsv": f"{TURNS}c\t0\tu\t{OTHER}\tO O O O O O O O\tx\n",
        "Main-Dataset/MTS-Dialog-TrainingSet.csv": 'ID,section_header,section_text,dialogue\n'
        '0,CC,"The pain is worse at night, he says.  He sleeps badly.","Doctor: How\nare you?"\n',
        "data/challenge_data/train.csv": "dataset,encounter_id,dialogue,note\n"
        'x,1,"[doctor] hi","The knee\nis sore today."\n',
        "data/challenge_data/valid.csv": f"dataset,encounter_id,dialogue,note\nx,1,hi,{OTHER}\n",
        "4_MPlus_QA/0000001.xml": "<Document><QAPairs><QAPair><Question>What is it?</Question>"
        "<Answer>It is a rash &amp; itches.</Answer></QAPair><QAPair><Answer/></QAPair></QAPairs></Document>",
    }  # fmt: skip
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")


def texts(recipe, folder):
    return [[text for path in one.files for text in one.texts(path)] for one in gathered(recipe, folder)]


def test_the_training_parts_are_read_as_they_are_published(tmp_path):
    published(tmp_path)
    banking, turns = texts("support", tmp_path)
    assert banking == ["Is my card here, or lost?", *TRAINING]
    assert turns == [
        'i want to "book" a flight',
        "fix the slow net",
        "it is down again",
    ]  # the turn with a marked name is left out
    assert texts("clinical", tmp_path) == [
        ["The pain is worse at night, he says.  He sleeps badly."],
        ["The knee\nis sore today."],
        ["It is a rash & itches."],
    ]


def test_a_stock_by_recipe_names_sources_licences_and_credits(tmp_path):
    published(tmp_path)
    settings = followed("support", StockSettings(prototypes=(2,), each=2))
    sets = gathered("support", tmp_path)
    stock = build_stock(sets, tmp_path / "stock", settings)
    assert stock.embeddings.header.licence == "CC-BY-4.0 AND CDLA-Permissive-1.0"
    assert stock.embeddings.header.source == "BANKING77, MultiDoGO"
    notice = (tmp_path / "stock" / "NOTICE").read_text()
    for one in RECIPES["support"]:
        assert f"{one.name}: {one.credit}. {one.address} ({one.licence})" in notice
    assert [source["name"] for source in stock.facts.sources] == ["train.csv", "train.tsv", "train.tsv"]
    assert stock.facts.kept == 4  # two of the ten of one set, two of the three of the other, whose files count as one
    assert load_stock(tmp_path / "stock").embeddings.header == stock.embeddings.header


def test_a_set_that_is_missing_is_named_with_where_to_get_it(tmp_path):
    published(tmp_path)
    (tmp_path / "4_MPlus_QA/0000001.xml").unlink()
    with pytest.raises(ParameterError, match=r"the training part of MedQuAD \(https://github.com/abachaa/MedQuAD\)"):
        gathered("clinical", tmp_path)
    with pytest.raises(ParameterError, match="must be one of support, clinical"):
        gathered("legal", tmp_path)


def test_rows_of_another_part_in_the_same_file_are_left_out(tmp_path):
    published(tmp_path)
    with gzip.open(tmp_path / "aci-bench.jsonl.gz", "wt") as lines:
        for split, note in (("train", "He feels well now."), ("valid", OTHER), ("test1", OTHER)):
            lines.write(json.dumps({"split": split, "note": note}) + "\n")
    with gzip.open(tmp_path / "multidogo-customer.jsonl.gz", "wt") as lines:
        for text, slots in (("it works again now", []), ("i am brown", [[2, 3, "name"]]), ("who knows what", None)):
            lines.write(json.dumps({"split": "train", "text": text, "slots": slots}) + "\n")
    assert texts("clinical", tmp_path)[1] == ["He feels well now."]
    assert texts("support", tmp_path)[1] == ["it works again now"]


@pytest.mark.data
def test_the_shared_sets_give_their_training_parts():
    folder = data_folder()
    if folder is None:
        pytest.skip("the folder of data sets is not named by WORDVEIL_DATA")
    notes, encounters, answers = texts("clinical", folder)
    assert len(notes) == len(list(read_rows("privacy/mts-dialog.train.jsonl.gz", ["note"])))
    assert len(encounters) == 67
    assert len(answers) > 4000
    banking, turns = texts("support", folder)
    assert len(banking) == 10_003
    held_out = {
        row["text"] for row in read_rows("documents/multidogo-customer.jsonl.gz", ["text"]) if row["split"] != "train"
    }
    assert len(set(turns) - held_out) > 10_000
