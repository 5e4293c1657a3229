"""Attacks on whole texts: what the best attacker is, and forward-backward against all sequences."""

from itertools import pairwise, product

import numpy as np
import pytest
from tests.lab.conftest import noisy

import seeds
import wordveil as wv
from wordveil_lab.corpora import encode
from wordveil_lab.evaluation import inversion
from wordveil_lab.evaluation.inversion import ATTACKERS, PairModel, ReviewInversion, SentenceInversion, pair_posteriors
from wordveil_lab.evaluation.subjects import subject_of, unprotected
from wordveil_lab.rows import plain

SOURCE = seeds.source(29)


def attack(world, **settings):
    task = ReviewInversion(limit=20, public_limit=20, **settings)
    return task, task.prepare(world)


def releases(world):
    noise = wv.Decoded(mechanism=wv.MultivariateLaplace(epsilon=2.0)).fit(world)
    silent = wv.Decoded(mechanism=wv.NADP(epsilon=1.0, tau=0.9, overlap=3, isolated="verbatim")).fit(world)
    return {
        "selected": subject_of(wv.SanText(epsilon=1.5).fit(world)),
        "vectors": subject_of(noise),
        "decoded": subject_of(noise, decoded=True),
        "silent": subject_of(silent),
    }


def test_the_best_attacker_is_the_best_of_all_on_the_same_tokens(world, use_world):
    task, prepared = attack(world)
    for name, subject in releases(world).items():
        found = task.run(prepared, subject, SOURCE)
        assert list(found) == [score.name for score in task.scores]
        assert found["best"] == max(found[attacker] for attacker in ATTACKERS), name
        assert found["best-content"] == max(found[f"{attacker}-content"] for attacker in ATTACKERS)
    # Three of the made-up words are common English; all others are in no list and carry content.
    common = world.ids(["war", "was", "way"])
    assert prepared.content_words.tolist() == [i for i in range(len(world)) if i not in common]
    assert task.run(prepared, unprotected(world), SOURCE)["best"] == 1.0


def test_noise_that_hides_everything_leaves_frequencies(world, use_world):
    task, prepared = attack(world)
    drowned = noisy(world, 1e-6)
    found = task.run(prepared, drowned, SOURCE)
    tokens = prepared.corpus.tokens[prepared.known]
    commonest = prepared.prior.frequency[: len(world)].argmax()
    assert found["alone"] == found["guessing"] == pytest.approx((tokens == commonest).mean())


def test_the_attack_does_not_depend_on_how_much_evidence_is_held_at_a_time(world, use_world, monkeypatch):
    task, prepared = attack(world)
    for subject in releases(world).values():
        whole = task.run(prepared, subject, SOURCE)
        monkeypatch.setattr(inversion, "ENTRIES", 1)
        assert task.run(prepared, subject, SOURCE) == whole
        monkeypatch.undo()
        monkeypatch.setenv("WORDVEIL_DATA", str(use_world))


def test_unknown_tokens_are_a_state_of_the_attack_and_never_a_guess_or_a_score(world, use_world):
    _, prepared = attack(world)
    assert (prepared.corpus.tokens < 0).any()  # "zzz" ends every text
    assert prepared.known.sum() == (prepared.corpus.tokens >= 0).sum()
    for subject in releases(world).values():
        for guesses in inversion._guesses(prepared, subject, SOURCE, "attack").values():
            assert all(0 <= guess.min() <= guess.max() < len(world) for guess in guesses)


def test_whoever_is_after_content_words_names_no_other(world, use_world):
    task, prepared = attack(world)
    for subject in releases(world).values():
        found = inversion._guesses(prepared, subject, SOURCE, task.name)
        for name in ("alone", "pairs", "triples"):
            assert np.isin(found[name][1], prepared.content_words).all()
            assert not np.array_equal(*found[name])


def test_only_the_first_words_are_attacked_where_that_is_asked_for(world, use_world):
    whole, cut = (attack(world, length=length)[1].corpus for length in (None, 3))
    assert np.diff(cut.offsets).tolist() == [3] * 20
    for start, own in zip(whole.offsets, cut.offsets, strict=True):
        assert cut.tokens[own : own + 3].tolist() == whole.tokens[start : start + 3].tolist()


def test_the_reader_of_context_finds_more_than_who_reads_no_context(world, tmp_path, monkeypatch):
    """Texts go round in a circle of words, which much public text shows.

    Of 800 words they name .35 and more, and who reads no context .21 and less: seven standard deviations and more lie
    between the two, whatever the draws.
    """
    monkeypatch.setenv("WORDVEIL_DATA", str(tmp_path))
    texts = [" ".join(world.words[(start + 4 * i) % len(world)] for i in range(10)) for start in range(len(world))]
    lines = {"public.tsv": ["text", *(20 * texts)], "attacked.tsv": ["text", *(text + " zzz" for text in texts)]}
    for name, written in lines.items():
        (tmp_path / name).write_text("\n".join(written) + "\n")
    task = ReviewInversion(path="attacked.tsv", public="public.tsv")
    found = task.run(task.prepare(world), subject_of(wv.SanText(epsilon=2.0).fit(world)), SOURCE)
    for name in ("pairs", "triples"):
        assert found[name] > found["alone"]


