"""The LiteLLM guardrail with the real library: what the vendor and the logs get, and what comes back."""

import asyncio
import contextlib
import gc
import itertools
import os
import warnings
from types import SimpleNamespace

import leak_free
import numpy as np
import pytest

os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # else it asks the network while it is imported
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    litellm = pytest.importorskip("litellm", reason="needs the extra litellm")

import recording_vendor
from litellm.exceptions import GuardrailRaisedException
from litellm.integrations.custom_logger import CustomLogger
from litellm.types.utils import ModelResponse, ModelResponseStream

from wordveil.errors import ParameterError
from wordveil.integrations import litellm as adapter
from wordveil.integrations.litellm import WordveilGuardrail

pytestmark = pytest.mark.filterwarnings("ignore")  # theirs
NOTE = "Write to maria.lindqvist@clinic.se about case B-4711; she lives in Uppsala."
RAW = ("lindqvist", "B-4711", "Uppsala")


class Log(CustomLogger):
    """Everything that LiteLLM gives to logs."""

    def __init__(self):
        super().__init__()
        self.said = []

    def log_pre_api_call(self, model, messages, kwargs):
        self.said.append(repr((messages, kwargs)))

    async def async_log_success_event(self, kwargs, response_obj, start_time, end_time):
        self.said.append(repr((kwargs, response_obj)))

    async def async_log_failure_event(self, kwargs, response_obj, start_time, end_time):
        self.said.append(repr((kwargs, response_obj)))


@pytest.fixture
def guardrail(monkeypatch):
    made = WordveilGuardrail(
        sanitizer=leak_free.sanitizer(),
        guardrail_name="wordveil",
        event_hook=["pre_call", "post_call"],
        default_on=True,
    )
    made.log = Log()
    monkeypatch.setattr(litellm, "callbacks", [made, made.log])
    recording_vendor.HEARD.clear()
    return made


@pytest.fixture(scope="module")
def vendor():
    return recording_vendor.start()


async def ask(vendor, *messages, **fields):
    roles = itertools.cycle(["user", "assistant"])
    told = [{"role": role, "content": text} for role, text in zip(roles, messages, strict=False)]
    return await litellm.acompletion(model="openai/m", api_base=vendor, api_key="k", messages=told, **fields)


def gateway(guardrail, response, *, stream=False, text=NOTE):
    """One call as LiteLLM's proxy makes it: its two hooks around a response made from the released request."""

    async def both():
        data = {"model": "m", "messages": [{"role": "user", "content": text}], "litellm_call_id": "7",
                "metadata": {}, "proxy_server_request": {"body": {"raw": text}}}  # fmt: skip
        data = await guardrail.async_pre_call_hook(None, None, data, "acompletion")
        sent = data["messages"][0]["content"]
        made = response(sent)
        if not stream:
            return data, made, await guardrail.async_post_call_success_hook(data, None, made)
        restored = guardrail.async_post_call_streaming_iterator_hook(None, made, data)
        return data, made, [chunk async for chunk in restored]

    return asyncio.run(both())


def test_a_direct_call_sends_the_release_and_logs_nothing_else(guardrail, vendor):
    async def both():
        await ask(vendor, NOTE, user="maria")
        stream = await ask(vendor, NOTE, "yes", "Uppsala again", stream=True)
        said = "".join([chunk.choices[0].delta.content or "" async for chunk in stream])
        await asyncio.sleep(0.5)  # logs are written after the answer
        return said

    asyncio.run(both())
    assert len(recording_vendor.HEARD) == 2
    for heard in recording_vendor.HEARD:
        assert {*heard} <= {"model", "messages", "stream"}
        for message in heard["messages"]:
            leak_free.check_release(message["content"])
    assert recording_vendor.HEARD[1]["messages"][0] == recording_vendor.HEARD[0]["messages"][0]
    assert len(guardrail.log.said) >= 4
    assert all(raw not in said for said in guardrail.log.said for raw in (*RAW, "maria"))


