"""Markdown files and JSON Lines appear while a crawl runs, stay after an interruption, and are exact at the end."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from tests.support.crawls import run_cli, start_cli
from tests.support.graph import Graph
from tests.support.http_server import Answer, HttpServer, page, prose, serve_site, site

FLAGS = ("--delay", "0", "--concurrency", "4", "--json")
BOTH = ("--output", "md", "--output", "jsonl")
NEVER = 1_000_000
SHARED = prose("a notice that every page repeats", 30)


def small_site(**others: Answer) -> dict[str, Answer]:
    """Four pages below the start page, one of which the tests hold back, with a block that repeats over all of them."""
    names = ("alpha", "beta", "gamma", "held", *others)
    body = "</p><div class='notice'><p>{}</p></div><p>{}"
    pages = {f"/{name}": page(name, body.format(SHARED, prose(name, 80))) for name in names}
    pages["/"] = page("start", prose("start", 80), links=tuple(f"/{name}" for name in names))
    return pages | {f"/{name}": answer for name, answer in others.items()}


def wait_until(is_true: Callable[[], bool], process: subprocess.Popen[bytes]) -> None:
    """Wait for files of a running crawl. Another process writes them, so there is no event to await."""
    deadline = time.monotonic() + 60
    while not is_true():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.02)


def tree(folder: Path) -> dict[str, bytes]:
    """The Markdown files below a folder, by their path."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*.md"))}


def without_times(files: dict[str, bytes]) -> dict[str, bytes]:
    return {name: re.sub(rb"\nfetched_at: .*", b"", data) for name, data in files.items()}


def host_folder(http_server: HttpServer, data: Path) -> Path:
    return data / "pages" / f"127.0.0.1_{http_server.port}"


def exported_apart(data: Path, out: Path, *options: str) -> dict[str, bytes]:
    """The tree that `sitelore export` writes into an empty folder."""
    done = run_cli("export", "latest", "--format", "md", "--out", str(out), "--data", str(data), *options)
    assert done.code == 0, done.err
    return tree(out)


def jsonl_apart(data: Path) -> bytes:
    done = run_cli("export", "latest", "--format", "jsonl", "--data", str(data))
    assert done.code == 0, done.err
    return done.out.encode()


def test_files_are_on_the_disk_while_the_crawl_still_waits_for_a_page_and_exact_at_the_end(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with serve_site(site(small_site())) as http_server:
        http_server.held["/held"] = NEVER
        with start_cli("crawl", http_server.url(), "--data", str(data), *FLAGS, *BOTH) as process:
            folder = host_folder(http_server, data)
            wait_until(lambda: len(tree(folder)) == 4, process)
            early = tree(folder)
            assert sorted(early) == ["alpha.md", "beta.md", "gamma.md", "index.md"]
            assert prose("alpha", 80).encode() in early["alpha.md"]
            assert SHARED.encode() in early["alpha.md"]
            http_server.held.clear()
            _, err = process.communicate(timeout=60)
            assert process.returncode == 0, err.decode()
    final = tree(data / "pages")
    assert len(final) == 5
    assert final == exported_apart(data, tmp_path / "apart")
    assert not any(SHARED.encode() in text for text in final.values())
    assert (data / "pages" / "pages.jsonl").read_bytes() == jsonl_apart(data)


def test_json_lines_can_be_followed_and_are_replaced_by_the_ordered_file(tmp_path: Path) -> None:
    path = tmp_path / "pages" / "pages.jsonl"
    path.parent.mkdir()
    path.write_bytes(b'{"url": "of an earlier crawl"}\n')
    with path.open("rb") as earlier, serve_site(site(small_site())) as http_server:
        http_server.held["/held"] = NEVER
        with start_cli("crawl", http_server.url(), "--data", str(tmp_path), *FLAGS, "--output", "jsonl") as process:
            wait_until(lambda: path.read_bytes().count(b"\n") == 4, process)
            assert earlier.read() == b'{"url": "of an earlier crawl"}\n'
            with path.open("rb") as followed:
                urls = [json.loads(line)["url"] for line in followed]
                assert urls[0] == http_server.url()
                assert set(urls) == {http_server.url(target) for target in ("/", "/alpha", "/beta", "/gamma")}
                http_server.held.clear()
                assert process.wait(60) == 0
                assert [json.loads(line)["url"] for line in followed] in ([], [http_server.url("/held")])
    assert path.read_bytes() == jsonl_apart(tmp_path)
    assert not list((tmp_path / "pages").rglob("*.md"))


def test_ctrl_c_leaves_the_files_of_the_kept_pages_and_a_resumed_crawl_ends_like_an_undisturbed_one(tmp_path: Path) -> None:
    calm, cut = tmp_path / "calm", tmp_path / "cut"
    graph = Graph(21, 150)
    with serve_site(lambda _: None) as http_server:
        http_server.pages = graph.pages(http_server.origin)
        assert run_cli("crawl", http_server.url(), "--data", str(calm), *FLAGS, *BOTH).code == 0
        http_server.clear_log()
        with start_cli("crawl", http_server.url(), "--data", str(cut), *FLAGS, *BOTH) as process:
            assert http_server.wait_for_hits(40)
            wait_until(lambda: bool(tree(cut / "pages")), process)
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=60)
        assert process.returncode == 11, err.decode()
        assert json.loads(out)["outputs"].keys() >= {"md", "jsonl"}
        left = tree(cut / "pages")
        assert 0 < len(left) < len(tree(calm / "pages"))
        assert left == exported_apart(cut, tmp_path / "apart")
        assert (cut / "pages" / "pages.jsonl").read_bytes() == jsonl_apart(cut)

        done = run_cli("crawl", http_server.url(), "--data", str(cut), *FLAGS, *BOTH, "--resume")
        assert done.code == 0, done.err
    assert without_times(tree(cut / "pages")) == without_times(tree(calm / "pages"))
    assert tree(cut / "pages") == exported_apart(cut, tmp_path / "after")
    assert (cut / "pages" / "pages.jsonl").read_bytes() == jsonl_apart(cut)


