"""The proxy: the vendor hears the release and nothing else, whatever goes wrong; no stream breaks."""

import asyncio
import hashlib
import json

import leak_free
import numpy as np
import pytest

for needed in ("starlette", "uvicorn", "httpx"):
    pytest.importorskip(needed, reason="the proxy needs the extra proxy")

import httpx
import vendors

from wordveil.integrations import chat, conversation, events, proxy, restoring
from wordveil.integrations.conversation import Conversations, Message
from wordveil.integrations.proxy import Proxy
from wordveil.pipeline.sanitizer import Sanitizer
from wordveil.text.writing import Writer

KEY = {"authorization": "Bearer k"}
JSON = {"content-type": "application/json"}
PRIVATE = "Uppsala maria.lindqvist@clinic.se B-4711"
"""What injected errors say, and no answer may."""


class Setup:
    """A proxy between a client and a recording vendor, in one process."""

    def __init__(self, answer, **settings):
        self.vendor = vendors.Vendor(answer)
        self.conversations = Conversations(leak_free.sanitizer(), **settings)
        self.app = Proxy(
            conversations=self.conversations, upstream="http://vendor.test/v1", transport=self.vendor
        ).app()

    def client(self):
        transport = httpx.ASGITransport(app=self.app, raise_app_exceptions=False)
        return httpx.AsyncClient(
            transport=transport, base_url="http://127.0.0.1", headers={"authorization": "Bearer k"}
        )

    async def ask(self, body, client=None):
        if client is not None:
            content = body if isinstance(body, bytes) else json.dumps(body)
            return await client.post("/v1/chat/completions", content=content, headers=JSON)
        async with self.client() as own:
            return await self.ask(body, own)

    def check(self, bodies):
        """Fail unless the vendor heard, of these requests, their release and nothing else; in any number."""
        for method, url, headers, body in self.vendor.heard:
            assert (method, url) == ("POST", "http://vendor.test/v1/chat/completions")
            assert set(headers) <= {"host", "accept", "accept-encoding", "connection", "user-agent", "authorization",
                                    "content-length", "content-type"}  # fmt: skip
            assert headers["authorization"] == KEY["authorization"]
            assert headers["user-agent"] == "wordveil"
            heard = json.loads(body)
            contents = [each["content"] for each in heard["messages"]]
            for content in contents:
                for text in [content] if isinstance(content, str) else [part["text"] for part in content]:
                    leak_free.check_release(text)
            assert {*heard} <= {"model", "messages", "stream", "n", "temperature"}
            assert heard in [self.released(each) for each in bodies]

    def released(self, body):
        """The request with every message as its conversation releases it."""
        messages = [Message(each["role"], each["content"]) for each in body["messages"]]
        talk = self.conversations.of(owner(), messages)
        sent = [{"role": m.role, "content": text} for m, text in zip(messages, talk.release(messages), strict=True)]
        return {**body, "messages": sent}


def owner():
    return hashlib.sha256(KEY["authorization"].encode()).hexdigest()


def request(*texts, stream=False, **fields):
    roles = ["user", "assistant"] * len(texts)
    return {
        "model": "m",
        "stream": stream,
        **fields,
        "messages": [{"role": role, "content": text} for role, text in zip(roles, texts, strict=False)],
    }


def echo(draws=None, most=8, choices=1):
    """A vendor that says the last message back, in another order of choices, cut at random."""

    def answer(body):
        text = body["messages"][-1]["content"]
        if draws is None or not body.get("stream"):
            return vendors.whole(*[f"bbqzx: {text}"] * choices)
        pieces = [[(i, piece) for piece in vendors.cut(f"bbqzx: {text}", draws, most)] for i in range(choices)]
        mixed = [delta for turn in zip(*map(list, pieces), strict=False) for delta in turn]
        rest = [delta for own in pieces for delta in own[min(map(len, pieces)) :]]
        return 200, "text/event-stream", vendors.cut(vendors.events(mixed + rest), draws, 3 * most)

    return answer


def restored(setup, body, text):
    messages = [Message(each["role"], each["content"]) for each in body["messages"]]
    return setup.conversations.of(owner(), messages).restore(text)


