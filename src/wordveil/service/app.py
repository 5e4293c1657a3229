"""The routes. Thin: each checks whose key it is, calls `Releaser` or `Ledger` in a worker thread, and answers."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Annotated, Any, TypeVar, cast

import anyio
from fastapi import FastAPI, Header, Request, Response
from fastapi import Path as PathParameter
from fastapi.exceptions import RequestValidationError
from fastapi.responses import StreamingResponse
from fastapi.staticfiles import StaticFiles
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Counter, Histogram, generate_latest
from pydantic import TypeAdapter, ValidationError
from sqlalchemy import text
from sqlalchemy.exc import SQLAlchemyError
from starlette.exceptions import HTTPException

from wordveil import __version__
from wordveil.denoising.denoiser import UnreadableReleaseError
from wordveil.errors import GuaranteeError, ParameterError, WordveilError
from wordveil.names import DEFAULT_MECHANISM
from wordveil.service.access import Buckets, Caller, Callers
from wordveil.service.charges import BudgetSpentError, Charge, Charged, KeyRevokedError, RetryError
from wordveil.service.guarding import GUARDRAIL_PATH, Guard, Limits, error_body, only_texts
from wordveil.service.messages import (
    BatchRequest,
    DenoiseAnswer,
    DenoiseRequest,
    Error,
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
from wordveil.service.releasing import Releaser

__all__ = ["Limits", "build_app"]

SHORT = 2000  # characters
STATIC = Path(__file__).parent / "static"
UNAUTHENTICATED = "Send a key of this service: Authorization: Bearer wv_..."
SUBJECT_FIELDS = ("user_api_key_end_user_id", "user_api_key_user_id")

T = TypeVar("T")
Bearer = Annotated[str | None, Header(description="Bearer wv_...")]
ApiKey = Annotated[str | None, Header(description="The same without Bearer, as LiteLLM sends it.")]
Retry = Annotated[
    str | None,
    Header(min_length=1, max_length=200, description="Under one key the same request is charged and drawn once."),
]
NoRetry = Annotated[str | None, Header(description="Refused: what is released here is drawn afresh every time.")]


class RequestRefusedError(WordveilError):
    """A request is refused before anything is done for it."""

    def __init__(self, status: int, code: str, message: str) -> None:
        self.status, self.code = status, code
        super().__init__(message)


class Metrics:
    """Counts for Prometheus; labels are routes and statuses, never anything that was sent."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        of_ours = {"registry": self.registry, "namespace": "wordveil"}
        self.requests = Counter("requests", "Requests by route and status.", ["route", "status"], **of_ours)
        self.seconds = Histogram("request_seconds", "Seconds of a request.", ["route"], **of_ours)
        self.tokens = Counter("tokens_released", "Tokens released, repetitions included.", **of_ours)
        self.refused = Counter("releases_refused", "Releases refused because a budget is spent.", **of_ours)

    def seen(self, route: str, status: int, seconds: float) -> None:
        """Count one request."""
        self.requests.labels(route, str(status)).inc()
        self.seconds.labels(route).observe(seconds)


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
        self._buckets = Buckets(limits.rate, limits.burst)
        self._charges: list[tuple[Charge, asyncio.Future[Charged]]] = []
        self._teller: asyncio.Task[None] | None = None
        self._workers: anyio.CapacityLimiter | None = None

    async def work(self, task: Callable[[], T]) -> T:
        """Run in a worker thread, of which there are only so many."""
        self._workers = self._workers or anyio.CapacityLimiter(self.limits.workers)
        done: T = await anyio.to_thread.run_sync(task, limiter=self._workers, abandon_on_cancel=True)
        return done

    async def charged(self, charge: Charge) -> Charged:
        """Charge, together with all that waits for the disk at this moment."""
        answer: asyncio.Future[Charged] = asyncio.get_running_loop().create_future()
        self._charges.append((charge, answer))
        if self._teller is None or self._teller.done():
            self._teller = asyncio.create_task(self._tell())
        return await answer

    async def _tell(self) -> None:
        while self._charges:
            group, self._charges = self._charges, []
            try:
                outcomes = await asyncio.to_thread(self.ledger.charge_all, [charge for charge, _ in group])
            except Exception as error:  # noqa: BLE001 - raised where each of them waits
                outcomes = [error] * len(group)
            for (_, answer), outcome in zip(group, outcomes, strict=True):
                if answer.cancelled():
                    continue  # nobody waits any more; the charge stands
                if isinstance(outcome, Exception):
                    answer.set_exception(outcome)
                else:
                    answer.set_result(outcome)

    async def caller(self, scope: str, authorization: str | None, x_api_key: str | None) -> Caller:
        """Return whose request this is.

        Raises:
            RequestRefusedError: If it is nobody's, its key is not for this, or it asks too often.
        """
        kind, _, bearer = (authorization or "").partition(" ")
        key = bearer.strip() if kind.lower() == "bearer" else x_api_key or ""
        found = self._callers.known(key) or await self.work(partial(self._callers.find, key))
        if found is None:
            raise RequestRefusedError(401, "unauthenticated", UNAUTHENTICATED)
        if scope not in found.scopes:
            raise RequestRefusedError(403, "forbidden", f"This key is not for the scope {scope}.")
        if not self._buckets.take(found.id):
            raise RequestRefusedError(429, "too-many", "This key asks too often; wait a second.")
        return found

    async def sanitize(
        self, asked: TextRequest, authorization: Bearer = None, x_api_key: ApiKey = None, idempotency_key: Retry = None
    ) -> ReleaseAnswer:
        """Release one text."""
        caller = await self.caller("release", authorization, x_api_key)
        return await self._released([asked.text], asked, caller, idempotency_key)

    async def sanitize_batch(
        self, asked: BatchRequest, authorization: Bearer = None, x_api_key: ApiKey = None, idempotency_key: Retry = None
    ) -> ReleaseAnswer:
        """Release texts together: all are paid for, or none is released."""
        caller = await self.caller("release", authorization, x_api_key)
        return await self._released(asked.texts, asked, caller, idempotency_key)

    async def _released(self, texts: list[str], asked: Any, caller: Caller, retry: str | None) -> ReleaseAnswer:
        begin = partial(self.releaser.begin, texts, asked, caller, retry=retry)
        # A thread for each short text would take longer than the text.
        short = sum(map(len, texts)) <= SHORT and self.releaser.made(asked) and asked.mechanism == DEFAULT_MECHANISM
        charge, draw = begin() if short else await self.work(begin)
        charged = await self.charged(charge)
        answer: ReleaseAnswer = draw(charged) if short else await self.work(partial(draw, charged))
        self.metrics.tokens.inc(answer.tokens)
        return answer

    async def rephrase(
        self,
        asked: RephraseRequest,
        authorization: Bearer = None,
        x_api_key: ApiKey = None,
        idempotency_key: Retry = None,
    ) -> ReleaseAnswer:
        """Release public sentences in the place of the texts' own; the promise is per sentence."""
        caller = await self.caller("release", authorization, x_api_key)
        return await self._released(asked.texts, asked, caller, idempotency_key)

    async def denoise(
        self, asked: DenoiseRequest, authorization: Bearer = None, x_api_key: ApiKey = None
    ) -> DenoiseAnswer:
        """Read what a release of this service may have said; nothing is charged, and a private text is refused."""
        await self.caller("release", authorization, x_api_key)
        return await self.work(partial(self.releaser.denoised, asked))

    async def sanitize_stream(
        self,
        request: Request,
        authorization: Bearer = None,
        x_api_key: ApiKey = None,
        idempotency_key: NoRetry = None,
    ) -> StreamingResponse:
        """Release one text a line of NDJSON, each paid for by itself; a line that fails is answered by its error."""
        _refuse_retry(idempotency_key)
        caller = await self.caller("release", authorization, x_api_key)
        lines = (await request.body()).splitlines()
        return StreamingResponse(self._lines(lines, caller), media_type="application/x-ndjson")

    async def _lines(self, lines: list[bytes], caller: Caller) -> AsyncIterator[bytes]:
        read = TypeAdapter(TextRequest)
        for line in lines:
            if line.strip():
                yield await self._line(line, read, caller)

    async def _line(self, line: bytes, read: Any, caller: Caller) -> bytes:
        try:
            asked = read.validate_json(line)
            answer = asdict(await self._released([asked.text], asked, caller, None))
        except (ValidationError, WordveilError, SQLAlchemyError) as error:
            answer = {"error": asdict(_told(error)[1])}
            if isinstance(error, BudgetSpentError):
                self.metrics.refused.inc()
        return json.dumps(answer).encode() + b"\n"

    async def vectors(
        self,
        asked: VectorsRequest,
        authorization: Bearer = None,
        x_api_key: ApiKey = None,
        idempotency_key: NoRetry = None,
    ) -> VectorsAnswer:
        """Release vectors, each row with noise of its own."""
        _refuse_retry(idempotency_key)
        caller = await self.caller("release", authorization, x_api_key)
        return await self.work(partial(self.releaser.vectors, asked, caller))

    async def explain(
        self, asked: ExplainRequest, authorization: Bearer = None, x_api_key: ApiKey = None
    ) -> dict[str, Any]:
        """Explain what a setting promises, in plain words, on public words."""
        await self.caller("release", authorization, x_api_key)
        found = await self.work(partial(self.releaser.explained, asked))
        return {
            "guarantee": found.guarantee.as_dict(),
            "how": found.procedure,
            "examples": found.examples,
            "advice": found.advice,
            "text_loss": found.text_loss,
        }

    async def hides_among(
        self, asked: HidesRequest, authorization: Bearer = None, x_api_key: ApiKey = None
    ) -> HidesAmong:
        """Show what may be released for words: the list or crowd that each hides among, with chances."""
        await self.caller("release", authorization, x_api_key)
        return await self.work(partial(self.releaser.hides_among, asked))

    async def mechanisms(self, authorization: Bearer = None, x_api_key: ApiKey = None) -> list[dict[str, Any]]:
        """List the mechanisms with their parameters."""
        await self.caller("release", authorization, x_api_key)
        return self.releaser.mechanisms()

    async def vocabularies(self, authorization: Bearer = None, x_api_key: ApiKey = None) -> dict[str, dict[str, Any]]:
        """List the vocabularies with size and checksum."""
        await self.caller("release", authorization, x_api_key)
        return {
            name: {"vocabulary": table.header.name, "words": len(table), "checksum": table.header.checksum}
            for name, table in self.releaser.vocabularies.items()
        }

    async def budgets(
        self,
        account: Annotated[str, PathParameter(pattern=r"^(subject|key):[A-Za-z0-9_.@+-]{1,128}$")],
        authorization: Bearer = None,
        x_api_key: ApiKey = None,
    ) -> list[dict[str, Any]]:
        """Show the budgets of an account, one a promise: what was granted, spent and is left."""
        await self.caller("read", authorization, x_api_key)
        return [asdict(balance) for balance in await self.work(partial(self.ledger.balances, account))]

    async def guardrail(
        self, asked: GuardrailRequest, authorization: Bearer = None, x_api_key: ApiKey = None
    ) -> GuardrailAnswer:
        """Stand between a gateway and a language model (LiteLLM's Generic Guardrail API).

        A request's texts are released; what comes back was made from released text alone and passes. Pictures, tool
        calls, names and whatever else of a message is not sanitized are blocked, and so is everything that fails.
        """
        caller = await self.caller("release", authorization, x_api_key)
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
        answer = await self._released(batch.texts, batch, caller, retry)
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

    async def metrics_page(self, authorization: Bearer = None, x_api_key: ApiKey = None) -> Response:
        """Counts and times for Prometheus."""
        await self.caller("read", authorization, x_api_key)
        return Response(generate_latest(self.metrics.registry), media_type=CONTENT_TYPE_LATEST)

    async def failed(self, request: Request, error: Exception) -> Response:
        """Answer an error that we know."""
        if isinstance(error, BudgetSpentError):
            self.metrics.refused.inc()
        status, body = error_body(request.url.path, *_told(error))
        return Response(body, status, media_type="application/json")


