"""Does the time of the default mechanism depend on the word? And that of a whole request on the words of its text?

    python -m wordveil_lab.timing.word_times [--rounds 2000]

The mechanism is timed on texts of one word each, repeated: a frequent one, rare ones, and an unknown one. A sign test
on rounds apart from those that chose the pair says whether one takes longer more often; equal times are called
different with a probability of at most 1e-6. A twin that works a tenth more for a rare word must be found out by the
same test; where it is not, the machine was too busy for the test to mean anything. Releases are told in medians.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

import numpy as np

import wordveil as wv
from wordveil.api import IdArray, PrivateIds, PrivateText, RandomSource, judge_times, measure_times

ALPHA = 1e-6
TOKENS = 2000


def mechanism_work(sanitizer: wv.Sanitizer, *, more: int | None = None) -> Callable[[int], IdArray]:
    """Return what releases a text of one word's id, `TOKENS` times; for the id `more`, a tenth more often."""
    randomizer, stream = sanitizer.parts.randomizer, RandomSource.public("times")
    draws = {count: randomizer.sample(stream, count) for count in (TOKENS, TOKENS + TOKENS // 10)}

    def work(id_: int) -> IdArray:
        count = max(draws) if id_ == more else TOKENS
        return randomizer.randomize(PrivateIds(np.full(count, id_, np.int32)), draws[count])

    return work


def main() -> None:
    """Measure and print."""
    given = argparse.ArgumentParser()
    given.add_argument("--rounds", type=int, default=2000)
    rounds = given.parse_args().rounds
    embeddings = wv.load_embeddings()
    sanitizer = wv.Sanitizer(embeddings, wv.NeighbourResponse(epsilon=8.0), options=wv.TextOptions(unknown="typed"))
    known = [0, len(embeddings) // 2, len(embeddings) - 1]
    for name, ids, more in (
        ("known words", known, None),
        ("a known and an unknown word", [0, -1], None),
        ("a twin", known, known[2]),
    ):
        finding = judge_times(measure_times(mechanism_work(sanitizer, more=more), ids, rounds), ALPHA)
        print(f"{name}: {finding.status}, {finding.observed}")
    listed = [word for word in embeddings.words if len(word) == 7 and word.isalpha()][:TOKENS]
    texts = {
        "one known word": " ".join(listed[:1] * TOKENS),
        "known words": " ".join(listed),
        "one unknown word": " ".join(["zzqxvjk"] * TOKENS),
        "unknown words": " ".join("zz" + "".join(chr(97 + i // 26**p % 26) for p in range(5)) for i in range(TOKENS)),
    }
    found = measure_times(
        lambda text: sanitizer.release_batch([PrivateText(text)]), list(texts.values()), max(100, rounds // 10)
    )
    for name, median in zip(texts, 1e3 * np.median(found, axis=0), strict=True):
        print(f"a text of {TOKENS} words of 7 letters, {name}: {median:.2f} ms")


if __name__ == "__main__":
    main()
