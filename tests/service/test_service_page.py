"""What docs/service.md shows is run as it stands."""

import importlib.util
import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from tests.service.serving import Served

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "service.md").read_text(encoding="utf-8")
TOOL = [sys.executable, "-c", "from wordveil.cli.main import main; main()"]


@pytest.mark.slow
def test_the_commands_and_the_client_of_the_page(tmp_path):
    served = Served(tmp_path, "--state", "wordveil-service")
    commands = [shlex.split(line) for line in re.findall(r"^\$ wordveil (budget .*)$", PAGE, flags=re.MULTILINE)]
    assert len(commands) == 6
    said = {}
    for command in commands:
        run = subprocess.run([*TOOL, *command], cwd=tmp_path, capture_output=True, text=True)
        assert run.returncode == 0, run.stderr
        said[tuple(command[:2])] = run.stdout
    assert '"left": "10500"' not in said["budget", "show"]  # granted before the first release: no allowance yet
    assert '"left": "500"' in said["budget", "show"]
    asked = re.search(r"^    (curl .*?)\n\n", PAGE, flags=re.MULTILINE | re.DOTALL)[1]
    asked = asked.replace("http://127.0.0.1:8080", served.address)
    run = subprocess.run(["bash", "-c", asked], env={"KEY": served.key, "PATH": "/usr/bin:/bin"}, capture_output=True)
    assert b'"cost":"40"' in run.stdout, run.stderr
    first, later = re.findall(r"^    (?:client|read) = .*?\n\n", PAGE, flags=re.MULTILINE | re.DOTALL)
    snippet = first + later
    given = "from wordveil.service.client import Client\n"
    given += "from wordveil.service.messages import DenoiseRequest, TextRequest\n"
    given += f"key, note = {served.key!r}, 'good film'\n"
    program = given + re.sub(r"^    ", "", snippet, flags=re.MULTILINE).replace("http://127.0.0.1:8080", served.address)
    # The page's two requests share an idempotency key and differ: the second is refused, as the page says.
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert "idempotency key was used for another request" in run.stderr
    run = subprocess.run(
        [sys.executable, "-c", program.replace("visit-17", "visit-18")], capture_output=True, text=True
    )
    assert run.returncode == 0, run.stderr
    served.end()


def test_the_curve_is_that_of_the_stored_measurement():
    spec = importlib.util.spec_from_file_location("curve", ROOT / "tools" / "build_playground_curve.py")
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    assert json.loads(made.CURVE.read_text()) == made.curve()
