import asyncio
import json
import os
import re
import resource
import signal
import socket
import sqlite3
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from functools import partial
from pathlib import Path

import httpx
import pytest
import uvicorn
from tests.service.serving import Served
from uvicorn.server import ServerState

from wordveil.service.client import ServiceError
from wordveil.service.guarding import Guard, Limits
from wordveil.service.messages import (
    BatchRequest,
    DenoiseRequest,
    Error,
    ExplainRequest,
    HidesRequest,
    RephraseRequest,
    TextRequest,
    VectorsRequest,
)
from wordveil.service.running import Impatient

pytestmark = pytest.mark.slow

TEXT = "Maria was diagnosed with depression in March."  # 7 tokens, 56 nats at the default of 8 a token
GUARDRAIL = "/beta/litellm_basic_guardrail_api"


def test_a_subjects_budget_is_spent_and_then_refused_with_account_and_rest(served):
    first = served.client.sanitize(TextRequest(text=TEXT, subject="spent"))
    assert (first.tokens, first.cost, first.left["subject:spent"]) == (7, "56", "44")
    assert first.guarantee["promise"] == "local DP"
    with pytest.raises(ServiceError, match=r"subject:spent has 44 nats left") as refused:
        served.client.sanitize(TextRequest(text=TEXT, subject="spent"))
    assert (refused.value.status, refused.value.error.code) == (402, "budget-spent")
    (budget,) = served.client.budgets("subject:spent")
    assert (budget["granted"], budget["spent"], budget["left"]) == ("100", "56", "44")
    assert budget["composed"] == {"epsilon": "56", "delta": "0.000001"}  # few tokens of 8 nats lose all they can
    assert float(budget["advanced"]["epsilon"]) > 300


def test_many_clients_at_once_spend_one_budget_to_the_last_release(served):
    def ask(_):
        answer = served.post("/v1/sanitize", json={"text": "depression", "subject": "crowded"})
        return answer.status_code

    with ThreadPoolExecutor(24) as pool:
        statuses = list(pool.map(ask, range(40)))
    assert sorted(set(statuses)) == [200, 402]
    assert statuses.count(200) == 12  # 8 nats each from 100
    assert served.client.budgets("subject:crowded")[0]["left"] == "4"


def test_an_idempotency_key_gives_the_same_release_charged_once_also_after_a_kill(served):
    asked = TextRequest(text=TEXT, subject="again")
    first = served.client.sanitize(asked, idempotency_key="k1")
    again = served.client.sanitize(asked, idempotency_key="k1")
    os.kill(served.process.pid, signal.SIGKILL)
    served.process.wait()
    served.start()
    later = served.client.sanitize(asked, idempotency_key="k1")
    assert first.texts == again.texts == later.texts
    assert [each.repeated for each in (first, again, later)] == [False, True, True]
    assert served.client.budgets("subject:again")[0]["spent"] == "56"
    with pytest.raises(ServiceError) as refused:
        served.client.sanitize(TextRequest(text="another", subject="again"), idempotency_key="k1")
    assert refused.value.status == 409
    assert served.client.sanitize(TextRequest(text="good film"), idempotency_key="k2").texts != first.texts


def test_without_a_key_every_release_is_drawn_afresh(served):
    drawn = {served.client.sanitize(TextRequest(text=TEXT)).texts[0] for _ in range(4)}
    assert len(drawn) > 1  # 7 words of at least 16 each: all four alike have a chance below 1e-9


def test_a_batch_is_paid_for_whole_or_not_released(served):
    asked = BatchRequest(texts=["good film", "bad film"], subject="batch")
    assert served.client.sanitize_batch(asked).left["subject:batch"] == "68"
    with pytest.raises(ServiceError, match="68 nats left"):
        served.client.sanitize_batch(BatchRequest(texts=[TEXT, TEXT], subject="batch"))