def test_the_second_ctrl_c_leaves_the_files_that_were_written_meanwhile(tmp_path: Path) -> None:
    with serve_site(site(small_site())) as http_server:
        http_server.held["/held"] = NEVER
        with start_cli("crawl", http_server.url(), "--data", str(tmp_path), *FLAGS, *BOTH) as process:
            folder = host_folder(http_server, tmp_path)
            wait_until(lambda: len(tree(folder)) == 4, process)
            process.send_signal(signal.SIGINT)
            assert process.stderr is not None
            assert b"stopping" in process.stderr.readline()
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=60)
        assert process.returncode == 11, err.decode()
        assert json.loads(out)["outputs"]["md"] == str(tmp_path / "pages")
        assert sorted(tree(folder)) == ["alpha.md", "beta.md", "gamma.md", "index.md"]
        http_server.held.clear()
        done = run_cli("crawl", http_server.url(), "--data", str(tmp_path), *FLAGS, *BOTH, "--resume")
        assert done.code == 0, done.err
        assert tree(tmp_path / "pages") == exported_apart(tmp_path, tmp_path / "apart")


def test_a_page_that_turns_out_to_be_a_duplicate_leaves_no_file(tmp_path: Path) -> None:
    twin = page("twin", prose("twin", 80))
    with serve_site(site(small_site(twin=twin, copy=twin))) as http_server:
        http_server.held["/held"] = NEVER
        with start_cli("crawl", http_server.url(), "--data", str(tmp_path), *FLAGS) as process:
            folder = host_folder(http_server, tmp_path)
            wait_until(lambda: {"twin.md", "copy.md"} <= tree(folder).keys(), process)
            http_server.held.clear()
            assert process.wait(60) == 0
    assert len({"twin.md", "copy.md"} & tree(folder).keys()) == 1
    assert tree(tmp_path / "pages") == exported_apart(tmp_path, tmp_path / "apart")


def test_names_that_clash_are_resolved_as_in_an_export_whichever_page_settled_first(tmp_path: Path) -> None:
    pages = small_site(Name=page("upper", prose("upper", 80)), name=page("lower", prose("lower", 80)))
    with serve_site(site(pages)) as http_server:
        http_server.held["/Name"] = NEVER
        with start_cli("crawl", http_server.url(), "--data", str(tmp_path), *FLAGS, "--links", "relative") as process:
            folder = host_folder(http_server, tmp_path)
            wait_until(lambda: "name.md" in tree(folder), process)
            http_server.held.clear()
            assert process.wait(60) == 0
    assert "name.md" not in tree(folder)
    assert tree(tmp_path / "pages") == exported_apart(tmp_path, tmp_path / "apart", "--links", "relative")


def test_a_killed_crawl_leaves_whole_files_and_the_next_crawl_removes_those_of_pages_that_are_gone(tmp_path: Path) -> None:
    pages = small_site()
    with serve_site(site(pages)) as http_server:
        http_server.held["/held"] = NEVER
        with start_cli("crawl", http_server.url(), "--data", str(tmp_path), *FLAGS, *BOTH) as process:
            folder = host_folder(http_server, tmp_path)
            wait_until(lambda: len(tree(folder)) == 4, process)
            os.killpg(process.pid, signal.SIGKILL)
            process.wait(60)
        assert all(text.startswith(b"---\n") and text.endswith(b"\n") for text in tree(folder).values())
        http_server.held.clear()
        http_server.pages = site({target: answer for target, answer in pages.items() if target != "/beta"})
        done = run_cli("crawl", http_server.url(), "--data", str(tmp_path), *FLAGS, *BOTH)
        assert done.code == 0, done.err
    assert sorted(tree(folder)) == ["alpha.md", "gamma.md", "held.md", "index.md"]
    assert tree(tmp_path / "pages") == exported_apart(tmp_path, tmp_path / "apart")


def test_a_folder_that_cannot_be_written_is_reported_while_the_crawl_goes_on(tmp_path: Path) -> None:
    out = tmp_path / "pages"
    out.mkdir()
    with serve_site(site(small_site())) as http_server:
        host_folder(http_server, tmp_path).write_text("not a folder", encoding="utf-8")
        done = run_cli("crawl", http_server.url(), "--data", str(tmp_path / "data"), "--out", str(out), *FLAGS)
        assert done.code == 3, done.err
        assert len(http_server.targets()) >= 5
    lines = done.err.splitlines()
    assert lines[0].startswith("note: no files are written until the crawl ends: cannot write")
    assert lines[-1].startswith("sitelore: cannot write")
