"""Computes what the pages of docs/explanation show: facts.json, which `quotes` quotes, and the pictures.

python -m wordveil_lab.pages.explanations
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import asdict
from typing import Any

import numpy as np

from wordveil import load_embeddings
from wordveil.api import neighbour_points
from wordveil_lab.evaluation.subjects import distances
from wordveil_lab.package import ROOT
from wordveil_lab.pages import quotes
from wordveil_lab.pages.quotes import RANKS, written
from wordveil_lab.plots import SETTINGS, svg
from wordveil_lab.tables import table_line

FOLDER, EPSILON = ROOT / "docs" / "explanation", ROOT / "docs" / "start" / "epsilon.md"
DIMENSIONS = (2, 8, 32, 128)
SAMPLE = 400  # words
NEAR = 100
SIZES = (100, 3000, 10**6, 10**9)
NATS = tuple(float(x) for x in np.arange(0, 40.5, 0.5))


def facts() -> dict[str, Any]:
    """Return everything that is quoted or drawn; no noise is drawn, and nothing but the embedded vocabulary is read."""
    embeddings = load_embeddings()
    rows = embeddings.vectors[embeddings.candidates].astype(np.float64)
    rows -= rows.mean(axis=0)
    rows = rows @ np.linalg.eigh(rows.T @ rows)[1][:, ::-1]  # principal directions, the widest first
    chosen = np.linspace(0, len(rows) - 1, SAMPLE).astype(int)
    spread, sorted_rows = {}, np.empty(0)
    for d in DIMENSIONS:
        sorted_rows = np.sort(distances(rows[chosen, :d], rows[:, :d]), axis=1)
        spread[str(d)] = [float(np.mean(sorted_rows[:, rank] / np.median(sorted_rows, axis=1))) for rank in RANKS]
    median = float(np.mean(np.median(sorted_rows, axis=1)))
    nearest = float(np.mean(sorted_rows[:, 1]))
    shares = _near_shares(sorted_rows, 1 / median)
    needed = float(np.interp(0.5, shares, NATS))
    lengths = {"words": len(rows), "spread": spread, "nearest": nearest, "median": median}
    return {
        **lengths,
        "laplace_nats": rows.shape[1] / nearest * median,
        "near_share": shares,
        "half_near_nats": needed,
        "half_listed_nats": math.log((4000 - 16) / 16),
        "points": [asdict(point) for point in neighbour_points(embeddings, "nats", 350.0)],
        "attacker_points": [asdict(point) for point in neighbour_points(embeddings, "attacker", 0.2)],
    }


def _near_shares(distances: Any, rate: float) -> list[float]:
    """Return, for each of `NATS`, the share of outputs among the nearest 100 words by SanText's law of that many rates.

    Where normalizers are alike, two words at distance t truly lose rate * t, half of what the textbook's epsilon says.
    """
    shares, weights = [], np.ones_like(distances)
    step = np.exp(-NATS[1] * rate * distances)  # as NATS are the multiples of the second
    for _ in NATS:
        shares.append(float(np.mean(weights[:, : NEAR + 1].sum(axis=1) / weights.sum(axis=1))))
        weights *= step
    return shares


def _promises(axes: Any) -> None:
    t = np.linspace(0, 4, 200)
    for epsilon, style in ((1, ":"), (3, "--"), (8, "-")):
        sure = 100 / (1 + math.exp(-epsilon))
        axes[0].plot(t, np.full_like(t, sure), style, color="#1f6fb4", label=f"local DP, {epsilon} nats")
        axes[1].plot(t, 100 / (1 + np.exp(-epsilon * t)), style, color="#d9730d", label=f"metric DP, epsilon {epsilon}")
    for one in axes:
        one.set(ylim=(45, 102), xlabel="distance between two words")
        one.legend(loc="lower right")
    axes[0].set_ylabel("an even guess becomes at most ... % sure")


def _dimensions(axes: Any, found: dict[str, Any]) -> None:
    for d, shares in found["spread"].items():
        axes[0].plot(RANKS, shares, marker="o", markersize=3, label=f"{d} dimensions")
    distance = "its distance / the median distance"
    axes[0].set(xscale="log", ylim=(0, 1.05), xlabel="rank of the neighbour", ylabel=distance)
    axes[0].legend(loc="lower right")
    axes[1].plot(NATS, found["near_share"], color="#d9730d", label="by distance (SanText)")
    listed = [16 * math.exp(n) / (16 * math.exp(n) + 4000 - 16) for n in NATS]
    axes[1].plot(NATS, listed, color="#1f6fb4", label="by list (16 of 4 000)")
    axes[1].set(xlabel="nats between two typical words", ylabel="share of outputs that are near")
    axes[1].legend()


def _sentences(axes: Any) -> None:
    for size in SIZES:
        kept = [math.exp(n) / (math.exp(n) + size - 1) for n in NATS]
        axes.plot(NATS, kept, label=f"one of {size:,}".replace(",", " "))
    axes.axvspan(0, 10, color="#1f6fb4", alpha=0.08)
    axes.set_xlabel("nats a sentence (shaded: single digits)")
    axes.set_ylabel("chance that the right meaning is released")
    axes.legend()


def pictures(found: dict[str, Any]) -> dict[str, bytes]:
    """Return each picture by its file name."""
    return {
        "promises.svg": _drawn(2, _promises),
        "dimensions.svg": _drawn(2, lambda axes: _dimensions(axes, found)),
        "sentences.svg": _drawn(1, _sentences),
    }


def _drawn(panels: int, plot: Any) -> bytes:
    return svg((8.6 if panels == 2 else 6.4, 3.7), lambda canvas: plot(canvas.subplots(1, panels)), SETTINGS)


def epsilon_page(facts: dict[str, Any]) -> str:
    """Return the page on epsilon with its table of what the default comes to, for each choice of outputs and k."""
    lines = []
    for point in facts["points"]:
        scores = (written(point[name]) for name in ("far", "attacker", "similarity"))
        lines.append(table_line((str(point["outputs"]), str(point["k"]), f"{point['epsilon']:g}", *scores)) + "\n")
    table = r"(?<=\n)(\| outputs \| k \| .*\n\|---.*\n)(?:\| .*\n)+"
    return re.sub(table, lambda m: m[1] + "".join(lines), EPSILON.read_text(encoding="utf-8"))


def main() -> None:
    """Writes the facts, the pictures, the table and the numbers in the pages."""
    found = facts()
    quotes.FACTS.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    EPSILON.write_text(epsilon_page(found), encoding="utf-8")
    quotes.main()
    for name, picture in pictures(found).items():
        (FOLDER / name).write_bytes(picture)


if __name__ == "__main__":
    main()
