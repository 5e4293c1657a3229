"""What plugins and the laboratory may use: all names that `api.pyi` lists, of which `wordveil` has those for people.

Who writes a mechanism, a reader, a command or a measurement needs more than these: arrays by their meaning, checks of
parameters, laws and bounds, options of commands. A test holds that the laboratory and the example plugin import from
here alone. Names load their module when first used.
"""

from __future__ import annotations

import importlib
from typing import Any

from wordveil.names import EXPORTS, homes

NAMES: dict[str, str] = dict(sorted((name, home) for name, home in homes("api.pyi").items() if name not in EXPORTS))
"""Name -> module that defines it, with a colon and its name there where that is another one."""

__all__ = sorted([*EXPORTS, *NAMES])


def __getattr__(name: str) -> Any:
    module, _, attribute = (NAMES.get(name) or EXPORTS.get(name, "")).partition(":")
    if not module:
        raise AttributeError(f"module 'wordveil.api' has no attribute {name!r}")
    value = getattr(importlib.import_module(module), attribute or name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
