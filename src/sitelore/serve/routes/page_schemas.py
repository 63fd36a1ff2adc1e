"""Responses about one page: its versions, their differences, its chunks, and the URLs around it."""

from __future__ import annotations

import msgspec

from sitelore.model.changes import DiffKind, DiffLine
from sitelore.model.frontier import PageAlias, PageNeighbours, PageVersion
from sitelore.model.search import ChunkRecord
from sitelore.model.states import UrlState
from sitelore.serve.schemas import FlagView, moment


class VersionView(msgspec.Struct, frozen=True):
    """A version of a page. The first one has the number 1."""

    number: int
    seen_at: str | None
    ended_at: str | None
    """Null: the current version."""
    content_hash: str


class VersionList(msgspec.Struct, frozen=True):
    """The versions of a page, the newest first."""

    versions: list[VersionView]


class DiffSpanView(msgspec.Struct, frozen=True):
    """A piece of a line: `same`, `removed` or `added`."""

    kind: DiffKind
    text: str


class DiffLineView(msgspec.Struct, frozen=True):
    """A line of two versions; that of a changed one has several pieces."""

    kind: DiffKind
    spans: list[DiffSpanView]


class VersionDiff(msgspec.Struct, frozen=True):
    """The difference between two versions of a page, line by line of their Markdown."""

    before: VersionView | None
    """Null: there is no earlier version."""
    after: VersionView
    lines: list[DiffLineView]


class ChunkView(msgspec.Struct, frozen=True):
    """A chunk of a page as the search index has it."""

    id: str
    headings: list[str]
    text: str
    lead: str
    start: int
    end: int
    tokens: int
    landmark: str
    flags: list[FlagView]


class ChunkList(msgspec.Struct, frozen=True):
    """The chunks of a page, in page order."""

    chunks: list[ChunkView]


class NeighboursView(msgspec.Struct, frozen=True):
    """The pages of the run before and after a page, in the order in which they were admitted."""

    previous: str | None
    next: str | None


class AliasView(msgspec.Struct, frozen=True):
    """Another URL of a page: its state, and what proves that it is the same page."""

    url: str
    status: UrlState
    proof: str | None


class AliasList(msgspec.Struct, frozen=True):
    """Other URLs of a page."""

    aliases: list[AliasView]


def version_views(versions: list[PageVersion]) -> list[VersionView]:
    """Versions, the newest first, with their numbers."""
    return [
        VersionView(len(versions) - index, moment(each.seen_at), moment(each.ended_at), each.content_hash)
        for index, each in enumerate(versions)
    ]


def diff_views(lines: list[DiffLine]) -> list[DiffLineView]:
    """Lines of a difference as the API shows them."""
    return [DiffLineView(line.kind, [DiffSpanView(span.kind, span.text) for span in line.spans]) for line in lines]


def chunk_view(chunk: ChunkRecord) -> ChunkView:
    """A chunk as the API shows it."""
    flags = [FlagView(flag.rule, flag.evidence) for flag in chunk.flags]
    return ChunkView(
        chunk.id, list(chunk.headings), chunk.text, chunk.lead, chunk.start, chunk.end, chunk.tokens, chunk.landmark, flags
    )


def neighbours_view(pages: PageNeighbours) -> NeighboursView:
    """Neighbours as the API shows them."""
    return NeighboursView(*(None if url is None else str(url) for url in (pages.previous, pages.next)))


def alias_view(alias: PageAlias) -> AliasView:
    """An alias as the API shows it."""
    return AliasView(str(alias.url), alias.state, alias.proof.value if alias.proof is not None else None)
