"""Releases, options, disclosures and errors as values."""

import json
import re
from dataclasses import replace

import pytest

from wordveil import errors
from wordveil.errors import DocumentFormatError, MissingExtraError, ParameterError, WordveilError
from wordveil.promises.guarantees import MetricDP, NoGuarantee, PrivacyUnit, Standing
from wordveil.promises.release import (
    MASK,
    Provenance,
    Release,
    TextOptions,
    disclosures,
    effective_guarantee,
    unprotected,
)

PROVENANCE = Provenance(version="1", mechanism="M()", vocabulary="v", checksum="c", candidates_checksum="k")
CLAIM = MetricDP(epsilon=1.0, metric="euclidean", standing=Standing.PROVED)


def test_a_release_needs_a_guarantee():
    with pytest.raises(ParameterError, match="guarantee=None must be a Guarantee"):
        Release(text="x", guarantee=None, disclosed=(), tokens=1, provenance=PROVENANCE)


def test_a_release_becomes_json():
    release = Release(text="é", guarantee=CLAIM, disclosed=("d",), tokens=1, provenance=PROVENANCE)
    facts = json.loads(json.dumps(release.as_dict()))
    assert facts["text"] == "é"
    assert facts["guarantee"]["epsilon"] == 1.0
    assert facts["provenance"] == {**facts["provenance"], "version": "1", "test_source": False}


def test_a_notebook_shows_text_promise_and_disclosures_and_runs_none_of_them():
    text = "<b> & " + 20 * "word "
    release = Release(text=text, guarantee=CLAIM, disclosed=("<i>",), tokens=1, provenance=PROVENANCE)
    assert len(repr(release)) < 200, "one line, without provenance"
    shown = release._repr_html_()
    assert "&lt;b&gt; &amp; word" in shown
    assert "&lt;i&gt;" in shown
    assert set(re.findall(r"<(\w+)", shown)) == {"blockquote", "p", "b", "ul", "li"}
    assert CLAIM.sentence() in shown


@pytest.mark.parametrize("name", ["unknown", "per", "casing", "numbers", "markup"])
@pytest.mark.parametrize("value", ["sideways", "keep"])
def test_unknown_choices_are_refused_with_the_choices(name, value):
    with pytest.raises(ParameterError, match=rf"{name}='{value}' must be one of \w+, \w+"):
        TextOptions(**{name: value})


SHOWN = [
    ("unknown", "random", "by one law for all such tokens", None),
    ("unknown", "typed", "and of which kind", None),
    ("unknown", "drop", "they are missing", "which tokens are unknown"),
    ("unknown", "mask", re.escape(MASK), "which tokens are unknown"),
    ("casing", "shape", "casing of every token", "the casing of every token"),
    ("numbers", "vocabulary", "digits are looked up", None),
    ("public_words", frozenset({"a", "b"}), "2 listed public words", "which listed public words stand where"),
    ("per", "document", "same known word", "which positions of a document hold the same known word"),
    ("markup", "html", "tags without attributes and entities, of a fixed list", "tags and entities"),
]


@pytest.mark.parametrize(("option", "value", "said", "assumed"), SHOWN)
def test_every_choice_that_discloses_says_so_and_what_is_disclosed_is_assumed_to_be_the_same(
    option, value, said, assumed
):
    chosen, other = TextOptions(**{option: value}), TextOptions(unknown="drop" if value == "random" else "random")
    assert re.search(said, "\n".join(disclosures(chosen)))
    assert not re.search(said, "\n".join(disclosures(other)))
    claim = replace(CLAIM, assumptions=("the mechanism's own",))
    plain, with_it = (effective_guarantee(claim, each) for each in (TextOptions(), chosen))
    assert with_it.assumptions[0] == plain.assumptions[0] == "the mechanism's own"
    assert assumed is None or assumed in with_it.assumptions[1]
    assert assumed is None or assumed not in plain.assumptions[1]
    assert "positions of tokens, punctuation and layout" in plain.assumptions[1]
    assert "the number of tokens" in disclosures(TextOptions())[0]
    assert "a hyphen or an apostrophe" in disclosures(TextOptions())[1]


def test_the_unit_follows_per_and_a_test_source_voids_the_guarantee():
    assert effective_guarantee(CLAIM, TextOptions()).unit is CLAIM.unit
    changed = effective_guarantee(CLAIM, TextOptions(per="document"))
    assert (changed.unit, changed.epsilon) == (PrivacyUnit.DOCUMENT_WORD, CLAIM.epsilon)
    void = unprotected(PrivacyUnit.TOKEN)
    assert isinstance(void, NoGuarantee)
    assert void.standing is Standing.REFUTED
    assert "test source" in void.sentence()


def test_errors_form_one_tree_that_the_docstring_draws():
    drawn = set(re.findall(r"[A-Z]\w+(?:Error|Warning)", errors.__doc__)) - {"ImportError", "ValueError", "UserWarning"}
    assert drawn == {name for name, value in vars(errors).items() if isinstance(value, type)}
    for name in drawn:
        assert issubclass(getattr(errors, name), WordveilError if name.endswith("Error") else errors.InputWarning)


def test_errors_carry_what_they_speak_of():
    error = DocumentFormatError("a.csv", "is odd.", line=3, offset=9, remedy="Mend it.")
    assert str(error) == "a.csv, line 3, byte 9: is odd. Mend it."
    assert (error.path, error.line, error.offset) == ("a.csv", 3, 9)
    assert isinstance(error, ValueError)
    assert str(ParameterError("k", 0, "must be at least 1.")) == "k=0 must be at least 1."
    whole = ParameterError("numbers", "metric", sentence="Give a grid, or other numbers.")
    assert str(whole) == "Give a grid, or other numbers."
    assert (whole.name, whole.value, whole.requirement) == ("numbers", "metric", "Give a grid, or other numbers.")
    missing = MissingExtraError("Parquet", "pyarrow", "parquet")
    assert "pip install 'wordveil[parquet]'" in str(missing)
    assert isinstance(missing, ImportError)
