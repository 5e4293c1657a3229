"""The proxy in front of LiteLLM's gateway and under LangChain's `ChatOpenAI`: who hears a canary, in whatever field."""

import asyncio
import contextlib
import json
import os
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import leak_free
import pytest

for needed in ("starlette", "uvicorn", "httpx"):
    pytest.importorskip(needed, reason="the proxy needs the extra proxy")

import httpx
import recording_vendor
import uvicorn
from odd_requests import CANARY, SCHEMA, TOOL, odd_requests

from wordveil.integrations.chat import PublicTools
from wordveil.integrations.conversation import Conversation
from wordveil.integrations.proxy import Proxy
from worlds import told

TOLD = told(__file__)

TOKEN = "a-token-of-the-tests-0123"
IMAGE = [{"type": "image_url", "image_url": {"url": f"https://x.example/{CANARY}"}}]


def free_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


@contextlib.contextmanager
def proxy(upstream, **settings):
    """A proxy to a vendor; yields its address."""
    conversation, port = Conversation(leak_free.sanitizer()), free_port()
    served = Proxy(conversation=conversation, upstream=upstream, token=TOKEN, **settings)
    server = uvicorn.Server(uvicorn.Config(served.app(), port=port, log_level="critical"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    try:
        while not server.started:
            time.sleep(0.02)
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        server.should_exit = True
        thread.join()


@pytest.fixture
def vendor():
    recording_vendor.HEARD.clear()
    recording_vendor.HEADERS.clear()
    return recording_vendor.start()


def check_heard(least):
    assert len(recording_vendor.HEARD) >= least
    assert CANARY not in json.dumps([recording_vendor.HEARD, recording_vendor.HEADERS])
    for body in recording_vendor.HEARD:
        for message in body["messages"]:
            content = message.get("content") or ""
            for text in [content] if isinstance(content, str) else [part["text"] for part in content]:
                leak_free.check_release(text.removeprefix("You said: "))


CONFIG = TOLD["settings"]
LOGGER = TOLD["logger"]


@contextlib.contextmanager
def litellm_gateway(folder, vendor):
    """LiteLLM's gateway, with a logger that writes all it is told to `all.log`, and a cache; yields its address."""
    (folder / "config.yaml").write_text(CONFIG.format(vendor=vendor), encoding="utf-8")
    (folder / "logger.py").write_text(LOGGER, encoding="utf-8")
    command, port = Path(sys.executable).parent / "litellm", str(free_port())
    offline = {**os.environ, "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
    with (folder / "out.log").open("wb") as out:
        options = ["--config", "config.yaml", "--port", port, "--host", "127.0.0.1"]
        running = subprocess.Popen([command, *options], env=offline, cwd=folder, stdout=out, stderr=subprocess.STDOUT)
        try:
            until = time.monotonic() + 180
            while not answers(f"http://127.0.0.1:{port}/health/liveliness"):
                assert running.poll() is None, "the gateway ended"
                assert time.monotonic() < until, "the gateway did not start"
                time.sleep(0.5)
            yield f"http://127.0.0.1:{port}/v1"
        finally:
            running.terminate()
            running.wait()


def answers(url):
    with contextlib.suppress(httpx.TransportError):
        return httpx.get(url).status_code == httpx.codes.OK


@pytest.mark.slow
def test_in_front_of_litellm_neither_vendor_nor_logger_nor_cache_hears_a_canary(vendor, tmp_path):
    pytest.importorskip("litellm", reason="needs litellm[proxy]")
    openai = pytest.importorskip("openai", reason="needs openai")
    with litellm_gateway(tmp_path, vendor) as gateway:
        with proxy(gateway, api_key="sk-local", tools=PublicTools([TOOL, SCHEMA])) as address:
            key = {"authorization": f"Bearer {TOKEN}", "content-type": "application/json"}
            for path, body, headers in odd_requests():
                content = body if isinstance(body, bytes) else json.dumps(body)
                httpx.post(address.removesuffix("/v1") + path, content=content, headers={**key, **headers}, timeout=60)
            client = openai.OpenAI(base_url=address, api_key=TOKEN, default_headers={"x-note": CANARY})
            asked = {"model": "m", "messages": [{"role": "user", "content": f"Uppsala {CANARY}"}]}
            said = client.chat.completions.create(**asked)
            streamed = client.chat.completions.create(**asked, stream=True)
            pieces = [chunk.choices[0].delta.content or "" for chunk in streamed if chunk.choices]
        straight = {"model": "m", "messages": [{"role": "user", "content": "zqraw"}]}
        httpx.post(f"{gateway}/chat/completions", json=straight, headers={"authorization": "Bearer sk-local"})
        time.sleep(3)  # it logs after it has answered
    leak_free.check_release(said.choices[0].message.content.removeprefix("You said: "))
    assert "".join(pieces) == said.choices[0].message.content, "drawn alike"
    assert recording_vendor.HEARD.pop() == {**straight, "model": "m"}
    check_heard(5)
    logged = (tmp_path / "all.log").read_text()
    assert "zqraw" in logged, "the log hears what does not go through the proxy"
    for log in (logged, (tmp_path / "out.log").read_text()):
        assert CANARY not in log


@pytest.mark.filterwarnings("ignore")  # theirs
def test_under_langchain_the_vendor_hears_no_canary_whatever_the_model_is_told(vendor):
    langchain_openai = pytest.importorskip("langchain_openai", reason="needs langchain-openai")
    from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
    from openai import BadRequestError

    history = [SystemMessage([{"type": "text", "text": f"{CANARY} 47"}]), HumanMessage(CANARY, name=CANARY, id=CANARY)]
    with proxy(vendor, tools=PublicTools([TOOL, SCHEMA])) as address:

        def model(**settings):
            return langchain_openai.ChatOpenAI(base_url=address, api_key=TOKEN, model="m", max_retries=0, **settings)

        plain = model(extra_body={"user": CANARY, "metadata": {CANARY: CANARY}}, default_headers={"x-note": CANARY})
        plain.invoke(history, config={"metadata": {"a": CANARY}, "tags": [CANARY]})
        asyncio.run(plain.ainvoke(history))
        said = "".join(chunk.content for chunk in plain.stream(history))
        assert said.startswith("You said: ")
        plain.invoke([*history, AIMessage(said), HumanMessage(CANARY)])
        assert recording_vendor.HEARD[-1]["messages"][2]["content"] == said, "goes back as the vendor wrote it"
        plain.bind(response_format=SCHEMA).invoke(history)
        assert recording_vendor.HEARD[-1]["response_format"] == SCHEMA
        with_tools = plain.bind_tools([TOOL])
        called = with_tools.invoke(history)
        assert called.tool_calls[0]["args"] == {"case": "ID-00017"}
        result = ToolMessage(CANARY, tool_call_id=called.tool_calls[0]["id"])
        with_tools.invoke([*history, called, result])
        *_, answered, told = recording_vendor.HEARD[-1]["messages"]
        assert answered["tool_calls"][0]["function"]["arguments"] == '{"case": "ID-00017"}'
        assert answered["tool_calls"][0]["id"] == told["tool_call_id"]
        edited = AIMessage("", tool_calls=[{"name": "look_up", "args": {"case": CANARY}, "id": CANARY}])
        with_tools.invoke([*history, edited, ToolMessage(CANARY, tool_call_id=CANARY)])
        heard = len(recording_vendor.HEARD)
        undeclared = {**TOOL, "function": {**TOOL["function"], "description": CANARY}}
        for refused in (plain.bind(stop=[CANARY]), plain.bind_tools([undeclared]), model(logit_bias={17: 1})):
            with pytest.raises(BadRequestError, match="nothing was sent") as caught:
                refused.invoke(history)
            assert CANARY not in str(caught.value)
        with pytest.raises(BadRequestError, match="nothing was sent"):
            plain.invoke([HumanMessage(IMAGE)])
        assert len(recording_vendor.HEARD) == heard
    check_heard(6)
