"""The command line: stdout, stderr, exit codes."""

from __future__ import annotations

import csv
import io
import json
import os
import signal
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from tests.interfaces.cli import COMMAND, environment, error_line, piped, sitelore

from sitelore.app.demo_site import demo_site


@dataclass(frozen=True)
class Crawled:
    address: str
    data: Path
    summary: dict[str, object]


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Crawled]:
    data = tmp_path_factory.mktemp("cli") / "data"
    with demo_site() as address:
        outputs = [word for kind in ("db", "md", "jsonl", "warc", "llms-txt") for word in ("--output", kind)]
        done = sitelore("crawl", address, "--delay", "0", *outputs, "--data", data, "--json")
        assert done.returncode == 0, done.stderr
        yield Crawled(address, data, json.loads(done.stdout))


def test_the_crawl_of_the_demo_site_has_the_expected_rows(crawled: Crawled) -> None:
    summary = crawled.summary
    assert summary["state"] == "COMPLETED"
    assert summary["pages"] == 10
    assert summary["not_found"] == 1
    assert summary["aliases"] == {"equal_content": 1, "redirect": 1}
    assert isinstance(summary["skipped"], dict)
    assert summary["skipped"]["robots"] == 1


def test_every_output_is_at_the_path_in_the_summary(crawled: Crawled) -> None:
    outputs = crawled.summary["outputs"]
    assert isinstance(outputs, dict)
    assert set(outputs) == {"db", "md", "jsonl", "warc", "llms-txt"}
    assert all(Path(path).exists() for path in outputs.values())
    pages = Path(outputs["md"])
    assert len(list(pages.rglob("*.md"))) == 10
    [article] = pages.glob("*/articles/tables.md")
    text = article.read_text()
    assert "| Status | Meaning" in text
    assert "Contact" not in text.split("---\n", 2)[2], "no menu in the Markdown"


def test_with_json_stdout_has_only_json_and_no_progress_is_shown(crawled: Crawled) -> None:
    done = sitelore("show", "latest", "--json", "--data", crawled.data)
    assert json.loads(done.stdout)["settings"]["seeds"] == [crawled.address]


def test_an_export_is_sorted_and_equal_every_time(crawled: Crawled) -> None:
    first = sitelore("export", "latest", "--format", "json", "--data", crawled.data)
    two = sitelore("export", "latest", "--format", "json", "--data", crawled.data)
    assert first.stdout == two.stdout
    rows = json.loads(first.stdout)
    assert [row["key"] for row in rows] == sorted(row["key"] for row in rows)
    assert str(crawled.summary["run"]) not in first.stdout


def test_a_csv_export_has_a_row_for_every_url(crawled: Crawled) -> None:
    done = sitelore("export", "--format", "csv", "--data", crawled.data)
    assert len(list(csv.DictReader(io.StringIO(done.stdout)))) == crawled.summary["urls"]


def test_comparing_an_export_with_its_run_finds_no_difference(crawled: Crawled, tmp_path: Path) -> None:
    path = tmp_path / "urls.json"
    assert sitelore("export", "--format", "json", "--out", path, "--data", crawled.data).returncode == 0
    assert sitelore("compare", path, "latest", "--data", crawled.data).returncode == 0
    rows = json.loads(path.read_text())
    rows[0]["title"] = "Changed"
    path.write_text(json.dumps(rows[:-1]))
    done = sitelore("compare", path, "latest", "--data", crawled.data)
    assert done.returncode == 1
    assert f"~ {rows[0]['key']}\n    title: " in done.stdout
    assert f"+ {rows[-1]['key']}\n" in done.stdout


def test_explain_names_the_robots_line_that_forbids(crawled: Crawled) -> None:
    done = sitelore("explain", f"{crawled.address}private/drafts", "--json", "--data", crawled.data)
    explanation = json.loads(done.stdout)
    [robots] = [gate for gate in explanation["gates"] if gate["gate"] == "robots"]
    assert explanation["state"] == "SKIPPED"
    assert robots["passed"] is False
    assert "line 2" in robots["rule"]
    assert "✗" in sitelore("explain", f"{crawled.address}private/drafts", "--data", crawled.data).stdout


def test_inspect_follows_an_alias_to_its_page(crawled: Crawled) -> None:
    done = sitelore("inspect", f"{crawled.address}blog/why-crawl", "--data", crawled.data)
    assert "is an alias of" in done.stderr
    assert "Three good reasons" in done.stdout


def test_inspect_explains_why_a_url_is_not_a_page(crawled: Crawled) -> None:
    done = sitelore("inspect", f"{crawled.address}private/drafts", "--data", crawled.data)
    assert done.returncode == 2
    assert "is not a page of run" in error_line(done)


