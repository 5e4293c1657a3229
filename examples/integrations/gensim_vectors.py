"""gensim's word vectors as a vocabulary, and back. Needs `pip install wordveil gensim`."""

from __future__ import annotations

from gensim.models import KeyedVectors

import wordveil as wv


def main() -> None:
    """Give the embedded vocabulary to gensim, take it back, and sanitize with it."""
    table = wv.load_embeddings()
    vectors = KeyedVectors(table.dimensions)
    vectors.add_vectors(list(table.words), table.vectors)
    print("near 'doctor':", [word for word, _ in vectors.most_similar("doctor", topn=3)])
    vocabulary = wv.Embeddings.from_arrays(vectors.index_to_key, vectors.vectors, name="mine")
    release = wv.Sanitizer(vocabulary, wv.NeighbourResponse(epsilon=8.0))("The doctor came.")
    print(release.text, release.guarantee.sentence())
    assert release.tokens == 3
    assert (vocabulary.vectors == table.vectors).all()


if __name__ == "__main__":
    main()
