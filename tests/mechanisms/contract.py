"""What every mechanism owes, whoever wrote it: one check after the other, each a function of an `Example`.

    for check in contract_of(mechanism): check(Example.of(mechanism))

Statistical checks accuse an honest mechanism with probability ALPHA at most, and are themselves seen to fail: the same
samples against 0.9 and 1.1 of the noise. Nothing here knows a mechanism by name: everything is asked of it.
"""

from __future__ import annotations

import copy
import dataclasses
import functools
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from noise_checks import ALPHA, TWINS, calibration_p_value, counts_p_value, logits

import seeds
import wordveil as wv
from wordveil.auditing import AuditOptions, audit_mechanism, verify_law
from wordveil.decoding.base import DECODER_LANE
from wordveil.errors import ParameterError
from wordveil.mechanisms.common import Mechanism
from wordveil.mechanisms.wrappers import Wrapper
from wordveil.promises.guarantees import Guarantee, NoGuarantee, PrivacyUnit
from wordveil.randomness import DocumentStreams, Stream

SAMPLES = 60_000
BARRED = (3, 40)
DECODERS = [wv.Nearest(), wv.RankSoftmax(epsilon=3.0, c=0.1), wv.Vickrey(t=0.4)]
OPTIONS = AuditOptions(samples=4000, pairs=4, alpha=ALPHA, curve_points=0, seed=seeds.seed(1))
LEAKS = {"words": [(3.0, 10_000), (3.0, 40_000)], "vectors": [(3.0, 10_000), (3.0, 40_000), (10.0, 40_000)]}
"""How many times its loss must be refuted, by how many samples at the latest.

More times where noise in many dimensions hides what is lost from any sample.
"""


@functools.cache
def table(v: int, d: int = 5) -> wv.Embeddings:
    """English words, so that frequencies are known, with places made up: some share theirs, two may only be input."""
    rows = seeds.rng(v).standard_normal((v, d)) * np.arange(1, d + 1)[::-1] / d
    rows[-10:] = rows[:10]
    names = [word for word in wv.load_embeddings().words if word.isalpha()][:v]
    return wv.Embeddings.from_arrays(names, rows, candidate_rule="all").without_outputs([names[i] for i in BARRED])


@functools.cache
def fitted(mechanism: Mechanism, words: wv.Embeddings) -> Any:
    """The mechanism bound to the words, certified where it needs it."""
    chosen: Any = mechanism
    if mechanism.needs_certificate and mechanism.releases == "words":
        return chosen.fit_certified(words, wv.certify(mechanism, words))
    return chosen.fit(words)


@dataclass(frozen=True)
class Example:
    """A mechanism on a small vocabulary."""

    mechanism: Any
    words: wv.Embeddings
    randomizer: Any

    @classmethod
    def of(cls, mechanism: Any, v: int = 70) -> Example:
        return cls(mechanism, table(v), fitted(mechanism, table(v)))

    def sanitizer(self, options: wv.TextOptions | None = None) -> wv.Sanitizer:
        certificate = wv.certify(self.mechanism, self.words) if self.mechanism.needs_certificate else None
        return wv.Sanitizer(self.words, self.mechanism, certificate=certificate, options=options or wv.TextOptions())

    @property
    def inputs(self) -> Any:
        """Every input twice: rows of the vocabulary, or ids, with unknown tokens where those are answered for."""
        if self.mechanism.releases == "vectors":
            return np.concatenate((self.words.vectors, self.words.vectors))
        ids = np.tile(np.arange(len(self.words), dtype=np.int32), 2)
        return np.append(ids, np.int32(-1)) if self.randomizer.answers_unknown else ids


def twin(fitted: Any, **answers: Any) -> Any:
    """The same fitted mechanism but for some questions, to which it gives these answers, whatever else it is asked."""
    made = copy.copy(fitted)
    body = {name: lambda self, *a, answer=answer, **k: answer for name, answer in answers.items()}
    object.__setattr__(made, "__class__", type("Twin", (type(fitted),), body))
    return made


