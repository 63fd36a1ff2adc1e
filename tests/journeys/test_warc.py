"""The WARC archive of a real crawl, checked and read by warcio."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.support.crawls import crawl, crawl_settings
from tests.support.http_server import Answer, page, prose, redirect, serve_site, site
from warcio.archiveiterator import ArchiveIterator
from warcio.recordloader import ArcWarcRecord

from sitelore.app.wiring import embedded
from sitelore.export.formats import ExportSource, write_exports
from sitelore.model.frontier import Run

SECRET = "ghp_" + "a1B2" * 9
TWIN = page("Twin", prose("twin"))
HOME = page("Home", prose("home"), links=("/old", "/missing", "/twin-a", "/twin-b", "/cookies"))
HEADERS = (
    ("Server", "test"),
    ("Set-Cookie", "id=k3y-0f-v1s1t0r; Path=/; Secure; HttpOnly; SameSite=Lax"),
    ("X-Auth-Token", "k3y-0f-v1s1t0r"),
    ("X-Debug", f"token {SECRET}"),
)
COOKIES = page("Cookies", prose("cookies"))
PAGES = site(
    {
        "/": HOME,
        "/old": redirect("/new"),
        "/new": page("New", prose("new")),
        "/twin-a": TWIN,
        "/twin-b": TWIN,
        "/cookies": Answer(body=COOKIES.body, headers=HEADERS),
    }
)


async def archive(data: Path, run: Run, out: Path) -> dict[tuple[str, str], ArcWarcRecord]:
    """Export a run and read the archive."""
    async with embedded(data, writing=False) as app:
        await write_exports(ExportSource(run, app.ledger, app.blobs), out, frozenset({"warc"}))
    return checked_records(out / "crawl.warc.gz")


def checked_records(path: Path) -> dict[tuple[str, str], ArcWarcRecord]:
    """Records by type and target, after `warcio check` has passed the file."""
    command = [sys.executable, "-m", "warcio.cli", "check", str(path)]
    checked = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (checked.returncode, checked.stdout) == (0, "")
    records = {}
    with path.open("rb") as file:
        for record in ArchiveIterator(file, check_digests="raise"):
            record.content = record.content_stream().read()
            records[record.rec_type, record.rec_headers.get_header("WARC-Target-URI") or ""] = record
    return records


def status_line(record: ArcWarcRecord) -> str:
    return f"{record.http_headers.protocol} {record.http_headers.statusline}"


async def test_an_archive_holds_pages_errors_redirects_and_duplicates_with_their_heads(tmp_path: Path) -> None:
    with serve_site(PAGES) as http_server:
        first = await crawl(tmp_path / "data", crawl_settings(http_server.url()))
    records = await archive(tmp_path / "data", first.run, tmp_path / "first")
    home, old, missing = (records["response", http_server.url(path)] for path in ("/", "/old", "/missing"))
    assert (status_line(home), home.content) == ("HTTP/1.1 200 OK", HOME.body)
    assert home.http_headers.get_header("etag") is not None
    assert (status_line(old), old.http_headers.get_header("location")) == ("HTTP/1.1 301 Moved Permanently", "/new")
    assert (status_line(missing), missing.content) == ("HTTP/1.1 404 Not Found", b"")
    assert missing.rec_headers.get_header("WARC-Truncated") == "unspecified"
    twin, revisit = records["response", http_server.url("/twin-a")], records["revisit", http_server.url("/twin-b")]
    assert revisit.rec_headers.get_header("WARC-Refers-To") == twin.rec_headers.get_header("WARC-Record-ID")
    answers = [key for key in records if key[0] in {"response", "revisit"}]
    assert len(answers) == len(first.rows)
    assert {url for kind, url in records if kind == "request"} == {url for _, url in answers}
    assert {records[key].rec_headers.get_header("WARC-IP-Address") for key in answers} == {"127.0.0.1"}


async def test_an_archive_holds_no_value_of_a_cookie_no_credential_and_no_secret(tmp_path: Path) -> None:
    with serve_site(PAGES) as http_server:
        result = await crawl(tmp_path / "data", crawl_settings(http_server.url()))
    records = await archive(tmp_path / "data", result.run, tmp_path)
    headers = dict(records["response", http_server.url("/cookies")].http_headers.headers)
    assert headers["server"] == "test"
    assert headers["set-cookie"] == "id=; Secure; HttpOnly; SameSite=Lax"
    assert headers["x-debug"] == "token [REDACTED:github-token]"
    assert "x-auth-token" not in headers
    stored = b"".join(path.read_bytes() for path in (tmp_path / "data").rglob("*") if path.is_file())
    assert b"k3y-0f-v1s1t0r" not in stored
    assert SECRET.encode() not in stored


async def test_a_second_crawl_is_an_archive_of_revisits(tmp_path: Path) -> None:
    with serve_site(PAGES) as http_server:
        await crawl(tmp_path / "data", crawl_settings(http_server.url()))
        second = await crawl(tmp_path / "data", crawl_settings(http_server.url()))
    records = await archive(tmp_path / "data", second.run, tmp_path)
    home = records["revisit", http_server.url("/")]
    assert status_line(home) == "HTTP/1.1 304 Not Modified"
    assert home.rec_headers.get_header("WARC-Profile").endswith("/server-not-modified")
    assert home.rec_headers.get_header("WARC-IP-Address") == "127.0.0.1"
    etag = home.http_headers.get_header("etag")
    assert records["request", http_server.url("/")].http_headers.get_header("if-none-match") == etag


async def test_two_exports_of_one_run_are_equal(tmp_path: Path) -> None:
    with serve_site(PAGES) as http_server:
        result = await crawl(tmp_path / "data", crawl_settings(http_server.url()))
    for name in ("one", "two"):
        await archive(tmp_path / "data", result.run, tmp_path / name)
    assert (tmp_path / "one/crawl.warc.gz").read_bytes() == (tmp_path / "two/crawl.warc.gz").read_bytes()
