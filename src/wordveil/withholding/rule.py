"""The rule: which tokens of a text leave. A public function of each token, its place and its neighbours' kinds.

The letters of a token that is hidden are never read, but for its own verdict. Verdicts follow one another so that none
looks at the letters of a neighbour that a later one may hide. So any two texts that agree in kept tokens, places, kinds
and layout give the same release, in time in proportion to the text. docs/redact.md has a table of cases.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from typing import NamedTuple

from wordveil.errors import ParameterError
from wordveil.withholding.kinds import CAPITALS_LIKE, Kind
from wordveil.withholding.tokens import Tokens, with_lines
from wordveil.withholding.words import TELLS, Mark, Spelling

RUN = 8
"""Words in a row without a stop or a joint ("the") that are taken for a secret phrase."""
_FIGURES = 3  # of the largest number that may be kept
SHOUTED = 3  # words in capitals in a row
MONTHS_THAT_ARE_WORDS = frozenset(("march", "may", "august", "april", "june"))
_COUNTED = frozenset({Kind.WORD, Kind.COUNT, Kind.CAPITALS})
_FIGURED = frozenset({Kind.NUMBER, Kind.COUNT})
_SPELLED = frozenset({Kind.WORD, Kind.CAPITALIZED, Kind.CAPITALS})
_NAMES = frozenset({Mark.NAME, Mark.COMMON_NAME})
_SURE_IN_SMALL = frozenset({Mark.CAPITAL, Mark.COMMON_NAME})


class Opens(Enum):
    """Whether a capital may be there because of the place."""

    NO = 0
    FUNCTION = 1  # for function words only: after a colon
    ANY = 2


class Gap(NamedTuple):
    """What the rule reads of the layout before a token."""

    opens: Opens
    dot: bool  # nothing but a full stop, blanks and quotes
    stop: bool  # ends a sentence
    line: bool
    hyphen: bool
    slash: bool
    colon: bool
    near: bool  # at most a blank and a mark
    apart: bool  # a mark stands between, so that two capitals belong to two names


_HYPHEN = re.compile(r"[-‐‑](?:[ \t]*\n[ \t]*)?")
_DOT = re.compile(r"['’]?\.[\s\"'“”‘’(\[]*")


@lru_cache(maxsize=1 << 12)
def _gap(gap: str) -> Gap:
    gap = with_lines(gap)
    return Gap(
        opens=_opens(gap),
        dot=bool(_DOT.fullmatch(gap)),
        stop=bool(re.search(r"[.!?]", gap)),
        line="\n" in gap,
        hyphen=bool(_HYPHEN.fullmatch(gap)),
        slash=gap == "/",
        colon=":" in gap or "=" in gap,
        near=len(gap) <= 2 and "\n" not in gap,
        apart=bool(re.search(r"[,;.!?\n]", gap)),
    )


def _opens(gap: str) -> Opens:
    if "\n" in gap:
        return Opens.ANY
    before = gap.rstrip(" \t\"'“”‘’([*•>-–—")
    if not before or before == gap:  # without a blank after it a stop opens nothing: Dr.Grant
        return Opens.NO
    if before[-1] in ".!?":
        return Opens.ANY
    return Opens.FUNCTION if before[-1] == ":" else Opens.NO


class Surroundings(NamedTuple):
    """What stands around a token: layout and kinds, and no letters."""

    opens: Opens  # whether a capital may be there because of the place
    cased: bool  # whether the text shows capitals as English does
    shouted: bool  # whether the token is in a stretch of capitals
    before_capital: bool  # whether the next token of the same name could be: a capital and no mark between
    # whether the token before or after is a number or a word that counts, whatever marks are between
    beside_number: bool
    near_number: bool  # whether at most a blank and a mark are between
    hyphened: bool  # whether a hyphen or a slash joins it to another token
    before_word: bool  # whether a blank and a word in small letters follow


@dataclass(frozen=True, kw_only=True)
class Rule:
    """The rule with its choices.

    Attributes:
        strict: Sentences open with function words only, none after a hidden capital and a full stop (*Mr. An*), and
            words that are names too are hidden, but no function words (*will*) and none that announce (*pin*).
        titles: Keep *Mr*, *Dr* and the like, written with a capital.
        calendar: Keep months and weekdays, written with a capital.
        numbers: Keep whole numbers in figures from the first to the second of these; None keeps none.
    """

    strict: bool = False
    titles: bool = False
    calendar: bool = False
    numbers: tuple[int, int] | None = None

    def __post_init__(self) -> None:
        if self.numbers is not None and not 0 <= self.numbers[0] <= self.numbers[1] <= 100:
            raise ParameterError("numbers", self.numbers, "must be a range within 0 to 100, such as 0-10.")

    def may_keep(self, token: str, spelling: Spelling, place: Surroundings) -> bool:
        """Return whether a token may leave from a place, as far as neither asks what neighbours say."""
        kind = spelling.kind
        if kind is Kind.NUMBER:
            return self._figures(token, place)
        if spelling.announces or spelling.pronoun:
            return not place.hyphened
        if spelling.title or (spelling.calendar and not (spelling.listed and token.islower())):
            return self._disclosed(token, spelling, place)
        if not spelling.listed or (kind is Kind.COUNT and (place.beside_number or place.hyphened)):
            return False
        if token.islower():
            return self._small(spelling, place)
        return self._capital(token, spelling, place)

    def _figures(self, token: str, place: Surroundings) -> bool:
        if self.numbers is None or place.beside_number or place.hyphened:
            return False
        if not (token.isascii() and token.isdigit()) or len(token) > _FIGURES:
            return False
        return str(int(token)) == token and self.numbers[0] <= int(token) <= self.numbers[1]

    def _disclosed(self, token: str, spelling: Spelling, place: Surroundings) -> bool:
        if spelling.kind is not Kind.CAPITALIZED:
            return False
        if spelling.title:
            return self.titles
        return self.calendar and (token.lower() not in MONTHS_THAT_ARE_WORDS or place.near_number)

    def _small(self, spelling: Spelling, place: Surroundings) -> bool:
        mark = spelling.mark
        if mark is Mark.SURE or spelling.function:
            return True
        return place.cased and mark in _SURE_IN_SMALL and not self.strict

    def _capital(self, token: str, spelling: Spelling, place: Surroundings) -> bool:
        """Rules 4 and 5: openers and shouting."""
        sure = spelling.mark is Mark.SURE
        function = spelling.function and spelling.mark not in _NAMES
        if len(token) == 1:
            return token == "A" and place.before_word and place.opens is not Opens.NO
        if token.isupper():
            return place.shouted and (sure or function)
        if place.opens is Opens.NO or not token[1:].islower():
            return False
        if function:
            return True
        return sure and place.opens is Opens.ANY and not place.before_capital and not self.strict

    def places(self, tokens: Tokens) -> list[Surroundings]:
        """Return the place of every token."""
        kinds = [spelling.kind for spelling in tokens.spellings]
        gaps = [_gap(gap) for gap in tokens.gaps]
        if gaps:
            gaps[0] = gaps[0]._replace(opens=Opens.ANY, hyphen=False, slash=False)
            gaps[-1] = gaps[-1]._replace(hyphen=False, slash=False)
        shouted, cased = _shouted(kinds), _is_cased(kinds, gaps)
        last = len(kinds) - 1
        places = []
        for i in range(len(kinds)):
            before, after = gaps[i], gaps[i + 1]
            follows = kinds[i + 1] if i < last else Kind.LINK
            numbers = (i > 0 and kinds[i - 1] in _FIGURED, follows in _FIGURED)
            near = (numbers[0] and before.near) or (numbers[1] and after.near)
            capital = not after.apart and follows in CAPITALS_LIKE and not _is_pronoun(tokens, i + 1)
            joined = before.hyphen or before.slash or after.hyphen or after.slash
            opens = before.opens
            word = follows is Kind.WORD and tokens.gaps[i + 1] == " "
            places.append(Surroundings(opens, cased, i in shouted, capital, any(numbers), near, joined, word))
        return places

    def kept(self, tokens: Tokens) -> list[bool]:
        """Return for each token whether it leaves."""
        return self.verdicts(tokens)[0]

    def verdicts(self, tokens: Tokens) -> tuple[list[bool], set[int]]:
        """Return for each token whether it leaves, and which rule 8 hides: no date moves there, either."""
        places = self.places(tokens)
        triples = zip(tokens.texts, tokens.spellings, places, strict=True)
        kept = [self.may_keep(token, spelling, place) for token, spelling, place in triples]
        around = _Around(tokens, kept, strict=self.strict)
        secret = set[int]()
        for hidden in (around.names, around.announced, around.phrases, around.compounds):
            withheld = [*hidden()]
            secret.update(withheld if hidden in (around.announced, around.phrases) else ())
            for i in withheld:
                kept[i] = False
        return kept, secret


def _is_pronoun(tokens: Tokens, i: int) -> bool:
    """Whether a token is *I*, standing alone: it is always kept then."""
    if not tokens.spellings[i].pronoun:
        return False
    return not any(_gap(gap).hyphen or _gap(gap).slash for gap in tokens.gaps[i : i + 2])


def _shouted(kinds: Sequence[Kind]) -> frozenset[int]:
    """Return the places in stretches of three or more words in capitals; numbers and initials may stand between."""
    found, start, words = set[int](), 0, 0
    for i, kind in enumerate((*kinds, Kind.WORD)):
        if kind in (Kind.CAPITALS, Kind.NUMBER, Kind.INITIAL, Kind.COUNT):
            words += kind is Kind.CAPITALS
            continue
        if words >= SHOUTED:
            found.update(range(start, i))
        start, words = i + 1, 0
    return frozenset(found)


def _is_cased(kinds: Sequence[Kind], gaps: Sequence[Gap]) -> bool:
    """Whether a text has capitals, and its sentences open with them; letters that stand alone do not count."""
    spelled = [i for i, kind in enumerate(kinds) if kind in _SPELLED]
    openers = [i for i in spelled if gaps[i].opens is Opens.ANY]
    capital = sum(kinds[i] in CAPITALS_LIKE for i in openers)
    if all(kinds[i] is Kind.WORD for i in spelled):
        return False
    if openers and 2 * capital < len(openers):
        first_is_small = openers[0] == spelled[0] and kinds[openers[0]] is Kind.WORD
        return not (first_is_small or len(openers) >= SHOUTED)
    return True


class _Around:
    """The verdicts that look at neighbours, in the order in which they are to be asked; each is what it hides.

    Which tokens the first two hide follows from kinds, and from letters that no verdict hides: words that announce a
    secret and stand alone, and a small *is* after them. The third reads joints besides that the first two left and that
    stand in no compound. The last asks which tokens are hidden, and no letters.
    """

    def __init__(self, tokens: Tokens, kept: Sequence[bool], *, strict: bool) -> None:
        self.tokens, self.spellings, self.kept, self.strict = tokens, tokens.spellings, kept, strict
        self.kinds = [spelling.kind for spelling in self.spellings]
        self.gaps = [_gap(gap) for gap in tokens.gaps]
        self.groups = list(self._groups())

    def _groups(self) -> Iterator[range]:
        """Yield the tokens that hyphens or slashes join."""
        start = 0
        for i in range(1, len(self.kinds) + 1):
            if i < len(self.kinds) and (self.gaps[i].hyphen or self.gaps[i].slash):
                continue
            if i - start > 1:
                yield range(start, i)
            start = i

    def _stops(self, i: int) -> bool:
        """Whether a sentence ends before a token: not after what numbers a list (*1. window 2. garden*)."""
        return self.gaps[i].stop and (i == 0 or self.kinds[i - 1] in _SPELLED)

    def names(self) -> Iterator[int]:
        """Rule 4: after a capital and a dot only a function word opens, and where the rule is strict none."""
        for i in range(1, len(self.kinds)):
            spelling = self.spellings[i]
            always = (
                (spelling.function and not self.strict)
                or spelling.pronoun
                or spelling.announces
                or self.tokens.texts[i].islower()
            )
            if self.gaps[i].dot and self.kinds[i - 1] in CAPITALS_LIKE and not always:
                yield i

    def announced(self) -> Iterator[int]:
        """Rule 8: what follows *password is*, to the end of the sentence or line."""
        done = 0  # a stretch ends where those end that begin within it
        for i, spelling in enumerate(self.spellings):
            if i + 1 >= done and spelling.announces and self.kept[i] and self._tells(i):
                for done in self._stretch(i + 1):
                    if not (self.spellings[done].announces or self.spellings[done].pronoun or self._is_told(done)):
                        yield done
                done += 1

    def _tells(self, i: int) -> bool:
        """Whether a word that announces a secret is *password's*, or is followed by a colon, a small *is* or a capital.

        What stands in capitals may be *IS*; a small *is* there is hidden by nothing but a compound.
        """
        following = i + 1
        if following >= len(self.kinds) or self.gaps[following].stop:
            return False
        joined = self.gaps[following + 1].hyphen or self.gaps[following + 1].slash
        if self.gaps[following].colon or joined or self.spellings[i].tells:
            return True
        return self.kinds[following] in CAPITALS_LIKE or self._is_told(following)

    def _stretch(self, start: int) -> Iterator[int]:
        """Yield the places of what a word before `start` announces, over lines after a hyphen or *is* and in a list."""
        for i in range(start, len(self.kinds)):
            gap = self.gaps[i]
            goes_on = gap.hyphen or self.kinds[i] is Kind.NUMBER or self._is_told(i - 1)
            if i > start and (self._stops(i) or (gap.line and not goes_on)):
                return
            yield i

    def _is_told(self, i: int) -> bool:
        """Whether a token is the kept *is* after a kept word that announces."""
        after = i > 0 and self.kept[i - 1] and self.spellings[i - 1].announces
        return after and self.kept[i] and self.tokens.texts[i] in TELLS

    def phrases(self) -> Iterator[int]:
        """Rule 8: a run of eight words without a stop or a word that no secret phrase holds.

        In a compound such a word ends no run: it may yet be hidden.
        """
        compound = {i for group in self.groups for i in group}
        run, counted = list[int](), 0
        for i, spelling in enumerate(self.spellings):
            gap, kind = self.gaps[i], self.kinds[i]
            joint = spelling.joint and self.kept[i] and i not in compound
            if self._stops(i) or joint:
                yield from run if counted >= RUN else ()
                run, counted = [], 0
            if joint:
                continue
            listed = gap.line or i == 0 or (gap.stop and not self._stops(i))
            counted += kind in _COUNTED or (kind is Kind.CAPITALIZED and listed)
            if not (spelling.announces or spelling.pronoun):
                run.append(i)
        yield from run if counted >= RUN else ()

    def compounds(self) -> Iterator[int]:
        """Rule 6: all parts or none, but that numbers hide alone; of what a slash joins only small words are kept."""
        for group in self.groups:
            kinds = [self.kinds[i] for i in group]
            slashed = any(self.gaps[i].slash for i in group[1:]) and any(kind is not Kind.WORD for kind in kinds)
            if slashed or not all(self.kept[i] or self.kinds[i] in _FIGURED for i in group):
                yield from group
