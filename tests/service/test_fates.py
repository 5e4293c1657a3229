"""What docs/service.md says becomes of each place of a request: a word of its own is sent through every one of them."""

import importlib.util
import re
import sqlite3
from itertools import count
from pathlib import Path

import httpx
import pytest
from tests.service.serving import Served

from wordveil.service.messages import Fate

ROOT = Path(__file__).parents[2]
spec = importlib.util.spec_from_file_location("table", ROOT / "tools" / "build_service_table.py")
TABLE = importlib.util.module_from_spec(spec)
spec.loader.exec_module(TABLE)

BODIES = {
    "/v1/sanitize": {"text": "good film"},
    "/v1/sanitize/batch": {"texts": ["good film"]},
    "/v1/denoise": {"texts": [], "seal": ""},
    "/v1/hides-among": {"words": ["good"]},
}
LISTS = ("texts", "words")
STORED = {("field", "subject")}
"""What is declared public and kept: by whose name a budget goes."""


def test_the_table_of_the_page_is_that_of_the_routes():
    page = (ROOT / "docs" / "service.md").read_text(encoding="utf-8")
    assert page.partition(TABLE.BEGIN)[2].partition(TABLE.END)[0] == TABLE.table()


def test_the_table_has_every_fate_and_a_field_of_private_text_in_each_route_that_releases():
    rows = {route.path: {name: fate for _, name, fate in TABLE.places(route)} for route in TABLE.routes()}
    assert {fate for row in rows.values() for fate in row.values()} == {*Fate}
    assert rows["/v1/sanitize"]["text"] is rows["/v1/sanitize/batch"]["texts"] is Fate.RELEASED
    assert rows["/v1/denoise"]["texts"] is Fate.REFUSED


def asked(served, route, place, canary):
    """Send a request with a word in one of its places, or in none."""
    kind, name = place
    (method,) = route.methods
    path = re.sub(r"\{\w+\}", f"subject:{canary if kind == 'path' else 'nobody'}", route.path)
    sent = {"headers": dict(served.headers), "params": {}}
    if route.path in BODIES:
        sent["json"] = dict(BODIES[route.path])
    if kind == "field":
        sent["json"]["extra" if " " in name else name] = [canary] if name in LISTS else canary
    elif kind == "body":
        sent["content"] = canary
    elif kind == "query":
        sent["params"] = {"text": canary, canary: "1"}
    elif kind == "header":
        value = f"Bearer {canary}" if name == "authorization" else f"{canary}-{canary}-{canary}"
        sent["headers"] |= {each: f"with {canary} another" for each in RETRY} if name in RETRY else {}
        sent["headers"]["x-note" if " " in name else name] = value
    return httpx.request(method, f"{served.address}{path}", timeout=60, **sent)


RETRY = ("idempotency-key", "idempotency-nonce")


@pytest.mark.slow
def test_a_word_sent_through_each_place_becomes_what_the_page_says(tmp_path):
    served = Served(tmp_path)
    numbers, kept = count(), []
    for route in TABLE.routes():
        usual = asked(served, route, ("", ""), "").status_code
        for kind, name, fate in TABLE.places(route):
            canary = f"zq{next(numbers)}qz"
            answer = asked(served, route, (kind, name), canary)
            where = (route.path, kind, name, answer.status_code, answer.text[:200])
            if fate is not Fate.PUBLIC:
                assert canary not in answer.text.lower(), where
            if fate is Fate.RELEASED:
                assert answer.status_code == 200, where
            if fate is Fate.REFUSED:
                assert answer.status_code in (401, 422), where
            if fate is Fate.UNSEEN:
                assert answer.status_code == usual, where
            kept.append((canary, fate, (kind, name), where))
    broken = served.post("/v1/sanitize", content='{"text": "zqbrokenqz"', headers={"content-type": "application/json"})
    assert (broken.status_code, "zqbroken" in broken.text) == (422, False)
    kept.append(("zqbrokenqz", Fate.REFUSED, ("body", ""), ("broken",)))
    process = Path(f"/proc/{served.process.pid}")
    shown = (process / "cmdline").read_bytes() + (process / "comm").read_bytes()
    served.end()
    log, state = served.log.read_text(), (tmp_path / served.state).iterdir()
    ledger = b"".join(file.read_bytes() for file in state).lower()
    with sqlite3.connect(tmp_path / served.state / "ledger.db") as database:
        assert database.execute("SELECT count(*) FROM releases WHERE retry IS NOT NULL").fetchone()[0] == 4
    database.close()
    assert len(kept) - 1 == sum(len([*TABLE.places(route)]) for route in TABLE.routes()) >= 40
    for canary, _, place, where in kept:
        assert canary not in log, where
        assert canary.encode() not in shown, where
        assert (canary.encode() in ledger) is (place in STORED and "/sanitize" in where[0]), where