def drawn(randomizer: Any, total: int, size: int) -> tuple[Any, ...]:
    """Draws for three documents one after the other, `size` rows at a time."""
    source = seeds.source(1)
    streams = source.documents(source.nonces("abc", "abc"), [23, 0, total - 23])
    parts = list(streams.chunks(randomizer.sample, size))
    return tuple(np.concatenate(columns) for columns in zip(*parts, strict=True))


def some_draws(randomizer: Any, n: int, seed: int = 2) -> tuple[Any, ...]:
    return randomizer.sample(seeds.source(seed).stream("x"), n)


def parameters_are_frozen_hashable_and_rebuilt_by_repr(example: Example) -> None:
    mechanism = example.mechanism
    metrics = {name: getattr(sys.modules["wordveil"], name) for name in ("Euclidean", "Angular", "NeighbourRank")}
    assert eval(repr(mechanism), {type(mechanism).__name__: type(mechanism), **metrics}) == mechanism
    assert len({mechanism, dataclasses.replace(mechanism)}) == 1
    with pytest.raises(dataclasses.FrozenInstanceError):
        mechanism.epsilon = 1.0
    assert mechanism.name == type(mechanism).name
    assert mechanism.paper
    assert mechanism.with_epsilon(0.5).epsilon == 0.5


def the_guarantee_is_typed_and_a_sentence(example: Example) -> None:
    claim = example.randomizer.guarantee()
    assert isinstance(claim, Guarantee)
    assert claim.unit is (PrivacyUnit.VECTOR if example.mechanism.releases == "vectors" else PrivacyUnit.TOKEN)
    assert claim.sentence()
    assert claim.as_dict()["promise"] == claim.promise
    assert isinstance(example.randomizer.published(), Guarantee)


def draws_do_not_depend_on_how_a_document_is_cut(example: Example) -> None:
    whole = drawn(example.randomizer, 60, 60)
    for size in (1, 7, 30):
        pieces = drawn(example.randomizer, 60, size)
        assert [len(column) for column in pieces] == [60] * len(whole)
        assert all(np.array_equal(a, b) for a, b in zip(whole, pieces, strict=True))


def outputs_do_not_depend_on_batch_or_thread(example: Example) -> None:
    randomizer, inputs = example.randomizer, example.inputs
    draws = some_draws(randomizer, len(inputs))
    kept = inputs.copy()
    whole = randomizer.randomize(inputs, draws)
    assert np.array_equal(inputs, kept), "inputs are left alone"
    ways: list[tuple[Any, dict[str, int]]] = [(randomizer, {})]
    if example.mechanism.releases == "words":
        ways = [(one, {"threads": n}) for one in (randomizer, randomizer.for_batch_job()) for n in (1, 2)]
    for one, options in ways:
        for low, high in ((0, len(inputs)), (0, 0), (0, 1), (3, 70), (71, len(inputs))):
            part = one.randomize(inputs[low:high], tuple(column[low:high] for column in draws), **options)
            assert np.array_equal(part, whole[low:high])
            assert (part.dtype, part.shape) == (whole.dtype, whole[low:high].shape)


def it_leaves_the_lanes_of_decoders_alone(example: Example) -> None:
    class Watched(Stream):
        def lane(self, index):
            seen.append(index)
            return super().lane(index)

    seen: list[int] = []
    example.randomizer.sample(Watched(seeds.key(16)).seat(0), 3)
    assert seen
    assert len(set(seen)) == len(seen)
    layer = example.randomizer
    while isinstance(layer, Wrapper):  # each has one of the last lanes
        assert layer.lane > DECODER_LANE
        seen.remove(layer.lane)
        layer = layer.randomizer
    assert max(seen) < DECODER_LANE


