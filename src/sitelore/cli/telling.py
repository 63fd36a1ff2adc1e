"""Why a URL ended as it did, told gate by gate."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from sitelore.cli.console import data_console, print_json, visible
from sitelore.cli.looking import find_run
from sitelore.crawl.explain import Explanation
from sitelore.deploy.opening import open_house
from sitelore.export.rows import export_row
from sitelore.intake.seeds import typed_url

if TYPE_CHECKING:
    from rich.table import Table

_MARKS = {True: ("✓", "green"), False: ("✗", "red"), None: ("·", "dim")}


async def explain_url(data: Path, text: str, name: str, *, as_json: bool) -> None:
    """Every gate, in the order a URL meets them."""
    url = typed_url(text)
    async with open_house(data, writing=False) as house:
        told = await house.explain(url, await find_run(house, data, name))
    if as_json:
        print_json(
            {
                "url": told.url,
                "run": told.run.id,
                "state": told.row.state.value if told.row else None,
                "row": export_row(told.row) if told.row else None,
                "gates": [
                    {"gate": gate.gate, "passed": gate.passed, "rule": gate.rule, "detail": gate.detail} for gate in told.gates
                ],
            }
        )
    else:
        data_console().print(gates_table(told))


def gates_table(told: Explanation) -> Table:
    """The gates as a table."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE, pad_edge=False, title_justify="left", show_header=False)
    state = told.row.state.value if told.row else "not in this run"
    table.title = Text.assemble((told.url, "bold"), "  ", (state, "cyan"), "  ", (f"run {told.run.id}", "dim"), overflow="fold")
    for column in ("", "gate", "rule", "detail"):
        table.add_column(column, overflow="fold")
    for gate in told.gates:
        mark, colour = _MARKS[gate.passed]
        table.add_row(Text(mark, colour), Text(gate.gate, "bold"), visible(gate.rule), Text(visible(gate.detail), "dim"))
    return table
