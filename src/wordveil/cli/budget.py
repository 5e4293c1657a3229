"""`wordveil budget`: what accounts of a service may spend, what they spent, and the API keys that spend it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Argument, Option

from wordveil.cli.app import Command
from wordveil.cli.common import say
from wordveil.cli.printing import JsonOption, aligned
from wordveil.cli.printing import show as show_result
from wordveil.cli.serve import Storage, VocabulariesOption, named_paths
from wordveil.errors import ParameterError

if TYPE_CHECKING:
    from wordveil.service.ledger import Ledger

app = typer.Typer(rich_markup_mode=None, no_args_is_help=True)

NAMES = "subject:NAME, key:NAME or the NAME of either"
AccountArgument = Annotated[str, Argument(metavar="ACCOUNT", help=f"{NAMES}.")]
AnyAccountArgument = Annotated[str, Argument(metavar="[ACCOUNT]", help=f"{NAMES}; default: all.")]

_NOTHING = "nothing was granted or spent yet: without a grant the daily allowance of `wordveil serve` holds"
BALANCE = ("granted", "spent", "left", "daily")
RELEASE = ("time", "tokens", "cost", "mechanism", "release")


def _ledger(storage: Storage) -> closing[Ledger]:
    opening = storage.opened()
    made = opening.file is not None and not opening.file.exists()
    ledger = opening.ledger()
    if made:
        say(f"a new ledger was made: {opening.file}. --state or --database names the one of a service that is there.")
    return closing(ledger)


def _accounts(ledger: Ledger, typed: str, *, subject: bool = False) -> list[str]:
    """Return the accounts that are meant; an error names what was typed, which answers to clients do not."""
    from wordveil.service.access import accounts_of

    try:
        return accounts_of(ledger, typed, subject=subject)
    except ParameterError as error:
        raise ParameterError("ACCOUNT", typed, error.requirement) from None


@app.command(cls=Command)
def show(account: AnyAccountArgument = "", *, as_json: JsonOption = False, storage: Storage) -> None:
    """Show budgets: granted, spent, left, and what they are filled up to every day, in nats."""
    with _ledger(storage) as ledger:
        rows = [balance for known in _meant(ledger, account) for balance in ledger.balances(known)]
        show_result(rows, _table(ledger, rows, BALANCE, account), as_json=as_json)


@app.command(cls=Command)
def grant(
    account: AccountArgument,
    nats: Annotated[str, Argument(metavar="NATS", help="Added to earlier grants, in place of a daily allowance.")],
    *,
    setting: Annotated[
        str, Option(metavar="MECHANISM:...", help="As for serve; its epsilon plays no part.")
    ] = "neighbours",
    vocabulary: VocabulariesOption = None,
    as_json: JsonOption = False,
    storage: Storage,
) -> None:
    """Grant an account a budget for releases that promise what this setting does."""
    from wordveil.service.costs import cost_of, units
    from wordveil.service.settings import Setting

    with _ledger(storage) as ledger:
        known = _accounts(ledger, account, subject=True)
        if len(known) > 1:
            raise ParameterError("ACCOUNT", account, "is the name of several; write subject:NAME or key:ID.")
        tables = storage.opened(vocabularies=named_paths("--vocabulary", vocabulary)).tables()
        cost = cost_of(Setting.read(setting).open(*tables).guarantee, 1)
        balance = ledger.grant(known[0], replace(cost, units=units(nats)))
        lines = [*_table(ledger, [balance], BALANCE), f"granted for the promise of the setting {setting}"]
        if not float(balance["daily"]):
            lines.append("what is granted stands alone: no day fills this account up")
        show_result(balance, lines, as_json=as_json)


@app.command(cls=Command)
def history(account: AccountArgument, *, as_json: JsonOption = False, storage: Storage) -> None:
    """Show what an account paid for, the oldest first."""
    with _ledger(storage) as ledger:
        rows = [row for known in _meant(ledger, account) for row in ledger.history(known)]
        show_result(rows, _table(ledger, rows, RELEASE, account), as_json=as_json)


@app.command(cls=Command)
def export(*, storage: Storage) -> None:
    """Print every charge of every account as NDJSON."""
    with _ledger(storage) as ledger:
        for row in ledger.history():
            typer.echo(json.dumps(row))


def _meant(ledger: Ledger, account: str) -> list[str | None]:
    return [*_accounts(ledger, account)] if account else [None]


def _table(ledger: Ledger, rows: Sequence[Mapping[str, Any]], columns: tuple[str, ...], asked: str = "") -> list[str]:
    from wordveil.service.access import key_names

    names = key_names(ledger)
    table = []
    for row in rows:
        account, promise = row["account"], row["promise"]
        named = f"{account} ({names[account]})" if account in names else account
        table.append({"account": named, **{name: row[name] for name in columns}})
        unit = f"nats per unit of {promise['metric']} distance" if promise["metric"] else "nats"
        table[-1]["promise"] = f"{unit}, {promise['promise']} for {promise['unit']}"
    return aligned(table) if table else [f"{asked}: {_NOTHING}" if asked else _NOTHING]


@app.command(cls=Command)
def key(
    name: Annotated[str, Argument(metavar="NAME", help="What the key is for, to be told apart.")],
    *,
    read_only: Annotated[bool, Option("--read-only", help="For budgets, not for releases.")] = False,
    storage: Storage,
) -> None:
    """Make an API key and print it; only its digest is kept."""
    from wordveil.service.access import SCOPES, make_key

    with _ledger(storage) as ledger:
        typer.echo(make_key(ledger, name, ("read",) if read_only else SCOPES))


@app.command(cls=Command)
def revoke(
    name: Annotated[str, Argument(metavar="KEY", help="A key's name, or what stands in it between wv_ and _.")],
    *,
    storage: Storage,
) -> None:
    """Refuse an API key from now on."""
    from wordveil.service.access import revoke_key

    with _ledger(storage) as ledger:
        revoke_key(ledger, name)
    say("refused from now on")
