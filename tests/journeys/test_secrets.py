"""Secrets in every place a site can put one: not a byte of them is left in anything that a crawl leaves behind."""

from __future__ import annotations

import asyncio
import gzip
import json
import logging
import random
import sqlite3
import string
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
import zstandard
from tests.support.files import docx, prose_pdf, word
from tests.support.journey import crawl_in, crawl_settings
from tests.support.serve import Answer, page, prose, redirect, serving, site

from sitelore.app.logs import JsonLines
from sitelore.app.wiring import embedded
from sitelore.cli.export_files import write_export, write_tree
from sitelore.cli.main import main
from sitelore.crawl.metrics import exposition
from sitelore.model.errors import UsageError
from sitelore.model.redaction import Redaction
from sitelore.model.search import SearchQuery
from sitelore.model.settings import PersonalPolicy
from sitelore.model.url import Url

PLACES = (
    "body", "attribute", "script", "comment", "alt", "jsonld", "title", "meta", "entity", "query", "path", "fragment",
    "canonical", "header_link", "etag", "content_type", "redirect", "redirect_query", "redirect_loop", "refresh", "sitemap",
    "sitemap_index", "robots_rule", "robots_sitemap", "error_page", "robots_tag", "form", "image", "text_file",
    "pdf", "docx",
)  # fmt: skip


def planted() -> dict[str, str]:
    """A secret for each place, none like another."""
    draw = random.Random(6)
    return {place: "ghp_" + "".join(draw.choices(string.ascii_letters + string.digits, k=36)) for place in PLACES}


SECRETS = planted()


def hostile_site() -> dict[str, Answer]:
    """One site with all of them."""
    told = SECRETS
    entity = "".join(f"&#{ord(char)};" for char in told["entity"])
    home = f"""<!doctype html><html lang=en><head><title>Keys {told["title"]}</title>
<meta name=description content="about {told["meta"]}"><link rel=canonical href="/home?k={told["canonical"]}">
<script type="application/ld+json">{{"@context":"https://schema.org","@type":"Thing","name":"key {told["jsonld"]}"}}</script>
<script>var config = {{"key": "{told["script"]}"}};</script></head><body><!-- left by mistake: {told["comment"]} -->
<main><h1>Keys</h1><p data-key="{told["attribute"]}">The key is {told["body"]} and must not be kept. {prose("keys")}</p>
<p>Hidden: {entity}</p><img src="/pic.png?k={told["image"]}" alt="shows {told["alt"]}">
<form action="/send?k={told["form"]}"><input name=q></form>
<a href="/page?token={told["query"]}">one</a><a href="/in/{told["path"]}/there">two</a><a href="/x#{told["fragment"]}">three</a>
<a href="/headers">h</a><a href="/moved">m</a><a href="/moved-query">mq</a><a href="/loop">l</a><a href="/broken">b</a>
<a href="/private/x">p</a><a href="/notes.txt">n</a>
<a href="/paper.pdf">f</a><a href="/letter">d</a><a href="/refresh">r</a><a href="/plain">plain</a></main></body></html>"""
    entries = f"<url><loc>ORIGIN/listed?k={told['sitemap']}</loc></url><url><loc>ORIGIN/plain</loc></url>"
    index = f"<sitemap><loc>ORIGIN/more.xml?k={told['sitemap_index']}</loc></sitemap>"
    pages = {
        "/": Answer(body=home.encode()),
        "/x": page("X", prose("x")),
        "/plain": page("Plain", prose("plain")),
        "/headers": Answer(
            body=page("Headers", prose("headers")).body,
            content_type=f"text/html; charset=utf-8; k={told['content_type']}",
            headers=(
                ("ETag", f'"{told["etag"]}"'),
                ("Link", f'</h?k={told["header_link"]}>; rel="canonical"'),
                ("X-Robots-Tag", f"unavailable_after: {told['robots_tag']}"),
            ),
        ),
        "/moved": redirect(f"/to/{told['redirect']}", 301),
        "/moved-query": redirect(f"/to?access={told['redirect_query']}", 302),
        "/loop": redirect(f"/loop-{told['redirect_loop']}", 302),
        f"/loop-{told['redirect_loop']}": redirect("/loop", 302),
        "/broken": Answer(404, f"<title>Gone</title><p>no {told['error_page']}".encode()),
        "/private/x": page("Private", prose("private")),
        "/notes.txt": Answer(body=f"notes\n{told['text_file']}\n".encode(), content_type="text/plain"),
        "/paper.pdf": Answer(body=prose_pdf("Paper", prose("paper"), secret=told["pdf"]), content_type="application/pdf"),
        "/letter": Answer(
            body=docx(word(f"A letter: {prose('letter')} {told['docx']}")), content_type="application/octet-stream"
        ),
        "/refresh": Answer(body=f'<meta http-equiv=refresh content="0; url=/r?k={told["refresh"]}"><p>wait'.encode()),
        "/sitemap.xml": Answer(
            body=f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{entries}</urlset>'.encode(),
            content_type="application/xml",
        ),
        "/index.xml": Answer(
            body=f'<sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{index}</sitemapindex>'.encode(),
            content_type="application/xml",
        ),
    }
    robots = (
        f"User-agent: *\nDisallow: /private/  # {told['robots_rule']}\nSitemap: ORIGIN/sitemap.xml\nSitemap: ORIGIN/index.xml\n"
        f"Sitemap: ORIGIN/s.xml?k={told['robots_sitemap']}\n"
    )
    return {**pages, "/robots.txt": Answer(body=robots.encode(), content_type="text/plain")}


