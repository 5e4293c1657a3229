"""A guardrail for LiteLLM: the vendor gets the release of every message, and the caller its own values back.

Its native hooks see whole requests, with fields that `apply_guardrail` is never shown (images alone, `user`, tools), so
that what is not covered is refused. What goes wrong raises, and LiteLLM then sends nothing. What LiteLLM itself logs of
a request is the release: the guardrail puts it in the place of the copy kept for logs, too.
"""

from __future__ import annotations

import secrets
from collections import OrderedDict
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, ClassVar
from weakref import ReferenceType, ref

from wordveil.errors import MissingExtraError, ParameterError, WordveilError
from wordveil.integrations.chat import RefusedError, StreamRestorer, released_request
from wordveil.integrations.conversation import Conversation, Conversations
from wordveil.pipeline.one_line import default_sanitizer
from wordveil.pipeline.sanitizer import Sanitizer

try:
    from litellm.exceptions import GuardrailRaisedException
    from litellm.integrations.custom_guardrail import CustomGuardrail
    from litellm.types.guardrails import GuardrailEventHooks
    from litellm.types.utils import ModelResponse
except ImportError as missing:
    raise MissingExtraError("wordveil.integrations.litellm", "litellm", "litellm") from missing

__all__ = ["WordveilGuardrail"]

_CALLS = ("completion", "acompletion")
_OPEN = 10_000  # calls whose answer is awaited
_NUMBER = "wordveil_call"
_OWN = frozenset({
    "_litellm_strip_stream_usage", "_router_weights", "acompletion", "client_side_timeout", "disable_fallbacks",
    "keepalive_seconds", "session_id",
    "api_base", "api_key", "api_version", "async_call", "base_url", "cache", "caching", "client",
    "completion_call_id", "custom_llm_provider", "force_timeout", "guardrails", "id", "litellm_call_id",
    "litellm_credential_name", "litellm_disabled_callbacks", "litellm_logging_obj", "litellm_metadata",
    "litellm_session_id", "litellm_trace_id", "litellm_trusted_callback_vars", "logger_fn", "max_retries",
    "metadata", "mock_response", "mock_timeout", "model_info", "no-log", "num_retries", "proxy_server_request",
    "region_name", "request_timeout", "secret_fields", "shared_session", "ssl_verify", "stream_timeout",
    "timeout", "turn_off_message_logging", "verbose",
})  # fmt: skip
"""Fields between client, gateway and this process that LiteLLM makes no part of a prompt. It has others of its own that
it does, such as `litellm_system_prompt` and `fallbacks` with messages of their own: these are refused."""
_SESSIONS = ("id", "litellm_session_id", "litellm_trace_id", "session_id")
_METADATA = ("litellm_metadata", "metadata")
_NAMING = ("guardrail_config", "requester_metadata", "session_id", "spend_logs_metadata", "tags", "trace_id", "user_id")
_GATEWAYS = ("api_base", "deployment", "deployment_model_name", "endpoint", "model_group", "model_group_alias")
"""Some vendors get sessions and metadata (Anthropic `user_id`, Fireworks `session_id`, OpenAI all of it under
`enable_preview_features`): sessions are left out, and of metadata's texts all but these, which the gateway writes."""


