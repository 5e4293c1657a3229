"""The two models behind the noise: an auto-encoder that writes words, and a classifier.

Both read released vectors only. In particular the decoder of the auto-encoder never sees the words it is to write:
it reads the encoder's state at each position. (A public repository related to the paper's feeds the true previous words
to its decoder while it reads the loss; what it generates and scores otherwise comes from the latent vector alone.)

Training stops early; order, dropout and first weights follow from a public seed; the noise does not: it is drawn
afresh. Rewrites are scored by cross-entropy, ROUGE-1, BLEU, BERTScore, and the share of words that come back unchanged.
What overlaps with the private text was not protected: these are utility and leakage at once. A score that needs a
package that is not installed is left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordveil.api import MissingExtraError
from wordveil_lab.evaluation import overlap
from wordveil_lab.neural.backend import functional, nn, torch
from wordveil_lab.neural.corpora import Batch, Dataset
from wordveil_lab.neural.private_embedding import PrivateEmbedding

IGNORED = -100  # target of padding and of unknown words


class _BiLSTM(nn.Module):  # type: ignore[misc]
    """A private layer, and noisy vectors to one state per position: one layer, both directions."""

    def __init__(self, embedding: PrivateEmbedding, hidden: int, dropout: float) -> None:
        super().__init__()
        self.embedding = embedding
        self.lstm = nn.LSTM(embedding.dimensions, hidden, batch_first=True, bidirectional=True)
        self.drop = nn.Dropout(dropout)

    def states(self, batch: Batch) -> Any:
        """Return the states of a batch, shape (n, longest, 2 hidden); zero beyond a text's end."""
        released = self.embedding(torch.from_numpy(batch.ids))
        # A public constant: noise far larger than a unit saturates the gates, at no gain in privacy.
        scaled = self.drop(released / self.embedding.released_size)
        lengths = torch.from_numpy(batch.lengths)
        packed = nn.utils.rnn.pack_padded_sequence(scaled, lengths, batch_first=True, enforce_sorted=False)
        states, _ = self.lstm(packed)
        return self.drop(nn.utils.rnn.pad_packed_sequence(states, batch_first=True)[0])


class Rewriter(_BiLSTM):
    """A BiLSTM auto-encoder: released vectors in, one word per position out.

    Reference:
        Huang et al. (2024), section 6 and appendix A. Deviations: the decoder is a linear layer on the encoder's states
        and is not fed true words; there is no bottleneck; the table is frozen unless the embedding says otherwise.
    """

    def __init__(self, embedding: PrivateEmbedding, *, hidden: int, dropout: float) -> None:
        super().__init__(embedding, hidden, dropout)
        self.words = nn.Linear(2 * hidden, len(embedding.vocabulary))
        allowed = torch.zeros(len(embedding.vocabulary), dtype=torch.bool)
        allowed[torch.from_numpy(embedding.vocabulary.candidates.astype(np.int64))] = True
        self.register_buffer("allowed", allowed)

    def loss(self, batch: Batch) -> tuple[Any, int, int]:
        """Return the mean cross-entropy per known word, the words written right, and how many counted."""
        targets = torch.from_numpy(np.where(batch.ids < 0, IGNORED, batch.ids)).reshape(-1).to(self.allowed.device)
        counted = targets != IGNORED
        logits = self.words(self.states(batch).reshape(len(targets), -1)[counted])
        targets = targets[counted]
        if not len(targets):
            return logits.sum(), 0, 0
        right = int((logits.argmax(dim=1) == targets).sum())
        return functional.cross_entropy(logits, targets), right, len(targets)

    def rewrite(self, batch: Batch) -> list[NDArray[np.int32]]:
        """Return the ids written for each text, as many as it has tokens; candidates only."""
        with torch.no_grad():
            logits = self.words(self.states(batch)).masked_fill(~self.allowed, float("-inf"))
            written = logits.argmax(dim=2).cpu().numpy().astype(np.int32)
        return [row[:length] for row, length in zip(written, batch.lengths.tolist(), strict=True)]


class TextClassifier(_BiLSTM):
    """A BiLSTM whose mean state decides between classes.

    Reference:
        Huang et al. (2024), section 6.3 and appendix A. Deviation: the noise is in the classifier, at training and at
        test; the code published with the paper classifies clean text with vectors that were fine-tuned before.
    """

    def __init__(self, embedding: PrivateEmbedding, classes: Sequence[str], *, hidden: int, dropout: float) -> None:
        super().__init__(embedding, hidden, dropout)
        self.classes = tuple(classes)
        self.decide = nn.Linear(2 * hidden, len(classes))

    def scores(self, batch: Batch) -> Any:
        """Return the logits of the classes, shape (n, classes)."""
        states = self.states(batch)
        lengths = torch.from_numpy(batch.lengths)[:, None].to(states.device)
        return self.decide(states.sum(dim=1) / lengths)

    def loss(self, batch: Batch) -> tuple[Any, int, int]:
        """Return the mean cross-entropy per text, the texts classified right, and how many counted."""
        assert batch.labels is not None
        scores = self.scores(batch)
        labels = torch.from_numpy(batch.labels).to(scores.device)
        return functional.cross_entropy(scores, labels), int((scores.argmax(dim=1) == labels).sum()), len(labels)


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


def score_rewrites(model: Rewriter, texts: Dataset, *, batch: int = 256) -> dict[str, float]:
    """Rewrite public texts with fresh noise and return the scores; unknown words count in nothing.

    `loss` is in nats a word, `ROUGE-1` and `BLEU` are 0 to 100, `N_w` is the share of words written as they were.
    """
    loss, _ = measure(model, texts, batch)
    model.eval()
    rewritten, originals, same, counted = [], [], 0, 0
    for part in texts.batches(batch):
        for row, length, written in zip(part.ids, part.lengths.tolist(), model.rewrite(part), strict=True):
            original = row[:length]
            known = original >= 0
            same, counted = same + int((written == original)[known].sum()), counted + int(known.sum())
            originals.append(_spell(model, original[known]))
            rewritten.append(_spell(model, written[known]))
    overlaps = [overlap.rouge_1(text, original) for text, original in zip(rewritten, originals, strict=True)]
    scores = {"loss": loss, "ROUGE-1": 100 * float(np.mean(overlaps)), "N_w": same / max(counted, 1)}
    more = {"BLEU": overlap.bleu, overlap.MINILM: _by_minilm, overlap.ROBERTA: overlap.bert_score_by_roberta}
    for name, score in more.items():
        with suppress(MissingExtraError):
            scores[name] = score(rewritten, originals)
    return scores


def _spell(model: Rewriter, ids: NDArray[np.integer]) -> str:
    entries = model.embedding.vocabulary.words
    return " ".join(entries[int(i)] for i in ids)


def _by_minilm(texts: list[str], references: list[str]) -> float:
    return float(overlap.matching_scores(overlap.unit_states(texts), _states(tuple(references))).f1.mean())


_states = lru_cache(maxsize=1)(overlap.unit_states)  # of originals, which all models of an experiment are held against
