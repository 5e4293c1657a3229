"""Sanitizing in one line: the embedded vocabulary, its default mechanism and the epsilon recorded for it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import lru_cache
from typing import Any, overload

from wordveil.arrays import PrivateText
from wordveil.errors import ParameterError
from wordveil.mechanisms.tem import TEM
from wordveil.names import DEFAULT_MECHANISM
from wordveil.pipeline.sanitizer import Sanitizer
from wordveil.promises.release import BatchRelease, Release
from wordveil.vocabulary.table import load_embeddings

__all__ = ["sanitize"]

assert TEM.name == DEFAULT_MECHANISM


@overload
def sanitize(texts: str, *, epsilon: float | None = None) -> Release: ...  # type: ignore[overload-overlap]
@overload
def sanitize(texts: Iterable[str | None], *, epsilon: float | None = None) -> BatchRelease: ...
def sanitize(texts: str | Iterable[str | None], *, epsilon: float | None = None) -> Release | BatchRelease:
    """Sanitize one text or many, with the vocabulary that comes with wordveil and TEM, drawn afresh in every call.

    For anything else (another mechanism, your own vocabulary, retries that draw the same noise) make a `Sanitizer`.

    Args:
        texts: A text, or several, such as a list or a column; None stays None.
        epsilon: Loss per unit of distance, in (0, inf); None takes the vocabulary's default, at which half of typical
            words stay: a weak promise, which `release.guarantee` states.

    Returns:
        The release of a text, or of a batch with its texts in order.

    Raises:
        ParameterError: If epsilon is outside its domain, or something is neither text nor None.

    Example:
        >>> import wordveil as wv
        >>> release = wv.sanitize("Maria was diagnosed with depression in March.")
        >>> release.tokens, release.guarantee.promise
        (7, 'metric DP')
        >>> wv.sanitize(["good film", None], epsilon=4.0).texts[1] is None
        True
    """
    sanitizer = _sanitizer(epsilon)
    if isinstance(texts, str):
        return sanitizer(texts)
    if not isinstance(texts, Iterable):
        raise ParameterError("texts", f"<{type(texts).__name__}>", "must be a str, or a list of str and None.")
    given = list(texts)
    there = [i for i, text in enumerate(given) if text is not None]
    batch = sanitizer.release_batch([PrivateText(text) for text in given if text is not None])
    released: list[Any] = [None] * len(given)
    for i, text in zip(there, batch.texts, strict=True):
        released[i] = text
    return replace(batch, texts=released)


@lru_cache(maxsize=8)
def _sanitizer(epsilon: float | None) -> Sanitizer:
    embeddings = load_embeddings()
    chosen = embeddings.header.default_epsilon[DEFAULT_MECHANISM] if epsilon is None else epsilon
    return Sanitizer(embeddings, TEM(epsilon=chosen))
