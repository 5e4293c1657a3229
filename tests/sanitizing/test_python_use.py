"""The sanitizer in a program: wrong arguments are refused, copies take no key along, batches say what they promise."""

import copy
import json
import os
import pickle
import traceback

import numpy as np
import pytest
from tests.dying import in_child
from tests.tables import read_rows, write_rows

import seeds
import wordveil as wv
from wordveil.documents import DocumentSettings
from wordveil.errors import ParameterError, WordveilError
from wordveil.promises.release import KEYED, TextOptions

KEY = seeds.key(16)
SECRET = "qwxzjvbk"


@pytest.fixture
def sanitizer(tiny):
    return wv.Sanitizer(tiny, wv.SanText(epsilon=0.1), source=wv.RandomSource(KEY))


WRONG = {
    "a bare string for a batch": (
        lambda s: s.release_batch(SECRET), r"texts='<str>' must be a list of str; put a single one in brackets"),
    "bytes for a batch": (lambda s: s.release_batch(SECRET.encode()), "texts='<bytes>' must be a list of str"),
    "a number for a batch": (lambda s: s.release_batch(5), "texts='<int>' must be a list of str"),
    "None in a batch": (
        lambda s: s.release_batch(["a", SECRET, "b", None]), "texts=.* must be str; position 3 holds NoneType"),
    "NaN in a batch": (lambda s: s.release_batch([SECRET, float("nan")]), "position 1 holds float"),
    "a list in a batch": (lambda s: s.release_batch([[SECRET]]), "position 0 holds list"),
    "bytes in a document": (lambda s: s.release_documents([[SECRET.encode()]]), "position 0 holds bytes"),
    "a string for a document": (lambda s: s.release_documents([SECRET]), "documents=.* must be lists of str"),
    "too few ids": (lambda s: s.release_batch(["a", "b"], ids=[SECRET]), "one id for each of 2 documents"),
    "too many ids": (lambda s: s.release_batch(["a"], ids=[SECRET, "2"]), "one id for each of 1 documents"),
    "equal ids": (
        lambda s: s.release_batch(["a"] * 3, ids=["x", SECRET, SECRET]), "unique in a run; positions 1 and 2"),
    "numbers as ids": (lambda s: s.release_batch(["a"], ids=[7]), "ids=.* must be str; position 0 holds int"),
    "a string for ids": (lambda s: s.release_batch(["a"], ids=SECRET), "ids='<str>' must be a list of str"),
    "a number as document id": (lambda s: s(SECRET, document_id=3), "document_id='<int>' must be of type str"),
    "None for a text": (lambda s: s(None), "text='<NoneType>' must be of type str"),
    "bytes for a text": (lambda s: s(SECRET.encode()), "text='<bytes>' must be of type str"),
    "a list for a text": (lambda s: s([SECRET]), "text='<list>' must be of type str"),
    "a name for a mechanism": (lambda s: wv.Sanitizer(s.embeddings, "tem"), "mechanism='<str>' must be a mechanism"),
    "a class for a mechanism": (lambda s: wv.Sanitizer(s.embeddings, wv.TEM), "must be a mechanism"),
    "a path for a vocabulary": (lambda s: wv.Sanitizer("glove", s.mechanism), "embeddings='<str>' must be of type"),
    "a dictionary for options": (
        lambda s: wv.Sanitizer(s.embeddings, s.mechanism, options={}), "options='<dict>' must be of type TextOptions"),
    "a seed for a source": (
        lambda s: wv.Sanitizer(s.embeddings, s.mechanism, source=1), "source='<int>' must be of type RandomSource"),
    "a string of public words": (lambda s: TextOptions(public_words=SECRET), "public_words='<str>' must be"),
    "two words as one": (
        lambda s: wv.Sanitizer(s.embeddings, s.mechanism, options=TextOptions(public_words={"two words"})),
        "public_words='two words' is not one token"),
    "numbers as public words": (lambda s: TextOptions(public_words=[1]), "public_words='<list>' must be"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_wrong_arguments_are_refused_by_position_and_type_and_never_shown(sanitizer, name):
    call, message = WRONG[name]
    with pytest.raises(ParameterError, match=message) as caught:
        call(sanitizer)
    assert SECRET not in "".join(traceback.format_exception_only(caught.value)) + repr(vars(caught.value))


def test_what_acts_as_a_list_of_strings_is_one(sanitizer):
    texts = np.array(["alpha beta", "gamma"])
    assert len(sanitizer.release_batch(texts, ids=iter(["a", "b"])).texts) == 2
    assert len(sanitizer.release_batch(dict.fromkeys(["alpha", "beta"])).texts) == 2


TEXT = "alpha beta gamma delta kappa " * 20
COPIES = {"copy": copy.copy, "deepcopy": copy.deepcopy, "pickle": lambda s: pickle.loads(pickle.dumps(s))}


@pytest.mark.parametrize("way", COPIES)
def test_a_copy_does_the_same_with_a_fresh_key(tiny, way):
    mechanism = wv.SanText(epsilon=1.0, calibration="certified")
    options = TextOptions(unknown="mask", per="document", public_words={"pp"})
    for source in (wv.RandomSource(KEY), seeds.source(1)):
        one = wv.Sanitizer(
            tiny, mechanism, options=options, source=source, threads=1, certificate=wv.certify(mechanism, tiny)
        )
        other = COPIES[way](one)
        assert (other.mechanism, other.options, other.threads) == (mechanism, options, 1)
        assert other.source.export_key() not in (KEY, source.export_key())
        assert not other.source.is_test_source
        assert isinstance(other.guarantee, wv.MetricDP)
        assert (
            other.provenance == wv.Sanitizer(tiny, mechanism, options=options, certificate=one.certificate).provenance
        )
        assert one.source is source
        # A word has six candidates: a hundred documents of five words are equal with a chance far below 1e-9.
        ids = [str(number) for number in range(100)]
        texts = [TEXT + "zz"] * len(ids)
        assert one.release_batch(texts, ids=ids).texts != other.release_batch(texts, ids=ids).texts


def test_a_pickle_holds_no_key(tiny, vocabulary, tmp_path):
    source = wv.RandomSource(KEY)
    one = wv.Sanitizer(tiny, wv.SanText(epsilon=0.1), source=source)
    one(TEXT)
    assert KEY not in pickle.dumps(one)
    assert KEY in pickle.dumps(source.export_key()), "the check finds a key where there is one"
    saved = wv.Sanitizer(vocabulary.save(tmp_path / "vocabulary"), wv.TEM(epsilon=1.0))
    assert len(pickle.dumps(saved)) < 5000, "a vocabulary in a directory travels as its path"


def test_a_batch_says_what_it_promises_and_discloses_and_where_it_comes_from(sanitizer):
    batch, release = sanitizer.release_batch([TEXT]), sanitizer(TEXT)
    for found in (batch, release):
        assert (found.guarantee, found.disclosed, found.provenance) == (
            sanitizer.guarantee, sanitizer.disclosed, sanitizer.provenance)  # fmt: skip
    assert isinstance(batch.guarantee, wv.MetricDP)
    test = wv.Sanitizer(sanitizer.embeddings, sanitizer.mechanism, source=seeds.source(1))
    assert test.release_batch([TEXT]).guarantee.standing is wv.Standing.REFUTED
    assert test.release_batch([TEXT]).provenance.test_source


def test_ids_disclose_whether_a_document_changed(sanitizer):
    assert KEYED not in sanitizer(TEXT).disclosed
    for keyed in (sanitizer(TEXT, document_id="a"), sanitizer.release_batch([TEXT], ids=["a"])):
        assert keyed.disclosed == (*sanitizer.disclosed, KEYED)
    same = [sanitizer(TEXT, document_id="a").text for _ in range(2)]
    assert same[0] == same[1] != sanitizer(TEXT + "beta", document_id="a").text


def in_forks(task):
    """Return what a task gives in two forked workers, each of which has one try."""
    return [in_child(task)[1] for _ in range(2)]


forks = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")


@forks
def test_a_retry_in_another_forked_worker_gives_the_same_bytes_or_is_refused(vocabulary):
    """A preloaded application, and multiprocessing's default on Linux before Python 3.14."""
    given = wv.Sanitizer(vocabulary, wv.SanText(epsilon=0.1), source=wv.RandomSource(KEY))
    drawn = wv.Sanitizer(vocabulary, wv.SanText(epsilon=0.1))

    def retried(sanitizer):
        try:
            return sanitizer(TEXT, document_id="a").text
        except WordveilError as error:
            return str(error)

    assert set(in_forks(lambda: retried(given))) == {given(TEXT, document_id="a").text}
    assert all("forked after its key was drawn" in text for text in in_forks(lambda: retried(drawn)))
    assert drawn(TEXT, document_id="a").text == drawn(TEXT, document_id="a").text, "the parent goes on"
    for sanitizer in (given, drawn):
        fresh = in_forks(lambda: sanitizer(TEXT).text)  # noqa: B023 (it is called here)
        assert len({*fresh, sanitizer(TEXT).text}) == 3, "without an id every worker draws afresh"


@forks
@pytest.mark.parametrize("how", [{"days": 180}, {"law": "surrogate"}, {"law": "surrogate", "link": "document"}])
def test_a_redactor_refuses_ids_in_a_forked_worker_that_has_a_key_of_its_own(how):
    text = "We met Maria and Jose on 2026-03-14 and the doctor was there."

    def tried(redactor):
        try:
            return redactor.release_rows([[text]], ["note 17"])[0][0]
        except WordveilError as error:
            return str(error)

    drawn, given = wv.Redactor(**how), wv.Redactor(**how, source=wv.RandomSource(KEY))
    assert all("forked after its key was drawn" in said for said in in_forks(lambda: tried(drawn)))
    assert {*in_forks(lambda: tried(given))} == {tried(given)}
    assert in_forks(lambda: wv.Redactor().redact("We saw it.")) == ["We saw it."] * 2


@forks
def test_rows_of_a_source_whose_key_was_drawn_before_a_fork_are_refused():
    rows, mechanism = np.ones((3, 4)), wv.ClippedLaplace(epsilon=1.0)

    def retried(source):
        try:
            return wv.release_vectors(rows, mechanism, source=source).vectors.tolist()
        except WordveilError as error:
            return str(error)

    given, drawn = wv.RandomSource(KEY), wv.RandomSource()
    assert in_forks(lambda: retried(given)) == [retried(given)] * 2
    assert all("forked after its key was drawn" in answer for answer in in_forks(lambda: retried(drawn)))
    assert len(in_forks(lambda: retried(None))[0]) == 3


@forks
@pytest.mark.parametrize("kind", ["texts", "vectors"])
def test_forked_workers_run_over_files_with_keys_of_their_own_that_runs_keep(vocabulary, tmp_path, kind):
    (tmp_path / "in.txt").write_text(TEXT + "\n")
    np.save(tmp_path / "in.npy", np.ones((3, 4)))
    drawn, source = wv.Sanitizer(vocabulary, wv.SanText(epsilon=0.1)), wv.RandomSource()

    def run():
        output = tmp_path / f"{os.getpid()}.{'txt' if kind == 'texts' else 'npy'}"
        if kind == "texts":
            wv.sanitize_documents(tmp_path / "in.txt", output, drawn)
        else:
            wv.release_vector_file(tmp_path / "in.npy", output, wv.ClippedLaplace(epsilon=1.0), source=source)
        return output.read_bytes().hex()

    assert len({*in_forks(run), run()}) == 3


# What the release assumes and shows beyond the mechanism's own law.
def test_a_mechanisms_assumptions_and_disclosures_reach_the_release(vocabulary):
    nadp = wv.Sanitizer(vocabulary, wv.NADP(epsilon=4.0, isolated="verbatim", tau=0.5))
    release = nadp("babaq zz")
    assert any("component of every released word" in line for line in release.disclosed)
    assert any("% of the words have no neighbour and no noise" in line for line in release.disclosed)
    assert isinstance(release.guarantee, wv.NeighbourDP)
    assert any("between an unknown and a known word nothing is promised" in line for line in release.disclosed)
    unlucky = wv.Sanitizer(vocabulary, wv.Projection(epsilon=4.0, sensitivity="union-bound", beta=5.0))("babaq")
    assert any("unlucky matrix" in line for line in unlucky.guarantee.assumptions)


@pytest.mark.parametrize(("mechanism", "said"), [
    (wv.TEM(epsilon=2.0), "the loss is at most that of the two most distant words"),
    (wv.ClippedLaplace(epsilon=2.0), "the loss is at most that of two known words"),
    (wv.NADP(epsilon=2.0), "nothing is promised"),
    (wv.Jaccard(epsilon=2.0, allow_refuted=True), "nothing is promised"),
])  # fmt: skip
def test_unknown_words_are_spoken_of_as_the_promise_allows(vocabulary, mechanism, said):
    line = next(
        line for line in wv.Sanitizer(vocabulary, mechanism)("zz").disclosed if "outside the vocabulary" in line
    )
    assert line.endswith(f"no output distinguishes two of them; between an unknown and a known word {said}")


# A record is one document.
@pytest.fixture
def records(vocabulary, tmp_path):
    entries = list(vocabulary.words)
    generator = seeds.rng(4)
    rows = []
    for number in range(60):
        word, other = entries[generator.integers(300)], entries[generator.integers(300)]
        body = None if number % 7 == 3 else f"{other} zz {word} {word}"
        rows.append({"id": number, "title": word, "body": body, "note": ""})
    write_rows(tmp_path / "in.jsonl", rows)
    return tmp_path / "in.jsonl", rows


def test_a_word_in_several_columns_of_a_record_is_drawn_once(vocabulary, records, tmp_path):
    path, rows = records
    options = TextOptions(per="document", casing="vocabulary")
    sanitizer = wv.Sanitizer(
        vocabulary, wv.SanText(epsilon=0.1), options=options, source=wv.RandomSource(KEY), threads=1
    )
    settings = DocumentSettings(columns=("title", "body", "note"), keep_others=True, block_characters=300)
    report = wv.sanitize_documents(path, tmp_path / "out.jsonl", sanitizer, settings=settings)
    released = read_rows(tmp_path / "out.jsonl")
    assert [row["body"] is None for row in released] == [row["body"] is None for row in rows]
    columns = json.dumps(settings.columns)
    for number, (row, out) in enumerate(zip(rows, released, strict=True)):
        texts = [text for text in (row["title"], row["body"], row["note"]) if text is not None]
        alone = sanitizer.release_documents([texts], ids=[f"\0{columns}in.jsonl:{number}"]).texts
        assert list(alone) == [text for text in (out["title"], out["body"], out["note"]) if text is not None]
        if row["body"]:
            assert out["body"].split()[2:] == [out["title"]] * 2
    assert "(a record)" in report.guarantee.sentence()
    assert any("a record with all its texts" in line for line in report.disclosed)
