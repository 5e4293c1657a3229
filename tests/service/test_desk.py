"""Requests that share a group: each gets its own release, its own error, and noise of its own."""

import asyncio
import re
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from wordveil.arrays import PrivateText
from wordveil.errors import ParameterError
from wordveil.service.access import Caller, Secret
from wordveil.service.charges import Allowance, BudgetSpentError, Charged, RetryError
from wordveil.service.costs import NAT_UNITS, cost_of
from wordveil.service.desk import Desk
from wordveil.service.ledger import Ledger
from wordveil.service.messages import BatchRequest, DenoiseRequest, How, ReleaseAnswer, TextRequest
from wordveil.service.releasing import Asked, Releaser
from wordveil.service.tables import setting_of
from wordveil.vocabulary.table import Embeddings, load_embeddings

CALLER = Caller(id="ab" * 8, scopes=frozenset(["release"]))


@pytest.fixture(scope="module")
def words():
    return load_embeddings(None, every_output=False)


@pytest.fixture
def releaser(words, url):
    made = Releaser(Ledger.open(url), Secret(b"s" * 32), {"default": words})
    promise = cost_of(made.sanitizer(How()).guarantee, 1).promise_id
    made.ledger.allowance = Allowance(promises=frozenset([promise]), units={"key": 10**18, "subject": 56 * NAT_UNITS})
    yield made
    made.ledger.close()


def asked(text, retry=None, **how):
    return Asked(texts=[text], how=TextRequest(text=text, **how), caller=CALLER, retry=retry)


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
        promise = repr(releaser.sanitizer(How()).guarantee)
        law = [each.provenance[name] for name in ("checksum", "candidates_checksum", "public_data")]
        assert each.seal == releaser.secret.digest("seal", setting_of(How()), promise, *law, *each.texts)
        assert each.cost == str(8 * (text.count("depression")))
    batch = BatchRequest(texts=["good film!", "bad"])
    both = Asked(texts=batch.texts, how=batch, caller=CALLER)
    one, two = at_once(releaser, [both, asked("fine?")])
    assert [gaps(text) for text in (*one.texts, *two.texts)] == ["x x!", "x", "x?"]


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
        releaser,
        [good, poor, asked("another", retry="k"), asked("first", retry="k"), asked("x", vocabulary="none"), good],
    )
    kinds = [ReleaseAnswer, BudgetSpentError, RetryError, ReleaseAnswer, ParameterError, ReleaseAnswer]
    assert [*map(type, found)] == kinds
    assert (found[3].texts, found[3].repeated) == (before.texts, True)
    assert sorted(drawn) == ["first", "first", "good film", "good film"]
    assert [row["tokens"] for row in releaser.ledger.history()] == [1, 2, 2]


def test_under_one_name_at_once_the_release_is_the_same_as_alone(releaser):
    texts = ["Maria was diagnosed with depression", "a good film"]
    alone = [at_once(releaser, [asked(text, retry=text)])[0] for text in texts]
    together = at_once(releaser, [asked(text, retry=text) for text in texts * 3])
    assert [each.texts for each in together] == [each.texts for each in alone] * 3
    assert all(each.repeated for each in together)


def test_a_failure_while_drawing_fails_for_that_one_alone(releaser):
    draw = releaser.draw

    def failing(paid):
        if any("bad" in counted.asked.texts[0] for counted, _ in paid):
            raise MemoryError
        return draw(paid)

    releaser.draw = failing
    found = at_once(releaser, [asked(text) for text in ("good", "bad", "fine", "nice")])
    assert [isinstance(each, MemoryError) for each in found] == [False, True, False, False]


def test_what_is_counted_elsewhere_is_charged_with_the_others(releaser):
    async def both():
        desk, own = Desk(releaser), asked("a long text")
        (counted,) = releaser.count([own])
        return counted, await asyncio.gather(desk.charge(counted), desk.release(asked("short")))

    counted, (charged, answer) = asyncio.run(both())
    assert isinstance(charged, Charged)
    assert answer.tokens == 1
    assert releaser.draw([(counted, charged)])[0].tokens == 3
    assert PrivateText("a long text") not in repr(counted)


def test_a_release_is_not_read_by_other_lists_beside_the_same_words(releaser, words, tmp_path):
    few = Embeddings.from_arrays([*words.words[:50]], words.vectors[:50], candidate_rule="all")
    tables = {}
    for order in ("unknown", "frequency"):
        kept = few.save(tmp_path / order).directory / "header.json"
        kept.write_text(kept.read_text().replace('"order": "unknown"', f'"order": "{order}"'))
        tables[order] = Releaser(releaser.ledger, releaser.secret, {"default": load_embeddings(tmp_path / order)})
    releaser.use(tables["unknown"])
    how: dict[str, Any] = {"epsilon": 9.0, "settings": {"k": 4, "outputs": 20}}
    promise = cost_of(releaser.sanitizer(How(**how)).guarantee, 1).promise_id
    releaser.ledger.allowance = Allowance(promises=frozenset([promise]), units={"key": 10**18})
    (release,) = at_once(releaser, [asked(f"{few.words[0]} {few.words[1]}", **how)])
    releaser.use(tables["frequency"])
    assert releaser.sanitizer(How(**how)).guarantee.as_dict() == release.guarantee, "the promise is the same"
    with pytest.raises(ParameterError, match="does not belong to these texts"):
        releaser.denoised(DenoiseRequest(texts=release.texts, seal=release.seal, **how))
