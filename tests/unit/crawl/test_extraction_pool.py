import asyncio
import os
import signal
import sys
from dataclasses import replace

import pytest

from sitelore.crawl.extraction_pool import _READ_BYTES, ExtractionPool, _Process
from sitelore.crawl.extraction_process import READY
from sitelore.extract.page import read
from sitelore.model.document import ReadOptions
from sitelore.model.errors import ReaderCrashed, SiteloreError
from sitelore.model.response import Response
from sitelore.model.url import Url


def page(number: int, size: int = 0) -> Response:
    body = f"<title>Page {number}</title><main><p>text of page {number} {'word ' * size}</p><a href=/x{number}>x</a></main>"
    return Response(Url(f"http://a/{number}"), 200, (("content-type", "text/html; charset=utf-8"),), body.encode())


async def test_each_caller_gets_its_own_document() -> None:
    pool = ExtractionPool(2)
    try:
        readings = await asyncio.gather(*(pool.read(page(i, size=i * 500), ReadOptions()) for i in range(30)))
        assert [r.title for r in readings] == [f"Page {i}" for i in range(30)]
        assert [r.links for r in readings] == [(Url(f"http://a/x{i}"),) for i in range(30)]
    finally:
        await pool.close()


async def test_an_answer_of_many_reads_is_complete() -> None:
    links = "".join(
        [f"<a href=/{number * 7919:x}/{number * 104_729:x}>{number * 1_299_709:x}</a> " for number in range(10_000)]
    )
    response = replace(page(1), body=f"<title>Links</title><main>{links}</main>".encode())
    pool = ExtractionPool(1)
    try:
        reading, after = await asyncio.gather(pool.read(response, ReadOptions()), pool.read(page(2), ReadOptions()))
        assert reading == read(response, ReadOptions())
        assert reading.document is not None
        assert len(reading.document.data) > _READ_BYTES
        assert after.title == "Page 2"
    finally:
        await pool.close()


@pytest.mark.parametrize("piece_bytes", [1, 3, 5, 7, 1000])
async def test_answers_are_parsed_for_every_split_of_the_pipe(piece_bytes: int) -> None:
    answers = [b"one", b"", b"another", b"x" * 300, b"last"]
    stream = READY + b"".join([len(answer).to_bytes(4, "big") + answer for answer in answers])
    heard: list[bytes] = []

    def answered(answer: memoryview) -> bool:
        heard.append(bytes(answer))
        return False

    process = _Process(answered, time_limit_s=1)
    for at in range(0, len(stream), piece_bytes):
        process.pipe_data_received(1, stream[at : at + piece_bytes])
    assert await process.ready
    assert heard == answers


async def test_an_answer_is_complete_while_the_next_one_arrives() -> None:
    heard: list[memoryview] = []

    def answered(answer: memoryview) -> bool:
        heard.append(answer)
        return False

    process = _Process(answered, time_limit_s=1)
    for piece in (READY, b"\0\0", b"\0\3one\0\0\0\3t", b"wo", b"\0\0\0\5three"):
        process.pipe_data_received(1, piece)
    assert [bytes(answer) for answer in heard] == [b"one", b"two", b"three"]


async def test_a_process_is_sent_no_more_than_its_pipe_holds() -> None:
    pool = ExtractionPool(1)
    try:
        await pool.read(page(0), ReadOptions())
        worker = pool._workers[0]
        assert worker._process is not None
        os.kill(worker._process.pid, signal.SIGSTOP)
        small = [asyncio.create_task(pool.read(page(i), ReadOptions())) for i in range(20)]
        await asyncio.sleep(0)  # let every read reach the worker
        assert worker._sent == 8
        os.kill(worker._process.pid, signal.SIGCONT)
        await asyncio.gather(*small)
        assert (worker._sent, worker._sent_bytes) == (0, 0)
        os.kill(worker._process.pid, signal.SIGSTOP)
        large = [asyncio.create_task(pool.read(page(i, size=200_000), ReadOptions(keep_snapshot=False))) for i in range(3)]
        await asyncio.sleep(0)
        assert worker._sent == 2
        os.kill(worker._process.pid, signal.SIGCONT)
        assert [reading.title for reading in await asyncio.gather(*large)] == ["Page 0", "Page 1", "Page 2"]
    finally:
        await pool.close()


async def test_a_process_with_a_wrong_greeting_is_rejected() -> None:
    process = _Process(lambda _: False, time_limit_s=1)
    process.pipe_data_received(1, b"Usage: python")
    assert not await process.ready


async def test_a_reading_process_that_is_killed_costs_one_document() -> None:
    pool = ExtractionPool(1)
    try:
        await pool.read(page(0), ReadOptions())
        process = pool._workers[0]._process
        assert process is not None
        os.kill(process.pid, signal.SIGSTOP)
        reads = [asyncio.create_task(pool.read(page(i), ReadOptions())) for i in range(5)]
        await asyncio.sleep(0)  # let every read reach the worker
        os.kill(process.pid, signal.SIGKILL)
        results = await asyncio.gather(*reads, return_exceptions=True)
        assert isinstance(results[0], ReaderCrashed)
        assert [getattr(r, "title", None) for r in results[1:]] == [f"Page {i}" for i in range(1, 5)]
    finally:
        await pool.close()


async def test_a_document_that_outlasts_the_limit_is_given_up() -> None:
    pool = ExtractionPool(1, time_limit_s=20)
    try:
        await pool.read(page(0), ReadOptions())
        process = pool._workers[0]._process
        assert process is not None
        os.kill(process.pid, signal.SIGSTOP)
        process._time_limit_s = 0.05
        with pytest.raises(ReaderCrashed, match="longer than"):
            await pool.read(page(1), ReadOptions())
        assert (await pool.read(page(2), ReadOptions())).title == "Page 2"
    finally:
        await pool.close()


async def test_the_time_limit_of_a_document_in_the_pipe_starts_when_its_turn_comes() -> None:
    process = _Process(lambda _: True, time_limit_s=0.01)
    process.pipe_data_received(1, READY + b"\0\0\0\3one")
    assert await process.ended == "reading took longer than 0.01 s"


async def test_a_reading_process_that_ends_between_two_documents_costs_none() -> None:
    pool = ExtractionPool(1)
    try:
        await pool.read(page(0), ReadOptions())
        process = pool._workers[0]._process
        assert process is not None
        os.kill(process.pid, signal.SIGKILL)
        await process.ended
        assert (await pool.read(page(1), ReadOptions())).title == "Page 1"
    finally:
        await pool.close()


async def test_an_extraction_process_that_does_not_start_raises(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/bin/false")
    pool = ExtractionPool(1)
    try:
        with pytest.raises(SiteloreError, match="does not start"):
            await pool.read(page(0), ReadOptions())
    finally:
        await pool.close()


async def test_a_sitemap_is_read_too() -> None:
    pool = ExtractionPool(1)
    body = b"<urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'><url><loc>http://a/1</loc></url></urlset>"
    try:
        reading = await pool.read_sitemap(Response(Url("http://a/sitemap.xml"), 200, (("content-type", "text/xml"),), body))
        assert [entry.url for entry in reading.entries] == ["http://a/1"]
    finally:
        await pool.close()


async def test_closing_leaves_no_process_behind() -> None:
    pool = ExtractionPool(2)
    await asyncio.gather(*(pool.read(page(i), ReadOptions()) for i in range(4)))
    pids = [worker._process.pid for worker in pool._workers if worker._process]
    assert pids
    await pool.close()
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)
