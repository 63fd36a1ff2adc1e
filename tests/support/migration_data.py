"""Two small sites, and the commands whose output must not change when stored data is migrated.

`scripts/migration_fixture.py` crawls the sites with an older version and records what its commands print. The tests migrate
the stored data and run the same commands again.
"""

from __future__ import annotations

import hashlib
import io
import json
import random
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tests.support.http_server import Answer, Pages, page, redirect
from warcio.archiveiterator import ArchiveIterator

FOLDER = Path(__file__).parents[1] / "ports" / "migration_data"
GUIDE_PORT, SHOP_PORT = 18_761, 18_762
"""Fixed ports, because they are part of every stored URL."""
GUIDE, SHOP = f"http://127.0.0.1:{GUIDE_PORT}", f"http://127.0.0.1:{SHOP_PORT}"
CRAWL = ("--delay", "0", "--concurrency", "4", "--output", "db", "--json")
IDEMPOTENT_REQUEST = {"seedUrl": f"{SHOP}/", "settings": {"maxPages": 3}}
IDEMPOTENCY_KEY = "nightly-shop"
ALLOW_PRIVATE = "127.0.0.0/8"

_SUBJECTS = ("glacier", "lighthouse", "orchard", "violin", "compass", "harvest", "telescope", "pottery", "railway", "beehive")
_VERBS = ("describes", "measures", "repairs", "paints", "collects", "compares", "records", "teaches")
_OBJECTS = ("winter storms", "wooden boats", "old maps", "quiet villages", "silver coins", "copper wires", "mountain paths")
LONG_TARGETS = ("/long?q=" + "abcdefgh" * 230, "/longer?q=" + "abcdefgh" * 270)
"""A link to the second is too long to be followed."""
LONG_SEED = "/longest?q=" + "abcdefgh" * 300
GUIDE_SEEDS = (f"{GUIDE}/", GUIDE + LONG_SEED)
SHOP_SEEDS = (f"{SHOP}/",)
QUERIES = (*_SUBJECTS[:6], "mountain paths", "silver coins", "Überblick", "warehouse inventory")
EXPLAINED = tuple(
    GUIDE + target
    for target in (
        "/",
        "/old",
        "/copy-b",
        "/missing",
        "/lost/a",
        "/noindex",
        "/private/a",
        "/leaving",
        *LONG_TARGETS,
        "/unknown",
    )
)
_VOLATILE = ("data", "blobs", "outputs", "elapsed_s", "pages_per_s")
"""Fields of `show` that depend on where the data is and on the time of the call."""

Sitelore = Callable[[Sequence[str]], bytes]
"""Runs `sitelore` with these arguments and returns what it wrote to stdout."""


def text_about(topic: str, sentences: int = 6) -> str:
    """Sentences in which a search finds words; equal topics give equal text."""
    chance = random.Random(topic)
    parts = (_SUBJECTS, _VERBS, _OBJECTS)
    return " ".join("The {} {} {}.".format(*(chance.choice(words) for words in parts)) for _ in range(sentences))


def guide(*, later: bool) -> Pages:
    """A site with redirects, duplicates, errors and a sitemap; `later`, after a page was removed and another one changed."""
    topics = {f"/topics/{n}": page(f"Topic {n}", text_about(f"topic {n}")) for n in range(1, 25)}
    copy = page("Copy", text_about("copy"))
    pages = {
        **topics,
        "/": page("Guide", text_about("guide"), links=(*topics, *_SPECIAL_TARGETS)),
        "/old": redirect("/new"),
        "/new": page("New", text_about("new")),
        "/hops": redirect("/hops-2", 302),
        "/hops-2": redirect("/topics/1", 307),
        "/canonical?from=mail": page(
            "Canonical", text_about("canonical"), head=f'<link rel="canonical" href="{GUIDE}/canonical">'
        ),
        "/canonical": page("Canonical", text_about("canonical"), head=f'<link rel="canonical" href="{GUIDE}/canonical">'),
        "/copy-a": copy,
        "/copy-b": copy,
        "/forbidden": Answer(403, b"no"),
        "/noindex": page("Drafts", text_about("drafts"), head='<meta name="robots" content="noindex">'),
        "/overview": page("Überblick: 概要 🦊", f"Überblick über Gärten und Straßen. {text_about('overview')}"),
        "/contact": page("Contact", f"Write to team@guide.example. {_FORM} {text_about('contact')}"),
        "/private/a": page("Private", "robots.txt excludes this page"),
        "/report.docx": Answer(body=_docx(text_about("report")), content_type=_DOCX),
        "/only-in-sitemap": page("Sitemap only", text_about("sitemap")),
        "/sitemap.xml": Answer(body=_sitemap("/topics/1", "/only-in-sitemap").encode(), content_type="application/xml"),
        "/robots.txt": Answer(
            body=f"User-agent: *\nDisallow: /private/\nSitemap: {GUIDE}/sitemap.xml\n".encode(), content_type="text/plain"
        ),
        "/changing": page("Changing", text_about("changed" if later else "changing")),
        **{target: page("Long address", text_about(target)) for target in (*LONG_TARGETS, LONG_SEED)},
    }
    if not later:
        pages["/leaving"] = page("Leaving", text_about("leaving"))
    return lambda target: _SORRY if target.startswith("/lost/") else pages.get(target)