class WordveilGuardrail(CustomGuardrail):
    """Releases requests and restores replies; to be used in the modes `pre_call` and `post_call` at once.

    Args:
        sanitizer: How texts are released; the default of `wordveil.sanitize` unless given.
        public: Texts, such as a system prompt, that go out verbatim.
        **settings: Those of every LiteLLM guardrail: `guardrail_name`, `event_hook`, `default_on` and so on.

    Raises:
        ParameterError: If LiteLLM would throw its work away or not ask for it: without `pre_call` among the modes, with
            modes that depend on tags, `run_in_parallel` or `scan_raw_request`.
    """

    use_native_lifecycle_hooks: ClassVar[bool] = True

    def __init__(self, *, sanitizer: Sanitizer | None = None, public: tuple[str, ...] = (), **settings: Any) -> None:
        modes = settings.get("event_hook") or "pre_call"
        named = [str(getattr(mode, "value", mode)) for mode in (modes if isinstance(modes, list) else [modes])]
        if "pre_call" not in named or settings.get("run_in_parallel") or settings.get("scan_raw_request"):
            raise ParameterError("mode", named, "must hold pre_call, without run_in_parallel and scan_raw_request.")
        super().__init__(**settings)
        self.conversations = Conversations(sanitizer or default_sanitizer(), public=public)
        self._open: OrderedDict[int, ReferenceType[Conversation]] = OrderedDict()
        self._sent: OrderedDict[int, Any] = OrderedDict()  # what was released already

    async def async_pre_call_hook(
        self, user_api_key_dict: Any, cache: Any, data: dict[str, Any], call_type: str
    ) -> dict[str, Any]:
        """Return the request with every message released.

        Raises:
            GuardrailRaisedException: If it is no chat completion, holds what is not covered, or anything goes wrong:
                LiteLLM then sends nothing.
        """
        return self._release(data, call_type, str(getattr(user_api_key_dict, "api_key", None) or ""))

    async def async_pre_call_deployment_hook(self, kwargs: dict[str, Any], call_type: Any) -> dict[str, Any]:
        """Release a call of `litellm.acompletion` that no proxy has released; errors as above."""
        metadata = kwargs.get("metadata")
        number = metadata.get(_NUMBER) if isinstance(metadata, dict) else None
        if isinstance(number, int) and number in self._sent and self._sent[number] == kwargs.get("messages"):
            return kwargs
        if self.should_run_guardrail(data=kwargs, event_type=GuardrailEventHooks.pre_call) is not True:
            return kwargs
        return self._release(dict(kwargs), getattr(call_type, "value", ""), "")

    async def async_post_call_success_hook(self, data: dict[str, Any], user_api_key_dict: Any, response: Any) -> Any:
        """Return a copy of the reply with its surrogates restored; the reply itself goes to the logs."""
        conversation = self._answered(data)
        if conversation is None or not isinstance(response, ModelResponse):
            return response
        copy = response.model_copy(deep=True)
        for choice in copy.choices:
            if isinstance(choice.message.content, str):
                choice.message.content = conversation.restore(choice.message.content)
        return copy

    async def async_post_call_success_deployment_hook(
        self, request_data: dict[str, Any], response: Any, call_type: Any
    ) -> None:
        """Leave a reply as it is before it is logged; a proxy of LiteLLM's restores it afterwards."""

    async def async_post_call_streaming_iterator_hook(
        self, user_api_key_dict: Any, response: AsyncIterator[Any], request_data: dict[str, Any]
    ) -> AsyncIterator[Any]:
        """Yield copies of the chunks with surrogates restored, also where these are split between chunks."""
        conversation, chunk = self._answered(request_data), None
        restorer = None if conversation is None else StreamRestorer(conversation)
        async for chunk in response:
            yield chunk if restorer is None else type(chunk)(**restorer.feed(chunk.model_dump()))
        if restorer is not None and chunk is not None:
            for left in restorer.close():
                yield type(chunk)(**left)

    async def apply_guardrail(
        self, inputs: Mapping[str, Any], request_data: dict[str, Any], input_type: str, logging_obj: Any = None
    ) -> dict[str, Any]:
        """Return texts released ("request") or restored ("response"), for LiteLLM's own apply-guardrail endpoint.

        Raises:
            GuardrailRaisedException: If there is anything but texts.
        """
        texts = list(inputs.get("texts") or ())
        if input_type == "response":
            talk = self._answered(request_data)
            return {**inputs, "texts": texts if talk is None else [talk.restore(text) for text in texts]}
        with _closed({}):
            if any(inputs.get(name) for name in ("images", "tools", "tool_calls")):
                raise RefusedError("images, tools and tool calls are not covered.")
            body = {"messages": [{"role": "user", "content": text} for text in texts]}
            released, conversation = released_request(body, self.conversations, "")
        self._remember(request_data, conversation, released["messages"])
        return {"texts": [message["content"] for message in released["messages"]]}

    def _release(self, data: dict[str, Any], call_type: str, owner: str) -> dict[str, Any]:
        """Put the release in the place of what is private in a request, or nothing where it is refused."""
        with _closed(data):
            if call_type not in _CALLS:
                raise RefusedError(f"wordveil covers {' and '.join(_CALLS)} only.")
            _take_out_words(data)
            private = {name: value for name, value in data.items() if name not in _OWN}
            released, conversation = released_request(private, self.conversations, owner)
        for name in private.keys() - released.keys():
            del data[name]
        data.update(released)
        if isinstance(data.get("proxy_server_request"), dict):
            data["proxy_server_request"]["body"] = released  # what logs are made from
        if data.get("litellm_logging_obj") is not None:
            data["litellm_logging_obj"].update_messages(released["messages"])
        self._remember(data, conversation, released["messages"])
        return data

    def _remember(self, data: dict[str, Any], conversation: Conversation, sent: Any) -> None:
        """Keep the conversation until the call is answered; not in the request, which goes to logs.

        It is found by a number of ours in the request: clients choose the ids of calls, and may choose one twice.
        """
        number = secrets.randbits(63)
        metadata = data.setdefault("metadata", {})
        if not isinstance(metadata, dict) or not data.get("litellm_call_id"):
            return
        metadata[_NUMBER] = number
        self._open[number] = ref(conversation)
        self._sent[number] = sent
        for kept in (self._open, self._sent):
            while len(kept) > _OPEN:
                kept.popitem(last=False)

    def _answered(self, data: Mapping[str, Any]) -> Conversation | None:
        metadata = data.get("metadata")
        number = metadata.pop(_NUMBER, None) if isinstance(metadata, dict) else None
        found = self._open.pop(number, None) if isinstance(number, int) else None
        if found is not None and (logged := data.get("litellm_logging_obj")) is not None:
            logged.model_call_details = _Logged(logged.model_call_details)
        return None if found is None else found()


