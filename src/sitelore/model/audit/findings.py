"""Types of audits: findings and their life, and the records that audit rules read besides pages and links.

`audit/` fills and checks them; docs/reference/audit.md describes the rules. Records that a caller does not have (files,
checks of external links, earlier runs, the search index) stay empty, and the rules that need them stay silent.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, NamedTuple, Protocol

Evidence = Mapping[str, Any]
"""Small values that JSON can hold: texts, numbers, lists and mappings of these."""

_KEY_CHARS = 20


class Severity(StrEnum):
    """How bad a finding is. Only errors lower the score."""

    ERROR = "error"
    """A reader, a crawler or our index is misled or blocked."""
    WARNING = "warning"
    """Quality is lost."""
    NOTICE = "notice"
    """Worth knowing."""


class Indexability(StrEnum):
    """Whether search engines may list a URL, and if not, why."""

    INDEXABLE = "indexable"
    NOINDEX = "noindex"
    CANONICALISED = "canonical_elsewhere"
    """Its canonical link names another URL."""
    ALIAS = "alias"
    """It was merged into another page."""
    REDIRECT = "redirect"
    ERROR = "error"
    """The server answered with an error, or not at all."""
    SOFT_404 = "soft_404"
    FORBIDDEN = "forbidden"
    ROBOTS = "robots"
    """robots.txt excludes it."""
    NOT_FETCHED = "not_fetched"
    NOT_HTML = "not_html"


@dataclass(frozen=True, slots=True)
class Finding:
    """One problem of one page, or of the site, with its evidence."""

    rule: str
    url: str
    """The page on which it can be fixed; the start page for findings of the whole site."""
    severity: Severity
    evidence: Evidence
    key: str
    """Its identity: equal in all runs in which it is the same problem."""


def finding_key(rule: str, url: str, identity: Sequence[Any]) -> str:
    """The identity of a finding: a stable hash of its rule, its page and the evidence that makes it the same problem."""
    text = json.dumps([rule, url, *identity], ensure_ascii=False, sort_keys=True, default=str)
    return hashlib.sha1(text.encode("utf-8", "replace"), usedforsecurity=False).hexdigest()[:_KEY_CHARS]


class FindingStatus(StrEnum):
    """The state of a finding."""

    OPEN = "open"
    RESOLVED = "resolved"
    REGRESSED = "regressed"
    """Open again after it was resolved."""
    IGNORED = "ignored"


OPEN_STATUSES = frozenset({FindingStatus.OPEN, FindingStatus.REGRESSED})


class IgnoreScope(StrEnum):
    """The findings that a decision to ignore covers."""

    FINDING = "finding"
    PAGE = "page"
    """All findings of the rule on this page."""
    RULE = "rule"
    """All findings of the rule on the site."""


@dataclass(frozen=True, slots=True)
class Ignore:
    """A person's decision not to fix a finding."""

    rule: str
    reason: str
    by: str = ""
    scope: IgnoreScope = IgnoreScope.FINDING
    url: str = ""
    key: str = ""
    until: float | None = None
    """A Unix time after which the finding is open again; None: for ever."""


@dataclass(frozen=True, slots=True)
class FindingRecord:
    """A finding with its life over several runs."""

    finding: Finding
    status: FindingStatus
    first_seen: float
    last_seen: float
    resolved_at: float | None = None
    ignored: Ignore | None = None
    opened_run: str = ""
    """The run that opened it, for the first time or again."""
    seen_run: str = ""
    """The last run that had it."""
    resolved_run: str = ""


@dataclass(frozen=True, slots=True)
class FindingListing:
    """A page of the findings of a site. Empty filters: all."""

    statuses: frozenset[FindingStatus] = frozenset()
    severities: frozenset[Severity] = frozenset()
    rules: frozenset[str] = frozenset()
    url: str = ""
    """Only findings of URLs that start with this."""
    page: str = ""
    """Only findings of exactly this URL."""
    opened_run: str = ""
    """Only findings that this run opened."""
    text: str = ""
    """Part of the URL or of the evidence."""
    limit: int = 100
    offset: int = 0


@dataclass(frozen=True, slots=True)
class RuleFindings:
    """How many findings of a list one rule has."""

    rule: str
    severity: Severity
    """That of the worst one."""
    findings: int
    pages: int
    new: int
    """Those that the latest audit opened."""
    regressed: int


class AuditState(StrEnum):
    """The state of the audit of a run."""

    WAITING = "waiting"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"


class AuditPhase(StrEnum):
    """The step that a running audit is in."""

    PAGES = "pages"
    CHECKS = "checks"
    """Only where the audit may send requests."""
    LINKS = "links"
    SITE = "site"
    FINDINGS = "findings"
    INSIGHTS = "insights"


@dataclass(frozen=True, slots=True)
class AuditCounts:
    """The findings of a site after an audit."""

    by_severity: Mapping[str, int] = field(default_factory=dict)
    """Open findings."""
    by_rule: Mapping[str, int] = field(default_factory=dict)
    """Open findings."""
    opened: int = 0
    """Findings that this run opened, for the first time or again."""
    resolved: int = 0
    ignored: int = 0


