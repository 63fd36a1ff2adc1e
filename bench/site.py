"""A local website of realistic pages, served by its own process, fast enough never to be the bottleneck.

    python -m bench.site --pages 2000 --port 0        prints `READY port=… pages=… mean_bytes=… links=…`, serves until stopped

Pages are real articles of the WCXB corpus (`../shared/corpora`, or `SITELORE_CORPORA`): their own head, navigation, body and
footer, paragraphs exchanged with other articles so that no two pages are equal, and every link points to a page of this site.
Without the corpus a seeded generator writes pages of the same size and number of links. Pages are laid out once per source and
number of pages in `.bench/` and mapped from there; the same arguments always give the same bytes.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import lzma
import mmap
import os
import random
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BENCH_DIR = ROOT / ".bench"
CORPORA = Path(os.environ.get("SITELORE_CORPORA", str(ROOT.parent / "shared" / "corpora")))
LAYOUT = 4  # raise it when the pages change, so that old layouts in .bench/ are not used
LINKS = 99
NAVIGATION = 30
MEAN_BYTES = 57_000
ROBOTS = (
    "User-agent: *\nDisallow: /admin/\nDisallow: /cart/\nDisallow: /search\nDisallow: /*?sort=\nDisallow: /*/print$\n"
    "Allow: /search/about\n\nUser-agent: BadBot\nDisallow: /\n"
)

_ANCHOR = re.compile(r"""(<a\b[^>]*?\bhref\s*=\s*)("[^"]*"|'[^']*'|[^\s>"']+)""", re.IGNORECASE)
_PARAGRAPH = re.compile(r"(<p\b[^>]*>)((?:(?!</?p\b).)*?)(</p>)", re.IGNORECASE | re.DOTALL)
_TITLE = re.compile(r"<title\b[^>]*>.*?</title>", re.IGNORECASE | re.DOTALL)
_H1 = re.compile(r"(<h1\b[^>]*>)(.*?)(</h1>)", re.IGNORECASE | re.DOTALL)
# Elements that redirect a crawler, name another URL for the page, or forbid to follow its links.
_STEERING = re.compile(
    r"""<base\b[^>]*>|<link\b[^>]*\brel\s*=\s*["']?(?:canonical|alternate|amphtml|next|prev|shortlink)\b[^>]*>"""
    r"""|<meta\b[^>]*(?:http-equiv|name)\s*=\s*["']?(?:refresh|robots|googlebot)\b[^>]*>|<meta\b[^>]*\bcharset\b[^>]*>""",
    re.IGNORECASE,
)
_NOFOLLOW = re.compile(r"""\brel\s*=\s*(?:"[^"]*nofollow[^"]*"|'[^']*nofollow[^']*'|nofollow)""", re.IGNORECASE)
_WORD = re.compile(r"[a-z0-9]+")


@dataclass(frozen=True, slots=True)
class Article:
    """One real page without the parts that change from copy to copy."""

    title: str
    html: str


