"""Neighbour lists that lie beside a vocabulary, found by what they depend on.

    neighbours-<key>.npy    (v, k) int32, memory-mapped
    neighbours-<key>.json   what the lists depend on, and their checksum; written last
    classes-<key>.npy       (v,) the face of each word's class, and classes-<key>.json likewise

While lists are made they grow in `.neighbours-<key>.partial`, from which an interrupted build goes on. The embedded
vocabulary has them packed: (v * k / 2, 3) uint8, 12 bits for each place among the outputs.
"""

from __future__ import annotations

import io
import json
import os
from dataclasses import asdict, replace
from numbers import Integral
from pathlib import Path
from typing import BinaryIO, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from wordveil.arrays import MALFORMED, IdArray, Progress
from wordveil.errors import ChecksumError, EmbeddingFormatError, ParameterError
from wordveil.files.atomic import sync, write_whole
from wordveil.metrics.distances import AnyMetric
from wordveil.vocabulary.classes import WordClasses, build_classes, classes_key
from wordveil.vocabulary.frequencies import most_frequent
from wordveil.vocabulary.neighbour_lists import ListsKey, NeighbourLists, build_lists, checked_outputs, list_blocks
from wordveil.vocabulary.packaged import PACKAGED_FOLDER
from wordveil.vocabulary.table import Embeddings

_Made = TypeVar("_Made", NeighbourLists, WordClasses)
_REMEDY = "Remove it and build the lists again."


def word_classes(embeddings: Embeddings, k: int) -> WordClasses:
    """Return the classes of a vocabulary: those stored, else made now, and stored in its directory if that can be."""
    key = classes_key(embeddings, k)
    folder = embeddings.directory or PACKAGED_FOLDER
    path = folder / f"classes-{key.checksum[:16]}.npy"
    note = path.with_suffix(".json")
    if not note.exists():
        made = build_classes(embeddings, k)
        if embeddings.directory is not None and os.access(folder, os.W_OK):
            save_classes(made, path)
        return made
    found, checksum, _ = _read_note(note)
    try:
        face = np.load(path, allow_pickle=False).astype(np.int32)
        stored = WordClasses(key=key, outputs=np.unique(face), face=face)
    except (OSError, *MALFORMED) as error:
        raise EmbeddingFormatError(path, f"cannot be read ({error}).", remedy=_REMEDY) from None
    return _verified(stored, path, found == key and stored.checksum == checksum and len(face) == len(embeddings))


def save_classes(made: WordClasses, path: Path) -> None:
    """Write the faces in as few bytes as hold them, and what they depend on after them."""
    packed = io.BytesIO()
    np.save(packed, made.face.astype(np.min_scalar_type(int(made.face.max()))))
    write_whole(path, packed.getvalue(), shared=True)  # processes that find none build them at once
    write_note(path, made)


def neighbour_lists(embeddings: Embeddings, k: int, *, outputs: int | ArrayLike | None = None) -> NeighbourLists:
    """Return the lists of the k outputs nearest to each word by cosine: those stored, else made now.

    Outputs are the ids that may be in a list; a number stands for so many of the most frequent, by `most_frequent`;
    None for all that may be output. `EmbeddingFormatError` or `ChecksumError` if stored lists are damaged.
    """
    chosen = _chosen(embeddings, outputs)
    found = find_lists(embeddings, k, outputs=chosen)
    return build_lists(embeddings, k, outputs=chosen) if found is None else found


def find_lists(
    embeddings: Embeddings, k: int, *, outputs: int | ArrayLike | None = None, metric: AnyMetric | None = None
) -> NeighbourLists | None:
    """Return stored lists, whole and checked against their checksum, or None where none were stored.

    The vocabulary's directory is searched, or what comes with the embedded one; the beginnings of longer lists serve
    too. Of lists beside a vocabulary that was checked (`Embeddings.verify`), those of a public sample are built again.
    Arguments and errors as for `neighbour_lists`.
    """
    chosen = _chosen(embeddings, outputs)
    wanted = ListsKey.of(embeddings, k, chosen, metric)
    for note in _notes(embeddings):
        key, checksum, _ = _read_note(note)
        if key.k < k or replace(key, k=k) != wanted:
            continue
        lists = _open(note.with_suffix(".npy"), key, chosen)
        whole = len(lists) == len(embeddings) and lists.checksum == checksum
        _verified(lists, lists.path or note, whole)
        if embeddings.is_checked and embeddings.directory is not None:
            lists.check_sample(embeddings, metric)
        return lists.first(k)
    return None


