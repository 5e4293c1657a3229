r"""Surrogates: what stands in a release for tokens that have a kind, drawn from public lists of harmless values.

A surrogate is one of the 2**b members of its kind's public generator. Every member is one token of its own kind, and no
person's: published test cards, account numbers of a bank code that no bank has, reserved domains and documentation
addresses, telephone numbers set aside for fiction. Numbers, years, sums and dates may keep their magnitude instead, by
`NumberGrid`.

Token ids carry all of it: -2 - k in a private text for a token of kind k, or of grid point k - 14; in a release, ids
above the vocabulary's for surrogates and grid points. Nothing here reads a text or draws: `mechanisms.wrappers` does.

Reference: RFC 2606 (domains), RFC 5737 and RFC 3849 (addresses), 555-0100 to 555-0199 of the North American Numbering
Plan, Ofcom's telephone numbers for drama, ISO 13616 (IBAN check digits), ISO/IEC 7812 (Luhn).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, timedelta
from functools import lru_cache
from typing import NamedTuple

from wordveil.promises.number_grids import NumberGrid
from wordveil.text.amounts import amount
from wordveil.text.kinds import KINDS, kind
from wordveil.text.readings import UNKNOWN


class Generator(NamedTuple):
    """The 2**bits public values of one kind."""

    bits: int  # b, in [1, 24]
    text: Callable[[int], str]  # value number i, for i in [0, 2**b)


class KindIds(NamedTuple):
    """The ids of one kind of tokens, or of the points of a grid for one."""

    kind: str
    codes: range  # private: one, or one a point
    ids: range  # released
    text: Callable[[int], str]  # of value number i
    grid: NumberGrid | None  # None where values are drawn uniformly


_WORDS = (
    "amber anchor apple arbor arrow aspen atlas bamboo basil beacon birch bramble brook canyon cedar chestnut cliff "
    "clover cobalt comet coral cotton cypress delta dune ember falcon fern finch flint forest garnet glade granite "
    "harbor hazel heron hickory island ivory jasmine juniper kestrel lagoon lantern larch laurel lemon lilac linden "
    "lotus maple meadow mesa mint orchard osprey pebble pine prairie quartz river sparrow willow"
)
_DOMAINS = ("example.com", "example.net", "example.org", "www.example.com")
_NETWORKS = ("192.0.2.{}", "198.51.100.{}", "203.0.113.{}", "2001:db8::{:x}")
_TELEPHONES = (
    *(f"{area}-555-01{{:02}}" for area in (202, 212, 303, 312, 404, 415, 617, 713)),
    *(f"0{area} 496 00{{:02}}" for area in (113, 117, 121, 131, 161)),
    *("020 7946 00{:02}", "01632 9600{:02}", "07700 9000{:02}"),
)
# Numbers that payment companies publish for tests.
_CARDS = (
    "4111111111111111 4012888888881881 4242424242424242 4222222222222 5555555555554444 5105105105105100 "
    "2223003122003222 378282246310005 371449635398431 378734493671000 30569309025904 38520000023237 6011111111111117 "
    "6011000990139424 3530111333300000 3566002020360505"
)
_FIRST_DAY = date(1980, 1, 1)


def _iban(i: int) -> str:
    account = f"XXXX000000{i:08}"
    digits = "".join(str(int(c, 36)) for c in f"{account}GB00")
    return f"GB{98 - int(digits) % 97:02}{account}"


def _pair(i: int) -> tuple[str, str]:
    listed = _WORDS.split()
    return listed[i >> 6 & 63], listed[i & 63]


GENERATORS: dict[str, Generator] = {
    "URL": Generator(14, lambda i: "https://{}/{}-{}".format(_DOMAINS[i >> 12], *_pair(i))),
    "e-mail": Generator(14, lambda i: "{}.{}@{}".format(*_pair(i), _DOMAINS[i >> 12].replace("www", "mail"))),
    "handle": Generator(12, lambda i: "@example_{}_{}".format(*_pair(i))),
    "IP": Generator(10, lambda i: _NETWORKS[i >> 8].format(i & 255)),
    "IBAN": Generator(20, _iban),
    "card": Generator(4, lambda i: _CARDS.split()[i]),
    "date": Generator(14, lambda i: (_FIRST_DAY + timedelta(days=i)).isoformat()),  # up to 2024-11-08
    "time": Generator(10, lambda i: "{:02}:{:02}".format(*divmod(6 * 60 + i, 60))),  # 06:00 to 23:03
    "year": Generator(6, lambda i: str(1960 + i)),
    "money": Generator(10, lambda i: f"${1 + i}"),
    "telephone": Generator(10, lambda i: _TELEPHONES[i >> 6].format(i & 63)),
    "number": Generator(6, lambda i: str(1 + i)),
    "path": Generator(12, lambda i: "/srv/example/{}/{}.txt".format(*_pair(i))),
    "identifier": Generator(16, lambda i: f"ID-{i:05}"),
}
"""The public generator of each kind."""


@dataclass(frozen=True, kw_only=True)
class Surrogates:
    """What becomes of typed tokens beside a vocabulary of v words."""

    first: int  # the first id for surrogates: v, or any number above the ids of words
    grids: tuple[NumberGrid, ...] = ()  # grids for numbers that keep their magnitude, at most one a kind

    @property
    def spans(self) -> tuple[KindIds, ...]:
        """The kinds, then the grids, in the order of their ids."""
        return _spans(self.first, self.grids)

    def code(self, token: str) -> int | None:
        """Return the id that stands for a private token: of its kind, or of its grid point; None for a word."""
        found = kind(token)
        if found is None:
            return None
        *_, span = (span for span in self.spans if span.kind == found)  # a grid stands behind its kind
        return span.codes[span.grid.nearest(amount(token, found)) if span.grid else 0]

    def text(self, released: int) -> str:
        for span in self.spans:
            if released in span.ids:
                return span.text(released - span.ids.start)
        raise IndexError(released)


@lru_cache(maxsize=16)
def _spans(first: int, grids: tuple[NumberGrid, ...]) -> tuple[KindIds, ...]:
    codes, ids, spans = UNKNOWN - 1, first, list[KindIds]()
    values = [(name, 1, 1 << GENERATORS[name].bits, GENERATORS[name].text, None) for name in KINDS]
    points = [(grid.kind, grid.points, grid.points, grid.text, grid) for grid in grids]
    for name, inputs, outputs, text, grid in [*values, *points]:
        spans.append(KindIds(name, range(codes, codes - inputs, -1), range(ids, ids + outputs), text, grid))
        codes, ids = codes - inputs, ids + outputs
    return tuple(spans)
