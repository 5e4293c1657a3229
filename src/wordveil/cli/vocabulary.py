"""`wordveil vocabulary`: import an embedding file, show its facts, build neighbour lists, show a word's nearest."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Argument, Option

import wordveil as wv
from wordveil.cli.app import Command
from wordveil.cli.common import read_word_list, say
from wordveil.cli.options import VocabularyOption
from wordveil.cli.printing import JsonOption, listed, show
from wordveil.cli.progress import row_bar
from wordveil.errors import ParameterError

if TYPE_CHECKING:
    from wordveil.arrays import IdArray
    from wordveil.vocabulary.neighbour_lists import NeighbourLists

app = typer.Typer(rich_markup_mode=None, no_args_is_help=True)
lists_app = typer.Typer(rich_markup_mode=None, no_args_is_help=True)
app.add_typer(lists_app, name="neighbours", help="Lists of every word's nearest words, for the mechanism of that name.")

LENGTH = 32  # of the neighbour lists that an import makes
FREQUENT = 4000  # and how many of the most frequent words the second lists are among
FEW = 100  # entries that may be output, below which a vocabulary was hardly meant so


@app.command("import", cls=Command)
def import_(
    source: Annotated[Path, Argument(metavar="SRC", help="Embedding file or folder.")],
    destination: Annotated[Path, Argument(metavar="DEST", help="Vocabulary directory to create.")],
    format: Annotated[str | None, Option(help="Format. Default: detected from name and content.")] = None,
    name: Annotated[str | None, Option(help="Short name shown to users.")] = None,
    casing: Annotated[str | None, Option(help="lower or cased. Default: detected from the words.")] = None,
    candidates: Annotated[
        str, Option(help="Which entries may be output: words, all, or only-words to drop all others.")
    ] = "words",
    order: Annotated[str, Option(help="frequency, if the commonest words come first; else unknown.")] = "unknown",
    limit: Annotated[int | None, Option(help="Number of rows to take, from the start. Default: all.")] = None,
    neighbours: Annotated[bool, Option(help="Build neighbour lists (takes a minute or two for 400,000 words).")] = True,
    as_json: JsonOption = False,
) -> None:
    """Convert an embedding file to wordveil's own form: checked, memory-mapped, with a word index."""
    from wordveil.parameters import check_choice
    from wordveil.vocabulary.header import ORDERS

    check_choice("--order", order, ORDERS)
    embeddings = wv.import_embeddings(
        source,
        destination,
        format=format,
        name=name,
        casing=casing,
        candidate_rule=candidates,
        limit=limit,
        progress=_show_rows if sys.stderr.isatty() else None,
    )
    embeddings = embeddings.record(order=order)
    if neighbours:
        _first_lists(embeddings)
    _show_facts(embeddings, as_json=as_json)
    if len(embeddings.candidates) < FEW and len(embeddings.candidates) < len(embeddings):
        say(f"few entries may be output; --candidates all lets all {len(embeddings):,}")


def _first_lists(embeddings: wv.Embeddings) -> None:
    from wordveil.vocabulary.frequencies import most_frequent

    _store(embeddings, min(LENGTH, len(embeddings.candidates)), None, "cosine")
    try:
        frequent = most_frequent(embeddings, FREQUENT)
    except ParameterError:
        return  # there are no more words than that, or too few whose frequency is known
    _store(embeddings, LENGTH, frequent, "cosine")


def _store(embeddings: wv.Embeddings, k: int, outputs: Any, metric: str, threads: int | None = None) -> NeighbourLists:
    from wordveil.parameters import check_choice
    from wordveil.vocabulary.stored_lists import store_lists

    metrics: dict[str, Any] = {"cosine": None, "euclidean": wv.Euclidean(), "angular": wv.Angular()}
    check_choice("--metric", metric, metrics)
    done, total = 0, len(embeddings)
    with row_bar("lists", quiet=False) as show:

        def progress(more: int) -> None:
            nonlocal done
            done += more
            if show is not None:
                show(done, total)

        return store_lists(embeddings, k, outputs=outputs, metric=metrics[metric], threads=threads, progress=progress)


def _show_rows(rows: int, share: float | None) -> None:
    end = "" if share is None else f" ({share:.0%})"
    typer.echo(f"\r{rows:,} rows{end}", nl=False, err=True)


