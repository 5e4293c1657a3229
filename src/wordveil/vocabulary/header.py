"""The public facts about a vocabulary, and their JSON form.

The header names where the table came from, how its words were cased and tokenized, and the checksum that ties
it to the words and the matrix. It holds no words and no vectors, and it does not read or write files.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, fields
from typing import Any

from wordveil.errors import EmbeddingFormatError, ParameterError
from wordveil.parameters import check_choice

FORMAT_VERSION = 1
CASINGS = ("lower", "cased")
CANDIDATE_RULES = ("words", "all")
ORDERS = ("unknown", "frequency")


@dataclass(frozen=True, kw_only=True)
class VocabularyHeader:
    """What is recorded about a vocabulary beside its words and its matrix."""

    name: str  # short name shown to users
    source: str  # where the vectors come from: a file name, a package, a URL
    rows: int  # number of words v
    dimensions: int  # number of columns d
    checksum: str  # SHA-256 over words and matrix, hexadecimal, as `checksums.table_checksum` computes it
    format_version: int = FORMAT_VERSION  # version of the on-disk form; this release reads version 1
    licence: str = ""  # licence of the vectors, or "" where it is not known
    normalisation: str = "none"  # what was done to the rows, "none" if nothing
    casing: str = "lower"  # "lower" if entries are lower-cased, "cased" if case carries meaning
    tokenizer: str = "words"  # name of the tokenization scheme the entries follow
    candidate_rule: str = "words"  # which entries may be output: "words" or "all"
    candidates_checksum: str = ""  # SHA-256 over the candidate ids, or "" where none was recorded
    order: str = "unknown"  # "frequency" if the commonest words come first, "unknown" otherwise

    def __post_init__(self) -> None:
        for name in ("name", "source", "checksum", "licence", "normalisation", "tokenizer", "candidates_checksum"):
            value = getattr(self, name)
            if not isinstance(value, str) or not value.isprintable():
                raise ParameterError(name, value, "must be text on one line, without control characters.")
        if self.format_version != FORMAT_VERSION:
            limit = f"must be {FORMAT_VERSION}. Import the source again with this version of wordveil."
            raise ParameterError("format_version", self.format_version, limit)
        for name in ("rows", "dimensions"):
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or value < 1:
                raise ParameterError(name, value, "must be a positive integer.")
        check_choice("casing", self.casing, CASINGS)
        check_choice("candidate_rule", self.candidate_rule, CANDIDATE_RULES)
        check_choice("order", self.order, ORDERS)

    def to_json(self) -> str:
        return json.dumps(asdict(self), indent=2, ensure_ascii=False) + "\n"

    @classmethod
    def from_json(cls, text: str, *, path: object = "header.json") -> VocabularyHeader:
        """Parse what `to_json` wrote; unknown keys are ignored so that later fields do not break readers.

        A text that is no valid header is an `EmbeddingFormatError`, which names the path.
        """
        remedy = "Import the source again, or restore the file."
        try:
            raw = json.loads(text)
        except ValueError as error:
            raise EmbeddingFormatError(path, f"the header is not JSON ({error}).", remedy=remedy) from None
        if not isinstance(raw, dict):
            raise EmbeddingFormatError(path, "the header must be a JSON object.", remedy=remedy)
        known: dict[str, Any] = {f.name: raw[f.name] for f in fields(cls) if f.name in raw}
        try:
            return cls(**known)
        except (TypeError, ParameterError) as error:
            raise EmbeddingFormatError(path, f"the header is not valid: {error}", remedy=remedy) from None
