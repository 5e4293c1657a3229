"""The trigram model: counts, discounts and pruning against dictionaries; sums, files and what the shipped one knows."""

import itertools
from collections import Counter
from math import ceil, exp, log
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.denoising.conftest import sentences

import wordveil as wv
from wordveil.denoising import prior as module
from wordveil.denoising.counting import build_prior, prior_of
from wordveil.denoising.prior import STEP, Prior, _Table, load_prior
from wordveil.denoising.reading import STATES, STOP, ReleaseReader
from wordveil.errors import ChecksumError, DataFormatError, ParameterError


def totals(prior, contexts):
    """The sums of P(w | v) and P(w | u, v) over all w, after some u and v."""
    every = np.arange(len(prior.unigram))
    found = []
    for u, v in contexts:
        _, pair = prior.pairs(np.array([u]), np.array([v]))
        after, _ = prior.pairs(np.full(len(every), v), every)
        thrice = prior.triples(np.full(len(every), pair[0], np.int32), every, after)
        assert min(after.min(), thrice.min()) > 0
        found.append((after.sum(dtype=float), thrice.sum(dtype=float)))
    return np.array(found)


def test_it_sums_to_one_after_every_two_states(prior):
    n = len(prior.unigram)
    assert prior.unigram.sum(dtype=float) == pytest.approx(1.0, abs=1e-6)
    assert prior.frequency.sum(dtype=float) == pytest.approx(1.0, abs=1e-6)
    assert totals(prior, [(u, v) for u in range(n) for v in range(n)]) == pytest.approx(1.0, abs=1e-5)


def test_the_shipped_one_sums_to_one_and_is_small():
    shipped = load_prior()
    table = wv.load_embeddings()
    common = table.ids(["of", "the", "in", "to", "be", "diabetes"]).tolist()
    contexts = [(u, v) for u in [len(table) + STOP, *common] for v in common]
    assert totals(shipped, contexts) == pytest.approx(1.0, abs=1e-5)
    assert Path(module.PACKAGED).stat().st_size <= 4_000_000
    shipped.check(table)
    assert len(shipped.held_out) == 1640


def test_pairs_help_and_triples_help_more_on_sentences_that_it_was_not_made_from():
    shipped, table = load_prior(), wv.load_embeddings()
    logs = np.zeros(3)
    for layout in ReleaseReader(table).read(shipped.held_out):
        own = layout.states.astype(np.int64)
        after, pairs = shipped.pairs(own[:-1], own[1:])
        thrice = shipped.triples(pairs[:-1], own[2:], after[1:])
        inside = (own[2:] < len(table)) & (own[1:-1] != len(table) + STOP)
        logs += [np.log(found[inside]).sum() for found in (shipped.frequency[own[2:]], after[1:], thrice)]
    alone, pairs, triples = np.exp(-(logs - logs[2]) / 5000)
    assert alone > 1.8 * pairs > 2.0 * triples


def test_a_file_gives_the_prior_back_and_equal_ones_equal_bytes(prior, few, tmp_path):
    prior.save(tmp_path / "a.npz")
    again = Prior.load(tmp_path / "a.npz")
    assert again.checksum == prior.checksum
    assert again.held_out == prior.held_out
    wv.build_prior(sentences(3000), few, source="made up").save(tmp_path / "b.npz")
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()
    assert wv.build_prior(sentences(3000, seed=1), few).checksum != prior.checksum


