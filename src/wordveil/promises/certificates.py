"""The certificate value: what was computed, on which public inputs, with which result, and its JSON.

A certificate records a computation anyone with the same public inputs can repeat; it proves nothing by itself.
`compare` holds a certificate against its repetition and names what differs. The computations live in
`wordveil.certification`; this module reads no embeddings and computes no privacy number.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum
from functools import cache
from pathlib import Path
from types import MappingProxyType, MemberDescriptorType
from typing import Any

import numpy as np

from wordveil import __version__
from wordveil.errors import CertificateError
from wordveil.files.atomic import write_whole

FORMAT = 1
CLAIM_MARGIN = 1e-9
"""Claimed epsilons are the computed ones times (1 + 1e-9), rounded up, so that a repetition on another kind of
processor, whose last bits differ, stays below the claim."""
_AGREEMENT = 1e-6
_SAFE_ABOVE = ("epsilon", "delta", "error", "stretch", "scale", "sigma", "half_width")

Scalar = str | int | float | None
"""What a certificate's parameters may be."""


@dataclass(frozen=True, kw_only=True)
class Certificate:
    """A repeatable computation about public inputs.

    Attributes:
        method: Name of the computation, for instance "normaliser-lipschitz".
        vocabulary: SHA-256 of words and matrix, or "" where the computation uses none.
        candidates: SHA-256 of the ids that may be output, or "".
        parameters: What was asked: mechanism, metric, target epsilon and so on.
        numbers: What was found; every epsilon is rounded up.
        error: Bound, in nats, on what the arithmetic of this computation can have missed. It is claimed as slack.
        version: Version of wordveil that made it.
        format: Version of the JSON form.
    """

    method: str
    vocabulary: str
    candidates: str
    parameters: Mapping[str, Scalar]
    numbers: Mapping[str, float]
    error: float
    version: str = __version__
    format: int = FORMAT

    def __post_init__(self) -> None:
        if self.format != FORMAT:
            raise CertificateError(f"Certificate format {self.format} is not the supported {FORMAT}; make a new one.")
        bad = [name for name, value in self.numbers.items() if not _is_number(value)]
        if bad or not _is_number(self.error) or self.error < 0:
            raise CertificateError(f"Certificate numbers must be finite: {', '.join(bad) or 'error'} is not.")
        object.__setattr__(self, "parameters", MappingProxyType(dict(self.parameters)))
        object.__setattr__(self, "numbers", MappingProxyType(dict(self.numbers)))

    def __reduce__(self) -> tuple[Any, ...]:
        # A read-only mapping does not pickle; the JSON form does.
        return Certificate.from_json, (self.to_json(),)

    def to_json(self) -> str:
        """Return the JSON form: sorted keys, every number with all its digits."""
        content = {**vars(self), "parameters": dict(self.parameters), "numbers": dict(self.numbers)}
        return json.dumps(content, indent=2, sort_keys=True, allow_nan=False) + "\n"

    @property
    def checksum(self) -> str:
        """SHA-256 of the JSON form, hexadecimal."""
        return hashlib.sha256(self.to_json().encode()).hexdigest()

    @classmethod
    def from_json(cls, text: str) -> Certificate:
        """Read the JSON form; a `CertificateError` if the text is no certificate of this format."""
        try:
            content = json.loads(text)
            known = {f.name for f in fields(cls)}
            if not isinstance(content, dict) or content.keys() != known:
                raise CertificateError(f"A certificate is a JSON object with the keys {', '.join(sorted(known))}.")
            texts, tables = ("method", "vocabulary", "candidates", "version"), ("parameters", "numbers")
            kinds: dict[str, type] = {**dict.fromkeys(texts, str), **dict.fromkeys(tables, dict)}
            wrong = [name for name, kind in kinds.items() if not isinstance(content[name], kind)]
            if not _is_number(content["error"]):
                wrong.append("error")
            if wrong:
                raise CertificateError(f"The certificate's {', '.join(wrong)} has the wrong type.")
            return cls(**content)
        except json.JSONDecodeError as error:
            raise CertificateError(f"The certificate is not JSON (line {error.lineno}).") from None

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the JSON form, all or nothing; return the path."""
        write_whole(Path(path), self.to_json().encode(), shared=True)
        return Path(path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Certificate:
        """Read a file that `save` wrote; `CertificateError` if it is none, `FileNotFoundError` if there is no file."""
        try:
            return cls.from_json(Path(path).read_text(encoding="utf-8"))
        except UnicodeDecodeError:
            raise CertificateError(f"{path} is not a certificate: it is no UTF-8 text.") from None

    def require(self, *, method: str, vocabulary: str, candidates: str, parameters: Mapping[str, Scalar]) -> None:
        """Check that it speaks of the given inputs; a `CertificateError` names what differs first, with both values."""
        found = {"method": self.method, "vocabulary": self.vocabulary, "candidates": self.candidates, **self.parameters}
        wanted = {"method": method, "vocabulary": vocabulary, "candidates": candidates, **parameters}
        # The mechanism first: its name explains every other difference.
        for name in sorted(found.keys() | wanted.keys(), key=lambda name: (name not in ("method", "mechanism"), name)):
            if found.get(name) != wanted.get(name):
                raise CertificateError(
                    f"The certificate is for {name}={found.get(name)!r}, but {wanted.get(name)!r} is needed; "
                    "make one for these inputs with certify()."
                )


def compare(claimed: Certificate, repeated: Certificate) -> None:
    """Hold a certificate against its repetition on the same inputs.

    Inputs must be equal; numbers must agree to a relative 1e-6; and nothing that is safe only from above (an epsilon,
    a delta, an error, a noise scale) may be below what the repetition found before its own rounding up.
    """
    claimed.require(
        method=repeated.method,
        vocabulary=repeated.vocabulary,
        candidates=repeated.candidates,
        parameters=repeated.parameters,
    )
    ours, theirs = {**claimed.numbers, "error": claimed.error}, {**repeated.numbers, "error": repeated.error}
    for name in sorted(ours.keys() | theirs.keys()):
        a, b = ours.get(name), theirs.get(name)
        if a is None or b is None or not math.isclose(a, b, rel_tol=_AGREEMENT):
            raise CertificateError(f"The certificate says {name}={a!r}, the repetition found {b!r}.")
        if name.startswith(_SAFE_ABOVE) and a < b * (1 - CLAIM_MARGIN):
            raise CertificateError(f"The certificate claims {name}={a!r}, below the {b!r} that the repetition found.")


def identity(value: Any) -> str:
    """Return a public name of a parameter object: its class, its fields, and the SHA-256 of any array in it.

    A user's class also shows its `name`, and the package whose code it is. `CertificateError` if it, or a value at any
    depth in it, holds more than such a name can show.
    """
    kind: type = type(value)
    named = {field.name for field in fields(value)} if is_dataclass(value) and not isinstance(value, type) else None
    if named is None or not named.issuperset(_state(value)):
        raise _unnamed(value)
    # Ours compute the fields that cannot be given; a user's may hold there what an `InitVar` brought.
    held = {field.name: str(field.type) for field in fields(value) if field.init or not _is_ours(kind)}
    if not all(hasattr(value, name) for name in held):
        raise _unnamed(value)
    parts = [f"{name}={_shown(_as_declared(getattr(value, name), declared))}" for name, declared in held.items()]
    if not _is_ours(kind):
        parts += [f"name={_shown(value.name)}"] if hasattr(value, "name") and "name" not in named else []
        if "==" not in (package := code_name(kind)):
            raise CertificateError(
                f"{kind.__name__} cannot be named in a certificate: it is in no installed release of a package, so "
                "that nobody can tell its code from other code."
            )
        parts.append(f"class={package!r}")
    return f"{kind.__name__}({', '.join(parts)})"


def mark_of(value: Any) -> str:
    """Return twelve digits that tell a parameter object from others; of what cannot be named, which equals nothing."""
    try:
        return hashlib.sha256(identity(value).encode()).hexdigest()[:12]
    except CertificateError:
        return os.urandom(6).hex()


def digest_of(values: Mapping[str, Any]) -> str:
    """Return the SHA-256 of public values by their names, arrays by their bytes; "" of none.

    What cannot be named, such as a search that was built of the same, is left out.
    """
    named = dict[str, str]()
    for name, value in values.items():
        with suppress(CertificateError):
            named[name] = _shown(value)
    return hashlib.sha256(json.dumps(named, sort_keys=True).encode()).hexdigest() if named else ""


@cache
def code_name(kind: type) -> str:
    """Return what tells a third party's class from every other: "package==version:class"; "" for a class of ours.

    A class that no installed release of a package has under its name is named by random bits, so that nothing adds up
    with it but itself.
    """
    if _is_ours(kind):
        return ""
    from importlib.metadata import distribution, packages_distributions  # slow, and of use to third parties only

    module, name = kind.__module__, kind.__qualname__
    file = getattr(sys.modules.get(module), "__file__", None)
    if file is None or "." in name or getattr(sys.modules[module], name, None) is not kind:
        return os.urandom(6).hex()
    for package in sorted(set(packages_distributions().get(module.partition(".")[0], ()))):
        release = distribution(package)
        source = json.loads(release.read_text("direct_url.json") or "null")
        if (source and source.get("dir_info", {}).get("editable")) or not Path(file).is_relative_to(
            str(release.locate_file(""))
        ):
            continue
        # Of what came from no index (a folder, a wheel, a repository) two builds may have one version: the list of
        # files tells them apart.
        record = (release.read_text("RECORD") or os.urandom(6).hex()) if source is not None else ""
        build = f" ({hashlib.sha256(record.encode()).hexdigest()[:12]})" if record else ""
        return f"{package}=={release.version}{build}:{module}.{name}"
    return os.urandom(6).hex()


_SCALARS = (str, bytes, int, float, complex, bool, type(None))
_BRACKETS: dict[type, tuple[str, str]] = {tuple: ("(", ")"), list: ("[", "]"), set: ("{", "}"), frozenset: ("{", "}")}


def _as_declared(entry: Any, declared: str) -> Any:
    """Return 8.0 for 8 where a float is declared: equal parameters are one release, whoever wrote them."""
    whole = isinstance(entry, int | np.integer) and not isinstance(entry, bool)
    return float(entry) if whole and "float" in declared and float(entry) == entry else entry


def _shown(entry: Any) -> str:
    """Return what differs wherever the entry does; only exact classes are known, as a derived one may hold more."""
    kind = type(entry)
    if kind is np.ndarray and not entry.dtype.hasobject:
        data = f"{entry.dtype.str}{entry.shape}".encode() + np.ascontiguousarray(entry).tobytes()
        return repr("sha256:" + hashlib.sha256(data).hexdigest())
    if is_dataclass(entry):
        return identity(entry)
    if kind is dict:
        return f"{{{', '.join(f'{_shown(key)}: {_shown(held)}' for key, held in entry.items())}}}"
    if kind in _BRACKETS:
        parts = [_shown(held) for held in entry]
        (left, right), comma = _BRACKETS[kind], "," if kind is tuple and len(parts) == 1 else ""
        return f"{left}{', '.join(sorted(parts) if kind in (set, frozenset) else parts)}{comma}{right}"
    if _is_ours(kind) and "identity" in vars(kind):  # a table, by its checksums
        return str(entry.identity())
    if isinstance(entry, np.number | np.bool_) and kind.__module__ == "numpy":
        entry = entry.item()  # as Python writes it; NumPy's own form differs between its versions
    if (
        type(entry) in _SCALARS
        or kind in (np.longdouble, np.clongdouble)
        or (_is_ours(kind) and isinstance(entry, Enum))
    ):
        return repr(entry)
    raise _unnamed(entry)


def _state(value: Any) -> set[str]:
    """Return the names under which an object holds values: in its dictionary, and in the slots of its bases."""
    names = set(getattr(value, "__dict__", ()))
    for base in type(value).__mro__:
        for name, slot in vars(base).items():
            if isinstance(slot, MemberDescriptorType):
                hidden = getattr(type(value), name) is not slot  # by a derived class's attribute of this name
                with suppress(AttributeError):  # of an empty slot
                    slot.__get__(value)
                    names.add(f"{base.__name__}.{name}" if hidden else name)
    return names


def _is_ours(kind: type) -> bool:
    return kind.__module__.partition(".")[0] == "wordveil"


def _unnamed(value: Any) -> CertificateError:
    return CertificateError(
        f"{type(value).__name__} cannot be named in a certificate; make it a frozen dataclass of numbers, strings, "
        "arrays of them, and lists of those."
    )


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
