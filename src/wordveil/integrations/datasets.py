"""Hugging Face data sets: columns of texts, released row by row; the promise goes into the data set's card."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from copy import copy
from pathlib import Path
from typing import Any

from wordveil.documents.arrow_types import bare_schema, visible_table
from wordveil.errors import MissingExtraError
from wordveil.runs.tables import Releaser, TableRelease, chosen_columns, described, released_columns
from wordveil.sanitizing.default import default_sanitizer

try:
    import datasets
    import pyarrow as pa
except ImportError as missing:
    raise MissingExtraError("wordveil.integrations.datasets", "datasets", "datasets") from missing


def sanitize(
    dataset: datasets.Dataset,
    columns: Sequence[str],
    sanitizer: Releaser | None = None,
    *,
    keep: Sequence[str] | None = None,
    keep_others: bool = False,
    drop_others: bool = False,
    **mapping: Any,
) -> TableRelease:
    """Return a data set with columns released; None stays None.

    Every call draws under a key of its own: rows of one index in two splits have noise of their own.

    Args:
        dataset: The private data set.
        columns: Columns of texts; they come out as strings.
        sanitizer: How, or a redactor, which judges each batch alone; the default of `wordveil.sanitize` unless given.
        keep: The other columns to copy; where there are any, this or one of the next two must be given.
        keep_others: Copy all other columns.
        drop_others: Leave out all other columns.
        **mapping: Other arguments of `Dataset.map`, such as `batch_size` or `num_proc`; each process draws under a key
            of its own. The cache of fingerprints is off: the noise is no function of the data.
    """
    how: dict[str, Any] = {"keep": keep, "keep_others": keep_others, "drop_others": drop_others}
    chosen, copied = chosen_columns(columns, dataset.column_names, **how)
    used = copy(sanitizer or default_sanitizer())
    private = dataset.select_columns([name for name in dataset.column_names if name in chosen or name in copied])
    schema = bare_schema(private.features.arrow_schema, copied)
    kinds = datasets.Features.from_arrow_schema(schema)  # no more than types: other facts may tell of private text
    for name in copied:
        if isinstance(kind := private.features[name], datasets.ClassLabel):
            present = set(private.unique(name))
            labels = [label if i in present else f"unused {i}" for i, label in enumerate(kind.names)]
            kinds[name] = datasets.ClassLabel(names=labels)
    kinds.update({name: datasets.Value("string") for name in chosen})
    features = datasets.Features({name: kinds[name] for name in private.column_names})

    def released(rows: pa.Table, indices: list[int]) -> pa.Table:
        own = {name: rows.column(name).to_pylist() for name in chosen}
        texts = released_columns(own, used, [str(i) for i in indices])
        kept = visible_table(rows, schema)
        return pa.table(
            {name: pa.array(texts[name], pa.string()) if name in texts else kept.column(name) for name in features}
        )

    fresh = {"new_fingerprint": uuid.uuid4().hex, "load_from_cache_file": False}
    made = private.with_format("arrow").map(
        released, batched=True, with_indices=True, features=features, **{**fresh, **mapping}
    )
    card = described(None, used, chosen, copied, keyed=False).card()
    # Sizes, splits and addresses of the private data stand in its information.
    out = datasets.Dataset(made.data, info=datasets.DatasetInfo(description=card, features=features))
    return described(out, used, chosen, copied, keyed=False)


def save(release: TableRelease, folder: str | Path) -> None:
    """Write a released data set to a folder, with the promise in its card (README.md)."""
    release.table.save_to_disk(str(folder))
    Path(folder, "README.md").write_text(release.card(), encoding="utf-8")
