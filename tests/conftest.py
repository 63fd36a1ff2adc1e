"""Fixtures of all tests, the summary of skipped tests, and a check that no process or thread is left running."""

from __future__ import annotations

import logging
import os
import signal
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from scripts.servers import CannotStart, LocalServers

ROOT = Path(__file__).parents[1]
_OURS_BEFORE: set[int] = set()
# A server makes vectors whenever it has time, which tests of anything else would pay for; those that want them say so.
os.environ.setdefault("SITELORE_EMBEDDINGS", "none")


@pytest.fixture(autouse=True)
def logging_as_it_was() -> Iterator[None]:
    """A command that logs sets the whole process up for it; the next test must not find that."""
    loggers = [logging.getLogger(name) for name in ("", "sitelore")]
    before = [(logger.level, logger.handlers[:]) for logger in loggers]
    yield
    for logger, (level, handlers) in zip(loggers, before, strict=True):
        logger.setLevel(level)
        logger.handlers[:] = handlers


@pytest.fixture(scope="session")
def corpora() -> Path:
    """The folder of cases that nobody here wrote; tests that need it skip without it."""
    folder = Path(os.environ.get("SITELORE_CORPORA", str(ROOT.parent / "shared" / "corpora")))
    if not folder.is_dir():
        pytest.skip("the corpora are not on this machine (set SITELORE_CORPORA)")
    return folder


@pytest.fixture(scope="session")
def servers() -> Iterator[LocalServers]:
    """Postgres, Valkey and S3 of this session, started when first asked for and ended whatever happens."""
    try:
        local = LocalServers()
    except CannotStart as problem:
        pytest.skip(str(problem))
    # A test run that is told to stop must not leave servers behind; by default it would end without a word to anyone.
    before = signal.signal(signal.SIGTERM, lambda *_: pytest.exit("told to stop", 143))
    try:
        with local:
            yield local
    finally:
        signal.signal(signal.SIGTERM, before)


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "alone(reason): needs a quiet machine; `make test` runs it after everything else")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say how many tests were skipped and why, so that no part of the suite goes missing unseen."""
    reasons = Counter(
        str(report.longrepr[2]) for report in terminalreporter.stats.get("skipped", []) if isinstance(report.longrepr, tuple)
    )
    for reason, count in reasons.most_common():
        terminalreporter.write_line(f"skipped {count}: {reason.removeprefix('Skipped: ')}")


def pytest_sessionstart(session: pytest.Session) -> None:
    _OURS_BEFORE.update(child.pid for child in psutil.Process().children(recursive=True))


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """A test that leaves a process or a running thread behind fails the session: the next user's machine would pay for it."""
    children = [c for c in psutil.Process().children(recursive=True) if c.pid not in _OURS_BEFORE]
    _, alive = psutil.wait_procs(children, timeout=5)
    left = [f"process {c.pid}: {_line_of(c)}" for c in alive if "resource_tracker" not in _line_of(c)]
    left += [f"thread {t.name}" for t in threading.enumerate() if not t.daemon and t is not threading.main_thread()]
    if left:
        print("\nleft running by the tests:", *left, sep="\n  ")
        session.exitstatus = 1


def _line_of(process: psutil.Process) -> str:
    try:
        return " ".join(process.cmdline())
    except psutil.Error:
        return "ended"
