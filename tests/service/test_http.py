import json
import os
import re
import signal
import socket
import time
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest
from tests.service.serving import RefusedError, Served

from wordveil.cli.main import main

pytestmark = pytest.mark.slow
on_both = pytest.mark.parametrize("served", ["sqlite", "postgresql"], indirect=True)

TEXT = "Maria was diagnosed with depression in March."  # 7 tokens, 56 nats at 8 a token


@pytest.fixture
def budget(served, capfd):
    """Run `wordveil budget` on the ledger of a service; return its exit code and what it prints."""

    def run(*command):
        with pytest.raises(SystemExit) as ended:
            main(["budget", *command, "--database", served.url])
        return int(ended.value.code or 0), "".join(capfd.readouterr())

    return run


@on_both
def test_a_subjects_budget_is_spent_and_then_refused_with_account_and_rest(served):
    first = served.sanitize(TEXT, subject="spent")
    assert (first["tokens"], first["cost"], first["left"]["subject:spent"]) == (7, "56", "44")
    assert first["guarantee"]["promise"] == "local DP"
    with pytest.raises(RefusedError, match=r"subject:spent has 44 nats left") as refused:
        served.sanitize(TEXT, subject="spent")
    assert (refused.value.status, refused.value.error["code"]) == (402, "budget-spent")
    told = "Nothing was released: it costs 56 nats, and 44 are left in this budget."
    assert refused.value.error["message"] == told
    (shown,) = served.ask("/v1/budgets/subject:spent")
    assert [shown[name] for name in ("granted", "spent", "left", "daily")] == ["100", "56", "44", "100"]


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("{}", "The member text is missing."),
        ('{"text": 5}', "The member text is of another kind."),
        ('{"text": "zqtext", "zqname": 1}', "A member has a name that this address does not know."),
        ('{"text": "zqtext"', "The body is no JSON."),
    ],
)
def test_a_request_that_does_not_fit_is_told_why_and_nothing_of_what_it_held(served, body, told):
    answer = served.post("/v1/sanitize", content=body, headers={"content-type": "application/json"})
    assert answer.status_code == 422
    assert answer.json()["error"]["message"] == f"{told} The request does not fit the schema at /openapi.json."


@on_both
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
    assert served.ask("/v1/budgets/subject:crowded")[0]["left"] == "4"


@on_both
def test_an_idempotency_key_gives_the_same_release_charged_once_also_after_a_kill(served):
    asked = {"subject": "again", "retry": "k1"}
    first, again = (served.sanitize(TEXT, **asked) for _ in range(2))
    os.kill(served.process.pid, signal.SIGKILL)
    served.process.wait()
    served.start()
    later = served.sanitize(TEXT, **asked)
    assert first["texts"] == again["texts"] == later["texts"]
    assert [each["repeated"] for each in (first, again, later)] == [False, True, True]
    assert served.ask("/v1/budgets/subject:again")[0]["spent"] == "56"
    told = []
    for text, nonce in (("another", {}), ("another", {"nonce": "x" * 20}), (TEXT, {"nonce": "x" * 20})):
        with pytest.raises(RefusedError) as refused:  # a guess is told alike, right or wrong
            served.sanitize(text, **asked, **nonce)
        told.append((refused.value.status, str(refused.value)))
    assert told == [(409, told[0][1])] * 3
    assert served.sanitize("good film", retry="k2")["texts"] != first["texts"]


def test_a_batch_is_paid_for_whole_or_not_released(served):
    assert served.sanitize(["good film", "bad film"], subject="batch")["left"]["subject:batch"] == "68"
    with pytest.raises(RefusedError, match="68 nats left"):
        served.sanitize([TEXT, TEXT], subject="batch")


@pytest.mark.parametrize("text", [TEXT, " ".join([TEXT] * 100)], ids=["short", "before it is counted"])
def test_what_needs_a_grant_of_its_own_is_refused_without_one(served, text):
    with pytest.raises(RefusedError, match="has 0 nats left"):
        served.sanitize(text, setting="far")


def test_only_what_was_opened_is_there(served):
    listed = served.ask("/v1/settings")
    assert [each["name"] for each in listed] == ["default", "letters", "short", "noisy", "far", "readable"]
    assert listed[2]["mechanism"] == "NeighbourResponse(epsilon=4.0, k=8, outputs=4000)"
    assert served.sanitize(TEXT, setting="short")["cost"] == "28"
    for chosen in ({"setting": "tem"}, {"mechanism": "tem"}, {"epsilon": 1.0}, {"settings": {"k": 2}}, {"k": 2}):
        assert served.post("/v1/sanitize", json={"text": "x", **chosen}).status_code == 422
    for gone in ("/v1/vectors", "/v1/sanitize/stream", "/v1/rephrase", "/beta/litellm_basic_guardrail_api", "/metrics"):
        assert served.post(gone, json={}).status_code in (404, 405)


