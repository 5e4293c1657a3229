"""Builds the neighbour lists and crowds that come with the embedded vocabulary.

Usage: python tools/build_neighbour_lists.py

Of each of the 32 000 words the 16 nearest by cosine, among the 4 000 most frequent words that may be output; and a
partition of those into crowds of 16.
"""

from __future__ import annotations

from wordveil.vocabulary.crowds import build_crowds
from wordveil.vocabulary.frequencies import most_frequent
from wordveil.vocabulary.neighbour_lists import build_lists
from wordveil.vocabulary.packaged import PACKAGED_FOLDER
from wordveil.vocabulary.stored_lists import pack_lists, save_crowds
from wordveil.vocabulary.table import load_embeddings

K, OUTPUTS = 16, 4000


def main() -> None:
    """Write the array and its note in place of the ones before."""
    embeddings = load_embeddings()
    lists = build_lists(embeddings, K, outputs=most_frequent(embeddings, OUTPUTS))
    lists.verify()
    crowds = build_crowds(embeddings, K, outputs=lists.outputs)
    for old in (*PACKAGED_FOLDER.glob("neighbours-*"), *PACKAGED_FOLDER.glob("crowds-*")):
        old.unlink()
    path = pack_lists(lists)
    print(f"{path}: {path.stat().st_size:,} bytes, checksum {lists.checksum}")
    path = PACKAGED_FOLDER / f"crowds-{crowds.key.checksum[:16]}.npy"
    save_crowds(crowds, path)
    print(f"{path}: {path.stat().st_size:,} bytes, checksum {crowds.checksum}")


if __name__ == "__main__":
    main()
