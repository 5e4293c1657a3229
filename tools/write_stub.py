"""Write src/wordveil/__init__.pyi: what type checkers and editors see of the names that load when first used.

Run after a change of names.EXPORTS: python tools/write_stub.py
"""

from __future__ import annotations

from pathlib import Path

import wordveil
from wordveil.names import EXPORTS

STUB = Path(wordveil.__file__).with_suffix(".pyi")


def stub() -> str:
    """Return the text of the stub: one import a name, sorted, and `__all__`."""
    imports = [f"from {module} import {name} as {name}" for name, module in sorted(EXPORTS.items())]
    imports.sort(key=lambda line: (line.split()[1], line.split()[3]))
    listed = "".join(f'    "{name}",\n' for name in wordveil.__all__)
    head = "# Written by tools/write_stub.py from wordveil.names.EXPORTS.\n\n"
    return f"{head}{chr(10).join(imports)}\n\n__version__: str\n\n__all__ = [\n{listed}]\n"


if __name__ == "__main__":
    STUB.write_text(stub(), encoding="utf-8")
