"""`wordveil explain`: a guarantee in plain words, with two worked word pairs and the per-text sum."""

from __future__ import annotations

from typing import Annotated

import typer

from wordveil.cli.common import (
    DEFAULT_MECHANISM,
    EpsilonOption,
    MechanismOption,
    ParameterOption,
    VocabularyOption,
    build_mechanism,
    default_epsilon,
    open_vocabulary,
)

__all__ = ["explain"]


def explain(
    mechanism: MechanismOption = DEFAULT_MECHANISM,
    epsilon: EpsilonOption = None,
    settings: ParameterOption = None,
    vocabulary: VocabularyOption = None,
    pair: Annotated[
        list[str] | None,
        typer.Option("--pair", metavar="WORD,WORD", help="Public words to work out; repeat as needed."),
    ] = None,
    tokens: Annotated[int, typer.Option("--tokens", help="Length of the text in the per-text sum.")] = 50,
) -> None:
    """Explain the guarantee of a mechanism in plain words."""
    from wordveil.errors import ParameterError
    from wordveil.explanations import explain as explain_guarantee
    from wordveil.metrics import Euclidean
    from wordveil.release import TextOptions, disclosures

    pairs = []
    for text in pair or ():
        first, separator, second = text.partition(",")
        if not separator:
            raise ParameterError("--pair", text, "must be two words with a comma between them.")
        pairs.append((first.strip(), second.strip()))
    embeddings = open_vocabulary(vocabulary)
    chosen = build_mechanism(mechanism, default_epsilon(embeddings, mechanism, epsilon), settings or ())
    guarantee = chosen.fit(embeddings).guarantee()
    metric = getattr(chosen, "metric", None) or Euclidean()
    typer.echo(str(explain_guarantee(embeddings, guarantee, metric=metric, pairs=pairs, tokens=tokens)))
    for line in disclosures(TextOptions()):
        typer.echo(f"Disclosed whatever the noise: {line}.")
