"""The door: every command, and one sentence with an exit code for whatever ends it."""

from __future__ import annotations

import gc
import os
import sys
import traceback
from collections.abc import Sequence
from copy import copy
from typing import Annotated

import typer

from sitelore.cli.answers import explain, inspect
from sitelore.cli.crawl import crawl
from sitelore.cli.demo import demo
from sitelore.cli.doctor import doctor
from sitelore.cli.extract import extract
from sitelore.cli.mcp import mcp
from sitelore.cli.pipeline import pipeline
from sitelore.cli.reprocess import reprocess
from sitelore.cli.runs import compare, export, runs, show
from sitelore.cli.search import deletions, reindex, search
from sitelore.cli.serve import serve
from sitelore.cli.worker import worker
from sitelore.model.errors import Interrupted, SiteloreError, StorageError

_CTRL_C = 130  # how typer reports it

app = typer.Typer(
    name="sitelore",
    help="Turns websites into clean Markdown and a record of every URL.",
    epilog="Exit codes: 0 done, 1 failed, 2 usage, 3 disk, 11 interrupted (resumable), 15 time limit.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)
for command in (
    crawl, pipeline, search, extract, explain, inspect, runs, show, export, reprocess, reindex, deletions, compare, serve,
    worker, mcp, demo, doctor,
):  # fmt: skip
    app.command(no_args_is_help=False)(command)


def _version(asked: bool) -> None:
    if asked:
        from importlib.metadata import version

        typer.echo(f"sitelore {version('sitelore')}")
        raise typer.Exit


@app.callback()
def sitelore(
    version: Annotated[  # noqa: ARG001 answered by its callback
        bool, typer.Option("--version", help="Show the version and exit.", callback=_version, is_eager=True)
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Log to stderr, and show a traceback on errors.")] = False,
) -> None:
    """Turns websites into clean Markdown and a record of every URL."""
    if debug:
        from sitelore.cli.console import log_everything

        log_everything()


def run() -> None:
    """What the `sitelore` command calls."""
    gc.disable()  # imports make no garbage, and looking for it would cost a fifth of them; `running` turns it on for crawls
    sys.exit(main(sys.argv[1:]))


def main(arguments: Sequence[str]) -> int:
    """Run one command; the exit code is the answer."""
    try:
        code = _answer(arguments)
        sys.stdout.flush()
    except BrokenPipeError:
        # Whoever read our output has gone (`sitelore … | head`). Keep Python from complaining about it once more at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    return code


def _answer(arguments: Sequence[str]) -> int:
    try:
        code = _door_to(arguments)(args=list(arguments), prog_name="sitelore", standalone_mode=False)
    except BrokenPipeError:
        raise
    except (KeyboardInterrupt, typer.Abort):
        code = _CTRL_C
    except Exception as problem:  # noqa: BLE001 whatever goes wrong, a person gets a sentence
        debug = "--debug" in arguments
        if debug:
            traceback.print_exception(problem)
        return _complain(*_sentence(problem, debug=debug))
    if code == _CTRL_C:
        return _complain("stopped; `sitelore crawl --resume` continues", Interrupted.exit_code)
    return code if isinstance(code, int) else 0


def _door_to(arguments: Sequence[str]) -> typer.Typer:
    """The app with the one command that is asked for: working out the options of all would take longer than most commands."""
    name = arguments[0] if arguments else ""
    asked = [one for one in app.registered_commands if one.callback is not None and one.callback.__name__ == name]
    if not asked:
        return app
    door = copy(app)
    door.registered_commands = asked
    return door


def _sentence(problem: Exception, *, debug: bool) -> tuple[str, int]:
    """What to say about a problem, and the exit code."""
    if isinstance(problem, SiteloreError):
        return str(problem), problem.exit_code
    # Typer keeps the class of its usage errors private; they are known by what they can do.
    if (usage := getattr(problem, "format_message", None)) is not None:
        return usage().rstrip("."), getattr(problem, "exit_code", 2)
    if isinstance(problem, OSError):
        return f"{problem.filename or 'the system'}: {problem.strerror or problem}", StorageError.exit_code
    hint = "" if debug else "; run it again with --debug to see where"
    return f"this should not have happened: {type(problem).__name__}: {_first_line(problem)}{hint}", 1


def _complain(sentence: str, code: int) -> int:
    if sentence:
        from sitelore.extract.redaction.redactor import redact  # what was typed or answered may hold a secret

        sentence = redact(sentence)[0]
        sys.stderr.write(f"sitelore: {sentence}\n")
    return code


def _first_line(problem: Exception) -> str:
    return str(problem).partition("\n")[0][:300]
