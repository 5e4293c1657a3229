"""The head for masked words: gradients, what it learns, files, and a build that was interrupted."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.denoising.conftest import sentences

import seeds
import wordveil as wv
from wordveil.denoising import minilm_head
from wordveil.denoising.minilm_head import GROUPS, STATE, MiniLMHead, _gradients, _hidden, _Masker, build_head
from wordveil.denoising.models import open_priors
from wordveil.denoising.reading import STOP, ReleaseReader
from wordveil.errors import ChecksumError, DataFormatError, ParameterError
from wordveil.files.atomic import sibling
from wordveil.text.minilm import model_installed

pytestmark = [
    pytest.mark.skipif(not model_installed(), reason="the package with MiniLM's weights is not installed"),
    pytest.mark.slow,
    pytest.mark.xdist_group("minilm head"),  # which is trained once
]
TEXTS = sentences(120, seed=2)


@pytest.fixture(scope="module")
def small():
    """Little to train: the grammar has twelve words."""
    patch = pytest.MonkeyPatch()
    patch.setattr(minilm_head, "_TRAINED", {"w1": (STATE, 24), "b1": (24,), "w2": (24, 384), "b2": (384,)})
    patch.setattr(minilm_head, "NEGATIVES", 64)
    patch.setattr(minilm_head, "BATCH", 32)
    patch.setattr(minilm_head, "EPOCHS", 20)
    patch.setattr(minilm_head, "SHARD", 40)
    yield
    patch.undo()


@pytest.fixture(scope="module")
def free(prior):
    """A trigram that holds nothing out: the grammar has few sentences."""
    return replace(prior, facts={**prior.facts, "held_out": []})


@pytest.fixture(scope="module")
def head(few, free, small, tmp_path_factory):
    """The head and its file."""
    path = tmp_path_factory.mktemp("head") / "head.npz"
    return build_head(TEXTS, few, free, output=path, source="made up"), path


def test_gradients_are_those_of_the_loss():
    generator = seeds.rng(0)
    shapes = {"w1": (6, 5), "b1": (5,), "w2": (5, 4), "b2": (4,), "bias": (9,)}
    arrays = {name: generator.standard_normal(shape) for name, shape in shapes.items()}
    given, rows = generator.standard_normal((3, 6)), generator.standard_normal((9, 4))
    words, others, logs = np.array([1, 4, 1]), np.array([0, 1, 7, 7, 3]), generator.standard_normal(9)

    def loss():
        _, h = _hidden(arrays, given)
        scores = h @ rows.T + arrays["bias"] - logs
        total = 0.0
        for row, word in zip(scores, words, strict=True):
            rest = [row[i] for i in others if i != word]
            total -= row[word] - np.log(np.exp([row[word], *rest]).sum())
        return total / len(words)

    found = _gradients(arrays, given, words, others, rows, logs)
    for name, array in arrays.items():
        for place in list(np.ndindex(array.shape))[:6]:
            array[place] += 1e-6
            above = loss()
            array[place] -= 2e-6
            below = loss()
            array[place] += 1e-6
            assert found[name][place] == pytest.approx((above - below) / 2e-6, abs=1e-6)


def test_it_names_masked_words_of_sentences_that_it_has_not_seen(few, head):
    own, v = head[0], len(few)
    hits, every = [], np.arange(v)
    for layout in ReleaseReader(few).read(sentences(12, seed=77)):
        places = np.flatnonzero(layout.states < v)
        found = own.scores(layout.states, places, np.tile(every, (len(places), 1)))
        hits += (found.argmax(axis=1) == layout.states[places]).tolist()
    assert np.mean(hits) > 0.6  # the commonest word alone: less than a fifth


def test_a_sentence_s_scores_are_its_own_and_each_word_is_hidden_from_its_score(few, head):
    own, v = head[0], len(few)
    sentence = np.array([v + STOP, *few.ids(["the", "dog", "runs", "and", "not", "here"]), v + STOP], np.int32)
    places, every = np.arange(1, 7), np.tile(np.arange(v), (6, 1))
    found = own.scores(sentence, places, every)
    assert np.array_equal(found, own.scores(sentence, places, every))
    assert np.array_equal(found[:, :3], own.scores(sentence, places, every[:, :3]))
    other = sentence.copy()
    other[2] = few.id("bird")
    again = own.scores(other, places, every)
    assert np.array_equal(again[1], found[1])
    assert not np.array_equal(again[2], found[2])
    masker = _Masker.of(few)
    mask = masker.model.pieces["[MASK]"]
    inputs = list(masker.inputs(sentence, places))
    assert [row.count(mask) for row, _ in inputs] == [2, 1, 1, 1, 1]
    assert len(inputs) == GROUPS
    assert all(row[place] == mask for row, masks in inputs for place in masks)
    long = np.concatenate((sentence[:1], np.tile(few.id("sleeps"), 200), sentence[-1:])).astype(np.int32)
    assert own.scores(long, np.arange(1, 201), np.tile(np.arange(2), (200, 1))).shape == (200, 2)


def test_a_file_gives_the_head_back_and_serves_as_a_prior(few, prior, head, tmp_path):
    own, path = head
    assert MiniLMHead.load(path, few).checksum == own.checksum
    prior.save(tmp_path / "trigram.npz")
    trigram, model = open_priors([str(path), str(tmp_path / "trigram.npz")], few)
    assert (trigram.checksum, model.checksum) == (prior.checksum, own.checksum)
    with pytest.raises(ParameterError, match="at most one trigram and one model"):
        open_priors([str(path), str(path), str(tmp_path / "trigram.npz")], few)
    few_contexts = replace(model, contexts=1)
    denoiser = wv.Denoiser(
        few, wv.SanText(epsilon=2.5), prior=trigram, context=few_contexts, public=sentences(24), least=0.0
    )
    release = wv.Sanitizer(few, wv.SanText(epsilon=2.5))("The dog runs, and not here.")
    assert denoiser(release).guarantee == release.guarantee
    assert denoiser.fingerprint()["context"] == own.checksum


def test_files_that_are_no_heads_or_of_other_words_or_weights_are_refused(few, head, tmp_path):
    own, path = head
    whole, bad = path.read_bytes(), tmp_path / "bad.npz"
    with np.load(path) as stored:
        arrays = dict(stored)
    for name in arrays:
        np.savez(bad, **{key: value for key, value in arrays.items() if key != name})
        with pytest.raises(DataFormatError, match="no prior"):
            MiniLMHead.load(bad, few)
    for name in ("w1", "bias"):
        for wrong in (np.full_like(arrays[name], np.nan), arrays[name].astype("U5")):
            np.savez(bad, **{**arrays, name: wrong})
            with pytest.raises(DataFormatError, match="no prior"):
                MiniLMHead.load(bad, few)
    for content in (b"", b"text", whole[: len(whole) // 2]):
        bad.write_bytes(content)
        with pytest.raises(DataFormatError, match="no prior"):
            MiniLMHead.load(bad, few)
    renamed = wv.Embeddings.from_arrays(list(few.words)[::-1], few.vectors, name="other")
    with pytest.raises(ChecksumError, match="'few', not of 'other'"):
        MiniLMHead.load(path, renamed)
    other = MiniLMHead(arrays=own.arrays, facts={**own.facts, "minilm": "0"}, embeddings=few)
    with pytest.raises(ChecksumError, match="other weights of MiniLM"):
        other.scores(np.array([len(few) + STOP, 0, 1, len(few) + STOP]), np.array([1]), np.array([[0, 1]]))


def test_an_interrupted_build_goes_on_where_it_was_and_gives_the_same(few, free, head, tmp_path, monkeypatch):
    path, read = tmp_path / "head.npz", []
    original = minilm_head._examples

    def stops(texts, *rest):
        read.append(len(texts))
        if len(read) == 3:
            raise KeyboardInterrupt
        return original(texts, *rest)

    monkeypatch.setattr(minilm_head, "_examples", stops)
    with pytest.raises(KeyboardInterrupt):
        build_head(TEXTS, few, free, output=path, source="made up")
    assert not path.exists()
    assert len(list(sibling(path, "states").iterdir())) == 2
    done = []
    again = build_head(TEXTS, few, free, output=path, source="made up", resume=True, progress=done.append)
    assert again.checksum == head[0].checksum
    assert read == [40, 40, 40, 40]
    assert done == [40, 40, 40]
    assert not sibling(path, "states").exists()


def test_what_the_trigram_holds_out_is_not_learned_from(few, prior, small, tmp_path, monkeypatch):
    seen = []

    def noted(texts, *_):
        seen.extend(texts)
        return {"states": np.empty((0, STATE), np.float16), "words": np.empty(0, np.int32)}

    monkeypatch.setattr(minilm_head, "_examples", noted)
    with pytest.raises(ParameterError, match="must hold words of the vocabulary"):
        build_head([*prior.held_out, "A new dog."] * 5, few, prior, output=tmp_path / "head.npz", most=3)
    assert seen == ["A new dog."] * 3