def no_two_consumers_of_a_stream_share_a_lane(example: Example) -> None:
    text = f"{example.words.words[1]} xqzzy {example.words.words[2]} 7.50"
    consumers: dict[int, set[Any]] = {}
    of_one, of_many = Stream.lane, DocumentStreams.lane_bits

    def note(index, frame):
        if "lane_bits" not in frame.f_code.co_qualname:
            asker = type(frame.f_locals.get("self")).__name__
            consumers.setdefault(index, set()).add((frame.f_code.co_filename, frame.f_code.co_qualname, asker))

    def lane(self, index):
        note(index, sys._getframe(1))
        return of_one(self, index)

    def lane_bits(self, index, *others):
        note(index, sys._getframe(2))  # past `document_bits`
        return of_many(self, index, *others)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Stream, "lane", lane)
        patch.setattr(DocumentStreams, "lane_bits", lane_bits)
        for per in ("token", "document"):
            example.sanitizer(wv.TextOptions(per=per, unknown="typed"))(text)
    asked_by = {asker for of_lane in consumers.values() for *_, asker in of_lane}
    answers = getattr(example.randomizer, "answers_unknown", False)
    assert asked_by >= ({"Typed"} if answers else {"Typed", "StandIns"})
    assert all(len(of_lane) == 1 for of_lane in consumers.values())


def global_randomness_is_not_touched(example: Example) -> None:
    # The keys of the global state move once in 624 draws, its position with each.
    _, before, place, *_ = np.random.get_state()  # noqa: NPY002
    before = before.copy()
    example.randomizer.release(example.inputs, seeds.source(0))
    _, keys, after, *_ = np.random.get_state()  # noqa: NPY002
    assert np.array_equal(before, keys)
    assert place == after


def an_audit_does_not_refute_it_and_refutes_three_times_its_loss(example: Example) -> None:
    honest = example.randomizer
    report = audit_mechanism(honest, embeddings=example.words, options=OPTIONS)
    assert report.tested
    if isinstance(honest.guarantee(), NoGuarantee):
        return  # its claim is known to be false, whether or not these samples show it
    assert report.exit_code == 0, report.summary_lines()
    answers = {"guarantee": honest.guarantee(), "published": honest.published(), "related": honest.related()}
    for times, samples in LEAKS[example.mechanism.releases]:
        more = fitted(example.mechanism.with_epsilon(times * example.mechanism.epsilon), example.words)
        options = dataclasses.replace(OPTIONS, samples=samples)
        found = audit_mechanism(twin(more, **answers), embeddings=example.words, options=options)
        if found.refuted:
            break
    assert (found.verdict, found.exit_code) == ("REFUTED", 1), found.summary_lines()


# Words


def words_follow_the_law_that_is_stated(example: Example, twins: bool = True) -> None:
    randomizer = example.randomizer
    law = randomizer.law(np.arange(len(example.words), dtype=np.int32))
    assert law.shape == (len(example.words), len(randomizer.outputs))
    np.testing.assert_allclose(law.sum(axis=1), 1.0, atol=1e-9)
    chosen = [0, BARRED[0]] + [-1] * randomizer.answers_unknown
    noticed, job = 0, randomizer.for_batch_job()  # which draws the same words, in less time
    for x in chosen:
        ids = np.full(SAMPLES, x, dtype=np.int32)
        released = job.randomize(ids, some_draws(randomizer, SAMPLES, seed=7 + x))
        places = np.searchsorted(randomizer.outputs, released)
        assert np.array_equal(randomizer.outputs[np.minimum(places, law.shape[1] - 1)], released), "only its outputs"
        counts = np.bincount(places, minlength=law.shape[1])
        own = randomizer.law(np.array([x], dtype=np.int32))[0]
        assert counts_p_value(own, counts) >= ALPHA / len(chosen), f"word {x} is not released by the law that is stated"
        for scale in TWINS:
            other = own**scale
            noticed += counts_p_value(other / other.sum(), counts) < ALPHA
    assert noticed >= 2 or not twins, "a law of 0.9 or 1.1 of the noise must be told apart"
    kept = randomizer.keep_probabilities(randomizer.outputs[:5])
    own = randomizer.law(randomizer.outputs[:5])[np.arange(5), np.arange(5)] if len(randomizer.outputs) > 5 else None
    assert own is None or np.allclose(kept, own, rtol=1e-6)
    some = np.append(np.arange(0, len(randomizer.outputs), 2), [2, 0, 2])  # a word may be asked for twice
    columns = randomizer.likelihoods(randomizer.outputs[some])
    np.testing.assert_allclose(columns, law[:, some].T, rtol=1e-5, err_msg="columns of the law")


