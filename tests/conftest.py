"""Fixtures of all tests, the summary of skipped tests, and a check that no process or thread is left running."""

from __future__ import annotations

import logging
import os
import shutil
import signal
import subprocess
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from scripts.servers import CannotStart, LocalServers
from tests.support.corpora import ABSENT

ROOT = Path(__file__).parents[1]
_CHILDREN_BEFORE: set[int] = set()
# An idle server computes embeddings, which slows down all other tests; tests that need embeddings enable them.
os.environ.setdefault("SITELORE_EMBEDDINGS", "none")


@pytest.fixture(autouse=True)
def restored_logging() -> Iterator[None]:
    """Restore the loggers after each test: a command that logs configures the whole process."""
    loggers = [logging.getLogger(name) for name in ("", "sitelore")]
    before = [(logger.level, logger.handlers[:]) for logger in loggers]
    yield
    for logger, (level, handlers) in zip(loggers, before, strict=True):
        logger.setLevel(level)
        logger.handlers[:] = handlers


@pytest.fixture(scope="session")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A self-signed certificate for 127.0.0.1, and its key."""
    return _make_certificate(tmp_path_factory.mktemp("tls"))


@pytest.fixture(scope="session")
def other_certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Another self-signed certificate for 127.0.0.1, and its key."""
    return _make_certificate(tmp_path_factory.mktemp("tls"))


def _make_certificate(folder: Path) -> tuple[Path, Path]:
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("there is no openssl command on this machine")
    crt, key = folder / "a.crt", folder / "a.key"
    subprocess.run(
        [openssl, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", crt, "-days", "2",
         "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"],
        check=True,
        capture_output=True,
    )  # fmt: skip
    return crt, key


@pytest.fixture(scope="session")
def servers() -> Iterator[LocalServers]:
    """Postgres, Valkey and S3 of this session, started on first use and always stopped at the end."""
    try:
        local = LocalServers()
    except CannotStart as problem:
        pytest.skip(str(problem))
    # By default SIGTERM ends the test run at once, and the servers would keep running.
    before = signal.signal(signal.SIGTERM, lambda *_: pytest.exit("received SIGTERM", 143))
    try:
        with local:
            yield local
    finally:
        signal.signal(signal.SIGTERM, before)


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "alone(reason): needs a quiet machine; `make test` runs it after everything else")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print how many tests were skipped and why, so that skipped parts of the suite are noticed."""
    reasons = Counter(
        str(report.longrepr[2]).removeprefix("Skipped: ")
        for report in terminalreporter.stats.get("skipped", [])
        if isinstance(report.longrepr, tuple)
    )
    absent = {reason: count for reason, count in reasons.items() if reason.startswith(ABSENT)}
    for reason, count in reasons.most_common():
        if reason not in absent:
            terminalreporter.write_line(f"{count} tests skipped: {reason}")
    if absent:
        names = ", ".join(sorted(reason.removeprefix(f"{ABSENT}: ") for reason in absent))
        terminalreporter.write_line(f"{sum(absent.values())} tests skipped: {ABSENT} ({names}; set SITELORE_CORPORA)")


def pytest_sessionstart(session: pytest.Session) -> None:
    _CHILDREN_BEFORE.update(child.pid for child in psutil.Process().children(recursive=True))


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Fail the session when a test left a process or a thread running."""
    children = [c for c in psutil.Process().children(recursive=True) if c.pid not in _CHILDREN_BEFORE]
    _, alive = psutil.wait_procs(children, timeout=5)
    left = [f"process {c.pid}: {_command_line(c)}" for c in alive if "resource_tracker" not in _command_line(c)]
    left += [f"thread {t.name}" for t in threading.enumerate() if not t.daemon and t is not threading.main_thread()]
    if left:
        print("\nleft running by the tests:", *left, sep="\n  ")
        session.exitstatus = 1


def _command_line(process: psutil.Process) -> str:
    try:
        return " ".join(process.cmdline())
    except psutil.Error:
        return "ended"
