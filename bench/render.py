"""Rendering in the browser: throughput, memory, and recovery from a browser that is killed.

    python -m bench.render [--pages 100] [--memory-pages 500] [--kills 10] [--only throughput memory kills heavy]

A site of pages that scripts make: a bundle of 300 KB, a style sheet, images, analytics, one JSON document a page. It runs in
a process of its own. The throughput of the renderer stands beside that of a plain loop that opens a new context for every
page, in the same run. Exits 1 when a figure is missed.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from bench.measure import tree_of

from sitelore.fetch.browser.chromium import INSTALL_HINT, Browser, find_browser, private_bytes
from sitelore.fetch.browser.renderer import BrowserRenderer
from sitelore.fetch.guard import AddressGuard
from sitelore.model.response import Rendered, RenderFailure, RenderRequest
from sitelore.model.settings import CrawlSettings
from sitelore.model.url import Url

RATIO = 4.0
GROWTH = 1.15
P95_S, READY_S = 2.0, 1.2
_TURNS = 5
_WORDS = ("garden", "harbour", "meadow", "lantern", "copper", "winter", "orchard", "signal", "ferry", "granite")
_SHELL = """<!doctype html><html lang="en"><head><meta charset="utf-8"><title>App</title>
<link rel="stylesheet" href="/app.css"><script defer src="/app.js"></script>
<script async src="http://www.google-analytics.com/analytics.js"></script></head>
<body><div id="root"></div><noscript>You need to enable JavaScript to run this app.</noscript></body></html>"""
_APP = """
const h = (tag, props, ...children) => {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(props || {})) element.setAttribute(name, value);
  for (const child of children.flat()) element.append(child);
  return element;
};
const show = (data) => {
  const root = document.getElementById("root");
  root.replaceChildren(h("main", {}, h("h1", {}, data.title),
    data.parts.map((part) => h("section", {}, h("h2", {}, part.title), h("img", { src: part.image }),
      part.lines.map((line) => h("p", {}, line)))),
    h("nav", {}, data.links.map((link) => h("a", { href: link }, link)))));
  document.title = data.title;
};
fetch("/data" + location.pathname).then((answer) => answer.json()).then(show);
"""


def page_data(number: int) -> dict[str, object]:
    chance = random.Random(number)
    lines = [[" ".join(chance.choices(_WORDS, k=18)) for _ in range(6)] for _ in range(12)]
    parts = [{"title": f"Part {at}", "image": f"/pictures/{number}-{at}.jpg", "lines": part} for at, part in enumerate(lines)]
    return {"title": f"Page {number}", "parts": parts, "links": [f"/page/{number + step}" for step in range(1, 40)]}


def heavy_page() -> bytes:
    """A static home page of 2 MB."""
    chance = random.Random(2)
    pieces = [
        b"<!doctype html><html><head><meta charset=utf-8><title>Heavy</title><link rel=stylesheet href=/app.css></head><body>"
    ]
    size = 0
    while size < 2_000_000:
        words = " ".join(chance.choices(_WORDS, k=1800))
        picture, more = f'<img src="/pictures/{size}.jpg">', f'<a href="/p/{size}">more</a>'
        piece = f'<section class="card"><h2>{words[:30]}</h2><p>{words}</p>{picture}{more}</section>'
        pieces.append(piece.encode())
        size += len(piece)
    return b"".join([*pieces, b"<div id=root></div></body></html>"])


async def serve() -> None:
    """Serve the site until standard input ends."""
    heavy = heavy_page()
    bundle = (
        _APP + "".join(f"function part{n}(a){{ return a.map((x) => x * {n}).filter(Boolean); }}\n" for n in range(5000))
    ).encode()
    style = "".join(f".c{n} {{ margin: {n % 9}px; }}\n" for n in range(800)).encode()
    picture = os.urandom(60_000)

    def answer(path: str) -> tuple[str, bytes]:
        if path.startswith("/data/page/"):
            return "application/json", json.dumps(page_data(int(path.rpartition("/")[2]))).encode()
        if path == "/heavy":
            return "text/html; charset=utf-8", heavy
        known = {"/app.js": ("text/javascript", bundle), "/app.css": ("text/css", style)}
        if path in known:
            return known[path]
        return ("image/jpeg", picture) if path.startswith("/pictures/") else ("text/html; charset=utf-8", _SHELL.encode())

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                path = head.split(b" ", 2)[1].decode()
                kind, body = answer(path)
                cache = "max-age=600" if path.startswith("/app.") else "no-store"
                writer.write(
                    f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\nCache-Control: {cache}\r\n"
                    f'ETag: "{path}"\r\n\r\n'.encode()
                    + body
                )
                await writer.drain()
        except (OSError, EOFError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(talk, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await asyncio.to_thread(sys.stdin.read)


@contextmanager
def site() -> Iterator[str]:
    process = subprocess.Popen(
        [sys.executable, "-m", "bench.render", "--serve"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        yield f"http://127.0.0.1:{int(process.stdout.readline())}"
    finally:
        process.stdin.close()
        process.wait(timeout=10)
        process.stdout.close()


def url_of(text: str) -> Url:
    url = Url.parse(text)
    assert url is not None
    return url


def is_whole(result: Rendered | RenderFailure, number: int) -> bool:
    return isinstance(result, Rendered) and f"<h1>Page {number}</h1>".encode() in result.response.body


async def plain_loop(chromium: Any, origin: str, numbers: range, wait_until: str) -> None:
    """Render with a simple loop: a new context for every page, then its text."""
    for number in numbers:
        context = await chromium.new_context()
        page = await context.new_page()
        await page.goto(f"{origin}/page/{number}", wait_until=wait_until)
        await page.wait_for_selector("main h1")
        assert f"<h1>Page {number}</h1>" in await page.content()
        await context.close()


async def render_all(renderer: BrowserRenderer, origin: str, numbers: range) -> list[Rendered | RenderFailure]:
    requests = [RenderRequest(url_of(f"{origin}/page/{number}"), expand_shadow_roots=True) for number in numbers]
    return list(await asyncio.gather(*map(renderer.render, requests)))


async def throughput(origin: str, pages: int) -> bool:
    """Measure all three alternately, a few pages each, so that other load on the machine affects all equally."""
    from playwright.async_api import async_playwright

    browser_path = find_browser()
    assert browser_path is not None
    browser = Browser()
    renderer = BrowserRenderer(browser, CrawlSettings(), AddressGuard([origin]))
    took = dict.fromkeys(("networkidle", "load", "ours"), 0.0)
    results: list[Rendered | RenderFailure] = []
    async with async_playwright() as driver:
        args = ["--no-sandbox"] if os.geteuid() == 0 else []
        chromium = await driver.chromium.launch(executable_path=browser_path.path, args=args)
        # The time to start a browser is not measured.
        await render_all(renderer, origin, range(100_000, 100_004))
        step = max(1, pages // _TURNS)
        for first in range(0, pages, step):
            numbers = range(first, min(first + step, pages))
            for name in took:
                started = time.perf_counter()
                if name == "ours":
                    results += await render_all(renderer, origin, numbers)
                else:
                    await plain_loop(chromium, origin, numbers, name)
                took[name] += time.perf_counter() - started
        await chromium.close()
    await renderer.close()
    await browser.close()
    whole = sum(is_whole(result, number) for number, result in enumerate(results))
    settled = sorted(result.metrics.settled_s for result in results if isinstance(result, Rendered))
    ratio = took["networkidle"] / took["ours"]
    median = settled[len(settled) // 2]
    print(f"{pages} pages made by scripts: {pages / took['ours']:.1f} pages/s, {whole} whole, settled after {median:.2f} s")
    for name, until in (("networkidle", "the network is idle"), ("load", "the first heading")):
        print(
            f"  a new context per page, until {until}: {pages / took[name]:.1f} pages/s, ratio {took[name] / took['ours']:.1f}"
        )
    print(f"  at least {RATIO:.0f} times: {'yes' if ratio >= RATIO and whole == pages else 'NO'}")
    return ratio >= RATIO and whole == pages


def tree_bytes() -> int:
    return sum(private_bytes(process) for process in tree_of(os.getpid()) if process != os.getpid())


async def memory(origin: str, pages: int) -> bool:
    browser = Browser()
    renderer = BrowserRenderer(browser, CrawlSettings(), AddressGuard([origin]))
    levels = []
    step = max(1, pages // 10)
    for first in range(0, pages, step):
        await render_all(renderer, origin, range(first, first + step))
        levels.append(tree_bytes() >> 20)
    await renderer.close()
    await browser.close()
    growth = statistics.mean(levels[-3:]) / statistics.mean(levels[2:5])
    print(f"memory over {pages} pages, browser and driver, MB a tenth, {browser.starts} starts: {' '.join(map(str, levels))}")
    print(f"  last three tenths over the third to fifth: {growth:.2f}, flat: {'yes' if growth <= GROWTH else 'NO'}")
    return growth <= GROWTH


async def kills(origin: str, pages: int, times: int) -> bool:
    browser = Browser()
    renderer = BrowserRenderer(browser, CrawlSettings(), AddressGuard([origin]))
    chance = random.Random(7)
    done = 0
    moved = asyncio.Event()

    async def render_page(number: int) -> bool:
        nonlocal done
        result = await renderer.render(RenderRequest(url_of(f"{origin}/page/{number}")))
        done += 1
        moved.set()
        if not is_whole(result, number):
            print(f"  lost: {result}")
        return is_whole(result, number)

    async def reaper() -> int:
        killed = 0
        while killed < times and done < pages:
            goal = done + chance.randint(1, max(1, pages // (2 * times)))
            while done < min(goal, pages):
                moved.clear()
                await moved.wait()
            running = browser.current
            if running is not None and running.active and await running.is_responsive():
                kinds = await running.processes()
                os.kill(next(number for number, kind in kinds.items() if kind == "browser"), signal.SIGKILL)
                killed += 1
        return killed

    killing = asyncio.create_task(reaper())
    whole = await asyncio.gather(*map(render_page, range(pages)))
    killed = await killing
    print(f"the browser killed {killed} times over {pages} pages: {pages - sum(whole)} lost, {browser.starts} starts")
    await renderer.close()
    await browser.close()
    return all(whole) and killed == times


async def heavy(origin: str, times: int = 30) -> bool:
    browser = Browser()
    renderer = BrowserRenderer(browser, CrawlSettings(), AddressGuard([origin]))
    ready, took = [], []
    for at in range(times + 1):
        result = await renderer.render(RenderRequest(url_of(f"{origin}/heavy"), expand_shadow_roots=True))
        assert isinstance(result, Rendered), result
        if at:
            ready.append(result.metrics.dom_ready_s)
            took.append(result.metrics.elapsed_s)
    await renderer.close()
    await browser.close()
    p95, median = sorted(took)[int(len(took) * 0.95)], statistics.median(ready)
    middle = statistics.median(took)
    print(f"a page of 2 MB, {times} times: DOM ready median {median:.2f} s, rendered p95 {p95:.2f} s (median {middle:.2f})")
    fine = p95 < P95_S and median < READY_S
    print(f"  under {READY_S} s and {P95_S} s: {'yes' if fine else 'NO'}")
    return fine


async def run(arguments: argparse.Namespace) -> bool:
    fine = True
    with site() as origin:
        print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
        if "throughput" in arguments.only:
            fine &= await throughput(origin, arguments.pages)
        if "heavy" in arguments.only:
            fine &= await heavy(origin)
        if "kills" in arguments.only:
            fine &= await kills(origin, arguments.pages, arguments.kills)
        if "memory" in arguments.only:
            fine &= await memory(origin, arguments.memory_pages)
    return fine


def main() -> None:
    parser = argparse.ArgumentParser(description="pages through the browser")
    parser.add_argument("--pages", type=int, default=100)
    parser.add_argument("--memory-pages", type=int, default=500)
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--only", nargs="+", default=["throughput", "heavy", "kills", "memory"])
    parser.add_argument("--serve", action="store_true")
    arguments = parser.parse_args()
    if arguments.serve:
        asyncio.run(serve())
        return
    if not Browser().is_available():
        print(INSTALL_HINT, file=sys.stderr)
        sys.exit(2)
    sys.exit(0 if asyncio.run(run(arguments)) else 1)


if __name__ == "__main__":
    main()
