"""A vendor that records every byte it gets and answers as it is told, cut anywhere."""

import asyncio
import itertools
import json

import httpx


class Pieces(httpx.AsyncByteStream):
    """A body in pieces; an exception among them is raised when its turn comes."""

    def __init__(self, pieces):
        self._pieces = pieces

    async def __aiter__(self):
        if hasattr(self._pieces, "__aiter__"):
            async for piece in self._pieces:
                yield piece
            return
        for piece in self._pieces:
            await asyncio.sleep(0)
            if isinstance(piece, Exception):
                raise piece
            yield piece


class Vendor(httpx.AsyncBaseTransport):
    """Records requests; `answer(body)` returns status, content type and the pieces of the response's body."""

    def __init__(self, answer):
        self.answer = answer
        self.heard = []

    async def handle_async_request(self, request):
        body = await request.aread()
        self.heard.append((request.method, str(request.url), dict(request.headers), body))
        answer = self.answer(json.loads(body) if body else {})
        if isinstance(answer, Exception):
            raise answer
        status, kind, pieces = answer
        return httpx.Response(status, headers={"content-type": kind}, stream=Pieces(pieces))


def whole(*contents):
    """A response that is not streamed."""
    choices = [
        {"index": i, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
        for i, text in enumerate(contents)
    ]
    body = json.dumps({"id": "1", "object": "chat.completion", "model": "m", "choices": choices})
    return 200, "application/json", [body.encode()]


def events(deltas, *, finish=True):
    """The bytes of a streamed response: (choice, piece of its text) in order."""
    lines, seen = [], dict.fromkeys(index for index, _ in deltas)

    def chunk(index, delta, reason):
        choice = {"index": index, "delta": delta, "finish_reason": reason}
        body = {"id": "1", "object": "chat.completion.chunk", "model": "m", "choices": [choice]}
        lines.append(f"data: {json.dumps(body, ensure_ascii=False)}\n\n")

    for index in seen:
        chunk(index, {"role": "assistant", "content": ""}, None)
    for index, piece in deltas:
        chunk(index, {"content": piece}, None)
    for index in seen if finish else ():
        chunk(index, {}, "stop")
    lines += [": a comment\n\n", 'data: {"choices": [], "usage": {"total_tokens": 3}}\n\n']
    return "".join([*lines, "data: [DONE]\n\n" if finish else ""]).encode()


def cut(data, draws, most):
    """The same bytes in pieces."""
    ends = sorted({0, len(data), *draws.integers(0, len(data) + 1, int(draws.integers(0, most))).tolist()})
    return [data[a:b] for a, b in itertools.pairwise(ends)]


def read_stream(body):
    """The texts of all choices of a stream as a client reads them, and its errors; fails unless it is well formed."""
    assert body.endswith(b"data: [DONE]\n\n")
    texts, errors = {}, []
    for each in body.decode().split("\n\n")[:-2]:
        assert each.startswith("data: ")
        assert "\n" not in each
        value = json.loads(each[6:])
        if "error" in value:
            errors.append(value["error"]["message"])
        for choice in value.get("choices", ()):
            texts[choice["index"]] = texts.get(choice["index"], "") + (choice["delta"].get("content") or "")
    return texts, errors
