"""Types that everything shares: arrays and the letters of their shapes, and the wall between private and released.

Shape letters: `n` rows in a batch, `d` embedding dimension, `v` vocabulary size, `k` neighbours asked for.
Private and released values are distinct types so that the type checker, not memory, keeps post-processing away from
private data: what stands after the mechanism, decoders and writers, accepts released values only. A mechanism's
`randomize` is where the type changes. At run time all of them are plain strings and arrays.
"""

from __future__ import annotations

import tokenize
from collections.abc import Callable
from typing import Any, NewType

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.floating]
Float32Array = NDArray[np.float32]
Float64Array = NDArray[np.float64]
Int64Array = NDArray[np.int64]
BoolArray = NDArray[np.bool_]
IdArray = NDArray[np.int32]
"""Token ids, shape (n,); -1 stands for a token outside the vocabulary."""

MALFORMED = (ValueError, EOFError, SyntaxError, tokenize.TokenError)
"""What NumPy raises on a malformed .npy file: it reads a header that is no literal again by its tokens."""

Progress = Callable[[int], None]
"""Called with the number of tokens, rows or pairs done since the last call."""

PrivateText = NewType("PrivateText", str)
ReleasedText = NewType("ReleasedText", str)

PrivateIds = NewType("PrivateIds", IdArray)
"""Token ids of a text as it was read."""

ReleasedIds = NewType("ReleasedIds", IdArray)
"""Token ids as a mechanism released them."""


def write_ids(into: ReleasedIds, places: slice | NDArray[Any], ids: ReleasedIds) -> None:
    """Write released ids into others: an assignment would take private ones, whatever types they have."""
    into[places] = ids


PrivateVectors = NewType("PrivateVectors", Float64Array)
"""Vectors as they were read, or looked up for private ids."""

ReleasedVectors = NewType("ReleasedVectors", Float64Array)
"""Vectors as a mechanism released them."""
