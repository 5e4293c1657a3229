"""Holds a report against itself: whatever it says of a promise is computed again from the mechanism that it names.

What cannot be computed again (counts, names, times, versions) is held by the report's checksum, against an edit that
does not know of it, and by a signature, against one that does. Whoever edits such a fact can lie in numbers and names,
as everywhere where nobody signs, but cannot add a fact or a sentence that no run writes.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import MISSING, asdict, dataclass, fields, is_dataclass
from datetime import datetime
from types import UnionType
from typing import Any, Literal, get_args, get_origin, get_type_hints

from wordveil.denoising.denoiser import Style
from wordveil.documents.settings import DocumentSettings
from wordveil.promises.guarantees import Guarantee
from wordveil.runs.beforehand import UserBudget
from wordveil.runs.evidence import Evidence
from wordveil.runs.report import form
from wordveil.runs.report_schema import StoredReport, checksum
from wordveil.runs.sanitize import RunReport, run_disclosures
from wordveil.runs.vectors.binding import Binding
from wordveil.runs.vectors.values import VectorReport, vector_disclosures
from wordveil.sanitizing.sanitizer import Sanitizer

MEANT = ("promise", "epsilon", "delta", "slack", "unit", "standing", "largest_distance", "graph")
"""Of a guarantee: what is not wording, and the same in every version."""
_GIVEN = ("version", "engine")  # of the machine that released
_LONGEST = 160  # characters shown of a value


@dataclass(frozen=True, kw_only=True)
class Contradiction:
    """A fact of a report that its mechanism does not bear out."""

    place: str  # where it stands, such as "guarantee.epsilon"
    said: Any  # what the report says; None where it says nothing
    right: Any  # what is computed again; None where there should be nothing

    @property
    def is_meant(self) -> bool:
        """Whether it is no matter of wording, which may differ between versions."""
        return self.place.partition(".")[2] in MEANT

    def sentence(self) -> str:
        return f"{self.place}: the report says {_short(self.said)}, its mechanism gives {_short(self.right)}"


def is_rounding(wrong: Sequence[Contradiction]) -> bool:
    """Whether all that differs is what a mechanism is fitted to, as another processor may compute it, and its name."""
    found = {each.place: (each.said, each.right) for each in wrong}
    computed = [found.pop(place, ("", "")) for place in ("provenance.public_data", "provenance.arithmetic")]
    metric = found.pop("guarantee.metric", ("", ""))
    said, right = found.pop("guarantee.sentence", ("", ""))
    if found or not any(all(pair) for pair in computed) or not all(isinstance(name, str) for name in metric):
        return False
    return bool((str(right).replace(metric[1], metric[0]) if metric[1] else right) == said)


def _short(value: Any) -> str:
    if value is None:
        return "nothing"
    shown = json.dumps(value)
    return shown if len(shown) <= _LONGEST else f"{shown[:_LONGEST]}..."


def damage(report: StoredReport) -> list[str]:
    """Return what shows without its mechanism that a report was edited after it was written, one sentence each.

    Raises:
        DataFormatError: If it is a page of another version, which this one would write otherwise.
    """
    held = report.facts.get("checksum") == checksum(report.facts)
    told = [] if held else ["other facts than its checksum was made of"]
    told += [f"provenance.{name}: no text" for name in _GIVEN if not isinstance(report.facts["provenance"][name], str)]
    if not told and report.html and report.text != form(report.facts, html=True):
        report.check_version()
        told.append("another page than its facts make")
    return told


def contradictions(
    report: StoredReport, source: Sanitizer | Binding, budget: UserBudget | None = None
) -> list[Contradiction]:
    """Return where a report says something else of its release than its mechanism, vocabulary and choices come to."""
    facts = json.loads(json.dumps(report.facts))
    right = _vectors(facts, source) if isinstance(source, Binding) else _texts(facts, source, budget)
    right = json.loads(json.dumps(right))
    for name in _GIVEN:
        right["provenance"][name] = facts["provenance"].get(name)
    unknown = facts.keys() - _fields(source)
    said = dict(_leaves({name: fact for name, fact in facts.items() if name in right or name in unknown}))
    computed = dict(_leaves(right))
    places = [place for place in (said | computed) if said.get(place) != computed.get(place)]
    wrong = [Contradiction(place=place, said=said.get(place), right=computed.get(place)) for place in places]
    values = dict(_leaves(facts))
    shape = VectorReport if isinstance(source, Binding) else RunReport
    return wrong + [Contradiction(place=place, said=values.get(place), right=None) for place in misfits(facts, shape)]


def _fields(source: Sanitizer | Binding) -> set[str]:
    kinds = (VectorReport,) if isinstance(source, Binding) else (RunReport, Evidence)
    names = {each.name for kind in kinds for each in fields(kind)}
    return {"schema", "kind", "warnings", "checksum", "signature"} | names


def _leaves(value: Any, place: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the values of a report with their places; a list or object that is empty is a value."""
    if isinstance(value, Mapping) and value:
        for name, each in value.items():
            yield from _leaves(each, f"{place}.{name}" if place else str(name))
    elif isinstance(value, list | tuple) and value:
        for number, each in enumerate(value):
            yield from _leaves(each, f"{place}[{number}]")
    else:
        yield place, value


