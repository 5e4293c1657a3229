"""Rephrasing promises what it says, exactly; what is made or chosen from the private text is refuted or refused."""

import copy
import inspect
import math
import pickle
import re
from dataclasses import replace

import numpy as np
import pytest
from tests.beside import hidden
from tests.dying import interrupt_after

import seeds
import wordveil as wv
from wordveil.auditing.black_box import audit_pair
from wordveil.auditing.laws import verify_law
from wordveil.auditing.subjects import Subject
from wordveil.documents import DocumentSettings
from wordveil.errors import ParameterError, ResumeError
from wordveil.mechanisms.grids import noise_counts
from wordveil.mechanisms.neighbours import TOTAL
from wordveil.promises.guarantees import NoGuarantee, PrivacyUnit
from wordveil.promises.relations import Pair
from wordveil.sentences.encoding import StaticEncoder
from wordveil.sentences.slots import fill, slots_of
from wordveil.sentences.splitting import split_sentences

ALPHA = 1e-9
FIRST, SECOND = "The soldier sold 5 apples.", "A doctor painted the small boat."
KEY = seeds.key(16)


def weights(rephraser, ids):
    """The integer weights of every prototype, as Python integers."""
    return rephraser.sanitizer.parts.randomizer.weights(np.asarray(ids, dtype=np.int32)).astype(object)


# The promise.
@pytest.mark.parametrize("size", [64, 8])
@pytest.mark.parametrize("epsilon", [0.5, 6.0, 9.0])
def test_the_audit_of_a_stock_is_exact(stock, size, epsilon):
    rephraser = wv.Rephraser(stock, epsilon=epsilon, prototypes=size)
    promise = rephraser.guarantee
    assert (promise.promise, promise.unit, promise.slack) == ("local DP", PrivacyUnit.SENTENCE, 0.0)
    verdict = verify_law(rephraser.sanitizer.parts.randomizer)
    assert verdict.holds
    assert verdict.tight_epsilon == pytest.approx(promise.epsilon, abs=1e-9)
    # Every pair of inputs, a sentence of unknown words among them, in whole numbers.
    table = weights(rephraser, [*range(size), -1])
    assert all(sum(row) == TOTAL for row in table)
    worst = max(max(column) / min(column) for column in table.T)
    assert math.log(worst) == pytest.approx(promise.epsilon, abs=1e-9)
    assert promise.epsilon <= epsilon


def test_a_text_is_as_many_releases_as_it_has_sentences_and_nothing_else_of_it_shows(stock):
    rephraser = wv.Rephraser(stock, epsilon=4.0, prototypes=8, source=wv.RandomSource(KEY))
    text = "One day, Dr. Lee left.\n\n- “Really?” he asked!  And then...\n\tThe end"
    release = rephraser(text)
    assert release.tokens == len(split_sentences(text)) == 4
    assert re.search(r"[\n\t]|  ", release.text) is None
    assert rephraser("").text == ""
    assert rephraser(" \n").tokens == 0
    of_four = wv.compose_tokens(release.guarantee, [1.0] * 4)
    assert of_four.epsilon == pytest.approx(4 * release.guarantee.epsilon)
    assert "same number of sentences" in " ".join(release.guarantee.assumptions)
    assert "number of sentences" in release.disclosed[0]
    assert "two texts of 4 sentences" in str(rephraser.explained(4))
    assert f"{of_four.epsilon:.4g} nats" in str(rephraser.explained(4))


def test_sentences_of_unknown_words_are_one_uniform_input(stock):
    rephraser = wv.Rephraser(stock, epsilon=4.0, prototypes=64)
    assert rephraser.sanitizer.parts.encoder.nearest(["Xqzv wvrt.", "!!!", "4711", FIRST]).tolist()[:3] == [-1, -1, -1]
    assert max(weights(rephraser, [-1])[0]) - min(weights(rephraser, [-1])[0]) <= 64


