"""Attacks on whole texts: forward-backward against all sequences, and what the best of the attackers is."""

import numpy as np
import pytest
from tests.lab.conftest import noisy

import seeds
import wordveil as wv
from wordveil_lab.evaluation import inversion
from wordveil_lab.evaluation.data import plain
from wordveil_lab.evaluation.inversion import ATTACKERS, ReviewInversion, SentenceInversion
from wordveil_lab.evaluation.subjects import subject_of, unprotected

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