@pytest.mark.parametrize(
    "fields",
    [{"stop": ["Uppsala"]}, {"tools": [{"type": "function", "function": {"name": "uppsala"}}]}, {"logit_bias": {1: 1}}],
    ids=lambda fields: next(iter(fields)),
)
def test_what_is_not_covered_is_refused_unsent(guardrail, vendor, fields):
    async def refused():
        with pytest.raises(GuardrailRaisedException, match="nothing was sent") as caught:
            await ask(vendor, NOTE, **fields)
        await asyncio.sleep(0.5)  # logs are written after the answer
        return str(caught.value)

    assert "ppsala" not in asyncio.run(refused())
    assert not recording_vendor.HEARD
    assert all(raw not in said for said in guardrail.log.said for raw in RAW)


def test_a_request_that_the_gateway_refuses_leaves_nothing_to_its_logs(guardrail):
    """LiteLLM logs of a call that failed what the request holds then."""
    body = {"model": "m", "messages": [{"role": "user", "content": NOTE}], "stop": [NOTE], "metadata": {"note": [NOTE]}}
    data = {**body, "litellm_call_id": "1", "metadata": {"note": [NOTE], "user_api_key": "h"}, "session_id": NOTE,
            "proxy_server_request": {"body": body}}  # fmt: skip
    with pytest.raises(GuardrailRaisedException, match="nothing was sent"):
        asyncio.run(guardrail.async_pre_call_hook(None, None, data, "acompletion"))
    assert all(raw not in repr(data) for raw in RAW)
    assert data["metadata"] == {"user_api_key": "h"}


def test_images_are_refused_even_alone(guardrail, vendor):
    image = [{"type": "image_url", "image_url": {"url": "data:image/png;base64,Uppsala"}}]
    with pytest.raises(GuardrailRaisedException, match="message 1 must have"):
        asyncio.run(ask(vendor, image))
    assert not recording_vendor.HEARD


def test_other_calls_are_refused(guardrail, vendor):
    with pytest.raises(GuardrailRaisedException, match="completion and acompletion only"):
        asyncio.run(litellm.aembedding(model="openai/m", api_base=vendor, api_key="k", input=["Uppsala"]))
    assert not recording_vendor.HEARD


@pytest.mark.parametrize("place", ["Conversations.of", "Conversation._release", "Conversation._surrogate"])
def test_any_error_blocks_and_says_nothing_of_the_text(guardrail, vendor, place, monkeypatch):
    def broken(*_, **__):
        raise RuntimeError("Uppsala")

    target = adapter
    *owners, name = place.split(".")
    for owner in owners:
        target = getattr(target, owner)
    monkeypatch.setattr(target, name, broken)
    with pytest.raises(GuardrailRaisedException, match="nothing was sent: RuntimeError") as caught:
        asyncio.run(ask(vendor, NOTE))
    assert not recording_vendor.HEARD
    assert caught.value.__suppress_context__
    assert all("Uppsala" not in said for said in guardrail.log.said)


def test_a_retry_under_the_same_call_is_released_again_and_never_skipped(guardrail):
    async def both():
        raw = {"model": "m", "messages": [{"role": "user", "content": NOTE}], "litellm_call_id": "9"}
        kind, other = litellm.types.utils.CallTypes.acompletion, [{"role": "user", "content": "Hello"}]
        first = await guardrail.async_pre_call_deployment_hook(dict(raw), kind)
        second = await guardrail.async_pre_call_deployment_hook(dict(raw), kind)
        await guardrail.async_pre_call_deployment_hook({**raw, "messages": other}, kind)  # another call of that id
        third = await guardrail.async_pre_call_deployment_hook(dict(first), kind)
        return first["messages"], second["messages"], third["messages"]

    first, second, third = asyncio.run(both())
    assert first == second == third
    leak_free.check_release(first[0]["content"])


def test_through_the_gateway_the_caller_gets_a_restored_copy_and_the_logs_the_release(guardrail):
    def reply(sent):
        return ModelResponse(choices=[{"index": 0, "message": {"role": "assistant", "content": f"bbqzx {sent}"}}])

    data, made, restored = gateway(guardrail, reply)
    assert data["proxy_server_request"]["body"]["messages"] == data["messages"]
    assert all(raw not in repr(data) for raw in RAW)
    leak_free.check_release(made.choices[0].message.content)
    assert "maria.lindqvist@clinic.se" in restored.choices[0].message.content
    assert "B-4711" in restored.choices[0].message.content
    assert not guardrail._open


