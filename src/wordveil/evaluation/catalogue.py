"""Every task by name, at three sizes: full, reduced (minutes on two cores) and miniature (seconds)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

from wordveil.errors import ParameterError
from wordveil.evaluation.attributes import AttributeInference
from wordveil.evaluation.authorship import AuthorshipLinkage
from wordveil.evaluation.base import Task
from wordveil.evaluation.bayes import BayesOnVectors, BayesOnWords
from wordveil.evaluation.classification import CentroidClassification, LexiconClassification, TextClassification
from wordveil.evaluation.context import ContextInversion
from wordveil.evaluation.data import file_digest
from wordveil.evaluation.deniability import OverlapSkewness, PlausibleDeniability
from wordveil.evaluation.masked import MaskedInversion
from wordveil.evaluation.membership import MembershipInference
from wordveil.evaluation.overlap import ContextualOverlap, TextOverlap
from wordveil.evaluation.priors import ZIPF
from wordveil.evaluation.retrieval import Retrieval, TopicRetrieval
from wordveil.evaluation.sentence_tasks import SentenceSimilarity
from wordveil.evaluation.survival import PersonalDataSurvival, RareWordSurvival
from wordveil.evaluation.word_tasks import DistanceDistortion, OddManOut, WordSimilarity

__all__ = ["SIZES", "TASKS", "chosen_tasks", "data_digests", "data_files"]

TASKS: dict[str, type[Task]] = {
    task.name: task
    for task in (
        WordSimilarity,
        OddManOut,
        DistanceDistortion,
        SentenceSimilarity,
        Retrieval,
        TopicRetrieval,
        TextOverlap,
        ContextualOverlap,
        LexiconClassification,
        CentroidClassification,
        TextClassification,
        BayesOnWords,
        BayesOnVectors,
        ContextInversion,
        MaskedInversion,
        PersonalDataSurvival,
        RareWordSurvival,
        AttributeInference,
        AuthorshipLinkage,
        MembershipInference,
        PlausibleDeniability,
        OverlapSkewness,
    )
}
"""Task name -> class."""

_REDUCED: dict[str, dict[str, Any]] = {
    "sts": {"limit": 700},
    "overlap": {"limit": 300},
    "bert-score": {"limit": 150},
    "retrieval": {"documents": 1000, "queries": 200},
    "topic-retrieval": {"documents": 1000, "queries": 250, "words": 60},
    "centroid-classification": {"limit": 3000},
    "text-classification": {"limit": 2000},
    "deniability": {"words": 300, "draws": 50},
    "skewness": {"words": 500},
    "bayes": {"training": 25_000, "trials": 5000},
    "bayes-vectors": {"trials": 500},
    "context-inversion": {"limit": 60, "public_limit": 1000},
    "masked-inversion": {"limit": 100, "public_limit": 600, "epochs": 2},
    "rare-word-survival": {"limit": 100},
    "attribute-inference": {"folds": 3},
    "authorship": {"authors": 150},
    "membership": {"limit": 1500, "epochs": 10},
}

_MINIATURE: dict[str, dict[str, Any]] = {
    "distortion": {"words": 10},
    "sts": {"limit": 20},
    "overlap": {"limit": 10},
    "bert-score": {"limit": 4},
    "retrieval": {"documents": 30, "queries": 10},
    "topic-retrieval": {"documents": 30, "queries": 10},
    "lexicon": {"cap": 20},
    "centroid-classification": {"limit": 40, "test_limit": 20},
    "text-classification": {"limit": 40, "test_limit": 20},
    "deniability": {"words": 20, "draws": 10},
    "skewness": {"words": 20, "neighbours": 3},
    "bayes": {"training": 500, "trials": 200},
    "bayes-vectors": {"trials": 50},
    "context-inversion": {"limit": 5, "public_limit": 20, "candidates": 5},
    "masked-inversion": {"limit": 5, "public_limit": 20, "epochs": 1, "candidates": 10},
    "pii-survival": {"limit": 20},
    "rare-word-survival": {"limit": 5, "common": 10},
    "attribute-inference": {"folds": 2},
    "authorship": {"authors": 5, "words": 12},
    "membership": {"limit": 40, "epochs": 2, "width": 4},
}

SIZES: Mapping[str, Mapping[str, Mapping[str, Any]]] = {"full": {}, "reduced": _REDUCED, "miniature": _MINIATURE}
"""Size -> settings of the tasks that differ from their defaults."""

_FILES = ("path", "train", "test", "public", "frequencies")


def chosen_tasks(
    names: tuple[str, ...] | None, *, size: str = "reduced", data: Mapping[str, str] | None = None
) -> tuple[Task, ...]:
    """Return tasks by name, all of them for None.

    Args:
        names: Task names.
        size: "full", "reduced" or "miniature".
        data: "task" or "task.field" to a file of the user's own; "task" alone means its first file.

    Raises:
        ParameterError: If a name, a size or a field is not known.
    """
    if size not in SIZES:
        raise ParameterError("size", size, f"must be one of {', '.join(SIZES)}.")
    wanted = tuple(TASKS) if names is None else names
    own: dict[str, dict[str, str]] = {}
    for key, path in (data or {}).items():
        task, _, field = key.partition(".")
        own.setdefault(task, {})[field or _first_file(task)] = path
    for name in (*wanted, *own):
        if name not in TASKS:
            raise ParameterError("task", name, f"must be all or among {', '.join(TASKS)}.")
    return tuple(_build(name, {**SIZES[size].get(name, {}), **own.get(name, {})}) for name in wanted)


def _build(name: str, settings: Mapping[str, Any]) -> Task:
    task: Any = TASKS[name]()
    known = {field.name for field in fields(task)}
    for key in settings.keys() - known:
        raise ParameterError("data", f"{name}.{key}", f"must name one of {', '.join(sorted(known))}.")
    built: Task = replace(task, **settings)
    return built


def _first_file(name: str) -> str:
    chosen: Any = TASKS.get(name)
    known = [field.name for field in fields(chosen)] if chosen is not None else []
    return next((field for field in _FILES if field in known), "path")


def data_files(task: Task) -> tuple[str, ...]:
    """Return the files a task reads, as its settings name them."""
    named = [getattr(task, field, None) for field in _FILES]
    return tuple(str(name) for name in named if name is not None and name != ZIPF)


def data_digests(task: Task) -> dict[str, str]:
    """Return the SHA-256 of every file a task reads: what its cached results depend on.

    Raises:
        ParameterError: If a file is nowhere.
    """
    return {name: file_digest(name) for name in data_files(task)}
