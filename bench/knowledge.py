"""Counts texts that are embedded again after edits, noise, deletions and a lost index, on a site of a thousand pages.

    python -m bench.knowledge [--pages 1000] [--refetches 100]

Exits 1 when a figure is missed.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

from tests.support.articles import article, articles, topics
from tests.support.crawls import crawl_in, crawl_settings
from tests.support.http_server import Answer, HttpServer, Pages, serve_site

from sitelore.app.app import App
from sitelore.app.wiring import embedded
from sitelore.model.search import SearchMode, SearchQuery, SiteIndexStats
from sitelore.model.settings import FetchLimits

MODEL = "unused-model"
MOST_EDITED = 3
_NO_VECTOR = b"\x00\x3c" + b"\x00\x00" * 7


async def embed_all(app: App) -> int:
    """Give every text a vector; return how many had none."""
    knowledge = app.search_service.search_index
    texts = await knowledge.texts_to_embed(MODEL, 1_000_000)
    await knowledge.put_vectors(MODEL, [(text.text_hash, _NO_VECTOR) for text in texts])
    return len(texts)


async def recrawl(app: App, http_server: HttpServer, limits: FetchLimits | None = None) -> SiteIndexStats:
    settings = crawl_settings(http_server.url(), force=True, concurrency=8)
    await crawl_in(app, replace(settings, limits=limits, max_retries=0) if limits else settings)
    for stats in await app.search_service.sites():
        await app.search_service.refresh(stats)
    [stats] = await app.search_service.search_index.site_stats(MODEL)
    return stats


def report_figure(what: str, figure: object, *, fine: bool) -> bool:
    print(f"{what}: {figure}{'' if fine else '  MISSED'}")
    return fine


def add_noise(pages: Pages) -> Pages:
    ticks = itertools.count(1)

    def answer(target: str) -> Answer | None:
        page = pages(target)
        if page is None or target == "/robots.txt":
            return page
        stamp = f"<p>Viewed {1000 + next(ticks)} times. Token c{next(ticks):08x}.</p></main>"
        return replace(page, body=page.body.replace(b"</main>", stamp.encode()))

    return answer


async def changes(folder: Path, pages: int) -> bool:
    names = topics(pages - 1)
    fine = True
    async with embedded(folder, writing=True) as app:
        with serve_site(articles(names)) as http_server:
            http_server.validators = False
            began = time.process_time()
            first = await recrawl(app, http_server)
            print(f"{first.pages:,} pages, {first.chunks:,} chunks, {time.process_time() - began:.1f} s of this process")
            await embed_all(app)
            http_server.pages = articles(
                names, {f"/{names[7]}": article(names[7], ("/",), edited="A sentence about the quarry.")}
            )
            await recrawl(app, http_server)
            edited = await embed_all(app)
            fine &= report_figure("texts to embed after one paragraph was edited", edited, fine=1 <= edited <= MOST_EDITED)
            slow = names[: int(0.29 * pages)]
            http_server.slow.update({f"/{name}": 30.0 for name in slow})
            before = await app.search_service.search_index.site_stats(MODEL)
            after = await recrawl(app, http_server, FetchLimits(connect_s=0.2, headers_s=0.2, body_s=0.2))
            same = after.chunks == before[0].chunks and not after.held
            fine &= report_figure(f"chunks lost while {len(slow)} pages timed out", before[0].chunks - after.chunks, fine=same)
            http_server.slow.clear()
            gone = {f"/{name}" for name in names[20:23]}
            http_server.pages = articles(names, {target: Answer(410) for target in gone})
            stats = await recrawl(app, http_server)
            fine &= report_figure(
                "pages gone after 410 on three", after.pages - stats.pages, fine=after.pages - stats.pages == 3
            )
            fine &= await rebuilt(app, stats, names)
            http_server.pages = lambda _: None
            after_failures = await recrawl(app, http_server)
            nothing_lost = after_failures.chunks == stats.chunks and after_failures.held == stats.pages
            fine &= report_figure("pages held when the whole site answered 404", after_failures.held, fine=nothing_lost)
    return fine


async def rebuilt(app: App, stats: SiteIndexStats, names: list[str]) -> bool:
    questions = [SearchQuery(f"what keeps the {name} lantern", mode=SearchMode.LEXICAL) for name in names[:50]]

    async def answers() -> list[list[tuple[str, int, float]]]:
        results = [await app.search_service.search(question) for question in questions]
        return [[(str(hit.chunk.url), hit.chunk.start, hit.score) for hit in result.hits] for result in results]

    before = await answers()
    await app.search_service.search_index.forget(stats.site)
    for site in await app.search_service.sites():
        await app.search_service.refresh(site)
    same = await answers() == before
    return report_figure("answers equal after the index was lost and made again", same, fine=same)


async def noise(folder: Path, refetches: int) -> bool:
    async with embedded(folder, writing=True) as app:
        with serve_site(add_noise(articles(topics(3)))) as http_server:
            http_server.validators = False
            for _ in range(2):  # where a page differs from itself is learnt from two fetches
                await recrawl(app, http_server)
                await embed_all(app)
            again = 0
            for _ in range(refetches):
                await recrawl(app, http_server)
                again += await embed_all(app)
    return report_figure(f"texts to embed in {refetches} refetches with nothing but noise", again, fine=again == 0)


async def run(arguments: argparse.Namespace) -> bool:
    with tempfile.TemporaryDirectory() as folder:
        fine = await changes(Path(folder) / "changes", arguments.pages)
        return await noise(Path(folder) / "noise", arguments.refetches) and fine


def main() -> None:
    parser = argparse.ArgumentParser(description="what keeping an index true costs")
    parser.add_argument("--pages", type=int, default=1000)
    parser.add_argument("--refetches", type=int, default=100)
    sys.exit(0 if asyncio.run(run(parser.parse_args())) else 1)


if __name__ == "__main__":
    main()
