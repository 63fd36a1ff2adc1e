from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator

import pytest

from sitelore.app.operations import checks as module
from sitelore.app.operations.checks import wait_for_services
from sitelore.app.settings import OperatorSettings
from sitelore.model.errors import BadConfig, StorageError

DATABASE, REDIS = {"database": "It does not answer."}, {"redis": "Redis cannot be used: refused."}
SOON, LATER = OperatorSettings(start_s=0.05), OperatorSettings(start_s=600.0)


@pytest.fixture(autouse=True)
def _short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_BACKOFF_S", (0.001, 0.002))


def answering(monkeypatch: pytest.MonkeyPatch, answers: Iterator[dict[str, str]]) -> None:
    async def unavailable_services(_settings: OperatorSettings) -> dict[str, str]:
        return next(answers)

    monkeypatch.setattr(module, "unavailable_services", unavailable_services)


async def test_an_unavailable_service_is_awaited_and_named_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    answering(monkeypatch, iter([DATABASE | REDIS, DATABASE, DATABASE, {}]))
    with caplog.at_level(logging.INFO, "sitelore"):
        assert await wait_for_services(LATER)
    messages = [record.getMessage() for record in caplog.records]
    assert messages[:2] == [
        "waiting for database: It does not answer.",
        "waiting for redis: Redis cannot be used: refused.",
    ]
    assert [line.partition(" after")[0] for line in messages[2:]] == ["all services are available"]


async def test_waiting_for_a_missing_database_ends_with_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    answering(monkeypatch, iter([DATABASE] * 1000))
    with pytest.raises(StorageError, match=r"It does not answer\."):
        await wait_for_services(SOON)


async def test_without_redis_work_begins_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    answering(monkeypatch, iter([REDIS] * 1000))
    assert await wait_for_services(SOON)


async def test_a_stop_request_ends_the_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    stop = asyncio.Event()

    def answers() -> Iterator[dict[str, str]]:
        yield DATABASE
        stop.set()
        yield DATABASE

    answering(monkeypatch, answers())
    assert not await wait_for_services(LATER, stop)


async def test_a_wrong_setting_fails_at_once() -> None:
    wrong = OperatorSettings(
        database_url="postgresql://127.0.0.1:1/none", redis_url="redis://127.0.0.1:1/0", blobs_url="ftp://no", start_s=600.0
    )
    with pytest.raises(BadConfig, match="SITELORE_BLOBS_URL"):
        await wait_for_services(wrong)