def _promise(guarantee: Guarantee, provenance: Any) -> dict[str, Any]:
    return {"guarantee": guarantee.as_dict(), "provenance": asdict(provenance)}


def _texts(facts: Mapping[str, Any], sanitizer: Sanitizer, budget: UserBudget | None) -> dict[str, Any]:
    disclosed = run_disclosures(sanitizer, facts)
    right = _promise(sanitizer.guarantee, sanitizer.provenance) | {"options": sanitizer.options.choices()}
    right["disclosed"] = list(disclosed) + ([] if budget is None else [budget.disclosed()])
    if budget is not None:
        none = {"users_over": 0, "documents_left_out": 0} if budget.over == "stop" else {}
        right["budget"] = {**facts["budget"], **none, "sentence": budget.sentence()}
        right["longest"] = min(facts["longest"], budget.tokens(sanitizer))  # of one person, like every document
    if facts["ids"]:  # which no run takes without a key that stays
        right["lasting_key"] = True
    right |= {"schema": facts["schema"], "files": len(facts["outputs"]) or facts["files"]}
    right["kind"] = "sentences" if "stock" in facts["options"] else "texts"
    evidence = asdict(Evidence.of_facts(sanitizer, facts))
    del evidence["notes"]  # choices of the command line, which no mechanism knows
    return right | evidence


def _vectors(facts: Mapping[str, Any], binding: Binding) -> dict[str, Any]:
    test = facts["provenance"]["test_source"]
    guarantee = binding.guarantee(test_source=test)
    keyed = any(line.startswith("which rows equal those of another release") for line in facts["disclosed"])
    right = _promise(guarantee, binding.provenance(test_source=test))
    right["disclosed"] = list(vector_disclosures(binding.randomizer, kept=facts["kept"], own_source=keyed))
    right["dimensions"] = binding.randomizer.dimensions
    return right | {"warnings": list(guarantee.warnings()), "kind": "vectors", "schema": facts["schema"]}


_TIME = "%Y-%m-%dT%H:%M:%SZ"
_BUDGET = get_type_hints(UserBudget) | {"sentence": str, "users_over": int, "documents_left_out": int}
_DENOISED: dict[str, Any] = {
    **{"style": Style, "least": float, "marked": bool, "prior": str, "calibrated_on": str},
    **{"words": int, "refused_texts": int, "confidence": float, "attack": float},
    "on_public_text": {"words": int, "named": float, "content": float, "random": float},
}
_HELD = ("guarantee", "provenance", "options")
"""Computed again, to the letter."""
_SETTINGS = {
    name: hint
    for name, hint in get_type_hints(DocumentSettings).items()
    if name not in ("block_characters", "line_buffered")
}
_OBJECTS: dict[str, Any] = {"settings": _SETTINGS, "budget": _BUDGET, "denoised": _DENOISED}
_MAY_BE_NONE = ("budget", "denoised")


def misfits(facts: Mapping[str, Any], report: type) -> list[str]:
    """Return the places of facts that no report of this class holds, or holds as another kind of value."""
    hints = get_type_hints(report) | _OBJECTS
    places = [each.name for each in fields(report) if each.default is MISSING and each.name not in facts]
    for name in (each for each in hints if each in facts and each not in _HELD):
        unlike = [] if name in _MAY_BE_NONE and facts[name] is None else [*_unlike(facts[name], hints[name], name)]
        places += unlike[:1] if name in _MAY_BE_NONE else unlike
    try:
        datetime.strptime(facts["finished"], _TIME)  # the form alone is asked
    except ValueError:
        places.append("finished")
    return places


def _unlike(value: Any, hint: Any, place: str) -> Iterator[str]:
    """Yield the places in which a JSON value is none of a type."""
    arms = get_args(hint)
    if isinstance(hint, UnionType):
        if all(any(_unlike(value, arm, place)) for arm in arms):
            yield next(_unlike(value, arms[0], place))
    elif get_origin(hint) is Literal:
        yield from () if value in arms else (place,)
    elif get_origin(hint) is tuple and isinstance(value, list):
        for number, item in enumerate(value):
            yield from _unlike(item, arms[0], f"{place}[{number}]")
    elif (isinstance(hint, dict) or is_dataclass(hint)) and isinstance(value, Mapping):
        names = hint if isinstance(hint, dict) else get_type_hints(hint)
        yield from (f"{place}.{name}" for name in sorted(names.keys() ^ value.keys()))
        for name in names.keys() & value.keys():
            yield from _unlike(value[name], names[name], f"{place}.{name}")
    elif get_origin(hint) is dict and isinstance(value, Mapping):
        for name, item in value.items():
            yield from _unlike(item, get_args(hint)[1], f"{place}.{name}")
    elif hint is float:
        yield from () if type(value) in (int, float) else (place,)
    elif (type(value) is not hint and not (value is None and hint is type(None))) or (hint is int and value < 0):
        yield place  # no number of a report is negative
