"""Questions to manuals: is the right page found, and does each citation lead to the text? `make bench-questions`

    python -m bench.questions [--held-out] [--data DIR] [--hybrid] [--misses] [--json FILE]

`questions.json` holds each question with the places that answer it: a page, and where one exists the anchor on it. The manuals
are Debian's packages, installed with apt where this user may. They are crawled from loopback servers into one data directory,
and every question searches all of them. With --data the directory is kept: a second run rebuilds the index of the stored pages
instead of crawling again. --hybrid makes embeddings first and asks every question a second time with them. --held-out asks the
questions of `held_out_questions.json` to other manuals, in seven languages: do not choose weights by them.

    hit@1, hit@5   the first result, or one of the first five, is on a page that answers
    place@5        one of the first five leads within 3,000 characters of text of such an anchor
    citations      share of all results whose citation stands on the page: a text fragment occurs there as a browser searches
                   it, after the anchor if there is one, and an anchor exists. The page is read again here, by the standard
                   library alone.

Exits 1 when a figure is below its limit; held-out questions have none.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from bench.docs import PACKAGES, SITELORE, install_packages, serve_folder
from bench.measure import ensure

from sitelore.app.wiring import build_app
from sitelore.model.search import Hit, SearchAnswer, SearchMode, SearchQuery

HERE = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class Manual:
    """An installed manual: the pattern of its package's name, the end of the path of its pages, and the page to start at."""

    package: str
    folder: str
    start: str = "index.html"


MANUALS = {
    "python": Manual("python3.*-doc", "/html"),
    "postgres": Manual("postgresql-doc-*", "/html"),
    "git": Manual("git-doc", "/git/html"),
    "handbook": Manual("debian-handbook", "/html/en-US"),
    "octave": Manual("octave-doc", "/octave.html"),
}
HELD_OUT_MANUALS = {
    "reference": Manual("debian-reference-en", "/debian-reference"),
    "r": Manual("r-doc-html", "/R/doc/manual", ""),
    "sqlite": Manual("sqlite3-doc", "/doc/sqlite3"),
    "nodejs": Manual("nodejs-doc", "/nodejs/api"),
    "postfix": Manual("postfix-doc", "/postfix/html"),
    "apache": Manual("apache2-doc", "/manual/en"),
    **{f"apache-{lang}": Manual("apache2-doc", f"/manual/{lang}") for lang in ("de", "ja", "ko")},
    **{
        f"developers-{lang}": Manual(f"developers-reference-{lang}", f"/developers-reference/{lang}")
        for lang in ("de", "fr", "ja", "ru")
    },
}
HELD_OUT_PACKAGES = (
    *("debian-reference-en", "debian-reference-de", "debian-reference-fr", "debian-reference-zh-cn", "r-doc-html"),
    *("sqlite3-doc", "nodejs-doc", "postfix-doc", "apache2-doc"),
    *(f"developers-reference-{lang}" for lang in ("de", "fr", "ja", "ru")),
)
LIMITS = {"words": {"hit@1": 0.75, "hit@5": 0.92, "citations": 1.0}, "hybrid": {"hit@1": 0.82, "hit@5": 0.97, "citations": 1.0}}
NEAR = 3_000
FIRST_PORT = 8_611
"""Fixed, so that the addresses of a kept data directory stay the same."""
BLOCKS = frozenset(
    [
        "address",
        "article",
        "aside",
        "blockquote",
        "body",
        "br",
        "caption",
        "center",
        "dd",
        "details",
        "div",
        "dl",
        "dt",
        "fieldset",
        "figcaption",
        "figure",
        "footer",
        "form",
        "h1",
        "h2",
        "h3",
        "h4",
        "h5",
        "h6",
        "header",
        "hr",
        "html",
        "legend",
        "li",
        "main",
        "nav",
        "ol",
        "option",
        "p",
        "pre",
        "section",
        "summary",
        "table",
        "tbody",
        "td",
        "tfoot",
        "th",
        "thead",
        "title",
        "tr",
        "ul",
    ]
)


