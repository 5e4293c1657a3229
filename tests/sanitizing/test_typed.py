"""Typed tokens through the whole pipeline: of a token with a kind, nothing but the kind and its place is left."""

import gzip
import json

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.stats import binom
from tests.text.test_kinds import EXAMPLES

import seeds
import wordveil as wv
from wordveil.arrays import PrivateText
from wordveil.errors import ParameterError
from wordveil.mechanisms.wrappers import Typed
from wordveil.text.characters import GAP_CHARACTERS
from wordveil.text.kinds import KINDS, kind
from wordveil.text.surrogates import GENERATORS, Surrogates
from wordveil.text.tokenizer import Tokenizer

KEY = seeds.key(16)
TYPED = wv.TextOptions(unknown="typed")
AGES = wv.NumberGrid.parse("number=0:100:10@1.5")
METRIC = wv.TextOptions(unknown="typed", numbers="metric", grids=(AGES,))
PAIRS = {name: (min(listed, key=len), max(listed, key=len)) for name, listed in EXAMPLES.items()}
TEXT = "babaq {} seen at 3 by @me; zz 12 babaq."


def sanitizer(table, options=TYPED):
    return wv.Sanitizer(table, wv.SanText(epsilon=2.0), options=options, source=wv.RandomSource(KEY), threads=1)


def released(made, text, nonce=7):
    """What a text becomes at one place of the noise, which is otherwise chosen by its content."""
    batch = made.parts.encoder.encode_batch([PrivateText(text)])
    return made.parts.writer.write(batch.without_ids(), made.release_ids(batch.ids, batch.counts, [nonce]))[0]


@pytest.mark.parametrize(("casing", "per"), [("sentence", "token"), ("shape", "document"), ("vocabulary", "token")])
@pytest.mark.parametrize("name", KINDS)
def test_two_tokens_of_a_kind_become_the_same_bytes(vocabulary, name, casing, per):
    made = sanitizer(vocabulary, wv.TextOptions(unknown="typed", casing=casing, per=per))
    one, other = PAIRS[name]
    for nonce in range(5):
        assert released(made, TEXT.format(one), nonce) == released(made, TEXT.format(other), nonce)
    assert len({released(made, TEXT.format(one), nonce) for nonce in range(5)}) == 5


@pytest.mark.parametrize("name", KINDS)
def test_what_stands_at_other_places_does_not_depend_on_a_kind(vocabulary, name):
    made = sanitizer(vocabulary)
    reader = made.parts.encoder
    batches = [reader.encode_batch([TEXT.format(token)]) for token in (PAIRS[name][0], "babaq", "zz")]
    ids = np.array([made.release_ids(batch.ids, batch.counts, [7]) for batch in batches])
    assert (np.delete(ids, 1, axis=1) == np.delete(ids[0], 1)).all()


digits = st.from_regex(r"[0-9]{1,6}([-./:, ()+][0-9]{1,5}){0,4}|[a-z]{1,9}@[a-z]{1,9}\.[a-z]{2}", fullmatch=True)


@pytest.mark.slow
@settings(max_examples=150)
@given(digits, digits)
def test_what_is_read_of_a_token_is_its_kind(vocabulary, one, other):
    assume(kind(one) == kind(other) and all(Tokenizer().split(token)[1:2] == [token] for token in (one, other)))
    reader = sanitizer(vocabulary).parts.encoder
    first, second = (reader.encode_batch([TEXT.format(token)]) for token in (one, other))
    assert first.gaps == second.gaps
    assert all((getattr(first, part) == getattr(second, part)).all() for part in ("ids", "before", "closing", "counts"))


awkward = st.sampled_from(
    ["\x00", "\ud800", "٣", "½", "Ⅷ", "a@b.c", "C:\\x", "#1", "<a href='7'>", "1️⃣", "5 p.m.", "don't"]
)


@pytest.mark.slow
@settings(max_examples=150)
@given(st.lists(st.text(max_size=8) | digits | awkward, max_size=10), st.sampled_from([" ", "", "\n", ", "]))
def test_of_arbitrary_text_only_kinds_and_listed_characters_are_left(vocabulary, pieces, joiner):
    made = sanitizer(vocabulary, METRIC)
    batch = made.parts.encoder.encode_batch([PrivateText(joiner.join(pieces))])
    assert set("".join(batch.gaps)) <= GAP_CHARACTERS
    assert ((-2 - len(KINDS) - AGES.points < batch.ids) & (batch.ids < len(vocabulary))).all()
    assert len(made.release_batch([joiner.join(pieces)]).texts) == 1


