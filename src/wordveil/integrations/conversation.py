"""Conversations with a vendor's model: what goes out is released, what comes back is restored.

    private messages --sanitizer--> released messages --> vendor --> reply --private map--> restored reply

Every message of a conversation is released once: the same message, sent again with the history as chat clients do,
comes out as before and gives nothing new away. A typed token (an e-mail, a card) has one surrogate in a conversation,
and the map from surrogate to value is kept in memory only, on this side, until the conversation is dropped. Words are
not restored: what was drawn for them is a word like any other.
"""

from __future__ import annotations

import time
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from copy import copy
from dataclasses import replace
from threading import RLock
from typing import Any, NamedTuple

import numpy as np

from wordveil.arrays import PrivateText, ReleasedText
from wordveil.errors import ParameterError, WordveilError
from wordveil.integrations.restoring import Restorer
from wordveil.pipeline.ids import without_ids
from wordveil.pipeline.sanitizer import Sanitizer
from wordveil.promises.guarantees import Guarantee, NoGuarantee
from wordveil.randomness import RandomSource, random_bits
from wordveil.text.encoding import Encoder
from wordveil.text.joining import joined
from wordveil.text.kinds import KINDS
from wordveil.text.readings import UNKNOWN, spellings
from wordveil.text.reference import read_token
from wordveil.text.surrogates import GENERATORS

__all__ = ["RESTORED", "Conversation", "Conversations", "Message"]

RESTORED = ("URL", "e-mail", "handle", "IP", "IBAN", "card", "date", "telephone", "path", "identifier")
"""The kinds that are restored: a number, a year, a sum or a time of day in a reply may be the model's own."""

_SAME = (
    "which messages of a conversation are the same, and which of its typed tokens (numbers, e-mails and so on) are: "
    "the same value has the same surrogate in all of a conversation, and two values that can be restored have two; "
    "conversations of one owner share what both say"
)
_OWN = "which assistant messages repeat a reply of the vendor's in this conversation: they go back as it wrote them"
_PUBLIC = "which messages are declared public ({} of them, line ends aside): they go out verbatim"


class Message(NamedTuple):
    """One message: who speaks ("system", "user", "assistant" and so on) and the private text."""

    role: str
    text: str


