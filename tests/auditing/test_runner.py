"""Whole audits: verdicts, exit codes, reports, foreign mechanisms by path."""

import json
import re
import sys
import textwrap

import numpy as np
import pytest

import seeds
import wordveil as wv
from wordveil.auditing import draws, reuse
from wordveil.auditing.black_box import Event, PairAudit
from wordveil.auditing.cases import load_mechanism
from wordveil.auditing.intervals import EventCounts
from wordveil.auditing.report import AuditReport
from wordveil.auditing.runner import AuditOptions, audit, audit_mechanism
from wordveil.auditing.side_doors import PLACES
from wordveil.errors import ParameterError, RefutedClaimError, WordveilError
from wordveil.mechanisms.base import WordRandomizer
from wordveil.promises.relations import Pair
from worlds import SIXTEEN, drawn, placed, scattered

QUICK = AuditOptions(samples=4000, pairs=4, alpha=1e-9, curve_points=8)


SMALL = drawn(120, 6)

HONEST = [  # the contract of mechanisms audits each by itself
    wv.Decoded(mechanism=wv.MultivariateLaplace(epsilon=2.0)),
    wv.Decoded(mechanism=wv.ClippedGaussian(epsilon=2.0)),
]


@pytest.mark.parametrize("mechanism", HONEST, ids=lambda m: m.name)
def test_decoded_mechanisms_pass(mechanism):
    report = audit_mechanism(mechanism, embeddings=SMALL, options=QUICK)
    assert not report.refuted, report.summary_lines()
    assert report.exit_code == 0
    assert report.pairs
    assert all(f.status.value in ("passed", "skipped") for f in report.findings)


def test_published_truncated_laplace_prints_refuted_and_exits_1():
    parameters = {"epsilon": 0.1, "delta": 4.0**-300, "calibration": "published"}
    with pytest.raises(RefutedClaimError, match="allow_refuted"):
        audit("truncated-laplace", dimensions=300, parameters=parameters)
    report = audit("truncated-laplace", dimensions=300, parameters={**parameters, "allow_refuted": True})
    assert report.exit_code == 1
    lines = report.summary_lines()
    assert lines[0].startswith("REFUTED: truncated-laplace(")
    worst = max(pair.delta_at_least for pair in report.pairs)
    assert worst > 0.95
    assert any("confidence 1 - " in line and "claimed (0.1, 2.41e-181)" in line for line in lines)


@pytest.mark.slow
def test_jaccard_is_refuted_with_delta_above_99_percent():
    rng = seeds.rng(3)
    rows = np.concatenate([rng.normal(size=(60, 300)), rng.normal(size=(60, 300)) * 2 + 1.0])
    words = placed(rows)
    options = AuditOptions(samples=20_000, pairs=3, curve_points=0, seed=seeds.seed(1))
    report = audit_mechanism(wv.Jaccard(epsilon=1.0, allow_refuted=True), embeddings=words, options=options)
    assert report.refuted
    assert report.pairs[0].pair.label.startswith("widest and narrowest noise")
    assert report.pairs[0].delta_at_least > 0.99


def test_reports_are_complete_offline_and_repeatable():
    options = AuditOptions(samples=4000, pairs=3, seed=seeds.seed(5))
    first, again = (audit_mechanism(wv.TEM(epsilon=2.0), embeddings=SMALL, options=options) for _ in range(2))
    # A forked child gets a fresh key whatever the seed: all but that check repeats.
    assert [p.as_dict() for p in first.pairs] == [p.as_dict() for p in again.pairs]
    assert first.findings[:2] == again.findings[:2]
    data = json.loads(first.to_json())
    assert data["refuted"] is False
    assert data["exact"]["holds"] is True
    assert len(data["pairs"]) == 3
    assert data["pairs"][0]["delta_event"]["samples_each"] == 2000
    page = first.to_html()
    assert "<svg" in page
    assert page.count("<polyline") >= 2
    assert not re.search(r"http|<(script|link|img|iframe)|(src|href|srcset|action)=", page)


