"""Print pip constraints for the lowest version of every dependency that pyproject.toml allows.

python tools/lowest_constraints.py > constraints.txt
"""

from __future__ import annotations

import tomllib
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[1] / "pyproject.toml"


def constraints() -> list[str]:
    """Return NAME==LOWEST for every direct dependency; each must state the lowest version it allows."""
    dependencies = tomllib.loads(PROJECT.read_text(encoding="utf-8"))["project"]["dependencies"]
    pairs = [dependency.partition(",")[0].split(">=") for dependency in dependencies]
    return [f"{name.strip()}=={lowest.strip()}" for name, lowest in pairs]


if __name__ == "__main__":
    print("\n".join(constraints()))
