"""The key of a run: a file of mode 0600 beside the output, so that a resumed run draws the noise it would have drawn.

It is there before the first draw, and goes when all bytes are written, before the output gets its name. Whoever has it
can remove the noise.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from wordveil.errors import ParameterError, ResumeError
from wordveil.files.atomic import sibling, write_whole
from wordveil.files.journal import is_resumable, journal_path, stored
from wordveil.randomness import KEY_BYTES, RandomSource


def run_key_path(destination: str | os.PathLike[str]) -> Path:
    """Where the run key of an output lies until success."""
    return sibling(destination, "key")


def save_run_key(path: Path, key: bytes) -> None:
    """Write the run key to a file of mode 0600 and bring it to the disk."""
    write_whole(path, key, private=True)


def load_run_key(path: Path, remedy: str = "Start without --resume.", *, kept: bool = False) -> bytes:
    """Read a run key back, or one that its owner keeps."""
    try:
        mode = path.stat().st_mode
        key = path.read_bytes()
    except FileNotFoundError:
        key = b""
    if not key:
        raise ResumeError(f"{path} does not exist or is empty. {remedy}")
    if os.name == "posix" and mode & 0o077:
        cure = f"If nobody has read it: chmod 600 {path.name}. A new key gives old documents a second form."
        raise ResumeError(f"{path} can be read by others (mode {mode & 0o777:04o}). {cure if kept else remedy}")
    return key


def remove_run_key(path: Path) -> None:
    """Remove the run key after success; nothing happens where there is none."""
    path.unlink(missing_ok=True)


def key_digest(source: RandomSource) -> str:
    """Return a digest of the run key. A resumed run compares it; it reveals nothing about the key."""
    return hashlib.blake2b(source.export_key() + b"aes", digest_size=16).hexdigest()


def run_source(
    destination: str | os.PathLike[str], *, resume: bool = False, key_file: str | os.PathLike[str] | None = None
) -> RandomSource:
    """Return the randomness of a run: a fresh key, the key of the interrupted run at this destination, or one's own.

    Args:
        destination: The output.
        resume: Whether an interrupted run goes on.
        key_file: A file of 16 secret bytes, of mode 0600, which stays: a document that did not change is released as
            it was before. Whoever has it can remove the noise of all that was released under it.

    Raises:
        ResumeError: If an interrupted run is there but its key is missing or readable by others, or one's own is.
        ParameterError: If one's own key is not 16 bytes.
    """
    if key_file is not None:
        made = {sibling(destination, name) for name in ("key", "journal", "partial", "release")}
        made |= {path.with_name(f"{path.name}.new") for path in made}  # as `write_whole` names what it has not finished
        if made & {Path(key_file).resolve(), Path(key_file).parent.resolve() / Path(key_file).name}:
            raise ParameterError("key_file", Path(key_file).name, "is made and removed by runs of this output.")
        remedy = f"A new key is made with: (umask 077; head -c {KEY_BYTES} /dev/urandom > {Path(key_file).name})"
        return RandomSource(load_run_key(Path(key_file), remedy, kept=True))
    path = run_key_path(destination)
    if not resume or not is_resumable(destination):
        return RandomSource()
    if not path.exists() and (stored(journal_path(destination)) or {}).get("product") is not None:
        return RandomSource()  # nothing is left to draw: the output needs only its name
    source = RandomSource(load_run_key(path))
    source.lasts = False
    return source
