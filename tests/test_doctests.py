"""Every example in a docstring runs and shows what it says."""

import doctest
import importlib
import pkgutil

import pytest

import wordveil
import wordveil_lab

MODULES = [
    name
    for package in (wordveil, wordveil_lab)
    for name in (
        package.__name__,
        *(module.name for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")),
    )
]


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
