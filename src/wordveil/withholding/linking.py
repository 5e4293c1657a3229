"""Which hidden tokens are equal, where a release is to say so: within a document, or within what one person wrote.

Numbers of a document count its different hidden tokens. Numbers of a person are a keyed hash under the key of the run,
which is removed when the run has succeeded; no map of tokens is kept.
"""

from __future__ import annotations

import hashlib
import os
import re

from wordveil.documents import DocumentSettings
from wordveil.errors import ParameterError
from wordveil.randomness import RandomSource
from wordveil.text.characters import normalized
from wordveil.withholding.kinds import Kind

NONE, DOCUMENT = "none", "document"
"""What links nothing, and what links a document's tokens; any other choice is the name of a column of persons."""
_APOSTROPHES = frozenset("‘’‛`´ʹʻʼʽˈ′＇")
_UNSEEN = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f"
    "\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
"""What Unicode asks every font not to show (Default_Ignorable_Code_Point), and annotations."""
_NOBODY = frozenset(("", "nan", "NaN"))
_BYTES = 4  # two of a person's n hidden words share a number with a probability below n**2 / 2**33


def spelled_alike(token: str) -> str:
    """Return what tokens share that are linked: letters by compatibility, without capitals and what is not seen.

    Example:
        >>> [spelled_alike(token) for token in ("STRASSE", "Stra\u00dfe", "O\u2019Brt", "o\u00b4brt", "Mar\u00adia")]
        ['strasse', 'strasse', "o'brt", "o'brt", 'maria']
    """
    seen = "".join("'" if c in _APOSTROPHES else c for c in _UNSEEN.sub("", token))
    return normalized("NFKC", normalized("NFKC", seen).casefold())


class DocumentLinks:
    """Links the hidden tokens of one document, in the order in which they stand."""

    def __init__(self) -> None:
        self._numbers: dict[tuple[str, str], int] = {}
        self._different: dict[str, int] = {}

    def number(self, token: str, kind: Kind) -> int:
        """Return which of the different tokens of its printed kind this is."""
        known = kind.printed, spelled_alike(token)
        if known not in self._numbers:
            self._different[kind.printed] = self._numbers[known] = self._different.get(kind.printed, 0) + 1
        return self._numbers[known]


class PersonLinks:
    """Links the hidden tokens of all documents of one person under the source's key; of nobody's, within a document."""

    def __init__(self, source: RandomSource, person: str | None, document: str | None = None) -> None:
        name = owner_name(person, document)
        owner = f"{len(name)}:{name}".encode("utf-8", "surrogatepass")
        self._hash = hashlib.blake2b(owner, key=source.export_key(), digest_size=_BYTES)

    def number(self, token: str, kind: Kind) -> int:
        """Return a keyed hash of person, printed kind and token."""
        digest = self._hash.copy()
        digest.update(f"{kind.printed}\0{spelled_alike(token)}".encode("utf-8", "surrogatepass"))
        return 1 + int.from_bytes(digest.digest(), "big")


Links = DocumentLinks | PersonLinks
"""Numbers hidden tokens from 1 on, so that equal ones among those that print alike share a number."""


def owner_name(person: str | None, document: str | None) -> str:
    """Return what is hashed for a person, or for a document of nobody's; None for one that is no other's."""
    return f"#{os.urandom(16).hex() if document is None else document}" if person is None else f"={person}"


def persons_of(source: str | os.PathLike[str], column: str, settings: DocumentSettings) -> list[str | None]:
    """Return the person of every document of a file, None for nobody: names are equal that are written alike.

    No two spellings are one person: as numbers, `1e400` and `52e7791` would be.

    Raises:
        ParameterError: If a document names several persons.
        DocumentFormatError: If the column lies in a list, such as one of turns, of which some may name nobody.
    """
    with settings.open_values(os.fspath(source), column) as reader:
        records = [record.texts for record in reader if not record.structural]
    if any(len(texts) > 1 for texts in records):
        raise ParameterError("link", column, "names several persons in one document; give each a record of their own.")
    named = ["" if not texts or texts[0] is None else texts[0].strip() for texts in records]
    return [None if name in _NOBODY else name for name in named]
