"""Entity-only mode: the recognized spans of a document are replaced, and everything else stands as it is.

A mode for tools that find entities themselves. It is no release of the document: which tokens are touched follows from
the private text, and what nobody recognized goes out raw. It is said so on every result.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from wordveil.arrays import ReleasedText
from wordveil.integrations.conversation import Conversation, Message
from wordveil.pipeline.one_line import default_sanitizer
from wordveil.pipeline.sanitizer import Sanitizer
from wordveil.promises.guarantees import Guarantee, NoGuarantee

__all__ = ["EntityDocument"]

_TOUCHED = "which tokens are touched is a function of the private text, and all others stand as they are"
_AGREE = "both texts agree in all that stands outside the recognized spans, and in which spans are recognized"


class EntityDocument:
    """The spans of one document: equal spans and equal values come out equal; another document draws afresh.

    Args:
        sanitizer: How spans are released; the default of `wordveil.sanitize` unless given.

    Example:
        >>> document = EntityDocument()
        >>> address = document.replaced("maria@clinic.se")
        >>> document.replaced("maria@clinic.se") == address, document.restored(f"to {address}")
        (True, 'to maria@clinic.se')
    """

    def __init__(self, sanitizer: Sanitizer | None = None) -> None:
        self._spans = Conversation(sanitizer or default_sanitizer())

    def replaced(self, span: str) -> ReleasedText:
        """Return what stands for a span: surrogates for typed tokens, the mechanism's answer for words."""
        return self._spans.release([Message("entity", span)])[0]

    def text(self, text: str, spans: Iterable[tuple[int, int]]) -> str:
        """Return a text with its spans replaced, given by their ends and free of overlaps."""
        pieces, done = list[str](), 0
        for start, end in sorted(spans):
            pieces += [text[done:start], self.replaced(text[start:end])]
            done = end
        return "".join([*pieces, text[done:]])

    def restored(self, text: str) -> str:
        """Return a text with the values that can be restored in the place of their surrogates."""
        return self._spans.restore(text)

    @property
    def guarantee(self) -> NoGuarantee:
        """Of the whole document nothing is promised."""
        return NoGuarantee(reason=f"entity-only mode: {_TOUCHED}")

    @property
    def of_spans(self) -> Guarantee:
        """What is promised between two documents that differ inside of their recognized spans only."""
        claim: Any = self._spans.guarantee
        if isinstance(claim, NoGuarantee):
            return claim
        agreed: Guarantee = replace(claim, assumptions=(*claim.assumptions, _AGREE))
        return agreed

    @property
    def disclosed(self) -> tuple[str, ...]:
        """What the document discloses, a sentence each."""
        return (f"all text outside the recognized spans; {_TOUCHED}", *self._spans.disclosed)

    def as_dict(self) -> dict[str, Any]:
        """Return what is promised and disclosed, JSON-ready; nothing of the text."""
        return {
            "guarantee": self.guarantee.as_dict(),
            "of_spans": self.of_spans.as_dict(),
            "disclosed": list(self.disclosed),
        }