@app.command(cls=Command)
def info(
    vocabulary: VocabularyOption = None,
    verify: Annotated[bool, Option("--verify", help="Recompute the checksum.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Show what a vocabulary's header records."""
    embeddings = wv.load_embeddings(vocabulary)
    if verify:
        embeddings.verify()
    _show_facts(embeddings, as_json=as_json)
    if verify and not as_json:
        typer.echo("checksum: verified")


def _show_facts(embeddings: wv.Embeddings, *, as_json: bool) -> None:
    from wordveil.vocabulary.stored_lists import stored_keys

    header, stored = embeddings.header, stored_keys(embeddings)
    lists = [f"{key.k} of {count:,} by {key.metric.removesuffix('()').lower()}" for key, count in stored]
    facts = {
        "name": header.name,
        "source": header.source,
        "licence": header.licence or "not recorded",
        "words": f"{len(embeddings):,}, of which {len(embeddings.candidates):,} may be output",
        "dimensions": header.dimensions,
        "casing": header.casing,
        "normalisation": header.normalisation,
        "checksum": header.checksum,
        "order": header.order,
        "neighbours": "; ".join(lists) or "none",
    }
    numbers = {"words": len(embeddings), "outputs": len(embeddings.candidates), "neighbours": lists}
    show({**facts, **numbers, "checked": embeddings.is_checked}, listed(facts, 17), as_json=as_json)


@lists_app.command("build", cls=Command)
def build_neighbours(
    vocabulary: VocabularyOption = None,
    k: Annotated[int, Option("--count", "-k", help="Length of a list, at most 64.")] = LENGTH,
    outputs: Annotated[
        str, Option(help="all; a number, of the most frequent words; or a file of words, one a line.")
    ] = "all",
    counts: Annotated[
        Path | None, Option(help="File of public counts that --outputs goes by: word, space, number.")
    ] = None,
    metric: Annotated[str, Option(help="cosine, euclidean or angular.")] = "cosine",
    threads: Annotated[int | None, Option(help="Threads to use. Default: all processors.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Build lists of each word's nearest words into a vocabulary; run again to go on where it was stopped."""
    embeddings = wv.load_embeddings(vocabulary)
    lists = _store(embeddings, k, _outputs(embeddings, outputs, counts), metric, threads)
    made = {"k": lists.k, "outputs": len(lists.outputs), "words": len(lists), "checksum": lists.checksum}
    line = f"{lists.k} nearest of {len(lists.outputs):,} outputs for each of {len(lists):,} words: {lists.checksum}"
    show(made, [line], as_json=as_json)


def _outputs(embeddings: wv.Embeddings, given: str, counts: Path | None) -> IdArray | None:
    from wordveil.vocabulary.frequencies import most_frequent

    if given == "all":
        return None
    if given.isdecimal():
        return most_frequent(embeddings, int(given), counts=counts)
    ids = embeddings.ids(sorted(read_word_list(Path(given))))
    if not len(ids) or ids.min() < 0:
        raise ParameterError("--outputs", given, "must list words of this vocabulary only, at least one.")
    return ids


@app.command(cls=Command)
def neighbors(
    word: Annotated[str, Argument(help="A public word of the vocabulary.")],
    vocabulary: VocabularyOption = None,
    count: Annotated[int, Option("--count", "-k", help="Number of words to show.")] = 10,
    as_json: JsonOption = False,
) -> None:
    """List the nearest words that may be output, with Euclidean distances."""
    from wordveil.kernels.nearest import NearestWords

    if count < 1:
        raise ParameterError("--count", count, "must be at least 1.")
    embeddings = wv.load_embeddings(vocabulary)
    id_ = embeddings.id(word.lower() if embeddings.header.casing == "lower" else word)
    if id_ is None:
        raise ParameterError("word", word, "is not in this vocabulary.")
    wanted = min(count + 1, len(embeddings.candidates))
    ids, distances = NearestWords(embeddings.vectors, embeddings.candidates).top(embeddings.vectors[[id_]], wanted)
    found = [(i, t) for i, t in zip(ids[0].tolist(), distances[0].tolist(), strict=True) if i != id_][:count]
    if not found:
        say("no other word may be output")
    near = [{"word": embeddings.words[i], "distance": t} for i, t in found]
    show(near, (f"{one['distance']:9.4f}  {one['word']}" for one in near), as_json=as_json)
