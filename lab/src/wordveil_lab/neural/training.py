"""The training loop: epochs and early stopping.

Order, dropout and first weights follow from a public seed; the noise does not: it is drawn afresh.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from wordveil.api import ParameterError
from wordveil_lab.neural.backend import torch
from wordveil_lab.neural.corpora import Dataset


@dataclass(frozen=True, kw_only=True)
class Training:
    """Settings of a training; the defaults of `REWRITE` and `CLASSIFY` are the paper's.

    Reference:
        Huang et al. (2024), appendix A.
    """

    epochs: int = 100
    batch: int = 1024  # texts of a batch
    learning_rate: float = 0.01  # of Adam
    betas: tuple[float, float] = (0.5, 0.999)  # of Adam
    dropout: float = 0.5  # in [0, 1)
    hidden: int = 256  # units of each direction of the BiLSTM; the paper does not say, its code has 2048
    patience: int = 5  # epochs without a lower validation loss after which training stops
    validation: float = 0.1  # share of the training texts held out, in (0, 1)
    seed: int = 0  # public seed of weights, order and dropout; never of the noise
    max_tokens: int = 35  # longer texts are cut here

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


def fit(model: Any, training: Dataset, held_out: Dataset, settings: Training) -> list[float]:
    """Train a model in place and leave it with the weights of its best epoch.

    Returns the mean cross-entropy on the held-out texts, which say when to stop, after every epoch.
    """
    learned = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.Adam(learned, lr=settings.learning_rate, betas=settings.betas)
    losses: list[float] = []
    best: dict[str, Any] = {}
    while len(losses) < settings.epochs and len(losses) - np.argmin([*losses, np.inf]) <= settings.patience:
        # Seeded epoch by epoch, whatever came before; the caller's generator is left alone.
        with torch.random.fork_rng():
            torch.manual_seed(settings.seed * 1_000_003 + len(losses) + 1)
            order = torch.randperm(len(training)).numpy()
            model.train()
            for batch in training.batches(settings.batch, order):
                optimizer.zero_grad()
                model.loss(batch)[0].backward()
                optimizer.step()
        losses.append(float(np.nan_to_num(measure(model, held_out, settings.batch)[0], nan=np.inf)))
        if np.argmin(losses) == len(losses) - 1:
            weights = model.state_dict().items()
            best = {name: value.clone() if hasattr(value, "clone") else value for name, value in weights}
    model.load_state_dict(best)  # the layer's count of passes never goes back
    return losses


def measure(model: Any, texts: Dataset, batch: int) -> tuple[float, float]:
    """Return mean cross-entropy and accuracy with fresh noise, dropout off."""
    model.eval()
    total, right, seen = 0.0, 0, 0
    with torch.no_grad():
        for part in texts.batches(batch):
            loss, hits, counted = model.loss(part)
            total, right, seen = total + float(loss) * counted, right + hits, seen + counted
    return total / max(seen, 1), right / max(seen, 1)
