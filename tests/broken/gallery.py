"""A gallery of broken mechanisms, each with its honest twin: what an auditor must refuse, and must not.

Every entry is a real mistake seen in released packages or an easy one to make. `make(broken, seed)` returns the
mechanism; the twin differs in that mistake alone.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import seeds
from wordveil.auditing.findings import Finding
from wordveil.auditing.reuse import check_reuse
from wordveil.auditing.subjects import OnGrid, Outputs, Subject, VectorFunctionSubject
from wordveil.auditing.text_leaks import TextChecks, check_text
from wordveil.metrics.distances import Euclidean
from wordveil.promises.relations import Pair
from worlds import distances

EPSILON = 1.0
V = 40


def vectors() -> np.ndarray:
    """Twenty words in a tight cluster, ten on a line, ten far apart: normalizers differ widely."""
    rng = seeds.rng(12)
    cluster = rng.normal(size=(20, 2)) * 0.2
    line = np.stack([np.linspace(2.0, 6.0, 10), np.zeros(10)], axis=1)
    far = rng.normal(size=(10, 2)) * 6.0 + np.array([0.0, 14.0])
    return np.concatenate([cluster, line, far])


WORDS = vectors()
DISTANCES = distances(Euclidean(), WORDS, WORDS)


class ChannelSubject(Subject):
    """Words drawn from a matrix P(output | input)."""

    discrete = True

    def __init__(self, channel: np.ndarray, seed: int) -> None:
        self.channel = channel
        self._cumulative = np.cumsum(channel, axis=1)
        self._generator = seeds.rng(seed)

    def sample(self, private: Any, n: int) -> Outputs:
        bounds = self._cumulative[int(private)]
        return np.minimum(np.searchsorted(bounds, self._generator.random(n) * bounds[-1], side="right"), V - 1)


def normalized(weights: np.ndarray) -> np.ndarray:
    return weights / weights.sum(axis=1, keepdims=True)


def exponential(rate: float, scores: np.ndarray) -> np.ndarray:
    return normalized(np.exp(-rate * scores))


def tem(wrong_bottom: bool, gamma: float = 3.0) -> np.ndarray:
    weights = np.zeros((V, V))
    for x in range(V):
        near = gamma >= DISTANCES[x]
        size = near.sum()
        bottom = -gamma + (math.log(V / size) if wrong_bottom else 2 * math.log(V - size) / EPSILON)
        weights[x, near] = np.exp(EPSILON / 2 * -DISTANCES[x, near])
        weights[x, ~near] = math.exp(EPSILON / 2 * bottom) / (V - size)
    return normalized(weights)


def top_k(cut: bool, k: int = 10) -> np.ndarray:
    weights = np.exp(-EPSILON / 2 * DISTANCES)
    if cut:
        weights[np.argsort(np.argsort(DISTANCES, axis=1), axis=1) >= k] = 0.0
    return normalized(weights)


def decoder(sees_the_word: bool, seed: int) -> Subject:
    """Two-dimensional Laplace noise, then the nearest word: of all, or of the 15 nearest to the true word."""

    class Decoded(Subject):
        discrete = True

        def __init__(self) -> None:
            self._generator = seeds.rng(seed)

        def sample(self, private: Any, n: int) -> Outputs:
            noisy = WORDS[int(private)] + laplace(self._generator, n, 2) / EPSILON
            allowed = np.argsort(DISTANCES[int(private)], kind="stable")[:15] if sees_the_word else np.arange(V)
            return allowed[distances(Euclidean(), noisy, WORDS[allowed]).argmin(axis=1)]

    return Decoded()


def laplace(generator: np.random.Generator, n: int, d: int) -> np.ndarray:
    directions = generator.standard_normal((n, d))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    return directions * generator.standard_gamma(d, (n, 1))


def noisy(scale: Callable[[np.ndarray], Any], seed: int, *, one_sided: bool = False) -> Subject:
    """Laplace noise on vectors, with a scale that may depend on the rows."""
    generator = seeds.rng(seed)

    def call(rows: np.ndarray) -> np.ndarray:
        noise = laplace(generator, *rows.shape)
        return rows + scale(rows) * (np.abs(noise) if one_sided else noise)

    return OnGrid(VectorFunctionSubject(call), np.zeros(1))


def private_scale(rows: np.ndarray) -> np.ndarray:
    return (1 + np.abs(rows).mean(axis=1, keepdims=True)) / EPSILON


@dataclass(frozen=True)
class Case:
    """A broken mechanism seen by the statistical audit of one pair, and perhaps as a whole channel."""

    name: str
    make: Callable[[bool, int], Subject]
    pair: Pair
    samples: int
    channel: Callable[[bool], np.ndarray] | None = None


def word_pair(first: int, second: int) -> Pair:
    gap = float(DISTANCES[first, second])
    return Pair(first=first, second=second, label="words", epsilon=EPSILON * gap, distance=gap)


def vector_pair(gap: float) -> Pair:
    return Pair(first=np.zeros(1), second=np.full(1, gap), label="line", epsilon=EPSILON * gap, distance=gap)


def missing_half(broken: bool) -> np.ndarray:
    return exponential(EPSILON if broken else EPSILON / 2, DISTANCES)


def squared(broken: bool) -> np.ndarray:
    return exponential(EPSILON / 2, DISTANCES**2 if broken else DISTANCES)


def by_noise(
    name: str, broken: Callable[[np.ndarray], Any], gap: float, samples: int, *, one_sided: bool = False
) -> Case:
    """Noise whose scale is that of the proof, or, broken, another function of the rows."""

    def make(is_broken: bool, seed: int) -> Subject:
        scale = broken if is_broken else lambda rows: 1 / EPSILON
        return noisy(scale, seed, one_sided=is_broken and one_sided)

    return Case(name, make, vector_pair(gap), samples)


def by_channel(name: str, build: Callable[[bool], np.ndarray], pair: Pair, samples: int) -> Case:
    return Case(name, lambda broken, seed: ChannelSubject(build(broken), seed), pair, samples, build)


CASES = [
    by_noise("half the noise", lambda rows: 0.5 / EPSILON, 1.0, 20_000),
    by_channel("missing factor 1/2", missing_half, word_pair(20, 0), 400_000),
    by_channel("TEM's wrong bottom score", tem, word_pair(25, 27), 200_000),
    by_noise("one-sided noise", lambda rows: 1 / EPSILON, 0.5, 20_000, one_sided=True),
    by_channel("squared distance", squared, word_pair(20, 29), 50_000),
    by_channel("top-k cut", top_k, word_pair(22, 26), 50_000),
    Case("decoder that sees the word", decoder, word_pair(22, 29), 50_000),
    by_noise("scale from private data", private_scale, 1.0, 100_000),
]


def batch_noise(broken: bool, seed: int) -> Subject:
    generator = seeds.rng(seed)
    return VectorFunctionSubject(lambda rows: rows + laplace(generator, 1 if broken else len(rows), rows.shape[1]))


def pooled_noise(broken: bool, seed: int) -> Subject:
    generator = seeds.rng(seed)
    pool = laplace(generator, 64, 3)
    return VectorFunctionSubject(
        lambda rows: rows + (pool[generator.integers(0, 64, len(rows))] if broken else laplace(generator, len(rows), 3))
    )


def fixed_seed(broken: bool, seed: int) -> Subject:
    generator = seeds.rng(seed)
    return VectorFunctionSubject(lambda rows: rows + laplace(seeds.rng(seed) if broken else generator, *rows.shape))


class FixedSeedWords(ChannelSubject):
    """Words whose generator starts again with every call."""

    def __init__(self, broken: bool, seed: int) -> None:
        super().__init__(exponential(EPSILON / 2, DISTANCES), seed)
        self._broken, self._seed = broken, seed

    def sample(self, private: Any, n: int) -> Outputs:
        if self._broken:
            self._generator = seeds.rng(self._seed)
        return super().sample(private, n)


def one_word_for_the_batch(broken: bool, seed: int) -> Subject:
    class Shared(ChannelSubject):
        def sample(self, private: Any, n: int) -> Outputs:
            return np.repeat(super().sample(private, 1), n) if broken else super().sample(private, n)

    return Shared(exponential(EPSILON / 2, DISTANCES), seed)


REUSE: list[tuple[str, Callable[[bool, int], Subject], Any]] = [
    ("one noise vector for a batch", batch_noise, np.zeros(3)),
    ("noise reused from a pool", pooled_noise, np.zeros(3)),
    ("seed fixed, vectors", fixed_seed, np.zeros(3)),
    ("seed fixed, words", FixedSeedWords, 3),
    ("one draw of a word for a batch", one_word_for_the_batch, 3),
]


def reuse_findings(subject: Subject, private: Any) -> list[Finding]:
    # A numpy generator repeats after a fork even in the honest twins; that check is tested on wordveil's own source.
    return [f for f in check_reuse(subject, private, alpha=1e-9) if f.check != "noise repeated after a fork"]


def text_mechanism(mistake: str | None, seed: int) -> Callable[[str], str]:
    """Uniform words for every token, but for one mistake."""
    generator = seeds.rng(seed)
    words = [f"{a}{b}" for a in ("ba", "do", "ki", "lu", "me") for b in ("ra", "sto", "ti", "vel")]

    def call(text: str) -> str:
        draw = seeds.rng(seed) if mistake == "seed fixed" else generator
        out = []
        for token in text.split():
            word = words[int(draw.integers(len(words)))]
            if mistake == "unknown word leaked" and token.isalpha() and token.casefold() not in words:
                word = token
            if mistake == "digits leaked" and token.isdigit():
                word = token
            if mistake == "casing leaked" and token.isupper():
                word = word.upper()
            if mistake == "order leaked" and token in words and draw.random() < 0.9:
                word = token
            out.append(word)
        if mistake != "length leaked":
            out = (out * 100)[:200]
        return " ".join(out)

    call.words = words  # type: ignore[attr-defined]
    return call


TEXT_MISTAKES = {
    "unknown word leaked": "unknown words",
    "digits leaked": "digits",
    "casing leaked": "casing",
    "length leaked": "length",
    "order leaked": "order",
    "seed fixed": "noise repeated for the same text",
}


def text_findings(mistake: str | None, seed: int) -> list[Finding]:
    function = text_mechanism(mistake, seed)
    return check_text(
        function, TextChecks(words=function.words, declared=(), trials=100, seed=seeds.seed(seed + 1), alpha=1e-9)
    )  # type: ignore[attr-defined]