def test_a_prototype_is_found_by_cosine_lowest_first_whatever_stands_beside_the_sentence(stock):
    rephraser = wv.Rephraser(stock, epsilon=4.0, prototypes=64)
    reader = rephraser.sanitizer.parts.encoder
    sentences = [f"{a} {b} {c}." for a in ("She", "The cook") for b in ("saw", "sold") for c in ("boats", "a car")] * 9
    found = reader.nearest(sentences)
    assert found.tolist() == [int(reader.nearest([sentence])[0]) for sentence in sentences]
    rows = stock.encoder().rows(sentences).astype(float)
    table = rephraser.embeddings.vectors.astype(float)
    squared = ((rows[:, None] - table[None]) ** 2).sum(axis=2)
    assert found.tolist() == squared.argmin(axis=1).tolist()


def test_a_test_source_protects_nothing_and_says_so(stock):
    assert isinstance(wv.Rephraser(stock, source=seeds.source(1)).guarantee, NoGuarantee)


def test_a_copy_draws_afresh_and_takes_everything_else_along(stock):
    grids = (wv.NumberGrid.parse("number=0:100:50@0.5"),)
    rephraser = wv.Rephraser(stock, epsilon=5.0, prototypes=64, grids=grids, source=wv.RandomSource(KEY))
    for other in (copy.copy(rephraser), pickle.loads(pickle.dumps(rephraser))):
        assert type(other) is wv.Rephraser
        assert (other.guarantee, other.options.choices()) == (rephraser.guarantee, rephraser.options.choices())
        assert other.sanitizer.source.export_key() != rephraser.sanitizer.source.export_key()


def test_the_place_of_noise_depends_on_stock_size_and_encoder(stock):
    made = [
        wv.Rephraser(stock, epsilon=4.0, prototypes=8),
        wv.Rephraser(stock, epsilon=4.0, prototypes=64),
        wv.Rephraser(stock, epsilon=4.5, prototypes=64),
        wv.Rephraser(stock, epsilon=4.0, prototypes=64, grids=(wv.NumberGrid.parse("number=0:9:1@1"),)),
        wv.Rephraser(
            replace(stock, into=np.eye(stock.embeddings.dimensions, dtype=np.float32)), epsilon=4.0, prototypes=8
        ),
    ]
    assert len({rephraser.sanitizer.parts.domain for rephraser in made}) == len(made)
    again = wv.Rephraser(stock, epsilon=4.0, prototypes=8)
    assert again.sanitizer.parts.domain == made[0].sanitizer.parts.domain


# Broken twins: refuted by the audit that the honest one passes.
class Texts(Subject):
    """A function of a batch of texts, each output one string."""

    discrete = True

    def __init__(self, function):
        self.function = function

    def sample(self, private, n):
        return np.asarray(self.function([str(private)] * n), dtype=np.str_)


def no_response(stock):
    rephraser = wv.Rephraser(stock, epsilon=2.0, prototypes=64)
    return lambda texts: [fill(rephraser.embeddings.words[i]) for i in rephraser.sanitizer.parts.encoder.nearest(texts)]


def stock_of_the_private_text(stock):
    def release(texts):
        own = [*dict.fromkeys(texts)]
        words = [*(word for word in list(stock.embeddings.words)[:8]), *own]
        rows = stock.encoder().rows([fill(word) for word in words])
        table = wv.Embeddings.from_arrays(words, rows, casing="cased", candidate_rule="all")
        level = replace(stock.facts.levels[0], ids=tuple(range(len(words))))
        built = wv.Stock(embeddings=table, facts=replace(stock.facts, levels=(level,)))
        return wv.Rephraser(built, epsilon=2.0, prototypes=len(words)).release_batch(texts).texts

    return release


def size_by_the_private_text(stock):
    both = {n: wv.Rephraser(stock, epsilon=2.0, prototypes=n) for n in (8, 64)}
    return lambda texts: both[8 if len(texts[0]) < len(SECOND) else 64].release_batch(texts).texts


