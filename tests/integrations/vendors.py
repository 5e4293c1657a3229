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
        self.heard, self.headers = [], {}

    async def handle_async_request(self, request):
        body = await request.aread()
        self.heard.append((request.method, str(request.url), dict(request.headers), body))
        answer = self.answer(json.loads(body) if body else {})
        if isinstance(answer, Exception):
            raise answer
        status, kind, pieces = answer
        return httpx.Response(status, headers={"content-type": kind, **self.headers}, stream=Pieces(pieces))


def whole(*contents):
    """A response that is not streamed."""
    choices = [
        {"index": i, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
        for i, text in enumerate(contents)
    ]
    body = json.dumps({"id": "1", "object": "chat.completion", "model": "m", "choices": choices})
    return 200, "application/json", [body.encode()]


def events(*pieces, **extra):
    """The bytes of a streamed response that says these pieces in its first choice."""
    deltas = [{"role": "assistant", "content": ""}, *({"content": piece} for piece in pieces), {}]
    chunks = [{"id": "1", "choices": [{"index": 0, "delta": delta}], **extra} for delta in deltas]
    lines = [f"data: {json.dumps(chunk, ensure_ascii=False)}\n\n" for chunk in chunks]
    return "".join([*lines, ": a comment\n\n", 'data: {"choices": []}\n\n', "data: [DONE]\n\n"]).encode()


def cut(data, draws, most):
    """The same bytes in pieces."""
    ends = sorted({0, len(data), *draws.integers(0, len(data) + 1, int(draws.integers(0, most))).tolist()})
    return [data[a:b] for a, b in itertools.pairwise(ends)]
