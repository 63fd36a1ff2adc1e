"""`sitelore inspect`: what was extracted from a page and what was cut; `sitelore explain`: the checks that a URL passed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sitelore.app.wiring import build_app
from sitelore.cli.commands.extract import document_fields, open_extraction_pool, read_input
from sitelore.cli.commands.runs import LATEST, find_run_of_url
from sitelore.cli.console import DATA, AsJson, Data, InRun, counted, data_console, note, print_json, run_async, visible
from sitelore.model.errors import BadUrl, NoSuchRun, UsageError
from sitelore.model.states import UrlState

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from sitelore.app.app import App
    from sitelore.app.explain import Explanation
    from sitelore.export.pages import Page
    from sitelore.extract.inspection import Cut, Inspection
    from sitelore.model.document import ReadOptions
    from sitelore.model.frontier import Run, UrlRow
    from sitelore.model.response import Response
    from sitelore.model.settings import Overrides
    from sitelore.model.url import Url

_FACTS = (
    "url", "final_url", "canonical_url", "status_code", "crawl_status", "title", "h1", "description", "lang", "author",
    "published", "modified", "site_name", "image", "word_count", "content_hash", "strategy", "depth", "noindex", "fetched_at",
    "etag", "last_modified", "screenshot",
)  # fmt: skip
_COUNTED_FACTS = ("headings", "landmarks", "links", "structured", "forms", "actions", "media")
_SHOWN_ALIASES = 5
_TWO_COLUMNS_WIDTH = 100
"""Terminals of at least this width show the Markdown and the cuts side by side."""
_CUT_CHARS = 60

_MARKS = {True: ("✓", "green"), False: ("✗", "red"), None: ("·", "dim")}


@dataclass(frozen=True, slots=True)
class _Target:
    """The page to inspect, as typed."""

    name: str
    url: str | None
    run: str


def inspect(
    target: Annotated[str, typer.Argument(metavar="URL|FILE", help="A crawled URL, any other URL, or an HTML file.")],
    url: Annotated[str | None, typer.Option(metavar="URL", help="With FILE: the URL of the page.")] = None,
    domain_config: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Try these rules instead of those of the run.")
    ] = None,
    run: InRun = "latest",
    lines: Annotated[int, typer.Option(min=0, metavar="N", help="Show N lines of Markdown and of cuts; 0 shows all.")] = 40,
    as_json: AsJson = False,
    data: Data = DATA,
) -> None:
    """Show what was extracted from a page, and what was cut. A URL that was not crawled is fetched now and not kept."""
    overrides: tuple[Overrides, ...] = ()
    if domain_config is not None:
        from sitelore.app.config.domain_rules import read_domain_config

        overrides = read_domain_config(domain_config)
    if Path(target).is_dir():
        raise UsageError(f"{target} is a directory; name one file, or a URL")
    page_of_target = _inspect_file if Path(target).is_file() else _inspect_url
    page, inspection = run_async(page_of_target(data, _Target(target, url, run), overrides))
    if not as_json:
        show(data_console(), page, inspection, lines)
        return
    import msgspec

    report = msgspec.to_builtins(inspection, enc_hook=str) if inspection else {"scores": {}, "blocks": [], "cuts": []}
    print_json({**page, **{name: report[name] for name in ("scores", "blocks", "cuts")}})


async def _inspect_file(_data: Path, target: _Target, overrides: tuple[Overrides, ...]) -> tuple[Page, Inspection | None]:
    from sitelore.api import html_response
    from sitelore.intake.seeds import parse_user_url
    from sitelore.model.document import ReadOptions

    # Without a URL, no domain is known, so the first rules are tried.
    address = target.url or (f"http://{overrides[0].domain}/" if overrides else "http://localhost/")
    response = html_response(read_input(target.name), parse_user_url(address), "text/html")
    return await _extract(response, ReadOptions(overrides=overrides))


async def _extract(response: Response, options: ReadOptions) -> tuple[Page, Inspection | None]:
    """Extract a response in a process of its own, under the limits of a crawl."""
    async with open_extraction_pool() as pool:
        inspection = await pool.inspect(response, replace(options, keep_snapshot=False))
    return document_fields(inspection.reading), inspection


async def _inspect_url(data: Path, target: _Target, overrides: tuple[Overrides, ...]) -> tuple[Page, Inspection | None]:
    from sitelore.app.access import access_of_credentials
    from sitelore.app.settings import operator_access
    from sitelore.cli.fetch_once import fetch_without_storage
    from sitelore.intake.seeds import parse_user_url, user_url_credentials
    from sitelore.model.document import ReadOptions

    try:
        url = parse_user_url(target.name)
    except BadUrl:
        raise UsageError(f"{target.name!r} is neither an existing file nor a valid URL") from None
    try:
        async with build_app(data, writing=False) as app:
            run = await find_run_of_url(app, data, target.run, url)
            row = await _row(app, run, url)
            if row is not None:
                return await _inspect_row(app, run, row, overrides)
    except NoSuchRun:
        if target.run != LATEST:
            raise
    note(f"{url} is not in {data}: fetching it now, without storing it")
    credentials = user_url_credentials(target.name)
    access = operator_access().with_other(access_of_credentials([credentials] if credentials else ()))
    return await _extract(await fetch_without_storage(url, access), ReadOptions(overrides=overrides))


async def _row(app: App, run: Run, url: Url) -> UrlRow | None:
    """The row of a URL, or of the page that it is an alias of. None for a URL that is not in the run."""
    from sitelore.export.rows import is_page

    row = await app.ledger.row(run.id, url)
    if row is not None and row.state is UrlState.ALIAS and row.final_url is not None:
        note(f"{url} is an alias of {row.final_url} (proof: {row.proof})")
        row = await app.ledger.row(run.id, row.final_url)
    if row is not None and not is_page(row):
        raise UsageError(f"{url} is not a page of run {run.id}: {_state_of(row)}; see `sitelore explain {url}`")
    return row


async def _inspect_row(app: App, run: Run, row: UrlRow, overrides: tuple[Overrides, ...]) -> tuple[Page, Inspection | None]:
    """The page as stored. Its snapshot is extracted again to find what was cut, or to try other rules."""
    from sitelore.api import html_response
    from sitelore.crawl.context import read_options_of
    from sitelore.export.boilerplate import find_repeats
    from sitelore.export.pages import document_of, page_of

    document, aliases = await document_of(row, app.blobs), await _aliases(app, run, row)
    page = page_of(row, document, aliases, await find_repeats(app.ledger.sketches(run.id)))
    if page["markdown"] != document.get("markdown", ""):
        note("blocks that repeat over the site are left out, as in exports; `sitelore export --format md --whole` keeps them")
    try:
        snapshot = await app.blobs.get(row.snapshot) if row.snapshot is not None else None
    except KeyError:
        snapshot = None
    if snapshot is None:
        if overrides:
            raise UsageError(f"{row.url} has no stored snapshot to try --domain-config on; crawl it again")
        note(f"{row.url} has no stored snapshot, so the cuts cannot be shown")
        return page, None
    options = read_options_of(run.settings, app.redaction)
    response = html_response(snapshot, row.final_url or row.url, row.content_type or "text/html")
    extracted, inspection = await _extract(response, replace(options, overrides=overrides) if overrides else options)
    return ({**page, **extracted} if overrides else page), inspection


async def _aliases(app: App, run: Run, page: UrlRow) -> list[str]:
    return [str(row.url) async for row in app.ledger.rows(run.id, UrlState.ALIAS) if row.final_url == page.url]


def _state_of(row: UrlRow) -> str:
    return ", ".join(filter(None, (row.state.value, str(row.skip_reason or ""), row.detail, row.error)))


def show(console: Console, page: Page, inspection: Inspection | None, lines: int) -> None:
    """Print the metadata, then Markdown and cuts side by side; one below the other in a narrow terminal."""
    from rich.table import Table

    console.print(_facts_table(page, inspection))
    console.print()
    markdown = str(page.get("markdown", "")).splitlines()
    kept = _markdown(markdown[:lines] if lines else markdown)
    if inspection is None:
        console.print(kept, soft_wrap=True)
    else:
        title, cut = (
            ("cut, largest first", _cuts(inspection.cuts, lines))
            if inspection.cuts
            else ("cut", _dropped_blocks(inspection, lines))
        )
        if console.width < _TWO_COLUMNS_WIDTH:
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
        note(f"… {counted(len(markdown) - lines, 'more line')} of Markdown (--lines 0 shows all)")


def _cuts(cuts: Sequence[Cut], lines: int) -> Text:
    """The cut units, largest first: size, element and reason on one line, the first words below."""
    from rich.text import Text

    largest = sorted(cuts, key=lambda cut: -cut.words)
    shown = largest[: max(1, lines // 2)] if lines else largest
    text = Text()
    for cut in shown:
        text.append(f"{counted(cut.words, 'word')} ", "red")
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


def _dropped_blocks(inspection: Inspection, lines: int) -> Text:
    """The dropped blocks, one per line with score and text, below the reason that they share."""
    from rich.text import Text

    blocks = [block for block in inspection.blocks if not block.kept]
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


def _facts_table(page: Page, inspection: Inspection | None) -> Table:
    from rich.table import Table

    table = Table.grid(padding=(0, 2))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in _facts(page):
        table.add_row(name, visible(value))
    if inspection and inspection.scores:
        table.add_row("scores", ", ".join(f"{name} {value:g}" for name, value in inspection.scores.items()))
    return table


def _facts(page: Page) -> list[tuple[str, str]]:
    facts: list[tuple[str, Any]] = [(name, page[name]) for name in _FACTS if page.get(name) not in {None, ""}]
    facts += [(name, len(page[name])) for name in _COUNTED_FACTS if page.get(name)]
    if rendering := page.get("rendering"):
        facts.append(("rendering", "; ".join((f"{rendering['mode']} ({rendering['reason']})", *rendering.get("evidence", ())))))
    if aliases := page.get("aliases"):
        more = f" and {len(aliases) - _SHOWN_ALIASES} more" if len(aliases) > _SHOWN_ALIASES else ""
        facts.append(("aliases", ", ".join(aliases[:_SHOWN_ALIASES]) + more))
    return [(name, str(value)) for name, value in facts]


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
    from sitelore.intake.seeds import parse_user_url

    url = parse_user_url(text)
    async with build_app(data, writing=False) as app:
        return await app.explain(url, await find_run_of_url(app, data, run, url))


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