_SPECIAL_TARGETS = (
    "/old", "/hops", "/canonical?from=mail", "/canonical", "/copy-a", "/copy-b", "/missing", "/lost/a", "/forbidden",
    "/noindex", "/overview", "/contact", "/private/a", "/report.docx", "/changing", "/leaving", *LONG_TARGETS, "http://other.invalid/",
)  # fmt: skip
_SORRY = page("Page not found", "Sorry, the page you are looking for could not be found.")
_FORM = '<form action="/search" method="get"><label>Words <input name="q" required></label><button>Search</button></form>'


def shop(*, later: bool) -> Pages:
    """A site of twelve products; `later`, half of them are gone, so that their deletion is held back."""
    products = {
        f"/products/{n}": page(f"Product {n}", f"Warehouse inventory. {text_about(f'product {n}')}") for n in range(1, 13)
    }
    home = page("Shop", text_about("shop"), links=tuple(products))
    if later:
        products |= {f"/products/{n}": Answer(410) for n in range(1, 7)}
    return {"/": home, **products}.get


def collect(sitelore: Sitelore, runs: Sequence[str], folder: Path) -> dict[str, str]:
    """The output of every command that reads, by its arguments. `folder` takes the files that commands write."""
    folder.mkdir(exist_ok=True)
    outputs = collect_rows(sitelore, runs)
    for run in runs:
        outputs[f"show {run}"] = _stable_summary(sitelore(("show", run, "--json")))
        for form in ("csv", "jsonl", "llms-txt", "actions"):
            outputs[f"export {run} {form}"] = sitelore(("export", run, "--format", form)).decode()
        outputs[f"export {run} md"] = _markdown_files(sitelore, run, folder / f"{run}-md")
        sitelore(("export", run, "--format", "warc", "--out", str(archive := folder / f"{run}.warc.gz")))
        outputs[f"export {run} warc"] = _archived_responses(archive.read_bytes())
    for url in EXPLAINED:
        outputs[f"explain {url}"] = sitelore(("explain", url, "--run", runs[0], "--json")).decode()
    return outputs | _answers(sitelore, QUERIES)


def collect_rows(sitelore: Sitelore, runs: Sequence[str]) -> dict[str, str]:
    """Those outputs of `collect` that show every stored row once, and the pages of the latest run."""
    latest = runs[-1]
    outputs = {f"export {run} json": sitelore(("export", run, "--format", "json")).decode() for run in runs}
    outputs[f"export {latest} jsonl"] = sitelore(("export", latest, "--format", "jsonl")).decode()
    outputs["runs"] = sitelore(("runs", "--json")).decode()
    outputs["deletions"] = sitelore(("deletions", "--json")).decode()
    return outputs | _answers(sitelore, QUERIES[:1])


def _answers(sitelore: Sitelore, queries: Sequence[str]) -> dict[str, str]:
    """Search results. Only keywords: embeddings are not installed everywhere."""
    return {f"search {query}": sitelore(("search", query, "--mode", "lexical", "--json")).decode() for query in queries}


def _archived_responses(archive: bytes) -> str:
    """Status and digest of the body of every response in a WARC file, as JSON by URL.

    The records themselves differ between versions: newer ones add headers, and refer to an equal body instead of repeating it.
    """
    responses: dict[str, list[Any]] = {}
    for record in ArchiveIterator(io.BytesIO(archive)):
        headers = record.rec_headers
        if record.rec_type == "response":
            digest = hashlib.sha256(record.content_stream().read()).hexdigest()
        elif record.rec_type != "revisit":
            continue
        elif "identical-payload-digest" in headers["WARC-Profile"]:
            digest = responses[headers["WARC-Refers-To-Target-URI"]][1]
        else:
            digest = record.rec_type
        responses[headers["WARC-Target-URI"]] = [record.http_headers.get_statuscode(), digest]
    return json.dumps(responses, indent=1, sort_keys=True)


def _stable_summary(output: bytes) -> str:
    return json.dumps({name: value for name, value in json.loads(output).items() if name not in _VOLATILE}, indent=1)


def _markdown_files(sitelore: Sitelore, run: str, folder: Path) -> str:
    sitelore(("export", run, "--format", "md", "--out", str(folder)))
    files = sorted(folder.rglob("*.md"))
    return json.dumps({str(path.relative_to(folder)): path.read_text(encoding="utf-8") for path in files}, indent=1)


def _sitemap(*targets: str) -> str:
    urls = "".join(f"<url><loc>{GUIDE}{target}</loc><lastmod>2025-03-01</lastmod></url>" for target in targets)
    return f'<?xml version="1.0"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{urls}</urlset>'


_DOCX = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
_OPEN_XML = "http://schemas.openxmlformats.org"
_DOCX_PARTS = {
    "[Content_Types].xml": (
        f'<Types xmlns="{_OPEN_XML}/package/2006/content-types">'
        '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        f'<Override PartName="/word/document.xml" ContentType="{_DOCX}.main+xml"/></Types>'
    ),
    "_rels/.rels": (
        f'<Relationships xmlns="{_OPEN_XML}/package/2006/relationships"><Relationship Id="r1" Target="word/document.xml"'
        f' Type="{_OPEN_XML}/officeDocument/2006/relationships/officeDocument"/></Relationships>'
    ),
}


def _docx(text: str) -> bytes:
    """A Word document of one paragraph."""
    content = (
        f'<w:document xmlns:w="{_OPEN_XML}/wordprocessingml/2006/main"><w:body><w:p><w:r><w:t>{text}</w:t></w:r></w:p>'
        "</w:body></w:document>"
    )
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w") as archive:
        for name, part in {**_DOCX_PARTS, "word/document.xml": content}.items():
            archive.writestr(zipfile.ZipInfo(name), f'<?xml version="1.0" encoding="UTF-8"?>{part}')
    return sink.getvalue()
