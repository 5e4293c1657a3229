"""The names of what there is, as plain strings: `--help` shows them without importing NumPy. A test compares them.

Where public names are defined the stubs say, `__init__.pyi` and `api.pyi`, which type checkers read as well.
"""

from __future__ import annotations

from pathlib import Path


def homes(stub: str) -> dict[str, str]:
    """Return the names that a stub beside this file imports -> modules that define them.

    A module is followed by a colon and the name there where that is another one.
    """
    lines = Path(__file__).with_name(stub).read_text(encoding="utf-8").splitlines()
    found = [line.split() for line in lines if line.startswith("from ")]
    return {name: module if there == name else f"{module}:{there}" for _, module, _, there, _, name in found}


EXPORTS: dict[str, str] = homes("__init__.pyi")
"""Public name -> module that defines it."""

MECHANISMS: dict[str, str] = {
    "clipped-gaussian": "ClippedGaussian",
    "clipped-l2": "ClippedL2",
    "clipped-laplace": "ClippedLaplace",
    "jaccard": "Jaccard",
    "laplace": "MultivariateLaplace",
    "mahalanobis": "Mahalanobis",
    "nadp": "NADP",
    "neighbours": "NeighbourResponse",
    "projection": "Projection",
    "santext": "SanText",
    "tem": "TEM",
    "tight": "TightConstraints",
    "truncated-laplace": "TruncatedLaplace",
}
"""Mechanism name on the command line -> public name."""

DEFAULT_MECHANISM = "neighbours"

DECODERS: dict[str, str] = {"nearest": "Nearest", "rank-softmax": "RankSoftmax", "vickrey": "Vickrey"}
"""Decoder name -> public name."""

FORMATS: tuple[str, ...] = ("text", "jsonl", "json", "csv", "tsv", "parquet")
"""Document formats."""
