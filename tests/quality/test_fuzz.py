"""Hostile generated documents: none raises, hangs, exceeds the memory limit, or reads differently the second time.

`make fuzz` reads 10,000 of them (`SITELORE_FUZZ_DOCUMENTS`); the tests a thousand.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import pytest
from tests.quality.fuzzing import Outcome, outcomes, peak_mb, prepare
from tests.support.corpora import CORPORA

DOCUMENTS = int(os.environ.get("SITELORE_FUZZ_DOCUMENTS", "1000"))
BATCH = 25
BATCH_TIME_S = 60
CPU_S = 1.0
CPU_S_PER_MB = 4.0
PEAK_MB = 400
KNOWN_PROBLEMS = ("", "content_type")


@pytest.fixture
def readers() -> Iterator[tuple[ProcessPoolExecutor, ProcessPoolExecutor]]:
    """Two processes: they hash strings differently and read the documents in different order."""
    corpus = CORPORA / "content" / "wcxb_dev.jsonl.xz"
    pages, spawn = corpus if corpus.exists() else None, get_context("spawn")
    pools = (
        ProcessPoolExecutor(1, spawn, initializer=prepare, initargs=(pages,)),
        ProcessPoolExecutor(1, spawn, initializer=prepare, initargs=(pages,)),
    )
    try:
        yield pools
    finally:
        for pool in pools:
            running = list((pool._processes or {}).values())
            pool.shutdown(wait=False, cancel_futures=True)
            for process in running:
                process.terminate()
                process.join(10)


@pytest.mark.timeout(0 if DOCUMENTS > 1000 else 400)
def test_no_document_raises_hangs_grows_too_large_or_reads_differently(
    readers: tuple[ProcessPoolExecutor, ProcessPoolExecutor],
) -> None:
    forwards, backwards = readers
    batches = [list(range(start, min(start + BATCH, DOCUMENTS))) for start in range(0, DOCUMENTS, BATCH)]
    pairs = [(forwards.submit(outcomes, batch), backwards.submit(outcomes, batch[::-1])) for batch in batches]
    wrong: list[str] = []
    slowest: Outcome | None = None
    for batch, (first_read, second_read) in zip(batches, pairs, strict=True):
        try:
            first, second = first_read.result(BATCH_TIME_S), second_read.result(BATCH_TIME_S)[::-1]
        except (TimeoutError, RuntimeError) as problem:  # a broken pool is a RuntimeError
            pytest.fail(f"a document of {batch[0]} to {batch[-1]} hung or ended its process: {type(problem).__name__}")
        for outcome, again in zip(first, second, strict=True):
            wrong += problems(outcome, again)
            slowest = outcome if slowest is None or outcome.cpu_s > slowest.cpu_s else slowest
    peak = max(forwards.submit(peak_mb).result(60), backwards.submit(peak_mb).result(60))
    print(f"{DOCUMENTS} documents, peak {peak:.0f} MB, slowest {slowest}")
    assert wrong == [], "\n".join(wrong)
    assert peak < PEAK_MB


def problems(outcome: Outcome, again: Outcome) -> list[str]:
    """All problems of reading a document."""
    name = f"document {outcome.seed} ({outcome.kind}, {outcome.size} bytes)"
    wrong = []
    if outcome.error:
        wrong.append(f"{name} raises:\n{outcome.error}")
    elif outcome.digest != again.digest:
        wrong.append(f"{name} reads differently in another process")
    if outcome.problem.partition(":")[0] not in KNOWN_PROBLEMS:
        wrong.append(f"{name}: {outcome.problem}")
    limit = CPU_S + CPU_S_PER_MB * outcome.size / 1e6
    # A busy machine can slow down one of the two processes; a slow document is slow in both.
    if min(outcome.cpu_s, again.cpu_s) > limit:
        wrong.append(f"{name} takes {outcome.cpu_s:.1f} s of CPU, more than {limit:.1f}")
    return wrong


def test_a_seed_always_gives_the_same_document() -> None:
    from tests.quality.documents import generate

    real = ["<html><body><p>real</p></body></html>"]
    assert [generate(seed, real) for seed in range(50)] == [generate(seed, real) for seed in range(50)]
    assert len({generate(seed, real).kind for seed in range(300)}) == 16
