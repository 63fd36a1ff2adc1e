"""What keeping an index true costs: edits, noise, deletions, a lost index, on a site of a thousand pages.

    python -m bench.knowledge [--pages 1000] [--refetches 100]

Counts texts that have to be embedded, not seconds. Exits 1 when a figure is missed.
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

from tests.support.journey import crawl_in, crawl_settings
from tests.support.library import article, articles, topics
from tests.support.serve import Answer, Pages, Web, serving

from sitelore.app.app import App
from sitelore.app.wiring import embedded
from sitelore.model.search import SearchMode, SearchQuery, SiteIndexStats
from sitelore.model.settings import FetchLimits

MODEL = "a model that is never asked"
MOST_EDITED = 3
_NO_VECTOR = b"\x00\x3c" + b"\x00\x00" * 7


async def embed_all(app: App) -> int:
    """Give every text a vector; how many had none."""
    knowledge = app.search_service.search_index
    texts = await knowledge.texts_to_embed(MODEL, 1_000_000)
    await knowledge.put_vectors(MODEL, [(text.text_hash, _NO_VECTOR) for text in texts])
    return len(texts)


async def look_again(app: App, web: Web, limits: FetchLimits | None = None) -> SiteIndexStats:
    settings = crawl_settings(web.url(), force=True, concurrency=8)
    await crawl_in(app, replace(settings, limits=limits, max_retries=0) if limits else settings)
    for stats in await app.search_service.sites():
        await app.search_service.refresh(stats)
    [stats] = await app.search_service.search_index.site_stats(None, MODEL)
    return stats


def told(what: str, figure: object, *, fine: bool) -> bool:
    print(f"{what}: {figure}{'' if fine else '  MISSED'}")
    return fine


def noisy(pages: Pages) -> Pages:
    ticks = itertools.count(1)

    def answer(target: str) -> Answer | None:
        found = pages(target)
        if found is None or target == "/robots.txt":
            return found
        stamp = f"<p>Viewed {1000 + next(ticks)} times. Token c{next(ticks):08x}.</p></main>"
        return replace(found, body=found.body.replace(b"</main>", stamp.encode()))

    return answer


async def changes(folder: Path, pages: int) -> bool:
    names = topics(pages - 1)
    fine = True
    async with embedded(folder, writing=True) as app:
        with serving(articles(names)) as web:
            web.validators = False
            began = time.process_time()
            first = await look_again(app, web)
            print(f"{first.pages:,} pages, {first.chunks:,} chunks, {time.process_time() - began:.1f} s of this process")
            await embed_all(app)
            web.pages = articles(names, {f"/{names[7]}": article(names[7], ("/",), edited="A sentence about the quarry.")})
            await look_again(app, web)
            edited = await embed_all(app)
            fine &= told("texts to embed after one paragraph was edited", edited, fine=1 <= edited <= MOST_EDITED)
            slow = names[: int(0.29 * pages)]
            web.slow.update({f"/{name}": 30.0 for name in slow})
            before = await app.search_service.search_index.site_stats(None, MODEL)
            after = await look_again(app, web, FetchLimits(connect_s=0.2, headers_s=0.2, body_s=0.2))
            same = after.chunks == before[0].chunks and not after.held
            fine &= told(f"chunks lost while {len(slow)} pages timed out", before[0].chunks - after.chunks, fine=same)
            web.slow.clear()
            gone = {f"/{name}" for name in names[20:23]}
            web.pages = articles(names, {target: Answer(410) for target in gone})
            stats = await look_again(app, web)
            fine &= told("pages gone after 410 on three", after.pages - stats.pages, fine=after.pages - stats.pages == 3)
            fine &= await rebuilt(app, stats, names)
            web.pages = lambda _: None
            held = await look_again(app, web)
            kept = held.chunks == stats.chunks and held.held == stats.pages
            fine &= told("pages held when the whole site answered 404", held.held, fine=kept)
    return fine


async def rebuilt(app: App, stats: SiteIndexStats, names: list[str]) -> bool:
    questions = [SearchQuery(f"what keeps the {name} lantern", mode=SearchMode.LEXICAL) for name in names[:50]]

    async def answers() -> list[list[tuple[str, int, float]]]:
        found = [await app.search_service.search(question) for question in questions]
        return [[(str(hit.chunk.url), hit.chunk.start, hit.score) for hit in one.hits] for one in found]

    before = await answers()
    await app.search_service.search_index.forget(stats.site)
    for one in await app.search_service.sites():
        await app.search_service.refresh(one)
    same = await answers() == before
    return told("answers equal after the index was lost and made again", same, fine=same)


async def noise(folder: Path, refetches: int) -> bool:
    async with embedded(folder, writing=True) as app:
        with serving(noisy(articles(topics(3)))) as web:
            web.validators = False
            for _ in range(2):  # where a page differs from itself is learnt from two fetches
                await look_again(app, web)
                await embed_all(app)
            again = 0
            for _ in range(refetches):
                await look_again(app, web)
                again += await embed_all(app)
    return told(f"texts to embed in {refetches} refetches with nothing but noise", again, fine=again == 0)


async def run(given: argparse.Namespace) -> bool:
    with tempfile.TemporaryDirectory() as folder:
        fine = await changes(Path(folder) / "changes", given.pages)
        return await noise(Path(folder) / "noise", given.refetches) and fine


def main() -> None:
    parser = argparse.ArgumentParser(description="what keeping an index true costs")
    parser.add_argument("--pages", type=int, default=1000)
    parser.add_argument("--refetches", type=int, default=100)
    sys.exit(0 if asyncio.run(run(parser.parse_args())) else 1)


if __name__ == "__main__":
    main()
