from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

import msgspec

from sitelore.export.rows import Rows
from sitelore.model.document import Blob
from sitelore.model.frontier import RowKind, Source, UrlRow
from sitelore.model.ids import BlobKey, CleanText, RunId
from sitelore.model.states import Proof, UrlState
from sitelore.model.url import Url

FETCHED_AT = 1_700_000_000.0


@dataclass
class StoredRun:
    """Documents in memory, behind the `Blobs` port, and the rows that name them."""

    kept: dict[BlobKey, bytes] = field(default_factory=dict)
    stored_rows: list[UrlRow] = field(default_factory=list)

    async def put(self, blobs: Sequence[Blob]) -> None:
        for blob in blobs:
            self.kept[blob.key] = bytes(blob.data)

    async def get(self, key: BlobKey) -> bytes:
        return self.kept[key]

    def add(self, data: bytes) -> BlobKey:
        key = BlobKey(sha256(data).hexdigest())
        self.kept[key] = data
        return key

    def page(self, url: str, markdown: str = "# Hello\n\nText.", **document: Any) -> UrlRow:
        data = {
            "url": url,
            "title": "Hello",
            "markdown": markdown,
            "text": markdown,
            "links": [],
            "strategy": "main",
            **document,
        }
        row = UrlRow(
            run=RunId("r1"),
            url=Url.trusted(url),
            kind=RowKind.PAGE,
            state=UrlState.VISITED,
            depth=1,
            source=Source.LINK,
            status_code=200,
            title=CleanText(data["title"]),
            content_hash="c0ffee",
            content_type="text/html",
            word_count=2,
            document=self.add(msgspec.json.encode(data)),
            snapshot=self.add(f"<h1>{url}</h1>".encode()),
            etag='"v1"',
            fetched_at=FETCHED_AT,
        )
        self.stored_rows.append(row)
        return row

    def other(self, url: str, state: UrlState, **facts: Any) -> UrlRow:
        row = UrlRow(
            run=RunId("r1"), url=Url.trusted(url), kind=RowKind.PAGE, state=state, depth=1, source=Source.LINK, **facts
        )
        self.stored_rows.append(row)
        return row

    def alias(self, url: str, of: str, **facts: Any) -> UrlRow:
        return self.other(url, UrlState.ALIAS, final_url=Url.trusted(of), proof=Proof.REDIRECT, **facts)

    @property
    def rows(self) -> Rows:
        async def all_rows() -> AsyncIterator[UrlRow]:
            for row in sorted(self.stored_rows, key=lambda row: row.url):
                yield row

        return all_rows
