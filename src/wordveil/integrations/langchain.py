"""LangChain: a middleware whose agent's model gets releases only, and embeddings that are released under a guarantee.

The state of the agent stays private and whole: only what goes to the model is released, and what the model says is
restored before it enters the state. What streams out of the agent (`stream_events(version="v3")`) is restored, too.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, ClassVar
from weakref import WeakValueDictionary

from wordveil.errors import MissingExtraError
from wordveil.integrations.chat import RefusedError, released_request
from wordveil.integrations.conversation import Conversation, Conversations
from wordveil.integrations.restoring import Restorer
from wordveil.mechanisms.base import VectorMechanism
from wordveil.pipeline.one_line import default_sanitizer
from wordveil.pipeline.sanitizer import Sanitizer
from wordveil.pipeline.vectors import VectorRelease, VectorSettings, release_vectors

try:
    from langchain.agents.middleware import AgentMiddleware, ModelRequest, ModelResponse
    from langchain_core.callbacks import BaseCallbackHandler
    from langchain_core.embeddings import Embeddings
    from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage
    from langchain_core.tracers.context import register_configure_hook
    from langgraph.config import get_config
    from langgraph.stream import StreamTransformer
except ImportError as missing:
    raise MissingExtraError("wordveil.integrations.langchain", "langchain", "langchain") from missing

__all__ = ["PrivateEmbeddings", "WordveilMiddleware"]

_ROLES = {"human": "user", "ai": "assistant", "system": "system"}
_CLASSES = {"user": HumanMessage, "assistant": AIMessage, "system": SystemMessage}


class WordveilMiddleware(AgentMiddleware):
    """Releases every message that goes to the model, and restores surrogates in what it says.

    It comes last in the list of middleware: a call with anything but its release, added behind it, is refused.

    Args:
        sanitizer: How texts are released; the default of `wordveil.sanitize` unless given.
        public: Texts, such as the system prompt, that go out verbatim.
    """

    def __init__(self, *, sanitizer: Sanitizer | None = None, public: Sequence[str] = ()) -> None:
        super().__init__()
        self.conversations = Conversations(sanitizer or default_sanitizer(), public=frozenset(public))
        running: WeakValueDictionary[str, Conversation] = WeakValueDictionary()
        self._running = running
        self.transformers = (lambda scope: _Restoring(scope, running),)

    def wrap_model_call(self, request: ModelRequest, handler: Callable[[ModelRequest], ModelResponse]) -> ModelResponse:
        """Call the model with the release.

        Raises:
            RefusedError: If the request holds tools, images or another thing that is not covered; it is not sent then.
        """
        released, conversation = self._released(request)
        with _nothing_but(released):
            return _restored(handler(released), conversation)

    async def awrap_model_call(
        self, request: ModelRequest, handler: Callable[[ModelRequest], Awaitable[ModelResponse]]
    ) -> ModelResponse:
        """Call the model with the release; errors as for `wrap_model_call`."""
        released, conversation = self._released(request)
        with _nothing_but(released):
            return _restored(await handler(released), conversation)

    def _released(self, request: ModelRequest) -> tuple[ModelRequest, Conversation]:
        if request.tools or request.response_format is not None:
            raise RefusedError("tools and response formats of an agent are not covered; nothing was sent.")
        system = [] if request.system_message is None else [request.system_message]
        thread = get_config().get("configurable", {}).get("thread_id", "")
        body = {**request.model_settings, "messages": [_as_chat(each) for each in (*system, *request.messages)]}
        out, conversation = released_request(body, self.conversations, str(thread))
        self._running[_place(get_config().get("metadata", {}))] = conversation
        messages = [_CLASSES[each["role"]](content=each["content"]) for each in out.pop("messages")]
        head = messages.pop(0) if system else None
        return request.override(system_message=head, messages=messages, model_settings=out), conversation


class _NothingBut(BaseCallbackHandler):
    """Stops a call of a model that says anything but a release."""

    raise_error = True
    run_inline = True  # before the call, also where it is awaited

    def __init__(self, released: Sequence[BaseMessage]) -> None:
        self._released = [message.model_dump() for message in released]  # copies: messages can be changed in place

    def on_chat_model_start(self, serialized: Any, messages: list[list[BaseMessage]], **_: Any) -> None:
        """Compare what the model is to be told with the release."""
        if any([message.model_dump() for message in batch] != self._released for batch in messages):
            raise RefusedError(
                "a middleware behind wordveil's changed the release; put wordveil's last. Nothing was sent."
            )

    def on_llm_start(self, serialized: Any, prompts: list[str], **_: Any) -> None:
        """Refuse: a prompt that is no list of messages is no release."""
        raise RefusedError("a middleware behind wordveil's calls a model; put wordveil's last. Nothing was sent.")


# By a variable, not the callbacks of the call: a model with callbacks of its own does not take over those.
_CHECK: ContextVar[_NothingBut | None] = ContextVar("wordveil_nothing_but", default=None)
register_configure_hook(_CHECK, inheritable=True)


@contextmanager
def _nothing_but(request: ModelRequest) -> Iterator[None]:
    """Let models be told this release alone, whatever middleware stands between."""
    system = [] if request.system_message is None else [request.system_message]
    token = _CHECK.set(_NothingBut([*system, *request.messages]))
    try:
        yield
    finally:
        _CHECK.reset(token)


class PrivateEmbeddings(Embeddings):
    """Embeddings of another model, released under a guarantee before anything else, such as a vector store, sees them.

    Every vector, of a document or a query, is a row with noise of its own, drawn afresh: one text embedded twice is
    released twice.

    Args:
        embeddings: What embeds; it sees the private texts, so it must be yours.
        mechanism: A vector mechanism that needs no vocabulary.
        settings: The grid.
    """

    def __init__(
        self, embeddings: Embeddings, mechanism: VectorMechanism, *, settings: VectorSettings | None = None
    ) -> None:
        self._embeddings, self._mechanism, self._settings = embeddings, mechanism, settings
        self.release: VectorRelease | None = None
        """The last release: its guarantee, assumptions and disclosures."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Return the released vector of each text."""
        return self._released(self._embeddings.embed_documents(texts))

    def embed_query(self, text: str) -> list[float]:
        """Return the released vector of a text."""
        return self._released([self._embeddings.embed_query(text)])[0]

    def _released(self, rows: list[list[float]]) -> list[list[float]]:
        if not rows:
            return []
        self.release = release_vectors(rows, self._mechanism, settings=self._settings)
        vectors: list[list[float]] = self.release.vectors.tolist()
        return vectors


