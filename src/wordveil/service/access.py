"""Who may use the service: API keys, stored as digests only, and the secret that idempotent noise is drawn under.

An API key is 32 random bytes behind a public name, so one round of a hash keeps it: there is nothing to guess.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import re
import time
from dataclasses import dataclass
from threading import Lock

from sqlalchemy import insert, select, update

from wordveil.errors import ParameterError
from wordveil.files.secret import Secret
from wordveil.service.ledger import Ledger
from wordveil.service.schema import API_KEYS

__all__ = ["SCOPES", "Buckets", "Caller", "Callers", "Secret", "any_key", "check_account", "make_key", "revoke_key"]

SCOPES = ("release", "read")
"""What a key may be for: to release (and spend), and to read budgets and metrics."""

_KEY = re.compile(r"wv_([0-9a-f]{16})_([0-9a-f]{64})")
_ACCOUNT = re.compile(r"(subject|key):[A-Za-z0-9_.@+-]{1,128}")
MOMENT = 1.0  # seconds


@dataclass(frozen=True, kw_only=True)
class Caller:
    """Who a request comes from: the public name of its key, and what that is for."""

    id: str
    scopes: frozenset[str]

    @property
    def account(self) -> str:
        """The account that all releases under this key are charged to."""
        return f"key:{self.id}"


def check_account(account: str) -> str:
    """Return the account's name.

    Raises:
        ParameterError: If it is not subject:NAME or key:NAME, of letters, digits and ._@+-; it is not shown.
    """
    if not _ACCOUNT.fullmatch(account):
        raise ParameterError("account", "<hidden>", "must be subject:NAME or key:NAME, NAME of letters, digits, ._@+-")
    return account


def make_key(ledger: Ledger, name: str, scopes: tuple[str, ...] = SCOPES) -> str:
    """Make an API key and store its digest; return the key, which nothing can show again.

    Raises:
        ParameterError: If a scope does not exist or the name is too long.
    """
    for scope in scopes:
        if scope not in SCOPES:
            raise ParameterError("scope", scope, f"must be one of {', '.join(SCOPES)}.")
    if not 1 <= len(name) <= 64:
        raise ParameterError("name", f"<{len(name)} characters>", "must have 1 to 64 characters.")
    id_, secret = os.urandom(8).hex(), os.urandom(32).hex()
    row = {"id": id_, "digest": _digest(secret), "name": name, "scopes": " ".join(scopes), "time": time.time()}
    with ledger.transaction() as connection:
        connection.execute(insert(API_KEYS).values(row))
    return f"wv_{id_}_{secret}"


def any_key(ledger: Ledger) -> bool:
    """Whether a key was ever made."""
    with ledger.engine.connect() as connection:
        return connection.execute(select(API_KEYS.c.id).limit(1)).first() is not None


def revoke_key(ledger: Ledger, name: str) -> None:
    """Refuse a key from now on, or all of one name.

    Raises:
        ParameterError: If there is none; what was given is not shown, as it may be a whole key.
    """
    meant = (API_KEYS.c.id == name) | (API_KEYS.c.name == name)
    with ledger.transaction() as connection:
        changed = connection.execute(update(API_KEYS).where(meant).values(revoked=time.time()))
    if changed.rowcount < 1:
        raise ParameterError("key", "<hidden>", "must be the name of a key, or what stands in it between wv_ and _.")


class Callers:
    """Tells whose key a key is.

    What was found is taken for true for a moment. Releases do not rely on it: the transaction that charges them asks
    once more whether the key holds.

    Args:
        ledger: Where the keys' digests are.
        most: Callers remembered.
    """

    def __init__(self, ledger: Ledger, most: int = 10_000) -> None:
        self._ledger, self._most = ledger, most
        self._known: dict[str, tuple[Caller, float]] = {}

    def known(self, key: str) -> Caller | None:
        """Return whose key this is, if it was found a moment ago."""
        caller, since = self._known.get(_digest(key), (None, 0.0))
        return caller if time.monotonic() - since < MOMENT else None

    def find(self, key: str) -> Caller | None:
        """Return whose key this is; None where it is nobody's, or revoked."""
        parts = _KEY.fullmatch(key)
        if parts is None:
            return None
        with self._ledger.engine.connect() as connection:
            row = connection.execute(select(API_KEYS).where(API_KEYS.c.id == parts[1])).one_or_none()
        if row is None or not hmac.compare_digest(row.digest, _digest(parts[2])) or row.revoked is not None:
            return None
        caller = Caller(id=row.id, scopes=frozenset(row.scopes.split()))
        if len(self._known) >= self._most:
            self._known.clear()
        self._known[_digest(key)] = caller, time.monotonic()
        return caller


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()


class Buckets:
    """Rate limits: each name may do `rate` things a second, and `burst` at once.

    Args:
        rate: Things a second.
        burst: Things at once.
        most: Names remembered; the one that waited longest is forgotten, which only ever lets more through.
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
