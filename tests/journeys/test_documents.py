"""A site with files: PDF and office documents become pages, and a damaged or hostile file fails alone."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import zstandard
from tests.support import files
from tests.support.crawls import crawl, crawl_settings, documents, run_cli
from tests.support.files import DOCX, PDF, PPTX, XLSX, PdfLine
from tests.support.http_server import Answer, page, prose, serve_site, site

SECRET = "sk_live_" + "4eC39HqLyjWDarjtT1zdp7dc"
OCTETS = "application/octet-stream"


def many_pages() -> bytes:
    page = files.pdf([[PdfLine(72, 700, prose("many", 5))]])
    return page.replace(b"/Kids[7 0 R]/Count 1", b"/Kids[" + b"7 0 R " * 10_000 + b"]/Count 10000")


def site_files() -> dict[str, Answer]:
    rows = '<row r="1"><c r="A1" t="str"><v>Tea</v></c><c r="B1"><v>3</v></c></row>'
    bomb: dict[str, str | bytes] = {"word/styles.xml": b"<a>" + b" " * (40 * 2**20) + b"</a>"}
    files_by_path = {
        "/report.pdf": Answer(body=files.prose_pdf("Annual report", prose("report"), "/only-in-the-pdf"), content_type=PDF),
        "/download?id=7": Answer(body=files.prose_pdf("Unnamed", prose("unnamed")), content_type=OCTETS),
        "/keys.pdf": Answer(body=files.prose_pdf("Keys", prose("keys"), secret=SECRET), content_type=PDF),
        "/guide.docx": Answer(
            body=files.docx(files.docx_paragraph("Guide", "H1") + files.docx_paragraph(prose("guide"))), content_type=DOCX
        ),
        "/notes": Answer(body=files.docx(files.docx_paragraph(f"Note {prose('notes')}")), content_type="application/zip"),
        "/old.doc": Answer(body=files.doc(f"Old\r{prose('old')}\r", (1,)), content_type="application/msword"),
        "/deck.pptx": Answer(
            body=files.pptx([files.pptx_shape("title", (0, "Deck"), (0, prose("deck", 9)))]), content_type=PPTX
        ),
        "/prices.xlsx": Answer(body=files.xlsx({"Prices": rows}), content_type=XLSX),
        "/private.pdf": Answer(
            body=files.prose_pdf("Private", prose("private")),
            content_type=PDF,
            headers=(("X-Robots-Tag", "noindex, noarchive"),),
        ),
        "/many.pdf": Answer(body=many_pages(), content_type=PDF),
        "/bomb.docx": Answer(body=files.docx(files.docx_paragraph("x"), parts=bomb), content_type=DOCX),
        "/locked.pdf": Answer(body=files.pdf([[PdfLine(1, 1, "x")]], trailer=files.ENCRYPTED_PDF_TRAILER), content_type=PDF),
        "/broken.pdf": Answer(body=b"%PDF-1.7\n" + b"x" * 999, content_type=PDF),
        "/forbidden.pdf": Answer(body=files.prose_pdf("Forbidden", prose("forbidden")), content_type=PDF),
        "/only-in-the-pdf": page("Behind the report", prose("behind")),
    }
    links = tuple(path for path in files_by_path if path != "/only-in-the-pdf")
    return {"/": page("Library", prose("library"), links=links), **files_by_path}


def stored_bytes(data: Path) -> bytes:
    """All bytes on disk, and all stored blobs uncompressed."""
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


async def test_files_of_a_site_become_pages_and_bad_ones_fail_alone(tmp_path: Path) -> None:
    with serve_site(site(site_files(), "User-agent: *\nDisallow: /forbidden")) as http_server:
        result = await crawl(tmp_path, crawl_settings(http_server.url("/"), discover_sitemaps=False))
    by_path = {url.removeprefix(http_server.origin): document for url, document in (await documents(tmp_path, result)).items()}
    assert {path: document["strategy"] for path, document in by_path.items() if document["strategy"] in {"pdf", "docx"}} == {
        "/report.pdf": "pdf",
        "/download?id=7": "pdf",
        "/keys.pdf": "pdf",
        "/private.pdf": "pdf",
        "/many.pdf": "pdf",
        "/guide.docx": "docx",
        "/notes": "docx",
    }
    assert {by_path[path]["strategy"] for path in ("/old.doc", "/deck.pptx", "/prices.xlsx")} == {"doc", "pptx", "xlsx"}
    assert by_path["/guide.docx"]["markdown"].startswith("# Guide\n\n")
    assert by_path["/prices.xlsx"]["markdown"].startswith("## Prices\n\n| Tea | 3 |")
    assert " ".join(prose("report").split()[:30]) in by_path["/report.pdf"]["markdown"]
    assert by_path["/many.pdf"]["meta"]["note"] == "Only the first 1000 of 10000 pages were read."
    rows = {url.removeprefix(http_server.origin): row for url, row in result.rows.items()}
    assert rows["/only-in-the-pdf"].parent == http_server.url("/report.pdf")
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
    assert "REDACTED" in by_path["/keys.pdf"]["markdown"]
    assert result.run.state == "COMPLETED"
    export = run_cli("export", "latest", "--data", str(tmp_path), "--format", "jsonl")
    pages = {row["url"].removeprefix(http_server.origin): row for row in map(json.loads, export.out.splitlines())}
    assert pages["/report.pdf"]["excerpt"] == pages["/report.pdf"]["text"]
    assert pages["/"]["excerpt"] == ""
    assert SECRET.encode() not in stored_bytes(tmp_path) + export.out.encode()


async def test_a_run_without_documents_does_not_download_them(tmp_path: Path) -> None:
    files_by_path = site_files()
    served = {path: files_by_path[path] for path in ("/", "/report.pdf", "/guide.docx", "/download?id=7")}
    with serve_site(site(served)) as http_server:
        result = await crawl(tmp_path, crawl_settings(http_server.url("/"), discover_sitemaps=False, documents=False))
        rows = {url.removeprefix(http_server.origin): row for url, row in result.rows.items()}
    assert result.kept(http_server.origin) == {"/"}
    assert rows["/report.pdf"].skip_reason == "content_type"
    assert rows["/report.pdf"].detail == "application/pdf: this run reads no documents"
    assert rows["/download?id=7"].skip_reason == "content_type"


async def test_a_file_that_has_not_changed_is_not_read_again(tmp_path: Path) -> None:
    served = {path: answer for path, answer in site_files().items() if path in {"/", "/report.pdf", "/only-in-the-pdf"}}
    with serve_site(site(served)) as http_server:
        await crawl(tmp_path, crawl_settings(http_server.url("/"), discover_sitemaps=False))
        again = await crawl(tmp_path, crawl_settings(http_server.url("/"), discover_sitemaps=False))
    states = again.states(http_server.origin)
    assert (states["/report.pdf"], states["/only-in-the-pdf"]) == ("NOT_MODIFIED", "NOT_MODIFIED")
