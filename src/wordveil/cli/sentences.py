"""`wordveil sentences`: build and inspect stocks of public sentences."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Argument, Option

import wordveil as wv
from wordveil.cli.app import Command
from wordveil.cli.common import say
from wordveil.cli.options import ColumnOption, FormatOption, ResumeOption
from wordveil.cli.printing import JsonOption, listed, show
from wordveil.cli.progress import row_bar
from wordveil.cli.rephrase import EncoderOption, StockOption
from wordveil.errors import ParameterError
from wordveil.promises.rounding import round_up

if TYPE_CHECKING:
    from wordveil.sentences.building import PublicSet

app = typer.Typer(rich_markup_mode=None, no_args_is_help=True)

EPSILONS = (2.0, 4.0, 6.0, 8.0, 10.0, 12.0)


@app.command(cls=Command)
def build(
    output: Annotated[Path, Option("--output", "-o", metavar="DIR", help="Directory to make.")],
    public: Annotated[
        list[Path] | None, Argument(metavar="PUBLIC...", help="Files of public text, in any format.")
    ] = None,
    recipe: Annotated[
        str | None, Option(help="Instead of files: support or clinical, from the sets in --data.")
    ] = None,
    data: Annotated[
        Path | None, Option(metavar="DIR", envvar="WORDVEIL_DATA", help="Folder of a recipe's sets.")
    ] = None,
    prototypes: Annotated[
        str, Option(help="Sizes, between commas; each has prototypes of its own.")
    ] = "16,32,64,128,256,512,1024",
    encoder: EncoderOption = "static",
    judge: Annotated[str, Option(help="Encoder that measures which size is best. Default: the same.")] = "",
    each: Annotated[
        int | None, Option(help="Sentences taken from a file at most. Default: 30000; of a recipe's set, 4000.")
    ] = None,
    column: ColumnOption = None,
    format: FormatOption = None,
    name: Annotated[str | None, Option(help="Short name. Default: that of the directory.")] = None,
    licence: Annotated[str, Option(help="Licence of the text, to be recorded.")] = "",
    resume: ResumeOption = False,
    as_json: JsonOption = False,
) -> None:
    """Build a stock from public text: its sentences are in every release made with it, so never from private text.

    Personal data becomes typed slots, or the sentence is dropped; what was dropped is told. Read the stock before use.
    """
    from wordveil.documents import DocumentSettings
    from wordveil.sentences.recipes import EACH, followed, gathered

    try:
        sizes = tuple(int(size) for size in prototypes.split(","))
    except ValueError:
        raise ParameterError("--prototypes", prototypes, "must be whole numbers between commas.") from None
    settings = wv.StockSettings(
        prototypes=sizes,
        encoder=encoder,
        judge=judge,
        each=each if each is not None else EACH if recipe else wv.StockSettings.each,
        name=output.name if name is None else name,
        licence=licence,
        documents=DocumentSettings(format=format, columns=tuple(column or ())),
    )
    sets: list[Path] | list[PublicSet] = public or []
    if recipe is not None:
        if data is None:
            raise ParameterError("--data", None, "must name the folder that holds the sets of the recipe.")
        if public or column or format or licence:
            raise ParameterError("--recipe", recipe, "takes no files, --column, --format or --licence.")
        sets, settings = gathered(recipe, data), followed(recipe, settings)
    with _bars() as progress:
        stock = wv.build_stock(sets, output, settings, resume=resume, progress=progress, notice=say)
    _show_facts(stock, as_json=as_json)


@contextmanager
def _bars() -> Iterator[Callable[[int, int, str], None]]:
    """Yield a callback that shows a bar for each kind of work, one after the other."""
    with ExitStack() as bar:
        named, show_rows = "", None

        def told(done: int, total: int, what: str) -> None:
            nonlocal named, show_rows
            if what != named:
                bar.close()
                named, show_rows = what, bar.enter_context(row_bar(what, quiet=False))
            if show_rows is not None:
                show_rows(done, total)

        yield told


@app.command(cls=Command)
def info(
    stock: StockOption = None,
    epsilon: Annotated[
        float | None, Option("--epsilon", "-e", help="Show the best size for this epsilon, and its sentences.")
    ] = None,
    verify: Annotated[bool, Option("--verify", help="Recompute the checksum.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Show what a stock records: sizes, sources, licence, what was dropped, and the curve that sizes are chosen by."""
    found = wv.load_stock(stock)
    if verify:
        found.embeddings.verify()
        say("checksum: verified")
    _show_facts(found, epsilon, as_json=as_json)


def _show_facts(stock: wv.Stock, epsilon: float | None = None, *, as_json: bool) -> None:
    header, facts = stock.embeddings.header, stock.facts
    told = {
        "name": header.name,
        "source": header.source,
        "licence": header.licence or "not recorded",
        "sentences": f"{len(stock.embeddings):,} prototypes of {facts.kept:,} public sentences",
        "sizes": ", ".join(f"{size:,}" for size in stock.levels),
        "encoder": facts.encoder,
        "checksum": header.checksum,
        "slots": ", ".join(f"{kind} {count:,}" for kind, count in facts.slots.items()) or "none",
        "dropped": ", ".join(f"{why} {count:,}" for why, count in facts.dropped.items()) or "none",
    }
    result: dict[str, Any] = {**told, "sizes": list(stock.levels), "slots": facts.slots, "dropped": facts.dropped}
    result |= {"sentences": {"prototypes": len(stock.embeddings), "of": facts.kept}, "curve": []}
    lines = listed(told, 12)
    lines.append(f"mean similarity of a public sentence to its release, by {facts.judge}, nats from 0 (random) on:")
    for encoder in facts.levels[0].near:
        lines.append(f"  {encoder:12}" + "".join(f"{nats:8g}" for nats in (0.0, *EPSILONS)))
        for size, level in stock.levels.items():
            values = (level.anywhere, *(level.expected(nats, encoder) for nats in EPSILONS))
            curve = dict(zip((0.0, *EPSILONS), values, strict=True))
            result["curve"].append({"encoder": encoder, "size": size, "similarity": curve})
            lines.append(f"  {size:12,}" + "".join(f"{value:8.3f}" for value in values))
    if epsilon is not None:
        size = stock.choose(epsilon)
        chosen = [stock.embeddings.words[i] for i in stock.levels[size].ids]
        result["chosen"] = {"epsilon": epsilon, "size": size, "sentences": chosen}
        lines.append(f"at {round_up(epsilon, 12)} nats a sentence: {size} prototypes")
        lines += [f"  {sentence}" for sentence in chosen]
    show(result, lines, as_json=as_json)
