"""The ledger: what was released under which promise, who paid, and what is left. It never sees a text.

A charge is one transaction that is on the disk before any noise is drawn: it raises `spent` of every paying account
by the whole cost where that stays within what was granted, and is rolled back where it does not. Two charges of one
account cannot both find the same unit left, because the comparison and the change are one statement on a locked row.
Charges that wait at once share a transaction, and so one wait for the disk; each is answered only after it.
After a crash between charge and answer the charge stands: that errs on the private side.

A charge under a retry name is made once. Asking again under the name with the same request finds the charge and the
salt that its noise was drawn under, so that the same release can be drawn again; no text is stored for it.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from threading import Lock
from typing import Any

from sqlalchemy import BigInteger, bindparam, case, insert, select, update
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.engine import Connection, Engine, Row
from sqlalchemy.exc import IntegrityError

from wordveil.errors import ParameterError, WordveilError
from wordveil.service.charges import Allowance, BudgetSpentError, Charge, Charged, KeyRevokedError, RetryError
from wordveil.service.costs import LARGEST, Cost, nats
from wordveil.service.database import API_KEYS, BUDGETS, CHARGES, FACTS, PROMISES, RELEASES, WRITES, open_database

_DAY = 86_400  # seconds
_UNITS, _DAILY, _TODAY = (bindparam(name, type_=BigInteger) for name in ("units_", "daily_", "today_"))
# Where a day began, what was not spent of the last one's does not add up; an allowance that changed holds at once.
_BEGUN, _GOING = BUDGETS.c.day < _TODAY, BUDGETS.c.day == _TODAY
_GRANTED = case(
    (_BEGUN & (BUDGETS.c.spent <= LARGEST - _DAILY), BUDGETS.c.spent + _DAILY),
    (_BEGUN, BUDGETS.c.spent),
    (_GOING & (BUDGETS.c.granted <= LARGEST - _DAILY), BUDGETS.c.granted - BUDGETS.c.daily + _DAILY),
    else_=BUDGETS.c.granted,
)

# Built once: building a statement takes longer than running it.
_REVOKED = select(API_KEYS.c.id).where((API_KEYS.c.id == bindparam("key")) & API_KEYS.c.revoked.is_not(None))
_SPEND = (
    update(BUDGETS)
    .where(
        (BUDGETS.c.account == bindparam("account_"))
        & (BUDGETS.c.promise == bindparam("promise_"))
        & (BUDGETS.c.spent <= _GRANTED - _UNITS)  # as a difference, so that no sum leaves the range of the column
    )
    .values(
        granted=_GRANTED,
        day=case((_BEGUN, _TODAY), else_=BUDGETS.c.day),
        daily=case((_BEGUN | _GOING, _DAILY), else_=BUDGETS.c.daily),
        spent=BUDGETS.c.spent + _UNITS,
    )
    .returning(BUDGETS.c.granted, BUDGETS.c.spent)
)
"""Spends where so much is left, filled up if a day began: comparison and change are one statement on a locked row."""


class Ledger:
    """Budgets and releases in a database."""

    def __init__(self, engine: Engine, allowance: Allowance | None = None) -> None:
        self.engine, self.allowance = engine, allowance
        self.clock: Callable[[], float] = time.time  # seconds since 1970
        self._writing = engine.execution_options(**WRITES)
        self._insert: Any = {"sqlite": sqlite, "postgresql": postgresql}[engine.dialect.name].insert
        self._turn = Lock()

    @classmethod
    def open(cls, url: str, allowance: Allowance | None = None) -> Ledger:
        return cls(open_database(url), allowance)

    def close(self) -> None:
        self.engine.dispose()

    @contextmanager
    def transaction(self) -> Iterator[Connection]:
        """A transaction that writes; threads wait here in turn, not in the database by asking again and again."""
        with self._turn, self._writing.begin() as connection:
            yield connection

    def belongs_to(self, secret: str) -> None:
        """Bind the ledger to the secret of this digest, where it is bound to none.

        Raises:
            WordveilError: If it is bound to another: what was asked for under it could be drawn, and charged, anew.
        """
        with self.transaction() as connection:
            connection.execute(self._insert(FACTS).values(name="secret", value=secret).on_conflict_do_nothing())
            known = connection.execute(select(FACTS.c.value).where(FACTS.c.name == "secret")).scalar_one()
        if known != secret:
            raise WordveilError(
                "This ledger was begun with another secret: restore that file (every process of a ledger needs the "
                "same), or begin a new ledger."
            )

    def charge(self, asked: Charge) -> Charged:
        """Charge all accounts or none, and record the release.

        Raises:
            BudgetSpentError: If an account has less left than the cost; nothing was charged.
            RetryError: If the retry name belongs to another request.
            KeyRevokedError: If the API key does not hold any more.
        """
        (outcome,) = self.charge_all([asked])
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    def charge_all(self, asked: Sequence[Charge]) -> list[Charged | Exception]:
        """Make many charges that do not depend on each other; return of each what `charge` returns or raises.

        They are brought to the disk together, which takes as long for many as for one.
        """
        with self._turn:
            return self._settled(asked)

    def _settled(self, asked: Sequence[Charge], *, again: bool = False) -> list[Charged | Exception]:
        try:
            with self._writing.begin() as connection:
                return [*self._charge(connection, asked)]
        except (WordveilError, IntegrityError) as error:
            if len(asked) > 1:  # what refuses one is no reason to refuse the others, or to make each wait for the disk
                half = len(asked) // 2
                return [*self._settled(asked[:half]), *self._settled(asked[half:])]
            if isinstance(error, IntegrityError) and not again:
                return self._settled(asked, again=True)  # another process used the retry name: now its charge is found
            return [error]
        except Exception as error:  # noqa: BLE001 - raised where each of them waits
            return [error] * len(asked)

    def _charge(self, connection: Connection, asked: Sequence[Charge]) -> list[Charged]:
        """Charge all that is asked, or raise what one of them is refused for."""
        for key in {each.key for each in asked if each.key}:
            if connection.execute(_REVOKED, {"key": key}).first() is not None:
                raise KeyRevokedError("This API key does not hold any more.")
        earlier = self._earlier(connection, asked)
        new = [each for each in asked if each.retry not in earlier]
        names = [each.retry for each in new if each.retry is not None]
        if len({*names}) < len(names):
            raise RetryError  # one by one, the second finds the first
        left = self._spend_all(connection, new)
        after: list[dict[str, str]] = []
        for each in reversed(new):  # what is left in the end was left after the last of them
            places = [(account, each.cost.promise_id) for account in sorted({*each.accounts})]
            after.append({place[0]: nats(left[place]) for place in places})
            left.update({place: left[place] + each.cost.units for place in places})
        salts = [None if each.retry is None else os.urandom(32).hex() for each in new]
        made = [
            Charged(release=os.urandom(16).hex(), salt=salt, repeated=False, left=now)
            for salt, now in zip(salts, reversed(after), strict=True)
        ]
        if new:
            connection.execute(insert(RELEASES), [_record(*both) for both in zip(new, made, strict=True)])
            payers = [{"release": each.release, "account": account} for each in made for account in each.left]
            connection.execute(insert(CHARGES), payers)
        fresh = iter(made)
        return [earlier[each.retry] if each.retry in earlier else next(fresh) for each in asked]

    def _earlier(self, connection: Connection, asked: Sequence[Charge]) -> dict[str | None, Charged]:
        """Return what was charged before, by retry name.

        Raises:
            RetryError: If it was for another request; why it was, is not told: what was asked for is private.
        """
        names = {each.retry for each in asked if each.retry is not None}
        found: dict[str | None, Charged] = {}
        if not names:
            return found
        for row in connection.execute(select(RELEASES).where(RELEASES.c.retry.in_(sorted(names)))).all():
            for now in asked:  # all of them: two requests may come at once under one name
                if now.retry == row.retry and (row.fingerprint, row.setting) != (now.fingerprint, now.setting):
                    raise RetryError
            payers = connection.execute(select(CHARGES.c.account).where(CHARGES.c.release == row.id)).scalars()
            left = {account: nats(self._left(connection, account, row.promise)) for account in sorted(payers)}
            found[row.retry] = Charged(release=row.id, salt=row.salt, repeated=True, left=left)
        return found

    def _spend_all(self, connection: Connection, asked: Sequence[Charge]) -> dict[tuple[str, str], int]:
        """Spend what all ask for together; return what each budget has left.

        Rows are locked in one order, so that no two processes wait for each other.
        """
        sums: dict[tuple[str, str], Cost] = {}
        for each in asked:
            for account in {*each.accounts}:
                place = (account, each.cost.promise_id)
                sums[place] = sums[place] + each.cost if place in sums else each.cost
        return {place: self._spend(connection, place[0], sums[place]) for place in sorted(sums)}

    def _spend(self, connection: Connection, account: str, cost: Cost) -> int:
        given = {"account_": account, "promise_": cost.promise_id, "units_": cost.units}
        given |= self._day_of(account, cost.promise_id)
        row = None
        if cost.units <= LARGEST:
            row = connection.execute(_SPEND, given).one_or_none()
            if row is None and given["daily_"]:
                self._open(connection, account, cost, day=0)
                row = connection.execute(_SPEND, given).one_or_none()
        if row is None:
            left = self._left(connection, account, cost.promise_id)
            raise BudgetSpentError(account, nats(left), nats(cost.units))
        return int(row.granted - row.spent)

    def _day_of(self, account: str, promise: str) -> dict[str, Any]:
        daily = 0 if self.allowance is None else self.allowance.of(account, promise)
        return {"today_": self._today(), "daily_": daily}

    def _today(self) -> int:
        return int(self.clock() // _DAY)

    def _left(self, connection: Connection, account: str, promise: str) -> int:
        day = self._day_of(account, promise)
        left = select(_GRANTED - BUDGETS.c.spent).where(_of(account, promise))
        units = connection.execute(left, day).scalar_one_or_none()
        return int(day["daily_"] if units is None else max(units, 0))

    def check_paying(self, asked: Charge) -> None:
        """Refuse a charge that its accounts could not pay now, before anything is done for it; charge nothing."""
        with self.engine.connect() as connection:
            known = select(RELEASES.c.id).where(RELEASES.c.retry == asked.retry)
            if asked.retry is not None and connection.execute(known).first() is not None:
                return
            for account in asked.accounts:
                left = self._left(connection, account, asked.cost.promise_id)
                if left < asked.cost.units:
                    raise BudgetSpentError(account, nats(left), nats(asked.cost.units))

    def _open(self, connection: Connection, account: str, cost: Cost, *, day: int | None) -> None:
        named = self._insert(PROMISES).values(id=cost.promise_id, description=cost.promise)
        connection.execute(named.on_conflict_do_nothing())
        budget = {"account": account, "promise": cost.promise_id, "day": day, "granted": 0, "spent": 0}
        connection.execute(self._insert(BUDGETS).values(budget).on_conflict_do_nothing())

    def grant(self, account: str, cost: Cost) -> dict[str, Any]:
        """Grant an account what `cost` says, on top of what it has; return its budget, as `balances` does.

        An account that an allowance filled every day has what it was granted from then on, and no allowance.
        """
        promise = cost.promise_id
        with self.transaction() as connection:
            self._open(connection, account, cost, day=None)
            day = self._day_of(account, promise)
            roomy = _of(account, promise) & (LARGEST - cost.units >= _GRANTED)
            had = case((BUDGETS.c.spent < _GRANTED, _GRANTED), else_=BUDGETS.c.spent)
            raised = connection.execute(update(BUDGETS).where(roomy).values(granted=had + cost.units, day=None), day)
            if raised.rowcount != 1:
                raise ParameterError("amount", nats(cost.units), "is more than a ledger can hold with what is there.")
        return next(balance for balance in self.balances(account) if balance["promise"] == json.loads(cost.promise))

    def balances(self, account: str | None = None) -> list[dict[str, Any]]:
        """Return the budgets of an account, or of all, as JSON-ready values.

        What is granted, spent and left, in nats (for metric DP: per unit of distance); `daily` is what a budget is
        filled up to every day, "0" for one that was granted.
        """
        wanted = select(BUDGETS, PROMISES.c.description).join(PROMISES, BUDGETS.c.promise == PROMISES.c.id)
        if account is not None:
            wanted = wanted.where(BUDGETS.c.account == account)
        with self.engine.connect() as connection:
            rows = connection.execute(wanted.order_by(BUDGETS.c.account, BUDGETS.c.promise)).all()
        return [self._balance(row) for row in rows]

    def _balance(self, row: Row[Any]) -> dict[str, Any]:
        """Return a budget as it stands now: filled up if a day began since it was spent from."""
        allowed = row.daily if self.allowance is None else self.allowance.of(row.account, row.promise)
        daily = allowed or 0 if row.day is not None else 0
        granted = row.granted
        if row.day is not None and row.day <= self._today():
            granted = row.spent + daily if row.day < self._today() else max(row.spent, row.granted - row.daily + daily)
        counts = {"granted": granted, "spent": row.spent, "left": granted - row.spent, "daily": daily}
        return {
            "account": row.account,
            "promise": json.loads(row.description),
            **{name: nats(count) for name, count in counts.items()},
        }

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
                    "assumptions": json.loads(row.assumptions),
                    **{name: getattr(row, name) for name in ("tokens", "mechanism", "vocabulary", "guarantee")},
                }

    def forget(self, before: float) -> int:
        """Forget what would draw the noise of older releases again; return of how many.

        Whoever later gets hold of the service's key cannot remove their noise any more.
        """
        old = (RELEASES.c.time < before) & RELEASES.c.salt.is_not(None)
        with self.transaction() as connection:
            nothing = dict.fromkeys(("retry", "fingerprint", "setting", "salt"))
            emptied = connection.execute(update(RELEASES).where(old).values(nothing))
        if self.engine.dialect.name == "sqlite":  # what was written goes from the file beside the database too
            with self._turn, self.engine.connect() as connection:
                raw: Any = connection.connection.driver_connection
                raw.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return int(emptied.rowcount)


def _of(account: str, promise: str) -> Any:
    return (BUDGETS.c.account == account) & (BUDGETS.c.promise == promise)


def _record(asked: Charge, made: Charged) -> dict[str, Any]:
    said = ("tokens", "mechanism", "vocabulary", "guarantee", "retry", "fingerprint", "setting")
    return {
        "id": made.release,
        "promise": asked.cost.promise_id,
        "units": asked.cost.units,
        "time": time.time(),
        "assumptions": json.dumps(asked.assumptions),
        "salt": made.salt,
        **{name: getattr(asked, name) for name in said},
    }
