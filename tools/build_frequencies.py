"""Counts how often the words of the embedded vocabulary occur in public sentences, for wordveil.vocabulary.frequencies.

The input is one sentence a line, plain or gzip. The shipped counts come from sentences under CC0 or in the public
domain whose sources stand in NOTICE. Tokens are those of the default tokenizer, in lower case; the last count is of
all tokens that are not in the vocabulary. Two runs write the same bytes. About a minute.

    python tools/build_frequencies.py public-en.txt.gz
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
from itertools import islice
from pathlib import Path

import numpy as np

from wordveil.vocabulary.frequencies import COUNTS_FILE
from wordveil.vocabulary.table import load_embeddings
from wordveil_lab.corpora import encode

BLOCK = 20_000


def count(path: Path) -> np.ndarray:
    """Return the counts of every word and of all other tokens, shape (v + 1,), uint32."""
    embeddings = load_embeddings()
    v = len(embeddings)
    total = np.zeros(v + 1, dtype=np.int64)
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rt", encoding="utf-8") as lines:
        while block := list(islice(lines, BLOCK)):
            tokens = encode(embeddings, block).tokens
            total += np.bincount(np.where(tokens < 0, v, tokens), minlength=v + 1)
    return total.astype(np.uint32)


def main() -> None:
    """Writes the counts and prints what they were made from."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("sentences", type=Path)
    parser.add_argument("--output", type=Path, default=COUNTS_FILE)
    arguments = parser.parse_args()
    counts = count(arguments.sentences)
    np.save(arguments.output, counts)
    digest = hashlib.sha256(arguments.sentences.read_bytes()).hexdigest()
    share = counts[-1] / counts.sum()
    print(f"{arguments.sentences.name} sha256 {digest}")
    print(f"{counts.sum():,} tokens, {share:.2%} outside the vocabulary; {np.count_nonzero(counts[:-1]):,} words occur")


if __name__ == "__main__":
    main()
