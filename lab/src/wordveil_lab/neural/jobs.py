"""A training from file to model directory, and a model directory back to a model.

A model directory holds `config.json` (what the model is), `vocabulary/` (public), `model.pt` (weights), `card.json` and
`card.md`, `log.jsonl` (one line an epoch), and `checkpoint.pt` as long as the training is not finished.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from wordveil import __version__
from wordveil.api import (
    DataFormatError,
    Embeddings,
    GuaranteeError,
    ParameterError,
    RandomSource,
    ResumeError,
    VectorMechanism,
    load_embeddings,
    load_mechanism,
    mechanism_names,
)
from wordveil_lab.neural.backend import check_device, torch
from wordveil_lab.neural.cards import ModelCard, make_card, write_card
from wordveil_lab.neural.corpora import Dataset, TextFile, encode_texts, model_vocabulary, read_texts
from wordveil_lab.neural.models import Rewriter, TextClassifier
from wordveil_lab.neural.private_embedding import PrivateEmbedding
from wordveil_lab.neural.storage import load_tensors, read_json, save_tensors, write_json
from wordveil_lab.neural.training import EpochProgress, Training, fit
from wordveil_lab.rows import file_digest

__all__ = ["TrainingJob", "load_model", "run_job"]


@dataclass(frozen=True, kw_only=True)
class TrainingJob:
    """One training.

    Attributes:
        task: "rewrite" or "classify".
        data: Training texts, with labels for "classify".
        mechanism: Any vector mechanism; None trains without noise, as a baseline.
        training: How to train.
        table: Where vectors come from: random, glove, word2vec or embedded.
        vectors: The table's file.
        words: Size of the vocabulary.
        dimensions: The d of random vectors.
        targets_are_public: The owner's word that the targets (sentences to be written, or labels) are public.
        text_is_public: Whether the texts of a classifier are public; those of a rewriter are its targets.
        noise: "secure" draws on the CPU; "device" where the model is, which is not cryptographic.
        device: "cpu", "cuda" or "cuda:N"; where the model is trained, no part of what it is.

    Raises:
        GuaranteeError: If the targets are not declared public: weights fitted to private targets expose them.
        ParameterError: If the task does not exist, a classifier has no label column, or noise on the device is asked
            of a processor.
    """

    task: str
    data: TextFile
    mechanism: VectorMechanism | None
    training: Training
    table: str = "embedded"
    vectors: Path | None = None
    words: int = 10_000
    dimensions: int = 300
    targets_are_public: bool = False
    text_is_public: bool = True
    noise: str = "secure"
    device: str = "cpu"

    def __post_init__(self) -> None:
        if self.task not in ("rewrite", "classify"):
            raise ParameterError("task", self.task, "must be 'rewrite' or 'classify'.")
        if not self.targets_are_public:
            what = "sentences it learns to write" if self.task == "rewrite" else "labels it learns"
            raise GuaranteeError(
                f"A model's weights expose the {what}, whatever the noise on its input; no guarantee covers them. "
                "Train on public targets and release only what the model makes of private text; where these targets "
                "are public, say so with --targets-are-public."
            )
        if self.task == "rewrite" and not self.text_is_public:
            raise GuaranteeError(
                "The sentences of a rewriter are its targets, so they cannot be private. Train on public text."
            )
        if self.task == "classify" and self.data.label is None:
            raise ParameterError("label", None, "must name the column of the class.")
        if self.noise == "device" and self.device == "cpu":
            raise ParameterError("noise", "device", "needs a GPU: give its device, or take noise 'secure'.")


def run_job(
    job: TrainingJob,
    directory: Path,
    *,
    resume: bool = False,
    source: RandomSource | None = None,
    progress: EpochProgress | None = None,
) -> ModelCard:
    """Train, write the model directory, and return the card.

    Args:
        job: What to train.
        directory: Must not exist or be empty, unless an interrupted training is resumed there.
        resume: Continue an interrupted training.
        source: Randomness of the noise, `RandomSource()` unless given.
        progress: Called after every epoch.

    Raises:
        ParameterError: If the directory is taken, or the device is not there.
        ResumeError: If the interrupted training had other data or settings, or was not interrupted.
        MissingExtraError: If PyTorch is not installed.
    """
    check_device(job.device)
    resuming = _is_resumed(directory, resume)
    texts, labels = read_texts(job.data)
    classes = sorted(set(labels))
    vocabulary = _vocabulary(job, texts, directory, resuming)
    config = _config(job, classes, vocabulary)
    if resuming and read_json(directory / "config.json") != config:
        raise ResumeError("The interrupted training had other data, settings or version. Repeat those, or start anew.")
    write_json(directory / "config.json", config)
    data = encode_texts(texts, vocabulary, labels=labels, classes=classes, max_tokens=job.training.max_tokens)
    model = _build(config, vocabulary, job.mechanism, source=source).to(job.device)
    held_out, training = _split(data, job.training)
    log = fit(
        model,
        training,
        held_out,
        job.training,
        directory=directory,
        identity=_digest({**config, **_of_this_run(job, model)}),  # lies in the checkpoint only
        resume=resuming,
        progress=progress,
    )
    save_tensors(directory / "model.pt", model.state_dict())
    best = min(log, key=lambda epoch: epoch.loss)
    scores = {"loss": best.loss, "accuracy": best.accuracy, "epoch": best.epoch, "texts": len(held_out)}
    settings = {**asdict(job.training), "device": job.device}
    card = make_card(job.task, model.embedding, data=config["data"], scores=scores, settings=settings)
    write_card(directory, card)
    (directory / "checkpoint.pt").unlink(missing_ok=True)
    return card


def _is_resumed(directory: Path, resume: bool) -> bool:
    """Return whether a training goes on here; False where one starts, or was cut off before it had begun."""
    if not directory.exists() or not any(directory.iterdir()):
        return False
    if not resume:
        raise ParameterError("output", str(directory), "must not exist or be empty; --resume continues a training.")
    if (directory / "card.json").exists() and not (directory / "checkpoint.pt").exists():
        raise ResumeError(f"The training in {directory} is finished. Name another directory to train again.")
    if (directory / "config.json").exists():
        return True
    # The vocabulary comes first: a kill after it leaves nothing else.
    if any(path.name.strip(".").split(".")[0] not in ("vocabulary", "config") for path in directory.iterdir()):
        raise ParameterError("output", str(directory), "holds no interrupted training; name an empty directory.")
    return False


def _vocabulary(job: TrainingJob, texts: list[str], directory: Path, resuming: bool) -> Embeddings:
    place = directory / "vocabulary"
    if resuming:
        return load_embeddings(place)
    made = model_vocabulary(
        job.table,
        texts,
        vectors=job.vectors,
        size=job.words,
        dimensions=job.dimensions,
        seed=job.training.seed,
        private=not job.text_is_public,
    )
    directory.mkdir(parents=True, exist_ok=True)
    if place.exists():
        shutil.rmtree(place)  # of a training that was cut off before it had begun
    return made.save(place)


def _config(job: TrainingJob, classes: list[str], vocabulary: Embeddings) -> dict[str, Any]:
    mechanism = None
    if job.mechanism is not None:
        values = {item.name: getattr(job.mechanism, item.name) for item in fields(job.mechanism)}  # type: ignore[arg-type]
        mechanism = {"name": job.mechanism.name, "parameters": values}
    config = {
        "version": __version__,
        "task": job.task,
        "mechanism": mechanism,
        "noise": job.noise,
        "table": job.table,
        "vocabulary": vocabulary.checksum_in_use,
        "text_is_public": job.text_is_public,
        "classes": classes,
        "training": asdict(job.training),
        # The digest of a private file would confirm a guess of it.
        "data": {Path(job.data.path).name: file_digest(job.data.path)} if job.text_is_public else {},
        "columns": [job.data.text, job.data.label, job.data.limit],
    }
    try:
        plain: dict[str, Any] = json.loads(json.dumps(config))
    except TypeError:
        raise ParameterError("mechanism", repr(job.mechanism), "has parameters that cannot be written down.") from None
    return plain


def _of_this_run(job: TrainingJob, model: Any) -> dict[str, Any]:
    """Return what else a resumed training must share: passes with a test source's noise would become proved ones."""
    return {"file": file_digest(job.data.path), "test source": model.embedding.source.is_test_source}


