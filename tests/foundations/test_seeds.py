"""Every seed of a test comes from `tests/seeds.py`, so that one number moves the draws of all tests."""

import ast
import functools
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import seeds
from worlds import told

TESTS = Path(__file__).parents[1]
PACKAGES = (TESTS.parent / "src", TESTS.parent / "lab" / "src")
FILES = {str(path.relative_to(TESTS)): path for path in sorted(TESTS.rglob("*.py")) if path.name != "seeds.py"}
SEEDED = {"default_rng", "seeded_for_tests", "manual_seed", "RandomState", "PCG64", "Philox", "SFC64", "seed"}
"""What makes draws of a number; without a number it draws afresh, which is nobody's seed."""


@functools.cache
def takes_a_seed() -> set[str]:
    """Return the names of all functions and classes of the package that have a parameter or field `seed`."""
    names = set()
    for path in (path for package in PACKAGES for path in package.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef):
                arguments = {one.arg for one in (*node.args.args, *node.args.kwonlyargs)}
                names |= {node.name} if "seed" in arguments else set()
            if isinstance(node, ast.ClassDef):
                fields = {_name(one.target) for one in node.body if isinstance(one, ast.AnnAssign)}
                names |= {node.name} if "seed" in fields else set()
    return names


def _name(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _from_seeds(node: ast.AST) -> bool:
    return any(_name(part) == "seeds" for part in ast.walk(node) if isinstance(part, ast.expr))


def own_seeds(source: str) -> Iterator[int]:
    """Yield the lines that take a seed from elsewhere than `seeds`."""
    excused = {number for number, line in enumerate(source.splitlines(), 1) if "  # fixed" in line}
    for node in ast.walk(ast.parse(source)):
        if getattr(node, "lineno", None) in excused:
            continue
        if isinstance(node, ast.ImportFrom | ast.Import):
            modules = {alias.name for alias in node.names} | {getattr(node, "module", None)}
            if modules & {"random", "numpy.random"}:
                yield node.lineno
        if not isinstance(node, ast.Call) or _from_seeds(node.func):
            continue
        called, given = _name(node.func), [*node.args, *(word.value for word in node.keywords)]
        if called in SEEDED and given and not any(map(_from_seeds, given)):
            yield node.lineno
        if called == "RandomSource" and any(isinstance(one, ast.Constant) and one.value is not None for one in given):
            yield node.lineno
        if called == "RandomSource" and any(isinstance(one, ast.Call) and _name(one.func) == "bytes" for one in given):
            yield node.lineno
        if called in takes_a_seed():
            numbers = [word.value for word in node.keywords if word.arg == "seed"]
            if any(isinstance(number, ast.Constant) and number.value not in (None, -1) for number in numbers):
                yield node.lineno


def test_no_test_makes_a_seed_of_its_own():
    lines = {name: list(own_seeds(path.read_text(encoding="utf-8"))) for name, path in FILES.items()}
    assert {name: taken for name, taken in lines.items() if taken} == {}, "take these lines' seeds from tests/seeds.py"


@pytest.mark.parametrize("line", told(__file__)["own"])
def test_the_rule_notices_each_way_to_a_seed(line):
    assert list(own_seeds(line)) == [1]


@pytest.mark.parametrize("line", told(__file__)["none"])
def test_the_rule_lets_pass_what_is_shifted_and_what_has_no_seed(line):
    assert list(own_seeds(line)) == []


def _drawn(shift: int | None) -> str:
    program = "import seeds; s = seeds; print(s.seed(7), s.rng(7).random(), s.source(7).export_key(), s.key(8))"
    program += "; print(s.fixed(7, because='a test').random())"
    environment = {name: value for name, value in os.environ.items() if name != seeds.VARIABLE}
    environment |= {"PYTHONPATH": os.pathsep.join([str(TESTS), str(PACKAGES[0])])}
    if shift is not None:
        environment[seeds.VARIABLE] = str(shift)
    command = [sys.executable, "-c", program]
    return subprocess.run(command, env=environment, capture_output=True, check=True, text=True).stdout


def test_a_shift_moves_every_draw_but_the_fixed_ones():
    plain, zero, one, again, two = map(_drawn, (None, 0, 1, 1, 2))
    assert plain == zero
    assert one == again
    shifted, fixed = zip(*(drawn.splitlines() for drawn in (zero, one, two)), strict=True)
    assert len(set(fixed)) == 1
    for column in zip(*(drawn.split(" ", 2) for drawn in shifted), strict=True):
        assert len(set(column)) == 3
    assert zero.split()[0] == "7"


def test_what_is_fixed_says_why():
    with pytest.raises(ValueError, match="Say what is stored"):
        seeds.fixed(7, because=" ")
