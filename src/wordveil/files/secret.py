"""The secret that repeatable noise is drawn under, in a file that only its owner may read."""

from __future__ import annotations

import hashlib
import os
import secrets
from pathlib import Path

from wordveil.errors import WordveilError
from wordveil.files.atomic import write_whole

SECRET_BYTES = 32


class Secret:
    """What turns salts into noise keys, and requests into digests that nobody without it can test a guess against.

    It lies in a file of mode 0600 apart from the database: neither alone can remove the noise of a release.
    """

    def __init__(self, value: bytes) -> None:
        self._value = value

    @classmethod
    def at(cls, path: Path) -> Secret:
        """Read the secret of a file, or make it there."""
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            write_whole(path, secrets.token_bytes(SECRET_BYTES), private=True)
        if os.name == "posix" and path.stat().st_mode & 0o077:
            raise WordveilError(f"{path} can be read by others; it must have mode 0600.")
        value = path.read_bytes()
        if len(value) != SECRET_BYTES:
            raise WordveilError(f"{path} does not hold {SECRET_BYTES} bytes; restore it from a backup.")
        return cls(value)

    def digest(self, purpose: str, *facts: str) -> str:
        """Return a digest of facts for one purpose, hexadecimal."""
        kept = hashlib.blake2b(key=self._value, person=purpose.encode(), digest_size=32)
        for fact in facts:
            encoded = fact.encode("utf-8", "surrogatepass")
            kept.update(len(encoded).to_bytes(8, "little") + encoded)
        return kept.hexdigest()

    def noise_key(self, salt: str) -> bytes:
        """Return the key that a release's noise is drawn under."""
        return bytes.fromhex(self.digest("noise", salt))[:16]

    def __repr__(self) -> str:
        return "Secret(hidden)"
