"""Real text through the public classes of words: what a model that learnt from releases can read.

No release: what comes out is as private as what goes in, for it tells the class of every word. It is for the owner of
a text, at the door of a model that was trained on words of 256 kinds and knows no others.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import overload

import numpy as np

from wordveil.arrays import PrivateIds, PrivateText, ReleasedIds
from wordveil.errors import ParameterError
from wordveil.mechanisms.wrappers import Typed
from wordveil.parameters import strings
from wordveil.sanitizing.default import default_sanitizer
from wordveil.sanitizing.ids import Prepared
from wordveil.sanitizing.sanitizer import Sanitizer
from wordveil.text.readings import UNKNOWN


class ClassMap:
    """Puts the face of its class in the place of every word, as a sanitizer does but for its noise.

    A token of a kind becomes one value of that kind, always the same; an unknown word is left out, since its release
    says nothing.

    Guarantee:
        None: this is no release. Equal texts give equal texts, and each word tells its class.

    Args:
        sanitizer: Whose classes, vocabulary and options count; the default one unless given.

    Raises:
        ParameterError: If its mechanism releases no classes.

    Example:
        >>> import wordveil as wv
        >>> mechanism = wv.NeighbourResponse(epsilon=7.0, outputs="classes:256")
        >>> classes = wv.ClassMap(wv.Sanitizer(wv.load_embeddings(), mechanism))
        >>> classes.map("a doctor") == classes.map("a surgeon")
        True
    """

    def __init__(self, sanitizer: Sanitizer | None = None) -> None:
        self.sanitizer = default_sanitizer() if sanitizer is None else sanitizer
        faces = self.sanitizer.parts.randomizer.faces
        if faces is None:
            raise ParameterError("sanitizer", self.sanitizer.mechanism, 'must release classes: outputs="classes:256".')
        self._faces = faces

    def face(self, word: str) -> str | None:
        """Return the word that is shown for a word of the vocabulary, None for any other."""
        embeddings = self.sanitizer.embeddings
        (place,) = embeddings.ids([word]).tolist()
        return None if place < 0 else embeddings.words[int(self._faces[place])]

    @overload
    def map(self, texts: str) -> PrivateText: ...  # type: ignore[overload-overlap]
    @overload
    def map(self, texts: Iterable[str | None]) -> list[PrivateText | None]: ...
    def map(self, texts: str | Iterable[str | None]) -> PrivateText | list[PrivateText | None]:
        """Return a text, or several, by classes; None stays None.

        Raises:
            ParameterError: If something is neither text nor None.
        """
        if isinstance(texts, str):
            return self._written([texts])[0]
        given = list(texts)
        written = iter(self._written(strings("texts", [text for text in given if text is not None])))
        return [None if text is None else next(written) for text in given]

    def _written(self, texts: Sequence[str]) -> list[PrivateText]:
        parts = self.sanitizer.parts
        prepared = Prepared.read(parts.encoder, [[PrivateText(text)] for text in texts])
        ids = prepared.tokens
        # Ids as a writer takes them; nothing is released, and what is written is handed on as private.
        shown = np.where(ids < 0, UNKNOWN, self._faces[np.maximum(ids, 0)]).astype(np.int32)
        kinds = np.flatnonzero(ids < UNKNOWN)
        if parts.encoder.typed is not None and len(kinds):
            typed = Typed(randomizer=parts.randomizer, surrogates=parts.encoder.typed)
            shown[kinds] = typed.values(PrivateIds(ids[kinds]), np.zeros(len(kinds), np.uint64))
        return [PrivateText(str(text)) for text in parts.writer.write_parts(prepared.parts, ReleasedIds(shown))]
