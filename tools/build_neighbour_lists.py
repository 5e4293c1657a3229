"""Builds the neighbour lists and word classes that come with the embedded vocabulary.

Usage: python tools/build_neighbour_lists.py

Of each of the 32 000 words the 16 nearest by cosine, among the 4 000 most frequent words that may be output; and
classes of all words, 128 to 1 024 of them.
"""

from __future__ import annotations

from wordveil.vocabulary.classes import build_classes
from wordveil.vocabulary.frequencies import most_frequent
from wordveil.vocabulary.neighbour_lists import build_lists
from wordveil.vocabulary.packaged import PACKAGED_FOLDER
from wordveil.vocabulary.stored_lists import pack_lists, save_classes
from wordveil.vocabulary.table import load_embeddings

K, OUTPUTS = 16, 4000
CLASSES = (128, 256, 512, 1024)


def main() -> None:
    """Write the array and its note in place of the ones before."""
    embeddings = load_embeddings()
    lists = build_lists(embeddings, K, outputs=most_frequent(embeddings, OUTPUTS))
    lists.verify()
    for old in (*PACKAGED_FOLDER.glob("neighbours-*"), *PACKAGED_FOLDER.glob("classes-*")):
        old.unlink()
    path = pack_lists(lists)
    print(f"{path}: {path.stat().st_size:,} bytes, checksum {lists.checksum}")
    for count in CLASSES:
        classes = build_classes(embeddings, count)
        path = PACKAGED_FOLDER / f"classes-{classes.key.checksum[:16]}.npy"
        save_classes(classes, path)
        print(f"{path}: {path.stat().st_size:,} bytes, checksum {classes.checksum}")


if __name__ == "__main__":
    main()
