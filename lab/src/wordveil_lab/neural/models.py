"""The two models behind the noise: an auto-encoder that writes words, and a classifier.

Both read released vectors only. In particular the decoder of the auto-encoder never sees the words it is to write:
it reads the encoder's state at each position. (A public repository related to the paper's feeds the true previous words
to its decoder while it reads the loss; what it generates and scores otherwise comes from the latent vector alone.)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordveil_lab.neural.backend import functional, nn, torch
from wordveil_lab.neural.corpora import Batch
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
