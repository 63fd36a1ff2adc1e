"""What newcomers type wrong: every mistake gives one line that says what failed and what to do, and the right exit code.

Commands run in a directory with `page.html`, `notes.txt` and the directory `folder`; `{url}` is a closed port.
"""

from __future__ import annotations

import shlex
import socket
import sys
from pathlib import Path

import pytest
from tests.interfaces.cli import sitelore

from sitelore import extras

CLOSED = "http://127.0.0.1:9/"
NO_FILE = "No such file or directory"
FILE_PATH = (
    "is a file path, not a URL; read one file with `sitelore extract`, or serve the folder (python3 -m http.server) and crawl "
    "http://localhost:8000/"
)
NOT_FETCHABLE = "is not a URL that can be fetched; check its host name and port"
NO_DISPLAY = (
    "there is no display for a browser window; declare the login with --steps FILE, or log in on another machine and "
    "crawl with --storage-state FILE"
)
USAGE, FAILED, DISK = 2, 1, 3

# (command line, exit code, message)
MISTAKES = [
    # What to crawl
    (
        "crawl",
        USAGE,
        "a crawl needs a URL, a --sitemap or --resume, or a [[site]] in sitelore.toml; for example: sitelore crawl https://example.com",
    ),
    ("https://example.com", USAGE, "no such command 'https://example.com'; did you mean `sitelore crawl https://example.com`?"),
    ("crwal https://example.com", USAGE, "No such command 'crwal'. Did you mean 'crawl'?"),
    ("crawl http//example.com", USAGE, "'http//example.com' has no : after http; did you mean http://example.com?"),
    ("crawl htp://example.com", USAGE, "'htp://example.com' has the scheme htp; did you mean http://example.com?"),
    ("crawl ftp://example.com", USAGE, "'ftp://example.com' has the scheme ftp; only http and https can be crawled"),
    ("crawl http:example.com", USAGE, "'http:example.com' has no // after http:; write http://example.com"),
    ("crawl http://", USAGE, f"'http://' {NOT_FETCHABLE}"),
    ("crawl http://127.0.0.1:99999/", USAGE, f"'http://127.0.0.1:99999/' {NOT_FETCHABLE}"),
    ("crawl ann@example.com", USAGE, "'ann@example.com' is not a URL; type one such as https://example.com/"),
    (
        "crawl 'example.com/a b'",
        USAGE,
        "'example.com/a b' has a space in it; give one URL per argument, and write a space in a path as %20",
    ),
    ("crawl page.html", USAGE, f"'page.html' {FILE_PATH}"),
    ("crawl file:///srv/page.html", USAGE, f"'file:///srv/page.html' {FILE_PATH}"),
    (
        "crawl {url}",
        FAILED,
        (
            "the crawl failed: {url}: cannot connect to 127.0.0.1:9: connection refused; robots.txt could not be read, so "
            "nothing may be fetched (RFC 9309 §2.3.1.4)"
        ),
    ),
    # Values of options
    ("crawl {url} --max-page 5", USAGE, "no such option: --max-page; similar ones: --max-depth, --max-pages"),
    ("show latest extra", USAGE, "unexpected argument: extra"),
    ("crawl {url} --maxpages 5", USAGE, "no such option: --maxpages; did you mean --max-pages?"),
    (
        "crawl {url} --include ''",
        USAGE,
        "--include: invalid pattern '' (use a path such as /docs/, or a pattern such as *.pdf)",
    ),
    (
        "crawl {url} --max-video-mb lots",
        USAGE,
        "--max-video-mb: invalid size 'lots' (use a number of MB, 500KB, 10MB or 16MiB)",
    ),
    (
        "crawl {url} --storage-state notes.txt",
        USAGE,
        "storage_state: notes.txt is not a storage state of Playwright (context.storage_state() writes one)",
    ),
    (
        "crawl {url} --ca-file notes.txt",
        USAGE,
        "ca_file: cannot use notes.txt: it has another format (use a file of PEM certificates)",
    ),
    ("crawl {url} --max-pages ten", USAGE, "--max-pages: invalid number 'ten' (use a whole number from 1 to 1,000,000,000)"),
    ("crawl {url} --max-pages 0", USAGE, "--max-pages: invalid number 0 (use a whole number from 1 to 1,000,000,000)"),
    ("crawl {url} --delay -1", USAGE, "--delay: invalid duration -1.0 (use 0 to 3600 seconds)"),
    ("crawl {url} --delay fast", USAGE, "--delay: invalid duration 'fast' (use seconds, 90s, 30m or 24h)"),
    (
        "crawl {url} --scope site",
        USAGE,
        "--scope: invalid value 'site' (use host, origin, domain or prefix)",
    ),
    ("crawl {url} --ttl banana", USAGE, "--ttl: invalid duration 'banana' (use 90s, 30m, 24h or 7d)"),
    ("crawl {url} --time-limit 10", USAGE, "--time-limit: invalid duration '10' (use 90s, 30m, 24h or 7d)"),
    (
        "crawl {url} --allow-private 10.0.0.0/99",
        USAGE,
        "--allow-private: invalid host '10.0.0.0/99' (use 10.0.0.0/8 or fd00::/8)",
    ),
    ("crawl {url} --auth ann", USAGE, "auth: invalid credentials (use USER:PASSWORD)"),
    ("crawl {url} --header Authorization", USAGE, "header: invalid header (use 'Name: value' in printable ASCII)"),
    # Files and directories
    ("crawl {url} --domain-config absent.json", USAGE, f"cannot read absent.json: {NO_FILE}"),
    ("crawl {url} --cookies absent.txt", USAGE, f"cookies: cannot read absent.txt: {NO_FILE}"),
    ("crawl {url} --out notes.txt", USAGE, "--out: notes.txt is a file, not a directory"),
    ("crawl {url} --data notes.txt", DISK, "notes.txt is a file, not a directory; choose another directory with --data"),
    (
        "crawl {url} --data /proc/nowhere",
        DISK,
        f"cannot write to /proc/nowhere: {NO_FILE}; choose another directory with --data",
    ),
    ("extract page.html", USAGE, "extract needs --url URL, against which the page's links are resolved"),
    ("extract absent.html --url http://x/", USAGE, f"cannot read absent.html: {NO_FILE}"),
    ("inspect folder", USAGE, "folder is a directory; name one file, or a URL"),
    ("restore notes.txt", DISK, "notes.txt is not a backup, or is damaged: file could not be opened successfully"),
    # Runs and sites
    ("crawl --resume", USAGE, "no unfinished run in sitelore-data; crawl without --resume"),
    (
        "show latest",
        USAGE,
        "no crawl data in sitelore-data; run `sitelore crawl URL` first, or name another directory with --data",
    ),
    ("compare one", USAGE, "Missing argument 'B'"),
    ("delete", USAGE, "name runs, or one of --site, --older-than and --tenant"),
    # Servers and logins
    ("backup notes.txt --data folder", USAGE, "notes.txt is a file; name a directory, or a new file that ends in .tar"),
    ("serve --port {busy}", USAGE, "cannot listen on 127.0.0.1:{busy}: Address already in use; choose another port"),
    ("serve --port 99999", USAGE, "Invalid value for '--port': 99999 is not between 0 and 65535"),
    (
        "serve --host 192.0.2.1",
        USAGE,
        (
            "without SITELORE_TOKENS the server listens only on loopback, not on 192.0.2.1; set it, or create a token with "
            "`sitelore token create`"
        ),
    ),
    ("login", USAGE, "login needs a URL, --list or --forget URL; for example: sitelore login https://app.example.com"),
    (
        "login {url}",
        USAGE,
        NO_DISPLAY,
    ),
    ("login --forget {url}", FAILED, "there is no session of http://127.0.0.1:9; `sitelore login --list` shows them"),
]


