"""What is known of one URL, told."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sitelore.cli.console import data_console, note, print_json, visible
from sitelore.cli.looking import find_run
from sitelore.cli.reading import document_of_html
from sitelore.crawl.explain import Explanation
from sitelore.deploy.embedded import House, embedded
from sitelore.export.pages import Page, document_of, page_of
from sitelore.export.rows import export_row, is_page
from sitelore.intake.seeds import typed_url
from sitelore.model.errors import UsageError
from sitelore.model.frontier import Run, UrlRow
from sitelore.model.states import UrlState
from sitelore.model.url import Url

if TYPE_CHECKING:
    from rich.table import Table

_MARKS = {True: ("✓", "green"), False: ("✗", "red"), None: ("·", "dim")}
_FACTS = (
    "url", "final_url", "canonical_url", "status_code", "crawl_status", "title", "h1", "description", "lang", "word_count",
    "content_hash", "strategy", "depth", "noindex", "fetched_at", "etag", "last_modified",
)  # fmt: skip
_COUNTED = ("links", "structured", "forms", "actions", "media")
_SHOWN_ALIASES = 5


async def explain_url(data: Path, text: str, name: str, *, as_json: bool) -> None:
    """Every gate, in the order a URL meets them."""
    url = typed_url(text)
    async with embedded(data, writing=False) as house:
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


def inspect_target(data: Path, target: str, name: str, lines: int, *, as_json: bool) -> None:
    """A page of a run, or an HTML file read on the spot."""
    if Path(target).is_file():
        page: Page = document_of_html(Path(target).read_bytes(), typed_url("http://localhost/"), "text/html")
    else:
        page = asyncio.run(_stored_page(data, typed_url(target), name))
    if as_json:
        print_json(page)
    else:
        _print_page(page, lines)


async def _stored_page(data: Path, url: Url, name: str) -> Page:
    async with embedded(data, writing=False) as house:
        return await _page_in(house, await find_run(house, data, name), url)


async def _page_in(house: House, run: Run, url: Url) -> Page:
    row = await house.ledger.row(run.id, url)
    if row is not None and row.state is UrlState.ALIAS and row.final_url is not None:
        note(f"{url} is an alias of {row.final_url} (proof: {row.proof})")
        row = await house.ledger.row(run.id, row.final_url)
    if row is None:
        raise UsageError(f"{url} is not in run {run.id}; `sitelore explain {url}` says why")
    if not is_page(row):
        raise UsageError(f"{url} is no page of run {run.id}: {_ending(row)}; `sitelore explain {url}` says more")
    return page_of(row, await document_of(row, house.blobs), await _aliases(house, run, row))


async def _aliases(house: House, run: Run, page: UrlRow) -> list[str]:
    return [str(row.url) async for row in house.ledger.rows(run.id, UrlState.ALIAS) if row.final_url == page.url]


def _ending(row: UrlRow) -> str:
    return ", ".join(filter(None, (row.state.value, str(row.skip_reason or ""), row.detail, row.error)))


def _print_page(page: Page, lines: int) -> None:
    from rich.table import Table

    console = data_console()
    facts = Table.grid(padding=(0, 2))
    facts.add_column(style="dim", no_wrap=True)
    facts.add_column(overflow="fold")
    for name, value in _facts(page):
        facts.add_row(name, visible(value))
    console.print(facts)
    console.print()
    shown = str(page.get("markdown", "")).splitlines()
    for line in shown[:lines] if lines else shown:
        console.print(visible(line), markup=False, soft_wrap=True)
    if lines and len(shown) > lines:
        note(f"… {len(shown) - lines} more lines (--lines 0 shows all)")


def _facts(page: Page) -> list[tuple[str, str]]:
    facts: list[tuple[str, Any]] = [(name, page[name]) for name in _FACTS if page.get(name) not in {None, ""}]
    facts += [(name, len(page[name])) for name in _COUNTED if page.get(name)]
    if aliases := page.get("aliases"):
        more = f" and {len(aliases) - _SHOWN_ALIASES} more" if len(aliases) > _SHOWN_ALIASES else ""
        facts.append(("aliases", ", ".join(aliases[:_SHOWN_ALIASES]) + more))
    return [(name, str(value)) for name, value in facts]
