import contextlib
import json
import os
import re
import signal
import sqlite3
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from pathlib import Path

import httpx
import pytest
from tests.service.serving import Served

from wordveil.cli.main import main
from wordveil.service.client import Client, ServiceError
from wordveil.service.messages import BatchRequest, DenoiseRequest, HidesRequest, TextRequest

pytestmark = pytest.mark.slow

TEXT = "Maria was diagnosed with depression in March."  # 7 tokens, 56 nats at the default of 8 a token


@pytest.fixture
def budget(served, capfd):
    """Run `wordveil budget` on the ledger of a service; return its exit code and what it prints."""

    def run(*command):
        with pytest.raises(SystemExit) as ended:
            main(["budget", *command, "--database", served.url])
        return int(ended.value.code or 0), "".join(capfd.readouterr())

    return run


def test_a_subjects_budget_is_spent_and_then_refused_with_account_and_rest(served):
    first = served.client.sanitize(TextRequest(text=TEXT, subject="spent"))
    assert (first.tokens, first.cost, first.left["subject:spent"]) == (7, "56", "44")
    assert first.guarantee["promise"] == "local DP"
    with pytest.raises(ServiceError, match=r"subject:spent has 44 nats left") as refused:
        served.client.sanitize(TextRequest(text=TEXT, subject="spent"))
    assert (refused.value.status, refused.value.error.code) == (402, "budget-spent")
    (shown,) = served.client.budgets("subject:spent")
    assert (shown["granted"], shown["spent"], shown["left"]) == ("100", "56", "44")
    assert shown["daily"] == "100"


def test_many_clients_at_once_spend_one_budget_to_the_last_release(served):
    with httpx.Client(base_url=served.address, headers=served.headers, timeout=60) as client:

        def ask(_):
            while (answer := client.post("/v1/sanitize", json=asked)).status_code == 429:
                time.sleep(1)
            return answer.status_code

        asked = {"text": "depression", "subject": "crowded"}
        with ThreadPoolExecutor(100) as pool:
            statuses = list(pool.map(ask, range(500)))
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
    told = []
    with contextlib.closing(Client(served.address, served.key)) as another:  # its guess is told alike, right or wrong
        for client, text in ((served.client, "another"), (another, "another"), (another, TEXT)):
            with pytest.raises(ServiceError) as refused:
                client.sanitize(TextRequest(text=text, subject="again"), idempotency_key="k1")
            told.append((refused.value.status, str(refused.value)))
    assert told == [(409, told[0][1])] * 3
    assert served.client.sanitize(TextRequest(text="good film"), idempotency_key="k2").texts != first.texts


def test_without_a_key_every_release_is_drawn_afresh(served):
    drawn = {served.client.sanitize(TextRequest(text=TEXT)).texts[0] for _ in range(4)}
    assert len(drawn) > 1  # 7 words of at least 16 each: all four alike have a chance below 1e-9


def test_a_batch_is_paid_for_whole_or_not_released(served):
    asked = BatchRequest(texts=["good film", "bad film"], subject="batch")
    assert served.client.sanitize_batch(asked).left["subject:batch"] == "68"
    with pytest.raises(ServiceError, match="68 nats left"):
        served.client.sanitize_batch(BatchRequest(texts=[TEXT, TEXT], subject="batch"))


def test_what_needs_a_grant_of_its_own_is_refused_without_one(served):
    with pytest.raises(ServiceError, match="has 0 nats left"):
        served.client.sanitize(TextRequest(text=TEXT, setting="far"))
    long = " ".join([TEXT] * 100)
    with pytest.raises(ServiceError, match="has 0 nats left"):  # found out before it is counted
        served.client.sanitize(TextRequest(text=long, setting="far"))