def test_runs_lists_the_run(crawled: Crawled) -> None:
    [run] = json.loads(sitelore("runs", "--json", "--data", crawled.data).stdout)
    assert (run["run"], run["pages"]) == (crawled.summary["run"], 10)
    shown = sitelore("runs", "--data", crawled.data).stdout.splitlines()[1].split()[0]
    assert len(shown) >= 13
    assert str(run["run"]).startswith(shown)
    assert json.loads(sitelore("show", shown, "--json", "--data", crawled.data).stdout)["run"] == run["run"]


def test_a_second_crawl_reports_no_changes(tmp_path: Path) -> None:
    with demo_site() as address:
        first = sitelore("crawl", address, "--delay", "0", "--data", tmp_path, "--json")
        second = sitelore("crawl", address, "--delay", "0", "--data", tmp_path, "--json")
    before, after = json.loads(first.stdout), json.loads(second.stdout)
    assert (after["pages"], after["new"], after["changed"]) == (before["pages"], 0, 0)
    assert after["saved"]["not_modified"] >= 10


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["crawl"], 2, "needs a URL, a --sitemap or --resume"),
        (["crawl", "http://127.0.0.1/", "--max-pages", "-1"], 2, "--max-pages"),
        (["crawl", "./pages/index.html"], 2, "index.html"),
        (["crawl", "http://127.0.0.1/", "--ttl", "soon"], 2, "--ttl: invalid duration 'soon' (use 90s, 30m, 24h or 7d)"),
        (["crawl", "http://127.0.0.1/", "--scope", "world"], 2, "--scope"),
        (["crawl", "http://127.0.0.1/", "--render", "sometimes"], 2, "sometimes"),
        (["crawl", "http://127.0.0.1/", "--domain-config", "none.json"], 2, "cannot read none.json"),
        (["crawl", "--resume"], 2, "no unfinished run"),
        (["crawl", "--nonsense"], 2, "--nonsense"),
        (["nonsense"], 2, "nonsense"),
        (["show", "r9"], 2, "no crawl data in"),
        (["extract", "none.html", "--url", "http://example.com/"], 2, "cannot read none.html"),
        (["extract", "none.html"], 2, "--url"),
        (["compare", "a.json", "b.json"], 2, "a.json"),
    ],
)
def test_a_usage_error_is_one_line_with_the_right_exit_code(
    arguments: list[str], code: int, words: str, tmp_path: Path
) -> None:
    takes_data = arguments[0] in {"crawl", "show", "compare"}
    done = sitelore(*arguments, *(("--data", tmp_path / "data") if takes_data else ()))
    assert done.returncode == code
    assert words in error_line(done)
    assert done.stdout == ""


def test_a_site_that_does_not_respond_fails_the_crawl_with_a_reason(tmp_path: Path) -> None:
    done = sitelore("crawl", "http://127.0.0.1:1/", "--delay", "0", "--data", tmp_path)
    assert done.returncode == 1
    assert "the crawl failed: http://127.0.0.1:1/: cannot connect to 127.0.0.1:1: " in done.stderr.splitlines()[-1]
    assert done.stdout.split()[:2] == ["127.0.0.1:1", "FAILED"]


def test_a_host_name_that_does_not_resolve_brings_a_suggestion(tmp_path: Path) -> None:
    done = sitelore("crawl", "exmaple.invalid", "--data", tmp_path)
    assert "does not resolve" in done.stderr.splitlines()[-1]
    assert "did you mean" not in done.stderr
    with sqlite3.connect(tmp_path / "sitelore.db") as database:
        database.execute("UPDATE sites SET name = 'example.invalid'")
        database.execute("UPDATE runs SET state = 'COMPLETED'")
    done = sitelore("crawl", "exmaple.invalid", "--data", tmp_path)
    assert done.stderr.splitlines()[-1].endswith("; did you mean example.invalid?")
    done = sitelore("crawl", "no-such-name", "--data", tmp_path)
    assert done.stderr.splitlines()[-1].endswith("; did you mean no-such-name.com?")


def test_the_help_of_crawl_has_examples_and_groups_of_options() -> None:
    lines = sitelore("crawl", "--help").stdout.splitlines()
    assert "  sitelore crawl https://example.com --max-pages 50" in lines
    headings = [line for line in lines if line.endswith(":") and not line.startswith(" ")]
    assert headings == [
        "Arguments:", "What to crawl:", "Output:", "What to extract:", "Politeness and speed:", "Access to the site:",
        "Options:",
    ]  # fmt: skip


