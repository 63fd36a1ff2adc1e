"""A site with files: PDF and office documents become pages, and those that are made to hurt cost themselves alone."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import zstandard
from tests.support import files
from tests.support.files import DOCX, PDF, PPTX, XLSX, Put
from tests.support.journey import command, crawl, crawl_settings, documents
from tests.support.serve import Answer, page, prose, serving, site

SECRET = "sk_live_" + "4eC39HqLyjWDarjtT1zdp7dc"
OCTETS = "application/octet-stream"


def many_pages() -> bytes:
    one = files.pdf([[Put(72, 700, prose("many", 5))]])
    return one.replace(b"/Kids[7 0 R]/Count 1", b"/Kids[" + b"7 0 R " * 10_000 + b"]/Count 10000")


def search_service() -> dict[str, Answer]:
    rows = '<row r="1"><c r="A1" t="str"><v>Tea</v></c><c r="B1"><v>3</v></c></row>'
    bomb: dict[str, str | bytes] = {"word/styles.xml": b"<a>" + b" " * (40 * 2**20) + b"</a>"}
    held = {
        "/report.pdf": Answer(body=files.prose_pdf("Annual report", prose("report"), "/only-in-the-pdf"), content_type=PDF),
        "/download?id=7": Answer(body=files.prose_pdf("Unnamed", prose("unnamed")), content_type=OCTETS),
        "/keys.pdf": Answer(body=files.prose_pdf("Keys", prose("keys"), secret=SECRET), content_type=PDF),
        "/guide.docx": Answer(body=files.docx(files.word("Guide", "H1") + files.word(prose("guide"))), content_type=DOCX),
        "/notes": Answer(body=files.docx(files.word(f"Note {prose('notes')}")), content_type="application/zip"),
        "/old.doc": Answer(body=files.doc(f"Old\r{prose('old')}\r", (1,)), content_type="application/msword"),
        "/deck.pptx": Answer(body=files.pptx([files.shape("title", (0, "Deck"), (0, prose("deck", 9)))]), content_type=PPTX),
        "/prices.xlsx": Answer(body=files.xlsx({"Prices": rows}), content_type=XLSX),
        "/private.pdf": Answer(
            body=files.prose_pdf("Private", prose("private")),
            content_type=PDF,
            headers=(("X-Robots-Tag", "noindex, noarchive"),),
        ),
        "/many.pdf": Answer(body=many_pages(), content_type=PDF),
        "/bomb.docx": Answer(body=files.docx(files.word("x"), parts=bomb), content_type=DOCX),
        "/locked.pdf": Answer(body=files.pdf([[Put(1, 1, "x")]], trailer=files.ENCRYPTED_PDF_TRAILER), content_type=PDF),
        "/broken.pdf": Answer(body=b"%PDF-1.7\n" + b"x" * 999, content_type=PDF),
        "/forbidden.pdf": Answer(body=files.prose_pdf("Forbidden", prose("forbidden")), content_type=PDF),
        "/only-in-the-pdf": page("Behind the report", prose("behind")),
    }
    links = tuple(path for path in held if path != "/only-in-the-pdf")
    return {"/": page("Library", prose("library"), links=links), **held}


def stored_bytes(data: Path) -> bytes:
    """Everything on disk, and every stored blob uncompressed."""
    parts = [file.read_bytes() for file in sorted(data.rglob("*")) if file.is_file()]
    unpack = zstandard.ZstdDecompressor().decompressobj
    for file in data.rglob("*"):
        if file.is_file() and file.read_bytes().startswith(b"SQLite format 3"):
            base = sqlite3.connect(file)
            for (table,) in base.execute("select name from sqlite_master where type = 'table'").fetchall():
                for row in base.execute(f'select * from "{table}"'):
                    parts += [unpack().decompress(v) for v in row if isinstance(v, bytes) and v.startswith(b"\x28\xb5\x2f\xfd")]
            base.close()
    return b"\n".join(parts)


async def test_files_of_a_site_become_pages_and_bad_ones_cost_themselves_alone(tmp_path: Path) -> None:
    with serving(site(search_service(), "User-agent: *\nDisallow: /forbidden")) as web:
        journey = await crawl(tmp_path, crawl_settings(web.url("/"), discover_sitemaps=False))
    found = {url.removeprefix(web.origin): document for url, document in (await documents(tmp_path, journey)).items()}
    assert {path: document["strategy"] for path, document in found.items() if document["strategy"] in {"pdf", "docx"}} == {
        "/report.pdf": "pdf",
        "/download?id=7": "pdf",
        "/keys.pdf": "pdf",
        "/private.pdf": "pdf",
        "/many.pdf": "pdf",
        "/guide.docx": "docx",
        "/notes": "docx",
    }
    assert {found[path]["strategy"] for path in ("/old.doc", "/deck.pptx", "/prices.xlsx")} == {"doc", "pptx", "xlsx"}
    assert found["/guide.docx"]["markdown"].startswith("# Guide\n\n")
    assert found["/prices.xlsx"]["markdown"].startswith("## Prices\n\n| Tea | 3 |")
    assert " ".join(prose("report").split()[:30]) in found["/report.pdf"]["markdown"]
    assert found["/many.pdf"]["meta"]["note"] == "Only the first 1000 of 10000 pages were read."
    rows = {url.removeprefix(web.origin): row for url, row in journey.rows.items()}
    assert rows["/only-in-the-pdf"].parent == web.url("/report.pdf")
    assert rows["/only-in-the-pdf"].state == "VISITED"
    assert rows["/private.pdf"].noindex
    assert rows["/private.pdf"].snapshot is None
    assert rows["/report.pdf"].snapshot is not None
    assert (rows["/locked.pdf"].skip_reason, rows["/locked.pdf"].detail) == (
        "content_type",
        "the PDF is protected by a password",
    )
    assert rows["/bomb.docx"].error == "parse_error: the archive unpacks to more than 500 times its size"
    assert rows["/broken.pdf"].error == "parse_error: the PDF is cut off or damaged"
    assert rows["/forbidden.pdf"].skip_reason == "robots"
    assert "REDACTED" in found["/keys.pdf"]["markdown"]
    assert journey.run.state == "COMPLETED"
    exported = command("export", "latest", "--data", str(tmp_path), "--format", "jsonl")
    pages = {one["url"].removeprefix(web.origin): one for one in map(json.loads, exported.out.splitlines())}
    assert pages["/report.pdf"]["excerpt"] == pages["/report.pdf"]["text"]
    assert pages["/"]["excerpt"] == ""
    assert SECRET.encode() not in stored_bytes(tmp_path) + exported.out.encode()


async def test_a_run_without_documents_leaves_them_on_the_wire(tmp_path: Path) -> None:
    held = search_service()
    kept = {path: held[path] for path in ("/", "/report.pdf", "/guide.docx", "/download?id=7")}
    with serving(site(kept)) as web:
        journey = await crawl(tmp_path, crawl_settings(web.url("/"), discover_sitemaps=False, documents=False))
        rows = {url.removeprefix(web.origin): row for url, row in journey.rows.items()}
    assert journey.kept(web.origin) == {"/"}
    assert rows["/report.pdf"].skip_reason == "content_type"
    assert rows["/report.pdf"].detail == "application/pdf: this run reads no documents"
    assert rows["/download?id=7"].skip_reason == "content_type"


async def test_a_file_that_has_not_changed_is_not_read_again(tmp_path: Path) -> None:
    held = {path: answer for path, answer in search_service().items() if path in {"/", "/report.pdf", "/only-in-the-pdf"}}
    with serving(site(held)) as web:
        await crawl(tmp_path, crawl_settings(web.url("/"), discover_sitemaps=False))
        again = await crawl(tmp_path, crawl_settings(web.url("/"), discover_sitemaps=False))
    states = again.states(web.origin)
    assert (states["/report.pdf"], states["/only-in-the-pdf"]) == ("NOT_MODIFIED", "NOT_MODIFIED")