def test_infinite_numbers_are_valid_json():
    def cut(rows):
        return np.sign(rows) + np.random.default_rng().uniform(-0.4, 0.4, rows.shape)

    report = audit_mechanism(cut, kind="vectors", dimensions=1, claim={"epsilon": 1.0}, options=QUICK)
    assert report.refuted
    assert json.loads(report.to_json())["refuted"] is True


MODULE = """
import numpy as np

class HalfNoise:
    epsilon = 1.0
    def __init__(self, epsilon=1.0, scale=0.5):
        self.epsilon, self.scale = epsilon, scale
        self._generator = np.random.default_rng()
    def vectors(self, rows):
        return np.rint((rows + self._generator.laplace(size=rows.shape) * self.scale / self.epsilon) * 2**20) / 2**20

class Coin:
    epsilon, delta = 1.0, 0.0
    def text(self, text):
        keep = np.random.default_rng().random() < self.keep
        return text if keep else {"yes": "no"}.get(text, "yes")

class Honest(Coin):
    keep = 1 / (1 + np.exp(-1.0))

class Leaky(Coin):
    keep = 0.9

def wrong():
    return 1

broken_guarantee = type("G", (), {"vectors": staticmethod(lambda r: r), "guarantee": lambda self: 3})()
"""


@pytest.fixture
def module(tmp_path, monkeypatch):
    (tmp_path / "someones_mechanisms.py").write_text(textwrap.dedent(MODULE))
    monkeypatch.syspath_prepend(tmp_path)
    yield "someones_mechanisms"
    sys.modules.pop("someones_mechanisms", None)


@pytest.mark.parametrize(("scale", "refuted"), [(0.5, True), (1.0, False)])
def test_a_python_path_to_a_vector_mechanism(module, scale, refuted):
    report = audit(
        f"{module}:HalfNoise",
        dimensions=1,
        parameters={"epsilon": 2.0, "scale": scale},
        options=AuditOptions(samples=40_000, alpha=1e-9),
    )
    # A generator of NumPy repeats after a fork: that is found in both, the small noise in one.
    assert any(pair.refuted for pair in report.pairs) == refuted
    assert {f.check for f in report.findings if f.refuted} == {"noise repeated after a fork"}


@pytest.mark.parametrize(("name", "refuted"), [("Honest", False), ("Leaky", True)])
def test_a_python_path_to_a_text_mechanism(module, name, refuted):
    options = AuditOptions(samples=4000, alpha=1e-9, curve_points=0)
    for place in (module, sys.path[0] + f"/{module}.py"):
        report = audit(f"{place}:{name}", texts=("yes", "no"), options=options)
        assert report.refuted == refuted
        assert report.exit_code == int(refuted)


def test_a_text_mechanism_of_another_package_is_checked_for_leaks_too():
    words = SIXTEEN
    vocabulary = placed(scattered(0, 16, 3), words)

    def leaky(text: str) -> str:
        return " ".join(words[int(np.random.default_rng().integers(16))] if t in words else t for t in text.split())

    options = AuditOptions(samples=400, pairs=2, curve_points=0)
    report = audit_mechanism(leaky, kind="text", embeddings=vocabulary, claim={"epsilon": 0.5}, options=options)
    # It does not know words in capitals either, and passes them through.
    assert {f.check for f in report.findings if f.refuted} == {"unknown words", "digits", "casing"}
    assert not any(pair.refuted for pair in report.pairs)
    assert report.exit_code == 1


