from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator

import pytest

from sitelore.app import checks as module
from sitelore.app.checks import wait_for_services
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


async def test_what_is_away_is_waited_for_and_named_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    answering(monkeypatch, iter([DATABASE | REDIS, DATABASE, DATABASE, {}]))
    with caplog.at_level(logging.INFO, "sitelore"):
        assert await wait_for_services(LATER)
    said = [record.getMessage() for record in caplog.records]
    assert said[:2] == [
        "waiting for database: It does not answer.",
        "waiting for redis: Redis cannot be used: refused.",
    ]
    assert [line.partition(" after")[0] for line in said[2:]] == ["all services are available"]


async def test_without_a_database_waiting_ends_with_its_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    answering(monkeypatch, iter([DATABASE] * 1000))
    with pytest.raises(StorageError, match=r"It does not answer\."):
        await wait_for_services(SOON)


async def test_without_redis_work_begins_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    answering(monkeypatch, iter([REDIS] * 1000))
    assert await wait_for_services(SOON)


async def test_who_is_told_to_stop_waits_no_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    stop = asyncio.Event()

    def answers() -> Iterator[dict[str, str]]:
        yield DATABASE
        stop.set()
        yield DATABASE

    answering(monkeypatch, answers())
    assert not await wait_for_services(LATER, stop)


async def test_a_wrong_setting_is_said_at_once() -> None:
    wrong = OperatorSettings(
        database_url="postgresql://127.0.0.1:1/none", redis_url="redis://127.0.0.1:1/0", blobs_url="ftp://no", start_s=600.0
    )
    with pytest.raises(BadConfig, match="SITELORE_BLOBS_URL"):
        await wait_for_services(wrong)
