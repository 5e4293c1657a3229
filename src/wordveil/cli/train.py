"""`wordveil train`: a rewriter or a classifier behind the noise, from a file of short texts to a model directory."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from wordveil.cli.common import AllowRefutedOption, ParameterOption, build_mechanism, say
from wordveil.cli.file_options import QuietOption

if TYPE_CHECKING:
    from wordveil.mechanisms.base import VectorMechanism
    from wordveil.neural.cards import ModelCard
    from wordveil.neural.training import Epoch, Training

__all__ = ["train"]

TASKS = ("rewrite", "classify")
DEFAULT_LABEL = "label"

TaskArgument = Annotated[str, typer.Argument(metavar="TASK", help=f"One of {', '.join(TASKS)}.", show_default=False)]
TrainOption = Annotated[str, typer.Option("--train", metavar="FILE", help="Texts: .txt, .tsv or .jsonl[.gz].")]
OutputOption = Annotated[Path, typer.Option("--output", "-o", metavar="DIR", help="Model directory to write.")]
TextOption = Annotated[str, typer.Option("--text", help="Column of the text; a+b joins two.")]
LabelOption = Annotated[str | None, typer.Option("--label", help=f"Column of the class; default: {DEFAULT_LABEL}.")]
LimitOption = Annotated[int | None, typer.Option("--limit", help="Texts at most.")]

# What stands between a text and the model.
VectorMechanismOption = Annotated[
    str, typer.Option("--mechanism", "-m", help="A vector mechanism, or none for a baseline without noise.")
]
NeededEpsilonOption = Annotated[
    float | None, typer.Option("--epsilon", "-e", help="Privacy loss per token; needed unless the mechanism is none.")
]
NoiseOption = Annotated[
    str, typer.Option("--noise", help="secure, or device (drawn on the GPU: fast, not cryptographic).")
]
TableOption = Annotated[
    str, typer.Option("--embeddings", help="Where vectors come from: random, glove, word2vec or embedded.")
]
VectorsOption = Annotated[Path | None, typer.Option("--vectors", help="The file of glove or word2vec vectors.")]
WordsOption = Annotated[int, typer.Option("--words", help="Size of the vocabulary.")]
DimensionsOption = Annotated[int, typer.Option("--dimensions", help="Dimensions of random vectors.")]

# What is public.
TargetsOption = Annotated[
    bool, typer.Option("--targets-are-public", help="State that what the model learns to output is public; see docs.")
]
PrivateTextOption = Annotated[
    bool,
    typer.Option("--private-text", help="classify: the texts are private; every epoch is a release, and is counted."),
]

# How the model learns.
EpochsOption = Annotated[int | None, typer.Option("--epochs", help="Epochs at most; default: the paper's.")]
BatchOption = Annotated[int | None, typer.Option("--batch", help="Texts of a batch; default: the paper's.")]
RateOption = Annotated[float | None, typer.Option("--learning-rate", help="Default: the paper's.")]
HiddenOption = Annotated[int | None, typer.Option("--hidden", help="Units of each direction of the BiLSTM.")]
DropoutOption = Annotated[float | None, typer.Option("--dropout", help="Default: the paper's.")]
PatienceOption = Annotated[int | None, typer.Option("--patience", help="Epochs without progress before stopping.")]
TokensOption = Annotated[int | None, typer.Option("--max-tokens", help="Longer texts are cut here.")]
SeedOption = Annotated[int, typer.Option("--seed", help="Public seed of weights and order; never of the noise.")]
DeviceOption = Annotated[str, typer.Option("--device", help="cpu, cuda or cuda:N.")]
ResumeOption = Annotated[bool, typer.Option("--resume", help="Continue an interrupted training.")]


def train(
    task: TaskArgument,
    train: TrainOption,
    output: OutputOption,
    text: TextOption = "text",
    label: LabelOption = None,
    limit: LimitOption = None,
    mechanism: VectorMechanismOption = "clipped-gaussian",
    epsilon: NeededEpsilonOption = None,
    settings: ParameterOption = None,
    allow_refuted: AllowRefutedOption = False,
    noise: NoiseOption = "secure",
    embeddings: TableOption = "embedded",
    vectors: VectorsOption = None,
    words: WordsOption = 10_000,
    dimensions: DimensionsOption = 300,
    targets_are_public: TargetsOption = False,
    private_text: PrivateTextOption = False,
    epochs: EpochsOption = None,
    batch: BatchOption = None,
    learning_rate: RateOption = None,
    hidden: HiddenOption = None,
    dropout: DropoutOption = None,
    patience: PatienceOption = None,
    max_tokens: TokensOption = None,
    seed: SeedOption = 0,
    device: DeviceOption = "cpu",
    resume: ResumeOption = False,
    quiet: QuietOption = False,
) -> None:
    """Train a rewriter on public sentences, or a classifier on labelled texts, behind the noise.

    The sentences, or the labels, are the targets, and the weights expose them whatever the noise:
    --targets-are-public is needed. Private text is then rewritten with `wordveil rewrite`.
    """
    from wordveil.neural.corpora import TextFile
    from wordveil.neural.jobs import Job, run_job

    learning = _training(
        task,
        epochs=epochs,
        batch=batch,
        learning_rate=learning_rate,
        hidden=hidden,
        dropout=dropout,
        patience=patience,
        max_tokens=max_tokens,
        seed=seed,
    )
    job = Job(
        task=task,
        data=TextFile(path=train, text=text, label=_label(task, label), limit=limit),
        mechanism=_vector_mechanism(mechanism, epsilon, settings, allow_refuted=allow_refuted),
        training=learning,
        table=embeddings,
        vectors=vectors,
        words=words,
        dimensions=dimensions,
        targets_are_public=targets_are_public,
        text_is_public=not private_text,
        noise=noise,
        device=device,
    )
    card = run_job(job, output, resume=resume, progress=None if quiet else _show)
    if not quiet:
        _print_card(card)


def _training(task: str, **given: Any) -> Training:
    """Return the paper's settings of a task with those given in their place."""
    from dataclasses import replace

    from wordveil.errors import ParameterError
    from wordveil.neural.training import CLASSIFY, REWRITE

    if task not in TASKS:
        raise ParameterError("TASK", task, f"must be one of {', '.join(TASKS)}.")
    papers = REWRITE if task == "rewrite" else CLASSIFY
    return replace(papers, **{name: value for name, value in given.items() if value is not None})


