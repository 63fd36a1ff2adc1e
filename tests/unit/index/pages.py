"""Pages for tests of the index: Markdown as extraction writes it, and pages of the corpora."""

from __future__ import annotations

import json
import lzma
import os
from collections import defaultdict
from itertools import islice
from pathlib import Path

import pytest
import zstandard

from sitelore.extract.page import read
from sitelore.model.document import ReadOptions
from sitelore.model.ids import CleanText
from sitelore.model.response import Response
from sitelore.model.url import Url

CORPORA = Path(os.environ.get("SITELORE_CORPORA", "../shared/corpora"))
PAGE = Url.trusted("https://site.example/dir/page")


def markdown_of(html: str) -> CleanText:
    """What extraction makes of a page."""
    headers = (("content-type", "text/html; charset=utf-8"),)
    response = Response(PAGE, 200, headers, html.encode("utf-8", "replace"))
    reading = read(response, ReadOptions(full=False, keep_snapshot=False))
    assert reading.document is not None, reading.problem
    return CleanText(json.loads(zstandard.decompress(reading.document.data))["markdown"])


def needs_corpora() -> None:
    if not CORPORA.is_dir():
        pytest.skip("the corpora are not here")


def kubernetes_pages() -> list[CleanText]:
    """The k8s corpus, its sections joined into the pages they came from."""
    needs_corpora()
    sections: defaultdict[str, list[tuple[int, str]]] = defaultdict(list)
    for name, text in json.loads((CORPORA / "retrieval" / "k8s.json").read_text())["docs"].items():
        file, number = name.rsplit("#", 1)
        sections[file].append((int(number), text))
    return [CleanText("\n\n".join(text for _, text in sorted(parts))) for parts in sections.values()]


def real_pages(most: int) -> list[CleanText]:
    """Pages of the content corpus, as extraction writes them."""
    needs_corpora()
    with lzma.open(CORPORA / "content" / "wcxb_dev.jsonl.xz", "rt") as lines:
        return [markdown_of(json.loads(line)["html"]) for line in islice(lines, most)]
