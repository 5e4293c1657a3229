"""Running the service: uvicorn without its own logs, which show addresses with all that is asked for in them."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator
from typing import Any

import uvicorn

from wordveil.service.ledger import Ledger

__all__ = ["run"]

GRACE = 30  # seconds that requests have to end after a signal
SWEEP = 600.0  # seconds between two looks for idempotency keys whose time is over


def run(app: Any, ledger: Ledger, *, host: str, port: int, retry_hours: float) -> None:
    """Serve until a signal ends it; requests that are on their way are answered first."""
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
        timeout_graceful_shutdown=GRACE,
        limit_concurrency=1000,
    )
    asyncio.run(_serve(uvicorn.Server(config), ledger, retry_hours))
    ledger.close()


async def _serve(server: uvicorn.Server, ledger: Ledger, retry_hours: float) -> None:
    async with _sweeping(ledger, retry_hours):
        await server.serve()


@contextlib.asynccontextmanager
async def _sweeping(ledger: Ledger, retry_hours: float) -> AsyncIterator[None]:
    async def sweep() -> None:
        while True:
            await asyncio.to_thread(ledger.forget, time.time() - 3600 * retry_hours)
            await asyncio.sleep(SWEEP)

    task = asyncio.create_task(sweep())
    yield
    task.cancel()
