"""What a person can get wrong, and what a machine can: one clear sentence, the right exit code, no traceback, nothing lost."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
from pathlib import Path

import pytest
from tests.support.journey import COMMAND, Finished, command, environment, exported_rows, started
from tests.support.serve import Pages, page, prose, serving, site


def _site(count: int = 3) -> Pages:
    names = tuple(f"/{prose(str(i), 1)}" for i in range(count))
    return site({"/": page("Home", prose("home"), links=names), **{n: page(n, prose(n, 400)) for n in names}})


def _says(done: Finished, code: int, *words: str) -> None:
    """One sentence that holds one of the words, the exit code, and nothing a programmer would have to read."""
    assert done.code == code, f"exit {done.code}: {done.err}"
    assert "Traceback" not in done.err
    assert "sqlalchemy" not in done.err.lower()
    sentences = [line for line in done.err.strip().splitlines() if line.strip()]
    assert sentences
    assert any(word.lower() in done.err.lower() for word in words), done.err


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
def test_what_is_no_url_is_a_usage_error_and_leaves_no_run(typed: str, word: str, tmp_path: Path) -> None:
    _says(command("crawl", typed, "--data", str(tmp_path / "d"), "--json"), 2, word)
    assert not list((tmp_path / "d").glob("**/*.md"))


def test_a_host_that_does_not_exist_fails_the_run_with_its_name(tmp_path: Path) -> None:
    done = command("crawl", "http://no-such-host.invalid/", "--data", str(tmp_path), "--json", "--delay", "0")
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
def test_a_value_that_makes_no_sense_is_a_usage_error_that_names_it(flags: tuple[str, str], tmp_path: Path) -> None:
    done = command("crawl", "http://127.0.0.1:9/", *flags, "--data", str(tmp_path / "d"), "--json")
    _says(done, 2, flags[0], flags[1])
    assert not (tmp_path / "d" / "sitelore.db").exists()


def test_nothing_to_crawl_is_a_usage_error(tmp_path: Path) -> None:
    _says(command("crawl", "--data", str(tmp_path), "--json"), 2, "URL", "sitemap")


def test_an_unknown_run_is_a_usage_error(tmp_path: Path) -> None:
    with serving(_site()) as web:
        assert command("crawl", web.url(), "--data", str(tmp_path), "--json", "--delay", "0").code == 0
    _says(command("export", "nonesuch", "--format", "json", "--data", str(tmp_path)), 2, "nonesuch")


def test_a_data_directory_without_a_crawl_says_so(tmp_path: Path) -> None:
    done = command("export", "latest", "--format", "json", "--data", str(tmp_path / "none"))
    assert done.code in {2, 3}, done.err
    assert "Traceback" not in done.err
    assert done.err.strip()


def test_a_data_directory_below_a_file_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    _says(command("crawl", "http://127.0.0.1:9/", "--data", str(tmp_path / "file" / "data"), "--json"), 3, "file")


def test_a_data_directory_that_takes_no_files_cannot_be_written() -> None:
    _says(command("crawl", "http://127.0.0.1:9/", "--data", "/proc/sitelore", "--json"), 3, "/proc/sitelore")


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
    _says(
        command("crawl", "http://127.0.0.1:9/", "--domain-config", str(config), "--data", str(tmp_path / "d"), "--json"),
        2,
        word,
    )


def test_a_config_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    missing = str(tmp_path / "nothing.json")
    _says(
        command("crawl", "http://127.0.0.1:9/", "--domain-config", missing, "--data", str(tmp_path), "--json"),
        2,
        "nothing.json",
    )


@pytest.mark.parametrize("damage", ["noise", "header", "middle", "truncated"])
def test_a_corrupt_database_is_a_disk_error_and_is_not_touched(damage: str, tmp_path: Path) -> None:
    with serving(_site(40)) as web:
        assert command("crawl", web.url(), "--data", str(tmp_path), "--json", "--delay", "0").code == 0
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
        done = command("crawl", web.url(), "--data", str(tmp_path), "--json", "--delay", "0")
    _says(done, 3, "sitelore.db", str(tmp_path))


def test_a_full_disk_ends_with_a_sentence_and_what_was_settled_is_kept(tmp_path: Path) -> None:
    """A limit on the size of files stands for the disk: writes fail beyond it, as they do when no room is left."""

    def small_disk() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (600_000, 600_000))

    with serving(_site(900)) as web:
        ran = subprocess.run(
            [*COMMAND, "crawl", web.url(), "--data", str(tmp_path), "--json", "--delay", "0"],
            capture_output=True, preexec_fn=small_disk, timeout=100, env=environment(), check=False,
        )  # fmt: skip
        _says(Finished(ran.returncode, ran.stdout.decode(), ran.stderr.decode()), 3, "room", "disk", "full")
        fetched = len(web.targets())
        done = command("crawl", web.url(), "--data", str(tmp_path), "--json", "--delay", "0", "--resume")
        assert done.code == 0, done.err
        assert done.summary["pages"] == 901
        assert len(web.targets()) <= 901 + 8 + 2 * 64
        assert 0 < fetched < 901 + 8 + 2 * 64


def test_two_crawls_into_one_directory_do_not_mix(tmp_path: Path) -> None:
    with serving(_site(5)) as web:
        web.delay_s = 1.0
        with started("crawl", web.url(), "--data", str(tmp_path), "--json") as first:
            assert web.wait_for_hits(1)
            _says(command("crawl", web.url(), "--data", str(tmp_path), "--json"), 3, "another")
            web.delay_s = 0.0
            first.communicate(timeout=60)
        assert first.returncode == 0
