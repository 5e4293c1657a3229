"""Presidio with wordveil's operators. Needs `pip install 'wordveil[presidio]'`.

Where the spans come from is Presidio's business: with `presidio-analyzer` and a model, `AnalyzerEngine().analyze(...)`;
here they are written down, so that nothing is downloaded.
"""

from __future__ import annotations

from presidio_anonymizer import AnonymizerEngine
from presidio_anonymizer.entities import OperatorConfig, RecognizerResult

from wordveil.integrations.presidio import EntityDocument, WordveilOperator

TEXT = "Maria Lindqvist wrote to maria@clinic.se. Maria Lindqvist's case is B-4711."


def main() -> None:
    """Replace the recognized spans of one document, and restore what can be."""
    values = {"PERSON": "Maria Lindqvist", "EMAIL_ADDRESS": "maria@clinic.se", "ID": "B-4711"}
    found = [RecognizerResult(label, TEXT.index(v), TEXT.index(v) + len(v), 0.9) for label, v in values.items()]
    again = TEXT.rindex(values["PERSON"])
    found.append(RecognizerResult("PERSON", again, again + len(values["PERSON"]), 0.9))
    engine = AnonymizerEngine()
    engine.add_anonymizer(WordveilOperator)
    document = EntityDocument()  # one for each document
    result = engine.anonymize(TEXT, found, {"DEFAULT": OperatorConfig("wordveil", {"document": document})})
    print(result.text)
    print(document.guarantee.sentence())
    print("between documents that differ in these spans only:", document.of_spans.sentence())
    print("restored:", document.restored(result.text))
    person = next(item.text for item in result.items if item.entity_type == "PERSON")
    assert result.text.count(person) == 2
    assert "maria@clinic.se" not in result.text
    assert "maria@clinic.se" in document.restored(result.text)


if __name__ == "__main__":
    main()
