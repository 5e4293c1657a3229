"""Tokenizer settings by the scheme name that a vocabulary's header carries.

A vocabulary names the scheme its words were made for, so that texts are cut the same way wherever it is used.
Markup is not part of a scheme: it is a fact about the documents, chosen per run.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal

from wordveil.errors import ParameterError
from wordveil.text.tokenizer import Tokenizer

DEFAULT_SCHEME = "words"

SCHEMES: Mapping[str, Tokenizer] = MappingProxyType({"words": Tokenizer()})
"""Scheme name to tokenizer, for documents without markup."""


def tokenizer_for(scheme: str, *, markup: Literal["none", "html"] = "none") -> Tokenizer:
    """The tokenizer of a named scheme.

    Example:
        >>> tokenizer_for("words", markup="html")
        Tokenizer(markup='html')
    """
    if scheme not in SCHEMES:
        names = ", ".join(sorted(SCHEMES))
        raise ParameterError("scheme", scheme, f"is not a tokenizer scheme; the schemes are: {names}.")
    return SCHEMES[scheme] if markup == "none" else Tokenizer(markup=markup)