def _digest(config: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(config, sort_keys=True).encode()).hexdigest()


def _split(data: Dataset, training: Training) -> tuple[Dataset, Dataset]:
    """Return held-out and training texts: a random part from the public seed, the same after a resume."""
    order = np.random.Generator(np.random.PCG64(training.seed)).permutation(len(data))
    count = min(max(1, round(training.validation * len(data))), len(data) - 1)
    if count < 1:
        raise ParameterError("data", f"{len(data)} texts", "must hold at least 2 texts with a token.")
    return data.part(order[:count]), data.part(order[count:])


def _build(
    config: Mapping[str, Any],
    vocabulary: Embeddings,
    mechanism: VectorMechanism | None,
    *,
    source: RandomSource | None = None,
    text_is_public: bool | None = None,
) -> Any:
    if text_is_public is None:
        text_is_public = config["text_is_public"]
    settings = config["training"]
    embedding = PrivateEmbedding(
        vocabulary, mechanism, source=source, noise=config["noise"], text_is_public=text_is_public
    )
    with torch.random.fork_rng():
        torch.manual_seed(settings["seed"])
        if config["task"] == "rewrite":
            return Rewriter(embedding, hidden=settings["hidden"], dropout=settings["dropout"])
        return TextClassifier(embedding, config["classes"], hidden=settings["hidden"], dropout=settings["dropout"])


