"""What the ledger is asked and answers: charges, and why there is none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from wordveil.errors import WordveilError
from wordveil.service.costs import Cost


class BudgetSpentError(WordveilError):
    """A release would overdraw an account; nothing was charged and no noise was drawn.

    Attributes:
        account: The account.
        left: What is left, in nats of the promise, with all digits.
        cost: What the release would have cost.
    """

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
    """What accounts may spend on releases of one promise every day, from midnight to midnight UTC, without a grant.

    Attributes:
        promise: Id of the promise; on others, nothing is spent without a grant.
        units: A day's, by the kind of the account, the part of its name before the colon.
    """

    promise: str
    units: dict[str, int]

    def of(self, account: str, promise: str) -> int:
        """Return what an account may spend a day on a promise."""
        return self.units.get(account.partition(":")[0], 0) if promise == self.promise else 0


@dataclass(frozen=True, kw_only=True)
class Charge:
    """What is to be charged and recorded.

    Attributes:
        accounts: Who pays, each the whole cost.
        cost: The cost.
        tokens: Number of tokens, or sentences.
        mechanism: With its parameters.
        vocabulary: SHA-256 of the vocabulary, or "".
        guarantee: The promise in a sentence.
        assumptions: What it assumes.
        key: Public name of the API key, which must still hold; "" for none.
        retry: Digest of the retry name under a secret key, or None.
        fingerprint: Digest of the request under a secret key.
        setting: Digest of what its noise is drawn for: mechanism, vocabulary, version.
    """

    accounts: Sequence[str]
    cost: Cost
    tokens: int
    mechanism: str
    vocabulary: str
    guarantee: str
    assumptions: tuple[str, ...]
    key: str = ""
    retry: str | None = None
    fingerprint: str | None = None
    setting: str | None = None


@dataclass(frozen=True, kw_only=True)
class Charged:
    """A charge that is on the disk.

    Attributes:
        release: Name of the release in the ledger.
        salt: What its noise is drawn under besides the service's key; None where no retry was asked for.
        repeated: True if it was made by an earlier request and nothing was charged now.
        left: What each account has left, in nats.
    """

    release: str
    salt: str | None
    repeated: bool
    left: dict[str, str]
