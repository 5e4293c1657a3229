"""Conversations with a vendor's model: what goes out is released, and what comes back stays as it came.

    private messages --sanitizer under a keyed noise--> released messages --> vendor --> reply, byte for byte

A message's noise is placed by its text under a key made of a secret and its owner's name, and by nothing else. So a
message is released equally wherever it stands, in every process with that secret, and nothing has to be remembered: no
client can have it drawn again. Nothing is written into a reply: `Conversation.found` gives places, never a string.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Collection, Iterable, Sequence
from copy import copy
from dataclasses import replace
from threading import Lock
from typing import NamedTuple

import numpy as np

from wordveil.arrays import PrivateText, ReleasedText
from wordveil.errors import ParameterError, WordveilError
from wordveil.files.secret import SECRET_BYTES, Secret
from wordveil.promises.guarantees import Guarantee, within_scope
from wordveil.randomness import KEY_BYTES, RandomSource
from wordveil.sanitizing.places import nonces
from wordveil.sanitizing.sanitizer import Sanitizer
from wordveil.text.encoding import Encoder
from wordveil.text.joining import joined
from wordveil.text.kinds import KINDS
from wordveil.text.readings import UNKNOWN, spellings
from wordveil.text.reference import read_token
from wordveil.withholding.redactor import Redactor

FOUND = ("URL", "e-mail", "handle", "IP", "IBAN", "card", "date", "telephone", "path", "identifier")
"""The kinds whose places in a reply are given: a number, a year, a sum or a time of day may be the model's own."""

_SAME = "which messages of one owner are the same, in whatever conversation: they come out alike under one secret"
_OWN = (
    "which assistant messages repeat, to the letter, the reply to the very messages before them: they go back as it was"
)
_PUBLIC = "which messages are declared public ({} of them, line ends aside): they go out verbatim"


class Message(NamedTuple):
    """Who speaks ("system", "user", "assistant" and so on), the private text, and its place among them."""

    role: str
    text: str
    place: str = ""


class Replies:
    """What vendors wrote, as digests, of which the oldest goes first: it may go back as it was written.

    A reply that is no longer known is released like any other text, so whoever makes room here gains nothing.
    """

    def __init__(self, most: int = 100_000) -> None:
        self._most, self._lock = most, Lock()
        self._digests = dict[str, None]()

    def add(self, digest: str) -> None:
        with self._lock:
            self._digests[digest] = None
            while len(self._digests) > self._most:
                del self._digests[next(iter(self._digests))]

    def __contains__(self, digest: object) -> bool:
        return digest in self._digests


