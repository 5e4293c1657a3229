"""`wordveil train`: a rewriter or a classifier behind the noise, from a file of short texts to a model directory."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

from wordveil.api import AllowRefutedOption, ParameterError, ParameterOption, QuietOption, chosen_mechanism, say

if TYPE_CHECKING:
    from wordveil.api import VectorMechanism
    from wordveil_lab.neural.cards import ModelCard
    from wordveil_lab.neural.training import Epoch, Training

__all__ = ["train"]

TASKS = ("rewrite", "classify")
DEFAULT_LABEL = "label"

TaskArgument = Annotated[str, Argument(metavar="TASK", help=f"One of {', '.join(TASKS)}.", show_default=False)]
TrainOption = Annotated[str, Option("--train", metavar="FILE", help="Texts: .txt, .tsv or .jsonl[.gz].")]
OutputOption = Annotated[Path, Option("--output", "-o", metavar="DIR", help="Model directory to write.")]
TextOption = Annotated[str, Option("--text", help="Column of the text; a+b joins two.")]
LabelOption = Annotated[str | None, Option("--label", help=f"Column of the class; default: {DEFAULT_LABEL}.")]
LimitOption = Annotated[int | None, Option("--limit", help="Texts at most.")]
TargetsOption = Annotated[
    bool, Option("--targets-are-public", help="State that what the model learns to output is public; see docs.")
]
PrivateTextOption = Annotated[
    bool,
    Option("--private-text", help="classify: the texts are private; every epoch is a release, and is counted."),
]
DeviceOption = Annotated[str, Option("--device", help="cpu, cuda or cuda:N.")]
ResumeOption = Annotated[bool, Option("--resume", help="Continue an interrupted training.")]


@dataclass(frozen=True, kw_only=True)
class TrainingNoise:
    """What stands between a text and the model."""

    mechanism: Annotated[
        str, Option("--mechanism", "-m", help="A vector mechanism, or none for a baseline without noise.")
    ] = "clipped-gaussian"
    epsilon: Annotated[
        float | None,
        Option("--epsilon", "-e", help="Privacy loss per token; needed unless the mechanism is none."),
    ] = None
    settings: ParameterOption = None
    allow_refuted: AllowRefutedOption = False
    noise: Annotated[str, Option("--noise", help="secure, or device (drawn on the GPU: fast, not cryptographic).")] = (
        "secure"
    )
    embeddings: Annotated[
        str, Option("--embeddings", help="Where vectors come from: random, glove, word2vec or embedded.")
    ] = "embedded"
    vectors: Annotated[Path | None, Option("--vectors", help="The file of glove or word2vec vectors.")] = None
    words: Annotated[int, Option("--words", help="Size of the vocabulary.")] = 10_000
    dimensions: Annotated[int, Option("--dimensions", help="Dimensions of random vectors.")] = 300

    def vector_mechanism(self) -> VectorMechanism | None:
        """Return the mechanism, None for the baseline.

        Raises:
            ParameterError: If it has no epsilon, or releases words.
        """
        if self.mechanism == "none":
            return None
        if self.epsilon is None:
            raise ParameterError("--epsilon", None, "must be given with a mechanism.")
        given = self.settings or ()
        built: Any = chosen_mechanism(self.mechanism, self.epsilon, given, allow_refuted=self.allow_refuted)
        if built.releases != "vectors":
            problem = "releases words, not vectors; take a vector mechanism or none."
            raise ParameterError("mechanism", self.mechanism, problem)
        chosen: VectorMechanism = built
        return chosen


@dataclass(frozen=True, kw_only=True)
class Learning:
    """How the model learns; None for what the paper did."""

    epochs: Annotated[int | None, Option("--epochs", help="Epochs at most; default: the paper's.")] = None
    batch: Annotated[int | None, Option("--batch", help="Texts of a batch; default: the paper's.")] = None
    learning_rate: Annotated[
        float | None, Option("--learning-rate", help="Step of the optimizer; default: the paper's.")
    ] = None
    hidden: Annotated[int | None, Option("--hidden", help="Units of each direction of the BiLSTM.")] = None
    dropout: Annotated[float | None, Option("--dropout", help="Share left out; default: the paper's.")] = None
    patience: Annotated[int | None, Option("--patience", help="Epochs without progress before stopping.")] = None
    max_tokens: Annotated[int | None, Option("--max-tokens", help="Longer texts are cut here.")] = None
    seed: Annotated[int, Option("--seed", help="Public seed of weights and order; never of the noise.")] = 0

    def training(self, task: str) -> Training:
        """Return the paper's settings of a task with those given in their place."""
        from wordveil_lab.neural.training import CLASSIFY, REWRITE

        if task not in TASKS:
            raise ParameterError("TASK", task, f"must be one of {', '.join(TASKS)}.")
        given = {name: value for name, value in vars(self).items() if value is not None}
        return replace(REWRITE if task == "rewrite" else CLASSIFY, **given)


def train(
    task: TaskArgument,
    train: TrainOption,
    output: OutputOption,
    text: TextOption = "text",
    label: LabelOption = None,
    limit: LimitOption = None,
    *,
    noise: TrainingNoise,
    targets_are_public: TargetsOption = False,
    private_text: PrivateTextOption = False,
    learning: Learning,
    device: DeviceOption = "cpu",
    resume: ResumeOption = False,
    quiet: QuietOption = False,
) -> None:
    """Train a rewriter on public sentences, or a classifier on labelled texts, behind the noise.

    The sentences, or the labels, are the targets, and the weights expose them whatever the noise:
    --targets-are-public is needed. Private text is then rewritten with `wordveil rewrite`.
    """
    from wordveil_lab.neural.corpora import TextFile
    from wordveil_lab.neural.jobs import TrainingJob, run_job

    training = learning.training(task)
    job = TrainingJob(
        task=task,
        data=TextFile(path=train, text=text, label=_label(task, label), limit=limit),
        mechanism=noise.vector_mechanism(),
        training=training,
        table=noise.embeddings,
        vectors=noise.vectors,
        words=noise.words,
        dimensions=noise.dimensions,
        targets_are_public=targets_are_public,
        text_is_public=not private_text,
        noise=noise.noise,
        device=device,
    )
    card = run_job(job, output, resume=resume, progress=None if quiet else _show)
    if not quiet:
        _print_card(card)


def _label(task: str, label: str | None) -> str | None:
    if task == "classify":
        return label or DEFAULT_LABEL
    if label is not None:
        raise ParameterError("--label", label, "is for classify: a rewriter learns the sentences themselves.")
    return None


def _show(epoch: Epoch) -> None:
    mark = ", best so far" if epoch.best else ""
    say(f"epoch {epoch.epoch}: loss {epoch.loss:.3f}, right {epoch.accuracy:.1%}, {epoch.seconds:.1f} s{mark}")


def _print_card(card: ModelCard) -> None:
    for line in card.holds():
        say(f"holds: {line}")
    for line in card.does_not_hold():
        say(f"not covered: {line}")
