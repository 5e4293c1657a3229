"""Running the service: uvicorn without its own logs, which show addresses with all that is asked for in them."""

from __future__ import annotations

import asyncio
import signal
import sys
import time
from typing import Any

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from wordveil.service.ledger import Ledger

if sys.platform != "win32":
    import resource

_GRACE = 30  # seconds that requests have to end after a signal
_SWEEP = 600.0  # seconds between two looks for idempotency keys whose time is over


def run(app: Any, ledger: Ledger, *, host: str, port: int, retry_hours: float) -> None:
    """Serve until a signal ends it; requests that are on their way are answered first."""
    if sys.platform != "win32":  # as many connections as we may have: strangers' too are held for some seconds
        most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    config = uvicorn.Config(
        app,
        host=host,
        port=port,
        log_config=None,
        access_log=False,
        log_level="warning",
        server_header=False,
        lifespan="off",
        timeout_keep_alive=10,
        timeout_graceful_shutdown=_GRACE,
        http=Impatient,
        ws="none",
    )
    asyncio.run(_serve(uvicorn.Server(config), ledger, retry_hours))
    ledger.close()


async def _serve(server: uvicorn.Server, ledger: Ledger, retry_hours: float) -> None:
    loop = asyncio.get_running_loop()
    for ending in (signal.SIGINT, signal.SIGTERM):  # uvicorn raises them again when all is answered
        loop.add_signal_handler(ending, lambda: None)

    async def sweep() -> None:
        while True:
            await asyncio.to_thread(ledger.forget, time.time() - 3600 * retry_hours)
            await asyncio.sleep(_SWEEP)

    sweeping = asyncio.create_task(sweep())
    await server.serve()
    sweeping.cancel()


class Impatient(H11Protocol):  # type: ignore[misc, unused-ignore]
    """A connection that is closed if it does not ask for something whole in time, whatever it sends."""

    _head: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override, unused-ignore]
        super().connection_made(transport)
        self._await_head()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._await_head()

    def connection_lost(self, exc: Exception | None) -> None:
        if self._head is not None:
            self._head.cancel()
        super().connection_lost(exc)

    def _await_head(self) -> None:
        """Begin to wait for the head of a request; unlike uvicorn's own clock, no byte of it stops this one."""
        if self._head is not None:
            self._head.cancel()
        self._head = self.loop.call_later(self.timeout_keep_alive, self._waited)

    def _waited(self) -> None:
        if self.transport.is_closing():  # for what nobody reads
            self.transport.abort()
            return
        if self.cycle is None or self.cycle.response_complete:
            self.transport.close()
        self._await_head()
