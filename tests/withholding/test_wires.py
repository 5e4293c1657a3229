"""Every wire gives what the redactor gives, and equal bytes for texts that agree in what is shown."""

import asyncio
import importlib
import json
from collections import Counter
from copy import copy

import pytest
from tests.integrations.test_tables import LIBRARIES
from tests.tables import write_rows
from tests.withholding.swapping import GERMAN, swapped, wire_texts

import seeds
import wordveil as wv
from wordveil.documents import DocumentSettings
from wordveil.documents.base import FormatDetails
from wordveil.errors import ParameterError, TooLittleKeptError, WordveilError
from wordveil.files.secret import Secret
from wordveil.integrations.conversation import Conversation, Message

FEW = [
    "Please call Maria Garcia at 555-0147.", None, "", "The house of E. Smith is old.", "My PIN is 4711, not B12.",
    "I saw her on 3 May with 😀 and a caf\xe9.", "He went to https://x.example/y and home.", "We saw Maria and maria.",
]  # fmt: skip
REQUESTS = 20  # to a vendor, each of so many messages that enough of its words are kept
MANY = wire_texts()
TEXTS = FEW + MANY[0]
OTHER = [None if text is None else swapped(text, wv.Redactor(), seeds.rng(21)) for text in FEW] + MANY[1]
RELEASED = [None if text is None else wv.Redactor().release(text, Counter()) for text in TEXTS]
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


def test_the_texts_differ_and_their_releases_do_not():
    assert sum(one != other for one, other in zip(TEXTS, OTHER, strict=True)) > 350
    assert [None if text is None else wv.Redactor().release(text, Counter()) for text in OTHER] == RELEASED


def table_of(library, texts, redactor=None):
    """The released column, and the promise."""
    module = pytest.importorskip(library, reason=f"needs {library}")
    name, make, read = LIBRARIES[library]
    sanitize = importlib.import_module(f"wordveil.integrations.{name}").sanitize
    rows = {"text": texts, "id": [*range(len(texts))]}
    release = sanitize(make(module, rows), ["text"], redactor or wv.Redactor(), drop_others=True)
    return read(release.table)["text"], release


@pytest.mark.parametrize("library", LIBRARIES)
def test_every_table_gives_what_the_redactor_gives(library):
    texts, release = table_of(library, TEXTS)
    assert texts == table_of(library, OTHER)[0] == RELEASED
    assert release.guarantee == wv.Redactor().guarantee
    assert json.loads(release.as_json())["guarantee"]["promise"] == "withholding"
    assert set(wv.Redactor().disclosed) <= set(release.disclosed)


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_table_in_another_language_is_refused(library):
    with pytest.raises(TooLittleKeptError, match="another language"):
        table_of(library, [GERMAN])


@pytest.mark.parametrize("ending", ["jsonl", "jsonl.gz", "json", "csv", "tsv", "txt", "parquet", "tree"])
def test_every_file_gives_equal_bytes_for_texts_that_agree(tmp_path, ending):
    if ending == "parquet":
        pytest.importorskip("pyarrow")
    columns = () if ending == "txt" else ("text",)
    details = FormatDetails(quoting="minimal") if ending in ("csv", "tsv", "tree") else FormatDetails()
    settings = DocumentSettings(columns=columns, drop_others=bool(columns), details=details)
    outputs = []
    for name, texts in (("one", TEXTS), ("other", OTHER)):
        private, released = tmp_path / f"{name}.{ending}", tmp_path / f"{name}.out.{ending}"
        rows = [{"text": text or "", "id": n} for n, text in enumerate(texts)]
        rows = [row for row in rows if "\n" not in row["text"]] if ending == "txt" else rows
        if ending == "tree":
            for part in ("here.jsonl", "there/under.csv"):
                (private / part).parent.mkdir(parents=True, exist_ok=True)
                write_rows(private / part, rows)
        else:
            write_rows(private, rows)
        wv.redact_documents(private, released, wv.Redactor(), settings=settings)
        files = sorted(path for path in (*released.rglob("*"), released) if path.is_file())
        outputs.append([path.read_bytes() for path in files])
    assert outputs[0] == outputs[1]
    assert all(outputs[0])
    assert len(outputs[0]) == (2 if ending == "tree" else 1)
    assert ending.endswith("gz") or all(b"[name]" in output for output in outputs[0])


def test_tables_link_within_a_row_and_not_by_a_column():
    linked = wv.Redactor(link="document").release_rows([["Maria came.", None, "Maria left, Tom not."]])
    assert linked == [["[name-1] came.", None, "[name-1] left, [name-2] not."]]
    with pytest.raises(ParameterError, match="names a column"):
        wv.Redactor(link="who").release_rows([["Maria came."]])


def test_surrogates_of_a_row_are_those_of_its_id_and_key():
    def drawn(texts, ids, part=""):
        return wv.Redactor(law="surrogate", source=seeds.source(22)).release_rows([[text] for text in texts], ids, part)

    names = [f"so {name} went" for name in ("Maria", "Tom", "Zq", "Anna", "Bob", "Eve", "Kim", "Lee") * 8]
    ids = [str(n) for n in range(len(names))]
    assert drawn(names, ids) == drawn(names[::-1], ids)
    assert drawn(names, ids) == drawn(names[::-1], ids[::-1])[::-1]
    assert drawn(names, ids) != drawn(names, ids, "other columns")
    one = wv.Redactor(law="surrogate")
    assert copy(one).source is not one.source


def spoken(redactor, texts, **how):
    return Conversation(redactor, **how).release([Message("user", text) for text in texts if text is not None])