def test_explanations_and_lists_speak_of_public_words(served):
    told = served.ask("/v1/settings")[0]
    assert "' or '" in told["examples"][0]
    assert "16" in told["how"]
    listed = served.ask("/v1/hides-among", {"words": ["depression", "zzyzx"]})["words"]
    assert list(listed) == ["depression"]
    chances = [chance for _, chance in listed["depression"]]
    assert chances == sorted(chances, reverse=True)
    assert sum(chances[:16]) == pytest.approx(1 - 0.077, abs=0.002)  # the law `explain` tells: 16 words, else any


@on_both
def test_sentences_become_public_sentences_from_a_budget_of_their_own(served, budget):
    for payer in ("subject:sentences", "first"):
        status, shown = budget("grant", payer, "100", "--setting", "rephrase")
        assert status == 0, shown
        assert "no day fills this account up" in shown
    texts = ["Maria was ill. We told nobody.", "The soup was cold."]
    first, again = (served.sanitize(texts, subject="sentences", setting="letters", retry="r1") for _ in range(2))
    assert (first["tokens"], first["cost"], first["left"]["subject:sentences"]) == (3, "18", "82")
    assert first["guarantee"]["unit"].startswith("one sentence")
    assert "Maria" not in "".join(first["texts"])
    assert (again["texts"], again["repeated"]) == (first["texts"], True)
    served.sanitize("good", subject="sentences")
    spent = {each["promise"]["unit"]: each["spent"] for each in served.ask("/v1/budgets/subject:sentences")}
    assert spent == {first["guarantee"]["unit"]: "18", "one token of a text of fixed length": "8"}
    with pytest.raises(RefusedError, match="only what this service released is read"):
        served.ask("/v1/denoise", {"texts": first["texts"], "seal": first["seal"], "setting": "letters"})


@on_both
def test_budgets_are_shown_by_the_names_of_people(served, budget):
    status, key = budget("key", "carol")
    assert status == 0
    assert budget("key", "carol")[0] == 2  # names tell keys apart
    id_ = key.split("_")[1]
    status, nothing = budget("show", "carol")
    assert (status, nothing.startswith("carol: nothing was granted or spent yet: ")) == (0, True)
    served.sanitize("good film", subject="dora", key=key.strip())
    for name in ("carol", "key:carol", f"key:{id_}"):
        status, shown = budget("show", name)
        head, row, *_ = (re.split("  +", line) for line in shown.splitlines())
        assert (status, head[:5]) == (0, ["account", "granted", "spent", "left", "daily"])
        assert row[:5] == [f"key:{id_} (carol)", "10000", "16", "9984", "10000"]
    for name in ("key:carol", f"key:{id_}"):
        assert [each["left"] for each in served.ask(f"/v1/budgets/{name}")] == ["9984"]
    status, shown = budget("show", "dora", "--json")
    assert [(each["account"], each["spent"]) for each in json.loads(shown)] == [("subject:dora", "16")]
    assert "16" in budget("history", "dora")[1]
    assert len(json.loads(budget("history", "carol", "--json")[1])) == 1
    with pytest.raises(RefusedError, match="is unknown") as refused:
        served.ask("/v1/budgets/key:nobody")
    assert refused.value.status == 422
    for unknown in ("nobody", "subject:nobody", "key:nobody", "key:dora"):
        for command in ("show", "history"):
            status, shown = budget(command, unknown)
            assert status == 2
            assert f"ACCOUNT='{unknown}' is unknown" in shown
    budget("key", "dora")
    status, shown = budget("grant", "dora", "5")
    assert status == 2
    assert "name of several" in shown


def test_a_ledger_that_is_made_is_told_of_and_a_grant_names_its_setting_and_unit(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)

    def said(*command):
        with pytest.raises(SystemExit) as ended:
            main(["budget", *command])
        out, err = capfd.readouterr()
        return ended.value.code, out, err

    status, _, err = said("grant", "subject:maria", "20", "--setting", "tem:epsilon=9")
    assert (status, err.startswith("a new ledger was made: wordveil-service/ledger.db. ")) == (0, True)
    status, out, err = said("grant", "subject:maria", "20", "--setting", "tem:epsilon=9")
    assert (status, err, "granted for the promise of the setting tem:epsilon=9\n" in out) == (0, "", True)
    assert "nats per unit of euclidean distance, metric DP" in " ".join(out.split())