def test_only_what_was_opened_is_there(served):
    listed = served.client.settings()
    assert [each["name"] for each in listed] == ["default", "letters", "short", "noisy", "far"]
    assert listed[2]["mechanism"] == "NeighbourResponse(epsilon=4.0, k=8, outputs=4000, lists='nearest')"
    assert served.client.sanitize(TextRequest(text=TEXT, setting="short")).cost == "28"
    for chosen in ({"setting": "tem"}, {"mechanism": "tem"}, {"epsilon": 1.0}, {"settings": {"k": 2}}, {"k": 2}):
        assert served.post("/v1/sanitize", json={"text": "x", **chosen}).status_code == 422
    for gone in ("/v1/vectors", "/v1/sanitize/stream", "/v1/rephrase", "/beta/litellm_basic_guardrail_api"):
        assert served.post(gone, json={}).status_code in (404, 405)


def test_explanations_and_lists_speak_of_public_words(served):
    told = served.client.settings()[0]
    assert "' or '" in told["examples"][0]
    assert "16" in told["how"]
    listed = served.client.hides_among(HidesRequest(words=["depression", "zzyzx"])).words
    assert list(listed) == ["depression"]
    chances = [chance for _, chance in listed["depression"]]
    assert chances == sorted(chances, reverse=True)
    assert sum(chances[:16]) == pytest.approx(1 - 0.077, abs=0.002)  # the law `explain` tells: 16 words, else any


def test_sentences_become_public_sentences_from_a_budget_of_their_own(served, budget):
    for payer in ("subject:sentences", "first"):
        status, shown = budget("grant", payer, "100", "--setting", "rephrase")
        assert status == 0, shown
    texts = ["Maria was ill. We told nobody.", "The soup was cold."]
    asked = BatchRequest(texts=texts, subject="sentences", setting="letters")
    first = served.client.sanitize_batch(asked, idempotency_key="r1")
    assert (first.tokens, first.cost, first.left["subject:sentences"]) == (3, "18", "82")
    assert first.guarantee["unit"].startswith("one sentence")
    assert "Maria" not in "".join(first.texts)
    again = served.client.sanitize_batch(asked, idempotency_key="r1")
    assert (again.texts, again.repeated) == (first.texts, True)
    served.client.sanitize(TextRequest(text="good", subject="sentences"))
    spent = {each["promise"]["unit"]: each["spent"] for each in served.client.budgets("subject:sentences")}
    assert spent == {first.guarantee["unit"]: "18", "one token of a text of fixed length": "8"}
    with pytest.raises(ServiceError, match="only what this service released is read"):
        served.client.denoise(DenoiseRequest(texts=first.texts, seal=first.seal, setting="letters"))


def test_budgets_are_shown_by_the_names_of_people(served, budget):
    status, key = budget("key", "carol")
    assert status == 0
    assert budget("key", "carol")[0] == 2  # names tell keys apart
    id_ = key.split("_")[1]
    assert budget("show", "carol") == (0, "nothing was granted or spent yet\n")
    with contextlib.closing(Client(served.address, key.strip())) as carol:
        carol.sanitize(TextRequest(text="good film", subject="dora"))
    for name in ("carol", "key:carol", f"key:{id_}"):
        status, shown = budget("show", name)
        head, row = (re.split("  +", line) for line in shown.splitlines())
        assert (status, head[:5]) == (0, ["account", "granted", "spent", "left", "daily"])
        assert row[:5] == [f"key:{id_} (carol)", "10000", "16", "9984", "10000"]
    status, shown = budget("show", "dora", "--json")
    assert [(each["account"], each["spent"]) for each in json.loads(shown)] == [("subject:dora", "16")]
    assert "16" in budget("history", "dora")[1]
    assert len(json.loads(budget("history", "carol", "--json")[1])) == 1
    for unknown in ("nobody", "subject:nobody", "key:nobody", "key:dora"):
        for command in ("show", "history"):
            status, shown = budget(command, unknown)
            assert status == 2
            assert "is unknown" in shown
    budget("key", "dora")
    status, shown = budget("grant", "dora", "5")
    assert status == 2
    assert "name of several" in shown


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
    for refused in (
        DenoiseRequest(texts=[TEXT], seal=release.seal),
        DenoiseRequest(texts=[TEXT], seal=""),
        DenoiseRequest(texts=[release.texts[0] + " "], seal=release.seal),
        DenoiseRequest(texts=release.texts, seal=other.seal),
        DenoiseRequest(texts=release.texts, seal=release.seal, setting="short"),
    ):
        with pytest.raises(ServiceError, match="only what this service released is read"):
            served.client.denoise(refused)
    noisy = TextRequest(text=TEXT, setting="noisy")
    release = served.client.sanitize(noisy)
    with pytest.raises(ServiceError, match="what would be read is invented"):
        served.client.denoise(DenoiseRequest(texts=release.texts, seal=release.seal, setting="noisy"))


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


