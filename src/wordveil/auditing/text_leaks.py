"""Leak checks on any callable from text to text: what no theorem about words sees.

Canaries are planted: made-up words, numbers and mixed case inside carrier words, then looked for in what comes back.
Some disclosures are by design (length, order, casing shape); name them in `declared` and they are reported, not
refuted. A canary counts as found by its first fourteen letters or digits: in a release of a hundred characters
that happens by chance with probability below 1e-12.
"""

from __future__ import annotations

import string
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from wordveil.auditing.findings import Finding, Status
from wordveil.auditing.intervals import lower_bound, upper_bound
from wordveil.auditing.subjects import TextFunction, released_text
from wordveil.errors import ParameterError

DISCLOSURES = ("unknown words", "digits", "casing", "length", "order")
"""What a text mechanism may disclose by declaring it."""

BY_CHANCE = 1e-12
LETTERS = 16
ENOUGH = 14
CYCLE = 4  # words of the text that is released again and again
REPEATS = 50


@dataclass(frozen=True, kw_only=True)
class TextChecks:
    """How the texts of the checks are made; `ParameterError` if a value is out of range."""

    words: Sequence[str]  # carrier words the mechanism knows, lower case, at least 2, far apart in meaning
    declared: Collection[str] = ("length", "order")  # disclosures the mechanism declares; see `DISCLOSURES`
    trials: int = 40  # texts per check, at least 20
    alpha: float = 1e-6  # chance, at most, that an honest mechanism is refuted by a check that counts
    seed: int = 0  # for the canaries

    def __post_init__(self) -> None:
        if len(self.words) < 2:
            raise ParameterError("words", len(self.words), "must be at least 2 carrier words.")
        if self.trials < 20:
            raise ParameterError("trials", self.trials, "must be at least 20.")
        unknown = sorted(set(self.declared) - set(DISCLOSURES))
        if unknown:
            raise ParameterError("declared", unknown, f"must be among {', '.join(DISCLOSURES)}.")


def check_text(function: TextFunction, checks: TextChecks) -> list[Finding]:
    """Return findings on unknown words, digits, casing, length, order, repeated noise, by about 10 * trials calls."""
    run = _Run(function, checks)
    return [
        run.planted("unknown words", string.ascii_lowercase),
        run.planted("digits", string.digits),
        run.casing(),
        run.length(),
        run.order(),
        run.repeats(),
    ]


class _Run:
    def __init__(self, function: TextFunction, checks: TextChecks) -> None:
        self.function, self.checks = function, checks
        self.generator = np.random.default_rng(checks.seed)

    def release(self, text: str) -> str:
        return released_text(self.function(text))

    def carriers(self, n: int) -> list[str]:
        return [str(word) for word in self.generator.choice(list(self.checks.words), size=n)]

    def finding(self, name: str, found: bool, observed: str, expected: str, alpha: float) -> Finding:
        status = Status.PASSED
        if found:
            status = Status.DISCLOSED if name in self.checks.declared else Status.REFUTED
        return Finding(check=name, status=status, observed=observed, expected=expected, alpha=alpha)

    def planted(self, name: str, alphabet: str) -> Finding:
        """Look for a canary of these letters, or most of it, in the released text."""
        found = 0
        for _ in range(self.checks.trials):
            secret, text = "".join(self.generator.choice(list(alphabet), size=LETTERS)), self.carriers(4)
            text.insert(int(self.generator.integers(5)), secret)
            released = self.release(" ".join(text)).casefold()
            found += secret[:ENOUGH] in released
        observed = f"{found} of {self.checks.trials} planted canaries came back"
        chance = BY_CHANCE * self.checks.trials
        return self.finding(name, found > 0, observed, "none: a canary cannot be guessed", chance)

    def casing(self) -> Finding:
        """Does the release have the same pattern of capitals as the text, more often than as another text?"""
        same = other = total = 0
        for _ in range(self.checks.trials):
            shapes = self.generator.integers(0, 2, size=(2, 8)).astype(bool)
            words = [w.upper() if up else w for w, up in zip(self.carriers(8), shapes[0], strict=True)]
            released = [word for word in self.release(" ".join(words)).split() if any(c.isalpha() for c in word)]
            for i, word in enumerate(released[:8]):
                capital = word[:1].isupper()
                same += capital == bool(shapes[0, i])
                other += capital == bool(shapes[1, i])
                total += 1
        return self._more("casing", same, other, total, "capitals where the text has them", "where another text has")

    def _more(self, name: str, same: int, other: int, total: int, what: str, where: str) -> Finding:
        if not total:
            return self.finding(name, False, "nothing was released", "nothing", 0.0)
        share = self.checks.alpha / 4
        low, high = float(lower_bound(same, total, share)), float(upper_bound(other, total, share))
        observed = f"{same} of {total} {what}, {other} of {total} {where}"
        return self.finding(name, low > high, observed, "equally often", self.checks.alpha)

    def length(self) -> Finding:
        """Is the number of released words that of the text?"""
        same = other = 0
        for _ in range(self.checks.trials):
            sizes = self.generator.choice(np.arange(2, 30), size=2, replace=False)
            released = len(self.release(" ".join(self.carriers(int(sizes[0])))).split())
            same, other = same + (released == sizes[0]), other + (released == sizes[1])
        return self._more(
            "length", same, other, self.checks.trials, "releases as long as their text", "as long as another"
        )

    def order(self) -> Finding:
        """Does a word marked by its rarity in the text come back at its own place more often than at another?"""
        marker, filler = str(self.checks.words[0]), str(self.checks.words[1])
        there = elsewhere = 0
        for _ in range(self.checks.trials):
            place, other = (int(i) for i in self.generator.choice(6, size=2, replace=False))
            text = [filler] * 6
            text[place] = marker
            released = self.release(" ".join(text)).casefold().split()
            there += place < len(released) and released[place] == marker.casefold()
            elsewhere += other < len(released) and released[other] == marker.casefold()
        what = "releases have the marked word at its place"
        return self._more("order", there, elsewhere, self.checks.trials, what, "at another")

    def repeats(self) -> Finding:
        """Do two releases of one text agree at the same places more often than at places that merely share a word?"""
        words = self.carriers(CYCLE)
        text = " ".join(words * REPEATS)
        releases = [self.release(text).casefold().split() for _ in range(4)]
        same = [a == b for a, b in zip(releases[0], releases[1], strict=False)]
        # One cycle later stands the same word; each released word is used in one comparison only.
        apart = [a == b for a, b in zip(releases[2], releases[3][CYCLE:], strict=False)]
        name = "noise repeated for the same text"
        if not same or not apart:
            return self.finding(name, False, "too little was released to compare", "fresh noise", 0.0)
        share = self.checks.alpha / 2
        low = float(lower_bound(sum(same), len(same), share))
        high = float(upper_bound(sum(apart), len(apart), share))
        observed = (
            f"two releases of one text agree at {sum(same)} of {len(same)} places, and at {sum(apart)} of "
            f"{len(apart)} other places with the same word"
        )
        return self.finding(name, low > high, observed, "equally often: each release draws afresh", self.checks.alpha)
