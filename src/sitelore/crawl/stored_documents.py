"""Reads stored documents during a crawl: links of unchanged pages, change detection, word overlap of two pages."""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from dataclasses import dataclass

import msgspec

from sitelore.model.document import Comparison, Reading
from sitelore.model.frontier import KnownPage
from sitelore.model.ids import BlobKey
from sitelore.model.settings import CrawlSettings
from sitelore.model.url import Url
from sitelore.ports import Blobs

_WORD = re.compile(r"\w+")
_UNKNOWN = Comparison(changed=False)


@dataclass(frozen=True, slots=True)
class _StoredLink:
    url: str
    nofollow: bool = False


@dataclass(frozen=True, slots=True)
class _StoredDocument:
    """The part of a stored `Document` that a crawl needs."""

    links: tuple[_StoredLink, ...] = ()
    nofollow: bool = False
    text: str = ""


_DECODER = msgspec.json.Decoder(_StoredDocument)


async def stored_links(blobs: Blobs, key: BlobKey, settings: CrawlSettings) -> tuple[list[Url], list[Url]]:
    """The links to follow, and the links that nofollow excludes, of a stored document."""
    document = _DECODER.decode(await blobs.get(key))
    followed: list[Url] = []
    refused: list[Url] = []
    for link in document.links:
        kept_out = settings.obey_nofollow and (document.nofollow or link.nofollow)
        (refused if kept_out else followed).append(Url.trusted(link.url))
    return followed, refused


def decay_volatile(volatile: bytes) -> bytes:
    """Update the record of volatile places after a fetch in which the page did not change."""
    if not volatile:
        return b""
    from sitelore.extract.changes import decay_slots  # noqa: PLC0415 slow to import, and a first crawl does not need it

    return decay_slots(volatile)


async def compare_with_known(blobs: Blobs, known: KnownPage | None, reading: Reading) -> Comparison:
    """Whether a page has changed since it was last stored. Equal content hashes need no comparison."""
    if known is None or reading.document is None:
        return _UNKNOWN
    if known.content_hash == reading.content_hash:
        return Comparison(changed=False, volatile=decay_volatile(known.volatile))
    try:
        before = await blobs.get(known.document)
    except KeyError:
        return Comparison(changed=True)
    from sitelore.extract.changes import compare_documents  # noqa: PLC0415 as above

    # In a thread: comparing a page made to be slow must not block the other visits.
    return await asyncio.to_thread(compare_documents, before, reading.document, known.volatile)


async def word_overlap(blobs: Blobs, first: BlobKey, second: BlobKey) -> float:
    """The share of words that two documents have in common, 0 to 1."""
    words = [Counter(_WORD.findall(_DECODER.decode(await blobs.get(key)).text.lower())) for key in (first, second)]
    common = (words[0] & words[1]).total()
    return 2 * common / max(1, words[0].total() + words[1].total())
