"""Many visits, one transaction. Visits hand their settlements in; they are written together, blobs first.

A batch is written when half of what may be pending has come together, when a short window has passed, or at once when no other
visit is under way that could still join it: a chain of single pages must not pay the window on every page. What a `kill -9`
loses is what was in flight plus what is pending. A transaction costs more than a page in it does, hence the window.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from sitelore.model.frontier import Settlement
from sitelore.ports import Blobs, Clock, Ledger

PENDING = 64
_BATCH = PENDING // 2  # the next batch may come together while one is written
_WINDOW_S = 0.4


class Settler:
    """Writes settlements; tells who hands them in what became of them."""

    def __init__(self, ledger: Ledger, blobs: Blobs, clock: Clock, written: Callable[[Settlement, bool], None]) -> None:
        self._ledger = ledger
        self._blobs = blobs
        self._clock = clock
        self._on_settled = written
        self._waiting: list[Settlement] = []
        self._wake = asyncio.Event()
        self._hurry = asyncio.Event()
        self._writing = 0

    @property
    def pending(self) -> int:
        """Settlements that are not yet durable."""
        return len(self._waiting) + self._writing

    @property
    def is_full(self) -> bool:
        """Whether visits should wait: the more is not durable yet, the more a crash would cost."""
        return self.pending >= PENDING

    def add(self, settlement: Settlement) -> None:
        """Take a settlement in; it is durable once `written` was called with it."""
        self._waiting.append(Settlement(settlement.lease, settlement.verdict, settlement.effects, self._clock()))
        self._wake.set()
        if len(self._waiting) >= _BATCH:
            self._hurry.set()

    def hurry(self) -> None:
        """Nothing more will come soon: write what there is."""
        self._hurry.set()

    async def write_forever(self) -> None:
        """The writing loop; cancelled when the worker is done and nothing is pending."""
        while True:
            await self._wake.wait()
            if not self._hurry.is_set():
                try:
                    async with asyncio.timeout(_WINDOW_S):
                        await self._hurry.wait()
                except TimeoutError:
                    pass
            batch, self._waiting = self._waiting[:PENDING], self._waiting[PENDING:]
            if not self._waiting:
                self._wake.clear()
                self._hurry.clear()
            if batch:
                await self._write(batch)

    async def _write(self, batch: list[Settlement]) -> None:
        self._writing = len(batch)
        blobs = {blob.key: blob for settlement in batch for blob in settlement.effects.blobs}
        if blobs:
            await self._blobs.put(list(blobs.values()))
        accepted = await self._ledger.settle(batch)
        self._writing = 0
        for settlement, taken in zip(batch, accepted, strict=True):
            self._on_settled(settlement, taken)
