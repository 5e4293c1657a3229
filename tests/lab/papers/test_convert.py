"""Every role's file from an original of the same inner form, made up here; then read as reproductions read it."""

import io
import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from wordveil.errors import DataFormatError, ParameterError
from wordveil.vocabulary.table import load_embeddings
from wordveil_lab.evaluation.data import read_labelled, scored_pairs
from wordveil_lab.package import told
from wordveil_lab.papers import convert as converting
from wordveil_lab.papers.convert import convert
from wordveil_lab.rows import file_digest, read_rows

PAGE = Path(__file__).resolve().parents[3] / "docs/results/data.md"
TREES = "(3 (2 A) (3 (3 good) (2 -LRB-film-RRB-)))\n(2 (2 So) (2 so))\n(0 (1 Bad) (2 .))\n"
QUESTIONS = "DESC:manner How did it end ?\nNUM:date When was caf\xe9 coined : now ?\n"
CSV = '"3","A ""title""","Some, text","end"\n"1","Other","More\ttext\\n","end"\n'
TEXTS = {"0": ["a dull\tfilm", "it – fails"], "1": ["a joy", "bright caf\xe9"]}


def two(negative, positive, encoding="utf-8"):
    parts = zip((negative, positive), TEXTS.values(), strict=True)
    return {name: ("\n".join(lines) + "\n").encode(encoding) for name, lines in parts}


def tarred(path, files):
    with tarfile.open(path, "w:gz" if path.name.endswith("gz") else "w") as archive:
        for name, data in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return path


def zipped(path, files):
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return path


def folder(path, files):
    for name, data in files.items():
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_bytes(data)
    return path


