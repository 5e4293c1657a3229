"""`wordveil explain`: a guarantee in plain words, with two worked word pairs and the per-text sum."""

from __future__ import annotations

from typing import Annotated

import typer

from wordveil.cli.common import Wanted, open_vocabulary, prepare, say
from wordveil.cli.options import option

__all__ = ["explain"]


def explain(
    *,
    wanted: Wanted,
    pair: Annotated[
        list[str] | None,
        option("--pair", metavar="WORD,WORD", help="Public words to work out; repeat as needed."),
    ] = None,
    tokens: Annotated[int, option("--tokens", help="Length of the text in the per-text sum.")] = 50,
) -> None:
    """Explain the guarantee of a mechanism in plain words."""
    from wordveil.errors import ParameterError
    from wordveil.pipeline.explanations import explain as explain_guarantee
    from wordveil.pipeline.fitting import fit_words
    from wordveil.promises.release import TextOptions, disclosures, effective_guarantee
    from wordveil.text.kinds import kind

    pairs = []
    for text in pair or ():
        first, separator, second = text.partition(",")
        if not separator:
            raise ParameterError("--pair", text, "must be two words with a comma between them.")
        pairs.append((first.strip(), second.strip()))
    for word in (word for two in pairs for word in two if kind(word)):
        problem = f"is a {kind(word)} and no word: a surrogate takes its place, and its kind is told; choose words."
        raise ParameterError("--pair", word, problem)
    embeddings = open_vocabulary(wanted.vocabulary)
    prepared = prepare(wanted, embeddings)
    for note in prepared.notes:
        say(note)
    randomizer = fit_words(prepared.mechanism, embeddings, prepared.certificate)
    options = TextOptions(unknown="typed")
    guarantee = effective_guarantee(randomizer.guarantee(), options, test_source=False)
    explanation = explain_guarantee(
        embeddings, guarantee, metric=randomizer.metric, pairs=pairs, tokens=tokens, randomizer=randomizer
    )
    typer.echo(str(explanation))
    for line in disclosures(options, guarantee):
        typer.echo(f"Disclosed whatever the noise: {line}.")
