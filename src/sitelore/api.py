"""The implementation of the public Python API, which `sitelore/__init__.py` documents and exports.

A crawl runs in the embedded application (`app/wiring.py`) in a task of its own. The worker reports each URL that it has
settled; the iterator reads that page from the ledger and yields it.
"""

from __future__ import annotations

import asyncio
import contextlib
import tempfile
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Coroutine, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import AbstractAsyncContextManager, aclosing
from dataclasses import dataclass, field, replace
from inspect import isawaitable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from sitelore.app.config.kinds import Items
from sitelore.model.access import Access
from sitelore.model.errors import (
    CrawlFailed,
    DataDirBusy,
    ExtractionFailed,
    Interrupted,
    OutOfTime,
    SessionEnded,
    UsageError,
)
from sitelore.model.response import Response
from sitelore.model.settings import CrawlSettings, Identity
from sitelore.model.states import KEPT, UNCHANGED, RunState
from sitelore.model.url import Url

if TYPE_CHECKING:
    from sitelore.app.access import AccessOptions
    from sitelore.app.app import App
    from sitelore.model.document import Reading, ReadOptions, SitemapReading
    from sitelore.model.frontier import Run, Settlement, UrlRow
    from sitelore.model.search import Hit, SearchAnswer
    from sitelore.ports import Fetcher, Reader

T = TypeVar("T")

UNKNOWN_URL = "http://unknown.invalid/"
"""The URL of a page that has none (RFC 2606 §2)."""
_DRAIN_S = 2.0
"""How long requests in flight may continue after the iterator was closed."""
_SIGNAL_CHECK_S = 0.2
_READ_AHEAD = 4
"""Pages that are read from the store before the caller asks for them."""


@dataclass(frozen=True, slots=True)
class Page:
    """A page with its content, redacted."""

    url: str
    title: str = ""
    markdown: str = ""
    text: str = ""
    """The plain text of the content."""
    links: tuple[str, ...] = ()
    """Absolute URLs of all distinct links of the page, in page order."""
    status_code: int | None = None
    """The HTTP status; None for a page that was not fetched."""
    depth: int = 0
    """The minimum number of links between the start URL and this page."""
    lang: str = ""
    word_count: int = 0
    metadata: dict[str, Any] = field(default_factory=dict)
    """Everything else: description, dates, author, headings, structured data, forms, media and more."""


@dataclass(frozen=True, slots=True)
class SearchHit:
    """A passage that matches a search query."""

    url: str
    citation: str
    """The URL with a text fragment that leads to the passage."""
    title: str
    headings: tuple[str, ...]
    """The headings above the passage."""
    snippet: str
    text: str
    score: float
    site: str
    lang: str


