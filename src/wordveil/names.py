"""The names of what there is, as plain strings: `--help` shows them without importing NumPy. A test compares them."""

from __future__ import annotations

_HOMES = {
    "wordveil.auditing.exact": "verify_channel",
    "wordveil.auditing.runner": "audit, audit_mechanism",
    "wordveil.certification": "certify, verify",
    "wordveil.certification.accounting": "compose_many",
    "wordveil.certification.certified_rate": "certify_rate",
    "wordveil.certification.privacy_profile": "dominating_pair",
    "wordveil.decoding.decoded": "Decoded",
    "wordveil.decoding.nearest": "Nearest",
    "wordveil.decoding.rank_softmax": "RankSoftmax",
    "wordveil.decoding.rank_tuning": "tune_rank_softmax",
    "wordveil.decoding.vickrey": "Vickrey",
    "wordveil.denoising.counting": "build_prior",
    "wordveil.denoising.denoiser": "Denoised, Denoiser",
    "wordveil.denoising.prior": "Prior, load_prior",
    "wordveil.errors": "ForeignTextWarning, InputWarning, WordveilError",
    "wordveil.files.run_key": "run_source",
    "wordveil.mechanisms.base": "VectorMechanism, WordMechanism",
    "wordveil.mechanisms.clipped_gaussian": "ClippedGaussian",
    "wordveil.mechanisms.clipped_l2": "ClippedL2",
    "wordveil.mechanisms.clipped_laplace": "ClippedLaplace",
    "wordveil.mechanisms.jaccard": "Jaccard",
    "wordveil.mechanisms.mahalanobis": "Mahalanobis",
    "wordveil.mechanisms.multivariate_laplace": "MultivariateLaplace",
    "wordveil.mechanisms.nadp": "NADP",
    "wordveil.mechanisms.neighbours": "NeighbourResponse",
    "wordveil.mechanisms.precomputation": "precompute, precomputed_size",
    "wordveil.mechanisms.projection": "Projection",
    "wordveil.mechanisms.santext": "SanText",
    "wordveil.mechanisms.tem": "TEM",
    "wordveil.mechanisms.tight": "TightConstraints",
    "wordveil.mechanisms.truncated_laplace": "TruncatedLaplace",
    "wordveil.metrics.distances": "Angular, Euclidean, Precomputed",
    "wordveil.meaning.calibration": "calibrate",
    "wordveil.meaning.explanations": "explain",
    "wordveil.sanitizing.class_map": "ClassMap",
    "wordveil.sanitizing.default": "sanitize",
    "wordveil.runs.sanitize": "sanitize_documents",
    "wordveil.sanitizing.sanitizer": "Sanitizer",
    "wordveil.runs.vectors.files": "release_vector_file",
    "wordveil.runs.vectors.releasing": "VectorSettings, release_vectors",
    "wordveil.runs.vectors.retrieval": "measure_retrieval",
    "wordveil.runs.vectors.values": "VectorRelease",
    "wordveil.promises.certificates": "Certificate",
    "wordveil.promises.composing": "compose_releases, compose_tokens, to_local",
    "wordveil.promises.guarantees": "Guarantee, LocalDP, MetricDP, NeighbourDP, NoGuarantee, Standing",
    "wordveil.promises.number_grids": "NumberGrid",
    "wordveil.promises.pair_loss": "PairLoss, generic_pair",
    "wordveil.promises.release": "BatchRelease, Release, TextOptions",
    "wordveil.promises.withholding": "Withholding",
    "wordveil.randomness": "RandomSource",
    "wordveil.sentences.building": "StockSettings, build_stock",
    "wordveil.sentences.rephrasing": "Rephraser, rephrase_documents",
    "wordveil.sentences.stock": "Stock, load_stock",
    "wordveil.vocabulary.importing": "import_embeddings",
    "wordveil.vocabulary.rank_metric": "NeighbourRank",
    "wordveil.vocabulary.table": "Embeddings, load_embeddings",
    "wordveil.withholding.redactor": "Redaction, Redactor",
    "wordveil.withholding.rule": "Rule",
    "wordveil.withholding.runs": "RedactionReport, redact_documents",
    "wordveil.withholding.words": "PublicWords",
}
EXPORTS: dict[str, str] = {name: module for module, names in _HOMES.items() for name in names.split(", ")}
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
