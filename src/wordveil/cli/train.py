"""`wordveil train`: a rewriter or a classifier behind the noise, from a file of short texts to a model directory."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from wordveil.cli.common import ParameterOption, build_mechanism, say

if TYPE_CHECKING:
    from wordveil.mechanisms.base import VectorMechanism
    from wordveil.neural.cards import ModelCard
    from wordveil.neural.jobs import Job
    from wordveil.neural.training import Epoch, Training

__all__ = ["app"]

app = typer.Typer(rich_markup_mode=None, no_args_is_help=True)

TrainOption = Annotated[str, typer.Option("--train", metavar="FILE", help="Texts: .txt, .tsv or .jsonl[.gz].")]
OutputOption = Annotated[Path, typer.Option("--output", "-o", metavar="DIR", help="Model directory to write.")]
VectorMechanismOption = Annotated[
    str, typer.Option("--mechanism", "-m", help="A vector mechanism, or none for a baseline without noise.")
]
NeededEpsilonOption = Annotated[
    float | None, typer.Option("--epsilon", "-e", help="Privacy loss per token; needed unless the mechanism is none.")
]
TableOption = Annotated[
    str, typer.Option("--embeddings", help="Where vectors come from: random, glove, word2vec or embedded.")
]
VectorsOption = Annotated[Path | None, typer.Option("--vectors", help="The file of glove or word2vec vectors.")]
WordsOption = Annotated[int, typer.Option("--words", help="Size of the vocabulary.")]
DimensionsOption = Annotated[int, typer.Option("--dimensions", help="Dimensions of random vectors.")]
TextOption = Annotated[str, typer.Option("--text", help="Column of the text; a+b joins two.")]
LimitOption = Annotated[int | None, typer.Option("--limit", help="Texts at most.")]
TargetsOption = Annotated[
    bool,
    typer.Option("--targets-are-public", help="State that what the model learns to output is public; see docs."),
]
NoiseOption = Annotated[str, typer.Option("--noise", help="secure, or device (fast, not cryptographic).")]
EpochsOption = Annotated[int | None, typer.Option("--epochs", help="Epochs at most; default: the paper's.")]
BatchOption = Annotated[int | None, typer.Option("--batch", help="Texts of a batch; default: the paper's.")]
RateOption = Annotated[float | None, typer.Option("--learning-rate", help="Default: the paper's.")]
HiddenOption = Annotated[int | None, typer.Option("--hidden", help="Units of each direction of the BiLSTM.")]
DropoutOption = Annotated[float | None, typer.Option("--dropout", help="Default: the paper's.")]
PatienceOption = Annotated[int | None, typer.Option("--patience", help="Epochs without progress before stopping.")]
TokensOption = Annotated[int | None, typer.Option("--max-tokens", help="Longer texts are cut here.")]
SeedOption = Annotated[int, typer.Option("--seed", help="Public seed of weights and order; never of the noise.")]
ResumeOption = Annotated[bool, typer.Option("--resume", help="Continue an interrupted training.")]
QuietOption = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing.")]


@app.command()
def rewrite(
    train: TrainOption,
    output: OutputOption,
    mechanism: VectorMechanismOption = "clipped-gaussian",
    epsilon: NeededEpsilonOption = None,
    settings: ParameterOption = None,
    embeddings: TableOption = "embedded",
    vectors: VectorsOption = None,
    words: WordsOption = 10_000,
    dimensions: DimensionsOption = 300,
    text: TextOption = "text",
    limit: LimitOption = None,
    targets_are_public: TargetsOption = False,
    noise: NoiseOption = "secure",
    epochs: EpochsOption = None,
    batch: BatchOption = None,
    learning_rate: RateOption = None,
    hidden: HiddenOption = None,
    dropout: DropoutOption = None,
    patience: PatienceOption = None,
    max_tokens: TokensOption = None,
    seed: SeedOption = 0,
    resume: ResumeOption = False,
    quiet: QuietOption = False,
) -> None:
    """Train a rewriter on public sentences; private text is then rewritten with `wordveil rewrite`.

    The sentences are the targets, and the weights expose them whatever the noise: --targets-are-public is needed.
    """
    from wordveil.neural.corpora import TextFile
    from wordveil.neural.jobs import Job
    from wordveil.neural.training import REWRITE

    job = Job(
        task="rewrite",
        data=TextFile(path=train, text=text, limit=limit),
        mechanism=_vector_mechanism(mechanism, epsilon, settings),
        training=_changed(
            REWRITE,
            epochs=epochs,
            batch=batch,
            learning_rate=learning_rate,
            hidden=hidden,
            dropout=dropout,
            patience=patience,
            max_tokens=max_tokens,
            seed=seed,
        ),
        table=embeddings,
        vectors=vectors,
        words=words,
        dimensions=dimensions,
        targets_are_public=targets_are_public,
        noise=noise,
    )
    _run(job, output, resume=resume, quiet=quiet)


@app.command()
def classify(
    train: TrainOption,
    output: OutputOption,
    mechanism: VectorMechanismOption = "clipped-gaussian",
    epsilon: NeededEpsilonOption = None,
    settings: ParameterOption = None,
    embeddings: TableOption = "embedded",
    vectors: VectorsOption = None,
    words: WordsOption = 10_000,
    dimensions: DimensionsOption = 300,
    text: TextOption = "text",
    label: Annotated[str, typer.Option("--label", help="Column of the class.")] = "label",
    limit: LimitOption = None,
    targets_are_public: TargetsOption = False,
    private_text: Annotated[
        bool, typer.Option("--private-text", help="The texts are private: every epoch is a release, and is counted.")
    ] = False,
    noise: NoiseOption = "secure",
    epochs: EpochsOption = None,
    batch: BatchOption = None,
    learning_rate: RateOption = None,
    hidden: HiddenOption = None,
    dropout: DropoutOption = None,
    patience: PatienceOption = None,
    max_tokens: TokensOption = None,
    seed: SeedOption = 0,
    resume: ResumeOption = False,
    quiet: QuietOption = False,
) -> None:
    """Train a classifier on noisy vectors of labelled texts.

    The labels are the targets, and the weights expose them whatever the noise: --targets-are-public is needed.
    """
    from wordveil.neural.corpora import TextFile
    from wordveil.neural.jobs import Job
    from wordveil.neural.training import CLASSIFY

    job = Job(
        task="classify",
        data=TextFile(path=train, text=text, label=label, limit=limit),
        mechanism=_vector_mechanism(mechanism, epsilon, settings),
        training=_changed(
            CLASSIFY,
            epochs=epochs,
            batch=batch,
            learning_rate=learning_rate,
            hidden=hidden,
            dropout=dropout,
            patience=patience,
            max_tokens=max_tokens,
            seed=seed,
        ),
        table=embeddings,
        vectors=vectors,
        words=words,
        dimensions=dimensions,
        targets_are_public=targets_are_public,
        text_is_public=not private_text,
        noise=noise,
    )
    _run(job, output, resume=resume, quiet=quiet)


def _vector_mechanism(name: str, epsilon: float | None, settings: list[str] | None) -> VectorMechanism | None:
    from wordveil.errors import ParameterError
    from wordveil.mechanisms.base import VectorMechanism

    if name == "none":
        return None
    if epsilon is None:
        raise ParameterError("--epsilon", None, "must be given with a mechanism.")
    built = build_mechanism(name, epsilon, settings or ())
    if not isinstance(built, VectorMechanism):
        raise ParameterError("mechanism", name, "releases words, not vectors; take a vector mechanism or none.")
    return built


def _changed(defaults: Training, **given: Any) -> Training:
    from dataclasses import replace

    return replace(defaults, **{name: value for name, value in given.items() if value is not None})


def _run(job: Job, output: Path, *, resume: bool, quiet: bool) -> None:
    from wordveil.neural.jobs import run_job

    card: ModelCard = run_job(job, output, resume=resume, progress=None if quiet else _show)
    if quiet:
        return
    for line in card.holds():
        say(f"holds: {line}")
    for line in card.does_not_hold():
        say(f"not covered: {line}")


def _show(epoch: Epoch) -> None:
    mark = ", best so far" if epoch.best else ""
    say(f"epoch {epoch.epoch}: loss {epoch.loss:.3f}, right {epoch.accuracy:.1%}, {epoch.seconds:.1f} s{mark}")
