"""`sitelore inspect`: what was made of a page, and side by side with it what was dropped and why."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from sitelore.cli.console import data_console, note, print_json, visible
from sitelore.cli.domain_config import read_domain_config
from sitelore.cli.looking import find_run
from sitelore.cli.peeking import peek
from sitelore.cli.reading import html_response, unpacked
from sitelore.crawl.tools import read_options_of
from sitelore.deploy.house import House
from sitelore.deploy.opening import open_house
from sitelore.export.pages import Page, document_of, page_of
from sitelore.export.repeats import find_repeats
from sitelore.export.rows import is_page
from sitelore.extract.inspecting import Inspection, inspect
from sitelore.intake.seeds import typed_url
from sitelore.model.document import ReadOptions
from sitelore.model.errors import NoSuchRun, UsageError
from sitelore.model.frontier import Run, UrlRow
from sitelore.model.response import Response
from sitelore.model.settings import Overrides
from sitelore.model.states import UrlState
from sitelore.model.url import Url

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

_FACTS = (
    "url", "final_url", "canonical_url", "status_code", "crawl_status", "title", "h1", "description", "lang", "author",
    "published", "modified", "site_name", "image", "word_count", "content_hash", "strategy", "depth", "noindex", "fetched_at",
    "etag", "last_modified", "screenshot",
)  # fmt: skip
_COUNTED = ("headings", "landmarks", "links", "structured", "forms", "actions", "media")
_SHOWN_ALIASES = 5
_SIDE_BY_SIDE = 100
"""Columns below which the two halves would be too narrow to read."""


@dataclass(frozen=True, slots=True)
class Target:
    """What to look at, as typed."""

    name: str
    url: str | None = None
    run: str = "latest"
    domain_config: Path | None = None


def inspect_target(data: Path, target: Target, lines: int, *, as_json: bool) -> None:
    """A page of a run, an HTML file, or a page that no run knows, read on the spot."""
    overrides = read_domain_config(target.domain_config) if target.domain_config else ()
    is_file = Path(target.name).is_file()
    page, seen = _of_file(target, overrides) if is_file else asyncio.run(_of_url(data, target, overrides))
    if as_json:
        print_json({**page, "scores": seen.scores if seen else {}, "blocks": msgspec.to_builtins(seen.blocks) if seen else []})
    else:
        show(data_console(), page, seen, lines)


def _of_file(target: Target, overrides: tuple[Overrides, ...]) -> tuple[Page, Inspection | None]:
    # Without an address nothing says which domain's rules are meant, so the first ones are tried.
    address = target.url or (f"http://{overrides[0].domain}/" if overrides else "http://localhost/")
    try:
        body = Path(target.name).read_bytes()
    except OSError as problem:
        raise UsageError(f"cannot read {target.name}: {problem.strerror}") from problem
    return _read_anew(html_response(body, typed_url(address), "text/html"), ReadOptions(overrides=overrides))


def _read_anew(response: Response, options: ReadOptions) -> tuple[Page, Inspection]:
    seen = inspect(response, replace(options, keep_snapshot=False))
    return unpacked(seen.reading), seen


async def _of_url(data: Path, target: Target, overrides: tuple[Overrides, ...]) -> tuple[Page, Inspection | None]:
    url = typed_url(target.name)
    try:
        async with open_house(data, writing=False) as house:
            run = await find_run(house, data, target.run)
            row = await _row(house, run, url)
            if row is not None:
                return await _of_row(house, run, row, overrides)
    except NoSuchRun:
        if target.run != "latest":
            raise
    note(f"{url} has not been crawled into {data}: it is fetched now, and nothing of it is kept")
    return _read_anew(await peek(url), ReadOptions(overrides=overrides))


async def _row(house: House, run: Run, url: Url) -> UrlRow | None:
    row = await house.ledger.row(run.id, url)
    if row is not None and row.state is UrlState.ALIAS and row.final_url is not None:
        note(f"{url} is an alias of {row.final_url} (proof: {row.proof})")
        row = await house.ledger.row(run.id, row.final_url)
    if row is not None and not is_page(row):
        raise UsageError(f"{url} is no page of run {run.id}: {_ending(row)}; `sitelore explain {url}` says more")
    return row


async def _of_row(house: House, run: Run, row: UrlRow, overrides: tuple[Overrides, ...]) -> tuple[Page, Inspection | None]:
    """The page as it was stored; read again from its snapshot to see what was dropped, or by other rules."""
    document, aliases = await document_of(row, house.blobs), await _aliases(house, run, row)
    page = page_of(row, document, aliases, await find_repeats(house.ledger.sketches(run.id)))
    if page["markdown"] != document.get("markdown", ""):
        note("what repeats over the site is left out, as exports do; `sitelore export --whole` keeps it")
    try:
        snapshot = await house.blobs.get(row.snapshot) if row.snapshot is not None else None
    except KeyError:
        snapshot = None
    if snapshot is None:
        if overrides:
            raise UsageError(f"no snapshot of {row.url} was kept, so --domain-config cannot be tried on it; crawl it again")
        note(f"no snapshot of {row.url} was kept: what was dropped cannot be shown")
        return page, None
    options = read_options_of(run.settings, house.redaction)
    response = html_response(snapshot, row.final_url or row.url, row.content_type or "text/html")
    anew, seen = _read_anew(response, replace(options, overrides=overrides) if overrides else options)
    return ({**page, **anew} if overrides else page), seen


async def _aliases(house: House, run: Run, page: UrlRow) -> list[str]:
    return [str(row.url) async for row in house.ledger.rows(run.id, UrlState.ALIAS) if row.final_url == page.url]


def _ending(row: UrlRow) -> str:
    return ", ".join(filter(None, (row.state.value, str(row.skip_reason or ""), row.detail, row.error)))


def show(console: Console, page: Page, seen: Inspection | None, lines: int) -> None:
    """Facts, then the Markdown beside what was dropped; one below the other where the terminal is narrow."""
    from rich.table import Table

    console.print(_facts_table(page, seen))
    console.print()
    markdown = str(page.get("markdown", "")).splitlines()
    kept = _markdown(markdown[:lines] if lines else markdown)
    dropped = _dropped(seen, lines) if seen else None
    if dropped is None:
        console.print(kept, soft_wrap=True)
    elif console.width < _SIDE_BY_SIDE:
        for title, half in (("kept, as Markdown", kept), ("dropped", dropped)):
            console.print(title, style="bold")
            console.print(half, soft_wrap=True)
            console.print()
    else:
        both = Table(box=None, expand=True, pad_edge=False, padding=(0, 2, 0, 0))
        for title in ("kept, as Markdown", "dropped"):
            both.add_column(title, ratio=1, overflow="fold", justify="left", header_style="bold")
        both.add_row(kept, dropped)
        console.print(both)
    if lines and len(markdown) > lines:
        note(f"… {len(markdown) - lines} more lines of Markdown (--lines 0 shows all)")


def _markdown(lines: list[str]) -> Text:
    from rich.text import Text

    return Text("\n".join(map(visible, lines)))


def _dropped(seen: Inspection, lines: int) -> Text:
    """A line a block: its score, its text, and the reason where it is another one than that of the block before."""
    from rich.text import Text

    blocks = [block for block in seen.blocks if not block.kept]
    told, last = Text(), ""
    for block in blocks[:lines] if lines else blocks:
        if block.reason != last:
            told.append(f"· {visible(block.reason)}\n", "dim italic")
            last = block.reason
        told.append(f"{block.score:.2f} ", "red")
        told.append(f"{visible(block.text)}\n")
    if lines and len(blocks) > lines:
        told.append(f"… {len(blocks) - lines} more blocks\n", "dim")
    return told if blocks else Text("nothing", "dim")


def _facts_table(page: Page, seen: Inspection | None) -> Table:
    from rich.table import Table

    table = Table.grid(padding=(0, 2))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in _facts(page):
        table.add_row(name, visible(value))
    if seen and seen.scores:
        table.add_row("scores", ", ".join(f"{name} {value:g}" for name, value in seen.scores.items()))
    return table


def _facts(page: Page) -> list[tuple[str, str]]:
    facts: list[tuple[str, Any]] = [(name, page[name]) for name in _FACTS if page.get(name) not in {None, ""}]
    facts += [(name, len(page[name])) for name in _COUNTED if page.get(name)]
    if how := page.get("rendering"):
        facts.append(("rendering", "; ".join((f"{how['mode']} ({how['reason']})", *how.get("evidence", ())))))
    if aliases := page.get("aliases"):
        more = f" and {len(aliases) - _SHOWN_ALIASES} more" if len(aliases) > _SHOWN_ALIASES else ""
        facts.append(("aliases", ", ".join(aliases[:_SHOWN_ALIASES]) + more))
    return [(name, str(value)) for name, value in facts]
