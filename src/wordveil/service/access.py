"""Who may use the service: API keys, stored as digests only.

An API key is 32 random bytes behind a public name, so one round of a hash keeps it: there is nothing to guess.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import os
import re
import time
from dataclasses import dataclass
from threading import Lock

from sqlalchemy import insert, select, update

from wordveil.errors import ParameterError
from wordveil.parameters import check_choice
from wordveil.service.database import API_KEYS
from wordveil.service.ledger import Ledger

SCOPES = ("release", "read")
"""What a key may be for: to release (and spend), and to read budgets."""

_KEY = re.compile(r"wv_([0-9a-f]{16})_([0-9a-f]{64})")
_NAME = re.compile(r"[A-Za-z0-9_.@+-]{1,128}")
_MOMENT = 1.0  # seconds


@dataclass(frozen=True, kw_only=True)
class Caller:
    """Who a request comes from: the public name of its key, and what that is for."""

    id: str
    scopes: frozenset[str]

    @property
    def account(self) -> str:
        """The account that all releases under this key are charged to."""
        return f"key:{self.id}"


def key_names(ledger: Ledger, *, held: bool = False) -> dict[str, str]:
    """Return the names that people gave to keys, or to those that still hold, by the keys' accounts."""
    with ledger.engine.connect() as connection:
        rows = connection.execute(select(API_KEYS)).all()
    return {f"key:{row.id}": row.name for row in rows if not (held and row.revoked)}


def accounts_of(ledger: Ledger, name: str, *, subject: bool = False) -> list[str]:
    """Return the accounts that somebody means: subject:NAME, key:NAME, or NAME where it may be either."""
    kind, _, bare = name.rpartition(":")
    if kind not in ("", "key", "subject") or not _NAME.fullmatch(bare):
        raise ParameterError("account", "<hidden>", "must be NAME, subject:NAME or key:NAME, of letters, digits, ._@+-")
    if kind == "subject" and subject:
        return [name]
    keys = [account for account, named in key_names(ledger).items() if bare in (named, account.removeprefix("key:"))]
    subjects = [f"subject:{bare}"] if ledger.balances(f"subject:{bare}") else []
    if not (known := (keys if kind != "subject" else []) + (subjects if kind != "key" else [])):
        raise ParameterError("account", "<hidden>", "is unknown: no key has this name, and no subject with a budget.")
    return known


def make_key(ledger: Ledger, name: str, scopes: tuple[str, ...] = SCOPES) -> str:
    """Make an API key and store its digest; return the key, which nothing can show again."""
    for scope in scopes:
        check_choice("scope", scope, SCOPES)
    if len(name) > 64 or not _NAME.fullmatch(name):
        raise ParameterError("name", f"<{len(name)} characters>", "must have 1 to 64 letters, digits or ._@+-")
    if name in key_names(ledger, held=True).values():
        raise ParameterError("name", name, "is the name of another key; choose one that tells them apart.")
    id_, secret = os.urandom(8).hex(), os.urandom(32).hex()
    row = {"id": id_, "digest": _digest(secret), "name": name, "scopes": " ".join(scopes), "time": time.time()}
    with ledger.transaction() as connection:
        connection.execute(insert(API_KEYS).values(row))
    return f"wv_{id_}_{secret}"


def revoke_key(ledger: Ledger, name: str) -> None:
    """Refuse a key from now on, or all of one name."""
    meant = (API_KEYS.c.id == name) | (API_KEYS.c.name == name)
    with ledger.transaction() as connection:
        changed = connection.execute(update(API_KEYS).where(meant).values(revoked=time.time()))
    if changed.rowcount < 1:
        raise ParameterError("key", "<hidden>", "must be the name of a key, or what stands in it between wv_ and _.")


class Callers:
    """Tells whose key a key is, by one look at all keys a moment.

    However many keys strangers try, the ledger is asked once a moment, and not once for each. Releases do not rely on
    it: the transaction that charges them asks once more whether the key holds.
    """

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._looking: asyncio.Task[None] | None = None
        self._look()

    def known(self, key: str) -> Caller | None:
        parts = _KEY.fullmatch(key)
        digest, caller = self._holding.get(parts[1], ("", None)) if parts else ("", None)
        return caller if parts and hmac.compare_digest(digest, _digest(parts[2])) else None

    async def find(self, key: str) -> Caller | None:
        """Return whose key this is; None where it is nobody's, or revoked. A key not seen before waits for a look."""
        if _KEY.fullmatch(key) is None:
            return None
        await self.look(again=self.known(key) is None)
        return self.known(key)

    async def look(self, *, again: bool = False) -> None:
        """Look, unless the latest look was a moment ago; `again` waits until it was."""
        if again or time.monotonic() - self._looked > _MOMENT:
            if self._looking is None or self._looking.done():
                self._looking = asyncio.create_task(self._look_later())
            await asyncio.shield(self._looking)

    async def _look_later(self) -> None:
        await asyncio.sleep(max(0.0, self._looked + _MOMENT - time.monotonic()))
        await asyncio.to_thread(self._look)

    def _look(self) -> None:
        looked = time.monotonic()
        with self._ledger.engine.connect() as connection:
            rows = connection.execute(select(API_KEYS).where(API_KEYS.c.revoked.is_(None))).all()
        self._holding = {row.id: (row.digest, Caller(id=row.id, scopes=frozenset(row.scopes.split()))) for row in rows}
        self._looked = looked


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()


class Buckets:
    """Rate limits: each name may do `rate` things a second, and `burst` at once.

    Of more than `most` names the one that waited longest is forgotten, which only ever lets more through.
    """

    def __init__(self, rate: float, burst: float, most: int = 10_000) -> None:
        self.rate, self.burst, self.most = rate, burst, most
        self._held: dict[str, tuple[float, float]] = {}
        self._lock = Lock()

    def take(self, name: str) -> bool:
        """Whether one more thing may be done now."""
        now = time.monotonic()
        with self._lock:
            held, since = self._held.pop(name, (self.burst, now))
            held = min(self.burst, held + (now - since) * self.rate)
            allowed = held >= 1
            self._held[name] = (held - 1 if allowed else held, now)
            if len(self._held) > self.most:
                del self._held[next(iter(self._held))]
        return allowed