def test_a_stream_answers_line_by_line_and_says_which_line_was_refused(served):
    asked = [TextRequest(text="good film", subject="stream")] + [TextRequest(text=TEXT, subject="stream")] * 2
    answers = list(served.client.sanitize_stream(asked))
    assert [getattr(each, "tokens", None) for each in answers] == [2, 7, None]
    assert isinstance(answers[2], Error)
    assert (answers[2].account, answers[2].left) == ("subject:stream", "28")
    garbled = served.post("/v1/sanitize/stream", content=b'not json\n\n{"text": "fine"}')
    first, second = map(json.loads, garbled.text.splitlines())
    assert first["error"]["code"] == "request"
    assert second["tokens"] == 1


def test_what_needs_a_grant_of_its_own_is_refused_without_one(served):
    with pytest.raises(ServiceError, match="has 0 nats left"):
        served.client.sanitize(TextRequest(text=TEXT, mechanism="santext", epsilon=2.0))
    with pytest.raises(ServiceError, match="has 0 nats left"):
        served.client.vectors(VectorsRequest(vectors=[[0.1, 0.2]], epsilon=2.0))


def test_explanations_and_lists_speak_of_public_words(served):
    told = served.client.explain(ExplainRequest(pairs=[("diabetes", "asthma")]))
    assert "'diabetes' or 'asthma'" in told["examples"][0]
    listed = served.client.hides_among(HidesRequest(words=["depression", "zzyzx"])).words
    assert list(listed) == ["depression"]
    chances = [chance for _, chance in listed["depression"]]
    assert chances == sorted(chances, reverse=True)
    assert sum(chances[:16]) == pytest.approx(1 - 0.077, abs=0.002)  # the law `explain` tells: 16 words, else any


def test_sentences_become_public_sentences_from_a_budget_of_their_own(served):
    asked = RephraseRequest(texts=["Maria was ill. We told nobody.", "The soup was cold."], subject="sentences")
    first = served.client.rephrase(asked, idempotency_key="r1")
    assert (first.tokens, first.cost, first.left["subject:sentences"]) == (3, "18", "82")
    assert first.guarantee["unit"].startswith("one sentence")
    assert "Maria" not in "".join(first.texts)
    again = served.client.rephrase(asked, idempotency_key="r1")
    assert (again.texts, again.repeated) == (first.texts, True)
    served.client.sanitize(TextRequest(text="good", subject="sentences"))
    spent = {budget["promise"]["unit"]: budget["spent"] for budget in served.client.budgets("subject:sentences")}
    assert spent == {first.guarantee["unit"]: "18", "one token of a text of fixed length": "8"}
    with pytest.raises(ServiceError, match="has 0 nats left"):
        served.client.rephrase(RephraseRequest(texts=["x"], epsilon=9.0))
    with pytest.raises(ServiceError, match=r"stock must be one of general"):
        served.client.rephrase(RephraseRequest(texts=["x"], stock="/etc"))


def test_what_is_denoised_was_released_here_to_the_last_letter_and_costs_nothing(served):
    asked = TextRequest(text=TEXT, subject="reader")
    release = served.client.sanitize(asked)
    read = served.client.denoise(DenoiseRequest(texts=release.texts, seal=release.seal))
    assert read.guarantee == release.guarantee
    assert [len(each) for each in (read.texts, read.read, read.attack, read.named)] == [1] * 4
    assert [word for word, _, _ in read.named[0]] == re.findall(r"\w+(?:['’]\w+)?", release.texts[0].lower())
    assert all(0 <= sure <= 1 for _, _, sure in read.named[0])
    assert served.client.budgets("subject:reader")[0]["spent"] == "56"
    other = served.client.sanitize(TextRequest(text="good film"))
    rephrased = served.client.rephrase(RephraseRequest(texts=["x"]))
    for refused in (
        DenoiseRequest(texts=[TEXT], seal=release.seal),
        DenoiseRequest(texts=[TEXT], seal=""),
        DenoiseRequest(texts=[release.texts[0] + " "], seal=release.seal),
        DenoiseRequest(texts=release.texts, seal=other.seal),
        DenoiseRequest(texts=release.texts, seal=release.seal, epsilon=4.0),
        DenoiseRequest(texts=rephrased.texts, seal=rephrased.seal),
    ):
        with pytest.raises(ServiceError, match="only what this service released is read"):
            served.client.denoise(refused)
    noisy = TextRequest(text=TEXT, epsilon=1.0)
    release = served.client.sanitize(noisy)
    with pytest.raises(ServiceError, match="what would be read is invented"):
        served.client.denoise(DenoiseRequest(texts=release.texts, seal=release.seal, epsilon=1.0))


