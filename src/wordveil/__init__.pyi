# Kept in order by tools/write_stub.py.

from wordveil.auditing.exact import verify_channel as verify_channel
from wordveil.auditing.runner import audit as audit
from wordveil.auditing.runner import audit_mechanism as audit_mechanism
from wordveil.certification import certify as certify
from wordveil.certification import verify as verify
from wordveil.certification.accounting import compose_many as compose_many
from wordveil.certification.accounting import dominating_pair as dominating_pair
from wordveil.certification.certified_rate import certify_rate as certify_rate
from wordveil.decoding.decoded import Decoded as Decoded
from wordveil.decoding.nearest import Nearest as Nearest
from wordveil.decoding.rank_softmax import RankSoftmax as RankSoftmax
from wordveil.decoding.rank_tuning import tune_rank_softmax as tune_rank_softmax
from wordveil.decoding.vickrey import Vickrey as Vickrey
from wordveil.denoising.counting import build_prior as build_prior
from wordveil.denoising.denoiser import Denoised as Denoised
from wordveil.denoising.denoiser import Denoiser as Denoiser
from wordveil.denoising.prior import Prior as Prior
from wordveil.denoising.prior import load_prior as load_prior
from wordveil.errors import ForeignTextWarning as ForeignTextWarning
from wordveil.errors import InputWarning as InputWarning
from wordveil.errors import WordveilError as WordveilError
from wordveil.files.run_key import run_source as run_source
from wordveil.meaning.calibration import calibrate as calibrate
from wordveil.meaning.explanations import explain as explain
from wordveil.mechanisms.base import VectorMechanism as VectorMechanism
from wordveil.mechanisms.base import WordMechanism as WordMechanism
from wordveil.mechanisms.clipped_gaussian import ClippedGaussian as ClippedGaussian
from wordveil.mechanisms.clipped_l2 import ClippedL2 as ClippedL2
from wordveil.mechanisms.clipped_laplace import ClippedLaplace as ClippedLaplace
from wordveil.mechanisms.jaccard import Jaccard as Jaccard
from wordveil.mechanisms.mahalanobis import Mahalanobis as Mahalanobis
from wordveil.mechanisms.multivariate_laplace import MultivariateLaplace as MultivariateLaplace
from wordveil.mechanisms.nadp import NADP as NADP
from wordveil.mechanisms.neighbours import NeighbourResponse as NeighbourResponse
from wordveil.mechanisms.precomputation import precompute as precompute
from wordveil.mechanisms.precomputation import precomputed_size as precomputed_size
from wordveil.mechanisms.projection import Projection as Projection
from wordveil.mechanisms.santext import SanText as SanText
from wordveil.mechanisms.tem import TEM as TEM
from wordveil.mechanisms.tight import TightConstraints as TightConstraints
from wordveil.mechanisms.truncated_laplace import TruncatedLaplace as TruncatedLaplace
from wordveil.metrics.distances import Angular as Angular
from wordveil.metrics.distances import Euclidean as Euclidean
from wordveil.metrics.distances import Precomputed as Precomputed
from wordveil.promises.certificates import Certificate as Certificate
from wordveil.promises.composing import compose_releases as compose_releases
from wordveil.promises.composing import compose_tokens as compose_tokens
from wordveil.promises.composing import to_local as to_local
from wordveil.promises.guarantees import Guarantee as Guarantee
from wordveil.promises.guarantees import LocalDP as LocalDP
from wordveil.promises.guarantees import MetricDP as MetricDP
from wordveil.promises.guarantees import NeighbourDP as NeighbourDP
from wordveil.promises.guarantees import NoGuarantee as NoGuarantee
from wordveil.promises.guarantees import Standing as Standing
from wordveil.promises.guarantees import Withholding as Withholding
from wordveil.promises.number_grids import NumberGrid as NumberGrid
from wordveil.promises.pair_loss import PairLoss as PairLoss
from wordveil.promises.pair_loss import generic_pair as generic_pair
from wordveil.promises.release import BatchRelease as BatchRelease
from wordveil.promises.release import Release as Release
from wordveil.promises.release import TextOptions as TextOptions
from wordveil.randomness import RandomSource as RandomSource
from wordveil.runs.sanitize import sanitize_documents as sanitize_documents
from wordveil.runs.vectors.files import release_vector_file as release_vector_file
from wordveil.runs.vectors.releasing import VectorSettings as VectorSettings
from wordveil.runs.vectors.releasing import release_vectors as release_vectors
from wordveil.runs.vectors.retrieval import measure_retrieval as measure_retrieval
from wordveil.runs.vectors.values import VectorRelease as VectorRelease
from wordveil.sanitizing.class_map import ClassMap as ClassMap
from wordveil.sanitizing.default import sanitize as sanitize
from wordveil.sanitizing.sanitizer import Sanitizer as Sanitizer
from wordveil.sentences.building import StockSettings as StockSettings
from wordveil.sentences.building import build_stock as build_stock
from wordveil.sentences.rephrasing import Rephraser as Rephraser
from wordveil.sentences.rephrasing import rephrase_documents as rephrase_documents
from wordveil.sentences.stock import Stock as Stock
from wordveil.sentences.stock import load_stock as load_stock
from wordveil.vocabulary.importing import import_embeddings as import_embeddings
from wordveil.vocabulary.rank_metric import NeighbourRank as NeighbourRank
from wordveil.vocabulary.table import Embeddings as Embeddings
from wordveil.vocabulary.table import load_embeddings as load_embeddings
from wordveil.withholding.redactor import Redaction as Redaction
from wordveil.withholding.redactor import Redactor as Redactor
from wordveil.withholding.rule import Rule as Rule
from wordveil.withholding.runs import RedactionReport as RedactionReport
from wordveil.withholding.runs import redact_documents as redact_documents
from wordveil.withholding.words import PublicWords as PublicWords