def _articles() -> list[Article]:
    """Real articles of about the mean size, or generated ones without the corpus."""
    corpus = CORPORA / "content" / "wcxb_dev.jsonl.xz"
    if not corpus.exists():
        return [_generated_article(seed) for seed in range(200)]
    articles = []
    with lzma.open(corpus, "rt", encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            size = len(row["html"].encode())
            if row["type"] == "article" and 20_000 <= size <= 80_000 and len(_PARAGRAPH.findall(row["html"])) >= 5:
                articles.append(Article(row["title"] or "Untitled", _NOFOLLOW.sub("", _STEERING.sub("", row["html"]))))
    return articles


_SYLLABLES = re.findall(
    "..",
    "ba be ca co da de fa fi ga go ha hi ja ka la le ma mi na no pa pe ra ri sa so ta te va vo wa we ya zo".replace(" ", ""),
)


def _generated_article(seed: int) -> Article:
    """Generate a page like one of a blog: head with styles, navigation, article, comments, footer."""
    rng = random.Random(seed)
    words = ["".join(rng.choices(_SYLLABLES, k=rng.randint(1, 4))) for _ in range(900)]

    def sentence(count: int) -> str:
        return " ".join(rng.choices(words, k=count)).capitalize() + "."

    def paragraph() -> str:
        return f'<p class="wp-block-paragraph">{" ".join(sentence(rng.randint(6, 22)) for _ in range(rng.randint(2, 6)))}</p>'

    title = sentence(7).rstrip(".")
    style = "".join(f".c{n}-{rng.choice(words)}{{margin:{n % 9}px;padding:0 {n % 7}em;color:#{n:06x}}}" for n in range(240))
    menu = "".join(
        f'<li class="menu-item item-{n}"><a href="#" class="link">{rng.choice(words)}</a></li>' for n in range(NAVIGATION)
    )

    def section(number: int) -> str:
        picture = f"<figure><img src='/img/{number}.jpg' alt='{sentence(4)}'><figcaption>{sentence(8)}</figcaption></figure>"
        return f"<section><h2>{sentence(5)}</h2>{''.join(paragraph() for _ in range(4))}{picture}</section>"

    body = "".join(section(n) for n in range(rng.randint(8, 18)))
    comments = "".join(
        f'<li class="comment"><div class="by">{sentence(2)}</div>{paragraph()}</li>' for _ in range(rng.randint(3, 20))
    )
    html = (
        f'<!DOCTYPE html>\n<html lang="en"><head><title>{title}</title><meta name="description" content="{sentence(20)}">'
        f'<style>{style}</style></head><body class="post"><header><nav><ul>{menu}</ul></nav></header>'
        f'<main><article><h1>{title}</h1>{body}</article><ol class="comments">{comments}</ol></main>'
        f"<footer><p>{sentence(12)}</p></footer></body></html>"
    )
    return Article(title, html)


class Layout:
    """Every page of the site: paths, links, and bytes."""

    def __init__(self, pages: int) -> None:
        self.pages = pages
        self.articles = _articles()
        self.pool = [
            m[1] for a in self.articles for m in _PARAGRAPH.findall(a.html) if 120 <= len(m[1]) <= 1500 and "<a" not in m[1]
        ]
        self.paths = [self._path(n) for n in range(pages)]

    def _article(self, number: int) -> Article:
        return self.articles[number % len(self.articles)]

    def _path(self, number: int) -> str:
        if number == 0:
            return "/"
        words = _WORD.findall(self._article(number).title.lower())[:7] or ["page"]
        section = _WORD.findall(self._article(number // 40).title.lower())[-1:] or ["news"]
        return f"/{section[0]}/{'-'.join(words)}-{number}/"

    def targets(self, number: int) -> list[str]:
        """The section's navigation, the page's children (so that everything is reachable) and pages from all over the site."""
        required = list(random.Random(number // 40 + 1_000_003).choices(self.paths, k=NAVIGATION))
        required += [self.paths[n] for n in (2 * number + 1, 2 * number + 2) if n < self.pages]
        rng = random.Random(number)
        chosen = dict.fromkeys(required)
        while len(chosen) < min(LINKS, self.pages):
            chosen[self.paths[rng.randrange(self.pages)]] = None
        return list(chosen)

    def html(self, number: int) -> bytes:
        """The page as it is served."""
        article, rng = self._article(number), random.Random(number + 7_000_003)
        targets = self.targets(number)
        title = f"{article.title} | {rng.choice(self.articles).title[:40]} ({number})"
        text = _PARAGRAPH.sub(lambda m: m[1] + (rng.choice(self.pool) if len(m[2]) > 80 else m[2]) + m[3], article.html)
        text = _TITLE.sub(lambda _: f'<meta charset="utf-8"><title>{title}</title>', text, count=1)
        text = _H1.sub(lambda m: m[1] + title + m[3], text, count=1)
        unused = iter(targets)
        # A page with more links than targets repeats them, as pages do with their menus and footers.
        text = _ANCHOR.sub(lambda m: f'{m[1]}"{next(unused, None) or rng.choice(targets)}"', text)
        related = "".join(f'<li class="related-item"><a href="{path}">{_label(path)}</a></li>' for path in unused)
        if related:
            head, body, tail = text.rpartition("</body>")
            text = f'{head}<aside class="related"><ul>{related}</ul></aside>{body}{tail}'
        return text.encode("utf-8", "replace")


def _label(path: str) -> str:
    return path.strip("/").rpartition("/")[2].replace("-", " ").capitalize() or "Home"


@dataclass(frozen=True, slots=True)
class Stored:
    """A laid-out site on disk: one file of pages, one index of (path, offset, length)."""

    data: Path
    index: Path

    @property
    def ready(self) -> bool:
        return self.data.exists() and self.index.exists()


def lay_out(pages: int) -> Stored:
    """Write the site into `.bench/` unless it is there already."""
    corpus = CORPORA / "content" / "wcxb_dev.jsonl.xz"
    source = "real" if corpus.exists() else "generated"
    stored = Stored(BENCH_DIR / f"site-{source}-{LAYOUT}-{pages}.bin", BENCH_DIR / f"site-{source}-{LAYOUT}-{pages}.json")
    if stored.ready:
        return stored
    BENCH_DIR.mkdir(exist_ok=True)
    layout, index, offset = Layout(pages), [], 0
    unfinished = stored.data.with_suffix(".part")
    with unfinished.open("wb") as data:
        for number, path in enumerate(layout.paths):
            body = layout.html(number)
            data.write(body)
            index.append((path, offset, len(body)))
            offset += len(body)
    unfinished.replace(stored.data)
    stored.index.write_text(json.dumps(index))
    return stored


class Site:
    """Makes the response for a path."""

    def __init__(self, stored: Stored, etags: bool, latency_s: float = 0.0) -> None:
        self.etags = etags
        self.latency_s = latency_s
        self.index: dict[bytes, tuple[int, int]] = {
            path.encode(): (offset, length) for path, offset, length in json.loads(stored.index.read_text())
        }
        with stored.data.open("rb") as data:
            self.data = mmap.mmap(data.fileno(), 0, access=mmap.ACCESS_READ)
        self.requests = 0
        self.robots = _response(b"200 OK", b"text/plain", ROBOTS.encode())
        self.missing = _response(b"404 Not Found", b"text/html", b"<title>Not found</title><h1>404 Not found</h1>")

    def answer(self, path: bytes, head: bytes) -> bytes:
        """The bytes to send for one request."""
        self.requests += 1
        place = self.index.get(path)
        if place is None:
            if path == b"/robots.txt":
                return self.robots
            return _response(b"200 OK", b"text/plain", str(self.requests).encode()) if path == b"/__requests" else self.missing
        body = self.data[place[0] : place[0] + place[1]]
        if not self.etags:
            return _response(b"200 OK", b"text/html; charset=utf-8", body)
        etag = b'"' + hashlib.md5(body, usedforsecurity=False).hexdigest().encode() + b'"'
        if b"\r\nif-none-match: " + etag in head.lower():
            return b"HTTP/1.1 304 Not Modified\r\nETag: " + etag + b"\r\n\r\n"
        return _response(b"200 OK", b"text/html; charset=utf-8", body, b"ETag: " + etag + b"\r\n")


def _response(status: bytes, kind: bytes, body: bytes, more: bytes = b"") -> bytes:
    return b"HTTP/1.1 %b\r\nContent-Type: %b\r\nContent-Length: %d\r\n%b\r\n%b" % (status, kind, len(body), more, body)


class Connection(asyncio.Protocol):
    """A minimal HTTP/1.1 connection with keep-alive."""

    def __init__(self, site: Site) -> None:
        self.site = site
        self.unread = b""
        self.transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        assert self.transport is not None
        self.unread += data
        while (end := self.unread.find(b"\r\n\r\n")) >= 0:
            head, self.unread = self.unread[:end], self.unread[end + 4 :]
            target = head.split(b" ", 2)[1]
            answer = self.site.answer(target.partition(b"?")[0], head)
            if self.site.latency_s:
                asyncio.get_running_loop().call_later(self.site.latency_s, self._write, answer)
            else:
                self.transport.write(answer)

    def _write(self, answer: bytes) -> None:
        if self.transport is not None and not self.transport.is_closing():
            self.transport.write(answer)


async def serve(site: Site, port: int, pages: int) -> None:
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Connection(site), "127.0.0.1", port, backlog=512)
    stopped = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopped.set)
    mean = sum(length for _, length in site.index.values()) // pages
    bound = server.sockets[0].getsockname()[1]
    print(f"READY port={bound} pages={pages} mean_bytes={mean} links={LINKS}", flush=True)
    async with server:
        await stopped.wait()


@dataclass(frozen=True, slots=True)
class Running:
    """A site that is being served."""

    url: str
    facts: str
    pid: int


@contextmanager
def running(pages: int, etags: bool = False, latency_s: float = 0.0) -> Iterator[Running]:
    """Serve the site in its own process until the block ends."""
    command = [sys.executable, "-m", "bench.site", "--pages", str(pages), "--port", "0", *(["--etags"] if etags else [])]
    command += ["--latency", str(latency_s)]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        line = process.stdout.readline().strip()
        if not line.startswith("READY"):
            sys.exit("bench: the site did not start")
        port = line.split("port=")[1].split()[0]
        yield Running(f"http://127.0.0.1:{port}/", line.removeprefix("READY "), process.pid)
    finally:
        process.terminate()
        process.wait(10)


def main() -> None:
    parser = argparse.ArgumentParser(description="serve a local site of realistic pages")
    parser.add_argument("--pages", type=int, default=2000)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--etags", action="store_true", help="send ETags and answer 304")
    parser.add_argument("--latency", type=float, default=0.0, help="seconds before each answer")
    arguments = parser.parse_args()
    if not 1 <= arguments.pages <= 10_000:
        parser.error("--pages must lie between 1 and 10000")
    stored = lay_out(arguments.pages)
    asyncio.run(serve(Site(stored, arguments.etags, arguments.latency), arguments.port, arguments.pages))


if __name__ == "__main__":
    main()