def chunks(pieces):
    for piece in pieces:
        delta = {"role": "assistant", "content": piece}
        yield ModelResponseStream(id="1", model="m", choices=[{"index": 0, "delta": delta, "finish_reason": None}])


def test_a_stream_through_the_gateway_is_restored_wherever_it_is_cut(guardrail):
    draws = np.random.default_rng(0)
    for _ in range(100):
        seen = []

        async def stream(sent, seen=seen):
            ends = sorted({0, len(sent), *draws.integers(0, len(sent), 12).tolist()})
            for chunk in chunks(sent[a:b] for a, b in itertools.pairwise(ends)):
                seen.append(chunk)
                yield chunk

        data, _, restored = gateway(guardrail, stream, stream=True)
        raw = "".join(chunk.choices[0].delta.content for chunk in seen)
        assert raw == data["messages"][0]["content"]  # the chunks themselves, which are logged, stay as they were
        said = "".join(chunk.choices[0].delta.content or "" for chunk in restored)
        assert "maria.lindqvist@clinic.se" in said
        assert "B-4711" in said
        guardrail.conversations.drop("")


def test_texts_can_be_released_and_restored_one_by_one(guardrail):
    async def both():
        request = {"litellm_call_id": "3"}
        sent = await guardrail.apply_guardrail({"texts": [NOTE]}, request, "request")
        back = await guardrail.apply_guardrail(dict(sent), request, "response")
        return sent["texts"][0], back["texts"][0]

    sent, back = asyncio.run(both())
    leak_free.check_release(sent)
    assert "maria.lindqvist@clinic.se" in back
    with pytest.raises(GuardrailRaisedException, match="not covered"):
        asyncio.run(guardrail.apply_guardrail({"texts": ["x"], "images": ["y"]}, {}, "request"))


@pytest.mark.parametrize(
    "settings",
    [
        {"event_hook": "during_call"},
        {"event_hook": ["post_call"]},
        {"run_in_parallel": True},
        {"scan_raw_request": True},
    ],
    ids=str,
)
def test_settings_under_which_litellm_would_send_the_raw_prompt_are_refused(settings):
    with pytest.raises(ParameterError, match="must hold pre_call"):
        WordveilGuardrail(sanitizer=leak_free.sanitizer(), guardrail_name="wordveil", **settings)


def test_a_call_that_is_never_answered_keeps_no_conversation(guardrail, vendor):
    asyncio.run(ask(vendor, NOTE))
    assert len(guardrail.conversations) == 1
    guardrail.conversations.drop("")
    gc.collect()
    assert all(conversation() is None for conversation in guardrail._open.values())


def test_of_litellms_own_fields_only_those_pass_that_no_vendor_gets(guardrail, vendor):
    from litellm.types.utils import all_litellm_params

    assert adapter._OWN & {"litellm_system_prompt", "user_continue_message", "headers", "fallbacks", "tags"} == set()
    for name in sorted({str(own) for own in all_litellm_params} - adapter._OWN):
        data = {"model": "m", "messages": [{"role": "user", "content": "Hello"}], "litellm_call_id": "1", name: NOTE}
        with pytest.raises(GuardrailRaisedException, match="nothing was sent"):
            asyncio.run(guardrail.async_pre_call_hook(None, None, data, "completion"))


def test_what_the_caller_gets_is_not_logged_in_the_place_of_the_reply(guardrail):
    served = pytest.importorskip("litellm.litellm_core_utils.served_output_texts")

    async def both():
        logged = SimpleNamespace(model_call_details={"model": "m"}, update_messages=lambda _: None)
        data = {"model": "m", "messages": [{"role": "user", "content": NOTE}], "litellm_call_id": "1",
                "litellm_logging_obj": logged}  # fmt: skip
        data = await guardrail.async_pre_call_hook(None, None, data, "acompletion")
        reply = ModelResponse(choices=[{"message": {"content": data["messages"][0]["content"]}}])
        restored = await guardrail.async_post_call_success_hook(data, None, reply)
        served.record_served_output_texts(logged.model_call_details, served.served_output_texts(restored))
        return restored.choices[0].message.content, logged.model_call_details

    said, logged = asyncio.run(both())
    assert "B-4711" in said
    assert logged == {"model": "m"}


WRITTEN = {"user_id": NOTE, "session_id": NOTE, "note": NOTE, "tags": [NOTE]}


