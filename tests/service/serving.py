"""The service as a team runs it: the command, in a process of its own, with all that it writes kept."""

import contextlib
import socket
import sqlite3
import subprocess
import time
from pathlib import Path

import httpx
from tests.cli.conftest import PROGRAM


class RefusedError(Exception):
    """What the service answered in the place of what it was asked for."""

    def __init__(self, status, error):
        self.status, self.error = status, error
        super().__init__(f"{error['message']} ({error['account']} has {error['left']} nats left)")


class Served:
    """A running service; `url` is its ledger's, "" for the embedded one."""

    def __init__(self, place, *options, url=""):
        self.place = Path(place)
        self.state = options[options.index("--state") + 1] if "--state" in options else "state"
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.url = url or f"sqlite:///{self.place / self.state / 'ledger.db'}"
        self.address = f"http://127.0.0.1:{self.port}"
        self.options = [*options, *(["--database", url] if url else [])]
        self.log = self.place / "log"
        self.start()
        self.key = (self.place / self.state / "first-key").read_text().strip()

    def start(self):
        command = [*PROGRAM, "serve", "--debug-log", "--port", str(self.port), *self.options]
        if "--state" not in self.options:
            command += ["--state", str(self.place / self.state)]
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log, cwd=self.place)
        for _ in range(600):
            try:
                if httpx.get(f"{self.address}/ready").status_code == 200:
                    return
            except httpx.TransportError:
                assert self.process.poll() is None, self.log.read_text()
            time.sleep(0.1)
        raise AssertionError("the service did not start")

    def ledger_rows(self):
        """Return how many releases the embedded ledger has."""
        database = sqlite3.connect(self.place / self.state / "ledger.db")
        with contextlib.closing(database):
            return database.execute("SELECT count(*) FROM releases").fetchone()[0]

    @property
    def headers(self):
        return {"authorization": f"Bearer {self.key}"}

    def post(self, path, **more):
        return httpx.post(f"{self.address}{path}", headers=self.headers | more.pop("headers", {}), timeout=60, **more)

    def ask(self, path, body=None, *, key="", retry=None, nonce="0123456789abcdef"):
        """Return what is answered, or raise what it is refused for."""
        headers = {"authorization": f"Bearer {key or self.key}"}
        headers |= {"idempotency-key": retry, "idempotency-nonce": nonce} if retry else {}
        method = "GET" if body is None else "POST"
        answer = httpx.request(method, f"{self.address}{path}", json=body, headers=headers, timeout=60)
        if answer.status_code != httpx.codes.OK:
            raise RefusedError(answer.status_code, answer.json()["error"])
        return answer.json()

    def sanitize(self, text, *, key="", retry=None, nonce="0123456789abcdef", **how):
        """Return the release of a text, or of a list of them."""
        path, name = ("/v1/sanitize", "text") if isinstance(text, str) else ("/v1/sanitize/batch", "texts")
        return self.ask(path, {name: text, **how}, key=key, retry=retry, nonce=nonce)

    def end(self):
        self.process.terminate()
        self.process.wait(timeout=40)
