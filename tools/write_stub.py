"""Order src/wordveil/__init__.pyi and api.pyi: the names that load when first used, and what type checkers see of them.

Run after a line for a new name, in api.pyi for programs, else in __init__.pyi: python tools/write_stub.py
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import wordveil
from wordveil import api
from wordveil.names import EXPORTS

FOLDER = Path(wordveil.__file__).parent


def stubs() -> dict[Path, str]:
    """Return the text of each stub by its file: one import a name, sorted, and `__all__`."""
    return {
        FOLDER / "__init__.pyi": _stub(EXPORTS, wordveil.__all__, "__version__: str\n\n"),
        FOLDER / "api.pyi": _stub(EXPORTS | api.NAMES, api.__all__),
    }


def _stub(homes: Mapping[str, str], listed: Sequence[str], values: str = "") -> str:
    """Return a stub for names whose homes are "MODULE" or "MODULE:NAME THERE"."""
    parts = [(home.partition(":"), name) for name, home in homes.items()]
    imports = [(module, there or name, name) for (module, _, there), name in parts]
    imports.sort(key=lambda line: (line[0], not line[1].isupper(), line[1]))  # constants first, as the linter wants
    lines = "".join(f"from {module} import {there} as {name}\n" for module, there, name in imports)
    names = "".join(f'    "{name}",\n' for name in listed)
    return f"# Kept in order by tools/write_stub.py.\n\n{lines}\n{values}__all__ = [\n{names}]\n"


if __name__ == "__main__":
    for path, text in stubs().items():
        path.write_text(text, encoding="utf-8")
