"""The routes. Thin: each checks whose key it is, calls `Releaser` or `Ledger` in a worker thread, and answers."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Callable, Coroutine
from dataclasses import asdict
from functools import lru_cache, partial
from pathlib import Path
from typing import Annotated, Any, TypeVar, cast, get_type_hints

import anyio
from fastapi import FastAPI, Request, Response
from fastapi import Path as PathParameter
from fastapi.responses import StreamingResponse
from fastapi.routing import APIRoute
from fastapi.staticfiles import StaticFiles
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Counter, Histogram, generate_latest
from pydantic import TypeAdapter, ValidationError
from sqlalchemy import text
from sqlalchemy.exc import SQLAlchemyError

from wordveil import __version__
from wordveil.errors import WordveilError
from wordveil.service.access import Buckets, Caller, Callers
from wordveil.service.charges import BudgetSpentError
from wordveil.service.desk import Desk
from wordveil.service.guarding import GUARDRAIL_PATH, Guard, Limits, error_body, only_texts
from wordveil.service.messages import (
    BatchRequest,
    DenoiseAnswer,
    DenoiseRequest,
    ExplainRequest,
    GuardrailAnswer,
    GuardrailRequest,
    HidesAmong,
    HidesRequest,
    ReleaseAnswer,
    RephraseRequest,
    TextRequest,
    VectorsAnswer,
    VectorsRequest,
)
from wordveil.service.refusals import KNOWN, MISFIT, RequestRefusedError, told, unauthenticated
from wordveil.service.releasing import Asked, Releaser

__all__ = ["Limits", "build_app"]

STATIC = Path(__file__).parent / "static"
SUBJECT_FIELDS = ("user_api_key_end_user_id", "user_api_key_user_id")
LONGEST_RETRY = 200

JSON = re.compile(r"(?i)application/([^;]*\+)?json *(;|$)")

T = TypeVar("T")
ANSWER = TypeAdapter(ReleaseAnswer)


class Metrics:
    """Counts for Prometheus; labels are routes and statuses, never anything that was sent."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        of_ours = {"registry": self.registry, "namespace": "wordveil"}
        self.requests = Counter("requests", "Requests by route and status.", ["route", "status"], **of_ours)
        self.seconds = Histogram("request_seconds", "Seconds of a request.", ["route"], **of_ours)
        self.tokens = Counter("tokens_released", "Tokens released, repetitions included.", **of_ours)
        self.refused = Counter("releases_refused", "Releases refused because a budget is spent.", **of_ours)
        self._counted = lru_cache(maxsize=256)(lambda route, status: self.requests.labels(route, str(status)))
        self._timed = lru_cache(maxsize=64)(self.seconds.labels)

    def seen(self, route: str, status: int, seconds: float) -> None:
        """Count one request."""
        self._counted(route, status).inc()
        self._timed(route).observe(seconds)


class Direct(APIRoute):  # type: ignore[misc, unused-ignore]
    """A route whose body is read straight into its type: what FastAPI can do besides takes as long as a release."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return what answers; the first parameter of the endpoint is the body."""
        read = TypeAdapter(next(iter(get_type_hints(self.endpoint).values())))

        async def answer(request: Request) -> Response:
            if not JSON.match(request.headers.get("content-type", "")):
                raise RequestRefusedError(422, "request", MISFIT)
            answered: Response = await self.endpoint(read.validate_json(await request.body()), request)
            return answered

        return answer


