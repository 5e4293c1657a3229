"""The ledger's database, SQLite with every commit on the disk or PostgreSQL, and its tables.

No column holds text, or anything that depends on one but under a secret key. What SQLAlchemy logs shows no value of any
statement.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy import Column, Table, create_engine, event, inspect
from sqlalchemy.engine import URL, Connection, Engine, make_url
from sqlalchemy.exc import ArgumentError

from wordveil.errors import ParameterError, WordveilError

METADATA = sa.MetaData()

PROMISES = Table(
    "promises", METADATA, Column("id", sa.String(16), primary_key=True), Column("description", sa.Text, nullable=False)
)
"""What tells a promise from any that its costs do not add up with."""

BUDGETS = Table(
    "budgets",
    METADATA,
    Column("account", sa.String(160), primary_key=True),
    Column("promise", sa.String(16), sa.ForeignKey("promises.id"), primary_key=True),
    Column("granted", sa.BigInteger, nullable=False),
    Column("spent", sa.BigInteger, nullable=False),
    # Of a budget that an allowance fills up: number of the latest day in UTC, counted from 1970, and its allowance.
    Column("day", sa.BigInteger),
    Column("daily", sa.BigInteger),
    # The second lock on the door: no statement, ours or anybody's, can store a budget that is overspent.
    sa.CheckConstraint("spent >= 0 AND spent <= granted", name="never_overspent"),
)
"""What an account may spend on releases of one promise, and what it has spent."""

RELEASES = Table(
    "releases",
    METADATA,
    Column("id", sa.String(32), primary_key=True),
    Column("promise", sa.String(16), sa.ForeignKey("promises.id"), nullable=False),
    Column("units", sa.BigInteger, nullable=False),
    Column("tokens", sa.BigInteger, nullable=False),
    Column("time", sa.Float, nullable=False),
    Column("mechanism", sa.Text, nullable=False),
    Column("vocabulary", sa.String(64), nullable=False),
    Column("guarantee", sa.Text, nullable=False),
    Column("assumptions", sa.Text, nullable=False),
    # Of a release that may be asked for again; emptied when its time is over.
    Column("retry", sa.String(64), unique=True),
    Column("fingerprint", sa.String(64)),
    Column("setting", sa.String(64)),
    Column("salt", sa.String(64)),
)

CHARGES = Table(
    "charges",
    METADATA,
    Column("release", sa.String(32), sa.ForeignKey("releases.id"), primary_key=True),
    Column("account", sa.String(160), primary_key=True),
    sa.Index("charges_by_account", "account"),
)
"""Which accounts paid for a release, each its whole cost."""

FACTS = Table(
    "facts", METADATA, Column("name", sa.String(32), primary_key=True), Column("value", sa.String(64), nullable=False)
)
"""What the whole ledger was made with."""

API_KEYS = Table(
    "api_keys",
    METADATA,
    Column("id", sa.String(16), primary_key=True),
    Column("digest", sa.String(64), nullable=False),
    Column("name", sa.String(64), nullable=False),
    Column("scopes", sa.Text, nullable=False),
    Column("time", sa.Float, nullable=False),
    Column("revoked", sa.Float),
)

WRITES = {"writes": True}
"""Execution options of a connection whose transaction writes."""

_WAIT = 30  # seconds for a lock or a connection
_CONNECTIONS = 16
_TABLES_LOCK = 0x776F7264  # any number that no other program locks


def open_database(url: str) -> Engine:
    """Open a database, "sqlite:///FILE" or "postgresql+psycopg://...", and make the tables where it has none."""
    try:
        place = make_url(url)
        known = place.get_backend_name() in ("sqlite", "postgresql") and bool(place.database)
    except ArgumentError:
        known = False
    if not known:  # it may hold a password
        raise ParameterError("--database", "<hidden>", "must be sqlite:///FILE or postgresql+psycopg://...")
    lite = place.get_backend_name() == "sqlite"
    engine = create_engine(
        place,
        hide_parameters=True,
        pool_size=_CONNECTIONS,
        max_overflow=0,
        pool_timeout=_WAIT,
        pool_pre_ping=not lite,
        # A server set to answer before a commit lies on its disk would forget a charge when its power fails.
        connect_args={"timeout": _WAIT} if lite else {"options": "-c synchronous_commit=on -c lock_timeout=30s"},
    )
    if lite:
        _prepare_sqlite(engine, place)
    try:
        with engine.execution_options(**WRITES).begin() as connection:
            if not lite:
                connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_TABLES_LOCK})")
            _make_tables(connection)
    except BaseException:
        engine.dispose()
        raise
    return engine


def _prepare_sqlite(engine: Engine, place: URL) -> None:
    file = Path(str(place.database))
    file.parent.mkdir(parents=True, exist_ok=True)
    os.close(os.open(file, os.O_CREAT | os.O_RDWR, 0o600))  # what SQLite writes beside it takes this mode over

    def connected(raw: Any, _: Any) -> None:
        raw.isolation_level = None  # transactions begin where we say, not before the first change
        for setting in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON", "secure_delete=ON"):
            raw.execute(f"PRAGMA {setting}")

    def begun(connection: Connection) -> None:
        # A transaction that reads first and locks later is refused as busy when another has written in between.
        writes = connection.get_execution_options().get("writes")
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

    event.listen(engine, "connect", connected)
    event.listen(engine, "begin", begun)


def _make_tables(connection: Connection) -> None:
    present = inspect(connection)
    for table in METADATA.sorted_tables:
        columns = {each["name"] for each in present.get_columns(table.name)} if present.has_table(table.name) else None
        if columns not in (None, {*table.columns.keys()}):
            raise WordveilError("This ledger is of another version of wordveil: open it with that one, or begin a new.")
    METADATA.create_all(connection)
