"""Sanitizing in one line: the embedded vocabulary, its default mechanism and surrogates for typed tokens."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import cast, overload

from wordveil.arrays import ReleasedText
from wordveil.errors import ParameterError
from wordveil.mechanisms.neighbours import NeighbourResponse
from wordveil.promises.release import BatchRelease, Release, TextOptions
from wordveil.promises.rows import Rows
from wordveil.sanitizing.sanitizer import Sanitizer, release_rows
from wordveil.vocabulary.table import load_embeddings


@overload
def sanitize(texts: str, *, epsilon: float = ...) -> Release: ...  # type: ignore[overload-overlap]
@overload
def sanitize(texts: Iterable[str | None], *, epsilon: float = ...) -> BatchRelease: ...
def sanitize(
    texts: str | Iterable[str | None], *, epsilon: float = NeighbourResponse.epsilon
) -> Release | BatchRelease:
    """Sanitize one text or many, with the vocabulary that comes with wordveil, drawn afresh in every call.

    Every word becomes the face of its public class of like words, one of 256, or, with probability .19, any of the 256
    faces; numbers, dates, e-mails and their like become made-up ones of their kind.

    For anything else (another mechanism, your own vocabulary, retries that draw the same noise) make a `Sanitizer`.

    Args:
        texts: A text, or several, such as a list or a column; None stays None.
        epsilon: Loss between any two words, nats, in (0, inf).

    Returns:
        The release of a text, or of a batch with its texts in order.

    Raises:
        ParameterError: If epsilon is outside its domain, or something is neither text nor None.

    Example:
        >>> import wordveil as wv
        >>> release = wv.sanitize("Maria was diagnosed with depression in March.")
        >>> release.tokens, release.guarantee.promise
        (7, 'local DP')
        >>> wv.sanitize(["good film", None], epsilon=4.0).texts[1] is None
        True
    """
    sanitizer = default_sanitizer(epsilon)
    if isinstance(texts, str):
        return sanitizer(texts)
    if isinstance(texts, Mapping) or hasattr(texts, "columns"):  # which would hand out names for texts
        problem = "must be texts, not a table: name a column of it, as in sanitize(table['note'])."
        raise ParameterError("texts", f"<{type(texts).__name__}>", problem)
    if not isinstance(texts, Iterable):
        raise ParameterError("texts", f"<{type(texts).__name__}>", "must be a str, or a list of str and None.")
    released, batch = release_rows(sanitizer, cast(Rows, [[text] for text in texts]), None)
    return replace(batch, texts=cast(list[ReleasedText], [text for (text,) in released]))


@lru_cache(maxsize=8)
def default_sanitizer(epsilon: float = NeighbourResponse.epsilon) -> Sanitizer:
    """Return the sanitizer that `sanitize` uses; a copy of it draws under a key of its own."""
    return Sanitizer(load_embeddings(), NeighbourResponse(epsilon=epsilon), options=TextOptions(unknown="typed"))