def slot_of_the_private_text(stock):
    rephraser = wv.Rephraser(stock, epsilon=2.0, prototypes=64)

    def release(texts):
        numbers = re.findall(r"\d+", texts[0]) or ["7"]
        released = rephraser.release_batch(texts).texts
        return [re.sub(r"\d+", numbers[0], text) for text in released]

    return release


def honest(stock):
    rephraser = wv.Rephraser(stock, epsilon=2.0, prototypes=64)
    return lambda texts: rephraser.release_batch(texts).texts


@pytest.mark.parametrize(("make", "refuted"), [
    (no_response, True),
    (stock_of_the_private_text, True),
    (size_by_the_private_text, True),
    (slot_of_the_private_text, True),
    (honest, False),
], ids=lambda value: getattr(value, "__name__", None))  # fmt: skip
@pytest.mark.parametrize("swap", [False, True])
def test_broken_twins_are_refuted_and_the_honest_one_is_not(stock, make, refuted, swap):
    pair = (SECOND, FIRST) if swap else (FIRST, SECOND)
    claim = Pair(first=pair[0], second=pair[1], label="two sentences", epsilon=2.0)
    assert audit_pair(Texts(make(stock)), claim, samples=4_000, alpha=ALPHA).refuted is refuted


# What would make a twin is refused.
def test_a_file_that_the_stock_was_built_from_is_refused(stock, public, tmp_path):
    rephraser = wv.Rephraser(stock)
    moved = tmp_path / "folder"
    moved.mkdir()
    (moved / "other-name.txt").write_bytes(public.read_bytes())
    for source in (public, moved / "other-name.txt", moved):
        with pytest.raises(ParameterError, match="text that the stock was built from"):
            wv.rephrase_documents(source, tmp_path / "out", rephraser)
    assert not (tmp_path / "out").exists()


def test_nothing_that_chooses_a_size_takes_a_text():
    assert list(inspect.signature(wv.Stock.choose).parameters) == ["self", "epsilon", "encoder"]
    assert not {"text", "texts", "documents", "source_text"} & set(inspect.signature(wv.Rephraser).parameters)


def test_what_fills_a_slot_is_a_function_of_the_release_alone(stock):
    rephraser = wv.Rephraser(stock, epsilon=2.0, prototypes=64)
    slotted = next(i for i, word in enumerate(rephraser.embeddings.words) if slots_of(word))
    released = np.array([slotted, slotted], np.int32)
    written = set()
    for text in ("It cost 4711. It cost 4711.", "On 1 May 1955 Maria left. Then 12 came."):
        (part,) = rephraser.sanitizer.parts.encoder.encode_parts([text])
        written |= set(rephraser.sanitizer.parts.writer.write_parts([part.without_ids()], released))
    assert len(written) == 1
    assert "[" not in (one := written.pop())
    assert "4711" not in one
    assert "1955" not in one


# Numbers that keep their magnitude.
def test_numbers_cost_what_the_promise_says(stock):
    """The law of a sentence with its number is a product; its largest loss, in whole numbers, is within the claim."""
    grid = wv.NumberGrid.parse("number=0:50:10@0.25")
    plain = wv.Rephraser(stock, epsilon=3.0, prototypes=64)
    rephraser = wv.Rephraser(stock, epsilon=3.0, prototypes=64, grids=[grid])
    counts = noise_counts(grid.points, grid.epsilon)
    tails = [[sum(counts[abs(j - i) :]) if j in (0, 5) else counts[abs(j - i)] for j in range(6)] for i in range(6)]
    of_number = max(math.log(tails[i][j] / tails[k][j]) for i in range(6) for k in range(6) for j in range(6))
    assert of_number == pytest.approx(5 * 0.25, abs=1e-6)
    assert rephraser.guarantee.epsilon == pytest.approx(plain.guarantee.epsilon + 1.25)
    assert rephraser.guarantee.epsilon >= plain.guarantee.epsilon + of_number
    assert any("1.25 nats over the whole range" in line for line in rephraser.disclosed)


