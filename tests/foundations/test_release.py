"""Releases, options, disclosures and errors as values."""

import json
import re
from dataclasses import replace

import pytest

from wordveil import errors
from wordveil.errors import DocumentFormatError, MissingExtraError, ParameterError, WordveilError
from wordveil.promises.guarantees import LocalDP, MetricDP, NeighbourDP, NoGuarantee, PrivacyUnit, Standing
from wordveil.promises.release import MASK, Provenance, Release, TextOptions, disclosures, effective_guarantee

PROVENANCE = Provenance(version="1", mechanism="M()", vocabulary="v", checksum="c", candidates_checksum="k")
CLAIM = MetricDP(epsilon=1.0, metric="euclidean", standing=Standing.PROVED)


def test_a_release_needs_a_guarantee():
    with pytest.raises(ParameterError, match="guarantee=None must be a Guarantee"):
        Release(text="x", guarantee=None, disclosed=(), tokens=1, provenance=PROVENANCE)
    assert (
        Release(text="x", guarantee=NoGuarantee(reason="r"), disclosed=(), tokens=1, provenance=PROVENANCE).text == "x"
    )


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
def test_unknown_choices_are_refused_with_the_choices(name):
    with pytest.raises(ParameterError, match=rf"{name}='sideways' must be one of \w+, \w+"):
        TextOptions(**{name: "sideways"})


def test_keep_is_no_policy_for_unknown_words():
    with pytest.raises(ParameterError, match="unknown='keep' must be one of random, typed, drop, mask"):
        TextOptions(unknown="keep")


@pytest.mark.parametrize(
    ("option", "value", "said"),
    [
        ("unknown", "random", "by one law for all such tokens"),
        ("unknown", "typed", "and of which kind"),
        ("unknown", "drop", "they are missing"),
        ("unknown", "mask", re.escape(MASK)),
        ("casing", "shape", "casing of every token"),
        ("numbers", "vocabulary", "digits are looked up"),
        ("public_words", frozenset({"a", "b"}), "2 listed public words"),
        ("per", "document", "same known word"),
        ("markup", "html", "tags without attributes and entities, of a fixed list"),
    ],
)
def test_every_choice_that_discloses_says_so(option, value, said):
    assert re.search(said, "\n".join(disclosures(TextOptions(**{option: value}))))
    others = {"unknown": "drop" if value == "random" else "random"}
    assert not re.search(said, "\n".join(disclosures(TextOptions(**others))))


def test_length_layout_and_cuts_are_always_disclosed():
    assert "the number of tokens" in disclosures(TextOptions())[0]
    assert "a hyphen or an apostrophe" in disclosures(TextOptions())[1]


@pytest.mark.parametrize(
    ("option", "value", "assumed"),
    [
        ("unknown", "drop", "which tokens are unknown"),
        ("unknown", "mask", "which tokens are unknown"),
        ("casing", "shape", "the casing of every token"),
        ("markup", "html", "tags and entities"),
        ("public_words", frozenset({"a"}), "which listed public words stand where"),
        ("per", "document", "which positions of a document hold the same known word"),
    ],
)
def test_what_is_disclosed_is_assumed_to_be_the_same(option, value, assumed):
    claim = replace(CLAIM, assumptions=("the mechanism's own",))
    plain = effective_guarantee(claim, TextOptions(), test_source=False)
    chosen = effective_guarantee(claim, TextOptions(**{option: value}), test_source=False)
    assert chosen.assumptions[0] == plain.assumptions[0] == "the mechanism's own"
    assert assumed in chosen.assumptions[1]
    assert assumed not in plain.assumptions[1]
    assert "positions of tokens, punctuation and layout" in plain.assumptions[1]


@pytest.mark.parametrize(
    "claim",
    [
        CLAIM,
        LocalDP(epsilon=1.0, standing=Standing.PROVED),
        NeighbourDP(epsilon=1.0, graph="g", standing=Standing.PROVED),
    ],
)
def test_the_unit_follows_per(claim):
    assert effective_guarantee(claim, TextOptions(), test_source=False).unit is claim.unit
    changed = effective_guarantee(claim, TextOptions(per="document"), test_source=False)
    assert changed.unit is PrivacyUnit.DOCUMENT_WORD
    assert changed.epsilon == claim.epsilon


def test_a_test_source_voids_the_guarantee():
    void = effective_guarantee(CLAIM, TextOptions(), test_source=True)
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
