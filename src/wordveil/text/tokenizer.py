r"""Private text to an alternation of gaps and tokens, losing nothing.

The pieces joined give the text back, so a mechanism can replace tokens in place. Gaps hold only white space and
punctuation from a fixed public list (`characters.py`) and, on request, a fixed list of HTML tags. This module does
not decide which token is a word: that is the encoder's work.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from wordveil.arrays import PrivateText
from wordveil.errors import ParameterError
from wordveil.parameters import check_choice
from wordveil.text.patterns import markup_pattern, token_pattern


@dataclass(frozen=True, kw_only=True)
class Tokenizer:
    """Splits text into gaps and tokens; the class of a token shows in its own text.

    E-mail addresses, URLs, handles, paths, and digit runs with their joiners are one token each, as are runs of
    emoji and of ideographs. Everything outside the public list of gap characters belongs to some token.
    """

    # "html" leaves a fixed list of attribute-free tags and of entities in the gaps and makes every other tag one
    # token; "none" treats angle brackets as punctuation
    markup: Literal["none", "html"] = "none"

    def __post_init__(self) -> None:
        check_choice("markup", self.markup, ("none", "html"))

    def split(self, text: PrivateText) -> list[str]:
        """Pieces that alternate gap, token, gap, ..., gap: odd positions are tokens, `"".join(pieces) == text`.

        Example:
            >>> Tokenizer().split(PrivateText("Call +1 (555) 010-9999, Maria!"))
            ['', 'Call', ' ', '+1 (555) 010-9999', ', ', 'Maria', '!']
        """
        if self.markup == "none":
            return token_pattern().split(text)
        split = token_pattern(markup=True).split
        sections = markup_pattern().split(text)
        *pieces, last = split(sections[0])
        parts = [last]  # of the gap that tags go on: a string would be copied by each
        for tag, section in zip(sections[1::2], sections[2::2], strict=True):
            opening, *following = split(section)
            parts += tag, opening
            if following:
                pieces += "".join(parts), *following[:-1]
                parts = [following[-1]]
        return [*pieces, "".join(parts)]


def tokenizer_for(scheme: str, *, markup: Literal["none", "html"] = "none") -> Tokenizer:
    """The tokenizer of the scheme that a vocabulary's header names: what its words were made for; so far there is one.

    Markup is not part of a scheme: it is a fact about the documents, chosen per run.

    Example:
        >>> tokenizer_for("words", markup="html")
        Tokenizer(markup='html')
    """
    if scheme != "words":
        raise ParameterError("scheme", scheme, "is not a tokenizer scheme; the schemes are: words.")
    return Tokenizer(markup=markup)
