"""The report of a redaction as one page: the four lines first, then the promise, what is shown, files and choices."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Any

from wordveil.promises.html import facts as facts_table
from wordveil.promises.html import items, page

_LINES = {"kept": "Kept", "hidden": "Hidden", "may_say": "May say", "must_say": "Must also say"}


def redaction_page(facts: Mapping[str, Any], data: str) -> str:
    """Return the page of a report, given its facts, and the element that holds the same as data."""
    day = facts["finished"].replace("T", " ").rstrip("Z")
    guarantee = facts["guarantee"]
    sections = [
        ("In short", items({title: facts["claim"][name] for name, title in _LINES.items()})),
        ("The promise", f'<p class="promise">{escape(guarantee["sentence"])}.</p>'),
        ("Assumptions", items(guarantee["assumptions"])),
        ("What the release shows", items(facts["disclosed"])),
        ("Hidden, by kind", facts_table(facts["hidden"])),
        ("The files", facts_table(_files(facts))),
        ("The choices", facts_table(_choices(facts))),
        ("The run", facts_table(_run(facts))),
    ]
    head = f'<h1>What was redacted</h1>\n<p class="date">{escape(day)} UTC</p>'
    parts = [head, *(f"<h2>{title}</h2>{body}" for title, body in sections if body)]
    return page("wordveil redaction report", parts, script=data)


def _files(facts: Mapping[str, Any]) -> dict[str, str]:
    names = {"input": facts["source"], "output": facts["destination"]}
    return names | {file["name"]: f"{file['size']:,} bytes, SHA-256 {file['sha256']}" for file in facts["outputs"]}


def _choices(facts: Mapping[str, Any]) -> dict[str, Any]:
    words = {f"words: {name}": value for name, value in facts["options"]["words"].items()}
    others = {name: value for name, value in facts["options"].items() if name != "words"}
    return words | others | {name: value for name, value in facts["settings"].items() if name != "details"}


def _run(facts: Mapping[str, Any]) -> dict[str, Any]:
    names = ("documents", "tokens", "kept", "missing_texts", "replaced_values", "skipped_documents", "left_out_members")
    counted = {name.replace("_", " "): facts[name] for name in (*names, "skipped_files", "bad_files")}
    return counted | {"seconds": f"{facts['seconds']:.1f}", "wordveil": facts["provenance"]["version"]}
