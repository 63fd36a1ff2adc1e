"""One page of the corpus through Sitelore, as a crawl would read it, and scored by its rendered Markdown."""

from __future__ import annotations

import json

import zstandard
from bench.content_scores import Page, Score, score, text_of

from sitelore.extract.page import read
from sitelore.model.document import ReadOptions
from sitelore.model.response import Response
from sitelore.model.url import Url

_OPTIONS = ReadOptions(keep_snapshot=False)
_HEADERS = (("content-type", "text/html; charset=utf-8"),)


def scored(page: Page) -> Score:
    """How Sitelore does on a page. In a module of its own, so that other processes can import it."""
    url = Url.parse(page.url) or Url.trusted("http://localhost/")
    reading = read(Response(url, 200, _HEADERS, page.html.encode("utf-8", "replace")), _OPTIONS)
    if reading.document is None:
        return score(page, "")
    data = zstandard.ZstdDecompressor().decompressobj().decompress(reading.document.data)
    return score(page, text_of("markdown", json.loads(data)["markdown"]))
