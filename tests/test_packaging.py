"""What the wheel holds: types for the programs that use it, the public lists, and honest lower bounds."""

import hashlib
import os
import platform
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import venv
import zipfile
from functools import partial
from importlib import metadata
from pathlib import Path

import pytest
from tests.installed_packages import tool

import wordveil
import wordveil_lab
from wordveil.kernels.compiled.building import find_compiler, jobs, library_name
from worlds import told

ROOT = Path(__file__).parents[1]

TOLD = told(__file__)
CLIENT, LICENCES = TOLD["client"], TOLD["licences"]


def test_the_stubs_say_what_the_package_exports():
    stubs = tool("write_stub").stubs()
    assert {path.name for path in stubs} == {"__init__.pyi", "api.pyi"}
    assert [path for path, text in stubs.items() if path.read_text(encoding="utf-8") != text] == []


def test_every_dependency_states_the_lowest_version_that_is_tested():
    lines = tool("lowest_constraints").constraints()
    dependencies = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["dependencies"]
    assert [line.replace("==", ">=") for line in lines] == [one.partition(",")[0] for one in dependencies]
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
    assert {f"wordveil/{name}" for name in TOLD["wheel"]} <= names
    assert {name.partition("/")[0].partition("-")[0] for name in names} == {"wordveil"}, "no laboratory"
    assert not [name for name in names if name.startswith(("wordveil/lab", "wordveil/neural"))]


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


THEN = {"SOURCE_DATE_EPOCH": "1700000000"}
NO_COMPILER = {"CC": "/no/such/compiler"}


def build(tree, *targets, **environment):
    """Build a tree with the tools of this environment; file name -> SHA-256 of what was made."""
    shutil.rmtree(tree / "dist", ignore_errors=True)
    wanted = [word for target in targets for word in ("-t", target)]
    command = [sys.executable, "-m", "hatchling", "build", *wanted, "-d", "dist"]
    subprocess.run(command, cwd=tree, check=True, capture_output=True, env={**os.environ, **environment})
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in (tree / "dist").iterdir()}


def held(tree):
    """Names of the files in the wheel that was built in a tree."""
    (wheel,) = (tree / "dist").glob("*.whl")
    return zipfile.ZipFile(wheel).namelist()


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    """Makes copies of what a build needs, each at a place of another name."""

    def copied(name):
        place = tmp_path_factory.mktemp("tree") / name
        place.mkdir(parents=True)
        for part in ("src", "LICENSE", "NOTICE", "README.md", "pyproject.toml", "hatch_build.py", ".gitignore"):
            skipped = shutil.ignore_patterns("__pycache__", "*.so")
            copy = partial(shutil.copytree, ignore=skipped) if (ROOT / part).is_dir() else shutil.copyfile
            copy(ROOT / part, place / part)
        return place

    return copied


@pytest.mark.slow
def test_builds_are_equal_byte_for_byte_wherever_they_are_made(tree, tmp_path):
    here, there = tree("here"), tree("in/another/place")
    one = build(here, "sdist", "wheel", **THEN)
    assert len(one) == 2
    assert len(build(there, "sdist", **THEN).items() & one.items()) == 1, "the source archive is the same"
    if find_compiler() is not None and platform.machine() == "x86_64":
        wheel = next(name for name in one if name.endswith(".whl"))
        assert re.search(r"-py3-none-manylinux_2_(1[7-9]|2\d)_x86_64\.whl$", wheel), wheel
        libraries = sorted(Path(name).name for name in held(here) if name.endswith(".so"))
        assert libraries == sorted(library_name(level) for level in jobs(platform.system(), platform.machine()))
    with tarfile.open(next((here / "dist").glob("*.tar.gz"))) as packed:
        packed.extractall(tmp_path, filter="data")
    (unpacked,) = tmp_path.iterdir()
    assert len(build(unpacked, "wheel", **THEN).items() & one.items()) == 1, "and builds the same wheel elsewhere"


