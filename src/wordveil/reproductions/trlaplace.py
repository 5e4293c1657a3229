"""[TL] Huang et al. (2024), TrLaplace: share of unchanged words against epsilon, published and certified noise.

Only the mechanisms at word level: the auto-encoder and fine-tuning experiments are not repeated here.
"""

from __future__ import annotations

import math

import numpy as np

from wordveil.decoding.decoded import Decoded
from wordveil.embeddings.table import Embeddings
from wordveil.errors import WordveilError
from wordveil.evaluation.base import Summary, summarise
from wordveil.evaluation.subjects import Subject, subject_of
from wordveil.guarantees import NoGuarantee
from wordveil.mechanisms.base import VectorMechanism
from wordveil.mechanisms.clipped_gaussian import ClippedGaussian
from wordveil.mechanisms.clipped_laplace import ClippedLaplace
from wordveil.mechanisms.truncated_laplace import TruncatedLaplace
from wordveil.reproductions.base import Comparison, Options, Reproduction, shown
from wordveil.reproductions.figures import Plotted, point

__all__ = ["kept_share", "reproduce"]

PAPER_YELP = {
    "Gaussian": (0.144, 0.381, 0.608, 0.694, 0.708, 0.725, 0.708, 0.739),
    "Laplacian": (0.052, 0.138, 0.525, 0.646, 0.691, 0.721, 0.704, 0.699),
    "TrLaplacian": (0.705, 0.721, 0.722, 0.725, 0.724, 0.700, 0.712, 0.740),
}
"""Tables 2 and 3, N_w on Yelp with GloVe, after an auto-encoder that keeps .706 of the words without any noise."""
EPSILONS = (0.05, 0.1, 0.2, 0.5, 1.0, 5.0, 10.0, 20.0)
PADDED = {10.0: 500, 20.0: 1700}
CERTIFIED_DELTA = 1e-5


def kept_share(subject: Subject, size: int, options: Options, label: str) -> Summary:
    """Return N_w, the mean share of words that are released as themselves, over words spread over the vocabulary."""
    ids = np.unique(np.linspace(0, len(subject.embeddings) - 1, size).astype(np.int32))
    shares = [
        float((subject.release_words(ids, options.source(f"kept {label} {i}"), label) == ids).mean())
        for i in range(options.repeats)
    ]
    return summarise(shares)


def reproduce(options: Options) -> Reproduction:
    """Repeat figures 2 and 5 (N_w against epsilon) for the mechanisms as published and as certified."""
    options.say("reading the vocabulary")
    embeddings = _clipped_table(options.table("embeddings/glove.6B.300d.subset.txt"))
    d = embeddings.dimensions
    size = options.pick(len(embeddings), 1500, 50)
    comparisons = []
    for place, epsilon in enumerate(options.pick(EPSILONS, EPSILONS, (0.1, 10.0))):
        options.say(f"N_w at epsilon {epsilon:g}")
        index = EPSILONS.index(epsilon) if epsilon in EPSILONS else place
        for name, paper, mechanism in _mechanisms(d, epsilon):
            comparisons.append(_compare(embeddings, name, paper, mechanism, epsilon, index, size, options))
    return Reproduction(
        name="trlaplace",
        reference="Huang et al. (2024), the truncated Laplacian mechanism for private embeddings (TrLaplace)",
        setting=(
            f"{embeddings.header.name}, {len(embeddings):,} words x {d} dimensions, clipped at C = 1; the paper has "
            "10 000 words of 300 dimensions and does not state C for its tables.",
            "Another C would change nothing: words inside the ball are only smaller against noise that grows with C.",
            "N_w is the share of words that the nearest word to the noisy vector gives back, over "
            f"{min(size, len(embeddings)):,} words. The paper's N_w is read after a trained auto-encoder, which keeps "
            "only .70 to .71 of the words with no noise at all: the two are not the same number.",
            "Published noise at the paper's delta = 4^-d, padded to 500 and 1 700 dimensions for epsilon 10 and 20 "
            "(delta = 1e-300 for the latter, as 4^-1700 is below the smallest float); certified noise at delta = "
            f"{CERTIFIED_DELTA:g}.",
        ),
        comparisons=tuple(comparisons),
        findings=_findings(d),
        missing=(
            "Loss, ROUGE, BLEU and BERTScore of the re-writing tables and figure 4: they need the trained models.",
            "The authors' own random and fine-tuned embeddings.",
        ),
    )