def test_a_conversation_gives_what_the_redactor_gives():
    assert (
        spoken(wv.Redactor(), TEXTS) == spoken(wv.Redactor(), OTHER) == [text for text in RELEASED if text is not None]
    )
    talk = Conversation(wv.Redactor(rule=wv.Rule(strict=True)), public=["Maria says."])
    assert talk.release([Message("system", "Maria says.")]) == ["Maria says."]
    assert talk.of("me").release([Message("user", "Doctors saw Maria.")]) == ["[name] saw [name]."]
    assert "withholding" in talk.guarantee.sentence()
    assert talk.found("[name] came.") == []
    secret = Secret(bytes(32))
    names = [f"so {name} went" for name in ("Maria", "Tom", "Zq", "Anna", "Bob", "Eve", "Kim", "Lee") * 2]
    made_up = [spoken(wv.Redactor(law="surrogate"), names, secret=secret, owner=owner) for owner in ("me", "me", "you")]
    assert made_up[0] == made_up[1] != made_up[2]
    with pytest.raises(TooLittleKeptError):
        talk.release([Message("user", GERMAN)])


def test_a_vendor_behind_the_proxy_hears_equal_bytes_for_texts_that_agree():
    for needed in ("starlette", "httpx"):
        pytest.importorskip(needed, reason="needs the extra proxy")
    import httpx
    from tests.integrations import vendors

    from wordveil.integrations.proxy import Proxy

    token = "a-token-of-the-tests-0123"

    async def heard(texts):
        vendor = vendors.Vendor(lambda _: vendors.whole("yes"))
        app = Proxy(
            conversation=Conversation(wv.Redactor()), transport=vendor, upstream="http://vendor.test/v1/", token=token
        ).app()
        head = {"authorization": f"Bearer {token}", "content-type": "application/json"}
        transport = httpx.ASGITransport(app=app)
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1", headers=head) as client:
            for low in range(REQUESTS):
                messages = [{"role": "user", "content": text} for text in texts[low::REQUESTS]]
                answer = await client.post("/v1/chat/completions", json={"model": "m", "messages": messages})
                assert answer.status_code == 200, answer.text
        return [body for *_, body in vendor.heard]

    one, other = (asyncio.run(heard([text for text in texts if text])) for texts in (TEXTS, OTHER))
    assert one == other
    contents = [[message["content"] for message in json.loads(body)["messages"]] for body in one]
    assert contents == [[text for text in RELEASED if text][low::REQUESTS] for low in range(REQUESTS)]


def opened(state, settings):
    for needed in ("fastapi", "sqlalchemy", "uvicorn"):
        pytest.importorskip(needed, reason="needs the extra serve")
    from wordveil.service.opening import Opening
    from wordveil.service.settings import settings_of

    return Opening(state=state, settings=settings_of(settings)).releaser()


@pytest.fixture
def releaser(tmp_path):
    return opened(tmp_path, ["readable=redact:common=8000,pack=clinic+bank", "tight=redact:strict=True"])


def answered(releaser, texts, setting, **named):
    from wordveil.service.access import Caller
    from wordveil.service.messages import BatchRequest
    from wordveil.service.releasing import Asked

    how = BatchRequest(texts=[text for text in texts if text is not None], setting=setting)
    return releaser.release(Asked(texts=how.texts, how=how, caller=Caller(id="nobody", scopes=frozenset()), **named))


def test_a_service_gives_what_the_redactor_gives(releaser):
    from wordveil.service.messages import DenoiseRequest, HidesRequest

    words = wv.PublicWords(common=8000, packs=("spoken", "clinic", "bank"))
    right = [wv.Redactor(words=words).release(text, Counter()) for text in TEXTS if text is not None]
    answer = answered(releaser, TEXTS, "readable")
    assert answer.texts == right
    assert answered(releaser, OTHER, "tight").texts == answered(releaser, TEXTS, "tight").texts
    assert (answer.cost, answer.left, answer.seal) == ("0", {}, "")
    assert answer.guarantee == wv.Redactor(words=words).guarantee.as_dict()
    told = {each["name"]: each for each in releaser.listed()}
    assert (told["readable"]["words"], told["readable"]["guarantee"]["promise"]) == (len(words), "withholding")
    among = releaser.hides_among(
        HidesRequest(words=["house", "maria", "7", "I", "Doctor", "Maria"], setting="readable")
    ).words
    shown = {"house": "house", "maria": "[word]", "7": "[number]", "I": "I", "Doctor": "Doctor", "Maria": "[name]"}
    assert among == {word: [(each, 1.0)] for word, each in shown.items()}
    with pytest.raises(ParameterError, match="nothing to read"):
        releaser.denoised(DenoiseRequest(texts=right, seal="", setting="readable"))
    with pytest.raises(TooLittleKeptError):
        answered(releaser, [GERMAN], "readable")
    with pytest.raises(WordveilError, match="nothing is drawn or charged"):
        answered(releaser, TEXTS, "readable", retry="visit-17", nonce="n" * 16)


MISTAKEN = ["a=redact:sensitive=false", "a=redact:strict=no", "a=redact:pack=5", "a=redact:sensitive=1"]


@pytest.mark.parametrize("setting", ["a=redact:common=3000", "a=redact:pack=law", "a=redact:law=surrogate", *MISTAKEN])
def test_a_setting_that_does_not_exist_is_refused(tmp_path, setting):
    with pytest.raises(ParameterError):
        opened(tmp_path, [setting])
