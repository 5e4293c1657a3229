"""Recipes for stocks of two domains from public sets that do not ship with wordveil: which files, which part, whose.

A recipe takes the training part of every set alone: what is measured with a stock is measured on the other parts. Of
MultiDoGO it leaves out what annotators marked a value in: one in thirty of its names is a word in small letters that no
public list knows for a name.
"""

from __future__ import annotations

import csv
import gzip
import json
from collections.abc import Iterator, Mapping
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

_LICENCES = {
    "CC-BY-4.0": "https://creativecommons.org/licenses/by/4.0/",
    "CDLA-Permissive-1.0": "https://cdla.dev/permissive-1-0/",
}


@dataclass(frozen=True, kw_only=True)
class Ingredient:
    """One public set of texts."""

    name: str
    files: tuple[str, ...]
    columns: tuple[str, ...]
    licence: str
    credit: str
    address: str


RECIPES: Mapping[str, tuple[Ingredient, ...]] = {
    "support": (
        Ingredient(
            name="BANKING77",
            files=("banking77.train.tsv", "banking_data/train.csv"),
            columns=("text",),
            licence="CC-BY-4.0",
            credit="Casanueva et al. (2020), Efficient Intent Detection with Dual Sentence Encoders",
            address="https://github.com/PolyAI-LDN/task-specific-datasets",
        ),
        Ingredient(
            name="MultiDoGO",
            files=("multidogo-customer.jsonl.gz", "splits_annotated_at_turn_level/*/train.tsv"),
            columns=("text", "utterance"),
            licence="CDLA-Permissive-1.0",
            credit="Peskov et al. (2019), Multi-Domain Goal-Oriented Dialogues (MultiDoGO)",
            address="https://github.com/awslabs/multi-domain-goal-oriented-dialogues-dataset",
        ),
    ),
    "clinical": (
        Ingredient(
            name="MTS-Dialog",
            files=("mts-dialog.train.jsonl.gz", "MTS-Dialog-TrainingSet.csv"),
            columns=("note", "section_text"),
            licence="CC-BY-4.0",
            credit="Ben Abacha et al. (2023), An Empirical Study of Clinical Note Generation",
            address="https://github.com/abachaa/MTS-Dialog",
        ),
        Ingredient(
            name="ACI-Bench",
            files=("aci-bench.jsonl.gz", "challenge_data/train.csv"),
            columns=("note",),
            licence="CC-BY-4.0",
            credit="Yim et al. (2023), ACI-BENCH: a Novel Ambient Clinical Intelligence Dataset",
            address="https://github.com/wyim/aci-bench",
        ),
        Ingredient(
            name="MedQuAD",
            files=("medquad-sample.jsonl.gz", "*_QA/*.xml"),
            columns=("answer", "Answer"),
            licence="CC-BY-4.0",
            credit="Ben Abacha and Demner-Fushman (2019), A Question-Entailment Approach to Question Answering",
            address="https://github.com/abachaa/MedQuAD",
        ),
    ),
}
"""Name of a recipe -> what goes into it."""


def gathered(recipe: str, folder: Path) -> list[PublicSet]:
    """Return the sets of a recipe from a folder that holds them as published, at any depth, or as one file each."""
    check_choice("recipe", recipe, RECIPES)
    return [_gathered(one, folder) for one in RECIPES[recipe]]


def _gathered(one: Ingredient, folder: Path) -> PublicSet:
    for pattern in one.files:
        if found := sorted(folder.rglob(pattern)):
            return PublicSet(files=tuple(found), texts=partial(_texts, columns=one.columns))
    names = " or ".join(one.files)
    raise ParameterError("data", str(folder), f"holds no {names}, the training part of {one.name} ({one.address}).")


def followed(recipe: str, settings: StockSettings) -> StockSettings:
    """Return settings with the sources, licences and credits of a recipe."""
    parts = RECIPES[recipe]
    licences = sorted({one.licence for one in parts})
    lines = [f"The sentences of this stock ({recipe}) come from the training parts of", ""]
    lines += [f"{one.name}: {one.credit}. {one.address} ({one.licence})" for one in parts]
    lines += ["", *(f"{licence}: {_LICENCES[licence]}" for licence in licences), ""]
    lines += [
        "Changed: cut into sentences; personal data became slots such as [date] and [name]; turns in which a set",
        "marks a value, sentences with what may be another name in capitals, slurs or markup were left out, and of",
        "others some were chosen. Names in small letters that no set marks there may be left; MultiDoGO's are made up.",
        "",
    ]
    source = ", ".join(one.name for one in parts)
    return replace(settings, source=source, licence=" AND ".join(licences), notice="\n".join(lines))


def _texts(path: Path, columns: tuple[str, ...]) -> Iterator[str]:
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
