"""Requests that share a group: each gets its own release, its own error, and noise of its own."""

import asyncio
import re
from collections import Counter
from dataclasses import replace
from threading import Event

import pytest

from wordveil.errors import ParameterError, WordveilError
from wordveil.files.secret import Secret
from wordveil.service.access import Caller, Callers
from wordveil.service.app import Service
from wordveil.service.charges import Allowance, BudgetSpentError, RetryError
from wordveil.service.costs import NAT_UNITS, cost_of
from wordveil.service.desk import Desk
from wordveil.service.guarding import Limits
from wordveil.service.ledger import Ledger
from wordveil.service.messages import BatchRequest, DenoiseRequest, ReleaseAnswer, TextRequest
from wordveil.service.releasing import Asked, Releaser
from wordveil.service.settings import Opened, Setting, settings_of
from wordveil.vocabulary.table import Embeddings, load_embeddings
from worlds import told

NONCE = "a client's secret"
CALLER = Caller(id="ab" * 8, scopes=frozenset(["release"]))


@pytest.fixture(scope="module")
def words():
    return load_embeddings(None, every_output=False)


@pytest.fixture(scope="module")
def default(words):
    (setting,) = settings_of(["default=neighbours:epsilon=8,k=16"]).values()
    return setting.open({"default": words}, {})


@pytest.fixture
def releaser(default, url):
    made = Releaser(Ledger.open(url), Secret(b"s" * 32), {"default": default})
    promise = cost_of(default.guarantee, 1).promise_id
    made.ledger.allowance = Allowance(promise=promise, units={"key": 10**18, "subject": 56 * NAT_UNITS})
    yield made
    made.ledger.close()


def asked(text, retry=None, nonce=NONCE, **how):
    return Asked(texts=[text], how=TextRequest(text=text, **how), caller=CALLER, retry=retry, nonce=nonce)


def at_once(releaser, requests):
    """Send all to one desk at once; return what each is answered."""

    async def all_of_them():
        desk = Desk(releaser)
        return await asyncio.gather(*map(desk.release, requests), return_exceptions=True)

    return asyncio.run(all_of_them())


def gaps(text):
    return re.sub(r"\w+(?:['-]\w+)*", "x", text)


def test_each_is_answered_by_its_own_release(releaser):
    texts = [", ".join(["depression"] * (1 + n % 5)) + "!" * n for n in range(40)]
    groups = []
    charge_all = releaser.ledger.charge_all
    releaser.ledger.charge_all = lambda charges: groups.append(len(charges)) or charge_all(charges)
    found = at_once(releaser, [*map(asked, texts)])
    assert groups == [40]
    assert [each.tokens for each in found] == [1 + n % 5 for n in range(40)]
    assert [gaps(each.texts[0]) for each in found] == [*map(gaps, texts)]
    assert len({each.release for each in found}) == 40
    for text, each in zip(texts, found, strict=True):
        assert each.cost == str(8 * (text.count("depression")))
    batch = BatchRequest(texts=["good film!", "bad"])
    both = Asked(texts=batch.texts, how=batch, caller=CALLER)
    one, two = at_once(releaser, [both, asked("fine?")])
    assert [gaps(text) for text in (*one.texts, *two.texts)] == ["x x!", "x", "x?"]


def test_a_text_is_read_once_for_its_price_its_noise_and_its_answer(releaser, encoded):
    texts = [f"film {n} was good" for n in range(5)]
    at_once(releaser, [*map(asked, texts), asked("by a name", retry="k")])
    assert sorted(encoded) == sorted([*texts, "by a name"])


class Echoing(Releaser):
    """Draws one release for all that ask for the same text: what must be caught."""

    def draw(self, paid):
        first = super().draw(paid[:1])[0]
        return [replace(first, release=charged.release) for _, charged in paid]


@pytest.mark.parametrize("kind", [Releaser, Echoing])
def test_equal_texts_of_a_group_are_drawn_independently(releaser, kind):
    """300 pairs: a word comes back for both with the square of its chance, for a shared draw with its chance."""
    releaser.__class__ = kind
    found = [each.texts[0].lower() for _ in range(6) for each in at_once(releaser, [asked("depression")] * 100)]
    agree = sum(one == other for one, other in zip(found[::2], found[1::2], strict=True))
    # 16 neighbours with at most 1/16 each: agreement is Binomial(300, <= .07); above 60 with a chance below 1e-12.
    assert (agree > 60) is (kind is Echoing)
    assert kind is Echoing or max(Counter(found).values()) < 100


def test_what_fails_for_one_fails_for_no_other_and_unpaid_is_never_drawn(releaser):
    drawn, draw = [], releaser.draw
    releaser.draw = lambda paid: drawn.extend(each.asked.texts[0] for each, _ in paid) or draw(paid)
    good, poor = asked("good film"), asked("one two three four five six seven eight", subject="poor")
    before = at_once(releaser, [asked("first", retry="k")])[0]
    found = at_once(
        releaser, [good, poor, asked("another", retry="k"), asked("first", retry="k"), asked("x", setting="none"), good]
    )
    kinds = [ReleaseAnswer, BudgetSpentError, RetryError, ReleaseAnswer, ParameterError, ReleaseAnswer]
    assert [*map(type, found)] == kinds
    assert (found[3].texts, found[3].repeated) == (before.texts, True)
    assert sorted(drawn) == ["first", "first", "good film", "good film"]
    assert [row["tokens"] for row in releaser.ledger.history()] == [1, 2, 2]


