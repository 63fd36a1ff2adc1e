"""The nouns of knowledge: chunks of pages, what is asked of them, and whether a page is still there."""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from sitelore.model.ids import DEFAULT_TENANT, NO_TEXT, BlobKey, ChunkId, CleanText, RunId, SiteId
from sitelore.model.states import SkipReason, UrlState
from sitelore.model.url import Url


class Presence(StrEnum):
    """Whether a page of a site is there."""

    PRESENT = "PRESENT"
    UNKNOWN = "UNKNOWN"
    """It could not be looked at, or nobody knows: what it last said stays."""
    GONE = "GONE"
    """With evidence: it is no longer searched."""


@dataclass(frozen=True, slots=True)
class Flag:
    """A chunk's text that reads like an instruction to a machine: which rule says so, and what it saw."""

    rule: str
    evidence: CleanText


@dataclass(frozen=True, slots=True)
class Chunk:
    """A piece of a page's Markdown. `text` is exactly the bytes from `start` to `end` of its UTF-8."""

    id: ChunkId
    """Of the page and the chunk's own text: an edit elsewhere on the page leaves it as it is."""
    text: CleanText
    start: int
    end: int
    tokens: int
    overlap: int = 0
    """How many bytes at the start the chunk before has too."""
    lead: CleanText = NO_TEXT
    """What must be read before it, though it stands elsewhere: the header of a table that is continued."""
    headings: tuple[CleanText, ...] = ()
    """The headings above, outermost first."""
    landmark: str = ""
    fragment: str = ""
    """`:~:text=…`, to follow the page's URL and a `#`: a browser scrolls to the chunk."""
    flags: tuple[Flag, ...] = ()


@dataclass(frozen=True, slots=True)
class IndexedChunk:
    """A chunk with what lexical search needs of it."""

    chunk: Chunk
    terms: Mapping[str, int]
    """Term → how often."""
    length: int
    """All terms counted, repeats too."""
    text_hash: str
    """Of what is embedded: equal texts are embedded once."""


@dataclass(frozen=True, slots=True)
class PageToIndex:
    """A page whose chunks do not say what the page says."""

    url: Url
    document: BlobKey
    title: CleanText = NO_TEXT
    content_type: str = ""
    fetched_at: float = 0.0


@dataclass(frozen=True, slots=True)
class IndexedPage:
    """A page's chunks, all of them. Written in place of those it had."""

    url: Url
    document: BlobKey
    """What they were made from; the page may have moved on since, and then they are not written."""
    title: CleanText = NO_TEXT
    lang: str = ""
    kind: str = "page"
    """`page`, `pdf`, `docx`, `pptx`, `xlsx`, `doc`, `text`, `record`."""
    dated: float | None = None
    """When it was last changed or published, as far as it says so."""
    chunks: tuple[IndexedChunk, ...] = ()


@dataclass(frozen=True, slots=True)
class IndexWritten:
    """What indexing changed."""

    pages: int = 0
    added: int = 0
    kept: int = 0
    dropped: int = 0


@dataclass(frozen=True, slots=True)
class SiteIndexStats:
    """A site in the index, in numbers."""

    site: SiteId
    name: str
    tenant: str = DEFAULT_TENANT
    version: int = 0
    """Rises with every change of its chunks."""
    epoch: str = ""
    """How its chunks were made (what repeats, chunk sizes, masking); pages made otherwise are to be indexed again."""
    pages: int = 0
    waiting: int = 0
    """Pages that are to be indexed (again)."""
    chunks: int = 0
    embedded: int = 0
    """Chunks that have a vector of the model asked about."""
    held: int = 0
    """Pages that look gone, all at once: they stay until somebody agrees."""


@dataclass(frozen=True, slots=True)
class StoredPage:
    """A page of a site as it last was."""

    site: SiteId
    site_name: str
    url: Url
    document: BlobKey
    presence: Presence = Presence.PRESENT
    evidence: str = ""
    fetched_at: float = 0.0


@dataclass(frozen=True, slots=True)
class ChunkTablePage:
    """What filters need to know of a page."""

    number: int
    url: str
    lang: str
    kind: str
    dated: float | None


@dataclass(frozen=True, slots=True)
class ChunkTable:
    """Every live chunk of a site by number, column by column, as little-endian numbers."""

    version: int
    pages: tuple[ChunkTablePage, ...] = ()
    numbers: bytes = b""
    """uint32, ascending."""
    page_numbers: bytes = b""
    """uint32, one a chunk."""
    lengths: bytes = b""
    """uint16, one a chunk."""
    flagged: bytes = b""
    """uint8, 1 where a chunk has flags."""