def test_what_is_denoised_was_released_here_to_the_last_letter_and_costs_nothing(served):
    def denoised(texts, seal, **how):
        return served.ask("/v1/denoise", {"texts": texts, "seal": seal, **how})

    release = served.sanitize(TEXT, subject="reader")
    texts, seal = release["texts"], release["seal"]
    read = denoised(texts, seal)
    assert read["guarantee"] == release["guarantee"]
    assert [len(read[name]) for name in ("texts", "read", "attack", "named")] == [1] * 4
    assert [word for word, _, _ in read["named"][0]] == re.findall(r"\w+(?:['’]\w+)?", texts[0].lower())
    assert all(0 <= sure <= 1 for _, _, sure in read["named"][0])
    assert served.ask("/v1/budgets/subject:reader")[0]["spent"] == "56"
    other, how = served.sanitize("good film")["seal"], {"setting": "short"}
    changed = [texts[0] + " "]
    for wrong in (([TEXT], seal, {}), ([TEXT], "", {}), (changed, seal, {}), (texts, other, {}), (texts, seal, how)):
        with pytest.raises(RefusedError, match="only what this service released is read"):
            denoised(*wrong[:2], **wrong[2])
    noisy = served.sanitize(TEXT, setting="noisy")
    with pytest.raises(RefusedError, match="what would be read is invented"):
        denoised(noisy["texts"], noisy["seal"], setting="noisy")


def test_a_signal_ends_it_after_all_that_is_on_its_way_is_answered(tmp_path):
    texts, ended = [" ".join([TEXT] * 2000)] * 10, list[float]()

    def ask(_):
        answer = served.post("/v1/sanitize/batch", json={"texts": texts})
        ended.append(time.monotonic())
        return answer.status_code, len(answer.json()["texts"])

    for attempt in range(20):  # once more, where a fast machine had answered them all before the signal
        (place := tmp_path / f"{attempt}").mkdir()
        served = Served(place, "--key-budget", "1000000000")
        with ThreadPoolExecutor(4) as pool:
            asked = [pool.submit(ask, number) for number in range(4)]
            while served.ledger_rows() < 4:  # all were charged
                time.sleep(0.001)
            served.process.send_signal(signal.SIGTERM)
            signalled = time.monotonic()
            assert [each.result() for each in asked] == [(200, 10)] * 4
        assert served.process.wait(timeout=60) == 0
        if max(ended) > signalled:
            break
    assert max(ended) > signalled
    with pytest.raises(httpx.ConnectError):
        httpx.get(f"{served.address}/health")


def test_who_leaves_before_the_request_is_whole_is_no_failure_of_the_service(served):
    head = f"POST /v1/sanitize HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {served.key}\r\n"
    with socket.create_connection(("127.0.0.1", served.port)) as raw:
        raw.sendall(f"{head}content-type: application/json\r\ncontent-length: 99\r\n\r\n{{".encode())
    until = time.monotonic() + 20
    while "/v1/sanitize 400" not in served.log.read_text() and time.monotonic() < until:
        time.sleep(0.05)
    assert "/v1/sanitize 400" in served.log.read_text()
    assert "internal ClientDisconnect" not in served.log.read_text()


def test_errors_have_one_shape_and_all_answers_strict_headers(served):
    retry = {"json": {"text": "x"}, "headers": {"idempotency-key": "x"}}
    for path, sent in (
        ("/v1/sanitize", {"json": {"text": TEXT, TEXT: 1}}),
        ("/v1/sanitize", {"content": TEXT}),
        ("/v1/sanitize", {"json": {"text": TEXT, "setting": TEXT}}),
        ("/v1/hides-among", {"content": f'{{"words": [1{"0" * 400}]}}'}),
        ("/v1/hides-among", {"content": '{"words": NaN}'}),
        ("/v1/sanitize", {**retry, "headers": {"idempotency-key": "x" * 201}}),
        ("/v1/sanitize", {**retry, "headers": {**retry["headers"], "idempotency-nonce": "short"}}),
        ("/v1/sanitize", {**retry, "headers": {"idempotency-nonce": "x" * 20}}),
        ("/v1/sanitize", retry),
        ("/v1/sanitize", {"json": {"text": TEXT, "subject": TEXT}}),
        ("/v1/denoise", {"json": {"texts": ["Zzyzx"], "seal": "Zzyzx"}}),
        (f"/{TEXT}", {"json": {}}),
        ("/v1/sanitize", {"content": b"x" * 5_000_000}),
        ("/v1/sanitize", {"json": {"text": "x" * 200_000}}),
    ):
        answer = served.post(path, **sent)
        assert 400 <= answer.status_code < 500
        assert list(answer.json()) == ["error"]
        assert list(answer.json()["error"]) == ["code", "message", "account", "left"]
        assert not any(private in answer.text for private in ("Maria", "Zzyzx"))
        assert answer.headers["content-security-policy"].startswith("default-src 'none'")
        assert [answer.headers[f"{name}"] for name in ("x-content-type-options", "cache-control")] == [
            "nosniff",
            "no-store",
        ]
        assert "server" not in answer.headers
