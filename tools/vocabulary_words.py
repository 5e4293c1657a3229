"""Chooses the words of the embedded vocabulary; used only by build_vocabulary.py.

Three groups, in this order: the model's own whole-word pieces of letters a to z (in the model's id order),
contractions and their parts, and words of two permissively licensed English word lists (alphabetical). Which
listed words are taken is decided by a public word count; the counts themselves are not shipped.
It invents no word: every added word stands in one of the lists.
"""

from __future__ import annotations

import csv
import gzip
import hashlib
import importlib.metadata
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from minilm import Model, package_folder

LETTERS = re.compile(r"[a-z]+")
SHORTEST_ADDED_WORD = 3
# Web counts favour shop names and abbreviations; a word that both lists know is more surely an English word.
BOTH_LISTS_BONUS = 4

CONTRACTION_PARTS = ("n't", "'s", "'re", "'ll", "'ve", "'d", "'m")
_CONTRACTIONS = """
    ain't aren't can't couldn't didn't doesn't don't hadn't hasn't haven't isn't mightn't mustn't needn't shouldn't
    wasn't weren't won't wouldn't i'd i'll i'm i've you'd you'll you're you've he'd he'll he's she'd she'll she's
    it'd it'll it's we'd we'll we're we've they'd they'll they're they've that'd that'll that's there'd there'll
    there's here's who'd who'll who's what's where's when's how's let's could've might've should've would've o'clock
    ma'am y'all
"""
CONTRACTIONS = tuple(_CONTRACTIONS.split())


@dataclass(frozen=True, kw_only=True)
class ListSource:
    """One file of one installed package that was read for words or counts."""

    package: str
    version: str
    licence: str
    file: str
    sha256: str
    used_for: str


def choose_words(model: Model, rows: int) -> tuple[list[str], dict[str, int], list[ListSource]]:
    """Chooses the words of the vocabulary.

    Args:
        model: The model whose whole-word pieces come first.
        rows: Number of words wanted; the listed words fill up what the other groups leave.

    Returns:
        The words in their final order, how many each group gave, and the list sources.
    """
    own = [piece for piece in model.pieces if LETTERS.fullmatch(piece)]
    chosen = list(dict.fromkeys([*own, *CONTRACTIONS, *CONTRACTION_PARTS]))
    spelling, spelling_source = _spelling_list()
    lexicon, lexicon_source = _lexicon_forms()
    counts, counts_source = _word_counts()
    taken = set(chosen)
    both = spelling & lexicon

    def rank(word: str) -> tuple[int, str]:
        return -counts.get(word, 0) * (BOTH_LISTS_BONUS if word in both else 1), word

    listed = sorted(_eligible(spelling | lexicon) - taken, key=rank)
    added = sorted(listed[: max(0, rows - len(chosen))])
    groups = {"model_pieces": len(own), "contractions_and_parts": len(chosen) - len(own), "listed_words": len(added)}
    return chosen + added, groups, [spelling_source, lexicon_source, counts_source]


def _eligible(words: Iterable[str]) -> set[str]:
    return {word for word in words if len(word) >= SHORTEST_ADDED_WORD and LETTERS.fullmatch(word)}


def _spelling_list() -> tuple[set[str], ListSource]:
    """The words of symspellpy's English dictionary (membership from SCOWL)."""
    source, path = _source(
        "symspellpy", "symspellpy", "frequency_dictionary_en_82_765.txt", licence="MIT", used_for="words"
    )
    lines = path.read_text(encoding="utf-8-sig").splitlines()
    return {line.split(" ")[0] for line in lines}, source


def _lexicon_forms() -> tuple[set[str], ListSource]:
    """The inflected forms of lemminflect's dictionary (from the SPECIALIST Lexicon): medical, American."""
    source, path = _source("lemminflect", "lemminflect", "resources/infl_lu.csv.gz", licence="MIT", used_for="words")
    with gzip.open(path, "rt", encoding="utf-8", newline="") as stream:
        rows = list(csv.reader(stream))
    # A row is: lemma, part of speech, forms...; a cell may hold spellings joined by a slash.
    return {form for row in rows for cell in (row[0], *row[2:]) for form in cell.split("/")}, source


def _word_counts() -> tuple[dict[str, int], ListSource]:
    """The counts of wordsegment's unigram file; used to choose, never shipped."""
    source, path = _source(
        "wordsegment", "wordsegment", "unigrams.txt", licence="Apache-2.0", used_for="choice by count, not shipped"
    )
    lines = path.read_text(encoding="utf-8").splitlines()
    return {word: int(float(count)) for word, count in (line.split("\t") for line in lines)}, source


def _source(package: str, module: str, file: str, *, licence: str, used_for: str) -> tuple[ListSource, Path]:
    path = package_folder(module, package) / file
    source = ListSource(
        package=package,
        version=importlib.metadata.version(package),
        licence=licence,
        file=file,
        sha256=hashlib.sha256(path.read_bytes()).hexdigest(),
        used_for=used_for,
    )
    return source, path