@dataclass(frozen=True, slots=True)
class ChunkRecord:
    """A chunk that may be shown: its page is there and still says what the chunk was made from."""

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
    flags: tuple[Flag, ...] = ()
    presence: Presence = Presence.PRESENT
    fetched_at: float = 0.0


class SearchMode(StrEnum):
    """Which halves of search take part."""

    HYBRID = "hybrid"
    LEXICAL = "lexical"
    DENSE = "dense"


@dataclass(frozen=True, slots=True)
class SearchQuery:
    """A question, and where its answer may come from."""

    text: str
    tenant: str = DEFAULT_TENANT
    sites: tuple[str, ...] = ()
    """Names; empty for every site of the tenant."""
    path: str = ""
    """Paths below this one."""
    langs: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    since: float | None = None
    until: float | None = None
    limit: int = 10
    per_page: int = 2
    """Chunks of one page among the answers, at most."""
    mode: SearchMode = SearchMode.HYBRID
    flagged: bool = True
    """Whether chunks that read like instructions to a machine may be among them."""


@dataclass(frozen=True, slots=True)
class Hit:
    """One answer, with where it stands."""

    card: ChunkRecord
    score: float
    lexical: float | None = None
    dense: float | None = None
    snippet: str = ""
    highlights: tuple[tuple[int, int], ...] = ()
    """Where in the snippet the words of the question stand, as character offsets."""

    @property
    def citation(self) -> str:
        """The address that leads to the text itself."""
        return f"{self.card.url}#{self.card.fragment}" if self.card.fragment else str(self.card.url)


@dataclass(frozen=True, slots=True)
class SearchAnswer:
    """What was found, and by what means."""

    hits: tuple[Hit, ...] = ()
    mode: SearchMode = SearchMode.LEXICAL
    """Which halves took part in fact."""
    chunks: int = 0
    embedded: int = 0
    """Of the chunks that were looked through, those with a vector."""


@dataclass(frozen=True, slots=True)
class PageInRun:
    """A page that a site was known to have, and how a run met it."""

    url: Url
    presence: Presence
    soft_misses: int = 0
    """Runs in a row that took it for a soft 404."""
    state: UrlState | None = None
    """None: the run did not come by it."""
    status_code: int | None = None
    skip_reason: SkipReason | None = None
    alias_of: Url | None = None


@dataclass(frozen=True, slots=True)
class PresenceChange:
    """What is now known of a page, where that changed."""

    url: Url
    presence: Presence
    evidence: str = ""
    soft_misses: int = 0
    held: bool = False
    """It looks gone, and so does too much of the site."""


@dataclass(frozen=True, slots=True)
class RunOutcome:
    """A run that has ended, as far as it says something about pages that it did not meet."""

    run: RunId
    is_complete: bool
    """Every URL of the site was looked at: no budget, depth or time cut it short, and nothing failed."""
    pages: tuple[PageInRun, ...] = ()


@dataclass(frozen=True, slots=True)
class PresenceChanges:
    """What a run changes in what is known of its site's pages."""

    changed: tuple[PresenceChange, ...] = ()
    held: int = 0
    gone: int = 0


@dataclass(frozen=True, slots=True)
class Postings:
    """Where a term stands: chunk numbers ascending, how often in each, and how long each is.

    Packed as n times uint32, n times uint16, n times uint16, little-endian; counts beyond 65,535 are cut there.
    """

    numbers: Sequence[int] = ()
    counts: Sequence[int] = ()
    lengths: Sequence[int] = ()

    def packed(self) -> bytes:
        """As they are stored."""
        most = 0xFFFF
        parts = (
            array("I", self.numbers),
            array("H", [min(most, count) for count in self.counts]),
            array("H", [min(most, length) for length in self.lengths]),
        )
        return b"".join(part.tobytes() for part in parts)


@dataclass(frozen=True, slots=True)
class TextToEmbed:
    """A text that has no vector yet."""

    text_hash: str
    text: CleanText


@dataclass(frozen=True, slots=True)
class Similarities:
    """How near chunks are to a question: inner products of unit vectors."""

    numbers: Sequence[int] = ()
    scores: Sequence[float] = ()
    embedded: int = 0
    """Chunks that have a vector."""


@dataclass(frozen=True, slots=True)
class ChunkSizes:
    """How large chunks are, in tokens."""

    target: int = 500
    least: int = 300
    most: int = 800
    overlap: float = 0.12
    """The share of a chunk that the one before has too."""


@dataclass(frozen=True, slots=True)
class IndexProgress:
    """How far indexing is, for whoever watches."""

    pages: int = 0
    pages_done: int = 0
    chunks: int = 0
    texts: int = 0
    texts_done: int = 0
    notes: tuple[str, ...] = field(default_factory=tuple)
