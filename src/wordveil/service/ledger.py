"""The ledger: what was released under which promise, who paid, and what is left. It never sees a text.

A charge is one transaction that is on the disk before any noise is drawn: it raises `spent` of every paying account
by the whole cost where that stays within what was granted, and is rolled back where it does not. Two charges of one
account cannot both find the same unit left, because the comparison and the change are one statement on a locked row.
After a crash between charge and answer the charge stands: that errs on the private side.

A charge under a retry name is made once. Asking again under the name with the same request finds the charge and the
salt that its noise was drawn under, so that the same release can be drawn again; no text is stored for it.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Any

from sqlalchemy import insert, select, update
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.engine import Connection, Engine, Row
from sqlalchemy.exc import IntegrityError

from wordveil.errors import ParameterError, WordveilError
from wordveil.service.costs import DELTA_UNITS, LARGEST, Cost, nats
from wordveil.service.database import WRITES, open_database
from wordveil.service.schema import BUDGETS, CHARGES, GRANTS, PROMISES, RELEASES

__all__ = ["Allowance", "Balance", "BudgetSpentError", "Charge", "Charged", "Ledger", "RetryError"]


class BudgetSpentError(WordveilError):
    """A release would overdraw an account; nothing was charged and no noise was drawn.

    Attributes:
        account: The account.
        left: What is left, in nats of the promise, with all digits.
        cost: What the release would have cost.
    """

    def __init__(self, account: str, left: str, cost: str) -> None:
        self.account, self.left, self.cost = account, left, cost
        super().__init__(f"The budget of {account} has {left} nats left; this release costs {cost}.")


class RetryError(WordveilError):
    """A retry name was used before for another request, or for a setting that has changed since."""


@dataclass(frozen=True, kw_only=True)
class Allowance:
    """What accounts are granted when they first pay for a release of one promise.

    Attributes:
        promise_id: The promise; of others, nothing is granted unasked.
        units: By the kind of the account, the part of its name before the colon.
        delta_units: The same for delta.
    """

    promise_id: str
    units: dict[str, int]
    delta_units: int = 0


@dataclass(frozen=True, kw_only=True)
class Charge:
    """What is to be charged and recorded.

    Attributes:
        accounts: Who pays, each the whole cost.
        cost: The cost.
        tokens: Number of tokens, or vectors.
        mechanism: With its parameters.
        vocabulary: SHA-256 of the vocabulary, or "".
        guarantee: The promise in a sentence.
        assumptions: What it assumes.
        retry: Digest of the retry name under a secret key, or None.
        fingerprint: Digest of the request under a secret key.
        setting: Digest of what its noise is drawn for: mechanism, vocabulary, version.
    """

    accounts: Sequence[str]
    cost: Cost
    tokens: int
    mechanism: str
    vocabulary: str
    guarantee: str
    assumptions: Sequence[str]
    retry: str | None = None
    fingerprint: str | None = None
    setting: str | None = None


@dataclass(frozen=True, kw_only=True)
class Charged:
    """A charge that is on the disk.

    Attributes:
        release: Name of the release in the ledger.
        salt: What its noise is drawn under besides the service's key; None where no retry was asked for.
        repeated: True if it was made by an earlier request and nothing was charged now.
        left: What each account has left, in nats.
    """

    release: str
    salt: str | None
    repeated: bool
    left: dict[str, str]


@dataclass(frozen=True, kw_only=True)
class Balance:
    """One budget: granted and spent, in nats (for metric DP: per unit of distance), and delta."""

    account: str
    promise: dict[str, Any]
    granted: str
    spent: str
    left: str
    delta_granted: str
    delta_spent: str


class Ledger:
    """Budgets and releases in a database.

    Args:
        engine: The database, migrated; see `Ledger.open`.
        allowance: What new accounts are granted, or None for nothing.
    """

    def __init__(self, engine: Engine, allowance: Allowance | None = None) -> None:
        self.engine, self.allowance = engine, allowance
        self._writing = engine.execution_options(**WRITES)
        self._insert: Any = {"sqlite": sqlite, "postgresql": postgresql}[engine.dialect.name].insert
        # SQLite has one writer: threads that wait here wait in turn, not by asking again and again.
        self._turn: Lock | None = Lock() if engine.dialect.name == "sqlite" else None

    @classmethod
    def open(cls, url: str, allowance: Allowance | None = None) -> Ledger:
        """Open the ledger in a database, with its tables brought to this version."""
        return cls(open_database(url), allowance)

    def close(self) -> None:
        """Close all connections."""
        self.engine.dispose()

    def transaction(self) -> _Transaction:
        """Return a transaction that writes."""
        return _Transaction(self._writing, self._turn)

    def charge(self, asked: Charge) -> Charged:
        """Charge all accounts or none, and record the release.

        Returns:
            The charge, which is on the disk.

        Raises:
            BudgetSpentError: If an account has less left than the cost; nothing was charged.
            RetryError: If the retry name belongs to another request.
        """
        try:
            return self._charge(asked)
        except IntegrityError:
            if asked.retry is None:
                raise
            return self._charge(asked)  # another request under the same name was faster: this one finds its charge

    def _charge(self, asked: Charge) -> Charged:
        with self.transaction() as connection:
            if asked.retry is not None and (found := self._earlier(connection, asked)) is not None:
                return found
            self._name_promise(connection, asked.cost)
            left = {account: self._spend(connection, account, asked.cost) for account in sorted({*asked.accounts})}
            release, salt = os.urandom(16).hex(), None if asked.retry is None else os.urandom(32).hex()
            record = {name: getattr(asked, name) for name in ("tokens", "mechanism", "vocabulary", "guarantee")}
            again = {name: getattr(asked, name) for name in ("retry", "fingerprint", "setting")}
            connection.execute(
                insert(RELEASES).values(
                    id=release,
                    promise=asked.cost.promise_id,
                    units=asked.cost.units,
                    delta_units=asked.cost.delta_units,
                    time=time.time(),
                    assumptions=json.dumps(list(asked.assumptions)),
                    salt=salt,
                    **record,
                    **again,
                )
            )
            connection.execute(insert(CHARGES), [{"release": release, "account": account} for account in left])
        return Charged(release=release, salt=salt, repeated=False, left=left)

    def _earlier(self, connection: Connection, asked: Charge) -> Charged | None:
        row = connection.execute(select(RELEASES).where(RELEASES.c.retry == asked.retry)).one_or_none()
        if row is None:
            return None
        if row.fingerprint != asked.fingerprint:
            raise RetryError("This idempotency key was used for another request; use a new one.")
        if row.setting != asked.setting:
            raise RetryError("The service's settings have changed since this request was first made; use a new key.")
        budgets = select(BUDGETS).join(CHARGES, BUDGETS.c.account == CHARGES.c.account)
        mine = budgets.where(CHARGES.c.release == row.id, BUDGETS.c.promise == row.promise)
        left = {budget.account: nats(budget.granted - budget.spent) for budget in connection.execute(mine)}
        return Charged(release=row.id, salt=row.salt, repeated=True, left=left)

    def _name_promise(self, connection: Connection, cost: Cost) -> None:
        named = self._insert(PROMISES).values(id=cost.promise_id, description=cost.promise)
        connection.execute(named.on_conflict_do_nothing())

    def _spend(self, connection: Connection, account: str, cost: Cost) -> str:
        """Charge one account; return what it has left."""
        if self.allowance is not None and self.allowance.promise_id == cost.promise_id:
            allowed = self.allowance.units.get(account.partition(":")[0], 0)
            self._open(connection, account, cost.promise_id, allowed, self.allowance.delta_units)
        mine = (BUDGETS.c.account == account) & (BUDGETS.c.promise == cost.promise_id)
        # As a difference, so that no sum leaves the range of the column.
        enough = BUDGETS.c.spent <= BUDGETS.c.granted - cost.units
        delta_enough = BUDGETS.c.delta_spent <= BUDGETS.c.delta_granted - cost.delta_units
        changed = connection.execute(
            update(BUDGETS)
            .where(mine & enough & delta_enough)
            .values(spent=BUDGETS.c.spent + cost.units, delta_spent=BUDGETS.c.delta_spent + cost.delta_units)
        )
        row = connection.execute(select(BUDGETS).where(mine)).one_or_none()
        if changed.rowcount != 1 or row is None:
            left = 0 if row is None else row.granted - row.spent
            raise BudgetSpentError(account, nats(left), nats(cost.units))
        return nats(row.granted - row.spent)

    def _open(self, connection: Connection, account: str, promise: str, units: int, delta_units: int) -> None:
        """Open a budget where there is none, with what is granted to begin with."""
        opened = connection.execute(
            self._insert(BUDGETS)
            .values(account=account, promise=promise, granted=units, spent=0, delta_granted=delta_units, delta_spent=0)
            .on_conflict_do_nothing()
        )
        if opened.rowcount == 1 and units + delta_units:
            self._note_grant(connection, account, promise, units, delta_units)

    def _note_grant(self, connection: Connection, account: str, promise: str, units: int, delta_units: int) -> None:
        noted = {"account": account, "promise": promise, "units": units, "delta_units": delta_units}
        connection.execute(insert(GRANTS).values(id=os.urandom(16).hex(), time=time.time(), **noted))

    def grant(self, account: str, cost: Cost) -> Balance:
        """Grant an account what `cost` says, on top of what it has.

        Raises:
            ParameterError: If the sum is more than a ledger can hold.
        """
        promise = cost.promise_id
        with self.transaction() as connection:
            self._name_promise(connection, cost)
            begin = self.allowance is not None and self.allowance.promise_id == promise and self.allowance
            allowed = begin.units.get(account.partition(":")[0], 0) if begin else 0
            self._open(connection, account, promise, allowed, begin.delta_units if begin else 0)
            mine = (BUDGETS.c.account == account) & (BUDGETS.c.promise == promise)
            room = (BUDGETS.c.granted <= LARGEST - cost.units) & (BUDGETS.c.delta_granted <= LARGEST - cost.delta_units)
            raised = connection.execute(
                update(BUDGETS)
                .where(mine & room)
                .values(
                    granted=BUDGETS.c.granted + cost.units, delta_granted=BUDGETS.c.delta_granted + cost.delta_units
                )
            )
            if raised.rowcount != 1:
                raise ParameterError("amount", nats(cost.units), "is more than a ledger can hold with what is there.")
            self._note_grant(connection, account, promise, cost.units, cost.delta_units)
        return next(balance for balance in self.balances(account) if balance.promise == json.loads(cost.promise))

    def balances(self, account: str | None = None) -> list[Balance]:
        """Return the budgets of an account, or of all."""
        wanted = select(BUDGETS, PROMISES.c.description).join(PROMISES, BUDGETS.c.promise == PROMISES.c.id)
        if account is not None:
            wanted = wanted.where(BUDGETS.c.account == account)
        with self.engine.connect() as connection:
            rows = connection.execute(wanted.order_by(BUDGETS.c.account, BUDGETS.c.promise)).all()
        return [_balance(row) for row in rows]

    def history(self, account: str | None = None) -> Iterator[dict[str, Any]]:
        """Yield the releases an account paid for, or all, the oldest first, as JSON-ready values."""
        wanted = (
            select(RELEASES, CHARGES.c.account, PROMISES.c.description)
            .join(CHARGES, CHARGES.c.release == RELEASES.c.id)
            .join(PROMISES, RELEASES.c.promise == PROMISES.c.id)
            .order_by(RELEASES.c.time, RELEASES.c.id, CHARGES.c.account)
        )
        if account is not None:
            wanted = wanted.where(CHARGES.c.account == account)
        with self.engine.connect() as connection:
            for row in connection.execution_options(yield_per=1000).execute(wanted):
                yield {
                    "account": row.account,
                    "release": row.id,
                    "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(row.time)),
                    "promise": json.loads(row.description),
                    "cost": nats(row.units),
                    "delta": nats(row.delta_units, DELTA_UNITS),
                    "assumptions": json.loads(row.assumptions),
                    **{name: getattr(row, name) for name in ("tokens", "mechanism", "vocabulary", "guarantee")},
                }

    def forget(self, before: float) -> int:
        """Forget what would draw the noise of older releases again; return of how many.

        Whoever later gets hold of the service's key cannot remove their noise any more.
        """
        old = (RELEASES.c.time < before) & RELEASES.c.salt.is_not(None)
        with self.transaction() as connection:
            emptied = connection.execute(
                update(RELEASES).where(old).values(retry=None, fingerprint=None, setting=None, salt=None)
            )
        return int(emptied.rowcount)


def _balance(row: Row[Any]) -> Balance:
    return Balance(
        account=row.account,
        promise=json.loads(row.description),
        granted=nats(row.granted),
        spent=nats(row.spent),
        left=nats(row.granted - row.spent),
        delta_granted=nats(row.delta_granted, DELTA_UNITS),
        delta_spent=nats(row.delta_spent, DELTA_UNITS),
    )


class _Transaction:
    """A transaction that writes, in turn with the other threads of this process where a database has one writer."""

    def __init__(self, engine: Engine, turn: Lock | None) -> None:
        self._begun, self._turn = engine.begin(), turn

    def __enter__(self) -> Connection:
        if self._turn is not None:
            self._turn.acquire()
        try:
            return self._begun.__enter__()
        except BaseException:
            self._leave()
            raise

    def __exit__(self, *error: Any) -> None:
        try:
            self._begun.__exit__(*error)
        finally:
            self._leave()

    def _leave(self) -> None:
        if self._turn is not None:
            self._turn.release()