@pytest.mark.slow
def test_a_sanitizer_is_audited_as_it_is(monkeypatch):
    """Few calls in threads, which take long: `test_leaks` shows that more of them find noise that is shared."""
    monkeypatch.setattr(reuse, "MEETINGS", 20)
    vocabulary = placed(scattered(0, 16, 3), SIXTEEN)
    sanitizer = wv.Sanitizer(vocabulary, wv.NeighbourResponse(epsilon=1.0, k=2, outputs=None), threads=1)
    options = AuditOptions(samples=200, pairs=1, curve_points=0)
    report = audit_mechanism(sanitizer, kind="text", embeddings=vocabulary, options=options)
    assert not report.refuted, report.summary_lines()
    assert "local DP (proved)" in report.claim
    assert {f.check for f in report.findings if f.status.value == "disclosed"} <= {"length", "order"}
    assert {*PLACES} <= {f.check.removeprefix("private text in ") for f in report.findings}


def test_time_is_checked_when_asked():
    def slow(text: str) -> str:
        sum(range(200 if text == "a" else 40_000))
        return "x"

    options = AuditOptions(samples=400, curve_points=0, timing=True)
    report = audit_mechanism(slow, kind="text", texts=("a", "b"), claim={"epsilon": 1.0}, options=options)
    assert [f.check for f in report.findings if f.refuted] == ["time per word"]


@pytest.mark.parametrize(("name", "parameters", "match"), [
    ("no-such", {}, "must be one of"),
    ("no_such_module:X", {}, "cannot be loaded"),
    ("laplace", {"epsilon": None}, r"epsilon=None must be given for laplace\."),
    ("tem", {"epsilon": 1.0, "beta": "high"}, "must be a number"),
    ("santext", {"epsilon": 1.0, "clip_norm": 2.0}, "are not taken by santext"),
])  # fmt: skip
def test_what_cannot_be_loaded_is_named(name, parameters, match):
    with pytest.raises(ParameterError, match=match):
        load_mechanism(name, parameters)


def test_what_cannot_be_audited_is_named(module):
    for call, match in (
        (lambda: audit(f"{module}:wrong", dimensions=2), "'vectors' or 'text'"),
        (lambda: audit(f"{module}:broken_guarantee", dimensions=2), "guarantee"),
        (lambda: audit_mechanism(wv.SanText(epsilon=1.0)), "santext works on words"),
        (lambda: AuditOptions(samples=10), "samples"),
    ):
        with pytest.raises(WordveilError, match=match):
            call()


def test_nothing_claimed_is_nothing_refuted_but_bounds_are_given():
    generator = seeds.rng(0)
    report = audit_mechanism(
        lambda text: text if generator.random() < 0.9 else "other", kind="text", texts=("a", "b"), options=QUICK
    )
    assert "nothing is claimed" in report.claim
    assert not any(pair.refuted for pair in report.pairs)
    assert report.pairs[0].epsilon_at_least > 2.0
    # A generator of NumPy repeats after a fork, which is a refutation without any claim.
    assert (report.verdict, report.exit_code) == ("REFUTED", 1)


@pytest.mark.parametrize(
    "claim",
    [
        wv.NeighbourDP(epsilon=1.0, graph="a graph of somebody", standing=wv.Standing.PUBLISHED),
        wv.MetricDP(epsilon=1.0, metric="city block", standing=wv.Standing.PUBLISHED),
    ],
    ids=lambda claim: claim.promise,
)
def test_a_claim_of_which_no_pair_could_be_tried_is_not_called_kept(claim):
    class Stranger:
        guarantee = claim

        def vectors(self, rows):
            return wv.RandomSource().fresh_stream().lane(0).standard_normal(rows.shape)

    report = audit_mechanism(Stranger(), embeddings=SMALL, options=QUICK)
    assert not report.tested
    assert report.pairs
    assert (report.verdict, report.exit_code) == ("NOT TESTED", 2)
    assert report.summary_lines()[0].startswith("NOT TESTED: ")
    assert "nothing is claimed of the inputs compared" in report.summary_lines()[2]
    assert json.loads(report.to_json())["tested"] is False
    assert '<h1 class="kept">' not in report.to_html()


