"""MiniLM with a head for masked words: what public text puts into a place of a sentence.

    ln P(w | rest) = u_w . h + c_w - ln Z,    h = W2 tanh(W1 z + b1) + b2

z is MiniLM's fourth and last state at [MASK] and the fourth of the pieces on either side, standardized; u_w is the mean
of the input rows of w's pieces, at unit length. Only the head is trained. MiniLM was never trained to fill masks: its
last state alone hardly tells more than how common words are. Every fifth word of a sentence is masked at a time.
"""

from __future__ import annotations

import hashlib
import io
import json
import shutil
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordveil.arrays import Float32Array, IdArray, ReleasedText
from wordveil.denoising.prior import UNREADABLE, Prior
from wordveil.denoising.reading import PAUSE, STATES, STOP, ReleaseReader
from wordveil.errors import ChecksumError, DataFormatError, ParameterError
from wordveil.files.atomic import sibling, write_whole
from wordveil.mechanisms.base import Progress
from wordveil.randomness import RandomSource
from wordveil.text.minilm import LONGEST_INPUT, WIDTH, MiniLM, encode, load_model, word_pieces
from wordveil.vocabulary.table import Embeddings

__all__ = ["MiniLMHead", "build_head"]

LAYERS = (4, 6)
STATE = 4 * WIDTH  # numbers of z
GROUPS = 5  # of so many words of a sentence one is masked
SHARD = 1000  # texts whose states are written together: what a kill loses at most
HIDDEN, EPOCHS, BATCH, NEGATIVES, RATE = 512, 4, 256, 2048, 1e-3
_TRAINED = {"w1": (STATE, HIDDEN), "b1": (HIDDEN,), "w2": (HIDDEN, WIDTH), "b2": (WIDTH,)}
_NAMES = ("center", "scale", *_TRAINED, "bias", "facts")


@dataclass(frozen=True, eq=False)
class _Masker:
    """What MiniLM makes of masked words of sentences that are given as states of a prior."""

    model: MiniLM = field(repr=False)
    pieces: list[list[int]] = field(repr=False)  # of each state
    rows: Float32Array = field(repr=False)  # u_w, shape (v, 384)

    @classmethod
    def of(cls, embeddings: Embeddings) -> _Masker:
        model = load_model()
        pieces = [word_pieces(model, word) or [model.pieces["[UNK]"]] for word in embeddings.words]
        table = model.input_table
        rows = np.stack([table[own].mean(axis=0) for own in pieces])
        others = [[model.pieces["[UNK]"]] for _ in range(STATES)]
        others[STOP], others[PAUSE] = [model.pieces["."]], [model.pieces[","]]
        return cls(model, pieces + others, rows / np.linalg.norm(rows, axis=1, keepdims=True))

    def inputs(self, sentence: IdArray, places: NDArray[np.intp]) -> Iterator[tuple[list[int], list[int]]]:
        """Yield for every group of places the pieces with these masked, and where the masks are among them."""
        ids = self.model.pieces
        spelled = [self.pieces[state] for state in sentence.tolist()[1:]]
        if sum(map(len, spelled)) > LONGEST_INPUT - 2:
            spelled = [own[:1] for own in spelled]
        for group in (places[i::GROUPS].tolist() for i in range(min(GROUPS, len(places)))):
            masked = {place - 1 for place in group}
            row, masks = [ids["[CLS]"]], []
            for i, own in enumerate(spelled):
                if i in masked:
                    masks.append(len(row))
                row += [ids["[MASK]"]] if i in masked else own
            yield [*row, ids["[SEP]"]], masks

    def states(self, inputs: Sequence[tuple[list[int], list[int]]]) -> list[Float32Array]:
        """Return z of the masks of each input, shape (masks, 1536)."""
        found = [np.empty((0, STATE), np.float32)] * len(inputs)
        for some, read in encode(self.model, [row for row, _ in inputs], layers=LAYERS):
            for i, states in zip(some, read, strict=True):
                masks = np.array(inputs[i][1], dtype=np.intp)
                beside = states[masks - 1, :WIDTH], states[masks + 1, :WIDTH]
                found[i] = np.concatenate((states[masks], *beside), axis=1)
        return found


