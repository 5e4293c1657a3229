"""Reading a GloVe text file into memory beside gensim, in turns, in processor time; plain or .gz.

Usage: python -m wordveil_lab.timing.importing FILE [ROUNDS]
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

from gensim.models import KeyedVectors

from wordveil import load_embeddings


def processor_time(work: Callable[[], Any]) -> float:
    """Return the processor time of one call."""
    start = time.process_time()
    work()
    return time.process_time() - start


def main(path: str, rounds: int) -> None:
    """Print the best of each and their ratio."""
    ours, theirs = [], []
    for _ in range(rounds):
        ours += [processor_time(lambda: load_embeddings(path)) for _ in range(2)]
        theirs.append(processor_time(lambda: KeyedVectors.load_word2vec_format(path, binary=False, no_header=True)))
    print(f"wordveil {min(ours):.2f} s, gensim {min(theirs):.2f} s: {min(theirs) / min(ours):.1f} times")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 2)