def test_numbers_are_released_by_their_own_law_where_there_is_a_slot_and_one_a_sentence(stock):
    grid = wv.NumberGrid.parse("number=0:50:10@6")
    rephraser = wv.Rephraser(stock, epsilon=40.0, prototypes=64, grids=[grid])
    near = next(word for word in rephraser.embeddings.words if slots_of(word) == ["number"])
    said = near.replace("[number]", "41")
    batch = rephraser.release_batch([f"{said} {said}", FIRST, ""])
    assert (batch.tokens, batch.texts[2]) == (3, "")
    texts = rephraser.release_batch([said] * 400).texts
    values = [int(re.search(r"\d+", text)[0]) for text in texts]
    assert set(values) <= set(range(0, 51, 10))
    assert values.count(40) > 380  # with probability tanh(3) = .995
    without = rephraser.release_batch([near.replace("[number]", "some")] * 50).texts
    assert sum("30" in text for text in without) > 30  # the middle of the grid


# Runs.
@pytest.fixture
def notes(tmp_path):
    path = tmp_path / "notes.txt"
    path.write_text("".join(f"The cook sold {i} boats. She forgot the clock!\n" for i in range(60)))
    return path


def test_a_killed_run_goes_on_with_the_same_bytes(stock, notes, tmp_path):
    settings = DocumentSettings(block_characters=300)

    def run(output, key=None, *, resume=False, progress=None):
        source = wv.RandomSource(key) if key else wv.run_source(output, resume=resume)
        source.lasts = False  # a run's own key, though it is known here
        rephraser = wv.Rephraser(stock, epsilon=4.0, prototypes=64, source=source)
        return wv.rephrase_documents(notes, output, rephraser, settings=settings, resume=resume, progress=progress)

    whole = run(tmp_path / "whole.txt", KEY)
    assert (whole.documents, whole.tokens) == (60, 120)
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path / "part.txt", KEY, progress=interrupt_after(2))
    other = wv.Rephraser(stock, epsilon=4.0, prototypes=8, source=wv.run_source(tmp_path / "part.txt", resume=True))
    with pytest.raises(ResumeError, match="prototypes"):
        wv.rephrase_documents(notes, tmp_path / "part.txt", other, settings=settings, resume=True)
    resumed = run(tmp_path / "part.txt", resume=True)
    assert resumed.resumed_documents > 0
    assert (tmp_path / "part.txt").read_bytes() == (tmp_path / "whole.txt").read_bytes()
    assert hidden(tmp_path) == []


@pytest.mark.parametrize(("arguments", "problem"), [
    ({"epsilon": 0.0}, "must be in"),
    ({"prototypes": 9}, "must be one of 8, 64"),
    ({"stock": "general"}, "must be of type Stock"),
])  # fmt: skip
def test_wrong_arguments_are_refused(stock, arguments, problem):
    with pytest.raises(ParameterError, match=problem):
        wv.Rephraser(**{"stock": stock, **arguments})


class Rounding(StaticEncoder):
    """A model whose library rounds as it likes."""

    name = "model"

    def __init__(self, share):
        super().__init__()
        self._share = np.float32(share)

    def rows(self, sentences, progress=None, *, together=False):
        return super().rows(sentences, progress, together=together) * self._share


def test_a_model_that_rounds_otherwise_draws_elsewhere(stock, monkeypatch):
    """Another release of its library, or another processor: its rows may be nearer to another prototype."""
    made = []
    for share in (1.0, 1.0, 1 - 2.0**-23):
        monkeypatch.setattr("wordveil.sentences.stock.encoder_named", lambda name, share=share: Rounding(share))
        made.append(wv.Rephraser(stock, prototypes=8, encoder="model").sanitizer)
    domains = [each.parts.domain for each in made]
    assert domains[0] == domains[1] != domains[2]
    assert made[0].provenance.checksum == made[2].provenance.checksum
