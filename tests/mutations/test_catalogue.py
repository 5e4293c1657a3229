"""Every fault of the catalogue still has its place, so that the list cannot go stale unnoticed."""

import importlib.util
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

_spec = importlib.util.spec_from_file_location("mutation_catalogue", Path(__file__).with_name("catalogue.py"))
catalogue = importlib.util.module_from_spec(_spec)
sys.modules[_spec.name] = catalogue
_spec.loader.exec_module(catalogue)


@pytest.mark.parametrize("mutation", catalogue.MUTATIONS, ids=lambda m: m.id)
def test_a_fault_has_one_place_and_tests_that_exist(mutation):
    text = (ROOT / "src" / "wordveil" / mutation.path).read_text(encoding="utf-8")
    assert text.count(mutation.old) == 1
    assert mutation.new not in (mutation.old, text)
    assert mutation.tests
    assert all((ROOT / "tests" / name).exists() for name in mutation.tests)


def test_ids_differ():
    ids = [mutation.id for mutation in catalogue.MUTATIONS]
    assert len(set(ids)) == len(ids)
