"""The ledger's tables. No column holds text, or anything that depends on one but under a secret key."""

from __future__ import annotations

from sqlalchemy import BigInteger, CheckConstraint, Column, Float, ForeignKey, Index, MetaData, String, Table, Text

METADATA = MetaData()

PROMISES = Table(
    "promises",
    METADATA,
    Column("id", String(16), primary_key=True),
    Column("description", Text, nullable=False),
)
"""What tells a promise from any that its costs do not add up with."""

BUDGETS = Table(
    "budgets",
    METADATA,
    Column("account", String(160), primary_key=True),
    Column("promise", String(16), ForeignKey("promises.id"), primary_key=True),
    Column("granted", BigInteger, nullable=False),
    Column("spent", BigInteger, nullable=False),
    # Of a budget that an allowance fills up: number of the latest day in UTC, counted from 1970, and its allowance.
    Column("day", BigInteger),
    Column("daily", BigInteger),
    # The second lock on the door: no statement, ours or anybody's, can store a budget that is overspent.
    CheckConstraint("spent >= 0 AND spent <= granted", name="never_overspent"),
)
"""What an account may spend on releases of one promise, and what it has spent."""

RELEASES = Table(
    "releases",
    METADATA,
    Column("id", String(32), primary_key=True),
    Column("promise", String(16), ForeignKey("promises.id"), nullable=False),
    Column("units", BigInteger, nullable=False),
    Column("tokens", BigInteger, nullable=False),
    Column("time", Float, nullable=False),
    Column("mechanism", Text, nullable=False),
    Column("vocabulary", String(64), nullable=False),
    Column("guarantee", Text, nullable=False),
    Column("assumptions", Text, nullable=False),
    # Of a release that may be asked for again; emptied when its time is over.
    Column("retry", String(64), unique=True),
    Column("fingerprint", String(64)),
    Column("setting", String(64)),
    Column("salt", String(64)),
)

CHARGES = Table(
    "charges",
    METADATA,
    Column("release", String(32), ForeignKey("releases.id"), primary_key=True),
    Column("account", String(160), primary_key=True),
    Index("charges_by_account", "account"),
)
"""Which accounts paid for a release, each its whole cost."""

FACTS = Table(
    "facts",
    METADATA,
    Column("name", String(32), primary_key=True),
    Column("value", String(64), nullable=False),
)
"""What the whole ledger was made with."""

API_KEYS = Table(
    "api_keys",
    METADATA,
    Column("id", String(16), primary_key=True),
    Column("digest", String(64), nullable=False),
    Column("name", String(64), nullable=False),
    Column("scopes", Text, nullable=False),
    Column("time", Float, nullable=False),
    Column("revoked", Float),
)
