"""Columns of texts in pandas, Polars, Arrow and Hugging Face data sets.

Needs `pip install 'wordveil[pandas,polars,parquet,datasets]'`.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import datasets
import pandas as pd
import polars as pl
import pyarrow as pa

from wordveil.integrations import arrow, pandas, polars
from wordveil.integrations import datasets as hugging_face

ROWS = {"id": [1, 2, 3], "note": ["Maria lives in Uppsala.", None, "Write to maria@clinic.se"]}


def main() -> None:
    """Release the same column in each library."""
    frame = pandas.sanitize(pd.DataFrame(ROWS), ["note"], keep=["id"])
    print(frame.table, frame.guarantee.sentence(), sep="\n")
    assert frame.table["id"].tolist() == ROWS["id"]
    assert frame.table["note"].isna().tolist() == [False, True, False]
    lazy = pl.LazyFrame(ROWS).with_columns(polars.sanitized("note"))
    print(lazy.collect())
    table = arrow.sanitize(pa.table(ROWS), ["note"], drop_others=True).table
    assert b"wordveil" in table.schema.metadata
    datasets.disable_progress_bars()
    release = hugging_face.sanitize(datasets.Dataset.from_dict(ROWS), ["note"], keep_others=True)
    with tempfile.TemporaryDirectory() as folder:
        hugging_face.save(release, folder)
        print(Path(folder, "README.md").read_text(encoding="utf-8").splitlines()[0])
    for released in (frame.table["note"], lazy.collect()["note"], table["note"].to_pylist(), release.table["note"]):
        assert all("maria@clinic.se" not in str(text) for text in released)


if __name__ == "__main__":
    main()
