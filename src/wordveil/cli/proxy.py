"""`wordveil proxy`: a local proxy that releases chat requests to a vendor."""

from __future__ import annotations

import json
import os
import re
import secrets
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from typer import Option

import wordveil as wv
from wordveil.cli.common import prepare, say
from wordveil.cli.options import Wanted
from wordveil.cli.redact import InPlace, PublicLists
from wordveil.cli.summary import promised
from wordveil.errors import ParameterError, WordveilError, printable

if TYPE_CHECKING:
    from wordveil.integrations.chat import PublicTools

SAMPLE = "You are a helpful assistant. Answer in one sentence."
SHOWN = 80  # characters of a prompt
TOKEN = re.compile(r"[!-~]{20,}")


def proxy(
    upstream: Annotated[
        str, Option(metavar="URL", help="The vendor, up to and with /v1; what it gets is the release.")
    ],
    public_prompt: Annotated[
        list[Path] | None, Option(metavar="FILE", help="A text, such as a system prompt, that goes out verbatim.")
    ] = None,
    public_tools: Annotated[
        Path | None, Option(metavar="FILE", help="A JSON list of tools and JSON schemas that go out verbatim.")
    ] = None,
    host: Annotated[str, Option(help="Where to listen; elsewhere than here, prompts travel openly.")] = "127.0.0.1",
    port: Annotated[int, Option(help="Port to listen on.")] = 8088,
    allow_host: Annotated[
        list[str] | None, Option(metavar="NAME", help="Another name that clients call it by; repeat as needed.")
    ] = None,
    api_key_env: Annotated[
        str | None, Option(metavar="NAME", help="Variable that holds the vendor's key; default: the client's.")
    ] = None,
    token_env: Annotated[
        str | None, Option(metavar="NAME", help="Variable that holds the clients' token; default: a new one, printed.")
    ] = None,
    secret: Annotated[
        Path | None,
        Option(metavar="FILE", help="What noise is drawn under, made if absent; default: new at every start."),
    ] = None,
    found: Annotated[
        bool, Option("--found", help="Answer where a reply holds surrogates, and for which values.")
    ] = False,
    check: Annotated[bool, Option("--check", help="Print what is promised and disclosed, and do not listen.")] = False,
    redact: Annotated[
        bool, Option("--redact", help="Keep public words and hide all others: the vendor's model reads English.")
    ] = False,
    *,
    wanted: Wanted,
    public: PublicLists,
) -> None:
    """Listen for chat completions, and send the release of every message to the vendor; replies come back as they are.

    Whatever cannot be released is refused, and the vendor gets nothing (extra: proxy).
    """
    from wordveil.files.secret import Secret
    from wordveil.integrations.chat import SHAPE
    from wordveil.integrations.conversation import Conversation

    vendor = _vendor(upstream)
    api_key, token = _held("--api-key-env", api_key_env), _clients_token(token_env)
    sanitizer = _redactor(wanted, public, found=found) if redact else _sanitizer(wanted, public)
    prompts = [path.read_text(encoding="utf-8") for path in public_prompt or ()]
    tools = _tools(public_tools)
    conversation = Conversation(
        sanitizer,
        secret=None if secret is None or check else Secret.at(secret),
        public={text for whole in prompts for text in (whole, whole.rstrip("\n"))},
    )
    for line in (*promised(conversation), f"disclosed: {SHAPE}"):
        say(line)
    _say_prompts(sanitizer, prompts)
    if not check:
        from wordveil.integrations.proxy import Proxy, serve

        served = Proxy(
            conversation=conversation,
            upstream=upstream,
            token=_new_token() if token is None else token,
            api_key=api_key,
            tools=tools,
            found=found,
            hosts=("127.0.0.1", "localhost", host, *(allow_host or ())),
        )
        _say_address(host, port, vendor)
        serve(served, host=host, port=port)


def _sanitizer(wanted: Wanted, public: PublicLists) -> wv.Sanitizer:
    if public != PublicLists():
        raise ParameterError("--redact", False, "must be given with options on public words; nothing else reads them.")
    embeddings = wv.load_embeddings(wanted.vocabulary)
    prepared = prepare(wanted, embeddings)
    for note in prepared.notes:
        say(note)
    options = wv.TextOptions(unknown="typed")
    return wv.Sanitizer(embeddings, prepared.mechanism, options=options, certificate=prepared.certificate)


def _redactor(wanted: Wanted, public: PublicLists, *, found: bool) -> wv.Redactor:
    if wanted != Wanted() or found:
        raise ParameterError("--redact", True, "draws no words: it takes no mechanism, vocabulary or --found.")
    return wv.Redactor(words=public.lists(), rule=InPlace().rule(public))


def _clients_token(variable: str | None) -> str | None:
    token = _held("--token-env", variable)
    if token is not None and not TOKEN.fullmatch(token):
        requirement = "must name a variable with at least 20 letters, digits and signs."
        raise ParameterError("--token-env", "<hidden>", requirement)
    return token


def _say_address(host: str, port: int, vendor: str) -> None:
    if getproxies().keys() & {"http", "all"} and not proxy_bypass(host):
        say(f"warning: a client with HTTP_PROXY sends private text there first; set NO_PROXY={host} for it")
    say(f"listening on http://{host}:{port}/v1; the vendor is {vendor}")


def _vendor(upstream: str) -> str:
    """Return what may be shown of the vendor's address, which never holds a password."""
    if not upstream.startswith(("https://", "http://")) or set("@?#") & set(upstream):
        requirement = "must begin with https:// or http:// and hold no user, password or query; see --api-key-env."
        raise ParameterError("--upstream", "<hidden>", requirement)
    return "{0.scheme}://{0.netloc}".format(urlsplit(upstream))


def _held(name: str, variable: str | None) -> str | None:
    if variable is not None and not os.environ.get(variable):
        requirement = "must be the name of a variable that is set in the environment."
        raise ParameterError(name, "<hidden>", requirement)  # a key may stand there by mistake
    return None if variable is None else os.environ[variable]


def _new_token() -> str:
    """Return a token that is shown once, on a terminal: logs are kept and read by others."""
    if sys.stderr is None or not sys.stderr.isatty():
        raise WordveilError(
            "There is no terminal to print a token to. Put one into a variable, and name it: --token-env."
        )
    token = secrets.token_urlsafe(24)
    say(f"token, shown once, which clients use as their api key: {token}")
    return token


def _tools(path: Path | None) -> PublicTools:
    from wordveil.integrations.chat import PublicTools

    try:
        declared = [] if path is None else json.loads(path.read_text(encoding="utf-8"))
        return PublicTools(declared if isinstance(declared, list) else [declared])
    except ValueError:  # no JSON, or no tools
        requirement = "must hold a JSON list of tools, or of response formats of the type json_schema."
        raise ParameterError("--public-tools", str(path), requirement) from None


def _say_prompts(sanitizer: wv.Sanitizer | wv.Redactor, prompts: list[str]) -> None:
    from wordveil.integrations.conversation import Conversation, Message

    def shown(text: str) -> str:
        return printable(" ".join(text.split())[:SHOWN])

    for text in prompts:
        say(f"system prompt declared public, goes out verbatim: {shown(text)}")
    if not prompts:
        say(f"no system prompt is declared public; with --public-prompt one goes out verbatim, like this: {SAMPLE}")
    released = Conversation(sanitizer).release([Message("system", prompts[0] if prompts else SAMPLE)])[0]
    say(f"every other system prompt is released like any message; this one would read: {shown(released)}")