def test_a_data_directory_that_cannot_be_created_is_a_disk_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    done = sitelore("crawl", "http://127.0.0.1:1/", "--data", tmp_path / "file" / "data")
    assert done.returncode == 3
    assert str(tmp_path) in error_line(done)


def test_a_corrupt_database_is_a_disk_error(tmp_path: Path) -> None:
    (tmp_path / "sitelore.db").write_bytes(b"SQLite format 3\x00" + b"\xff" * 8000)
    done = sitelore("runs", "--data", tmp_path)
    assert done.returncode == 3
    error_line(done)


def test_a_dry_run_fetches_no_page_and_stores_nothing(tmp_path: Path) -> None:
    with demo_site() as address:
        done = sitelore("crawl", address, "--dry-run", "--json", "--data", tmp_path / "data")
    plan = json.loads(done.stdout)
    assert plan["seeds"] == [{"url": address, "allowed": True, "why": "no robots.txt rule matches"}]
    [sitemap] = plan["sitemaps"]
    assert (sitemap["kind"], sitemap["listed"], sitemap["in_scope"]) == ("urlset", 10, 10)
    assert not (tmp_path / "data").exists()


def test_extract_turns_html_into_markdown_without_network_or_state() -> None:
    html = "<title>T</title><nav><a href=/x>menu</a></nav><main><h1>Hi</h1><p>See <a href='/b'>b</a>.</p></main>"
    done = piped("extract", "-", "--url", "http://example.com/a", stdin=html)
    assert done.returncode == 0
    assert "# Hi" in done.stdout
    assert "[b](http://example.com/b)" in done.stdout
    assert "menu" not in done.stdout
    document = json.loads(piped("extract", "--url", "http://example.com/a", "--json", stdin=html).stdout)
    assert document["title"] == "T"


def test_a_stream_of_pages_keeps_its_order_and_survives_bad_lines() -> None:
    lines = [
        json.dumps({"id": n, "url": "http://example.com/", "html": f"<main><p>Number {n} is here.</p></main>"})
        for n in range(40)
    ]
    lines.insert(7, "not json")
    lines.insert(9, json.dumps({"id": "x", "url": "nowhere", "html": ""}))
    done = piped("extract", "--jsonl", stdin="\n".join(lines))
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 1
    assert [answer["id"] for answer in answers if "error" not in answer] == list(range(40))
    assert answers[7]["id"] is None
    assert answers[9]["error"].startswith("bad_url")
    assert set(answers[0]) == {"id", "title", "markdown", "text", "strategy", "links", "cpu_ms"}
    full = json.loads(piped("extract", "--jsonl", "--full", stdin=lines[0]).stdout)
    assert {"structured", "forms", "actions", "meta", "cpu_ms"} <= full.keys()


class BlockingSite(BaseHTTPRequestHandler):
    """An endless chain of pages; from the third page on, responses wait for the test."""

    reached = threading.Event()
    go_on = threading.Event()

    def do_GET(self) -> None:
        number = int(self.path[1:] or 0) if self.path[1:].isdigit() or self.path == "/" else None
        if number is not None and number >= 3:
            self.reached.set()
            self.go_on.wait(30)
        body = (
            b""
            if number is None
            else f"<h1>Page {number}</h1><p>Words on page {number}.</p><a href=/{number + 1}>on</a>".encode()
        )
        self.send_response(404 if number is None or number > 6 else 200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 the name http.server calls
        pass


def test_ctrl_c_drains_and_resume_continues(tmp_path: Path) -> None:
    server = ThreadingHTTPServer(("127.0.0.1", 0), BlockingSite)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_address[1]}/"
    try:
        crawl = subprocess.Popen(
            [*COMMAND, "crawl", address, "--delay", "0", "--json", "--data", str(tmp_path)],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment(), start_new_session=True,
        )  # fmt: skip
        assert BlockingSite.reached.wait(30)
        os.killpg(crawl.pid, signal.SIGINT)  # a terminal sends the signal to the whole process group
        assert crawl.stderr is not None
        assert "stopping" in crawl.stderr.readline()
        BlockingSite.go_on.set()
        out, err = crawl.communicate(timeout=30)
        assert crawl.returncode == 11
        assert "--resume" in err.splitlines()[-1]
        assert "Traceback" not in err
        assert 3 <= json.loads(out)["pages"] < 7
        done = sitelore("crawl", "--resume", "--json", "--data", tmp_path)
        assert done.returncode == 0
        assert json.loads(done.stdout)["pages"] == 7
    finally:
        BlockingSite.go_on.set()
        server.shutdown()
        server.server_close()


