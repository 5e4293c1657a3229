"""Thin adapters over the sanitizer and the run engine, one file a library; each needs the extra of its name.

No adapter holds logic: what several share stands in `conversation`, `chat` and `records`.
"""
