"""Words that are released more than once: how often the best guess names them, nearest lists beside classes.

    python -m wordveil_lab.leagues.lists repeats

Attacks 2 000 words of the embedded vocabulary that are released 1 to 64 times by 16 of 4 000 at 8 nats and by 256
classes at 7, as an audit does, says how often the best guess of somebody who knows how often words occur is right, and
draws docs/results/repeats.svg.
"""

from __future__ import annotations

import numpy as np

import wordveil as wv
from wordveil.api import FUNCTION_WORDS, REPEATED_RELEASES, named_after, word_classes, word_frequencies
from wordveil_lab.evaluation.evidence import channel_guesses, draw_words, word_channel
from wordveil_lab.evaluation.subjects import subject_of
from wordveil_lab.package import ROOT
from wordveil_lab.plots import Plotted, draw

WORDS = 2000
RELEASED = {"nearest": wv.NeighbourResponse(epsilon=8.0, outputs=4000), "classes": wv.NeighbourResponse(epsilon=7.0)}


def repeats() -> None:
    """Print how often the likeliest input of n releases is the input: exactly for one and for no end of them."""
    embeddings, source = wv.load_embeddings(), wv.RandomSource.seeded_for_tests(0)
    prior = word_frequencies(embeddings, smoothing=0.5)
    prior = prior / prior.sum()
    inputs = draw_words(prior, WORDS, source, "repeats")
    function = np.isin(embeddings.words, list(FUNCTION_WORDS))
    kinds = {"all": prior > 0, "function words": function, "others": ~function, "rarer than 2e-4": prior < 2e-4}
    points = []
    for lists, unfitted in RELEASED.items():
        fitted = unfitted.fit(embeddings)
        guesses, hits = channel_guesses(word_channel(subject_of(fitted), prior), prior)
        right = named_after(fitted, inputs, prior, source)
        assert right is not None, "both lists state their law"
        for i, n in enumerate(REPEATED_RELEASES):
            shares = {name: right[kind[inputs], i].mean() for name, kind in kinds.items()}
            if n == 1:
                shares = {name: hits[kind[guesses]].sum() / prior[kind].sum() for name, kind in kinds.items()}
            print(f"{lists}, {n} releases: named: {', '.join(f'{name} {share:.3f}' for name, share in shares.items())}")
            for name in ("all", "rarer than 2e-4"):
                drawn = right[kinds[name][inputs], i]
                error = float(np.std(drawn) / len(drawn) ** 0.5) if n > 1 else 0.0
                points.append(Plotted(figure=name, series=lists, epsilon=n, value=shares[name], error=error))
    order = np.lexsort((prior, faces := word_classes(embeddings, 256).face))
    best = order[np.append(np.diff(faces[order]) != 0, True)]  # the commonest word of each class
    shares = {name: prior[best[kind[best]]].sum() / prior[kind].sum() for name, kind in kinds.items()}
    print(f"classes, however many: named: {', '.join(f'{name} {share:.3f}' for name, share in shares.items())}")
    title = "Share of words named by the best guess after n releases of each: 16 of 4 000 at 8 nats, 256 classes at 7"
    (ROOT / "docs/results/repeats.svg").write_bytes(draw(points, title, across="releases of the word"))


if __name__ == "__main__":
    repeats()