def manual_folder(manual: Manual) -> Path | None:
    """The folder of an installed manual's pages."""
    command = ["dpkg-query", "-W", "-f", "${Package}\n", manual.package]
    listed = subprocess.run(command, capture_output=True, text=True, check=False)
    for package in sorted(listed.stdout.split()):
        files = subprocess.run(["dpkg", "-L", package], capture_output=True, text=True, check=False).stdout.split("\n")
        folders = sorted((file for file in files if file.endswith(manual.folder) and Path(file).is_dir()), key=len)
        for folder in folders:
            if next(Path(folder).glob("*.html"), None):
                return Path(folder)
    return None


class PageText(HTMLParser):
    """The text of a page as a browser searches it (blocks separated by line breaks), and the offsets of its anchors."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.text = ""
        self.anchors: dict[str, int] = {}
        self._parts: list[str] = []
        self._length = 0
        self._last = "\n"
        self._skipped = 0
        self.feed(html)
        self.close()
        self.text = "".join(self._parts)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._skipped += tag in {"script", "style"}
        if tag in BLOCKS:
            self._add("\n")
        for name, value in attrs:
            if value and (name == "id" or (name == "name" and tag == "a")):
                self.anchors.setdefault(value, self._length)

    def handle_endtag(self, tag: str) -> None:
        self._skipped -= tag in {"script", "style"}
        if tag in BLOCKS:
            self._add("\n")

    def handle_data(self, data: str) -> None:
        if not self._skipped:
            self._add(re.sub(r"\s+", " ", data))

    def _add(self, text: str) -> None:
        if self._last in " \n" and (text == "\n" or text.startswith(" ")):
            if text == "\n" and self._last == " ":
                self._parts[-1] = self._parts[-1][:-1] + "\n"
                self._last = "\n"
            text = text[1:]
        if text:
            self._parts.append(text)
            self._length += len(text)
            self._last = text[-1]

    def find(self, phrase: str, start: int = 0) -> int:
        """The offset of a phrase: whole words in one block. -1 where it does not occur."""
        words = r"\s".join(map(re.escape, phrase.split()))
        match = re.compile(rf"(?<!\w)(?:{words})(?!\w)" if words else r"(?!)", re.IGNORECASE).search(self.text, start)
        return match.start() if match is not None and "\n" not in match[0] else -1


@dataclass(frozen=True, slots=True)
class Place:
    """A page, and the anchor on it if any."""

    page: str
    anchor: str

    @classmethod
    def read(cls, text: str) -> Place:
        """Read `page#anchor`."""
        page, _, anchor = text.partition("#")
        return cls(page, anchor)


@dataclass(frozen=True, slots=True)
class Question:
    """A question as a user types it, and the places that answer it."""

    manual: str
    text: str
    places: tuple[Place, ...]


def read_questions(file: Path) -> list[Question]:
    """All questions of a file."""
    rows = json.loads(file.read_text(encoding="utf-8"))
    return [Question(row["manual"], row["question"], tuple(map(Place.read, row["places"]))) for row in rows]


@dataclass(slots=True)
class Manuals:
    """The installed manuals by the origin at which they were crawled."""

    folders: Mapping[str, Path]
    starts: Mapping[str, str] = field(default_factory=dict)
    """The page at which the crawl of each manual starts."""
    names: Mapping[str, str] = field(default_factory=dict)
    """Manual by origin."""

    def page(self, url: str) -> PageText | None:
        """The text of the page behind a URL."""
        parts = urlsplit(url)
        folder = self.folders[self.names[f"{parts.scheme}://{parts.netloc}"]]
        return _page_text(folder / (unquote(parts.path).lstrip("/") or "index.html"))

    def place(self, hit: Hit) -> tuple[str, Place]:
        """The manual of a result, and the page and anchor to which its citation leads."""
        parts = urlsplit(hit.citation)
        anchor = parts.fragment.partition(":~:")[0]
        page = unquote(parts.path).lstrip("/") or "index.html"
        return self.names[f"{parts.scheme}://{parts.netloc}"], Place(page, unquote(anchor))

    def target(self, hit: Hit) -> int | None:
        """The offset of text to which a citation leads; None where it leads nowhere, 0 for a page as a whole."""
        page = self.page(str(hit.chunk.url))
        if page is None:
            return None
        anchor, _, directive = urlsplit(hit.citation).fragment.partition(":~:text=")
        at = 0
        if anchor:
            if unquote(anchor) not in page.anchors:
                return None
            at = page.anchors[unquote(anchor)]
        if directive:
            first, _, last = directive.partition(",")
            at = page.find(unquote(first), at)
            if at < 0 or (last and page.find(unquote(last), at) < 0):
                return None
        return at


@cache
def _page_text(file: Path) -> PageText | None:
    if not file.is_file():
        return None
    data = file.read_bytes()
    charset = re.search(rb"charset=[\"']?([\w-]+)", data[:2_000])
    return PageText(data.decode(charset[1].decode() if charset else "utf-8", errors="replace"))


def is_near(manuals: Manuals, hit: Hit, place: Place) -> bool:
    """Whether a citation leads to the anchor of a place."""
    at, page = manuals.target(hit), manuals.page(str(hit.chunk.url))
    return at is not None and page is not None and abs(at - page.anchors.get(place.anchor, -(NEAR**2))) <= NEAR


def first_of(places: Sequence[Place], question: Question, hits: Sequence[tuple[str, Place]]) -> int | None:
    """The rank of the first result on a page that answers, from 0 on."""
    pages = {place.page for place in places}
    return next((at for at, (name, hit) in enumerate(hits) if name == question.manual and hit.page in pages), None)


@dataclass(slots=True)
class Tally:
    """The figures of one way to search."""

    ranks: list[int | None] = field(default_factory=list)
    near: list[bool] = field(default_factory=list)
    cited: int = 0
    wrong: list[str] = field(default_factory=list)
    seconds: float = 0.0

    def figures(self) -> dict[str, float]:
        """All figures by name."""
        count = max(1, len(self.ranks))
        return {
            "hit@1": sum(rank == 0 for rank in self.ranks) / count,
            "hit@5": sum(rank is not None and rank < 5 for rank in self.ranks) / count,
            "place@5": sum(self.near) / max(1, len(self.near)),
            "citations": 1 - len(self.wrong) / max(1, self.cited),
            "ms CPU": 1_000 * self.seconds / count,
        }


def judge(manuals: Manuals, question: Question, answer: SearchAnswer, tally: Tally) -> None:
    """Add the results of one question."""
    places = [manuals.place(hit) for hit in answer.hits]
    tally.ranks.append(first_of(question.places, question, places))
    anchored = [place for place in question.places if place.anchor]
    if anchored:
        near = any(
            name == question.manual and at.page == place.page and is_near(manuals, hit, place)
            for hit, (name, at) in zip(answer.hits[:5], places, strict=False)
            for place in anchored
        )
        tally.near.append(near)
    for hit in answer.hits:
        if hit.chunk.kind != "page":
            continue  # only browsers of PDF files know where a citation leads
        tally.cited += 1
        if manuals.target(hit) is None:
            tally.wrong.append(hit.citation)


def crawl(manuals: Manuals, data: Path) -> None:
    """Crawl every manual into one data directory."""
    with ExitStack() as served:
        for origin, name in manuals.names.items():
            served.enter_context(serve_folder(str(manuals.folders[name]), urlsplit(origin).port or 0))
            command = [
                SITELORE,
                "crawl",
                f"{origin}/{manuals.starts[name]}",
                "--render",
                "never",
                "--delay",
                "0",
                "--data",
                data,
                "--json",
            ]
            began = time.monotonic()
            done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False, timeout=3_600)
            ensure(done.returncode == 0, f"the crawl of {name} failed: {done.stderr.strip()[-500:]}")
            pages = json.loads(done.stdout).get("pages")
            print(f"crawled {name}: {pages} pages in {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)


async def ask(manuals: Manuals, questions: Sequence[Question], data: Path, *, hybrid: bool) -> dict[str, Tally]:
    """Build the index of the crawled pages and ask every question."""
    tallies: dict[str, Tally] = {}
    async with build_app(data, writing=True) as app:
        service = app.search_service
        for site in await service.sites():
            await service.refresh(site)
        if hybrid:
            began = time.process_time()
            texts = await service.embed()
            print(f"{texts} texts embedded, {time.process_time() - began:.0f} s of CPU", file=sys.stderr)
        for way, mode in (("words", SearchMode.LEXICAL), ("hybrid", SearchMode.HYBRID))[: 1 + hybrid]:
            tally = tallies[way] = Tally()
            for question in questions:
                began = time.process_time()
                answer = await service.search(SearchQuery(question.text, mode=mode), update=False)
                tally.seconds += time.process_time() - began
                judge(manuals, question, answer, tally)
        print(f"{answer.chunks:,} chunks", file=sys.stderr)
    return tallies


def show_misses(questions: Sequence[Question], tallies: Mapping[str, Tally]) -> None:
    """List questions that were not answered first, and citations that lead nowhere."""
    for way, tally in tallies.items():
        for question, rank in zip(questions, tally.ranks, strict=True):
            if rank != 0:
                print(f"{way}: {'-' if rank is None else rank + 1:>3}  {question.manual}: {question.text}")
        for citation in tally.wrong:
            print(f"{way}: not on the page: {citation}")


def main() -> None:
    """Measure, print the figures and compare them with the limits."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--held-out", action="store_true", help="ask the questions that no weight was chosen by")
    parser.add_argument("--data", type=Path, help="keep the crawled pages here")
    parser.add_argument("--hybrid", action="store_true", help="make embeddings and search with them as well")
    parser.add_argument("--misses", action="store_true", help="list questions without the right page in first place")
    parser.add_argument("--json", type=Path, help="write the figures to this file as well")
    arguments = parser.parse_args()
    known = HELD_OUT_MANUALS if arguments.held_out else MANUALS
    packages = HELD_OUT_PACKAGES if arguments.held_out else tuple(PACKAGES.values())
    folders = {name: manual_folder(manual) for name, manual in known.items()}
    if any(folder is None for folder in folders.values()):
        install_packages(packages)
        folders = {name: manual_folder(manual) for name, manual in known.items()}
    installed = {name: folder for name, folder in folders.items() if folder is not None}
    ensure(len(installed) == len(known), f"manuals are missing: apt-get install {' '.join(packages)}")
    starts = {name: manual.start for name, manual in known.items()}
    origins = {f"http://127.0.0.1:{FIRST_PORT + at}": name for at, name in enumerate(known)}
    manuals = Manuals(installed, starts, origins)
    questions = read_questions(HERE / ("held_out_questions.json" if arguments.held_out else "questions.json"))
    with tempfile.TemporaryDirectory() as scratch:
        data = arguments.data or Path(scratch)
        if not (data / "sitelore.db").exists():
            crawl(manuals, data)
        tallies = asyncio.run(ask(manuals, questions, data, hybrid=arguments.hybrid))
    results: dict[str, dict[str, Any]] = {way: tally.figures() for way, tally in tallies.items()}
    if arguments.misses:
        show_misses(questions, tallies)
    print(f"{len(questions)} questions".ljust(16) + "".join(f"{name:>11}" for name in results["words"]))
    for way, figures in results.items():
        print(f"{way:<16}" + "".join(f"{value:>11.3f}" for value in figures.values()))
    missed = [
        f"{way}: {name} {figures[name]:.3f}, at least {limit}"
        for way, figures in results.items()
        for name, limit in ({} if arguments.held_out else LIMITS[way]).items()
        if figures[name] < limit
    ]
    if arguments.json:
        arguments.json.write_text(json.dumps({"figures": results, "missed": missed}, indent=1) + "\n", encoding="utf-8")
    print("\n".join(["below the limits:", *missed]) if missed else "all limits are kept")
    sys.exit(1 if missed else 0)


if __name__ == "__main__":
    main()
