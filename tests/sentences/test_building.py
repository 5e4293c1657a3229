"""Stocks: what is in one, where its prototypes and its curve come from, builds that are killed, recipes and credits."""

import gzip
import json
import math

import numpy as np
import pytest
from tests.dying import interrupt_after

import seeds
from wordveil.documents import DocumentSettings
from wordveil.errors import DocumentFormatError, EmbeddingFormatError, ParameterError, ResumeError
from wordveil.sentences.building import StockSettings, build_stock, prototypes
from wordveil.sentences.encoding import encoder_named
from wordveil.sentences.recipes import RECIPES, followed, gathered
from wordveil.sentences.slots import clean, fill
from wordveil.sentences.splitting import split_sentences
from wordveil.sentences.stock import load_stock
from worlds import told

SMALL = {"prototypes": (4, 16), "held_out": 60, "name": "small", "each": 300}


def contents(folder):
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def test_a_stock_holds_cleaned_public_sentences_and_says_where_from(stock, public):
    said = {clean(sentence).sentence for sentence in split_sentences(public.read_text())}
    words = list(stock.embeddings.words)
    assert set(words) <= said
    assert {n: len(level.ids) for n, level in stock.levels.items()} == {8: 8, 64: 64}
    assert set().union(*(level.ids for level in stock.facts.levels)) == set(range(len(words)))
    assert stock.facts.kept + sum(stock.facts.dropped.values()) == 1008
    assert [source["name"] for source in stock.facts.sources] == ["public.txt"]
    assert stock.embeddings.header.licence == "CC0-1.0"
    stock.embeddings.verify()


def test_the_curve_is_the_mean_over_sentences_that_are_no_prototypes(public, tmp_path):
    """Against the definition, sentence by sentence."""
    seen = []
    stock = build_stock([public], tmp_path / "stock", StockSettings(**SMALL), progress=lambda *said: seen.append(said))
    encoder = encoder_named("static")
    said = {clean(sentence).sentence for sentence in split_sentences(public.read_text())} - {None}
    levels = {n: [stock.embeddings.words[i] for i in level.ids] for n, level in stock.levels.items()}
    held = _held_out(sorted(said), 300, 60)
    assert not set(held) & set(stock.embeddings.words)
    for n, words in levels.items():
        cosines = encoder.rows([fill(word) for word in held]) @ encoder.rows([fill(word) for word in words]).T
        assert stock.levels[n].anywhere == pytest.approx(cosines.mean(), abs=1e-6)
        assert stock.levels[n].near["static"] == pytest.approx(cosines.max(axis=1).mean(), abs=1e-6)
    assert {what.partition(" for ")[0] for _, _, what in seen} == {
        "files read", "sentences encoded", "rounds of clustering",
    }  # fmt: skip