class Crawler:
    """One crawl: its settings, its hooks, and the iterator over its pages.

    Access to the site: `headers` (a mapping), `cookies` (a mapping, `"a=b; c=d"`, or a `Path` to a file in Netscape format),
    `storage_state` (Playwright's, as a file or a mapping), `auth` (`(user, password)` or `"user:password"`), `bearer`,
    `client_cert` (`"FILE[:KEYFILE]"` or a pair), `ca_file`, `insecure`, `proxy` (a URL or several). None of it is stored.

    `fetcher` replaces the HTTP client. Rate limits and robots.txt still apply; the address guard then checks URLs only, because
    it does not see the connections. It is closed when the crawl ends. `prepare` receives every response before extraction and
    returns the response to extract.
    """

    def __init__(
        self,
        url: str,
        *,
        data: str | Path | None = None,
        fetcher: Fetcher | None = None,
        prepare: Callable[[Response], Response] | None = None,
        headers: Mapping[str, str] | None = None,
        cookies: str | Mapping[str, str] | Path | None = None,
        storage_state: str | Path | Mapping[str, Any] | None = None,
        auth: str | tuple[str, str] | None = None,
        bearer: str | None = None,
        client_cert: str | Path | tuple[str | Path, str | Path] | None = None,
        ca_file: str | Path | None = None,
        insecure: bool = False,
        proxy: str | Sequence[str] | None = None,
        no_proxy: str | Sequence[str] | None = None,
        **settings: Any,
    ) -> None:
        from sitelore.app.access import AccessOptions, SiteOptions

        self.settings = crawl_settings(url, settings)
        site = SiteOptions(
            headers=headers or {},
            cookie=cookies if isinstance(cookies, str | Mapping) else "",
            cookies=str(cookies) if isinstance(cookies, Path) else "",
            storage_state=str(storage_state) if isinstance(storage_state, Path) else storage_state or "",
            auth=auth if isinstance(auth, str) else ":".join(auth or ()),
            bearer=bearer or "",
            client_cert=":".join(map(str, client_cert)) if isinstance(client_cert, tuple) else str(client_cert or ""),
        )
        proxies = [proxy] if isinstance(proxy, str) else proxy or ()
        direct = [no_proxy] if isinstance(no_proxy, str) else no_proxy or ()
        self._access = _access(url, AccessOptions(site, {}, proxies, direct, str(ca_file or ""), insecure))
        self._data = None if data is None else Path(data)
        self._fetcher = fetcher
        self._prepare = prepare
        self._callbacks: list[Callable[[Page], Awaitable[None] | None]] = []

    def on_page(self, callback: Callable[[Page], Awaitable[None] | None]) -> Callable[[Page], Awaitable[None] | None]:
        """Call `callback`, a function or a coroutine function, with every page. Can be used as a decorator."""
        self._callbacks.append(callback)
        return callback

    async def run(self) -> int:
        """Crawl to the end. Returns the number of pages."""
        count = 0
        async for _ in self.pages():
            count += 1
        return count

    def __aiter__(self) -> AsyncIterator[Page]:
        return self.pages()

    async def pages(self) -> AsyncGenerator[Page, None]:
        """Crawl, and yield each page once it is stored. Closing the iterator stops the crawl.

        Raises `CrawlFailed` if the run failed or kept no page.
        """
        pages: asyncio.Queue[Page | None] = asyncio.Queue(_READ_AHEAD)
        # The producer owns the application. It ends cleanly whenever it is cancelled, even by an event loop that shuts down
        # while this generator is still open.
        producer = asyncio.create_task(self._produce(pages))
        try:
            while (page := await pages.get()) is not None:
                for callback in self._callbacks:
                    if isawaitable(result := callback(page)):
                        await result
                yield page
            await producer
        finally:
            producer.cancel()
            await asyncio.wait([producer])

    async def _produce(self, pages: asyncio.Queue[Page | None]) -> None:
        """Crawl, and put each page into the queue; then None, unless cancelled."""
        try:
            with _directory(self._data) as data:
                async with _open_app(data, writing=True) as app:
                    await self._crawl_into(app, pages)
        except Exception:
            await pages.put(None)
            raise
        await pages.put(None)

    async def _crawl_into(self, plain_app: App, pages: asyncio.Queue[Page | None]) -> None:
        settled: asyncio.Queue[Url | None] = asyncio.Queue()
        stop = asyncio.Event()
        app = self._with_hooks(plain_app.with_access(self._access), settled)
        run = await app.create_run(self.settings)
        crawling = asyncio.create_task(_crawl(app, run, stop, settled))
        count = 0
        try:
            async with aclosing(_distinct_pages(app, run, settled)) as rows:
                async for row in rows:
                    await pages.put(await _stored_page(app, row))
                    count += 1
        finally:
            stop.set()
            # Awaited directly: a second cancellation also cancels the crawl, which then still releases its leases.
            run = await crawling
        if run.state is RunState.FAILED or not count:
            raise CrawlFailed(await _failure(app, run))

    def _with_hooks(self, app: App, settled: asyncio.Queue[Url | None]) -> App:
        def on_settled(settlement: Settlement) -> None:
            verdict = settlement.verdict
            if verdict.state in KEPT or verdict.skip_reason in UNCHANGED:
                settled.put_nowait(settlement.lease.url)

        context = app.worker_context
        config = replace(context.config, drain_s=_DRAIN_S)
        return replace(
            app,
            worker_context=replace(context, config=config, on_settled=on_settled),
            fetcher=self._fetcher,
            reader=_PreparedReader(app.reader, self._prepare) if self._prepare else app.reader,
        )


