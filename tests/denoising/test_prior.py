"""The trigram model: sums, files, and what the shipped one knows."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.denoising.conftest import sentences

import wordveil as wv
from wordveil.denoising import prior as module
from wordveil.denoising.prior import Prior, _Table, load_prior
from wordveil.denoising.reading import STOP, ReleaseReader
from wordveil.errors import ChecksumError, DataFormatError


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
