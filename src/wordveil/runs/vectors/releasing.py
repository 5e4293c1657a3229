"""Releasing blocks of rows: check, draw one stream per row, randomize to the public grid, store.

    rows --check--> float64 rows --mechanism, row streams--> points of the grid --store--> float32 or float64

The noise of a row is placed by the input's name, the row's number, the mechanism and the row's content, under one
key a run. A retried row therefore gives the same output, a changed row never reuses noise, equal rows at different
places draw independently, and no two mechanisms or epsilons ever share noise. A row's output depends on nothing else:
neither on blocks nor on threads.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from wordveil.arrays import Float64Array, FloatArray, ReleasedVectors
from wordveil.documents.vectors import open_vectors
from wordveil.errors import ParameterError
from wordveil.kernels.threads import map_chunks, resolve_threads
from wordveil.mechanisms.base import VectorMechanism
from wordveil.parameters import OtherColumns, check_choice, check_other_columns, strings, unique_ids
from wordveil.randomness import RandomSource
from wordveil.runs.vectors.binding import Binding, bind
from wordveil.runs.vectors.grid import STEPS, check_grid, public_grid, round_to_grid
from wordveil.runs.vectors.values import VectorRelease, vector_disclosures
from wordveil.sanitizing.places import Place, nonces, vector_domain
from wordveil.vocabulary.table import Embeddings

CHUNK_ROWS = 256  # rows drawn and randomized at once by one thread
BLOCK_VALUES = 1 << 22  # numbers held at once, about: 32 MiB of float64


@dataclass(frozen=True, kw_only=True)
class VectorSettings:
    """How vectors are read, rounded and stored.

    Attributes:
        column: Which array, column or tensor of the file; None for the only one.
        keep: Other columns, arrays or tensors to copy unchanged; they are disclosed. None is copied that is not named:
            where a file holds others, and neither this nor one of the next two says what becomes of them, no file is
            written.
        keep_others: Copy all others.
        drop_others: Leave out all others.
        grid: Public grid, a power of two; None takes 2^-8 of the noise's standard deviation, rounded down.
        dtype: Type of the released numbers, "float32" or "float64".
        block_rows: Rows held at once; None for about four million numbers. Performance only.
        threads: Threads to use, None for one per processor. Performance only.

    Raises:
        ParameterError: If a setting is outside its domain.
    """

    column: str | None = None
    keep: tuple[str, ...] | None = None
    keep_others: bool = False
    drop_others: bool = False
    grid: float | None = None
    dtype: str = "float32"
    block_rows: int | None = None
    threads: int | None = None

    def __post_init__(self) -> None:
        check_other_columns(self.keep, keep_others=self.keep_others, drop_others=self.drop_others)
        strings("keep", self.keep or ())
        if self.grid is not None:
            check_grid(self.grid)
        check_choice("dtype", self.dtype, STEPS)
        if self.block_rows is not None and self.block_rows < 1:
            raise ParameterError("block_rows", self.block_rows, "must be at least 1.")
        resolve_threads(self.threads)

    @property
    def choice(self) -> OtherColumns:
        """What becomes of the other columns."""
        return {"keep": self.keep, "keep_others": self.keep_others, "drop_others": self.drop_others}

    def rows_at_once(self, dimensions: int) -> int:
        """Return the number of rows of a block."""
        return self.block_rows or max(1, BLOCK_VALUES // dimensions)


@dataclass(frozen=True, kw_only=True)
class RowReleaser:
    """Releases blocks of rows of one input."""

    binding: Binding
    grid: float
    dtype: str
    source: RandomSource = field(repr=False)
    name: str
    column: str | None = None
    threads: int | None = None

    @classmethod
    def for_settings(cls, binding: Binding, settings: VectorSettings, source: RandomSource, name: str) -> RowReleaser:
        """Return the releaser, with the default grid where the settings give none."""
        grid = public_grid(binding.randomizer, binding.probes()) if settings.grid is None else settings.grid
        rules: Any = {"grid": grid, "dtype": settings.dtype, "column": settings.column, "threads": settings.threads}
        return cls(binding=binding, source=source, name=name, **rules)

    def fingerprint(self) -> dict[str, Any]:
        """Return what the released rows depend on besides the input and the key, as JSON values."""
        origin = self.binding.provenance(test_source=self.source.is_test_source)
        # The column as it was asked for: the only array by its name draws other noise.
        rules = {"column": self.column, "grid": self.grid, "dtype": self.dtype}
        return {**rules, **asdict(origin), "noise": self._domain}

    def release(self, block: FloatArray, first_row: int, ids: Sequence[str] | None = None) -> FloatArray:
        """Release a block.

        Args:
            block: Shape (n, d), any real type.
            first_row: Number of its first row in the input.
            ids: What places the noise of each row, unique in the input; None takes the rows' numbers.

        Returns:
            Shape (n, d) or (n, m), of `dtype`.

        Raises:
            ParameterError: If a row cannot be released; it is named by number.
        """
        rows = self.binding.checked(block, first_row)
        names = [str(first_row + i) for i in range(len(rows))] if ids is None else unique_ids(ids, len(rows))
        out = np.empty((len(rows), self.binding.randomizer.dimensions), dtype=np.dtype(self.dtype).newbyteorder("<"))
        lows = range(0, len(rows), CHUNK_ROWS)
        noisy = map_chunks(
            lambda low: self._randomized(rows[low : low + CHUNK_ROWS], names[low : low + CHUNK_ROWS]),
            lows,
            self.threads,
        )
        for low, part in zip(lows, noisy, strict=True):
            out[low : low + len(part)] = round_to_grid(part, self.grid, self.dtype, first_row=first_row + low)
        return out

    def _randomized(self, rows: Float64Array, names: Sequence[str]) -> ReleasedVectors:
        randomizer = self.binding.randomizer
        places = [Place(domain=self._domain, document=name) for name in names]
        contents = rows.astype("<f8")  # numbers count, not how the input stored them
        where = nonces(self.source, places, [row.tobytes() for row in contents])
        streams = self.source.documents(where, [1] * len(rows))
        (draws,) = streams.chunks(randomizer.sample, len(rows))
        return randomizer.points(rows, draws, self.grid)

    @cached_property
    def _domain(self) -> str:
        bound = self.binding
        return vector_domain(bound.mechanism, bound.randomizer, bound.vocabulary, self.name, self.column)


def release_vectors(
    vectors: ArrayLike | str | os.PathLike[str],
    mechanism: VectorMechanism,
    *,
    vocabulary: Embeddings | None = None,
    settings: VectorSettings | None = None,
    source: RandomSource | None = None,
    name: str = "",
) -> VectorRelease:
    """Release an array of vectors, each row with noise of its own, rounded to a public grid.

    Guarantee:
        That of the mechanism, per row: `release.guarantee`. Rows that belong to one person add up. What is released is
        the point of the public grid that is nearest to the real sum of row and noise, so that the proof covers it.

    Args:
        vectors: Shape (n, d), d >= 1, integers or floats of at most 64 bits, finite; or a file that holds it.
        mechanism: A vector mechanism; for arbitrary vectors one that needs no vocabulary.
        vocabulary: Public vocabulary for mechanisms that need one.
        settings: Grid, type and, for a file, which array.
        source: Randomness; a fresh secure source unless given. The same source, name, column (as it was asked for), row
            and mechanism give the same output again, so a retry releases nothing new; but a second release under them
            tells which rows changed, and the losses of two releases add up only under two sources.
        name: Name of the input, part of every row's id; the file name where a file is given and no name.

    Returns:
        The release: rows, guarantee, grid, what is disclosed, provenance.

    Raises:
        ParameterError: If shape, values or parameters are outside their domains; rows are named by number.
        DataFormatError: If a file cannot be read.
        WordveilError: If a fork gave the source a key that only this process has.

    Edge cases:
        n = 0 returns (0, d). Zero rows are valid. NaN and infinity raise.

    Example:
        >>> import wordveil as wv
        >>> from wordveil.runs.vectors import release_vectors
        >>> release = release_vectors([[0.0, 1.0], [2.0, 3.0]], wv.MultivariateLaplace(epsilon=8.0))
        >>> release.vectors.shape, release.grid
        ((2, 2), 0.00048828125)
        >>> release.guarantee.promise
        'metric DP'
    """
    settings = settings or VectorSettings()
    own_source = source is not None
    source = source or RandomSource()
    source.check_repeats()
    if isinstance(vectors, str | os.PathLike):
        with open_vectors(vectors, settings.column) as reader:
            binding = bind(mechanism, reader.dimensions, vocabulary)
            releaser = RowReleaser.for_settings(binding, settings, source, name or Path(vectors).name)
            blocks = reader.blocks(0, settings.rows_at_once(reader.dimensions))
            return _released(releaser, reader.rows, blocks, own_source=own_source)
    rows: Any = np.asarray(vectors)
    if rows.ndim != 2 or rows.shape[1] < 1 or rows.dtype.kind not in "fiu" or rows.dtype.itemsize > 8:
        requirement = "must have shape (n, d) with d >= 1 and hold integers or floats of at most 64 bits."
        raise ParameterError("vectors", f"shape {rows.shape} of {rows.dtype}", requirement)
    binding = bind(mechanism, rows.shape[1], vocabulary)
    releaser = RowReleaser.for_settings(binding, settings, source, name)
    size = settings.rows_at_once(rows.shape[1])
    blocks = (rows[low : low + size] for low in range(0, len(rows), size))
    return _released(releaser, len(rows), blocks, own_source=own_source)


def _released(releaser: RowReleaser, rows: int, blocks: Iterable[FloatArray], *, own_source: bool) -> VectorRelease:
    shape = (rows, releaser.binding.randomizer.dimensions)
    out = np.empty(shape, dtype=np.dtype(releaser.dtype).newbyteorder("<"))
    done = 0
    for block in blocks:
        out[done : done + len(block)] = releaser.release(block, done)
        done += len(block)
    test = releaser.source.is_test_source
    return VectorRelease(
        vectors=out,
        guarantee=releaser.binding.guarantee(test_source=test),
        grid=releaser.grid,
        disclosed=vector_disclosures(releaser.binding.randomizer, own_source=own_source),
        provenance=releaser.binding.provenance(test_source=test),
    )
