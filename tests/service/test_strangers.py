"""Who has no key, or sends odd headers, is in nobody's way. WORDVEIL_FUZZ_REQUESTS says how many requests are tried."""

import asyncio
import json
import os
import re
import resource
import socket
import time
from contextlib import ExitStack, asynccontextmanager
from functools import partial
from pathlib import Path

import httpx
import pytest
import uvicorn
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy.exc import OperationalError
from tests.service.serving import Served
from uvicorn.server import ServerState

from wordveil.service.access import Callers, make_key, revoke_key
from wordveil.service.guarding import Guard, Limits
from wordveil.service.ledger import Ledger
from wordveil.service.running import Impatient

HALF = "POST /v1/sanitize HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 900000\r\n{}\r\n"
SOON = 10.0  # seconds; a request takes hundredths of one, the machine may be busy


def sent(served, stack, data, count):
    """Return connections that sent so much and wait."""
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    opened = [
        stack.enter_context(socket.create_connection(("127.0.0.1", served.port), timeout=SOON)) for _ in range(count)
    ]
    for each in opened:
        each.sendall(data)
    return opened


def whole(connection):
    """Return all that is answered until the service ends the connection."""
    answer = b""
    while part := connection.recv(65536):
        answer += part
    return answer


def untouched(served, key=""):
    """Ask for what a crowd must not delay."""
    began = time.monotonic()
    assert [httpx.get(f"{served.address}/{path}").status_code for path in ("health", "ready")] == [200, 200]
    assert served.sanitize("good", key=key)["tokens"] == 1
    assert time.monotonic() - began < SOON


@pytest.mark.slow
@pytest.mark.parametrize(
    "key", ["", "authorization: Bearer x\r\n", f"authorization: Bearer wv_{'0' * 16}_{'0' * 64}\r\n"]
)
def test_bodies_that_never_end_without_a_key_are_in_nobodys_way(served, key):
    with ExitStack() as stack:
        crowd = sent(served, stack, HALF.format(key).encode(), 1001)
        untouched(served)
        answers = [whole(each) for each in crowd]  # each ended by the service, with nothing of its body read
    assert {each[:12] for each in answers} <= {b"HTTP/1.1 401", b"HTTP/1.1 503"}
    assert all(b"connection: close" in each for each in answers)
    untouched(served)


@pytest.mark.slow
def test_bodies_that_never_end_of_one_key_are_in_the_way_of_that_key_alone(served):
    ledger = Ledger.open(served.url)
    other = make_key(ledger, "other")
    ledger.close()
    with ExitStack() as stack:
        sent(served, stack, HALF.format(f"authorization: Bearer {served.key}\r\n").encode(), 250)
        untouched(served, other)
        assert served.post("/v1/sanitize", json={"text": "x"}).status_code in (429, 503)


def memory(served):
    status = Path(f"/proc/{served.process.pid}/status").read_text()
    return int(next(line for line in status.splitlines() if line.startswith("VmRSS")).split()[1]) // 1024


@pytest.mark.slow
def test_who_can_pay_nothing_takes_no_memory(tmp_path):
    served = Served(tmp_path, "--key-budget", "0")
    assert served.post("/v1/sanitize", json={"text": "good film"}).status_code == 402
    before = memory(served)
    text = " ".join(["depression"] * 9000)
    for path, body, status in (
        ("/v1/sanitize", {"text": text}, 402),
        ("/v1/sanitize/batch", {"texts": [text] * 10}, 402),
        ("/v1/sanitize/batch", {"texts": ["a"] * 1000}, 402),
        ("/v1/denoise", {"texts": [text] * 10, "seal": "x" * 64}, 422),
        ("/v1/hides-among", {"words": ["depression"] * 50}, 200),
        ("/v1/sanitize", {"text": "x", "settings": {"dimensions": 300_000}}, 422),
        ("/v1/sanitize", {"text": "[" * 900_000}, 422),
    ):
        began = time.monotonic()
        assert served.post(path, json=body).status_code == status
        assert time.monotonic() - began < SOON
        assert memory(served) < before + 50
    deep = served.post("/v1/sanitize", content=b"[" * 900_000, headers={"content-type": "application/json"})
    assert deep.status_code == 422
    assert memory(served) < before + 50
    assert served.ledger_rows() == 0
    served.end()


@asynccontextmanager
async def listening(app, state):
    """Serve an application to impatient connections; gives its address."""
    config = uvicorn.Config(app, timeout_keep_alive=1, http=Impatient, log_config=None)
    config.load()
    made = partial(Impatient, config=config, server_state=state, app_state={})
    server = await asyncio.get_running_loop().create_server(made, "127.0.0.1", 0)
    yield server.sockets[0].getsockname()
    server.close()


