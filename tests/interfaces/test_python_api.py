"""The Python API: `sitelore.crawl`, `crawl_sync`, `extract`, `search` and `Crawler`, against real sites on loopback."""

from __future__ import annotations

import asyncio
import gc
import json
import re
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import aclosing, redirect_stdout
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any

import psutil
import pytest
from tests.support.crawls import ROOT, as_expected, crawl_settings, environment, exported_rows, run_cli
from tests.support.crawls import crawl as crawl_embedded
from tests.support.http_server import Answer, HttpServer, Pages, page, prose, redirect, serve_site, site

import sitelore
from sitelore.app.wiring import embedded
from sitelore.fetch.guard import AddressGuard
from sitelore.fetch.http.client import HttpFetcher
from sitelore.model.errors import BadUrl, CrawlFailed, NoSuchRun
from sitelore.model.response import Fetched, Request, Response
from sitelore.model.settings import CrawlSettings, Scope

FAST: dict[str, Any] = {"pace": {"delay_s": 0.0}, "render": "never", "discover_sitemaps": False}
HTML = """<html lang="en"><title>The mill</title><body><nav><a href="/menu">Menu</a></nav><main><h1>The mill</h1>
<p>The mill stands where the river bends, and its <a href="wheel">wheel</a> has not turned since the flood of that year.</p>
<p>Its owner left for the coast in spring and let the garden grow over the path.</p></main></body></html>"""


def linked_site(count: int) -> Pages:
    """A home page and `count` pages, all of which it links to."""
    pages = {"/": page("Home", prose("home"), links=tuple(f"/p{number}" for number in range(count)))}
    pages |= {f"/p{number}": page(f"Page {number}", prose(f"page {number} of {count}")) for number in range(count)}
    return site(pages)


@pytest.fixture
def http_server() -> Iterator[HttpServer]:
    with serve_site(linked_site(12)) as running:
        yield running


