"""A local proxy between chat clients and a vendor: `wordveil proxy`, for anything that speaks chat completions.

    client --private request--> proxy --release--> vendor --reply--> proxy --restored reply--> client

Fails closed: whatever goes wrong before the request is released, and whatever it holds that is not covered, the vendor
gets nothing. Nothing of a request is written to a log, and no error says more than which field or kind is refused.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from wordveil.errors import MissingExtraError, WordveilError
from wordveil.integrations.chat import StreamRestorer, released_request, restored_response
from wordveil.integrations.conversation import Conversations
from wordveil.integrations.events import DONE, EventReader, event

try:
    import httpx
    import uvicorn
    from starlette.applications import Starlette
    from starlette.concurrency import run_in_threadpool
    from starlette.middleware import Middleware
    from starlette.middleware.trustedhost import TrustedHostMiddleware
    from starlette.requests import ClientDisconnect, Request
    from starlette.responses import JSONResponse, Response, StreamingResponse
    from starlette.routing import Route
except ImportError as missing:
    raise MissingExtraError("the proxy", str(missing.name), "proxy") from missing

__all__ = ["Proxy", "serve"]

_LARGEST_REQUEST = 1 << 24  # bytes
_PATIENCE = 600.0  # seconds that a vendor may be silent
_EVERY = 60.0  # seconds between two looks for conversations that nobody continues


@dataclass(frozen=True, kw_only=True)
class Proxy:
    """A proxy to one vendor.

    Attributes:
        conversations: Releases requests and restores replies.
        upstream: The vendor's address, up to and with "/v1".
        api_key: Sent to the vendor; None passes the client's own on.
        transport: What carries requests; None is the network.
        hosts: Names that clients may call it by: a web page under another name, which leads here too, is refused.
    """

    conversations: Conversations
    upstream: str
    api_key: str | None = None
    transport: httpx.AsyncBaseTransport | None = None
    hosts: tuple[str, ...] = ("127.0.0.1", "localhost")

    def app(self) -> Starlette:
        """Return the application, for any ASGI server."""
        vendor = httpx.AsyncClient(
            base_url=self.upstream.rstrip("/") + "/",
            headers={"user-agent": "wordveil"},
            timeout=_PATIENCE,
            transport=self.transport,
            trust_env=False,  # neither another proxy nor .netrc
            follow_redirects=False,
        )

        @asynccontextmanager
        async def lifespan(_: Starlette) -> AsyncIterator[None]:
            forgetting = asyncio.create_task(self._forget())
            yield
            forgetting.cancel()
            await vendor.aclose()

        async def complete(request: Request) -> Response:
            return await _answered(lambda: self._complete(request, vendor))

        async def models(request: Request) -> Response:
            return await _answered(lambda: self._models(request, vendor))

        async def forget(request: Request) -> Response:
            return JSONResponse({"dropped": self.conversations.drop(_owner(request))})

        async def promise(_: Request) -> Response:
            example = self.conversations.example
            return JSONResponse({"guarantee": example.guarantee.as_dict(), "disclosed": list(example.disclosed)})

        routes = [
            Route("/v1/chat/completions", complete, methods=["POST"]),
            Route("/v1/models", models, methods=["GET"]),
            Route("/v1/conversations", forget, methods=["DELETE"]),
            Route("/v1/promise", promise, methods=["GET"]),
        ]
        known = Middleware(TrustedHostMiddleware, allowed_hosts=list(self.hosts), www_redirect=False)
        return Starlette(routes=routes, lifespan=lifespan, middleware=[known])

    async def _forget(self) -> None:
        while True:
            await asyncio.sleep(_EVERY)
            self.conversations.drop_idle()

    def _headers(self, request: Request) -> dict[str, str]:
        """Return all that the vendor learns beside the release: the key."""
        key = request.headers.get("authorization", "") if self.api_key is None else f"Bearer {self.api_key}"
        return {"authorization": key} if key else {}

    async def _models(self, request: Request, vendor: httpx.AsyncClient) -> Response:
        answer = await vendor.get("models", headers=self._headers(request))
        return _json(json.loads(answer.content), answer.status_code)

    async def _complete(self, request: Request, vendor: httpx.AsyncClient) -> Response:
        if not request.headers.get("content-type", "").startswith("application/json"):
            return _problem(
                415, "nothing was sent: the content-type must be application/json."
            )  # no web page can send it unasked
        body = _parsed(await _read(request))
        out, conversation = await run_in_threadpool(released_request, body, self.conversations, _owner(request))
        sent = vendor.build_request("POST", "chat/completions", json=out, headers=self._headers(request))
        answer = await vendor.send(sent, stream=True)
        streamed = answer.headers.get("content-type", "").startswith("text/event-stream")
        if not streamed or answer.status_code != httpx.codes.OK:
            try:
                whole = json.loads(await answer.aread())
            finally:
                await answer.aclose()
            if answer.status_code == httpx.codes.OK:
                whole = restored_response(whole, conversation)
            return _json(whole, answer.status_code)
        restored = _restored(answer, StreamRestorer(conversation))
        return StreamingResponse(restored, media_type="text/event-stream", headers={"cache-control": "no-store"})


async def _answered(answer: Callable[[], Any]) -> Response:
    """Return the answer, or what went wrong without a word of the request."""
    try:
        made: Response = await answer()
    except ClientDisconnect:
        return Response(status_code=499)
    except httpx.HTTPError as error:
        return _problem(502, f"the vendor cannot be reached or did not answer ({type(error).__name__}).")
    except WordveilError as error:
        return _problem(400, f"nothing was sent: {error}")
    except Exception as error:  # noqa: BLE001  # fails closed, and its message may hold private text
        return _problem(500, f"nothing more was sent: {type(error).__name__} in the proxy.")
    return made


def _problem(status: int, message: str) -> Response:
    return _json(_error(message), status)


def _json(value: Any, status: int) -> Response:
    return Response(json.dumps(value), status_code=status, media_type="application/json")


def _error(message: str) -> dict[str, Any]:
    return {"error": {"message": f"wordveil: {message}", "type": "wordveil_error", "code": None, "param": None}}


async def _read(request: Request) -> bytes:
    """Return the body.

    Raises:
        WordveilError: If it is too large.
    """
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > _LARGEST_REQUEST:
            raise WordveilError(f"a request may have {_LARGEST_REQUEST} bytes.")
    return bytes(body)


def _parsed(body: bytes) -> Any:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        raise WordveilError("the request is no JSON.") from None


def _owner(request: Request) -> str:
    """Return whose request it is, by the client's key; those without one share their conversations."""
    return hashlib.sha256(request.headers.get("authorization", "").encode()).hexdigest()


async def _restored(answer: httpx.Response, restorer: StreamRestorer) -> AsyncIterator[bytes]:
    """Yield the vendor's events restored; one that cannot be read ends the stream with an error that says so."""
    reader, ended = EventReader(), False
    try:
        async for chunk in answer.aiter_bytes():
            for data in reader.feed(chunk):
                ended = data == DONE
                if not ended:
                    yield event(restorer.feed(json.loads(data)))
            if ended:
                break
        else:
            for data in reader.close():
                yield event(restorer.feed(json.loads(data))) if data != DONE else b""
    except Exception as error:  # noqa: BLE001  # a stream that has begun has no status left to say it by
        yield event(_error(f"the vendor's stream broke off ({type(error).__name__})."))
    finally:
        await answer.aclose()
    for left in restorer.close():
        yield event(left)
    yield event(DONE)


def serve(proxy: Proxy, *, host: str, port: int) -> None:
    """Run the proxy until it is stopped; every conversation goes with it."""
    uvicorn.run(proxy.app(), host=host, port=port, access_log=False, log_level="warning", server_header=False)