@pytest.mark.parametrize("pieces", [[b""], [b"G"], [b"G"] * 8, [b"GET / HTTP/1.1\r\nhost: x\r\n\r\n", b"G"]])
def test_who_does_not_ask_for_something_whole_in_time_is_sent_away(pieces):
    async def app(scope, receive, send):
        await send({"type": "http.response.start", "status": 204, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    async def connected():
        async with listening(app, ServerState()) as address:
            reader, writer = await asyncio.open_connection(*address)
            began = time.monotonic()
            for piece in pieces:  # one byte in time does not earn another second
                writer.write(piece)
                await asyncio.sleep(0.1)
            async with asyncio.timeout(SOON):
                answer = await reader.read()
            assert time.monotonic() - began > 0.9
            assert (b"204" in answer) is (len(pieces) == 2)
            writer.close()
        await asyncio.sleep(0.2)

    asyncio.run(connected())


def test_who_reads_no_answer_is_sent_away():
    async def app(scope, receive, send):
        await send({"type": "http.response.start", "status": 200, "headers": []})
        for _ in range(1000):
            await send({"type": "http.response.body", "body": bytes(1 << 16), "more_body": True})

    async def gone():
        guard, state = Guard(app, Limits(seconds=0.5, strangers=1), Keyless()), ServerState()
        async with listening(guard, state) as address, asyncio.timeout(SOON):
            with socket.create_connection(address) as client:
                client.sendall(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n")
                while not guard._open:
                    await asyncio.sleep(0.01)
                while guard._open or state.connections:  # neither its place nor its connection is held
                    await asyncio.sleep(0.05)

    asyncio.run(gone())


class Keyless:
    """Knows no key."""

    def known(self, key):
        return None


@pytest.fixture
def ledger(tmp_path):
    opened = Ledger.open(f"sqlite:///{tmp_path / 'l.db'}")
    yield opened
    opened.close()


def answered(guard, path, key="", parts=(b"",), **headers):
    """Return status, body and headers of what a guard answers, and how many parts of the body it read."""
    sent, left = [], [*parts]

    async def send(message):
        sent.append(message)

    async def receive():
        return {"type": "http.request", "body": left.pop(0), "more_body": bool(left)}

    fields = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    fields += [(b"authorization", f"Bearer {key}".encode())] if key else []
    asyncio.run(guard({"type": "http", "headers": fields, "path": path}, receive, send))
    body = b"".join(message.get("body", b"") for message in sent)
    return sent[0]["status"], body, dict(sent[0]["headers"]), len(parts) - len(left)


async def echo(scope, receive, send):
    body, more = b"", True
    while more:
        message = await receive()
        body, more = body + message["body"], message["more_body"]
    await send({"type": "http.response.start", "status": 200})
    await send({"type": "http.response.body", "body": body})


def guarding(ledger, app=echo, **limits):
    return Guard(app, Limits(**limits), Callers(ledger))


def test_the_key_is_asked_for_before_the_body(ledger):
    key, reader = make_key(ledger, "one"), make_key(ledger, "two", ("read",))
    guard = guarding(ledger)
    parts, length = (b"whole", b" body"), {"content_length": "10"}
    status, body, headers, read = answered(guard, "/v1/sanitize", key, parts, **length)
    assert (status, body, read, b"connection" in headers) == (200, b"whole body", 2, False)
    wrong = ("", "x", "wv_", key[:-1] + "x", key[:-64] + "0" * 64)
    for refused, code in (*((each, 401) for each in wrong), (reader, 403)):
        status, body, headers, read = answered(guard, "/v1/sanitize", refused, parts, **length)
        assert (status, read, headers[b"connection"]) == (code, 0, b"close")
    assert answered(guard, "/v1/budgets/subject:a", reader)[0] == 200
    assert answered(guard, "/", "")[0] == 200
    status, body, headers, read = answered(guarding(ledger, largest_body=9), "/v1/sanitize", key, parts)
    assert (status, json.loads(body)["error"]["code"]) == (413, "too-large")  # of a body that names no length
    assert answered(guarding(ledger, largest_body=9), "/v1/sanitize", key, parts, **length)[3] == 0


def test_who_has_no_key_gets_one_answer_a_connection(ledger):
    """A stranger who asks on and on and reads no answer held a connection for good."""
    key, guard = make_key(ledger, "one"), guarding(ledger)
    for path, own in (("/", ""), ("/health", ""), ("/v1/settings", ""), ("/v1/settings", "wv_unknown")):
        assert answered(guard, path, own)[2][b"connection"] == b"close"
    assert b"connection" not in answered(guard, "/v1/settings", key)[2]


def test_strangers_are_counted_apart_and_health_not_at_all(ledger):
    key = make_key(ledger, "one")
    guard = guarding(ledger, strangers=0)
    statuses = [answered(guard, path, own)[0] for path, own in (("/", ""), ("/health", ""), ("/v1/sanitize", key))]
    assert statuses == [503, 200, 200]
    late = make_key(ledger, "two")  # not known yet: it waits among strangers for the next look
    assert answered(guard, "/v1/sanitize", late)[0] == 503
    guard = guarding(ledger, strangers=1)
    guard._open["visitors"] = 1  # whoever looks at the page keeps no key from being looked up
    assert [answered(guard, path, own)[0] for path, own in (("/", ""), ("/v1/sanitize", late))] == [503, 200]
    assert answered(guarding(ledger, requests=0), "/v1/sanitize", key)[0] == 503
    status, body, _, _ = answered(guarding(ledger, burst=0.0), "/v1/sanitize", key)
    assert (status, json.loads(body)["error"]["code"]) == (429, "too-many")


def test_however_many_keys_are_tried_the_ledger_is_asked_once_a_moment(ledger):
    key, looks = make_key(ledger, "one"), []
    callers = Callers(ledger)
    look = callers._look
    callers._look = lambda: looks.append(time.monotonic()) or look()
    late = make_key(ledger, "two")
    revoke_key(ledger, "one")

    async def tried():
        wrong = [f"wv_{number:016x}_{'0' * 64}" for number in range(300)]
        return await asyncio.gather(*map(callers.find, [*wrong, late, key]))

    found = asyncio.run(tried())
    assert len(looks) == 1
    assert (found[:300], found[300].id) == ([None] * 300, late.split("_")[1])
    assert asyncio.run(callers.find(key)) is None  # a revoked key is nobody's after the look


def test_a_ledger_that_does_not_answer_is_told(ledger):
    guard = guarding(ledger)

    def gone():
        raise OperationalError("SELECT", {}, Exception("the disk"))

    guard.callers._look = gone
    status, body, _, _ = answered(guard, "/v1/sanitize", make_key(ledger, "one"))
    assert (status, json.loads(body)["error"]["code"]) == (503, "ledger")


def test_an_answer_that_does_not_begin_in_time_is_an_error_and_one_that_began_may_take_longer(ledger):
    async def slow(scope, receive, send):
        await asyncio.sleep(5 if scope["path"] == "/late" else 0)
        await send({"type": "http.response.start", "status": 200})
        await asyncio.sleep(0.3)
        await send({"type": "http.response.body", "body": b"whole"})

    key = make_key(ledger, "one")
    guard = guarding(ledger, slow, seconds=0.1)
    assert answered(guard, "/v1/sanitize", key)[:2] == (200, b"whole")
    assert answered(guard, "/")[:2] == (200, b"")  # not for who has no key
    status, body, _, _ = answered(guard, "/late")
    assert (status, json.loads(body)["error"]["code"]) == (504, "timeout")


REQUESTS = int(os.environ.get("WORDVEIL_FUZZ_REQUESTS", "200"))


@pytest.fixture(scope="module")
def fuzzed(tmp_path_factory):
    running = Served(tmp_path_factory.mktemp("fuzzed"), "--subject-budget", "100", "--rate", "1000000")
    yield running
    assert "internal " not in running.log.read_text()
    running.end()


OURS = ["authorization", "idempotency-key", "idempotency-nonce"]
FRAMING = ["content-type", "content-length", "transfer-encoding", "content-encoding", "expect", "connection", "upgrade"]
NAMES = st.sampled_from([*OURS, *FRAMING, "host", "accept", "cookie", "origin", "range", "x-forwarded-for"])
VALUES = st.binary(max_size=60) | st.sampled_from(
    [b"Bearer wv_", b"-1", b"chunked", b"gzip", b"100-continue", b"9" * 40]
)


@pytest.mark.slow
@settings(max_examples=REQUESTS, deadline=None, suppress_health_check=list(HealthCheck), database=None)
@given(sent=st.lists(st.tuples(NAMES, VALUES), max_size=6), with_key=st.booleans())
def test_no_header_makes_it_fail(fuzzed, sent, with_key):
    lines = [f"{name}: ".encode() + value for name, value in sent]
    own = [f"authorization: Bearer {fuzzed.key}".encode()] if with_key else []
    body = b'{"text": "x"}'
    head = [b"POST /v1/sanitize HTTP/1.1", b"host: x", b"connection: close", b"content-type: application/json", *own]
    whole = b"\r\n".join([*head, *lines, f"content-length: {len(body)}".encode(), b"", body])
    with socket.create_connection(("127.0.0.1", fuzzed.port), timeout=1) as raw:
        raw.sendall(whole)
        answer = b""
        try:
            while part := raw.recv(65536):
                answer += part
        except (TimeoutError, ConnectionResetError):
            pass  # it waits for a body that never comes, or will hear no more
    assert not re.match(rb"HTTP/1\.1 5", answer), answer
    if answer.startswith(b"HTTP/1.1 200"):
        assert with_key
