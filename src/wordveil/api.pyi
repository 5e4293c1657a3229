# Kept in order by tools/write_stub.py.

from wordveil.arrays import Float32Array as Float32Array
from wordveil.arrays import Float64Array as Float64Array
from wordveil.arrays import FloatArray as FloatArray
from wordveil.arrays import IdArray as IdArray
from wordveil.arrays import PrivateIds as PrivateIds
from wordveil.arrays import PrivateText as PrivateText
from wordveil.arrays import Progress as FitProgress
from wordveil.arrays import ReleasedIds as ReleasedIds
from wordveil.arrays import ReleasedText as ReleasedText
from wordveil.arrays import ReleasedVectors as ReleasedVectors
from wordveil.auditing.black_box import audit_pair as audit_pair
from wordveil.auditing.cases import Inputs as AuditInputs
from wordveil.auditing.cases import make_case as make_case
from wordveil.auditing.draws import check_drawn_law as check_drawn_law
from wordveil.auditing.exact import verify_channel as verify_channel
from wordveil.auditing.findings import Finding as Finding
from wordveil.auditing.findings import Status as AuditStatus
from wordveil.auditing.findings import at_least as at_least_in_words
from wordveil.auditing.findings import result as audit_result
from wordveil.auditing.intervals import check_alpha as check_alpha
from wordveil.auditing.intervals import lower_bound as lower_bound
from wordveil.auditing.repeated import RELEASES as REPEATED_RELEASES
from wordveil.auditing.repeated import named_after as named_after
from wordveil.auditing.runner import audit as audit
from wordveil.auditing.runner import audit_mechanism as audit_mechanism
from wordveil.auditing.subjects import LogRatio as LogRatio
from wordveil.auditing.subjects import OnGrid as OnGrid
from wordveil.auditing.subjects import Subject as Subject
from wordveil.auditing.subjects import VectorSubject as VectorSubject
from wordveil.auditing.subjects import WordSubject as WordSubject
from wordveil.auditing.text_leaks import TextChecks as TextChecks
from wordveil.auditing.text_leaks import check_text as check_text
from wordveil.certification import certify as certify
from wordveil.certification import verify as verify
from wordveil.certification.accounting import compose_many as compose_many
from wordveil.certification.accounting import dominating_pair as dominating_pair
from wordveil.certification.accounting import laplace_to_local as laplace_to_local
from wordveil.certification.certified_rate import certify_rate as certify_rate
from wordveil.cli.app import OfferedCommand as OfferedCommand
from wordveil.cli.app import build_app as build_app
from wordveil.cli.common import say as say
from wordveil.cli.exit_codes import DONE as EXIT_DONE
from wordveil.cli.exit_codes import NO as EXIT_NO
from wordveil.cli.options import VocabularyOption as VocabularyOption
from wordveil.cli.printing import JsonOption as JsonOption
from wordveil.cli.printing import show as show
from wordveil.decoding.base import Decoder as Decoder
from wordveil.decoding.decoded import Decoded as Decoded
from wordveil.decoding.nearest import Nearest as Nearest
from wordveil.decoding.rank_softmax import RankSoftmax as RankSoftmax
from wordveil.decoding.rank_tuning import tune_rank_softmax as tune_rank_softmax
from wordveil.decoding.vickrey import Vickrey as Vickrey
from wordveil.denoising.counting import build_prior as build_prior
from wordveil.denoising.counting import prior_of as prior_of
from wordveil.denoising.denoiser import Denoised as Denoised
from wordveil.denoising.denoiser import Denoiser as Denoiser
from wordveil.denoising.posterior import ChannelEvidence as ChannelEvidence
from wordveil.denoising.posterior import Posterior as Posterior
from wordveil.denoising.posterior import posteriors as posteriors
from wordveil.denoising.prior import Prior as Prior
from wordveil.denoising.prior import load_prior as load_prior
from wordveil.denoising.reading import OTHER as OTHER_WORD
from wordveil.denoising.reading import STATES as TOKEN_STATES
from wordveil.denoising.reading import STOP as STOP_WORD
from wordveil.denoising.reading import TYPED as TYPED_TOKEN
from wordveil.denoising.reading import Layout as ReleaseLayout
from wordveil.denoising.reading import ReleaseReader as ReleaseReader
from wordveil.documents.reader import FORMATS as FORMATS
from wordveil.documents.reader import guess_format as guess_format
from wordveil.documents.settings import DocumentSettings as DocumentSettings
from wordveil.documents.streams import InputStream as InputStream
from wordveil.documents.streams import MemberCompressor as MemberCompressor
from wordveil.errors import CertificateError as CertificateError
from wordveil.errors import DataFormatError as DataFormatError
from wordveil.errors import ForeignTextWarning as ForeignTextWarning
from wordveil.errors import GuaranteeError as GuaranteeError
from wordveil.errors import InputWarning as InputWarning
from wordveil.errors import MissingExtraError as MissingExtraError
from wordveil.errors import ParameterError as ParameterError
from wordveil.errors import WordveilError as WordveilError
from wordveil.files.atomic import write_whole as write_whole
from wordveil.files.run_key import run_source as run_source
from wordveil.kernels.compiled.library import available_engines as available_engines
from wordveil.kernels.compiled.library import engine_name as engine_name
from wordveil.kernels.gpu.backend import HAS_TRITON as HAS_TRITON
from wordveil.kernels.gpu.backend import open_device as open_gpu
from wordveil.kernels.gpu.backend import torch as gpu_torch
from wordveil.kernels.gpu.nearest import GpuNearestWords as GpuNearestWords
from wordveil.kernels.gpu.packing import pack_queries as pack_gpu_queries
from wordveil.kernels.gpu.screening import Screen as GpuScreen
from wordveil.kernels.gpu.screening import Tiles as GpuTiles
from wordveil.kernels.gpu.screening import default_tiles as default_gpu_tiles
from wordveil.kernels.gpu.selection import GpuSelection as GpuSelection
from wordveil.kernels.nearest import NearestWords as NearestWords
from wordveil.kernels.selection import SelectionRows as SelectionRows
from wordveil.kernels.threads import resolve_threads as resolve_threads
from wordveil.meaning.calibration import calibrate as calibrate
from wordveil.meaning.explanations import explain as explain
from wordveil.meaning.neighbour_points import neighbour_points as neighbour_points
from wordveil.mechanisms.base import VectorMechanism as VectorMechanism
from wordveil.mechanisms.base import VectorRandomizer as VectorRandomizer
from wordveil.mechanisms.base import WordMechanism as WordMechanism
from wordveil.mechanisms.base import WordRandomizer as WordRandomizer
from wordveil.mechanisms.clipped_gaussian import ClippedGaussian as ClippedGaussian
from wordveil.mechanisms.clipped_l2 import ClippedL2 as ClippedL2
from wordveil.mechanisms.clipped_l2 import clipped_diameter as clipped_diameter
from wordveil.mechanisms.clipped_laplace import ClippedLaplace as ClippedLaplace
from wordveil.mechanisms.common import Mechanism as Mechanism
from wordveil.mechanisms.common import with_vocabulary as with_vocabulary
from wordveil.mechanisms.exponential import FittedExponential as FittedExponential
from wordveil.mechanisms.exponential import SelectionMechanism as SelectionMechanism
from wordveil.mechanisms.gaussian_scale import analytic_scale as analytic_scale
from wordveil.mechanisms.gaussian_scale import classical_scale as classical_scale
from wordveil.mechanisms.gaussian_scale import gaussian_log_delta as gaussian_log_delta
from wordveil.mechanisms.jaccard import Jaccard as Jaccard
from wordveil.mechanisms.jaccard import class_delta as class_delta
from wordveil.mechanisms.jaccard import class_errors as class_errors
from wordveil.mechanisms.laplace_profile import laplace_delta as laplace_delta
from wordveil.mechanisms.laplace_profile import laplace_epsilon as laplace_epsilon
from wordveil.mechanisms.mahalanobis import Mahalanobis as Mahalanobis
from wordveil.mechanisms.multivariate_laplace import MultivariateLaplace as MultivariateLaplace
from wordveil.mechanisms.nadp import NADP as NADP
from wordveil.mechanisms.neighbours import NeighbourResponse as NeighbourResponse
from wordveil.mechanisms.precomputation import precompute as precompute
from wordveil.mechanisms.precomputation import precomputed_size as precomputed_size
from wordveil.mechanisms.projection import Projection as Projection
from wordveil.mechanisms.rows import clip_to_ball as clip_to_ball
from wordveil.mechanisms.santext import SanText as SanText
from wordveil.mechanisms.stretch import exact_stretch as exact_stretch
from wordveil.mechanisms.tem import TEM as TEM
from wordveil.mechanisms.tight import TightConstraints as TightConstraints
from wordveil.mechanisms.truncated_laplace import FittedTruncatedLaplace as FittedTruncatedLaplace
from wordveil.mechanisms.truncated_laplace import TruncatedLaplace as TruncatedLaplace
from wordveil.mechanisms.truncated_law import certified_half_width as certified_half_width
from wordveil.mechanisms.truncated_law import escape as escape_chance
from wordveil.mechanisms.truncated_law import largest_delta as largest_delta
from wordveil.mechanisms.truncated_law import noise_deviation as noise_deviation
from wordveil.mechanisms.truncated_law import published_half_width as published_half_width
from wordveil.mechanisms.worst_pairs import word_distances as word_distances
from wordveil.metrics.distances import Angular as Angular
from wordveil.metrics.distances import Euclidean as Euclidean
from wordveil.metrics.distances import Precomputed as Precomputed
from wordveil.names import DECODERS as DECODERS
from wordveil.names import EXPORTS as EXPORTS
from wordveil.names import MECHANISMS as MECHANISMS
from wordveil.parameters import as_floats as as_floats
from wordveil.parameters import check_choice as check_choice
from wordveil.parameters import check_delta as check_delta
from wordveil.parameters import check_draws as check_draws
from wordveil.parameters import check_positive as check_positive
from wordveil.parameters import check_whole as check_whole
from wordveil.parameters import checked_ids as checked_ids
from wordveil.plugins import build_mechanism as build_mechanism
from wordveil.plugins import foreign_names as foreign_names
from wordveil.plugins import mechanism_class as mechanism_class
from wordveil.plugins import object_at as object_at
from wordveil.promises.certificates import Certificate as Certificate
from wordveil.promises.certificates import code_name as code_name
from wordveil.promises.composing import compose_releases as compose_releases
from wordveil.promises.composing import compose_tokens as compose_tokens
from wordveil.promises.composing import to_local as to_local
from wordveil.promises.guarantees import Guarantee as Guarantee
from wordveil.promises.guarantees import LocalDP as LocalDP
from wordveil.promises.guarantees import MetricDP as MetricDP
from wordveil.promises.guarantees import NeighbourDP as NeighbourDP
from wordveil.promises.guarantees import NoGuarantee as NoGuarantee
from wordveil.promises.guarantees import PrivacyUnit as PrivacyUnit
from wordveil.promises.guarantees import Standing as Standing
from wordveil.promises.guarantees import Withholding as Withholding
from wordveil.promises.guarantees import within_scope as within_scope
from wordveil.promises.html import page as html_page
from wordveil.promises.html import row as html_row
from wordveil.promises.html import table as html_table
from wordveil.promises.number_grids import NumberGrid as NumberGrid
from wordveil.promises.pair_loss import PairLoss as PairLoss
from wordveil.promises.pair_loss import generic_pair as generic_pair
from wordveil.promises.relations import Pair as Pair
from wordveil.promises.relations import Relation as Relation
from wordveil.promises.relations import relation_of as relation_of
from wordveil.promises.release import BatchRelease as BatchRelease
from wordveil.promises.release import Release as Release
from wordveil.promises.release import TextOptions as TextOptions
from wordveil.promises.rounding import bracket as bracket
from wordveil.promises.rounding import round_down as round_down
from wordveil.promises.rounding import round_up as round_up
from wordveil.randomness import Draws as Draws
from wordveil.randomness import RandomSource as RandomSource
from wordveil.randomness import Stream as Stream
from wordveil.randomness import multiply_high as multiply_high
from wordveil.randomness import random_bits as random_bits
from wordveil.runs.engine import check_replaced as check_replaced
from wordveil.runs.engine import check_report_path as check_report_path
from wordveil.runs.sanitize import sanitize_documents as sanitize_documents
from wordveil.runs.vectors.files import release_vector_file as release_vector_file
from wordveil.runs.vectors.releasing import VectorSettings as VectorSettings
from wordveil.runs.vectors.releasing import release_vectors as release_vectors
from wordveil.runs.vectors.retrieval import measure_retrieval as measure_retrieval
from wordveil.runs.vectors.values import VectorRelease as VectorRelease
from wordveil.sanitizing.class_map import ClassMap as ClassMap
from wordveil.sanitizing.default import sanitize as sanitize
from wordveil.sanitizing.fitting import fit_words as fit_words
from wordveil.sanitizing.fitting import shipped_certificate as shipped_certificate
from wordveil.sanitizing.places import nonces as nonces
from wordveil.sanitizing.sanitizer import Sanitizer as Sanitizer
from wordveil.sentences.building import StockSettings as StockSettings
from wordveil.sentences.building import build_stock as build_stock
from wordveil.sentences.encoding import encoder_named as encoder_named
from wordveil.sentences.recipes import EACH as RECIPE_SENTENCES
from wordveil.sentences.recipes import followed as followed_recipe
from wordveil.sentences.recipes import gathered as gathered_recipe
from wordveil.sentences.rephrasing import Rephraser as Rephraser
from wordveil.sentences.rephrasing import rephrase_documents as rephrase_documents
from wordveil.sentences.slots import clean as clean_slots
from wordveil.sentences.slots import fill as fill_slots
from wordveil.sentences.splitting import split_sentences as split_sentences
from wordveil.sentences.stock import Stock as Stock
from wordveil.sentences.stock import load_stock as load_stock
from wordveil.spark.files import sanitize_files as sanitize_files
from wordveil.text.encoding import Encoder as Encoder
from wordveil.text.function_words import FUNCTION_WORDS as FUNCTION_WORDS
from wordveil.text.kinds import KINDS as TOKEN_KINDS
from wordveil.text.kinds import kind as token_kind
from wordveil.text.minilm import PACKAGE as MINILM_PACKAGE
from wordveil.text.minilm import WIDTH as MINILM_WIDTH
from wordveil.text.minilm import MiniLM as MiniLM
from wordveil.text.minilm import encode as minilm_states
from wordveil.text.minilm import load_model as load_minilm
from wordveil.text.minilm import model_installed as minilm_installed
from wordveil.text.minilm import sentence_pieces as minilm_pieces
from wordveil.text.tokenizer import tokenizer_for as tokenizer_for
from wordveil.vocabulary.classes import build_classes as build_classes
from wordveil.vocabulary.frequencies import word_frequencies as word_frequencies
from wordveil.vocabulary.importing import import_embeddings as import_embeddings
from wordveil.vocabulary.nearest_lists import nearest_lists as nearest_lists
from wordveil.vocabulary.nearest_lists import overlap_graph as overlap_graph
from wordveil.vocabulary.rank_metric import NeighbourRank as NeighbourRank
from wordveil.vocabulary.stored_lists import word_classes as word_classes
from wordveil.vocabulary.table import Embeddings as Embeddings
from wordveil.vocabulary.table import load_embeddings as load_embeddings
from wordveil.withholding.redactor import Redaction as Redaction
from wordveil.withholding.redactor import Redactor as Redactor
from wordveil.withholding.rule import Rule as Rule
from wordveil.withholding.runs import RedactionReport as RedactionReport
from wordveil.withholding.runs import redact_documents as redact_documents
from wordveil.withholding.words import PublicWords as PublicWords

