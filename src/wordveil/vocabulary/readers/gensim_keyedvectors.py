"""gensim KeyedVectors files (`KeyedVectors.save`): a pickle, with the matrix in a .npy file beside it if large.

A pickle can run any code, so this one is read by an unpickler that admits a short list of NumPy names and turns
the gensim classes into empty shells; anything else stops the reading before it is loaded. Vectors of rare words
that fastText builds from parts of words are not available in such files and are not made up here.
"""

from __future__ import annotations

import io
import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordveil.errors import EmbeddingFormatError
from wordveil.vocabulary.readers.base import Block, EmbeddingFormat
from wordveil.vocabulary.readers.npz import blocks_of
from wordveil.vocabulary.readers.sources import open_source

__all__ = ["FORMAT"]

_REMEDY = "In gensim, save model.wv with KeyedVectors.save, or with save_word2vec_format(path, binary=True)."
_SHELLS = {
    ("gensim.models.keyedvectors", "KeyedVectors"),
    ("gensim.models.keyedvectors", "Word2VecKeyedVectors"),
    ("gensim.models.keyedvectors", "EuclideanKeyedVectors"),
    ("gensim.models.keyedvectors", "Vocab"),
    ("gensim.models.keyedvectors", "CompatVocab"),
}
_BUFFER_MODULES = ("numpy.core.numeric", "numpy._core.numeric")
_ARRAY_MODULES = ("numpy.core.multiarray", "numpy._core.multiarray")


class _Shell:
    """Stands in for a gensim object: it keeps the attributes and has no behaviour."""

    def __setstate__(self, state: object) -> None:
        if isinstance(state, dict):
            self.__dict__.update(state)


class _RefusedNameError(Exception):
    """The pickle asks for something that embeddings do not need."""


class _RestrictedUnpickler(pickle.Unpickler):  # noqa: S301 (resolves listed names only)
    """Resolves the names a KeyedVectors pickle needs, and no other."""

    def find_class(self, module: str, name: str) -> Any:
        """Return the object for a global name of the pickle, or refuse."""
        if (module, name) in _SHELLS:
            return _Shell
        if module in _ARRAY_MODULES and name == "_reconstruct":
            return _empty_array
        if module in _ARRAY_MODULES and name == "scalar":
            return _scalar
        if module in _BUFFER_MODULES and name == "_frombuffer":
            return _array_from_buffer
        if (module, name) == ("_codecs", "encode"):
            return _latin1_bytes
        if (module, name) == ("numpy", "ndarray"):
            return np.ndarray
        if (module, name) == ("numpy", "dtype"):
            return _plain_dtype
        if module == "numpy" and name in ("float16", "float32", "float64"):
            return getattr(np, name)
        raise _RefusedNameError(f"{module}.{name}")


def _empty_array(kind: object, shape: object, code: object) -> NDArray[Any]:
    """Return the empty array that pickled arrays start from."""
    return np.empty(0, dtype=np.int8)


def _plain_dtype(code: object, *flags: object) -> np.dtype[Any]:
    """Return a dtype of plain numbers; object arrays could smuggle anything in."""
    dtype = np.dtype(str(code))
    if dtype.kind not in "fiub":
        raise _RefusedNameError(f"dtype {dtype}")
    return dtype


def _array_from_buffer(data: Any, dtype: np.dtype[Any], shape: Any, order: Any, *rest: object) -> NDArray[Any]:
    """Return the array that pickle protocol 5 keeps as one buffer."""
    return np.frombuffer(data, dtype=dtype).reshape(shape, order=order)


def _latin1_bytes(text: str, encoding: str) -> bytes:
    """Return bytes that pickle protocol 2 keeps as text; it uses this one encoding."""
    if encoding != "latin1":
        raise _RefusedNameError(f"encoding {encoding}")
    return text.encode("latin-1")


def _scalar(dtype: np.dtype[Any], data: bytes) -> Any:
    """Return one number from its bytes."""
    return np.frombuffer(data, dtype=dtype, count=1)[0]


def _read(path: Path, limit: int | None) -> Iterator[Block]:
    state = _load_state(path)
    words = _words_of(path, state)
    vectors = _vectors_of(path, state)
    return blocks_of(path, words, vectors[: len(words)], limit)


def _load_state(path: Path) -> dict[str, Any]:
    """Return the attributes of the pickled object."""
    pieces = []
    with open_source(path) as source:
        while data := source.read(1 << 24):
            pieces.append(data)
    try:
        loaded = _RestrictedUnpickler(io.BytesIO(b"".join(pieces))).load()
    except _RefusedNameError as refused:
        problem = f"the pickle asks for {refused}, which embeddings do not need; it was not loaded."
        raise EmbeddingFormatError(path, problem, remedy=_REMEDY) from None
    except Exception as error:  # noqa: BLE001  a damaged pickle can fail in any way
        problem = f"the pickle is damaged ({type(error).__name__})."
        raise EmbeddingFormatError(path, problem, remedy=_REMEDY) from None
    if not isinstance(loaded, _Shell):
        raise EmbeddingFormatError(path, "the pickle holds no KeyedVectors.", remedy=_REMEDY)
    return dict(loaded.__dict__)


def _words_of(path: Path, state: dict[str, Any]) -> list[bytes]:
    """Return the words in row order: gensim 4 calls them index_to_key, older versions index2word."""
    words = state.get("index_to_key", state.get("index2word", state.get("index2entity")))
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        raise EmbeddingFormatError(path, "the pickle has no list of words.", remedy=_REMEDY)
    return [word.encode("utf-8", "surrogatepass") for word in words]


def _vectors_of(path: Path, state: dict[str, Any]) -> NDArray[Any]:
    """Return the matrix from the pickle or from the file beside it; gensim before 4 also calls it syn0."""
    for name in ("vectors", "syn0"):
        inside, beside = state.get(name), path.with_name(f"{path.name}.{name}.npy")
        if isinstance(inside, np.ndarray):
            return inside
        if beside.is_file():
            return _load_matrix(beside)
    problem = f"the matrix is missing; {path.name}.vectors.npy must lie beside the file."
    raise EmbeddingFormatError(path, problem, remedy=_REMEDY)


def _load_matrix(path: Path) -> NDArray[Any]:
    try:
        return np.asarray(np.load(path, mmap_mode="r", allow_pickle=False))
    except (OSError, ValueError, EOFError) as error:
        raise EmbeddingFormatError(path, f"cannot be read ({error}).", remedy=_REMEDY) from None


FORMAT = EmbeddingFormat(name="gensim_keyedvectors", unit="row", read=_read)
