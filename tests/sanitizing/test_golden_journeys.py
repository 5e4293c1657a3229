"""Nine journeys under a fixed key, held to stored digests: no change moves noise or released bytes unseen.

What another machine, library or version of the package would change is kept out: tables hold whole numbers, the
version in every place is pinned, Parquet is compared by its values and the salt of a service's retry is given. Whoever
changes a digest says under Guarantees of the changelog what has moved, and writes the file anew with
`WORDVEIL_GOLDEN=write`.
"""

import hashlib
import importlib
import json
import os
import sys
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest

import seeds
import wordveil as wv
from wordveil.documents import DocumentSettings
from wordveil.files.run_key import save_run_key
from wordveil.kernels.compiled.library import available_engines
from wordveil.metrics.distances import Mahalanobis
from wordveil.randomness import DocumentStreams
from wordveil.runs.sanitize import fingerprint, sanitize_documents
from wordveil.runs.tables import released_columns

STORED = Path(__file__).with_name("golden_journeys.json")
BECAUSE = "golden_journeys.json holds the digests of what these draws release"
KEY = seeds.fixed(26, because=BECAUSE).bytes(16)
WORDS = [f"{a}{b}" for a in ("ba", "do", "ki", "lu") for b in ("ra", "sto", "ti", "vel")]
SYLLABLES = ["ba", "do", "ki", "lu", "me", "nu", "po", "ra", "si", "to", "vu"]
ROWS = seeds.fixed(3, because=BECAUSE).permutation(64).reshape(16, 4)  # whole numbers: every distance is exact
TABLE = wv.Embeddings.from_arrays(WORDS, ROWS.astype(float), name="golden")
MECHANISM = wv.NeighbourResponse(epsilon=2.0, k=4, outputs=None)
TEXT = "Bara dosto kiti, maria luvel! On 14 March 2026 doti wrote to bati@example.org of 17 unknown kira."
RECORDS = [{"title": f"Bara {n} dora", "note": TEXT if n % 3 else None, "stars": n} for n in range(7)]


@pytest.fixture(autouse=True)
def version(monkeypatch):
    """A release draws noise of its own in every version: the digests are those of one that never was."""
    for module in ("sanitizing.places", "sentences.rephrasing", "sanitizing.assembly", "runs.vectors.binding"):
        importlib.import_module(f"wordveil.{module}")
    for name, module in list(sys.modules.items()):
        if name.startswith("wordveil.") and "__version__" in vars(module):
            monkeypatch.setattr(module, "__version__", "golden")


@pytest.fixture
def held(monkeypatch):
    """Hold the places of a journey's noise, in no order, and what it released against the stored digests."""
    places = set()
    begin = DocumentStreams.__init__

    def noted(streams, stream, nonces, counts):
        places.update(nonces)
        begin(streams, stream, nonces, counts)

    monkeypatch.setattr(DocumentStreams, "__init__", noted)

    def check(journey, released):
        found = {"places": _digest(sorted(places)), "released": _digest(released)}
        stored = json.loads(STORED.read_text()) if STORED.exists() else {}
        if os.environ.get("WORDVEIL_GOLDEN") == "write":
            STORED.write_text(json.dumps({**stored, journey: found}, indent=2, sort_keys=True) + "\n")
        else:
            assert found == stored[journey]

    return check


def _digest(values):
    return hashlib.sha256(json.dumps(values).encode()).hexdigest()


def sanitizer(**options):
    options = wv.TextOptions(**{"unknown": "typed", **options})
    return wv.Sanitizer(TABLE, MECHANISM, options=options, source=wv.RandomSource(KEY), engine="numpy")


def test_text(held):
    grid = wv.NumberGrid(kind="number", low=0, high=100, step=5, epsilon=0.5)
    plain, typed = sanitizer(unknown="random"), sanitizer(numbers="metric", grids=(grid,))
    once = sanitizer(per="document", casing="shape")
    held("text", [each(TEXT * 3, document_id="a").text for each in (plain, typed, once)])


def test_drawn_and_decoded_words(held):
    """By weights and from vectors, over words that tie and repeat: every engine that runs here releases the same."""
    words = ["".join(parts) for parts in product(SYLLABLES, SYLLABLES, SYLLABLES)]
    rows = seeds.fixed(5, because=BECAUSE).integers(-9, 10, (len(words), 3)).astype(float)
    table = wv.Embeddings.from_arrays(words, rows, name="golden", candidate_rule="all")
    turned = Mahalanobis(whitening=np.diag([0.5, 1.0, 2.0]))
    mechanisms = (wv.TEM(epsilon=1.5), wv.SanText(epsilon=0.75, metric=turned), wv.MultivariateLaplace(epsilon=1.0))
    text, released = " ".join(words), {}
    for engine, mechanism in product(available_engines(), mechanisms):
        made = wv.Sanitizer(table, mechanism, source=wv.RandomSource(KEY), engine=engine)
        released.setdefault(engine, []).append(made(text, document_id="a").text)
    assert all(texts == released["numpy"] for texts in released.values())
    held("drawn and decoded words", released["numpy"])


