"""Builds the list of common words that `wordveil redact` may keep, counted with their capitals, and the lists' digests.

A word's rank is its place among all words of the public sentences, in small letters. Its share of capitals is counted
inside sentences only, where a capital says something. Words on lists of names and places are marked: there a reader
cannot tell the word from the name. Sources and licences stand in NOTICE. Two runs write the same bytes. A minute.

    python tools/build_public_words.py public-en.txt.gz census1990-first-names.tsv census1990-surnames.tsv.gz
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import re
import zoneinfo
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from wordveil.text.function_words import FUNCTION_WORDS

LISTS = Path(__file__).parents[1] / "src" / "wordveil" / "withholding" / "lists"
LONGEST = 8_000  # ranks in the list
NEVER = 0.5  # share of capitals above which a word is on no list
OFTEN = 0.05  # share above which it is unsure
FIRST_NAME = 0.003  # percent of women or men with this first name
SURNAME = 0.02  # percent of the population; half of it makes good, key and best unsure
WELL_KNOWN = 0.005  # percent: a first name that is never taken for the word in small letters
RARE = 0.35  # share of capitals below which the small spelling of a very common word is the word
COMMONEST = 2_000
IN_SMALL = frozenset(("may", "march", "will"))  # never a name in small letters, whatever the lists say
PARTICLES = "de la le el al der den das di da du des von van ben bin mac re st ten va un san"  # of names
WORD = re.compile(r"[A-Za-z]+(?:'[A-Za-z]+)*")


def lines(path: Path) -> Iterator[str]:
    """Yield the lines of a plain or gzip file."""
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rt", encoding="utf-8") as file:
        yield from file


def cased_counts(path: Path) -> tuple[Counter[str], Counter[str], Counter[str]]:
    """Return how often each word occurs, how often inside a sentence, and how often there with a capital."""
    total, inside, capital = Counter[str](), Counter[str](), Counter[str]()
    for line in lines(path):
        for found in WORD.finditer(line):
            word = found[0].removesuffix("'s")
            low = word.lower()
            total[low] += 1
            if found.start() and re.search(r"[\w,;)] $", line[max(0, found.start() - 2) : found.start()]):
                inside[low] += 1
                capital[low] += word[0].isupper()
    return total, inside, capital


def first_names(path: Path) -> dict[str, float]:
    """Return the larger of its two shares for each first name, in percent."""
    rows = (line.split("\t") for line in list(lines(path))[1:])
    return {name: max(float(female), float(male)) for name, female, male in rows}


def surnames(path: Path) -> dict[str, float]:
    """Return the share of each surname, in percent."""
    rows = (line.split("\t") for line in list(lines(path))[1:])
    return {name: float(percent) for name, percent in rows}


def places() -> frozenset[str]:
    """Return the words of place names in the time zone database."""
    names = (name.rpartition("/")[2] for name in zoneinfo.available_timezones() if "/" in name)
    return frozenset(word.lower() for name in names for word in re.findall(r"[A-Za-z]{3,}", name))


def mark(word: str, rank: int, share: float, first: float, last: float, place: bool) -> str:
    """Return the mark of a word: "" sure, "^" often a capital, "~" a name too, "=" that but kept in small letters."""
    if word in FUNCTION_WORDS and word not in IN_SMALL:
        return ""
    if first >= FIRST_NAME or last >= SURNAME or place:
        common = rank <= COMMONEST and share < RARE and first < WELL_KNOWN
        return "=" if common or word in IN_SMALL else "~"
    return "^" if share > OFTEN else ""


def rows(sentences: Path, first: dict[str, float], last: dict[str, float]) -> Iterator[str]:
    """Yield the lines of the list."""
    total, inside, capital = cased_counts(sentences)
    zones = places()
    yield "word\trank\tcapitals\tmark\n"
    plain = (word for word, _ in sorted(total.items(), key=lambda item: (-item[1], item[0])))
    for rank, word in zip(range(1, LONGEST + 1), plain, strict=False):
        share = capital[word] / max(1, inside[word])
        single = len(word) == 1 and word not in "ai"
        if "'" in word or single or word in PARTICLES.split() or (share > NEVER and word != "i"):
            continue
        said = mark(word, rank, share, first.get(word, 0.0), last.get(word, 0.0), word in zones)
        yield f"{word}\t{rank}\t{share:.3f}\t{said}\n"


def digests() -> dict[str, str]:
    """Return the SHA-256 of every list."""
    files = sorted([*LISTS.glob("*.txt"), *LISTS.glob("*.tsv")])
    return {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in files}


def main() -> None:
    """Writes the list and the digests, and prints what it was made from."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    for name in ("sentences", "first_names", "surnames"):
        parser.add_argument(name, type=Path, nargs="?")
    given = parser.parse_args()
    if given.sentences is not None:
        made = "".join(rows(given.sentences, first_names(given.first_names), surnames(given.surnames)))
        (LISTS / "common.tsv").write_text(made, encoding="utf-8")
        for path in (given.sentences, given.first_names, given.surnames):
            print(f"{path.name} sha256 {hashlib.sha256(path.read_bytes()).hexdigest()}")
    (LISTS / "digests.json").write_text(json.dumps(digests(), indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
