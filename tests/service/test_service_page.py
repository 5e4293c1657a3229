"""What docs/service.md shows is run as it stands; the Dockerfile and the compose file as far as they can be held."""

import json
import os
import pty
import re
import shlex
import sqlite3
import subprocess
import sys
import textwrap
from itertools import count
from pathlib import Path

import httpx
import pytest
from tests.cli.conftest import PROGRAM
from tests.installed_packages import tool
from tests.service.serving import Served

from wordveil.service.messages import Fate

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "service.md").read_text(encoding="utf-8")


@pytest.mark.slow
def test_the_commands_and_the_requests_of_the_page(tmp_path):
    served = Served(tmp_path, "--state", "wordveil-service")
    commands = [shlex.split(line) for line in re.findall(r"^\$ wordveil (budget .*)$", PAGE, flags=re.MULTILINE)]
    assert len(commands) == 7
    said = {}
    served.sanitize("good film", subject="dora")
    for command in commands:
        run = subprocess.run([*PROGRAM, *command], cwd=tmp_path, capture_output=True, text=True)
        assert run.returncode == 0, run.stderr
        said[tuple(command[:2])] = run.stdout
    row = said["budget", "show"].splitlines()[1].split()
    assert (row[1:6]) == ["(carol)", "60", "0", "60", "0"]
    assert "subject:dora" in said["budget", "export"]
    asked = re.search(r"^    (curl .*?)\n\n", PAGE, flags=re.MULTILINE | re.DOTALL)[1]
    asked = asked.replace("http://127.0.0.1:8080", served.address)
    run = subprocess.run(["bash", "-c", asked], env={"KEY": served.key, "PATH": "/usr/bin:/bin"}, capture_output=True)
    assert b'"cost":"35"' in run.stdout, run.stderr
    blocks = re.findall(r"(?:^    .*\n)+", PAGE, flags=re.MULTILINE)
    snippet = "".join(each for each in blocks if re.search("client|import httpx", each)).replace(
        "http://127.0.0.1:8080", served.address
    )
    program = f"key, note = {served.key!r}, 'good film'\n{textwrap.dedent(snippet)}"
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert "'subject:maria':" in run.stdout
    served.end()


def test_every_setting_of_the_page_opens(tmp_path):
    commands = [shlex.split(line) for line in re.findall(r"^\$ wordveil (serve .*)$", PAGE, flags=re.MULTILINE)]
    assert sum("--setting" in command for command in commands) == 1
    for command in commands:
        run = subprocess.run([*PROGRAM, *command], cwd=tmp_path, capture_output=True, text=True)
        assert "everything opens" in run.stderr


def test_the_first_key_is_written_to_no_log_but_to_a_file_of_its_owners(tmp_path):
    served = Served(tmp_path)
    file = tmp_path / "state" / "first-key"
    assert file.stat().st_mode & 0o777 == 0o600
    assert served.ask("/v1/settings")
    served.end()
    log = served.log.read_text()
    assert "wv_" not in log
    assert str(file) in log


def test_the_first_key_is_shown_to_who_sits_at_a_terminal(tmp_path):
    ours, terminal = pty.openpty()
    program = "from pathlib import Path; from wordveil.cli.serve import make_first_key; "
    program += "from wordveil.service.ledger import Ledger; "
    program += "make_first_key(Ledger.open('sqlite:///l.db'), Path('.'), 'http://x/')"
    subprocess.run([sys.executable, "-c", program], cwd=tmp_path, stderr=terminal, check=True)
    os.close(terminal)
    shown = " ".join(os.read(ours, 10_000).decode().split())  # lines are wrapped at words
    os.close(ours)
    key = re.search(r"first API key, shown once: (wv_\w+)", shown)[1]
    assert f"http://x/#key={key}" in shown
    assert not (tmp_path / "first-key").exists()


def test_the_curve_is_that_of_the_stored_measurement():
    made = tool("build_playground_curve")
    assert json.loads(made.CURVE.read_text()) == made.curve()


FOLDER = ROOT / "examples" / "service"
DOCKERFILE = (FOLDER / "Dockerfile").read_text(encoding="utf-8")
COMPOSE = (FOLDER / "compose.yaml").read_text(encoding="utf-8")


@pytest.mark.slow
def test_what_the_container_runs_is_a_command_of_ours(tmp_path):
    command = json.loads(re.search(r"^CMD (\[.*\])$", DOCKERFILE, flags=re.MULTILINE)[1])
    assert json.loads(re.search(r"^ENTRYPOINT (.*)$", DOCKERFILE, flags=re.MULTILINE)[1]) == [
        "/opt/wordveil/bin/wordveil"
    ]
    asked = [str(tmp_path) if part == "/var/lib/wordveil" else part for part in command]
    run = subprocess.run([*PROGRAM, *asked, "--check"], capture_output=True, text=True)
    assert "would listen on http://0.0.0.0:8080/" in run.stderr + run.stdout
    line = re.search(r"run --rm wordveil (budget key .*)$", COMPOSE, flags=re.MULTILINE)[1]
    key = shlex.split(line.replace("/var/lib/wordveil", str(tmp_path)))
    assert re.match("wv_", subprocess.run([*PROGRAM, *key], capture_output=True, text=True).stdout)


@pytest.mark.slow
def test_the_health_check_tells_a_service_that_answers(served):
    _, _, code = json.loads(re.search(r"^  CMD (\[.*\])$", DOCKERFILE, flags=re.MULTILINE)[1])
    statuses = [
        subprocess.run([sys.executable, "-c", code.replace(":8080", f":{port}")], capture_output=True).returncode
        for port in (served.port, 9)
    ]
    assert statuses == [0, 1]


@pytest.mark.slow
def test_the_compose_file_shows_the_service_to_this_machine_only():
    yaml = pytest.importorskip("yaml", reason="needs PyYAML")
    ours, database = (yaml.safe_load(COMPOSE)["services"][name] for name in ("wordveil", "database"))
    assert (FOLDER / ours["build"]["context"] / ours["build"]["dockerfile"]).resolve() == FOLDER / "Dockerfile"
    assert all(port.startswith("127.0.0.1:") for port in ours["ports"])
    assert "ports" not in database
    assert ours["environment"]["WORDVEIL_DATABASE"].startswith("postgresql+psycopg://")
    assert (ours["read_only"], ours["cap_drop"]) == (True, ["ALL"])


TABLE = tool("build_service_table")

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
