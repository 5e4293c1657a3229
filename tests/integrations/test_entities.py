"""Entity-only mode through Presidio and spaCy: spans are replaced, consistently, and the mode is declared."""

import leak_free
import pytest

import wordveil as wv
from wordveil.integrations.entities import EntityDocument

TEXT = "Maria wrote to maria@clinic.se; the case of Maria is B-4711, and bbqzx stays."
SPANS = [("PERSON", "Maria"), ("EMAIL_ADDRESS", "maria@clinic.se"), ("PERSON", "Maria"), ("ID", "B-4711")]


def spans():
    place = 0
    for label, value in SPANS:
        start = TEXT.index(value, place)
        place = start + len(value)
        yield label, start, place


def check(released, document):
    first, _, rest = released.partition(" wrote to ")
    address, _, rest = rest.partition("; the case of ")
    second, _, rest = rest.partition(" is ")
    case, _, end = rest.partition(", and ")
    assert end == "bbqzx stays."
    assert first == second
    for part in (first, address, case):
        leak_free.check_release(part)
    assert document.restored(released).count("maria@clinic.se") == 1
    assert "B-4711" in document.restored(released)


def declared(said):
    assert "function of the private text" in said["guarantee"]["reason"]
    assert "outside the recognized spans" in said["disclosed"][0]
    assert "Maria" not in str(said)


def test_spans_are_replaced_and_all_else_stands():
    document = EntityDocument(leak_free.sanitizer())
    check(document.text(TEXT, [(start, end) for _, start, end in spans()]), document)
    assert isinstance(document.guarantee, wv.NoGuarantee)
    assert document.of_spans.epsilon == leak_free.sanitizer().guarantee.epsilon
    assert "both texts agree in all that stands outside" in document.of_spans.assumptions[-1]
    declared(document.as_dict())


def test_two_documents_draw_independently():
    one, two = EntityDocument(leak_free.sanitizer()), EntityDocument(leak_free.sanitizer())
    values = [f"m{i}@clinic.se" for i in range(20)]
    assert [one.replaced(v) for v in values] == [one.replaced(v) for v in values]
    assert [one.replaced(v) for v in values] != [two.replaced(v) for v in values]


def test_presidio_replaces_and_restores_recognized_spans():
    presidio = pytest.importorskip("presidio_anonymizer", reason="needs the extra presidio")
    from presidio_anonymizer.entities import InvalidParamError, OperatorConfig, OperatorResult, RecognizerResult

    from wordveil.integrations.presidio import WordveilOperator, WordveilRestorer

    document = EntityDocument(leak_free.sanitizer())
    engine = presidio.AnonymizerEngine()
    engine.add_anonymizer(WordveilOperator)
    found = [RecognizerResult(label, start, end, 0.9) for label, start, end in spans()]
    config = {"DEFAULT": OperatorConfig("wordveil", {"document": document})}
    result = engine.anonymize(TEXT, found, config)
    check(result.text, document)
    back = presidio.DeanonymizeEngine()
    back.add_deanonymizer(WordveilRestorer)
    restore = {"DEFAULT": OperatorConfig("wordveil-restore", {"document": document})}
    items = [OperatorResult(each.start, each.end, each.entity_type) for each in result.items]
    assert "maria@clinic.se" in back.deanonymize(result.text, items, restore).text
    with pytest.raises(InvalidParamError, match="one for each document"):
        engine.anonymize(TEXT, found, {"DEFAULT": OperatorConfig("wordveil", {})})


def test_spacy_writes_the_release_beside_the_document():
    spacy = pytest.importorskip("spacy", reason="needs the extra spacy")
    import wordveil.integrations.spacy  # registers the component

    assert wordveil.integrations.spacy.__all__ == ["wordveil_entities"]
    nlp = spacy.blank("en")
    patterns = [{"label": label, "pattern": value} for label, value in SPANS]
    nlp.add_pipe("entity_ruler").add_patterns(patterns)
    nlp.add_pipe("wordveil_entities", config={"labels": ["EMAIL_ADDRESS", "PERSON"]})
    doc, other = nlp.pipe([TEXT, "Nobody is here."])
    assert doc.text == TEXT
    assert "maria@clinic.se" not in doc._.released
    assert "B-4711" in doc._.released  # its label was not asked for
    assert doc._.released.endswith("and bbqzx stays.")
    assert other._.released == "Nobody is here."
    declared(doc._.wordveil)
    assert spacy.tokens.Doc(nlp.vocab).from_bytes(doc.to_bytes())._.released == doc._.released
