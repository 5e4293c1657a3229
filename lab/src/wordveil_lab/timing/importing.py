"""Reading a GloVe text file into memory beside gensim, in turns, in processor time; plain or .gz.

Usage: python -m wordveil_lab.timing.importing FILE [ROUNDS]
"""

from __future__ import annotations

import sys
from functools import partial

from gensim.models import KeyedVectors

from wordveil import load_embeddings
from wordveil_lab.benchmarks.machine import best_timing


def main(path: str, rounds: int) -> None:
    """Print the best of each and their ratio."""
    ours, theirs = [], []
    for _ in range(rounds):
        ours.append(best_timing(lambda: load_embeddings(path), 2).cpu)
        read = partial(KeyedVectors.load_word2vec_format, path, binary=False, no_header=True)
        theirs.append(best_timing(read, 1).cpu)
    print(f"wordveil {min(ours):.2f} s, gensim {min(theirs):.2f} s: {min(theirs) / min(ours):.1f} times")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 2)
