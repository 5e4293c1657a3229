"""Docstrings keep up with the code: the Attributes of a dataclass are there, and every example shows what it says."""

import ast
import doctest
import importlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCES = sorted([*ROOT.glob("src/**/*.py"), *ROOT.glob("lab/src/**/*.py")])


def sections(docstring: str) -> dict[str, list[str]]:
    """Return the names that each Google section describes."""
    found: dict[str, list[str]] = {}
    current = None
    for line in docstring.splitlines():
        if re.fullmatch(r"\w[\w ]*:", line):
            current = found.setdefault(line.rstrip(":"), [])
        elif line and not line.startswith(" "):
            current = None
        elif current is not None and (named := re.match(r"    (\w+)(?: \([^)]*\))?: ", line)):
            current.append(named[1])
    return found


def names_of(node: ast.ClassDef) -> set[str]:
    """Return what the class body defines: fields, properties, class variables, and attributes set in a method."""
    set_in_methods = {
        item.attr for item in ast.walk(node) if isinstance(item, ast.Attribute) and isinstance(item.ctx, ast.Store)
    }
    annotated = {item.target.id for item in node.body if isinstance(item, ast.AnnAssign)}
    functions = {item.name for item in node.body if isinstance(item, ast.FunctionDef)}
    return set_in_methods | annotated | functions


def stale(source: str) -> dict[str, list[str]]:
    """Return the attributes that the docstring of a class describes and the class lacks."""
    found = {}
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ClassDef) and any("dataclass" in ast.unparse(each) for each in node.decorator_list):
            described = sections(ast.get_docstring(node) or "").get("Attributes", [])
            if missing := [name for name in described if name not in names_of(node)]:
                found[node.name] = missing
    return found


def test_a_stale_attribute_is_found():
    source = """
@dataclass(frozen=True)
class Thing:
    '''One.

    Attributes:
        kept: Yes.
            continued: no name
        gone (int): No longer there.

    Raises:
        ParameterError: If.
    '''

    kept: int
"""
    assert stale(source) == {"Thing": ["gone"]}


def test_no_attribute_described_is_gone():
    found = {path: stale(path.read_text(encoding="utf-8")) for path in SOURCES}
    assert {path: missing for path, missing in found.items() if missing} == {}


def module_of(path: Path) -> str:
    parts = path.relative_to(ROOT / "lab" / "src" if "lab" in path.relative_to(ROOT).parts else ROOT / "src").parts
    return ".".join(parts).removesuffix(".py").removesuffix(".__init__")


MODULES = [module_of(path) for path in SOURCES if ">>> " in path.read_text(encoding="utf-8")]
"""Those that have an example."""


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings(name):
    try:
        failed = doctest.testmod(importlib.import_module(name), optionflags=doctest.NORMALIZE_WHITESPACE).failed
    except ImportError as missing:  # tests/test_imports.py says of which modules
        pytest.skip(str(missing))
    assert failed == 0


def test_the_main_examples_are_there():
    finder = doctest.DocTestFinder(exclude_empty=True)
    for name in ("wordveil.sanitizing.sanitizer", "wordveil.vocabulary.table"):
        assert name in MODULES
        assert any(test.examples for test in finder.find(importlib.import_module(name), module=None))


def test_a_wrong_example_is_noticed():
    example = doctest.DocTestParser().get_doctest(">>> 1 + 1\n3\n", {}, "wrong", None, 0)
    runner = doctest.DocTestRunner(verbose=False)
    assert runner.run(example, out=lambda _: None).failed == 1
