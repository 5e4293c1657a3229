"""`wordveil serve`: the service over HTTP."""

from __future__ import annotations

import logging
import os
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from wordveil.cli.common import say
from wordveil.cli.options import option
from wordveil.errors import ParameterError

if TYPE_CHECKING:
    from wordveil.service.opening import Opening

__all__ = ["DatabaseOption", "StateOption", "opened", "serve"]

StateOption = Annotated[
    Path, option("--state", metavar="FOLDER", help="Where the secret lies, and the ledger if no --database is given.")
]
DatabaseOption = Annotated[
    str,
    option(
        "--database",
        metavar="URL",
        help="sqlite:///FILE or postgresql+psycopg://...; else $WORDVEIL_DATABASE, which no process list shows.",
    ),
]
MOST_HOURS = 8760
DATABASE = "WORDVEIL_DATABASE"


def opened(state: Path, database: str, **more: Any) -> Opening:
    """Return where a service keeps what it keeps."""
    from wordveil.service.opening import Opening

    return Opening(state=state, database=database or os.environ.get(DATABASE, ""), **more)


def serve(
    *,
    host: Annotated[str, option("--host", help="Address to listen on; put TLS in front of any but a local one.")] = (
        "127.0.0.1"
    ),
    port: Annotated[int, option("--port", help="Port to listen on.")] = 8080,
    state: StateOption = Path("wordveil-service"),
    database: DatabaseOption = "",
    vocabulary: Annotated[
        list[str] | None,
        option("--vocabulary", metavar="NAME=PATH", help="Another vocabulary; default=PATH replaces the embedded one."),
    ] = None,
    stock: Annotated[
        list[str] | None,
        option("--stock", metavar="NAME=FOLDER", help="Another stock for rephrasing; general=FOLDER replaces ours."),
    ] = None,
    subject_budget: Annotated[str, option("--subject-budget", help="Nats that each new data subject may spend.")] = (
        "10000"
    ),
    key_budget: Annotated[str, option("--key-budget", help="Nats that each new API key may spend.")] = "1000000",
    rate: Annotated[float, option("--rate", help="Requests a second of one API key.")] = 50.0,
    retry_hours: Annotated[float, option("--retry-hours", help="How long an idempotency key holds.")] = 24.0,
    debug_log: Annotated[bool, option("--debug-log", help="Log at debug level; no text is logged then either.")] = (
        False
    ),
    check: Annotated[bool, option("--check", help="Open everything, say where it would listen, and end.")] = False,
) -> None:
    """Serve releases over HTTP, paid from budgets that cannot be overspent (extra: serve)."""
    opening = opened(
        state,
        database,
        vocabularies=_named("--vocabulary", vocabulary),
        stocks=_named("--stock", stock),
        subject_budget=subject_budget,
        key_budget=key_budget,
    )
    if not 0 < retry_hours <= MOST_HOURS:
        raise ParameterError("--retry-hours", retry_hours, f"must be in (0, {MOST_HOURS}].")
    from wordveil.service.access import any_key, make_key
    from wordveil.service.app import build_app
    from wordveil.service.guarding import Limits
    from wordveil.service.running import run

    logging.basicConfig(level=logging.DEBUG if debug_log else logging.INFO, format="%(asctime)s %(name)s %(message)s")
    logging.getLogger("alembic").setLevel(logging.WARNING)
    releaser = opening.releaser()
    address = f"http://{host}:{port}/"
    if check:
        say(f"everything opens; would listen on {address}")
        return
    if not any_key(releaser.ledger):
        key = make_key(releaser.ledger, "first")
        say(f"first API key, shown once: {key}")
        say(f"in the browser: {address}#key={key}")
    say(f"listening on {address}")
    app = build_app(releaser, Limits(rate=rate, burst=4 * rate))
    reload = partial(opening.load, releaser)
    run(app, releaser.ledger, host=host, port=port, retry_hours=retry_hours, reload=reload)


def _named(option_: str, given: list[str] | None) -> dict[str, Path]:
    pairs = [named.partition("=") for named in given or ()]
    if any(not name or not path for name, _, path in pairs):
        raise ParameterError(option_, given, "must be NAME=PATH.")
    return {name: Path(path) for name, _, path in pairs}
