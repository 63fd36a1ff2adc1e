"""`sitelore explain`: the checks that a URL went through in a run, and their results."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from sitelore.app.wiring import build_app
from sitelore.cli.console import DATA, AsJson, Data, InRun, data_console, print_json, run_async, visible

if TYPE_CHECKING:
    from pathlib import Path

    from rich.table import Table

    from sitelore.crawl.explain import Explanation

_MARKS = {True: ("✓", "green"), False: ("✗", "red"), None: ("·", "dim")}


def explain(
    url: Annotated[str, typer.Argument(metavar="URL", help="A URL, whether it was fetched or not.")],
    run: InRun = "latest",
    as_json: AsJson = False,
    data: Data = DATA,
) -> None:
    """Show why a URL was fetched or skipped. Lists every check in order, with its rule and its result."""
    explanation = run_async(_explain(data, url, run))
    if as_json:
        from sitelore.export.rows import export_row

        row = explanation.row
        print_json(
            {
                "url": explanation.url,
                "run": explanation.run.id,
                "state": row.state.value if row else None,
                "row": export_row(row) if row else None,
                "gates": [
                    {"gate": gate.gate, "passed": gate.passed, "rule": gate.rule, "detail": gate.detail}
                    for gate in explanation.gates
                ],
            }
        )
    else:
        data_console().print(gates_table(explanation))


async def _explain(data: Path, text: str, run: str) -> Explanation:
    from sitelore.cli.commands.runs import find_run
    from sitelore.intake.seeds import typed_url

    url = typed_url(text)
    async with build_app(data, writing=False) as app:
        return await app.explain(url, await find_run(app, data, run))


def gates_table(explanation: Explanation) -> Table:
    """The checks as a table."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE, pad_edge=False, title_justify="left", show_header=False)
    state = explanation.row.state.value if explanation.row else "not in this run"
    table.title = Text.assemble(
        (explanation.url, "bold"), "  ", (state, "cyan"), "  ", (f"run {explanation.run.id}", "dim"), overflow="fold"
    )
    for column in ("", "gate", "rule", "detail"):
        table.add_column(column, overflow="fold")
    for gate in explanation.gates:
        mark, colour = _MARKS[gate.passed]
        table.add_row(Text(mark, colour), Text(gate.gate, "bold"), visible(gate.rule), Text(visible(gate.detail), "dim"))
    return table
