"""Holds the report of a redaction against itself: the promise and all sentences are made again from its choices."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import Any

from wordveil.randomness import RandomSource
from wordveil.runs.frame import run_shows
from wordveil.runs.report_check import misfits
from wordveil.withholding.claim import COUNTED, Claim
from wordveil.withholding.redactor import Redactor
from wordveil.withholding.rule import Rule
from wordveil.withholding.runs import RedactionReport
from wordveil.withholding.words import PublicWords

_AROUND = {"schema", "kind", "checksum", "signature"}


def redaction_contradictions(facts: Mapping[str, Any], words: PublicWords, source: RandomSource) -> list[str]:
    """Return where a report says something else than its choices come to, one sentence each.

    The words are the lists that it names, with those of the owner; the source is one such as it names, and draws
    nothing. `KeyError` if a fact is missing.
    """
    options = facts["options"]
    numbers = None if options["numbers"] is None else tuple(options["numbers"])
    rule = Rule(**{name: options[name] for name in ("strict", "titles", "calendar")}, numbers=numbers)
    chosen = {name: options[name] for name in ("law", "link", "days")}
    redactor = Redactor(words=words, rule=rule, source=source, **chosen)
    counts = Counter({**facts["hidden"], "kept": facts["kept"], "hidden": sum(facts["hidden"].values())})
    right = {
        "guarantee": redactor.guarantee.as_dict(),
        "disclosed": [*redactor.disclosed, COUNTED, *run_shows(facts)],
        "claim": asdict(Claim.of(counts, words, rule, law=redactor.law, days=redactor.days)),
        "options": redactor.choices() | {"version": options["version"]},
        "tokens": counts["kept"] + counts["hidden"],
        "provenance": asdict(redactor.provenance),
        "files": len(facts["outputs"]) or facts["files"],
        "hidden": {kind: counts[kind] for kind in ("name", "number", "link", "word")},
    }
    plain = json.loads(json.dumps(right))
    wrong = [f"{name}: the report says other than its choices come to" for name in plain if facts[name] != plain[name]]
    strange = facts.keys() - {each.name for each in fields(RedactionReport)} - _AROUND
    return wrong + [f"{place}: no run writes this" for place in [*sorted(strange), *misfits(facts, RedactionReport)]]
