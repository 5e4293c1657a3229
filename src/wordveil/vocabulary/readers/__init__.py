"""Readers of foreign embedding formats: one file per format, and the registry that names them.

The readers load when one of these names is first used, so that opening a mapped vocabulary does not pay for them.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from wordveil.vocabulary.readers.registry import FORMATS, Progress, format_of, read_blocks, read_table

__all__ = ["FORMATS", "Progress", "format_of", "read_blocks", "read_table"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}; it offers {', '.join(__all__)}")
    value = getattr(importlib.import_module(f"{__name__}.registry"), name)
    globals()[name] = value
    return value
