"""The worlds of the tests: rows that are hard on numbers, vocabularies made of them, texts, and real data where it is.

Whoever needs a table of words takes it from here. Draws come from `seeds`, so that `WORDVEIL_TEST_SHIFT` moves them.
"""

import os
import tomllib
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import seeds
from wordveil.vocabulary.table import Embeddings

# --- Distances


def distances(metric, a, b):
    """All distances between two small sets by direct differences: the slow, obvious oracle, exactly 0 of equal rows."""
    left, right = metric.coordinates(a), metric.coordinates(b)
    squared = np.square(left[:, None, :] - right[None, :, :]).sum(axis=2)
    metric.from_squared(squared)
    return squared


# --- Words


def numbered(n: int) -> list[str]:
    """n words w0, w1, ...: may be output only under the rule "all"."""
    return [f"w{i}" for i in range(n)]


def lettered(n: int) -> list[str]:
    """n words of letters only, which every rule lets out, none of them English."""
    return ["".join(chr(97 + i // 26**place % 26) for place in range(3)) + "q" for i in range(n)]


def spoken(n: int) -> list[str]:
    """n words that can be said, of letters only, none of them English: babaq, dabaq, ..."""
    syllables = [consonant + vowel for consonant in "bdfgklmnprstvz" for vowel in "aeiou"]
    return [syllables[i % 70] + syllables[i // 70 % 70] + "q" for i in range(n)]


SIXTEEN = [first + second for first, second in product(("ba", "do", "ki", "lu"), ("ra", "sto", "ti", "vel"))]
"""Words of letters only for tables of a few words."""


# --- Rows, each of shape (v, d) in float32


def scattered(seed: int, v: int, d: int) -> np.ndarray:
    return seeds.rng(seed).standard_normal((v, d)).astype(np.float32)


def clustered(seed: int, v: int, d: int) -> np.ndarray:
    """Eight clusters whose width is a thousandth of their distances."""
    centres = seeds.rng(seed).standard_normal((8, d)) * 5
    near = 1e-3 * seeds.rng(seed + 2).standard_normal((v, d))
    return (centres[seeds.rng(seed + 1).integers(0, 8, v)] + near).astype(np.float32)


def grid(seed: int, v: int, d: int) -> np.ndarray:
    """Integer points: distances from half-integer queries tie in the last bit, many at a time."""
    return seeds.rng(seed).integers(-1, 2, (v, d)).astype(np.float32)


def far(seed: int, v: int, d: int) -> np.ndarray:
    """Words whose spread is small beside their distance from the origin."""
    return (1000 + seeds.rng(seed).standard_normal((v, d))).astype(np.float32)


def spread(seed: int, v: int, d: int) -> np.ndarray:
    """Norms from 1e-12 to 1e12, so that a bound taken over all words says nothing about most of them."""
    rows = seeds.rng(seed).standard_normal((v, d))
    return (rows * np.logspace(-12, 12, v)[:, None]).astype(np.float32)


def duplicates(seed: int, v: int, d: int) -> np.ndarray:
    """Twenty words share a row on average."""
    return scattered(seed, v, d)[seeds.rng(seed + 1).integers(0, max(1, v // 20), v)]


def same(seed: int, v: int, d: int) -> np.ndarray:
    return np.broadcast_to(seeds.rng(seed).standard_normal(d).astype(np.float32), (v, d)).copy()


def mirrored(seed: int, v: int, d: int) -> np.ndarray:
    """Sign flips of one vector, one in fifty a unit in the last place shorter: from the origin all others tie."""
    rows = np.abs(seeds.rng(seed).standard_normal(d)).astype(np.float32) * seeds.rng(seed + 1).choice([-1, 1], (v, d))
    rows = rows.astype(np.float32)
    rows[49::50, 0] = np.nextafter(rows[49::50, 0], np.float32(0))
    return rows


SHAPES = [scattered, clustered, grid, far, spread, duplicates, same, mirrored]
"""Rows that are hard on exact kernels."""


# --- Vocabularies


def placed(rows: object, words: list[str] | None = None, *, barred: int = 0) -> Embeddings:
    """A vocabulary of these rows, all of which may be output but the first `barred`; w0, w1, ... without `words`."""
    rows = np.asarray(rows)
    words = numbered(len(rows)) if words is None else words
    return Embeddings.from_arrays(words, rows, candidate_rule="all").without_outputs(words[:barred])


def drawn(v: int, d: int = 4, *, seed: int = 0, twins: int = 0, barred: int = 0) -> Embeddings:
    """A vocabulary of scattered words, the last `twins` of which share their rows with the first."""
    rows = scattered(seed, v, d)
    rows[v - twins :] = rows[:twins]
    return placed(rows, barred=barred)


@cache
def made_up(v: int = 300) -> Embeddings:
    """Words to write texts of, in 8 dimensions, the last twenty of which share their vectors with the first."""
    rows = scattered(0, v, 8)
    rows[-20:] = rows[:20]
    return Embeddings.from_arrays(spoken(v), rows, name="made up")


@cache
def sixteen(d: int = 4) -> Embeddings:
    return Embeddings.from_arrays(SIXTEEN, scattered(3, 16, d))


# --- Stored data


def told(test: str, name: str = "") -> dict[str, Any]:
    """What stands in a TOML file beside a test, of its name or another: tables of texts and of what becomes of them."""
    path = Path(test)
    return tomllib.loads(path.with_name(f"{name or path.stem}.toml").read_text(encoding="utf-8"))


def shared(*names: str) -> Path:
    """A file or folder of the shared data sets; without it the test is skipped."""
    folder = Path(os.environ.get("WORDVEIL_DATA") or Path(__file__).resolve().parents[2] / "shared" / "data")
    path = folder.joinpath(*names)
    if not path.exists():
        pytest.skip(f"the shared data sets are absent: set WORDVEIL_DATA (looked for {'/'.join(names) or folder})")
    return path
