"""Change detection: volatile parts of a page are no change, an edited price is exactly one."""

from __future__ import annotations

import random
import uuid
from collections.abc import Callable
from pathlib import Path

from tests.support.crawls import crawl_in, crawl_settings
from tests.support.http_server import Answer, HttpServer, prose, serve_site

from sitelore.app.wiring import embedded

LINKS = [
    f"<li><a href='/story-{name}'>Story about {name}</a></li>" for name in ("apples", "bears", "clouds", "dunes", "eagles")
]


class NoisyPage:
    """A page that differs at every fetch without new content."""

    def __init__(self, price: str = "$19.99") -> None:
        self.price = price
        self.fetches = 0
        self._chance = random.Random(11)

    def __call__(self, target: str) -> Answer | None:
        if target != "/":
            return None
        self.fetches += 1
        n, chance = self.fetches, self._chance
        stories, related = LINKS[:], LINKS[:]
        chance.shuffle(stories)
        token = uuid.UUID(int=chance.getrandbits(128))
        html = f"""<!doctype html><html lang="en"><title>Kettle ({n} views)</title><body><main><h1>The kettle</h1>
        <p>Last updated: {1 + n % 28} March 2024 at {n % 24:02}:{n % 60:02}, {n} minutes ago.</p>
        <p>{prose("kettle")}</p>
        <p>It costs {self.price} and was seen by {1000 + 3 * n} people. Request ID: {token}</p>
        <p>{prose("warranty")}</p>
        <p>{n} comments · {chance.randint(10, 99)} likes · {chance.randint(2, 80)} people are viewing this right now.</p>
        <p>Your session token is {chance.getrandbits(64):016x}; page generated in 0.{chance.randint(100, 999)} seconds.</p>
        <ul>{"".join(stories)}</ul><p>{prose("end")}</p>
        <h2>Related articles</h2><ul>{"".join(chance.sample(related, 3))}</ul></main></body></html>"""
        return Answer(body=html.encode())


async def changes(
    http_server: HttpServer, data: Path, times: int, between: Callable[[int], None] = lambda _: None
) -> list[int]:
    """The number of changed pages in each run after the first."""
    changed = []
    settings = crawl_settings(http_server.url(), force=True, max_pages=1, discover_sitemaps=False, obey_robots=False)
    async with embedded(data, writing=True) as app:
        for number in range(times + 1):
            between(number)
            result = await crawl_in(app, settings)
            assert result.counts.pages == 1
            assert result.rows[http_server.url()].changed is (None if not number else bool(result.counts.changed))
            changed.append(result.counts.changed)
    return changed[1:]


async def test_a_hundred_refetches_of_noise_are_no_change_and_an_edited_price_is_one(tmp_path: Path) -> None:
    ticking = NoisyPage()

    def edit(number: int) -> None:
        ticking.price = "$18.99" if number > 100 else "$19.99"

    with serve_site(ticking) as http_server:
        changed = await changes(http_server, tmp_path, 110, edit)
    assert ticking.fetches == 111
    assert changed == [*[0] * 100, 1, *[0] * 9]


async def test_a_changed_word_between_volatile_parts_is_one_change(tmp_path: Path) -> None:
    ticking = NoisyPage("very little money")

    def edit(number: int) -> None:
        ticking.price = "rather little money" if number > 3 else "very little money"

    with serve_site(ticking) as http_server:
        assert await changes(http_server, tmp_path, 6, edit) == [0, 0, 0, 1, 0, 0]


async def test_every_fetch_stores_the_current_page(tmp_path: Path) -> None:
    ticking = NoisyPage()
    with serve_site(ticking) as http_server:
        settings = crawl_settings(http_server.url(), force=True, max_pages=1, discover_sitemaps=False)
        async with embedded(tmp_path, writing=True) as app:
            hashes = {(await crawl_in(app, settings)).rows[http_server.url()].content_hash for _ in range(3)}
    assert len(hashes) == 3
