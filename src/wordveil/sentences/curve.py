"""The curve of a stock: how near public sentences come to the prototypes of each size, exactly, without a draw.

Sizes are chosen by it. It is measured on sentences none of which is a prototype, by an encoder that may be another than
the one that finds the prototypes: measured by its own, each looks better than it is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from wordveil.arrays import Float32Array
from wordveil.sentences.stock import Level
from wordveil.vocabulary.table import Embeddings


def measured_levels(
    table: Embeddings,
    levels: Sequence[Sequence[int]],
    queries: Mapping[str, Float32Array],
    those: Float32Array,
    these: Float32Array,
) -> tuple[Level, ...]:
    """Return the stock of each size, given as rows of a table of all prototypes at length 1, with its curve.

    Queries are, by the name of an encoder, the rows of n public sentences that compare with the table's; those and
    these are the rows of the prototypes, and of the n sentences, by the judge.
    """
    found = []
    for ids in map(list, levels):
        own = Embeddings.from_arrays(
            [table.words[i] for i in ids], table.vectors[ids], casing="cased", candidate_rule="all"
        )
        similar = these @ those[ids].T
        near = {
            name: float(similar[np.arange(len(rows)), (rows @ own.vectors.T).argmax(axis=1)].mean())
            for name, rows in queries.items()
        }
        found.append(Level(ids=tuple(map(int, ids)), near=near, anywhere=float(similar.mean())))
    return tuple(found)
