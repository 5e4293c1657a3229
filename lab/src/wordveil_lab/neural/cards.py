"""The model card: what a trained model's guarantee covers, what it does not, and what went into it.

Two things are kept apart. A *rewrite* is post-processing of noisy vectors: the word-level promise holds for it.
The *weights* are not: whatever the noise at the input, they have been fitted to the targets.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from wordveil import __version__
from wordveil.api import Guarantee, write_whole
from wordveil_lab.neural.private_embedding import PrivateEmbedding
from wordveil_lab.neural.storage import write_json

__all__ = ["CUT", "ModelCard", "make_card", "write_card"]

CUT = "that a text is longer than {} tokens: the rest is left out"


@dataclass(frozen=True, kw_only=True)
class ModelCard:
    """Facts of a model.

    Attributes:
        task: "rewrite" or "classify".
        mechanism: The mechanism with its parameters.
        guarantee: What one pass promises for one token.
        mitigations: What was measured to help and is no part of the guarantee.
        disclosed: What every pass shows whatever the noise.
        noise: Where the noise comes from.
        vocabulary: Name and checksum of the public vocabulary.
        data: SHA-256 of each training file.
        text_is_public: Whether the training texts were declared public.
        passes: How often the private training text that passed most often went through the noise, rows of equal text
            counted together; 0 where the text is public.
        composed: What all those passes together promise, or None.
        scores: Held-out scores.
        settings: Training settings.
    """

    task: str
    mechanism: str
    guarantee: Guarantee
    mitigations: tuple[str, ...]
    disclosed: tuple[str, ...]
    noise: str
    vocabulary: Mapping[str, str]
    data: Mapping[str, str]
    text_is_public: bool
    passes: int
    composed: Guarantee | None
    scores: Mapping[str, Any]
    settings: Mapping[str, Any] = field(default_factory=dict)

    def holds(self) -> list[str]:
        """Return what holds, one sentence each."""
        if self.guarantee.epsilon is None:
            return [f"Nothing is promised: {self.guarantee.reason}."]
        what = "A rewrite" if self.task == "rewrite" else "A prediction"
        said = [f"{what} of a private text is post-processing of one pass: {self.guarantee.sentence()}."]
        said += [f"It assumes: {line}." for line in self.guarantee.assumptions]
        said.append("The promise is per token and adds up over the tokens in which two texts of equal length differ.")
        said.append("Every further pass over the same text draws afresh and is one more release: promises add up.")
        if self.composed is not None:
            said.append(
                f"The private training text that passed most often went through the noise {self.passes} times, rows of "
                f"equal text counted together; all its passes together: {self.composed.sentence()}."
            )
        return said

    def does_not_hold(self) -> list[str]:
        """Return what is not covered, one sentence each."""
        targets = "the training sentences, which are its targets" if self.task == "rewrite" else "the training labels"
        said = [f"The weights expose {targets}, whatever the noise: these were declared public."]
        said += [f"Disclosed whatever the noise: {line}." for line in self.disclosed]
        if not self.text_is_public:
            said.append("Disclosed: how many training texts there are, and the label of each.")
            said.append("Disclosed, by the number of passes above: how often the most frequent training text occurs.")
        said.append(f"Disclosed: {CUT.format(self.settings.get('max_tokens', 'so many'))}.")
        said.append("A promise per word says little about a sentence: the epsilons of its words add up.")
        if self.noise != "secure":
            said.append("The noise comes from the device's own generator, which is not cryptographic.")
        said += [f"{line[0].upper()}{line[1:]}." for line in self.mitigations]
        return said

    def as_dict(self) -> dict[str, Any]:
        """Return a JSON-ready dictionary."""
        return {
            "wordveil": __version__,
            "task": self.task,
            "mechanism": self.mechanism,
            "guarantee": self.guarantee.as_dict(),
            "mitigations": list(self.mitigations),
            "disclosed": list(self.disclosed),
            "noise": self.noise,
            "vocabulary": dict(self.vocabulary),
            "data": dict(self.data),
            "text_is_public": self.text_is_public,
            "targets_are_public": True,
            "passes_over_private_text": self.passes,
            "composed_guarantee": None if self.composed is None else self.composed.as_dict(),
            "holds": self.holds(),
            "does_not_hold": self.does_not_hold(),
            "scores": dict(self.scores),
            "settings": dict(self.settings),
        }

    def markdown(self) -> str:
        """Return the card for a reader."""
        lines = [f"# A wordveil model: {self.task}", "", f"Mechanism: `{self.mechanism}`", "", "## What holds", ""]
        lines += [f"- {line}" for line in self.holds()]
        lines += ["", "## What does not", ""]
        lines += [f"- {line}" for line in self.does_not_hold()]
        lines += ["", "## Facts", ""]
        facts = {
            "vocabulary": ", ".join(self.vocabulary.values()),
            "training text": "declared public" if self.text_is_public else "private",
            **{f"data {name}": f"sha256 {digest}" for name, digest in self.data.items()},
            **{f"held-out {name}": f"{value:.4g}" for name, value in self.scores.items()},
            **{f"setting {name}": str(value) for name, value in self.settings.items()},
        }
        return "\n".join([*lines, *(f"- {name}: {value}" for name, value in facts.items())]) + "\n"


def make_card(
    task: str,
    embedding: PrivateEmbedding,
    *,
    data: Mapping[str, str],
    scores: Mapping[str, Any],
    settings: Mapping[str, Any],
) -> ModelCard:
    """Return the card of a trained model, its passes counted by its own layer."""
    header = embedding.vocabulary.header
    passes = embedding.passes.largest
    return ModelCard(
        task=task,
        mechanism=repr(embedding.mechanism),
        guarantee=embedding.guarantee(),
        mitigations=embedding.mitigations(),
        disclosed=embedding.disclosed(),
        noise=embedding.noise,
        vocabulary={"name": header.name, "checksum": embedding.vocabulary.checksum_in_use},
        data=data,
        text_is_public=embedding.text_is_public,
        passes=passes,
        composed=embedding.composed_guarantee() if passes else None,
        scores=scores,
        settings=settings,
    )


def write_card(directory: Path, card: ModelCard) -> None:
    """Write `card.json` and `card.md` into a model directory."""
    write_json(directory / "card.json", card.as_dict())
    write_whole(directory / "card.md", card.markdown().encode())
