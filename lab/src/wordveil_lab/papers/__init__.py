"""The papers' own results, repeated: one module per paper, each number beside the paper's, each difference explained.

All noise is seeded test noise on public data.
"""

from __future__ import annotations

PAPERS = ("curse", "tem", "privemb", "nadp", "trlaplace")
"""Short names, in the order of the pages."""
