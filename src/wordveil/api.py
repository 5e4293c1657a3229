"""What plugins and the laboratory may use: every public name of `wordveil`, and those below, which are for programs.

`wordveil` itself offers what people use. Who writes a mechanism, a reader, a command or a measurement needs more:
arrays by their meaning, checks of parameters, laws and bounds, options of commands. All of it stands here. A test
holds that the laboratory and the example plugin import from here alone. Names load their module when first used.
"""

from __future__ import annotations

import importlib
from typing import Any

from wordveil.names import EXPORTS

_HOMES = {
    "wordveil.arrays": (
        "Progress as FitProgress, Float32Array, Float64Array, FloatArray, IdArray, PrivateIds, PrivateText, "
        "ReleasedIds, ReleasedText, ReleasedVectors"
    ),
    "wordveil.auditing.black_box": "audit_pair",
    "wordveil.auditing.cases": "Inputs as AuditInputs, make_case",
    "wordveil.auditing.findings": (
        "Status as AuditStatus, Finding, at_least as at_least_in_words, result as audit_result"
    ),
    "wordveil.auditing.intervals": "check_alpha, lower_bound",
    "wordveil.auditing.repeated": "RELEASES as REPEATED_RELEASES, named_after",
    "wordveil.auditing.subjects": "LogRatio, OnGrid, Subject, VectorSubject, WordSubject",
    "wordveil.auditing.text_leaks": "TextChecks, check_text",
    "wordveil.certification.privacy_profile": "laplace_to_local",
    "wordveil.cli.app": "OfferedCommand, build_app",
    "wordveil.cli.common": "VocabularyOption, say",
    "wordveil.cli.exit_codes": "DONE as EXIT_DONE, NO as EXIT_NO",
    "wordveil.cli.printing": "JsonOption, show",
    "wordveil.decoding.base": "Decoder",
    "wordveil.denoising.counting": "prior_of",
    "wordveil.denoising.posterior": "ChannelEvidence, Posterior, posteriors",
    "wordveil.denoising.reading": (
        "OTHER as OTHER_WORD, Layout as ReleaseLayout, ReleaseReader, STOP as STOP_WORD, STATES as TOKEN_STATES, "
        "TYPED as TYPED_TOKEN"
    ),
    "wordveil.documents.reader": "FORMATS, guess_format",
    "wordveil.documents.settings": "DocumentSettings",
    "wordveil.documents.streams": "InputStream, MemberCompressor",
    "wordveil.errors": "CertificateError, DataFormatError, GuaranteeError, MissingExtraError, ParameterError",
    "wordveil.files.atomic": "write_whole",
    "wordveil.kernels.compiled.library": "available_engines, engine_name",
    "wordveil.kernels.gpu.backend": "HAS_TRITON, torch as gpu_torch, open_device as open_gpu",
    "wordveil.kernels.gpu.nearest": "GpuNearestWords",
    "wordveil.kernels.gpu.packing": "pack_queries as pack_gpu_queries",
    "wordveil.kernels.gpu.screening": "Screen as GpuScreen, Tiles as GpuTiles, default_tiles as default_gpu_tiles",
    "wordveil.kernels.gpu.selection": "GpuSelection",
    "wordveil.kernels.nearest": "NearestWords",
    "wordveil.kernels.selection": "SelectionRows",
    "wordveil.kernels.threads": "resolve_threads",
    "wordveil.mechanisms.base": "VectorRandomizer, WordRandomizer",
    "wordveil.mechanisms.clipped_l2": "clipped_diameter",
    "wordveil.mechanisms.common": "Mechanism, with_vocabulary",
    "wordveil.mechanisms.exponential": "FittedExponential",
    "wordveil.mechanisms.gaussian_scale": "analytic_scale, classical_scale, gaussian_log_delta",
    "wordveil.mechanisms.jaccard": "class_delta, class_errors",
    "wordveil.mechanisms.laplace_profile": "laplace_delta, laplace_epsilon",
    "wordveil.mechanisms.rows": "clip_to_ball",
    "wordveil.mechanisms.selection": "SelectionMechanism",
    "wordveil.mechanisms.stretch": "exact_stretch",
    "wordveil.mechanisms.truncated_laplace": "FittedTruncatedLaplace",
    "wordveil.mechanisms.truncated_law": (
        "certified_half_width, escape as escape_chance, largest_delta, noise_deviation, published_half_width"
    ),
    "wordveil.mechanisms.worst_pairs": "word_distances",
    "wordveil.names": "DECODERS, EXPORTS, MECHANISMS",
    "wordveil.parameters": "as_floats, check_draws, check_positive, check_whole, checked_ids",
    "wordveil.sanitizing.fitting": "fit_words, shipped_certificate",
    "wordveil.meaning.neighbour_points": "neighbour_points",
    "wordveil.sanitizing.places": "nonces",
    "wordveil.runs.engine": "check_report_path",
    "wordveil.plugins": "build_mechanism, foreign_names, mechanism_class, object_at",
    "wordveil.promises.certificates": "code_name",
    "wordveil.promises.guarantees": "PrivacyUnit, within_scope",
    "wordveil.promises.html": "page as html_page, row as html_row, table as html_table",
    "wordveil.promises.relations": "Pair, Relation, relation_of",
    "wordveil.promises.rounding": "bracket, round_down, round_up",
    "wordveil.randomness": "Draws, Stream, multiply_high, random_bits",
    "wordveil.sentences.encoding": "encoder_named",
    "wordveil.sentences.recipes": "EACH as RECIPE_SENTENCES, followed as followed_recipe, gathered as gathered_recipe",
    "wordveil.sentences.slots": "clean as clean_slots, fill as fill_slots",
    "wordveil.sentences.splitting": "split_sentences",
    "wordveil.spark.files": "sanitize_files",
    "wordveil.text.encoding": "Encoder",
    "wordveil.text.function_words": "FUNCTION_WORDS",
    "wordveil.text.kinds": "KINDS as TOKEN_KINDS, kind as token_kind",
    "wordveil.text.minilm": (
        "PACKAGE as MINILM_PACKAGE, WIDTH as MINILM_WIDTH, MiniLM, load_model as load_minilm, "
        "model_installed as minilm_installed, sentence_pieces as minilm_pieces, encode as minilm_states"
    ),
    "wordveil.text.tokenizer": "tokenizer_for",
    "wordveil.vocabulary.classes": "build_classes",
    "wordveil.vocabulary.frequencies": "word_frequencies",
    "wordveil.vocabulary.nearest_lists": "nearest_lists",
    "wordveil.vocabulary.overlap_graph": "overlap_graph",
    "wordveil.vocabulary.stored_lists": "word_classes",
}


def _named(module: str, entry: str) -> tuple[str, str]:
    there, _, name = entry.partition(" as ")
    return (name, f"{module}:{there}") if name else (there, module)


NAMES: dict[str, str] = dict(
    sorted(_named(module, entry) for module, entries in _HOMES.items() for entry in entries.split(", "))
)
"""Name -> module that defines it, with a colon and its name there where that is another one."""

__all__ = sorted([*EXPORTS, *NAMES])


def __getattr__(name: str) -> Any:
    module, _, attribute = (NAMES.get(name) or EXPORTS.get(name, "")).partition(":")
    if not module:
        raise AttributeError(f"module 'wordveil.api' has no attribute {name!r}")
    value = getattr(importlib.import_module(module), attribute or name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