def test_a_failure_while_drawing_fails_for_that_one_alone_and_repeats_are_as_alone(releaser):
    draw = releaser.draw

    def failing(paid):
        if any("bad" in counted.asked.texts[0] for counted, _ in paid):
            raise MemoryError
        return draw(paid)

    alone = [at_once(releaser, [asked(text, retry=text)])[0] for text in ("good", "fine film")]
    releaser.draw = failing
    found = at_once(
        releaser, [*(asked(text, retry=text) for text in ("good", "fine film") * 3), asked("bad"), asked("nice")]
    )
    assert [isinstance(each, MemoryError) for each in found] == [False] * 6 + [True, False]
    assert [each.texts for each in found[:6]] == [each.texts for each in alone] * 3
    assert all(each.repeated for each in found[:6])


def test_only_who_made_a_request_is_answered_again_and_a_guess_is_told_as_any_other_text(releaser):
    def ask(text, nonce, retry="visit-17"):
        return asked(text, retry=retry, nonce=nonce, subject="s")

    first, again = (at_once(releaser, [ask("hepatitis", NONCE)])[0] for _ in range(2))
    assert (again.texts, again.repeated) == (first.texts, True)
    others = [ask(text, nonce) for text in ("hepatitis", "diabetes") for nonce in (NONCE + "?", "")]
    refused = [*at_once(releaser, others), *(at_once(releaser, [each])[0] for each in others)]
    assert {(type(each), str(each)) for each in refused} == {(RetryError, str(RetryError()))}
    assert len(list(releaser.ledger.history("subject:s"))) == 1


def test_who_can_pay_nothing_opens_no_account_by_an_empty_text(releaser):
    releaser.ledger.allowance = Allowance(promise=releaser.ledger.allowance.promise, units={"subject": 10**18})
    (refused,) = at_once(releaser, [asked("", subject="maria")])
    assert isinstance(refused, BudgetSpentError)
    assert (list(releaser.ledger.balances()), list(releaser.ledger.history())) == ([], [])


def test_a_release_is_not_read_by_other_lists_beside_the_same_words(releaser, words, tmp_path):
    few = Embeddings.from_arrays([*words.words[:50]], words.vectors[:50], candidate_rule="all")
    setting, opened = Setting.read("neighbours:epsilon=9,k=4,outputs=20"), {}
    for order in ("unknown", "frequency"):
        kept = few.save(tmp_path / order).directory / "header.json"
        kept.write_text(kept.read_text().replace('"order": "unknown"', f'"order": "{order}"'))
        opened[order] = setting.open({"default": load_embeddings(tmp_path / order)}, {})
    releaser.settings = {"few": opened["unknown"]}
    promise = cost_of(opened["unknown"].guarantee, 1).promise_id
    releaser.ledger.allowance = Allowance(promise=promise, units={"key": 10**18})
    (release,) = at_once(releaser, [asked(f"{few.words[0]} {few.words[1]}", setting="few")])
    releaser.settings = {"few": opened["frequency"]}
    assert opened["frequency"].promised == release.guarantee, "the promise is the same"
    with pytest.raises(ParameterError, match="does not belong to these texts"):
        releaser.denoised(DenoiseRequest(texts=release.texts, seal=release.seal, setting="few"))


def test_sentences_are_not_read_whatever_their_seal(releaser):
    sentences = Opened.__new__(Opened)
    sentences.rephrases = True
    releaser.settings = {"letters": sentences}
    with pytest.raises(ParameterError, match="does not belong to these texts"):
        releaser.denoised(DenoiseRequest(texts=["She was here."], seal="", setting="letters"))


def test_a_setting_that_cannot_be_read_or_made_is_refused_when_the_service_opens(words):
    refused = told(__file__)
    for given, problem in refused["unreadable"]:
        with pytest.raises(ParameterError, match=problem):
            settings_of(given)
    for text, problem in refused["impossible"].items():
        with pytest.raises(WordveilError, match=problem):
            Setting.read(text).open({"default": words}, {"general": None})


def test_a_setting_is_what_was_written(words):
    opened = settings_of(["notes=neighbours:epsilon=4,k=8,unknown=mask,casing=vocabulary"])
    assert [*opened] == ["default", "notes"]
    made = opened["notes"].open({"default": words}, {}).sanitizer
    assert repr(made.mechanism) == "NeighbourResponse(epsilon=4.0, k=8, outputs=4000)"
    assert (made.options.unknown, made.options.casing) == ("mask", "vocabulary")
    assert settings_of(["default=tem:epsilon=2"])["default"].releases == "tem"


def test_a_request_that_nobody_waits_for_any_more_counts_until_it_ends(releaser):
    """Twelve that are given up at once, then one that is waited for: never more at work than there may be."""
    anyio = pytest.importorskip("anyio")
    service = Service(releaser, Limits(workers=2), Callers(releaser.ledger))
    running, most, go = [0], [0], Event()

    def task():
        running[0] += 1
        most[0] = max(most[0], running[0])
        go.wait(5)
        running[0] -= 1
        return "done"

    async def ask():
        for _ in range(12):
            with anyio.move_on_after(0.01):
                await service.work(task)
        assert running[0] == 2
        go.set()
        return await service.work(task)

    assert anyio.run(ask) == "done"
    assert most[0] == 2