def test_what_a_report_says_errs_on_the_safe_side():
    counts = EventCounts(hits_first=3999, hits_second=0, n=4000, alpha=1.25e-7)
    event = Event(scorer="s", threshold=0.0, swapped=False)
    pair = Pair(first=0, second=1, label="two", epsilon=0.1, delta=1e-5)
    audit = PairAudit(
        pair=pair, samples=8000, alpha=1.25e-7, epsilon_event=event, epsilon_counts=counts, delta_event=event,
        delta_counts=counts,
    )  # fmt: skip
    report = AuditReport(subject="x", claim="y", alpha=1.25e-7, pairs=(audit,))
    for text in ("\n".join(report.summary_lines()), report.to_html()):
        assert "1.3e-07" in text
        assert "1.2e-07" not in text
    line = report.summary_lines()[2]
    delta, epsilon = (
        float(x) for x in re.search(r"delta at least (\S+) at .* epsilon at least (\S+) at", line).groups()
    )
    assert 0 < delta <= audit.delta_at_least
    assert 0 < epsilon <= audit.epsilon_at_least


@pytest.mark.parametrize("vectors", [[[1.0]], [[1.0], [1.0]]])
def test_a_vocabulary_without_two_places_is_refused(vectors):
    table = placed(vectors)
    with pytest.raises(ParameterError, match="must hold two words at a distance from each other"):
        audit_mechanism(wv.MultivariateLaplace(epsilon=1.0), embeddings=table)


class OtherThanStated(WordRandomizer):
    """SanText that states its law and draws by another fitted randomizer wherever it is told to."""

    def __init__(self, stated: WordRandomizer, drawn: WordRandomizer, where) -> None:
        self.stated, self.drawn, self.where = stated, drawn, where
        self.embeddings, self.draw_width, self.mechanism = stated.embeddings, stated.draw_width, stated.mechanism

    def guarantee(self):
        return self.stated.guarantee()

    def law(self, ids):
        return self.stated.law(ids)

    def sample(self, stream, n):
        return self.stated.sample(stream, n)

    def randomize(self, ids, drawn, *, threads=None, progress=None):
        out = self.stated.randomize(ids, drawn)
        return np.where(self.where(ids), self.drawn.randomize(ids, drawn), out).astype(np.int32)


def everywhere(ids):
    return np.ones(len(ids), dtype=bool)


@pytest.mark.parametrize(("epsilon", "where", "refuted"), [
    (2.0, everywhere, False),  # the twin
    (4.0, everywhere, True),  # half the noise
    (60.0, lambda ids: ids % 3 == 1, True),  # a third of the words hardly change
], ids=["as stated", "half the noise", "some words"])  # fmt: skip
def test_draws_are_held_against_the_law_that_is_stated(epsilon, where, refuted):
    stated, drawn = (wv.SanText(epsilon=value).fit(SMALL) for value in (2.0, epsilon))
    few = AuditOptions(samples=1000, pairs=3, alpha=1e-9, curve_points=0, repeats=60)
    report = audit_mechanism(OtherThanStated(stated, drawn, where), embeddings=SMALL, options=few)
    assert report.exact.holds  # it believes the law
    found = [finding for finding in report.findings if finding.check == draws.CHECK]
    assert len(found) == 2
    assert any(finding.refuted for finding in found) == report.refuted == refuted


def test_a_draw_that_the_law_calls_impossible_refutes_it():
    stated, other = wv.SanText(epsilon=2.0).fit(SMALL), np.int32(SMALL.candidates[0])

    class Never(OtherThanStated):
        def law(self, ids):
            rows = self.stated.law(ids).copy()
            rows[:, 0] = 0.0
            return rows / rows.sum(axis=1, keepdims=True)

    class Sometimes:
        def randomize(self, ids, drawn):
            return np.full(len(ids), other)

    last = len(SMALL) - 1
    never = Never(stated, Sometimes(), lambda ids: (ids == last) & (np.arange(len(ids)) == 0))
    found = draws.check_drawn_law(never, np.array([last], np.int32), 64, alpha=1e-9, source=seeds.source(1))
    assert found.refuted
