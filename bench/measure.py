"""Runs a command and measures CPU and memory of its whole process tree.

CPU time is taken twice and the larger figure counts: `wait4` (the child and every descendant it waited for) and a sum over
the tree sampled from `/proc` (which also sees a descendant that its parent does not wait for). Memory is PSS from
`/proc/PID/smaps_rollup`, summed over the tree: pages that processes share are counted once.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

TICKS = os.sysconf("SC_CLK_TCK")
_PSS = re.compile(r"^Pss:\s+(\d+) kB", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Cost:
    """The cost of one run of a command."""

    cpu_s: float
    wall_s: float
    peak_pss_mb: float
    processes: int
    exit_code: int
    stdout: str
    stderr: str
    samples: tuple[tuple[float, float], ...] = ()
    """(seconds since the start, PSS in MB) of the tree."""


@dataclass(slots=True)
class _Watch:
    """Samples a process tree until `stop` is set."""

    root: int
    every_s: float
    started: float = field(default_factory=time.monotonic)
    stop: threading.Event = field(default_factory=threading.Event)
    cpu_by_pid: dict[int, float] = field(default_factory=dict)
    samples: list[tuple[float, float]] = field(default_factory=list)

    def watch(self) -> None:
        while not self.stop.is_set():
            pss_kb = 0
            for pid in tree_of(self.root):
                pss_kb += _pss_kb(pid)
                self.cpu_by_pid[pid] = max(self.cpu_by_pid.get(pid, 0.0), _own_cpu_s(pid))
            if pss_kb:
                self.samples.append((time.monotonic() - self.started, pss_kb / 1024))
            self.stop.wait(self.every_s)


def tree_of(root: int) -> list[int]:
    """The process and all its descendants, by the parent links in /proc."""
    children: dict[int, list[int]] = {}
    for entry in os.scandir("/proc"):
        if entry.name.isdigit():
            parent = _parent(int(entry.name))
            if parent is not None:
                children.setdefault(parent, []).append(int(entry.name))
    tree, todo = [], [root]
    while todo:
        pid = todo.pop()
        tree.append(pid)
        todo.extend(children.get(pid, ()))
    return tree


def _stat(pid: int) -> list[str] | None:
    """Fields of /proc/PID/stat after the command name, which may itself hold spaces and brackets."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None


def _parent(pid: int) -> int | None:
    fields = _stat(pid)
    return int(fields[1]) if fields else None


def _own_cpu_s(pid: int) -> float:
    fields = _stat(pid)
    return (int(fields[11]) + int(fields[12])) / TICKS if fields else 0.0


def tree_cpu_s(root: int) -> float:
    """CPU of a process, its descendants, and those of them that have ended and were waited for."""
    return sum(sum(map(int, fields[11:15])) / TICKS for pid in tree_of(root) if (fields := _stat(pid)))


def tree_run_s(root: int) -> float:
    """CPU of a process and its living descendants from the scheduler's statistics, which are finer than a clock tick."""
    nanoseconds = 0
    for pid in tree_of(root):
        try:
            nanoseconds += int(Path(f"/proc/{pid}/schedstat").read_text().split()[0])
        except (OSError, IndexError):
            continue
    return nanoseconds / 1e9


def pss_mb(pid: int) -> float:
    """Memory of one process."""
    return _pss_kb(pid) / 1024


def _pss_kb(pid: int) -> int:
    try:
        match = _PSS.search(Path(f"/proc/{pid}/smaps_rollup").read_text())
    except OSError:
        return 0
    return int(match[1]) if match else 0


def run_measured(
    command: Sequence[str], cwd: Path, env: Mapping[str, str] | None = None, every_s: float = 0.25, time_limit_s: float = 900
) -> Cost:
    """Run a command to its end and measure it. Its output is returned, so that the caller can check it."""
    out, err = cwd / ".stdout", cwd / ".stderr"
    started = time.monotonic()
    with out.open("w") as stdout, err.open("w") as stderr:
        child = subprocess.Popen(
            list(command), cwd=cwd, env=dict(env) if env is not None else None, stdout=stdout, stderr=stderr, text=True
        )
        watch = _Watch(child.pid, every_s)
        thread = threading.Thread(target=watch.watch, daemon=True)
        thread.start()
        limit = threading.Timer(time_limit_s, child.kill)
        limit.start()
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        wall = time.monotonic() - started
        limit.cancel()
        watch.stop.set()
        thread.join()
    waited = usage.ru_utime + usage.ru_stime
    sampled = sum(watch.cpu_by_pid.values())
    return Cost(
        cpu_s=max(waited, sampled),
        wall_s=wall,
        peak_pss_mb=max((mb for _, mb in watch.samples), default=0.0),
        processes=len(watch.cpu_by_pid),
        exit_code=child.returncode,
        stdout=out.read_text(),
        stderr=err.read_text(),
        samples=tuple(watch.samples),
    )


def ensure(ok: bool, sentence: str) -> None:
    """Exit with this message when a run is incomplete: its figures would be wrong."""
    if not ok:
        sys.exit(f"bench: {sentence}")
