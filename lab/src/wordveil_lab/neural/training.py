"""The training loop: epochs, early stopping and a log.

Order, dropout and first weights follow from a public seed; the noise does not: it is drawn afresh.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from wordveil.api import ParameterError
from wordveil_lab.neural.backend import torch
from wordveil_lab.neural.corpora import Dataset

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


def fit(
    model: Any,
    training: Dataset,
    held_out: Dataset,
    settings: Training,
    *,
    progress: EpochProgress | None = None,
) -> list[Epoch]:
    """Train a model in place and leave it with the weights of its best epoch.

    Args:
        model: A `Rewriter` or `Classifier`.
        training: Texts to learn from.
        held_out: Texts that say when to stop.
        settings: How.
        progress: Called after every epoch.

    Returns:
        The log.
    """
    learned = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.Adam(learned, lr=settings.learning_rate, betas=settings.betas)
    log: list[Epoch] = []
    best: dict[str, Any] = {}
    stale = 0
    while len(log) < settings.epochs and stale < settings.patience:
        epoch = _one_epoch(model, optimizer, training, held_out, settings, log)
        log.append(epoch)
        stale = 0 if epoch.best else stale + 1
        if epoch.best:
            best = _copy(model.state_dict())
        if progress is not None:
            progress(epoch)
    model.load_state_dict(best)  # the layer's count of passes never goes back
    return log


def _copy(weights: dict[str, Any]) -> dict[str, Any]:
    return {name: value.clone() if hasattr(value, "clone") else value for name, value in weights.items()}


def _one_epoch(
    model: Any, optimizer: Any, training: Dataset, held_out: Dataset, settings: Training, log: Sequence[Epoch]
) -> Epoch:
    number = len(log) + 1
    started = time.perf_counter()
    # Seeded epoch by epoch, whatever came before; the caller's generator is left alone.
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
    lowest = min((earlier.loss for earlier in log), default=np.inf)
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
