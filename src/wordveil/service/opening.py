"""Opening a service: its ledger, secret and vocabularies, and what new accounts are allowed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from wordveil.promises.guarantees import Guarantee
from wordveil.service.access import Secret
from wordveil.service.costs import cost_of, units
from wordveil.service.ledger import Allowance, Ledger
from wordveil.service.messages import How
from wordveil.service.releasing import Releaser
from wordveil.vocabulary.table import load_embeddings

__all__ = ["Opening", "default_database"]


def default_database(state: Path) -> str:
    """Return the URL of the ledger that lies in a folder."""
    return f"sqlite:///{state / 'ledger.db'}"


@dataclass(frozen=True, kw_only=True)
class Opening:
    """Where a service keeps what it keeps.

    Attributes:
        state: Folder of the secret, and of the ledger unless `database` says otherwise.
        database: URL of the ledger; "" for SQLite in `state`.
        vocabularies: Files or folders by name; "default" is the embedded one unless given.
        subject_budget: Nats that a new subject is allowed, for the promise of the default setting.
        key_budget: The same for API keys.
    """

    state: Path
    database: str = field(default="", repr=False)
    vocabularies: Mapping[str, Path] = field(default_factory=dict)
    subject_budget: str = "0"
    key_budget: str = "0"

    def ledger(self) -> Ledger:
        """Open the ledger alone."""
        return Ledger.open(self.database or default_database(self.state))

    def releaser(self) -> Releaser:
        """Open everything."""
        tables = {"default": load_embeddings(None, every_output=False)} if "default" not in self.vocabularies else {}
        tables |= {name: load_embeddings(path) for name, path in self.vocabularies.items()}
        ledger = self.ledger()
        releaser = Releaser(ledger, Secret.at(self.state / "secret"), tables)
        ledger.allowance = self._allowance(releaser.sanitizer(How()).guarantee)
        return releaser

    def _allowance(self, guarantee: Guarantee) -> Allowance:
        allowed = {"subject": units(self.subject_budget), "key": units(self.key_budget)}
        return Allowance(promise_id=cost_of(guarantee, 1).promise_id, units=allowed)
