"""Faults that are written into a copy of a real manual: each is found with all its sources, and nothing else is new."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.support.crawls import crawl_in, crawl_settings
from tests.support.http_server import Answer, redirect, serve_site

from sitelore.app.audit.phase import AuditResult, audit_run
from sitelore.app.wiring import embedded

MANUAL = Path("/usr/share/doc/git-doc")
"""217 pages in Debian's package of this name."""
START = "/git.html"
FEWER = {"weak-inlinks", "title-length", "thin-page", "dead-end", "sitemap-missing", "generic-link-text"}
"""Rules that may have fewer findings: a fault adds text, links or a sitemap, or replaces a title."""

pytestmark = pytest.mark.skipif(not (MANUAL / "git.html").exists(), reason="needs Debian's package git-doc")

Pages = dict[str, Answer]


def manual() -> Pages:
    """The manual as it is."""
    html = "text/html; charset=utf-8"
    return {
        f"/{path.relative_to(MANUAL)}": Answer(body=path.read_bytes(), content_type=html) for path in MANUAL.rglob("*.html")
    }


@dataclass(frozen=True)
class Seeded:
    """The manual with faults, and the findings that they have to cause: rule, URL, and the evidence that names the fault."""

    pages: Pages
    expected: set[tuple[str, str, str]]


def seeded(linked: list[str]) -> Seeded:
    """Write the faults into pages that the start page links to."""
    pages, expected = manual(), set[tuple[str, str, str]]()

    def add(number: int, markup: str) -> str:
        path = linked[number]
        body = pages[path].body
        assert body.count(b"</body>") == 1, path
        pages[path] = Answer(body=body.replace(b"</body>", f"{markup}</body>".encode()), content_type=pages[path].content_type)
        return path

    for number in range(20):
        source = add(number, f"<p><a href='/lost/{number}.html'>The lost page {number}</a></p>")
        expected |= {("page-gone", f"/lost/{number}.html", source), ("broken-internal-link", source, f"/lost/{number}.html")}
    for number in range(10):
        source = add(number + 20, f"<p><a href='/moved/{number}'>The moved page {number}</a></p>")
        pages[f"/moved/{number}"], pages[f"/step/{number}"] = redirect(f"/step/{number}", 302), redirect("/git-add.html", 302)
        expected.add(("redirect-chain", f"/moved/{number}", source))
    for number in range(5):
        source = add(number + 30, f"<p><a href='/loop/{number}'>The endless page {number}</a></p>")
        pages[f"/loop/{number}"], pages[f"/back/{number}"] = redirect(f"/back/{number}", 302), redirect(f"/loop/{number}", 302)
        expected |= {("redirect-loop", f"/loop/{number}", source), ("broken-internal-link", source, f"/loop/{number}")}
    for path in linked[40:55]:
        start, end = pages[path].body.index(b"<title>"), pages[path].body.index(b"</title>")
        body = pages[path].body[:start] + b"<title>One of the commands of Git" + pages[path].body[end:]
        pages[path] = Answer(body=body, content_type=pages[path].content_type)
        expected.add(("title-duplicate", path, ""))
    for number in range(10):
        pages[f"/orphan{number}.html"] = Answer(body=orphan(number).encode(), content_type="text/html; charset=utf-8")
        expected.add(("orphan-page", f"/orphan{number}.html", ""))
    for number in range(30):
        source = add(number + 60, f"<p><img src='/images/{number}.png' width='600' height='400'></p>")
        expected.add(("image-alt-missing", source, f"/images/{number}.png"))
    for number in range(5):
        source = add(number + 90, f"<p><a href='/git-add.html#part-{number}'>The part {number}</a></p>")
        expected.add(("broken-anchor", source, f"part-{number}"))
    return Seeded(pages, expected)


def orphan(number: int) -> str:
    """A page without any fault but that no page links to it."""
    words = " ".join(f"{word}{number} was of the" for word in ("branch", "commit", "merge", "tree", "index", "remote") * 5)
    return (
        f"<!doctype html><html lang=en><head><meta charset=utf-8><title>A forgotten chapter, number {number}</title>"
        f"<meta name=description content='What the chapter with the number {number} of the manual was about.'>"
        "<meta name=viewport content='width=device-width'>"
        "<meta property=og:title content=Chapter><meta property=og:image content=/x.png>"
        f"</head><body><main><h1>A forgotten chapter</h1><p>{words}.</p><a href={START}>The manual</a></main></body></html>"
    )


async def audited(folder: Path, pages: Pages, orphans: bool) -> tuple[AuditResult, Callable[[str], str]]:
    known = dict(pages)
    with serve_site(known.get) as http_server:
        if orphans:
            urls = "".join(f"<url><loc>{http_server.url(f'/orphan{number}.html')}</loc></url>" for number in range(10))
            sitemap = f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{urls}</urlset>'
            known["/sitemap.xml"] = Answer(body=sitemap.encode(), content_type="application/xml")
        sitemaps = (http_server.url("/sitemap.xml"),) if orphans else ()
        async with embedded(folder, writing=True) as app:
            run = (await crawl_in(app, crawl_settings(http_server.url(START), sitemaps=sitemaps, audit=True))).run
            result = await audit_run(app, run)
    return result, lambda text: text.replace(http_server.origin, "")


def evidence(finding: Any, shorten: Callable[[str], str]) -> str:
    """The part of the evidence that names the fault: the page that links, the target, the image or the fragment."""
    values = finding.evidence
    if values.get("sources"):
        [source] = values["sources"]
        return shorten(source["page"])
    return shorten(str(values.get("fragment") or values.get("target") or values.get("src") or ""))


async def test_every_seeded_fault_is_found_with_its_sources_and_nothing_else(tmp_path: Path) -> None:
    before, short = await audited(tmp_path / "before", manual(), orphans=False)
    sources = {short(link.source) for link in before.site.graph.inlinks(before.site.start_url)}
    linked = sorted(
        short(page.url) for page in before.site.indexable if short(page.url) in sources and "/git-add." not in page.url
    )
    site = seeded(linked)
    after, shorten = await audited(tmp_path / "after", site.pages, orphans=True)
    old = {(each.rule, short(each.url), _plain(each, short)) for each in before.findings}
    new = {(each.rule, shorten(each.url), _plain(each, shorten)): each for each in after.findings}
    fresh = [each for key, each in new.items() if key not in old]
    reported = {(each.rule, shorten(each.url), evidence(each, shorten)) for each in fresh}
    assert reported == site.expected
    gone = Counter(rule for rule, _, _ in old - new.keys())
    assert gone.keys() <= FEWER, gone
    for each in fresh:
        if each.rule == "redirect-chain":
            assert shorten(each.evidence["final"]) == "/git-add.html"


def _plain(finding: Any, shorten: Callable[[str], str]) -> str:
    """What makes a finding the same problem, without the origin."""
    values = finding.evidence
    return shorten(str([values.get(name) for name in ("target", "fragment", "src", "href", "heading", "element", "kind")]))