def run(coroutine):
    return asyncio.run(coroutine)


@pytest.mark.parametrize("text", leak_free.PROMPTS)
def test_the_vendor_hears_the_release_and_the_client_its_own_values(text):
    setup = Setup(echo())
    body = request(text)
    answer = run(setup.ask(body))
    assert answer.status_code == 200
    assert len(setup.vendor.heard) == 1
    setup.check([body])
    said = answer.json()["choices"][0]["message"]["content"]
    assert said == restored(setup, body, f"bbqzx: {setup.released(body)['messages'][-1]['content']}")
    for value in ("maria.lindqvist@clinic.se", "4532 0151 1283 0366", "B-4711"):
        assert (value in said) == (value in text)


def test_a_whole_conversation_is_released_and_its_history_is_not_drawn_again():
    setup = Setup(echo(np.random.default_rng(0)))
    first = request("Write to maria.lindqvist@clinic.se", stream=True)

    async def talk():
        async with setup.client() as client:
            texts, errors = vendors.read_stream((await setup.ask(first, client)).content)
            assert not errors
            second = request("Write to maria.lindqvist@clinic.se", texts[0], "And to anna@clinic.se too.", stream=True)
            await setup.ask(second, client)
            return texts[0], second

    said, second = run(talk())
    assert len(setup.conversations) == 2, "a turn each"
    assert "maria.lindqvist@clinic.se" in said
    (*_, one), (*_, two) = setup.vendor.heard
    before, after = json.loads(one)["messages"], json.loads(two)["messages"]
    assert after[0] == before[0]
    assert after[1]["content"] == f"bbqzx: {before[0]['content']}"  # its own reply, as it wrote it
    setup.check([first, second])


def corpus():
    return [text for text, _ in leak_free.presidio_texts()]


def fuzz(times, seed, choices):
    """Random texts, histories, choices and chunkings; every answer must be the restored echo of the release."""
    draws, texts = np.random.default_rng(seed), corpus()
    setup = Setup(None, most=100_000)

    async def all_of_them():
        async with setup.client() as client:
            for _ in range(times):
                setup.vendor.answer = echo(draws, int(draws.integers(1, 40)), choices)
                chosen = [texts[i] for i in draws.integers(0, len(texts), 2 * int(draws.integers(0, 3)) + 1)]
                body = request(*chosen, stream=True, n=choices)
                answer = await setup.ask(body, client)
                said, errors = vendors.read_stream(answer.content)
                setup.check([body])
                assert not errors
                sent = json.loads(setup.vendor.heard.pop()[3])["messages"][-1]["content"]
                assert said == dict.fromkeys(range(choices), restored(setup, body, f"bbqzx: {sent}"))
                for typed in ("@clinic", "lindqvist"):
                    assert typed not in sent
                setup.conversations.drop(owner())

    run(all_of_them())


def test_random_chunkings_let_no_raw_token_out():
    fuzz(60, 0, 3)


@pytest.mark.slow
@pytest.mark.data
def test_ten_thousand_random_chunkings_of_the_presidio_set_let_no_raw_token_out():
    if len(corpus()) < 100:
        pytest.skip("the Presidio set is not there (WORDVEIL_DATA)")
    fuzz(1_250, 1, 8)


