"""Faults put in on purpose: each a change of one place that the tests named beside it must notice.

A mutation that no test can notice is listed with the reason why it changes nothing. They stand in `catalogue.toml`.
`python tests/mutations/run.py` applies them one at a time to a copy of the tree; `test_catalogue.py` keeps their
places from going stale.
"""

import tomllib
from dataclasses import dataclass
from pathlib import Path

__all__ = ["MUTATIONS", "Mutation"]


@dataclass(frozen=True)
class Mutation:
    """One fault."""

    id: str
    path: str
    what: str
    old: str
    new: str
    tests: list[str]
    equivalent: str = ""


MUTATIONS = [
    Mutation(**fault)
    for fault in tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))["mutation"]
]
