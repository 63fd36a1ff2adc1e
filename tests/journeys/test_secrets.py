"""Secrets in every place of a site: none of them is in anything that a crawl stores, logs or exports."""

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
from tests.support.crawls import crawl_in, crawl_settings
from tests.support.files import docx, docx_paragraph, prose_pdf
from tests.support.http_server import Answer, page, prose, redirect, serve_site, site

from sitelore.app.logs import JsonLines
from sitelore.app.wiring import embedded
from sitelore.cli.main import main
from sitelore.export.formats import FORMATS, ExportSource, write_tree
from sitelore.metrics import exposition
from sitelore.model.errors import UsageError
from sitelore.model.search import SearchQuery
from sitelore.model.settings import PersonalPolicy, Redaction
from sitelore.model.url import Url

PLACES = (
    "body", "attribute", "script", "comment", "alt", "jsonld", "title", "meta", "entity", "query", "path", "fragment",
    "canonical", "header_link", "etag", "content_type", "redirect", "redirect_query", "redirect_loop", "refresh", "sitemap",
    "sitemap_index", "robots_rule", "robots_sitemap", "error_page", "robots_tag", "form", "image", "text_file",
    "pdf", "docx",
)  # fmt: skip


def planted() -> dict[str, str]:
    """A different secret for each place."""
    draw = random.Random(6)
    return {place: "ghp_" + "".join(draw.choices(string.ascii_letters + string.digits, k=36)) for place in PLACES}


SECRETS = planted()


def hostile_site() -> dict[str, Answer]:
    """A site with all secrets."""
    s = SECRETS
    entity = "".join(f"&#{ord(char)};" for char in s["entity"])
    home = f"""<!doctype html><html lang=en><head><title>Keys {s["title"]}</title>
<meta name=description content="about {s["meta"]}"><link rel=canonical href="/home?k={s["canonical"]}">
<script type="application/ld+json">{{"@context":"https://schema.org","@type":"Thing","name":"key {s["jsonld"]}"}}</script>
<script>var config = {{"key": "{s["script"]}"}};</script></head><body><!-- left by mistake: {s["comment"]} -->
<main><h1>Keys</h1><p data-key="{s["attribute"]}">The key is {s["body"]} and must not be kept. {prose("keys")}</p>
<p>Hidden: {entity}</p><img src="/pic.png?k={s["image"]}" alt="shows {s["alt"]}">
<form action="/send?k={s["form"]}"><input name=q></form>
<a href="/page?token={s["query"]}">one</a><a href="/in/{s["path"]}/there">two</a><a href="/x#{s["fragment"]}">three</a>
<a href="/headers">h</a><a href="/moved">m</a><a href="/moved-query">mq</a><a href="/loop">l</a><a href="/broken">b</a>
<a href="/private/x">p</a><a href="/notes.txt">n</a>
<a href="/paper.pdf">f</a><a href="/letter">d</a><a href="/refresh">r</a><a href="/plain">plain</a></main></body></html>"""
    entries = f"<url><loc>ORIGIN/listed?k={s['sitemap']}</loc></url><url><loc>ORIGIN/plain</loc></url>"
    index = f"<sitemap><loc>ORIGIN/more.xml?k={s['sitemap_index']}</loc></sitemap>"
    pages = {
        "/": Answer(body=home.encode()),
        "/x": page("X", prose("x")),
        "/plain": page("Plain", prose("plain")),
        "/headers": Answer(
            body=page("Headers", prose("headers")).body,
            content_type=f"text/html; charset=utf-8; k={s['content_type']}",
            headers=(
                ("ETag", f'"{s["etag"]}"'),
                ("Link", f'</h?k={s["header_link"]}>; rel="canonical"'),
                ("X-Robots-Tag", f"unavailable_after: {s['robots_tag']}"),
            ),
        ),
        "/moved": redirect(f"/to/{s['redirect']}", 301),
        "/moved-query": redirect(f"/to?access={s['redirect_query']}", 302),
        "/loop": redirect(f"/loop-{s['redirect_loop']}", 302),
        f"/loop-{s['redirect_loop']}": redirect("/loop", 302),
        "/broken": Answer(404, f"<title>Gone</title><p>no {s['error_page']}".encode()),
        "/private/x": page("Private", prose("private")),
        "/notes.txt": Answer(body=f"notes\n{s['text_file']}\n".encode(), content_type="text/plain"),
        "/paper.pdf": Answer(body=prose_pdf("Paper", prose("paper"), secret=s["pdf"]), content_type="application/pdf"),
        "/letter": Answer(
            body=docx(docx_paragraph(f"A letter: {prose('letter')} {s['docx']}")), content_type="application/octet-stream"
        ),
        "/refresh": Answer(body=f'<meta http-equiv=refresh content="0; url=/r?k={s["refresh"]}"><p>wait'.encode()),
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
        f"User-agent: *\nDisallow: /private/  # {s['robots_rule']}\nSitemap: ORIGIN/sitemap.xml\nSitemap: ORIGIN/index.xml\n"
        f"Sitemap: ORIGIN/s.xml?k={s['robots_sitemap']}\n"
    )
    return {**pages, "/robots.txt": Answer(body=robots.encode(), content_type="text/plain")}


