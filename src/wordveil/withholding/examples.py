"""Public sentences to try a redactor on: some of those that come with the model of public text."""

from __future__ import annotations

from wordveil.denoising.prior import load_prior


def public_sentences(count: int) -> list[str]:
    """Return so many public sentences from all over the sources, at most as many as there are."""
    sentences = load_prior().held_out
    step = max(1, len(sentences) // max(1, count))
    return sentences[::step][:count]
