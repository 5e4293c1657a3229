"""Masked and causal models of Hugging Face, from a folder: whole words weighed, however many pieces spell them.

    causal   ln P(sentence with the word): its pieces, and all that follow them, summed
    masked   ln P(word has k pieces) + sum_j ln P(piece j | rest, pieces before it; pieces j to k masked)

Nothing is downloaded, and no code of a model's folder is run.

Reference: Kauf, Ivanova (2023), "A better way to do masked language model scoring", PLL-word-l2r, arXiv:2305.10588v2.
Deviation: the number of pieces, which the masks give away, is weighed by its share of public text.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordveil.arrays import Float32Array, Float64Array, IdArray
from wordveil.denoising.context import ContextModel, SentenceScorer, Speller
from wordveil.errors import MissingExtraError, ParameterError

__all__ = ["load_hugging_face"]

TOKENS = 4096  # read at a time
WORDS = 400


def load_hugging_face(folder: str, speller: Speller) -> ContextModel:
    """Return the model of a folder that `save_pretrained` wrote.

    Args:
        folder: Its path.
        speller: Spells the vocabulary.

    Raises:
        MissingExtraError: If transformers or PyTorch is not installed.
        ParameterError: If it is no folder, or its model neither fills masks nor continues texts.
    """
    try:
        import torch  # noqa: F401
        import transformers
    except ImportError as error:
        raise MissingExtraError("A model of Hugging Face", str(error.name), "priors") from None
    if not (Path(folder) / "config.json").is_file():
        raise ParameterError("prior", folder, "must be a folder with a model's config.json; nothing is downloaded.")
    transformers.utils.logging.disable_progress_bar()
    # Left unsaid, transformers would ask on the terminal whether to run the folder's own code.
    here: dict[str, Any] = {"local_files_only": True, "trust_remote_code": False}
    try:
        kind = (transformers.AutoConfig.from_pretrained(folder, **here).architectures or [""])[0]
    except (ValueError, OSError):
        raise ParameterError("prior", folder, "must be a model of a kind that transformers knows.") from None
    if kind.endswith("ForMaskedLM"):
        return _MaskedModel(_Reader(transformers.AutoModelForMaskedLM, folder, here), speller)
    if kind.endswith(("ForCausalLM", "LMHeadModel")):
        reader = _Reader(transformers.AutoModelForCausalLM, folder, here)
        return SentenceScorer(reader.sentences, speller, checksum=reader.checksum, words=WORDS)
    raise ParameterError("prior", kind, "must be a masked or a causal language model.")


_Tokens = tuple[int, ...]


class _Reader:
    """A model and its tokenizer."""

    def __init__(self, family: Any, folder: str, here: dict[str, Any]) -> None:
        import torch
        from transformers import AutoTokenizer

        self._torch = torch
        self.tokenizer = AutoTokenizer.from_pretrained(folder, **here)
        self._device = "cuda" if torch.cuda.is_available() else "cpu"
        self._model = family.from_pretrained(folder, **here).eval().to(self._device)
        digest = hashlib.sha256(self.tokenizer.backend_tokenizer.to_str().encode())
        for name, tensor in sorted(self._model.state_dict().items()):
            digest.update(name.encode() + np.ascontiguousarray(tensor.float().cpu().numpy()).tobytes())
        self.checksum = digest.hexdigest()

    def logs(self, inputs: Sequence[_Tokens], wanted: Sequence[Sequence[tuple[int, int]]]) -> list[Float64Array]:
        """Return ln P(token) at some places of each input, given as (place, token); those of one length together."""
        found = [np.empty(0)] * len(inputs)
        lengths = np.array([len(ids) for ids in inputs])
        for length in np.unique(lengths).tolist():
            some = np.flatnonzero(lengths == length)
            for rows in np.split(some, range(0, len(some), max(1, TOKENS // length))[1:]):
                with self._torch.inference_mode():
                    given = self._torch.tensor([inputs[i] for i in rows], device=self._device)
                    read = self._model(input_ids=given).logits.float().log_softmax(-1).cpu().numpy()
                for i, row in zip(rows.tolist(), read, strict=True):
                    places, tokens = np.array(wanted[i], dtype=np.int64).reshape(-1, 2).T
                    found[i] = row[places, tokens].astype(np.float64)
        return found

    def sentences(self, texts: Sequence[str]) -> Float64Array:
        """Return ln P of each text by a causal model, shape (n,)."""
        start = self.tokenizer.bos_token_id
        start = self.tokenizer.eos_token_id if start is None else start
        inputs = []
        for ids in self.tokenizer(list(texts))["input_ids"]:
            inputs.append(tuple(ids) if start is None or ids[:1] == [start] else (start, *ids))
        wanted = [list(enumerate(ids[1:])) for ids in inputs]  # what stands at a place tells of the next token
        return np.array([logs.sum() for logs in self.logs(inputs, wanted)])


class _MaskedModel:
    """A masked model asked for whole words."""

    candidates, contexts, words = 16, 4, WORDS

    def __init__(self, reader: _Reader, speller: Speller) -> None:
        self._reader, self._speller, self.checksum = reader, speller, reader.checksum
        ids = reader.tokenizer([f" {word}" for word in speller.words], add_special_tokens=False)["input_ids"]
        pieces = np.array([len(own) for own in ids])
        counts = np.bincount(pieces, weights=speller.frequency, minlength=1)
        self._pieces = np.log(np.maximum(counts / counts.sum(), 1e-9))

    def scores(self, sentence: IdArray, places: NDArray[np.intp], candidates: IdArray) -> Float32Array:
        texts, spans = self._speller.substituted(sentence, places, candidates)
        read = self._reader.tokenizer(texts, return_offsets_mapping=True)
        mask = self._reader.tokenizer.mask_token_id
        asked: dict[_Tokens, list[tuple[int, int]]] = {}
        parts: list[list[tuple[_Tokens, int]]] = []
        for ids, offsets, (first, last) in zip(read["input_ids"], read["offset_mapping"], spans, strict=True):
            inside = [i for i, (low, high) in enumerate(offsets) if low < last and high > first and low < high]
            own = []
            for place in inside:
                masked = tuple(mask if i in inside and i >= place else token for i, token in enumerate(ids))
                wanted = asked.setdefault(masked, [])
                own.append((masked, len(wanted)))
                wanted.append((place, ids[place]))
            parts.append(own)
        known = dict(zip(asked, self._reader.logs(list(asked), list(asked.values())), strict=True))
        last_known = len(self._pieces) - 1
        found = [sum(known[ids][i] for ids, i in own) + self._pieces[min(len(own), last_known)] for own in parts]
        return np.array(found, dtype=np.float32).reshape(candidates.shape)
