"""Building the optional compiled kernels with whatever C compiler is found; the standard library only.

One shared library per instruction set, so that any machine the files are copied to picks what it can run. Nothing
here is needed to use wordveil: without a compiler, NumPy does the work. The install hook loads this file by its path.
"""

from __future__ import annotations

import hashlib
import os
import platform
import shutil
import subprocess
import tempfile
from functools import cache
from itertools import chain
from pathlib import Path

HERE = Path(__file__).parent
SOURCES = ("selection.c", "ceilings.c", "nearest.c")
HEADERS = ("products.h", "text.h", "words.h")
PORTABLE = {"withholding": ("withholding.c",)}
"""Libraries that any processor can run -> sources."""
PLAIN = {"processor": ("processor.c",), "text": ("reading.c", "writing.c", "drawing.c")}
"""Libraries that any x86-64 can run -> sources."""
COMMON = ("-O3", "-fno-math-errno", "-ffp-contract=fast", "-fPIC", "-shared", "-std=gnu11", "-Wno-psabi")
WIDE = ("-mavx512f", "-mavx512dq", "-mavx512bw", "-mavx512vl", "-mfma", "-mprefer-vector-width=512")
LEVELS: dict[str, tuple[str, ...]] = {
    "avx2": ("-mavx2", "-mfma"),
    "avx512": WIDE,
    "amx": (*WIDE, "-mavx512bf16", "-mamx-tile", "-mamx-bf16"),
}
"""Instruction set -> compiler flags, in the order of the bits that processor.c returns."""
TIME_LIMIT = 120  # seconds for one compilation


def find_compiler() -> str | None:
    """Return the C compiler named by CC, or the first of cc, gcc, clang that is found; None without one."""
    named = os.environ.get("CC")
    return shutil.which(named) if named else next(filter(None, map(shutil.which, ("cc", "gcc", "clang"))), None)


@cache
def source_mark() -> str:
    """Return a short hash of sources and flags: libraries built from others are not loaded."""
    digest = hashlib.sha256(repr((COMMON, LEVELS)).encode())
    for name in (*SOURCES, *HEADERS, *chain.from_iterable((PLAIN | PORTABLE).values())):
        digest.update((HERE / name).read_bytes())
    return digest.hexdigest()[:12]


def library_name(level: str) -> str:
    """Return the file name of a level's library for this system."""
    return f"wordveil-{level}-{source_mark()}-{platform.system()}-{platform.machine()}.so".lower()


def built_directories() -> tuple[Path, ...]:
    """Return where libraries may lie: beside the package, then in the user's own cache directory."""
    cache = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return HERE / "built", Path(cache) / "wordveil" / "kernels"


def build(destination: Path | None = None) -> list[Path]:
    """Compile every level that the compiler supports, into the first of `built_directories` that can be written to.

    Nothing is written where there is no compiler, or it could build nothing. On another processor than an x86-64, which
    the kernels were written for and tested on, only what any processor can run is built.
    """
    compiler = find_compiler()
    directory = destination or next((place for place in built_directories() if _writable(place)), None)
    if compiler is None or directory is None:
        return []
    directory.mkdir(parents=True, exist_ok=True)
    jobs: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {name: (own, ()) for name, own in PORTABLE.items()}
    if platform.machine() in ("x86_64", "AMD64"):
        jobs.update((name, (own, ())) for name, own in PLAIN.items())
        jobs.update((level, (SOURCES, flags)) for level, flags in LEVELS.items())
    made = [_compile(compiler, directory / library_name(level), *job) for level, job in jobs.items()]
    for old in directory.glob("wordveil-*.so"):
        if source_mark() not in old.name:
            old.unlink()
    return [path for path in made if path is not None]


def _compile(compiler: str, target: Path, sources: tuple[str, ...], flags: tuple[str, ...]) -> Path | None:
    """Compile to a temporary name and move into place, so that no process ever loads half a library."""
    with tempfile.TemporaryDirectory(dir=target.parent) as scratch:
        made = Path(scratch) / target.name
        command = [compiler, *COMMON, *flags, "-o", str(made), *(str(HERE / name) for name in sources), "-lm"]
        try:
            subprocess.run(command, check=True, capture_output=True, timeout=TIME_LIMIT)  # noqa: S603 - our sources
        except (OSError, subprocess.SubprocessError):
            return None  # an older compiler does not know every level
        os.replace(made, target)
    return target


def _writable(directory: Path) -> bool:
    existing = directory
    while not existing.exists():
        existing = existing.parent
    return os.access(existing, os.W_OK)
