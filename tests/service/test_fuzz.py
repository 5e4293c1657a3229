"""Requests made from the interface's own document: none may make the service fail, or answer in another shape.

As many as WORDVEIL_FUZZ_REQUESTS says, some hundreds unless it is set. Of a run of 100,000 docs/service.md tells.
"""

import os
import re
import socket
import time

import pytest
import requests
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.errors import Unsatisfiable
from tests.service.serving import Served

pytestmark = pytest.mark.slow

REQUESTS = int(os.environ.get("WORDVEIL_FUZZ_REQUESTS", "400"))
HEADERS = REQUESTS // 2  # the rest follows the document, and takes much longer
HURRIED = {"deadline": None, "suppress_health_check": list(HealthCheck), "database": None}
COUNTED = {"requests": 0}


@pytest.fixture(scope="module")
def fuzzed(tmp_path_factory):
    running = Served(tmp_path_factory.mktemp("fuzzed"), "--subject-budget", "100", "--rate", "1000000")
    began = time.monotonic()
    yield running
    log = running.log.read_text()
    print(f"\n{COUNTED['requests']} requests in {time.monotonic() - began:.0f} s")  # seen with -s
    assert "internal " not in log
    running.end()


@pytest.fixture(scope="module")
def session():
    with requests.Session() as opened:
        yield opened


def counted(answer):
    COUNTED["requests"] += 1
    return answer


def test_no_request_that_fits_or_breaks_the_document_makes_it_fail(fuzzed, session):
    schemathesis = pytest.importorskip("schemathesis", reason="needs schemathesis")
    schema = schemathesis.openapi.from_url(f"{fuzzed.address}/openapi.json", headers=fuzzed.headers)
    statuses = set()
    operations = list(schema.get_all_operations())
    each = max(8, (REQUESTS - HEADERS) // (2 * len(operations)))
    for operation in operations:
        for mode in (schemathesis.GenerationMode.POSITIVE, schemathesis.GenerationMode.NEGATIVE):

            @settings(max_examples=each, **HURRIED)
            @given(case=operation.ok().as_strategy(generation_mode=mode))
            def sends(case):
                answer = counted(case.call(base_url=fuzzed.address, headers=fuzzed.headers, session=session))
                statuses.add(answer.status_code)
                assert answer.status_code < 500
                assert answer.headers["x-content-type-options"] == ["nosniff"]

            try:
                sends()
            except Unsatisfiable:  # a route that takes nothing has no wrong request
                assert operation.ok().body.items == []
                assert mode is schemathesis.GenerationMode.NEGATIVE
    assert {200, 422} <= statuses


OURS = ["authorization", "idempotency-key", "idempotency-nonce"]
FRAMING = ["content-type", "content-length", "transfer-encoding", "content-encoding", "expect", "connection", "upgrade"]
NAMES = st.sampled_from([*OURS, *FRAMING, "host", "accept", "cookie", "origin", "range", "x-forwarded-for"])
VALUES = st.binary(max_size=60) | st.sampled_from(
    [b"Bearer wv_", b"-1", b"chunked", b"gzip", b"100-continue", b"9" * 40]
)


@settings(max_examples=HEADERS, **HURRIED)
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
    counted(answer)
    assert not re.match(rb"HTTP/1\.1 5", answer), answer
    if answer.startswith(b"HTTP/1.1 200"):
        assert with_key
