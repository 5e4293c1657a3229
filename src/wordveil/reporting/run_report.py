"""Writes the report of a run as JSON or as one self-contained HTML page."""

from __future__ import annotations

import html
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from wordveil.errors import ParameterError
from wordveil.runs import RunReport

__all__ = ["check_report_path", "write_report"]

_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>wordveil release report</title>
<style>
body {{ font: 16px/1.5 system-ui, sans-serif; max-width: 46rem; margin: 2rem auto; padding: 0 1rem; color: #222; }}
h1 {{ font-size: 1.4rem; }} h2 {{ font-size: 1.1rem; margin-top: 2rem; }}
table {{ border-collapse: collapse; }} td {{ padding: .2rem .8rem .2rem 0; vertical-align: top; }}
td:first-child {{ color: #666; white-space: nowrap; }} .promise {{ border-left: 4px solid #357; padding-left: 1rem; }}
code {{ font-size: .9em; word-break: break-all; }}
</style></head><body>
<h1>What was released</h1>
<p class="promise">{sentence}.</p>
<h2>Disclosed whatever the noise</h2><ul>{disclosed}</ul>
<h2>Assumptions</h2><ul>{assumptions}</ul>
<h2>The run</h2><table>{facts}</table>
</body></html>
"""


def write_report(report: RunReport, path: str | os.PathLike[str]) -> None:
    """Write the report; the ending `.json` or `.html` chooses the form.

    Raises:
        ParameterError: If the name has another ending, or the directory does not exist.
    """
    check_report_path(path)
    target = Path(path)
    form = _as_json if target.suffix == ".json" else _as_html
    target.write_text(form(report.as_dict()), encoding="utf-8")


def check_report_path(path: str | os.PathLike[str], endings: Sequence[str] = (".json", ".html")) -> None:
    """Raise `ParameterError` where no report of these forms could be written: worth knowing before a long run."""
    target = Path(path)
    if target.suffix not in endings:
        raise ParameterError("report", target.name, f"must end in {' or '.join(endings)}.")
    if not target.absolute().parent.is_dir():
        raise ParameterError("report", str(path), "must lie in an existing directory.")


def _as_json(facts: Mapping[str, Any]) -> str:
    return json.dumps(facts, indent=2, ensure_ascii=False) + "\n"


def _as_html(facts: Mapping[str, Any]) -> str:
    guarantee, provenance = facts["guarantee"], facts["provenance"]
    shown = {
        "promise": guarantee["promise"],
        "standing": guarantee["standing"],
        "documents": f"{facts['documents']:,}",
        "tokens randomized": f"{facts['tokens']:,}",
        "public words kept": f"{facts['exempt']:,}",
        "mechanism": provenance["mechanism"],
        "vocabulary": f"{provenance['vocabulary']}, checksum {provenance['checksum']}",
        "possible outputs": f"checksum {provenance['candidates_checksum']}",
        "wordveil": f"{provenance['version']}, engine {provenance['engine']}",
        "finished": f"{facts['finished']}, after {facts['seconds']:.1f} s",
    }
    rows = "".join(
        f"<tr><td>{html.escape(k)}</td><td><code>{html.escape(str(v))}</code></td></tr>" for k, v in shown.items()
    )
    return _PAGE.format(
        sentence=html.escape(guarantee["sentence"]),
        disclosed=_items(facts["disclosed"]),
        assumptions=_items(guarantee.get("assumptions") or ["none beyond the promise"]),
        facts=rows,
    )


def _items(lines: Any) -> str:
    return "".join(f"<li>{html.escape(line)}</li>" for line in lines)
