"""What a stored document still tells: links of a page not fetched again, whether it changed, words two pages share."""

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


def calmed(volatile: bytes) -> bytes:
    """Where a page differs from itself, after it did not."""
    if not volatile:
        return b""
    from sitelore.extract.changes import change  # noqa: PLC0415 takes long to import, and a first crawl has no use for it

    return change.calmed(volatile)


async def compare_with_known(blobs: Blobs, known: KnownPage | None, reading: Reading) -> Comparison:
    """Whether a page has changed since it was last kept. Equal content needs no look at it."""
    if known is None or reading.document is None:
        return _UNKNOWN
    if known.content_hash == reading.content_hash:
        return Comparison(changed=False, volatile=calmed(known.volatile))
    try:
        before = await blobs.get(known.document)
    except KeyError:
        return Comparison(changed=True)
    from sitelore.extract.changes.change import compare_documents  # noqa: PLC0415 as above

    # In a thread: a page made for it could otherwise hold up every other visit for a moment.
    return await asyncio.to_thread(compare_documents, before, reading.document, known.volatile)


async def word_overlap(blobs: Blobs, one: BlobKey, other: BlobKey) -> float:
    """How much of two documents' words is common to both, 0 to 1."""
    words = [Counter(_WORD.findall(_DECODER.decode(await blobs.get(key)).text.lower())) for key in (one, other)]
    common = (words[0] & words[1]).total()
    return 2 * common / max(1, words[0].total() + words[1].total())