class _PreparedReader:
    """A `Reader` that passes every page through a function before it is extracted."""

    def __init__(self, reader: Reader, prepare: Callable[[Response], Response]) -> None:
        self._reader = reader
        self._prepare = prepare

    async def read(self, response: Response, options: ReadOptions) -> Reading:
        return await self._reader.read(self._prepare(response), options)

    async def read_sitemap(self, response: Response, options: ReadOptions | None = None) -> SitemapReading:
        return await self._reader.read_sitemap(response, options)

    async def close(self) -> None:
        await self._reader.close()


def _access(url: str, options: AccessOptions) -> Access:
    """The access of a crawl. Raises ValueError, naming the argument that is wrong."""
    from sitelore.app.access import access_of_credentials, build_access, check_access
    from sitelore.intake.seeds import user_url_credentials

    credentials = user_url_credentials(url)
    try:
        return check_access(build_access(options).with_other(access_of_credentials([credentials] if credentials else ())))
    except UsageError as problem:
        raise ValueError(f"invalid access: {problem}") from None


def crawl_settings(url: str, settings: Mapping[str, Any]) -> CrawlSettings:
    """The settings of a crawl that starts at `url`. Raises TypeError for an unknown setting, ValueError for a wrong value."""
    from sitelore.app.config import catalogue
    from sitelore.app.config.sources import run_settings
    from sitelore.intake.seeds import parse_user_url

    values: dict[str, Any] = {}
    for key, value in catalogue.flat(settings).items():
        is_one = key in catalogue.BY_NAME and isinstance(catalogue.BY_NAME[key].kind, Items) and isinstance(value, str)
        try:
            values |= catalogue.checked(key, [value] if is_one else value)
        except catalogue.UnknownSetting as problem:
            raise TypeError(str(problem)) from None
        except ValueError as problem:
            raise ValueError(f"{key}: {problem}") from None
    seeds = dict.fromkeys((str(parse_user_url(url)), *values.get("seeds", ())))
    return run_settings(values | {"seeds": tuple(seeds)})


async def _crawl(app: App, run: Run, stop: asyncio.Event, settled: asyncio.Queue[Url | None]) -> Run:
    """Work on the run until it ends, is stopped, or its time has passed. Ends the queue."""
    from sitelore.crawl.context import Progress

    try:
        return await app.crawl(run, Progress(), stop)
    except (Interrupted, OutOfTime, SessionEnded):
        return await app.ledger.run(run.id) or run
    finally:
        settled.put_nowait(None)


async def _distinct_pages(app: App, run: Run, settled: asyncio.Queue[Url | None]) -> AsyncGenerator[UrlRow, None]:
    """The row of each page of the run, once.

    The crawl merges duplicates only when a wave has settled. A page that may be one (it names another canonical URL, or repeats
    the content or identity of an earlier page) waits for the end of the run, when the ledger knows.
    """
    from sitelore.export.rows import is_page

    seen: set[str] = set()
    waiting: list[Url] = []
    while (url := await settled.get()) is not None:
        row = await app.ledger.row(run.id, url)
        if row is None or not is_page(row):
            continue
        keys = _duplicate_keys(row, run.settings)
        if row.canonical not in {None, row.url} or not seen.isdisjoint(keys):
            waiting.append(url)
        else:
            seen |= keys
            yield row
    for url in waiting:
        row = await app.ledger.row(run.id, url)
        if row is not None and is_page(row) and seen.isdisjoint(keys := _duplicate_keys(row, run.settings)):
            seen |= keys
            yield row


def _duplicate_keys(row: UrlRow, settings: CrawlSettings) -> set[str]:
    """Texts that two rows have in common only if they are one page."""
    from sitelore.model.url import identity

    keys = {row.content_hash} if row.content_hash else set()
    return keys | {identity(row.url, settings.identity)} if settings.identity != Identity() else keys


async def _stored_page(app: App, row: UrlRow) -> Page:
    from sitelore.export.pages import document_of, page_of

    return _page(page_of(row, await document_of(row, app.blobs), []))


def _page(values: dict[str, Any]) -> Page:
    """A page from the fields of its document or of an export."""
    own = ("url", "title", "markdown", "text", "lang", "word_count")
    others = {name: value for name, value in values.items() if name not in {*own, "status_code", "depth"}}
    return Page(
        **{name: values[name] for name in own},
        links=tuple(link["url"] for link in values["links"]),
        status_code=values.get("status_code"),
        depth=values.get("depth", 0),
        metadata=others,
    )


