r"""The regular expression that finds tokens, assembled from named parts.

`token_pattern` matches one token; whatever it skips is gap. Two facts carry the design:

- *Complete.* Every character outside the gap list starts or continues a token, because the last alternatives
  take any such character. So nothing unlisted can pass, whatever the other alternatives do.
- *Linear.* Alternatives that may fail after reading ahead are bounded in length; unbounded repetition is
  possessive or cannot fail. A hostile text costs a constant factor, never a square.

The order is: a plain word (nearly all of English, one cheap alternative), then addresses, paths and numbers,
which swallow their punctuation, then words of any script, runs of ideographs, and runs of everything else.
The standard `re` is used: on review text it is twice as fast as the `regex` package. No vocabulary here.
"""

from __future__ import annotations

import re
from functools import cache

from wordveil.text.characters import (
    APOSTROPHES,
    GAP_CHARACTERS,
    HYPHENS,
    LAYOUT,
    PLAIN_LETTER,
    character_class,
    mark_class,
    number_class,
)

_GAP = character_class("".join(GAP_CHARACTERS))
_SPACE = character_class(LAYOUT)
_INNER_SPACE = " \xa0\u2007\u2009\u202f"
_T = f"[^{_GAP}]"
"""Any token character."""
_LABEL = f"{_T}{{1,63}}+"
_JOIN = character_class(APOSTROPHES + HYPHENS)
_IDEOGRAPH = (
    "\u2e80-\u2fdf\u3005-\u3007\u3021-\u3029\u3031-\u3035\u3038-\u303c\u3041-\u309f\u30a1-\u30fa\u30fc-\u30ff"
    "\u3100-\u312f\u31a0-\u31bf\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff66-\uff9f"
    "\U0001b000-\U0001b16f\U00020000-\U0003ffff"
)

# The last character of an address; before it, also the ASCII punctuation that addresses hold.
_ADDRESS_CHARACTER = f'[^{_SPACE}<>"“”„«»‹›…、。「」『』【】（），；：！？]'
_ADDRESS_END = r"(?<=[^" + character_class("".join(GAP_CHARACTERS - set("/=&#_~+-%@"))) + "])"
_ADDRESS_REST = f"{_ADDRESS_CHARACTER}*{_ADDRESS_END}"

_URL = rf"(?i:(?:[a-z][a-z0-9+.\-]{{1,15}}://|www\d{{0,3}}\.|mailto:)){_ADDRESS_CHARACTER}{_ADDRESS_REST}"
_LOCAL_PART = "[^" + character_class("".join(GAP_CHARACTERS - set(".!#$%&'*+/=?^_`{|}~-"))) + "]"
_EMAIL = rf"{_T}{_LOCAL_PART}{{0,63}}+@{_T}{{1,255}}+(?:[.\-_:]{_LABEL}){{0,30}}"
_HANDLE = rf"[@#]{_T}++(?:[_.@\-]{_T}++)*"

TOP_LEVEL = (
    "com|org|net|edu|gov|mil|int|info|biz|name|app|dev|xyz|site|online|shop|club|blog|onion|local|"
    "[a-z]{2}|COM|ORG|NET|EDU|GOV|MIL|INFO|BIZ"
)
EXTENSION = (
    "pdf|txt|rtf|docx?|xlsx?|pptx?|odt|ods|csv|tsv|jsonl?|xml|html?|zip|gz|tar|7z|rar|jpe?g|png|gif|bmp|tiff?|svg|"
    "mp[34]|avi|mov|wav|exe|dll|py|js|ts|java|cpp|log|md|bak|dat|db|sql|php|aspx?|jsp|cfg|ini|ya?ml|sh|bat"
)
_DOTTED_NAME = (
    rf"(?:{_LABEL}[._\-]){{0,19}}{_LABEL}\.(?:{TOP_LEVEL}|(?i:{EXTENSION}))(?!{_T}|[._\-@]{_T})"
    rf"(?::[0-9]{{1,5}}(?!{_T}))?(?:[/?#]{_ADDRESS_REST})?"
)

_SEGMENT = rf"{_LABEL}(?:[._%+~$=\-]{_LABEL}){{0,19}}"
_ROOTED_PATH = rf"(?<![^{_SPACE}(\"'“‘\[{{=:,;|>])(?:~|\.{{1,2}}|[A-Za-z]:)?(?:[\\/]{{1,2}}\.{{0,2}}{_SEGMENT})+[\\/]?"
_RELATIVE_PATH = rf"{_SEGMENT}(?:(?:/{_SEGMENT}){{2,63}}|(?:\\{{1,2}}{_SEGMENT}){{1,63}})[\\/]?"

_HEX = "[0-9A-Fa-f]"
_COLON_GROUPS = (  # IPv6 and hardware addresses, whose groups may hold no digit
    rf"(?=:{{0,2}}{_HEX})(?:{_HEX}{{0,4}}:){{2,8}}(?:{_HEX}{{1,4}}(?!{_T})(?:\.[0-9]{{1,3}}){{0,3}}|(?<=::)(?=/[0-9]))"
    rf"(?:%{_T}{{1,32}})?(?:/[0-9]{{1,3}})?(?!{_T}|[.,:/\-]{_T})"
)
_IBAN = rf"[A-Z]{{2}}[0-9]{{2}}(?: ?[A-Z0-9]{{4}}){{2,7}}(?: ?[A-Z0-9]{{1,4}})?(?!{_T})"


