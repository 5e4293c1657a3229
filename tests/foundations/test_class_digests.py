"""Digests of a user's classes: unequal wherever the code does something else, equal in every process otherwise."""

from __future__ import annotations

import functools
import os
import subprocess
import sys
import types
from dataclasses import InitVar, dataclass
from typing import Any

import numpy as np
import pytest

import wordveil as wv
from wordveil.errors import CertificateError
from wordveil.promises.certificates import class_name, identity

CELL = """
import functools, math
from dataclasses import dataclass, field
from typing import ClassVar
SCALE = {scale}
def helper(x):
    return {helper}
class Base:
    def shared(self, x):
        return {base}
def logged(function):
    @functools.wraps(function)
    def around(*args):
        return function(*args) + {around}
    return around
def make(captured):
    @dataclass(frozen=True)
    class Mine(Base):
        constant: ClassVar = {constant}
        x: int = 0
        made: list = field(default_factory={factory})
        def between(self, a, b, factor={default}, *, bias={keyword}):
            inner = lambda t: t + {inner}
            return SCALE * helper(inner(a)) + captured + factor + bias + len({{1, "a", b"b"}}) + math.sqrt(b)
        @property
        def width(self):
            return {width}
        @staticmethod
        def still():
            return {still}
        @functools.cached_property
        def kept(self):
            return {kept}
        @logged
        def wrapped(self):
            return 1
        part = functools.partial(helper, {part})
        def again(self):
            return Mine, self.again
        def __call__(self):
            return {call}
    Mine.__weights__ = ({weights},)
    helper.scale = {attribute}
    return Mine
"""
SAME = dict.fromkeys(("scale", "base", "around", "constant", "default", "keyword", "inner", "width"), "1")
SAME |= dict.fromkeys(("still", "kept", "part", "call", "weights", "attribute"), "2")
SAME |= {"helper": "x + 1", "factory": "list"}
CHANGES = {name: "7" for name in SAME} | {"helper": "x - 1", "factory": "dict"}


def made(captured=3, module="notebook", **changes):
    cell = sys.modules[module] = types.ModuleType(module)
    exec(compile(CELL.format(**SAME | changes), "<cell>", "exec"), cell.__dict__)
    try:
        return cell.make(captured)
    finally:
        del sys.modules[module]


def without(names):
    return [name for name in SAME if name not in names]


def test_a_cell_run_again_unchanged_is_the_same_class():
    assert class_name(made()) == class_name(made())
    mine = made()
    before = class_name.__wrapped__(mine)
    for _ in range(100):  # an interpreter that specializes code must not change what is seen of it
        mine().between(1, 4)
    assert class_name.__wrapped__(mine) == before == class_name(made())


@pytest.mark.parametrize("name", CHANGES)
def test_an_edit_anywhere_makes_it_another(name):
    assert class_name(made(**{name: CHANGES[name]})) != class_name(made())


def test_what_a_function_captured_and_where_it_lies_count():
    assert len({class_name(kind) for kind in (made(), made(captured=4), made(module="elsewhere"))}) == 3


def test_functions_of_a_module_of_the_users_own_count(monkeypatch):
    names = []
    for result in ("1", "2", "1"):
        helpers = types.ModuleType("helpers")
        exec(f"def far(x): return {result}\nother = object()", helpers.__dict__)
        monkeypatch.setitem(sys.modules, "helpers", helpers)
        for code in ("import helpers\nclass Mine:\n def f(self): return helpers.far(1)",
                     "class Mine:\n def f(self):\n  import helpers\n  return helpers.far(1)",
                     "class Mine:\n def f(self):\n  from helpers import far\n  return far(1)"):  # fmt: skip
            scope = {"__name__": "notebook"}
            exec(code, scope)
            names.append(class_name(scope["Mine"]))
    assert names[:3] == names[6:]
    assert set(names[:3]).isdisjoint(names[3:6])


@pytest.mark.parametrize("captured", [object(), iter(()), without])
def test_what_cannot_be_shown_is_never_taken_for_the_same(captured):
    kinds = [made(captured=captured) for _ in range(2)]
    if captured is without:  # a function whose own code and names show
        assert class_name(kinds[0]) == class_name(kinds[1])
        return
    assert class_name(kinds[0]) != class_name(kinds[1])
    assert class_name(kinds[0]) == class_name(kinds[0]), "one class keeps its name, so that its passes add up"
    with pytest.raises(CertificateError, match="cannot be named"):
        identity(kinds[0]())


@pytest.mark.parametrize("body", ["from . import random", "import no_such_module"])
def test_imports_that_nobody_can_follow_have_no_name(body):
    names: list[str] = []
    for _ in range(2):
        scope = {"__name__": "notebook"}
        exec(f"class Mine:\n def f(self):\n  {body}", scope)
        names.append(class_name(scope["Mine"]))
    assert names[0] != names[1]


def test_a_class_that_holds_itself_has_no_endless_name():
    mine = made()
    mine.first = mine()
    with pytest.raises(CertificateError, match="cannot be named"):
        identity(mine())


