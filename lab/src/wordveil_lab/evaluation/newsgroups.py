"""Newsgroup posts without what names their authors: headers, quoted lines, signatures and the author's own name.

For the 20 Newsgroups set with headers, where line breaks are kept as tabs. Every rule is a heuristic on public data;
nothing here protects private text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

__all__ = ["Post", "parse_post"]

_BREAK = re.compile(r"[\t\n]")
_HEADER = re.compile(r"[A-Z][\w-]+:\s|<[^<>\s]+@")
_QUOTED = re.compile(r"\s*(?:[A-Za-z]{0,3}>|[|:}#])")
_ATTRIBUTION = re.compile(r"\bwr(?:ites|ote)\s*:|\bsays\s*:|^In article\b|<[^<>\s]+@[^<>\s]+>")
_SIGNATURE = re.compile(r"\s*-{2,}\s*$|\s*_{3,}|\s*={3,}|\s*\*{4,}")
_ADDRESS = re.compile(r"[\w.+-]+@[\w.-]+")
_NAME = re.compile(r"[^\W\d_]{3,}")


@dataclass(frozen=True, kw_only=True)
class Post:
    """One post.

    Attributes:
        author: The address in its From header, lower case; "" where there is none.
        body: What its author wrote, lines joined by spaces, without their own name.
    """

    author: str
    body: str


def parse_post(text: str) -> Post:
    """Return author and body of a post with headers; everything after a signature's rule is dropped."""
    head, _, rest = _BREAK.sub("\n", text).partition("\n\n")
    sender = next((line[5:] for line in head.split("\n") if line.lower().startswith("from:")), "")
    address = _ADDRESS.search(sender)
    kept: list[str] = []
    for line in rest.split("\n"):
        if kept and _SIGNATURE.match(line):
            break
        if not kept and _HEADER.match(line):  # some posts have a blank line among their headers
            continue
        if line.strip() and not _QUOTED.match(line) and not _ATTRIBUTION.search(line):
            kept.append(line.strip())
    names = {name.lower() for name in _NAME.findall(sender)}
    body = _NAME.sub(lambda found: "" if found.group().lower() in names else found.group(), " ".join(kept))
    return Post(author=address.group().lower() if address else "", body=" ".join(body.split()))