async def _failure(app: App, run: Run) -> str:
    from sitelore.crawl.maintenance import seed_problems

    if run.state is RunState.FAILED:
        return f"the crawl failed: {run.error or 'no reason was recorded'}"
    return f"no page was kept: {await seed_problems(app.ledger, run.id)}"


@contextlib.contextmanager
def _directory(data: Path | None) -> Iterator[Path]:
    """The data directory; without one, a temporary directory that is removed at the end."""
    if data is not None:
        yield data
        return
    with tempfile.TemporaryDirectory(prefix="sitelore-") as name:
        yield Path(name)


def _open_app(data: Path, *, writing: bool) -> AbstractAsyncContextManager[App]:
    from sitelore.app.settings import operator_settings
    from sitelore.app.wiring import embedded

    operator = operator_settings()
    return embedded(data, writing=writing, readers=operator.readers, redaction=operator.redaction, access=operator.access)


def crawl_sync(url: str, settings: Mapping[str, Any]) -> list[Page]:
    """Crawl to the end and return the pages."""

    async def collect() -> list[Page]:
        return [page async for page in Crawler(url, **settings)]

    return _run_blocking(collect)


def _run_blocking(work: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Run a coroutine to its end, in another thread if this one already runs an event loop (as in a notebook)."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work())
    started: list[tuple[asyncio.AbstractEventLoop, asyncio.Task[T]]] = []

    async def tracked() -> T:
        task = asyncio.create_task(work())
        started.append((asyncio.get_running_loop(), task))
        return await task

    with ThreadPoolExecutor(1, "sitelore") as executor:
        future = executor.submit(lambda: asyncio.run(tracked()))
        try:
            # The system may deliver SIGINT to any thread, and this one notices it when it wakes up.
            while not wait((future,), timeout=_SIGNAL_CHECK_S).done:
                pass
        except KeyboardInterrupt:
            for loop, task in started:
                with contextlib.suppress(RuntimeError):  # the loop was closed meanwhile
                    loop.call_soon_threadsafe(task.cancel)
            raise
        return future.result()


def html_response(body: bytes, url: Url, content_type: str) -> Response:
    """The response of a server that sent this body."""
    return Response(url=url, status=200, headers=(("content-type", content_type),), body=body)


def extract(html: str | bytes, url: str = UNKNOWN_URL) -> Page:
    """Extract a page in this process."""
    import msgspec

    from sitelore.app.settings import operator_redaction
    from sitelore.extract.packed_document import document_json
    from sitelore.extract.page import read
    from sitelore.intake.seeds import parse_user_url
    from sitelore.model.document import ReadOptions

    is_text = isinstance(html, str)
    body = html.encode("utf-8", "replace") if isinstance(html, str) else html
    response = html_response(body, parse_user_url(url), "text/html; charset=utf-8" if is_text else "text/html")
    try:
        reading = read(response, ReadOptions(keep_snapshot=False, redaction=operator_redaction()))
    except RecursionError:
        raise ExtractionFailed("parse_error: the document is nested too deeply") from None
    return _page(msgspec.json.decode(document_json(reading)))


def search(query: str, data: str | Path, limit: int) -> list[SearchHit]:
    """Search a data directory after updating its index."""
    if not query.strip():
        raise UsageError("the search query is empty; use at least one word")
    answer = _run_blocking(lambda: _search(query, Path(data), limit))
    return [_search_hit(hit) for hit in answer.hits]


async def _search(query: str, data: Path, limit: int) -> SearchAnswer:
    from sitelore.model.search import SearchQuery

    search_query = SearchQuery(query, limit=limit)
    async with _open_app(data, writing=False) as app:  # raises where nothing was crawled, instead of creating the directory
        try:
            async with _open_app(data, writing=True) as writable_app:
                for site in await writable_app.search_service.sites():
                    await writable_app.search_service.refresh(site)
        except DataDirBusy:
            pass  # a crawl is running: search what is indexed
        return await app.search_service.search(search_query)


def _search_hit(hit: Hit) -> SearchHit:
    record = hit.chunk
    return SearchHit(
        url=str(record.url),
        citation=hit.citation,
        title=record.title,
        headings=tuple(record.headings),
        snippet=hit.snippet,
        text=record.text,
        score=hit.score,
        site=record.site_name,
        lang=record.lang,
    )
