"""What a promise says of two inputs, and how strong it is, in plain words."""

from __future__ import annotations

import math
from dataclasses import dataclass

from wordveil.promises.rounding import round_down, round_up

WEAK = 0.99  # of an even guess; a promise that allows more is called weak
CERTAIN = 1e-6  # of an even guess: where it may be wrong more rarely, nothing is hidden
NEARLY_ONE = 0.9999  # a bound above it says no more than that it is near 1, and is not printed as 100 %
EXP_LIMIT = 700.0  # nats; beyond, e^loss leaves float64


@dataclass(frozen=True, kw_only=True)
class WorkedPair:
    """Two public words and what the guarantee says of them."""

    words: tuple[str, str]  # the two words
    distance: float | None  # their distance in the guarantee's metric; None where the promise does not depend on it
    loss: float  # largest log-ratio between their output probabilities, in nats, slack included
    delta: float = 0.0  # additive term of the inequality

    def sentence(self) -> str:
        """The pair's bound as what happens to an even bet.

        With a delta, no bound holds for every output; but no guess between two equally likely inputs is right with a
        probability above (e^loss + delta) / (e^loss + 1).

        Reference:
            Kairouz, Oh, Viswanath (2015), The Composition Theorem for Differential Privacy, arXiv:1311.0776, section 2.
        """
        distance = "" if self.distance is None else f" (distance {round_down(self.distance)})"
        between = f"'{self.words[0]}' or '{self.words[1]}'{distance}"
        if self.loss == self.delta == 0:
            return f"{between}: no output tells anything of which it was, however often the word is released."
        if self.delta:
            bound = "as good as 100 %" if self.right > NEARLY_ONE else f"at most {round_up(100 * self.right)} %"
            return f"{between}: a guess that was even before the output is seen is right with a chance of {bound}."
        factor = round_up(math.exp(self.loss)) if self.loss < EXP_LIMIT else f"e^{round_up(self.loss)}"
        return f"{between}: seeing the output multiplies the odds by at most {factor}, so an even guess {self.sure}."

    @property
    def right(self) -> float:
        """The largest chance that a guess between the two words is right that was even before the output was seen."""
        inverse = math.exp(-self.loss)
        return (1 + self.delta * inverse) / (1 + inverse)

    @property
    def wrong(self) -> float:
        """The rest of `right`: the least chance that such a guess is wrong."""
        inverse = math.exp(-self.loss)
        return (1 - self.delta) * inverse / (1 + inverse)

    @property
    def sure(self) -> str:
        """What becomes of an even guess, in words."""
        if self.right > NEARLY_ONE:
            return "may become all but certain"
        return f"becomes at most {round_up(100 * self.right)} % sure"


@dataclass(frozen=True, kw_only=True)
class InWords:
    """A guarantee in one sentence, and whether it is a weak one."""

    sentence: str  # what becomes of an even guess between two words that are typical of the vocabulary
    weak: bool  # True where the guess may become more than 99 % sure, or nothing is promised
    # True where an even guess, also between a typical word and the one nearest to it, may be wrong less than once in
    # a million times
    hides_nothing: bool = False