def _label(task: str, label: str | None) -> str | None:
    from wordveil.errors import ParameterError

    if task == "classify":
        return label or DEFAULT_LABEL
    if label is not None:
        raise ParameterError("--label", label, "is for classify: a rewriter learns the sentences themselves.")
    return None


def _vector_mechanism(
    name: str, epsilon: float | None, settings: list[str] | None, *, allow_refuted: bool
) -> VectorMechanism | None:
    from wordveil.errors import ParameterError

    if name == "none":
        return None
    if epsilon is None:
        raise ParameterError("--epsilon", None, "must be given with a mechanism.")
    built: Any = build_mechanism(name, epsilon, settings or (), allow_refuted=allow_refuted)
    if built.releases != "vectors":
        raise ParameterError("mechanism", name, "releases words, not vectors; take a vector mechanism or none.")
    chosen: VectorMechanism = built
    return chosen


def _show(epoch: Epoch) -> None:
    mark = ", best so far" if epoch.best else ""
    say(f"epoch {epoch.epoch}: loss {epoch.loss:.3f}, right {epoch.accuracy:.1%}, {epoch.seconds:.1f} s{mark}")


def _print_card(card: ModelCard) -> None:
    for line in card.holds():
        say(f"holds: {line}")
    for line in card.does_not_hold():
        say(f"not covered: {line}")
