"""What a stored document still tells: links of a page that was not fetched again, words of two pages that may be one."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass

import msgspec

from sitelore.model.ids import BlobKey
from sitelore.model.settings import CrawlSettings
from sitelore.model.url import Url
from sitelore.ports import Blobs

_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class _StoredLink:
    url: str
    nofollow: bool = False


@dataclass(frozen=True, slots=True)
class _StoredDocument:
    """The part of a stored `Document` that a crawl needs again."""

    links: tuple[_StoredLink, ...] = ()
    nofollow: bool = False
    text: str = ""


_DECODER = msgspec.json.Decoder(_StoredDocument)


async def stored_links(blobs: Blobs, key: BlobKey, settings: CrawlSettings) -> tuple[list[Url], list[Url]]:
    """Links to follow and links that a nofollow keeps the crawl from following, as they were read then."""
    document = _DECODER.decode(await blobs.get(key))
    followed: list[Url] = []
    refused: list[Url] = []
    for link in document.links:
        kept_out = settings.obey_nofollow and (document.nofollow or link.nofollow)
        (refused if kept_out else followed).append(Url.trusted(link.url))
    return followed, refused


async def share_of_words(blobs: Blobs, one: BlobKey, other: BlobKey) -> float:
    """How much of two documents' words is common to both, 0 to 1."""
    words = [Counter(_WORD.findall(_DECODER.decode(await blobs.get(key)).text.lower())) for key in (one, other)]
    common = (words[0] & words[1]).total()
    return 2 * common / max(1, words[0].total() + words[1].total())