def test_a_signal_ends_it_after_all_that_is_on_its_way_is_answered(tmp_path):
    served = Served(tmp_path, "--key-budget", "1000000000")
    texts, ended = [" ".join([TEXT] * 2000)] * 10, []

    def ask(_):
        answer = served.post("/v1/sanitize/batch", json={"texts": texts})
        ended.append(time.monotonic())
        return answer.status_code, len(answer.json()["texts"])

    with ThreadPoolExecutor(4) as pool:
        asked = [pool.submit(ask, number) for number in range(4)]
        while served.ledger_rows() < 4:  # all were charged, and not all are answered
            time.sleep(0.01)
        served.process.send_signal(signal.SIGTERM)
        signalled = time.monotonic()
        assert [each.result() for each in asked] == [(200, 10)] * 4
    assert served.process.wait(timeout=60) == 0
    assert max(ended) > signalled
    with pytest.raises(httpx.ConnectError):
        httpx.get(f"{served.address}/health")
    served.client.close()


def test_vocabularies_are_read_again_and_no_request_is_dropped(tmp_path):
    file = tmp_path / "words.txt"

    def write(words):
        lines = [f"{word} {i % 7} {i % 11} {i % 13} {i}" for i, word in enumerate(words)]
        (tmp_path / "new").write_text("\n".join(lines) + "\n")
        (tmp_path / "new").rename(file)

    write([f"old{'abcdefghij'[i % 10]}{'klmnopqrst'[i // 10]}" for i in range(100)])
    served = Served(tmp_path, "--vocabulary", f"default={file}", "--rate", "100000")
    how = {"text": "some words"}
    old = served.client.sanitize(TextRequest(text="some words"))
    stop, seen = threading.Event(), []

    def ask():
        with httpx.Client(base_url=served.address, headers=served.headers, timeout=60) as client:
            while not stop.is_set():
                answer = client.post("/v1/sanitize", json=how | {"subject": os.urandom(8).hex()})
                said = answer.json()
                seen.append((answer.status_code, said.get("provenance", {}).get("checksum"), said.get("texts")))

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for each in threads:
        each.start()
    for words in ("new", "newest"):
        write([f"{words}{'abcdefghij'[i % 10]}{'klmnopqrst'[i // 10]}" for i in range(100)])
        before = len({checksum for _, checksum, _ in seen})
        served.process.send_signal(signal.SIGHUP)
        for _ in range(600):
            if len({checksum for _, checksum, _ in seen}) > max(1, before):
                break
            time.sleep(0.05)
    file.write_text("no vocabulary")
    served.process.send_signal(signal.SIGHUP)
    for _ in range(600):
        if "stay as they were" in served.log.read_text():
            break
        time.sleep(0.05)
    count = len(seen)
    while len(seen) < count + 20:
        time.sleep(0.01)
    stop.set()
    for each in threads:
        each.join()
    assert {status for status, _, _ in seen} == {200}
    # No release mixes two vocabularies: its words are those of the checksum that it names.
    kinds = {
        found: {re.match(r"[a-z]+(?=[a-j][k-t]$)", text.split()[0].lower())[0] for _, c, (text,) in seen if c == found}
        for _, found, _ in seen
    }
    assert list(kinds.values()) == [{"old"}, {"new"}, {"newest"}]
    with pytest.raises(ServiceError, match="only what this service released is read"):  # under another promise
        served.client.denoise(DenoiseRequest(texts=old.texts, seal=old.seal))
    served.end()


