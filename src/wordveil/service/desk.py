"""The desk: what waits at once is counted, charged and drawn together, in one thread and with one wait for the disk."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from wordveil.service.charges import Charged
from wordveil.service.messages import ReleaseAnswer
from wordveil.service.releasing import Asked, Counted, Releaser

__all__ = ["Desk"]

MOST = 256  # requests of one group
PATIENCE = 0.5  # of what the latest group took: so long a group waits for as many as came then
LONGEST_WAIT = 0.01  # seconds

A = TypeVar("A")
B = TypeVar("B")


@dataclass(frozen=True, kw_only=True)
class _Waiting:
    """A request, counted or not; one that was counted elsewhere is drawn elsewhere, and only charged here."""

    asked: Asked
    counted: Counted | None
    answer: asyncio.Future[Charged | ReleaseAnswer]


class Desk:
    """Releases and charges in groups: whoever comes while the disk writes waits for the next one.

    Args:
        releaser: Counts, charges and draws.
    """

    def __init__(self, releaser: Releaser) -> None:
        self._releaser = releaser
        self._waiting: list[_Waiting] = []
        self._came, self._took = 1, 0.0  # requests of the latest group, and the seconds it took
        self._serving: asyncio.Task[None] | None = None

    async def release(self, asked: Asked) -> ReleaseAnswer:
        """Release texts that are soon done."""
        answer = await self._join(asked, None)
        assert isinstance(answer, ReleaseAnswer)
        return answer

    async def charge(self, counted: Counted) -> Charged:
        """Charge a release that is counted and drawn elsewhere."""
        answer = await self._join(counted.asked, counted)
        assert isinstance(answer, Charged)
        return answer

    async def _join(self, asked: Asked, counted: Counted | None) -> Charged | ReleaseAnswer:
        answer: asyncio.Future[Charged | ReleaseAnswer] = asyncio.get_running_loop().create_future()
        self._waiting.append(_Waiting(asked=asked, counted=counted, answer=answer))
        if self._serving is None or self._serving.done():
            self._serving = asyncio.create_task(self._serve())
        return await answer

    async def _serve(self) -> None:
        loop = asyncio.get_running_loop()
        while self._waiting:
            latest = loop.time() + min(PATIENCE * self._took, LONGEST_WAIT)
            while len(self._waiting) < self._came and loop.time() < latest:
                await asyncio.sleep(min(PATIENCE * self._took, LONGEST_WAIT) / 8)
            self._came, began = min(len(self._waiting), MOST), loop.time()
            group, self._waiting = self._waiting[:MOST], self._waiting[MOST:]
            try:
                outcomes = await asyncio.to_thread(self._served, group)
            except Exception as error:  # noqa: BLE001 - raised where each of them waits
                outcomes = [error] * len(group)
            self._took = loop.time() - began
            for each, outcome in zip(group, outcomes, strict=True):
                if each.answer.cancelled():
                    continue  # nobody waits any more; the charge stands
                if isinstance(outcome, Exception):
                    each.answer.set_exception(outcome)
                else:
                    each.answer.set_result(outcome)

    def _served(self, group: list[_Waiting]) -> list[Charged | ReleaseAnswer | Exception]:
        """Count what is not, charge all, and only then draw what was counted here."""
        counts = iter(_each(self._releaser.count, [each.asked for each in group if each.counted is None]))
        counted = [each.counted or next(counts) for each in group]
        charges = [each.charge for each in counted if isinstance(each, Counted)]
        made = iter(self._releaser.ledger.charge_all(charges) if charges else [])
        charged = [next(made) if isinstance(each, Counted) else each for each in counted]
        paid = {
            place: (own, outcome)
            for place, (each, own, outcome) in enumerate(zip(group, counted, charged, strict=True))
            if each.counted is None and isinstance(own, Counted) and isinstance(outcome, Charged)
        }
        drawn = dict(zip(paid, _each(self._releaser.draw, [*paid.values()]), strict=True))
        return [drawn.get(place, outcome) for place, outcome in enumerate(charged)]


def _each(task: Callable[[Sequence[A]], Sequence[B]], given: Sequence[A]) -> list[B | Exception]:
    """Do a task for many at once; what fails for one of them fails for no other."""
    try:
        return [*task(given)] if given else []
    except Exception as error:  # noqa: BLE001 - raised where that one waits
        if len(given) == 1:
            return [error]
        half = len(given) // 2
        return [*_each(task, given[:half]), *_each(task, given[half:])]