def what_may_stand_behind_an_output_is_read_off_its_law(example: Example) -> None:
    randomizer, everyone = example.randomizer, np.arange(len(example.words), dtype=np.int32)
    outputs, law = randomizer.outputs[::5], randomizer.law(everyone)
    weights = seeds.rng(4).exponential(size=len(everyone)) ** 3
    for count in (7, 200):
        ids, chances = randomizer.likely_inputs(outputs, weights, count)
        size = min(count, len(everyone))
        assert ids.shape == chances.shape == (len(outputs), size)
        for row, own, column in zip(ids, chances, np.searchsorted(randomizer.outputs, outputs), strict=True):
            assert len(set(row.tolist())) == size
            assert np.allclose(own, law[row, column], rtol=1e-9, atol=0)
            most = np.sort(weights * law[:, column])[::-1][:size]
            assert np.allclose(np.sort(weights[row] * own)[::-1], most, rtol=1e-9, atol=0)


def the_claim_holds_on_the_exact_channel(example: Example) -> None:
    randomizer = example.randomizer
    verdict = verify_law(randomizer)
    assert verdict.holds, verdict
    assert verdict.triples > 0
    everyone = np.arange(-randomizer.answers_unknown, len(example.words), dtype=np.int32)
    losses = randomizer.related().losses(everyone, everyone)
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(randomizer.law(everyone))
        gaps = logs[:, None, :] - logs[None, :, :]
    found = np.where(np.isnan(gaps), -np.inf, gaps).max(axis=2)  # NaN: an output impossible for both
    off = ~np.eye(len(everyone), dtype=bool)
    assert (found <= losses + 1e-9)[off].all(), "by a loop over every triple as well"
    assert (3 * found > losses + 1e-9)[off & np.isfinite(losses)].any(), "and three times its loss does not"


def words_that_it_does_not_know_never_pass(example: Example) -> None:
    randomizer = example.randomizer
    assert not set(randomizer.outputs.tolist()) & set(BARRED)
    unknown = np.full(500, -1, dtype=np.int32)
    if not randomizer.answers_unknown:
        with pytest.raises(ParameterError, match="ids"):
            randomizer.randomize(unknown[:1], some_draws(randomizer, 1))
    else:
        released = randomizer.randomize(unknown, some_draws(randomizer, 500))
        assert set(released.tolist()) <= set(randomizer.outputs.tolist())
    text = example.sanitizer()("xqzzy " * 200).text
    assert "xqzzy" not in text.lower()
    assert len(set(text.lower().split())) > 1, "a stand-in is drawn for each"


def kinds_of_tokens_follow_laws_of_their_own(example: Example) -> None:
    randomizer = example.randomizer
    for kind in randomizer.kinds[1:]:
        points = Example(example.mechanism, kind.embeddings, kind)
        outputs_do_not_depend_on_batch_or_thread(points)
        words_follow_the_law_that_is_stated(points)
        the_claim_holds_on_the_exact_channel(points)
    job = randomizer.for_batch_job()
    for span in randomizer.surrogates.spans:
        if len(span.ids) > 1 << 10:
            continue  # `tests/text/test_kinds.py` enumerates the long ones
        inputs = np.array(span.codes, dtype=np.int32)
        law = randomizer.law(inputs)
        assert law.shape == (len(inputs), len(span.ids))
        for code, own in zip(inputs[[0, -1]], law[[0, -1]], strict=True):
            released = job.randomize(np.full(SAMPLES, code), some_draws(randomizer, SAMPLES))
            counts = np.bincount(released - span.ids.start, minlength=len(span.ids))
            assert counts_p_value(own, counts) >= ALPHA, f"a token of the kind {span.kind} is not released by its law"
            counts[own.argmin()] += SAMPLES // 50
            assert counts_p_value(own, counts) < ALPHA, "a fiftieth that goes to one value is noticed"


