"""Nobody guesses what a mechanism, a promise or a format is: it is asked, never tested for its class or attributes.

Only `mechanisms/` knows kinds of mechanisms, and only `promises/` kinds of promises; nobody asks for a kind of format.
Whether something is a mechanism, a promise or a format at all may be asked of what a user brings.
"""

import ast
import importlib
import pkgutil
from pathlib import Path

import wordveil
import wordveil.decoding
import wordveil.mechanisms
from wordveil.documents.base import DocumentFormat
from wordveil.mechanisms.common import Mechanism, Randomizer
from wordveil.promises.guarantees import Guarantee
from worlds import told

SOURCE = Path(wordveil.__file__).parent
ROOT = SOURCE.parents[1]
FILES = [path for path in sorted(SOURCE.rglob("*.py")) if path.parent.name != "mechanisms"]
FILES += sorted([*ROOT.glob("tools/*.py"), *ROOT.glob("lab/src/**/*.py")])
PROBES = {"getattr", "hasattr"}
TESTS = {"isinstance", "issubclass"}


def subclasses(kind):
    return {kind, *(found for child in kind.__subclasses__() for found in subclasses(child))}


for package in (wordveil.mechanisms, wordveil.decoding):
    for module in pkgutil.iter_modules(package.__path__):
        importlib.import_module(f"{package.__name__}.{module.name}")
MECHANISMS = {kind.__name__: kind for base in (Mechanism, Randomizer) for kind in subclasses(base)}
FACTS = {name for kind in MECHANISMS.values() for name in (*vars(kind), *vars(kind).get("__annotations__", ()))}
FACTS = {name for name in FACTS if not name.startswith("__")} - {"name"}
FORMATS = {kind.__name__ for kind in subclasses(DocumentFormat)} - {"DocumentFormat"}
KINDS = (MECHANISMS.keys() - {"Mechanism", "Randomizer"}) | FORMATS
CLAIMS = {kind.__name__ for kind in subclasses(Guarantee)} - {"Guarantee"}
ANSWERS = {"epsilon", "delta", "slack", "assumptions", "scope", "metric", "graph", "largest_distance", "reason", "unit"}
ANSWERS |= {name for kind in subclasses(Guarantee) for name in vars(kind) if not name.startswith("_")}
PROMISES = {"guarantee", "claim", "promise", "stated"}
"""Names by which the code calls a promise; only of these is it asked whether they have what every promise has."""


def names_in(node):
    """Last names of everything that an expression mentions: `a.b | (C, d.E)` gives b, C and E."""
    found = set()
    for part in ast.walk(node):
        if isinstance(part, ast.Name):
            found.add(part.id)
        elif isinstance(part, ast.Attribute):
            found.add(part.attr)
    return found


def guesses(source, kinds=KINDS | CLAIMS):
    """Lines where code looks at the class or the attributes of a mechanism or a promise, of these kinds."""
    lines = []
    for node in ast.walk(ast.parse(source)):
        named: set[str] = set()
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and len(node.args) > 1:
            asked = node.args[1]
            if node.func.id in TESTS:
                named = names_in(asked)
            elif node.func.id in PROBES and isinstance(asked, ast.Constant):
                of_promise = bool(names_in(node.args[0]) & PROMISES)
                named = CLAIMS if of_promise and asked.value in ANSWERS else set()
                named = named or (KINDS if not of_promise and asked.value in FACTS else set())
        elif isinstance(node, ast.Compare) and any(isinstance(op, ast.Is | ast.Eq) for op in node.ops):
            called = isinstance(node.left, ast.Call) and isinstance(node.left.func, ast.Name)
            named = names_in(node.comparators[0]) if called and node.left.func.id == "type" else set()
        elif isinstance(node, ast.MatchClass):
            named = names_in(node.cls)
        elif isinstance(node, ast.Dict):
            named = {key.id for key in node.keys if isinstance(key, ast.Name)}
        elif isinstance(node, ast.FunctionDef) and any("register" in names_in(each) for each in node.decorator_list):
            named = {name for each in (*node.decorator_list, *node.args.args) for name in names_in(each)}
        if named & kinds:
            lines.append(node.lineno)
    return lines


def test_no_module_guesses_what_a_mechanism_a_promise_or_a_format_is():
    kinds = {"mechanisms": CLAIMS | FORMATS, "promises": KINDS}
    found = {path: guesses(path.read_text(), kinds.get(path.parent.name, KINDS | CLAIMS)) for path in FILES}
    assert {path: lines for path, lines in found.items() if lines} == {}


def test_the_rule_notices_each_way_to_guess():
    lines = told(__file__)
    for line in lines["guesses"]:
        assert guesses(line), line
    for line in lines["no_guesses"]:
        assert not guesses(line), line
