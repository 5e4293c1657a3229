"""`wordveil proxy`: a local proxy that releases chat requests to a vendor and restores its replies."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from wordveil.cli.common import Wanted, open_vocabulary, prepare, say, say_promise
from wordveil.cli.options import option

if TYPE_CHECKING:
    from wordveil.integrations.conversation import Conversation

__all__ = ["proxy"]

UpstreamOption = Annotated[
    str, option("--upstream", metavar="URL", help="The vendor, up to and with /v1; what it gets is the release.")
]
PublicPromptOption = Annotated[
    list[Path] | None,
    option("--public-prompt", metavar="FILE", help="A text, such as a system prompt, that goes out verbatim."),
]
HostOption = Annotated[str, option("--host", help="Where to listen; elsewhere than here, prompts travel openly.")]
AllowHostOption = Annotated[
    list[str] | None,
    option("--allow-host", metavar="NAME", help="Another name that clients call it by; repeat as needed."),
]
KeyOption = Annotated[
    str | None,
    option("--api-key-env", metavar="NAME", help="Variable that holds the vendor's key; default: the client's."),
]
IdleOption = Annotated[float, option("--idle", help="Seconds until a conversation and its map are dropped.")]
CheckOption = Annotated[bool, option("--check", help="Print what is promised and disclosed, and do not listen.")]


def proxy(
    upstream: UpstreamOption,
    public_prompt: PublicPromptOption = None,
    host: HostOption = "127.0.0.1",
    port: Annotated[int, option("--port", help="Port to listen on.")] = 8088,
    allow_host: AllowHostOption = None,
    api_key_env: KeyOption = None,
    idle: IdleOption = 3600.0,
    check: CheckOption = False,
    *,
    wanted: Wanted,
) -> None:
    """Listen for chat completions, release every message to the vendor, restore surrogates in its replies.

    Whatever cannot be released is refused, and the vendor gets nothing (extra: proxy).
    """
    from wordveil.errors import ParameterError
    from wordveil.integrations.conversation import Conversations
    from wordveil.pipeline.sanitizer import Sanitizer
    from wordveil.promises.release import TextOptions

    if not upstream.startswith(("https://", "http://")):
        raise ParameterError("--upstream", upstream, "must begin with https:// or http://.")
    if api_key_env is not None and api_key_env not in os.environ:
        raise ParameterError("--api-key-env", api_key_env, "is not set in the environment.")
    embeddings = open_vocabulary(wanted.vocabulary)
    prepared = prepare(wanted, embeddings)
    options = TextOptions(unknown="typed")
    sanitizer = Sanitizer(embeddings, prepared.mechanism, options=options, certificate=prepared.certificate)
    public = [path.read_text(encoding="utf-8") for path in public_prompt or ()]
    conversations = Conversations(
        sanitizer, public={text for whole in public for text in (whole, whole.rstrip("\n"))}, idle=idle
    )
    for note in prepared.notes:
        say(note)
    _print_promise(conversations.example)
    if not check:
        from wordveil.integrations.proxy import Proxy, serve

        say(f"listening on http://{host}:{port}/v1; the vendor is {upstream}")
        key = None if api_key_env is None else os.environ[api_key_env]
        names = ("127.0.0.1", "localhost", host, *(allow_host or ()))
        serve(Proxy(conversations=conversations, upstream=upstream, api_key=key, hosts=names), host=host, port=port)


def _print_promise(said: Conversation) -> None:
    from wordveil.integrations.conversation import RESTORED

    say_promise(said.guarantee, said.disclosed)
    say(f"restored in replies, on this side: {', '.join(RESTORED)}")
