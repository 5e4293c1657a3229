"""Writes the report of a run as JSON or as one self-contained HTML page, which holds the same facts as data.

A page is a function of its facts: whoever has them can write it again, byte for byte, and see whether it was edited.
"""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Mapping
from dataclasses import asdict
from functools import cache
from html import escape
from pathlib import Path
from typing import Any

from wordveil.files.atomic import write_whole
from wordveil.promises.html import facts as facts_table
from wordveil.promises.html import items, page
from wordveil.runs.engine import check_report_path
from wordveil.runs.evidence import Evidence
from wordveil.runs.report_schema import SCHEMA, data_block, sealed
from wordveil.runs.sanitize import RunReport
from wordveil.withholding.report_page import redaction_page

REDACTION = "redaction"
"""The kind of a report of `wordveil redact`."""
_TECHNICAL = ("ascii_json", "section_documents", "row_group_rows")
"""Settings that say nothing of what was released."""
_UNSIGNED = "This report is not signed: it proves nothing about the honesty of whoever sent it."


@cache
def _words() -> dict[str, Any]:
    """Return what pages say whatever was released, and how they look."""
    return tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))


def write_report(report: RunReport, path: str | os.PathLike[str], evidence: Evidence) -> None:
    """Write the report; the ending `.json` or `.html` chooses the form."""
    kind = "sentences" if "stock" in report.options else "texts"
    write_facts({"schema": SCHEMA, "kind": kind, **report.as_dict(), **asdict(evidence)}, path)


def write_facts(facts: Mapping[str, Any], path: str | os.PathLike[str]) -> None:
    """Write what a report says, with its checksum; see `write_report`."""
    write_sealed(sealed(facts), path)


def write_sealed(facts: Mapping[str, Any], path: str | os.PathLike[str]) -> None:
    """Write facts as they are, checksum and signature included; see `write_report`."""
    check_report_path(path)
    target = Path(path)
    text = form(facts, html=target.suffix == ".html")
    if facts.get("inputs"):  # digests of private files let a guess be tested
        write_whole(target, text.encode(), private=True)
    else:
        target.write_text(text, encoding="utf-8")


def form(facts: Mapping[str, Any], *, html: bool) -> str:
    """Return the text of a report; equal facts make equal text."""
    if html and facts.get("kind") == REDACTION:
        return redaction_page(facts, data_block(facts))
    return _as_html(facts) if html else json.dumps(facts, indent=2, ensure_ascii=False) + "\n"


def _above_the_fold(facts: Mapping[str, Any]) -> list[str]:
    """Return what everybody reads: when, the verdict, the warnings, what passes unchanged."""
    day = facts["finished"].replace("T", " ").rstrip("Z")
    files = f"{_stream(facts['source'], 'input')} to {_stream(facts['destination'], 'output')}"
    told, titles = facts.get("verdict"), _words()["verdict"]
    verdict = {title: told[name] for name, title in titles.items()} if told else {}
    box = f'<section class="verdict"><h2>In short</h2>{items(verdict)}</section>' if verdict else ""
    warnings = (f"<strong>Warning:</strong> {escape(line)}." for line in facts.get("warnings", ()))
    passes = items(facts.get("passes", ()))
    return [
        f'<h1>What was released</h1>\n<p class="date">{escape(day)} UTC, {escape(files)}</p>',
        *(f'<p class="warning">{line}</p>' for line in warnings),
        box,
        f"<h2>What passes unchanged</h2>{passes}" if passes else "",
    ]


def _as_html(facts: Mapping[str, Any]) -> str:
    guarantee = facts["guarantee"]
    sections = [
        ("The promise", f'<p class="promise">{escape(guarantee["sentence"])}.</p>'),
        ("In plain words", items(facts.get("in_words") or ())),
        ("Assumptions", items([*(guarantee.get("assumptions") or ()), *(facts.get("assumptions") or ())])),
        ("Disclosed whatever the noise", items(facts["disclosed"])),
        ("What was read, and what an attacker reads", items(read_and_attacked(facts))),
        ("The files", facts_table(_files(facts))),
        ("The choices", items(facts.get("notes") or ()) + facts_table(_choices(facts))),
        ("The run", facts_table(_run(facts))),
        ("What the words mean", items({term: f"{meaning}." for term, meaning in _words()["glossary"].items()})),
        ("Who wrote it", _signer(facts.get("signature"))),
    ]
    parts = _above_the_fold(facts) + [f"<h2>{title}</h2>{body}" for title, body in sections if body]
    return page("wordveil release report", parts, style=_words()["style"], script=data_block(facts))