# Broken twins.
def by_digits(self, token):
    """A surrogate that starts from the token's own digits."""
    found = REAL_CODE(self, token)
    return found if found is None else -2 - (-2 - found + sum(map(str.isdigit, token))) % len(KINDS)


def by_draws(self, codes, drawn):
    """A kind that consumes more of the stream than others shifts what comes after it."""
    return REAL_VALUES(self, codes, np.roll(drawn, int(codes.sum())))


REAL_CODE, REAL_VALUES = Surrogates.code, Typed.values


def test_a_surrogate_made_of_the_tokens_digits_is_noticed(vocabulary, monkeypatch):
    monkeypatch.setattr(Surrogates, "code", by_digits)
    with pytest.raises(AssertionError):
        test_two_tokens_of_a_kind_become_the_same_bytes(vocabulary, "telephone", "sentence", "token")


def test_a_kind_that_shows_in_the_number_of_draws_is_noticed(vocabulary, monkeypatch):
    monkeypatch.setattr(Typed, "values", by_draws)
    with pytest.raises(AssertionError):
        test_what_stands_at_other_places_does_not_depend_on_a_kind(vocabulary, "identifier")


# Options, claims, numbers that keep their magnitude.
def test_kinds_and_losses_of_magnitudes_are_printed(vocabulary):
    plain, metric = sanitizer(vocabulary)("babaq"), sanitizer(vocabulary, METRIC)("babaq")
    said = "\n".join(metric.disclosed)
    assert "of which kind" in "\n".join(plain.disclosed)
    assert "on a public grid from 0 to 100 in steps of 10" in said
    assert "at most 1.5 nats for each step of the grid, 15 nats over the whole range (10 steps)" in said
    claims = [
        wv.Sanitizer(vocabulary, wv.SanText(epsilon=2.0), options=options).guarantee for options in (TYPED, METRIC)
    ]
    assert all("which tokens are typed and of which kind" in claim.assumptions[-1] for claim in claims)
    assert "which tokens are unknown" not in claims[0].assumptions[-1]
    assert "the magnitude of tokens of the kind number, else its own loss is added" in claims[1].assumptions[-1]


@pytest.mark.parametrize(("choices", "named"), [
    ({"numbers": "metric"}, "numbers"),
    ({"numbers": "metric", "grids": (AGES,)}, "unknown"),
    ({"unknown": "typed", "grids": (AGES,)}, "numbers"),
    ({"unknown": "typed", "numbers": "metric", "grids": (AGES, AGES)}, "grids"),
])  # fmt: skip
def test_choices_that_do_not_fit_are_refused(choices, named):
    with pytest.raises(ParameterError, match=f"^{named}="):
        wv.TextOptions(**choices)


# Personal data.
@pytest.mark.data
def test_no_value_with_a_kind_is_left_of_the_presidio_set(packaged, data_directory):
    with gzip.open(data_directory / "privacy" / "presidio-synth.jsonl.gz", "rt", encoding="utf-8") as lines:
        texts = [PrivateText(json.loads(line)["text"]) for line in lines]
    # At this epsilon a known word mostly stays: whatever is hidden, typing hides.
    made = wv.Sanitizer(packaged, wv.TEM(epsilon=30.0), options=TYPED)
    pairs = list(zip(texts, made.release_batch(texts).texts, strict=True))
    public = {name: {text(i) for i in range(1 << bits)} for name, (bits, text) in GENERATORS.items() if bits < 20}
    values, kinds, alike, chances = 0, set(), 0, []
    for text, written in pairs:
        raw, out = (Tokenizer().split(t)[1::2] for t in (text, written))
        typed = [(token, kind(token)) for token in raw if kind(token)]
        after = [(token, kind(token)) for token in out if kind(token)]
        hidden = {token.casefold() for token, name in typed if token not in public.get(name, ())}
        assert not hidden & {token.casefold() for token in out}
        values += len(hidden)
        kinds |= {name for _, name in typed}
        if [name for _, name in typed] == [name for _, name in after]:
            could_be = [
                (a, b, name) for (a, name), (b, _) in zip(typed, after, strict=True) if a in public.get(name, ())
            ]
            alike += sum(a == b for a, b, _ in could_be)
            chances += [2.0 ** -GENERATORS[name].bits for *_, name in could_be]
    assert values > 1200
    assert kinds >= {"number", "year", "date", "telephone", "e-mail", "URL", "IP", "IBAN", "card", "identifier"}
    # Values that stand in the public lists come out as themselves by chance alone.
    assert len(chances) > 100
    assert binom.sf(alike - 1, len(chances), max(chances)) > 1e-9
    assert binom.sf(len(chances) // 5 - 1, len(chances), max(chances)) < 1e-9, "a fifth that passes is noticed"
