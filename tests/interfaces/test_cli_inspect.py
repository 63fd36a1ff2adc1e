"""`inspect` shows how a page was read; `extract` reads files and streams of pages."""

from __future__ import annotations

import io
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from rich.console import Console
from tests.interfaces.cli import piped, sitelore

from sitelore.app.demo_site import demo_site
from sitelore.cli.commands.inspect import show
from sitelore.crawl import extraction_pool
from sitelore.extract.inspection import Block, Cut, Inspection, inspect
from sitelore.model.document import Reading, ReadOptions
from sitelore.model.response import Response
from sitelore.model.url import Url

MENU = "<nav><a href=/x>Menu entry</a></nav>"
HTML = (
    f"<title>T</title><meta name=author content=Ann>{MENU}<main><h1>Top</h1><p>The words of the page, quite a few of them.</p>"
    "<div class=cta>Buy it now</div></main><footer>Fine print</footer>"
)


@pytest.fixture
def page(tmp_path: Path) -> Path:
    path = tmp_path / "page.html"
    path.write_text(HTML)
    return path


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    data = tmp_path_factory.mktemp("inspect") / "data"
    with demo_site() as address:
        assert sitelore("crawl", address, "--delay", "0", "--output", "db", "--data", data, "--json").returncode == 0
        yield address, data


def drawn(width: int) -> str:
    blocks = (
        Block("kept words", 0.9, True, "content"),
        Block("A menu\x1b[2J", 0.05, False, "navigation"),
        Block("More of it", 0.1, False, "navigation"),
        Block("Cookies!", 0.2, False, "hidden"),
    )
    seen = Inspection(Reading(), "main", {"threshold": 0.42}, blocks)
    console = Console(file=io.StringIO(), width=width)
    show(console, {"title": "T", "strategy": "main", "markdown": "kept words\n\nand more"}, seen, 0)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_markdown_and_cuts_are_shown_in_two_columns() -> None:
    lines = [line for line in drawn(120).splitlines() if "kept words" in line]
    assert len(lines) == 1
    assert "navigation" in lines[0]
    assert "threshold 0.42" in drawn(120)


def test_a_narrow_terminal_shows_them_one_below_the_other() -> None:
    text = drawn(80)
    assert text.index("and more") < text.index("0.05 A menu")
    assert not any("kept words" in line and "navigation" in line for line in text.splitlines())


def test_a_reason_is_printed_once_for_all_its_blocks_and_control_characters_are_removed() -> None:
    text = drawn(80)
    assert text.count("navigation") == 1
    assert text.index("navigation") < text.index("More of it") < text.index("hidden") < text.index("Cookies!")
    assert "\x1b" not in text


def cut_units(width: int, lines: int = 0) -> str:
    cuts = (
        Cut("Home Products\x1b[2J About", 12, "nav", "menu"),
        Cut(
            "Related articles: " + "how to crawl politely " * 9,
            1204,
            "div.related",
            "links to other pages, with hardly any text",
        ),
        Cut("Share", 1, "ul.share-buttons", "share bar"),
    )
    console = Console(file=io.StringIO(), width=width)
    show(console, {"title": "T", "markdown": "kept words\n\nand more"}, Inspection(Reading(), "main", cuts=cuts), lines)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


@pytest.mark.parametrize("width", [80, 120])
def test_cuts_are_listed_by_size_with_element_and_reason(width: int) -> None:
    text = cut_units(width)
    assert "cut, largest first" in text
    assert (
        text.index("1,204 words div.related: links") < text.index("12 words nav: menu") < text.index("1 word ul.share-buttons")
    )
    assert "Related articles: how to crawl" in text
    assert all(len(line.rstrip()) <= width for line in text.splitlines())
    assert "\x1b" not in text


def test_many_small_cuts_are_only_counted() -> None:
    text = cut_units(80, lines=2)
    assert "div.related" in text
    assert "share-buttons" not in text
    assert "2 more, 13 words" in text


def test_inspect_reads_a_file_and_lists_its_cuts(page: Path) -> None:
    done = sitelore("inspect", page)
    assert done.returncode == 0
    assert "# Top" in done.stdout
    assert "Menu entry" in done.stdout
    report = json.loads(sitelore("inspect", page, "--url", "https://site.example/a", "--json").stdout)
    assert (report["url"], report["author"], report["strategy"]) == (
        "https://site.example/a",
        "Ann",
        report["strategy"] or None,
    )
    kept_by_text = {block["text"]: block["kept"] for block in report["blocks"]}
    assert (
        kept_by_text["Menu entry"],
        kept_by_text["Fine print"],
        kept_by_text["The words of the page, quite a few of them."],
    ) == (False, False, True)
    assert all(0 <= block["score"] <= 1 and block["reason"] for block in report["blocks"])
    assert report["scores"]
    cuts = [(cut["text"], cut["words"], cut["element"]) for cut in report["cuts"]]
    assert cuts == [("Menu entry", 2, "nav"), ("Fine print", 2, "footer")]
    assert all(cut["reason"] for cut in report["cuts"])


