"""What redaction keeps, and what still identifies: lists of 1 000 to 8 000 words, judged on public sets.

    WORDVEIL_DATA=... WORDVEIL_SPACY_MODEL=... python -m wordveil_lab.leagues.redaction docs/results

Writes the tables of redaction.md, whose words say what each is of, and draws redaction.svg; a quarter of an hour of one
core. Use is a linear classifier of words and pairs of words, trained on releases and judged on originals and on
releases. Attackers were chosen on text that teaches them.
"""

from __future__ import annotations

import os
import re
import sys
from collections import Counter
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from wordveil.api import Redactor
from wordveil_lab.evaluation.models import load_sklearn
from wordveil_lab.leagues import redaction_releases as redacted
from wordveil_lab.leagues.redaction_releases import COMMON, DETECTOR, TEM_ROW, WORD_BY_WORD, Release, Row, Token
from wordveil_lab.plots import Plotted, draw
from wordveil_lab.rows import read_labelled, read_rows
from wordveil_lab.tables import markdown_table, refilled, short_number

Spell = Callable[[str], str]
Labelled = Sequence[tuple[str, str]]
"""Texts and their classes."""
Task = tuple[Labelled, Labelled]
"""Texts that teach, and texts that are judged."""
Marked = Sequence[Mapping[str, Any]]
"""Texts with their values."""
SPELLINGS: dict[str, Spell] = {"as written": str, "small letters": str.lower, "shouted": str.upper}
TRAINED, JUDGED = 10_003, 3_080  # texts of a task at most: all questions to a bank
FILMS = 4_000, 2_000  # reviews that teach, and that are judged
REVIEWS, TURNS = 1_000, 30_000  # of chats: what attackers have read, with all complaints
FLOOR = "nothing (the commonest class)"
BANK = "questions to a bank, 77 intents"
NEWS, SHOPS, FILM = "news, 4 fields", "reviews of shops (Yelp), sentiment", "film reviews (IMDB), sentiment"
"""Longer texts: a detector is not asked to read them, nor hidden words of films to be drawn."""
PUBLISHED, CHATS, HEADS = (redacted.FACTS[part] for part in ("published", "chats", "heads"))
"""Presidio's recall by its own authors, what is counted of the values marked in chats, and heads of tables."""
QUASI = frozenset(("DATE_TIME", "AGE", "TITLE", "NRP"))
COUNTED = {kind for kinds in CHATS.values() for kind in kinds}


@dataclass(frozen=True, kw_only=True)
class Passed:
    """What becomes of marked values."""

    whole: int  # how many pass with all tokens
    part: int  # how many with some
    values: int  # all of them
    others: float  # the share of tokens outside of them that is kept


