"""What a report says beside the facts of a run, so that it is evidence to whoever reads it.

Sentences on public words only, all of them computed from the promise and the facts, so that they can be computed again;
and whether a file is the one a report speaks of.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from wordveil.errors import counted
from wordveil.meaning.explanations import Explanation
from wordveil.promises.guarantees import PrivacyUnit
from wordveil.promises.rounding import round_up
from wordveil.promises.worked import WorkedPair
from wordveil.runs.digests import FileDigest
from wordveil.runs.warnings import release_warnings
from wordveil.sanitizing.sanitizer import Sanitizer

ALWAYS_ASSUMED = (
    "vocabulary, mechanism, parameters and word lists are public, and were not chosen by looking at these texts",
    "this is the only release of these texts: losses of several add up, and a choice among several voids the promise",
    "the key of the run was read by nobody; wordveil removes it when the run has succeeded",
)
"""What every release assumes, besides what its guarantee says."""
UNDER_A_LASTING_KEY = (
    ALWAYS_ASSUMED[0],
    "these texts are released under this key and these ids alone: losses of releases that draw afresh add up, and a "
    "choice among several voids the promise",
    "the key was read by nobody but its owner, who keeps it",
)
"""The same where the owner's key outlives the run."""
ANYBODY = "anybody who holds the release, whatever else they know and however much they compute"


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """What a report says beside the facts of the run."""

    warnings: tuple[str, ...]  # what the reader is warned of
    # what leaves, what stays, who may attack how, and the sum over the longest text: a few sentences each
    verdict: dict[str, str] = field(default_factory=dict)
    passes: tuple[str, ...]  # what stands in the release as it stood in the original
    in_words: tuple[str, ...]  # what the promise comes to, one sentence each
    assumptions: tuple[str, ...] = ALWAYS_ASSUMED  # what every release assumes
    notes: tuple[str, ...] = ()  # choices made for the user, and words never output

    @classmethod
    def of_facts(cls, sanitizer: Sanitizer, facts: Mapping[str, Any], notes: Sequence[str] = ()) -> Evidence:
        """Word the promise of a run whose report holds these facts, as `RunReport.as_dict` gives them.

        The words are common public ones, the text is as long as the run's longest document.
        """
        words = sanitizer.in_words
        explained = sanitizer.explained(max(1, facts["longest"]), longest=True)
        passes = _passes(facts, sanitizer.guarantee.unit)
        return cls(
            warnings=release_warnings(sanitizer.guarantee, words),
            verdict={
                "leaves": _leaves(facts, sanitizer.guarantee.unit),
                "stays": _stays(facts, sanitizer.guarantee.unit),
                "attack": f"{ANYBODY.capitalize()}: {words.sentence}.",
                "longest": over_longest(explained),
            },
            passes=passes,
            assumptions=UNDER_A_LASTING_KEY if facts.get("lasting_key") else ALWAYS_ASSUMED,
            in_words=(f"In one sentence: {words.sentence}.", *explained.examples),
            notes=tuple(notes),
        )


def _leaves(facts: Mapping[str, Any], unit: PrivacyUnit) -> str:
    documents = counted(facts["documents"], "document")
    tokens = counted(facts["tokens"], "sentence" if unit is PrivacyUnit.SENTENCE else "token")
    by = "a public sentence" if unit is PrivacyUnit.SENTENCE else "a public word"
    copied = facts["copied"]
    beside = f" Beside them, unchanged: {'the column' if len(copied) == 1 else 'the columns'} {', '.join(copied)}."
    return f"{documents} with {tokens}, each replaced at random by {by} or value." + (beside if copied else "")


def _stays(facts: Mapping[str, Any], unit: PrivacyUnit) -> str:
    words = "sentences" if unit is PrivacyUnit.SENTENCE else "words"
    others = ", every column that is not named here" if facts["settings"]["columns"] else ""
    key = "the key of the noise, which is removed when the run has succeeded"
    if facts.get("lasting_key"):
        key = "the key of the noise, which its owner keeps; whoever has it can remove the noise"
    return f"The original {words}{others}, and {key}."


def over_longest(explained: Explanation) -> str:
    """Return what is lost over the longest text, which the explanation is of, in a sentence."""
    what = "sentence" if explained.guarantee.unit is PrivacyUnit.SENTENCE else "token"
    length = counted(explained.tokens, what)
    if explained.guarantee.epsilon is None or (explained.text is not None and explained.text.epsilon is None):
        return f"Nothing is promised for a text of {length}, the longest one here."
    loss = explained.text_loss
    if loss is None or explained.text is None:
        return f"No sum is known over a text of {length}, the longest one here."
    pair = WorkedPair(words=("", ""), distance=None, loss=loss, delta=explained.text.delta)
    apart = "" if explained.typical is None else " that lie a typical distance apart word by word"
    return (
        f"{round_up(loss)} nats, the sum over the {length} of the longest text here: an even guess between two such "
        f"texts{apart} {pair.sure}."
    )


def _passes(facts: Mapping[str, Any], unit: PrivacyUnit) -> tuple[str, ...]:
    """Return what passes unchanged, columns first; `disclosed` says more of each."""
    passes = [f"the column {name}" for name in facts["copied"]]
    passes += ["file names and folders"] if facts["tree"] else []
    if unit is PrivacyUnit.SENTENCE:
        return (*passes, "how many sentences each text has, and the order of the documents")
    options = facts["options"]
    passes.append("punctuation, layout, how many tokens there are and where they stand, and the order of the documents")
    choices = (
        (options["unknown"] == "typed", "which tokens are a number, date, e-mail and so on"),
        (options["unknown"] in ("drop", "mask"), "which words the vocabulary lacks"),
        (bool(options.get("grids")), "the magnitude of numbers on the public grids, with noise"),
        (options["casing"] == "shape", "capitals and small letters of every token"),
        (options["markup"] == "html", "tags and entities"),
        (options["per"] == "document", "which positions of a document hold the same word"),
        (
            bool(options["public_words"]),
            f"the {counted(len(options['public_words']), 'public word')} listed, wherever they stand "
            f"({counted(facts['exempt'], 'time')} here)",
        ),
    )
    return (*passes, *(line for chosen, line in choices if chosen))


def _bytes(file: FileDigest) -> tuple[int, str]:
    return file.size, file.sha256


def shortfall(facts: Mapping[str, Any]) -> list[str]:
    """Return what a report says is missing in its release of a directory, one sentence each."""
    counts = {
        "could not be read and are left out of the release": facts.get("bad_files", 0),
        "were not read, as they are hidden, links or of another format": facts.get("skipped_files", 0),
    }
    return [f"{count:,} of the files of the input {what}" for what, count in counts.items() if count]


def differences(said: Sequence[FileDigest], found: Sequence[FileDigest]) -> list[str]:
    """Return in what files differ from what a report says of them, one sentence each; a single one may be renamed."""
    if len(said) == len(found) == 1:
        same = _bytes(said[0]) == _bytes(found[0])
        return [] if same else [f"{found[0].name}: other bytes than the report says"]
    before, now = {file.name: _bytes(file) for file in said}, {file.name: _bytes(file) for file in found}
    told = [f"{name}: is missing" for name in sorted(before.keys() - now.keys())]
    told += [f"{name}: is not in the report" for name in sorted(now.keys() - before.keys())]
    changed = (name for name in sorted(before.keys() & now.keys()) if before[name] != now[name])
    return told + [f"{name}: other bytes than the report says" for name in changed]