@dataclass(frozen=True, slots=True)
class AuditRecord:
    """The audit of one run: its progress, and its result when it is done."""

    run: str
    state: AuditState
    phase: AuditPhase | None = None
    pages: int = 0
    """Pages checked so far."""
    started_at: float | None = None
    finished_at: float | None = None
    is_complete: bool = False
    """Whether the run read the whole site."""
    score: AuditScore | None = None
    """None until the audit is done, and for a run that fetched only named URLs."""
    counts: AuditCounts = field(default_factory=AuditCounts)
    error: str = ""


@dataclass(frozen=True, slots=True)
class AuditScore:
    """The share of indexable pages without an open error."""

    clean: int
    indexable: int

    @property
    def percent(self) -> float | None:
        """From 0 to 100; None for a site without indexable pages."""
        return 100 * self.clean / self.indexable if self.indexable else None

    @property
    def band(self) -> str:
        """The score in a word: `weak`, `fair`, `good` or `excellent`; empty without a score."""
        percent = self.percent
        if percent is None:
            return ""
        return next(band for limit, band in ((30, "weak"), (70, "fair"), (90, "good"), (100, "excellent")) if percent <= limit)


@dataclass(frozen=True, slots=True)
class SitemapFile:
    """A sitemap as it was read, with the URLs that it lists."""

    url: str
    status: int = 200
    """0 when there was no response."""
    kind: str = "urlset"
    """`urlset`, `index`, `text`, `rss`, `atom` or `news`; empty when it is none of them."""
    problem: str = ""
    body_bytes: int = 0
    entries: Mapping[str, float | None] = field(default_factory=dict)
    """The time of the last modification by URL; None where there is none. URLs that are not absolute are kept as written."""


@dataclass(frozen=True, slots=True)
class MediaFile:
    """A file that pages embed or link: an image, a PDF, an office file."""

    url: str
    status: int = 200
    """0 when there was no response."""
    content_type: str = ""
    """The media type that the server declares."""
    detected_type: str = ""
    """The media type by the first bytes; empty when it is not known."""
    size: int = 0
    width: int = 0
    """Of an image, in pixels; 0 when it is not known."""
    height: int = 0
    is_readable: bool = True
    """Whether the image could be decoded or the document has text."""
    problem: str = ""
    """Why it is not readable: `encrypted`, `no text layer` …"""
    smaller_size: int = 0
    """The size after our compression; 0 when it was not tried."""


@dataclass(frozen=True, slots=True)
class ExternalCheck:
    """One check of a URL of another site."""

    url: str
    at: float
    status: int
    """0 when there was no response."""
    error: str = ""


class Shingles(Protocol):
    """The shingles of a text as `audit/shingles.py` makes them: bytes, or an object that reads them from a file."""

    def __len__(self) -> int: ...

    def __bytes__(self) -> bytes: ...


@dataclass(frozen=True, slots=True)
class EarlierPage:
    """What an earlier run recorded about a URL."""

    url: str
    seen_at: float
    title: str = ""
    word_count: int = 0
    content_hash: str = ""
    status: int | None = None
    final_url: str = ""
    """The target of a redirect."""
    lastmod: float | None = None
    elapsed_s: float | None = None
    noindex: bool = False
    changed_at: float | None = None
    """When its content last really changed."""
    shingles: Shingles = b""
    """`PageSummary.shingles` of that time."""
    is_html: bool = True
    """Whether it was an HTML page of that run: no file, redirect, error or duplicate."""


@dataclass(frozen=True, slots=True)
class Instruction:
    """Text that reads like an instruction to a language model (`index/prompt_injection.py`)."""

    url: str
    rule: str
    text: str
    place: str = "text"
    """`text`, `code`, `quote` or `hidden`."""


@dataclass(frozen=True, slots=True)
class IndexedUrl:
    """A page in our own search index."""

    url: str
    chunks: int = 0
    directive: str = ""
    """`noindex` or `noarchive` where the site now says so."""
    gone_runs: int = 0
    """The number of runs in a row in which it was gone."""
    held_since: float | None = None
    evidence: str = ""


@dataclass(frozen=True, slots=True)
class RepeatedChunk:
    """A passage of text that several pages have."""

    text: str
    words: int
    urls: tuple[str, ...]


class ChunkVector(NamedTuple):
    """A text of the search index with its embedding."""

    number: int
    """Of one of the chunks with this text."""
    pages: tuple[int, ...]
    """The numbers of the pages that have the text."""
    vector: bytes
    """Little-endian float16 of unit length."""


@dataclass(frozen=True, slots=True)
class VectorSample:
    """Texts of the search index of a site with their embeddings, in a stable order."""

    chunks: Sequence[ChunkVector] = ()
    total: int = 0
    """Different texts that have an embedding."""


class LoggedQuery(NamedTuple):
    """A query of the search log with its searches since it was first recorded."""

    query: str
    searches: int
    without_results: int
    weak: int
    """Searches whose best result hardly fits."""
    last_at: float


@dataclass(frozen=True, slots=True)
class SearchLog:
    """What was searched on a site, where the operator has searches recorded."""

    searches: int
    queries: int
    """Different ones."""
    unanswered: tuple[LoggedQuery, ...]
    """Queries that had no good result at least once, those most often without one first."""


@dataclass(frozen=True, slots=True)
class LlmsTxt:
    """The file `/llms.txt` as it was fetched."""

    url: str
    status: int
    content_type: str = ""
    body: str = ""
    checked_at: float = 0.0
