"""Plain strings that help texts need, so that `--help` imports no NumPy; a test holds them equal to the exports."""

from __future__ import annotations

__all__ = ["DECODERS", "EXPORTS", "FORMATS", "MECHANISMS"]

EXPORTS: dict[str, str] = {
    "Angular": "wordveil.metrics",
    "Decoded": "wordveil.decoding.decoded",
    "Embeddings": "wordveil.embeddings.table",
    "Euclidean": "wordveil.metrics",
    "Guarantee": "wordveil.guarantees",
    "LocalDP": "wordveil.guarantees",
    "MetricDP": "wordveil.guarantees",
    "MultivariateLaplace": "wordveil.mechanisms.multivariate_laplace",
    "Nearest": "wordveil.decoding.nearest",
    "NeighbourDP": "wordveil.guarantees",
    "NoGuarantee": "wordveil.guarantees",
    "RandomSource": "wordveil.randomness",
    "Release": "wordveil.release",
    "SanText": "wordveil.mechanisms.santext",
    "Sanitizer": "wordveil.sanitizer",
    "TEM": "wordveil.mechanisms.tem",
    "TextOptions": "wordveil.release",
    "WordveilError": "wordveil.errors",
    "calibrate": "wordveil.calibration",
    "explain": "wordveil.explanations",
    "import_embeddings": "wordveil.embeddings.importing",
    "load_embeddings": "wordveil.embeddings.table",
}
"""Public name -> module that defines it."""

MECHANISMS: dict[str, str] = {
    "laplace": "MultivariateLaplace",
    "santext": "SanText",
    "tem": "TEM",
}
"""Mechanism name on the command line -> public name."""

DECODERS: dict[str, str] = {"nearest": "Nearest"}
"""Decoder name -> public name."""

FORMATS: tuple[str, ...] = ("text", "jsonl", "json", "csv", "tsv", "parquet")
"""Document formats."""
