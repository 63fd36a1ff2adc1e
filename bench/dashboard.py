"""The dashboard in a real browser: first load, graphs of 5,000 and 50,000 URLs, and a graph that grows while a crawl runs.

    python -m bench.dashboard [--only load graph live] [--sizes 5000 50000] [--live 5000]

The runs of the static graphs are settled through the ledger, without network; the one that grows is a crawl of a site of tiny
pages by the server. Frames are the times between two calls of `requestAnimationFrame` while the pointer drags the graph and the
wheel turns. The browser draws in software, so frames are slower than with a graphics card.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from playwright.sync_api import Browser, FloatRect, Page, Response, sync_playwright
from tests.interfaces.test_api_process import serve_process
from tests.support.http_server import Pages, page, prose, serve_site

from sitelore.fetch.browser.chromium import find_browser
from sitelore.model.frontier import Effects, Lease, Offer, PageUpdate, Settlement, Source, Verdict, WaveFacts, WavePlan
from sitelore.model.ids import DEFAULT_TENANT, BlobKey, CleanText, RunId, WorkerId
from sitelore.model.settings import CrawlSettings
from sitelore.model.states import RunState, UrlState
from sitelore.model.url import Url
from sitelore.store.engine import open_sqlite
from sitelore.store.ledger import SqlLedger

_BRANCHES = 9
"""Links of a page that lead to new pages."""
_BATCH = 200
_FLAGS = ["--no-sandbox", "--disable-background-networking", "--use-angle=swiftshader", "--enable-unsafe-swiftshader",
          "--enable-precise-memory-info", "--js-flags=--expose-gc"]  # fmt: skip
_WATCH = """() => {
  window.frames_ = []; window.tasks_ = []
  let last
  const frame = (at) => { if (last !== undefined) window.frames_.push(at - last); last = at; requestAnimationFrame(frame) }
  requestAnimationFrame(frame)
  const tasks = new PerformanceObserver((list) => list.getEntries().forEach((each) => window.tasks_.push(each.duration)))
  tasks.observe({ entryTypes: ['longtask'] })
}"""
_PAINTS = """() => new Promise((resolve) => {
  const found = { paint: 0, largest: 0, shift: 0, blocked: 0 }
  const of = (type, add) => new PerformanceObserver((list) => list.getEntries().forEach(add)).observe({ type, buffered: true })
  of('paint', (each) => { if (each.name === 'first-contentful-paint') found.paint = each.startTime })
  of('largest-contentful-paint', (each) => { found.largest = each.startTime })
  of('layout-shift', (each) => { found.shift += each.value })
  of('longtask', (each) => { found.blocked += Math.max(0, each.duration - 50) })
  setTimeout(() => resolve(found), 500)
})"""


def path_of(number: int) -> str:
    """The path of a page of the site; its length is that of a usual URL."""
    return "/" if number == 0 else f"/section-{number % 50}/some-words-of-a-title-{number}.html"


def children_of(number: int, pages: int) -> range:
    """The pages that are found first on this one."""
    return range(min(pages, number * _BRANCHES + 1), min(pages, (number + 1) * _BRANCHES + 1))


def _settlement(lease: Lease, pages: int) -> Settlement:
    name = lease.url.path.rpartition("-")[2].removesuffix(".html")
    number = int(name) if name.isdigit() else 0
    new = [Url.trusted(f"https://site.example{path_of(child)}") for child in children_of(number, pages)]
    offers = tuple(Offer(url, lease.depth + 1, Source.LINK, lease.url, lease.seq, at) for at, url in enumerate(new))
    if number % 20 == 19 and not offers:
        return Settlement(lease, Verdict(UrlState.NOT_FOUND, 404), Effects(fetched=True), time.time())
    stored = PageUpdate(CleanText(f"Page {number}"), f"{number}", f"{number}", BlobKey(f"{number:064}"))
    return Settlement(lease, Verdict(UrlState.VISITED, 200), Effects(page=stored, offers=offers, fetched=True), time.time())


def _admit_all(wave: WaveFacts) -> WavePlan:
    return WavePlan(admit=tuple(each.url for each in wave.candidates))


async def _store_run(folder: Path, pages: int) -> RunId:
    """A finished run whose pages were found as a tree."""
    engine = await open_sqlite(folder / "sitelore.db")
    ledger = SqlLedger(engine, DEFAULT_TENANT)
    seed = Url.trusted("https://site.example/")
    settings = CrawlSettings(seeds=(str(seed),))
    run = await ledger.create_run(f"site-{pages}", settings, [Offer(seed, 0, Source.SEED)], time.time())
    await ledger.begin_run(run.id, time.time())
    wave = done = 0
    while done < pages:
        held = await ledger.claim(run.id, WorkerId("w"), _BATCH, time.time(), 600.0)
        if not held:
            await ledger.open_wave(run.id, wave, _admit_all)
            wave += 1
            continue
        await ledger.settle([_settlement(lease, pages) for lease in held])
        done += len(held)
    await ledger.end_run(run.id, RunState.COMPLETED, time.time())
    await engine.close()
    return run.id


@contextmanager
def _browser() -> Iterator[Browser]:
    browser_file = find_browser()
    if browser_file is None:
        raise SystemExit("there is no browser on this machine")
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=str(browser_file.path), args=_FLAGS)
        yield browser
        browser.close()


def _at(values: list[float], share: float) -> float:
    return sorted(values)[min(len(values) - 1, int(share * len(values)))] if values else 0.0


def _measured(tab: Page, name: str, act: Callable[[], None]) -> None:
    """Print the frames and tasks of the browser while something is done."""
    tab.evaluate("() => { window.frames_.length = 0; window.tasks_.length = 0 }")
    act()
    frames, tasks = tab.evaluate("() => [window.frames_, window.tasks_]")
    figures = f"median {_at(frames, 0.5):.0f} ms, p95 {_at(frames, 0.95):.0f} ms, longest {max(frames, default=0):.0f} ms"
    print(f"  {name:<28} {len(frames)} frames, {figures}; longest task {max(tasks, default=0):.0f} ms", flush=True)


def _drag(tab: Page, box: FloatRect) -> None:
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    tab.mouse.move(x, y)
    tab.mouse.down()
    for step in range(40):
        tab.mouse.move(x + 4 * (step % 20), y + 3 * (step % 20))
        tab.wait_for_timeout(25)
    tab.mouse.up()
    tab.wait_for_timeout(500)


def _wheel(tab: Page, box: FloatRect) -> None:
    tab.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    for step in range(30):
        tab.mouse.wheel(0, -120 if step < 15 else 120)
        tab.wait_for_timeout(80)
    tab.wait_for_timeout(800)


def _nodes(tab: Page) -> int:
    return int(tab.evaluate("() => document.querySelector('[data-testid=graph]')?.sigma?.getGraph().order ?? 0"))


def _open_graph(browser: Browser, origin: str, run: str) -> Page:
    tab = browser.new_page(viewport={"width": 1280, "height": 900})
    tab.set_default_timeout(60_000)
    tab.goto(f"{origin}/ui/runs/{run}/hosts")
    tab.wait_for_selector("h1")
    tab.evaluate(_WATCH)
    return tab


def _show_graph(tab: Page, run: str, nodes: int) -> None:
    tab.evaluate(
        "(path) => { history.pushState(null, '', path); dispatchEvent(new PopStateEvent('popstate')) }",
        f"/ui/runs/{run}/lineage?view=graph&every=1",
    )
    tab.wait_for_function(
        "(nodes) => document.querySelector('[data-testid=graph]')?.sigma?.getGraph().order >= nodes", arg=nodes
    )
    tab.wait_for_timeout(500)


def _graph(browser: Browser, origin: str, run: str, nodes: int) -> None:
    print(f"graph of {nodes} URLs, 1280 x 900", flush=True)
    tab = _open_graph(browser, origin, run)
    started = time.perf_counter()
    _measured(tab, "opened", lambda: _show_graph(tab, run, nodes))
    print(f"    shown after {time.perf_counter() - started - 0.5:.1f} s", flush=True)
    box = tab.locator("[data-testid=graph]").bounding_box()
    assert box is not None
    _measured(tab, "dragged", lambda: _drag(tab, box))
    _measured(tab, "wheel", lambda: _wheel(tab, box))
    tab.evaluate("() => window.gc?.()")
    print(f"    heap {tab.evaluate('() => performance.memory.usedJSHeapSize') / 1e6:.0f} MB", flush=True)
    tab.close()


def _static(browser: Browser, folder: Path, runs: dict[int, RunId]) -> None:
    with serve_site(lambda _: None) as nothing, serve_process(folder, nothing) as server:
        for size, run in runs.items():
            _graph(browser, f"http://127.0.0.1:{server.api.port}", run, size)


def _site_of(pages: int) -> Pages:
    def links(number: int) -> tuple[str, ...]:
        return tuple(map(path_of, children_of(number, pages)))

    return {path_of(n): page(f"Page {n}", prose(f"page {n}"), links=links(n)) for n in range(pages)}.get


def _live(browser: Browser, pages: int) -> None:
    print(f"a crawl of {pages} pages, its graph refreshed every second", flush=True)
    with (
        tempfile.TemporaryDirectory() as folder,
        serve_site(_site_of(pages), host="localhost") as http_server,
        serve_process(Path(folder), http_server) as server,
    ):
        run = server.api.start(http_server.url("/"), maxPages=pages)
        tab = _open_graph(browser, f"http://127.0.0.1:{server.api.port}", run)
        _show_graph(tab, run, 1)
        box = tab.locator("[data-testid=graph]").bounding_box()
        assert box is not None

        def grow() -> None:
            while _nodes(tab) < pages * 0.6:
                tab.wait_for_timeout(500)

        def grow_and_drag() -> None:
            while _nodes(tab) < pages:
                _drag(tab, box)

        _measured(tab, "growing", grow)
        _measured(tab, "growing, dragged", grow_and_drag)
        tab.evaluate("() => window.gc?.()")
        print(f"    {_nodes(tab)} nodes, heap {tab.evaluate('() => performance.memory.usedJSHeapSize') / 1e6:.0f} MB")
        tab.close()


def _load(browser: Browser) -> None:
    print("first load of the dashboard", flush=True)
    with (
        tempfile.TemporaryDirectory() as folder,
        serve_site(lambda _: None) as nothing,
        serve_process(Path(folder), nothing) as server,
    ):
        for times in (1, 4):
            context = browser.new_context(viewport={"width": 1280, "height": 900})
            tab = context.new_page()
            sizes: dict[str, int] = {}

            def note(response: Response, sizes: dict[str, int] = sizes) -> None:
                sizes[response.url] = int(response.headers.get("content-length", 0))

            tab.on("response", note)
            context.new_cdp_session(tab).send("Emulation.setCPUThrottlingRate", {"rate": times})
            tab.goto(f"http://127.0.0.1:{server.api.port}/ui/")
            tab.wait_for_selector("h1")
            paints = tab.evaluate(_PAINTS)
            script = sum(size for url, size in sizes.items() if url.endswith(".js"))
            print(f"  CPU slowed {times} times: {script / 1000:.0f} KB of script, {sum(sizes.values()) / 1000:.0f} KB in all")
            seconds = [f"{name} {paints[name] / 1000:.1f} s" for name in ("paint", "largest", "blocked")]
            print(f"    {', '.join(seconds)}, layout shift {paints['shift']:.3f}", flush=True)
            context.close()


def main() -> int:
    """Parse the arguments and measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=["load", "graph", "live"], default=["load", "graph", "live"])
    parser.add_argument("--sizes", nargs="+", type=int, default=[5_000, 50_000])
    parser.add_argument("--live", type=int, default=5_000)
    arguments = parser.parse_args()
    print(f"load {os.getloadavg()[0]:.1f}")
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        sizes = arguments.sizes if "graph" in arguments.only else []
        # The synchronous interface of Playwright has an event loop of its own.
        runs = {size: asyncio.run(_store_run(Path(folder), size)) for size in sizes}
        browser = stack.enter_context(_browser())
        if "load" in arguments.only:
            _load(browser)
        if runs:
            _static(browser, Path(folder), runs)
        if "live" in arguments.only:
            _live(browser, arguments.live)
    return 0


if __name__ == "__main__":
    sys.exit(main())