def test_litellm_is_told_to_go_on_with_released_text_or_to_stop(served):
    asked = {"texts": [TEXT], "input_type": "request", "litellm_call_id": "c1", "structured_messages": []}
    asked["request_data"] = {"user_api_key_user_id": "gateway"}

    def guard(body=asked, key=served.key):
        answer = httpx.post(f"{served.address}{GUARDRAIL}", json=body, headers={"x-api-key": key}, timeout=60)
        assert answer.status_code == 200
        return answer.json()

    first, again = guard(), guard()
    assert first["action"] == "GUARDRAIL_INTERVENED"
    assert first == again
    assert first["texts"] != [TEXT]
    assert served.client.budgets("subject:gateway")[0]["spent"] == "56"
    spent = guard(asked | {"litellm_call_id": "c2"})
    assert (spent["action"], spent["texts"]) == ("BLOCKED", None)
    assert guard(asked | {"input_type": "response"})["action"] == "NONE"
    for broken in ({"texts": "no list"}, asked | {"images": ["x"]}, asked | {"request_data": {SUBJECT: "a b"}}, []):
        assert guard(broken)["action"] == "BLOCKED"
    assert guard(key="wv_nobody")["action"] == "BLOCKED"
    assert guard({"texts": [], "structured_messages": []})["action"] == "NONE"
    picture = {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "Maria"}}]}
    assert guard({"texts": [], "structured_messages": [picture]})["action"] == "BLOCKED"
    spoken = {"role": "user", "content": "good film"}
    fine = {
        "texts": ["good film", "bad film"],
        "structured_messages": [spoken, {"role": "user", "content": parts("bad film")}],
    }
    assert guard(fine)["action"] == "GUARDRAIL_INTERVENED"
    assert guard(fine | {"structured_messages": [spoken | {"tool_calls": None}]})["action"] == "GUARDRAIL_INTERVENED"
    for message in (
        spoken | {"name": "Maria"},
        spoken | {"reasoning_content": "Maria"},
        {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "Maria"}},
        {"role": "user", "content": [*parts("good film"), {"type": "file", "file": {"file_data": "Maria"}}]},
        {"role": "user", "content": [*parts("good film"), {"type": "text", "text": "bad film", "image_url": "Maria"}]},
        {"role": "user", "content": "what is not among the texts"},
        {"role": "Maria", "content": "good film"},
        "Maria",
    ):
        blocked = guard(fine | {"structured_messages": [spoken, message]})
        assert (blocked["action"], "not-sanitized" in blocked["blocked_reason"]) == ("BLOCKED", True)
    assert guard(asked | {"texts": ["x" * 5_000_000]})["action"] == "BLOCKED"


def parts(text):
    return [{"type": "text", "text": text}]


