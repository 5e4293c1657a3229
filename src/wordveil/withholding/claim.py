"""What may be said of a redacted text, and what must be said with it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from wordveil.errors import counted
from wordveil.withholding.linking import DOCUMENT, NONE
from wordveil.withholding.rule import Rule
from wordveil.withholding.words import PublicWords

MAY_SAY = (
    "Every word that leaves is on a public list that you can print, or is public by your own declaration. Of every "
    "other token nothing leaves but where it stood and of which kind it is."
)
MUST_SAY = (
    "Who wrote it, what it is about and what happened stay. A reader who knows the story recognizes it. A name spelled "
    "like a common word may pass. File names, other columns and row order are untouched."
)
MAY_SAY_MOVED = MAY_SAY.replace(
    "Of every other token nothing",
    "Dates written in full leave moved, all of a document or person by one number of days; many documents of one "
    "person that are not linked show how far. Of every other token nothing",
)
COUNTED = "how many tokens of each kind are hidden in all texts together: several may stand behind one placeholder"
"""What a report shows besides the texts, and what they show."""
_PRINTED = ("name", "number", "link", "word")


@dataclass(frozen=True, kw_only=True)
class Claim:
    """Four lines on a release."""

    kept: str  # what is kept
    hidden: str  # what is hidden, by kind
    may_say: str = MAY_SAY  # what may be said of it
    must_say: str = MUST_SAY  # what must be said with that

    @classmethod
    def of(cls, counts: Mapping[str, int], words: PublicWords, rule: Rule, *, law: str, days: int | None) -> Claim:
        """Word the claim of a release, given how many tokens are "kept" and "hidden", and hidden of each printed kind.

        The other arguments are choices of a `Redactor`.
        """
        tokens = counts.get("kept", 0) + counts.get("hidden", 0)
        share = f" ({counts.get('kept', 0) / tokens:.0%})" if tokens else ""
        kinds = ", ".join(counted(counts[kind], kind) for kind in _PRINTED if counts.get(kind))
        made_up = " Values in the place of hidden tokens are made up and may be taken for facts."
        kept_too = {"a title": rule.titles, "a month or day": rule.calendar, "a number": rule.numbers is not None}
        asked = " or ".join(name for name, chosen in kept_too.items() if chosen)
        listed = f"all on a list of {_size(words)}{f', or {asked} that was asked for' if asked else ''}"
        return cls(
            kept=f"{counts.get('kept', 0):,} of {tokens:,} tokens{share}, {listed}",
            hidden=f"{counts.get('hidden', 0):,} tokens{f': {kinds}' if kinds else ''}",
            may_say=MAY_SAY if days is None else MAY_SAY_MOVED,
            must_say=MUST_SAY + made_up * (law == "surrogate"),
        )

    def lines(self) -> tuple[str, str, str, str]:
        """Return the four lines."""
        return (
            f"kept: {self.kept}",
            f"hidden: {self.hidden}",
            f"may say: {self.may_say}",
            f"must also say: {self.must_say}",
        )


def _size(words: PublicWords) -> str:
    added = f" and of {len(words.added):,} that the owner declares public" if words.added else ""
    return f"{len(words.without_own):,} public words{added}"


def disclosures(words: PublicWords, rule: Rule, *, law: str, link: str, days: int | None) -> tuple[str, ...]:
    """Return what every release with these choices shows, one sentence each."""
    listed = f"the list of {_size(words)}"
    merged = "" if link != NONE else "; a run of one kind is one placeholder"
    said = [
        f"every token on {listed} that stands where no name is expected, as spelled",
        f"of every other token where it stands, and whether it is a name, a number, a link or another word{merged}",
        "punctuation, lines and blanks, of a fixed list of characters; any other character is [other]",
        "that a token was hidden: in its place it is no word of the list, or could be a name there",
    ]
    if link != NONE:
        whose = "a document" if link == DOCUMENT else f"a person, as the column {link} names persons,"
        said.append(f"which hidden tokens of {whose} are equal, without regard to capitals")
    if days is not None:
        said.append(
            "dates written in full (2026-03-14, 14 March 2026, March 14, 2026), those of a document or person moved by "
            f"one number of days, uniform from -{days} to {days}: intervals are kept, and two timelines d days apart "
            f"are told apart with an advantage of d / {2 * days + 1}"
        )
    if rule.titles:
        said.append("titles before names (Mr, Dr)")
    if rule.calendar:
        said.append("months and days of the week")
    if rule.numbers is not None:
        said.append(f"whole numbers in figures from {rule.numbers[0]} to {rule.numbers[1]} that stand alone")
    if words.sensitive:
        said.append("words of health, sex, belief, origin, crime and violence that are on the other lists")
    if words.added:
        said.append(f"{len(words.added):,} words that the owner of the texts declared public")
    if law == "surrogate":
        said.append("values that stand for hidden tokens are drawn from public lists, without regard to the tokens")
    return tuple(said)
