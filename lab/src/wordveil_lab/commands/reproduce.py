"""`wordveil reproduce`: a paper's results beside its own numbers."""

from __future__ import annotations

import importlib
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Argument, Option

from wordveil.api import JsonOption, ParameterError, check_choice, check_replaced, check_report_path, say, show
from wordveil_lab.papers import PAPERS

if TYPE_CHECKING:
    from wordveil_lab.papers.base import Options


def reproduce(
    paper: Annotated[
        str, Argument(help=f"One of {', '.join(PAPERS)}; or gallery, or one of its entries: see docs/gallery.")
    ],
    size: Annotated[
        str, Option("--size", help="paper (the paper's own size: hours), reduced or miniature (both minutes).")
    ] = "reduced",
    neural: Annotated[
        bool, Option("--neural", help="Of trlaplace, the models trained behind the noise; needs PyTorch.")
    ] = False,
    table: Annotated[
        list[str] | None,
        Option("--table", metavar="ROLE=FILE", help="An embedding of your own; roles: docs/results/data.md. Repeat."),
    ] = None,
    data: Annotated[
        list[str] | None, Option("--data", metavar="ROLE=FILE", help="A data set of your own, likewise. Repeat.")
    ] = None,
    epsilon: Annotated[
        list[float] | None, Option("--epsilon", help="Keep only this one of the paper's epsilons. Repeat.")
    ] = None,
    repeats: Annotated[int, Option("--repeats", help="Number of runs of whatever is noisy.")] = 3,
    seed: Annotated[int, Option("--seed", help="Seed of the test noise.")] = 0,
    cells: Annotated[
        Path | None, Option("--cells", metavar="FOLDER", help="Keep finished runs here, and go on from them.")
    ] = None,
    report: Annotated[Path | None, Option("--report", help="Write .md or .json; default: print.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Repeat a paper's results on public data and show each number beside the paper's.

    The data sets are files that you name, or of the folder in the environment variable WORDVEIL_DATA; nothing is
    downloaded.
    """
    from wordveil_lab.package import told
    from wordveil_lab.papers.base import Options

    if report is not None:
        check_report_path(report, (".md", ".json") if paper in PAPERS else (".md",))
        check_replaced(report)
    if paper not in PAPERS:
        given = (size, neural, table, data, epsilon, repeats, seed, cells)
        plain = given == ("reduced", False, None, None, None, 3, 0, None)
        _gallery(paper, report, plain=plain)
        return
    paper = f"{paper}-neural" if neural else paper
    if paper not in told("papers/about.toml"):
        raise ParameterError("--neural", paper, "is for trlaplace: no other paper trains models behind its noise.")
    options = Options(
        paper=paper,
        size=size,
        files={**_named("--table", table, paper), **_named("--data", data, paper)},
        seed=seed,
        repeats=repeats,
        epsilons=tuple(epsilon or ()),
        cells=cells,
        progress=say,
    )
    _repeat(options, report, as_json=as_json)


def _repeat(options: Options, report: Path | None, *, as_json: bool) -> None:
    from wordveil_lab.package import told
    from wordveil_lab.papers.base import timed
    from wordveil_lab.papers.summary import as_dict, as_markdown, write_reproduction

    cost = told("papers/about.toml")[options.paper]["cost"].get(options.size, "about a minute")  # on one core
    say(f"{options.paper}, size {options.size}: {cost}")
    module = importlib.import_module(f"wordveil_lab.papers.{options.paper.replace('-', '_')}")
    found = timed(module.reproduce, options)
    command = shlex.join(["wordveil", *sys.argv[1:]])
    if report is None:
        show(as_dict(found, command), [as_markdown(found, command)], as_json=as_json)
    else:
        write_reproduction(found, report, command)
        say(f"{report}: {len(found.comparisons)} comparisons, {found.seconds:.0f} s")


def _named(option: str, given: list[str] | None, paper: str) -> dict[str, str]:
    """Return role -> file of ROLE=FILE arguments, each role of the kind that the option is for."""
    from wordveil_lab.papers.base import FILES_PAGE, is_table, roles_of

    roles = [role for role in roles_of(paper) if is_table(paper, role) == (option == "--table")]
    named = {}
    for argument in given or ():
        role, separator, path = argument.partition("=")
        if not separator or role not in roles:
            listed = ", ".join(roles) or "none"
            other = "--data" if option == "--table" else "--table"
            hint = f" ({role} is a role of {other})" if role in roles_of(paper) and role not in roles else ""
            raise ParameterError(
                option, argument, f"must be ROLE=FILE; the roles of {paper} are {listed}{hint}. See {FILES_PAGE}."
            )
        named[role] = path
    return named


def _gallery(name: str, report: Path | None, *, plain: bool) -> None:
    from wordveil_lab.papers.gallery import ENTRIES, exhibit, gallery_page

    check_choice("paper", name, (*PAPERS, "gallery", *ENTRIES))
    if not plain:
        raise ParameterError("paper", name, "is of the gallery, which takes no option but --report.")
    text = gallery_page() if name == "gallery" else exhibit(name)
    if report is None:
        typer.echo(text)
    else:
        report.write_text(text, encoding="utf-8")
