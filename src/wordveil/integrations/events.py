"""Server-sent events, as chat services stream them: bytes cut anywhere to the data of whole events.

Reference: HTML Standard, section 9.2 (server-sent events); only the field `data` is read.
"""

from __future__ import annotations

import codecs
import json
from collections.abc import Iterator
from typing import Any

from wordveil.errors import WordveilError

__all__ = ["DONE", "EventReader", "event"]

DONE = "[DONE]"
_LONGEST = 1 << 22  # characters of an event


class EventReader:
    """Reads events from chunks of bytes that may end inside of a character, a line or an event."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")()
        self._rest, self._data = "", list[str]()

    def feed(self, chunk: bytes) -> Iterator[str]:
        """Yield the data of each event that is complete.

        Raises:
            WordveilError: If the bytes are no UTF-8, or an event does not end.
        """
        try:
            text = self._rest + self._decoder.decode(chunk)
        except UnicodeDecodeError:
            raise WordveilError("the vendor's stream is not UTF-8.") from None
        if len(text) + sum(map(len, self._data)) > _LONGEST:
            raise WordveilError(f"the vendor's stream holds an event of more than {_LONGEST} characters.")
        *lines, self._rest = text.split("\n")
        for line in lines:
            line = line.removesuffix("\r")
            if line.startswith("data:"):
                self._data.append(line[5:].removeprefix(" "))
            elif not line and self._data:
                yield "\n".join(self._data)
                self._data = []

    def close(self) -> Iterator[str]:
        """Yield the last event if its closing empty line never came."""
        yield from self.feed(b"\n\n")


def event(data: Any) -> bytes:
    """Return an event with this value as JSON, or with `DONE` as it is."""
    text = data if data == DONE else json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    return f"data: {text}\n\n".encode("utf-8", "replace")
