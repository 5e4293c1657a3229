"""`wordveil budget`: what accounts of a service may spend, what they spent, and the API keys that spend it."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from wordveil.cli.app import Command
from wordveil.cli.common import Wanted, open_vocabulary, prepare, say
from wordveil.cli.options import argument, option
from wordveil.cli.serve import DatabaseOption, StateOption, opened

if TYPE_CHECKING:
    from wordveil.service.ledger import Ledger

__all__ = ["app"]

app = typer.Typer(rich_markup_mode=None, no_args_is_help=True)
STATE = Path("wordveil-service")

AccountArgument = Annotated[str, argument(metavar="ACCOUNT", help="subject:NAME or key:NAME.")]
AnyAccountArgument = Annotated[str, argument(metavar="[ACCOUNT]", help="subject:NAME or key:NAME; default: all.")]


def _ledger(state: Path, database: str) -> Ledger:
    return opened(state, database).ledger()


def _checked(account: str) -> str | None:
    from wordveil.service.access import check_account

    return check_account(account) if account else None


@app.command(cls=Command)
def show(account: AnyAccountArgument = "", *, state: StateOption = STATE, database: DatabaseOption = "") -> None:
    """Show budgets, one a line as JSON: granted, spent, left, in nats over the whole history of texts."""
    ledger = _ledger(state, database)
    for balance in ledger.balances(_checked(account)):
        typer.echo(json.dumps(asdict(balance)))
    ledger.close()


@app.command(cls=Command)
def grant(
    account: AccountArgument,
    nats: Annotated[str, argument(metavar="NATS", help="What is granted on top of what there is.")],
    *,
    wanted: Wanted,
    rephrase: Annotated[
        bool,
        option("--rephrase", help="For sentences; without --prototypes the best size for --epsilon."),
    ] = False,
    prototypes: Annotated[int | None, option("--prototypes", help="With --rephrase: size of the stock.")] = None,
    delta: Annotated[str, option("--delta", help="Delta granted on top of what there is.")] = "0",
    state: StateOption = STATE,
    database: DatabaseOption = "",
) -> None:
    """Grant an account a budget for releases that promise what this mechanism does; its epsilon plays no part."""
    ledger = _ledger(state, database)
    from wordveil.pipeline.sanitizer import Sanitizer
    from wordveil.promises.release import TextOptions
    from wordveil.sentences.rephrasing import EPSILON, Rephraser
    from wordveil.service.costs import DELTA_UNITS, cost_of, units

    checked = _checked(account) or account
    if rephrase:
        epsilon = EPSILON if wanted.epsilon is None else wanted.epsilon
        guarantee = Rephraser(epsilon=epsilon, prototypes=prototypes).guarantee
    else:
        embeddings = open_vocabulary(wanted.vocabulary)
        prepared = prepare(wanted, embeddings)
        options = TextOptions(unknown="typed")
        sanitizer = Sanitizer(embeddings, prepared.mechanism, options=options, certificate=prepared.certificate)
        guarantee = sanitizer.guarantee
    granted = replace(cost_of(guarantee, 1), units=units(nats), delta_units=units(delta, DELTA_UNITS))
    typer.echo(json.dumps(asdict(ledger.grant(checked, granted))))
    ledger.close()


@app.command(cls=Command)
def history(account: AccountArgument, *, state: StateOption = STATE, database: DatabaseOption = "") -> None:
    """Show what an account paid for, the oldest first, a line of JSON each."""
    _print_history(_ledger(state, database), _checked(account))


@app.command(cls=Command)
def export(*, state: StateOption = STATE, database: DatabaseOption = "") -> None:
    """Print every charge of every account as NDJSON."""
    _print_history(_ledger(state, database), None)


def _print_history(ledger: Ledger, account: str | None) -> None:
    for row in ledger.history(account):
        typer.echo(json.dumps(row))
    ledger.close()


@app.command(cls=Command)
def key(
    name: Annotated[str, argument(metavar="NAME", help="What the key is for, to be told apart.")],
    *,
    read_only: Annotated[bool, option("--read-only", help="For budgets and metrics, not for releases.")] = False,
    state: StateOption = STATE,
    database: DatabaseOption = "",
) -> None:
    """Make an API key and print it; only its digest is kept."""
    ledger = _ledger(state, database)
    from wordveil.service.access import SCOPES, make_key

    typer.echo(make_key(ledger, name, ("read",) if read_only else SCOPES))
    ledger.close()


@app.command(cls=Command)
def revoke(
    name: Annotated[str, argument(metavar="KEY", help="A key's name, or what stands in it between wv_ and _.")],
    *,
    state: StateOption = STATE,
    database: DatabaseOption = "",
) -> None:
    """Refuse an API key from now on."""
    ledger = _ledger(state, database)
    from wordveil.service.access import revoke_key

    revoke_key(ledger, name)
    say("refused from now on")
    ledger.close()
