"""Endless sites: each crawl is bounded, reads all real pages, and records the URLs it gave up."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest
from tests.support.crawls import crawl, crawl_settings
from tests.support.http_server import Answer, Pages, page, prose, serve_site

REAL = tuple(f"/articles/{prose(f'article {i}', 1)}" for i in range(30))


def _calendar(target: str) -> Answer | None:
    match = re.fullmatch(r"/events/(\d{4})/(\d{2})", target)
    if match is None:
        return None
    year, month = int(match[1]), int(match[2])
    after = (year + month // 12, month % 12 + 1)
    before = (year - (month == 1), (month - 2) % 12 + 1)
    return page(
        f"Events {year}-{month:02d}", "No events this month.", links=tuple(f"/events/{y}/{m:02d}" for y, m in (after, before))
    )


def _calendar_query(target: str) -> Answer | None:
    match = re.fullmatch(r"/cal\?date=(\d{4})-(\d{2})-(\d{2})", target)
    if match is None:
        return None
    year, month, day = int(match[1]), int(match[2]), int(match[3])
    days = ((year, month, day % 28 + 1), (year, month % 12 + 1, day), (year + 1, month, day))
    return page(
        f"Day {day}.{month}.{year}", "Nothing planned.", links=tuple(f"/cal?date={y}-{m:02d}-{d:02d}" for y, m, d in days)
    )


def _sessions(target: str) -> Answer | None:
    if not target.startswith("/shop/"):
        return None
    name = target.partition("?")[0]
    fresh = random.Random(target).getrandbits(64)
    return page(
        f"Shop {name}", prose(name), links=tuple(f"/shop/{item}?visitor={fresh:016x}" for item in ("hats", "coats", "socks"))
    )


def _facets(target: str) -> Answer | None:
    path, _, query = target.partition("?")
    if path != "/filter":
        return None
    on = {part for part in query.split("&") if part}
    names = [f"{name}={value}" for name in ("colour", "size", "brand", "price", "sort") for value in ("a", "b", "c")]
    return page("Products", "Shirts and trousers.", links=tuple("/filter?" + "&".join(sorted(on ^ {name})) for name in names))


def _growing(target: str) -> Answer | None:
    if not target.startswith("/wiki/"):
        return None
    return page("Wiki", prose(target), links=("more/", "again/"))


TRAPS: dict[str, tuple[str, Pages]] = {
    "calendar": ("/events/2026/01", _calendar),
    "calendar in the query": ("/cal?date=2026-01-01", _calendar_query),
    "session ids": ("/shop/hats", _sessions),
    "facets": ("/filter", _facets),
    "growing paths": ("/wiki/", _growing),
}


def _with_articles(entry: str, trap: Pages) -> Pages:
    home = page("Home", prose("home"), links=(entry, REAL[0]))

    def pages(target: str) -> Answer | None:
        if target == "/":
            return home
        if target in REAL:
            at = REAL.index(target)
            return page(f"Article {at}", prose(f"text {at}"), links=REAL[at + 1 : at + 2])
        return trap(target)

    return pages


@pytest.mark.parametrize("name", sorted(TRAPS))
async def test_a_trap_is_bounded_and_reported_and_all_articles_of_the_site_are_read(name: str, tmp_path: Path) -> None:
    with serve_site(_with_articles(*TRAPS[name])) as http_server:
        result = await crawl(tmp_path, crawl_settings(http_server.url("/"), concurrency=8))
        assert set(REAL) <= result.kept(http_server.origin)
        assert len(http_server.targets()) <= 31 + 350, "the trap was not bounded"
        trapped = [row for row in result.rows.values() if row.skip_reason == "trap"]
        assert trapped, "URLs that were given up must be recorded"
        assert all(row.detail for row in trapped)
        assert result.counts.skipped["trap"] == len(trapped)


async def test_a_large_section_of_different_pages_is_not_a_trap(tmp_path: Path) -> None:
    """Four hundred different pages of one URL pattern."""
    names = tuple(f"/item/{i}" for i in range(400))

    def pages(target: str) -> Answer | None:
        if target == "/":
            return page("Items", prose("items"), links=names)
        return page(f"Item {target}", prose(target)) if target in names else None

    with serve_site(pages) as http_server:
        result = await crawl(tmp_path, crawl_settings(http_server.url("/"), concurrency=8))
        assert result.counts.pages == 401
        assert "trap" not in result.counts.skipped