def stored_keys(embeddings: Embeddings) -> list[tuple[ListsKey, int]]:
    """Return what the lists stored for a vocabulary depend on, with the number of their outputs."""
    notes = map(_read_note, _notes(embeddings))
    return [(key, outputs) for key, _, outputs in notes if key.vocabulary == embeddings.checksum_in_use]


def store_lists(
    embeddings: Embeddings,
    k: int,
    *,
    outputs: int | ArrayLike | None = None,
    metric: AnyMetric | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
) -> NeighbourLists:
    """Build lists into the vocabulary's directory, going on where an interrupted build stopped, and map them.

    What was stored for a larger k is returned as it is. Progress begins with the words of an earlier attempt. Arguments
    as for `neighbour_lists`. `ParameterError` if k or an output is outside its domain, or the vocabulary lies in no
    directory; `ChecksumError` if what was resumed or written is damaged; it is removed then.
    """
    if embeddings.directory is None:
        raise ParameterError("directory", None, "must be a saved vocabulary; save this one first.")
    chosen = _chosen(embeddings, outputs)
    found = find_lists(embeddings, k, outputs=chosen, metric=metric)
    if found is not None:
        return found
    key = ListsKey.of(embeddings, k, chosen, metric)
    path = embeddings.directory / f"neighbours-{key.checksum[:16]}.npy"
    partial = path.with_name(f".{path.stem}.partial")
    with partial.open("ab") as stream:
        start = _resume(stream, len(embeddings), k)
        if progress is not None:
            progress(start)
        for part in list_blocks(embeddings, k, chosen, metric, start=start, threads=threads):
            stream.write(np.ascontiguousarray(part, dtype="<i4").data)
            sync(stream)
            if progress is not None:
                progress(len(part))
    try:
        NeighbourLists.mapped(partial, key, chosen).verify()
    except (ChecksumError, EmbeddingFormatError):
        partial.unlink()  # it was begun by something else, or the disk lost a part of it
        raise
    os.replace(partial, path)
    lists = NeighbourLists.mapped(path, key, chosen)
    write_note(path, lists)
    return lists


def _open(path: Path, key: ListsKey, outputs: IdArray) -> NeighbourLists:
    if path.parent != PACKAGED_FOLDER:
        return NeighbourLists.mapped(path, key, outputs)
    try:
        low, middle, high = np.load(path, allow_pickle=False).astype(np.int32).T
        places = np.stack((low | (middle & 15) << 8, middle >> 4 | high << 4), axis=1).reshape(-1, key.k)
        return NeighbourLists(key=key, outputs=outputs, ids=outputs[places])
    except (OSError, IndexError, *MALFORMED) as error:
        raise EmbeddingFormatError(path, f"cannot be read ({error}).", remedy="Reinstall wordveil.") from None


def _chosen(embeddings: Embeddings, outputs: int | ArrayLike | None) -> IdArray:
    return checked_outputs(embeddings, most_frequent(embeddings, outputs) if isinstance(outputs, Integral) else outputs)


def _resume(stream: BinaryIO, v: int, k: int) -> int:
    """Make the stream end after the header or the last whole list; return how many lists it holds."""
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "<i4", "fortran_order": False, "shape": (v, k)})
    start = header.tell()
    done = min((os.fstat(stream.fileno()).st_size - start) // (4 * k), v)
    if done < 0:
        stream.truncate(0)
        stream.write(header.getvalue())
        return 0
    stream.truncate(start + done * 4 * k)
    return done


def _notes(embeddings: Embeddings) -> list[Path]:
    return sorted((embeddings.directory or PACKAGED_FOLDER).glob("neighbours-*.json"))


def _verified(made: _Made, path: Path, whole: bool) -> _Made:
    """Return lists or classes that were read, after checking all that a proof rests on."""
    if not whole:
        raise ChecksumError(f"{path}: the {made.kind} differ from their checksum. {_REMEDY}")
    made.verify()
    return made


def write_note(path: Path, made: NeighbourLists | WordClasses) -> None:
    """Write what the array at a path depends on and its checksum, in one step."""
    note = {**asdict(made.key), "number_of_outputs": len(made.outputs), "checksum": made.checksum}
    write_whole(path.with_suffix(".json"), (json.dumps(note, indent=2) + "\n").encode(), shared=True)


def _read_note(path: Path) -> tuple[ListsKey, str, int]:
    try:
        note = json.loads(path.read_text(encoding="utf-8"))
        checksum, outputs = str(note.pop("checksum")), int(note.pop("number_of_outputs"))
        return ListsKey(**note), checksum, outputs
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        raise EmbeddingFormatError(path, "is no note of neighbour lists.", remedy=_REMEDY) from None
