"""`sitelore demo`: serves a small bundled site on loopback, crawls it, and suggests what to try next."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sitelore.cli.commands.crawl import OutputOptions, run_crawl
from sitelore.cli.console import counted, data_console, data_option, note, visible

_SHOWN_LINES = 24
_SHOWN_PAGE = "**/articles/why-crawl.md"


def demo(
    data: Annotated[
        Path | None, typer.Option("--data", metavar="DIR", help="Directory for the result.  [default: a temporary one]")
    ] = None,
) -> int:
    """Crawl a small bundled site on this machine. Needs no internet."""
    from tempfile import mkdtemp

    from sitelore.app.config.sources import run_settings
    from sitelore.app.demo_site import demo_site

    data = data or Path(mkdtemp(prefix="sitelore-demo-"))
    with demo_site() as address:
        note(f"serving the demo site at {address} and crawling it into {data}")
        output = OutputOptions(data=data, out=data / "pages", outputs=frozenset({"md", "jsonl", "llms-txt"}))
        code = run_crawl(run_settings({"seeds": (address,), "pace.delay_s": 0.0}), output)
    if code == 0:
        _show_page(data / "pages")
        _show_next_steps(address, data)
    return code


def _show_page(pages: Path) -> None:
    path = next(iter(sorted(pages.glob(_SHOWN_PAGE))), None)
    if path is None:
        return
    console = data_console()
    console.print(str(path), style="bold", soft_wrap=True)
    body = path.read_text(encoding="utf-8").split("---\n", 2)[-1].strip().splitlines()
    for line in body[:_SHOWN_LINES]:
        console.print(f"  {visible(line)}", markup=False, soft_wrap=True)
    if len(body) > _SHOWN_LINES:
        console.print(f"  … {counted(len(body) - _SHOWN_LINES, 'more line')}", style="dim")
    console.print()


def _show_next_steps(address: str, data: Path) -> None:
    console = data_console()
    console.print("Try next:", style="bold")
    for command in (
        f"sitelore explain {address}private/drafts{data_option(data)}",
        f"sitelore search 'what does 503 mean'{data_option(data)}",
        f"sitelore inspect {address}articles/tables{data_option(data)}",
        f"sitelore export latest --format csv{data_option(data)}",
        "sitelore crawl https://example.com --max-pages 50",
    ):
        console.print(f"  {command}", markup=False, soft_wrap=True)