REVIEWS = {
    f"aclImdb/{part}/{side}/{i}_7.txt": f"{side} {part} {i}\nend<br />".encode()
    for part in ("train", "test")
    for side in ("neg", "pos", "unsup")
    for i in range(2)
}
PUZZLE = b"house plant\tsequoia\tfern\torchid\tbromeliad\tbonsai tree\n"
ORIGINALS = {
    "imdb-train": (tarred, "aclImdb_v1.tar.gz", REVIEWS),
    "imdb-test": (tarred, "aclImdb_v1.tar.gz", REVIEWS),
    "opinion-lexicon": (
        folder,
        "opinion-lexicon-English",
        {"positive-words.txt": b";;;;\n; note\n\na+\nna\xefve\n", "negative-words.txt": b"; note\n\nbad\n"},
    ),
    "mr": (tarred, "rt-polaritydata.tar.gz", two("rt/rt-polarity.neg", "rt/rt-polarity.pos", "cp1252")),
    "cr": (folder, "CR", two("custrev.neg", "custrev.pos")),
    "mpqa": (zipped, "MPQA.zip", two("MPQA/mpqa.neg", "MPQA/mpqa.pos")),
    "trec6-train": (folder, "qc", {"train_5500.label": QUESTIONS.encode("latin-1")}),
    "trec6-test": (folder, "qc", {"TREC_10.label": QUESTIONS.encode("latin-1")}),
    "men": (tarred, "MEN.tar.gz", {"MEN/MEN_dataset_natural_form_full": b"sun sunlight 50.000000\n"}),
    "simlex": (
        zipped,
        "SimLex-999.zip",
        {"SimLex-999/SimLex-999.txt": b"word1\tword2\tPOS\tSimLex999\nold\tnew\tA\t1.58\n"},
    ),
    "simverb": (zipped, "simverb.zip", {"data/SimVerb-3500.txt": b"take\tremove\tV\t6.81\tSYNONYMS\n"}),
    "stsb": (
        tarred,
        "Stsbenchmark.tar.gz",
        {"stsbenchmark/sts-test.csv": b'main-captions\tMSRvid\t2012test\t0024\t2.500\tA "girl.\tA man.\n'},
    ),
    "odd-man-out": (tarred, "data.tar.gz", {"data/common1.tsv": PUZZLE, "data/crowdsourced_unfiltered.tsv": PUZZLE}),
    "yelp-train": (folder, "yelp", two("sentiment.train.0", "sentiment.train.1")),
    "yelp-test": (folder, "yelp", two("sentiment.test.0", "sentiment.test.1")),
    "yelp-reviews": (
        tarred,
        "yelp_dataset.tar",
        {"yelp_academic_dataset_review.json": b'{"stars": 5.0, "text": "joy\\n!"}\n{"stars": 3.0, "text": "so"}\n'},
    ),
    **{
        f"sst{n}-{part}": (zipped, "trees.zip", {f"trees/{part}.txt": TREES.encode()})
        for n in (2, 5)
        for part in ("train", "test")
    },
    **{
        f"{name}-{part}": (tarred, f"{name}_csv.tar.gz", {f"{name}_csv/{part}.csv": CSV.encode()})
        for name in ("agnews", "yahoo")
        for part in ("train", "test")
    },
}
SENTENCES = [("0", "a dull film"), ("0", "it – fails"), ("1", "a joy"), ("1", "bright café")]
TREC = [("1", "DESC", "manner", "How did it end ?"), ("5", "NUM", "date", "When was café coined : now ?")]
NEWS = [("2", 'A "title"', "Some, text"), ("0", "Other", "More text\\n")]
FIVE, TWO = [("3", "A good (film)"), ("2", "So so"), ("0", "Bad .")], [("1", "A good (film)"), ("0", "Bad .")]
MADE = {
    "opinion-lexicon": [("bad", "negative"), ("a+", "positive"), ("naïve", "positive")],
    "mr": SENTENCES,
    "cr": SENTENCES,
    "trec6-train": TREC,
    "men": [("sun", "sunlight", "50.0")],
    "simlex": [("old", "new", "1.58")],
    "simverb": [("take", "remove", "6.81")],
    "stsb": [("2.5", 'A "girl.', "A man.")],
    "odd-man-out": [("common1", "house plant", "sequoia", "fern|orchid|bromeliad|bonsai tree")],
    "yelp-reviews": [("1", "joy !")],
    "sst2-train": TWO,
    "sst5-train": FIVE,
    "agnews-train": NEWS,
    "yahoo-train": [("3", 'A "title" Some, text end'), ("1", "Other More text\\n end")],
}
SAME = {"mpqa": "cr", "yelp-train": "cr", "yelp-test": "cr", "trec6-test": "trec6-train"}
SAME |= {f"{name}-test": f"{name}-train" for name in ("sst2", "sst5", "agnews", "yahoo")}


@pytest.fixture
def unchecked(monkeypatch):
    """Leave the known checksums out: what is made up here has others."""
    forms = {
        role: {k: v for k, v in form.items() if k != "checksum"} for role, form in told("papers/originals.toml").items()
    }
    monkeypatch.setattr(converting, "told", lambda name: forms)


def original(role, tmp_path):
    make, name, files = ORIGINALS[role]
    return make(tmp_path / name, files)


def test_every_role_has_an_original_here():
    assert set(ORIGINALS) | {"glove"} == set(told("papers/originals.toml"))
    assert set(MADE) | set(SAME) | {"imdb-train", "imdb-test"} == set(ORIGINALS)


@pytest.mark.parametrize("role", [*MADE, *SAME])
def test_a_table_of_a_role_holds_the_rows_of_its_original(role, tmp_path):
    out = tmp_path / "made.tsv"
    rows = MADE[SAME.get(role, role)]
    assert convert(role, original(role, tmp_path), out) == len(rows)
    columns = told("papers/originals.toml")[role]["columns"]
    assert [tuple(row[column] for column in columns) for row in read_rows(out, tuple(columns))] == rows
    assert out.read_text(encoding="utf-8").count("\n") == len(rows) + 1