def test_markup_is_no_word_that_attackers_know():
    assert plain("Good.<br /><br />Bad: 3 < 4, a<b>!</b>").split() == ["Good.", "Bad:", "3", "<", "4,", "a", "!"]


def test_two_data_sets_are_attacked(world, use_world):
    assert ReviewInversion().path != SentenceInversion().path
    task = SentenceInversion(limit=5, public_limit=20)
    found = task.run(task.prepare(world), unprotected(world), SOURCE)
    assert found["best"] == 1.0


FEW = ["waa", "wab", "wac", "wad"]


@pytest.fixture(scope="module")
def tiny(world):
    """A pair model of four words and the unknown state, from three short texts."""
    few = world.first(len(FEW))
    corpus = encode(few, ["waa wab wac zzz wab", "waa wac wab", "wab wab waa"])
    return few, PairModel.of(corpus, np.array([0.4, 0.3, 0.2, 0.1]))


def transitions(model):
    """P(right | left) as a whole matrix, by asking what follows each state alone."""
    return np.array([model.following(state) for state in np.eye(len(model.unigram))])


def test_the_pair_model_is_witten_and_bells(tiny):
    _, model = tiny
    # 11 tokens of 4 kinds: waa 3, wab 5, wac 2, wad 0, unknown 1; the unknown's share of the prior is 1.5 / 12.
    prior = np.append(np.array([0.4, 0.3, 0.2, 0.1]) * (1 - 0.125), 0.125)
    assert model.unigram == pytest.approx((np.array([3, 5, 2, 0, 1]) + 4 * prior) / 15)
    # After waa came wab and wac, once each: two followers of two kinds, so half of the trust.
    assert transitions(model)[0] == pytest.approx(0.5 * np.array([0, 0.5, 0.5, 0, 0]) + 0.5 * model.unigram)
    # wad was never seen: what follows is the unigram. Nothing follows the last word of a text: waa came last once.
    assert transitions(model)[3] == pytest.approx(model.unigram)


def test_every_row_of_the_pair_model_is_a_distribution_and_both_directions_agree(tiny):
    _, model = tiny
    matrix = transitions(model)
    assert matrix.sum(axis=1) == pytest.approx(np.ones(5))
    back = np.array([model.preceding(state) for state in np.eye(5)]).T
    assert back == pytest.approx(matrix)


def by_enumeration(likelihoods, model):
    """P(state of token i | all releases) over every sequence of states."""
    t, states = likelihoods.shape
    matrix, found = transitions(model), np.zeros(likelihoods.shape)
    for path in product(range(states), repeat=t):
        mass = model.unigram[path[0]] * np.prod([likelihoods[i, x] for i, x in enumerate(path)])
        found[np.arange(t), path] += mass * np.prod([matrix[a, b] for a, b in pairwise(path)])
    return found / found.sum(axis=1, keepdims=True)


def test_posteriors_are_those_of_all_sequences(tiny):
    _, model = tiny
    generator = seeds.rng(3)
    for t in (1, 2, 5):
        likelihoods = generator.random((t, 5)) ** 4
        likelihoods[-1, :3] = 0.0  # impossible originals
        expected = by_enumeration(likelihoods, model)
        assert pair_posteriors(likelihoods, model) == pytest.approx(expected, rel=1e-9)
        assert pair_posteriors(1e-290 * likelihoods, model) == pytest.approx(expected, rel=1e-9)
    assert pair_posteriors(np.empty((0, 5)), model).shape == (0, 5)


def test_texts_side_by_side_are_read_as_one_by_one(tiny):
    _, model = tiny
    texts = [seeds.rng(t).random((t, 5)) ** 4 for t in (4, 2, 1)]
    beside = np.ones((4, 5, 3))  # ones after a text's end
    for i, text in enumerate(texts):
        beside[: len(text), :, i] = text
    for dtype, near in ((np.float64, 1e-12), (np.float32, 1e-5)):
        single = model if dtype == np.float64 else model.single()
        found = pair_posteriors(beside.astype(dtype), single)
        assert found.dtype == dtype
        for i, text in enumerate(texts):
            assert found[: len(text), :, i] == pytest.approx(pair_posteriors(text, model), rel=near)
    shifted = beside.copy()
    shifted[1, 0, 2] = 0.1  # what stands there is read, unless it is ones
    assert pair_posteriors(shifted, model)[0, :, 2] != pytest.approx(pair_posteriors(texts[2], model)[0], rel=1e-6)
