"""`wordveil doctor`: what this installation runs with, what is missing, and how to get it."""

from __future__ import annotations

import os
import platform
import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from importlib import metadata
from pathlib import Path
from typing import Any

import typer

import wordveil as wv
from wordveil import __version__
from wordveil.cli.exit_codes import DONE, NO
from wordveil.cli.printing import JsonOption, listed, show
from wordveil.errors import ChecksumError, WordveilError

REQUIREMENT = re.compile(r"([\w-]+)(\[[^]]*\])?(?:>=([\d.]+))?.*?(?:extra == ['\"]([\w-]+)['\"])?$")
KERNELS = "compile them here: python -m wordveil.kernels.compiled"
SUMS = ("all", "dev", "docs", "integrations")
"""Extras that are made of others, or are for work on wordveil itself."""
REINSTALL = "install wordveil again"


def doctor(as_json: JsonOption = False) -> None:
    """Show the engine in use, versions of dependencies and extras, packaged data and its checksums, what is missing.

    An extra that is missing is no fault. Exit code 1: something is damaged, too old or cannot be used.
    """
    needed, extras = _packages()
    problems = [f"{name} {own['version'] or 'is missing'}: {REINSTALL}" for name, own in needed.items() if own["wrong"]]
    engine = _engine(problems)
    data = {name: _checked(name, check, problems) for name, check in CHECKS.items()}
    missing = {
        extra: f"pip install 'wordveil[{extra}]'"
        for extra, packages in extras.items()
        if any(own["wrong"] for own in packages.values())
    }
    system = f"Python {platform.python_version()}, {platform.system()} {platform.machine()}"
    result = {"version": __version__, "system": system, "engine": engine, "dependencies": needed, "extras": extras}
    said = {
        "engine": engine["chosen"] + ("" if engine["built"] else f", the slowest; {KERNELS}"),
        "runs here": ", ".join(engine["runs_here"]),
        "kernels built": ", ".join(engine["built"]) or "none",
        "C compiler": engine["compiler"] or "none (needed only to compile the kernels)",
    }
    lines = [f"wordveil {__version__}, {system}", "", *listed(said, 15)]
    lines += ["", "dependencies:", *_lines({name: _version(own) for name, own in needed.items()})]
    lines += ["", "extras:"]
    lines += _lines(
        {
            extra: ", ".join(f"{name} {_version(own)}" for name, own in packages.items())
            + (f"   ({missing[extra]})" if extra in missing else "")
            for extra, packages in extras.items()
        }
    )
    lines += ["", "data:", *_lines(data), "", *(f"problem: {problem}" for problem in problems or ["none found"])]
    show({**result, "data": data, "missing": missing, "problems": problems}, lines, as_json=as_json)
    raise typer.Exit(NO if problems else DONE)


def _packages() -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    needed: dict[str, Any] = {}
    extras: dict[str, dict[str, Any]] = defaultdict(dict)
    try:
        required = metadata.requires("wordveil") or ()
    except metadata.PackageNotFoundError:  # run from a folder of sources
        required = ()
    found = [REQUIREMENT.match(line) for line in required]
    for name, _, least, extra in (match.groups() for match in found if match):
        if extra not in SUMS:
            (extras[extra] if extra else needed)[name] = _package(name, least)
    return needed, dict(extras)


def _package(name: str, least: str | None) -> dict[str, Any]:
    try:
        version = metadata.version(name)
    except metadata.PackageNotFoundError:
        version = None
    return {"version": version, "least": least, "wrong": version is None or _numbers(version) < _numbers(least or "")}


def _numbers(version: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", version)]


def _version(own: dict[str, Any]) -> str:
    if own["version"] is None:
        return "missing"
    return f"{own['version']} (needs {own['least']})" if own["wrong"] else str(own["version"])


def _lines(facts: dict[str, Any]) -> Iterator[str]:
    return (f"  {line}" for line in listed(facts, 18))


def _engine(problems: list[str]) -> dict[str, Any]:
    from wordveil.kernels.compiled.building import LEVELS, built_directories, find_compiler, library_name
    from wordveil.kernels.compiled.library import available_engines, engine_name

    places = {name: [place for place in built_directories() if (place / library_name(name)).is_file()]
              for name in ("text", *LEVELS)}  # fmt: skip
    try:
        chosen = engine_name()
    except WordveilError as problem:
        chosen = "none"
        problems.append(str(problem))
    built = [name for name, found in places.items() if found]
    return {"chosen": chosen, "runs_here": available_engines(), "built": built, "compiler": find_compiler()}


def _verified(embeddings: Any, what: str) -> str:
    embeddings.verify()
    return f"{embeddings.header.name}, {len(embeddings):,} {what}, checksum verified: {embeddings.header.checksum}"


def _prior() -> str:
    prior = wv.load_prior()
    prior.check(wv.load_embeddings())
    return f"public text for denoise, {len(prior.third):,} triples, checksum {prior.checksum}"


def _certificates() -> str:
    from wordveil.sanitizing.fitting import FOLDER
    from wordveil.vocabulary.packaged import packaged_header

    paths = sorted(FOLDER.glob("*.json"))
    mine = packaged_header().checksum
    if not paths or any(wv.Certificate.load(path).vocabulary != mine for path in paths):
        raise ChecksumError(f"{FOLDER} does not hold certificates of the packaged vocabulary alone.")
    return f"{len(paths)} certificates of the packaged vocabulary"


def _folder() -> str:
    named = os.environ.get("WORDVEIL_DATA")
    if not named:
        return "WORDVEIL_DATA is not set: `evaluate` and `reproduce` need --data FILE, or that folder"
    folder = Path(named)
    if not folder.is_dir():
        raise ChecksumError(f"WORDVEIL_DATA names {folder}, which is no directory.")
    return f"{folder}, {sum(path.is_file() for path in folder.rglob('*')):,} files"


CHECKS: dict[str, Callable[[], str]] = {
    "vocabulary": lambda: _verified(wv.load_embeddings(), "words"),
    "sentences": lambda: _verified(wv.load_stock(None).embeddings, "sentences"),
    "prior": _prior,
    "certificates": _certificates,
    "data folder": _folder,
}
"""Part of the data -> what says that it is there and sound."""


def _checked(name: str, check: Callable[[], str], problems: list[str]) -> str:
    try:
        return check()
    except (WordveilError, OSError) as problem:
        problems.append(f"{name}: {problem}")
        return "DAMAGED"