def test_table(held, tmp_path):
    chosen = DocumentSettings(columns=("title", "note"), keep=("stars",))
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in RECORDS))
    lines = [f'"{row["title"]}","{row["note"] or ""}",{row["stars"]}\n' for row in RECORDS]
    (tmp_path / "in.csv").write_text("title,note,stars\n" + "".join(lines))
    released = []
    for name in ("in.jsonl", "in.csv"):
        sanitize_documents(tmp_path / name, tmp_path / f"out-{name}", sanitizer(), settings=chosen)
        released.append((tmp_path / f"out-{name}").read_text())
    columns = {name: [row[name] for row in RECORDS] for name in ("title", "note")}
    held("table", [released, released_columns(columns, sanitizer(), [*"abcdefg"])])


def test_parquet_tree(held, tmp_path):
    pa = pytest.importorskip("pyarrow")
    parquet = importlib.import_module("pyarrow.parquet")
    for part in ("day=0", "day=1"):
        (tmp_path / "in" / part).mkdir(parents=True)
        parquet.write_table(pa.Table.from_pylist(RECORDS), tmp_path / "in" / part / "0.parquet", row_group_size=3)
    chosen = DocumentSettings(columns=("title", "note"), drop_others=True)
    sanitize_documents(tmp_path / "in", tmp_path / "out", sanitizer(), settings=chosen)
    files = sorted((tmp_path / "out").rglob("*.parquet"))
    read = {str(file.relative_to(tmp_path)): parquet.ParquetFile(file).read().to_pylist() for file in files}
    held("parquet tree", read)


def test_vectors(held):
    mechanisms = (wv.ClippedLaplace(epsilon=8.0), wv.MultivariateLaplace(epsilon=2.0))
    settings = wv.VectorSettings(grid=2.0**-6)  # so coarse that the last bits of no processor's logarithm show
    given = {"settings": settings, "name": "rows"}
    released = [
        wv.release_vectors(ROWS / 64.0, each, source=wv.RandomSource(KEY), **given).vectors.tolist()
        for each in mechanisms
    ]
    table = {"vocabulary": TABLE, "source": wv.RandomSource(KEY)}
    fitted = wv.release_vectors(TABLE.vectors, mechanisms[1], **table, **given)
    held("vectors", [*released, fitted.vectors.tolist()])


def test_rephrase(held):
    """Over the stock that comes with wordveil: one that is built here has rows of this machine's last bits."""
    grid = wv.NumberGrid(kind="number", low=0, high=20, step=1, epsilon=0.5)
    text = "The soldier sold 5 apples. A doctor painted the small boat. We saw nothing!"
    made = [wv.Rephraser(epsilon=6.0, grids=grids, source=wv.RandomSource(KEY)) for grids in ((), (grid,))]
    held("rephrase", [each(text, document_id="a").text for each in made])


def test_denoise(held):
    words = [["the", "a"], ["dog", "cat", "bird"], ["runs", "sleeps", "sings"], ["here", "there"]]
    table = wv.Embeddings.from_arrays([word for group in words for word in group], ROWS[:10, :3], candidate_rule="all")
    public = [" ".join(choice) + "." for choice in product(*words) if len(choice[1]) != len(choice[2])]
    made = wv.Denoiser(
        table, wv.SanText(epsilon=0.25), prior=wv.build_prior(public * 9, table, source="x"), public=public, least=0.0
    )
    held("denoise", [each.text for each in made.read(["The dog sings here.", "A runs bird there!", "The a a the."])])


def test_spark(held, tmp_path):
    """What an executor runs, in this process: it needs Arrow, and no Spark."""
    pa = pytest.importorskip("pyarrow")
    workers = importlib.import_module("wordveil.spark.workers")
    save_run_key(tmp_path / "key", KEY)
    batch = pa.RecordBatch.from_pylist([{workers.ID: f"n{i}", **row} for i, row in enumerate(RECORDS)])
    made = sanitizer()
    how = {"sanitizer": workers.packed_for_tasks(made), "noise": fingerprint(made), "key_file": str(tmp_path / "key")}
    task = workers.Texts(columns=("title", "note"), name="golden", counted=True, **how)
    (texts,) = task(iter([batch]))
    rows = pa.RecordBatch.from_pylist([{workers.ID: f"n{i}", "row": row} for i, row in enumerate(ROWS.tolist())])
    where = {"column": "row", "name": "golden", "key_file": str(tmp_path / "key"), "dimensions": 4}
    settings = wv.VectorSettings(grid=2.0**-6)
    vectors = workers.Vectors.for_frame((wv.ClippedLaplace(epsilon=8.0), None, settings), **where)
    held("spark", [texts.to_pylist(), [part.to_pylist() for part in vectors(iter([rows]))]])


def test_service(held, service):
    made = service(sanitizer())
    request = made.messages.TextRequest(text=TEXT)
    asked = made.Asked(texts=[TEXT, TEXT[:20]], how=request, caller=made.caller, retry="again", nonce="n" * 16)
    (counted,) = made.releaser.count([asked])
    charged = replace(made.ledger.charge(counted.charge), salt="5a" * 32)
    (answer,) = made.releaser.draw([(counted, charged)])
    held("service", [answer.texts, answer.tokens, answer.cost])
