"""CSS selectors of links: where on a page the link is that a finding of an audit is about."""

from __future__ import annotations

from collections.abc import Collection
from itertools import islice

from sitelore.extract import dom
from sitelore.model.url import Url, resolve

MAX_LINKS = 5_000


def link_selectors(html: str, page: Url, wanted: Collection[tuple[str, str]]) -> dict[tuple[str, str], str]:
    """The selector of the first link to each of these targets, given as URL and fragment; an empty fragment means any."""
    tree = dom.parse(html)
    selectors = dom.Selectors(tree)
    base = next((href for each in dom.select(tree, "base[href]") if (href := each.attr("href"))), "")
    base_url = (resolve(page, base) if base else None) or str(page)
    left, places = set(wanted), dict[tuple[str, str], str]()
    for element in islice(dom.select(tree, "a[href], area[href]"), MAX_LINKS):
        href = (element.attr("href") or "").strip()
        url = Url.parse(href, base_url)
        if url is None:
            continue
        for key in ((str(url), ""), (str(url), href.partition("#")[2])):
            if key in left:
                left.discard(key)
                places[key] = selectors.of(element)
        if not left:
            break
    return places
