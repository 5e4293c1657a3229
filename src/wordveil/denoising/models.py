"""Names of priors to priors: files of `wordveil prior build`, folders of Hugging Face, endpoints."""

from __future__ import annotations

from collections.abc import Sequence

from wordveil.denoising.context import ContextModel, Speller
from wordveil.denoising.endpoint import open_endpoint
from wordveil.denoising.hugging_face import load_hugging_face
from wordveil.denoising.minilm_head import MiniLMHead
from wordveil.denoising.prior import Prior, load_prior
from wordveil.errors import DataFormatError, ParameterError
from wordveil.vocabulary.table import Embeddings

__all__ = ["open_priors"]

HUGGING_FACE = "hf:"


def open_priors(names: Sequence[str], embeddings: Embeddings) -> tuple[Prior, ContextModel | None]:
    """Return the trigram and, where one is named, the model that is heard beside it.

    Args:
        names: At most one of a trigram: a file; and of a model: a file with a head of MiniLM, "hf:FOLDER" or the
            address of an endpoint.
        embeddings: The vocabulary.

    Raises:
        ChecksumError: If one is over another vocabulary.
        DataFormatError: If a file is none.
        EndpointError: If an endpoint cannot be reached.
        MissingExtraError: If what one needs is not installed.
        ParameterError: If a name is none, or there are two of a kind.
    """
    files = [name for name in names if not name.startswith((HUGGING_FACE, "http://", "https://"))]
    trigrams: list[Prior] = []
    models: list[ContextModel] = []
    for name in files:
        try:
            trigrams.append(Prior.load(name))
        except DataFormatError:
            models.append(MiniLMHead.load(name, embeddings))
    prior = trigrams[0] if trigrams else load_prior()
    prior.check(embeddings)
    speller = Speller(embeddings.words, prior.frequency[: len(embeddings)])
    for name in (name for name in names if name not in files):
        folder = name.removeprefix(HUGGING_FACE)
        models.append(open_endpoint(name, speller) if folder == name else load_hugging_face(folder, speller))
    if max(len(trigrams), len(models)) > 1:
        raise ParameterError("prior", len(names), "must name at most one trigram and one model beside it.")
    return prior, models[0] if models else None