@pytest.fixture(autouse=True)
def newcomer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty directory with a few files, and no configuration."""
    for name in ("SITELORE_TOKENS", "SITELORE_DATA", "SITELORE_ACCESS", "DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    Path("page.html").write_text("<h1>Page</h1>", encoding="utf-8")
    Path("notes.txt").write_text("notes", encoding="utf-8")
    Path("folder").mkdir()


@pytest.mark.parametrize(("line", "code", "message"), MISTAKES, ids=[line for line, _, _ in MISTAKES])
def test_a_mistake_is_explained(line: str, code: int, message: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as busy:
        port = str(busy.getsockname()[1])
        done = sitelore(*shlex.split(line.replace("{url}", CLOSED).replace("{busy}", port)))
    assert done.stderr.splitlines() == [f"sitelore: {message.replace('{url}', CLOSED).replace('{busy}', port)}"]
    assert done.returncode == code


def test_a_missing_extra_is_named_with_the_command_that_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    sitelore("crawl", CLOSED)  # makes the data directory
    monkeypatch.setattr(extras, "find_spec", lambda name: name == "pip" or None)
    done = sitelore("search", "word")
    assert done.returncode == USAGE
    assert done.stderr.startswith("sitelore: search needs numpy, Stemmer, splintr: ")
    assert done.stderr.endswith(f"{sys.executable} -m pip install 'sitelore[search]'\n")
    monkeypatch.setattr(extras, "find_spec", lambda _: None)  # environments of uv have no pip
    done = sitelore("search", "word")
    assert done.stderr.endswith(f": uv pip install --python {sys.executable} 'sitelore[search]'\n")


def test_half_of_a_scaled_configuration_names_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SITELORE_DATABASE_URL", "postgresql://127.0.0.1:9/none")
    done = sitelore("runs")
    assert done.returncode == USAGE
    assert done.stderr == (
        "sitelore: SITELORE_DATABASE_URL, SITELORE_REDIS_URL and SITELORE_BLOBS_URL must be set together; "
        "missing: SITELORE_REDIS_URL, SITELORE_BLOBS_URL\n"
    )


def test_a_database_of_another_kind_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SITELORE_DATABASE_URL", "mysql://127.0.0.1/none")
    monkeypatch.setenv("SITELORE_REDIS_URL", "redis://127.0.0.1:9")
    monkeypatch.setenv("SITELORE_BLOBS_URL", "file:///nowhere")
    done = sitelore("runs")
    assert done.returncode == USAGE
    assert "only Postgres is supported (use postgresql://user:password@host/database)" in done.stderr