def load_model(directory: Path, *, source: RandomSource | None = None, device: str = "cpu") -> Any:
    """Return the `Rewriter` or `TextClassifier` of a model directory, ready for private text.

    Its layer counts passes from 0: they are passes over the caller's text, not over the training text.

    Args:
        directory: What a training wrote.
        source: Randomness, `RandomSource()` unless given.
        device: "cpu", "cuda" or "cuda:N".

    Raises:
        ParameterError: If the device is not there.
        DataFormatError: If the directory holds no finished model, or one that does not fit together.
        ChecksumError: If its vocabulary is not what its header says.
        MissingExtraError: If PyTorch is not installed.
    """
    check_device(device)
    for name in ("config.json", "model.pt"):
        if not (directory / name).is_file():
            raise DataFormatError(directory, f"lacks {name}.", remedy="Finish the training with --resume.")
    config = read_json(directory / "config.json")
    vocabulary = load_embeddings(directory / "vocabulary")
    vocabulary.verify()  # it is small, and the promise is made of its rows
    if vocabulary.checksum_in_use != config["vocabulary"]:
        raise DataFormatError(directory, "holds another vocabulary than its model was trained with.")
    stated = config["mechanism"]
    mechanism = None if stated is None else load_mechanism(_known(stated["name"], directory), stated["parameters"])
    model = _build(config, vocabulary, mechanism, source=source, text_is_public=False)
    weights = load_tensors(directory / "model.pt")
    extra = [name for name in weights if name.endswith("_extra_state")]
    for name in extra:
        weights[name] = {"pass": 0, "passes": {}, "promise": ""}
    try:
        model.load_state_dict(weights)
    except RuntimeError:
        raise DataFormatError(directory, "holds weights that do not fit its configuration.") from None
    return model.to(device).eval()


def _known(name: str, directory: Path) -> str:
    # Only names of the list: a path in the file of a stranger would be imported.
    if name not in mechanism_names():
        known = ", ".join(mechanism_names())
        raise DataFormatError(directory, f"names a mechanism that does not exist; there are {known}.")
    return name
