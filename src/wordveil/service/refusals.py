"""What every error is answered with: of one shape, and without any value that was sent."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any

from fastapi.exceptions import RequestValidationError
from pydantic import ValidationError
from sqlalchemy.exc import SQLAlchemyError
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

from wordveil.denoising.denoiser import UnreadableReleaseError
from wordveil.errors import GuaranteeError, ParameterError, TooLittleKeptError, WordveilError
from wordveil.service import messages
from wordveil.service.charges import BudgetSpentError, KeyRevokedError, RetryError
from wordveil.service.messages import Error

UNAUTHENTICATED = "Send a key of this service: Authorization: Bearer wv_..."
MISFIT = "The request does not fit the schema at /openapi.json."
_LATE = (
    "The request took too long and may be charged. Under the same Idempotency-Key and nonce it is not charged twice."
)
KNOWN = (
    WordveilError,
    ClientDisconnect,
    SQLAlchemyError,
    RequestValidationError,
    ValidationError,
    HTTPException,
    Exception,
)
NOTHING_DRAWN = "This setting redacts: nothing is drawn or charged. Ask without Idempotency-Key and Idempotency-Nonce."


_KINDS = (kind for kind in vars(messages).values() if isinstance(kind, type) and is_dataclass(kind))
_MEMBERS = {field.name for kind in _KINDS for field in fields(kind)}


class RequestRefusedError(WordveilError):
    """A request is refused before anything is done for it."""

    def __init__(self, status: int, code: str, message: str) -> None:
        self.status, self.code = status, code
        super().__init__(message)


_ANSWERS: tuple[tuple[Any, int, str, str], ...] = (
    (KeyRevokedError, 401, "unauthenticated", UNAUTHENTICATED),
    (RetryError, 409, "idempotency-key", ""),
    (GuaranteeError, 422, "guarantee", ""),
    (UnreadableReleaseError, 422, "unreadable", ""),
    (TooLittleKeptError, 422, "language", ""),
    (TimeoutError, 504, "timeout", _LATE),
    (SQLAlchemyError, 503, "ledger", "The ledger does not answer; nothing was released."),
    (RequestValidationError | ValidationError | HTTPException, 422, "request", MISFIT),
    (ClientDisconnect, 400, "request", "The request did not come whole."),
    (WordveilError, 422, "setting", "This setting cannot be used here."),
    (Exception, 500, "internal", "The service failed; nothing is released."),
)
"""What kinds of errors are answered with; where a message is empty, the error's own words, which are public."""


def _misfit(error: RequestValidationError | ValidationError) -> str:
    """Return what is wrong with a body by the names that the schema has: others would be an echo of what was sent."""
    first = error.errors()[0]
    field = str(first["loc"][-1]) if first["loc"] else ""
    if first["type"] == "json_invalid":
        return "The body is no JSON."
    if first["type"] == "missing":
        return f"The member {field} is missing."
    if first["type"] in ("extra_forbidden", "unexpected_keyword_argument"):
        return "A member has a name that this address does not know."
    return f"The member {field} is of another kind." if field in _MEMBERS else "A value is of another kind."


def told(error: Exception) -> tuple[int, Error]:
    """Return status and error of an exception, without any value that was sent."""
    if isinstance(error, BudgetSpentError):
        message = f"Nothing was released: it costs {error.cost} nats, and {error.left} are left in this budget."
        return 402, Error(code="budget-spent", message=message, account=error.account, left=error.left)
    if isinstance(error, RequestRefusedError):
        return error.status, Error(code=error.code, message=str(error))
    if isinstance(error, ParameterError):
        return 422, Error(code="parameter", message=f"{error.name} {error.requirement}")
    if isinstance(error, HTTPException) and error.status_code in (404, 405):
        return error.status_code, Error(code="route", message="There is nothing at this address.")
    if isinstance(error, RequestValidationError | ValidationError):
        return 422, Error(code="request", message=f"{_misfit(error)} {MISFIT}")
    _, status, code, message = next(answer for answer in _ANSWERS if isinstance(error, answer[0]))
    return status, Error(code=code, message=message or str(error))
