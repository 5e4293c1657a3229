"""Opening a ledger's database: SQLite with every commit on the disk, or PostgreSQL; migrated where needed.

What SQLAlchemy logs shows no value of any statement.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from alembic.config import Config
from alembic.runtime.environment import EnvironmentContext
from alembic.script import ScriptDirectory
from sqlalchemy import create_engine, event
from sqlalchemy.engine import URL, Connection, Engine, make_url
from sqlalchemy.exc import ArgumentError

from wordveil.errors import ParameterError
from wordveil.service.schema import METADATA

__all__ = ["WRITES", "open_database"]

WRITES = {"writes": True}
"""Execution options of a connection whose transaction writes."""

WAIT = 30  # seconds for a lock or a connection
CONNECTIONS = 16
MIGRATION_LOCK = 0x776F7264  # any number that no other program locks


def open_database(url: str) -> Engine:
    """Open a database and bring its tables to this version.

    Args:
        url: "sqlite:///FILE" or "postgresql+psycopg://...".

    Raises:
        ParameterError: If it is a database of another kind.
    """
    try:
        place = make_url(url)
    except ArgumentError:
        raise _unknown() from None
    if place.get_backend_name() not in ("sqlite", "postgresql") or not place.database:
        raise _unknown()
    lite = place.get_backend_name() == "sqlite"
    engine = create_engine(
        place,
        hide_parameters=True,
        pool_size=CONNECTIONS,
        max_overflow=0,
        pool_timeout=WAIT,
        pool_pre_ping=not lite,
        # A server set to answer before a commit lies on its disk would forget a charge when its power fails.
        connect_args={"timeout": WAIT} if lite else {"options": "-c synchronous_commit=on -c lock_timeout=30s"},
    )
    if lite:
        _prepare_sqlite(engine, place)
    with engine.execution_options(**WRITES).begin() as connection:
        if not lite:
            connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({MIGRATION_LOCK})")
        _migrate(connection)
    return engine


def _unknown() -> ParameterError:
    # The URL may hold a password.
    return ParameterError("--database", "<hidden>", "must be sqlite:///FILE or postgresql+psycopg://...")


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


def _migrate(connection: Connection) -> None:
    script = ScriptDirectory(str(Path(__file__).parent / "migrations"))

    def steps(revision: Any, _: Any) -> Any:
        return script._upgrade_revs("head", revision)

    with EnvironmentContext(Config(), script, fn=steps) as environment:
        environment.configure(connection=connection, target_metadata=METADATA, transactional_ddl=False)
        environment.run_migrations()
