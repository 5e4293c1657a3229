"""Noise has one name, and what is released is read once: by the source, and by a trace of three journeys."""

import importlib
import re
from collections import Counter
from pathlib import Path

import pytest

import seeds
import wordveil as wv
from wordveil.errors import ParameterError
from wordveil.files.run_key import save_run_key
from wordveil.runs.sanitize import fingerprint, sanitize_documents
from wordveil.runs.tables import released_columns
from wordveil.sanitizing.places import Place, nonces

ROOT = Path(__file__).parents[2]
KEY = seeds.key(11)
WORDS = [f"{a}{b}" for a in ("ba", "do", "ki") for b in ("ra", "sto", "ti")]
TEXTS = [f"{one} {other}!" for one in WORDS for other in WORDS]
TABLE = wv.Embeddings.from_arrays(WORDS, seeds.rng(11).normal(size=(9, 3)))


@pytest.fixture
def sanitizer():
    return wv.Sanitizer(TABLE, wv.NeighbourResponse(epsilon=2.0, k=3, outputs=None), source=wv.RandomSource(KEY))


def test_nonces_are_made_in_one_module_alone():
    making = re.compile(r"\bdocument_nonce\(|\.nonces\(")
    sources = [*ROOT.glob("src/wordveil/**/*.py"), *ROOT.glob("lab/src/**/*.py")]
    makers = {path.relative_to(ROOT).as_posix() for path in sources if making.search(path.read_text(encoding="utf-8"))}
    assert makers == {"src/wordveil/randomness.py", "src/wordveil/sanitizing/places.py"}


def test_places_differ_by_each_of_what_names_them_and_by_where_texts_end():
    source, one = wv.RandomSource(KEY), {"domain": "d|", "document": "a", "part": "p"}
    others = [one | {name: "other"} for name in one]
    where = nonces(source, [Place(**each) for each in [one, *others]], [["ba", "ra"]] * 4)
    where += nonces(source, [Place(**one)] * 4, [["bara"], ["bar", "a"], "bara", b"ba"])
    assert len(set(where)) == 8
    assert "secret" not in repr(Place(domain="d|", document="secret"))
    assert nonces(source, [Place(**one)], [["ba", "ra"]]) == where[:1]


def test_prepared_documents_are_released_as_if_read_at_once_and_cost_what_is_released(sanitizer):
    documents, ids = [TEXTS[:3], [], TEXTS[3:4]], ["a", "b", "c"]
    prepared = sanitizer.prepare(documents)
    assert prepared.cost.tolist() == [6, 0, 2]
    assert "bara" not in repr(prepared)
    whole = sanitizer.release_documents(documents, ids=ids)
    for _ in range(2):  # what was prepared is not used up
        assert sanitizer.release(prepared, sanitizer.places(ids)) == whole
    apart = [sanitizer.prepare([each]) for each in documents]
    assert sanitizer.release(type(prepared).joined(apart), sanitizer.places(ids)) == whole
    assert whole.tokens == prepared.cost.sum()
    with pytest.raises(ParameterError, match="lists of str"):
        sanitizer.prepare(["bara"])


def test_a_run_and_a_table_read_each_text_once(sanitizer, encoded, tmp_path):
    (tmp_path / "in.txt").write_text("\n".join(TEXTS) + "\n")
    sanitize_documents(tmp_path / "in.txt", tmp_path / "out.txt", sanitizer)
    assert Counter(encoded) == dict.fromkeys(TEXTS, 1)
    encoded.clear()
    released_columns({"a": TEXTS[::2], "b": [None, *TEXTS[1:-1:2]]}, sanitizer)
    assert set(Counter(encoded).values()) == {1}


def test_a_row_of_spark_is_read_once(sanitizer, encoded, tmp_path):
    pa = pytest.importorskip("pyarrow")
    workers = importlib.import_module("wordveil.spark.workers")
    save_run_key(tmp_path / "key", KEY)
    batch = pa.RecordBatch.from_pylist([{workers.ID: f"n{i}", "text": text} for i, text in enumerate(TEXTS)])
    packed, noise = workers.packed_for_tasks(sanitizer), fingerprint(sanitizer)
    task = workers.Texts(columns=("text",), sanitizer=packed, noise=noise, key_file=str(tmp_path / "key"))
    assert len(next(iter(task(iter([batch]))))) == len(TEXTS)
    assert Counter(encoded) == dict.fromkeys(TEXTS, 1)