class Conversation:
    """One conversation; may be used from several threads.

    Args:
        sanitizer: How texts are released; its options must say unknown="typed". The conversation draws under a key of
            its own.
        public: Texts, such as a system prompt, that go out verbatim.
        source: Randomness; a fresh secure source unless given.

    Raises:
        ParameterError: If the sanitizer does not replace typed tokens, or releases sentences.

    Example:
        >>> import wordveil as wv
        >>> from wordveil.pipeline.one_line import default_sanitizer
        >>> talk = Conversation(default_sanitizer())
        >>> sent = talk.release([Message("user", "Write to maria@clinic.se")])[0]
        >>> address = sent.split()[-1]
        >>> talk.restore(f"I wrote to {address}.")
        'I wrote to maria@clinic.se.'
    """

    def __init__(
        self, sanitizer: Sanitizer, *, public: Collection[str] = (), source: RandomSource | None = None
    ) -> None:
        if sanitizer.options.unknown != "typed":
            raise ParameterError("sanitizer", sanitizer.options.unknown, "must have options with unknown='typed'.")
        if not isinstance(sanitizer.parts.encoder, Encoder):
            raise ParameterError(
                "sanitizer", type(sanitizer).__name__, "must release words; a Rephraser releases sentences."
            )
        self._sanitizer = copy(sanitizer)  # draws under a fresh key
        if source is not None:
            self._sanitizer.source = source
        self._public = frozenset(public)
        self._surrogates = dict[str, int]()  # private value -> released id
        self._taken = defaultdict[str, set[int]](set)
        self._originals, self._replies = dict[str, str](), dict[str, str]()
        self._sent = dict[str, tuple[ReleasedText, list[tuple[int, str, int]]]]()  # text -> release, its typed values
        self._draws, self._lock = 0, RLock()

    @property
    def guarantee(self) -> Guarantee:
        """What every released message promises, between conversations that agree in what is disclosed."""
        claim: Any = self._sanitizer.guarantee
        if isinstance(claim, NoGuarantee):
            return claim
        shared = "both conversations agree in " + "; ".join(self.disclosed[len(self._sanitizer.disclosed) :])
        agreed: Guarantee = replace(claim, assumptions=(*claim.assumptions, shared))
        return agreed

    @property
    def disclosed(self) -> tuple[str, ...]:
        """What the conversation discloses whatever the noise, a sentence each."""
        public = (_PUBLIC.format(len({text.rstrip("\n") for text in self._public})),) if self._public else ()
        return (*self._sanitizer.disclosed, _SAME, _OWN, *public)

    def release(self, messages: Iterable[Message]) -> list[ReleasedText]:
        """Return what may leave for each message.

        Raises:
            WordveilError: If a kind of typed token has run out of surrogates; nothing may be sent then.
        """
        with self._lock:
            return [self._release(*message) for message in messages]

    def reply(self) -> Restorer:
        """Return what restores one reply, piece by piece."""
        with self._lock:
            return _Reply(self._originals, self._heard)

    def restore(self, reply: str) -> str:
        """Return a whole reply with private values in the place of their surrogates."""
        restorer = self.reply()
        return restorer.feed(reply) + restorer.close()

    def _heard(self, reply: str, restored: str) -> None:
        with self._lock:
            self._replies[restored.strip()] = reply

    def _release(self, role: str, text: str) -> ReleasedText:
        if text in self._public:
            return ReleasedText(text)
        if role == "assistant" and (own := self._replies.get(text.strip())) is not None:
            return ReleasedText(own)
        if (known := self._sent.get(text)) is not None:
            return known[0]
        private, typed = PrivateText(text), list[tuple[int, str, int]]()
        parts = self._sanitizer.parts
        encoded, tokens = without_ids(parts.encoder.encode_parts([private]))
        counts, nonces = np.array([len(tokens)]), self._sanitizer.nonces([[private]], ["message"])
        released = self._sanitizer.release_ids(tokens, counts, nonces)
        places, values = np.flatnonzero(tokens < UNKNOWN), self._typed_values(private)
        if len(places) != len(values):
            raise WordveilError("a message was not read the same way twice; it is not sent.")
        for place, value in zip(places.tolist(), values, strict=True):
            kind = UNKNOWN - 1 - int(tokens[place])
            if kind < len(KINDS):  # beyond lie grids, whose numbers are drawn afresh
                released[place] = self._surrogate(kind, value, int(released[place]))
                typed.append((kind, value, int(released[place])))
        out = parts.writer.write_parts(encoded, released)[0]
        self._sent[text] = out, typed
        return out

    def parted(self, messages: Sequence[Message]) -> Conversation:
        """Return a conversation of its own that has begun with these messages: it knows no value of any other."""
        with self._lock:
            other = Conversation(self._sanitizer, public=self._public)
            said = {message.text.strip() for message in messages}
            other._replies = {text: reply for text, reply in self._replies.items() if text in said}
            for text in {message.text for message in messages} & self._sent.keys():
                other._sent[text] = self._sent[text]
                for kind, value, drawn in self._sent[text][1]:
                    other._keep(kind, value, drawn)
            return other

    def knows(self, replies: set[str], *texts: set[str]) -> tuple[int, ...]:
        """Return how many of these replies, without white space around them, it knows, and of each set of texts."""
        with self._lock:
            return len(replies & self._replies.keys()), *(len(some & self._sent.keys()) for some in texts)

    def _typed_values(self, text: PrivateText) -> list[str]:
        """Return the tokens of the text that are typed, in order."""
        encoder = self._sanitizer.parts.encoder
        assert isinstance(encoder, Encoder)  # a sanitizer reads words
        tokens = encoder.tokenizer.split(joined(text))[1::2]
        typed = set[str]()
        for token in set(tokens):
            if encoder.typed is not None and encoder.typed.code(token) is not None:
                known = encoder.known(spellings(token, encoder.casing))
                ids = read_token(token, encoder.rules, known).ids
                typed |= {token} if ids and ids[0] < UNKNOWN else set()
        return [token for token in tokens if token in typed]

    def _surrogate(self, kind: int, value: str, drawn: int) -> int:
        """Return the released id of a value: the one it has, else what was drawn, drawn again while another has it.

        Uniform among those that are free: so what a value's surrogate is tells nothing but that it is no other's.
        """
        known = self._surrogates.get(value)
        if known is not None:
            return known
        name, typed = KINDS[kind], self._sanitizer.parts.encoder.typed
        assert typed is not None
        if name in RESTORED:
            taken, many = self._taken[name], 1 << GENERATORS[name].bits
            if len(taken) == many:
                raise WordveilError(f"a conversation can hold {many} values of the kind {name}; start another one.")
            while drawn in taken:
                self._draws += 1
                stream = self._sanitizer.source.stream(f"another surrogate {self._draws}")
                drawn = int(typed.draw(np.array([UNKNOWN - 1 - kind], np.int32), random_bits(stream.lane(0), (1,)))[0])
        self._keep(kind, value, drawn)
        return drawn

    def _keep(self, kind: int, value: str, drawn: int) -> None:
        """Take a surrogate into the private map."""
        typed = self._sanitizer.parts.encoder.typed
        if KINDS[kind] in RESTORED and typed is not None:
            self._taken[KINDS[kind]].add(drawn)
            self._originals[typed.text(drawn).lower()] = value
        self._surrogates[value] = drawn

    def __repr__(self) -> str:
        return f"Conversation({self._sanitizer!r})"