@pytest.mark.parametrize("part", ["train", "test"])
def test_reviews_keep_their_lines_and_their_classes(part, tmp_path, unchecked):
    out = tmp_path / "imdb.jsonl.gz"
    assert convert(f"imdb-{part}", original(f"imdb-{part}", tmp_path), out) == 4
    found = [(item.label, item.text) for item in read_labelled(out)]
    assert found == [
        (str(n), f"{side} {part} {i}\nend<br />") for n, side in enumerate(("neg", "pos")) for i in range(2)
    ]


def test_what_is_made_is_read_as_reproductions_read_it(tmp_path):
    convert("simlex", original("simlex", tmp_path), tmp_path / "simlex.tsv")
    convert("stsb", original("stsb", tmp_path), tmp_path / "stsb.tsv")
    convert("agnews-test", original("agnews-test", tmp_path), tmp_path / "ag.jsonl")
    assert [pair.score for pair in scored_pairs(tmp_path / "simlex.tsv", ("word1", "word2"))] == [1.58]
    assert [pair.score for pair in scored_pairs(tmp_path / "stsb.tsv", ("sentence1", "sentence2"))] == [2.5]
    assert read_labelled(tmp_path / "ag.jsonl", text="title+description")[0].text == 'A "title" Some, text'


@pytest.mark.parametrize("name", ["glove.6B.50d.txt", "glove.6B.50d.txt.gz"])
def test_a_table_of_vectors_leaves_its_archive_as_it_is(name, tmp_path, unchecked):
    files = {"glove.6B.50d.txt": b"the 0.5 -1\nof 2 0.25\n", "glove.6B.100d.txt": b"the 1 2 3\n"}
    assert convert("glove", zipped(tmp_path / "glove.6B.zip", files), tmp_path / name) == 2
    table = load_embeddings(tmp_path / name)
    assert (list(table.words), table.vectors.tolist()) == (["the", "of"], [[0.5, -1.0], [2.0, 0.25]])


def test_another_download_than_the_known_one_is_refused_and_nothing_is_left(tmp_path):
    with pytest.raises(DataFormatError, match=r"has not the md5 .*Download it again"):
        convert("imdb-train", original("imdb-train", tmp_path), tmp_path / "out.jsonl")
    with pytest.raises(DataFormatError, match=r"holds nothing of men: \*MEN_dataset"):
        convert("men", original("simlex", tmp_path), tmp_path / "out.tsv")
    with pytest.raises(DataFormatError, match=r"a record in .*SimVerb-3500\.txt with too few cells"):
        convert("simverb", folder(tmp_path / "short", {"SimVerb-3500.txt": b"take\tremove\n"}), tmp_path / "out.tsv")
    with pytest.raises(ParameterError, match=r"must end in \.tsv"):
        convert("men", original("men", tmp_path), tmp_path / "out.csv")
    with pytest.raises(ParameterError, match="must be one of glove, imdb-train"):
        convert("imdb", original("men", tmp_path), tmp_path / "out.tsv")
    assert not (tmp_path / "out.tsv").exists()


def test_the_command_prints_what_it_wrote_and_its_checksum(tmp_path):
    out = tmp_path / "men.tsv"
    program = [sys.executable, "-m", "wordveil_lab.papers.convert"]
    answer = subprocess.run([*program, "men", original("men", tmp_path), out], capture_output=True, text=True)
    assert answer.stdout == f"{out}: 1 records, sha256 {file_digest(out)}\n"
    refused = subprocess.run([*program, "nothing", out, out], capture_output=True, text=True)
    assert refused.returncode == 1
    assert "must be one of glove" in refused.stderr
    assert "Traceback" not in refused.stderr


def test_the_page_names_the_command_of_every_role():
    named = set(re.findall(r"`convert ([a-z0-9-]+) ", PAGE.read_text(encoding="utf-8")))
    assert named == set(told("papers/originals.toml"))