def test_a_domain_s_rules_can_be_tried_on_a_file(page: Path, tmp_path: Path) -> None:
    rules = tmp_path / "rules.yaml"
    rules.write_text("domain: site.example\nmainContentSelectors: [footer]\n")
    report = json.loads(sitelore("inspect", page, "--domain-config", rules, "--json").stdout)
    assert (report["markdown"], report["strategy"]) == ("# T\n\nFine print", "override")
    other = json.loads(sitelore("inspect", page, "--domain-config", rules, "--url", "http://other.example/", "--json").stdout)
    assert other["strategy"] != "override"
    rules.write_text("domain: site.example\nremoveSelectors: [.cta]\n")
    assert "Buy it now" not in json.loads(sitelore("inspect", page, "--domain-config", rules, "--json").stdout)["markdown"]
    rules.write_text("domain: site.example\nremoveSelectors: ['.cta[']\n")
    done = sitelore("inspect", page, "--domain-config", rules)
    assert (done.returncode, "removeSelectors, item 1: '.cta[' is not a CSS selector" in done.stderr) == (2, True)


def test_a_crawled_page_is_read_again_from_its_snapshot(crawled: tuple[str, Path], tmp_path: Path) -> None:
    address, data = crawled
    report = json.loads(sitelore("inspect", f"{address}articles/why-crawl", "--data", data, "--json").stdout)
    assert report["crawl_status"] == "OK"
    assert {True, False} == {block["kept"] for block in report["blocks"]}
    rules = tmp_path / "rules.json"
    rules.write_text(json.dumps({"domain": Url.trusted(address).host, "mainContentSelectors": ["h1"]}))
    again = json.loads(
        sitelore("inspect", f"{address}articles/why-crawl", "--data", data, "--domain-config", rules, "--json").stdout
    )
    assert again["strategy"] == "override"
    assert again["markdown"].startswith("# ")
    assert len(again["markdown"]) < len(report["markdown"])


def test_a_page_without_a_run_is_fetched_and_not_stored(crawled: tuple[str, Path], tmp_path: Path) -> None:
    address, _ = crawled
    done = sitelore("inspect", f"{address}articles/why-crawl", "--data", tmp_path / "none")
    assert done.returncode == 0
    assert "fetching it now, without storing it" in done.stderr
    assert "Three good reasons" in done.stdout
    assert not (tmp_path / "none").exists()
    assert sitelore("inspect", f"{address}private/drafts", "--data", tmp_path / "none").returncode == 1
    assert sitelore("inspect", f"{address}nowhere", "--data", tmp_path / "none").returncode == 1


def test_inspecting_a_response_that_is_not_a_page_gives_a_one_line_error(tmp_path: Path) -> None:
    picture = tmp_path / "picture.html"
    picture.write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(100))
    done = sitelore("inspect", picture)
    assert done.returncode == 1
    assert "image/png" in done.stderr


@pytest.mark.parametrize(("head", "strategy"), [("", "documentation"), ("<meta property=og:title content=Trip>", "learned")])
def test_every_block_of_a_long_page_has_its_score(tmp_path: Path, head: str, strategy: str) -> None:
    sentences = "".join(
        f"<p>Paragraph {n} tells in one plain sentence what happened on day {n} of a long trip.</p>" for n in range(20)
    )
    entries = "".join(f"<li><a href=/{n}>Section {n}</a>" for n in range(20))
    path = tmp_path / "long.html"
    path.write_text(
        f"<title>Trip</title>{head}<nav class=top><ul>{entries}</ul></nav><article><h1>Trip</h1>{sentences}</article>"
        "<footer>Imprint</footer>"
    )
    report = json.loads(sitelore("inspect", path, "--json").stdout)
    scores = {block["text"]: block["score"] for block in report["blocks"]}
    assert report["strategy"] == strategy
    assert scores["Paragraph 7 tells in one plain sentence what happened on day 7 of a long trip."] > scores["Section 7"]
    assert "kept_share" in report["scores"]
    assert ({"threshold", "expected_f1"} <= report["scores"].keys()) == (strategy == "learned")
    assert "Section 7" not in report["markdown"]


