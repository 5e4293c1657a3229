"""`wordveil demo`: a made-up note, what is kept of it, what is released word by word, and what either promises."""

from __future__ import annotations

import wordveil as wv
from wordveil.cli.printing import JsonOption, show
from wordveil.text.function_words import FUNCTION_WORDS

NOTE = """\
Maria Lindqvist, 54, was seen on 14 March 2026 for poorly controlled diabetes and depression.
She reports chest pain at night, takes metformin 500 mg twice daily, and stopped sertraline in January.
Plan: increase metformin, refer to cardiology, call her daughter Anna on +46 70 555 01 23.
Lives alone in Uppsala; works as a nurse; e-mail maria.lindqvist@example.org.
"""
PAIRS = (("diabetes", "asthma"), ("diabetes", "holiday"))
TITLES = {
    "note": "a made-up note",
    "redacted": "redacted: what is on a public list stays",
    "claim": "what may and must be said of it",
    "released": "released word by word: every word is drawn",
    "function_words_public": "released once more, with function words declared public",
    "denoised": "the same, denoised: no less private, better English, and a guess",
    "promise": "what release word by word promises",
}
NEXT = (
    "Next: wordveil redact FILE -o READABLE --report report.html, wordveil sanitize FILE -o CLEAN, and wordveil explain"
)


def demo(as_json: JsonOption = False) -> None:
    """Release a made-up clinical note in two ways and explain what they promise; needs no file.

    Redaction keeps what is on a public list. Release word by word draws afresh in every run.
    """
    readable_note = wv.Redactor().redaction(NOTE)
    embeddings = wv.load_embeddings()
    sanitizers = [
        wv.Sanitizer(embeddings, wv.NeighbourResponse(), options=wv.TextOptions(unknown="typed", public_words=public))
        for public in (frozenset(), FUNCTION_WORDS)
    ]
    plain, readable = (one(NOTE) for one in sanitizers)
    # A guess at a note that was made up is shown however unsure it is.
    denoised = wv.Denoiser(embeddings, wv.NeighbourResponse(), options=sanitizers[1].options, least=0.0)(readable)
    drawn = sanitizers[0].parts.randomizer
    told = wv.explain(
        embeddings, plain.guarantee, metric=drawn.metric, pairs=PAIRS, tokens=plain.tokens, randomizer=drawn
    )
    result = {
        "note": NOTE,
        "redacted": readable_note.text,
        "claim": "\n".join(readable_note.claim.lines()),
        "released": plain.text,
        "function_words_public": readable.text,
        "denoised": denoised.text,
        "promise": str(told),
    }
    lines = [line for key, title in TITLES.items() for line in (f"== {title} ==", result[key].rstrip("\n"), "")]
    disclosed = [f"Disclosed whatever the noise: {line}." for line in plain.disclosed]
    show({**result, "disclosed": plain.disclosed}, [*lines[:-1], *disclosed, "", NEXT], as_json=as_json)
