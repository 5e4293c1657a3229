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
import sys
import tempfile
from functools import cache
from itertools import chain
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).parent
HEADERS = ("text.h", "words.h")
PORTABLE = {
    "text": ("reading.c", "writing.c", "drawing.c"), "withholding": ("withholding.c",), "processor": ("processor.c",)
}  # fmt: skip
"""Libraries that any processor can run -> sources."""
COMMON = ("-O3", "-fno-math-errno", "-ffp-contract=fast", "-fPIC", "-shared", "-std=gnu11", "-Wno-psabi")
WIDE = ("-mavx512f", "-mavx512dq", "-mavx512bw", "-mavx512vl", "-mfma", "-mprefer-vector-width=512")
LEVELS: dict[str, tuple[str, tuple[str, ...]]] = {
    "avx2": ("ceilings.c", ("-mavx2", "-mfma")),
    "avx512": ("ceilings.c", WIDE),
    "amx": ("nearest.c", (*WIDE, "-mavx512bf16", "-mamx-tile", "-mamx-bf16")),
    "neon": ("ceilings.c", ()),
}
"""Instruction set -> the kernel that gains by it, and flags; in the order of the bits that processor.c returns."""


class Target(NamedTuple):
    """What libraries are built for, and by what."""

    system: str  # as `platform.system` has it
    machine: str  # as `platform.machine` has it
    compiler: tuple[str, ...]
    time_limit: int = 120  # seconds for one library


CROSS = {
    "manylinux_2_17_x86_64": ("Linux", "x86_64", "x86_64-linux-gnu.2.17"),
    "manylinux_2_17_aarch64": ("Linux", "aarch64", "aarch64-linux-gnu.2.17"),
    "macosx_11_0_x86_64": ("Darwin", "x86_64", "x86_64-macos.11.0"),
    "macosx_11_0_arm64": ("Darwin", "arm64", "aarch64-macos.11.0"),
    "win_amd64": ("Windows", "AMD64", "x86_64-windows-gnu"),
}
"""Platform tag of a wheel -> system, machine, and the name that the compiler of the package ziglang has for both."""


def target_of(tag: str) -> Target:
    """Return what a wheel of one of the tags of `CROSS` holds libraries for."""
    system, machine, name = CROSS[tag]
    # Without symbols, and on macOS with a name of its own, no path of this machine's lies in a library: any other makes
    # the same bytes. The first time, it compiles a C library of the platform's, too.
    unnamed = ("-g0", "-s", *(["-Wl,-install_name,wordveil"] if system == "Darwin" else []))
    return Target(system, machine, (sys.executable, "-m", "ziglang", "cc", "-target", name, *unnamed), time_limit=1200)


def find_compiler() -> str | None:
    """Return the C compiler named by CC, or the first of cc, gcc, clang that is found; None without one."""
    named = os.environ.get("CC")
    return shutil.which(named) if named else next(filter(None, map(shutil.which, ("cc", "gcc", "clang"))), None)


@cache
def source_mark() -> str:
    """Return a short hash of sources and flags: libraries built from others are not loaded."""
    digest = hashlib.sha256(repr((COMMON, LEVELS)).encode())
    levels = (source for source, _ in LEVELS.values())
    for name in (*HEADERS, *levels, *chain.from_iterable(PORTABLE.values())):
        digest.update((HERE / name).read_bytes())
    return digest.hexdigest()[:12]


def jobs(system: str, machine: str) -> dict[str, tuple[tuple[str, ...], tuple[str, ...]]]:
    """Return the libraries for a system and machine -> sources and flags of each."""
    levels = ["avx2", "avx512"] if machine in ("x86_64", "AMD64") else []
    # The wide tiles of amx have to be asked for, and only of Linux is it known how. On a Mac NumPy multiplies matrices
    # with other instructions than those that neon was counted against.
    if system == "Linux":
        levels += {"x86_64": ["amx"], "aarch64": ["neon"]}.get(machine, [])
    found: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {name: (own, ()) for name, own in PORTABLE.items()}
    return found | {level: ((own,), flags) for level, (own, flags) in LEVELS.items() if level in levels}


def library_name(level: str, system: str | None = None, machine: str | None = None) -> str:
    """Return the file name of a level's library for a system and machine, as a rule this one."""
    where = f"{system or platform.system()}-{machine or platform.machine()}"
    return f"wordveil-{level}-{source_mark()}-{where}.so".lower()


def built_directories() -> tuple[Path, ...]:
    """Return where libraries may lie: beside the package, then in the user's own cache directory."""
    cache = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return HERE / "built", Path(cache) / "wordveil" / "kernels"


def build(destination: Path | None = None, target: Target | None = None) -> list[Path]:
    """Compile every level that the compiler supports, into the first of `built_directories` that can be written to.

    Nothing is written where there is no compiler, or it could build nothing. A destination is a
    folder to build into instead, a target what to build for instead; then what cannot be built is a `RuntimeError`.
    """
    compiler = find_compiler()
    directory = destination or next((place for place in built_directories() if _writable(place)), None)
    if directory is None or (target is None and compiler is None):
        return []
    wanted = target or Target(platform.system(), platform.machine(), (str(compiler),))
    directory.mkdir(parents=True, exist_ok=True)
    made = {
        level: _compile(wanted, directory / library_name(level, *wanted[:2]), *job)
        for level, job in jobs(*wanted[:2]).items()
    }
    if target is not None and None in made.values():
        missing = ", ".join(level for level, path in made.items() if path is None)
        raise RuntimeError(f"{missing} could not be built for {target.system} on {target.machine}.")
    for old in directory.glob("wordveil-*.so"):
        if source_mark() not in old.name:
            old.unlink()
    return [path for path in made.values() if path is not None]


def _compile(wanted: Target, library: Path, sources: tuple[str, ...], flags: tuple[str, ...]) -> Path | None:
    """Compile to a temporary name and move into place, so that no process ever loads half a library."""
    with tempfile.TemporaryDirectory(dir=library.parent) as scratch:
        made = Path(scratch) / library.name
        command = [*wanted.compiler, *COMMON, *flags, "-o", str(made), *(str(HERE / name) for name in sources), "-lm"]
        try:
            subprocess.run(command, check=True, capture_output=True, timeout=wanted.time_limit)  # noqa: S603 - our sources
        except (OSError, subprocess.SubprocessError):
            return None  # an older compiler does not know every level
        os.replace(made, library)
    return library


def _writable(directory: Path) -> bool:
    existing = directory
    while not existing.exists():
        existing = existing.parent
    return os.access(existing, os.W_OK)