def test_cuts_contain_no_secret() -> None:
    key = "AKIA" + "IOSFODNN7EXAMPLQ"
    body = f"<nav>{key} and {key.replace('A', '&#65;', 1)}</nav><main><p>text</main>".encode()
    url = Url.parse("http://site.example/")
    assert url is not None
    seen = inspect(Response(url, 200, (("content-type", "text/html"),), body), ReadOptions())
    assert seen.blocks
    assert not any(key in block.text for block in seen.blocks)


def lines(numbers: range, size: int = 10) -> str:
    rows = [
        {"id": n, "url": "http://site.example/", "html": f"<main><p>Number {n}. {'word ' * size}</p></main>"} for n in numbers
    ]
    return "\n".join(map(json.dumps, rows)) + "\n"


def extract_lines(stdin: str, *options: str) -> subprocess.CompletedProcess[str]:
    return piped("extract", "--jsonl", *options, stdin=stdin)


def test_a_huge_line_and_blank_ones_are_read_in_order() -> None:
    stdin = lines(range(3)) + "\n  \n" + lines(range(3, 4), 1_000_000) + lines(range(4, 30))
    done = extract_lines(stdin)
    assert done.returncode == 0, done.stderr
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert [answer["id"] for answer in answers] == list(range(30))
    assert len(answers[3]["text"]) > 4_000_000
    assert all(answer["cpu_ms"] > 0 for answer in answers)


def test_bad_lines_get_an_error_and_the_others_are_read() -> None:
    bad = [
        "{",
        "[1]",
        '{"id": 7}',
        '{"id": 8, "url": "ftp://x", "html": ""}',
        '{"id": 9, "url": "http://a.b/", "html": 5}',
        '"x"',
    ]
    done = extract_lines("\n".join(bad) + "\n" + lines(range(2)))
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 1
    assert [answer["id"] for answer in answers] == [None, None, 7, 8, 9, None, 0, 1]
    assert all("error" in answer for answer in answers[:6])
    assert "error" not in answers[6]
    assert "6 pages failed" in done.stderr


def test_full_output_has_all_fields_of_a_page() -> None:
    html = f"<html lang=en><meta property=article:published_time content=2024-05-06>{HTML}"
    [line] = extract_lines(json.dumps({"id": "a", "url": "http://site.example/", "html": html}), "--full").stdout.splitlines()
    record = json.loads(line)
    assert (record["author"], record["published"], record["lang"], record["h1"]) == ("Ann", "2024-05-06", "en", "Top")
    assert record["headings"] == [{"level": 1, "text": "Top"}]
    assert {
        "structured",
        "forms",
        "actions",
        "media",
        "meta",
        "landmarks",
        "canonical_url",
        "word_count",
        "cpu_ms",
    } <= record.keys()