def _clipped_table(embeddings: Embeddings) -> Embeddings:
    """Return the vocabulary scaled so that its median norm is 1: the scale at which C = 1 is a clip norm."""
    norms = np.linalg.norm(np.asarray(embeddings.vectors, dtype=np.float64), axis=1)
    rows = np.asarray(embeddings.vectors, dtype=np.float64) / np.maximum(norms, float(np.median(norms)))[:, None]
    return Embeddings.from_arrays(
        list(embeddings.words), rows, name=f"{embeddings.header.name} (clipped)", candidate_rule="all"
    )


def _mechanisms(d: int, epsilon: float) -> list[tuple[str, str, VectorMechanism]]:
    padded = max(PADDED.get(epsilon, d), d)
    # 4^-1700 is below the smallest float: 1e-300 stands for it, which makes the box narrower than the paper's.
    paper_delta = max(4.0**-padded, 1e-300)
    classical = ClippedGaussian(
        epsilon=epsilon, delta=max(4.0**-d, 1e-300), calibration="classical", allow_refuted=True
    )
    published = TruncatedLaplace(
        epsilon=epsilon,
        delta=paper_delta,
        calibration="published",
        padded_dimensions=padded if padded > d else None,
        allow_refuted=True,
    )
    return [
        ("Gaussian, published", "Gaussian", classical),
        ("Gaussian, analytic", "", ClippedGaussian(epsilon=epsilon, delta=CERTIFIED_DELTA)),
        ("Laplacian", "Laplacian", ClippedLaplace(epsilon=epsilon)),
        ("TrLaplacian, published", "TrLaplacian", published),
        ("TrLaplacian, certified", "", TruncatedLaplace(epsilon=epsilon, delta=CERTIFIED_DELTA)),
    ]


def _compare(
    embeddings: Embeddings,
    name: str,
    paper: str,
    mechanism: VectorMechanism,
    epsilon: float,
    index: int,
    size: int,
    options: Options,
) -> Comparison:
    value = f"{PAPER_YELP[paper][index]:.3f}" if paper else ""
    what = f"N_w, {name}, epsilon {epsilon:g}"
    figures = {"as published": ", published" in name or name == "Laplacian", "as certified": ", published" not in name}
    try:
        fitted = Decoded(mechanism=mechanism).fit(embeddings)
    except WordveilError as problem:
        return Comparison(what=what, paper=value, ours="-", remark=str(problem))
    claim = fitted.guarantee()
    remark = claim.reason if isinstance(claim, NoGuarantee) else ""
    kept = kept_share(subject_of(fitted, threads=None), size, options, f"{name} {epsilon}")
    points = [point(f"N_w, noise {how}, here", name, epsilon, kept) for how, applies in figures.items() if applies]
    if paper:
        panel = "figure 2: N_w in the paper (tables 2 and 3, Yelp)"
        points.append(Plotted(figure=panel, series=paper, epsilon=epsilon, value=PAPER_YELP[paper][index], paper=True))
    return Comparison(
        what=what,
        paper=value,
        ours=shown(kept),
        remark=f"refuted: {remark}" if remark else "",
        points=tuple(points),
    )


def _findings(d: int) -> tuple[str, ...]:
    gaussian = math.sqrt(2 * math.log(1.25 * 4.0**300))
    return (
        "The published truncated Laplace noise is refuted: a shift of 2C leaves its support with the probability "
        "given in each row, where 4^-d is claimed; appendix B of the paper bounds the volume of a union of slabs by "
        "the product of the gaps. Its curve compares noise of another strength.",
        f"Certified at delta {CERTIFIED_DELTA:g}, the truncated noise is the plain Laplace's to three digits in "
        f"{d} dimensions: truncation gains nothing.",
        f"At the paper's delta = 4^-300 its Gaussian has {gaussian:.1f} C/(epsilon/2) per coordinate and its Laplace "
        "34.6 C/epsilon: at delta = 1e-5 the analytic Gaussian is far smaller than both.",
        "At the epsilons of the paper's main tables (0.05 to 0.5) no certified noise of this kind leaves a word in "
        "300 dimensions: N_w is chance. The paper's values there (.05 to .6 for the plain mechanisms) cannot come "
        "from these noises followed by the nearest word.",
    )
