"""The desk: what waits at once is counted, charged and drawn together, in one thread and with one wait for the disk."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import TypeVar

from wordveil.service.charges import Charged
from wordveil.service.messages import ReleaseAnswer
from wordveil.service.releasing import Asked, Counted, Releaser

_MOST = 256  # requests of one group
_PATIENCE = 0.5  # of what the latest group took: so long a group waits for as many as came then
_LONGEST_WAIT = 0.01  # seconds

A = TypeVar("A")
B = TypeVar("B")


class Desk:
    """Releases short texts in groups: whoever comes while the disk writes waits for the next one."""

    def __init__(self, releaser: Releaser) -> None:
        self._releaser = releaser
        self._waiting: list[tuple[Asked, asyncio.Future[ReleaseAnswer]]] = []
        self._came, self._took = 1, 0.0  # requests of the latest group, and the seconds it took
        self._serving: asyncio.Task[None] | None = None

    async def release(self, asked: Asked) -> ReleaseAnswer:
        """Release texts that are soon done."""
        answer: asyncio.Future[ReleaseAnswer] = asyncio.get_running_loop().create_future()
        self._waiting.append((asked, answer))
        if self._serving is None or self._serving.done():
            self._serving = asyncio.create_task(self._serve())
        return await answer

    async def _serve(self) -> None:
        loop = asyncio.get_running_loop()
        while self._waiting:
            latest = loop.time() + min(_PATIENCE * self._took, _LONGEST_WAIT)
            while len(self._waiting) < self._came and loop.time() < latest:
                await asyncio.sleep(min(_PATIENCE * self._took, _LONGEST_WAIT) / 8)
            self._came, began = min(len(self._waiting), _MOST), loop.time()
            group, self._waiting = self._waiting[:_MOST], self._waiting[_MOST:]
            try:
                outcomes = await asyncio.to_thread(self._served, [asked for asked, _ in group])
            except Exception as error:  # noqa: BLE001 - raised where each of them waits
                outcomes = [error] * len(group)
            self._took = loop.time() - began
            for (_, answer), outcome in zip(group, outcomes, strict=True):
                if answer.cancelled():
                    continue  # nobody waits any more; the charge stands
                if isinstance(outcome, Exception):
                    answer.set_exception(outcome)
                else:
                    answer.set_result(outcome)

    def _served(self, group: Sequence[Asked]) -> list[ReleaseAnswer | Exception]:
        """Count all, charge what could be counted, and only then draw what is paid for."""
        counts = _each(self._releaser.count, group)
        counted = [each for each in counts if isinstance(each, Counted)]
        charged = self._releaser.ledger.charge_all([each.charge for each in counted]) if counted else []
        paid = [(own, each) for own, each in zip(counted, charged, strict=True) if isinstance(each, Charged)]
        drawn = iter(_each(self._releaser.draw, paid))
        answers = iter([each if isinstance(each, Exception) else next(drawn) for each in charged])
        return [each if isinstance(each, Exception) else next(answers) for each in counts]


def _each(task: Callable[[Sequence[A]], Sequence[B]], given: Sequence[A]) -> list[B | Exception]:
    """Do a task for many at once; what fails for one of them fails for no other."""
    try:
        return [*task(given)] if given else []
    except Exception as error:  # noqa: BLE001 - raised where that one waits
        if len(given) == 1:
            return [error]
        half = len(given) // 2
        return [*_each(task, given[:half]), *_each(task, given[half:])]
