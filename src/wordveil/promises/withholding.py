"""The promise of a release that withholds: inputs that agree in what is shown have one law of outputs, exactly.

    P[A(x) in U] = P[A(x') in U]  for every U, and every x, x' that agree in what `agreeing` names

It says nothing of two inputs that differ there: what is shown is shown. That is why it is no local DP of epsilon 0.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from wordveil.promises.guarantees import Guarantee, PrivacyUnit, Standing
from wordveil.promises.worked import InWords


@dataclass(frozen=True, kw_only=True)
class Withholding(Guarantee):
    """Loss 0 between inputs that agree in what is shown; nothing is promised between others.

    Attributes:
        agreeing: What two inputs must agree in, as words that follow "that agree in".
        unit: The privacy unit.
        standing: The grounds.
        assumptions: Conditions the promise rests on, each a sentence.
        scope: The lists and the reading of texts, by digests.

    Example:
        >>> Withholding(agreeing="length").graph
        'texts that agree in length'
    """

    promise = "withholding"
    agreeing: str
    unit: PrivacyUnit = PrivacyUnit.WHOLE_TEXT
    standing: Standing = Standing.PROVED
    assumptions: tuple[str, ...] = ()
    scope: tuple[str, ...] = ()
    epsilon = delta = slack = 0.0
    metric = reason = ""
    largest_distance = None

    @property
    def graph(self) -> str:  # type: ignore[override]  # of the fields of a promise it is a function of another
        """What makes two inputs adjacent."""
        return f"texts that agree in {self.agreeing}"

    def in_words(self, typical: Callable[[], float], near: Callable[[], float]) -> InWords:
        sentence = f"between two texts that agree in {self.agreeing}, an even guess stays even; others are told apart"
        return InWords(sentence=sentence, weak=False)

    def sentence(self) -> str:
        return (
            f"{self.promise} ({self.standing}): two texts that agree in {self.agreeing} give every release with equal "
            f"probability (loss 0 between them alone); nothing is promised for other pairs; unit: {self.unit}"
        )