def _refuse_retry(key: str | None) -> None:
    if key is not None:
        raise RequestRefusedError(
            422, "idempotency-key", "This route draws afresh every time and takes no idempotency key."
        )


def _told(error: Exception) -> tuple[int, Error]:
    """Return status and error of an exception, without any value that was sent."""
    if isinstance(error, BudgetSpentError):
        message = "The budget is spent; nothing was released."
        return 402, Error(code="budget-spent", message=message, account=error.account, left=error.left)
    if isinstance(error, RequestRefusedError):
        return error.status, Error(code=error.code, message=str(error))
    if isinstance(error, KeyRevokedError):
        return 401, Error(code="unauthenticated", message=UNAUTHENTICATED)
    if isinstance(error, RetryError):
        return 409, Error(code="idempotency-key", message=str(error))
    if isinstance(error, ParameterError):
        return 422, Error(code="parameter", message=f"{error.name} {error.requirement}")
    if isinstance(error, GuaranteeError):
        return 422, Error(code="guarantee", message=str(error))
    if isinstance(error, SQLAlchemyError):
        return 503, Error(code="ledger", message="The ledger does not answer; nothing was released.")
    if isinstance(error, HTTPException) and error.status_code in (404, 405):
        return error.status_code, Error(code="route", message="There is nothing at this address.")
    if isinstance(error, RequestValidationError | ValidationError | HTTPException):
        return 422, Error(code="request", message="The request does not fit the schema at /openapi.json.")
    if isinstance(error, UnreadableReleaseError):  # speaks of public text alone
        return 422, Error(code="unreadable", message=str(error))
    if isinstance(error, WordveilError):
        return 422, Error(code="setting", message="This setting cannot be used here.")
    return 500, Error(code="internal", message="The service failed; nothing is released.")


