"""Pipelines of scikit-learn whose first step releases. Needs `pip install 'wordveil[sklearn]'`."""

from __future__ import annotations

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

import wordveil as wv
from wordveil.integrations.sklearn import PrivateVectors, TextSanitizer


def main() -> None:
    """Learn from released texts, and from released vectors."""
    texts = ["a wonderful, moving film", "a boring and awful film"] * 20
    stars = [5, 1] * 20
    sanitizer = TextSanitizer(epsilon=12.0)
    model = make_pipeline(sanitizer, TfidfVectorizer(), LogisticRegression()).fit(texts, stars)
    print(sanitizer.guarantee.sentence())
    print("stars:", model.predict(["a wonderful film"]))
    rows = np.random.default_rng(0).standard_normal((200, 8))
    vectors = PrivateVectors(wv.ClippedLaplace(epsilon=20.0, clip_norm=3.0))
    released = vectors.fit_transform(rows)
    print(released.shape, vectors.guarantee_.sentence())
    assert not np.allclose(released, rows)


if __name__ == "__main__":
    main()
