"""Writes what the playground draws of utility against epsilon, from the measurement in docs/results/neighbours.json."""

from __future__ import annotations

import json
from pathlib import Path

ROOT = Path(__file__).parents[1]
CURVE = ROOT / "src" / "wordveil" / "service" / "static" / "curve.json"
SHOWN = {
    "meaning kept": ("similarity", "content"),
    "rare words an attacker finds": ("attack", "best-content"),
    "sentiment told right": ("sentiment", "accuracy"),
}
"""Name of a line -> task and score, all of them shares."""
MEASURED, LABEL = "MR", "neighbours-16-of-4000"


def curve() -> dict[str, object]:
    """Return the lines: of each epsilon that was measured a value, and what no noise and random words give."""
    rows = {
        row["label"]: {
            name: round(row["cells"][f"{MEASURED} {task}"]["scores"][score]["mean"], 3)
            for name, (task, score) in SHOWN.items()
            if score in row["cells"].get(f"{MEASURED} {task}", {}).get("scores", {})
        }
        | {"epsilon": row["epsilon"]}
        for row in json.loads((ROOT / "docs" / "results" / "neighbours.json").read_text(encoding="utf-8"))["rows"]
    }
    points = [row for label, row in rows.items() if label.startswith(f"{LABEL} @") and SHOWN.keys() <= row.keys()]
    return {
        "about": "film reviews, 16 of 4,000 words, an attacker who has read other film reviews",
        "lines": list(SHOWN),
        "points": sorted(points, key=lambda row: row["epsilon"]),
        "random": rows["random words"],
        "none": rows["no noise"],
    }


if __name__ == "__main__":
    CURVE.write_text(json.dumps(curve(), indent=1) + "\n", encoding="utf-8")
