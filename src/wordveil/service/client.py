"""A typed client of the service; it gives back what the service answers, and raises what it refuses."""

from __future__ import annotations

import secrets
from dataclasses import asdict
from typing import Any

import httpx

from wordveil.errors import WordveilError
from wordveil.service.messages import (
    BatchRequest,
    DenoiseAnswer,
    DenoiseRequest,
    Error,
    HidesAmong,
    HidesRequest,
    ReleaseAnswer,
    TextRequest,
)

__all__ = ["Client", "ServiceError"]


class ServiceError(WordveilError):
    """The service refused or failed.

    Attributes:
        status: HTTP status.
        error: Code and message, and for a spent budget the account and what it has left.
    """

    def __init__(self, status: int, error: Error) -> None:
        self.status, self.error = status, error
        left = "" if error.account is None else f" ({error.account} has {error.left} nats left)"
        super().__init__(f"{error.message}{left}")


class Client:
    """Speaks to a service.

    Args:
        address: Of the service, such as "http://127.0.0.1:8080".
        key: An API key of it.
        nonce: What tells repeats of this client from those of others with the key, at least 16 characters; random
            unless given. Keep one, as you keep the key, where repeats are to outlive the process.
        timeout: Seconds to wait.
    """

    def __init__(self, address: str, key: str, *, nonce: str | None = None, timeout: float = 60.0) -> None:
        headers = {"authorization": f"Bearer {key}"}
        self._nonce = nonce or secrets.token_hex(16)
        self._http = httpx.Client(base_url=address, headers=headers, timeout=timeout)

    def sanitize(self, asked: TextRequest, *, idempotency_key: str | None = None) -> ReleaseAnswer:
        """Release one text; under an idempotency key, asking again gives the same release and costs nothing."""
        return ReleaseAnswer(**self._post("/v1/sanitize", asked, idempotency_key))

    def sanitize_batch(self, asked: BatchRequest, *, idempotency_key: str | None = None) -> ReleaseAnswer:
        """Release texts together: all are paid for, or none is released."""
        return ReleaseAnswer(**self._post("/v1/sanitize/batch", asked, idempotency_key))

    def denoise(self, asked: DenoiseRequest) -> DenoiseAnswer:
        """Ask what a release may have said; nothing is charged."""
        return DenoiseAnswer(**self._post("/v1/denoise", asked))

    def hides_among(self, asked: HidesRequest) -> HidesAmong:
        """Ask for what may be released for words."""
        return HidesAmong(**self._post("/v1/hides-among", asked))

    def settings(self) -> list[dict[str, Any]]:
        """Ask for the settings that are open."""
        listed: list[dict[str, Any]] = _checked(self._http.get("/v1/settings")).json()
        return listed

    def budgets(self, account: str) -> list[dict[str, Any]]:
        """Ask for the budgets of an account."""
        found: list[dict[str, Any]] = _checked(self._http.get(f"/v1/budgets/{account}")).json()
        return found

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def _post(self, path: str, asked: Any, retry: str | None = None) -> dict[str, Any]:
        headers = {} if retry is None else {"idempotency-key": retry, "idempotency-nonce": self._nonce}
        said: dict[str, Any] = _checked(self._http.post(path, json=asdict(asked), headers=headers)).json()
        return said


def _checked(answer: httpx.Response) -> httpx.Response:
    if answer.status_code != httpx.codes.OK:
        try:
            error = Error(**answer.json()["error"])
        except (ValueError, KeyError, TypeError):
            error = Error(code="unknown", message=f"The service answered {answer.status_code}.")
        raise ServiceError(answer.status_code, error)
    return answer
