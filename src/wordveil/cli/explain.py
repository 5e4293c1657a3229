"""`wordveil explain`: a guarantee in plain words, with two worked word pairs and the per-text sum."""

from __future__ import annotations

from typing import Annotated, Any

from typer import Option

import wordveil as wv
from wordveil.cli.common import prepare, say
from wordveil.cli.options import Wanted
from wordveil.cli.printing import JsonOption, show
from wordveil.errors import ParameterError


def explain(
    *,
    wanted: Wanted,
    pair: Annotated[
        list[str] | None, Option(metavar="WORD,WORD", help="Public words to work out; repeat as needed.")
    ] = None,
    tokens: Annotated[int, Option(help="Length of the text in the per-text sum.")] = 50,
    as_json: JsonOption = False,
) -> None:
    """Explain the guarantee of a mechanism in plain words."""
    from wordveil.promises.release import disclosures, effective_guarantee
    from wordveil.sanitizing.fitting import fit_words

    pairs = [_pair(text) for text in pair or ()]
    embeddings = wv.load_embeddings(wanted.vocabulary)
    prepared = prepare(wanted, embeddings)
    for note in prepared.notes:
        say(note)
    randomizer = fit_words(prepared.mechanism, embeddings, prepared.certificate)
    options = wv.TextOptions(unknown="typed")
    guarantee = effective_guarantee(randomizer.guarantee(), options)
    explanation = wv.explain(
        embeddings, guarantee, metric=randomizer.metric, pairs=pairs, tokens=tokens, randomizer=randomizer
    )
    disclosed = disclosures(options, guarantee)
    told: dict[str, Any] = {
        "guarantee": guarantee.as_dict(),
        "procedure": explanation.procedure,
        "advice": explanation.advice,
    }
    told |= {"pairs": explanation.pairs, "tokens": tokens, "nats_of_the_text": explanation.text_loss}
    lines = [str(explanation), *(f"Disclosed whatever the noise: {line}." for line in disclosed)]
    show({**told, "examples": explanation.examples, "disclosed": disclosed}, lines, as_json=as_json)


def _pair(text: str) -> tuple[str, str]:
    from wordveil.text.kinds import kind

    first, separator, second = (part.strip() for part in text.partition(","))
    if not separator:
        raise ParameterError("--pair", text, "must be two words with a comma between them.")
    for word in filter(kind, (first, second)):
        problem = f"is a {kind(word)} and no word: a surrogate takes its place, and its kind is told; choose words."
        raise ParameterError("--pair", word, problem)
    return first, second
