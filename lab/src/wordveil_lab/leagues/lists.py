"""Neighbour lists on the clock beside the plain product of the same size, and what in-degrees give away.

Usage: python -m wordveil_lab.leagues.lists speed VOCABULARY [--k K] [--blocks N] [--threads T]
       python -m wordveil_lab.leagues.lists degrees
       python -m wordveil_lab.leagues.lists repeats

`speed` builds the lists of N blocks of 8 192 words and states what all of them take; times are processor time too, for
machines that do other things. `degrees` reports on the embedded vocabulary. `repeats` attacks 2 000 words
of it that are released 1 to 64 times by the default and by its crowds, as an audit does, says how often the best guess
of somebody who knows how often words occur is right, and draws docs/results/repeats.svg.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from threadpoolctl import threadpool_limits

from wordveil.api import (
    FUNCTION_WORDS,
    Embeddings,
    NeighbourResponse,
    RandomSource,
    build_lists,
    list_blocks,
    load_embeddings,
    most_frequent,
    named_after,
    word_frequencies,
)
from wordveil.api import LISTS_BLOCK as BLOCK
from wordveil.api import REPEATED_RELEASES as RELEASES
from wordveil_lab.clone import ROOT
from wordveil_lab.evaluation.evidence import channel_guesses, word_channel
from wordveil_lab.evaluation.priors import draw_words
from wordveil_lab.evaluation.subjects import subject_of
from wordveil_lab.leagues.in_degrees import guessed_share, in_degrees, own_posteriors
from wordveil_lab.plots import Plotted, draw

CASES = ((16, 4000, 8.0), (8, 4000, 9.0), (16, None, 10.0))
PERCENTILES = (0, 1, 5, 25, 50, 75, 95, 99, 100)
TILE = (1024, 512)
WORDS = 2000


def product_seconds(embeddings: Embeddings) -> float:
    """Return the processor time of one core for the float32 product of all words and all outputs, in tiles."""
    words = embeddings.vectors[: TILE[0]].copy()
    outputs = embeddings.vectors[embeddings.candidates]
    tiles = [np.ascontiguousarray(outputs[low : low + TILE[1]].T) for low in range(0, len(outputs), TILE[1])]
    times = []
    with threadpool_limits(1):
        for _ in range(5):
            begun = time.process_time()
            for tile in tiles:
                words @ tile
            times.append(time.process_time() - begun)
    return min(times) * len(embeddings) / len(words)


def speed(embeddings: Embeddings, k: int, blocks: int, threads: int) -> None:
    """Print what the lists take, and the product."""
    parts = list_blocks(embeddings, k, embeddings.candidates, None, threads=threads)
    next(parts)
    wall, own, done = time.perf_counter(), time.process_time(), 0
    for part, _ in zip(parts, range(blocks), strict=False):
        done += len(part)
    scale = len(embeddings) / done
    wall, own = (time.perf_counter() - wall) * scale, (time.process_time() - own) * scale
    product = product_seconds(embeddings)
    print(
        f"{len(embeddings)} words, {len(embeddings.candidates)} outputs, d {embeddings.dimensions}, k {k}, {threads} "
        f"threads ({done} words in blocks of {BLOCK}): {wall:.0f} s on the clock, {own:.0f} s of processor time; the "
        f"plain float32 product takes {product:.0f} s of one core: ratio {own / product:.2f}"
    )


def degrees() -> None:
    """Print the distribution of in-degrees, and what a uniform and a frequency prior gain."""
    embeddings = load_embeddings()
    priors = {"uniform": np.full(len(embeddings), 1 / len(embeddings)), "frequency": word_frequencies(embeddings)}
    for k, m, epsilon in CASES:
        outputs = None if m is None else most_frequent(embeddings, m)
        lists = build_lists(embeddings, k, outputs=outputs)
        found = in_degrees(lists)
        print(
            f"k {k}, {len(lists.outputs)} outputs, {epsilon:g} nats: in-degree", *PERCENTILES, "% of outputs:", end=" "
        )
        print(*np.percentile(found, PERCENTILES).astype(int).tolist(), f"; {np.mean(found == 0):.2%} in no other list")
        for name, prior in priors.items():
            prior = prior / prior.sum()
            own = own_posteriors(lists, epsilon, prior)
            share = guessed_share(lists, epsilon, prior)
            lone = f", of words in no other list {own[found == 0].mean():.3f}" if (found == 0).any() else ""
            print(f"  {name} prior: guessed {share:.4f}; posterior of the word released {own.mean():.3f}{lone}")


def repeats() -> None:
    """Print how often the likeliest input of n releases is the input: exactly for one release, else by simulation."""
    embeddings, source = load_embeddings(), RandomSource.seeded_for_tests(0)
    prior = word_frequencies(embeddings, smoothing=0.5)
    prior = prior / prior.sum()
    inputs = draw_words(prior, WORDS, source, "repeats")
    function = np.isin(embeddings.words, list(FUNCTION_WORDS))
    kinds = {"all": prior > 0, "function words": function, "others": ~function, "rarer than 2e-4": prior < 2e-4}
    points = []
    for lists in ("nearest", "crowds"):
        fitted = NeighbourResponse(lists=lists).fit(embeddings)
        guesses, hits = channel_guesses(word_channel(subject_of(fitted), prior), prior)
        right = named_after(fitted, inputs, prior, source)
        assert right is not None, "both lists state their law"
        for i, n in enumerate(RELEASES):
            shares = {name: right[kind[inputs], i].mean() for name, kind in kinds.items()}
            if n == 1:
                shares = {name: hits[kind[guesses]].sum() / prior[kind].sum() for name, kind in kinds.items()}
            print(f"{lists}, {n} releases: named: {', '.join(f'{name} {share:.3f}' for name, share in shares.items())}")
            for name in ("all", "rarer than 2e-4"):
                error = (
                    0.0 if n == 1 else float(np.std(right[kinds[name][inputs], i]) / kinds[name][inputs].sum() ** 0.5)
                )
                points.append(Plotted(figure=name, series=lists, epsilon=n, value=shares[name], error=error))
    title = "Share of words named by the best guess after n releases of each: epsilon 8, k = 16 of 4 000"
    (ROOT / "docs/results/repeats.svg").write_bytes(draw(points, title, across="releases of the word"))


def main() -> None:
    """Measure what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["speed", "degrees", "repeats"])
    parser.add_argument("vocabulary", nargs="?")
    parser.add_argument("--k", type=int, default=32)
    parser.add_argument("--blocks", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    given = parser.parse_args()
    if given.what == "speed":
        speed(load_embeddings(given.vocabulary), given.k, given.blocks, given.threads)
    else:
        {"degrees": degrees, "repeats": repeats}[given.what]()


if __name__ == "__main__":
    main()
