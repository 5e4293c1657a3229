"""From a release to the text it may have been: what a reader gets, and beside it what an attacker gets.

Post-processing: it takes a `Release`, the mechanism's public law and a prior from public text, and nothing else, so the
promise of the release holds for what comes out, unchanged. It never sees an original, and does not choose among
outputs by anything but their probability.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any, Literal, get_args

import numpy as np

from wordveil.arrays import Float32Array, IdArray, ReleasedText
from wordveil.decoding.decoded import as_words
from wordveil.denoising.calibration import ConfidenceCurve, trial_releases
from wordveil.denoising.posterior import ChannelEvidence, Posterior, posteriors
from wordveil.denoising.prior import Prior, load_prior
from wordveil.denoising.reading import Layout, ReleaseReader
from wordveil.errors import ParameterError, WordveilError
from wordveil.mechanisms.base import VectorMechanism, WordMechanism
from wordveil.parameters import check_choice, check_kind, check_within
from wordveil.promises.certificates import Certificate, identity
from wordveil.promises.guarantees import Guarantee
from wordveil.promises.release import BatchRelease, Provenance, Release, TextOptions
from wordveil.vocabulary.table import Embeddings

Style = Literal["fluent", "faithful", "balanced"]
FIDELITY = {"fluent": None, "faithful": None, "balanced": 5.0}
LEAST = 0.2
"""Share of words that are right, by the calibration, below which a text is not denoised."""


class UnreadableReleaseError(WordveilError):
    """So much noise that what would be read is invented."""


@dataclass(frozen=True, kw_only=True)
class Denoised:
    """What a release may have said.

    Attributes:
        text: The text; that of the release where it was refused.
        confidences: For each of its words how likely it is the original's, by the calibration, shape (t,).
        attack: Share of its words that an attacker with the same prior is expected to name, by the calibration.
        guarantee: The promise of the release, which this does not change.
        disclosed: What the release discloses whatever the noise.
        refused: Whether too few of its words are expected to be right.
    """

    text: ReleasedText
    confidences: Float32Array = field(repr=False)
    attack: float
    guarantee: Guarantee
    disclosed: tuple[str, ...] = field(repr=False)
    refused: bool = False

    def __str__(self) -> str:
        said = f"an attacker with this prior is expected to name {self.attack:.2f} of the words"
        return f"{self.text}\n[{self.guarantee.sentence()}; {said}]"


@dataclass(frozen=True, eq=False)
class ReadRelease:
    """One released text as it was read: what `Denoised` says of it, before a release vouches for it."""

    text: ReleasedText
    confidences: Float32Array = field(repr=False)
    drawn: Float32Array = field(repr=False)  # those of words that the mechanism drew
    named: Float32Array = field(repr=False)  # and of the attacker's guesses at them
    released: list[str] = field(repr=False)  # those words
    guesses: list[str] = field(repr=False)  # and the guesses
    refused: bool


class Denoiser:
    """Reads releases of one mechanism over one vocabulary.

    Args:
        embeddings: The vocabulary of the release, with the same words barred from output.
        mechanism: The mechanism that released.
        options: Choices around it, as for the release.
        prior: A model of public text; None for the one that comes with the embedded vocabulary.
        style: "fluent" writes the likeliest text; "faithful" the words that are expected to be nearest in meaning to
            the original's, one by one; "balanced" the likeliest words, as far as they read as a text.
        least: Refuse what is expected to be right in a smaller share of its words.
        marked: Write its confidence behind every word, as in "house|0.71".
        public: Public texts of the kind that was released, for the calibration; None for those of the prior.
        certificate: As for the release.

    Raises:
        ChecksumError: If the prior is over another vocabulary.
        ParameterError: If an argument is outside its domain, or the mechanism's law has no closed form.

    Example:
        >>> import wordveil as wv
        >>> table, mechanism = wv.load_embeddings(), wv.NeighbourResponse(epsilon=9.0, k=8)
        >>> release = wv.Sanitizer(table, mechanism)("She went to the house at the end of the street.")
        >>> denoised = wv.Denoiser(table, mechanism)(release)
        >>> denoised.guarantee == release.guarantee, 0 < denoised.attack < 1
        (True, True)
    """

    def __init__(  # noqa: PLR0913 (as many as a sanitizer's and the reading's together)
        self,
        embeddings: Embeddings,
        mechanism: WordMechanism | VectorMechanism,
        *,
        options: TextOptions | None = None,
        prior: Prior | None = None,
        style: Style = "fluent",
        least: float = LEAST,
        marked: bool = False,
        public: Sequence[str] | None = None,
        certificate: Certificate | None = None,
    ) -> None:
        self.options = TextOptions() if options is None else options
        check_choice("style", style, get_args(Style))
        check_within("least", least, 1)
        self.embeddings, self.mechanism, self.style = embeddings, mechanism, style
        self.least, self.marked = least, marked
        self.prior = load_prior() if prior is None else prior
        self.prior.check(embeddings)
        self.randomizer = as_words(mechanism).fit_certified(embeddings, certificate)
        if self.randomizer.law(np.empty(0, np.int32)) is None:
            raise ParameterError("mechanism", mechanism.name, "has no law in closed form, so there is no posterior.")
        self._public = self.prior.held_out if public is None else list(public)
        public_words = sorted(self.options.public_words)
        cased = embeddings.header.casing == "cased"
        listed = embeddings.ids([word if cased else word.lower() for word in public_words])
        self._exempt = listed[listed >= 0]
        self._reader = ReleaseReader(
            embeddings,
            markup=self.options.markup,
            numbers=self.options.numbers,
            casing=self.options.casing,
            verbatim=[word for word, id_ in zip(public_words, listed.tolist(), strict=True) if id_ < 0],
        )
        self._evidence = ChannelEvidence(self.randomizer, self.prior, self._exempt)
        rows = np.asarray(embeddings.vectors, dtype=np.float32)
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        self._directions = rows / np.where(lengths == 0, np.float32(1), lengths)

    def __call__(self, release: Release) -> Denoised:
        """Denoise one release.

        `ParameterError` if it is none, or one of another mechanism, vocabulary, lists or candidates;
        `UnreadableReleaseError` if the noise of this mechanism leaves too little.
        """
        check_kind("release", release, Release)
        self.check_origin(release.provenance)
        (read,) = self.read([release.text])
        return self._vouched(read, release.guarantee, release.disclosed)

    def denoise_batch(self, batch: BatchRelease) -> list[Denoised]:
        """Denoise the texts of a batch; errors as for one release."""
        check_kind("batch", batch, BatchRelease)
        self.check_origin(batch.provenance)
        return [self._vouched(read, batch.guarantee, batch.disclosed) for read in self.read(batch.texts)]

    @staticmethod
    def _vouched(read: ReadRelease, guarantee: Guarantee, disclosed: tuple[str, ...]) -> Denoised:
        return Denoised(
            text=read.text,
            confidences=read.confidences,
            attack=float(read.named.mean()) if len(read.named) else 0.0,
            guarantee=guarantee,
            disclosed=disclosed,
            refused=read.refused,
        )

    def check_origin(self, origin: Provenance) -> None:
        """Raise `ParameterError` where a release came from elsewhere than this denoiser reads."""
        own = {
            "mechanism": identity(self.mechanism),
            "checksum": self.embeddings.checksum_in_use,
            "candidates_checksum": self.embeddings.candidates_checksum,
            "public_data": self.randomizer.public_data,  # other lists beside the same words are another law
        }
        for name, value in own.items():
            if getattr(origin, name) != value:
                raise ParameterError("release", getattr(origin, name), f"has another {name} than {value}.")

    def fingerprint(self) -> dict[str, Any]:
        """Return what the output depends on besides the release, as JSON values."""
        calibrated_on = hashlib.sha256("\n".join(self._public).encode()).hexdigest()
        choices = {"style": self.style, "least": self.least, "marked": self.marked}
        return {**choices, "prior": self.prior.checksum, "calibrated_on": calibrated_on}

    @cached_property
    def calibration(self) -> ConfidenceCurve:
        """How far its own confidence can be trusted, found out on public text, once."""
        layouts = self._reader.read([ReleasedText(text) for text in self._public])
        trials = trial_releases(self._segments(layouts), self.randomizer, self._exempt)
        readings = [self._posterior(trial.released) for trial in trials]
        return ConfidenceCurve.of(trials, readings, self.prior)

    def read(self, texts: Sequence[ReleasedText]) -> list[ReadRelease]:
        """Read released texts, in order; none changes another. Where noise leaves little, `UnreadableReleaseError`."""
        if self.calibration.named < self.least:
            raise UnreadableReleaseError(
                f"of public text released in this way, {self.calibration.named:.2f} of the words are read as they were "
                f"({self.calibration.random:.2f} from random words): less than {self.least:g}, so what would be read "
                "is invented. A smaller share must be asked for."
            )
        layouts = self._reader.read(texts)
        found = self._posterior(self._segments(layouts), FIDELITY[self.style])
        chosen = self._nearest(found) if self.style == "faithful" else found.sequence
        ends = np.cumsum([0, *(sum(map(len, self._segments([layout]))) for layout in layouts)]).tolist()
        return [
            self._text(layout, slice(first, last), found, chosen)
            for layout, (first, last) in zip(layouts, pairwise(ends), strict=True)
        ]

    def posterior(self, layout: Layout) -> Posterior:
        """Return what may stand in every place of a released text: all that an attacker with this prior knows."""
        return self._posterior([layout.states])

    def _posterior(self, segments: Sequence[IdArray], fidelity: float | None = None) -> Posterior:
        return posteriors(segments, self._evidence, self.prior, fidelity=fidelity)

    def _segments(self, layouts: Sequence[Layout]) -> list[IdArray]:
        return [layout.states[some] for layout in layouts for some in self._reader.segments(layout)]

    def _text(self, layout: Layout, some: slice, found: Posterior, chosen: IdArray) -> ReadRelease:
        parts = [layout.places[part] for part in self._reader.segments(layout)]
        places = np.concatenate(parts) if parts else np.empty(0, np.int32)
        words = places >= 0
        places, own = places[words], chosen[some][words]
        states, chances = found.states[some][words], found.chances[some][words]
        drawn = (layout.ids[places] >= 0) & ~np.isin(layout.ids[places], self._exempt)
        right = np.where(states == own[:, None], chances, np.float32(0)).max(axis=1, initial=0)
        confidences = self.calibration(right)
        named = self.calibration(chances.max(axis=1, initial=0))[drawn]
        likeliest = states[np.arange(len(states)), chances.argmax(axis=1)] if len(states) else own
        refused = bool(len(named)) and float(confidences[drawn].mean()) < self.least
        ids = layout.ids.copy()
        if not refused:
            ids[places] = np.where(layout.ids[places] >= 0, own, -1)
        confidences = np.where(layout.ids[places] >= 0, confidences, np.float32(1))
        marks = [f"|{share:.2f}" for share in confidences.tolist()] if self.marked else None
        return ReadRelease(
            text=self._reader.write(layout, ids, marks),
            confidences=confidences,
            drawn=confidences[drawn],
            named=named,
            released=[self.embeddings.words[i] for i in layout.ids[places[drawn]]],
            guesses=[self.embeddings.words[i] for i in likeliest[drawn]],
            refused=refused,
        )

    def _nearest(self, found: Posterior) -> IdArray:
        """Return for each place the candidate of largest expected cosine with the original word."""
        chosen = found.sequence.copy()
        for i in np.flatnonzero(chosen < len(self.embeddings)).tolist():
            states, chances = found.states[i], found.chances[i]
            rows = self._directions[np.where(chances > 0, states, chosen[i])]
            chosen[i] = states[(rows @ (chances @ rows)).argmax()]
        return chosen
