"""Private values where released ones belong do not type-check; released ones do."""

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from worlds import told

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.xdist_group("mypy")  # one run for all of them
TOLD = told(__file__)
THROUGH, SWAPPED = TOLD["through"], TOLD["swapped"]


@pytest.fixture(scope="module")
def complaints(tmp_path_factory):
    """What mypy says of each step, as strict as the package is checked: its errors by file, of one run over all."""
    pytest.importorskip("mypy", reason="mypy is not installed")
    folder = tmp_path_factory.mktemp("steps")
    steps = {"holds": TOLD["holds"], **{name.replace(" ", "_"): line for name, line in THROUGH.items()}}
    texts = {name: TOLD["start"] + textwrap.indent(line, "    ") for name, line in steps.items()}
    for name, (module, draw, codes) in SWAPPED.items():
        text = (ROOT / f"src/wordveil/{module}.py").read_text(encoding="utf-8")
        assert text.count(draw) == 1
        texts |= {f"kept_{name}": text, f"swapped_{name}": text.replace(draw, codes)}
    for name, text in texts.items():
        (folder / f"{name}.py").write_text(text, encoding="utf-8")
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file", str(ROOT / "pyproject.toml")]
    command += ["--cache-dir", "made", *(f"{name}.py" for name in texts)]
    environment = {**os.environ, "MYPYPATH": str(ROOT / "src")}
    run = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    assert run.returncode == 1, run.stderr
    lines = run.stdout.splitlines()
    return {name: [line for line in lines if line.startswith(f"{name}.py:") and ": error:" in line] for name in texts}


@pytest.mark.slow
@pytest.mark.parametrize("name", THROUGH)
def test_private_values_do_not_pass_where_released_ones_belong(name, complaints):
    (told,) = complaints[name.replace(" ", "_")]
    assert "Released" in told


@pytest.mark.slow
@pytest.mark.parametrize("name", SWAPPED)
def test_private_codes_in_the_place_of_a_draw_do_not_pass(name, complaints):
    assert complaints[f"kept_{name}"] == []
    (told,) = complaints[f"swapped_{name}"]
    assert "ReleasedIds" in told or "ReleasedVectors" in told


@pytest.mark.slow
def test_released_values_pass(complaints):
    assert complaints["holds"] == []