def some(given: Sequence[Any], most: int) -> list[Any]:
    """Return so many at most, from all over."""
    return list(given[:: -(-len(given) // most)])


def tasks(data: Path) -> dict[str, Task]:
    """Return the tasks, by what is told."""
    sentences, documents, privacy = data / "sentences", data / "documents", data / "privacy"
    bank = [read_labelled(sentences / f"banking77.{part}.tsv") for part in ("train", "test")]
    news = read_labelled(documents / "agnews.test.tsv", text="title+description")
    stars = read_labelled(documents / "yelp-stars.dev.jsonl.gz", label="stars")
    shops = [(text, str(float(given) > 3)) for text, given in stars if float(given) != 3]
    films = [read_labelled(documents / f"imdb.{part}.jsonl.gz") for part in ("train", "test10k")]
    notes = [
        read_labelled(privacy / f"mts-dialog.{part}.jsonl.gz", text="note", label="section")
        for part in ("train", "test")
    ]
    pairs: dict[str, Sequence[Labelled]] = {
        BANK: bank,
        NEWS: [some(news[::2], TRAINED), some(news[1::2], JUDGED)],
        SHOPS: [shops[: 3 * len(shops) // 4], shops[3 * len(shops) // 4 :]],
        FILM: [films[0][: FILMS[0]], films[1][: FILMS[1]]],
        "clinical notes, 20 sections": notes,
    }
    return {name: (train, test) for name, (train, test) in pairs.items()}


def accuracies(one: Task, release: Release) -> tuple[float, float]:
    """Return the shares of originals, and of releases, whose class a linear classifier of releases tells."""
    (train, classes), (test, right) = (zip(*part, strict=True) for part in one)
    seen, shown = release(train), release(test)
    vectorizer = load_sklearn("feature_extraction.text").TfidfVectorizer
    words = vectorizer(ngram_range=(1, 2), sublinear_tf=True, token_pattern=r"(?u)[\w']+")
    bare = [redacted.PLACEHOLDER.sub(" ", text) for text in seen]
    pairs = ((bare, test), (seen, shown))
    on_originals, on_releases = (redacted.told_share(words, learnt, classes, asked, right) for learnt, asked in pairs)
    return on_originals, on_releases


def commonest_share(train: Sequence[tuple[Any, str]], test: Sequence[tuple[Any, str]]) -> float:
    """Return the share of test texts of the class that is the commonest among those that teach."""
    return sum(label == commonest(train) for _, label in test) / len(test)


def commonest(pairs: Sequence[tuple[Any, str]]) -> str:
    """Return the commonest class."""
    return Counter(label for _, label in pairs).most_common(1)[0][0]


def use(name: str, one: Task, compared: Sequence[Row]) -> dict[str, tuple[float, float] | None]:
    """Return accuracy judged on originals and on releases, of each row; the commonest class is the floor."""
    floor = commonest_share(*one)
    found: dict[str, tuple[float, float] | None] = {FLOOR: (floor, floor)}
    for each in compared:
        long = each.name.startswith(DETECTOR) and name in (NEWS, SHOPS, FILM)
        drawn = each.name.startswith("common") and ", " in each.name and name == FILM
        found[each.name] = None if long or drawn else accuracies(one, each.release)
    return found


def passing(
    tokens: Callable[[str], list[Token]], marked: Marked, spell: Spell, kinds: Container[str] | None = None
) -> Passed:
    """Return what becomes of marked values, of all types or of some; not where the spelling changes the length."""
    whole = part = values = kept = others = 0
    for record in marked:
        text = record["text"]
        found = tokens(spell(text)) if len(spell(text)) == len(text) else []
        for value in record["spans"] if found else ():
            if kinds is None or value["type"] in kinds:
                inside = [stays for start, end, stays in found if start < value["end"] and end > value["start"]]
                whole, part, values = whole + all(inside), part + any(inside), values + 1
        spans = [(value["start"], value["end"]) for value in record["spans"]]
        outside = [stays for start, end, stays in found if not any(start < e and end > s for s, e in spans)]
        kept, others = kept + sum(outside), others + len(outside)
    return Passed(whole=whole, part=part, values=values, others=kept / others)


def standing(release: Release, marked: Marked, spell: Spell) -> int:
    """Return how many marked values stand in the releases of their texts, where words are exchanged for others."""
    texts = [record for record in marked if len(spell(record["text"])) == len(record["text"])]
    shown = [text.lower() for text in release([spell(record["text"]) for record in texts])]
    return sum(
        bool(re.search(rf"(?<!\w){re.escape(value['value'].lower())}(?!\w)", text))
        for record, text in zip(texts, shown, strict=True)
        for value in record["spans"]
    )


def chats(data: Path) -> list[dict[str, Any]]:
    """Return the different turns of customers that hold a value to be counted, each with its values."""
    found = {}
    for record in read_rows(data / "documents" / "multidogo-customer.jsonl.gz", ("text", "slots")):
        words = record["text"].split(" ")
        ends = np.cumsum([len(word) + 1 for word in words])
        spans = [
            {"start": int(ends[low] - len(words[low]) - 1), "end": int(ends[high - 1] - 1), "type": kind}
            for low, high, kind in record["slots"] or ()
        ]
        if spans and {span["type"] for span in spans} & COUNTED:
            found[record["text"]] = {"text": record["text"], "spans": spans}
    return list(found.values())


def gaps(texts: Sequence[str]) -> tuple[float, float]:
    """Return the share of released sentences without a gap, and with one at most."""
    sentences = [each for text in texts for each in re.split(r"(?<=[.!?])\s+|\n+", text) if len(each.split()) > 1]
    counts = np.array([len(redacted.PLACEHOLDER.findall(each)) for each in sentences])
    return float((counts == 0).mean()), float((counts <= 1).mean())


def cell(value: object) -> str:
    """Return what stands in a table: shares with two digits, pairs of them with three."""
    if isinstance(value, tuple):
        return " / ".join(map(short_number, value))
    if isinstance(value, float):
        return short_number(value, 2)
    return "–" if value is None else str(value)


def sheet(head: Sequence[str], rows: Sequence[Sequence[object]]) -> list[str]:
    """Return a table."""
    return markdown_table(head, (map(cell, row) for row in rows))


def _values(compared: Sequence[Row], marked: Marked) -> list[str]:
    found: list[list[object]] = []
    for each in compared:
        for name, spell in SPELLINGS.items():
            if each.tokens is not None and ", surrogates" not in each.name:  # the rule is the same
                passed = passing(each.tokens, marked, spell)
                found.append([each.name, name, passed.whole, passed.part, passed.values, passed.others])
            elif each.name in (WORD_BY_WORD, TEM_ROW):
                values = sum(len(r["spans"]) for r in marked if len(spell(r["text"])) == len(r["text"]))
                found.append([each.name, name, standing(each.release, marked, spell), None, values, None])
    return sheet(HEADS["values"], found)


def _both(default: Row, detector: Row | None, marked: Marked, kinds: Container[str]) -> list[Passed | None]:
    """Return what passes the default, and the detector where there is one."""
    return [passing(each.tokens, marked, str, kinds) if each and each.tokens else None for each in (default, detector)]


def _by_type(default: Row, detector: Row | None, marked: Marked) -> list[str]:
    found: list[list[object]] = []
    types = Counter(value["type"] for record in marked for value in record["spans"])
    groups = {"all": frozenset(types), "all but titles, ages, dates and nationalities": frozenset(types) - QUASI}
    for name, kinds in {**groups, **{kind: {kind} for kind, _ in types.most_common()}}.items():
        pair = _both(default, detector, marked, kinds)
        counts = [n for passed in pair for n in ((passed.whole, passed.part) if passed else (None, None))]
        found.append([name.lower(), pair[0] and pair[0].values, *counts, PUBLISHED.get(name)])
    return sheet(HEADS["types"], found)


def _chats(default: Row, detector: Row | None, marked: Marked) -> list[str]:
    found: list[list[object]] = []
    for name, kinds in CHATS.items():
        pair = _both(default, detector, marked, kinds)
        found.append([name, pair[0] and pair[0].values, *(passed and passed.whole for passed in pair)])
    found.append(["others kept", None, *(each and each.others for each in _both(default, detector, marked, ()))])
    return sheet(HEADS["chats"], found)


def read_closely(release: Release, train: Labelled, test: Labelled, *, conditions: bool = False) -> float:
    """Return the share of released texts whose class runs of one to five characters, words and pairs of words tell.

    That reads layout, marks and placeholders too, which is what tells authors. Conditions are also told by their own
    words alone, else by the commonest class: the better reader counts.
    """
    learnt, asked = (release([text for text, _ in pairs]) for pairs in (train, test))
    classes, right = ([label for _, label in pairs] for pairs in (train, test))
    vectorizer = load_sklearn("feature_extraction.text").TfidfVectorizer
    runs = vectorizer(analyzer="char", ngram_range=(1, 5), sublinear_tf=True, lowercase=False, min_df=3)
    words = vectorizer(ngram_range=(1, 2), sublinear_tf=True, token_pattern=r"[\w']+|[^\w\s]", min_df=2)
    both = load_sklearn("pipeline").make_union(runs, words)
    share = redacted.told_share(both, learnt, classes, asked, right)
    if not conditions:
        return share
    named = (Counter([*redacted.named_conditions(text), commonest(train)]).most_common(1)[0][0] for text in asked)
    return max(share, float(np.mean([said == label for said, label in zip(named, right, strict=True)])))


def _identifying(data: Path, compared: Sequence[Row], bank: Task) -> list[str]:
    documents = data / "documents"
    reviews = [text for text, _ in read_labelled(documents / "imdb.test10k.jsonl.gz")[:REVIEWS]]
    attacked, read = ([text for text, _ in pairs] for pairs in (bank[1], bank[0]))
    complaints = read_labelled(documents / "cfpb-complaints.jsonl.gz", label="product")
    turns = dict.fromkeys(row["text"] for row in read_rows(documents / "multidogo-customer.jsonl.gz", ("text",)))
    public = [text for text, _ in complaints] + some(list(turns), TURNS)
    posts = read_labelled(documents / "reddit-mental-health.jsonl.gz", label="author")
    teaching = {text for text, _ in posts[::2]}
    writers = posts[::2], [post for post in posts[1::2] if post[0] not in teaching]  # posts repeat
    named = redacted.conditions(posts)
    halves = tuple([(text, about) for text, author, about in named if int(author) % 2 == odd] for odd in (0, 1))

    def attack(each: Row) -> list[object]:
        releases = each.release(reviews)
        holes = gaps(releases) if each.tokens else (None, None)
        kept = each.tokens is not None or each.release is list
        alone = (redacted.singled_out(releases), redacted.singled_out(releases, rarest=False)) if kept else (None, None)
        guesses: list[float | None] = [None, None]
        if each.redactor is not None:
            guesses = [redacted.guessed(each.redactor, attacked, read, linear=True)]
            guesses += [redacted.guessed(each.redactor, attacked, public, linear=False)]
        facts: list[float | None] = [None, None]
        if each.name in ("as they are", "common:4000", WORD_BY_WORD, TEM_ROW):
            facts = [read_closely(each.release, *writers), read_closely(each.release, *halves, conditions=True)]
        again = max(redacted.found_again(seen, releases) for seen in (reviews, each.image(reviews)))
        return [each.name, *holes, again, alone[0], *guesses, *facts, alone[1]]

    own, other, asked = (
        [pair for text in texts for pair in redacted.places(Redactor(), text)] for texts in (read, public, attacked)
    )
    floors = [commonest_share(*pair) for pair in ((own, asked), (other, asked), writers, halves)]
    chosen = {"as they are", *(f"common:{n}" for n in COMMON), WORD_BY_WORD, TEM_ROW}
    found = [attack(each) for each in compared if each.name in chosen]
    head = (title.format(reviews=REVIEWS) for title in HEADS["identifying"])
    return sheet([*head], [*found, [FLOOR, None, None, 1 / REVIEWS, None, *floors, None]])


def measured(data: Path) -> tuple[dict[str, list[str]], bytes]:
    """Return the tables of the page, by their headings or comments, and its figure."""
    all_tasks, compared = tasks(data), redacted.rows()
    marked = list(read_rows(data / "privacy" / "presidio-synth.jsonl.gz", ("text", "spans")))
    results = {name: use(name, one, compared) for name, one in all_tasks.items()}
    names = (FLOOR, *(each.name for each in compared))
    kept = [[name, *(found[name] for found in results.values())] for name in names]
    default = next(each for each in compared if each.name == "common:4000")
    detector = next((each for each in compared if each.name.startswith(DETECTOR)), None)
    tables = {
        "## Use": sheet(["kept", *results], kept),
        "## Marked values that pass": _values(compared, marked),
        "<!-- table: types -->": _by_type(default, detector, marked),
        "<!-- table: chats -->": _chats(default, detector, chats(data)),
        "## Gaps, and what still identifies": _identifying(data, compared, all_tasks[BANK]),
    }
    points = [
        Plotted(figure="judged on originals", series=name, epsilon=float(n), value=found[f"common:{n}"][0])  # type: ignore[index]
        for name, found in results.items()
        for n in COMMON
    ]
    return tables, draw(points, "What a linear classifier learns from redacted text", "words on the list")


def main() -> None:
    """Write the tables of the page and the figure, both in a folder."""
    page = Path(sys.argv[1]) / "redaction.md"
    tables, figure = measured(Path(os.environ["WORDVEIL_DATA"]))
    page.write_text(refilled(page.read_text(encoding="utf-8"), tables), encoding="utf-8")
    page.with_suffix(".svg").write_bytes(figure)


if __name__ == "__main__":
    main()