KNOWN = (WordveilError, SQLAlchemyError, RequestValidationError, ValidationError, HTTPException, Exception)
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
    for path, handler, method in (
        ("/v1/sanitize", service.sanitize, "POST"),
        ("/v1/sanitize/batch", service.sanitize_batch, "POST"),
        ("/v1/rephrase", service.rephrase, "POST"),
        ("/v1/denoise", service.denoise, "POST"),
        ("/v1/vectors", service.vectors, "POST"),
        ("/v1/explain", service.explain, "POST"),
        ("/v1/hides-among", service.hides_among, "POST"),
        ("/v1/mechanisms", service.mechanisms, "GET"),
        ("/v1/vocabularies", service.vocabularies, "GET"),
        ("/v1/budgets/{account}", service.budgets, "GET"),
        (GUARDRAIL_PATH, service.guardrail, "POST"),
        ("/health", service.health, "GET"),
        ("/ready", service.ready, "GET"),
    ):
        app.add_api_route(path, handler, methods=[method], responses=STATUSES)
    body = {"requestBody": {"required": True, "content": {"application/x-ndjson": {"schema": {"type": "string"}}}}}
    streamed = {"response_class": StreamingResponse, "responses": STATUSES, "openapi_extra": body}
    app.add_api_route("/v1/sanitize/stream", service.sanitize_stream, methods=["POST"], **streamed)
    app.add_api_route("/metrics", service.metrics_page, methods=["GET"], responses=STATUSES)
    if STATIC.is_dir():
        app.mount("/", StaticFiles(directory=STATIC, html=True))
    return Guard(app, limits, seen=service.metrics.seen)
