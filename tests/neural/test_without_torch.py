"""Without PyTorch the package imports, and its modules say what is missing."""

import importlib
import sys

import pytest

from wordveil.errors import MissingExtraError


@pytest.fixture(autouse=True)
def no_torch(monkeypatch):
    for name in [name for name in sys.modules if name.startswith("wordveil_lab")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "torch", None)


@pytest.mark.parametrize("module", ["neural.models", "neural.private_embedding", "papers.trlaplace_neural"])
def test_the_missing_extra_is_named(module):
    for name in ("neural", "papers.convert", "papers.summary"):
        importlib.import_module(f"wordveil_lab.{name}")
    with pytest.raises(MissingExtraError) as refused:
        importlib.import_module(f"wordveil_lab.{module}")
    said = "A model behind the noise needs the package torch. Install it with: pip install 'wordveil-lab[torch]'"
    assert str(refused.value) == said
