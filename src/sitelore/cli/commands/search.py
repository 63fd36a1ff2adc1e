"""`sitelore search`, `reindex` and `deletions`: search the crawled pages, and maintain the index behind it."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sitelore.app.wiring import build_app
from sitelore.cli.console import (
    DATA,
    AsJson,
    Data,
    counted,
    data_console,
    data_option,
    note,
    note_console,
    print_json,
    run_async,
    visible,
)
from sitelore.extras import install_command
from sitelore.model.errors import DataDirBusy, DiskFull, Interrupted, NoSuchRun, UsageError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from pathlib import Path

    from rich.text import Text

    from sitelore.app.app import App
    from sitelore.crawl.search.service import SearchService, Watch
    from sitelore.model.search import Hit, IndexProgress, IndexWritten, SearchAnswer, SearchQuery, SiteIndexStats

_URL_STYLE = "blue"
_INDENT = 4
_TYPES = ("page", "pdf", "docx", "pptx", "xlsx", "doc", "text", "record")

Sites = Annotated[
    list[str] | None, typer.Option("--site", metavar="NAME", help="Only this site, as listed by `sitelore runs`. Repeatable.")
]


def search(
    query: Annotated[str, typer.Argument(metavar="QUERY", help="Words or a question.")],
    limit: Annotated[int, typer.Option(min=1, max=100, metavar="N", help="Maximum number of results.")] = 10,
    site: Sites = None,
    path: Annotated[str, typer.Option(metavar="PATH", help="Only pages at or below this path.")] = "",
    lang: Annotated[
        list[str] | None, typer.Option(metavar="LANG", help="Only pages in this language (en, de, …). Repeatable.")
    ] = None,
    kind: Annotated[
        list[str] | None,
        typer.Option("--type", metavar="TYPE", help="Only page, pdf, docx, pptx, xlsx, doc, text or record. Repeatable."),
    ] = None,
    since: Annotated[str | None, typer.Option(metavar="DATE", help="Only pages dated on or after DATE (2025-01-31).")] = None,
    until: Annotated[str | None, typer.Option(metavar="DATE", help="Only pages dated before DATE.")] = None,
    mode: Annotated[
        str, typer.Option(metavar="MODE", help="hybrid, lexical (keywords only) or dense (embeddings only).")
    ] = "hybrid",
    flagged: Annotated[
        bool, typer.Option("--flagged/--no-flagged", help="Include text that looks like prompt injection.")
    ] = True,
    explain: Annotated[
        bool, typer.Option("--explain", help="Show how each score is computed: words, fields and similarity.")
    ] = False,
    as_json: AsJson = False,
    data: Data = DATA,
) -> None:
    """Search the crawled pages. QUERY may contain "phrases", prefix*, site:, path:, lang:, after: and before:."""
    from sitelore.model.search import SearchMode, SearchQuery

    if not query.strip():
        raise UsageError("the search query is empty; use at least one word")
    if mode not in set(SearchMode):
        raise UsageError(f"--mode: unknown mode {mode!r} (use {', '.join(SearchMode)})")
    for name in kind or ():
        if name not in _TYPES:
            raise UsageError(f"--type: unknown type {name!r} (use {', '.join(_TYPES)})")
    search_query = SearchQuery(
        query,
        sites=tuple(site or ()),
        path=path if not path or path.startswith("/") else f"/{path}",
        langs=tuple(lang or ()),
        kinds=tuple(kind or ()),
        since=_parse_date(since, "--since"),
        until=_parse_date(until, "--until"),
        limit=limit,
        mode=SearchMode(mode),
        flagged=flagged,
        explain=explain,
    )
    answer, model = run_async(_search(data, search_query))
    if as_json:
        from sitelore.export.pages import answer_json

        print_json(answer_json(search_query, answer))
    else:
        _show_results(answer)
        _show_missing_embeddings(data, search_query, answer, model)


def reindex(
    site: Sites = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Drop the index and build it again.")] = False,
    embeddings: Annotated[
        bool, typer.Option("--embeddings/--no-embeddings", help="Build embeddings, if a model is installed.")
    ] = True,
    as_json: AsJson = False,
    data: Data = DATA,
) -> None:
    """Update the search index and build embeddings. After an interruption, the next call continues."""
    try:
        result = run_async(_reindex(data, tuple(site or ()), fresh=fresh, embeddings=embeddings))
    except KeyboardInterrupt:
        raise Interrupted(f"interrupted; continue with `sitelore reindex{data_option(data)}`") from None
    if as_json:
        print_json(result)
        return
    for row in result["sites"]:
        line = f"{row['site']}: {counted(row['pages'], 'page')}, {counted(row['chunks'], 'chunk')}"
        data_console().print(
            visible(f"{line}, {row['embedded']:,} with embeddings" if result["model"] else line), soft_wrap=True
        )
        if row["held"]:
            note(
                f"{counted(row['held'], 'page')} disappeared together; review them with `sitelore deletions{data_option(data)}`"
            )
    if not result["model"]:
        note(f"keyword search only; for embeddings, install a model: {install_command('embeddings')}")


def deletions(
    agree: Annotated[bool, typer.Option("--agree", help="The pages are gone: remove them from the index.")] = False,
    keep: Annotated[bool, typer.Option("--keep", help="The pages are not gone: keep their last content.")] = False,
    site: Sites = None,
    as_json: AsJson = False,
    data: Data = DATA,
) -> None:
    """Review mass deletions that were held back."""
    if agree and keep:
        raise UsageError("--agree and --keep exclude each other; use one of them")
    result = run_async(_deletions(data, tuple(site or ()), agreed=agree if agree or keep else None))
    if as_json:
        print_json(result)
        return
    for name, held in result["sites"].items():
        state = "removed" if agree else "kept" if keep else "held back"
        data_console().print(visible(f"{name}: {counted(held, 'page')} {state}"), soft_wrap=True)
    if not result["sites"]:
        note("no deletions are held back")
    elif not (agree or keep):
        note("--agree removes these pages from the index, --keep keeps their last content")


async def _search(data: Path, query: SearchQuery) -> tuple[SearchAnswer, str]:
    """The results, and the name of the embedding model, if one is installed. Needs no lock: a crawl may run meanwhile."""
    async with build_app(data, writing=False) as app:
        service = app.search_service
        from sitelore.crawl.search.service import MAX_PAGES_PER_QUERY  # after the service has checked its libraries

        sites = await _sites(service, query.sites)
        # Beside a crawl only a few pages: its own process indexes the rest.
        most = MAX_PAGES_PER_QUERY if await app.queue.running_runs() else None
        try:
            with _IndexProgress() as watch:
                for site in sites:
                    await service.refresh(site, max_pages=most, watch=watch)
        except DiskFull:
            note(f"{data} cannot be written; pages that are not indexed yet are not searched")
        if waiting := sum(site.waiting for site in await service.sites(query.sites)):
            note(f"{counted(waiting, 'page')} not indexed yet; `sitelore reindex{data_option(data)}` indexes them")
        return await service.search(query, update=False), service.model


@asynccontextmanager
async def _writable_app(data: Path) -> AsyncIterator[App]:
    """The application on an existing data directory, locked for writing."""
    async with build_app(data, writing=False):
        pass  # raises where nothing was crawled, instead of creating the directory
    async with build_app(data, writing=True) as app:
        yield app


async def _sites(service: SearchService, names: tuple[str, ...]) -> list[SiteIndexStats]:
    """The indexed sites with these names, or all of them."""
    sites = await service.sites()
    known = {site.name for site in sites}
    for name in names:
        if name not in known:
            raise NoSuchRun(f"unknown site {name!r}; known sites: {', '.join(sorted(known)) or 'none'}")
    return [site for site in sites if not names or site.name in names]


async def _reindex(data: Path, names: tuple[str, ...], *, fresh: bool, embeddings: bool) -> dict[str, Any]:
    from sitelore.model.search import IndexWritten

    written: dict[str, IndexWritten] = {}
    texts = 0
    with _IndexProgress() as watch:
        try:
            async with _writable_app(data) as app:
                service = app.search_service
                for site in await _sites(service, names) if fresh else ():
                    await service.drop_index(site.site)
                for site in await _sites(service, names):
                    written[site.name] = await service.refresh(site, watch=watch)
        except DataDirBusy:
            if fresh:
                raise
            note(f"another process is writing to {data} and indexes its pages; only embeddings are built")
        # Without the lock, so that crawls can start while embeddings are built, which takes much longer.
        async with build_app(data, writing=False) as app:
            service = app.search_service
            for site in await _sites(service, names) if embeddings else ():
                texts += await service.embed(site.site, watch=watch)
            sites = await _sites(service, names)
    nothing = IndexWritten()
    return {
        "sites": [
            {
                "site": site.name,
                "pages": site.pages,
                "chunks": site.chunks,
                "embedded": site.embedded,
                "held": site.held,
                "added": written.get(site.name, nothing).added,
                "kept": written.get(site.name, nothing).kept,
                "dropped": written.get(site.name, nothing).dropped,
            }
            for site in sites
        ],
        "model": service.model,
        "texts_embedded": texts,
    }


async def _deletions(data: Path, names: tuple[str, ...], *, agreed: bool | None) -> dict[str, Any]:
    async with _writable_app(data) as app:
        service = app.search_service
        held: dict[str, int] = {}
        for site in await _sites(service, names):
            await service.refresh(site)
        for site in await _sites(service, names):
            if site.held:
                held[site.name] = site.held
                if agreed is not None:
                    await service.search_index.release_held(site.site, app.clock(), agreed=agreed)
        return {"sites": held, "agreed": agreed}


def _parse_date(text: str | None, option: str) -> float | None:
    if text is None:
        return None
    from sitelore.times import parse_time

    try:
        return parse_time(text)
    except ValueError:
        raise UsageError(f"{option}: invalid date {text!r} (use a date such as 2025-01-31)") from None


class _IndexProgress:
    """Shows the progress of indexing on stderr; only on a terminal."""

    def __init__(self) -> None:
        self._console = note_console()
        self._status: Any = None

    def __enter__(self) -> Watch:
        return self._show

    def __exit__(self, *_: object) -> None:
        if self._status is not None:
            self._status.stop()

    def _show(self, progress: IndexProgress) -> None:
        if not self._console.is_terminal:
            return
        if progress.texts:
            line = f"embedding: {progress.texts_done:,} of {counted(progress.texts, 'text')}"
        else:
            pages, chunks = counted(progress.pages, "page"), counted(progress.chunks, "chunk")
            line = f"indexing: {progress.pages_done:,} of {pages}, {chunks}"
        if self._status is None:
            self._status = self._console.status(line)
            self._status.start()
        self._status.update(line)


def _show_results(answer: SearchAnswer) -> None:
    from rich.text import Text

    console = data_console()

    def show(text: Text | str, style: str = "", label: str = "") -> None:
        line = text if isinstance(text, Text) else Text(visible(text), style)
        # A terminal gets lines of its width, a pipe one line for each part. A URL stays whole, so that it can be opened.
        lines = line.wrap(console, console.width - _INDENT) if console.is_terminal and style != _URL_STYLE else [line]
        for part in lines:
            console.print(Text(label.ljust(_INDENT)) + part, soft_wrap=True)
            label = ""

    for number, hit in enumerate(answer.hits, 1):
        show(_headline(hit), label=f"{number:>2}. ")
        show(hit.citation, _URL_STYLE)
        show(_snippet(hit))
        if hit.explanation is not None:
            for explanation in _explanation_lines(hit):
                show(explanation, "dim")
        if hit.chunk.flags:
            rules = ", ".join(dict.fromkeys(flag.rule for flag in hit.chunk.flags))
            show(f"possible prompt injection: {rules}", "yellow")
        console.print()
    if not answer.hits:
        note("no results" if answer.chunks else "no pages are indexed yet")
    if answer.suggestion:
        note(f"did you mean: {answer.suggestion}")


def _show_missing_embeddings(data: Path, query: SearchQuery, answer: SearchAnswer, model: str) -> None:
    """Say how to get semantic search where it was requested and embeddings are missing."""
    from sitelore.model.search import SearchMode

    if query.mode is SearchMode.LEXICAL or answer.embedded >= answer.chunks:
        return
    command = f"`sitelore reindex{data_option(data)}`"
    if not model:
        note(f"keyword search only; for embeddings: {install_command('embeddings')}, then {command}")
    elif answer.mode is SearchMode.LEXICAL:
        note(f"keyword search only; run {command} to build embeddings")
    else:
        note(f"{answer.embedded:,} of {counted(answer.chunks, 'chunk')} have embeddings; run {command} to build the rest")


def _headline(hit: Hit) -> Text:
    from rich.text import Text

    chunk = hit.chunk
    # A title mostly says what the first heading says, and the name of the site, which the URL below shows.
    title = "" if chunk.headings and chunk.headings[0] in chunk.title else chunk.title or str(chunk.url)
    parts = dict.fromkeys(part for part in (title, *chunk.headings) if part)
    return Text.assemble((visible(" > ".join(parts)), "bold"), (f"  {hit.score:.2f}", "dim"))


def _explanation_lines(hit: Hit) -> Iterator[str]:
    explanation = hit.explanation
    assert explanation is not None
    words = ", ".join(f"{word.term} {word.score:.2f} ({', '.join(word.fields)})" for word in explanation.words)
    yield f"words {hit.lexical or 0:.2f}: {words or 'none'}"
    if explanation.adjacent:
        yield f"adjacent words: {explanation.adjacent:.2f}"
    yield "meaning: no vector compared" if hit.dense is None else f"meaning: similarity {hit.dense:.2f}"
    if explanation.weight != 1:
        yield f"mostly links: score times {explanation.weight}"


def _snippet(hit: Hit) -> Text:
    from rich.text import Text

    snippet = Text(visible(hit.snippet))
    for start, end in hit.highlights:
        snippet.stylize("bold cyan", start, end)
    return snippet
