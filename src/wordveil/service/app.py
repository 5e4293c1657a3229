"""The routes. Thin: each checks whose key it is, calls `Releaser` or `Ledger` in a worker thread, and answers."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Coroutine
from dataclasses import asdict
from functools import partial
from pathlib import Path
from threading import Lock
from typing import Annotated, Any, TypeVar, cast, get_type_hints

import anyio
from fastapi import FastAPI, Request, Response
from fastapi import Path as PathParameter
from fastapi.responses import JSONResponse
from fastapi.routing import APIRoute
from fastapi.staticfiles import StaticFiles
from pydantic import TypeAdapter

from wordveil import __version__
from wordveil.service import messages
from wordveil.service.access import Callers, accounts_of
from wordveil.service.desk import Desk
from wordveil.service.guarding import Guard, Limits
from wordveil.service.refusals import KNOWN, MISFIT, RequestRefusedError, told
from wordveil.service.releasing import Asked, Releaser

_STATIC = Path(__file__).parent / "static"
_RETRY_LENGTHS = {"idempotency-key": (1, 200), "idempotency-nonce": (16, 200)}

_JSON = re.compile(r"(?i)application/([^;]*\+)?json *(;|$)")

T = TypeVar("T")
_ANSWER = TypeAdapter(messages.ReleaseAnswer)


class Direct(APIRoute):  # type: ignore[misc, unused-ignore]
    """A route whose body is read straight into its type: what FastAPI can do besides takes as long as a release."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return what answers; the first parameter of the endpoint is the body."""
        read = TypeAdapter(next(iter(get_type_hints(self.endpoint).values())))

        async def answer(request: Request) -> Response:
            if not _JSON.match(request.headers.get("content-type", "")):
                raise RequestRefusedError(422, "request", MISFIT)
            answered: Response = await self.endpoint(read.validate_json(await request.body()), request)
            return answered

        return answer


class Service:
    """The handlers of all routes; whose request it is, the guard has found out."""

    def __init__(self, releaser: Releaser, limits: Limits, callers: Callers) -> None:
        self.releaser, self.ledger, self.limits, self.callers = releaser, releaser.ledger, limits, callers
        self._desk = Desk(releaser)
        self._workers: anyio.CapacityLimiter | None = None

    async def work(self, task: Callable[[], T]) -> T:
        """Run in a worker thread, of which there are only so many: one that nobody waits for counts until it ends."""
        workers = self._workers = self._workers or anyio.CapacityLimiter(self.limits.workers)
        loop, own = asyncio.get_running_loop(), Lock()

        def counted() -> T:
            if not own.acquire(blocking=False):
                raise RuntimeError("nobody waited for this any more before it began.")
            try:
                return task()
            finally:
                loop.call_soon_threadsafe(workers.release_on_behalf_of, own)

        await workers.acquire_on_behalf_of(own)
        try:
            done: T = await anyio.to_thread.run_sync(counted, limiter=anyio.CapacityLimiter(1), abandon_on_cancel=True)
        finally:
            if own.acquire(blocking=False):  # cancelled before the thread began
                workers.release_on_behalf_of(own)
        return done

    async def sanitize(self, asked: messages.TextRequest, request: Request) -> Response:
        """Release one text."""
        return await self._answered([asked.text], asked, request)

    async def sanitize_batch(self, asked: messages.BatchRequest, request: Request) -> Response:
        """Release texts together: all are paid for, or none is released."""
        return await self._answered(asked.texts, asked, request)

    async def _answered(
        self, texts: list[str], how: messages.TextRequest | messages.BatchRequest, request: Request
    ) -> Response:
        asked = Asked(texts=texts, how=how, caller=request.state.caller, **_retry(request))
        if self.releaser.soon_done(asked):
            answer = await self._desk.release(asked)
        else:
            answer = await self.work(partial(self.releaser.release, asked))
        return Response(_ANSWER.dump_json(answer), media_type="application/json")

    async def denoise(self, asked: messages.DenoiseRequest) -> messages.DenoiseAnswer:
        """Read what a release of this service may have said; nothing is charged, and a private text is refused."""
        return await self.work(partial(self.releaser.denoised, asked))

    async def hides_among(self, asked: messages.HidesRequest) -> messages.HidesAmong:
        """Show what may be released for words: the list or class that each hides among, with chances."""
        return await self.work(partial(self.releaser.hides_among, asked))

    async def settings(self) -> list[dict[str, Any]]:
        """List the settings that are open, with mechanism, vocabulary and promise."""
        return self.releaser.listed()

    async def budgets(
        self, account: Annotated[str, PathParameter(pattern=r"^(subject|key):[A-Za-z0-9_.@+-]{1,128}$")]
    ) -> list[dict[str, Any]]:
        """Show the budgets of an account, one a promise: what was granted, spent and is left. A key's name will do."""
        return await self.work(partial(self._balances, account))

    def _balances(self, account: str) -> list[dict[str, Any]]:
        known = accounts_of(self.ledger, account, subject=True)
        return [balance for each in known for balance in self.ledger.balances(each)]

    async def health(self) -> dict[str, str]:
        """Whether the process answers."""
        return {"status": "ok", "version": __version__}

    async def ready(self) -> dict[str, str]:
        """Whether the ledger answered a moment ago, so that releases can be paid for."""
        await self.callers.look()
        return {"status": "ready"}

    async def failed(self, request: Request, error: Exception) -> Response:
        """Answer an error that we know."""
        status, shown = told(error)
        return JSONResponse({"error": asdict(shown)}, status)


