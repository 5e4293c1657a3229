"""Paired texts: what was private, what was released of it, and what is known about each text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from wordveil.api import FORMATS, DocumentSettings, ParameterError, PrivateText, guess_format, tokenizer_for
from wordveil_lab.package import told
from wordveil_lab.rows import read_rows, thinned

LEAST = 8  # pairs: fewer give no number worth printing
ANOTHER = "the release of another text"
"""What a measure stands beside where releases are paired at random."""


@dataclass(frozen=True)
class Measure:
    """One number of a report."""

    group: str  # the table it stands in
    name: str
    value: float
    beside: float | None = None  # what to read it against; None where there is nothing
    baseline: str = ""  # what `beside` is
    n: int = field(kw_only=True)  # what was counted: texts, tokens, words
    better: str = "lower"  # "higher" or "lower", for the owner of the originals; "neither" where it is a description


@dataclass(frozen=True, kw_only=True)
class PairedTexts:
    """n originals with what was released of each; nothing of them is printed."""

    originals: Sequence[str] = field(repr=False)
    released: Sequence[str] = field(repr=False)
    # Name of a column ("label", "attribute", "author") to its value for every text.
    facts: Mapping[str, Sequence[str]] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        n = len(self.originals)
        for name, given in (("released", self.released), *self.facts.items()):
            if len(given) != n:
                raise ParameterError(name, len(given), f"must have one entry for each of the {n} originals.")
        if n < LEAST:
            raise ParameterError("original", n, f"must hold at least {LEAST} texts.")

    def __len__(self) -> int:
        return len(self.originals)

    @cached_property
    def words(self) -> tuple[list[list[str]], list[list[str]]]:
        """The tokens of each original and of each release, as written."""
        split = tokenizer_for("words").split
        first, second = (
            [split(PrivateText(text))[1::2] for text in texts] for texts in (self.originals, self.released)
        )
        return first, second

    @cached_property
    def aligned(self) -> list[tuple[list[str], list[str]]]:
        """Tokens in lower case of the pairs that have equally many, by some way of cutting, to be read one by one."""
        found = []
        for i, (own, other) in enumerate(zip(*self.words, strict=True)):
            texts = self.originals[i], self.released[i]
            plain, apart = (text.split() for text in texts), (text.replace("-", " - ").split() for text in texts)
            for first, second in ((own, other), tuple(plain), tuple(apart)):
                if first and len(first) == len(second):
                    found.append(([word.lower() for word in first], [word.lower() for word in second]))
                    break
        return found

    def thinned(self, limit: int | None) -> PairedTexts:
        """Return at most so many pairs, spread evenly."""
        facts = {name: thinned(list(values), limit) for name, values in self.facts.items()}
        originals, released = (thinned(list(texts), limit) for texts in (self.originals, self.released))
        return PairedTexts(originals=originals, released=released, facts=facts)


def worded(check: str, /, **numbers: object) -> dict[str, str]:
    """Return what was observed and what would be expected, in the words of findings.toml, braces filled."""
    return {part: said.format(**numbers) for part, said in told("court/findings.toml")[check].items()}


def shifted(n: int) -> NDArray[np.int64]:
    """Return for every text another one, at random but always the same: the pairing of the baselines."""
    order = np.random.Generator(np.random.PCG64(0)).permutation(n)
    other = np.empty(n, dtype=np.int64)
    other[order] = np.roll(order, 1)
    return other


def read_column(path: str, column: str | None, *, values: bool = False) -> list[str | None]:
    """Return a column of a file of any format that wordveil reads, or its lines.

    With `values` anything that has a spelling counts as text in JSON Lines: classes are often numbers.
    """
    form = FORMATS.get(guess_format(path) or "")
    if form is not None and form.has_columns and column is None:
        raise ParameterError("column", None, "must be named for this format, for originals and for releases.")
    if values and form is FORMATS["jsonl"] and not path.endswith(".zst"):
        return [None if row[str(column)] is None else str(row[str(column)]) for row in read_rows(path, (str(column),))]
    with DocumentSettings(columns=() if column is None else (column,), drop_others=True).open(path) as reader:
        return [text for record in reader if not record.structural for text in record.texts]
