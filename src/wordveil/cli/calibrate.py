"""`wordveil calibrate`: parameters from what they come to on public words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Option

import wordveil as wv
from wordveil.cli.common import chosen_mechanism, parse_settings, read_lines
from wordveil.cli.options import DecoderOption, EpsilonOption, MechanismOption, SetOption, VocabularyOption, Wanted
from wordveil.cli.printing import JsonOption, show
from wordveil.errors import DataFormatError, ParameterError
from wordveil.names import DEFAULT_MECHANISM
from wordveil.promises.rounding import round_down, round_up

if TYPE_CHECKING:
    from wordveil.meaning.neighbour_points import NeighbourPoint

BAR = 40


@dataclass(frozen=True, kw_only=True)
class Targets:
    """What the default mechanism should come to; one of the first four is given."""

    attacker: Annotated[
        float | None, Option(help="Share of words that the best guess at one word may name, at most.")
    ] = None
    similarity: Annotated[
        float | None, Option(help="Cosine of word and output beyond that of random ones, at least.")
    ] = None
    far: Annotated[float | None, Option(help="Share of words drawn from the whole vocabulary, at most.")] = None
    nats: Annotated[float | None, Option(help="Loss of a whole text, at most.")] = None
    tokens: Annotated[int, Option(help="Length of that text.")] = 50
    task: Annotated[
        Path | None, Option(help="Public file of LABEL<tab>TEXT lines: also the accuracy of a classifier of releases.")
    ] = None

    def given(self) -> dict[str, float]:
        """Return the target by its name; empty without one."""
        named = {
            name: value for name, value in vars(self).items() if name not in ("tokens", "task") and value is not None
        }
        if len(named) > 1:
            sentence = "Give only one of --attacker, --similarity, --far and --nats."
            raise ParameterError("targets", sorted(named), sentence=sentence)
        return named


@dataclass(frozen=True, kw_only=True)
class Keeping:
    """How often other mechanisms should keep a word, and which words are typical."""

    keep: Annotated[float | None, Option(help="Other mechanisms: probability that a word stays. Default: 0.5.")] = None
    frequencies: Annotated[
        Path | None, Option(help="With --keep: public file of WORD<tab>COUNT lines that says what is typical.")
    ] = None
    sample: Annotated[int, Option(help="With --keep: number of public words that the mean is taken over.")] = 1000


def calibrate(
    *,
    targets: Targets,
    keeping: Keeping,
    mechanism: MechanismOption = DEFAULT_MECHANISM,
    decoder: DecoderOption = None,
    epsilon: EpsilonOption = None,
    settings: SetOption = None,
    vocabulary: VocabularyOption = None,
    as_json: JsonOption = False,
) -> None:
    """Find parameters from what they come to, on public words alone.

    For neighbours: epsilon for numbers of classes, and for each length k of lists, from one of --attacker,
    --similarity, --far and --nats. Without
    one, what the default epsilon comes to. For other mechanisms: the epsilon at which a typical word stays itself with
    probability --keep. With --decoder rank-softmax and --epsilon: the c at which near words come out most often.
    """
    embeddings = wv.load_embeddings(vocabulary)
    given, for_points = targets.given(), mechanism == DEFAULT_MECHANISM and keeping.keep is None
    if targets.task is not None and not (for_points and decoder is None and epsilon is None):
        sentence = (
            f"--task works only with --mechanism {DEFAULT_MECHANISM}, and without --keep, --decoder and --epsilon."
        )
        raise ParameterError("task", targets.task.name, sentence=sentence)
    wanted = Wanted(mechanism=mechanism, epsilon=epsilon, decoder=decoder, settings=settings)
    if decoder is not None or epsilon is not None:
        _print_c(embeddings, wanted, as_json=as_json)
    elif for_points:
        _print_points(embeddings, targets, settings or (), as_json=as_json)
    elif given:
        target, use = next(iter(given)), "leave out --keep" if mechanism == DEFAULT_MECHANISM else "use --keep"
        sentence = f"--{target} works only with --mechanism {DEFAULT_MECHANISM}; for {mechanism} {use}."
        raise ParameterError(target, given[target], sentence=sentence)
    else:
        _print_epsilon(embeddings, replace(wanted, epsilon=1.0), keeping, as_json=as_json)


def _print_points(embeddings: wv.Embeddings, targets: Targets, settings: Sequence[str], *, as_json: bool) -> None:
    from wordveil.meaning.neighbour_points import neighbour_points

    given, tokens = parse_settings(settings, ("k", "outputs")), targets.tokens
    target, value = next(iter(targets.given().items()), ("nats", wv.NeighbourResponse.epsilon * tokens))
    points = neighbour_points(embeddings, target, value, tokens=tokens, **given)
    lines = [f"{'outputs':>12} {'k':>4} {'epsilon':>8} {'far':>6} {'attacker':>9} {'similarity':>11} {'nats':>8}"]
    rounded = round_down if target in ("attacker", "nats") else round_up  # the target holds for what is printed
    for one in points:
        epsilon = float(rounded(one.epsilon))
        lines.append(
            f"{one.outputs or 'None':>12} {one.k:4} {epsilon:8.3f} {one.far:6.3f} {one.attacker:9.3f} "
            f"{one.similarity:11.3f} {one.nats:8.1f}"
        )
    lines.append(
        "far: words drawn from all outputs; attacker: words named by the best guess at one output, knowing how often "
        f"words occur; similarity: cosine beyond that of random outputs; nats: of {tokens} tokens"
    )
    if targets.task is None:
        show(points, lines, as_json=as_json)
        return
    kept, frontier = _task(embeddings, targets.task, points)
    show({"points": points, "task": kept}, [*lines, *frontier], as_json=as_json)


def _task(embeddings: wv.Embeddings, path: Path, points: Sequence[NeighbourPoint]) -> tuple[dict[str, Any], list[str]]:
    """Return what each point keeps of a task, and the same as lines with bars."""
    from wordveil.meaning.task import Task

    rows = [(number, *line.partition("\t")) for number, line in enumerate(read_lines(path), start=1) if line]
    for number, _, tab, _ in rows:
        if not tab:
            raise DataFormatError(path, "must be a label, a tab and a text.", line=number)
    task = Task(embeddings, [text for *_, text in rows], [label for _, label, *_ in rows])
    written, usual, found = task.as_written(), task.majority(), task.points(points)
    lines = ["", f"{'outputs':>12} {'k':>4} {'attacker':>9} {'task':>6} {'+-':>5}"]
    for one in found:
        point, kept = one.point, one.accuracy
        lines.append(
            f"{point.outputs or 'None':>12} {point.k:4} {point.attacker:9.3f} {kept.share:6.3f} {kept.error:5.3f} "
            f"{'*' if one.ahead else ' '} {'#' * round(BAR * kept.share)}"
        )
    lines.append(
        f"task: texts whose label a linear classifier of releases finds: {written.share:.3f} as written, {usual:.3f} "
        "by the most frequent label; *: no row finds as many at no more words named"
    )
    return {"as_written": written, "majority": usual, "points": found}, lines


def _print_c(embeddings: wv.Embeddings, wanted: Wanted, *, as_json: bool) -> None:
    name, epsilon = wanted.mechanism, wanted.epsilon
    name = "laplace" if name == DEFAULT_MECHANISM else name
    if wanted.decoder != "rank-softmax" or epsilon is None:
        sentence = "--decoder rank-softmax and --epsilon go together; no other decoder has a parameter to be found."
        raise ParameterError("decoder", wanted.decoder, sentence=sentence)
    chosen: Any = chosen_mechanism(replace(wanted, mechanism=name, decoder=None))
    if chosen.releases != "vectors":
        raise ParameterError("--decoder", wanted.decoder, f"is for vector mechanisms; {name} selects words itself.")
    tuning = wv.tune_rank_softmax(lambda _: chosen, embeddings, [epsilon])
    columns = zip(tuning.grid, tuning.original, tuning.near, strict=True)
    rows = [{"c": c, "original": own[0], "near": near[0]} for c, own, near in columns]
    lines = [f"{'c':>8} {'original':>9} {'near':>6} {'other':>6}"]
    for row in rows:
        rest = 1 - row["original"] - row["near"]
        lines.append(f"{row['c']:8g} {row['original']:9.3f} {row['near']:6.3f} {rest:6.3f}")
    lines.append(
        "original, near, other: shares of outputs that are the word itself, one of its 100 nearest, any other word, "
        f"behind {name} at epsilon {epsilon:g}"
    )
    lines.append(f"c {tuning.c:g}: use --decoder rank-softmax --decoder-set c={tuning.c:g}")
    show({"c": tuning.c, "epsilon": epsilon, "mechanism": name, "grid": rows}, lines, as_json=as_json)


def _print_epsilon(embeddings: wv.Embeddings, wanted: Wanted, keeping: Keeping, *, as_json: bool) -> None:
    keep, frequencies = keeping.keep or 0.5, keeping.frequencies
    found = wv.calibrate(
        embeddings,
        chosen_mechanism(wanted),
        keep=keep,
        frequencies=None if frequencies is None else _read_frequencies(frequencies),
        sample=keeping.sample,
    )
    bars = (f"{epsilon:10.4g}  {kept:5.3f}  {'#' * round(BAR * kept)}" for epsilon, kept in found.curve)
    line = (
        f"epsilon {round_up(found.epsilon)}: {wanted.mechanism} keeps a word with probability {keep:g}, the mean over "
        f"{found.words:,} public words"
    )
    result = {"epsilon": found.epsilon, "keep": keep, "words": found.words, "curve": found.curve}
    show(result, [f"{'epsilon':>10}  {'kept':>5}", *bars, line], as_json=as_json)


def _read_frequencies(path: Path) -> dict[str, float]:
    frequencies: dict[str, float] = {}
    for number, line in enumerate(read_lines(path), start=1):
        if not line:
            continue
        word, _, count = line.rpartition("\t")
        try:
            frequencies[word] = float(count)
        except ValueError:
            raise DataFormatError(path, "must be a word, a tab and a number.", line=number) from None
    return frequencies