def test_a_closed_stdout_pipe_is_not_an_error(crawled: Crawled) -> None:
    export = subprocess.Popen(
        [*COMMAND, "export", "--format", "jsonl", "--data", str(crawled.data)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment(),
    )  # fmt: skip
    assert export.stdout is not None
    assert export.stderr is not None
    export.stdout.close()
    errors = export.stderr.read()
    export.stderr.close()
    export.wait(30)
    assert errors == b""


def test_the_demo_shows_a_page_and_what_to_try_next(tmp_path: Path) -> None:
    done = sitelore("demo", "--data", tmp_path)
    assert done.returncode == 0, done.stderr
    assert "Why crawl at all?" in done.stdout
    assert "sitelore explain http://127.0.0.1:" in done.stdout


def test_doctor_prints_one_line_for_each_check(tmp_path: Path) -> None:
    done = sitelore("doctor", "--data", tmp_path)
    assert done.returncode == 0
    assert all(line.endswith(".") for line in done.stdout.splitlines())
    assert "SQLite" in done.stdout


def test_help_imports_no_heavy_library() -> None:
    code = "import sys; from sitelore.cli.main import main; main(['--help']); print(*sys.modules, file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = {name.partition(".")[0] for name in done.stderr.split()}
    assert not loaded & {"aiohttp", "sqlalchemy", "lxml", "turbohtml", "pydantic", "rich", "asyncio", "msgspec", "yaml"}


def test_a_command_loaded_alone_has_the_same_options_as_in_the_full_app() -> None:
    from typer.main import get_command

    from sitelore.cli.main import COMMANDS, _parser_for, parser

    commands = get_command(parser(COMMANDS)).commands  # type: ignore[attr-defined] # the parser is a group
    assert list(commands) == list(COMMANDS)
    for name, command in commands.items():
        for arguments in ([name, "--help"], ["--debug", name]):
            alone = get_command(_parser_for(arguments)).commands  # type: ignore[attr-defined] # as above
            assert list(alone) == [name]
            assert [each.opts for each in alone[name].params] == [each.opts for each in command.params]
    for arguments in ([], ["--help"], ["--help", "crawl"], ["unknown"]):
        assert list(get_command(_parser_for(arguments)).commands) == list(COMMANDS)  # type: ignore[attr-defined] # as above


def test_the_list_of_commands_has_the_first_line_of_each_help_text() -> None:
    from typer.main import get_command

    from sitelore.cli.help import COMMAND_GROUPS
    from sitelore.cli.main import COMMANDS, parser

    assert sorted(name for names in COMMAND_GROUPS.values() for name in names) == sorted(COMMANDS)
    commands = get_command(parser(COMMANDS)).commands  # type: ignore[attr-defined] # the parser is a group
    for name, (_, summary) in COMMANDS.items():
        assert summary.endswith(".")
        assert commands[name].help.startswith(summary)
    lines = sitelore("--help").stdout.splitlines()
    listed = {tuple(line.split(maxsplit=1)) for line in lines}
    assert {(name, summary) for name, (_, summary) in COMMANDS.items()} <= listed


def test_every_command_and_option_is_documented() -> None:
    reference = (Path(__file__).parents[2] / "docs/reference/cli.md").read_text()
    from typer.main import get_command

    from sitelore.cli.main import COMMANDS, parser

    group = get_command(parser(COMMANDS))
    for name, command in group.commands.items():  # type: ignore[attr-defined] # the parser is a group
        assert f"## {name}\n" in reference
        for parameter in command.params:
            for option in parameter.opts:
                if option.startswith("--") and option != "--help":
                    assert f"`{option}" in reference or f"[{option}" in reference or f" {option} " in reference, (name, option)


def test_every_setting_is_documented() -> None:
    from dataclasses import fields, is_dataclass

    from sitelore.model.settings import CrawlSettings

    reference = (Path(__file__).parents[2] / "docs/reference/settings.md").read_text()
    usual = CrawlSettings()
    for field in fields(CrawlSettings):
        value = getattr(usual, field.name)
        names = [f"{field.name}.{inner.name}" for inner in fields(value)] if is_dataclass(value) else [field.name]
        assert all(f"| `{name}` |" in reference for name in names), names


_INTERRUPTED_TWICE = """
import os, signal
from sitelore.cli import main

def interrupted(**_):
    raise KeyboardInterrupt

def print_during_another(message, code, print_error=main._print_error):
    os.kill(os.getpid(), signal.SIGINT)
    return print_error(message, code)

main._parser_for, main._print_error = lambda _: interrupted, print_during_another
main.run()
"""


def test_another_ctrl_c_during_the_last_message_gives_no_traceback() -> None:
    done = subprocess.run([sys.executable, "-c", _INTERRUPTED_TWICE], capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stderr) == (11, "sitelore: interrupted\n")