@pytest.mark.parametrize("key", ["x", "wv_", f"wv_{'0' * 16}_{'0' * 64}", "Basic x"])
def test_nobody_without_a_key_gets_anything(served, key):
    headers = {"authorization": f"Bearer {key}"}
    for method, path in (("POST", "/v1/sanitize"), ("GET", "/v1/settings"), ("GET", "/metrics")):
        body = {"json": {"text": TEXT}} if method == "POST" else {}
        answer = httpx.request(method, f"{served.address}{path}", headers=headers, **body)
        assert (answer.status_code, answer.json()["error"]["code"]) == (401, "unauthenticated")


def test_errors_have_one_shape_and_all_answers_strict_headers(served):
    answers = [
        served.post("/v1/sanitize", json={"text": TEXT, TEXT: 1}),
        served.post("/v1/sanitize", content=TEXT),
        served.post("/v1/sanitize", json={"text": TEXT, "setting": TEXT}),
        served.post("/v1/hides-among", content=f'{{"words": [1{"0" * 400}]}}'),
        served.post("/v1/hides-among", content='{"words": NaN}'),
        served.post("/v1/sanitize", json={"text": "x"}, headers={"idempotency-key": "x" * 201}),
        served.post("/v1/sanitize", json={"text": "x"}, headers={"idempotency-key": "x", "idempotency-nonce": "short"}),
        served.post("/v1/sanitize", json={"text": "x"}, headers={"idempotency-nonce": "x" * 20}),
        served.post("/v1/sanitize", json={"text": TEXT, "subject": TEXT}),
        served.post("/v1/denoise", json={"texts": ["Zzyzx"], "seal": "Zzyzx"}),
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


SECRETS = ("Qvxzwyk", "Wjqpzzt", "Xkkzqjv", "Zzqwxvj")


def test_nothing_that_the_service_writes_holds_a_word_of_what_was_sent(tmp_path):
    served = Served(tmp_path, "--subject-budget", "1000")
    word, subject_less, header, path = SECRETS
    text = f"{word} was diagnosed with depression."
    seen = []
    for body in ({"text": text, "subject": "s"}, {"text": text, word: 1}, {"text": text, "setting": word}, text):
        for route in ("/v1/sanitize", "/v1/hides-among", f"/{path}?q={path}"):
            headers = {"x-note": header, "user-agent": header}
            seen.append(served.post(route, json=body, headers=headers, params={"q": path}).status_code)
    for _ in range(2):
        headers = {"idempotency-key": subject_less, "idempotency-nonce": header * 3}
        seen.append(served.post("/v1/sanitize", json={"text": text, "subject": "s"}, headers=headers).status_code)
    assert seen[-2:] == [200, 200]
    served.post("/v1/hides-among", json={"words": [word]})
    seen.append(served.post("/v1/denoise", json={"texts": [text], "seal": word}).status_code)
    assert seen[-1] == 422
    metrics = httpx.get(f"{served.address}/metrics", headers=served.headers).text
    shown = (
        Path(f"/proc/{served.process.pid}/cmdline").read_bytes() + Path(f"/proc/{served.process.pid}/comm").read_bytes()
    )
    database = served.place / "state" / "ledger.db"
    releases = sqlite3.connect(database).execute("SELECT count(*) FROM releases").fetchone()[0]
    served.end()
    assert 200 in seen
    assert 422 in seen
    assert releases == 2
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
    assert {"/v1/sanitize", "/v1/sanitize/batch", "/v1/settings", "/ready"} <= set(document["paths"])
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