def _number() -> str:
    """A run that holds a digit, with the joiners of dates, phones, amounts, versions and identifiers."""
    digit = f"[{number_class()}]"
    no_digit = f"[^{_GAP}{number_class()}]"
    opening = rf"(?:\+?\({digit}{{1,6}}\)[{_INNER_SPACE}.\-/]?(?={digit})|[+$]{{1,2}}(?=\(?{digit}))?"
    lead = rf"(?:{no_digit}{{1,40}}+[\-‐‑_./\\$]?){{0,5}}"
    tail = "|".join(
        [
            rf"[\-‐‑_./\\@]{_T}++",
            rf"(?<={digit})[,:'’´`+*=~^–−](?=[s{number_class()}]){_T}++",
            rf"(?<=[%{number_class()}])[{_INNER_SPACE}]\+?(?={digit}){_T}++",
            rf"(?<={digit})[{_INNER_SPACE}]?\({digit}{{1,6}}\)[{_INNER_SPACE}.\-/]?(?={digit}){_T}++",
            rf"(?<={digit})[%$]{_T}*+",
        ]
    )
    return f"{opening}{lead}{digit}{_T}*+(?:{tail})*"


_LONGER = rf"{_T}|[@+._\-‐‑/\\$]{_T}|:(?:{_T}|[/\\:])"
# Not a possessive group, which Python before 3.11.5 gets wrong: the first look-ahead keeps it from giving up parts.
# What is followed by a space or a comma, as most words are, is found without the look-aheads.
_REST_OF_WORD = rf"(?:[{_JOIN}]{PLAIN_LETTER}++)*(?![{_JOIN}]{PLAIN_LETTER})(?!{_LONGER})"
_PLAIN_WORD = rf"{PLAIN_LETTER}++(?:(?=[ ,])|{_REST_OF_WORD})"
"""A word in the common alphabets, if nothing after it could make it part of something longer."""


@cache
def token_pattern(*, markup: bool = False) -> re.Pattern[str]:
    """The pattern of one token, in one capture group, for `split`.

    With markup, an HTML tag outside the fixed list (so one with attributes) is one token.
    """
    letter = rf"(?:[^\W\d_{_IDEOGRAPH}]|[{mark_class()}])"
    acronym = rf"[^\W\d_](?:\.[^\W\d_]){{1,31}}(?!{_T}|\.{_T})\.?"
    # A longer one is a token whatever follows: else each of its letters would begin an attempt.
    chain = r"[^\W\d_](?:\.[^\W\d_]){32,}"
    rare = [
        _URL,
        _EMAIL,
        _ROOTED_PATH,
        _COLON_GROUPS,
        _IBAN,
        _DOTTED_NAME,
        _number(),
        _HANDLE,
        _RELATIVE_PATH,
        acronym,
        chain,
        rf"{letter}+(?:[{_JOIN}_]{letter}+)*",  # with inner apostrophes, hyphens and underscores
        rf"[{_IDEOGRAPH}][{_IDEOGRAPH}{mark_class()}]*",
        rf"(?:[^\w{_GAP}]|[{mark_class()}])+",
        _T,
    ]
    if markup:
        rare.insert(0, r"<(?:[A-Za-z/?]|!(?:--|[A-Z]))[^<>]{0,2000}>")
    # The look-ahead spares the list above at gap characters that open no token.
    opening = rf"{_T}|[@#+$~/\\:]{{1,2}}[^{_SPACE},;\"')]|\([{number_class()}]|\.\.?[/\\]" + ("|<" if markup else "")
    return re.compile(f"({_PLAIN_WORD}|(?={opening})(?:{'|'.join(rare)}))")


@cache
def markup_pattern() -> re.Pattern[str]:
    """The HTML that may stay in a gap: tags without attributes and entities of listed characters."""
    names = (
        "a|abbr|article|aside|b|big|blockquote|body|br|center|cite|code|dd|del|div|dl|dt|em|footer|h[1-6]|head|header|"
        "hr|html|i|ins|kbd|li|main|mark|nav|ol|p|pre|q|s|samp|section|small|span|strike|strong|sub|sup|table|tbody|td|"
        "tfoot|th|thead|title|tr|tt|u|ul|var"
    )
    entities = (
        "amp|lt|gt|quot|apos|#39|#34|nbsp|ensp|emsp|thinsp|ndash|mdash|lsquo|rsquo|sbquo|ldquo|rdquo|bdquo|laquo|raquo|"
        "lsaquo|rsaquo|hellip|bull|middot|iexcl|iquest|sect|para"
    )
    return re.compile(rf"(<(?ai:/?(?:{names})) ?/?>|&(?:{entities});)")


@cache
def digit_pattern() -> re.Pattern[str]:
    """One character that makes a token a number to us: Unicode Nd, Nl or No."""
    return re.compile(f"[{number_class()}]")
