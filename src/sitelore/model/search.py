"""Types of search: chunks, queries and hits, index statistics, and the presence of pages."""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from urllib.parse import quote

from sitelore.model.ids import NO_TEXT, BlobKey, ChunkId, CleanText, RunId, SiteId
from sitelore.model.states import SkipReason, UrlState
from sitelore.model.url import Url

_FRAGMENT_CHARS = "!$&'()*+,;=:@/?"
"""Characters that a fragment may hold as they are, besides letters, digits and `._~-` (RFC 3986 §3.5)."""


FLAGGED, LINK_LIST = 1, 2
"""Marks of a chunk in the chunk table: suspected prompt injection; most of its text is labels of links."""


class Presence(StrEnum):
    """Whether a page of a site exists."""

    PRESENT = "PRESENT"
    UNKNOWN = "UNKNOWN"
    """The page could not be checked; its last content stays."""
    GONE = "GONE"
    """Gone with evidence; no longer searched."""


@dataclass(frozen=True, slots=True)
class Flag:
    """A suspected prompt injection in a chunk: the rule that matched, and the matching text."""

    rule: str
    evidence: CleanText


@dataclass(frozen=True, slots=True)
class Chunk:
    """A piece of a page. `text` is what its Markdown shows from byte `start` to `end`: without the targets of links."""

    id: ChunkId
    """Hash of the page's URL and the chunk's text, so that an edit elsewhere on the page does not change it."""
    text: CleanText
    start: int
    end: int
    tokens: int
    overlap: int = 0
    """How many bytes at the start also belong to the previous chunk."""
    lead: CleanText = NO_TEXT
    """Context from elsewhere on the page: the header of a table that is continued."""
    headings: tuple[CleanText, ...] = ()
    """The headings above, outermost first."""
    landmark: str = ""
    fragment: str = ""
    """`:~:text=…`, appended to the page's URL after `#`: a browser scrolls to the chunk."""
    anchors: tuple[tuple[int, str], ...] = ()
    """The page's own anchors: the one above the chunk (-1), and those in it with their offsets in `text`."""
    flags: tuple[Flag, ...] = ()
    definitions: tuple[str, ...] = ()
    """What it defines: signatures of functions, options, settings. Parts of its text."""
    is_link_list: bool = False
    """Whether most of its text is labels of links: an index, a table of contents, a tag page."""


@dataclass(frozen=True, slots=True)
class IndexedChunk:
    """A chunk with its terms for lexical search."""

    chunk: Chunk
    terms: Mapping[str, int]
    """Term → number of occurrences."""
    length: int
    """The number of all occurrences."""
    text_hash: str
    """Hash of the text that is embedded: equal texts are embedded once."""


@dataclass(frozen=True, slots=True)
class PageToIndex:
    """A page whose chunks are out of date."""

    url: Url
    document: BlobKey
    title: CleanText = NO_TEXT
    content_type: str = ""
    fetched_at: float = 0.0
    has_chunks: bool = False
    """Whether its chunks were made from this document, by other settings."""


@dataclass(frozen=True, slots=True)
class IndexedPage:
    """All chunks of a page. They replace the chunks it had."""

    url: Url
    document: BlobKey
    """The document they were made from; they are discarded if the page has a newer one."""
    title: CleanText = NO_TEXT
    lang: str = ""
    kind: str = "page"
    """`page`, `pdf`, `docx`, `pptx`, `xlsx`, `doc`, `text`, `record`."""
    dated: float | None = None
    """When it was last modified or published, if the page states it."""
    chunks: tuple[IndexedChunk, ...] = ()


@dataclass(frozen=True, slots=True)
class IndexWritten:
    """The result of indexing."""

    pages: int = 0
    added: int = 0
    kept: int = 0
    dropped: int = 0


@dataclass(frozen=True, slots=True)
class SiteIndexStats:
    """Index statistics of a site."""

    site: SiteId
    name: str
    version: int = 0
    """Raised with every change of its chunks."""
    epoch: str = ""
    """Digest of how its chunks were made (boilerplate, chunk sizes, masking); pages of another epoch are indexed again."""
    pages: int = 0
    waiting: int = 0
    """Pages that must be indexed."""
    chunks: int = 0
    embedded: int = 0
    """Chunks that have a vector of the requested model."""
    held: int = 0
    """Pages of a mass deletion that waits for confirmation."""

    def is_named(self, name: str) -> bool:
        """Whether a name means this site: its name, its host without the port, or a domain above that."""
        host = self.name.partition(":")[0]
        return name in {self.name, host} or host.endswith(f".{name}")


