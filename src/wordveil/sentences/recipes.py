"""Recipes for stocks of two domains from public sets that do not ship with wordveil: which files, which part, whose.

A recipe takes the training part of every set alone: what is measured with a stock is measured on the other parts. Of
MultiDoGO it leaves out what annotators marked a value in: one in thirty of its names is a word in small letters that no
public list knows for a name.
"""

from __future__ import annotations

import csv
import gzip
import json
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from wordveil.errors import DataFormatError, ParameterError
from wordveil.parameters import check_choice
from wordveil.sentences.building import PublicSet, StockSettings

EACH = 4_000
"""Sentences of each set, unless something else is asked for: one that is much larger than the others is another kind
of text (MedQuAD explains diseases, the notes are about patients)."""


@dataclass(frozen=True, kw_only=True)
class Ingredient:
    """One public set of texts."""

    name: str
    files: Sequence[str]
    columns: Sequence[str]
    licence: str
    credit: str
    address: str


_DATA = tomllib.loads(Path(__file__).with_name("recipes.toml").read_text(encoding="utf-8"))
RECIPES: Mapping[str, Sequence[Ingredient]] = {
    name: [Ingredient(**one) for one in ingredients] for name, ingredients in _DATA["recipes"].items()
}
"""Name of a recipe -> what goes into it."""


def gathered(recipe: str, folder: Path) -> list[PublicSet]:
    """Return the sets of a recipe from a folder that holds them as published, at any depth, or as one file each."""
    check_choice("recipe", recipe, RECIPES)
    sets = []
    for one in RECIPES[recipe]:
        files = next(filter(None, (sorted(folder.rglob(pattern)) for pattern in one.files)), None)
        if files is None:
            problem = f"holds no {' or '.join(one.files)}, the training part of {one.name} ({one.address})."
            raise ParameterError("data", str(folder), problem)
        sets.append(PublicSet(files=tuple(files), texts=partial(_texts, columns=one.columns)))
    return sets


def followed(recipe: str, settings: StockSettings) -> StockSettings:
    """Return settings with the sources, licences and credits of a recipe."""
    parts = RECIPES[recipe]
    licences = sorted({one.licence for one in parts})
    lines = [f"The sentences of this stock ({recipe}) come from the training parts of", ""]
    lines += [f"{one.name}: {one.credit}. {one.address} ({one.licence})" for one in parts]
    lines += ["", *(f"{licence}: {_DATA['licences'][licence]}" for licence in licences), "", _DATA["changed"]]
    source = ", ".join(one.name for one in parts)
    return replace(settings, source=source, licence=" AND ".join(licences), notice="\n".join(lines))


def _texts(path: Path, columns: Sequence[str]) -> Iterator[str]:
    for row in _rows(path):
        marked = row.get("slots", []) != [] or set(row.get("slot-labels", "").split()) - {"O"}
        if row.get("split", "train") == "train" and not marked:
            yield from (str(row[name]) for name in columns if row.get(name))


def _rows(path: Path) -> Iterator[Mapping[str, Any]]:
    if path.suffix == ".csv":
        with path.open(encoding="utf-8-sig", newline="") as lines:
            yield from csv.DictReader(lines)
    elif path.suffix == ".xml":
        for pair in ElementTree.parse(path).iter("QAPair"):  # noqa: S314 (public files; expat bounds entities)
            yield {child.tag: child.text for child in pair}
    else:
        with (gzip.open if path.suffix == ".gz" else open)(path, "rt", encoding="utf-8") as lines:
            yield from _one_a_line(path, lines)


def _one_a_line(path: Path, lines: Iterator[str]) -> Iterator[Mapping[str, Any]]:
    header = next(lines).rstrip("\n").split("\t") if path.suffix == ".tsv" else None
    for number, line in enumerate(lines, start=1 if header is None else 2):
        try:
            yield dict(zip(header, line.rstrip("\n").split("\t"), strict=True) if header else json.loads(line))
        except (TypeError, ValueError):
            problem = "is no JSON object." if header is None else "has another number of cells than the header."
            raise DataFormatError(path, problem, line=number) from None
