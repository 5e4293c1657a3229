"""Builds the neighbour lists that come with the embedded vocabulary.

Usage: python tools/build_neighbour_lists.py

The 16 nearest by cosine, among the 4 000 most frequent words that may be output, of each of the 32 000 words.
"""

from __future__ import annotations

from wordveil.vocabulary.frequencies import most_frequent
from wordveil.vocabulary.neighbour_lists import build_lists
from wordveil.vocabulary.packaged import PACKAGED_FOLDER
from wordveil.vocabulary.stored_lists import pack_lists
from wordveil.vocabulary.table import load_embeddings

K, OUTPUTS = 16, 4000


def main() -> None:
    """Write the array and its note in place of the ones before."""
    embeddings = load_embeddings()
    lists = build_lists(embeddings, K, outputs=most_frequent(embeddings, OUTPUTS))
    lists.verify()
    for old in PACKAGED_FOLDER.glob("neighbours-*"):
        old.unlink()
    path = pack_lists(lists)
    print(f"{path}: {path.stat().st_size:,} bytes, checksum {lists.checksum}")


if __name__ == "__main__":
    main()