STEPS = [
    (chat, "private_messages"), (chat, "_public"), (chat, "_texts"), (proxy, "_parsed"), (proxy, "_read"),
    (proxy, "released_request"), (proxy, "restored_response"), (proxy, "event"), (proxy, "StreamRestorer"),
    (Conversations, "of"), (Conversations, "_before"), (Conversations, "drop_idle"),
    (conversation.Conversation, "release"), (conversation.Conversation, "_release"),
    (conversation.Conversation, "_typed_values"), (conversation.Conversation, "_surrogate"),
    (conversation.Conversation, "reply"), (conversation.Conversation, "_heard"),
    (Sanitizer, "release_ids"), (Sanitizer, "nonces"), (Writer, "write_parts"),
    (restoring.Restorer, "_advance"), (restoring._Surroundings, "pass_character"), (chat.StreamRestorer, "feed"),
    (chat.StreamRestorer, "text"), (chat.StreamRestorer, "end"), (events.EventReader, "feed"),
    (httpx.AsyncClient, "build_request"), (httpx.AsyncClient, "send"), (httpx.Response, "aread"),
    (httpx.Response, "aiter_bytes"),
]  # fmt: skip


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("step", STEPS, ids=lambda step: f"{step[0].__name__}.{step[1]}")
@pytest.mark.parametrize("call", [1, 2, 3])
def test_an_error_at_any_step_lets_nothing_out_and_breaks_no_stream(step, call, stream, monkeypatch):
    setup = Setup(echo(np.random.default_rng(2), 12))
    body = request(leak_free.PROMPTS[0], stream=stream)
    setup.released(body)  # so that what is checked below does not need the broken step
    place, name = step
    working, calls = getattr(place, name), [0]

    def broken(*given, **named):
        calls[0] += 1
        if calls[0] == call:
            raise RuntimeError(PRIVATE)
        return working(*given, **named)

    async def ask():
        async with setup.client() as client:  # the client's own parts work
            own = client.build_request("POST", "/v1/chat/completions", json=body)
            transport = client._transport
            with monkeypatch.context() as patch:
                patch.setattr(place, name, broken)
                answer = await transport.handle_async_request(own)
            return answer, b"".join([part async for part in answer.stream])

    answer, content = run(ask())
    if answer.headers.get("content-type", "").startswith("text/event-stream"):
        _, errors = vendors.read_stream(content)
        said = " ".join(errors)
    else:
        said = json.loads(content).get("error", {}).get("message", "")
    for secret in (*PRIVATE.split(), "Lindqvist"):
        assert secret not in said
    setup.check([body])


BAD = [
    {"tools": [{"type": "function", "function": {"name": "maria"}}]},
    {"stop": ["Uppsala"]},
    {"logit_bias": {"17": 1}},
    {"response_format": {"type": "json_schema", "json_schema": {"name": "maria"}}},
    {"prediction": {"type": "content", "content": "Uppsala"}},
    {"model": "m Uppsala"},
    {"model": ["m"]},
    {"temperature": "Uppsala"},
    {"seed": 10**40},
    {"temperature": float("nan")},
    {"Uppsala": 1},
    {"messages": []},
    {"messages": "Uppsala"},
    {"messages": [{"role": "Uppsala", "content": "x"}]},
    {"messages": [{"role": "tool", "content": "x", "tool_call_id": "1"}]},
    {"messages": [{"role": "user", "content": 7}]},
    {"messages": [{"role": "user", "content": "x", "Uppsala": 1}]},
    {"messages": [{"role": "assistant", "content": None, "tool_calls": [{"id": "1"}]}]},
    {"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:Uppsala"}}]}]},
    {"messages": [{"role": "user", "content": [{"type": "text", "text": "x", "Uppsala": 1}]}]},
    {"messages": [{"role": "user", "content": [{"type": "text", "text": 7}]}]},
    {"messages": [{"role": "user", "content": [{"type": "input_audio", "input_audio": {"data": "x"}}]}]},
    {"messages": ["Uppsala"]},
]


@pytest.mark.parametrize("fields", BAD, ids=lambda fields: json.dumps(fields)[:40])
def test_what_is_not_covered_is_refused_unsent_and_not_repeated(fields):
    setup = Setup(echo())
    answer = run(setup.ask({**request("hello"), **fields}))
    assert answer.status_code == 400
    assert answer.json()["error"]["message"].startswith("wordveil: nothing was sent")
    assert not setup.vendor.heard
    assert "Uppsala" not in answer.text


@pytest.mark.parametrize("body", [b"", b"{", b"\xff", b"[" * 100_000, b'"Uppsala"', b"null", b'{"messages": 1}'])
def test_what_is_no_request_is_refused(body):
    setup = Setup(echo())
    answer = run(setup.ask(body))
    assert answer.status_code == 400
    assert not setup.vendor.heard
    assert "Uppsala" not in answer.text


