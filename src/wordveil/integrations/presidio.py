"""Presidio: operators that put surrogates and neighbour responses in the place of recognized spans, and restore them.

Both take one parameter, `document`: an `EntityDocument`, which is what makes equal values equal within a document, and
says what is promised. Everything happens on this machine.
"""

from __future__ import annotations

from typing import Any

from wordveil.errors import MissingExtraError
from wordveil.integrations.entities import EntityDocument

try:
    from presidio_anonymizer.entities import InvalidParamError
    from presidio_anonymizer.operators import Operator, OperatorType
except ImportError as missing:
    raise MissingExtraError("wordveil.integrations.presidio", "presidio-anonymizer", "presidio") from missing

__all__ = ["EntityDocument", "WordveilOperator", "WordveilRestorer"]


class WordveilOperator(Operator):
    """Replaces a span; for `AnonymizerEngine.add_anonymizer`."""

    def operate(self, text: str, params: dict[str, Any] | None = None) -> str:
        """Return what stands for the span."""
        return _document(params).replaced(text)

    def validate(self, params: dict[str, Any] | None = None) -> None:
        """Raise `InvalidParamError` where there is no document."""
        _document(params)

    def operator_name(self) -> str:
        """Return the name to ask for."""
        return "wordveil"

    def operator_type(self) -> OperatorType:
        """Return that it anonymizes."""
        return OperatorType.Anonymize


class WordveilRestorer(Operator):
    """Puts a private value back in the place of its surrogate; for `DeanonymizeEngine.add_deanonymizer`."""

    def operate(self, text: str, params: dict[str, Any] | None = None) -> str:
        """Return the span with its values restored."""
        return _document(params).restored(text)

    def validate(self, params: dict[str, Any] | None = None) -> None:
        """Raise `InvalidParamError` where there is no document."""
        _document(params)

    def operator_name(self) -> str:
        """Return the name to ask for."""
        return "wordveil-restore"

    def operator_type(self) -> OperatorType:
        """Return that it restores."""
        return OperatorType.Deanonymize


def _document(params: dict[str, Any] | None) -> EntityDocument:
    document = (params or {}).get("document")
    if not isinstance(document, EntityDocument):
        raise InvalidParamError("the parameter 'document' must be an EntityDocument, one for each document.")
    return document
