"""The page of the gallery: the entries' texts, in `gallery.toml`, with their numbers."""

from __future__ import annotations

from collections.abc import Iterable

from wordveil.api import ParameterError
from wordveil_lab.papers.base import told
from wordveil_lab.papers.gallery import ENTRIES, NEEDS


def exhibit(name: str) -> str:
    """Return an entry as a section of Markdown, its numbers computed now."""
    if name not in ENTRIES:
        raise ParameterError("paper", name, f"must be one of {', '.join(ENTRIES)}.")
    text = told("gallery.toml")[name]
    numbers = ENTRIES[name]()
    said = {part: sentence.format(**numbers) for part, sentence in text.items()}
    lines = [f"## {said['title']}", "", f"    wordveil reproduce {name}", "", said["source"], ""]
    for part, heading in (("claim", "Claim"), ("counter", "Counter-example"), ("bound", "Certified"), ("mend", "Mend")):
        lines += [f"**{heading}.** {said[part]}", ""]
    return "\n".join(lines)


def gallery_page(names: Iterable[str] = tuple(ENTRIES)) -> str:
    """Return the whole page; an entry whose data is not here says so."""
    parts = [told("gallery.toml")["head"]]
    for name in names:
        try:
            parts.append(exhibit(name))
        except ParameterError as error:
            if name not in NEEDS:
                raise
            parts.append(f"## {name}\n\nSkipped: {error}\n")
    return "\n".join(parts)
