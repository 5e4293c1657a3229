"""Measures the service beside a bare FastAPI echo on loopback: requests a second, p50, p99, and memory.

    python -m wordveil_lab.timing.service [--seconds 6] [--clients 1 --clients 16] [--requests 100000] [--url URL]

Each runs in a process of its own and all are asked in short turns by the same clients, another process. Ratios say more
than figures, and are medians of those of neighbouring turns: whatever else the machine does hits both. A second echo
writes one page of 4 kB a request to the service's disk and waits until it lies there, as whatever may not forget an
answer has to. "busy" is the time of a processor that one request takes. --folder says where the ledger lies, which is
the disk unless it is /dev/shm.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Annotated

import httpx
import numpy as np
import typer

TEXT = "Maria was diagnosed with depression in March."
ECHO = """
import os, sys, uvicorn
from fastapi import FastAPI
from wordveil.service.messages import TextRequest
app = FastAPI()
kept = os.open(sys.argv[2], os.O_CREAT | os.O_WRONLY | os.O_APPEND) if len(sys.argv) > 2 else None
@app.post("/v1/sanitize")
async def echo(asked: TextRequest) -> dict[str, str]:
    if kept is not None:
        os.write(kept, bytes(4096))
        os.fdatasync(kept)
    return {"text": asked.text}
uvicorn.run(app, port=int(sys.argv[1]), log_config=None, access_log=False, lifespan="off")
"""
SERVE = "from wordveil.cli.main import main; main()"
TURN = 0.5  # seconds


class Client(asyncio.Protocol):
    """One connection that asks again as soon as it is answered."""

    def __init__(self, request: bytes, until: float, left: list[int], seconds: list[float]) -> None:
        self.request, self.until, self.left, self.seconds = request, until, left, seconds
        self.ended, self.received, self.length = asyncio.get_running_loop().create_future(), b"", -1

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport
        self.ask()

    def ask(self) -> None:
        """Ask once more, or end."""
        self.began = time.perf_counter()
        if self.began > self.until or self.left[0] <= 0:
            self.ended.set_result(None)
            self.transport.close()
            return
        self.left[0] -= 1
        self.transport.write(self.request)  # type: ignore[attr-defined]

    def data_received(self, data: bytes) -> None:
        self.received += data
        head, found, body = self.received.partition(b"\r\n\r\n")
        if found and len(body) >= int(re.search(rb"(?i)content-length: (\d+)", head)[1]):  # type: ignore[index]
            if not head.startswith(b"HTTP/1.1 200"):
                raise SystemExit(f"answered {head[:20]!r} {body[:200]!r}")
            self.seconds.append(time.perf_counter() - self.began)
            self.received = b""
            self.ask()


async def ask(port: int, headers: str, clients: int, seconds: float, requests: int) -> list[float]:
    """Return the seconds of every answer."""
    body = json.dumps({"text": TEXT}).encode()
    request = f"POST /v1/sanitize HTTP/1.1\r\nhost: x\r\n{headers}content-type: application/json\r\n"
    whole = f"{request}content-length: {len(body)}\r\n\r\n".encode() + body
    found: list[float] = []
    left, until, loop = [requests], time.perf_counter() + seconds, asyncio.get_running_loop()
    made = [
        await loop.create_connection(lambda: Client(whole, until, left, found), "127.0.0.1", port)
        for _ in range(clients)
    ]
    await asyncio.gather(*(client.ended for _, client in made))
    return found


def start(*command: str, path: str) -> subprocess.Popen[bytes]:
    """Start a server; return it once it answers."""
    log = Path(tempfile.mkstemp()[1])
    process = subprocess.Popen([sys.executable, "-c", *command], stdout=log.open("wb"), stderr=subprocess.STDOUT)
    for _ in range(600):
        try:
            httpx.get(path)
            return process
        except httpx.TransportError:
            time.sleep(0.1)
    raise SystemExit(log.read_text())


def free_port() -> int:
    """Return a port that nobody listens on."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def resident(process: subprocess.Popen[bytes]) -> float:
    """Return the memory that a process holds, in MB."""
    pages = int(Path(f"/proc/{process.pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def worked(process: subprocess.Popen[bytes]) -> float:
    """Return the seconds that a process has kept a processor busy."""
    fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")


def turns(
    servers: dict[str, tuple[subprocess.Popen[bytes], int, str]], clients: int, seconds: float
) -> dict[str, tuple[list[float], list[float], float]]:
    """Ask all servers by turns; return of each its rates, the seconds of all answers, and its work for one, in ms."""
    rates: dict[str, list[float]] = {name: [] for name in servers}
    times: dict[str, list[float]] = {name: [] for name in servers}
    busy = dict.fromkeys(servers, 0.0)
    for turn in range(1 + round(seconds / TURN)):
        for name, (process, port, headers) in servers.items():
            began, before = time.perf_counter(), worked(process)
            found = asyncio.run(ask(port, headers, clients, TURN, 10**9))
            if turn:  # the first warms
                busy[name] += worked(process) - before
                rates[name].append(len(found) / (time.perf_counter() - began))
                times[name] += found
    return {name: (rates[name], times[name], 1e3 * busy[name] / len(times[name])) for name in servers}


def main(
    clients: Annotated[list[int] | None, typer.Option()] = None,
    seconds: float = 6.0,
    requests: int = 100_000,
    url: str = "",
    folder: str | None = None,
) -> None:
    """Measure and print a table."""
    ports, state = [free_port() for _ in range(3)], tempfile.mkdtemp(dir=folder)
    echo = start(ECHO, str(ports[0]), path=f"http://127.0.0.1:{ports[0]}/openapi.json")
    writing = start(ECHO, str(ports[1]), f"{state}/written", path=f"http://127.0.0.1:{ports[1]}/openapi.json")
    options = ["--rate", "1000000", "--key-budget", "9000000000", "--state", state, "--port", str(ports[2])]
    options += ["--database", url] if url else []
    service = start(SERVE, "serve", *options, path=f"http://127.0.0.1:{ports[2]}/ready")
    key = (Path(state) / "first-key").read_text().strip()
    servers = {"echo": (echo, ports[0], ""), "service": (service, ports[2], f"authorization: Bearer {key}\r\n")}
    servers["writing echo"] = (writing, ports[1], "")
    print("| clients | server | requests/s | p50 ms | p99 ms | busy ms | rate to the echo's |\n" + "|---" * 7 + "|")
    for count in clients or (1, 16, 64):
        found = turns(servers, count, seconds)
        for name, (rates, times, busy) in found.items():
            ratios = np.divide(rates, found["echo"][0])
            low, middle, high = np.percentile(ratios, (25, 50, 75))
            p50, p99 = 1e3 * np.percentile(times, (50, 99))
            cells = f"{count} | {name} | {np.median(rates):.0f} | {p50:.1f} | {p99:.1f} | {busy:.2f}"
            print(f"| {cells} | {middle:.2f} ({low:.2f} to {high:.2f}) |", flush=True)
    if requests:
        before = resident(service)
        asyncio.run(ask(*servers["service"][1:], 16, 1e9, requests))
        print(f"memory: {before:.0f} MB before {requests} requests, {resident(service):.0f} MB after")
    for process, _, _ in servers.values():
        process.terminate()
        process.wait()


if __name__ == "__main__":
    typer.run(main)