def test_a_request_that_is_too_large_is_refused(monkeypatch):
    monkeypatch.setattr(proxy, "_LARGEST_REQUEST", 1000)
    setup = Setup(echo())
    assert run(setup.ask(request("x " * 1000))).status_code == 400
    assert not setup.vendor.heard


def test_a_request_that_any_web_page_could_send_is_refused():
    setup = Setup(echo())

    async def ask():
        async with setup.client() as client:
            content = json.dumps(request("hello"))
            return await client.post("/v1/chat/completions", content=content, headers={"content-type": "text/plain"})

    assert run(ask()).status_code == 415
    assert not setup.vendor.heard


def test_fields_that_name_persons_are_removed_and_empty_ones_dropped():
    setup = Setup(echo())
    body = request("hello", temperature=0.5)
    extra = {"user": "maria", "metadata": {"x": "Uppsala"}, "tools": [], "stop": None}
    named = [{**each, "name": "maria", "tool_calls": []} for each in body["messages"]]
    assert run(setup.ask({**body, **extra, "messages": named})).status_code == 200
    setup.check([body])


def test_parts_of_a_message_are_released_each():
    setup = Setup(lambda _: vendors.whole("yes"))
    parts = [{"type": "text", "text": text} for text in leak_free.PROMPTS]
    assert run(setup.ask({"model": "m", "messages": [{"role": "user", "content": parts}]})).status_code == 200
    heard = json.loads(setup.vendor.heard[0][3])["messages"][0]["content"]
    assert [part["type"] for part in heard] == ["text"] * 3
    for part in heard:
        leak_free.check_release(part["text"])


@pytest.mark.parametrize(
    "answer",
    [
        httpx.ConnectError(PRIVATE),
        httpx.ReadTimeout(PRIVATE),
        (500, "text/plain", [b"no JSON"]),
        (200, "application/json", [b"{"]),
        (200, "application/json", [b"[]"]),
        (200, "application/json", [b'{"choices": [{"message": 7}]}']),
        (429, "application/json", [b'{"error": {"message": "slow down"}}']),
        (302, "text/html", [b""]),
        (200, "application/json", [b'{"cho', httpx.ReadError(PRIVATE)]),
        (200, "text/event-stream", [httpx.ReadError(PRIVATE)]),
        (200, "text/event-stream", [vendors.events([(0, "half")], finish=False)]),
        (200, "text/event-stream", [vendors.events([(0, "half")], finish=False), httpx.ReadError(PRIVATE)]),
        (200, "text/event-stream", [b"data: {\n\n"]),
        (200, "text/event-stream", [b"data: 7\n\n"]),
        (200, "text/event-stream", [b"data: \xff\n\n"]),
        (200, "text/event-stream", [b'data: {"choices": [7]}\n\n']),
        (200, "text/event-stream", [b"data: [DONE]"]),
        (200, "text/event-stream", []),
    ],
    ids=lambda answer: repr(answer)[:50],
)
def test_whatever_the_vendor_does_the_client_gets_a_whole_answer(answer):
    setup = Setup(lambda _: answer)
    body = request(leak_free.PROMPTS[0], stream=True)
    got = run(setup.ask(body))
    setup.check([body])
    assert len(setup.vendor.heard) == 1
    for secret in PRIVATE.split():
        assert secret not in got.text
    if got.headers["content-type"].startswith("text/event-stream"):
        vendors.read_stream(got.content)
    else:
        assert "error" in got.json()


def test_a_piece_of_a_reply_is_passed_on_before_the_vendor_says_the_next():
    async def ask():
        heard, first, second = asyncio.Event(), vendors.events([(0, "bbqzx ")]), vendors.events([(0, "ccqzx")])

        async def slowly():
            yield first[: first.index(b"data: [DONE]")]
            await asyncio.wait_for(heard.wait(), 30)  # a proxy that waits for the whole would wait here for ever
            yield second

        setup = Setup(lambda _: (200, "text/event-stream", slowly()))
        body, said = json.dumps(request("hello", stream=True)).encode(), []

        async def receive():
            return {"type": "http.request", "body": body, "more_body": False} if not said else await asyncio.sleep(60)

        async def send(message):
            said.append(message)
            if b"bbqzx" in message.get("body", b""):
                heard.set()

        headers = [(name.encode(), value.encode()) for name, value in {**KEY, **JSON, "host": "localhost"}.items()]
        scope = {"type": "http", "method": "POST", "path": "/v1/chat/completions", "headers": headers}
        scope |= {"query_string": b"", "http_version": "1.1", "asgi": {"version": "3.0", "spec_version": "2.4"}}
        await setup.app(scope, receive, send)
        return b"".join(message.get("body", b"") for message in said)

    texts, errors = vendors.read_stream(run(ask()))
    assert texts == {0: "bbqzx ccqzx"}
    assert not errors


