"""Opening a service: its ledger, secret, vocabularies and settings, and what accounts are allowed every day."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from wordveil.files.secret import Secret
from wordveil.sentences.stock import Stock, load_stock
from wordveil.service.charges import Allowance
from wordveil.service.costs import cost_of, units
from wordveil.service.ledger import Ledger
from wordveil.service.messages import DEFAULT_SETTING
from wordveil.service.releasing import Releaser
from wordveil.service.settings import Opened, Setting
from wordveil.vocabulary.table import Embeddings, load_embeddings


@dataclass(frozen=True, kw_only=True)
class Opening:
    """Where a service keeps what it keeps."""

    state: Path  # folder of the secret, and of the ledger unless `database` says otherwise
    database: str = field(default="", repr=False)  # URL of the ledger; "" for SQLite in `state`
    # files or folders by name; "default" is the embedded one unless given
    vocabularies: Mapping[str, Path] = field(default_factory=dict)
    # folders of stocks for rephrasing by name; "general" is the one that ships unless given
    stocks: Mapping[str, Path] = field(default_factory=dict)
    # what is open to clients, by name; the default is, unless given otherwise
    settings: Mapping[str, Setting] = field(default_factory=lambda: {DEFAULT_SETTING: Setting()})
    subject_budget: str = "0"  # nats that a subject may spend a day, for the promise of the default setting
    key_budget: str = "0"  # the same for API keys

    @property
    def url(self) -> str:
        """Where the ledger is."""
        return self.database or f"sqlite:///{self.state / 'ledger.db'}"

    @property
    def file(self) -> Path | None:
        """The ledger's file; None where a server has the ledger."""
        start = "sqlite:///"
        return Path(self.url.removeprefix(start)) if self.url.startswith(start) else None

    def ledger(self) -> Ledger:
        return Ledger.open(self.url)

    def releaser(self) -> Releaser:
        tables = self.tables()
        opened = {name: setting.open(*tables) for name, setting in self.settings.items()}
        allowed = {"subject": units(self.subject_budget), "key": units(self.key_budget)}
        ledger, secret = self.ledger(), Secret.at(self.state / "secret")
        ledger.belongs_to(secret.digest("ledger"))
        default = opened[DEFAULT_SETTING]
        if isinstance(default, Opened):  # nothing pays for what draws nothing
            ledger.allowance = Allowance(promise=cost_of(default.guarantee, 1).promise_id, units=allowed)
        return Releaser(ledger, secret, opened)

    def tables(self) -> tuple[dict[str, Embeddings], dict[str, Stock]]:
        """Read vocabularies, and stocks where a setting asks for one."""
        words = {"default": load_embeddings(None, every_output=False)} if "default" not in self.vocabularies else {}
        words |= {name: load_embeddings(path) for name, path in self.vocabularies.items()}
        stocks = {"general": load_stock()} if "general" not in self.stocks else {}
        return words, stocks | {name: load_stock(path) for name, path in self.stocks.items()}
