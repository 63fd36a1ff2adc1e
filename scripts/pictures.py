"""Pictures for the documentation: `make docs-pictures`.

Crawls the bundled demo site, runs each command in a terminal of 80 columns, and writes what it prints to `docs/pictures/`.
Then it opens the dashboard in a browser and writes its screens.
"""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
import termios
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory

from playwright.sync_api import sync_playwright
from rich.console import Console
from rich.terminal_theme import MONOKAI
from rich.text import Text

from sitelore.fetch.browser.chromium import find_browser

FOLDER = Path(__file__).parents[1] / "docs" / "pictures"
COLUMNS, ROWS = 80, 60
COMMAND = Path(sys.executable).with_name("sitelore")
# The template of rich loads a font from the network; a picture in a repository must not.
_WEB_FONTS = re.compile(r"@font-face \{.*?\}\s*", re.DOTALL)


def main() -> None:
    """Write every picture."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory() as folder:
        crawl = output_of(["demo", "--data", "demo-data"], folder)
        write("first-crawl", "sitelore demo --data demo-data", crawl.rstrip())
        origin = re.search(r"http://127\.0\.0\.1:\d+", crawl)
        if origin is None:
            sys.exit("the demo printed no URL, so there is nothing to explain")
        url = f"{origin[0]}/private/drafts"
        explained = output_of(["explain", url, "--data", "demo-data"], folder)
        write("explain", f"sitelore explain {url} --data demo-data", explained.rstrip())
        dashboard(Path(folder) / "served")


def dashboard(data: Path) -> None:
    """Screens of the dashboard, with the crawl of the example site."""
    browser = find_browser()
    if browser is None:
        sys.exit("there is no browser, so the dashboard cannot be opened")
    command = [str(COMMAND), "serve", "--port", "0", "--data", str(data)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as server, sync_playwright() as driver:
        assert server.stdout is not None
        link = server.stdout.readline().decode().split()[1]
        chromium = driver.chromium.launch(executable_path=str(browser.path), args=["--no-sandbox", "--use-angle=swiftshader"])
        page = chromium.new_page(viewport={"width": 1280, "height": 920}, reduced_motion="reduce")
        page.goto(link)
        page.get_by_role("button", name="Crawl the example site").click()
        page.get_by_text("Completed", exact=True).wait_for(timeout=60_000)
        page.get_by_text(re.compile(r"^\d+ running$")).wait_for(state="detached")
        page.screenshot(path=FOLDER / "dashboard-run.png")
        page.get_by_role("tab", name="Lineage").click()
        page.get_by_text("Graph", exact=True).click()
        page.locator("[data-testid=graph] canvas").first.wait_for(state="attached")
        page.wait_for_timeout(1000)  # the graph is drawn on a canvas, which has no event for it
        page.screenshot(path=FOLDER / "dashboard-lineage.png")
        page.get_by_role("tab", name="URLs").click()
        page.get_by_role("button", name="/articles/tables").click()
        page.get_by_role("link", name="Read the page").click()
        page.locator("article.reading").wait_for()
        page.screenshot(path=FOLDER / "dashboard-page.png")
        page.get_by_role("link", name="URLs of the run").click()
        page.get_by_role("link", name="Issues").click()
        page.get_by_role("button", name="Check the site").click()
        page.get_by_role("button", name="Check again").wait_for(timeout=60_000)
        page.locator("#content .mantine-Accordion-control").first.click()
        page.get_by_text("How to fix it").wait_for()
        page.get_by_label("Loading …").wait_for(state="detached")
        page.screenshot(path=FOLDER / "dashboard-issues.png")
        page.get_by_role("navigation", name="Main").get_by_role("link", name="Search").click()
        page.get_by_text("not indexed yet").wait_for(state="detached", timeout=60_000)
        page.get_by_role("searchbox").fill("how fast may a site be crawled")
        page.keyboard.press("Enter")
        page.locator("mark").first.wait_for()
        page.screenshot(path=FOLDER / "dashboard-search.png")
        chromium.close()
        server.terminate()


def output_of(arguments: list[str], folder: str) -> str:
    """What a command prints to stdout on a terminal, with its colours."""
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (ROWS, COLUMNS))
    environment = {key: value for key, value in os.environ.items() if key not in {"NO_COLOR", "COLUMNS"}}
    environment["TERM"] = "xterm-256color"
    process = subprocess.Popen(
        [str(COMMAND), *arguments],
        cwd=folder,
        stdout=theirs,
        stderr=subprocess.DEVNULL,
        stdin=subprocess.DEVNULL,
        env=environment,
    )
    os.close(theirs)
    pieces = []
    try:
        while piece := os.read(ours, 65_536):
            pieces.append(piece)
    except OSError:
        pass  # on Linux, the end of the output: the command has closed its side of the terminal
    finally:
        os.close(ours)
    if process.wait() != 0:
        sys.exit(f"sitelore {' '.join(arguments)} failed with exit code {process.returncode}")
    return b"".join(pieces).decode().replace("\r\n", "\n")


def write(name: str, command: str, output: str) -> None:
    """Write one picture: the command as typed, and its output, folded at the last column as a terminal does."""
    console = Console(record=True, width=COLUMNS, file=StringIO(), force_terminal=True, color_system="truecolor")
    for line in Text.from_ansi(f"\x1b[1;32m$\x1b[0m \x1b[1m{command}\x1b[0m\n{output}").split("\n", allow_blank=True):
        line.rstrip()
        for part in line.divide(range(COLUMNS, max(line.cell_len, 1), COLUMNS)):
            console.print(part, no_wrap=True)
    svg = _WEB_FONTS.sub("", console.export_svg(title=command.partition(" http")[0], theme=MONOKAI))
    (FOLDER / f"{name}.svg").write_text(svg, encoding="utf-8")
    print(FOLDER / f"{name}.svg")


if __name__ == "__main__":
    main()