def test_a_file_that_is_none_is_refused(prior, tmp_path):
    path = tmp_path / "a.npz"
    prior.save(path)
    whole = path.read_bytes()
    with np.load(path) as stored:
        arrays = dict(stored)
    for name in arrays:
        np.savez(tmp_path / "less.npz", **{key: value for key, value in arrays.items() if key != name})
        with pytest.raises(DataFormatError, match="no prior"):
            Prior.load(tmp_path / "less.npz")
    for name in ("followers", "thirds", "seen", "third", "unigram"):
        np.savez(tmp_path / "short.npz", **(arrays | {name: arrays[name][:-1]}))
        with pytest.raises(DataFormatError, match="no prior"):
            Prior.load(tmp_path / "short.npz")
    for bad in (b"", b"text", whole[: len(whole) // 2]):
        path.write_bytes(bad)
        with pytest.raises(DataFormatError, match="no prior"):
            Prior.load(path)


def test_it_is_for_one_vocabulary_only(prior, few):
    prior.check(few)
    other = wv.Embeddings.from_arrays(list(few.words)[::-1], few.vectors, name="other")
    with pytest.raises(ChecksumError, match=r"'few', not of 'other'.*prior build"):
        prior.check(other)


@given(st.sets(st.integers(0, 1 << 50), max_size=200), st.lists(st.integers(-2, 1 << 50), max_size=50))
def test_keys_are_found_where_they_are_and_nowhere_else(keys, others):
    held = sorted(keys)
    table = _Table.of(np.array(held, np.int64))
    wanted = np.array([*held, *others], np.int64)
    numbers = {key: i for i, key in enumerate(held)}
    assert table.find(wanted).tolist() == [numbers.get(key, -1) for key in wanted.tolist()]


def test_keys_that_crowd_one_place_are_found(monkeypatch):
    monkeypatch.setattr(module, "_hashed", lambda keys, shift: np.zeros(len(keys), np.int64))
    table = _Table.of(np.arange(0, 100, 3))
    assert table.find(np.arange(100)).tolist() == [i // 3 if i % 3 == 0 else -1 for i in range(100)]


def discounts(counts):
    """D1, D2, D3+ of Chen and Goodman, equation 26, from the counts of counts, kept off the edges."""
    n1, n2, n3, n4 = (max(sum(1 for c in counts if c == k), 1) for k in (1, 2, 3, 4))
    y = n1 / (n1 + 2 * n2)
    cut = (1 - 2 * y * n2 / n1, 2 - 3 * y * n3 / n2, 3 - 4 * y * n4 / n3)
    return [min(max(d, 0.1), top) for d, top in zip(cut, (0.9, 1.8, 2.7), strict=True)]


def discounted(counts):
    """ngram -> (count - D) / count of its context."""
    cut, context = discounts(counts.values()), Counter()
    for gram, count in counts.items():
        context[gram[:-1]] += count
    return {gram: (count - cut[min(count, 3) - 1]) / context[gram[:-1]] for gram, count in counts.items()}


def rounded(p):
    """What a byte of the file holds: the next power of exp(-STEP) below."""
    return exp(-STEP * ceil(-log(p) / STEP))


def oracle(texts, few, least=2):
    """P(w | u, v) where nothing is pruned but what was seen less often, as a function, in the fewest words."""
    stop, n = len(few) + STOP, len(few) + STATES
    pairs, triples = Counter(), Counter()
    for layout in ReleaseReader(few).read(texts):
        own = layout.states.tolist()
        pairs.update((a, b) for a, b in itertools.pairwise(own))
        triples.update((a, b, c) for a, b, c in zip(own, own[1:], own[2:], strict=False) if b != stop)
    follows = Counter((b, c) for _, b, c in triples)
    follows.update({(a, b): count for (a, b), count in pairs.items() if a == stop})
    kept = {gram for gram, count in triples.items() if count >= least}
    third = {gram: rounded(p) for gram, p in discounted(triples).items() if gram in kept}
    needed = {gram[:2] for gram in kept}
    second = {gram: rounded(p) for gram, p in discounted(follows).items() if pairs[gram] >= least or gram in needed}
    first = discounted(Counter((b,) for _, b in pairs))

    def left(grams, context):
        return 1 - sum(p for gram, p in grams.items() if gram[:-1] == context)

    def one(w):
        return first.get((w,), 0) + left(first, ()) / n

    def two(v, w):
        return second.get((v, w), 0) + left(second, (v,)) * one(w)

    return lambda u, v, w: third.get((u, v, w), 0) + left(third, (u, v)) * two(v, w), triples


def asked(prior, u, v, w):
    after, _ = prior.pairs(np.array([v]), np.array([w]))
    _, pair = prior.pairs(np.array([u]), np.array([v]))
    return float(prior.triples(pair, np.array([w]), after)[0])


@pytest.fixture(scope="module")
def repeated():
    twice = 2 * sentences(60, seed=3) + ["A bird and the cat.", "Not here, the unheard-of dog 12."] * 3
    return [*twice, "The dog of the bird of a cat saw here."]


@pytest.mark.parametrize("least", [2, 1])
def test_it_is_modified_kneser_and_ney_s_estimate(few, repeated, least):
    texts = [text for i, text in enumerate(repeated) if i % 200 != 100]  # one in 200 is held out
    expected, triples = oracle(texts, few, least)
    made = build_prior(repeated, few)
    if least == 1:
        states = np.concatenate([layout.states for layout in ReleaseReader(few).read(texts)])
        made = prior_of(states, few, pairs=None, triples=None)
    common = [gram for gram, count in triples.items() if count >= least]
    assert len(common) > 20
    states = range(len(few) + STATES)
    for u, v in {gram[:2] for gram in common} | {(0, 1), (3, 9)}:
        for w in states:
            assert asked(made, u, v, w) == pytest.approx(expected(u, v, w), rel=1e-4)


def test_what_is_pruned_goes_to_what_is_shorter_and_the_sums_stay(few, repeated):
    whole, small = build_prior(repeated, few), build_prior(repeated, few, pairs=10, triples=4)
    assert len(small.third) <= 4 < len(whole.third)
    assert len(small.right) <= 10 < len(whole.right)
    n = len(few) + STATES
    for u, v in ((0, 2), (n - STATES + STOP, 0), (2, 5)):
        assert sum(asked(small, u, v, w) for w in range(n)) == pytest.approx(1.0, abs=1e-5)
    kept = {int(w) for w in small.third}
    assert kept <= {int(w) for w in whole.third}


def test_texts_held_out_are_not_counted(few):
    texts = ["The dog runs."] * 99 + ["A cat sings there."] + ["The dog runs."] * 2
    made = build_prior(["The dog runs.", *texts], few)
    assert made.held_out == ["A cat sings there."]
    absent = few.id("sings")
    assert made.frequency[absent] < 0.002
    assert made.frequency[absent] == made.frequency[few.id("bird")]


def test_nothing_to_count_is_refused(few):
    with pytest.raises(ParameterError, match="at least two"):
        build_prior([], few)


def test_progress_adds_up(few):
    seen = []
    build_prior(sentences(50), few, progress=seen.append)
    assert sum(seen) == 50
