"""Texts to readable releases: what is on a public list stays, everything else becomes what its kind says.

text --tokenize--> tokens --rule--> kept ones, and slots of kinds --law--> released text

What a verdict may read is said in `rule`; what stands in the place of hidden tokens, in `laws`.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple, get_args

from wordveil import __version__
from wordveil.arrays import PrivateText, ReleasedText
from wordveil.errors import ParameterError, TooLittleKeptError
from wordveil.kernels.compiled.library import engine_name
from wordveil.kernels.compiled.withholding import CompiledWithholding
from wordveil.parameters import check_choice
from wordveil.promises.guarantees import Guarantee, NoGuarantee, Standing, Withholding
from wordveil.promises.release import Provenance, Reported
from wordveil.promises.rows import ReleasedRows, Rows, into_rows
from wordveil.randomness import RandomSource
from wordveil.withholding.claim import Claim, disclosures
from wordveil.withholding.compiled import compiled_pass
from wordveil.withholding.dates import MOST_DAYS, date_at, drawn_shift
from wordveil.withholding.kinds import Kind
from wordveil.withholding.laws import LAWS, LawName, Slot
from wordveil.withholding.linking import DOCUMENT, NONE, DocumentLinks, Links, PersonLinks, owner_name
from wordveil.withholding.rule import Rule
from wordveil.withholding.tokens import Tokens, layout, tokenize
from wordveil.withholding.words import PublicWords

SHARE = 0.4
"""Of tokens that must be kept: less is no English, or no text."""
_KEYED = "the key of the run was read by nobody, and its keyed hash cannot be told from a random function"
LEAST = 20  # tokens; fewer are not judged
_JOINED = frozenset((" ", "-"))  # between tokens of one kind that become one placeholder
_FIGURE = _JOINED | frozenset(".,:/–'’")  # the same of numbers: 1,200.50 and 12:30


class Span(NamedTuple):
    """A token of a text, for its owner."""

    start: int  # its first character
    end: int  # the character after its last
    kind: Kind  # its kind
    kept: bool  # whether it leaves


@dataclass(frozen=True, kw_only=True)
class Redaction(Reported):
    """One released text with its promise.

    Attributes:
        text: What leaves.
        guarantee: What it promises.
        disclosed: What it shows, one sentence each.
        claim: What may and must be said of it.
    """

    text: ReleasedText
    guarantee: Guarantee
    disclosed: tuple[str, ...]
    claim: Claim


@dataclass(frozen=True, kw_only=True)
class Redactor:
    """Withholds every token that is not on a public list, or that stands where a name may stand.

    Attributes:
        words: The public words.
        rule: Which of them leave from where.
        law: What stands for the others: "placeholder", their kind in brackets, in which runs of one kind are one; or
            "surrogate", a public value of their kind, drawn without regard to them, which may be taken for a fact.
        link: "none"; or "document", where placeholders are numbered and equal hidden tokens of a document share a
            number; or the name of a column of persons, where those of a person do, in numbers under the source's key.
            That discloses which are equal, and helps guessing.
        days: Dates written in full are moved by one number of days, up to so many: all of a document, or of a person
            where a column links. None hides them.
        source: Randomness of surrogates and of the numbers of persons; a fresh secure source unless given.

    Raises:
        ParameterError: If a choice does not exist, that of WORDVEIL_ENGINE among them.

    Example:
        >>> Redactor().redact("Please call Maria Garcia at 555-0147, she was seen by Dr. Long.")
        'Please call [name] at [number], she was seen by [name]. [name].'
    """

    words: PublicWords = field(default_factory=PublicWords)
    rule: Rule = field(default_factory=Rule)
    law: LawName = "placeholder"
    link: str = NONE
    days: int | None = None
    source: RandomSource = field(default_factory=RandomSource, repr=False, compare=False)

    def __post_init__(self) -> None:
        engine_name()  # refuses what is none
        check_choice("law", self.law, get_args(LawName))
        if self.days is not None and not 1 <= self.days <= MOST_DAYS:
            raise ParameterError("days", self.days, f"must be a number of days from 1 to {MOST_DAYS}.")
        if self.days is not None and (self.rule.calendar or self.rule.numbers is not None):
            raise ParameterError("days", self.days, "moves dates, so months and numbers must not be kept beside them.")
        if not self.link:
            raise ParameterError("link", self.link, "must be none, document or the name of a column.")

    def redact(self, text: str) -> ReleasedText:
        """Return the released text.

        Args:
            text: The private text.

        Raises:
            TooLittleKeptError: If a text of at least 20 tokens has less than .4 of them on the list.
        """
        return self.redaction(text).text

    def redaction(self, text: str) -> Redaction:
        """Return the released text with what it promises and shows; see `redact`."""
        counts = Counter[str]()
        released = self.release(PrivateText(text), counts)
        check_share(counts)
        claim = Claim.of(counts, self.words, self.rule, law=self.law, days=self.days)
        return Redaction(text=released, guarantee=self.guarantee, disclosed=self.disclosed, claim=claim)

    def release(
        self,
        text: PrivateText,
        counts: Counter[str],
        document: str | None = None,
        links: Links | None = None,
        shift: int | None = None,
    ) -> ReleasedText:
        """Return the released text, judged by nobody.

        Args:
            text: The private text.
            counts: Adds the tokens kept ("kept"), hidden ("hidden") and hidden by printed kind.
            document: Id of the document under which a resumed run draws the same surrogates; None draws anew.
            links: What numbers hidden tokens, shared by texts in which equal ones are linked; None for this text alone.
            shift: By how many days dates are moved, shared by texts of one owner; None draws for this text alone.
        """
        self._check_repeats(document)
        if (ready := self._compiled()) is not None:
            (released,), found = ready.release([text])
            _count(counts, found)
            return ReleasedText(released)
        tokens = tokenize(text, self.words)
        kept, secret = self.rule.verdicts(tokens)
        moved = self.shift() if shift is None else shift
        pieces, slots = self._pieces(tokens, kept, secret, links or self.links(), moved)
        counts["kept"] += sum(kept)
        counts["hidden"] += len(kept) - sum(kept)
        counts.update(s.kind.printed for s, stays in zip(tokens.spellings, kept, strict=True) if not stays)
        public = "".join("\0" if piece is None else piece for piece in pieces)  # nothing else of it places surrogates
        stream = self.source.fresh_stream() if document is None else self.source.stream(document, public)
        written = iter(LAWS[self.law](slots, stream))
        return ReleasedText("".join(next(written) if piece is None else piece for piece in pieces))

    def release_all(self, texts: Sequence[PrivateText], counts: Counter[str]) -> list[ReleasedText] | None:
        """Return released texts at once where each is released alike whatever its place; None elsewhere."""
        ready = self._compiled()
        if ready is None:
            return None
        released, found = ready.release(texts)
        _count(counts, found)
        return [ReleasedText(text) for text in released]

    def release_rows(
        self, rows: Rows, ids: Sequence[str] | None = None, part: str = "", *, judged: bool = True
    ) -> ReleasedRows:
        """Return the released texts of rows, None where there was none; a row is a document.

        Args:
            rows: The private texts.
            ids: One per row, unique under the source's key: what is drawn for a row of the same id is the same where
                all else is; None draws afresh.
            part: What of its document a row holds, such as columns: others are drawn for on their own.
            judged: Whether to refuse rows of which too little would be kept.

        Raises:
            TooLittleKeptError: If they are judged, and of at least 20 tokens less than .4 are kept.
            ParameterError: If a column is to link, which only files have.
            WordveilError: If there are ids and something is drawn, and a fork gave this process a key of its own.
        """
        if self.link not in (NONE, DOCUMENT):
            raise ParameterError("link", self.link, "names a column, as only files can; use none or document.")
        counts = Counter[str]()
        released = self.release_all([text for row in rows for text in row if text is not None], counts)
        if released is None:
            released = []
            for place, row in enumerate(rows):
                released += self.release_row(row, counts, None if ids is None else f"{part}\0{ids[place]}\0")
        if judged:
            check_share(counts)
        return into_rows(rows, released)

    def release_row(
        self, row: Sequence[PrivateText | None], counts: Counter[str], document: str | None, person: str | None = None
    ) -> Iterator[ReleasedText]:
        """Yield the released texts of a document, given its id; see `release` and `links`."""
        # With its texts: two versions under one id that shared a shift or numbers would show what both have.
        name = None if document is None else json.dumps([document, *row])
        links, shift = self.links(person, name), self.shift(person, name)
        for i, text in enumerate(row):
            if text is not None:
                yield self.release(text, counts, None if document is None else f"{document}{i}", links, shift)

    def __copy__(self) -> Redactor:  # as that of a sanitizer, it draws on its own
        return replace(self, source=RandomSource())

    def __reduce__(self) -> tuple[Any, ...]:  # without the key, as that of a sanitizer
        chosen = {name: getattr(self, name) for name in ("words", "rule", "law", "link", "days")}
        return partial(Redactor, **chosen), ()

    @property
    def provenance(self) -> Provenance:
        """Where releases come from: version and lists."""
        return Provenance(
            version=__version__,
            mechanism=repr(self),
            vocabulary=", ".join([f"public words, common:{self.words.common}", *self._own_scope()]),
            checksum=self.words.digest,
            candidates_checksum="",
            test_source=self._draws and self.source.is_test_source,
        )

    def _compiled(self) -> CompiledWithholding | None:
        """Return the compiled pass, which writes placeholders that nothing links."""
        return None if self.draws else compiled_pass(self.words, self.rule)

    @property
    def draws(self) -> bool:
        """Whether anything is drawn at random: made-up values, numbers that link, days by which dates move."""
        return (self.law, self.link, self.days) != ("placeholder", NONE, None)

    def spans(self, text: str) -> list[Span]:
        """Return the tokens of a text and what becomes of each: for its owner, as it says where the hidden ones are."""
        tokens = tokenize(text, self.words)
        spans, end = [], 0
        for i, kept in enumerate(self.rule.kept(tokens)):
            start = end + len(tokens.gaps[i])
            end = start + len(tokens.texts[i])
            spans.append(Span(start, end, tokens.spellings[i].kind, kept))
        return spans

    def links(self, person: str | None = None, document: str | None = None) -> Links | None:
        """Return what numbers the hidden tokens of a document; None where nothing is linked.

        Args:
            person: Whose document it is, where persons are linked; None for nobody's.
            document: Name, of id and texts, under which a retry finds the same numbers; None for others every time.
        """
        if self.link == NONE:
            return None
        if self.link == DOCUMENT and self.law == "placeholder":
            return DocumentLinks()
        self._check_repeats(person, document)
        return PersonLinks(self.source, person, document)

    def shift(self, person: str | None = None, document: str | None = None) -> int:
        """Return by how many days the dates of a document are moved; the arguments are those of `links`."""
        if self.days is None:
            return 0
        self._check_repeats(person, document)
        return drawn_shift(self.source, owner_name(person, document), self.days)

    @property
    def _draws(self) -> bool:
        """Whether what is released depends on the key."""
        return self.law != "placeholder" or self.link not in (NONE, DOCUMENT) or self.days is not None

    def _check_repeats(self, *names: str | None) -> None:
        """Refuse to draw under the name of a document or person where a retry would draw something else."""
        if self._draws and any(name is not None for name in names):
            self.source.check_repeats()

    def _pieces(
        self, tokens: Tokens, kept: list[bool], secret: set[int], links: Links | None, shift: int
    ) -> tuple[list[str | None], list[Slot]]:
        """Return what is written, None for a slot, and the slots."""
        pieces: list[str | None] = []
        slots = list[Slot]()
        open_slot = False  # whether the last piece is one
        dated = 0  # tokens before this one are written
        for i, stays in enumerate(kept):
            if i < dated:
                continue
            gap, kind = tokens.gaps[i], tokens.spellings[i].kind
            stays_hidden = self.days is None or any(kept[i : i + 3]) or not secret.isdisjoint(range(i, i + 3))
            date = None if stays_hidden else date_at(tokens, i, shift)
            if date is not None:
                pieces += [layout(gap), date]
                dated, open_slot = i + 3, False
                continue
            if open_slot and not stays and links is None and _runs_on(slots[-1].kind, gap, kind):
                continue
            pieces.append(layout(gap))
            pieces.append(tokens.texts[i].replace("’", "'") if stays else None)
            if not stays:
                slots.append(Slot(kind, 0 if links is None else links.number(tokens.texts[i], kind)))
            open_slot = not stays
        pieces.append(layout(tokens.gaps[-1]))
        return pieces, slots

    @property
    def guarantee(self) -> Guarantee:
        """What every release promises."""
        if self._draws and self.source.is_test_source:
            reason = "what was drawn comes from a seeded test source, so that anyone can tell it; use RandomSource()"
            return NoGuarantee(reason=reason, standing=Standing.REFUTED)
        agreeing = ["kept tokens", "where they stand", "the kinds of all others", "layout"]
        whose = "a document" if self.link == DOCUMENT else "a person"
        agreeing += ["dates written in full"] if self.days is not None else []
        agreeing += [f"which hidden tokens of {whose} are equal"] if self.link != NONE else []
        keyed = () if self.link in (NONE, DOCUMENT) and self.days is None else (_KEYED,)
        return Withholding(
            agreeing=f"{', '.join(agreeing[:-1])} and {agreeing[-1]}",
            assumptions=("the lists are public, and were not chosen by looking at these texts", *keyed),
            scope=(f"public words {self.words.digest}", *self._own_scope(), f"rule {self.rule!r}"),
        )

    def _own_scope(self) -> tuple[str, ...]:
        own = self.words.added, self.words.hidden
        return (f"{len(own[0]):,} words of the owner's kept and {len(own[1]):,} hidden",) if any(own) else ()

    @property
    def disclosed(self) -> tuple[str, ...]:
        """What every release shows, one sentence each."""
        return disclosures(self.words, self.rule, law=self.law, link=self.link, days=self.days)

    def own_words(self) -> str:
        """Return a digest of the owner's words under the key of the source: without it no guess can be confirmed."""
        own = json.dumps([sorted(self.words.added), sorted(self.words.hidden)])
        return hashlib.blake2b(own.encode(), key=self.source.export_key(), person=b"own words").hexdigest()

    def choices(self) -> dict[str, Any]:
        """Return all choices as plain values that JSON can hold, of the owner's words how many: see `own_words`."""
        own = {name: getattr(self, name) for name in ("law", "link", "days")}
        numbers = None if self.rule.numbers is None else list(self.rule.numbers)
        rule = asdict(self.rule) | {"numbers": numbers}
        return {**own, **rule, "version": __version__, "words": self.words.choices()}


def _count(counts: Counter[str], found: Mapping[str, int]) -> None:
    """Add what the compiled pass counted."""
    counts.update({name: number for name, number in found.items() if number})
    counts["hidden"] += sum(number for name, number in found.items() if name != "kept")


def _runs_on(before: Kind, gap: str, kind: Kind) -> bool:
    """Whether a hidden token goes on in the slot of the one before it."""
    return before.printed == kind.printed and gap in (_FIGURE if kind is Kind.NUMBER else _JOINED)


def check_share(counts: Counter[str]) -> None:
    """Refuse texts of which too little would be kept.

    Raises:
        TooLittleKeptError: If there are at least 20 tokens and less than .4 of them are kept.
    """
    tokens = counts["kept"] + counts["hidden"]
    if tokens >= LEAST and counts["kept"] < SHARE * tokens:
        raise TooLittleKeptError(
            "too few of the words are on the public list for a readable release: is the text in another language, or "
            "no text? Words of your field can be added with public words."
        )
