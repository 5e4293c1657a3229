"""Odd requests with a canary in each, for what stands between a client and a vendor."""

import gzip
import json

from worlds import told

CANARY = "zqcan"
TOOL = {"type": "function", "function": {"name": "look_up", "description": "Looks a note up: public.",
        "parameters": {"type": "object", "properties": {"name": {"type": "string"}}}}}  # fmt: skip
SCHEMA = {"type": "json_schema", "json_schema": {"name": "note", "schema": {"type": "object"}}}


def call(**fields):
    function = {"name": "look_up", "arguments": "{}"}
    return {
        "messages": [
            {"role": "assistant", "tool_calls": [{"id": "1", "type": "function", "function": function, **fields}]}
        ]
    }


def odd_requests():
    """A hundred and more odd requests, a canary in each: (path, body, headers)."""
    names = told(__file__)
    chats, message = "/v1/chat/completions", {"role": "user", "content": f"{CANARY} 47 hello"}
    plain = {"model": "m", "messages": [message]}
    for name in names["request"]:
        for value in (CANARY, [CANARY], {CANARY: CANARY}, {"type": "json_object", CANARY: 1}):
            yield chats, {**plain, name: value}, {}
    for value in ([CANARY], {CANARY: CANARY}, f"{CANARY} and more"):
        yield chats, {**plain, "model": value}, {}
    for name in names["message"]:
        for value in (CANARY, [CANARY], {"a": CANARY}):
            yield chats, {"model": "m", "messages": [{"role": "assistant", "content": "hi", name: value}]}, {}
    for content in ([{"type": "image_url", "image_url": {"url": CANARY}}], [{"type": "text", "text": "a", CANARY: 1}],
                    [{"type": "input_audio", "input_audio": {"data": CANARY}}], [[CANARY]], {CANARY: 1}, 7,
                    [{"type": ["text"], "text": CANARY}], [{"type": "refusal"}], [{"type": "text", "text": 7}],
                    ):  # fmt: skip
        yield chats, {"model": "m", "messages": [{"role": "user", "content": content}]}, {}
    for role in ("tool", "function", CANARY, ["user"], None, "User", "ipython"):
        yield chats, {"model": "m", "messages": [{"role": role, "content": CANARY}]}, {}
    yield chats, gzip.compress(json.dumps(plain).encode()), {"content-encoding": "gzip"}
    yield chats, json.dumps(plain).encode("utf-16"), {}
    said = b'"messages":[{"role":"user","content":"zqcan"}]'
    for body in (b'{"model":"m",%b,"messages":[{"role":"user","content":"hi"}]}' % said,
                 b'{"model":"m","messages":[{"role":"user","content":"zqcan","content":"hi"}]}',
                 b'{"model":"m","messages":[{"role":"user","content":"zqcan \xff"}]}',
                 b'{"model":"m","messages":[{"role":"user","content":"zqcan \\ud800"}]}',
                 b'{"model":"m","temperature":NaN,%b}' % said, b'{"model":"m","seed":%b,%b}' % (b"9" * 5000, said),
                 b'{"a":' * 100_000, b"[" * 100_000, b"", b"{", b"\xff", b'"zqcan"', b"null", b'{"messages": 1}',
                 b'{"messages": ["zqcan"]}'):  # fmt: skip
        yield chats, body, {}
    for path in names["addresses"]:
        yield f"/v1/{path}", {**plain, "input": CANARY}, {}
    yield "/V1/chat/completions", plain, {}
    yield f"{chats}?{CANARY}={CANARY}", plain, {}
    marked = dict.fromkeys(names["headers"], CANARY)
    yield chats, {"model": "m", "messages": [{"role": "user", "content": "hi"}]}, marked
    yield chats, plain, {"host": "evil.example"}
    yield chats, plain, {"content-type": "text/plain"}