@dataclass(frozen=True, slots=True)
class StoredPage:
    """The last stored version of a page."""

    site: SiteId
    site_name: str
    url: Url
    document: BlobKey
    presence: Presence = Presence.PRESENT
    evidence: str = ""
    fetched_at: float = 0.0


@dataclass(frozen=True, slots=True)
class ChunkTablePage:
    """The facts about a page that search filters use."""

    number: int
    url: str
    lang: str
    kind: str
    dated: float | None


@dataclass(frozen=True, slots=True)
class ChunkTable:
    """All live chunks of a site by number, column by column, as little-endian numbers."""

    version: int
    pages: tuple[ChunkTablePage, ...] = ()
    numbers: bytes = b""
    """uint32, ascending."""
    page_numbers: bytes = b""
    """uint32, one per chunk."""
    lengths: bytes = b""
    """uint16, one per chunk."""
    marks: bytes = b""
    """uint8: the sum of `FLAGGED` and `LINK_LIST` where they apply to a chunk."""


@dataclass(frozen=True, slots=True)
class HeldPage:
    """A page with chunks in the search index, for audits."""

    url: str
    chunks: int
    is_held: bool
    """Whether its deletion waits for a decision, because too many pages seemed to be gone at once."""
    since: float | None = None
    """When it was first missed."""
    evidence: str = ""


@dataclass(frozen=True, slots=True)
class ChunkRecord:
    """A chunk that may be shown: its page exists and still has the document the chunk was made from."""

    number: int
    id: ChunkId
    site: SiteId
    site_name: str
    url: Url
    title: CleanText
    lang: str
    kind: str
    dated: float | None
    text: CleanText
    lead: CleanText
    headings: tuple[CleanText, ...]
    start: int
    end: int
    tokens: int
    landmark: str = ""
    fragment: str = ""
    anchors: tuple[tuple[int, str], ...] = ()
    flags: tuple[Flag, ...] = ()
    presence: Presence = Presence.PRESENT
    fetched_at: float = 0.0


class SearchMode(StrEnum):
    """Which retrievers take part in a search."""

    HYBRID = "hybrid"
    LEXICAL = "lexical"
    DENSE = "dense"


@dataclass(frozen=True, slots=True)
class SearchQuery:
    """A search query with its filters."""

    text: str
    sites: tuple[str, ...] = ()
    """Site names; empty for all sites of the tenant."""
    path: str = ""
    """Only paths below this one."""
    langs: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    since: float | None = None
    until: float | None = None
    limit: int = 10
    per_page: int = 2
    """The maximum number of hits from one page."""
    mode: SearchMode = SearchMode.HYBRID
    max_tokens: int | None = None
    """The number of tokens that the texts of all hits may have together; the first hit is shortened if it has more."""
    neighbours: int = 0
    """How many chunks before and after each hit are given with it."""
    explain: bool = False
    """Whether hits say how their score came about."""
    flagged: bool = True
    """Whether chunks with a suspected prompt injection are included."""


@dataclass(frozen=True, slots=True)
class TermExplanation:
    """What one word of the query contributed to the score of a result."""

    term: str
    score: float
    chunks: int
    """In how many chunks the term occurs."""
    fields: tuple[str, ...] = ()
    """Where in the chunk: title, headings, definitions, anchors, address, text."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """How the score of a result came about."""

    words: tuple[TermExplanation, ...] = ()
    adjacent: float = 0.0
    """The bonus for words that are adjacent in the query and on the page, in units of the lexical score."""
    weight: float = 1.0
    """What the score was multiplied with: less than 1 for a list of links."""


@dataclass(frozen=True, slots=True)
class Hit:
    """One search result with its scores."""

    chunk: ChunkRecord
    score: float
    """Between 0 and 1, comparable between queries: 1 would be a chunk with every word of the query, and the same meaning."""
    lexical: float | None = None
    """BM25."""
    dense: float | None = None
    """Cosine similarity."""
    snippet: str = ""
    highlights: tuple[tuple[int, int], ...] = ()
    """Character offsets of the query's words in the snippet."""

    anchor: str = ""
    """The page's own anchor nearest above the part that answers."""
    is_at_anchor: bool = False
    """Whether that part begins at the anchor, so that no text fragment is needed."""
    neighbours: tuple[ChunkRecord, ...] = ()
    """The chunks before and after it on its page, in order, where the query has `neighbours`."""
    explanation: Explanation | None = None
    """Where the query has `explain`."""
    is_shortened: bool = False
    """Whether the chunk's text is only its beginning, because it alone has more tokens than the query allows."""

    @property
    def citation(self) -> str:
        """The URL that leads to the text itself."""
        fragment = quote(self.anchor, safe=_FRAGMENT_CHARS) + ("" if self.is_at_anchor else self.chunk.fragment)
        return f"{self.chunk.url}#{fragment}" if fragment else str(self.chunk.url)


