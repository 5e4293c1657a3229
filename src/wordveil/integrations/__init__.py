"""Thin adapters over the sanitizer and the run engine, one file a library; each needs the extra of its name.

No adapter holds logic. The proxy stands on `conversation` (what is released) and `chat` (what of a request leaves).
"""
