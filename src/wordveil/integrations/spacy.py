"""spaCy: the component `wordveil_entities`, which writes each document with its entities replaced to `doc._.released`.

Entity-only mode, see `entities`: what the pipeline did not recognize stands raw in `doc._.released`. What is promised,
and that of the whole document nothing is, stands in `doc._.wordveil`. The tokens of the document stay as they were.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from wordveil.errors import MissingExtraError
from wordveil.integrations.entities import EntityDocument
from wordveil.mechanisms.neighbours import NeighbourResponse
from wordveil.pipeline.one_line import default_sanitizer

try:
    from spacy.language import Language
    from spacy.tokens import Doc
except ImportError as missing:
    raise MissingExtraError("wordveil.integrations.spacy", "spacy", "spacy") from missing

__all__ = ["wordveil_entities"]


@Language.factory(
    "wordveil_entities",
    default_config={"epsilon": NeighbourResponse.epsilon, "labels": None},
    requires=["doc.ents"],
    assigns=["doc._.released", "doc._.wordveil"],
)
def wordveil_entities(nlp: Language, name: str, epsilon: float, labels: Sequence[str] | None) -> Callable[[Doc], Doc]:
    """Return the component.

    Args:
        nlp: The pipeline.
        name: Its name there.
        epsilon: Loss between any two words inside of an entity, nats.
        labels: Labels of the entities to replace; None replaces all.
    """
    for extension in ("released", "wordveil"):
        if not Doc.has_extension(extension):
            Doc.set_extension(extension, default=None)
    sanitizer = default_sanitizer(epsilon)

    def replaced(doc: Doc) -> Doc:
        document = EntityDocument(sanitizer)
        spans: list[Any] = [span for span in doc.ents if labels is None or span.label_ in labels]
        doc._.released = document.text(doc.text, [(span.start_char, span.end_char) for span in spans])
        doc._.wordveil = document.as_dict()
        return doc

    return replaced
