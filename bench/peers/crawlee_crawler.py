# mypy: ignore-errors
# (Crawlee lives in the benchmark's own environment, .bench/crawlee, so its types are not at hand here.)
"""A Crawlee crawler for `bench/latency.py`: the whole host with robots.txt obeyed, url and title as JSON lines.

python crawlee_crawler.py URL OUT_DIR
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

from crawlee import ConcurrencySettings
from crawlee.crawlers import ParselCrawler, ParselCrawlingContext


async def main(url: str, out: Path) -> None:
    crawler = ParselCrawler(
        respect_robots_txt_file=True,
        concurrency_settings=ConcurrencySettings(min_concurrency=16, desired_concurrency=16, max_concurrency=16),
        configure_logging=False,
    )
    with (out / "items.jsonl").open("w", encoding="utf-8") as items:

        @crawler.router.default_handler
        async def handle(context: ParselCrawlingContext) -> None:
            title = context.selector.css("title::text").get()
            items.write(json.dumps({"url": context.request.url, "title": title}) + "\n")
            items.flush()
            await context.enqueue_links()

        await crawler.run([url])


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], Path(sys.argv[2])))