class _Restoring(StreamTransformer):
    """Restores the text that streams out of an agent, before anything else sees it."""

    before_builtins: ClassVar[bool] = True
    required_stream_modes: ClassVar[tuple[str, ...]] = ("messages",)

    def __init__(self, scope: tuple[str, ...], running: WeakValueDictionary[str, Conversation]) -> None:
        super().__init__(scope)
        self._running = running
        self._open = dict[tuple[str, int], Restorer]()

    def init(self) -> dict[str, Any]:
        """Offer nothing of its own."""
        return {}

    def process(self, event: Any) -> bool:
        """Restore an event in place."""
        data = event["params"].get("data")
        if event["method"] != "messages" or not isinstance(data, tuple) or len(data) != 2:
            return True
        payload, metadata = data
        conversation = self._running.get(_place(metadata))
        if conversation is None:
            return True
        if isinstance(payload, BaseMessage):
            event["params"]["data"] = (_restored_message(payload, conversation), metadata)
            return True
        place = (str(metadata.get("run_id")), payload.get("index", 0))
        text = payload.get("delta") or payload.get("content")
        if not isinstance(text, dict) or not isinstance(text.get("text"), str):
            return True
        if payload.get("event") == "content-block-delta" and text.get("type") == "text-delta":
            restorer = self._open.setdefault(place, conversation.reply())
            text["text"] = restorer.feed(text["text"])
        elif payload.get("event") == "content-block-finish" and text.get("type") == "text":
            text["text"] = conversation.restore(text["text"])
            self._open.pop(place, None)
        return True


def _place(metadata: Any) -> str:
    """Return what tells one model call of a graph from others, in its own configuration and in its events."""
    return str((metadata or {}).get("langgraph_checkpoint_ns"))


def _as_chat(message: BaseMessage) -> dict[str, Any]:
    """Return a message as chat completions have it; of a block of text nothing but its text."""
    content, calls = message.content, getattr(message, "tool_calls", None)
    parts = content if isinstance(content, str) else [_part(block) for block in content]
    return {"role": _ROLES.get(message.type, message.type), "content": parts, "tool_calls": calls}


def _part(block: Any) -> Any:
    text = isinstance(block, dict) and block.get("type") == "text"
    return {"type": "text", "text": block["text"]} if text else block


def _restored(response: ModelResponse, conversation: Conversation) -> ModelResponse:
    response.result = [_restored_message(each, conversation) for each in response.result]
    return response


def _restored_message(message: BaseMessage, conversation: Conversation) -> BaseMessage:
    """Return a copy of a message with its text restored; its tool calls are left as the model wrote them."""
    content = message.content
    if isinstance(content, str):
        return message.model_copy(update={"content": conversation.restore(content)})
    blocks = [
        {**block, "text": conversation.restore(block["text"])}
        if isinstance(block, dict) and isinstance(block.get("text"), str)
        else block
        for block in content
    ]
    return message.model_copy(update={"content": blocks})