def test_ctrl_c_ends_a_stream_cleanly() -> None:
    process = subprocess.Popen(
        [sys.executable, "-u", "-m", "sitelore", "extract", "--jsonl"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    try:
        process.stdin.write(lines(range(120)).encode())  # less than the capacity of the pipes
        process.stdin.flush()
        first = process.stdout.readline()  # it has read the first lines and waits for more
        os.killpg(process.pid, signal.SIGINT)
        rest, errors = process.communicate(timeout=60)
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
    assert process.returncode == 11
    assert errors.decode().startswith("sitelore: interrupted after ")
    assert b"Traceback" not in errors
    answers = [json.loads(line) for line in (first + rest).splitlines()]
    assert [answer["id"] for answer in answers] == list(range(len(answers)))


LINKS = (
    "<title>T</title><main><h1>Top</h1><p>Some words and <a href=/b/c#d>a link</a> to read, quite a few of them.</p>"
    "<p><img src=/i.png alt='A picture'></p></main>"
)
STYLES = [
    ("absolute", "[a link](http://site.example/b/c#d)", "![A picture](http://site.example/i.png)"),
    ("relative", "[a link](../b/c#d)", "![A picture](http://site.example/i.png)"),
    ("text", "words and a link to", "![A picture](http://site.example/i.png)"),
    ("none", "words and a link to", "\nA picture"),
]


@pytest.mark.parametrize(("style", "link", "image"), STYLES)
def test_extract_writes_links_in_the_chosen_style(style: str, link: str, image: str, tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    path.write_text(LINKS)
    markdown = sitelore("extract", path, "--url", "http://site.example/a/x", "--links", style).stdout
    assert link in markdown
    assert image in markdown
    stdin = json.dumps({"id": 1, "url": "http://site.example/a/x", "html": LINKS})
    [line] = extract_lines(stdin, "--links", style).stdout.splitlines()
    assert json.loads(line)["markdown"].strip() == markdown.strip()


@pytest.fixture
def zero_time_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extraction_pool, "TIME_LIMIT_S", 0.0)


@pytest.fixture
def low_memory_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extraction_pool, "MEMORY_BYTES", LITTLE_MEMORY)


LITTLE_MEMORY = 400 * 2**20
HUGE = "<main>" + "<p>word <b>of</b> a page</p>" * 1_000_000


@pytest.mark.usefixtures("zero_time_limit")
@pytest.mark.parametrize("command", [("extract", "--url", "http://site.example/"), ("inspect",)])
def test_a_page_that_takes_too_long_is_one_line_and_exit_code_1(command: tuple[str, ...], page: Path) -> None:
    done = sitelore(*command, page)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "sitelore: reading took longer than 0 s\n"


@pytest.mark.usefixtures("low_memory_limit")
@pytest.mark.parametrize("command", [("extract", "--url", "http://site.example/"), ("inspect",)])
def test_a_page_that_takes_too_much_memory_is_one_line_and_exit_code_1(command: tuple[str, ...], tmp_path: Path) -> None:
    path = tmp_path / "huge.html"
    path.write_text(HUGE)
    done = sitelore(*command, path)
    assert (done.returncode, done.stdout) == (1, "")
    assert "memory" in done.stderr.lower()
    assert done.stderr.count("\n") == 1


@pytest.mark.usefixtures("low_memory_limit")
def test_in_a_stream_only_the_page_that_takes_too_much_fails(tmp_path: Path) -> None:
    path = tmp_path / "pages.jsonl"
    path.write_text(lines(range(5)) + json.dumps({"id": 5, "html": HUGE}) + "\n" + lines(range(6, 20)))
    done = sitelore("extract", "--jsonl", path)
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 1
    assert [answer["id"] for answer in answers] == list(range(20))
    assert [answer["id"] for answer in answers if "error" in answer] == [5]
    assert "memory" in answers[5]["error"].lower()


@pytest.mark.usefixtures("zero_time_limit")
def test_in_a_stream_a_page_that_takes_too_long_gets_an_error(tmp_path: Path) -> None:
    path = tmp_path / "pages.jsonl"
    path.write_text(lines(range(3)))
    done = sitelore("extract", "--jsonl", path)
    assert done.returncode == 1
    assert [json.loads(line) for line in done.stdout.splitlines()] == [
        {"id": n, "error": "reader_crashed: reading took longer than 0 s"} for n in range(3)
    ]


def test_a_file_or_a_line_that_is_too_large_is_not_read(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sitelore.cli.commands.extract._MAX_BYTES", 150)
    for command in (("extract", "--url", "http://site.example/"), ("inspect",)):
        done = sitelore(*command, page)
        assert done.returncode == 1
        assert "the limit for a page" in done.stderr
    path = tmp_path / "pages.jsonl"
    path.write_text(lines(range(1), 0) + lines(range(1, 2), 100) + lines(range(2, 3), 0))
    answers = [json.loads(line) for line in sitelore("extract", "--jsonl", path).stdout.splitlines()]
    assert ["error" in answer for answer in answers] == [False, True, False]
    assert answers[1]["error"].startswith("too_large: ")


def test_json_that_is_nested_too_deep_is_a_bad_line() -> None:
    deep = '{"id": ' + "[" * 100_000 + "]" * 100_000 + ', "html": ""}'
    done = extract_lines(deep + "\n" + lines(range(1)))
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert answers[0]["error"].startswith("bad_line: ")
    assert "error" not in answers[1]
    assert "Traceback" not in done.stderr


def test_a_folder_with_relative_links_can_be_browsed_offline(crawled: tuple[str, Path], tmp_path: Path) -> None:
    _, data = crawled
    done = sitelore("export", "--format", "md", "--links", "relative", "--whole", "--out", tmp_path, "--data", data)
    assert done.returncode == 0, done.stderr
    files = list(tmp_path.rglob("*.md"))
    targets = {(path, target) for path in files for target in re.findall(r"(?<!!)\[[^\]]*\]\(([^)\s#]+)", path.read_text())}
    relative = [(path, target) for path, target in targets if "://" not in target]
    assert relative
    assert all((path.parent / target).is_file() for path, target in relative)
    crawled_urls = {
        row["url"] for row in map(json.loads, sitelore("export", "--format", "jsonl", "--data", data).stdout.splitlines())
    }
    assert not {target for _, target in targets} & crawled_urls, "every link to a crawled page points to its file"


@pytest.mark.parametrize("command", [("crawl", "http://127.0.0.1:9/"), ("export",), ("extract", "--url", "http://a.b/")])
def test_an_unknown_style_of_links_is_refused(command: tuple[str, ...]) -> None:
    done = sitelore(*command, "--links", "footnotes")
    assert done.returncode == 2
    assert "'absolute', 'relative', 'text', 'none'" in done.stderr
