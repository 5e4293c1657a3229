"""Both trainings in miniature: what is learnt behind little and much noise, vocabularies, batches and scores."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

import seeds

torch = pytest.importorskip("torch", reason="PyTorch is not installed (extra: torch)")

from small_models import sentences, small_table  # noqa: E402

from wordveil.errors import ParameterError  # noqa: E402
from wordveil.mechanisms.clipped_gaussian import ClippedGaussian  # noqa: E402
from wordveil_lab.evaluation.overlap import MINILM  # noqa: E402
from wordveil_lab.neural import models as training_module  # noqa: E402
from wordveil_lab.neural.corpora import encode_texts, frequent_words, random_vectors  # noqa: E402
from wordveil_lab.neural.models import REWRITE, Rewriter, TextClassifier, fit, measure, score_rewrites  # noqa: E402
from wordveil_lab.neural.private_embedding import PADDING, UNKNOWN, PrivateEmbedding  # noqa: E402

QUICK = replace(REWRITE, epochs=4, batch=10, hidden=12, dropout=0.1, patience=4, learning_rate=0.03)
WEAK = ClippedGaussian(epsilon=2000.0, clip_norm=4.0)  # so little noise that a miniature can learn
STRONG = ClippedGaussian(epsilon=0.1)
TEXTS = [text for text, _ in sentences()]
LEARNING = replace(QUICK, epochs=10, patience=10)


def accuracy(make, mechanism):
    """Train a model of 168 texts and return its accuracy on 72 others."""
    texts, labels = zip(*sentences(240), strict=True)
    order = seeds.rng(7).permutation(240)
    layer = PrivateEmbedding(small_table(), mechanism, text_is_public=True)
    data = encode_texts(texts, layer.vocabulary, labels=labels, classes=("good", "bad"))
    model = make(layer)
    fit(model, data.part(order[72:]), data.part(order[:72]), LEARNING)
    return measure(model, data.part(order[:72]), 72)[1]


# Fresh noise each time; 72 held-out texts. At chance a classifier is above .85 with probability below 1e-9, and of a
# rewriter's words (the, noun, was, adjective) two are always the same, one is one of three and one one of eight.
@pytest.mark.parametrize("kind", [Rewriter, partial(TextClassifier, classes=["good", "bad"])])
def test_a_model_learns_and_a_strong_mechanism_keeps_it_from_knowing_the_words(kind):
    def make(layer):
        return kind(layer, hidden=12, dropout=0.1)

    assert accuracy(make, WEAK) > 0.95
    assert accuracy(make, STRONG) < 0.85


def test_training_stops_early_and_keeps_the_best_epoch(monkeypatch):
    data = encode_texts(TEXTS, small_table())
    losses, seen = iter([3.0, 1.0, 2.0, 2.5, 0.5]), []

    def remembered(model, *_):
        seen.append(model.words.weight.detach().clone())
        return next(losses), 0.0

    monkeypatch.setattr(training_module, "measure", remembered)
    model = Rewriter(PrivateEmbedding(small_table(), None), hidden=4, dropout=0.0)
    assert fit(model, data, data, replace(QUICK, epochs=9, patience=2)) == [3.0, 1.0, 2.0, 2.5]
    assert torch.equal(model.words.weight, seen[1])
    assert not torch.equal(seen[3], seen[1])


def test_the_callers_generator_is_left_alone():
    data = encode_texts(TEXTS, small_table())
    model = Rewriter(PrivateEmbedding(small_table(), None), hidden=4, dropout=0.0)
    torch.manual_seed(seeds.seed(9))
    before = torch.random.get_rng_state()
    fit(model, data, data, replace(QUICK, epochs=1))
    assert torch.equal(torch.random.get_rng_state(), before)


def test_a_vocabulary_is_what_the_text_uses_most():
    found = frequent_words(small_table(), ["here here here was was food"], size=2)
    assert list(found.words) == ["was", "here"]
    assert np.array_equal(found.vectors, small_table().vectors[small_table().ids(["was", "here"])])
    with pytest.raises(ParameterError, match="shares no word"):
        frequent_words(small_table(), ["zzz"])


def test_random_vectors_follow_a_public_seed():
    one, two, three = (random_vectors(small_table(), 5, seed=seeds.seed(n)) for n in (1, 1, 2))
    assert list(one.words) == list(small_table().words)
    assert one.dimensions == 5
    assert np.array_equal(one.vectors, two.vectors)
    assert not np.array_equal(one.vectors, three.vectors)


def test_texts_are_held_out_and_none_is_twice_there():
    data = encode_texts(TEXTS, small_table())
    parts = data.split(0.1)
    assert [len(part) for part in parts] == [54, 6]
    tokens = np.concatenate([part.corpus.tokens for part in parts])
    assert np.array_equal(np.sort(tokens), np.sort(data.corpus.tokens))


def test_batches_are_padded_cut_and_marked():
    data = encode_texts(["the film was zzz here", "!", "food", "food"], small_table(), max_tokens=4)
    assert len(data) == 3
    batch = data.batch(np.array([1, 0]))
    the, film, was, food = small_table().ids(["the", "film", "was", "food"]).tolist()
    assert batch.ids.tolist() == [[food, PADDING, PADDING, PADDING], [the, film, was, UNKNOWN]]
    assert batch.lengths.tolist() == [1, 4]


def test_scores_of_a_perfect_and_of_a_blind_rewriter():
    data = encode_texts(TEXTS, small_table())
    model = Rewriter(PrivateEmbedding(small_table(), None), hidden=4, dropout=0.0)
    model.rewrite = lambda batch: [row[:n] for row, n in zip(batch.ids, batch.lengths, strict=True)]
    perfect = score_rewrites(model, data)
    assert (perfect["ROUGE-1"], perfect["N_w"]) == (100.0, 1.0)
    for name, best in (("BLEU", 100.0), (MINILM, 1.0)):
        assert perfect.get(name, best) == pytest.approx(best, rel=1e-5)  # left out where its package is
    model.rewrite = lambda batch: [np.zeros(n, dtype=np.int32) for n in batch.lengths]
    assert score_rewrites(model, data)["N_w"] == pytest.approx((data.corpus.tokens == 0).mean())
