"""Background work of a process is started again after an error."""

from __future__ import annotations

import asyncio
import logging

import pytest

from sitelore.background import keep_running


async def test_background_work_that_fails_is_logged_and_started_again(caplog: pytest.LogCaptureFixture) -> None:
    starts = 0

    async def work() -> None:
        nonlocal starts
        starts += 1
        if starts < 4:
            raise OSError("too many open files")

    with caplog.at_level(logging.ERROR, "sitelore"):
        await keep_running("maintenance", work, backoff_s=0.001)
    assert starts == 4
    pauses = [(vars(record)["work"], vars(record)["after_s"]) for record in caplog.records]
    assert pauses == [("maintenance", 0.001), ("maintenance", 0.002), ("maintenance", 0.004)]
    assert all(record.exc_info for record in caplog.records)


async def test_background_work_ends_when_it_is_cancelled() -> None:
    started = asyncio.Event()

    async def work() -> None:
        started.set()
        await asyncio.Event().wait()

    task = asyncio.create_task(keep_running("maintenance", work))
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
