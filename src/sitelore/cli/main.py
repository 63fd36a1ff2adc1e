"""Entry point of the `sitelore` command: finds the command, runs it, and prints errors as one line with an exit code."""

from __future__ import annotations

import gc
import os
import re
import signal
import sys
import traceback
from collections.abc import Iterable, Sequence
from importlib import import_module
from typing import Annotated, NamedTuple

import typer

from sitelore.cli.help import GroupedCommand, GroupedCommands
from sitelore.model.errors import Interrupted, SiteloreError, StorageError

_CTRL_C = 130  # how typer reports it
_PARSER_WORDING = (
    (re.compile(r" is not a valid int(?:eger)?(?: range)?$"), " is not a whole number"),
    (re.compile(r" is not a valid float(?: range)?$"), " is not a number"),
    (re.compile(r" is not in the range x>=(\S+)$"), r" is less than \1"),
    (re.compile(r" is not in the range (\S+)<=x<=(\S+)$"), r" is not between \1 and \2"),
    (re.compile(r"^No such option: (\S+) \(Possible options: ([^,]+)\)$"), r"no such option: \1; did you mean \2?"),
    (re.compile(r"^No such option: (\S+) \(Possible options: (.+)\)$"), r"no such option: \1; similar ones: \2"),
    (re.compile(r"^Got unexpected extra argument(?:\(s\)|s)? \((.+)\)$"), r"unexpected argument: \1"),
    (re.compile(r"^No such command '([^']*(?:://|\.)[^']*)'$"), r"no such command '\1'; did you mean `sitelore crawl \1`?"),
)
"""Messages of the parser, and what is printed instead."""


class _Command(NamedTuple):
    """Where a command is defined, and its line in `sitelore --help`: the first sentence of its docstring."""

    module: str
    summary: str


COMMANDS = {
    "crawl": _Command("crawl", "Crawl a site into Markdown files and a database."),
    "init": _Command("config", "Write a commented sitelore.toml."),
    "config": _Command("config", "Show the settings in force, and where each comes from."),
    "pipeline": _Command("crawl", "Re-crawl a known site, fully or incrementally."),
    "login": _Command("login", "Log in to a site and store the session for crawls."),
    "search": _Command("search", "Search the crawled pages."),
    "audit": _Command("audit", "Show what is wrong with a crawled site."),
    "insights": _Command("audit", "Show figures about a crawled site, from its latest audit."),
    "fix": _Command("fix", "Write patches that fix what an audit has found."),
    "extract": _Command("extract", "Convert HTML to Markdown, without network or state."),
    "explain": _Command("inspect", "Show why a URL was fetched or skipped."),
    "inspect": _Command("inspect", "Show what was extracted from a page, and what was cut."),
    "runs": _Command("runs", "List the runs in the data directory, newest first."),
    "show": _Command("runs", "Show the figures of a run, or a stored page at a date."),
    "export": _Command("runs", "Write a run to a file."),
    "delete": _Command("operations.delete", "Delete runs, or all data of a site."),
    "backup": _Command("operations.backup", "Back up the database and all blobs, during crawls too."),
    "restore": _Command("operations.backup", "Replace all stored data by a backup."),
    "retention": _Command("operations.backup", "Show or change how long data of a tenant is kept."),
    "reprocess": _Command("reprocess", "Extract a run's stored pages again, without requests."),
    "reindex": _Command("search", "Update the search index and build embeddings."),
    "deletions": _Command("search", "Review mass deletions that were held back."),
    "changes": _Command("changes", "Show what is new, changed, gone or moved on a site."),
    "compare": _Command("runs", "Compare two runs or exports."),
    "serve": _Command("operations.serve", "Serve the dashboard and the HTTP API, and run their crawls."),
    "worker": _Command("operations.serve", "Work on queued runs, together with other workers."),
    "mcp": _Command("operations.mcp", "Serve search and pages to language models over MCP."),
    "demo": _Command("demo", "Crawl a small bundled site on this machine."),
    "doctor": _Command("operations.doctor", "Check the installation."),
    "tenant": _Command("operations.accounts", "Create, list, suspend and delete tenants."),
    "token": _Command("operations.accounts", "Create, list, rotate and revoke API tokens."),
    "webhooks": _Command("operations.webhooks", "Manage webhooks: receivers of events about crawls."),
    "repository": _Command("operations.repository", "Connect the repository of a site, for draft pull requests."),
}


