"""Wrong input and failing disks give a one-line error, the right exit code, no traceback, and lose nothing."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
from pathlib import Path

import pytest
from tests.support.crawls import COMMAND, CliResult, environment, exported_rows, run_cli, start_cli
from tests.support.http_server import Pages, page, prose, serve_site, site


def _site(count: int = 3) -> Pages:
    names = tuple(f"/{prose(str(i), 1)}" for i in range(count))
    return site({"/": page("Home", prose("home"), links=names), **{n: page(n, prose(n, 400)) for n in names}})


def _assert_error(done: CliResult, code: int, *alternatives: str) -> None:
    """Check the exit code, and that the error is one line with one of the alternatives and no traceback."""
    assert done.code == code, f"exit {done.code}: {done.err}"
    assert "Traceback" not in done.err
    assert "sqlalchemy" not in done.err.lower()
    sentences = [line for line in done.err.strip().splitlines() if line.strip()]
    assert sentences
    assert any(word.lower() in done.err.lower() for word in alternatives), done.err


@pytest.mark.parametrize(
    ("typed", "word"),
    [
        ("ftp://127.0.0.1/", "http"),
        ("/etc/passwd", "URL"),
        ("./page.html", "URL"),
        ("http://", "URL"),
        ("http://[bad/", "URL"),
        ("javascript:alert(1)", "http"),
    ],
)
def test_an_invalid_url_is_a_usage_error_and_creates_no_run(typed: str, word: str, tmp_path: Path) -> None:
    _assert_error(run_cli("crawl", typed, "--data", str(tmp_path / "d"), "--json"), 2, word)
    assert not list((tmp_path / "d").glob("**/*.md"))


def test_a_host_that_does_not_exist_fails_the_run_with_its_name(tmp_path: Path) -> None:
    done = run_cli("crawl", "http://no-such-host.invalid/", "--data", str(tmp_path), "--json", "--delay", "0")
    assert done.code == 1, done.err
    assert "Traceback" not in done.err
    assert "no-such-host.invalid" in done.err
    row = exported_rows(tmp_path)["http://no-such-host.invalid/"]
    assert row["error"].startswith("dns_error") or row["skip_reason"] == "robots_unreachable"


@pytest.mark.parametrize(
    "flags",
    [
        ("--max-pages", "-1"),
        ("--max-pages", "ten"),
        ("--max-depth", "-2"),
        ("--concurrency", "0"),
        ("--delay", "-3"),
        ("--ttl", "soon"),
        ("--scope", "galaxy"),
        ("--output", "papyrus"),
        ("--allow-private", "not an address!"),
    ],
)
def test_an_invalid_value_is_a_usage_error_that_names_it(flags: tuple[str, str], tmp_path: Path) -> None:
    done = run_cli("crawl", "http://127.0.0.1:9/", *flags, "--data", str(tmp_path / "d"), "--json")
    _assert_error(done, 2, flags[0], flags[1])
    assert not (tmp_path / "d" / "sitelore.db").exists()


def test_a_crawl_without_a_url_is_a_usage_error(tmp_path: Path) -> None:
    _assert_error(run_cli("crawl", "--data", str(tmp_path), "--json"), 2, "URL", "sitemap")


def test_an_unknown_run_is_a_usage_error(tmp_path: Path) -> None:
    with serve_site(_site()) as http_server:
        assert run_cli("crawl", http_server.url(), "--data", str(tmp_path), "--json", "--delay", "0").code == 0
    _assert_error(run_cli("export", "nonesuch", "--format", "json", "--data", str(tmp_path)), 2, "nonesuch")


def test_the_error_for_a_data_directory_without_a_crawl_says_so(tmp_path: Path) -> None:
    done = run_cli("export", "latest", "--format", "json", "--data", str(tmp_path / "none"))
    assert done.code in {2, 3}, done.err
    assert "Traceback" not in done.err
    assert done.err.strip()


def test_a_data_directory_below_a_file_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    _assert_error(run_cli("crawl", "http://127.0.0.1:9/", "--data", str(tmp_path / "file" / "data"), "--json"), 3, "file")


def test_a_read_only_data_directory_cannot_be_written() -> None:
    _assert_error(run_cli("crawl", "http://127.0.0.1:9/", "--data", "/proc/sitelore", "--json"), 3, "/proc/sitelore")


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ('{"domain": "x", "mainContentSelector": ["main"]}', "mainContentSelector"),
        ('{"domain": "x", "removeSelectors": 7}', "removeSelectors"),
        ("{not json", "site.json"),
        ('["a list"]', "site.json"),
    ],
)
def test_a_config_file_with_an_unknown_key_or_wrong_value_is_named(text: str, word: str, tmp_path: Path) -> None:
    config = tmp_path / "site.json"
    config.write_text(text)
    _assert_error(
        run_cli("crawl", "http://127.0.0.1:9/", "--domain-config", str(config), "--data", str(tmp_path / "d"), "--json"),
        2,
        word,
    )


def test_a_missing_config_file_is_named(tmp_path: Path) -> None:
    missing = str(tmp_path / "nothing.json")
    _assert_error(
        run_cli("crawl", "http://127.0.0.1:9/", "--domain-config", missing, "--data", str(tmp_path), "--json"),
        2,
        "nothing.json",
    )


@pytest.mark.parametrize("damage", ["noise", "header", "middle", "truncated"])
def test_a_corrupt_database_is_a_disk_error_and_is_not_touched(damage: str, tmp_path: Path) -> None:
    with serve_site(_site(40)) as http_server:
        assert run_cli("crawl", http_server.url(), "--data", str(tmp_path), "--json", "--delay", "0").code == 0
        database = tmp_path / "sitelore.db"
        whole = database.read_bytes()
        damaged = {
            "noise": os.urandom(8192),
            "header": b"\0" * 100 + whole[100:],
            "middle": whole[:4096] + b"\xff" * (len(whole) - 8192) + whole[-4096:],
            "truncated": whole[: len(whole) // 3],
        }[damage]
        for extra in tmp_path.glob("sitelore.db-*"):
            extra.unlink()
        database.write_bytes(damaged)
        done = run_cli("crawl", http_server.url(), "--data", str(tmp_path), "--json", "--delay", "0")
    _assert_error(done, 3, "sitelore.db", str(tmp_path))


def test_a_full_disk_gives_a_one_line_error_and_settled_rows_are_kept(tmp_path: Path) -> None:
    """A limit on file sizes simulates a full disk: writes beyond it fail."""

    def small_disk() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, 1_000_000))

    with serve_site(_site(500)) as http_server:
        ran = subprocess.run(
            [*COMMAND, "crawl", http_server.url(), "--data", str(tmp_path), "--json", "--delay", "0"],
            capture_output=True, preexec_fn=small_disk, timeout=100, env=environment(), check=False,
        )  # fmt: skip
        _assert_error(CliResult(ran.returncode, ran.stdout.decode(), ran.stderr.decode()), 3, "room", "disk", "full")
        fetched = len(http_server.targets())
        done = run_cli("crawl", http_server.url(), "--data", str(tmp_path), "--json", "--delay", "0", "--resume")
        assert done.code == 0, done.err
        assert done.summary["pages"] == 501
        assert len(http_server.targets()) <= 501 + 8 + 2 * 64
        assert 0 < fetched < 501 + 8 + 2 * 64


def test_two_crawls_into_one_directory_do_not_mix(tmp_path: Path) -> None:
    with serve_site(_site(5)) as http_server:
        http_server.delay_s = 1.0
        with start_cli("crawl", http_server.url(), "--data", str(tmp_path), "--json") as first:
            assert http_server.wait_for_hits(1)
            _assert_error(run_cli("crawl", http_server.url(), "--data", str(tmp_path), "--json"), 3, "another")
            http_server.delay_s = 0.0
            first.communicate(timeout=60)
        assert first.returncode == 0
