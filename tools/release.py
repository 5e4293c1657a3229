"""Builds what an index takes into dist/: the source archive, and a wheel for each platform, compiled here by ziglang.

python tools/release.py

Everything is built twice and must be equal byte for byte. Of each wheel the tag, what its libraries offer and, for
Linux, the oldest glibc that they run on are checked. Set SOURCE_DATE_EPOCH for the times in the archives; else they are
that of the last commit.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "src" / "wordveil" / "kernels" / "compiled"))

import building  # noqa: E402 (the builder alone: the package need not be installed)


def built(folder: Path) -> dict[str, str]:
    """Build everything into a folder; return the digest of each file."""
    environment = dict(os.environ)
    environment.setdefault("SOURCE_DATE_EPOCH", _output("git", "log", "-1", "--format=%ct"))
    _build(folder, "sdist", environment)
    for tag in building.CROSS:
        _build(folder, "wheel", {**environment, "WORDVEIL_WHEEL": tag})
        print(f"built for {tag}", flush=True)
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(folder.iterdir())}


def check(folder: Path) -> None:
    """Hold every wheel to its platform.

    Raises:
        RuntimeError: If a library is missing, offers less than the sources define, or needs a newer glibc than 2.17.
    """
    for tag, (system, machine, _) in building.CROSS.items():
        (wheel,) = folder.glob(f"wordveil-*-py3-none-{tag}.whl")
        with zipfile.ZipFile(wheel) as archive:
            libraries = {Path(name).name: archive.read(name) for name in archive.namelist() if name.endswith(".so")}
        jobs = building.jobs(system, machine)
        if libraries.keys() != {building.library_name(level, system, machine) for level in jobs}:
            raise RuntimeError(f"{wheel.name} holds {', '.join(sorted(libraries))}.")
        for level, (sources, _) in jobs.items():
            data = libraries[building.library_name(level, system, machine)]
            for name in set(re.findall(r"^[\w *]*\b(wordveil_\w+)\(", _text(sources), flags=re.MULTILINE)):
                if name.encode() not in data:
                    raise RuntimeError(f"{wheel.name}: its library {level} has no {name}.")
            if any(int(minor) > 17 for minor in re.findall(rb"GLIBC_2\.(\d+)", data)):
                raise RuntimeError(f"{wheel.name}: its library {level} needs a newer glibc than its tag says.")


def _text(sources: tuple[str, ...]) -> str:
    return "".join((building.HERE / name).read_text(encoding="utf-8") for name in sources)


def _build(folder: Path, kind: str, environment: dict[str, str]) -> None:
    command = [sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, env=environment, stdout=subprocess.DEVNULL)


def _output(*command: str) -> str:
    return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip()


def main() -> None:
    """Build, build again, compare, check."""
    place = ROOT / "dist"
    shutil.rmtree(place, ignore_errors=True)
    first = built(place)
    with tempfile.TemporaryDirectory() as scratch:
        if built(Path(scratch)) != first:
            raise RuntimeError("a second build gave other bytes.")
    check(place)
    for name, digest in first.items():
        print(f"{digest}  {name}")


if __name__ == "__main__":
    main()
