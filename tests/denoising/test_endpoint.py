"""A real server on this machine that tells the log-probabilities of a real model of pairs of words."""

from __future__ import annotations

import json
import re
import threading
from collections import Counter
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import pairwise

import numpy as np
import pytest
from tests.denoising.conftest import WORDS, sentences

import seeds
import wordveil as wv
from wordveil.denoising import endpoint
from wordveil.denoising.context import Speller
from wordveil.denoising.denoiser import Denoiser
from wordveil.denoising.endpoint import KEY, TEXTS, EndpointError, open_endpoint
from wordveil.denoising.reading import STOP
from wordveil.errors import ParameterError

PUBLIC = sentences(40, seed=8)
BROKEN = ("http://[::1", "http://host:secret/v1", "http://host /v1")
PIECE = re.compile(r"\n|\s?[^\s]{1,3}")  # words of more than three letters have several pieces


class Pairs:
    """How likely a piece is after another, by counts."""

    def __init__(self):
        self._pairs, self._lefts = Counter(), Counter()
        for text in sentences(1000):
            for pair in pairwise(self.pieces("\n" + text)):
                self._pairs[pair] += 1
                self._lefts[pair[0]] += 1

    @staticmethod
    def pieces(text):
        return PIECE.findall(text)

    def logs(self, text):
        own = [(self._pairs[pair] + 0.1) / (self._lefts[pair[0]] + 5) for pair in pairwise(self.pieces(text))]
        return [None, *np.log(own).tolist()]


