"""The training loop: epochs, early stopping, checkpoints, resume and a log. It knows no files but its own.

Order, dropout and first weights follow from a public seed; the noise does not: it is drawn afresh, also after a
resume. What a checkpoint holds are weights, which are as public as the training targets.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from wordveil.api import ParameterError, ResumeError
from wordveil_lab.neural.backend import torch
from wordveil_lab.neural.corpora import Dataset
from wordveil_lab.neural.storage import load_tensors, save_tensors, write_json_lines

__all__ = ["CLASSIFY", "REWRITE", "Epoch", "Training", "fit", "measure"]

EpochProgress = Callable[["Epoch"], None]


@dataclass(frozen=True, kw_only=True)
class Training:
    """Settings of a training; the defaults of `REWRITE` and `CLASSIFY` are the paper's.

    Attributes:
        epochs: Epochs at most.
        batch: Texts of a batch.
        learning_rate: Of Adam.
        betas: Of Adam.
        dropout: In [0, 1).
        hidden: Units of each direction of the BiLSTM; the paper does not say, its code has 2048.
        patience: Epochs without a lower validation loss after which training stops.
        validation: Share of the training texts held out, in (0, 1).
        seed: Public seed of weights, order and dropout; never of the noise.
        max_tokens: Longer texts are cut here.

    Raises:
        ParameterError: If a setting is outside its range.

    Reference:
        Huang et al. (2024), appendix A.
    """

    epochs: int = 100
    batch: int = 1024
    learning_rate: float = 0.01
    betas: tuple[float, float] = (0.5, 0.999)
    dropout: float = 0.5
    hidden: int = 256
    patience: int = 5
    validation: float = 0.1
    seed: int = 0
    max_tokens: int = 35

    def __post_init__(self) -> None:
        for name in ("epochs", "batch", "hidden", "patience", "max_tokens"):
            if getattr(self, name) < 1:
                raise ParameterError(name, getattr(self, name), "must be at least 1.")
        if not 0 <= self.dropout < 1:
            raise ParameterError("dropout", self.dropout, "must be in [0, 1).")
        if not 0 < self.validation < 1:
            raise ParameterError("validation", self.validation, "must be in (0, 1).")
        if not self.learning_rate > 0:
            raise ParameterError("learning_rate", self.learning_rate, "must be in (0, inf).")


REWRITE = Training()
"""The paper's auto-encoder."""
CLASSIFY = Training(epochs=50, batch=256, learning_rate=1e-4, betas=(0.9, 0.999), dropout=0.2)
"""The paper's classifiers."""


@dataclass(frozen=True, kw_only=True)
class Epoch:
    """One line of the log.

    Attributes:
        epoch: Number, from 1.
        training_loss: Mean cross-entropy while training, dropout on.
        loss: Mean cross-entropy on the held-out texts.
        accuracy: Share of held-out words (or texts) that come out right.
        seconds: Time of the training pass.
        best: Whether this is the lowest held-out loss so far.
    """

    epoch: int
    training_loss: float
    loss: float
    accuracy: float
    seconds: float
    best: bool


@dataclass
class _State:
    """What a checkpoint keeps besides weights."""

    log: list[dict[str, Any]] = field(default_factory=list)
    best: dict[str, Any] = field(default_factory=dict)

    @property
    def stale(self) -> int:
        """Epochs since the best one."""
        return len(self.log) - max((entry["epoch"] for entry in self.log if entry["best"]), default=0)


def fit(
    model: Any,
    training: Dataset,
    held_out: Dataset,
    settings: Training,
    *,
    directory: Path | None = None,
    identity: str = "",
    resume: bool = False,
    progress: EpochProgress | None = None,
) -> list[Epoch]:
    """Train a model in place and leave it with the weights of its best epoch.

    Args:
        model: A `Rewriter` or `Classifier`.
        training: Texts to learn from.
        held_out: Texts that say when to stop.
        settings: How.
        directory: Where `checkpoint.pt` and `log.jsonl` go; None keeps nothing.
        identity: What the run is; a checkpoint of another run is refused.
        resume: Continue from the checkpoint; starts anew where there is none.
        progress: Called after every epoch.

    Returns:
        The log, epochs before a resume included.

    Raises:
        ResumeError: If the checkpoint is of another run.
    """
    learned = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.Adam(learned, lr=settings.learning_rate, betas=settings.betas)
    state = _State()
    checkpoint = None if directory is None else directory / "checkpoint.pt"
    if resume and checkpoint is not None and checkpoint.exists():
        _restore(load_tensors(checkpoint), identity, model, optimizer, state)
    while len(state.log) < settings.epochs and state.stale < settings.patience:
        epoch = _one_epoch(model, optimizer, training, held_out, settings, state)
        state.log.append(asdict(epoch))
        if epoch.best:
            state.best = _copy(model.state_dict())
        if checkpoint is not None and directory is not None:
            kept = {"identity": identity, "model": model.state_dict(), "optimizer": optimizer.state_dict()}
            save_tensors(checkpoint, {**kept, "log": state.log, "best": state.best})
            write_json_lines(directory / "log.jsonl", state.log)
        if progress is not None:
            progress(epoch)
    model.load_state_dict(state.best)  # the layer's count of passes never goes back
    return [Epoch(**entry) for entry in state.log]


def _restore(saved: dict[str, Any], identity: str, model: Any, optimizer: Any, state: _State) -> None:
    if saved.get("identity") != identity:
        raise ResumeError("The interrupted run had other data, settings or vocabulary. Run it again without --resume.")
    model.load_state_dict(saved["model"])
    optimizer.load_state_dict(saved["optimizer"])
    state.log, state.best = list(saved["log"]), dict(saved["best"])


def _copy(weights: dict[str, Any]) -> dict[str, Any]:
    return {name: value.clone() if hasattr(value, "clone") else value for name, value in weights.items()}


def _one_epoch(
    model: Any, optimizer: Any, training: Dataset, held_out: Dataset, settings: Training, state: _State
) -> Epoch:
    number = len(state.log) + 1
    started = time.perf_counter()
    # Seeded epoch by epoch, so that a resumed run goes on as it would have; the caller's generator is left alone.
    with torch.random.fork_rng():
        torch.manual_seed(settings.seed * 1_000_003 + number)
        order = torch.randperm(len(training)).numpy()
        model.train()
        total, seen = 0.0, 0
        for batch in training.batches(settings.batch, order):
            optimizer.zero_grad()
            loss, _, counted = model.loss(batch)
            loss.backward()
            optimizer.step()
            total, seen = total + float(loss.detach()) * counted, seen + counted
    seconds = time.perf_counter() - started
    measured, accuracy = measure(model, held_out, settings.batch)
    lowest = min((entry["loss"] for entry in state.log), default=np.inf)
    return Epoch(
        epoch=number,
        training_loss=total / max(seen, 1),
        loss=measured,
        accuracy=accuracy,
        seconds=seconds,
        best=bool(measured < lowest or number == 1),
    )


def measure(model: Any, texts: Dataset, batch: int) -> tuple[float, float]:
    """Return mean cross-entropy and accuracy with fresh noise, dropout off."""
    model.eval()
    total, right, seen = 0.0, 0, 0
    with torch.no_grad():
        for part in texts.batches(batch):
            loss, hits, counted = model.loss(part)
            total, right, seen = total + float(loss) * counted, right + hits, seen + counted
    return total / max(seen, 1), right / max(seen, 1)