@pytest.mark.slow
def test_without_a_compiler_the_wheel_is_pure_and_another_time_makes_another(tree):
    place = tree("here")
    ((name, digest),) = build(place, "wheel", **THEN, **NO_COMPILER).items()
    assert name.endswith("-py3-none-any.whl")
    assert not [held_name for held_name in held(place) if held_name.endswith(".so")]
    later = build(place, "wheel", SOURCE_DATE_EPOCH="1700000002", **NO_COMPILER)
    assert later[name] != digest, "a difference of two seconds in the archive is noticed"


DEPENDENCIES = (ROOT / "docs" / "dependencies.md").read_text(encoding="utf-8")
PROJECT, LABORATORY = (
    tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))["project"] for folder in (ROOT, ROOT / "lab")
)


def named(requirement):
    return re.match(r"[\w-]+", requirement)[0]


def rows(title):
    """First cell of each row under a title of the page -> the other cells."""
    section = re.search(rf"^## {title}\n(.*?)(?=^## |\Z)", DEPENDENCIES, flags=re.MULTILINE | re.DOTALL)[1]
    found = [
        [cell.strip() for cell in line.split("|")[1:-1]] for line in section.splitlines() if line.startswith("| `")
    ]
    return {cells[0].strip("`"): cells[1:] for cells in found}


def test_core_dependencies_are_few_and_each_has_its_reason():
    core = rows("Core")
    assert set(core) == set(map(named, PROJECT["dependencies"]))
    assert len(core) <= 6
    assert all(len(reason) > 20 and licence for reason, licence in core.values())


def test_every_package_of_an_extra_is_listed_with_its_licence():
    extras = {
        named(requirement)
        for project in (PROJECT, LABORATORY)
        for extra, requirements in project["optional-dependencies"].items()
        for requirement in requirements
        if extra not in ("dev", "docs") and not requirement.startswith("wordveil")
    }
    listed = rows("Extras")
    assert set(listed) == extras - set(map(named, PROJECT["dependencies"]))
    assert all(cells[-1] for cells in listed.values())


@pytest.mark.parametrize("package", [*rows("Core"), *rows("Extras")])
def test_a_package_is_under_the_licence_that_the_page_states(package):
    licence = {**rows("Core"), **rows("Extras")}[package][-1]
    try:
        own = metadata.metadata(package)
    except metadata.PackageNotFoundError:
        pytest.skip(f"{package} is not installed")
    said = " ".join([own.get("License-Expression") or "", own.get("License") or "", *(own.get_all("Classifier") or ())])
    words = re.findall("|".join(LICENCES), licence)
    assert words
    assert any(re.search(LICENCES[word], said) for word in words), (licence, said[:300])


def test_every_file_of_data_in_the_package_stands_in_the_notice():
    notice = (ROOT / "NOTICE").read_text(encoding="utf-8")
    package = ROOT / "src" / "wordveil"
    named_there = {path for path in re.findall(r"src/wordveil/([\w/.]+\w)", notice)}
    unsaid = []
    for path in package.rglob("*"):
        name = path.relative_to(package).as_posix()
        if (
            path.is_dir()
            or path.suffix in (".py", ".pyi", ".pyc", ".c", ".h", ".so")
            or name.startswith(tuple(TOLD["written_here"]))
        ):
            continue
        if not any(name == said or name.startswith(f"{said}/") for said in named_there):
            unsaid.append(name)
    assert unsaid == []
    assert all((package / said).exists() for said in named_there)


def test_the_citation_is_of_this_version():
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert re.search(r"^version: (.*)$", citation, flags=re.MULTILINE)[1] == wordveil.__version__
    assert f"license: {PROJECT['license']}" in citation


def test_the_laboratory_is_of_this_version_and_needs_nothing_but_wordveil():
    assert wordveil_lab.__version__ == wordveil.__version__
    assert LABORATORY["dependencies"] == [f"wordveil=={wordveil.__version__}"]
    assert LABORATORY["license"] == PROJECT["license"]
    assert (ROOT / "lab" / "LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()
