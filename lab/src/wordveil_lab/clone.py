"""Where the pages lie that the laboratory writes: in the clone of the repository from which it is installed."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
"""The folder of the clone; of no use where the laboratory is installed from a wheel."""