class Service:
    """The handlers of all routes.

    Args:
        releaser: Releases what is paid for.
        limits: What may be asked for.
    """

    def __init__(self, releaser: Releaser, limits: Limits) -> None:
        self.releaser, self.ledger, self.limits = releaser, releaser.ledger, limits
        self.metrics = Metrics()
        self._callers = Callers(self.ledger)
        self._looking: dict[str, asyncio.Task[Caller | None]] = {}
        self._buckets = Buckets(limits.rate, limits.burst)
        self._desk = Desk(releaser)
        self._workers: anyio.CapacityLimiter | None = None

    async def work(self, task: Callable[[], T]) -> T:
        """Run in a worker thread, of which there are only so many."""
        self._workers = self._workers or anyio.CapacityLimiter(self.limits.workers)
        done: T = await anyio.to_thread.run_sync(task, limiter=self._workers, abandon_on_cancel=True)
        return done

    async def caller(self, scope: str, request: Request) -> Caller:
        """Return whose request this is.

        Raises:
            RequestRefusedError: If it is nobody's, its key is not for this, or it asks too often.
        """
        kind, _, bearer = request.headers.get("authorization", "").partition(" ")
        key = bearer.strip() if kind.lower() == "bearer" else request.headers.get("x-api-key", "")
        found = self._callers.known(key) or await self._looked_up(key)
        if found is None:
            raise unauthenticated()
        if scope not in found.scopes:
            raise RequestRefusedError(403, "forbidden", f"This key is not for the scope {scope}.")
        if not self._buckets.take(found.id):
            raise RequestRefusedError(429, "too-many", "This key asks too often; wait a second.")
        return found

    async def _looked_up(self, key: str) -> Caller | None:
        """Look a key up once for all who wait for it."""
        if key not in self._looking:
            self._looking[key] = asyncio.create_task(self.work(partial(self._callers.find, key)))
            self._looking[key].add_done_callback(lambda _: self._looking.pop(key))
        return await asyncio.shield(self._looking[key])

    async def sanitize(self, asked: TextRequest, request: Request) -> Response:
        """Release one text."""
        return await self._answered([asked.text], asked, request)

    async def sanitize_batch(self, asked: BatchRequest, request: Request) -> Response:
        """Release texts together: all are paid for, or none is released."""
        return await self._answered(asked.texts, asked, request)

    async def _answered(self, texts: list[str], how: Any, request: Request) -> Response:
        caller, retry = await self.caller("release", request), request.headers.get("idempotency-key")
        if retry is not None and not 1 <= len(retry) <= LONGEST_RETRY:
            raise RequestRefusedError(422, "request", MISFIT)
        answer = await self._released(Asked(texts=texts, how=how, caller=caller, retry=retry))
        return Response(ANSWER.dump_json(answer), media_type="application/json")

    async def _released(self, asked: Asked) -> ReleaseAnswer:
        if self.releaser.soon_done(asked):
            answer = await self._desk.release(asked)
        else:
            (counted,) = await self.work(partial(self.releaser.count, [asked]))
            charged = await self._desk.charge(counted)
            (answer,) = await self.work(partial(self.releaser.draw, [(counted, charged)]))
        self.metrics.tokens.inc(answer.tokens)
        return answer

    async def rephrase(self, asked: RephraseRequest, request: Request) -> Response:
        """Release public sentences in the place of the texts' own; the promise is per sentence."""
        return await self._answered(asked.texts, asked, request)

    async def denoise(self, asked: DenoiseRequest, request: Request) -> DenoiseAnswer:
        """Read what a release of this service may have said; nothing is charged, and a private text is refused."""
        await self.caller("release", request)
        return await self.work(partial(self.releaser.denoised, asked))

    async def sanitize_stream(self, request: Request) -> StreamingResponse:
        """Release one text a line of NDJSON, each paid for by itself; a line that fails is answered by its error."""
        caller = await self._fresh_only(request)
        lines = (await request.body()).splitlines()
        return StreamingResponse(self._lines(lines, caller), media_type="application/x-ndjson")

    async def _fresh_only(self, request: Request) -> Caller:
        """Return whose request this is; what is drawn afresh every time takes no idempotency key."""
        if "idempotency-key" in request.headers:
            raise RequestRefusedError(
                422, "idempotency-key", "This route draws afresh every time and takes no idempotency key."
            )
        return await self.caller("release", request)

    async def _lines(self, lines: list[bytes], caller: Caller) -> AsyncIterator[bytes]:
        read = TypeAdapter(TextRequest)
        for line in lines:
            if line.strip():
                yield await self._line(line, read, caller)

    async def _line(self, line: bytes, read: Any, caller: Caller) -> bytes:
        try:
            asked = read.validate_json(line)
            answer = asdict(await self._released(Asked(texts=[asked.text], how=asked, caller=caller)))
        except (ValidationError, WordveilError, SQLAlchemyError) as error:
            answer = {"error": asdict(told(error)[1])}
            if isinstance(error, BudgetSpentError):
                self.metrics.refused.inc()
        return json.dumps(answer).encode() + b"\n"

    async def vectors(self, asked: VectorsRequest, request: Request) -> VectorsAnswer:
        """Release vectors, each row with noise of its own."""
        caller = await self._fresh_only(request)
        return await self.work(partial(self.releaser.vectors, asked, caller))

    async def explain(self, asked: ExplainRequest, request: Request) -> dict[str, Any]:
        """Explain what a setting promises, in plain words, on public words."""
        await self.caller("release", request)
        found = await self.work(partial(self.releaser.explained, asked))
        return {
            "guarantee": found.guarantee.as_dict(),
            "how": found.procedure,
            "examples": found.examples,
            "advice": found.advice,
            "text_loss": found.text_loss,
        }

    async def hides_among(self, asked: HidesRequest, request: Request) -> HidesAmong:
        """Show what may be released for words: the list or crowd that each hides among, with chances."""
        await self.caller("release", request)
        return await self.work(partial(self.releaser.hides_among, asked))

    async def mechanisms(self, request: Request) -> list[dict[str, Any]]:
        """List the mechanisms with their parameters."""
        await self.caller("release", request)
        return self.releaser.mechanisms()

    async def vocabularies(self, request: Request) -> dict[str, dict[str, Any]]:
        """List the vocabularies with size and checksum."""
        await self.caller("release", request)
        return {
            name: {"vocabulary": table.header.name, "words": len(table), "checksum": table.checksum_in_use}
            for name, table in self.releaser.vocabularies.items()
        }

    async def budgets(
        self,
        account: Annotated[str, PathParameter(pattern=r"^(subject|key):[A-Za-z0-9_.@+-]{1,128}$")],
        request: Request,
    ) -> list[dict[str, Any]]:
        """Show the budgets of an account, one a promise: what was granted, spent and is left."""
        await self.caller("read", request)
        return [asdict(balance) for balance in await self.work(partial(self.ledger.balances, account))]

    async def guardrail(self, asked: GuardrailRequest, request: Request) -> GuardrailAnswer:
        """Stand between a gateway and a language model (LiteLLM's Generic Guardrail API).

        A request's texts are released; what comes back was made from released text alone and passes. Pictures, tool
        calls, names and whatever else of a message is not sanitized are blocked, and so is everything that fails.
        """
        caller = await self.caller("release", request)
        if asked.input_type == "response":
            return GuardrailAnswer(action="NONE")
        if asked.images or asked.tool_calls or not only_texts(asked.structured_messages or [], {*asked.texts}):
            raise RequestRefusedError(
                422, "not-sanitized", "Only a role and texts are sanitized, nothing else of a message."
            )
        if not asked.texts:
            return GuardrailAnswer(action="NONE")
        named = [value for field in SUBJECT_FIELDS if (value := (asked.request_data or {}).get(field))]
        # Checked as a request of ours, the subject's name too; a call may come in several requests, each its own.
        batch = TypeAdapter(BatchRequest).validate_python({"texts": asked.texts, "subject": (named or [None])[0]})
        retry = None if asked.litellm_call_id is None else json.dumps([asked.litellm_call_id, asked.texts])
        answer = await self._released(Asked(texts=batch.texts, how=batch, caller=caller, retry=retry))
        return GuardrailAnswer(action="GUARDRAIL_INTERVENED", texts=answer.texts)

    async def health(self) -> dict[str, str]:
        """Whether the process answers."""
        return {"status": "ok", "version": __version__}

    async def ready(self) -> dict[str, str]:
        """Whether the ledger answers, so that releases can be paid for."""

        def ask() -> None:
            with self.ledger.engine.connect() as connection:
                connection.execute(text("SELECT 1"))

        await self.work(ask)
        return {"status": "ready"}

    async def metrics_page(self, request: Request) -> Response:
        """Counts and times for Prometheus."""
        await self.caller("read", request)
        return Response(generate_latest(self.metrics.registry), media_type=CONTENT_TYPE_LATEST)

    async def failed(self, request: Request, error: Exception) -> Response:
        """Answer an error that we know."""
        if isinstance(error, BudgetSpentError):
            self.metrics.refused.inc()
        status, body = error_body(request.url.path, *told(error))
        return Response(body, status, media_type="application/json")