__all__ = [
    "Angular",
    "AuditInputs",
    "AuditStatus",
    "BatchRelease",
    "Certificate",
    "CertificateError",
    "ChannelEvidence",
    "ClassMap",
    "ClippedGaussian",
    "ClippedL2",
    "ClippedLaplace",
    "DECODERS",
    "DataFormatError",
    "Decoded",
    "Decoder",
    "Denoised",
    "Denoiser",
    "DocumentSettings",
    "Draws",
    "EXIT_DONE",
    "EXIT_NO",
    "EXPORTS",
    "Embeddings",
    "Encoder",
    "Euclidean",
    "FORMATS",
    "FUNCTION_WORDS",
    "Finding",
    "FitProgress",
    "FittedExponential",
    "FittedTruncatedLaplace",
    "Float32Array",
    "Float64Array",
    "FloatArray",
    "ForeignTextWarning",
    "GpuNearestWords",
    "GpuScreen",
    "GpuSelection",
    "GpuTiles",
    "Guarantee",
    "GuaranteeError",
    "HAS_TRITON",
    "IdArray",
    "InputStream",
    "InputWarning",
    "Jaccard",
    "JsonOption",
    "LocalDP",
    "LogRatio",
    "MECHANISMS",
    "MINILM_PACKAGE",
    "MINILM_WIDTH",
    "Mahalanobis",
    "Mechanism",
    "MemberCompressor",
    "MetricDP",
    "MiniLM",
    "MissingExtraError",
    "MultivariateLaplace",
    "NADP",
    "Nearest",
    "NearestWords",
    "NeighbourDP",
    "NeighbourRank",
    "NeighbourResponse",
    "NoGuarantee",
    "NumberGrid",
    "OTHER_WORD",
    "OfferedCommand",
    "OnGrid",
    "Pair",
    "PairLoss",
    "ParameterError",
    "Posterior",
    "Precomputed",
    "Prior",
    "PrivacyUnit",
    "PrivateIds",
    "PrivateText",
    "Projection",
    "PublicWords",
    "RECIPE_SENTENCES",
    "REPEATED_RELEASES",
    "RandomSource",
    "RankSoftmax",
    "Redaction",
    "RedactionReport",
    "Redactor",
    "Relation",
    "Release",
    "ReleaseLayout",
    "ReleaseReader",
    "ReleasedIds",
    "ReleasedText",
    "ReleasedVectors",
    "Rephraser",
    "Rule",
    "STOP_WORD",
    "SanText",
    "Sanitizer",
    "SelectionMechanism",
    "SelectionRows",
    "Standing",
    "Stock",
    "StockSettings",
    "Stream",
    "Subject",
    "TEM",
    "TOKEN_KINDS",
    "TOKEN_STATES",
    "TYPED_TOKEN",
    "TextChecks",
    "TextOptions",
    "TightConstraints",
    "TruncatedLaplace",
    "VectorMechanism",
    "VectorRandomizer",
    "VectorRelease",
    "VectorSettings",
    "VectorSubject",
    "Vickrey",
    "VocabularyOption",
    "Withholding",
    "WordMechanism",
    "WordRandomizer",
    "WordSubject",
    "WordveilError",
    "analytic_scale",
    "as_floats",
    "at_least_in_words",
    "audit",
    "audit_mechanism",
    "audit_pair",
    "audit_result",
    "available_engines",
    "bracket",
    "build_app",
    "build_classes",
    "build_mechanism",
    "build_prior",
    "build_stock",
    "calibrate",
    "certified_half_width",
    "certify",
    "certify_rate",
    "check_alpha",
    "check_choice",
    "check_delta",
    "check_drawn_law",
    "check_draws",
    "check_positive",
    "check_replaced",
    "check_report_path",
    "check_text",
    "check_whole",
    "checked_ids",
    "class_delta",
    "class_errors",
    "classical_scale",
    "clean_slots",
    "clip_to_ball",
    "clipped_diameter",
    "code_name",
    "compose_many",
    "compose_releases",
    "compose_tokens",
    "default_gpu_tiles",
    "dominating_pair",
    "encoder_named",
    "engine_name",
    "escape_chance",
    "exact_stretch",
    "explain",
    "fill_slots",
    "fit_words",
    "followed_recipe",
    "foreign_names",
    "gathered_recipe",
    "gaussian_log_delta",
    "generic_pair",
    "gpu_torch",
    "guess_format",
    "html_page",
    "html_row",
    "html_table",
    "import_embeddings",
    "laplace_delta",
    "laplace_epsilon",
    "laplace_to_local",
    "largest_delta",
    "load_embeddings",
    "load_minilm",
    "load_prior",
    "load_stock",
    "lower_bound",
    "make_case",
    "measure_retrieval",
    "mechanism_class",
    "minilm_installed",
    "minilm_pieces",
    "minilm_states",
    "multiply_high",
    "named_after",
    "nearest_lists",
    "neighbour_points",
    "noise_deviation",
    "nonces",
    "object_at",
    "open_gpu",
    "overlap_graph",
    "pack_gpu_queries",
    "posteriors",
    "precompute",
    "precomputed_size",
    "prior_of",
    "published_half_width",
    "random_bits",
    "redact_documents",
    "relation_of",
    "release_vector_file",
    "release_vectors",
    "rephrase_documents",
    "resolve_threads",
    "round_down",
    "round_up",
    "run_source",
    "sanitize",
    "sanitize_documents",
    "sanitize_files",
    "say",
    "shipped_certificate",
    "show",
    "split_sentences",
    "to_local",
    "token_kind",
    "tokenizer_for",
    "tune_rank_softmax",
    "verify",
    "verify_channel",
    "with_vocabulary",
    "within_scope",
    "word_classes",
    "word_distances",
    "word_frequencies",
    "write_whole",
]
