"""The names of what there is, as plain strings: `--help` shows them without importing NumPy. A test compares them."""

from __future__ import annotations

__all__ = ["DECODERS", "DEFAULT_MECHANISM", "EXPORTS", "FORMATS", "MECHANISMS"]

EXPORTS: dict[str, str] = {
    "Angular": "wordveil.metrics.distances",
    "BatchRelease": "wordveil.promises.release",
    "Certificate": "wordveil.promises.certificates",
    "ClippedGaussian": "wordveil.mechanisms.clipped_gaussian",
    "ClippedLaplace": "wordveil.mechanisms.clipped_laplace",
    "Decoded": "wordveil.decoding.decoded",
    "Embeddings": "wordveil.vocabulary.table",
    "Euclidean": "wordveil.metrics.distances",
    "Guarantee": "wordveil.promises.guarantees",
    "Jaccard": "wordveil.mechanisms.jaccard",
    "LocalDP": "wordveil.promises.guarantees",
    "Mahalanobis": "wordveil.mechanisms.mahalanobis",
    "MetricDP": "wordveil.promises.guarantees",
    "MultivariateLaplace": "wordveil.mechanisms.multivariate_laplace",
    "NADP": "wordveil.mechanisms.nadp",
    "Nearest": "wordveil.decoding.nearest",
    "NeighbourDP": "wordveil.promises.guarantees",
    "NeighbourResponse": "wordveil.mechanisms.neighbours",
    "NeighbourRank": "wordveil.vocabulary.rank_metric",
    "NoGuarantee": "wordveil.promises.guarantees",
    "NumberGrid": "wordveil.promises.number_grids",
    "PairLoss": "wordveil.promises.pair_loss",
    "PairwiseMetric": "wordveil.metrics.distances",
    "Precomputed": "wordveil.metrics.distances",
    "Projection": "wordveil.mechanisms.projection",
    "RandomSource": "wordveil.randomness",
    "RankSoftmax": "wordveil.decoding.rank_softmax",
    "Release": "wordveil.promises.release",
    "Rephraser": "wordveil.sentences.rephrasing",
    "SanText": "wordveil.mechanisms.santext",
    "Sanitizer": "wordveil.pipeline.sanitizer",
    "Standing": "wordveil.promises.guarantees",
    "Stock": "wordveil.sentences.stock",
    "StockSettings": "wordveil.sentences.building",
    "TEM": "wordveil.mechanisms.tem",
    "TextOptions": "wordveil.promises.release",
    "TightConstraints": "wordveil.mechanisms.tight",
    "TruncatedLaplace": "wordveil.mechanisms.truncated_laplace",
    "VectorMechanism": "wordveil.mechanisms.base",
    "VectorRelease": "wordveil.pipeline.vectors.values",
    "VectorSettings": "wordveil.pipeline.vectors.releasing",
    "Vickrey": "wordveil.decoding.vickrey",
    "WordMechanism": "wordveil.mechanisms.base",
    "WordveilError": "wordveil.errors",
    "audit": "wordveil.auditing.runner",
    "audit_mechanism": "wordveil.auditing.runner",
    "build_stock": "wordveil.sentences.building",
    "calibrate": "wordveil.pipeline.calibration",
    "certify": "wordveil.certification",
    "certify_rate": "wordveil.certification.certified_rate",
    "compose_many": "wordveil.certification.accounting",
    "compose_releases": "wordveil.promises.guarantees",
    "compose_tokens": "wordveil.promises.guarantees",
    "dominating_pair": "wordveil.certification.dominating_pairs",
    "explain": "wordveil.pipeline.explanations",
    "generic_pair": "wordveil.promises.pair_loss",
    "import_embeddings": "wordveil.vocabulary.importing",
    "load_embeddings": "wordveil.vocabulary.table",
    "load_stock": "wordveil.sentences.stock",
    "measure_retrieval": "wordveil.pipeline.vectors.retrieval",
    "precompute": "wordveil.mechanisms.precomputation",
    "precomputed_size": "wordveil.mechanisms.precomputation",
    "release_vector_file": "wordveil.pipeline.vectors.files",
    "release_vectors": "wordveil.pipeline.vectors.releasing",
    "rephrase_documents": "wordveil.sentences.rephrasing",
    "run_source": "wordveil.files.run_key",
    "sanitize": "wordveil.pipeline.one_line",
    "sanitize_documents": "wordveil.pipeline.runs",
    "to_local": "wordveil.promises.guarantees",
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
