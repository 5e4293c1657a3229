"""A spaCy pipeline that writes what may leave beside each document. Needs `pip install 'wordveil[spacy]'`."""

from __future__ import annotations

import spacy

import wordveil.integrations.spacy  # noqa: F401  # registers the component


def main() -> None:
    """Replace the entities that a rule finds; a model's are replaced in the same way."""
    nlp = spacy.blank("en")
    ruler = nlp.add_pipe("entity_ruler")
    ruler.add_patterns([{"label": "PERSON", "pattern": "Maria Lindqvist"}, {"label": "GPE", "pattern": "Uppsala"}])
    nlp.add_pipe("wordveil_entities", config={"epsilon": 8.0})
    doc = nlp("Maria Lindqvist lives in Uppsala. Maria Lindqvist is well.")
    print(doc._.released)
    print(doc._.wordveil["guarantee"]["reason"])
    assert doc._.released.count(doc._.released.split(" lives")[0]) == 2
    assert doc._.released.endswith("is well.")


if __name__ == "__main__":
    main()