class _Reply(Restorer):
    """Restores one reply and, at its end, tells the conversation what was said."""

    def __init__(self, originals: dict[str, str], heard: Callable[[str, str], None]) -> None:
        super().__init__(originals)
        self._heard, self._said, self._restored = heard, list[str](), list[str]()

    def feed(self, piece: str) -> str:
        self._said.append(piece)
        self._restored.append(super().feed(piece))
        return self._restored[-1]

    def close(self) -> str:
        rest = super().close()
        self._heard("".join(self._said), "".join(self._restored) + rest)
        return rest


class _Turn(NamedTuple):
    """When a turn was last gone on from, and whose it is."""

    seen: float
    owner: str


class Conversations:
    """The conversations of a process, found by what was said: chat clients send the whole history with every turn.

    Every turn gets a conversation of its own, which knows what the turns before it said: two users of one owner who
    begin alike are told apart only by what they go on with, and none may read that in the reply to an earlier turn.

    Args:
        sanitizer: For all of them; see `Conversation`.
        public: Texts that go out verbatim.
        idle: Seconds after which a turn that nobody goes on from is dropped, with its map.
        most: Turns kept; the oldest goes first.
        clock: Seconds that only grow.

    Raises:
        ParameterError: If the sanitizer does not replace typed tokens, or releases sentences.
    """

    def __init__(
        self,
        sanitizer: Sanitizer,
        *,
        public: Collection[str] = (),
        idle: float = 3600.0,
        most: int = 5000,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.example = Conversation(sanitizer, public=public)  # says what all of them promise
        self._sanitizer, self._public, self._idle, self._most = sanitizer, public, idle, most
        self._clock, self._lock = clock, RLock()
        self._live: OrderedDict[Conversation, _Turn] = OrderedDict()

    def __len__(self) -> int:
        return len(self._live)

    def of(self, owner: str, messages: Sequence[Message]) -> Conversation:
        """Return the conversation that these messages open or go on with, as it stands after them.

        Args:
            owner: Whose it is, such as an API key: two owners never share one.
            messages: All of it so far.
        """
        with self._lock:
            self.drop_idle()
            before = self._before(owner, messages)
            if before is None:
                found = Conversation(self._sanitizer, public=self._public)
            else:
                found = before.parted(messages)
                self._live[before] = self._live.pop(before)._replace(seen=self._clock())
            self._live[found] = _Turn(self._clock(), owner)
            while len(self._live) > self._most:
                self._live.popitem(last=False)
            return found

    def _before(self, owner: str, messages: Sequence[Message]) -> Conversation | None:
        """Return the turn that is gone on from: of the owner's the one that knows most of what these messages repeat.

        That is most of the replies, then of what stands before the last one (or the last message), then of all:
        wherever they stand, as what is before them may have changed (a system prompt with a clock, a history cut off)
        or be asked again.
        """
        said = [number for number, message in enumerate(messages) if message.role == "assistant"]
        replies = {messages[number].text.strip() for number in said}
        parts = messages[: max(said, default=len(messages) - 1)], messages
        before, texts = ({message.text for message in part} for part in parts)
        turns = [each for each, turn in reversed(self._live.items()) if turn.owner == owner]
        known = [each.knows(replies, before, texts) for each in turns]
        most = max(known, default=(0,))
        return turns[known.index(most)] if any(most) else None

    def release(self, owner: str, messages: Sequence[Message]) -> tuple[Conversation, list[ReleasedText]]:
        """Return the conversation as it stands after these messages, and what may leave for each of them.

        At once: a turn that began before the one it goes on from was released would draw its messages again.

        Raises:
            WordveilError: As `Conversation.release`.
        """
        with self._lock:
            found = self.of(owner, messages)
            return found, found.release(messages)

    def drop_idle(self) -> None:
        """Drop what nobody continued in time."""
        with self._lock:
            for each in [each for each, turn in self._live.items() if turn.seen < self._clock() - self._idle]:
                del self._live[each]

    def drop(self, owner: str) -> int:
        """Drop all conversations of an owner; returns how many."""
        with self._lock:
            own = [each for each, turn in self._live.items() if turn.owner == owner]
            for each in own:
                del self._live[each]
            return len(own)
