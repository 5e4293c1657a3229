"""Every figure of the reference pages, by the name of its mechanism or decoder.

    python -m wordveil_lab.pages.mechanism_figures [NAME...]

measures these, or all of them (a minute or two), again and writes docs/mechanisms/figures.json.

Seeds are fixed: the file is the same on every run on one kind of machine.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict

import wordveil
from wordveil import TEM, Nearest, RankSoftmax, SanText, Vickrey, load_embeddings
from wordveil.api import DECODERS, MECHANISMS, Embeddings
from wordveil_lab.package import ROOT
from wordveil_lab.pages import figures
from wordveil_lab.pages.figure_values import Figure, Sampling

STORED = ROOT / "docs" / "mechanisms" / "figures.json"
WORDS = 1000


def _words() -> Embeddings:
    """Return the first words of the embedded vocabulary: enough to fit and quick to search."""
    return load_embeddings().first(WORDS)


FIGURES: dict[str, Callable[[Sampling], Figure]] = {
    "clipped-gaussian": figures.clipped_gaussian,
    "clipped-l2": figures.clipped_l2,
    "clipped-laplace": figures.clipped_laplace,
    "jaccard": lambda s: figures.jaccard(_words(), s),
    "laplace": figures.laplace,
    "mahalanobis": lambda s: figures.mahalanobis(_words(), s),
    "nadp": lambda s: figures.nadp(_words(), s),
    "projection": lambda s: figures.projection(_words(), s),
    "santext": lambda s: figures.selection(SanText, load_embeddings(), s),
    "tem": lambda s: figures.selection(TEM, load_embeddings(), s),
    "tight": lambda s: figures.tight(_words(), s),
    "truncated-laplace": figures.truncated_laplace,
    "nearest": lambda s: figures.decoder(Nearest(), _words(), s),
    "rank-softmax": lambda s: figures.decoder(RankSoftmax(epsilon=20.0, c=0.04), _words(), s),
    "vickrey": lambda s: figures.decoder(Vickrey(t=0.5), _words(), s),
}
"""Mechanism or decoder name -> a figure of its own, measured with the given sampling."""


def stored_figures() -> dict[str, Figure]:
    """Return the figures as they were last measured."""
    return {name: Figure.from_dict(values) for name, values in json.loads(STORED.read_text(encoding="utf-8")).items()}


def main(names: Sequence[str] = ()) -> None:
    """Measure the figures named, or every figure, and store them."""
    found = {name: asdict(figure) for name, figure in stored_figures().items()} if names else {}
    for name in (*MECHANISMS, *DECODERS):
        if names and name not in names:
            continue
        start = time.perf_counter()
        if name in FIGURES:
            own = FIGURES[name](Sampling())
        else:  # the one that every mechanism can have
            own = figures.any_mechanism(getattr(wordveil, MECHANISMS[name]).examples()[0], _words(), Sampling())
        found[name] = asdict(own)
        print(f"{name:18s} {time.perf_counter() - start:6.1f} s")
    STORED.parent.mkdir(parents=True, exist_ok=True)
    STORED.write_text(json.dumps(found, indent=1, sort_keys=True, allow_nan=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