def test_a_property_of_a_users_own_kind_is_never_taken_for_pythons():
    class Held(property):
        scale = 1.0

    names = [class_name(type("Mine", (), {"__module__": "notebook", "width": Held(without)})) for _ in range(2)]
    assert names[0] != names[1], "what it holds beside its functions is not walked"


class Slotted:
    __slots__ = ("factor",)


@dataclass(frozen=True)
class ByFactor(Slotted):
    given: InitVar[float]

    def __post_init__(self, given):
        object.__setattr__(self, "factor", given)


@dataclass(frozen=True)
class Hiding(ByFactor):
    factor: float = 1.0

    def __post_init__(self, given):
        Slotted.factor.__set__(self, given)


def test_what_lies_in_slots_of_a_base_is_not_passed_over():
    for kind in (ByFactor, Hiding):
        with pytest.raises(CertificateError, match="cannot be named"):
            identity(kind(2.0))


@dataclass(frozen=True)
class Holding:
    held: Any


def test_what_wordveil_holds_is_named_in_full_or_not_at_all():
    words = ["good", "bad", "late", "soon"]
    tables = [wv.Embeddings.from_arrays(words, [[1.0], [x], [3.0], [4.0]], name="one") for x in (2.0, 5.0)]
    tables.append(tables[0].without_outputs(["bad"]))
    again = wv.Embeddings.from_arrays(words, [[1.0], [2.0], [3.0], [4.0]], name="one")
    names = [identity(Holding(table)) for table in tables]
    assert len(set(names)) == 3
    assert identity(Holding(again)) == names[0]
    assert identity(Holding(wv.SanText(epsilon=1.0))) != identity(Holding(wv.SanText(epsilon=2.0)))
    assert identity(Holding(wv.Standing.PROVED)) != identity(Holding(wv.Standing.REFUTED))
    for held in (wv.Sanitizer(again, wv.SanText(epsilon=1.0)), wv.RandomSource(), again.words):
        with pytest.raises(CertificateError, match="cannot be named"):
            identity(Holding(held))


def test_shipped_classes_need_no_digest():
    assert class_name(wv.TEM) == ""
    assert "class=" not in identity(wv.TEM(epsilon=1.0))


PROGRAM = """
import sys
sys.path[:0] = [{folder!r}]
from test_class_digests import made
from wordveil.promises.certificates import class_name
print(class_name(made()))
"""


def test_every_process_gives_the_same_digest():
    code = PROGRAM.format(folder=os.path.dirname(__file__))
    run = functools.partial(subprocess.run, [sys.executable, "-c", code], capture_output=True, check=True, text=True)
    assert {run(env={**os.environ, "PYTHONHASHSEED": seed}).stdout.strip() for seed in "12"} == {class_name(made())}


WAYS_OUT = [
    "open('weights')", "np.load('weights')", "np.random.default_rng(1).bytes(1) or np.memmap('weights')",
    "os.environ['SCALE']", "environment['SCALE']", "os.getenv('SCALE')", "getenv('SCALE')", "eval('SCALE')", "vars()",
    "Path('weights').read_bytes()", "pathlib.Path('weights').read_bytes()", "__import__('os').environ",
    "importlib.import_module('weights').SCALE", "time.time()", "now()", "builtins.open('weights')", "reader('weights')",
]  # fmt: skip
IMPORTS = """
import builtins, importlib, os, pathlib, time
import numpy as np
from os import environ as environment, getenv
from pathlib import Path
from time import time as now
reader = open
"""


@pytest.mark.parametrize("way", WAYS_OUT)
def test_what_reads_files_settings_or_the_clock_is_never_taken_for_the_same(way):
    names = []
    for _ in range(2):
        scope = {"__name__": "notebook"}
        exec(f"{IMPORTS}\nclass Mine:\n def f(self):\n  return {way}", scope)
        names.append(class_name(scope["Mine"]))
    assert names[0] != names[1]


def test_what_computes_with_numpy_and_the_standard_library_is_named():
    names = []
    for _ in range(2):
        scope = {"__name__": "notebook"}
        code = "return np.linalg.norm(x) + math.sqrt(len(x)) + np.random.default_rng(1).random() + max(map(int, [1]))"
        exec(f"import math\nimport numpy as np\nclass Mine(list):\n def f(self, x):\n  {code}", scope)
        names.append(class_name(scope["Mine"]))
    assert names[0] == names[1]


def test_a_table_from_a_directory_nobody_checked_is_named_by_what_it_holds(tmp_path):
    words, rows = ["good", "bad", "late", "soon"], np.arange(8, dtype=np.float32).reshape(4, 2)
    whole = wv.Embeddings.from_arrays(words, rows, name="one")
    tables = []
    for place in ("honest", "forged"):
        whole.save(tmp_path / place)
        if place == "forged":
            matrix = np.lib.format.open_memmap(tmp_path / place / "vectors.npy", mode="r+")
            matrix[1] += 1
            matrix.flush()
        tables.append(wv.load_embeddings(tmp_path / place))
    honest, forged = (identity(Holding(table)) for table in tables)
    assert honest != forged
    tables[0].verify()
    assert identity(Holding(tables[0])) == honest == identity(Holding(whole.save(tmp_path / "again")))
