"""Requests made from the interface's own document: none may make the service fail, or answer in another shape."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.errors import Unsatisfiable

pytestmark = pytest.mark.slow

EXAMPLES = 60


def test_no_request_that_fits_or_breaks_the_document_makes_it_fail(served):
    schemathesis = pytest.importorskip("schemathesis", reason="needs schemathesis")
    schema = schemathesis.openapi.from_url(f"{served.address}/openapi.json", headers=served.headers)
    statuses = set()
    for operation in schema.exclude(path="/v1/sanitize/stream").get_all_operations():
        for mode in (schemathesis.GenerationMode.POSITIVE, schemathesis.GenerationMode.NEGATIVE):

            @settings(
                max_examples=EXAMPLES // 4,
                deadline=None,
                database=None,
                suppress_health_check=list(HealthCheck),
            )
            @given(case=operation.ok().as_strategy(generation_mode=mode))
            def sends(case):
                answer = case.call(base_url=served.address, headers=served.headers)
                statuses.add(answer.status_code)
                assert answer.status_code < 500
                assert answer.headers["x-content-type-options"] == ["nosniff"]

            try:
                sends()
            except Unsatisfiable:  # a route that takes nothing has no wrong request
                assert operation.ok().body.items == []
                assert mode is schemathesis.GenerationMode.NEGATIVE
    assert {200, 402, 422} <= statuses


@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck), database=None)
@given(body=st.binary(max_size=200))
def test_no_body_makes_it_fail(served, body):
    answer = served.post("/v1/sanitize", content=body)
    assert 400 <= answer.status_code < 500
    assert list(answer.json()["error"]) == ["code", "message", "account", "left"]
