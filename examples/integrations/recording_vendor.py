"""A vendor for the examples: it keeps all it gets, calls the first of its tools, or says the message back."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

HEARD: list[dict[str, Any]] = []
"""Every request's body."""
HEADERS: list[dict[str, str]] = []
"""Every request's headers."""


class Vendor(BaseHTTPRequestHandler):
    """Speaks chat completions, streamed or whole."""

    def do_POST(self) -> None:  # the name that http.server calls
        """Answer one request."""
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        HEARD.append(body)
        HEADERS.append(dict(self.headers))
        said = f"You said: {body['messages'][-1]['content']}"
        if body.get("tools") and body["messages"][-1]["role"] != "tool":
            called = {"name": body["tools"][0]["function"]["name"], "arguments": '{"case": "ID-00017"}'}
            calls = [{"index": 0, "id": "call-of-the-vendor", "type": "function", "function": called}]
            return self._send("application/json", json.dumps(_completion(message={"tool_calls": calls})).encode())
        if not body.get("stream"):
            return self._send("application/json", json.dumps(_completion(message={"content": said})).encode())
        pieces = [{"content": said[i : i + 3]} for i in range(0, len(said), 3)]
        chunks = [_completion("chat.completion.chunk", None, delta=piece) for piece in pieces]
        chunks.append(_completion("chat.completion.chunk", delta={}))
        lines = [f"data: {json.dumps(chunk)}\n\n" for chunk in chunks]
        return self._send("text/event-stream", "".join([*lines, "data: [DONE]\n\n"]).encode())

    def _send(self, kind: str, body: bytes) -> None:
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def _completion(kind: str = "chat.completion", finished: str | None = "stop", **said: Any) -> dict[str, Any]:
    for part in said.values():
        part.setdefault("role", "assistant")
    choice = {"index": 0, "finish_reason": finished, **said}
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    return {"id": "1", "object": kind, "created": 1, "model": "m", "choices": [choice], "usage": usage}


def start() -> str:
    """Listen on a free port of this machine; returns the address."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Vendor)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}/v1"
