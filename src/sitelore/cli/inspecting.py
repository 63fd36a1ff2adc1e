"""`sitelore inspect`: the facts and the Markdown of a page, and beside it what was cut and why."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from sitelore.cli.console import data_console, note, print_json, visible
from sitelore.cli.domain_config import read_domain_config
from sitelore.cli.looking import find_run
from sitelore.cli.peeking import peek
from sitelore.cli.reading import html_response, limited_readers, read_input, unpacked
from sitelore.crawl.visit_context import read_options_of
from sitelore.deploy.house import House
from sitelore.deploy.opening import open_house
from sitelore.export.boilerplate import find_repeats
from sitelore.export.pages import Page, document_of, page_of
from sitelore.export.rows import is_page
from sitelore.extract.inspecting import Cut, Inspection
from sitelore.intake.seeds import typed_url
from sitelore.model.document import Reading, ReadOptions
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
"""Columns from which on two halves are wide enough to read."""
_CUT_CHARS = 60


@dataclass(frozen=True, slots=True)
class Target:
    """The page to inspect, as typed."""

    name: str
    url: str | None = None
    run: str = "latest"
    domain_config: Path | None = None


def inspect_target(data: Path, target: Target, lines: int, *, as_json: bool) -> None:
    """Show a page of a run, an HTML file, or a page that no run knows, which is fetched now."""
    overrides = read_domain_config(target.domain_config) if target.domain_config else ()
    is_file = Path(target.name).is_file()
    page, seen = asyncio.run(_of_file(target, overrides) if is_file else _of_url(data, target, overrides))
    if as_json:
        report = msgspec.to_builtins(seen or Inspection(Reading()), enc_hook=str)
        print_json({**page, **{name: report[name] for name in ("scores", "blocks", "cuts")}})
    else:
        show(data_console(), page, seen, lines)


async def _of_file(target: Target, overrides: tuple[Overrides, ...]) -> tuple[Page, Inspection]:
    # Without an address nothing says which domain's rules are meant, so the first ones are tried.
    address = target.url or (f"http://{overrides[0].domain}/" if overrides else "http://localhost/")
    response = html_response(read_input(target.name), typed_url(address), "text/html")
    return await _read_again(response, ReadOptions(overrides=overrides))


async def _read_again(response: Response, options: ReadOptions) -> tuple[Page, Inspection]:
    """Read a response in a process of its own, under the limits of a crawl."""
    async with limited_readers() as readers:
        seen = await readers.inspect(response, replace(options, keep_snapshot=False))
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
    note(f"{url} is not in {data}: it is fetched now, and nothing of it is kept")
    return await _read_again(await peek(url), ReadOptions(overrides=overrides))


async def _row(house: House, run: Run, url: Url) -> UrlRow | None:
    row = await house.ledger.row(run.id, url)
    if row is not None and row.state is UrlState.ALIAS and row.final_url is not None:
        note(f"{url} is an alias of {row.final_url} (proof: {row.proof})")
        row = await house.ledger.row(run.id, row.final_url)
    if row is not None and not is_page(row):
        raise UsageError(f"{url} is not a page of run {run.id}: {_ending(row)}; see `sitelore explain {url}`")
    return row


async def _of_row(house: House, run: Run, row: UrlRow, overrides: tuple[Overrides, ...]) -> tuple[Page, Inspection | None]:
    """The page as stored. Its snapshot is read again to see what was cut, or to try other rules."""
    document, aliases = await document_of(row, house.blobs), await _aliases(house, run, row)
    page = page_of(row, document, aliases, await find_repeats(house.ledger.sketches(run.id)))
    if page["markdown"] != document.get("markdown", ""):
        note("blocks that repeat over the site are left out, as in exports; `sitelore export --whole` keeps them")
    try:
        snapshot = await house.blobs.get(row.snapshot) if row.snapshot is not None else None
    except KeyError:
        snapshot = None
    if snapshot is None:
        if overrides:
            raise UsageError(f"no snapshot of {row.url} was kept, so --domain-config cannot be tried on it; crawl it again")
        note(f"no snapshot of {row.url} was kept: what was cut cannot be shown")
        return page, None
    options = read_options_of(run.settings, house.redaction)
    response = html_response(snapshot, row.final_url or row.url, row.content_type or "text/html")
    again, seen = await _read_again(response, replace(options, overrides=overrides) if overrides else options)
    return ({**page, **again} if overrides else page), seen


async def _aliases(house: House, run: Run, page: UrlRow) -> list[str]:
    return [str(row.url) async for row in house.ledger.rows(run.id, UrlState.ALIAS) if row.final_url == page.url]


def _ending(row: UrlRow) -> str:
    return ", ".join(filter(None, (row.state.value, str(row.skip_reason or ""), row.detail, row.error)))


def show(console: Console, page: Page, seen: Inspection | None, lines: int) -> None:
    """Print the facts, then the Markdown beside what was cut; one below the other in a narrow terminal."""
    from rich.table import Table

    console.print(_facts_table(page, seen))
    console.print()
    markdown = str(page.get("markdown", "")).splitlines()
    kept = _markdown(markdown[:lines] if lines else markdown)
    if seen is None:
        console.print(kept, soft_wrap=True)
    else:
        title, cut = ("cut, largest first", _cuts(seen.cuts, lines)) if seen.cuts else ("dropped", _dropped(seen, lines))
        if console.width < _SIDE_BY_SIDE:
            for heading, half in (("kept, as Markdown", kept), (title, cut)):
                console.print(heading, style="bold")
                console.print(half, soft_wrap=half is kept)
                console.print()
        else:
            both = Table(box=None, expand=True, pad_edge=False, padding=(0, 2, 0, 0))
            for heading in ("kept, as Markdown", title):
                both.add_column(heading, ratio=1, overflow="fold", justify="left", header_style="bold")
            both.add_row(kept, cut)
            console.print(both)
    if lines and len(markdown) > lines:
        note(f"… {len(markdown) - lines} more lines of Markdown (--lines 0 shows all)")


def _cuts(cuts: Sequence[Cut], lines: int) -> Text:
    """Units that were cut, the largest first: size, element and reason on one line, the first words below."""
    from rich.text import Text

    largest = sorted(cuts, key=lambda cut: -cut.words)
    shown = largest[: max(1, lines // 2)] if lines else largest
    text = Text()
    for cut in shown:
        text.append(f"{cut.words:,} {'word' if cut.words == 1 else 'words'} ", "red")
        text.append(f"{visible(cut.element)}: ", "bold")
        text.append(f"{visible(cut.reason)}\n", "italic")
        words = visible(" ".join(cut.text.split()))
        text.append(f"  {words if len(words) <= _CUT_CHARS else words[:_CUT_CHARS].rstrip() + '…'}\n", "dim")
    if rest := largest[len(shown) :]:
        text.append(f"… {len(rest):,} more, {sum(cut.words for cut in rest):,} words (--lines 0 shows all)\n", "dim")
    return text


def _markdown(lines: list[str]) -> Text:
    from rich.text import Text

    return Text("\n".join(map(visible, lines)))


def _dropped(seen: Inspection, lines: int) -> Text:
    """One line per block: its score and its text, after the reason where it differs from that of the block before."""
    from rich.text import Text

    blocks = [block for block in seen.blocks if not block.kept]
    text, last = Text(), ""
    for block in blocks[:lines] if lines else blocks:
        if block.reason != last:
            text.append(f"· {visible(block.reason)}\n", "dim italic")
            last = block.reason
        text.append(f"{block.score:.2f} ", "red")
        text.append(f"{visible(block.text)}\n")
    if lines and len(blocks) > lines:
        text.append(f"… {len(blocks) - lines} more blocks\n", "dim")
    return text if blocks else Text("nothing", "dim")


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