def _held_out(sentences, each, n):
    import hashlib

    order = sorted(sentences, key=lambda one: hashlib.blake2b(one.encode(), digest_size=8).digest())
    return order[:each][: min(n, each // 5)]


def test_the_best_size_is_that_of_the_curve(stock):
    for epsilon in (0.5, 2.0, 3.0, 4.0, 6.0, 10.0):
        scores = {}
        for n, level in stock.levels.items():
            uniform = n * math.exp(-epsilon) / (1 + (n - 1) * math.exp(-epsilon))
            scores[n] = uniform * level.anywhere + (1 - uniform) * level.near["static"]
        assert stock.choose(epsilon) == max(scores, key=scores.get)
    assert (stock.choose(0.5), stock.choose(12.0)) == (8, 64)


def test_the_same_text_and_settings_give_the_same_stock_in_any_order_of_sentences(public, tmp_path):
    lines = public.read_text().splitlines()
    (tmp_path / "public.txt").write_text("\n".join([*reversed(lines), *lines]) + "\n")
    first = build_stock([public], tmp_path / "first", StockSettings(**SMALL))
    second = build_stock([tmp_path / "public.txt"], tmp_path / "second", StockSettings(**SMALL))
    assert first.embeddings.header.checksum == second.embeddings.header.checksum
    assert second.facts.dropped["repeated"] == 1008


@pytest.mark.parametrize("stop", [1, 2, 3, 5, 9])
def test_a_killed_build_goes_on_and_ends_with_the_same_bytes(public, tmp_path, stop, monkeypatch):
    monkeypatch.setattr("wordveil.sentences.building._TOGETHER", 100)
    settings = StockSettings(**SMALL)
    build_stock([public], tmp_path / "whole", settings)
    with pytest.raises(KeyboardInterrupt):
        build_stock([public], tmp_path / "part", settings, progress=interrupt_after(stop - 1))
    assert not (tmp_path / "part").exists()
    if stop > 3:
        with pytest.raises(ResumeError, match="prototypes"):
            build_stock([public], tmp_path / "part", StockSettings(**{**SMALL, "prototypes": (4,)}), resume=True)
    told, again = [], []
    build_stock(
        [public], tmp_path / "part", settings, resume=True, notice=told.append, progress=lambda *s: again.append(s)
    )
    assert contents(tmp_path / "part") == contents(tmp_path / "whole")
    assert "going on" in told[0]
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]
    if stop > 3:
        assert len([one for one in again if one[2] == "sentences encoded"]) < 2  # of 3 blocks, some were there


def test_each_file_gives_as_many_sentences_at_most(public, tmp_path):
    other = tmp_path / "other.jsonl"
    other.write_text("".join(json.dumps({"text": f"We like the colour of box {c}."}) + "\n" for c in "abcdefghij"))
    (tmp_path / "one.jsonl").write_text(
        "".join(json.dumps({"text": line}) + "\n" for line in public.read_text().splitlines())
    )
    settings = StockSettings(**{**SMALL, "each": 40}, documents=DocumentSettings(columns=("text",), keep_others=True))
    stock = build_stock([other, tmp_path / "one.jsonl"], tmp_path / "stock", settings)
    assert stock.facts.kept == 50


@pytest.mark.parametrize(("settings", "problem"), [
    ({"prototypes": (1,)}, "at least 2"),
    ({"prototypes": ()}, "at least one size"),
    ({"prototypes": (5000,)}, "at most the number of sentences"),
    ({"each": 0}, "at least 1"),
])  # fmt: skip
def test_what_cannot_be_built_is_refused_and_nothing_is_left(public, tmp_path, settings, problem):
    with pytest.raises(ParameterError, match=problem):
        build_stock([public], tmp_path / "stock", StockSettings(**{**SMALL, **settings}))
    assert list(tmp_path.iterdir()) == []


def test_a_destination_that_is_taken_no_files_and_damaged_files_are_refused(public, tmp_path):
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "file").touch()
    (tmp_path / "bad.txt").write_bytes(b"caf\xe9\n")
    with pytest.raises(ParameterError, match="already exists"):
        build_stock([public], tmp_path / "taken")
    with pytest.raises(ParameterError, match="at least one file"):
        build_stock([], tmp_path / "stock")
    with pytest.raises(DocumentFormatError):
        build_stock([tmp_path / "bad.txt"], tmp_path / "stock")


@pytest.mark.parametrize("damage", ["{", '{"version": 9}', '{"version": 1, "levels": [{"ids": [0]}]}', None])
def test_what_is_no_stock_is_refused(stock, tmp_path, damage):
    stock.embeddings.save(tmp_path / "stock")
    if damage is not None:
        (tmp_path / "stock" / "stock.json").write_text(damage)
    with pytest.raises(EmbeddingFormatError, match="is no stock of sentences"):
        load_stock(tmp_path / "stock")


def test_facts_that_name_prototypes_that_are_not_there_are_refused(stock, tmp_path):
    stock.embeddings.save(tmp_path / "stock")
    stock.facts.save(tmp_path / "stock")
    read = json.loads((tmp_path / "stock" / "stock.json").read_text())
    read["levels"][0]["ids"][0] = 4711
    (tmp_path / "stock" / "stock.json").write_text(json.dumps(read))
    with pytest.raises(EmbeddingFormatError, match="that are not there"):
        load_stock(tmp_path / "stock")


# Clustering.
def test_prototypes_are_members_and_serve_far_better_than_random_ones():
    generator = seeds.rng(3)
    centres = generator.standard_normal((12, 16))
    rows = centres[generator.integers(0, 12, 600)] + 0.3 * generator.standard_normal((600, 16))
    rows = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
    chosen = prototypes(rows, 12)
    assert len(set(chosen.tolist())) == 12
    served = (rows @ rows[chosen].T).max(axis=1).mean()
    random = [(rows @ rows[generator.choice(600, 12, replace=False)].T).max(axis=1).mean() for _ in range(50)]
    assert served > max(random)
    assert prototypes(rows, 12).tolist() == chosen.tolist()
    with pytest.raises(ParameterError, match="at most 600"):
        prototypes(rows, 601)


@pytest.mark.parametrize("n", [1, 2, 5, 6])
def test_rows_that_are_alike_still_give_as_many_different_prototypes(n):
    rows = np.eye(3, dtype=np.float32)[[0, 0, 0, 0, 1, 1]]
    assert len(set(prototypes(rows, n).tolist())) == n


TRAINING = [f"She {did} the {what} again." for did in ("saw", "moved", "washed") for what in ("card", "boat", "house")]
OTHER = "The test part must not be in here."


def published(folder):
    """Write the sets as their authors publish them."""
    files = told(__file__, "originals")
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
