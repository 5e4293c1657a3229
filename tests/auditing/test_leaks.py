"""Side doors, timing, the float attack, freshness of wordveil's own noise, and the attack on words released again."""

import logging
import sys
import threading
import time
import warnings
from pathlib import Path

import numpy as np
import pytest

import seeds
import wordveil as wv
from wordveil.auditing.float_attack import check_float_bits, possible_words
from wordveil.auditing.repeated import RELEASES, attack_repeats, named_after
from wordveil.auditing.reuse import check_reuse
from wordveil.auditing.runner import AuditOptions
from wordveil.auditing.side_doors import PLACES, check_side_doors
from wordveil.auditing.subjects import Subject, VectorFunctionSubject
from wordveil.auditing.text_leaks import TextChecks, check_text
from wordveil.auditing.timing import check_timing, judge_times
from wordveil.errors import ParameterError
from worlds import SIXTEEN, drawn


def log_it(text: str) -> str:
    # Captured logs travel between test processes, which lone surrogates cannot.
    logging.getLogger("package.inner").debug("token %s", text.encode("utf-8", "replace"))
    return "x"


def warn_it(text: str) -> str:
    warnings.warn(f"odd token {text!r}", UserWarning, stacklevel=1)
    return "x"


def print_it(text: str) -> str:
    print(text.encode("utf-8", "replace"), file=sys.stderr)
    return "x"


def raise_it(text: str) -> str:
    try:
        {}[text]
    except KeyError as problem:
        raise RuntimeError("lookup failed") from problem
    return "x"


def file_it(text: str) -> str:
    Path("cache-" + text.encode("ascii", "ignore").hex()[:8]).write_text(
        text.split("\x00")[0].encode("ascii", "ignore").decode()
    )
    return "x"


def name_it(text: str) -> str:
    Path("".join(c for c in text if c.isalpha() and c.isascii())[:40]).touch()
    return "x"


@pytest.mark.parametrize(("function", "place"), [
    (log_it, "logs"),
    (warn_it, "warnings"),
    (print_it, "standard output"),
    (raise_it, "errors"),
    (file_it, "files and file names"),
    (name_it, "files and file names"),
])  # fmt: skip
def test_each_side_door_is_found_and_only_that_one(function, place):
    findings = check_side_doors(function)
    assert {f.check for f in findings if f.refuted} == {f"private text in {place}"}
    assert len(findings) == len(PLACES)


def test_a_silent_callable_passes_and_the_working_folder_is_kept():
    before = Path.cwd()
    assert not any(f.refuted for f in check_side_doors(lambda text: "x"))
    assert Path.cwd() == before


def test_undeclared_disclosures_are_refuted_and_declared_ones_are_reported():
    statuses = {}
    for declared in ((), ("length",)):
        checks = TextChecks(words=SIXTEEN, declared=declared)
        found = check_text(lambda text: " ".join(SIXTEEN[0] for _ in text.split()), checks)
        statuses[declared] = next(f.status.value for f in found if f.check == "length")
    assert statuses == {(): "refuted", ("length",): "disclosed"}
    with pytest.raises(ParameterError, match="must be among"):
        TextChecks(words=SIXTEEN, declared=("colour",))


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("seed", range(3))
def test_float_bits_give_the_word_away_without_the_grid_and_nothing_with_it(kind, seed):
    # In one coordinate a wrong word could have given float64 with probability .89, so in all 300 one of the 2 999 with
    # .89**300 * 2 999 = 2e-12; float32 tells more.
    rng = seeds.rng(seed)
    words = (rng.normal(size=(3000, 300)) * 0.4).astype(np.float32)
    true = int(rng.integers(3000))
    direction = rng.normal(size=300)
    noise = (direction / np.linalg.norm(direction) * rng.gamma(300, 1 / 17)).astype(kind)
    released = words[true].astype(kind) + noise
    assert possible_words(released, words).tolist() == [true]
    rounded = np.rint(released * kind(2**10)) / kind(2**10)
    assert len(possible_words(rounded, words, grid=2**-10)) == 3000
    with pytest.raises(ParameterError, match="one entry per column"):
        possible_words(released[:3], words)


