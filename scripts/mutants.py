"""Seeds faults into the source, one at a time, and checks that the tests notice them: `make mutants`.

    python -m scripts.mutants [--only NAME …] [--list] [--workers N]

`tests/mutants/` has the faults. Each one is applied to a copy of the tree in a temporary directory, and the test files that
should notice it run there until the first failure; the working tree is never changed. Before that, all these files run once
without any fault: a test that fails by itself proves nothing. A mutant that makes a test hang is killed by the time limit,
if that test passes within it without the mutant.

Exit codes: 0 when at least 95 % of the mutants are killed, 1 when fewer are, 2 when the tests fail without any mutant or
cannot be run, or are too slow on this machine.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import queue
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from scripts.servers import CannotStart, postgres_alone
from tests.mutants import audit, crawl, fetch, frontier, media, platform, store
from tests.mutants.mutant import Mutant

MUTANTS = tuple(mutant for package in (frontier, crawl, store, fetch, platform, audit, media) for mutant in package.MUTANTS)
ROOT = Path(__file__).resolve().parents[1]
PACKAGE = Path("src") / "sitelore"
MIN_KILLED = 0.95
TEST_LIMIT_S = 40
"""Time limit of one test. The slowest selected test takes a few seconds."""
MUTANT_LIMIT_S = 150
"""Time limit of all tests of a mutant, for a process that does not even end after the time limit of a test."""
_BASELINE_LIMIT_S = 900
_STOP_LIMIT_S = 15
_COPIED = ("src", "tests", "scripts", "pyproject.toml", "hatch_build.py", "README.md")
_PLUGINS = ("asyncio", "timeout")
"""The plugins that the tests need. The others that are installed take four times as long to load as most mutants to kill."""
_PYTEST = ("-m", "pytest", "-x", "-p", "no:cacheprovider", "--tb=line", "-o", f"timeout={TEST_LIMIT_S}")
_FAILED_TEST = re.compile(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", re.MULTILINE)
_TIMED_OUT = re.compile(r"Timeout \(?>")


class Outcome(Enum):
    """What the tests say to a mutant."""

    KILLED = "killed"
    TIME_LIMIT = "killed by the time limit"
    SURVIVED = "survived"
    NOT_RUN = "not run"
    """The tests could not be collected, or are too slow without the mutant too: this proves nothing."""


_PASSED = Outcome.SURVIVED
"""The outcome of tests that pass without a mutant."""


@dataclass(frozen=True, slots=True)
class Result:
    """The outcome for one mutant, and the first test that failed."""

    mutant: Mutant
    outcome: Outcome
    test: str
    seconds: float

    @property
    def is_killed(self) -> bool:
        return self.outcome in {Outcome.KILLED, Outcome.TIME_LIMIT}


class Copy:
    """A copy of the tree in which mutants are applied one after the other."""

    def __init__(self, directory: Path, environment: dict[str, str]) -> None:
        self._directory = directory
        self._environment = {
            **os.environ,
            **environment,
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
            "SITELORE_CORPORA": os.environ.get("SITELORE_CORPORA", str(ROOT.parent / "shared" / "corpora")),
            "PYTHONDONTWRITEBYTECODE": "1",
            "PYTHONPATH": str(directory / "src"),
        }
        for name in _COPIED:
            source, target = ROOT / name, directory / name
            if source.is_dir():
                shutil.copytree(source, target)
            else:
                shutil.copy2(source, target)

    def run(self, mutant: Mutant) -> Result:
        """Apply a mutant, run its tests, and restore the module."""
        module = self._directory / PACKAGE / mutant.module
        source = module.read_text(encoding="utf-8")
        module.write_text(mutate(mutant, source), encoding="utf-8")
        # A compiled file is taken for current when size and second of its source match, so a mutant could be overlooked.
        for compiled in (module.parent / "__pycache__").glob(f"{module.stem}.*.pyc"):
            compiled.unlink()
        started = time.monotonic()
        try:
            outcome, test = self.test(mutant.tests, MUTANT_LIMIT_S)
        finally:
            module.write_text(source, encoding="utf-8")
        if (
            outcome is Outcome.TIME_LIMIT
            and self.test([test] if "::" in test else mutant.tests, MUTANT_LIMIT_S)[0] is not _PASSED
        ):
            outcome = Outcome.NOT_RUN  # the machine is too slow, not the mutant
        return Result(mutant, outcome, test, time.monotonic() - started)

    def test(self, tests: Sequence[str], limit_s: float) -> tuple[Outcome, str]:
        """Run test files until the first failure; gives the outcome and the test that failed."""
        code, output = self._pytest(tests, limit_s)
        if code is None:
            return Outcome.TIME_LIMIT, f"no end within {limit_s:g} s"
        if code == 0:
            return Outcome.SURVIVED, ""
        failed = _FAILED_TEST.search(output)
        if code != 1:
            return Outcome.NOT_RUN, output[-2000:]
        if failed is None:
            return Outcome.KILLED, "the check for processes and threads left running"
        return Outcome.TIME_LIMIT if _TIMED_OUT.search(output) else Outcome.KILLED, failed[1]

    def _pytest(self, tests: Sequence[str], limit_s: float) -> tuple[int | None, str]:
        """Exit code and output; None for a process that had to be killed."""
        plugins = [argument for plugin in _PLUGINS for argument in ("-p", plugin)]
        command = [sys.executable, *_PYTEST, *plugins, *tests]
        process = subprocess.Popen(
            command,
            cwd=self._directory,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,
        )
        try:
            output, _ = process.communicate(timeout=limit_s)
        except subprocess.TimeoutExpired:
            # The test session ends the servers it started when it gets SIGTERM; what is left of its group is killed.
            process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.communicate(timeout=_STOP_LIMIT_S)
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            return None, ""
        return process.returncode, output


def mutate(mutant: Mutant, source: str) -> str:
    """The source with the mutant's fault. Raises ValueError unless its snippet occurs exactly once."""
    if source.count(mutant.old) != 1:
        raise ValueError(f"{mutant.name}: its snippet occurs {source.count(mutant.old)} times in {mutant.module}, not once")
    return source.replace(mutant.old, mutant.new)


