"""How long work says how far it is."""

from __future__ import annotations

from collections.abc import Callable

__all__ = ["Progress"]

Progress = Callable[[int], None]
"""Called with the number of tokens, rows or pairs done since the last call."""