def test_an_output_that_tells_nothing_is_not_called_a_leak():
    """By chance the true word is among the few that such floats leave; once in some releases is no evidence."""
    generator = seeds.rng(5)
    words = (generator.normal(size=(300, 8)) * 0.4).astype(np.float32)
    hits = 0
    for _ in range(60):
        released = generator.standard_normal((8, 8))
        hits += any(row in possible_words(released[row], words) for row in range(8))
        assert not check_float_bits(lambda rows, released=released: released, words, range(8)).refuted
    assert hits, "a rule of one hit would call some of them leaks"


class ForkedWords(Subject):
    """A process-wide generator, as after a fork of a server."""

    discrete = True

    def __init__(self) -> None:
        self._generator = seeds.rng(0)

    def sample(self, private, n):
        return self._generator.integers(0, 50, n)


def test_generators_that_forks_share_are_found():
    generator = seeds.rng(0)
    vectors = VectorFunctionSubject(lambda rows: rows + generator.laplace(size=rows.shape))
    for subject, private in ((vectors, np.zeros(2)), (ForkedWords(), 0)):
        found = {f.check for f in check_reuse(subject, private, alpha=1e-9) if f.refuted}
        assert found == {"noise repeated after a fork"}


def each_thread_from_one_seed():
    own = threading.local()

    def noise(shape):
        if not hasattr(own, "generator"):
            own.generator = seeds.rng(0 if threading.current_thread() is threading.main_thread() else 1)
        return own.generator.laplace(size=shape)

    return noise


def places_from_a_shared_count():
    state = {"calls": 0}

    def noise(shape):
        state["calls"] += 1
        time.sleep(0.001)  # as long as it takes to look up what a batch holds
        return seeds.rng(state["calls"]).laplace(size=shape)

    return noise


@pytest.mark.parametrize("kind", [each_thread_from_one_seed, places_from_a_shared_count])
def test_noise_that_threads_share_is_found(kind):
    noise, words = kind(), kind()
    vectors = VectorFunctionSubject(lambda rows: rows + noise(rows.shape))

    class Words(Subject):
        discrete = True

        def sample(self, private, n):
            return np.floor(10 * words((n,))).astype(int)

    wanted = {"noise shared between threads", "noise repeated after a fork"}
    for subject, private in ((vectors, np.zeros(2)), (Words(), 0)):
        # Whether two threads meet is the scheduler's to say: about one audit in twenty misses, ten in a row hardly.
        tried = ({f.check for f in check_reuse(subject, private, alpha=1e-9) if f.refuted} for _ in range(10))
        found = next((checks for checks in tried if checks == wanted), set())
        assert found == wanted


def test_a_mechanism_that_does_not_run_in_threads_is_not_blamed():
    here, generator = threading.get_ident(), np.random.default_rng()

    def alone(rows):
        assert threading.get_ident() == here
        return rows + generator.laplace(size=rows.shape)

    findings = {f.check: f.status.value for f in check_reuse(VectorFunctionSubject(alone), np.zeros(2), alpha=1e-9)}
    assert findings["noise shared between threads"] == "skipped"


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("shift", [0.0, 0.5])
def test_times_are_judged_by_their_second_half(seed, shift):
    # Log-normal times, one input slower by half a standard deviation; equal ones accused with chance 1e-6 at most.
    rng = seeds.rng(seed)
    seconds = np.exp(rng.normal(size=(4000, 6))) * np.where(np.arange(6) == 3, np.exp(shift), 1.0)
    assert judge_times(seconds, 1e-6).refuted == (shift > 0)


def test_a_rejection_loop_shows_in_the_clock():
    def work(n: int) -> None:
        sum(range(n))

    assert check_timing(work, [100, 20_000], rounds=100).refuted
    with pytest.raises(ParameterError, match="100 rounds"):
        check_timing(work, [1, 2], rounds=10)