class _Logged(dict[str, Any]):
    """What LiteLLM logs of a call, without what its caller got: LiteLLM would log that in the place of the reply."""

    def __setitem__(self, name: str, value: Any) -> None:
        if name != "served_output_texts":
            super().__setitem__(name, value)


def _take_out_words(data: dict[str, Any]) -> None:
    """Take out of LiteLLM's own fields what a caller may have written there.

    Raises:
        RefusedError: If the caller filled one that is the gateway's, with anything but a number.
    """
    request = data.get("proxy_server_request")
    asked = request.get("body") if isinstance(request, dict) else None
    asked = asked if isinstance(asked, dict) else {}
    for name in (asked.keys() & _OWN).difference(_SESSIONS, _METADATA):
        if not isinstance(asked[name], int | float | None):
            raise RefusedError(f"{name!r} is the gateway's to fill; a caller may put a number there.")
    for name in _SESSIONS:
        data.pop(name, None)
    kept = [held for held in map(data.get, _METADATA) if held is not None]
    if not all(isinstance(held, dict) for held in kept):
        raise RefusedError("metadata must be an object.")
    # The gateway adds its own to what the caller wrote, of which it keeps a copy.
    copies = (asked.get("litellm_metadata"), *(held.get("requester_metadata") for held in kept))
    callers = {key for copy in copies if isinstance(copy, dict) for key in copy} - {"guardrails"}
    for held in kept:
        for key, value in list(held.items()):
            if request is not None and _is_attribution(key):
                continue
            if key in callers or key in _NAMING or (isinstance(value, str) and key not in _GATEWAYS):
                del held[key]


def _is_attribution(key: Any) -> bool:
    """Whether LiteLLM writes this itself, to know whose spend it is; it takes out what a caller wrote there."""
    return f"{key}_".startswith("user_api_key_")


@contextmanager
def _closed(data: dict[str, Any]) -> Iterator[None]:
    """Refuse in LiteLLM's own words, and take what is private out of the request: LiteLLM logs what failed."""
    try:
        yield
    except BaseException as error:
        _empty(data)
        if isinstance(error, WordveilError):
            raise GuardrailRaisedException("wordveil", f"nothing was sent: {error}") from None
        raise


def _empty(data: dict[str, Any]) -> None:
    for name in data.keys() - _OWN - {"model"}:
        del data[name]
    for name in (*_SESSIONS, *_METADATA):
        held = data.pop(name, None)
        if isinstance(held, dict):
            data[name] = {key: value for key, value in held.items() if _is_attribution(key)}
    data["messages"] = []
    if isinstance(data.get("proxy_server_request"), dict):
        data["proxy_server_request"]["body"] = {}
    if data.get("litellm_logging_obj") is not None:
        data["litellm_logging_obj"].update_messages([])