__version__: str

__all__ = [
    "Angular",
    "BatchRelease",
    "Certificate",
    "ClassMap",
    "ClippedGaussian",
    "ClippedL2",
    "ClippedLaplace",
    "Decoded",
    "Denoised",
    "Denoiser",
    "Embeddings",
    "Euclidean",
    "ForeignTextWarning",
    "Guarantee",
    "InputWarning",
    "Jaccard",
    "LocalDP",
    "Mahalanobis",
    "MetricDP",
    "MultivariateLaplace",
    "NADP",
    "Nearest",
    "NeighbourDP",
    "NeighbourRank",
    "NeighbourResponse",
    "NoGuarantee",
    "NumberGrid",
    "PairLoss",
    "Precomputed",
    "Prior",
    "Projection",
    "PublicWords",
    "RandomSource",
    "RankSoftmax",
    "Redaction",
    "RedactionReport",
    "Redactor",
    "Release",
    "Rephraser",
    "Rule",
    "SanText",
    "Sanitizer",
    "Standing",
    "Stock",
    "StockSettings",
    "TEM",
    "TextOptions",
    "TightConstraints",
    "TruncatedLaplace",
    "VectorMechanism",
    "VectorRelease",
    "VectorSettings",
    "Vickrey",
    "Withholding",
    "WordMechanism",
    "WordveilError",
    "__version__",
    "audit",
    "audit_mechanism",
    "build_prior",
    "build_stock",
    "calibrate",
    "certify",
    "certify_rate",
    "compose_many",
    "compose_releases",
    "compose_tokens",
    "dominating_pair",
    "explain",
    "generic_pair",
    "import_embeddings",
    "load_embeddings",
    "load_prior",
    "load_stock",
    "measure_retrieval",
    "precompute",
    "precomputed_size",
    "redact_documents",
    "release_vector_file",
    "release_vectors",
    "rephrase_documents",
    "run_source",
    "sanitize",
    "sanitize_documents",
    "to_local",
    "tune_rank_softmax",
    "verify",
    "verify_channel",
]