@pytest.fixture
def leaves_nothing_running(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No process, thread, task or temporary directory is left by the test."""
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    processes, threads = _processes(), set(threading.enumerate())
    yield
    gc.collect()
    _, alive = psutil.wait_procs(_processes() - processes, timeout=5)
    assert alive == []
    for thread in set(threading.enumerate()) - threads:
        thread.join(5)
        assert not thread.is_alive(), thread
    assert list(temporary.iterdir()) == []


def _processes() -> set[psutil.Process]:
    return set(psutil.Process().children(recursive=True))


@pytest.mark.usefixtures("leaves_nothing_running")
async def test_pages_have_their_content(http_server: HttpServer) -> None:
    pages = {page.url: page async for page in sitelore.crawl(http_server.url(), **FAST)}
    assert set(pages) == {http_server.url(), *(http_server.url(f"/p{number}") for number in range(12))}
    home, leaf = pages[http_server.url()], pages[http_server.url("/p3")]
    assert (home.title, home.status_code, home.depth, leaf.depth) == ("Home", 200, 0, 1)
    assert home.links == tuple(http_server.url(f"/p{number}") for number in range(12))
    assert leaf.markdown.startswith("# Page 3\n")
    assert prose("page 3 of 12") in leaf.text
    assert leaf.word_count == len(leaf.text.split())
    assert leaf.lang == "en"
    assert leaf.metadata["headings"] == [{"level": 1, "text": "Page 3"}]
    json.dumps(leaf.metadata)


async def test_pages_are_yielded_while_the_crawl_runs(http_server: HttpServer) -> None:
    http_server.slow["/p11"] = 6.0
    arrived = [page.url async for page in sitelore.crawl(http_server.url(), **FAST)]
    assert arrived[0] == http_server.url()
    assert arrived[-1] == http_server.url("/p11")
    async with aclosing(sitelore.crawl(http_server.url(), **FAST)) as pages:
        assert (await anext(pages)).url == http_server.url()
        assert (await anext(pages)).url != http_server.url("/p11")


@pytest.mark.parametrize("limit", [1, 5, 13])
async def test_max_pages_is_exact(http_server: HttpServer, limit: int) -> None:
    assert len([page async for page in sitelore.crawl(http_server.url(), max_pages=limit, **FAST)]) == limit


async def test_duplicates_are_yielded_once_and_do_not_count(tmp_path: Path) -> None:
    same = page("Same", prose("same"))
    variant = page("Own", prose("own") + " variant", head='<link rel="canonical" href="/own">')
    lone = page("Lone", prose("lone"), head='<link rel="canonical" href="/never-linked">')
    pages = {
        "/": page("Home", prose("home"), links=("/a", "/b", "/own?v=1", "/own", "/lone", "/old", "/c", "/d")),
        "/a": same,
        "/b": same,
        "/own?v=1": variant,
        "/own": page("Own", prose("own")),
        "/lone": lone,
        "/old": redirect("/c"),
        "/c": page("C", prose("c")),
        "/d": page("D", prose("d")),
    }
    with serve_site(site(pages)) as http_server:
        for limit in (None, 3, 5):
            data = tmp_path / str(limit)
            urls = [page.url async for page in sitelore.crawl(http_server.url(), data=data, max_pages=limit, **FAST)]
            visited = [url for url, row in exported_rows(data).items() if row["state"] == "VISITED"]
            assert sorted(urls) == sorted(visited)
            assert len(urls) == (limit or 6)


async def test_known_pages_are_yielded_again_although_they_are_not_downloaded(http_server: HttpServer, tmp_path: Path) -> None:
    first = {page.url: page async for page in sitelore.crawl(http_server.url(), data=tmp_path, **FAST)}
    second = {page.url: page async for page in sitelore.crawl(http_server.url(), data=tmp_path, **FAST)}
    assert {url: page.markdown for url, page in second.items()} == {url: page.markdown for url, page in first.items()}
    assert {hit.status for hit in http_server.hits[-13:]} == {304}


async def test_the_crawl_equals_one_of_the_command_line(http_server: HttpServer, tmp_path: Path) -> None:
    await sitelore.Crawler(http_server.url(), data=tmp_path / "api", **FAST).run()
    result = await crawl_embedded(tmp_path / "app", crawl_settings(http_server.url()))
    async with embedded(tmp_path / "api", writing=False) as app:
        run = (await app.ledger.runs(1))[0]
        assert run.state == "COMPLETED"
        rows = {str(row.url): row async for row in app.ledger.rows(run.id)}
    assert as_expected(rows) == as_expected(result.rows)


@pytest.mark.usefixtures("leaves_nothing_running")
@pytest.mark.parametrize("close", ["aclosing", "break"])
async def test_closing_early_stops_the_crawl_and_leaves_nothing_running(close: str, tmp_path: Path) -> None:
    data = tmp_path / "data"
    with serve_site(linked_site(60)) as http_server:
        http_server.delay_s = 0.05
        if close == "aclosing":
            async with aclosing(sitelore.crawl(http_server.url(), data=data, **FAST)) as pages:
                async for _ in pages:
                    break
        else:
            async for _ in sitelore.crawl(http_server.url(), data=data, **FAST):
                break
            while tasks := asyncio.all_tasks() - {asyncio.current_task()}:
                await asyncio.wait(tasks)
        assert asyncio.all_tasks() == {asyncio.current_task()}
        requests = len(http_server.hits)
        assert requests < 50
        await asyncio.sleep(0.3)
        assert len(http_server.hits) == requests
    async with embedded(data, writing=True) as app:
        run = (await app.ledger.runs(1))[0]
        assert run.state == "INTERRUPTED"
        assert [row.url async for row in app.ledger.rows(run.id) if row.claimed_by or row.state == "IN_PROGRESS"] == []


@pytest.mark.usefixtures("leaves_nothing_running")
def test_an_event_loop_that_ends_right_after_a_break_leaves_nothing_running() -> None:
    async def first_url(http_server: HttpServer) -> str:
        async for first in sitelore.crawl(http_server.url(), **FAST):
            return first.url
        return ""

    with serve_site(linked_site(60)) as http_server:
        http_server.delay_s = 0.05
        assert asyncio.run(first_url(http_server)) == http_server.url()
        requests = len(http_server.hits)
        assert requests < 50


@pytest.mark.usefixtures("leaves_nothing_running")
async def test_cancelling_the_caller_stops_the_crawl(tmp_path: Path) -> None:
    with serve_site(linked_site(60)) as http_server:
        http_server.delay_s = 0.05
        crawler, seen = sitelore.Crawler(http_server.url(), data=tmp_path / "data", **FAST), asyncio.Event()
        crawler.on_page(lambda _: seen.set())
        task = asyncio.create_task(crawler.run())
        await seen.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert asyncio.all_tasks() == {asyncio.current_task()}
    async with embedded(tmp_path / "data", writing=True) as app:
        run = (await app.ledger.runs(1))[0]
        assert [row.url async for row in app.ledger.rows(run.id) if row.state == "IN_PROGRESS"] == []


@pytest.mark.usefixtures("leaves_nothing_running")
async def test_a_stopped_crawl_can_be_resumed_by_the_command_line(http_server: HttpServer, tmp_path: Path) -> None:
    async with aclosing(sitelore.crawl(http_server.url(), data=tmp_path / "data", **FAST)) as pages:
        await anext(pages)
    done = await asyncio.to_thread(run_cli, "crawl", "--resume", "--json", "--data", str(tmp_path / "data"))
    assert (done.code, done.summary["pages"]) == (0, 13), done.err


@pytest.mark.usefixtures("leaves_nothing_running")
async def test_a_time_limit_ends_the_iteration() -> None:
    with serve_site(linked_site(60)) as http_server:
        http_server.delay_s = 0.4
        one_at_a_time = FAST | {"pace": {"delay_s": 0.0, "concurrency": 1}}
        pages = sitelore.crawl(http_server.url(), time_limit_s=5.0, **one_at_a_time)
        count = len([page async for page in pages])
    assert 1 <= count < 61


@pytest.mark.usefixtures("leaves_nothing_running")
async def test_a_crawl_without_pages_says_why(tmp_path: Path) -> None:
    with serve_site(site({})) as http_server:
        with pytest.raises(CrawlFailed, match=re.escape(f"no page was kept: {http_server.url()}")):
            await sitelore.Crawler(http_server.url(), **FAST).run()
        origin = http_server.origin
    with pytest.raises(sitelore.SiteloreError, match="connection refused"):
        await sitelore.Crawler(origin, max_retries=0, **FAST).run()


@pytest.mark.parametrize(
    ("name", "hint"),
    [("max_page", " (did you mean 'max_pages'?)"), ("crawl_delay", ""), ("dleay", " (did you mean 'delay'?)")],
)
def test_an_unknown_setting_is_named_before_anything_is_fetched(name: str, hint: str) -> None:
    unknown: dict[str, Any] = {name: 1}
    for start in (sitelore.crawl, sitelore.crawl_sync, sitelore.Crawler):
        with pytest.raises(TypeError, match=re.escape(f"unknown setting {name!r}{hint}")):
            start("http://localhost/", **unknown)


@pytest.mark.parametrize(
    ("settings", "error", "named"),
    [
        ({"pace": {"dleay_s": 1}}, TypeError, "pace.dleay_s"),
        ({"max_pages": "ten"}, ValueError, "max_pages"),
        ({"max_pages": 0}, ValueError, "max_pages"),
        ({"max_depth": -1}, ValueError, "max_depth"),
        ({"scope": "galaxy"}, ValueError, "scope"),
        ({"render": "sometimes"}, ValueError, "render"),
        ({"include": 5}, ValueError, "include"),
    ],
)
def test_a_wrong_value_names_its_setting(settings: dict[str, Any], error: type[Exception], named: str) -> None:
    with pytest.raises(error, match=re.escape(named)):
        sitelore.crawl("http://localhost/", **settings)


def test_a_wrong_url_is_refused() -> None:
    with pytest.raises(BadUrl):
        sitelore.crawl("ftp://example.com/")


def test_settings_are_those_of_the_crawl() -> None:
    crawler = sitelore.Crawler(
        "localhost:1", seeds=["http://localhost:2/"], scope="prefix", include="/docs/*", render="always", pace={"per_host": 2}
    )
    settings = crawler.settings
    assert settings.seeds == ("http://localhost:1/", "http://localhost:2/")
    assert settings.open_origins == ("http://localhost:1", "http://localhost:2")
    assert (settings.scope, settings.include, settings.rendering.mode) == (Scope.PREFIX, ("/docs/*",), "always")
    assert settings.pace == replace(CrawlSettings().pace, per_host=2)
    default = CrawlSettings()
    assert sitelore.Crawler("localhost:1", pace=default.pace, scope=default.scope).settings == replace(
        default, seeds=("http://localhost:1/",), open_origins=("http://localhost:1",)
    )


async def test_scope_depth_and_patterns_apply(http_server: HttpServer) -> None:
    async def urls(**settings: Any) -> set[str]:
        return {
            page.url.removeprefix(http_server.origin) async for page in sitelore.crawl(http_server.url(), **FAST, **settings)
        }

    assert await urls(max_depth=0) == {"/"}
    assert await urls(include=["*/p1*"]) == {"/", "/p1", "/p10", "/p11"}
    assert await urls(exclude="*/p*") == {"/"}


async def test_callbacks_get_every_page(http_server: HttpServer) -> None:
    crawler = sitelore.Crawler(http_server.url(), max_pages=4, **FAST)
    plain: list[str] = []
    awaited: list[str] = []
    crawler.on_page(lambda page: plain.append(page.url))

    @crawler.on_page
    async def on_page(page: sitelore.Page) -> None:
        await asyncio.sleep(0)
        awaited.append(page.url)

    assert await crawler.run() == 4
    assert len(set(plain)) == 4
    assert awaited == plain


@pytest.mark.usefixtures("leaves_nothing_running")
async def test_an_error_in_a_callback_stops_the_crawl(http_server: HttpServer) -> None:
    crawler = sitelore.Crawler(http_server.url(), **FAST)

    @crawler.on_page
    def fail(page: sitelore.Page) -> None:
        raise LookupError(page.url)

    with pytest.raises(LookupError, match=http_server.url()):
        await crawler.run()


class RecordingFetcher:
    """Answers from memory, without a network."""

    def __init__(self, pages: dict[str, str]) -> None:
        self.pages = pages
        self.requested: list[str] = []
        self.is_closed = False

    async def fetch(self, request: Request) -> Fetched:
        self.requested.append(str(request.url))
        html = self.pages.get(str(request.url))
        headers = (("content-type", "text/html; charset=utf-8"),)
        return Response(request.url, 404 if html is None else 200, headers, (html or "").encode())

    async def close(self) -> None:
        self.is_closed = True


@pytest.mark.usefixtures("leaves_nothing_running")
async def test_an_own_fetcher_replaces_the_http_client() -> None:
    fetcher = RecordingFetcher(
        {"https://site.example/": HTML, "https://site.example/wheel": f"<title>Wheel</title><main><p>{prose('wheel')}</main>"}
    )
    pages = [page async for page in sitelore.Crawler("https://site.example/", fetcher=fetcher, **FAST)]
    assert [page.url for page in pages] == ["https://site.example/", "https://site.example/wheel"]
    assert fetcher.requested[0] == "https://site.example/robots.txt"
    assert "https://site.example/menu" in fetcher.requested
    assert fetcher.is_closed


async def test_an_own_fetcher_may_wrap_the_http_client(http_server: HttpServer) -> None:
    class Fetcher:
        def __init__(self) -> None:
            settings = CrawlSettings(open_origins=(http_server.origin,))
            self.http = HttpFetcher(settings, AddressGuard(settings.open_origins, ()))
            self.count = 0

        async def fetch(self, request: Request) -> Fetched:
            self.count += 1
            return await self.http.fetch(request)

        async def close(self) -> None:
            await self.http.close()

    fetcher = Fetcher()
    assert await sitelore.Crawler(http_server.url(), fetcher=fetcher, **FAST).run() == 13
    assert fetcher.count == len(http_server.hits)


async def test_responses_can_be_prepared_before_extraction(http_server: HttpServer, tmp_path: Path) -> None:
    def prepare(response: Response) -> Response:
        return replace(response, body=response.body.replace(b"<h1>", b"<h1>Prepared: "))

    crawler = sitelore.Crawler(http_server.url(), max_pages=3, prepare=prepare, data=tmp_path, **FAST)
    pages = [page async for page in crawler]
    assert len(pages) == 3
    assert all(page.metadata["h1"].startswith("Prepared: ") for page in pages)
    assert all("Prepared: " in page.markdown for page in pages)
    assert sitelore.search("prepared", data=tmp_path)


async def test_an_error_while_a_response_is_prepared_fails_that_page_alone(http_server: HttpServer, tmp_path: Path) -> None:
    def prepare(response: Response) -> Response:
        if response.url.path == "/p3":
            raise LookupError
        return response

    assert await sitelore.Crawler(http_server.url(), prepare=prepare, data=tmp_path, **FAST).run() == 12
    assert exported_rows(tmp_path)[http_server.url("/p3")]["error"] == "internal_error: LookupError"


@pytest.mark.usefixtures("leaves_nothing_running")
def test_crawl_sync_returns_the_pages(http_server: HttpServer) -> None:
    assert len(sitelore.crawl_sync(http_server.url(), max_pages=4, **FAST)) == 4


@pytest.mark.usefixtures("leaves_nothing_running")
async def test_crawl_sync_and_search_work_while_an_event_loop_is_running(http_server: HttpServer, tmp_path: Path) -> None:
    pages = sitelore.crawl_sync(http_server.url(), max_pages=4, data=tmp_path, **FAST)
    assert len(pages) == 4
    assert sitelore.search(pages[1].text.split()[5], data=tmp_path)[0].url == pages[1].url


_IN_A_LOOP = """
import asyncio, sys, threading
import sitelore

async def main():
    sitelore.crawl_sync(sys.argv[1], data=sys.argv[2], render="never", pace={"delay_s": 0.0})

try:
    asyncio.new_event_loop().run_until_complete(main())
except KeyboardInterrupt:
    print("interrupted", threading.active_count())
"""


def test_an_interrupted_crawl_sync_stops_its_thread(tmp_path: Path) -> None:
    with serve_site(linked_site(60)) as http_server:
        http_server.held["/p0"] = 1000  # never, so that the crawl cannot end before the signal
        process = subprocess.Popen(
            [sys.executable, "-c", _IN_A_LOOP, http_server.url(), str(tmp_path)],
            stdout=subprocess.PIPE,
            text=True,
            env=environment(),
        )
        try:
            assert http_server.wait_for_hits(8)
            process.send_signal(signal.SIGINT)
            assert process.communicate(timeout=30)[0].split() == ["interrupted", "1"]
        finally:
            process.kill()
            process.communicate()
    states = {row["url"]: row["state"] for row in exported_rows(tmp_path).values()}
    assert set(states.values()) <= {"VISITED", "QUEUED", "DISCOVERED", "NOT_FOUND"}
    assert states[http_server.url("/p0")] in {"QUEUED", "DISCOVERED"}  # the crawl did not go on


def test_extract_is_sitelore_extract(tmp_path: Path) -> None:
    url = "https://site.example/mill/"
    file = tmp_path / "page.html"
    file.write_text(HTML, encoding="utf-8")
    done = run_cli("extract", str(file), "--url", url, "--full", "--json")
    document = json.loads(done.out)
    for html in (HTML, HTML.encode()):
        page = sitelore.extract(html, url=url)
        assert (page.url, page.title, page.markdown, page.text) == tuple(
            document[n] for n in ("url", "title", "markdown", "text")
        )
        assert (
            page.links
            == tuple(link["url"] for link in document["links"])
            == (
                "https://site.example/menu",
                "https://site.example/mill/wheel",
            )
        )
        assert (page.lang, page.word_count, page.status_code, page.depth) == ("en", document["word_count"], None, 0)
        taken = {"url", "title", "markdown", "text", "lang", "word_count"}
        assert page.metadata == {name: value for name, value in document.items() if name not in taken}
    assert run_cli("extract", str(file), "--url", url).out == page.markdown.rstrip("\n") + "\n"


def test_extract_is_pure() -> None:
    assert sitelore.extract(HTML) == sitelore.extract(HTML)
    assert sitelore.extract(HTML).links[0] == "http://unknown.invalid/menu"
    assert "sk_live" not in str(sitelore.extract(HTML.replace("The mill stands", "sk_live_" + "4eC39HqLyjWDarjtT1zdp7dc")))
    assert sitelore.extract("").markdown == ""


def test_search_finds_what_was_crawled(tmp_path: Path) -> None:
    pages = {
        "/": page("Home", prose("home"), links=("/mill", "/tower")),
        "/mill": Answer(body=HTML.encode()),
        "/tower": page("Tower", prose("tower")),
    }
    with serve_site(site(pages)) as http_server:
        sitelore.crawl_sync(http_server.url(), data=tmp_path, **FAST)
        hits = sitelore.search("river bends", data=tmp_path, limit=3)
    assert hits[0].url == http_server.url("/mill")
    assert hits[0].title == "The mill"
    assert hits[0].citation.startswith(f"{http_server.url('/mill')}#:~:text=")
    assert "river" in hits[0].snippet
    assert hits[0].score > 0
    from_cli = json.loads(run_cli("search", "river bends", "--json", "--limit", "3", "--data", str(tmp_path)).out)
    assert [(hit.url, round(hit.score, 6)) for hit in hits] == [(hit["url"], hit["score"]) for hit in from_cli["hits"]]
    assert len(sitelore.search("home", data=str(tmp_path), limit=1)) == 1


def test_search_where_nothing_was_crawled_says_so_and_creates_nothing(tmp_path: Path) -> None:
    with pytest.raises(NoSuchRun):
        sitelore.search("mill", data=tmp_path / "none")
    assert not (tmp_path / "none").exists()
    with pytest.raises(sitelore.SiteloreError, match="empty"):
        sitelore.search(" ", data=tmp_path)


async def test_search_works_beside_a_running_crawl(http_server: HttpServer, tmp_path: Path) -> None:
    await sitelore.Crawler(http_server.url(), data=tmp_path, **FAST).run()
    word = prose("page 3 of 12").split()[0]
    async with embedded(tmp_path, writing=True):
        sitelore.search(word, data=tmp_path)
    assert sitelore.search(word, data=tmp_path)[0].url == http_server.url("/p3")


def test_functions_stay_functions_when_the_packages_of_their_names_are_imported() -> None:
    code = """
import sys, sitelore
assert "typing" not in sys.modules and "sitelore.api" not in sys.modules
import sitelore.crawl.visit
import sitelore.extract.page
from sitelore.crawl.worker import Worker
from sitelore import crawl, extract
assert sitelore.crawl is crawl and sitelore.extract is extract
assert extract("<main><p>Hello there</p></main>").text == "Hello there"
print(crawl.__name__, sorted(sitelore.__all__) == sorted(set(sitelore.__all__)))
"""
    done = subprocess.run(
        [sys.executable, "-S", "-c", "import site; site.main()\n" + code],
        capture_output=True, text=True, check=False, env=environment(),
    )  # fmt: skip
    assert done.stdout.split() == ["crawl", "True"], done.stderr


def _examples(file: Path) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```$", file.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


@pytest.mark.usefixtures("leaves_nothing_running")
@pytest.mark.parametrize(("name", "count"), [("README.md", 3), ("docs/reference/python.md", 6)])
def test_the_examples_in_the_documentation_work(name: str, count: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    examples = _examples(ROOT / name)
    assert len(examples) == count
    monkeypatch.chdir(tmp_path)
    with serve_site(linked_site(12)) as http_server:
        for example in examples:
            assert "https://example.com" in example or "sitelore.search" in example
            output = StringIO()
            with redirect_stdout(output):
                exec(compile(example.replace("https://example.com", http_server.origin), name, "exec"), {})
            assert output.getvalue().strip(), example


async def test_the_iterator_is_an_async_generator(http_server: HttpServer) -> None:
    pages: AsyncIterator[sitelore.Page] = sitelore.crawl(http_server.url(), max_pages=1, **FAST)
    assert [page.url async for page in pages] == [http_server.url()]
    with pytest.raises(StopAsyncIteration):
        await anext(pages)
