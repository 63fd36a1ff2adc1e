"""Pages for tests of the index: Markdown as extraction writes it, and pages of the corpora."""

from __future__ import annotations

import json
import lzma
from collections import defaultdict
from itertools import islice

import zstandard
from tests.support.corpora import corpus

from sitelore.extract.page import read
from sitelore.model.document import ReadOptions
from sitelore.model.ids import CleanText
from sitelore.model.response import Response
from sitelore.model.url import Url

PAGE = Url.trusted("https://site.example/dir/page")


def markdown_of(html: str) -> CleanText:
    """What extraction makes of a page."""
    headers = (("content-type", "text/html; charset=utf-8"),)
    response = Response(PAGE, 200, headers, html.encode("utf-8", "replace"))
    reading = read(response, ReadOptions(full=False, keep_snapshot=False))
    assert reading.document is not None, reading.problem
    return CleanText(json.loads(zstandard.decompress(reading.document.data))["markdown"])


def kubernetes_pages() -> list[CleanText]:
    """The k8s corpus, its sections joined into the pages they came from."""
    sections: defaultdict[str, list[tuple[int, str]]] = defaultdict(list)
    for name, text in json.loads(corpus("retrieval/k8s.json").read_text())["docs"].items():
        file, number = name.rsplit("#", 1)
        sections[file].append((int(number), text))
    return [CleanText("\n\n".join(text for _, text in sorted(parts))) for parts in sections.values()]


def real_pages(most: int) -> list[CleanText]:
    """Pages of the content corpus, as extraction writes them."""
    with lzma.open(corpus("content/wcxb_dev.jsonl.xz"), "rt") as lines:
        return [markdown_of(json.loads(line)["html"]) for line in islice(lines, most)]
