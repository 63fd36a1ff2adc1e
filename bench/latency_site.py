"""A local website whose pages answer slowly, as real sites do, served by its own process.

    python -m bench.latency_site --shape blog --port 0        prints `READY port=… pages=…`, serves until stopped

    blog       600 pages: lists of ten articles that lead from one to the next, so that the site is as deep as it has lists
    mesh       600 pages, each with twenty links to others
    one-slow   a page with links to 60 quick ones and to one that takes 8 s
    levels     six levels of ten quick pages, each level with one leaf that takes 3 s

Pages of `blog` and `mesh` take 100 to 400 ms, and one in fifty takes 5 s; which one depends on its path alone.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import random
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

_PER_LIST = 10
_QUICK_S = 0.02


@dataclass(frozen=True, slots=True)
class Page:
    """The links of a page and the seconds until it is answered."""

    links: tuple[str, ...]
    delay_s: float


def make_site(shape: str, pages: int) -> dict[str, Page]:
    """All pages of a site by path; `/` is the first."""
    if shape in {"blog", "mesh"}:
        return _blog(pages) if shape == "blog" else _mesh(pages)
    return _one_slow() if shape == "one-slow" else _levels()


def _delay_s(path: str) -> float:
    rng = random.Random(hashlib.sha256(path.encode()).digest())
    return 5.0 if rng.random() < 0.02 else rng.uniform(0.1, 0.4)


def _blog(pages: int) -> dict[str, Page]:
    lists = pages // (_PER_LIST + 1)
    articles = [f"/articles/{number}" for number in range(pages - lists)]
    site: dict[str, Page] = {}
    for number in range(lists):
        path = "/" if number == 0 else f"/page/{number + 1}"
        own = articles[number * len(articles) // lists : (number + 1) * len(articles) // lists]
        following = (f"/page/{number + 2}",) if number + 1 < lists else ()
        site[path] = Page((*own, *following, "/"), _delay_s(path))
        for article in own:
            site[article] = Page(("/", path), _delay_s(article))
    return site


def _mesh(pages: int) -> dict[str, Page]:
    rng = random.Random(pages)
    paths = ["/", *(f"/pages/{number}" for number in range(1, pages))]
    # Every page but the first is linked from an earlier one, so that all are reached.
    links: dict[str, list[str]] = {path: [] for path in paths}
    for number in range(1, pages):
        links[paths[rng.randrange(max(0, number - 60), number)]].append(paths[number])
    for path in paths:
        links[path] += rng.sample(paths, max(0, 20 - len(links[path])))
    return {path: Page(tuple(links[path]), _delay_s(path)) for path in paths}


def _one_slow() -> dict[str, Page]:
    quick = [f"/quick/{number}" for number in range(60)]
    site = {"/": Page(("/slow", *quick), _QUICK_S), "/slow": Page(("/",), 8.0)}
    return site | {path: Page(("/",), _QUICK_S) for path in quick}


def _levels() -> dict[str, Page]:
    site: dict[str, Page] = {}
    for level in range(6):
        path = "/" if level == 0 else f"/level{level}/0"
        quick = [f"/level{level + 1}/{number}" for number in range(10)] if level < 5 else []
        site[path] = Page((f"/slow/{level}", *quick), _QUICK_S)
        site[f"/slow/{level}"] = Page(("/",), 3.0)
        site |= {quiet: Page(("/",), _QUICK_S) for quiet in quick[1:]}
    return site


def _body(path: str, page: Page) -> bytes:
    words = " ".join(hashlib.sha256(f"{path} {number}".encode()).hexdigest()[:8] for number in range(120))
    links = "".join(f'<li><a href="{link}">{link}</a></li>' for link in page.links)
    text = (
        f"<html><head><title>Page {path}</title></head><body><main><h1>Page {path}</h1><p>{words}.</p></main><ul>{links}</ul>"
    )
    return text.encode()


async def _serve(site: dict[str, Page], port: int) -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while line := await reader.readline():
                path = line.split()[1].decode()
                while (await reader.readline()).strip():
                    pass
                page = site.get(path)
                if page is not None:
                    await asyncio.sleep(page.delay_s)
                status, body = ("200 OK", _body(path, page)) if page else ("404 Not Found", b"")
                head = f"HTTP/1.1 {status}\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {len(body)}\r\n\r\n"
                writer.write(head.encode() + body)
                await writer.drain()
        except (ConnectionError, IndexError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", port, backlog=1000)
    print(f"READY port={server.sockets[0].getsockname()[1]} pages={len(site)}", flush=True)
    await server.serve_forever()


@contextmanager
def serving(shape: str, pages: int) -> Iterator[tuple[str, int]]:
    """Serve a site in its own process while the block runs. Gives its URL and how many pages it has."""
    command = [sys.executable, "-m", "bench.latency_site", "--shape", shape, "--pages", str(pages)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        facts = dict(part.split("=") for part in process.stdout.readline().split()[1:])
        yield f"http://127.0.0.1:{facts['port']}/", int(facts["pages"])
    finally:
        process.terminate()
        process.wait()


def main() -> None:
    """Serve until stopped."""
    parser = argparse.ArgumentParser(description="a website with slow pages")
    parser.add_argument("--shape", choices=["blog", "mesh", "one-slow", "levels"], default="blog")
    parser.add_argument("--pages", type=int, default=600)
    parser.add_argument("--port", type=int, default=0)
    options = parser.parse_args()
    asyncio.run(_serve(make_site(options.shape, options.pages), options.port))


if __name__ == "__main__":
    main()
