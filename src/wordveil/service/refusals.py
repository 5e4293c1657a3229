"""What every error is answered with: of one shape, and without any value that was sent."""

from __future__ import annotations

from fastapi.exceptions import RequestValidationError
from pydantic import ValidationError
from sqlalchemy.exc import SQLAlchemyError
from starlette.exceptions import HTTPException

from wordveil.denoising.denoiser import UnreadableReleaseError
from wordveil.errors import GuaranteeError, ParameterError, WordveilError
from wordveil.service.charges import BudgetSpentError, KeyRevokedError, RetryError
from wordveil.service.messages import Error

__all__ = ["KNOWN", "MISFIT", "RequestRefusedError", "told", "unauthenticated"]

UNAUTHENTICATED = "Send a key of this service: Authorization: Bearer wv_..."
MISFIT = "The request does not fit the schema at /openapi.json."
KNOWN = (WordveilError, SQLAlchemyError, RequestValidationError, ValidationError, HTTPException, Exception)


class RequestRefusedError(WordveilError):
    """A request is refused before anything is done for it."""

    def __init__(self, status: int, code: str, message: str) -> None:
        self.status, self.code = status, code
        super().__init__(message)


def unauthenticated() -> RequestRefusedError:
    """Return why a request of nobody's is refused."""
    return RequestRefusedError(401, "unauthenticated", UNAUTHENTICATED)


def told(error: Exception) -> tuple[int, Error]:
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
        return 422, Error(code="request", message=MISFIT)
    if isinstance(error, UnreadableReleaseError):  # speaks of public text alone
        return 422, Error(code="unreadable", message=str(error))
    if isinstance(error, WordveilError):
        return 422, Error(code="setting", message="This setting cannot be used here.")
    return 500, Error(code="internal", message="The service failed; nothing is released.")
