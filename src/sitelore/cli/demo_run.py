"""The demo: crawl the bundled site, show the summary, the head of one page, and what to try next."""

from __future__ import annotations

import tempfile
from pathlib import Path

from sitelore.cli.asking import Asked, Wishes, settings_of
from sitelore.cli.console import data_console, note, visible
from sitelore.cli.demo_server import demo_site
from sitelore.cli.running import run_crawl

_SHOWN_LINES = 24
_SHOWN_PAGE = "**/articles/why-crawl.md"


def run_demo(data: Path | None) -> int:
    """Serve, crawl, show."""
    data = data or Path(tempfile.mkdtemp(prefix="sitelore-demo-"))
    with demo_site() as address:
        note(f"serving the demo site at {address} and crawling it into {data}")
        wishes = Wishes(data=data, out=data / "pages", outputs=frozenset({"md", "jsonl", "llms-txt"}))
        code = run_crawl(settings_of(Asked(urls=(address,), delay_s=0.0)), wishes)
    if code == 0:
        _show_a_page(data / "pages")
        _say_what_next(address, data)
    return code


def _show_a_page(pages: Path) -> None:
    path = next(iter(sorted(pages.glob(_SHOWN_PAGE))), None)
    if path is None:
        return
    console = data_console()
    console.print(str(path), style="bold", soft_wrap=True)
    body = path.read_text(encoding="utf-8").split("---\n", 2)[-1].strip().splitlines()
    for line in body[:_SHOWN_LINES]:
        console.print(f"  {visible(line)}", markup=False, soft_wrap=True)
    if len(body) > _SHOWN_LINES:
        console.print(f"  … {len(body) - _SHOWN_LINES} more lines", style="dim")
    console.print()


def _say_what_next(address: str, data: Path) -> None:
    console = data_console()
    console.print("Try next:", style="bold")
    for command in (
        f"sitelore explain {address}private/drafts --data {data}",
        f"sitelore search 'what does 503 mean' --data {data}",
        f"sitelore inspect {address}articles/tables --data {data}",
        f"sitelore export latest --format csv --data {data}",
        "sitelore crawl https://example.com --max-pages 50",
    ):
        console.print(f"  {command}", markup=False, soft_wrap=True)
