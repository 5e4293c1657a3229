"""Builds the neighbour lists and word classes that come with the embedded vocabulary.

Usage: python tools/build_neighbour_lists.py

Of each of the 32 000 words the 16 nearest by cosine, among the 4 000 most frequent words that may be output; and
classes of all words, 128 to 1 024 of them.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from wordveil.errors import ParameterError
from wordveil.vocabulary.classes import build_classes
from wordveil.vocabulary.frequencies import most_frequent
from wordveil.vocabulary.neighbour_lists import NeighbourLists, build_lists
from wordveil.vocabulary.packaged import PACKAGED_FOLDER
from wordveil.vocabulary.stored_lists import save_classes, write_note
from wordveil.vocabulary.table import load_embeddings

K, OUTPUTS = 16, 4000
CLASSES = (128, 256, 512, 1024)


def pack_lists(lists: NeighbourLists, folder: Path = PACKAGED_FOLDER) -> Path:
    """Write lists as the embedded vocabulary holds them, places among the outputs in 12 bits; return the array's path.

    `ParameterError` if there are more than 4 096 outputs, or the number of entries is odd.
    """
    if len(lists.outputs) > 1 << 12 or lists.ids.size % 2:
        raise ParameterError("outputs", len(lists.outputs), "must be at most 4096, and v * k even.")
    first, second = np.searchsorted(lists.outputs, lists.ids.ravel()).reshape(-1, 2).T
    path = folder / f"neighbours-{lists.key.checksum[:16]}.npy"
    np.save(path, np.stack((first & 255, first >> 8 | (second & 15) << 4, second >> 4), axis=1).astype(np.uint8))
    write_note(path, lists)
    return path


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
