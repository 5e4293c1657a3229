"""`wordveil demo`: a made-up note, what is kept of it, what is released word by word, and what either promises."""

from __future__ import annotations

import tomllib
from pathlib import Path

import wordveil as wv
from wordveil.cli.printing import JsonOption, show
from wordveil.text.function_words import FUNCTION_WORDS

PAIRS = (("diabetes", "asthma"), ("diabetes", "holiday"))


def demo(as_json: JsonOption = False) -> None:
    """Release a made-up clinical note in two ways and explain what they promise; needs no file.

    Redaction keeps what is on a public list. Release word by word draws afresh in every run.
    """
    shown = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
    note, titles = shown["note"], shown["titles"]
    readable_note = wv.Redactor().redaction(note)
    embeddings = wv.load_embeddings()
    sanitizers = [
        wv.Sanitizer(embeddings, wv.NeighbourResponse(), options=wv.TextOptions(unknown="typed", public_words=public))
        for public in (frozenset(), FUNCTION_WORDS)
    ]
    plain, readable = (one(note) for one in sanitizers)
    # A guess at a note that was made up is shown however unsure it is.
    denoised = wv.Denoiser(embeddings, wv.NeighbourResponse(), options=sanitizers[1].options, least=0.0)(readable)
    drawn = sanitizers[0].parts.randomizer
    told = wv.explain(
        embeddings, plain.guarantee, metric=drawn.metric, pairs=PAIRS, tokens=plain.tokens, randomizer=drawn
    )
    result = {
        "note": note,
        "redacted": readable_note.text,
        "claim": "\n".join(readable_note.claim.lines()),
        "released": plain.text,
        "function_words_public": readable.text,
        "denoised": denoised.text,
        "promise": str(told),
    }
    lines = [line for key, title in titles.items() for line in (f"== {title} ==", result[key].rstrip("\n"), "")]
    disclosed = [f"Disclosed whatever the noise: {line}." for line in plain.disclosed]
    show({**result, "disclosed": plain.disclosed}, [*lines[:-1], *disclosed, "", shown["next"]], as_json=as_json)