def test_what_a_caller_writes_into_metadata_and_sessions_reaches_no_vendor(guardrail):
    gateways = {"model_group": "m", "user_api_key": "h", "guardrails": ["wordveil"]}
    more = {"deployment": NOTE, "deep": {"note": [NOTE]}, NOTE: 1, "headers": {"x-note": NOTE}, "user_api_keys": NOTE}
    body = {"metadata": WRITTEN, "litellm_metadata": WRITTEN, "session_id": NOTE, "id": NOTE, "num_retries": 2}
    data = {"model": "m", "messages": [{"role": "user", "content": NOTE}], "litellm_call_id": "1",
            "metadata": {**WRITTEN, **more, "requester_metadata": WRITTEN | more, "spend_logs_metadata": {"note": NOTE},
                         "user_agent": NOTE, **gateways},
            "litellm_metadata": dict(WRITTEN), "session_id": NOTE, "id": NOTE, "litellm_session_id": NOTE,
            "litellm_trace_id": NOTE, "num_retries": 2, "proxy_server_request": {"body": body}}  # fmt: skip
    data = asyncio.run(guardrail.async_pre_call_hook(None, None, data, "acompletion"))
    assert all(raw not in repr(data) for raw in RAW)
    assert {name: value for name, value in data["metadata"].items() if name != "wordveil_call"} == gateways
    assert data["num_retries"] == 2
    for field in ({"api_base": NOTE}, {"model_info": {"id": NOTE}}, {"guardrails": []}):
        data = {"model": "m", "messages": [{"role": "user", "content": NOTE}], **field,
                "proxy_server_request": {"body": field}}  # fmt: skip
        with pytest.raises(GuardrailRaisedException, match="the gateway's to fill"):
            asyncio.run(guardrail.async_pre_call_hook(None, None, data, "acompletion"))


@pytest.mark.parametrize("model", ["anthropic/claude-3-5-haiku-latest", "fireworks_ai/m", "openai/m"])
def test_of_metadata_given_in_a_program_vendors_get_nothing(guardrail, vendor, model, monkeypatch):
    monkeypatch.setattr(litellm, "enable_preview_features", True)
    heads, answer = [], recording_vendor.Vendor.do_POST
    monkeypatch.setattr(
        recording_vendor.Vendor, "do_POST", lambda self: heads.append(str(self.headers)) or answer(self)
    )
    fields = {"metadata": dict(WRITTEN), "litellm_session_id": NOTE, "litellm_trace_id": NOTE}
    told = [{"role": "user", "content": "Hello"}]
    with contextlib.suppress(
        litellm.exceptions.APIError, litellm.exceptions.APIConnectionError
    ):  # an answer as OpenAI's
        asyncio.run(litellm.acompletion(model=model, api_base=vendor, api_key="k", messages=told, **fields))
    assert recording_vendor.HEARD
    assert heads
    assert all(raw not in repr((heads, recording_vendor.HEARD)) for raw in RAW)


def test_two_calls_under_one_id_are_told_apart(guardrail):
    """Clients choose the ids of calls."""
    sent = []
    for address in ("maria@clinic.se", "anna@clinic.se"):
        data = {"model": "m", "messages": [{"role": "user", "content": f"Write to {address}"}], "litellm_call_id": "7",
                "metadata": {}, "proxy_server_request": {"body": {}}}  # fmt: skip
        sent.append(asyncio.run(guardrail.async_pre_call_hook(None, None, data, "acompletion")))
    for data, address in zip(sent, ("maria@clinic.se", "anna@clinic.se"), strict=True):
        reply = ModelResponse(choices=[{"message": {"content": sent[0]["messages"][0]["content"]}}])
        said = asyncio.run(guardrail.async_post_call_success_hook(data, None, reply)).choices[0].message.content
        assert ("maria@clinic.se" in said) == (address == "maria@clinic.se")
        assert "anna@clinic.se" not in said


def test_a_call_without_an_id_is_answered_nothing(guardrail):
    sent = asyncio.run(guardrail.apply_guardrail({"texts": [NOTE]}, {}, "request"))
    for request in ({}, {"litellm_call_id": None}):
        back = asyncio.run(guardrail.apply_guardrail(dict(sent), request, "response"))
        assert back["texts"] == sent["texts"]
