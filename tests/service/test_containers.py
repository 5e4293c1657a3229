"""The Dockerfile and the compose file, as far as they can be held to something without a container engine."""

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

FOLDER = Path(__file__).parents[2] / "examples" / "service"
DOCKERFILE = (FOLDER / "Dockerfile").read_text(encoding="utf-8")
COMPOSE = (FOLDER / "compose.yaml").read_text(encoding="utf-8")
TOOL = [sys.executable, "-c", "from wordveil.cli.main import main; main()"]


def test_what_the_container_runs_is_a_command_of_ours(tmp_path):
    command = json.loads(re.search(r"^CMD (\[.*\])$", DOCKERFILE, flags=re.MULTILINE)[1])
    assert json.loads(re.search(r"^ENTRYPOINT (.*)$", DOCKERFILE, flags=re.MULTILINE)[1]) == [
        "/opt/wordveil/bin/wordveil"
    ]
    asked = [str(tmp_path) if part == "/var/lib/wordveil" else part for part in command]
    run = subprocess.run([*TOOL, *asked, "--check"], capture_output=True, text=True)
    assert "would listen on http://0.0.0.0:8080/" in run.stderr + run.stdout
    line = re.search(r"run --rm wordveil (budget key .*)$", COMPOSE, flags=re.MULTILINE)[1]
    key = shlex.split(line.replace("/var/lib/wordveil", str(tmp_path)))
    assert re.match("wv_", subprocess.run([*TOOL, *key], capture_output=True, text=True).stdout)


def test_the_health_check_tells_a_service_that_answers(served):
    _, _, code = json.loads(re.search(r"^  CMD (\[.*\])$", DOCKERFILE, flags=re.MULTILINE)[1])
    statuses = [
        subprocess.run([sys.executable, "-c", code.replace(":8080", f":{port}")], capture_output=True).returncode
        for port in (served.port, 9)
    ]
    assert statuses == [0, 1]


def test_the_compose_file_shows_the_service_to_this_machine_only():
    yaml = pytest.importorskip("yaml", reason="needs PyYAML")
    ours, database = (yaml.safe_load(COMPOSE)["services"][name] for name in ("wordveil", "database"))
    assert (FOLDER / ours["build"]["context"] / ours["build"]["dockerfile"]).resolve() == FOLDER / "Dockerfile"
    assert all(port.startswith("127.0.0.1:") for port in ours["ports"])
    assert "ports" not in database
    assert ours["environment"]["WORDVEIL_DATABASE"].startswith("postgresql+psycopg://")
    assert (ours["read_only"], ours["cap_drop"]) == (True, ["ALL"])