def run() -> None:
    """The `sitelore` command."""
    gc.disable()  # imports create no garbage, and looking for it takes a fifth of their time; long commands enable it again
    sys.exit(main(sys.argv[1:]))


def main(arguments: Sequence[str]) -> int:
    """Run one command and return the exit code."""
    try:
        code = _run_command(arguments)
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader of our output has gone (`sitelore … | head`). Python would report it again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    return code


def parser(names: Iterable[str]) -> typer.Typer:
    """The command line with these commands; their modules are imported."""
    app = _empty_parser()
    for name in names:
        module = import_module(f"sitelore.cli.commands.{COMMANDS[name].module}")
        command = getattr(module, name)
        if isinstance(command, typer.Typer):
            app.add_typer(command, name=name)
        else:
            app.command(name, cls=GroupedCommand, no_args_is_help=False)(command)
    return app


def _parser_for(arguments: Sequence[str]) -> typer.Typer:
    """Register only the requested command: importing all modules and building all options costs more than most commands run."""
    first = next((text for text in arguments if text not in {"--debug", "--version"}), "")
    if first in COMMANDS:
        return parser([first])
    app = _empty_parser()
    for name, command in COMMANDS.items():
        app.command(name, help=command.summary)(_listed_only)
    return app


def _listed_only() -> None:
    """Placeholder of a command in `sitelore --help`, without its options."""


def _empty_parser() -> typer.Typer:
    app = typer.Typer(
        name="sitelore",
        cls=GroupedCommands,
        help="Turns websites into clean Markdown and a record of every URL.",
        epilog="Exit codes: 0 done, 1 failed, 2 usage, 3 disk, 11 interrupted (resumable), 15 time limit.",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    )
    app.callback()(_global_options)
    return app


def _show_version(requested: bool) -> None:
    if requested:
        from importlib.metadata import version

        typer.echo(f"sitelore {version('sitelore')}")
        raise typer.Exit


def _global_options(
    version: Annotated[  # noqa: ARG001 its callback prints the version
        bool, typer.Option("--version", help="Show the version and exit.", callback=_show_version, is_eager=True)
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Log to stderr, and show a traceback on errors.")] = False,
) -> None:
    """Turns websites into clean Markdown and a record of every URL."""
    if debug:
        from sitelore.cli.console import log_everything

        log_everything()


def _run_command(arguments: Sequence[str]) -> int:
    try:
        code = _parser_for(arguments)(args=list(arguments), prog_name="sitelore", standalone_mode=False)
    except BrokenPipeError:
        raise
    except (KeyboardInterrupt, typer.Abort):
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # another Ctrl-C would end the message with a traceback
        code = _CTRL_C
    except Exception as problem:  # noqa: BLE001 every error becomes one line
        debug = "--debug" in arguments
        if debug:
            traceback.print_exception(problem)
        return _print_error(*_error_message(problem, debug=debug))
    if code == _CTRL_C:
        return _print_error("interrupted", Interrupted.exit_code)
    return code if isinstance(code, int) else 0


def _error_message(problem: Exception, *, debug: bool) -> tuple[str, int]:
    """The line to print for an exception, and the exit code."""
    if isinstance(problem, SiteloreError):
        return str(problem).rstrip("."), problem.exit_code
    # Typer keeps the class of its usage errors private; they are recognised by their method.
    if (usage := getattr(problem, "format_message", None)) is not None:
        return _plain_usage(" ".join(usage().split()).rstrip(".")), getattr(problem, "exit_code", 2)
    if isinstance(problem, OSError):
        return f"{problem.filename or 'system error'}: {problem.strerror or problem}", StorageError.exit_code
    hint = "" if debug else "; run the command again with --debug for a traceback"
    first_line = str(problem).partition("\n")[0][:300]
    return f"unexpected error, please report it: {type(problem).__name__}: {first_line}{hint}", 1


def _plain_usage(message: str) -> str:
    """A usage error of the parser in words that need no knowledge of it."""
    for pattern, plain in _PARSER_WORDING:
        message = pattern.sub(plain, message)
    return message


def _print_error(message: str, code: int) -> int:
    if message:
        from sitelore.extract.redaction.redactor import redact  # arguments and responses can contain secrets

        sys.stderr.write(f"sitelore: {redact(message)[0]}\n")
    return code
