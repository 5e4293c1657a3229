"""`wordveil proxy` between a client and a vendor, over real sockets. Needs `pip install 'wordveil[proxy]'`."""

from __future__ import annotations

import json
import os
import secrets
import socket
import subprocess
import sys
import time
from pathlib import Path

import httpx
import recording_vendor

NOTE = "Write to maria.lindqvist@clinic.se about case B-4711; she lives in Uppsala."


def main() -> None:
    """Start both, ask whole and streamed, show who got what."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    wordveil = Path(sys.executable).parent / "wordveil"
    vendor, token = recording_vendor.start(), secrets.token_urlsafe()
    command = [wordveil, "proxy", "--upstream", vendor, "--port", str(port), "--found", "--token-env", "PROXY_TOKEN"]
    running = subprocess.Popen(command, env={**os.environ, "PROXY_TOKEN": token})  # noqa: S603  # our own words
    try:
        key = {"authorization": f"Bearer {token}"}
        with httpx.Client(base_url=f"http://127.0.0.1:{port}/v1", headers=key, timeout=60) as client:
            wait_for(client)
            show(client)
    finally:
        running.terminate()
        running.wait()


def wait_for(client: httpx.Client) -> None:
    """Wait until the proxy answers."""
    for _ in range(120):
        try:
            client.get("/promise")
        except httpx.TransportError:
            time.sleep(0.25)
        else:
            return
    sys.exit("the proxy did not start")


def show(client: httpx.Client) -> None:
    """Ask, and compare."""
    body = {"model": "m", "messages": [{"role": "user", "content": NOTE}]}
    whole = client.post("/chat/completions", json=body).json()["choices"][0]["message"]["content"]
    with client.stream("POST", "/chat/completions", json={**body, "stream": True}) as answer:
        data = [line[6:] for line in answer.iter_lines() if line.startswith("data: {")]
    streamed = "".join(json.loads(each)["choices"][0]["delta"].get("content") or "" for each in data)
    print("vendor:", recording_vendor.HEARD[-1]["messages"][-1]["content"])
    print("whole: ", whole)
    print("stream:", streamed)
    for heard in recording_vendor.HEARD:
        assert all(private not in json.dumps(heard) for private in ("lindqvist", "B-4711", "Uppsala"))
    assert whole == streamed  # released alike, and passed on as the vendor wrote it
    found = client.post("/found", json={"messages": body["messages"], "reply": whole}).json()["found"]
    for place in found:
        print("places:", whole[place["start"] : place["end"]], "stands for", place["value"])
    assert [place["value"] for place in found] == ["maria.lindqvist@clinic.se", "B-4711"]
    refused = client.post("/chat/completions", json={**body, "tools": [{"type": "function"}]})
    print("refused:", refused.json()["error"]["message"])
    assert refused.status_code == httpx.codes.BAD_REQUEST
    assert len(recording_vendor.HEARD) == 2  # nothing of it was sent
    stranger = client.post("/chat/completions", json=body, headers={"authorization": "Bearer somebody's"})
    assert stranger.status_code == httpx.codes.UNAUTHORIZED


if __name__ == "__main__":
    main()