def test_a_crowd_of_idle_connections_keeps_no_request_from_its_answer(served):
    resource.setrlimit(resource.RLIMIT_NOFILE, (4096, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
    idle = [socket.create_connection(("127.0.0.1", served.port)) for _ in range(1005)]
    answer = httpx.post(f"{served.address}{GUARDRAIL}", json={"texts": ["x"]}, headers=served.headers, timeout=60)
    assert (answer.status_code, answer.json()["action"]) == (200, "GUARDRAIL_INTERVENED")
    for each in idle:
        each.close()


def test_who_asks_for_nothing_is_sent_away():
    async def connected():
        config = uvicorn.Config(lambda: None, timeout_keep_alive=1, http=Impatient, log_config=None)
        config.load()
        made = partial(Impatient, config=config, server_state=ServerState(), app_state={})
        server = await asyncio.get_running_loop().create_server(made, "127.0.0.1", 0)
        reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
        async with asyncio.timeout(20):
            assert await reader.read() == b""
        writer.close()
        server.close()
        await asyncio.sleep(0.2)

    asyncio.run(connected())


def test_beyond_the_limit_of_requests_a_guardrail_blocks_and_others_are_told_to_wait():
    def answered(path):
        sent = []

        async def send(message):
            sent.append(message)

        guard = Guard(None, Limits(requests=0), seen=lambda *told: None)
        asyncio.run(guard({"type": "http", "headers": [], "path": path}, None, send))
        return sent[0]["status"], json.loads(sent[1]["body"])

    status, body = answered(GUARDRAIL)
    assert (status, body["action"]) == (200, "BLOCKED")
    status, body = answered("/v1/sanitize")
    assert (status, body["error"]["code"]) == (503, "busy")


def test_where_noise_is_always_fresh_an_idempotency_key_is_refused(served):
    body = {"vectors": [[0.1, 0.2]], "epsilon": 2.0}
    for route, given in (("/v1/vectors", {"json": body}), ("/v1/sanitize/stream", {"content": b'{"text": "x"}'})):
        answer = served.post(route, headers={"idempotency-key": "k"}, **given)
        assert (answer.status_code, answer.json()["error"]["code"]) == (422, "idempotency-key")


SUBJECT = "user_api_key_user_id"


@pytest.mark.parametrize("key", ["x", "wv_", f"wv_{'0' * 16}_{'0' * 64}", "Basic x"])
def test_nobody_without_a_key_gets_anything(served, key):
    headers = {"authorization": f"Bearer {key}"}
    for method, path in (("POST", "/v1/sanitize"), ("GET", "/v1/mechanisms"), ("GET", "/metrics")):
        body = {"json": {"text": TEXT}} if method == "POST" else {}
        answer = httpx.request(method, f"{served.address}{path}", headers=headers, **body)
        assert (answer.status_code, answer.json()["error"]["code"]) == (401, "unauthenticated")


def test_errors_have_one_shape_and_all_answers_strict_headers(served):
    answers = [
        served.post("/v1/sanitize", json={"text": TEXT, TEXT: 1}),
        served.post("/v1/sanitize", content=TEXT),
        served.post("/v1/sanitize", json={"text": TEXT, "mechanism": TEXT}),
        served.post("/v1/sanitize", json={"text": TEXT, "settings": {"k": TEXT}}),
        served.post("/v1/sanitize", content=f'{{"text": "x", "settings": {{"epsilon": 1{"0" * 400}}}}}'),
        served.post("/v1/sanitize", content='{"text": "x", "settings": {"epsilon": NaN}}'),
        served.post("/v1/sanitize", json={"text": TEXT, "subject": TEXT}),
        served.post("/v1/explain", json={"pairs": [["depression", "Zzyzx"]]}),
        served.post(f"/{TEXT}", json={}),
        served.post("/v1/sanitize", content=b"x" * 5_000_000),
        served.post("/v1/sanitize", json={"text": "x" * 200_000}),
    ]
    for answer in answers:
        assert 400 <= answer.status_code < 500
        assert list(answer.json()) == ["error"]
        assert list(answer.json()["error"]) == ["code", "message", "account", "left"]
        assert "Maria" not in answer.text
        assert "Zzyzx" not in answer.text
        assert answer.headers["content-security-policy"].startswith("default-src 'none'")
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["cache-control"] == "no-store"
        assert "server" not in answer.headers


def test_an_answer_that_does_not_begin_in_time_is_an_error_and_one_that_began_may_take_longer():
    async def app(scope, receive, send):
        await asyncio.sleep(scope["before"])
        await send({"type": "http.response.start", "status": 200})
        await asyncio.sleep(0.3)
        await send({"type": "http.response.body", "body": b"whole"})

    def answered(before):
        sent, seen = [], []

        async def send(message):
            sent.append(message)

        guard = Guard(app, Limits(seconds=0.1), seen=lambda *told: seen.append(told))
        asyncio.run(guard({"type": "http", "headers": [], "path": "/", "before": before}, None, send))
        return sent[0]["status"], sent[-1]["body"], [status for _, status, _ in seen]

    assert answered(0) == (200, b"whole", [200])
    status, body, seen = answered(5)
    assert (status, json.loads(body)["error"]["code"], seen) == (504, "timeout", [504])


SECRETS = ("Qvxzwyk", "Wjqpzzt", "Xkkzqjv", "Zzqwxvj")


def test_nothing_that_the_service_writes_holds_a_word_of_what_was_sent(tmp_path):
    served = Served(tmp_path, "--subject-budget", "1000")
    word, subject_less, header, path = SECRETS
    text = f"{word} was diagnosed with depression."
    seen = []
    for body in ({"text": text, "subject": "s"}, {"text": text, word: 1}, {"text": text, "mechanism": word}, text):
        for route in ("/v1/sanitize", "/v1/sanitize/stream", "/v1/explain", GUARDRAIL, f"/{path}?q={path}"):
            headers = {"x-note": header, "user-agent": header}
            seen.append(served.post(route, json=body, headers=headers, params={"q": path}).status_code)
    served.post("/v1/sanitize", json={"text": text, "subject": "s"}, headers={"idempotency-key": subject_less})
    served.post("/v1/hides-among", json={"words": [word]})
    seen.append(served.post("/v1/rephrase", json={"texts": [text], "subject": "s"}).status_code)
    seen.append(served.post("/v1/denoise", json={"texts": [text], "seal": word}).status_code)
    seen.append(served.post("/v1/denoise", json={"texts": [text], "seal": word, "style": word}).status_code)
    assert seen[-3:] == [200, 422, 422]
    metrics = httpx.get(f"{served.address}/metrics", headers=served.headers).text
    shown = (
        Path(f"/proc/{served.process.pid}/cmdline").read_bytes() + Path(f"/proc/{served.process.pid}/comm").read_bytes()
    )
    database = served.place / "state" / "ledger.db"
    releases = sqlite3.connect(database).execute("SELECT count(*) FROM releases").fetchone()[0]
    served.end()
    assert 200 in seen
    assert 422 in seen
    assert releases >= 3
    assert "/v1/sanitize 200" in served.log.read_text()
    written = [metrics.encode(), shown, *(file.read_bytes() for file in tmp_path.rglob("*") if file.is_file())]
    assert len(written) >= 5
    for secret in SECRETS:
        assert not any(secret.lower().encode() in each.lower() for each in written)


def test_a_key_that_is_revoked_or_for_reading_only_releases_nothing(tmp_path):
    served = Served(tmp_path)
    command = [str(tmp_path / "state")]
    from wordveil.service.access import make_key, revoke_key
    from wordveil.service.ledger import Ledger

    ledger = Ledger.open(f"sqlite:///{command[0]}/ledger.db")
    reader = make_key(ledger, "reader", ("read",))

    def ask(key):
        headers = {"authorization": f"Bearer {key}"}
        return httpx.post(f"{served.address}/v1/sanitize", json={"text": "x"}, headers=headers, timeout=60).status_code

    assert (ask(served.key), ask(reader)) == (200, 403)
    revoke_key(ledger, served.key.split("_")[1])
    assert ask(served.key) == 401
    digests = sqlite3.connect(f"{command[0]}/ledger.db").execute("SELECT digest FROM api_keys").fetchall()
    assert not any(reader.endswith(digest) for (digest,) in digests)
    ledger.close()
    served.end()


def test_the_document_of_the_interface_names_every_route_with_examples(served):
    document = httpx.get(f"{served.address}/openapi.json").json()
    assert {"/v1/sanitize", "/v1/sanitize/batch", "/v1/sanitize/stream", GUARDRAIL, "/ready"} <= set(document["paths"])
    assert "Maria was diagnosed" in json.dumps(document)
    assert re.fullmatch(r"3\.\d+\.\d+", document["openapi"])


def test_metrics_count_by_route(served):
    served.client.sanitize(TextRequest(text="good film"))
    page = httpx.get(f"{served.address}/metrics", headers=served.headers).text
    counts = dict(
        re.findall(r'^wordveil_requests_total\{route="([^"]+)",status="200"\} (\S+)$', page, flags=re.MULTILINE)
    )
    assert Decimal(counts["/v1/sanitize"]) >= 1
    assert Decimal(re.search(r"^wordveil_tokens_released_total (\S+)$", page, flags=re.MULTILINE)[1]) >= 2
