"""Writes what the playground draws of utility against epsilon, from the measurement in docs/results/default.json."""

from __future__ import annotations

import json
from pathlib import Path

ROOT = Path(__file__).parents[1]
CURVE = ROOT / "src" / "wordveil" / "service" / "static" / "curve.json"
SHOWN = {"meaning kept": "similarity", "rare words an attacker finds": "rarer", "sentiment told right": "released"}
"""Name of a line -> score, all of them shares."""
MEASURED, MECHANISM = "MR", "256 classes"


def curve() -> dict[str, object]:
    """Return the lines: of each epsilon that was measured a value."""
    report = json.loads((ROOT / "docs" / "results" / "default.json").read_text(encoding="utf-8"))
    points = [
        {name: round(row["cells"][MEASURED]["scores"][score]["mean"], 3) for name, score in SHOWN.items()}
        | {"epsilon": row["epsilon"]}
        for row in report["rows"]
        if row["name"] == MECHANISM and MEASURED in row["cells"]
    ]
    return {
        "about": "film reviews, 256 classes, an attacker who has read other film reviews",
        "lines": list(SHOWN),
        "points": sorted(points, key=lambda row: row["epsilon"]),
    }


if __name__ == "__main__":
    CURVE.write_text(json.dumps(curve(), indent=1) + "\n", encoding="utf-8")