class Conversation:
    """What one owner says to a vendor, and what the vendor answers.

    Args:
        sanitizer: How texts are released: a sanitizer whose options say unknown="typed", or a redactor, of whose
            placeholders no reply holds a place. Its own key is not used.
        secret: What noise is drawn under, with the owner's name; a fresh one unless given.
        owner: Whose messages these are: two owners never share noise.
        public: Texts, such as a system prompt, that go out verbatim.
        replies: What the vendor is known to have written, to any owner; none unless given.

    Raises:
        ParameterError: If the sanitizer does not replace typed tokens, or releases sentences.

    Example:
        >>> from wordveil.sanitizing.default import default_sanitizer
        >>> talk = Conversation(default_sanitizer())
        >>> sent = talk.release([Message("user", "Write to maria@clinic.se")])[0]
        >>> reply = f"I wrote to {sent.split()[-1]}."
        >>> [(reply[:start], reply[end:], value) for start, end, value in talk.found(reply)]
        [('I wrote to ', '.', 'maria@clinic.se')]
    """

    def __init__(
        self,
        sanitizer: Sanitizer | Redactor,
        *,
        secret: Secret | None = None,
        owner: str = "",
        public: Collection[str] = (),
        replies: Replies | None = None,
    ) -> None:
        if isinstance(sanitizer, Sanitizer) and sanitizer.options.unknown != "typed":
            raise ParameterError("sanitizer", sanitizer.options.unknown, "must have options with unknown='typed'.")
        if isinstance(sanitizer, Sanitizer) and not isinstance(sanitizer.parts.encoder, Encoder):
            requirement = "must release words; a Rephraser releases sentences."
            raise ParameterError("sanitizer", type(sanitizer).__name__, requirement)
        self._secret = Secret(secrets.token_bytes(SECRET_BYTES)) if secret is None else secret
        self._owner, self._public = owner, frozenset(public)
        self._replies = Replies() if replies is None else replies
        source = RandomSource(bytes.fromhex(self._secret.digest("conversation", owner))[:KEY_BYTES])
        if isinstance(sanitizer, Redactor):
            self._sanitizer: Sanitizer | Redactor = replace(sanitizer, source=source)
        else:
            self._sanitizer = copy(sanitizer)
            self._sanitizer.source = source
        self._unread, self._values = dict[str, None](), dict[str, str | None]()

    def of(self, owner: str) -> Conversation:
        """Return a conversation of an owner under the same secret, with the same public texts and known replies."""
        return Conversation(
            self._sanitizer, secret=self._secret, owner=owner, public=self._public, replies=self._replies
        )

    @property
    def guarantee(self) -> Guarantee:
        """What every released message promises, between histories that agree in what is disclosed."""
        shared = "both histories agree in " + "; ".join(self.disclosed[len(self._sanitizer.disclosed) :])
        return within_scope(self._sanitizer.guarantee, assuming=(shared,))

    @property
    def disclosed(self) -> tuple[str, ...]:
        """What is disclosed whatever the noise, a sentence each."""
        public = (_PUBLIC.format(len({text.rstrip("\n") for text in self._public})),) if self._public else ()
        return (*self._sanitizer.disclosed, _SAME, _OWN, *public)

    def release(self, messages: Iterable[Message]) -> list[ReleasedText]:
        """Return what may leave for each message: the same for the same message, however often it is asked."""
        said = list(messages)
        texts = list({each.text: None for each in said if not self._goes_as_it_is(each)})
        released = dict(zip(texts, self._released([*map(PrivateText, texts)]), strict=True))
        self._unread |= dict.fromkeys(texts)
        return [released[text] if text in released else ReleasedText(text) for _, text, _ in said]

    def _released(self, texts: Sequence[PrivateText]) -> Iterable[ReleasedText]:
        if isinstance(self._sanitizer, Redactor):
            rows = self._sanitizer.release_rows([[text] for text in texts], texts)
            return [text for row in rows for text in row if text is not None]
        return self._sanitizer.release_batch(texts, ids=texts).texts

    def _goes_as_it_is(self, each: Message) -> bool:
        return each.text in self._public or (each.role == "assistant" and self.wrote(each.text, each.place))

    def heard(self, text: str, place: str) -> None:
        """Take in what the vendor wrote to this owner in a place: a whole reply, or the arguments of a call."""
        self._replies.add(self._digest(text, place))

    def wrote(self, text: str, place: str) -> bool:
        """Whether the vendor is known to have written this to this owner in this place, to the letter."""
        return self._digest(text, place) in self._replies

    def _digest(self, text: str, place: str) -> str:
        return self._secret.digest("reply", self._owner, place, text)

    def found(self, reply: str) -> list[tuple[int, int, str]]:
        """Return where surrogates of the messages released here stand in a reply, with the values they stand for.

        Put a value into a page as a text node once the page is drawn, never into the reply itself: what a window makes
        of a text, nobody can know. A surrogate that stands for two values of these messages has no place.

        Args:
            reply: As the vendor wrote it, whole.

        Returns:
            (start, end, value) in their order, free of overlaps; `reply[start:end]` is the surrogate.
        """
        if isinstance(self._sanitizer, Redactor):
            return []
        for text in [*self._unread]:
            for surrogate, value in _drawn(self._sanitizer, PrivateText(text)):
                known = self._values.setdefault(surrogate, value)
                self._values[surrogate] = value if known == value else None
            del self._unread[text]
        longest = sorted((each for each, value in self._values.items() if value is not None), key=len, reverse=True)
        surrogates = re.compile(rf"(?<![^\W_])(?ai:{'|'.join(map(re.escape, longest))})(?![^\W_])") if longest else None
        places = [] if surrogates is None else [match.span() for match in surrogates.finditer(reply)]
        return [(start, end, self._values[reply[start:end].lower()] or "") for start, end in places]


def _drawn(sanitizer: Sanitizer, text: PrivateText) -> list[tuple[str, str]]:
    """Return the surrogates of a text, in lower case, with their values."""
    typed, prepared = sanitizer.parts.encoder.typed, sanitizer.prepare([[text]])
    where = nonces(sanitizer.source, sanitizer.places([text]), [[text]])
    tokens, released = prepared.tokens, sanitizer.release_ids(prepared.tokens, prepared.cost, where)
    places, values = np.flatnonzero(tokens < UNKNOWN), _typed_values(sanitizer, text)
    if len(places) != len(values) or typed is None:
        raise WordveilError("A message was not read the same way twice; no places are given.")
    kinds = (UNKNOWN - 1 - tokens[places]).tolist()  # beyond those with names lie grids
    named = [
        (place, value)
        for place, value, kind in zip(places, values, kinds, strict=True)
        if kind < len(KINDS) and KINDS[kind] in FOUND
    ]
    return [(typed.text(int(released[place])).lower(), value) for place, value in named]


def _typed_values(sanitizer: Sanitizer, text: PrivateText) -> list[str]:
    encoder = sanitizer.parts.encoder
    assert isinstance(encoder, Encoder)  # a sanitizer reads words
    tokens = encoder.tokenizer.split(joined(text))[1::2]
    typed = set[str]()
    for token in set(tokens):
        if encoder.typed is not None and encoder.typed.code(token) is not None:
            known = encoder.known(spellings(token, encoder.casing))
            ids = read_token(token, encoder.rules, known).ids
            typed |= {token} if ids and ids[0] < UNKNOWN else set()
    return [token for token in tokens if token in typed]