V = 60
WORDS = drawn(V, 6)
PRIOR = 1 / (np.arange(V) + 3.7)
ALL = np.arange(V, dtype=np.int32)


def source():
    return seeds.source(3)


def lists(kind):
    given = {"k": 4, "outputs": None} if kind == "nearest" else {"outputs": "classes:12"}
    return wv.NeighbourResponse(epsilon=4.0, **given).fit(WORDS)


@pytest.mark.parametrize("fitted", [lists("nearest"), lists("classes"), wv.SanText(epsilon=1.0).fit(WORDS)])
def test_the_attacker_names_the_likeliest_word_given_all_releases(fitted):
    drawn = fitted.randomize(np.repeat(ALL, 8), fitted.sample(source().stream("repeated releases"), 8 * V))
    law = fitted.law(ALL)[:, np.searchsorted(fitted.outputs, drawn)].reshape(V, V, 8)  # guess, word, release
    expected = [(PRIOR[:, None] * law[:, :, :n].prod(axis=2)).argmax(axis=0) == ALL for n in (1, 3, 8)]
    assert np.array_equal(named_after(fitted, ALL, PRIOR, source(), (1, 3, 8)), np.transpose(expected))


@pytest.mark.parametrize("kind", ["nearest", "classes"])
def test_many_releases_show_the_list_and_no_more(kind):
    """Of words with equal lists the commonest is named: all words but a few have a list, few have a class, alone."""
    fitted = lists(kind)
    shown = named_after(fitted, ALL, PRIOR, source())
    owners = [frozenset(fitted.lists[word].tolist()) for word in range(V)]
    commonest = [owners.index(own) == word for word, own in enumerate(owners)]  # the prior falls
    assert shown[:, -1].tolist() == commonest
    assert shown[:, 0].mean() < 0.5
    assert np.mean(commonest) > 0.7 if kind == "nearest" else np.mean(commonest) <= 0.25


def test_a_noise_that_repeats_shows_no_more_and_is_told_apart():
    nearest = lists("nearest")

    class Frozen(type(nearest)):
        def sample(self, stream, n):
            (drawn,) = super().sample(stream, n)
            return (np.repeat(drawn[:: RELEASES[-1]], RELEASES[-1]),)

    frozen = Frozen(embeddings=WORDS, mechanism=nearest.mechanism, chosen=nearest.chosen, lists=nearest.lists)
    assert named_after(frozen, ALL, PRIOR, source())[:, -1].mean() < 0.7


def test_an_audit_says_and_shows_what_repeated_releases_give_away():
    options = AuditOptions(samples=400, pairs=3, seed=seeds.seed(1), repeats=40)
    report = wv.audit_mechanism(wv.NeighbourResponse(epsilon=4.0, k=4, outputs=None), embeddings=WORDS, options=options)
    (line,) = [line for line in report.summary_lines() if "likeliest word right" in line and "all words" in line]
    assert line.startswith("40 words of public text, likeliest word right after 1, 2, 4, 8, 16, 32, 64 releases")
    shares = [float(share) for share in line.rpartition(": ")[2].split(", ")]
    assert shares == sorted(shares)
    assert shares[-1] > shares[0] + 0.3
    assert report.as_dict()["repeated"]["releases"] == list(RELEASES)
    assert "Releases of one word, together" in report.to_html()
    assert "share of words named after several releases" in report.to_html()
    none = AuditOptions(samples=400, pairs=3, seed=seeds.seed(1), repeats=0)
    quiet = wv.audit_mechanism(wv.NeighbourResponse(epsilon=4.0, k=4, outputs=None), embeddings=WORDS, options=none)
    assert quiet.repeated is None
    assert "Releases of one word" not in quiet.to_html()


def test_without_a_law_there_is_no_attack():
    fitted = wv.Decoded(mechanism=wv.MultivariateLaplace(epsilon=2.0)).fit(WORDS)
    assert attack_repeats(fitted, 5, source()) is None
