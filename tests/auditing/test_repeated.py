"""The attack on words released again and again: against brute force, on lists, on classes, on a broken twin."""

import numpy as np
import pytest

import seeds
import wordveil as wv
from wordveil.auditing.repeated import RELEASES, attack_repeats, named_after
from wordveil.auditing.runner import AuditOptions
from worlds import drawn

V = 60
WORDS = drawn(V, 6)
PRIOR = 1 / (np.arange(V) + 3.7)
ALL = np.arange(V, dtype=np.int32)


def source():
    return seeds.source(3)


def lists(kind):
    given = {"k": 4, "outputs": None} if kind == "nearest" else {"outputs": "classes:12"}
    return wv.NeighbourResponse(epsilon=4.0, **given).fit(WORDS)


@pytest.mark.parametrize("fitted", [lists("nearest"), lists("classes"), wv.SanText(epsilon=1.0).fit(WORDS)])
def test_the_attacker_names_the_likeliest_word_given_all_releases(fitted):
    drawn = fitted.randomize(np.repeat(ALL, 8), fitted.sample(source().stream("repeated releases"), 8 * V))
    law = fitted.law(ALL)[:, np.searchsorted(fitted.outputs, drawn)].reshape(V, V, 8)  # guess, word, release
    expected = [(PRIOR[:, None] * law[:, :, :n].prod(axis=2)).argmax(axis=0) == ALL for n in (1, 3, 8)]
    assert np.array_equal(named_after(fitted, ALL, PRIOR, source(), (1, 3, 8)), np.transpose(expected))


@pytest.mark.parametrize("kind", ["nearest", "classes"])
def test_many_releases_show_the_list_and_no_more(kind):
    """Of words with equal lists the commonest is named: all words but a few have a list, few have a class, alone."""
    fitted = lists(kind)
    shown = named_after(fitted, ALL, PRIOR, source())
    owners = [frozenset(fitted.lists[word].tolist()) for word in range(V)]
    commonest = [owners.index(own) == word for word, own in enumerate(owners)]  # the prior falls
    assert shown[:, -1].tolist() == commonest
    assert shown[:, 0].mean() < 0.5
    assert np.mean(commonest) > 0.7 if kind == "nearest" else np.mean(commonest) <= 0.25


def test_a_noise_that_repeats_shows_no_more_and_is_told_apart():
    nearest = lists("nearest")

    class Frozen(type(nearest)):
        def sample(self, stream, n):
            (drawn,) = super().sample(stream, n)
            return (np.repeat(drawn[:: RELEASES[-1]], RELEASES[-1]),)

    frozen = Frozen(embeddings=WORDS, mechanism=nearest.mechanism, chosen=nearest.chosen, lists=nearest.lists)
    assert named_after(frozen, ALL, PRIOR, source())[:, -1].mean() < 0.7


def test_an_audit_says_and_shows_what_repeated_releases_give_away():
    options = AuditOptions(samples=400, pairs=3, seed=seeds.seed(1), repeats=40)
    report = wv.audit_mechanism(wv.NeighbourResponse(epsilon=4.0, k=4, outputs=None), embeddings=WORDS, options=options)
    (line,) = [line for line in report.summary_lines() if "likeliest word right" in line and "all words" in line]
    assert line.startswith("40 words of public text, likeliest word right after 1, 2, 4, 8, 16, 32, 64 releases")
    shares = [float(share) for share in line.rpartition(": ")[2].split(", ")]
    assert shares == sorted(shares)
    assert shares[-1] > shares[0] + 0.3
    assert report.as_dict()["repeated"]["releases"] == list(RELEASES)
    assert "Releases of one word, together" in report.to_html()
    assert "share of words named after several releases" in report.to_html()
    none = AuditOptions(samples=400, pairs=3, seed=seeds.seed(1), repeats=0)
    quiet = wv.audit_mechanism(wv.NeighbourResponse(epsilon=4.0, k=4, outputs=None), embeddings=WORDS, options=none)
    assert quiet.repeated is None
    assert "Releases of one word" not in quiet.to_html()


def test_without_a_law_there_is_no_attack():
    fitted = wv.Decoded(mechanism=wv.MultivariateLaplace(epsilon=2.0)).fit(WORDS)
    assert attack_repeats(fitted, 5, source()) is None
