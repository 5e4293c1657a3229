"""Where noise lies under a run's key: the one name that it has, and which settings may share it: only equal ones.

mechanism, fitted arrays, vocabulary in use, options, version, what computes --> domain
domain, part and id of a document --> place --the private content, under the key--> nonce
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any

from wordveil import __version__
from wordveil.errors import CertificateError
from wordveil.mechanisms.base import VectorRandomizer, WordRandomizer
from wordveil.promises.certificates import identity
from wordveil.promises.release import Provenance, TextOptions
from wordveil.randomness import RandomSource
from wordveil.vocabulary.table import Embeddings


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Names the noise of a document: under one key, equal contents at equal places draw equal noise."""

    domain: str  # what sets the setting apart from any other; see `text_domain`, `vector_domain`
    # the document's id, unique within the run; a private text may be one, so `repr` hides it
    document: str = field(repr=False)
    part: str = ""  # what of it is released, such as columns: other parts of a document draw noise of their own


def nonces(source: RandomSource, places: Sequence[Place], contents: Sequence[Sequence[str] | str | bytes]) -> list[int]:
    """Return where the noise of private contents lies under a source's key, each at its place.

    A content is one text, the bytes of numbers, or several texts, whose ends count then.
    """
    whole = (each if isinstance(each, bytes) else "".join(each) for each in contents)
    return source.nonces(map(_named, places, contents), whole)


def _named(place: Place, content: Sequence[str] | str | bytes) -> str:
    ends = "" if isinstance(content, str | bytes) else ",".join(str(len(text)) for text in content) + "|"
    return f"{place.domain}{ends}{place.part}{place.document}"


def text_domain(mechanism: Any, randomizer: WordRandomizer, options: TextOptions, origin: Provenance) -> str:
    """Return what sets the noise of this setting apart from that of any other under the same key.

    Equal draws at two settings would tell more than their sum. It is made of what the setting *is*, in a fixed order,
    so that a retry in another process finds the same noise.
    """
    setting = {
        "version": origin.version,
        "mechanism": origin.mechanism,
        "code": _code(mechanism),
        "unnamed": _fresh(mechanism),
        "certificate": origin.certificate,
        "options": options.choices(),
        "vocabulary": origin.checksum,  # of words and matrix in use, whatever a header says
        "candidates": origin.candidates_checksum,
        "arithmetic": origin.arithmetic,  # of the machine or card; words are the same on every engine of one
        "public data": origin.public_data,  # another matrix or other lists are another law
    }
    header = randomizer.embeddings.header
    if (header.casing, header.tokenizer) != ("lower", "words"):  # the same words and vectors, but texts read otherwise
        setting["reading"] = [header.casing, header.tokenizer]
    if header.order != "unknown":  # it may choose which words are the most frequent
        setting["order"] = header.order
    return hashlib.blake2b(json.dumps(setting, sort_keys=True).encode(), digest_size=16).hexdigest() + "|"


def vector_setting(mechanism: Any, randomizer: VectorRandomizer, table: Embeddings | None) -> str:
    """Return what sets the noise of a vector mechanism apart from any other's under the same key.

    Args:
        mechanism: The parameters; what cannot be named gets another name each time, and so draws afresh.
        randomizer: It, fitted: noise around two public matrices, such as two machines may compute, would tell the row.
        table: The vocabulary it was fitted to, None where there is none.
    """
    vocabulary = "" if table is None else f"{table.checksum_in_use} {table.candidates_checksum}"
    fitted = [randomizer.public_data, vocabulary, __version__]
    return json.dumps([shown(mechanism), _code(mechanism), _fresh(mechanism), *fitted])


def vector_domain(mechanism: Any, randomizer: VectorRandomizer, table: Embeddings | None, *rows: str | None) -> str:
    """Return what sets the noise of rows apart from that of any others under the same key."""
    facts = (*rows, vector_setting(mechanism, randomizer, table))
    return hashlib.blake2b(repr(facts).encode("utf-8", "surrogatepass"), digest_size=16).hexdigest() + ":"


def _fresh(mechanism: Any) -> str:
    return "" if _is_named(mechanism) else os.urandom(16).hex()


def _code(part: Any) -> list[str]:
    """Return the class of a dataclass and of those it holds, depth first, each with its module."""
    if not is_dataclass(part) or isinstance(part, type):
        return []
    held = [name for field in fields(part) for name in _code(getattr(part, field.name))]
    return [f"{type(part).__module__}.{type(part).__qualname__}", *held]


def _is_named(mechanism: Any) -> bool:
    try:
        identity(mechanism)
    except CertificateError:
        return False
    return True


def shown(mechanism: Any) -> str:
    """Return a mechanism as Python that rebuilds it, arrays by their SHA-256."""
    return identity(mechanism) if _is_named(mechanism) else repr(mechanism)
