"""Binding a mechanism to arrays of vectors: what needs a public vocabulary, what rows it may be given."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from wordveil import __version__
from wordveil.arrays import Float64Array, FloatArray, PrivateVectors
from wordveil.errors import ParameterError
from wordveil.mechanisms.base import VectorMechanism, VectorRandomizer, vector_mechanism
from wordveil.mechanisms.common import Mechanism, with_vocabulary
from wordveil.mechanisms.word_rows import WordRows
from wordveil.promises.guarantees import Guarantee, PrivacyUnit
from wordveil.promises.release import Provenance, unprotected
from wordveil.sanitizing.places import shown
from wordveil.vocabulary.table import Embeddings

LARGEST = 1e100  # of a coordinate: squares and products stay finite


def default_projection(dimensions: int) -> dict[str, object]:
    """Return the settings of a projection for any vectors: random orthonormal rows, 50 of them or half of d."""
    return {"directions": "orthonormal", "sensitivity": "spectral", "dimensions": max(1, min(50, -(-dimensions // 2)))}


@dataclass(frozen=True, kw_only=True)
class Binding:
    """A mechanism bound to vectors of d dimensions."""

    mechanism: VectorMechanism
    randomizer: VectorRandomizer
    dimensions: int
    vocabulary: Embeddings | None
    words: WordRows | None

    def guarantee(self, *, test_source: bool) -> Guarantee:
        if test_source:
            return unprotected(PrivacyUnit.VECTOR)
        claim = self.randomizer.guarantee()
        return claim if self.vocabulary is None else with_vocabulary(claim, self.vocabulary, self.randomizer)

    def provenance(self, *, test_source: bool) -> Provenance:
        """Return where a release comes from; empty checksums where there was no vocabulary."""
        table = self.vocabulary
        return Provenance(
            version=__version__,
            mechanism=shown(self.mechanism),
            vocabulary="none" if table is None else table.header.name,
            checksum="" if table is None else table.checksum_in_use,
            candidates_checksum="",
            public_data=self.randomizer.public_data,
            test_source=test_source,
        )

    def probes(self) -> FloatArray:
        """Return public rows that the mechanism accepts: of the vocabulary, or the zero vector."""
        if self.vocabulary is None:
            return np.zeros((1, self.dimensions))
        return self.vocabulary.vectors[:256]

    def checked(self, block: FloatArray, first_row: int) -> PrivateVectors:
        """Return a block as float64 rows that may be randomized; -0.0 is 0.0, so that equal rows are one row.

        Raises:
            ParameterError: If a row is not finite, too large, or not a word's vector where it must be; it is named by
                number and not shown.
        """
        rows = np.asarray(block, dtype=np.float64) + 0.0
        with np.errstate(invalid="ignore"):
            good = (np.abs(rows) <= LARGEST).all(axis=1)
        if not good.all():
            row = first_row + int(np.flatnonzero(~good)[0])
            problem = f"must be finite and within {LARGEST:g}; remove or repair that row."
            raise ParameterError("vectors", f"row {row}", problem)
        if self.words is not None:
            self._check_words(rows, first_row)
        return PrivateVectors(rows)

    def _check_words(self, rows: Float64Array, first_row: int) -> None:
        assert self.words is not None
        if _are_words(self.words, rows):
            return
        low, high = 0, len(rows)
        while high - low > 1:  # the first row that is none lies in [low, high)
            middle = (low + high) // 2
            low, high = (middle, high) if _are_words(self.words, rows[low:middle]) else (low, middle)
        raise ParameterError(
            "vectors",
            f"row {first_row + low}",
            f"must be a row of the vocabulary: the promise of {self.mechanism.name} covers its words only. For any "
            f"vectors use laplace, clipped-gaussian or projection with sensitivity='spectral'.",
        )


def bind(mechanism: Mechanism, dimensions: int, vocabulary: Embeddings | None) -> Binding:
    """Bind a mechanism to vectors of d dimensions.

    Raises:
        ParameterError: If the mechanism works on words, needs a vocabulary, or does not fit the dimension; the message
            says what to use instead.
    """
    chosen = vector_mechanism(mechanism)
    if vocabulary is not None and vocabulary.dimensions != dimensions:
        problem = f"must have {dimensions}, like the vectors."
        raise ParameterError("vocabulary", f"{vocabulary.dimensions} dimensions", problem)
    randomizer = chosen.for_dimensions(dimensions) if vocabulary is None else chosen.fit(vocabulary)
    return Binding(
        mechanism=chosen,
        randomizer=randomizer,
        dimensions=dimensions,
        vocabulary=vocabulary,
        words=WordRows(vocabulary) if vocabulary is not None and randomizer.inputs == "vocabulary vectors" else None,
    )


def _are_words(words: WordRows, rows: Float64Array) -> bool:
    try:
        words.find(rows)
    except ParameterError:
        return False
    return True
