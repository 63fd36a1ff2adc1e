"""A fixture that reads a page: from bytes to the reading and its document."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
import zstandard

from sitelore.extract.page import read
from sitelore.model.document import Reading, ReadOptions
from sitelore.model.response import Response
from sitelore.model.url import Url


@dataclass(frozen=True, slots=True)
class Page:
    """A reading and its document, unpacked."""

    reading: Reading
    document: dict[str, Any]

    @property
    def markdown(self) -> str:
        return str(self.document["markdown"])

    @property
    def text(self) -> str:
        return str(self.document["text"])

    @property
    def snapshot(self) -> bytes:
        assert self.reading.snapshot is not None
        return zstandard.decompress(self.reading.snapshot.data)


ReadPage = Callable[..., Page]


def _page(
    body: str | bytes,
    content_type: str | None = "text/html; charset=utf-8",
    *,
    url: str = "http://site.example/dir/page",
    headers: tuple[tuple[str, str], ...] = (),
    options: ReadOptions | None = None,
) -> Page:
    data = body if isinstance(body, bytes) else body.encode()
    typed = (("content-type", content_type),) if content_type is not None else ()
    reading = read(Response(Url(url), 200, (*typed, *headers), data), options or ReadOptions())
    document = json.loads(zstandard.decompress(reading.document.data)) if reading.document else {}
    return Page(reading, document)


@pytest.fixture
def read_page() -> ReadPage:
    return _page