def at_origin(pages: dict[str, Answer], origin: str) -> dict[str, Answer]:
    return {
        target: Answer(answer.status, answer.body.replace(b"ORIGIN", origin.encode()), answer.content_type, answer.headers)
        for target, answer in pages.items()
    }


def everything_in(folder: Path) -> Iterator[tuple[str, bytes]]:
    """Every value of every table, blobs unpacked, and every file unpacked and as it is."""
    for path in sorted(folder.rglob("*")):
        if not path.is_file():
            continue
        data = path.read_bytes()
        yield path.name, data
        if data.startswith(b"\x1f\x8b"):
            yield path.name, gzip.decompress(data)
        if path.suffix == ".db":
            yield from dumped(path)


def dumped(path: Path) -> Iterator[tuple[str, bytes]]:
    with sqlite3.connect(path) as database:
        tables = [name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        for table in tables:
            for row in database.execute(f'SELECT * FROM "{table}"'):
                for value in row:
                    data = value if isinstance(value, bytes) else str(value).encode()
                    yield f"{path.name}: {table}", data
                    if data.startswith(b"\x28\xb5\x2f\xfd"):
                        yield f"{path.name}: {table}", zstandard.ZstdDecompressor().decompressobj().decompress(data)
    database.close()


def leaks(found: Iterator[tuple[str, bytes]], secrets: dict[str, str]) -> set[tuple[str, str]]:
    """Which secret shows where: the whole of it, or most of it."""
    parts = {place: secret[4:28].encode() for place, secret in secrets.items()}
    return {(place, name) for name, data in found for place, part in parts.items() if part in data}


async def test_a_secret_is_left_in_no_byte_of_what_a_crawl_keeps_logs_or_exports(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    data, log = tmp_path / "data", tmp_path / "log"
    lines = logging.FileHandler(log)
    lines.setFormatter(JsonLines())
    logger = logging.getLogger("sitelore")
    logger.addHandler(lines)
    caplog.set_level(logging.DEBUG, "sitelore")
    try:
        with serving(site({})) as web:
            web.pages = at_origin(hostile_site(), web.origin).get
            async with embedded(data, writing=True, redaction=Redaction(key=b"a key for this test alone")) as app:
                journey = await crawl_in(app, crawl_settings(web.url("/")))
                await write_tree(app, journey.run, tmp_path / "md")
                answer = await app.search_service.search(SearchQuery("keys paper letter notes", limit=50))
                (tmp_path / "answer").write_bytes(msgspec.json.encode(answer, enc_hook=str))
                for form in ("json", "csv", "jsonl", "warc", "llms-txt", "actions", "tools"):
                    with (tmp_path / f"export.{form}").open("wb") as sink:
                        assert await write_export(app, journey.run, form, sink) > 0
            asked = web.targets()
    finally:
        logger.removeHandler(lines)
        lines.close()
    states = journey.states(web.origin)
    (tmp_path / "metrics").write_bytes(exposition())
    (tmp_path / "shown").write_text("".join(capfd.readouterr()))

    assert leaks(everything_in(tmp_path), SECRETS) == set()
    assert log.stat().st_size > 1000
    assert {hit.chunk.kind for hit in answer.hits} >= {"page", "docx", "pdf"}, "what was indexed was looked through too"
    # What was found is counted, and marked where it stood; equal secrets have equal marks.
    assert journey.counts.redactions["github-token"] >= 15
    marks = {url: reason for url, reason in states.items() if "[REDACTED:" in url}
    assert set(marks.values()) == {"secret"}
    assert len([url for url in marks if url.startswith(("/page?", "/in/", "/to", "/listed?", "/loop-"))]) == 6
    # Nothing was asked for by an address that holds one.
    assert not [target for target in asked if "ghp_" in target or "REDACTED" in target]
    moved = journey.rows[web.url("/moved")]
    assert moved.state == "ALIAS"
    assert moved.final_url is not None
    assert moved.final_url.startswith(web.url("/to/[REDACTED:github-token:"))
    assert states["/plain"] == "VISITED"


async def test_a_url_to_start_from_that_holds_a_secret_is_refused_in_words_that_do_not_repeat_it(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    secret = SECRETS["query"]
    async with embedded(tmp_path, writing=True) as app:
        with pytest.raises(UsageError, match="github-token") as refused:
            await app.create_run(crawl_settings(f"http://127.0.0.1:1/?k={secret}"))
    assert secret not in str(refused.value)
    assert await asyncio.to_thread(main, ["crawl", f"http://127.0.0.1:1/?k={secret}", "--data", str(tmp_path / "typed")]) == 2
    shown = "".join(capfd.readouterr())
    assert "github-token" in shown
    assert secret not in shown
    assert leaks(everything_in(tmp_path), SECRETS) == set()


async def test_with_everywhere_data_of_persons_is_kept_on_contact_pages_alone(tmp_path: Path) -> None:
    told = "Write to jane.roe@example.com or call +49 30 901820. Card 4111 1111 1111 1111."
    pages = site(
        {
            "/": page("Team", f"{prose('team')} {told}", links=("/contact", "/mail?to=jane.roe@example.com")),
            "/contact": page("Contact us", f"{prose('us')} {told}"),
        }
    )
    with serving(pages) as web:
        async with embedded(tmp_path, writing=True) as app:
            journey = await crawl_in(app, crawl_settings(web.url("/"), personal=PersonalPolicy.EVERYWHERE))
            kept = {}
            for path in ("/", "/contact"):
                row = await app.ledger.row(journey.run.id, Url.trusted(web.url(path)))
                assert row is not None
                assert row.document is not None
                kept[path] = json.loads(await app.blobs.get(row.document))["text"]
    assert "Write to [REDACTED:email] or call [REDACTED:phone]. Card [REDACTED:card]." in kept["/"]
    assert "Write to jane.roe@example.com or call +49 30 901820. Card [REDACTED:card]." in kept["/contact"]
    assert journey.states(web.origin)["/mail?to=[REDACTED:email]"] == "secret"