def _signer(signature: Mapping[str, Any] | None) -> str:
    if signature is None:
        return f"<p>{_UNSIGNED}</p>"
    key = f"<code>{escape(str(signature['key']))}</code>"
    return f"<p>Signed with the key {key}. Hold it against the sender's public key: <code>--public-key</code>.</p>"


def _files(facts: Mapping[str, Any]) -> dict[str, str]:
    names = {"input": _stream(facts["source"], "input"), "output": _stream(facts["destination"], "output")}
    listed = [*facts["outputs"], *facts["inputs"]]
    return names | {file["name"]: f"{file['size']:,} bytes, SHA-256 {file['sha256']}" for file in listed}


def _stream(name: str, which: str) -> str:
    return f"standard {which}" if name == "-" else name


def _choices(facts: Mapping[str, Any]) -> dict[str, Any]:
    options, settings = dict(facts["options"]), dict(facts["settings"])
    words = options.pop("public_words")
    chosen = {**options, "public_words": f"{len(words):,}", **settings.pop("details", {}), **settings}
    return {name.replace("_", " "): value for name, value in chosen.items() if name not in _TECHNICAL}


def _run(facts: Mapping[str, Any]) -> dict[str, str]:
    guarantee, provenance = facts["guarantee"], facts["provenance"]
    return {
        "promise": guarantee["promise"],
        "standing": guarantee["standing"],
        "documents": f"{facts['documents']:,}",
        "tokens randomized": f"{facts['tokens']:,}",
        "public words kept": f"{facts['exempt']:,}",
        **({"of one person": facts["budget"]["sentence"]} if facts.get("budget") else {}),
        "documents are named by": f"the column {facts['ids']}" if facts.get("ids") else "file and place",
        "left out or replaced": left_out(facts) or "nothing",
        "mechanism": provenance["mechanism"],
        "vocabulary": f"{provenance['vocabulary']}, checksum {provenance['checksum']}",
        "possible outputs": f"checksum {provenance['candidates_checksum']}",
        "wordveil": f"{provenance['version']}, engine {provenance['engine']}",
        **({"arithmetic": provenance["arithmetic"]} if provenance.get("arithmetic") else {}),
        "finished": f"{facts['finished']}, after {facts['seconds']:.1f} s",
    }


def read_and_attacked(facts: Mapping[str, Any]) -> tuple[str, ...]:
    """Return what was read of a release beside what an attacker reads, a sentence each; nothing where nothing was."""
    read = facts.get("denoised")
    if not read:
        return ()
    public, random = read["on_public_text"], read["on_public_text"]["random"]
    said = [
        f"denoised ({read['style']}): {read['words']:,} words, of which {read['confidence']:.2f} are expected to be "
        "the original's; the promise is that of the release, as only released words and public text were read",
        f"attack: whoever reads the release in the same way is expected to name {read['attack']:.2f} of its words",
        f"tried on {public['words']:,} words of public text, released in the same way: the attack named "
        f"{public['named']:.2f} of them, {public['content']:.2f} of the rarer ones, and {random:.2f} where random "
        "words were released; other attackers may know more",
    ]
    if read["refused_texts"]:
        said.append(f"left as released: {read['refused_texts']:,} texts of which too little can be read")
    return tuple(said)


def left_out(facts: Mapping[str, Any]) -> str:
    """Return the counts of a run's report that tell what was not released, those that are not 0; "" if all are."""
    counts = {
        "text columns that documents lacked": facts["missing_texts"],
        "values that were no text": facts["replaced_values"],
        "documents without text": facts["skipped_documents"],
        "members that the first record does not have": facts.get("left_out_members", 0),
        "files not read": facts["skipped_files"],
        "malformed files": facts["bad_files"],
        "documents of persons over their budget": (facts.get("budget") or {}).get("documents_left_out", 0),
    }
    return ", ".join(f"{what}: {count:,}" for what, count in counts.items() if count)