def _retry(request: Request) -> dict[str, str | None]:
    """Return under which name a request is charged once, and the nonce that tells its repeat."""
    sent = {name: request.headers.get(name) for name in _RETRY_LENGTHS}
    for name, (least, most) in _RETRY_LENGTHS.items():
        if (value := sent[name]) is not None and not least <= len(value) <= most:
            raise RequestRefusedError(422, name, f"This header has {least} to {most} characters.")
    name, nonce = sent.values()
    if (name is None) != (nonce is None):
        raise RequestRefusedError(422, "idempotency-nonce", "Idempotency-Key and Idempotency-Nonce go together.")
    return {"retry": name, "nonce": nonce}


def _header(name: str, description: str) -> dict[str, Any]:
    lengths = dict(zip(("minLength", "maxLength"), _RETRY_LENGTHS.get(name, ()), strict=False))
    return {"name": name, "in": "header", "description": description, "schema": {"type": "string", **lengths}}


_KEY = (_header("authorization", "Bearer wv_..."),)
_NONCE = "Secret of the client, drawn for this request: with it the same request is answered again, without it none is."
_RETRY = (
    _header("idempotency-key", "Under one key a request is charged and drawn once."),
    _header("idempotency-nonce", _NONCE),
)
_STATUSES: dict[int | str, dict[str, Any]] = {
    402: {"description": "A budget is spent; nothing was released."},
    **{status: {"description": "Refused; nothing was released."} for status in (401, 403, 409, 413, 422, 429)},
    **{status: {"description": "Failed."} for status in (500, 503, 504)},
}


def build_routes(service: Service) -> FastAPI:
    """Return the routes, without what guards them."""
    app = FastAPI(title="wordveil", version=__version__, docs_url=None, redoc_url=None, redirect_slashes=False)
    for error in KNOWN:
        app.add_exception_handler(error, cast(Any, service.failed))
    post, get, released = ["POST"], ["GET"], {"response_model": messages.ReleaseAnswer, "route_class_override": Direct}
    for path, handler, methods, headers, more in (
        ("/v1/sanitize", service.sanitize, post, (*_KEY, *_RETRY), released),
        ("/v1/sanitize/batch", service.sanitize_batch, post, (*_KEY, *_RETRY), released),
        ("/v1/denoise", service.denoise, post, _KEY, {}),
        ("/v1/hides-among", service.hides_among, post, _KEY, {}),
        ("/v1/settings", service.settings, get, _KEY, {}),
        ("/v1/budgets/{account}", service.budgets, get, _KEY, {}),
        ("/health", service.health, get, (), {}),
        ("/ready", service.ready, get, (), {}),
    ):
        extra = {"parameters": [*headers]}
        app.router.add_api_route(path, handler, methods=methods, responses=_STATUSES, openapi_extra=extra, **more)
    if _STATIC.is_dir():
        app.mount("/", StaticFiles(directory=_STATIC, html=True))
    return app


def build_app(releaser: Releaser, limits: Limits | None = None) -> Guard:
    """Return the ASGI application."""
    limits, callers = limits or Limits(), Callers(releaser.ledger)
    service = Service(releaser, limits, callers)
    return Guard(build_routes(service), limits, callers)
