"""wordveil: release text and text embeddings with a stated, checkable privacy guarantee.

Public names load their module when first used, so that importing wordveil is quick.
"""

from __future__ import annotations

import importlib

from wordveil.names import EXPORTS

__version__ = "0.1.0"

__all__ = sorted([*EXPORTS, "__version__"])


def __getattr__(name: str) -> object:
    if name not in EXPORTS:
        raise AttributeError(f"module 'wordveil' has no attribute {name!r}; it offers {', '.join(sorted(EXPORTS))}")
    value = getattr(importlib.import_module(EXPORTS[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
