"""The streams: AES in counter mode byte for byte, one stream a document, and a key that never shows."""

import copy
import os
import pickle
import traceback
from functools import partial

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from hypothesis import given
from hypothesis import strategies as st
from tests.dying import in_fork

import seeds
from wordveil.errors import ParameterError, WordveilError
from wordveil.kernels.compiled.library import _aes_bits, text_library
from wordveil.randomness import RandomSource, document_nonce, random_bits

KEY = seeds.key(100)


@pytest.fixture
def source():
    return RandomSource(KEY)


def aes_words(key: bytes, counter: int, n: int) -> np.ndarray:
    """The oracle: AES-128 of successive little-endian 128-bit counters."""
    encryptor = Cipher(algorithms.AES(key), modes.ECB()).encryptor()
    counters = b"".join(((counter + i) % 2**128).to_bytes(16, "little") for i in range(-(-n // 2)))
    return np.frombuffer(encryptor.update(counters), dtype="<u8")[:n]


@given(st.binary(min_size=16, max_size=16), st.text(), st.text(), st.sampled_from([0, 1, 7, 128, 255]))
def test_lanes_are_aes_in_counter_mode(key, document_id, content, lane):
    drawn = random_bits(RandomSource(key).stream(document_id, content).lane(lane), (41,))
    nonce = document_nonce(key, document_id, content)
    assert 0 <= nonce < 2**80
    assert np.array_equal(drawn, aes_words(key, ((nonce << 8) | lane) << 40, 41))


def test_reseating_forgets_everything_about_the_earlier_document(source):
    stream = source.stream("one")
    random_bits(stream.lane(0), (3,))
    stream.lane(0).standard_normal(5)  # leaves a half-used buffer behind
    again = random_bits(stream.seat(document_nonce(KEY, "two", "x")).lane(0), (8,))
    assert np.array_equal(again, random_bits(source.stream("two", "x").lane(0), (8,)))


@given(
    counts=st.lists(st.integers(0, 40), max_size=8),
    size=st.integers(1, 60),
    lane=st.sampled_from([0, 1, 254, 255]),
    width=st.integers(1, 8),
)
def test_words_of_many_documents_are_those_of_each(counts, size, lane, width):
    source = RandomSource(KEY)
    nonces = source.nonces(map(str, range(len(counts))), [""] * len(counts))
    nonces[-1:] = [2**80 - 1] * bool(nonces)
    expected = [
        n.ravel()
        for (n,) in source.documents(nonces, counts).chunks(lambda s, n: (random_bits(s.lane(lane), (n, width)),), size)
    ]
    ways = [_aes_bits, partial(_aes_bits, by_bits=True)] if text_library() is not None else [None]
    for way in ways:
        drawn = list(source.documents(nonces, counts).lane_bits(lane, size, width, way))
        assert [len(part) for part in drawn] == [len(part) for part in expected]
        assert all(map(np.array_equal, drawn, expected))
    if sum(counts):
        oracle = [
            aes_words(KEY, ((nonce << 8) | lane) << 40, n * width) for nonce, n in zip(nonces, counts, strict=True) if n
        ]
        assert np.array_equal(np.concatenate(drawn), np.concatenate(oracle))


def test_sizes_and_lanes_are_checked(source):
    with pytest.raises(ParameterError, match="size=0 must be at least 1"):
        list(source.documents([1], [1]).chunks(lambda s, n: (random_bits(s.lane(0), (n,)),), 0))
    for lane in (-1, 256):
        with pytest.raises(ParameterError, match=rf"index={lane} must be in \[0, 256\)"):
            source.stream().lane(lane)


def first_words(source, document_id, content):
    return random_bits(source.stream(document_id, content).lane(0), (4,)).tolist()


def test_another_id_content_lane_or_key_gives_other_noise(source):
    places = [("id", "text"), ("id2", "text"), ("id", "text2"), ("idt", "ext"), ("", "idtext"), ("idtext", "")]
    drawn = [tuple(first_words(source, *place)) for place in places]
    drawn.append(tuple(random_bits(source.stream("id", "text").lane(1), (4,)).tolist()))
    drawn.append(tuple(first_words(RandomSource(KEY[::-1]), "id", "text")))
    assert len(set(drawn)) == len(drawn)


def test_fresh_sources_and_fresh_streams_never_repeat():
    keys = {RandomSource().export_key() for _ in range(100)}
    assert len(keys) == 100
    source = RandomSource(KEY)
    assert len({tuple(random_bits(source.fresh_stream().lane(0), (2,)).tolist()) for _ in range(100)}) == 100


@given(st.text(alphabet=st.characters(), max_size=5), st.text(alphabet=st.characters(categories=["Cs"]), max_size=3))
def test_any_python_string_is_an_id_and_a_content(document_id, surrogates):
    nonces = {document_nonce(KEY, document_id + surrogates, surrogates), document_nonce(KEY, document_id, surrogates)}
    assert len(nonces) == 1 + bool(surrogates)


@pytest.mark.parametrize("key", [b"", b"short", bytes(17)])
def test_a_key_of_another_length_is_refused_and_not_shown(key):
    with pytest.raises(ParameterError, match="must be 16 bytes") as caught:
        RandomSource(key)
    assert repr(key) not in str(caught.value)


in_children = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")


@in_children
def test_a_forked_child_has_a_key_of_its_own_unless_one_was_given_and_no_test_source():
    source = RandomSource()
    ours = source.export_key()
    children = {in_fork(source.export_key) for _ in range(2)}
    assert len(children | {ours}) == 3
    assert source.export_key() == ours
    given = RandomSource(KEY)
    assert {in_fork(given.export_key) for _ in range(2)} == {KEY}
    in_fork(lambda: given.check_repeats() or b"")
    seeded = seeds.source(1)
    assert in_fork(lambda: str(seeded.is_test_source).encode()) == b"False"


@in_children
@pytest.mark.parametrize("source", [RandomSource(), seeds.source(1)], ids=["drawn", "for tests"])
def test_a_forked_child_with_a_key_of_its_own_refuses_to_repeat_and_its_parent_does_not(source):
    def refusal() -> bytes:
        try:
            source.check_repeats()
        except WordveilError as error:
            return str(error).encode()
        return b"nothing"

    assert b"forked after its key was drawn" in in_fork(refusal)
    assert b"source=RandomSource(key)" in in_fork(refusal)
    source.check_repeats()
    assert in_fork(lambda: RandomSource().check_repeats() or b"made in the child") == b"made in the child"


@in_children
@pytest.mark.parametrize("moved", [lambda stream: stream, lambda stream: stream.seat(7)], ids=["as it is", "moved on"])
def test_a_stream_carried_over_a_fork_draws_other_noise(moved):
    stream = RandomSource(KEY).stream("document")
    stream.lane(0)
    for lane in (0, 1):
        carried = in_fork(lambda lane=lane: random_bits(moved(stream).lane(lane), (4,)).tobytes())
        assert carried != random_bits(moved(stream).lane(lane), (4,)).tobytes()


@in_children
def test_a_lane_carried_over_a_fork_draws_other_noise():
    lane = RandomSource(KEY).stream("document").lane(3)  # neither stream nor source is kept
    lane.standard_normal(3)
    children = [in_fork(lambda: lane.random(4).tobytes() + random_bits(lane, (4,)).tobytes()) for _ in range(2)]
    ours = lane.random(4).tobytes() + random_bits(lane, (4,)).tobytes()
    assert len({*children, ours}) == 3
    again = RandomSource(KEY).stream("document").lane(3)
    again.standard_normal(3)
    assert again.random(4).tobytes() == ours[:32], "the parent goes on where it stood"


@pytest.mark.parametrize("transport", [pickle.dumps, copy.copy, copy.deepcopy])
def test_pickling_and_copying_are_refused(source, transport):
    for holder in (source, source.stream(), source.stream().lane(0)):
        with pytest.raises(WordveilError, match="carries its run's key and cannot be pickled"):
            transport(holder)


def shows_key(text: str) -> bool:
    return any(
        form in text for form in (repr(KEY), KEY.hex(), str(int.from_bytes(KEY, "little")), KEY.decode("latin-1"))
    )


def test_the_key_never_shows(source):
    stream = source.stream("secret-id", "secret-text")
    stream.lane(3)
    shown = [
        repr(source), str(source), repr(stream), str(stream), f"{source} {stream}", repr(source.documents([1], [1])),
    ]  # fmt: skip
    for wrong in (lambda: stream.lane(900), lambda: pickle.dumps(source), lambda: pickle.dumps(stream)):
        with pytest.raises(WordveilError) as caught:
            wrong()
        shown += ["".join(traceback.format_exception(caught.value)), repr(caught.value), repr(vars(caught.value))]
    assert not any(shows_key(text) for text in shown)
    assert shows_key(repr(vars(source))), "the check finds a key where there is one"


def test_test_sources_repeat_and_say_what_they_are():
    one, two = seeds.source(5), seeds.source(5)
    assert one.export_key() == two.export_key() != seeds.source(6).export_key()
    assert one.is_test_source
    assert "TEST SOURCE" in repr(one)
    assert not RandomSource().is_test_source
    assert "TEST" not in repr(RandomSource())


def test_a_public_stream_is_the_same_for_everyone_and_another_for_each_label():
    drawn = [random_bits(RandomSource.public(label).lane(0), (4,)) for label in ("a", "a", "b")]
    assert np.array_equal(drawn[0], drawn[1])
    assert not np.any(drawn[0] == drawn[2])
    assert not np.any(drawn[0] == random_bits(RandomSource().stream("a").lane(0), (4,)))
