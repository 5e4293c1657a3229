"""What the ledger is asked and answers: charges, and why there is none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from wordveil.errors import WordveilError
from wordveil.service.costs import Cost


class BudgetSpentError(WordveilError):
    """A release would overdraw an account; nothing was charged and no noise was drawn."""

    def __init__(self, account: str, left: str, cost: str) -> None:
        self.account, self.left, self.cost = account, left, cost
        super().__init__(f"The budget of {account} has {left} nats left; this release costs {cost}.")


class RetryError(WordveilError):
    """A retry name was used before, and this is not the same request by who made that one, or settings changed since.

    Which of these it is, is not told: it would tell who guesses a text that the guess is right.
    """

    def __init__(self) -> None:
        super().__init__(
            "This idempotency key was used before. Only the same request with the same Idempotency-Nonce, while the "
            "settings stay, is answered again; use a new key."
        )


class KeyRevokedError(WordveilError):
    """The API key was revoked between the request and its charge."""


@dataclass(frozen=True, kw_only=True)
class Allowance:
    """What accounts may spend on releases of one promise every day, from midnight to midnight UTC, without a grant."""

    promise: str  # id of the promise; on others, nothing is spent without a grant
    units: dict[str, int]  # a day's, by the kind of the account, the part of its name before the colon

    def of(self, account: str, promise: str) -> int:
        """Return what an account may spend a day on a promise."""
        return self.units.get(account.partition(":")[0], 0) if promise == self.promise else 0


@dataclass(frozen=True, kw_only=True)
class Charge:
    """What is to be charged and recorded."""

    accounts: Sequence[str]  # who pays, each the whole cost
    cost: Cost
    tokens: int  # number of tokens, or sentences
    mechanism: str  # with its parameters
    vocabulary: str  # SHA-256 of the vocabulary, or ""
    guarantee: str  # the promise in a sentence
    assumptions: tuple[str, ...]  # what it assumes
    key: str = ""  # public name of the API key, which must still hold; "" for none
    retry: str | None = None  # digest of the retry name under a secret key, or None
    fingerprint: str | None = None  # digest of the request under a secret key
    setting: str | None = None  # digest of what its noise is drawn for: mechanism, vocabulary, version


@dataclass(frozen=True, kw_only=True)
class Charged:
    """A charge that is on the disk."""

    release: str  # name of the release in the ledger
    salt: str | None  # what its noise is drawn under besides the service's key; None where no retry was asked for
    repeated: bool  # true if it was made by an earlier request and nothing was charged now
    left: dict[str, str]  # what each account has left, in nats