def eleven_hundred_words_are_no_special_case(example: Example) -> None:
    if example.mechanism.needs_certificate:
        pytest.skip("certificates of 1 100 words have tests of their own")
    large = Example.of(example.mechanism, 1100)  # more than a block holds
    words_follow_the_law_that_is_stated(large, twins=False)
    assert verify_law(large.randomizer).holds
    outputs_do_not_depend_on_batch_or_thread(large)


# Vectors


def vectors_follow_the_density_that_is_stated(example: Example) -> None:
    """By calibration: of outputs of two inputs, mixed, the density says how likely each is to be of the first.

    alpha = 1e-9 for the noise. Other noise must be noticed by the same test, at the latest with sixteen times as many
    outputs: over tables and examples its z was 3.5 and more with the first, hence 14 with these, where 6.3 is asked.
    """
    randomizer, rows = example.randomizer, example.words.vectors.astype(np.float64)
    assert randomizer.log_density(np.zeros((0, randomizer.dimensions)), rows[:2]).shape == (0, 2)
    scales = (1.0, 2.0, 4.0, 8.0) if randomizer.inputs == "any vectors" else (1.0,)
    nearest = sorted(((i, j) for i in range(60) for j in range(i)), key=lambda ij: np.ptp(rows[list(ij)], axis=0).max())
    tried = [scale * rows[list(ij)] for scale in scales for ij in nearest[:: len(nearest) // 20]]
    chosen = sorted(tried, key=lambda two: abs(_spread(randomizer, two) - 1.5))[:3]
    unnoticed = set(TWINS)
    for times in (1, 16):
        drawn = [
            [_outputs(randomizer, row, times * SAMPLES // 2, 11 + i) for i, row in enumerate(two)] for two in chosen
        ]
        if times == 1:
            values = [calibration_p_value(randomizer, *case) for case in zip(drawn, chosen, strict=True)]
            assert min(values) * len(values) >= ALPHA, "the noise does not follow the density that is stated"
        for scale in sorted(unnoticed):
            for outputs, inputs in zip(drawn, chosen, strict=True):
                parts = [part.mean(axis=0) + scale * (part - part.mean(axis=0)) for part in outputs]
                if calibration_p_value(randomizer, parts, inputs) * len(chosen) < ALPHA:
                    unnoticed.discard(scale)
                    break
        if not unnoticed:
            return
    raise AssertionError(f"{sorted(unnoticed)} of the noise goes unnoticed")


def _outputs(randomizer: Any, row: np.ndarray, n: int, seed: int) -> np.ndarray:
    return randomizer.randomize(np.repeat(row[None], n, axis=0), some_draws(randomizer, n, seed))


def _spread(randomizer: Any, inputs: np.ndarray) -> float:
    found = logits(randomizer, _outputs(randomizer, inputs[0], 200, 3), inputs)
    return float(np.median(np.abs(found)))


SECRET = 123456789.25


def unusable_vectors_are_refused_without_being_shown(example: Example) -> None:
    randomizer, source = example.randomizer, seeds.source(0)
    rows, draws = example.words.vectors[:3].astype(np.float64), some_draws(randomizer, 3)
    wrong = [with_value(rows, value) for value in (np.nan, np.inf, -np.inf, 1e300, -1e300)]
    wrong.append(rows[:, :3])
    for vectors in wrong:
        with pytest.raises(ParameterError, match=r"shape|hidden"):
            randomizer.release(vectors, source)
    wrong += [rows[:, :1], rows[0], rows[None], np.array(SECRET), rows[:0, :2], rows.T]
    wrong += [*map(rows.astype, (complex, str, object)), np.full(rows.shape, None), [[SECRET], [1.0, 2.0]]]
    for vectors in wrong:
        with pytest.raises(ParameterError, match=r"shape|hidden") as caught:
            randomizer.randomize(vectors, draws)
        assert not any(value in str(caught.value) for value in (str(SECRET)[:6], "e+300"))


def with_value(rows: np.ndarray, value: float) -> np.ndarray:
    changed = np.array(rows, dtype=np.float64)
    changed[1, 2] = value
    return changed


def rows_are_float64_with_noise_of_their_own(example: Example) -> None:
    randomizer, vectors = example.randomizer, example.words.vectors
    draws = some_draws(randomizer, len(vectors))
    released = randomizer.randomize(vectors, draws)
    assert (released.dtype, released.shape) == (np.float64, (len(vectors), randomizer.dimensions))
    assert np.array_equal(released, randomizer.randomize(vectors.astype(np.float64), draws))
    distinct = [len(np.unique(_outputs(randomizer, row, 6, 5), axis=0)) for row in vectors.astype(np.float64)]
    assert np.median(distinct) == 6
    same = tuple(column[:1] for column in draws)
    for i in range(10):  # the last ten words have the vectors of the first ten
        twice = [randomizer.randomize(vectors[[j]], same) for j in (i, i - 10)]
        assert np.array_equal(*twice)


def one_dimension_is_no_special_case(example: Example) -> None:
    vectors = table(70, 1).vectors
    try:
        randomizer = fitted(example.mechanism, table(70, 1))
    except ParameterError as refusal:
        pytest.skip(f"these parameters are for more dimensions: {refusal.name}")
    released = randomizer.release(vectors, seeds.source(0))
    assert released.shape == (70, randomizer.dimensions)
    assert np.isfinite(released).all()


def decoded_it_is_a_word_mechanism(example: Example) -> None:
    ids = np.tile(np.arange(len(example.words), dtype=np.int32), 2)
    for decoder in DECODERS:
        decoded = wv.Decoded(mechanism=example.mechanism, decoder=decoder)
        beside = "" if isinstance(decoder, wv.Nearest) else f"+{decoder.name}"
        assert (decoded.name, decoded.paper) == (f"{example.mechanism.name}{beside}", example.mechanism.paper)
        words = Example(decoded, example.words, fitted(decoded, example.words))
        assert words.randomizer.guarantee().unit is PrivacyUnit.TOKEN
        draws_do_not_depend_on_how_a_document_is_cut(words)
        outputs_do_not_depend_on_batch_or_thread(words)
        words_that_it_does_not_know_never_pass(words)
        no_two_consumers_of_a_stream_share_a_lane(words)
        released = words.randomizer.randomize(ids, some_draws(words.randomizer, len(ids)))
        assert released.dtype == np.int32
        assert set(released.tolist()) <= set(words.randomizer.outputs.tolist())


EVERY: list[Callable[[Example], None]] = [
    parameters_are_frozen_hashable_and_rebuilt_by_repr,
    the_guarantee_is_typed_and_a_sentence,
    draws_do_not_depend_on_how_a_document_is_cut,
    outputs_do_not_depend_on_batch_or_thread,
    it_leaves_the_lanes_of_decoders_alone,
    no_two_consumers_of_a_stream_share_a_lane,
    global_randomness_is_not_touched,
    an_audit_does_not_refute_it_and_refutes_three_times_its_loss,
]
WORDS: list[Callable[[Example], None]] = [
    words_follow_the_law_that_is_stated,
    what_may_stand_behind_an_output_is_read_off_its_law,
    the_claim_holds_on_the_exact_channel,
    words_that_it_does_not_know_never_pass,
    eleven_hundred_words_are_no_special_case,
]
VECTORS: list[Callable[[Example], None]] = [
    vectors_follow_the_density_that_is_stated,
    unusable_vectors_are_refused_without_being_shown,
    rows_are_float64_with_noise_of_their_own,
    one_dimension_is_no_special_case,
    decoded_it_is_a_word_mechanism,
]


def contract_of(mechanism: Mechanism) -> list[Callable[[Example], None]]:
    """The checks that a mechanism of its kind owes."""
    return EVERY + (VECTORS if mechanism.releases == "vectors" else WORDS)


def around(*, typed: bool) -> list[Callable[[Example], None]]:
    """The checks that a mechanism around another owes."""
    without = [parameters_are_frozen_hashable_and_rebuilt_by_repr] + [no_two_consumers_of_a_stream_share_a_lane] * typed
    return [check for check in EVERY + WORDS if check not in without] + [
        kinds_of_tokens_follow_laws_of_their_own
    ] * typed
