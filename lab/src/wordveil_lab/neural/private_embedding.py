"""The layer that embeds tokens and adds the noise: its inputs are private, its outputs are released.

Fresh noise is drawn for every token of every pass, in every thread, process and replica. Threads and replicas count
their passes together; each process counts its own, and a forked child counts none. The noise is a constant to the
gradient; the table is frozen, or learns where all text is public: what it learns names the words of the text.
Positions of padding give zero vectors: the length of a text is disclosed. This module does not train, and does not
know documents.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from typing import Any, NoReturn

import numpy as np

import wordveil.api as wv
from wordveil_lab.neural.backend import nn, torch
from wordveil_lab.neural.passes import PassCounter, check_promise, promise_text

DISCLOSED = (
    "the number of tokens of a text and their positions",
    "an unknown token is replaced by a uniform public word and then randomized like any other",
)

PADDING = -1
"""Id of a position that holds no token."""
UNKNOWN = -2
"""Id of a token outside the vocabulary: replaced by a uniform public word before the mechanism."""

UNKNOWN_LANE = 255  # the last lane: mechanisms and decoders stay below it
GRID_BITS = 16  # the grid is so many powers of two below the size of a released coordinate
PROBES = 256

Draw = Callable[[Callable[[wv.Stream, int], wv.Draws]], wv.Draws]
"""Takes a sampler and returns what it draws for all tokens of a pass."""


class PrivateEmbedding(nn.Module):  # type: ignore[misc]
    """Embeds token ids and randomizes each vector; a PyTorch module without secrets in its state.

    Guarantee:
        That of the mechanism for each token and each pass (`guarantee()`); passes over private sentences compose
        (`composed_guarantee()`). Released vectors are points of a public grid of step `step`, the nearest to the real
        sums: noise is drawn and decided on the processor, wherever the table is. Not covered: what training does with
        targets, and the timing of a pass.

    Args:
        embeddings: The public vocabulary.
        mechanism: Any vector mechanism; clipped ones clip by themselves. None adds no noise: for baselines.
        source: Randomness, `RandomSource()` unless given.
        trainable: Whether the table learns. All text must then be public, and the mechanism one of the clipped ones,
            whose proofs need no table. For private text load the state into a frozen layer.
        text_is_public: Whether all text that passes is public, so that passes are not counted.

    Raises:
        ParameterError: If the options do not go together.
        WordveilError: When it is copied or pickled.

    Edge cases:
        An empty batch gives an empty tensor. Ids outside the vocabulary raise, without being shown. Replicas (as of
        `nn.DataParallel`) and threads draw fresh noise and share the count of passes; a forked process refuses private
        text until it has a counter of its own. `torch.compile` leaves the layer as it is; tracing is refused, because
        a trace would keep the noise.
    """

    def __init__(
        self,
        embeddings: wv.Embeddings,
        mechanism: wv.VectorMechanism | None,
        *,
        source: wv.RandomSource | None = None,
        trainable: bool = False,
        text_is_public: bool = False,
    ) -> None:
        super().__init__()
        self.vocabulary, self.mechanism = embeddings, mechanism
        self.text_is_public = text_is_public
        self._randomizer = None if mechanism is None else mechanism.fit(embeddings)
        self._source = wv.RandomSource() if source is None else source
        self._pass = 0
        self._passes = PassCounter()
        rows = torch.from_numpy(np.array(embeddings.vectors, dtype=np.float32))
        self.table = nn.Parameter(rows, requires_grad=trainable)
        self._check_table()
        self.released_size = self._measure()
        self.step = 2.0 ** (math.floor(math.log2(self.released_size)) - GRID_BITS)

    def _check_table(self) -> None:
        """Refuse a table that learns where that is not covered; anyone may have set it to learn since it was made."""
        if not self.table.requires_grad:
            return
        if not self.text_is_public:
            raise wv.ParameterError(
                "trainable", True, "needs text_is_public=True: gradients, and what they move, name the private words."
            )
        if not self._any_vectors:
            raise wv.ParameterError("trainable", True, "needs one of the clipped mechanisms.")

    @property
    def _any_vectors(self) -> bool:
        """Whether the proof speaks of any two vectors, so that a table that moves changes nothing."""
        fitted = self._randomizer
        return fitted is None or (fitted.clip_norm is not None and fitted.inputs == "any vectors")

    @property
    def passes(self) -> PassCounter:
        """Where passes are counted; one that counts another promise's passes cannot take its place."""
        return self._passes

    @passes.setter
    def passes(self, passes: PassCounter) -> None:
        check_promise(passes.promise, promise_text(self.guarantee()))
        self._passes = passes

    @property
    def dimensions(self) -> int:
        """Columns of the output."""
        return self.vocabulary.dimensions if self._randomizer is None else self._randomizer.dimensions

    def guarantee(self) -> wv.Guarantee:
        """What one pass promises for one token."""
        if self._randomizer is None:
            return wv.NoGuarantee(reason="nothing is randomized", standing=wv.Standing.REFUTED)
        if self._source.is_test_source:
            reason = "the noise comes from a seeded test source, so anyone can remove it; use RandomSource()"
            return wv.NoGuarantee(reason=reason, standing=wv.Standing.REFUTED)
        claim: Any = replace(self._randomizer.guarantee(), unit=wv.PrivacyUnit.TOKEN)  # type: ignore[type-var]
        return wv.within_scope(wv.with_vocabulary(claim, self.vocabulary, self._randomizer))

    def composed_guarantee(self) -> wv.Guarantee:
        """What all passes so far promise together for one token of the private sentence that passed most often."""
        claim, passes = self.guarantee(), self.passes
        check_promise(passes.promise, promise_text(claim))
        if self._randomizer is None or not passes.largest:
            return claim
        return self._randomizer.together(claim, passes.largest)

    def disclosed(self) -> tuple[str, ...]:
        """What every pass shows whatever the noise, one sentence each."""
        return (*DISCLOSED, *(() if self._randomizer is None else self._randomizer.disclosed()))

    @torch.compiler.disable  # type: ignore[untyped-decorator]  # compiled it would draw and round with other arithmetic
    def forward(self, ids: Any, sentences: Sequence[Hashable] | None = None) -> Any:
        """Return released vectors, shape (..., d) for ids of shape (...), float32 on the table's device.

        Args:
            ids: Integer tensor of ids in [0, v), `UNKNOWN` or `PADDING`.
            sentences: One key per first index, to count passes of private sentences one by one; without keys the pass
                counts for every sentence.

        Raises:
            ParameterError: If an id is outside the vocabulary (it is not shown), keys do not fit, or the table has
                been set to learn where that is not covered.
            WordveilError: If private text passes in a fork of the process whose counter this is, or under a trace.
        """
        self._check_table()
        if torch.jit.is_tracing():
            raise wv.WordveilError("A trace would keep the noise of this pass and give it out again. Call the layer.")
        if sentences is not None and len(sentences) != ids.shape[0]:
            given = f"{len(sentences)} of them"
            raise wv.ParameterError("sentences", given, f"must be one per sentence, {ids.shape[0]}.")
        flat = self._checked(ids.reshape(-1).cpu().numpy())
        self._count(sentences)
        present = flat != PADDING
        out = torch.zeros((flat.size, self.dimensions), dtype=torch.float32, device=self.table.device)
        if present.any():
            draw = self._pass_draw(int(present.sum()))
            released = self._released(self._known(flat[present], draw), draw)
            out[torch.from_numpy(present).to(out.device)] = released
        return out.reshape(*ids.shape, self.dimensions)

    def _count(self, sentences: Sequence[Hashable] | None = None) -> None:
        if not self.text_is_public:  # passes without noise count too: with others they add up to no promise
            self.passes.count(sentences, promise=promise_text(self.guarantee()))

    def _checked(self, ids: Any) -> wv.IdArray:
        if ids.dtype.kind not in "iu" or (ids.size and (ids.max() >= len(self.vocabulary) or ids.min() < UNKNOWN)):
            allowed = f"must be integers in [0, {len(self.vocabulary)}), UNKNOWN or PADDING."
            raise wv.ParameterError("ids", "<hidden>", allowed)
        return np.asarray(ids, dtype=np.int32)

    def vectors(self, rows: wv.Float64Array) -> wv.Float64Array:
        """Return released vectors for rows given as they are, shape (n, m): what `forward` does after the look-up."""
        self._count()
        return self._on_grid(self._randomized(rows, self._pass_draw(len(rows))))

    def get_extra_state(self) -> dict[str, Any]:
        """Return what a resumed run must go on from: passes drawn from a test source, and the counts of passes."""
        return {"pass": self._pass, "passes": dict(self.passes.counts), "promise": self.passes.promise}

    def set_extra_state(self, state: Any) -> None:
        # Never backwards: going back to an earlier state must not draw a pass's noise again, nor forget a pass.
        self._pass = max(self._pass, int(state["pass"]))
        check_promise(state["promise"], promise_text(self.guarantee()))
        self.passes.add(state["passes"], state["promise"])

    def __reduce_ex__(self, protocol: Any) -> NoReturn:  # asked by copy, deepcopy and pickle alike
        raise wv.WordveilError(
            "A PrivateEmbedding holds its run's key and cannot be copied or pickled. Make another and load its state."
        )

    def _pass_draw(self, n: int) -> Draw:
        """Return the noise of a pass; no two passes share a place, unless a test source repeats them.

        The place comes from the operating system, not from a count: threads and replicas would share a count.
        """
        place = os.urandom(16).hex()
        if self._source.is_test_source:
            self._pass += 1
            place = str(self._pass)
        stream = self._source.stream("private embedding", place)
        return lambda sample: sample(stream, n)

    def _known(self, tokens: wv.IdArray, draw: Draw) -> wv.IdArray:
        """Replace every unknown token by a uniform public word; one is drawn per token, known or not."""
        (drawn,) = draw(lambda stream, n: (wv.random_bits(stream.lane(UNKNOWN_LANE), (n,)),))
        candidates = self.vocabulary.candidates
        stand_ins = candidates[wv.multiply_high(drawn, np.uint64(len(candidates)))]
        return np.where(tokens == UNKNOWN, stand_ins, tokens).astype(np.int32)

    def _released(self, tokens: wv.IdArray, draw: Draw) -> Any:
        places = torch.from_numpy(tokens.astype(np.int64)).to(self.table.device)
        rows = self.table[places]
        if self._randomizer is None:
            return rows
        # Only clipped mechanisms hold for a table that has moved; others randomize the vocabulary's own rows.
        own = rows.detach().cpu().numpy() if self._any_vectors else self.vocabulary.vectors[tokens]
        noisy = self._on_grid(self._randomized(np.asarray(own, dtype=np.float64), draw))
        released = torch.from_numpy(noisy.astype(np.float32)).to(self.table.device)
        if not self.table.requires_grad:
            return released
        # Clipping and noise are constants to the gradient: it passes straight to the public table. The bracket is
        # exactly 0, so that what is released stays on the grid: the low bits of any other sum would tell the word.
        return released + (rows - rows.detach())

    def _randomized(self, rows: wv.Float64Array, draw: Draw) -> wv.ReleasedVectors:
        if self._randomizer is None:
            return wv.ReleasedVectors(np.asarray(rows, dtype=np.float64))  # a baseline, which promises nothing
        return self._randomizer.points(rows, draw(self._randomizer.sample), self.step)

    def _on_grid(self, rows: wv.ReleasedVectors) -> wv.Float64Array:
        # Points stay as they are; of a mechanism of float sums the low bits would give the word away. With 16 bits
        # below its size a value is exact in float32.
        # Adding 0.0 takes the sign off -0.0: it would tell on which side of zero the finer sum lay.
        return np.asarray(np.rint(rows / self.step) * self.step + 0.0)

    def _measure(self) -> float:
        """Return the root mean square of a released coordinate, from public words and public draws."""
        probes = np.asarray(self.vocabulary.vectors[:PROBES], dtype=np.float64)
        stream = wv.RandomSource.public("size of released vectors")
        fitted = self._randomizer
        noisy = probes if fitted is None else fitted.randomize(probes, fitted.sample(stream, len(probes)))
        size = float(np.sqrt(np.mean(np.square(noisy))))
        return size if size > 0 else 1.0
