"""Plain strings that help texts need, so that `--help` imports no NumPy; a test holds them equal to the exports."""

from __future__ import annotations

__all__ = ["DECODERS", "DEFAULT_MECHANISM", "EXPORTS", "FORMATS", "MECHANISMS"]

EXPORTS: dict[str, str] = {
    "Angular": "wordveil.metrics",
    "BatchRelease": "wordveil.release",
    "Certificate": "wordveil.certificates",
    "ClippedGaussian": "wordveil.mechanisms.clipped_gaussian",
    "ClippedLaplace": "wordveil.mechanisms.clipped_laplace",
    "Decoded": "wordveil.decoding.decoded",
    "Embeddings": "wordveil.embeddings.table",
    "Euclidean": "wordveil.metrics",
    "Guarantee": "wordveil.guarantees",
    "Jaccard": "wordveil.mechanisms.jaccard",
    "LocalDP": "wordveil.guarantees",
    "Mahalanobis": "wordveil.mechanisms.mahalanobis",
    "MetricDP": "wordveil.guarantees",
    "MultivariateLaplace": "wordveil.mechanisms.multivariate_laplace",
    "NADP": "wordveil.mechanisms.nadp",
    "Nearest": "wordveil.decoding.nearest",
    "NeighbourDP": "wordveil.guarantees",
    "NeighbourRank": "wordveil.graphs.rank_metric",
    "NoGuarantee": "wordveil.guarantees",
    "PairLoss": "wordveil.certification.dominating_pairs",
    "PairwiseMetric": "wordveil.metrics",
    "Precomputed": "wordveil.metrics",
    "Projection": "wordveil.mechanisms.projection",
    "RandomSource": "wordveil.randomness",
    "RankSoftmax": "wordveil.decoding.rank_softmax",
    "Release": "wordveil.release",
    "SanText": "wordveil.mechanisms.santext",
    "Sanitizer": "wordveil.sanitizer",
    "Standing": "wordveil.guarantees",
    "TEM": "wordveil.mechanisms.tem",
    "TextOptions": "wordveil.release",
    "TightConstraints": "wordveil.mechanisms.tight",
    "TruncatedLaplace": "wordveil.mechanisms.truncated_laplace",
    "VectorMechanism": "wordveil.mechanisms.base",
    "VectorRelease": "wordveil.vector_release.values",
    "VectorSettings": "wordveil.vector_release.releasing",
    "Vickrey": "wordveil.decoding.vickrey",
    "WordMechanism": "wordveil.mechanisms.base",
    "WordveilError": "wordveil.errors",
    "audit": "wordveil.auditing.runner",
    "audit_mechanism": "wordveil.auditing.runner",
    "calibrate": "wordveil.calibration",
    "certify": "wordveil.certification",
    "certify_rate": "wordveil.certification.certified_rate",
    "compose_many": "wordveil.certification.accounting",
    "compose_releases": "wordveil.guarantees",
    "compose_tokens": "wordveil.guarantees",
    "dominating_pair": "wordveil.certification.dominating_pairs",
    "explain": "wordveil.explanations",
    "generic_pair": "wordveil.certification.dominating_pairs",
    "import_embeddings": "wordveil.embeddings.importing",
    "load_embeddings": "wordveil.embeddings.table",
    "measure_retrieval": "wordveil.vector_release.retrieval",
    "precompute": "wordveil.mechanisms.precomputation",
    "precomputed_size": "wordveil.mechanisms.precomputation",
    "release_vector_file": "wordveil.vector_release.files",
    "release_vectors": "wordveil.vector_release.releasing",
    "run_source": "wordveil.runs",
    "sanitize": "wordveil.one_line",
    "sanitize_documents": "wordveil.runs",
    "to_local": "wordveil.guarantees",
    "tune_rank_softmax": "wordveil.decoding.rank_tuning",
    "verify": "wordveil.certification",
    "verify_channel": "wordveil.auditing.exact",
}
"""Public name -> module that defines it."""

MECHANISMS: dict[str, str] = {
    "clipped-gaussian": "ClippedGaussian",
    "clipped-laplace": "ClippedLaplace",
    "jaccard": "Jaccard",
    "laplace": "MultivariateLaplace",
    "mahalanobis": "Mahalanobis",
    "nadp": "NADP",
    "projection": "Projection",
    "santext": "SanText",
    "tem": "TEM",
    "tight": "TightConstraints",
    "truncated-laplace": "TruncatedLaplace",
}
"""Mechanism name on the command line -> public name."""

DEFAULT_MECHANISM = "tem"

DECODERS: dict[str, str] = {"nearest": "Nearest", "rank-softmax": "RankSoftmax", "vickrey": "Vickrey"}
"""Decoder name -> public name."""

FORMATS: tuple[str, ...] = ("text", "jsonl", "json", "csv", "tsv", "parquet")
"""Document formats."""
