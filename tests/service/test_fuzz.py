"""Requests with random headers: none may make the service fail. WORDVEIL_FUZZ_REQUESTS says how many."""

import os
import re
import socket

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.service.serving import Served

pytestmark = pytest.mark.slow

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
