"""Who wrote a report: an Ed25519 signature of its canonical bytes, made and checked by the library `cryptography`.

A signature proves that whoever holds the private key signed these facts, and that nobody changed them since. It does
not prove that they are true: a signer can sign what never happened.
"""

from __future__ import annotations

import base64
import hashlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from wordveil.errors import DataFormatError, MissingExtraError, ParameterError
from wordveil.files.atomic import sync
from wordveil.runs.report_schema import canonical, sealed

_DOMAIN = b"wordveil report, signed\n"  # a signature of a report is one of nothing else
_ALGORITHM = "Ed25519"


def new_key(path: str | os.PathLike[str]) -> Path:
    """Write a new private key, PEM, readable by its owner alone, and its public key beside it, which ends in `.pub`.

    Returns:
        Where the public key lies.

    Raises:
        ParameterError: If one of the two files exists, even as a link to nothing: a key that is replaced is lost. Where
            only the public one is missing, as after a kill, it is made from the private one.
        MissingExtraError: If `cryptography` is missing.
    """
    ed25519, serialization = _library()
    private = Path(path)
    if not private.name:
        raise ParameterError("new_key", os.fspath(path), "must name a file.")
    public = private.with_suffix(".pub")
    if private == public:
        raise ParameterError("new_key", private.name, "must not end in .pub, which is the ending of the public key.")
    half = private.is_file() and not os.path.lexists(public) and b"PRIVATE KEY" in private.read_bytes()
    for each in () if half else (private, public):
        if os.path.lexists(each):
            raise ParameterError("new_key", each.name, "must be a new file: a key that is replaced is lost.")
    pem = serialization.Encoding.PEM
    key = _key(private, private=True) if half else ed25519.Ed25519PrivateKey.generate()
    if not half:
        secret = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
        _write_new(private, secret, 0o600)
    known = key.public_key().public_bytes(pem, serialization.PublicFormat.SubjectPublicKeyInfo)
    _write_new(public, known, 0o666)
    return public


def _write_new(path: Path, content: bytes, mode: int) -> None:
    """Write a file that is new, whole or not at all; follows no link."""
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            sync(file)
    except BaseException:
        path.unlink()
        raise


def signed(facts: Mapping[str, Any], path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the facts of a report with a signature in the place of any that it has.

    Raises:
        DataFormatError: If the file holds no private Ed25519 key, or one behind a password.
        MissingExtraError: If `cryptography` is missing.
    """
    key, whole = _key(Path(path), private=True), sealed(facts)
    value = base64.b64encode(key.sign(_DOMAIN + canonical(whole))).decode("ascii")
    return {**whole, "signature": {"algorithm": _ALGORITHM, "key": _fingerprint(key.public_key()), "value": value}}


def signature_problem(facts: Mapping[str, Any], path: str | os.PathLike[str]) -> str:
    """Return why a report is not signed by the owner of a key, in one sentence; "" if it is."""
    key, signature = _key(Path(path), private=False), facts.get("signature")
    from cryptography.exceptions import InvalidSignature  # it is there where a key was read

    if signature is None:
        return "it is not signed"
    wanted = {"algorithm": _ALGORITHM, "key": _fingerprint(key)}
    if not isinstance(signature, dict) or {**signature, "value": ""} != {**wanted, "value": ""}:
        return "it is signed with another key"
    try:
        key.verify(base64.b64decode(signature["value"], validate=True), _DOMAIN + canonical(facts))
    except (InvalidSignature, ValueError, TypeError):
        return "its signature is of other facts"
    return ""


def _fingerprint(key: Any) -> str:
    return hashlib.sha256(key.public_bytes_raw()).hexdigest()


def _key(path: Path, *, private: bool) -> Any:
    """Return the private or the public Ed25519 key of a file."""
    ed25519, serialization = _library()
    kind = ed25519.Ed25519PrivateKey if private else ed25519.Ed25519PublicKey
    pem, problem = path.read_bytes(), "is no public key in PEM; --new-key writes it beside the private one."
    try:
        if private:
            problem = "is no private key in PEM; make one with --new-key."
            key = serialization.load_pem_private_key(pem, password=None)
        else:
            key = serialization.load_pem_public_key(pem)
    except TypeError:
        raise DataFormatError(path, "is behind a password; give a key without one.") from None
    except ValueError:
        raise DataFormatError(path, problem) from None
    if not isinstance(key, kind):
        raise DataFormatError(path, "is no Ed25519 key; make one with --new-key.")
    return key


def _library() -> tuple[Any, Any]:
    try:
        from cryptography.hazmat.primitives import serialization
        from cryptography.hazmat.primitives.asymmetric import ed25519
    except ModuleNotFoundError:
        raise MissingExtraError("Signing reports, and checking who signed one,", "cryptography", "sign") from None
    return ed25519, serialization