@dataclass(frozen=True, kw_only=True, eq=False)
class MiniLMHead:
    """The head, a `ContextModel` with the MiniLM that is installed.

    Attributes:
        arrays: What was trained, by name, and the mean and scale of MiniLM's states.
        facts: Checksums of the vocabulary and of MiniLM, and what it was trained on.
    """

    arrays: Mapping[str, Float32Array] = field(repr=False)
    facts: Mapping[str, Any] = field(repr=False)
    embeddings: Embeddings = field(repr=False)
    candidates: int = 16
    contexts: int = 4
    words: int = 1000

    @cached_property
    def checksum(self) -> str:
        """SHA-256 of its arrays and facts."""
        return hashlib.sha256(self._bytes).hexdigest()

    @cached_property
    def _bytes(self) -> bytes:
        facts = np.frombuffer(json.dumps(dict(self.facts), sort_keys=True).encode(), np.uint8)
        return _packed({**{name: self.arrays[name] for name in _NAMES[:-1]}, "facts": facts})

    @cached_property
    def _masker(self) -> _Masker:
        masker = _Masker.of(self.embeddings)
        if masker.model.sha256 != self.facts["minilm"]:
            raise ChecksumError("the head was trained on other weights of MiniLM than those that are installed.")
        return masker

    def scores(self, sentence: IdArray, places: NDArray[np.intp], candidates: IdArray) -> Float32Array:
        masker = self._masker
        found = np.empty((len(places), STATE), np.float32)
        for i, states in enumerate(masker.states(list(masker.inputs(sentence, places)))):
            found[i::GROUPS] = states
        hidden = _hidden(self.arrays, (found - self.arrays["center"]) / self.arrays["scale"])[1]
        scores = (masker.rows[candidates] * hidden[:, None]).sum(axis=2)
        return np.asarray(scores + self.arrays["bias"][candidates], dtype=np.float32)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the file, whole or not at all."""
        write_whole(Path(path), self._bytes)

    @classmethod
    def load(cls, path: str | PathLike[str], embeddings: Embeddings) -> MiniLMHead:
        """Read a file that `save` wrote.

        Raises:
            ChecksumError: If it is over another vocabulary.
            DataFormatError: If it is none.
        """
        shapes = {"center": (STATE,), "scale": (STATE,), **_TRAINED}
        try:
            with Path(path).open("rb") as file, np.load(file, allow_pickle=False) as stored:
                arrays = {name: stored[name] for name in _NAMES}
            facts = json.loads(arrays.pop("facts").tobytes())
            sound = all(arrays[name].shape == shape for name, shape in shapes.items())
            if not sound or arrays["bias"].shape != (facts["words"],) or "minilm" not in facts:
                raise ValueError
            if not all(own.dtype.kind == "f" and np.isfinite(own).all() for own in arrays.values()):
                raise ValueError
            vocabulary = facts["vocabulary"]
        except (*UNREADABLE, zipfile.BadZipFile, zlib.error) as error:
            raise DataFormatError(Path(path), "is no prior of `wordveil prior build`.") from error
        if vocabulary != embeddings.checksum_in_use:
            raise ChecksumError(f"the head is over the words of {facts['name']!r}, not of {embeddings.header.name!r}.")
        return cls(arrays=arrays, facts=facts, embeddings=embeddings)


def build_head(
    texts: Sequence[str],
    embeddings: Embeddings,
    prior: Prior,
    *,
    output: str | PathLike[str],
    most: int = 20_000,
    resume: bool = False,
    source: str = "",
    progress: Progress | None = None,
) -> MiniLMHead:
    """Train a head on public texts and write it.

    MiniLM's states, which take most of the time, are kept beside the output until it is there.

    Args:
        texts: Public texts; those that the prior holds out are left out, and of the rest some from all over are taken.
        embeddings: The vocabulary.
        prior: The trigram that the head will stand beside.
        output: Where to write.
        most: Texts taken.
        resume: Use the states that an interrupted call left.
        source: What the texts are, for the file.
        progress: Called with the number of texts read since the last call.

    Raises:
        ChecksumError: If the prior is over another vocabulary.
        MissingExtraError: If MiniLM is not installed.
        ParameterError: If there is nothing to learn from.
    """
    prior.check(embeddings)
    held_out, masker = set(prior.held_out), _Masker.of(embeddings)
    kept = [text for text in texts if text not in held_out]
    kept = kept[:: -(-len(kept) // most)] if kept else kept
    named = "\n".join([masker.model.sha256, embeddings.checksum_in_use, *kept])
    fingerprint = hashlib.sha256(named.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    folder = sibling(output, "states")
    if not resume:
        shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True, exist_ok=True)
    parts = []
    for start in range(0, len(kept), SHARD):
        shard, some = folder / f"{fingerprint}-{start}.npz", kept[start : start + SHARD]
        if not shard.exists():
            write_whole(shard, _packed(_examples(some, embeddings, masker)))
        with np.load(shard) as stored:
            parts.append((stored["states"], stored["words"]))
        if progress is not None:
            progress(len(some))
    words = np.concatenate([own for _, own in parts]) if parts else np.empty(0, np.int32)
    if not len(words):
        raise ParameterError("texts", f"<{len(kept)} texts>", "must hold words of the vocabulary.")
    head = MiniLMHead(
        arrays=_trained(np.concatenate([states for states, _ in parts]), words, masker.rows, prior),
        facts={
            "vocabulary": embeddings.checksum_in_use,
            "name": embeddings.header.name,
            "words": len(embeddings),
            "minilm": masker.model.sha256,
            "source": source,
            "texts": len(kept),
            "examples": len(words),
        },
        embeddings=embeddings,
    )
    head.save(output)
    shutil.rmtree(folder)
    return head


def _packed(arrays: dict[str, Any]) -> bytes:
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    return buffer.getvalue()


def _examples(texts: Sequence[str], embeddings: Embeddings, masker: _Masker) -> dict[str, NDArray[Any]]:
    """Return MiniLM's states at one group of masked words of every sentence, and these words."""
    reader, v = ReleaseReader(embeddings), len(embeddings)
    inputs: list[tuple[list[int], list[int]]] = []
    words: list[IdArray] = []
    for layout in reader.read([ReleasedText(text) for text in texts]):
        for some in reader.segments(layout):
            sentence = layout.states[some]
            places = np.flatnonzero(sentence < v)
            if len(places) > 1:  # one alone has no context
                group = len(inputs) % min(GROUPS, len(places))
                inputs.append(list(masker.inputs(sentence, places))[group])
                words.append(sentence[places[group::GROUPS]])
    states = masker.states(inputs)
    return {
        "states": np.concatenate([np.empty((0, STATE), np.float32), *states]).astype(np.float16),
        "words": np.concatenate([np.empty(0, np.int32), *words]),
    }


