"""What the wheel holds: types for the programs that use it, the public lists, and honest lower bounds."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
import sysconfig
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest

import wordveil

ROOT = Path(__file__).parents[1]

CLIENT = """
import wordveil as wv
from wordveil import TEM, Sanitizer

sanitizer = Sanitizer(wv.load_embeddings(), TEM(epsilon=9.0))
text: str = sanitizer("a").text
release: wv.Release = wv.sanitize("a")
batch: wv.BatchRelease = wv.sanitize(["a", None])
reveal_type(wv.TEM)  # WANTED: def (*, epsilon: float
reveal_type(sanitizer("a").guarantee)  # WANTED: wordveil.promises.guarantees.Guarantee
wv.Nonexistent  # WANTED: has no attribute "Nonexistent"
wv.TEM(epsilon="nine")  # WANTED: expected "float"
wv.TEM(epsilon=9.0, bogus=1)  # WANTED: Unexpected keyword argument "bogus"
number: int = sanitizer("a").text  # WANTED: expression has type
"""


def tool(name):
    spec = importlib.util.spec_from_file_location(name, ROOT / "tools" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_stub_says_what_the_package_exports():
    writer = tool("write_stub")
    assert Path(wordveil.__file__).with_suffix(".pyi").read_text(encoding="utf-8") == writer.stub()


def test_every_dependency_states_the_lowest_version_that_is_tested():
    lines = tool("lowest_constraints").constraints()
    dependencies = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["dependencies"]
    assert [line.replace("==", ">=") for line in lines] == dependencies
    assert all(re.fullmatch(r"[a-z]+==\d+\.\d+\.\d+", line) for line in lines)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """The wheel, built by the tools of this environment, so that no network is needed."""
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "-q", "-w", folder, ROOT]
    without_compiler = {**os.environ, "WORDVEIL_NO_COMPILE": "1"}
    subprocess.run(command, check=True, env=without_compiler, capture_output=True)
    return next(folder.glob("*.whl"))


@pytest.mark.slow
def test_the_wheel_holds_what_is_no_python_file(wheel):
    names = set(zipfile.ZipFile(wheel).namelist())
    wanted = ["py.typed", "__init__.pyi", "vocabulary/default/never_output.txt", "certification/packaged/tem-4.json",
              "sentences/names.txt", "sentences/general/words.txt", "sentences/general/vectors.npy"]  # fmt: skip
    assert {f"wordveil/{name}" for name in wanted} <= names


@pytest.mark.slow
def test_a_type_checker_sees_through_the_installed_wheel(wheel, tmp_path):
    """mypy --strict on a program that uses the wheel finds the mistakes marked in it, and nothing else."""
    venv.create(tmp_path / "venv", with_pip=False)
    python = tmp_path / "venv" / "bin" / "python"
    site = next((tmp_path / "venv").glob("lib/python*/site-packages"))
    zipfile.ZipFile(wheel).extractall(site)
    # NumPy and the others from this environment; its own wordveil is editable, and so behind this one.
    (site / "others.pth").write_text(sysconfig.get_path("purelib") + "\n")
    (tmp_path / "client.py").write_text(CLIENT)
    command = [sys.executable, "-m", "mypy", "--strict", "--no-incremental", "--python-executable", python, "client.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    found = dict(re.findall(r"^client\.py:(\d+): (?:error|note): (.*)$", done.stdout, flags=re.MULTILINE))
    wanted = {
        str(number): line.partition("# WANTED: ")[2]
        for number, line in enumerate(CLIENT.split("\n"), start=1)
        if "WANTED" in line
    }
    assert found.keys() == wanted.keys(), done.stdout + done.stderr
    assert [number for number, message in wanted.items() if message not in found[number]] == [], done.stdout
