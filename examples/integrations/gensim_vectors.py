"""gensim's word vectors as a vocabulary, and back. Needs `pip install 'wordveil[gensim]'`."""

from __future__ import annotations

import wordveil as wv
from wordveil.integrations.gensim import from_keyed_vectors, to_keyed_vectors


def main() -> None:
    """Give the embedded vocabulary to gensim, take it back, and sanitize with it."""
    vectors = to_keyed_vectors(wv.load_embeddings())
    print("near 'doctor':", [word for word, _ in vectors.most_similar("doctor", topn=3)])
    vocabulary = from_keyed_vectors(vectors, name="mine")
    release = wv.Sanitizer(vocabulary, wv.NeighbourResponse(epsilon=8.0))("The doctor came.")
    print(release.text, release.guarantee.sentence())
    assert release.tokens == 3
    assert (vocabulary.vectors == wv.load_embeddings().vectors).all()


if __name__ == "__main__":
    main()
