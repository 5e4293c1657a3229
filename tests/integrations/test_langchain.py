"""LangChain's embeddings, released."""

import numpy as np
import pytest

import wordveil as wv

pytest.importorskip("langchain_core", reason="needs the extra langchain")

from wordveil.integrations.langchain import PrivateEmbeddings


class Lengths:
    """Embeddings by the length of a text."""

    def embed_documents(self, texts):
        return [[float(len(text)), 1.0] for text in texts]

    def embed_query(self, text):
        return self.embed_documents([text])[0]


def test_embeddings_are_released_with_the_noise_of_the_mechanism():
    private = PrivateEmbeddings(Lengths(), wv.MultivariateLaplace(epsilon=4.0))
    rows = np.array(private.embed_documents(["four"] * 4000))
    assert private.release.guarantee.epsilon == 4.0
    grid = private.release.grid
    assert np.array_equal(np.round(rows / grid), rows / grid)
    noise = np.linalg.norm(rows - [4.0, 1.0], axis=1)
    # The norm of the noise in two dimensions is a gamma variate of shape 2: mean 2 / epsilon, variance 2 / epsilon^2.
    assert abs(noise.mean() - 0.5) < 6.2 * np.sqrt(2 / 16 / 4000)
    assert private.embed_documents([]) == []
    assert len(private.embed_query("four")) == 2
    assert private.embed_query("four") != private.embed_query("four")