class Server(ThreadingHTTPServer):
    """`/v1/models` and `/v1/completions`, as OpenAI's; `ills` are handed out one a request."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.model, self.seen, self.keys, self.ills = Pairs(), [], [], []
        self.url = f"http://127.0.0.1:{self.server_address[1]}/v1"


class Handler(BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def answer(self, status, said, **headers):
        body = said if isinstance(said, bytes) else json.dumps(said).encode()
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        known = self.path == "/v1/models"
        self.answer(200 if known else 404, {"data": [{"id": "pairs"}]})

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.seen.append(asked)
        self.server.keys.append(self.headers["Authorization"])
        ill = self.server.ills.pop(0) if self.server.ills else None
        if isinstance(ill, int):
            self.answer(ill, {}, Location="http://127.0.0.1:9/elsewhere")
        elif ill == "late":
            threading.Event().wait(0.5)
        elif ill is not None:
            self.answer(200, ill)
        else:
            self.answer(200, {"choices": [self.choice(i, text) for i, text in enumerate(asked["prompt"])][::-1]})

    def choice(self, index, text):
        pieces, added = self.server.model.pieces(text), " and"
        offsets = np.cumsum([0, *map(len, pieces)]).tolist()
        told = {"tokens": [*pieces, added], "token_logprobs": [*self.server.model.logs(text), -0.5]}
        return {"index": index, "text": text + added, "logprobs": {**told, "text_offset": offsets}}


@contextmanager
def running():
    server = Server()
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr(endpoint, "PAUSE", 0.001)
    monkeypatch.delenv(KEY, raising=False)


@pytest.fixture
def server():
    with running() as own:
        yield own


@pytest.fixture
def speller(few):
    return Speller(few.words, np.full(len(few), 1 / len(few), np.float32))


def spoken(few, words):
    return np.array([len(few) + STOP, *few.ids(words.split()), len(few) + STOP], np.int32)


def ask(server, speller, few, words=("dog", "bird")):
    own = open_endpoint(server.url, speller)
    return own.scores(spoken(few, "the dog runs"), np.array([2]), few.ids(list(words))[None])[0]


def test_whole_sentences_are_scored_in_any_pieces_and_what_is_added_does_not_count(server, few, speller):
    found = ask(server, speller, few, WORDS)
    expected = [sum(server.model.logs(f"\nThe {word} runs.")[1:]) for word in WORDS]
    assert found == pytest.approx(expected, abs=1e-4)
    assert {each["model"] for each in server.seen} == {"pairs"}
    assert all(each["echo"] and each["max_tokens"] == 1 for each in server.seen)
    assert server.keys == [None]


def test_texts_go_together_and_a_key_goes_along(server, few, speller, monkeypatch):
    monkeypatch.setenv(KEY, "secret")
    own = open_endpoint(f"{server.url}/#other", speller)
    places = np.arange(1, 10)
    own.scores(spoken(few, " ".join(WORDS[:9])), places, np.tile(np.arange(12), (9, 1)))
    sizes = [len(each["prompt"]) for each in server.seen]
    assert sizes == [TEXTS, 9 * 11 + 1 - TEXTS]
    assert {each["model"] for each in server.seen} == {"other"}
    assert set(server.keys) == {"Bearer secret"}
    assert "secret" not in repr(own)


def test_what_fails_for_a_while_is_asked_again(server, few, speller, monkeypatch):
    well = ask(server, speller, few)
    monkeypatch.setattr(endpoint, "TIMEOUT", 0.2)
    server.ills = [503, "late", 429]
    assert np.array_equal(ask(server, speller, few), well)
    assert len(server.seen) == 5


def told(*logs):
    """An answer with these log-probabilities for both texts."""
    logprobs = {"token_logprobs": [None, *logs], "text_offset": [0, *range(1, len(logs) + 1)]}
    return {"choices": [{"index": index, "logprobs": logprobs} for index in range(2)]}


@pytest.mark.parametrize(
    ("ills", "said", "times"),
    [
        ([503] * 9, "answers 503 to POST /v1/completions", 4),
        (["late"] * 9, r"gave no answer within 0\.2 seconds", 4),
        ([401], "answers 401", 1),
        ([302], "answers 302", 1),
        ([b"<html>"] * 9, r"cannot be asked \(JSONDecodeError\)", 4),
        ([{"choices": []}], "must serve completions with `echo` and `logprobs`", 1),
        ([{"choices": [{"index": 0, "text": "x", "logprobs": None}] * 2}], "must serve completions", 1),
        ([{"error": "no"}], "must serve completions", 1),
        ([told(float("nan"))], "must serve completions", 1),
        ([told(-1.0, 1e308)], "must serve completions", 1),
        ([told(10**400)], "must serve completions", 1),
    ],
)
def test_what_goes_wrong_is_said_without_what_was_asked(server, few, speller, monkeypatch, ills, said, times):
    monkeypatch.setattr(endpoint, "TIMEOUT", 0.2)
    server.ills = list(ills)
    with pytest.raises(EndpointError, match=said) as refused:
        ask(server, speller, few)
    assert len(server.seen) == times
    assert not {"dog", "bird"} & set(str(refused.value).split())


def test_addresses_that_are_none_and_servers_that_are_not_there_are_refused(few, speller):
    for url in ("http://", "http://user:secret@host/v1", "http://host/v1?key=secret", *BROKEN):
        with pytest.raises(ParameterError, match=KEY) as refused:
            open_endpoint(url, speller)
        assert "secret" not in str(refused.value)
    with pytest.raises(EndpointError, match=r"127.0.0.1:9 cannot be asked \(ConnectionRefusedError\)"):
        open_endpoint("http://127.0.0.1:9/v1", speller)


def test_only_guesses_at_the_release_and_public_words_are_sent(server, few, prior):
    """An original's words that no release shows, its unknown words and its numbers never leave."""
    mechanism = wv.SanText(epsilon=3.0)
    options = wv.TextOptions(unknown="typed")
    context = open_endpoint(server.url, Speller(few.words, prior.frequency))
    denoiser = Denoiser(few, mechanism, options=options, prior=prior, context=context, public=PUBLIC, least=0.0)
    assert denoiser.calibration.words > 0
    sanitizer = wv.Sanitizer(few, mechanism, options=options, source=seeds.source(0))
    original = "The dog sleeps, and Lindqvist 4711 m@x.org runs here."
    release = sanitizer(original)
    server.seen.clear()
    denoiser(release)
    sent = [text for asked in server.seen for text in asked["prompt"]]
    assert (len(sent) > 0) == (denoiser.context.weight > 0)
    assert {word.lower() for text in sent for word in re.findall(r"\w+", text)} <= {*WORDS, "x", "0"}
    assert not any(
        set(asked) - {"model", "prompt", "echo", "logprobs", "max_tokens", "temperature"} for asked in server.seen
    )
    # Two originals behind one release are one to the server.
    once = json.dumps(server.seen)
    server.seen.clear()
    denoiser(release)
    assert json.dumps(server.seen) == once
