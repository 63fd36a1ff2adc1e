"""Runs the command line: in this process, which is faster, or in a new one with standard input."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from subprocess import CompletedProcess

from sitelore.cli.main import main

COMMAND = (sys.executable, "-m", "sitelore")


def sitelore(*arguments: str | Path) -> CompletedProcess[str]:
    """Run `sitelore` with these arguments; fail when it prints a traceback."""
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in "oe")
    words = [str(argument) for argument in arguments]
    with redirect_stdout(out), redirect_stderr(err):
        code = main(words)
    done = CompletedProcess(words, code, *(stream.buffer.getvalue().decode() for stream in (out, err)))
    assert "Traceback" not in done.stderr, done.stderr
    return done


def piped(*arguments: str | Path, stdin: str | None = None) -> CompletedProcess[str]:
    """Run the command in a new process."""
    done = subprocess.run(
        [*COMMAND, *map(str, arguments)],
        capture_output=True,
        text=True,
        input=stdin,
        timeout=60,
        check=False,
        env=environment(),
    )
    assert "Traceback" not in done.stderr, done.stderr
    return done


def environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith("SITELORE_")} | {"PYTHONUTF8": "1"}


def error_line(done: CompletedProcess[str]) -> str:
    """The error message, which must be the only line on stderr."""
    [line] = done.stderr.splitlines()
    assert line.startswith("sitelore: ")
    return line.removeprefix("sitelore: ")
