"""A model behind an OpenAI-compatible endpoint: sentences weighed by the log-probabilities of `/completions`.

It is sent guesses at a release, words of the vocabulary and nothing else, and public sentences for the trial: what is
private never reached a denoiser. Every text is scored whole (`echo`, `logprobs`), in any pieces.
"""

from __future__ import annotations

import hashlib
import http.client
import json
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import numpy as np

from wordveil.arrays import Float64Array
from wordveil.denoising.context import ContextModel, SentenceScorer, Speller
from wordveil.errors import ParameterError, WordveilError

__all__ = ["KEY", "EndpointError", "open_endpoint"]

KEY = "WORDVEIL_PRIOR_KEY"
"""Name of the environment variable with the endpoint's key, if it asks for one."""

TEXTS = 64  # in one request
TIMEOUT, TRIES, PAUSE = 60.0, 4, 0.5  # seconds; the pause doubles with every try
LEAST = -100.0  # some servers write minus infinity
OPENING = "\n"  # stands before every text: of its first token an endpoint tells no probability
_ROUNDING = 1e-3  # by which a logarithm of a probability may come out above 0
_BUSY = (408, 409, 429, *range(500, 600))


class EndpointError(WordveilError):
    """An endpoint did not answer, refused, or does not tell what is asked."""


def open_endpoint(url: str, speller: Speller) -> ContextModel:
    """Return the model of an endpoint.

    Args:
        url: As in http://localhost:8000/v1#name; without a name, the first model that it lists.
        speller: Spells the vocabulary.

    Raises:
        EndpointError: If it cannot be reached.
        ParameterError: If this is no address of a server, or tells a password.
    """
    try:
        parts = urlsplit(url)
        sound = parts.scheme in ("http", "https") and parts.hostname and (parts.port or True)
    except ValueError:
        sound = None
    if not sound or parts.username or parts.password or parts.query or any(map(str.isspace, url)):
        requirement = f"must be as in http://localhost:8000/v1#model; a key goes into the variable {KEY}."
        raise ParameterError("prior", "<address>", requirement)
    endpoint = _Endpoint(parts.scheme, parts.netloc, parts.path.rstrip("/"), os.environ.get(KEY, ""))
    model = parts.fragment or endpoint.first_model()
    digest = hashlib.sha256(f"{parts.scheme}://{parts.netloc}{parts.path} {model}".encode()).hexdigest()
    return SentenceScorer(lambda texts: endpoint.logs(model, texts), speller, checksum=digest)


@dataclass(frozen=True)
class _Endpoint:
    scheme: str
    host: str
    path: str
    key: str = field(repr=False)

    def first_model(self) -> str:
        try:
            return str(self._asked("GET", "/models")["data"][0]["id"])
        except (KeyError, IndexError, TypeError):
            raise EndpointError(f"{self.host} lists no model; name one behind its address, as in #name.") from None

    def logs(self, model: str, texts: Sequence[str]) -> Float64Array:
        """Return ln P of each text, shape (n,)."""
        found: list[float] = []
        for start in range(0, len(texts), TEXTS):
            prompts = [OPENING + text for text in texts[start : start + TEXTS]]
            # One token is asked for, as some servers take 0 for "no limit"; it does not count.
            asked = {"model": model, "prompt": prompts, "echo": True, "logprobs": 1, "max_tokens": 1, "temperature": 0}
            answer = self._asked("POST", "/completions", asked)
            try:
                choices = sorted(answer["choices"], key=lambda choice: choice["index"])
                if [choice["index"] for choice in choices] != list(range(len(prompts))):
                    raise ValueError
                found += [_log(own["logprobs"], prompt) for own, prompt in zip(choices, prompts, strict=True)]
            except (KeyError, TypeError, ValueError, OverflowError):
                raise EndpointError(
                    f"{self.host} does not tell the log-probabilities of a given text: it must serve completions with "
                    "`echo` and `logprobs`, and `text_offset` among them."
                ) from None
        return np.array(found)

    def _asked(self, method: str, path: str, body: Any = None) -> Any:
        """Return an answer's JSON; redirects are not followed, as they could lead to another host."""
        headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {self.key}"} if self.key else {})
        kind = http.client.HTTPSConnection if self.scheme == "https" else http.client.HTTPConnection
        said = ""
        for attempt in range(TRIES):
            if attempt:
                time.sleep(PAUSE * 2 ** (attempt - 1))
            connection = kind(self.host, timeout=TIMEOUT)
            try:
                sent = None if body is None else json.dumps(body)
                connection.request(method, self.path + path, sent, headers)
                with connection.getresponse() as answer:
                    if answer.status == http.client.OK:
                        return json.loads(answer.read())
                said = f"answers {answer.status} to {method} {self.path}{path}"
                if answer.status not in _BUSY:
                    break
            except TimeoutError:
                said = f"gave no answer within {TIMEOUT:g} seconds"
            except (OSError, http.client.HTTPException, ValueError, RecursionError) as error:
                said = f"cannot be asked ({type(error).__name__})"
            finally:
                connection.close()
        raise EndpointError(f"{self.host} {said}.")


def _log(told: Any, prompt: str) -> float:
    """Return ln P of a prompt's text, what stands in front of it and what was added behind it left out."""
    logs = zip(told["token_logprobs"], told["text_offset"], strict=True)
    inside = [float(log) for log, offset in logs if len(OPENING) <= offset < len(prompt)]
    if not inside or not all(log <= _ROUNDING for log in inside):  # NaN is not
        raise ValueError
    return float(sum(max(log, LEAST) for log in inside))
