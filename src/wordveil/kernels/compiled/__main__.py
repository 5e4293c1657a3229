"""`python -m wordveil.kernels.compiled`: build the compiled kernels here and say which engines can run."""

from __future__ import annotations

import sys

from wordveil.kernels.compiled.building import build, find_compiler
from wordveil.kernels.compiled.library import _open, available_engines, load


def main() -> int:
    """Build, report, and return the exit code: 0 if a compiled engine can run, else 1."""
    made = build()
    for cached in (_open, load, available_engines):
        cached.cache_clear()
    print(f"compiler: {find_compiler() or 'none found'}")
    for path in made:
        print(f"built: {path.name}")
    engines = available_engines()
    print(f"engines that can run here, slowest first: {', '.join(engines)}")
    return 0 if len(engines) > 1 else 1


if __name__ == "__main__":
    sys.exit(main())
