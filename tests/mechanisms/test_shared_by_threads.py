"""One sanitizer that eight threads call at once gives the bytes that it gives to one thread alone.

One selection mechanism in every metric and on every engine, the others in some, with rows kept from call to call and
without; then whatever else a release goes through. Threads change turns every microsecond, as they would on a busy
machine.
"""

import os
import signal
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from threading import Barrier
from typing import Any

import contract
import numpy as np
import pytest
from contract import DECODERS
from test_contract import ALL
from tests.kernels.engines_here import every_selecting

import seeds
import wordveil as wv
from wordveil.metrics.distances import Mahalanobis
from worlds import lettered, placed, scattered

THREADS, CALLS, WORDS = 8, 32, 8
KEY = seeds.key(16)
pytestmark = pytest.mark.usefixtures("short_turns")


@cache
def table(v: int = 600, d: int = 6) -> wv.Embeddings:
    """Words of letters; the last twenty share the vectors of the first."""
    rows = scattered(1, v, d)
    rows[-20:] = rows[:20]
    return placed(rows, lettered(v))


def documents(words: Any) -> list[str]:
    places = seeds.rng(2).integers(0, len(words), (CALLS, WORDS))
    return [" ".join(words[i] for i in row) for row in places.tolist()]


def by_threads(call: Callable[[int], Any], count: int) -> list[Any]:
    """Return `call` of each number, made by eight threads that begin together."""
    answers: list[Any] = [None] * count
    together = Barrier(THREADS)

    def work(first: int) -> None:
        together.wait(60)
        for number in range(first, count, THREADS):
            answers[number] = call(number)

    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(work, range(THREADS)))
    return answers


def check(make: Callable[[], Any], texts: list[str]) -> None:
    """Hold what eight threads get from one sanitizer against what one thread gets, with rows kept and without."""
    names = [str(number) for number in range(len(texts))]
    alone = make().release_batch(texts, ids=names).texts
    shared_ones = [make()]
    if isinstance(shared_ones[0], wv.Sanitizer):
        shared_ones.append(make().for_batch_job())  # a rephraser keeps no rows
    for shared in shared_ones:
        assert by_threads(lambda n, shared=shared: shared(texts[n], document_id=names[n]).text, len(texts)) == alone


METRICS = {
    "euclidean": wv.Euclidean(),
    "angular": wv.Angular(),
    "mahalanobis": Mahalanobis(whitening=np.diag([1.0, 0.5, 2.0, 1.0, 1.5, 0.7])),
    "ranks": wv.NeighbourRank(k=12, cap=8.0),
}
SELECTION = {
    **{f"tem, {name}": wv.TEM(epsilon=5.0, metric=metric) for name, metric in METRICS.items()},
    **{f"santext, {name}": wv.SanText(epsilon=5.0, metric=METRICS[name]) for name in ("euclidean", "ranks")},
    "tight, mahalanobis": wv.TightConstraints(epsilon=5.0, metric=METRICS["mahalanobis"]),
    "tem, certified": wv.TEM(epsilon=5.0, calibration="certified"),
    "santext, certified": wv.SanText(epsilon=5.0, calibration="certified"),
}


def check_words(words: wv.Embeddings, mechanism: Any, texts: list[str]) -> None:
    certificate = wv.certify(mechanism, words, threads=1) if mechanism.needs_certificate else None
    make = partial(wv.Sanitizer, words, mechanism, threads=1, certificate=certificate)
    check(lambda: make(source=wv.RandomSource(KEY)), texts)


TRUNCATED = [name for name in SELECTION if name.startswith("tem")]


@every_selecting
@pytest.mark.parametrize("name", TRUNCATED)
def test_every_engine_draws_the_same_words_whoever_else_draws(engine, name):
    check_words(table(), SELECTION[name], documents(table().words))


@pytest.mark.parametrize("name", [name for name in SELECTION if name not in TRUNCATED])
def test_selection_draws_the_same_words_whoever_else_draws(name):
    check_words(table(), SELECTION[name], documents(table().words))


FIRST = {name: one for name, one in ALL.items() if name.endswith("0")}  # what is shared depends on no parameter
OTHERS = {
    **{name: one for name, one in FIRST.items() if one.releases == "words" and one not in SELECTION.values()},
    **{f"{name}, {one.name}": wv.Decoded(mechanism=wv.MultivariateLaplace(epsilon=5.0), decoder=one)
       for name, one in zip(("nearest", "ranks", "second"), DECODERS, strict=True)},
    **{name: one for name, one in FIRST.items() if one.releases == "vectors"},
}  # fmt: skip


@pytest.mark.parametrize("mechanism", OTHERS.values(), ids=OTHERS)
def test_every_mechanism_draws_the_same_words_whoever_else_draws(mechanism):
    words = contract.table(70)
    check_words(words, mechanism, documents(words.words)[:24])


OPTIONS = {
    "typed": wv.TextOptions(),
    "stand-ins": wv.TextOptions(unknown="random"),
    "once a document": wv.TextOptions(per="document", unknown="mask", casing="shape"),
    "public words": wv.TextOptions(public_words=frozenset({"the", "a"}), markup="html", unknown="drop"),
}


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_texts_are_read_and_written_the_same_whoever_else_reads(options):
    texts = [
        f"<b>The</b> Nurse saw a {n} year old on 3 May 20{n % 90 + 10}, it's O'Brien; {n}@x.org" for n in range(80)
    ]
    make = partial(wv.Sanitizer, wv.load_embeddings(), wv.NeighbourResponse(epsilon=8.0), options=options, threads=1)
    check(lambda: make(source=wv.RandomSource(KEY)), texts)


def test_sentences_are_the_same_whoever_else_rephrases():
    texts = [f"She was told number {n}. We waited for the doctor. Nobody came." for n in range(40)]
    check(lambda: wv.Rephraser(epsilon=8.0, source=wv.RandomSource(KEY), threads=1), texts)


@pytest.mark.parametrize("name", [name for name, one in FIRST.items() if one.releases == "vectors"])
def test_vectors_are_the_same_whoever_else_releases(name):
    rows, source, words = np.asarray(contract.table(70).vectors), wv.RandomSource(KEY), contract.table(70)
    release = partial(wv.release_vectors, mechanism=ALL[name], vocabulary=words, source=source)
    whole = release(rows, name="x").vectors.tobytes()
    assert by_threads(lambda n: release(rows, name="x").vectors.tobytes(), 8) == [whole] * 8


def test_calls_without_an_id_never_share_noise():
    """Two equal texts that draw from one place would come out equal; 40 words of 600 never do by chance."""
    shared = wv.Sanitizer(table(), wv.SanText(epsilon=0.01), threads=1).for_batch_job()
    text = " ".join(table().words[:40])
    assert len(set(by_threads(lambda n: shared(text).text, 200))) == 200


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_worker_that_was_forked_while_rows_were_kept_does_not_wait_for_ever():
    job = wv.Sanitizer(wv.load_embeddings(), wv.TEM(epsilon=9.0), threads=1).for_batch_job()
    job("She went home.")
    with job.parts.randomizer.randomizer.rows._cache._lock:  # as another thread may hold it at the fork
        child = os.fork()
        if not child:
            job("She went home.")
            os._exit(0)
    for _ in range(600):
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            break
        time.sleep(0.1)
    else:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        pytest.fail("the worker waits for a lock that nobody holds")
    assert os.waitstatus_to_exitcode(status) == 0