def main() -> int:
    options = _parse_options()
    by_name = {mutant.name: mutant for mutant in MUTANTS}
    if unknown := sorted(set(options.only) - by_name.keys()):
        print(f"unknown mutant: {', '.join(unknown)} (--list shows all)", file=sys.stderr)
        return 2
    mutants = [by_name[name] for name in options.only] or list(MUTANTS)
    if options.list:
        for mutant in mutants:
            print(f"{mutant.name:40} {mutant.module:32} {mutant.fault}")
        return 0
    with contextlib.ExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="sitelore-mutants-")))
        environment = stack.enter_context(_postgres())
        copies = [Copy(directory / str(number), environment) for number in range(options.workers)]
        problem = _check_baseline(copies, mutants)
        if problem:
            print(f"the tests fail without any mutant: {problem}", file=sys.stderr)
            return 2
        return _report(_run_all(copies, mutants))


def _parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Seed faults into a copy of the source and check that the tests notice them.")
    parser.add_argument("--only", metavar="NAME", action="append", default=[], help="run this mutant; may be repeated")
    parser.add_argument("--list", action="store_true", help="list the mutants and run nothing")
    parser.add_argument("--workers", type=int, default=2, help="how many mutants are tested at once (default 2)")
    return parser.parse_args()


@contextlib.contextmanager
def _postgres() -> Iterator[dict[str, str]]:
    """The environment that names one Postgres for all test sessions. Each session has databases of its own there."""
    with contextlib.ExitStack() as stack:
        try:
            postgres = stack.enter_context(postgres_alone())
        except CannotStart as problem:
            print(f"tests on Postgres are skipped, and mutants that only they notice survive: {problem}")
            yield {}
        else:
            yield {"SITELORE_TEST_DATABASE_URL": postgres.url}


def _check_baseline(copies: Sequence[Copy], mutants: Sequence[Mutant]) -> str:
    """Run all selected test files without a mutant; gives the test that failed, nothing when all pass."""
    files = sorted({file for mutant in mutants for file in mutant.tests})
    started = time.monotonic()
    with ThreadPoolExecutor(len(copies)) as threads:
        parts = [files[number :: len(copies)] for number in range(len(copies))]
        runs = [threads.submit(copy.test, part, _BASELINE_LIMIT_S) for copy, part in zip(copies, parts, strict=True) if part]
        results = [run.result() for run in runs]
    print(f"{len(files)} test files pass without a mutant ({time.monotonic() - started:.0f} s)", flush=True)
    return ", ".join(test for outcome, test in results if outcome is not _PASSED)


def _run_all(copies: Sequence[Copy], mutants: Sequence[Mutant]) -> list[Result]:
    free: queue.SimpleQueue[Copy] = queue.SimpleQueue()
    for copy in copies:
        free.put(copy)

    def run(mutant: Mutant) -> Result:
        copy = free.get()
        try:
            result = copy.run(mutant)
        finally:
            free.put(copy)
        print(f"{result.seconds:5.1f} s  {mutant.name}: {result.outcome.value} {result.test}".rstrip(), flush=True)
        return result

    with ThreadPoolExecutor(len(copies)) as threads:
        return list(threads.map(run, mutants))


def _report(results: Sequence[Result]) -> int:
    print(f"\n{'package':10} {'mutants':>8} {'killed':>8}")
    packages = sorted({result.mutant.module.partition("/")[0] for result in results})
    for package in packages:
        of_package = [result for result in results if result.mutant.module.startswith(f"{package}/")]
        print(f"{package:10} {len(of_package):8} {sum(result.is_killed for result in of_package):8}")
    killed = sum(result.is_killed for result in results)
    by_limit = sum(result.outcome is Outcome.TIME_LIMIT for result in results)
    share = killed / len(results)
    print(f"{'all':10} {len(results):8} {killed:8}   {share:.1%}, {by_limit} of them by the time limit")
    for result in results:
        if not result.is_killed:
            print(
                f"\n{result.mutant.name} {result.outcome.value}: {result.mutant.fault}"
                f"\n  {result.mutant.module}\n  {result.test}"
            )
    if any(result.outcome is Outcome.NOT_RUN for result in results):
        return 2
    return 0 if share >= MIN_KILLED else 1


if __name__ == "__main__":
    sys.exit(main())
