"""Hugging Face data sets: columns of texts, released row by row; the promise goes into the data set's card."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from copy import copy
from pathlib import Path
from typing import Any

from wordveil.errors import MissingExtraError
from wordveil.pipeline.one_line import default_sanitizer
from wordveil.pipeline.sanitizer import Sanitizer
from wordveil.pipeline.tables import TableRelease, described, released_columns

try:
    import datasets
except ImportError as missing:
    raise MissingExtraError("wordveil.integrations.datasets", "datasets", "datasets") from missing

__all__ = ["sanitize", "save"]


def sanitize(
    dataset: datasets.Dataset, columns: Sequence[str], sanitizer: Sanitizer | None = None, **mapping: Any
) -> TableRelease:
    """Return a data set with columns released; other columns are copied, None stays None.

    Every call draws under a key of its own: rows of one index in two splits have noise of their own.

    Args:
        dataset: The private data set.
        columns: Columns of texts; they come out as strings.
        sanitizer: How; the default of `wordveil.sanitize` unless given.
        **mapping: Other arguments of `Dataset.map`, such as `batch_size` or `num_proc`; each process draws under a key
            of its own. The cache of fingerprints is off: the noise is no function of the data.

    Raises:
        ParameterError: If a value is neither text nor None.
    """
    used = copy(sanitizer or default_sanitizer())

    def released(rows: dict[str, list[Any]], indices: list[int]) -> dict[str, list[str | None]]:
        return released_columns({name: rows[name] for name in columns}, used, [str(i) for i in indices])

    features = dataset.features.copy()
    features.update({name: datasets.Value("string") for name in columns})
    fresh = {"new_fingerprint": uuid.uuid4().hex, "load_from_cache_file": False}
    out = dataset.map(released, batched=True, with_indices=True, features=features, **{**fresh, **mapping})
    others = [name for name in dataset.column_names if name not in columns]
    release = described(out, used, columns, others, keyed=False)
    out.info.description = release.card()
    return release


def save(release: TableRelease, folder: str | Path) -> None:
    """Write a released data set to a folder, with the promise in its card (README.md)."""
    release.table.save_to_disk(str(folder))
    Path(folder, "README.md").write_text(release.card(), encoding="utf-8")
