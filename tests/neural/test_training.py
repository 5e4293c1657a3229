"""Both trainings in miniature: resume, refusals, cards, vocabularies, scores and rewriting."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

import seeds

torch = pytest.importorskip("torch", reason="PyTorch is not installed (extra: torch)")

from small_models import sentences, small_table, write_texts, write_vectors  # noqa: E402
from tests.neural.gaussian_passes import epsilon_of  # noqa: E402

from wordveil.errors import ChecksumError, DataFormatError, GuaranteeError, ParameterError, ResumeError  # noqa: E402
from wordveil.mechanisms.clipped_gaussian import ClippedGaussian  # noqa: E402
from wordveil.mechanisms.common import UNCHECKED  # noqa: E402
from wordveil_lab.neural import training as training_module  # noqa: E402
from wordveil_lab.neural.corpora import TextFile, encode_texts, model_vocabulary, read_texts  # noqa: E402
from wordveil_lab.neural.jobs import TrainingJob, load_model, run_job  # noqa: E402
from wordveil_lab.neural.models import Rewriter  # noqa: E402
from wordveil_lab.neural.private_embedding import PADDING, UNKNOWN, PrivateEmbedding  # noqa: E402
from wordveil_lab.neural.rewriting import TextRewriter, _batches  # noqa: E402
from wordveil_lab.neural.storage import load_tensors  # noqa: E402
from wordveil_lab.neural.training import CLASSIFY, REWRITE, fit  # noqa: E402
from wordveil_lab.trlaplace.rewrite_scores import score_rewrites  # noqa: E402

QUICK = replace(REWRITE, epochs=4, batch=10, hidden=12, dropout=0.1, patience=4, learning_rate=0.03)
WEAK = ClippedGaussian(epsilon=2000.0, clip_norm=4.0)  # so little noise that a miniature can learn
STRONG = ClippedGaussian(epsilon=0.1)


@pytest.fixture
def job(tmp_path):
    vectors = write_vectors(tmp_path / "vectors.txt")
    data = TextFile(path=str(write_texts(tmp_path / "public.tsv")))
    return TrainingJob(
        task="rewrite",
        data=data,
        mechanism=WEAK,
        training=QUICK,
        table="glove",
        vectors=vectors,
        words=50,
        targets_are_public=True,
    )


def classifier(job, **changes):
    return replace(job, task="classify", data=replace(job.data, label="label"), training=QUICK, **changes)


def longer(job, tmp_path, **changes):
    data = replace(job.data, path=str(write_texts(tmp_path / "longer.tsv", 240)))
    return replace(job, data=data, training=replace(QUICK, epochs=10, patience=10, validation=0.3), **changes)


# Fresh noise each time; 72 held-out texts. At chance a classifier is above .85 with probability below 1e-9, and of a
# rewriter's words (the, noun, was, adjective) two are always the same, one is one of three and one one of eight.
def test_a_rewriter_learns_and_a_strong_mechanism_keeps_it_from_knowing_the_words(job, tmp_path):
    assert run_job(longer(job, tmp_path), tmp_path / "weak").scores["accuracy"] > 0.95
    assert run_job(longer(job, tmp_path, mechanism=STRONG), tmp_path / "strong").scores["accuracy"] < 0.85


def test_a_classifier_learns_and_a_strong_mechanism_keeps_it_from_knowing_the_class(job, tmp_path):
    job = replace(longer(job, tmp_path), task="classify", data=replace(longer(job, tmp_path).data, label="label"))
    assert run_job(job, tmp_path / "weak").scores["accuracy"] > 0.95
    assert run_job(replace(job, mechanism=STRONG), tmp_path / "strong").scores["accuracy"] < 0.85


def test_the_defaults_are_the_papers():
    assert (REWRITE.epochs, REWRITE.batch, REWRITE.learning_rate, REWRITE.betas) == (100, 1024, 0.01, (0.5, 0.999))
    assert (REWRITE.dropout, CLASSIFY.dropout) == (0.5, 0.2)
    assert (CLASSIFY.epochs, CLASSIFY.batch, CLASSIFY.learning_rate) == (50, 256, 1e-4)


@pytest.mark.parametrize("task", ["rewrite", "classify"])
def test_private_targets_are_refused(job, task):
    with pytest.raises(GuaranteeError, match=r"weights expose the .*--targets-are-public"):
        replace(job, task=task, targets_are_public=False)


def test_a_rewriter_never_trains_on_private_sentences(job):
    with pytest.raises(GuaranteeError, match="cannot be private"):
        replace(job, text_is_public=False)


def weights(directory):
    return load_tensors(directory / "model.pt")


@pytest.mark.parametrize("task", ["rewrite", "classify"])
def test_a_resumed_training_is_the_training_that_was_not_interrupted(job, task, tmp_path):
    job = classifier(job) if task == "classify" else job
    run_job(job, tmp_path / "whole", source=seeds.source(1))

    def stop(epoch):
        if epoch.epoch == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_job(job, tmp_path / "cut", source=seeds.source(1), progress=stop)
    assert (tmp_path / "cut" / "checkpoint.pt").exists()
    card = run_job(job, tmp_path / "cut", source=seeds.source(1), resume=True)
    whole, cut = weights(tmp_path / "whole"), weights(tmp_path / "cut")
    assert whole.keys() == cut.keys()
    for name, value in whole.items():
        assert value == cut[name] if isinstance(value, dict) else torch.equal(value, cut[name]), name
    logs = [
        [json.loads(line) for line in (tmp_path / d / "log.jsonl").read_text().splitlines()] for d in ("whole", "cut")
    ]
    assert [e["loss"] for e in logs[0]] == [e["loss"] for e in logs[1]]
    assert [e["epoch"] for e in logs[1]] == [1, 2, 3, 4]
    assert not (tmp_path / "cut" / "checkpoint.pt").exists()
    assert card.scores["loss"] == min(e["loss"] for e in logs[0])


def test_other_noise_gives_other_weights(job, tmp_path):
    for seed in (1, 2):
        run_job(job, tmp_path / str(seed), source=seeds.source(seed))
    assert not torch.equal(weights(tmp_path / "1")["words.weight"], weights(tmp_path / "2")["words.weight"])


def test_a_resume_with_other_settings_or_data_is_refused(job, tmp_path):
    def stop(epoch):
        raise KeyboardInterrupt

    place = tmp_path / "model"
    with pytest.raises(KeyboardInterrupt):
        run_job(job, place, progress=stop)
    with pytest.raises(ResumeError, match="other data, settings"):
        run_job(replace(job, mechanism=STRONG), place, resume=True)
    write_texts(tmp_path / "public.tsv", 40)
    with pytest.raises(ResumeError, match="other data"):
        run_job(job, place, resume=True)
    with pytest.raises(ParameterError, match="must not exist or be empty"):
        run_job(job, place)


def test_a_training_begun_with_a_test_source_does_not_become_a_proved_one(job, tmp_path):
    def stop(epoch):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_job(job, tmp_path / "m", source=seeds.source(1), progress=stop)
    with pytest.raises(ResumeError, match="other data, settings"):
        run_job(job, tmp_path / "m", resume=True)


def test_a_private_file_changed_before_a_resume_is_noticed_without_its_digest_being_kept(job, tmp_path):
    def stop(epoch):
        raise KeyboardInterrupt

    private, place = classifier(job, text_is_public=False), tmp_path / "model"
    with pytest.raises(KeyboardInterrupt):
        run_job(private, place, progress=stop)
    assert json.loads((place / "config.json").read_text())["data"] == {}
    write_texts(tmp_path / "public.tsv", 40)
    with pytest.raises(ResumeError, match="other data"):
        run_job(private, place, resume=True)


def test_training_stops_early_and_keeps_the_best_epoch(monkeypatch, job):
    data = encode_texts(read_texts(job.data)[0], small_table())
    losses = iter([3.0, 1.0, 2.0, 2.5, 0.5])
    monkeypatch.setattr(training_module, "measure", lambda *_: (next(losses), 0.0))
    seen = []

    def remember(_):
        seen.append(model.words.weight.detach().clone())

    model = Rewriter(PrivateEmbedding(small_table(), None), hidden=4, dropout=0.0)
    log = fit(model, data, data, replace(QUICK, epochs=9, patience=2), progress=remember)
    assert [(e.epoch, e.best) for e in log] == [(1, True), (2, True), (3, False), (4, False)]
    assert torch.equal(model.words.weight, seen[1])
    assert not torch.equal(seen[3], seen[1])


def test_the_callers_generator_is_left_alone(job, tmp_path):
    torch.manual_seed(seeds.seed(9))
    before = torch.random.get_rng_state()
    run_job(replace(job, training=replace(QUICK, epochs=1)), tmp_path / "m")
    assert torch.equal(torch.random.get_rng_state(), before)


def test_the_card_counts_passes_over_private_text_and_says_what_does_not_hold(job, tmp_path):
    short = replace(QUICK, epochs=3, patience=3)
    card = run_job(replace(classifier(job, text_is_public=False, mechanism=STRONG), training=short), tmp_path / "m")
    # Rows of equal text are one text, held out or not: it passes once a row and epoch.
    most = 3 * max(Counter(text for text, _ in sentences(60)).values())
    assert most > 3
    assert card.passes == most
    assert card.composed.epsilon == pytest.approx(epsilon_of(most, epsilon=0.1))
    saved = json.loads((tmp_path / "m" / "card.json").read_text())
    assert saved["composed_guarantee"]["epsilon"] == pytest.approx(epsilon_of(most, epsilon=0.1))
    assert saved["data"] == {}
    assert any("labels, whatever the noise" in line for line in saved["does_not_hold"])
    assert any("how often the most frequent training text occurs" in line for line in saved["does_not_hold"])
    page = (tmp_path / "m" / "card.md").read_text()
    assert f"went through the noise {most} times, rows of equal text counted together" in page
    holds, _, rest = page.partition("## What does not")
    assert "measured" not in holds
    assert "Mitigation, measured: released values are multiples of 2^" in rest
    assert "no guarantee" in rest.partition("Mitigation, measured")[2].splitlines()[0]
    public = run_job(replace(job, training=replace(QUICK, epochs=1)), tmp_path / "p")
    assert public.passes == 0
    assert public.composed is None
    assert any("training sentences" in line for line in public.does_not_hold())
    assert list(public.data) == ["public.tsv"]


def test_the_vocabulary_of_private_text_does_not_follow_the_text(job):
    of = {"vectors": job.vectors, "size": 6}
    ours = model_vocabulary("glove", ["here here here was"], **of)
    assert list(ours.words) == ["was", "here"]
    blind = [model_vocabulary("glove", text, private=True, **of) for text in (["here"], ["sad"])]
    assert list(blind[0].words) == list(blind[1].words) == list(small_table().words)[:6]
    with pytest.raises(ParameterError, match="takes its words from the text"):
        model_vocabulary("random", ["here"], private=True)


@pytest.mark.parametrize(
    ("table", "message"),
    [("fasttext", "must be one of random, glove, word2vec, embedded"), ("word2vec", "must name the word2vec file")],
)
def test_tables_that_do_not_exist(table, message):
    with pytest.raises(ParameterError, match=message):
        model_vocabulary(table, ["here"])


def test_random_vectors_follow_a_public_seed():
    one, two, three = (model_vocabulary("random", ["b a b"], dimensions=5, seed=seeds.seed(n)) for n in (1, 1, 2))
    assert list(one.words) == ["b", "a"]
    assert np.array_equal(one.vectors, two.vectors)
    assert not np.array_equal(one.vectors, three.vectors)


def test_batches_are_padded_cut_and_marked():
    data = encode_texts(["the film was zzz here", "!", "food", "food"], small_table(), max_tokens=4)
    assert len(data) == 3
    batch = data.batch(np.array([1, 0]))
    the, film, was, food = small_table().ids(["the", "film", "was", "food"]).tolist()
    assert batch.ids.tolist() == [[food, PADDING, PADDING, PADDING], [the, film, was, UNKNOWN]]
    assert batch.lengths.tolist() == [1, 4]
    assert batch.keys[0] != batch.keys[1]
    assert data.batch(np.array([2])).keys == batch.keys[:1]  # equal texts are one
    assert not any(b"food" in key or b"film" in key for key in batch.keys)


def test_text_files_and_their_errors(tmp_path):
    plain = tmp_path / "a.txt"
    plain.write_text("one\n\ntwo\n", encoding="utf-8")
    assert read_texts(TextFile(path=str(plain))) == (["one", "two"], [])
    with pytest.raises(ParameterError, match=r"must not be given for a \.txt file"):
        read_texts(TextFile(path=str(plain), label="label"))
    plain.write_bytes(b"\xff\xfe")
    with pytest.raises(DataFormatError, match="is not UTF-8"):
        read_texts(TextFile(path=str(plain)))
    plain.write_text("\n", encoding="utf-8")
    with pytest.raises(DataFormatError, match="holds no text"):
        read_texts(TextFile(path=str(plain)))


def test_scores_of_a_perfect_and_of_a_blind_rewriter(job):
    data = encode_texts(read_texts(job.data)[0], small_table())
    model = Rewriter(PrivateEmbedding(small_table(), None), hidden=4, dropout=0.0)
    model.rewrite = lambda batch: [row[:n] for row, n in zip(batch.ids, batch.lengths, strict=True)]
    perfect = score_rewrites(model, data)
    assert (perfect.rouge1, perfect.n_w) == (1.0, 1.0)
    optional = {"bleu": (perfect.bleu, 100.0), "bert": (perfect.bert, 1.0)}
    assert set(perfect.absent) == {name for name, (score, _) in optional.items() if score is None}
    for name, (score, best) in optional.items():
        if score is None:
            assert "pip install" in perfect.absent[name]
        else:
            assert score == pytest.approx(best, rel=1e-5)
    model.rewrite = lambda batch: [np.zeros(n, dtype=np.int32) for n in batch.lengths]
    assert score_rewrites(model, data).n_w == pytest.approx((data.corpus.tokens == 0).mean())


def test_a_loaded_model_counts_the_callers_passes_from_zero(job, tmp_path):
    run_job(job, tmp_path / "m")
    model = load_model(tmp_path / "m")
    assert model.embedding.mechanism == WEAK
    assert model.embedding.passes.largest == 0
    TextRewriter(model).rewrite(["the film was here"])
    assert model.embedding.passes.largest == 1


def test_a_model_directory_that_is_not_whole_is_refused(job, tmp_path):
    with pytest.raises(DataFormatError, match=r"lacks config\.json"):
        load_model(tmp_path)
    place = tmp_path / "m"
    run_job(replace(job, training=replace(QUICK, epochs=1)), place)
    config = json.loads((place / "config.json").read_text())
    (place / "config.json").write_text(json.dumps({**config, "mechanism": {"name": "os:system", "parameters": {}}}))
    with pytest.raises(DataFormatError, match="names a mechanism that does not exist"):
        load_model(place)
    (place / "config.json").write_text(json.dumps(config))
    assert UNCHECKED not in load_model(place).embedding.guarantee().assumptions
    rows = np.load(place / "vocabulary" / "vectors.npy")
    np.save(place / "vocabulary" / "vectors.npy", 50 * rows)
    with pytest.raises(ChecksumError, match="words and matrix"):  # its header is as it was
        load_model(place)
    np.save(place / "vocabulary" / "vectors.npy", rows)
    (place / "model.pt").write_bytes(b"garbage")
    with pytest.raises(DataFormatError, match="no model file"):
        load_model(place)


def test_rewrites_keep_gaps_and_order_and_write_candidates_only(job, tmp_path):
    run_job(job, tmp_path / "m")
    rewriter = TextRewriter.load(tmp_path / "m")
    texts = ["The film was lovely, here!", "...", "", "the food was sad", "Zanzibar!"]
    released = rewriter.rewrite(texts)
    assert released[1:3] == ["...", ""]
    assert released[0].endswith("!")
    assert released[0].count(",") == 1
    assert [len(text.split()) for text in released] == [5, 1, 0, 4, 1]
    known = set(rewriter.model.embedding.vocabulary.words)
    assert {word.strip(",!").lower() for text in released for word in text.split()} - {"..."} <= known
    assert "zanzibar" not in " ".join(released).lower()


def test_batches_of_a_rewrite_are_bounded_and_complete():
    counts = np.array([1, 2, 3, 5000, 8000], dtype=np.int64)
    parts = [part.tolist() for part in _batches(np.arange(5), counts)]
    assert parts == [[0, 1, 2], [3], [4]]