def _header(name: str, description: str, **schema: Any) -> dict[str, Any]:
    return {
        "name": name,
        "in": "header",
        "required": False,
        "description": description,
        "schema": {"type": "string", **schema},
    }


KEY = (
    _header("authorization", "Bearer wv_..."),
    _header("x-api-key", "The same without Bearer, as LiteLLM sends it."),
)
RETRY = _header(
    "idempotency-key",
    "Under one key the same request is charged and drawn once.",
    minLength=1,
    maxLength=LONGEST_RETRY,
)
NO_RETRY = _header("idempotency-key", "Refused: what is released here is drawn afresh every time.")
STATUSES: dict[int | str, dict[str, Any]] = {
    402: {"description": "A budget is spent; nothing was released."},
    **{status: {"description": "Refused; nothing was released."} for status in (401, 403, 409, 413, 422, 429)},
    **{status: {"description": "Failed."} for status in (500, 503, 504)},
}


def build_app(releaser: Releaser, limits: Limits | None = None) -> Any:
    """Return the ASGI application."""
    limits = limits or Limits()
    service = Service(releaser, limits)
    app = FastAPI(title="wordveil", version=__version__, docs_url=None, redoc_url=None, redirect_slashes=False)
    for error in KNOWN:
        app.add_exception_handler(error, cast(Any, service.failed))
    post, get, released = ["POST"], ["GET"], {"response_model": ReleaseAnswer, "route_class_override": Direct}
    lines = {"requestBody": {"required": True, "content": {"application/x-ndjson": {"schema": {"type": "string"}}}}}
    for path, handler, methods, headers, more in (
        ("/v1/sanitize", service.sanitize, post, (*KEY, RETRY), released),
        ("/v1/sanitize/batch", service.sanitize_batch, post, (*KEY, RETRY), released),
        ("/v1/sanitize/stream", service.sanitize_stream, post, (*KEY, NO_RETRY), {"response_class": StreamingResponse}),
        ("/v1/rephrase", service.rephrase, post, (*KEY, RETRY), released),
        ("/v1/denoise", service.denoise, post, KEY, {}),
        ("/v1/vectors", service.vectors, post, (*KEY, NO_RETRY), {}),
        ("/v1/explain", service.explain, post, KEY, {}),
        ("/v1/hides-among", service.hides_among, post, KEY, {}),
        ("/v1/mechanisms", service.mechanisms, get, KEY, {}),
        ("/v1/vocabularies", service.vocabularies, get, KEY, {}),
        ("/v1/budgets/{account}", service.budgets, get, KEY, {}),
        (GUARDRAIL_PATH, service.guardrail, post, KEY, {}),
        ("/metrics", service.metrics_page, get, KEY, {}),
        ("/health", service.health, get, (), {}),
        ("/ready", service.ready, get, (), {}),
    ):
        extra = {"parameters": [*headers]} | (lines if "response_class" in more else {})
        app.router.add_api_route(path, handler, methods=methods, responses=STATUSES, openapi_extra=extra, **more)
    if STATIC.is_dir():
        app.mount("/", StaticFiles(directory=STATIC, html=True))
    return Guard(app, limits, seen=service.metrics.seen)