def at_origin(pages: dict[str, Answer], origin: str) -> dict[str, Answer]:
    return {
        target: Answer(answer.status, answer.body.replace(b"ORIGIN", origin.encode()), answer.content_type, answer.headers)
        for target, answer in pages.items()
    }


def everything_in(folder: Path) -> Iterator[tuple[str, bytes]]:
    """Every value of every table, blobs decompressed, and every file both as it is and decompressed."""
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


def leaks(values: Iterator[tuple[str, bytes]], secrets: dict[str, str]) -> set[tuple[str, str]]:
    """(place of the secret, value that contains it whole or in large part)."""
    parts = {place: secret[4:28].encode() for place, secret in secrets.items()}
    return {(place, name) for name, data in values for place, part in parts.items() if part in data}


async def test_no_secret_is_stored_logged_or_exported(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    data, log = tmp_path / "data", tmp_path / "log"
    lines = logging.FileHandler(log)
    lines.setFormatter(JsonLines())
    logger = logging.getLogger("sitelore")
    logger.addHandler(lines)
    caplog.set_level(logging.DEBUG, "sitelore")
    try:
        with serve_site(site({})) as http_server:
            http_server.pages = at_origin(hostile_site(), http_server.origin).get
            async with embedded(data, writing=True, redaction=Redaction(key=b"a key for this test alone")) as app:
                result = await crawl_in(app, crawl_settings(http_server.url("/")))
                await write_tree(ExportSource(result.run, app.ledger, app.blobs), tmp_path / "md")
                answer = await app.search_service.search(SearchQuery("keys paper letter notes", limit=50))
                (tmp_path / "answer").write_bytes(msgspec.json.encode(answer, enc_hook=str))
                for form in FORMATS:
                    with (tmp_path / f"export.{form}").open("wb") as sink:
                        assert await FORMATS[form].write(ExportSource(result.run, app.ledger, app.blobs), sink) > 0
            targets = http_server.targets()
    finally:
        logger.removeHandler(lines)
        lines.close()
    states = result.states(http_server.origin)
    (tmp_path / "metrics").write_bytes(exposition())
    (tmp_path / "shown").write_text("".join(capfd.readouterr()))

    assert leaks(everything_in(tmp_path), SECRETS) == set()
    assert log.stat().st_size > 1000
    assert {hit.chunk.kind for hit in answer.hits} >= {"page", "docx", "pdf"}, "the index was checked too"
    # Secrets are counted and replaced by marks; equal secrets have equal marks.
    assert result.counts.redactions["github-token"] >= 15
    marks = {url: reason for url, reason in states.items() if "[REDACTED:" in url}
    assert set(marks.values()) == {"secret"}
    assert len([url for url in marks if url.startswith(("/page?", "/in/", "/to", "/listed?", "/loop-"))]) == 6
    # No URL with a secret was requested.
    assert not [target for target in targets if "ghp_" in target or "REDACTED" in target]
    moved = result.rows[http_server.url("/moved")]
    assert moved.state == "ALIAS"
    assert moved.final_url is not None
    assert moved.final_url.startswith(http_server.url("/to/[REDACTED:github-token:"))
    assert states["/plain"] == "VISITED"


async def test_a_seed_with_a_secret_is_refused_and_the_error_does_not_repeat_it(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    secret = SECRETS["query"]
    async with embedded(tmp_path, writing=True) as app:
        with pytest.raises(UsageError, match="github-token") as refused:
            await app.create_run(crawl_settings(f"http://127.0.0.1:1/?k={secret}"))
    assert secret not in str(refused.value)
    assert await asyncio.to_thread(main, ["crawl", f"http://127.0.0.1:1/?k={secret}", "--data", str(tmp_path / "typed")]) == 2
    output = "".join(capfd.readouterr())
    assert "github-token" in output
    assert secret not in output
    assert leaks(everything_in(tmp_path), SECRETS) == set()


async def test_with_policy_everywhere_personal_data_is_kept_on_contact_pages_only(tmp_path: Path) -> None:
    contact = "Write to jane.roe@example.com or call +49 30 901820. Card 4111 1111 1111 1111."
    pages = site(
        {
            "/": page("Team", f"{prose('team')} {contact}", links=("/contact", "/mail?to=jane.roe@example.com")),
            "/contact": page("Contact us", f"{prose('us')} {contact}"),
        }
    )
    with serve_site(pages) as http_server:
        async with embedded(tmp_path, writing=True) as app:
            result = await crawl_in(app, crawl_settings(http_server.url("/"), personal=PersonalPolicy.EVERYWHERE))
            texts = {}
            for path in ("/", "/contact"):
                row = await app.ledger.row(result.run.id, Url.trusted(http_server.url(path)))
                assert row is not None
                assert row.document is not None
                texts[path] = json.loads(await app.blobs.get(row.document))["text"]
    assert "Write to [REDACTED:email] or call [REDACTED:phone]. Card [REDACTED:card]." in texts["/"]
    assert "Write to jane.roe@example.com or call +49 30 901820. Card [REDACTED:card]." in texts["/contact"]
    assert result.states(http_server.origin)["/mail?to=[REDACTED:email]"] == "secret"