def _hidden(arrays: Mapping[str, Float32Array], given: Float32Array) -> tuple[Float32Array, Float32Array]:
    """Return what lies between the two layers, and h."""
    middle = np.tanh(given @ arrays["w1"] + arrays["b1"])
    return middle, np.asarray(middle @ arrays["w2"] + arrays["b2"])


def _trained(states: NDArray[np.float16], words: IdArray, rows: Float32Array, prior: Prior) -> dict[str, Float32Array]:
    """Return the head's arrays: a sampled softmax, Adam, a rate that falls to 0; the same every time."""
    lane = RandomSource.public("minilm head").lane(0)
    v = len(rows)
    frequency = prior.frequency[:v] / prior.frequency[:v].sum(dtype=np.float64)
    drawn = frequency**0.75 / (frequency**0.75).sum()  # negatives: rarer words oftener than in text
    bounds, logs = np.cumsum(drawn), np.log(drawn).astype(np.float32)
    arrays: dict[str, Float32Array] = {
        name: (lane.standard_normal(shape) * shape[0] ** -0.5 * (len(shape) > 1)).astype(np.float32)
        for name, shape in _TRAINED.items()
    }
    center, scale = states.mean(axis=0, dtype=np.float32), states.std(axis=0, dtype=np.float32) + np.float32(1e-6)
    arrays["bias"] = np.log(frequency).astype(np.float32)
    moments = {name: np.zeros((2, *own.shape), np.float32) for name, own in arrays.items()}
    steps = EPOCHS * -(-len(words) // BATCH)
    done = 0
    for _ in range(EPOCHS):
        order = np.argsort(lane.random(len(words)), kind="stable")
        for start in range(0, len(order), BATCH):
            some = order[start : start + BATCH]
            others = np.minimum(np.searchsorted(bounds, lane.random(NEGATIVES) * bounds[-1]), v - 1)
            given = (states[some].astype(np.float32) - center) / scale
            gradients = _gradients(arrays, given, words[some], others, rows, logs)
            done += 1
            _step(arrays, moments, gradients, RATE * (1 - (done - 1) / steps), done)
    return {"center": center, "scale": scale, **arrays}


def _gradients(
    arrays: Mapping[str, Float32Array],
    given: Float32Array,
    words: IdArray,
    others: NDArray[np.int64],
    rows: Float32Array,
    logs: Float32Array,
) -> dict[str, Float32Array]:
    """Return the gradients of the mean loss of a batch: each word against the same draws, less ln of their chances."""
    middle, h = _hidden(arrays, given)
    own = (h * rows[words]).sum(axis=1) + (arrays["bias"] - logs)[words]
    rest = h @ rows[others].T + (arrays["bias"] - logs)[others]
    rest[words[:, None] == others] = -np.inf
    top = np.maximum(own, rest.max(axis=1))
    own, rest = np.exp(own - top), np.exp(rest - top[:, None])
    total = (own + rest.sum(axis=1)) * np.float32(len(words))
    pull, push = own / total - np.float32(1 / len(words)), rest / total[:, None]
    back = pull[:, None] * rows[words] + push @ rows[others]
    inner = (back @ arrays["w2"].T) * (1 - middle * middle)
    bias = np.zeros_like(arrays["bias"])
    np.add.at(bias, words, pull)
    np.add.at(bias, others, push.sum(axis=0))
    return {
        "w1": given.T @ inner,
        "b1": inner.sum(axis=0),
        "w2": middle.T @ back,
        "b2": back.sum(axis=0),
        "bias": bias,
    }


def _step(
    arrays: dict[str, Float32Array],
    moments: dict[str, Float32Array],
    gradients: Mapping[str, Float32Array],
    rate: float,
    step: int,
) -> None:
    """Take a step of Adam."""
    for name, gradient in gradients.items():
        first, second = moments[name]
        first += np.float32(0.1) * (gradient - first)
        second += np.float32(0.001) * (gradient * gradient - second)
        size = np.float32(rate * (1 - 0.999**step) ** 0.5 / (1 - 0.9**step))
        arrays[name] -= size * first / (np.sqrt(second) + np.float32(1e-8))
