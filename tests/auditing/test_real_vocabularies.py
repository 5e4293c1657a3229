"""The auditor on real word vectors: known exact numbers, and the float attack as first found."""

import numpy as np
import pytest

import seeds
from wordveil.auditing.float_attack import possible_words
from wordveil.auditing.score_channels import verify_scores
from wordveil.mechanisms.multivariate_laplace import MultivariateLaplace
from wordveil.mechanisms.santext import SanText
from wordveil.vocabulary.table import Embeddings
from worlds import placed, shared

pytestmark = pytest.mark.data


def glove(v: int) -> Embeddings:
    with np.load(shared("embeddings", "glove.6B.50d.top100k.npz")) as data:
        words = str(data["words"]).split("\n")[:v]
        return placed(data["vectors"][:v], words)


@pytest.mark.slow
@pytest.mark.parametrize(("epsilon", "exact"), [(1.0, 0.861177), (4.0, 2.766642)])
def test_twenty_thousand_glove_words_have_the_known_exact_epsilon(epsilon, exact):
    verdict = verify_scores(SanText(epsilon=epsilon).fit(glove(20_000)), slack=0.0)
    assert verdict.tight_epsilon == pytest.approx(exact, abs=6e-7)
    assert verdict.holds


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_float_bits_single_out_one_glove_word_of_a_hundred_thousand(seed):
    words = glove(100_000).vectors
    fitted = MultivariateLaplace(epsilon=10.0).for_dimensions(50)
    stream = seeds.source(seed).stream("words")
    noise = fitted.randomize(np.zeros((9, 50)), fitted.sample(stream, 9)).astype(np.float32)
    counts = []
    for true, row in enumerate(noise, start=1234):
        released = words[true] + row
        left = possible_words(released, words)
        assert true in left
        counts.append(len(left))
        for bits in (8, 16):
            step = 2.0**-bits
            rounded = (np.rint(released.astype(np.float64) / step) * step).astype(np.float32)
            assert len(possible_words(rounded, words, grid=step)) == len(words)
    # Of 40 releases 33 left one word, one more than ten: five of nine above ten has chance 1e-6.
    assert np.median(counts) <= 10
    assert max(counts) < 0.05 * len(words)