@dataclass(frozen=True, slots=True)
class SearchAnswer:
    """The result of a search."""

    hits: tuple[Hit, ...] = ()
    mode: SearchMode = SearchMode.LEXICAL
    """The retrievers that took part."""
    chunks: int = 0
    embedded: int = 0
    """How many of the searched chunks have a vector."""
    suggestion: str = ""
    """The query with another spelling of words that are on no page, where nothing was found."""


@dataclass(frozen=True, slots=True)
class PageInRun:
    """A known page of a site, and its row in a run."""

    url: Url
    presence: Presence
    soft_misses: int = 0
    """Consecutive runs in which it was a soft 404."""
    state: UrlState | None = None
    """None: the run did not reach it."""
    status_code: int | None = None
    skip_reason: SkipReason | None = None
    alias_of: Url | None = None


@dataclass(frozen=True, slots=True)
class PresenceChange:
    """The new presence of a page."""

    url: Url
    presence: Presence
    evidence: str = ""
    soft_misses: int = 0
    held: bool = False
    """The page appears to be gone as part of a mass deletion, and waits for confirmation."""


@dataclass(frozen=True, slots=True)
class RunOutcome:
    """The pages of a site after a run has ended, for deciding which are gone."""

    run: RunId
    is_complete: bool
    """Every URL of the site was checked: no budget, depth or time limit applied, and nothing failed."""
    pages: tuple[PageInRun, ...] = ()


@dataclass(frozen=True, slots=True)
class PresenceChanges:
    """The changes of presence that follow from a run."""

    changed: tuple[PresenceChange, ...] = ()
    held: int = 0
    gone: int = 0


@dataclass(frozen=True, slots=True)
class Postings:
    """The postings of a term: chunk numbers ascending, occurrences in each, and the length of each.

    Packed as n times uint32, n times uint16, n times uint16, little-endian; counts beyond 65,535 are cut there.
    """

    numbers: Sequence[int] = ()
    counts: Sequence[int] = ()
    lengths: Sequence[int] = ()

    def packed(self) -> bytes:
        """The stored form."""
        limit = 0xFFFF
        parts = (
            array("I", self.numbers),
            array("H", [min(limit, count) for count in self.counts]),
            array("H", [min(limit, length) for length in self.lengths]),
        )
        return b"".join(part.tobytes() for part in parts)


@dataclass(frozen=True, slots=True)
class TextToEmbed:
    """A text that has no vector yet."""

    text_hash: str
    text: CleanText


@dataclass(frozen=True, slots=True)
class Similarities:
    """Similarity of chunks to a query: inner products of unit vectors."""

    numbers: Sequence[int] = ()
    scores: Sequence[float] = ()
    embedded: int = 0
    """Chunks that have a vector."""


@dataclass(frozen=True, slots=True)
class ChunkSizes:
    """Sizes of chunks, in tokens."""

    target: int = 500
    min_tokens: int = 300
    max_tokens: int = 800
    overlap: float = 0.12
    """The share of a chunk that repeats the end of the previous one."""


@dataclass(frozen=True, slots=True)
class IndexProgress:
    """Progress of indexing, for a progress bar."""

    pages: int = 0
    pages_done: int = 0
    chunks: int = 0
    texts: int = 0
    texts_done: int = 0
    notes: tuple[str, ...] = field(default_factory=tuple)
