"""Texts that agree in kept tokens, places, kinds and layout: every hidden token swapped for another of its kind."""

from functools import cache

import numpy as np

import seeds
from wordveil.denoising.prior import public_sentences
from wordveil.withholding.kinds import Kind
from wordveil.withholding.linking import DocumentLinks
from wordveil.withholding.redactor import Redactor
from wordveil.withholding.tokens import tokenize
from worlds import told

GERMAN = "Hallo, ich bin der Johannes und ich wohne in Berlin, wo ich seit vielen Jahren gerne arbeite und gut lebe."
LETTERS = "bcdfghjklmnpqrstvwxz"
TOLD = told(__file__)
OTHERS, LISTED = ({Kind[kind]: tokens for kind, tokens in TOLD[part].items()} for part in ("others", "listed"))
KNOWN, GAPS = TOLD["made_up"]["tokens"].split(), TOLD["made_up"]["gaps"]


@cache
def wire_texts() -> tuple[list[str], list[str]]:
    """Texts to send through a wire, public sentences and made-up ones, and texts that agree with them."""
    rng, redactor = seeds.rng(20), Redactor()
    made_up = [
        "".join(f"{rng.choice(KNOWN)}{rng.choice(GAPS)}" for _ in range(rng.integers(1, 25))).strip() + " the"
        for _ in range(150)
    ]
    texts = [*public_sentences(250), *made_up]
    return texts, [swapped(text, redactor, rng) for text in texts]


def another(kind: Kind, rng: np.random.Generator) -> str:
    """A random token of a kind; one in four of those that lists know, so that lists are no part of what is tested."""
    if kind in OTHERS:
        return str(rng.choice(OTHERS[kind]))
    if rng.random() < 0.25:
        return str(rng.choice(LISTED[kind]))
    word = "".join(rng.choice(list(LETTERS), size=rng.integers(2, 12)))
    return {Kind.WORD: word, Kind.CAPITALIZED: word.capitalize(), Kind.CAPITALS: word.upper()}[kind]


def swapped(text: str, redactor: Redactor, rng: np.random.Generator, *, alike: bool = False) -> str:
    """The text with every hidden token swapped for one of its kind that may not leave from its place.

    Equal tokens are swapped for equal ones where `alike` says so.

    What is one unit may be a link to one reading and two words to another (`end.Two`, `end.two`), and then the texts
    do not agree in kinds: there, only tokens that stand alone between blanks are swapped.
    """
    other = _swapped(text, redactor, rng, alone=False, alike=alike)
    if not _agree(text, other, redactor):
        other = _swapped(text, redactor, rng, alone=True, alike=alike)
        assert _agree(text, other, redactor)
    return other


def _agree(text: str, other: str, redactor: Redactor) -> bool:
    one, two = (tokenize(each, redactor.words) for each in (text, other))
    return one.gaps == two.gaps and [s.kind for s in one.spellings] == [s.kind for s in two.spellings]


def equalities(text: str, redactor: Redactor) -> list[int]:
    """Which hidden tokens are equal: the number of each, as links of a document count."""
    links = DocumentLinks()
    return [links.number(text[s.start : s.end], s.kind) for s in redactor.spans(text) if not s.kept]


def _swapped(text: str, redactor: Redactor, rng: np.random.Generator, *, alone: bool, alike: bool) -> str:
    known: dict[tuple[Kind, str], str] = {}
    tokens = tokenize(text, redactor.words)
    kept, places = redactor.rule.kept(tokens), redactor.rule.places(tokens)
    parts = [tokens.gaps[0]]
    for i, stays in enumerate(kept):
        token, kind = tokens.texts[i], tokens.spellings[i].kind
        beside = tokens.gaps[i][-1:] + tokens.gaps[i + 1][:1]
        fixed = stays or (alone and not (beside.isspace() or not beside))
        for _ in range(0 if fixed else 8):
            drawn = another(kind, rng)
            drawn = known.get((kind, token), drawn) if alike else drawn
            spelling = redactor.words.spelling(drawn)
            if not redactor.rule.may_keep(drawn, spelling, places[i]) and spelling.kind in (kind, kind_of_link(kind)):
                known[kind, token] = token = drawn
                break
        parts += [token, tokens.gaps[i + 1]]
    return "".join(parts)


def kind_of_link(kind: Kind) -> Kind:
    """What the lists alone say of a link, whose kind is its unit's."""
    return Kind.WORD if kind is Kind.LINK else kind
