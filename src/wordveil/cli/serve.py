"""`wordveil serve`: the service over HTTP."""

from __future__ import annotations

import logging
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Option

from wordveil.cli.common import say
from wordveil.errors import ParameterError

if TYPE_CHECKING:
    from wordveil.service.ledger import Ledger
    from wordveil.service.opening import Opening

VocabulariesOption = Annotated[
    list[str] | None,
    Option("--vocabulary", metavar="NAME=PATH", help="Another vocabulary; default=PATH replaces the embedded one."),
]
MOST_HOURS = 8760
DATABASE = "WORDVEIL_DATABASE"


@dataclass(frozen=True, kw_only=True)
class Storage:
    """Where a service keeps what it keeps."""

    state: Annotated[
        Path, Option(metavar="FOLDER", help="Where the secret lies, and the ledger if no --database is given.")
    ] = Path("wordveil-service")
    database: Annotated[
        str,
        Option(
            metavar="URL",
            help="sqlite:///FILE or postgresql+psycopg://...; else $WORDVEIL_DATABASE, which no process list shows.",
        ),
    ] = ""

    def opened(self, **more: Any) -> Opening:
        from wordveil.service.opening import Opening

        return Opening(state=self.state, database=self.database or os.environ.get(DATABASE, ""), **more)


def serve(
    *,
    host: Annotated[str, Option(help="Address to listen on; put TLS in front of any but a local one.")] = ("127.0.0.1"),
    port: Annotated[int, Option(help="Port to listen on.")] = 8080,
    storage: Storage,
    vocabulary: VocabulariesOption = None,
    stock: Annotated[
        list[str] | None,
        Option(metavar="NAME=FOLDER", help="Another stock for rephrasing; general=FOLDER replaces ours."),
    ] = None,
    setting: Annotated[
        list[str] | None,
        Option(
            metavar="NAME=MECHANISM:...",
            help="Another setting that clients may name: notes=neighbours:epsilon=6,unknown=mask, letters=rephrase or "
            "readable=redact:common=4000,pack=clinic+bank; "
            "default=... replaces the one that is open without this.",
        ),
    ] = None,
    subject_budget: Annotated[
        str, Option(help="Nats that each data subject may spend a day by the default setting.")
    ] = "200",
    key_budget: Annotated[str, Option(help="The same for each API key.")] = "10000",
    rate: Annotated[float, Option(help="Requests a second of one API key.")] = 50.0,
    retry_hours: Annotated[float, Option(help="How long an idempotency key holds.")] = 24.0,
    debug_log: Annotated[bool, Option("--debug-log", help="Log at debug level; no text is logged then either.")] = (
        False
    ),
    check: Annotated[bool, Option("--check", help="Open everything, say where it would listen, and end.")] = False,
) -> None:
    """Serve releases over HTTP, paid from budgets that cannot be overspent (extra: serve)."""
    if not 0 < retry_hours <= MOST_HOURS:
        raise ParameterError("--retry-hours", retry_hours, f"must be in (0, {MOST_HOURS}].")
    from wordveil.service.access import key_names
    from wordveil.service.app import build_app
    from wordveil.service.guarding import Limits
    from wordveil.service.running import run
    from wordveil.service.settings import settings_of

    logging.basicConfig(level=logging.DEBUG if debug_log else logging.INFO, format="%(asctime)s %(name)s %(message)s")
    opening = storage.opened(
        vocabularies=named_paths("--vocabulary", vocabulary),
        stocks=named_paths("--stock", stock),
        settings=settings_of(setting or ()),
        subject_budget=subject_budget,
        key_budget=key_budget,
    )
    releaser = opening.releaser()
    address = f"http://{host}:{port}/"
    if check:
        say(f"everything opens; would listen on {address}")
        return
    if not key_names(releaser.ledger):
        make_first_key(releaser.ledger, storage.state, address)
    say(f"listening on {address}")
    app = build_app(releaser, Limits(rate=rate, burst=4 * rate))
    run(app, releaser.ledger, host=host, port=port, retry_hours=retry_hours)


def make_first_key(ledger: Ledger, state: Path, address: str) -> None:
    """Make a key and show it to whoever sits at a terminal; what is kept of other output, as logs are, holds none."""
    from wordveil.files.atomic import write_whole
    from wordveil.service.access import make_key

    key = make_key(ledger, "first")
    if sys.stderr is not None and sys.stderr.isatty():
        say(f"first API key, shown once: {key}")
        say(f"in the browser: {address}#key={key}")
    else:
        file = state / "first-key"
        write_whole(file, f"{key}\n".encode(), private=True)
        say(f"first API key: in {file}, which only its owner can read; take it from there and delete the file")


def named_paths(option_: str, given: list[str] | None) -> dict[str, Path]:
    """Read NAME=PATH options."""
    pairs = [named.partition("=") for named in given or ()]
    if any(not name or not path for name, _, path in pairs):
        raise ParameterError(option_, given, "must be NAME=PATH.")
    return {name: Path(path) for name, _, path in pairs}
