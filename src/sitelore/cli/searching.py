"""Search and the index, from the shell."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sitelore.cli.console import data_console, note, note_console, print_json, visible
from sitelore.deploy.opening import open_house
from sitelore.export.search_results import answer_json
from sitelore.model.errors import DataDirBusy, Interrupted, NoSuchRun, UsageError
from sitelore.model.search import Hit, IndexProgress, IndexWritten, SearchAnswer, SearchMode, SearchQuery, SiteIndexStats

if TYPE_CHECKING:
    from rich.text import Text

    from sitelore.crawl.search_service import SearchService, Watch

_KINDS = ("page", "pdf", "docx", "pptx", "xlsx", "doc", "text", "record")


@dataclass(frozen=True, slots=True)
class Question:
    """What was typed."""

    text: str
    limit: int
    sites: tuple[str, ...]
    path: str
    langs: tuple[str, ...]
    kinds: tuple[str, ...]
    since: str | None
    until: str | None
    mode: str
    flagged: bool

    def query(self) -> SearchQuery:
        """The same, judged."""
        if not self.text.strip():
            raise UsageError("a search needs a word at least")
        if self.mode not in set(SearchMode):
            raise UsageError(f"--mode is {self.mode!r}; it takes {', '.join(SearchMode)}")
        for kind in self.kinds:
            if kind not in _KINDS:
                raise UsageError(f"--type is {kind!r}; it takes {', '.join(_KINDS)}")
        return SearchQuery(
            self.text,
            sites=self.sites,
            path=self.path if not self.path or self.path.startswith("/") else f"/{self.path}",
            langs=self.langs,
            kinds=self.kinds,
            since=_day(self.since, "--since"),
            until=_day(self.until, "--until"),
            limit=self.limit,
            mode=SearchMode(self.mode),
            flagged=self.flagged,
        )


def search_data(data: Path, question: Question, *, as_json: bool) -> None:
    """Bring the index up to date, ask it, show what it says."""
    query = question.query()
    answer = asyncio.run(_search(data, query))
    if as_json:
        print_json(answer_json(query, answer))
    else:
        _show(query, answer)


async def _search(data: Path, query: SearchQuery) -> SearchAnswer:
    async with _search_service(data) as (search_service, is_ours):
        shelves = await _shelves(search_service, query.sites)
        if is_ours:
            with _watching() as watch:
                for shelf in shelves:
                    await search_service.refresh(shelf, watch=watch)
        else:
            note("something is being crawled here: pages of that run are searched when it has ended")
        return await search_service.search(query)


@asynccontextmanager
async def _search_service(data: Path) -> AsyncIterator[tuple[SearchService, bool]]:
    """The library, and whether the index may be written: not while a crawl has the directory."""
    try:
        async with open_house(data, writing=False):
            pass  # a directory where nothing was crawled is a complaint, not a new directory
        async with open_house(data, writing=True) as house:
            yield house.search_service, True
            return
    except DataDirBusy:
        pass
    async with open_house(data, writing=False) as house:
        yield house.search_service, False


async def _shelves(search_service: SearchService, names: tuple[str, ...]) -> list[SiteIndexStats]:
    shelves = await search_service.sites()
    known = {shelf.name for shelf in shelves}
    for name in names:
        if name not in known:
            raise NoSuchRun(f"no site is called {name!r}; there is {', '.join(sorted(known)) or 'none'}")
    return [shelf for shelf in shelves if not names or shelf.name in names]


def reindex_data(data: Path, sites: tuple[str, ...], *, fresh: bool, embeddings: bool, as_json: bool) -> None:
    """Everything that is missing in the index, with progress."""
    try:
        told = asyncio.run(_reindex(data, sites, fresh=fresh, embeddings=embeddings))
    except KeyboardInterrupt:
        raise Interrupted("stopped; what was indexed so far is kept, and `sitelore reindex` does the rest") from None
    if as_json:
        print_json(told)
        return
    for one in told["sites"]:
        line = f"{one['site']}: {one['pages']:,} pages, {one['chunks']:,} chunks"
        data_console().print(visible(f"{line}, {one['embedded']:,} with vectors" if told["model"] else line), soft_wrap=True)
        if one["held"]:
            note(f"{one['held']:,} pages look gone, all at once: `sitelore deletions` shows and decides")
    if not told["model"]:
        note("words alone are searched: there is no model for vectors (pip install 'sitelore[embeddings]')")


async def _reindex(data: Path, sites: tuple[str, ...], *, fresh: bool, embeddings: bool) -> dict[str, Any]:
    async with open_house(data, writing=False):
        pass
    async with open_house(data, writing=True) as house:
        search_service = house.search_service
        written: dict[str, IndexWritten] = {}
        texts = 0
        with _watching() as watch:
            for shelf in await _shelves(search_service, sites):
                if fresh:
                    await search_service.search_index.forget(shelf.site)
                written[shelf.name] = await search_service.refresh(shelf, watch=watch)
                if embeddings:
                    texts += await search_service.embed(shelf.site, watch=watch)
        shelves = await _shelves(search_service, sites)
    return {
        "sites": [
            {
                "site": shelf.name,
                "pages": shelf.pages,
                "chunks": shelf.chunks,
                "embedded": shelf.embedded,
                "held": shelf.held,
                "added": written[shelf.name].added,
                "kept": written[shelf.name].kept,
                "dropped": written[shelf.name].dropped,
            }
            for shelf in shelves
        ],
        "model": search_service.model,
        "texts_embedded": texts,
    }


def decide_deletions(data: Path, sites: tuple[str, ...], *, agree: bool, keep: bool, as_json: bool) -> None:
    """Show what is held, or let it go."""
    if agree and keep:
        raise UsageError("--agree and --keep cannot both be meant")
    told = asyncio.run(_deletions(data, sites, agreed=agree if agree or keep else None))
    if as_json:
        print_json(told)
        return
    for name, held in told["sites"].items():
        done = "dropped" if agree else "kept" if keep else "held"
        data_console().print(visible(f"{name}: {held:,} pages {done}"), soft_wrap=True)
    if not told["sites"]:
        note("nothing is held")
    elif not (agree or keep):
        note("--agree drops them from the index, --keep keeps what they last said")


async def _deletions(data: Path, sites: tuple[str, ...], *, agreed: bool | None) -> dict[str, Any]:
    async with open_house(data, writing=False):
        pass
    async with open_house(data, writing=True) as house:
        search_service = house.search_service
        found: dict[str, int] = {}
        for shelf in await _shelves(search_service, sites):
            await search_service.refresh(shelf)
        for shelf in await _shelves(search_service, sites):
            if shelf.held:
                found[shelf.name] = shelf.held
                if agreed is not None:
                    await search_service.search_index.release_held(shelf.site, house.clock(), agreed=agreed)
        return {"sites": found, "agreed": agreed}


def _day(typed: str | None, option: str) -> float | None:
    if typed is None:
        return None
    try:
        moment = datetime.fromisoformat(typed)
    except ValueError:
        raise UsageError(f"{option} is {typed!r}; it takes a date like 2025-01-31") from None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


class _Watching:
    """Progress on stderr: a line that is written over on a terminal, nothing in a pipe until it takes long."""

    def __init__(self) -> None:
        self._console = note_console()
        self._status: Any = None

    def __enter__(self) -> Watch:
        return self._tell

    def __exit__(self, *_: object) -> None:
        if self._status is not None:
            self._status.stop()

    def _tell(self, progress: IndexProgress) -> None:
        if progress.texts:
            said = f"vectors: {progress.texts_done:,} of {progress.texts:,} texts"
        else:
            said = f"indexing: {progress.pages_done:,} of {progress.pages:,} pages, {progress.chunks:,} chunks"
        if not self._console.is_terminal:
            return
        if self._status is None:
            self._status = self._console.status(said)
            self._status.start()
        self._status.update(said)


_watching = _Watching


def _show(query: SearchQuery, answer: SearchAnswer) -> None:
    console = data_console()
    for number, hit in enumerate(answer.hits, 1):
        console.print(_headline(number, hit), soft_wrap=True)
        console.print(_indented(visible(hit.citation)), style="dim", soft_wrap=True)
        console.print(_snippet(hit), soft_wrap=True)
        if hit.card.flags:
            console.print(_indented(f"reads like orders to a machine: {_rules(hit)}"), style="yellow", soft_wrap=True)
        console.print()
    if not answer.hits:
        note("nothing was found" if answer.chunks else "nothing is indexed yet")
    if query.mode is not SearchMode.LEXICAL and answer.mode is SearchMode.LEXICAL and answer.chunks:
        note("by words alone: `sitelore reindex` makes the vectors that meaning is found by")
    elif answer.embedded < answer.chunks and answer.mode is not SearchMode.LEXICAL:
        note(f"{answer.embedded:,} of {answer.chunks:,} chunks have vectors; `sitelore reindex` makes the rest")


def _headline(number: int, hit: Hit) -> Text:
    from rich.text import Text

    card = hit.card
    parts = dict.fromkeys(part for part in (card.title or str(card.url), *card.headings) if part)
    return Text.assemble(f"{number:>2}. ", (visible(" > ".join(parts)), "bold"), (f"  {hit.score:.2f}", "dim"))


def _snippet(hit: Hit) -> Text:
    from rich.text import Text

    shown = Text("    " + visible(hit.snippet))
    for start, end in hit.highlights:
        shown.stylize("bold cyan", start + 4, end + 4)
    return shown


def _indented(text: str) -> str:
    return f"    {text}"


def _rules(hit: Hit) -> str:
    return ", ".join(_unique(flag.rule for flag in hit.card.flags))


def _unique(names: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(names))
