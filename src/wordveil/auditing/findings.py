"""One result of one check: what was looked for, what was seen, and how sure that is."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from wordveil.promises.rounding import round_up


class Status(StrEnum):
    """How a check ended."""

    PASSED = "passed"
    DISCLOSED = "disclosed"
    REFUTED = "refuted"
    SKIPPED = "skipped"


@dataclass(frozen=True, kw_only=True)
class Finding:
    """The result of one check."""

    check: str  # name of the check
    status: Status  # passed means nothing was found, not that nothing is there; disclosed means found and declared
    observed: str  # what was seen, in numbers and public terms
    expected: str  # what the claim or the check's null hypothesis says
    alpha: float  # chance, at most, of this status being REFUTED for an honest mechanism; 0 where no chance is involved

    @property
    def refuted(self) -> bool:
        return self.status is Status.REFUTED

    def as_dict(self) -> dict[str, Any]:
        return {**vars(self), "status": self.status.value}


def at_least(value: float) -> str:
    """Return a lower bound of 0 or more with four significant digits, rounded down."""
    return round_up(-value).removeprefix("-")


def result(*, check: str, bad: bool, observed: str, expected: str, alpha: float) -> Finding:
    """Return a finding that is refuted or passed."""
    status = Status.REFUTED if bad else Status.PASSED
    return Finding(check=check, status=status, observed=observed, expected=expected, alpha=alpha)