def test_a_stream_that_nobody_ended_is_said_to_its_end():
    def answer(body):
        surrogate = body["messages"][0]["content"].split()[-1]
        return 200, "text/event-stream", [vendors.events([(0, f"to {surrogate}")], finish=False)]

    setup = Setup(answer)
    texts, errors = vendors.read_stream(run(setup.ask(request("write to a@b.se", stream=True))).content)
    assert texts == {0: "to a@b.se"}
    assert not errors


def test_the_client_may_ask_what_is_promised_and_drop_its_conversations():
    setup = Setup(echo())

    async def ask():
        async with setup.client() as client:
            await setup.ask(request("one"), client)
            dropped = (await client.delete("/v1/conversations")).json()
            return dropped, (await client.get("/v1/promise")).json(), await client.get("/v1/files")

    dropped, promise, other = run(ask())
    assert dropped == {"dropped": 1}
    assert len(setup.conversations) == 0
    assert promise["guarantee"] == json.loads(json.dumps(setup.conversations.example.guarantee.as_dict()))
    assert other.status_code == 404


def test_models_are_listed_under_the_clients_key_or_the_proxys_own():
    listed = (200, "application/json", [b'{"data": [{"id": "m"}]}'])
    for key, sent in ((None, KEY["authorization"]), ("own", "Bearer own")):
        setup = Setup(lambda _: listed)
        setup.app = Proxy(
            conversations=setup.conversations, upstream="http://vendor.test/v1/", api_key=key, transport=setup.vendor
        ).app()

        async def ask(setup=setup):
            async with setup.client() as client:
                return await client.get("/v1/models?Uppsala=1", headers={"x-note": "Uppsala"})

        assert run(ask()).json() == {"data": [{"id": "m"}]}
        method, url, headers, body = setup.vendor.heard[0]
        assert (method, url, body) == ("GET", "http://vendor.test/v1/models", b"")
        assert headers["authorization"] == sent
        assert "Uppsala" not in str(headers)


def test_the_check_notices_a_proxy_that_lets_the_raw_prompt_pass_when_it_cannot_release(monkeypatch):
    def fails_open(body, conversations, owner):
        return dict(body), conversations.of(owner, chat.private_messages(body))

    monkeypatch.setattr(proxy, "released_request", fails_open)
    setup = Setup(echo())
    body = request(leak_free.PROMPTS[0])
    run(setup.ask(body))
    with pytest.raises(AssertionError, match="no part of a release"):
        setup.check([body])


def test_the_check_notices_a_history_that_is_passed_on(monkeypatch):
    def last_only(body, conversations, owner):
        out, talk = chat.released_request(body, conversations, owner)
        out["messages"][:-1] = body["messages"][:-1]
        return out, talk

    monkeypatch.setattr(proxy, "released_request", last_only)
    setup = Setup(echo())
    body = request("Maria lives in Uppsala", "yes", "hello")
    run(setup.ask(body))
    with pytest.raises(AssertionError, match="no part of a release"):
        setup.check([body])


def test_a_page_under_another_name_that_leads_here_is_refused():
    setup = Setup(echo())

    async def ask():
        transport = httpx.ASGITransport(app=setup.app)
        async with httpx.AsyncClient(transport=transport, base_url="http://rebound.example") as client:
            return await client.post("/v1/chat/completions", json={"messages": [{"role": "user", "content": "Hello"}]})

    assert asyncio.run(ask()).status_code == 400
    assert setup.vendor.heard == []
