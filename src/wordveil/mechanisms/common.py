"""What every mechanism and every randomizer answers, be it of vectors or of words."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import fields, is_dataclass, replace
from functools import cached_property, wraps
from operator import attrgetter
from typing import Any, ClassVar, Literal, Self, TypeVar

from wordveil.errors import CertificateError, GuaranteeError, ParameterError
from wordveil.metrics.distances import AnyMetric, Euclidean
from wordveil.parameters import check_positive
from wordveil.promises.certificates import Certificate, code_name, digest_of, mark_of
from wordveil.promises.composing import compose_releases, to_local
from wordveil.promises.guarantees import Guarantee, within_scope
from wordveil.promises.pair_loss import PairLoss
from wordveil.promises.relations import Relation
from wordveil.vocabulary.table import Embeddings

_Kind = TypeVar("_Kind")
OWN_CODE = "the mechanism, code of a third party, computes the same whenever it is asked, whatever else it can read"
_NAMED_ELSEWHERE = ("mechanism", "dimensions", "claim")
"""Fields of randomizers that parameters and vocabulary say: their name is in the place of noise as it is."""
UNCHECKED = "the vocabulary's files are whole and belong together, which this run did not check (--verify does)"


class Mechanism(ABC):
    """Parameters of a mechanism."""

    name: ClassVar[str]  # on the command line and in reports
    paper: ClassVar[str]  # where it comes from
    releases: ClassVar[Literal["vectors", "words"]]  # whether it turns vectors into vectors or words into words
    epsilon: float  # the loss promised, in the unit its guarantee says
    certificate_method: str = ""  # name of the computation that certifies it; empty where there is nothing to certify
    calibration: str = ""  # which of several ways to keep epsilon it takes; empty where there is one

    @classmethod
    def examples(cls) -> Sequence[Self]:
        """Return one of itself at every calibration, for a small vocabulary: what the contract suite runs on."""
        return (cls(epsilon=2.0),)  # type: ignore[call-arg]  # the abstract base is no dataclass

    def with_epsilon(self, epsilon: float) -> Self:
        """Return the same mechanism at another epsilon."""
        return replace(self, epsilon=epsilon)  # type: ignore[type-var]  # every mechanism is a dataclass

    @property
    def needs_certificate(self) -> bool:
        """Whether it can be fitted with a certificate only."""
        return False

    def require(self, certificate: Certificate, embeddings: Embeddings) -> None:
        """Check that a certificate was made for this mechanism, vocabulary and candidate set."""
        raise CertificateError(f"{self.name} takes no certificate when it is fitted.")

    @classmethod
    def rebuild(cls, certificate: Certificate) -> Self:
        """Return the mechanism that a certificate names, which says all its parameters."""
        return cls._of({name: value for name, value in certificate.parameters.items() if name != "mechanism"})

    @classmethod
    def _of(cls, parameters: dict[str, Any]) -> Self:
        try:
            return cls(**parameters)
        except TypeError:
            raise CertificateError(f"The certificate's parameters are not those of {cls.__name__}.") from None


class Randomizer(ABC):
    """What word and vector randomizers have in common: a claim, and answers about it."""

    releases: ClassVar[Literal["vectors", "words"]]

    def __init_subclass__(cls, **options: Any) -> None:
        """Bind what the class claims to the vocabulary it holds, so that no author of a mechanism has to."""
        super().__init_subclass__(**options)
        for name in ("guarantee", "published"):
            if name in vars(cls):
                setattr(cls, name, _bound(vars(cls)[name]))

    @property
    def metric(self) -> AnyMetric:
        """What its metric DP measures distance by."""
        return Euclidean()

    @property
    def laplace_dimensions(self) -> int | None:
        """Dimensions of its noise, where that is multivariate Laplace of rate epsilon in its metric; else None."""
        return None

    @abstractmethod
    def guarantee(self) -> Guarantee:
        """What one released word or vector promises."""

    def published(self) -> Guarantee:
        """What an audit tries to refute: the guarantee, or, where that is refuted, the claim that was published."""
        return self.guarantee()

    @abstractmethod
    def related(self, claim: Guarantee | None = None) -> Relation:
        """Return which pairs another claim about this mechanism speaks of, or, of None, `published()`."""

    def loss_profile(self, diameter: float | None = None) -> PairLoss | None:
        """Return the loss of one draw for composition, tighter than its guarantee; None where none is known.

        The diameter is the largest distance between two inputs, public, in the metric of the guarantee: needed where
        its loss grows with the distance without end, and of no use elsewhere.
        """
        claim, d = self.guarantee(), self.laplace_dimensions
        if d is None or diameter is None or claim.epsilon is None or not claim.metric or claim.delta > 0:
            return None
        from wordveil.mechanisms.laplace_profile import laplace_pair  # SciPy, which drawing does not need

        check_positive("diameter", diameter)
        # The profile of log-concave noise never falls with the distance: that of the largest one stands for all.
        pair = laplace_pair(d, math.nextafter(claim.epsilon * diameter, math.inf))
        return replace(pair, assumptions=to_local(claim, diameter=diameter).assumptions)

    def together(self, claim: Guarantee, draws: int) -> Guarantee:
        """Return what several draws for one input promise together, each of which promises `claim`.

        `GuaranteeError` if promises such as this one do not add up.
        """
        return compose_releases([claim] * draws)

    def on(self, device: str) -> Self:
        """Return the same randomizer, law and guarantee, working on a device: "cpu", or a card such as "cuda:1".

        `MissingExtraError` if PyTorch is not installed; `ParameterError` if there is no such card, or nothing of this
        mechanism runs on one.
        """
        if device == "cpu":
            return self
        problem = "is not supported for this mechanism, which works on the processor: say 'cpu'."
        raise ParameterError("device", device, problem)

    @property
    def public_data(self) -> str:
        """SHA-256 of what its law is made of beyond vocabulary and parameters; "" where nothing is.

        That is arrays and numbers that fitting computed, whose last bits may be a machine's own, and lists from files.
        Here: its fields, and of a class that is no dataclass all that it holds but what it computes when asked.
        """
        names = [field.name for field in fields(self)] if is_dataclass(self) else list(getattr(self, "__dict__", ()))
        names = [name for name in names if not isinstance(getattr(type(self), name, None), cached_property)]
        held = {name: getattr(self, name) for name in names if name not in _NAMED_ELSEWHERE}
        return digest_of({name: value for name, value in held.items() if not isinstance(value, Embeddings)})

    def disclosed(self) -> tuple[str, ...]:
        """What every release shows whatever the noise, a sentence each, beyond what the pipeline shows by itself."""
        return ()

    def advice(self) -> str:
        """What a user should know beyond the guarantee, with what to use instead; empty where there is nothing."""
        return ""


def check_mechanism(thing: object) -> Mechanism:
    """Return what was given if it is a mechanism; raise `ParameterError` for a class, a fitted form or others."""
    if isinstance(thing, Mechanism):
        return thing
    raise ParameterError("mechanism", f"<{type(thing).__name__}>", "must be a mechanism, such as TEM(epsilon=9).")


def check_fitted(thing: object) -> Randomizer:
    """Return what was given if it is a fitted mechanism; raise `GuaranteeError` for a promise or anything else."""
    if isinstance(thing, Randomizer):
        return thing
    raise GuaranteeError(f"<{type(thing).__name__}> does not say what is drawn: pass the fitted mechanism.")


def _bound(claims: Callable[[Any], Guarantee]) -> Callable[[Any], Guarantee]:
    @wraps(claims)
    def bound(self: Any) -> Guarantee:
        table = getattr(self, "embeddings", None)  # a mechanism of any vectors has none
        claim = claims(self)
        if table is not None:
            return with_vocabulary(claim, table, self)
        return within_scope(claim, *_code(claim, self), assuming=[OWN_CODE] * bool(_makers(self)))

    return bound


def _makers(randomizer: Randomizer) -> list[str]:
    """Return what names the code of third parties; nothing of our own."""
    kinds: tuple[type, ...] = type(randomizer), type(getattr(randomizer, "mechanism", randomizer))
    return sorted({name for kind in kinds if (name := code_name(kind))})


def answered_by(part: str, names: str) -> Callable[[type[_Kind]], type[_Kind]]:
    """Return what makes a class answer these questions as the part of it does that an attribute holds."""

    def answering(kind: type[_Kind]) -> type[_Kind]:
        for name in names.split():
            setattr(kind, name, property(attrgetter(f"{part}.{name}")))
        return kind

    return answering


def _code(claim: Guarantee, randomizer: Randomizer) -> list[str]:
    """Return the scope of distances and graphs that third parties make, of whatever they hold."""
    names = _makers(randomizer)
    if not (claim.metric or claim.graph) or not names:
        return []
    made_by = mark_of(getattr(randomizer, "mechanism", randomizer))
    return [f"code {', '.join(names)}", f"mechanism {made_by}"]


def with_vocabulary(claim: Guarantee, embeddings: Embeddings, randomizer: Randomizer) -> Guarantee:
    """Return a claim with the vocabulary in its scope, and with what it takes for granted of its files.

    Releases over two vocabularies do not add up: what is one token to one may be two to the other, and words lie
    elsewhere. Distances and graphs may also be made of what may be output, and by code of a user's own.
    """
    header = embeddings.header
    parts = [f"vocabulary {embeddings.checksum_in_use}, {header.casing} {header.tokenizer}"]
    if claim.metric or claim.graph:
        parts.append(f"outputs {embeddings.candidates_checksum}")
    parts += _code(claim, randomizer)
    assumed = [OWN_CODE] * bool(_makers(randomizer)) + [UNCHECKED] * (not embeddings.is_checked)
    return within_scope(claim, *parts, assuming=assumed)
