"""The scripts that texts are written in, as Unicode names their letters."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterable


def letters_by_script(texts: Iterable[str]) -> Counter[str]:
    """Count letters by script: the first word of a letter's Unicode name, such as LATIN, CYRILLIC or CJK.

    Example:
        >>> letters_by_script(["Zürich, 10 °C", "Рига"])
        Counter({'LATIN': 7, 'CYRILLIC': 4})
    """
    scripts = Counter[str]()
    for letter, times in Counter("".join(texts)).items():
        if letter.isalpha():
            scripts["LATIN" if letter.isascii() else unicodedata.name(letter, "?").partition(" ")[0]] += times
    return scripts
