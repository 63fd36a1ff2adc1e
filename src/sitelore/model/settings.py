"""What a person may ask of one crawl. Stored with the run, so that a resumed run does what the first one was asked."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

USER_AGENT = "Sitelore/0.1 (+https://github.com/sitelore/sitelore)"


class Scope(StrEnum):
    """How far from its seeds a crawl may go."""

    HOST = "host"
    ORIGIN = "origin"
    DOMAIN = "domain"
    PREFIX = "prefix"


class SlashForm(StrEnum):
    """What page identity makes of a trailing slash."""

    KEEP = "keep"
    ADD = "add"
    STRIP = "strip"


class QueryForm(StrEnum):
    """What page identity makes of a query."""

    KEEP = "keep"
    SORT = "sort"
    DROP = "drop"


@dataclass(frozen=True, slots=True)
class Identity:
    """Site options that decide when two final URLs are one page. Never applied to the URL that is fetched."""

    force_https: bool = False
    slash: SlashForm = SlashForm.KEEP
    query: QueryForm = QueryForm.KEEP


@dataclass(frozen=True, slots=True)
class FetchLimits:
    """How long and how much one request may take."""

    connect_s: float = 10.0
    headers_s: float = 10.0
    body_s: float = 60.0
    slow_after_s: float = 10.0
    slow_bytes_per_s: int = 500
    wire_bytes: int = 16 * 2**20
    body_bytes: int = 16 * 2**20


@dataclass(frozen=True, slots=True)
class Pace:
    """Politeness towards one host. `delay_s` None means: adapt to the host's own speed."""

    delay_s: float | None = None
    concurrency: int = 8
    per_host: int = 8
    max_crawl_delay_s: float = 30.0
    max_retry_after_s: float = 60.0


class RenderMode(StrEnum):
    """When pages are read through a browser."""

    AUTO = "auto"
    NEVER = "never"
    ALWAYS = "always"


@dataclass(frozen=True, slots=True)
class Rendering:
    """How pages are read through a browser, and what is kept of how they look."""

    mode: RenderMode = RenderMode.AUTO
    timeout_s: float = 20.0
    blocked: tuple[str, ...] = ()
    """URL patterns (`*` is anything) that the browser does not load, on top of the built-in ones."""
    expand_frames: bool = False
    expand_shadow_roots: bool = True
    screenshots: bool = False
    screenshot_height: int = 8000
    brand: bool = True
    """Whether the home page's colours, fonts and logo are read."""


class ReadMode(StrEnum):
    """How much is extracted from a page."""

    FULL = "full"
    """Content, links and metadata; structured data, forms, actions, media and brand."""
    CONTENT = "content"
    """Content, links and metadata alone. The rest can be extracted later from the stored snapshot."""

    @classmethod
    def _missing_(cls, value: object) -> ReadMode | None:
        # Runs stored by earlier versions may hold `plain`, which kept no more than `content` does.
        return cls.CONTENT if value == "plain" else None


class LinkStyle(StrEnum):
    """How links are written in exported Markdown. Stored documents keep absolute links."""

    ABSOLUTE = "absolute"
    RELATIVE = "relative"
    """Links within the site are relative; in a Markdown tree, links to exported pages lead to their files."""
    TEXT = "text"
    """The text of links alone; images stay."""
    NONE = "none"
    """The text of links alone, and images as their alternative text."""


class PersonalPolicy(StrEnum):
    """Where data of persons (e-mail, phone, card, IBAN, national ids) is masked."""

    OFF = "off"
    CHUNKS = "chunks"
    """In what is searched and handed to models, and in logs; documents keep it."""
    EVERYWHERE = "everywhere"
    """Before anything is kept."""


@dataclass(frozen=True, slots=True)
class Loader:
    """A collection of an API whose records are read like pages. Paths and templates: `model/api_loader.py`."""

    url: str
    """Where the collection begins; for GraphQL the endpoint."""
    records: str = ""
    """Path of the list of records; empty: the answer is the list."""
    record: str = ""
    """Template of a record's own address: each is fetched. Empty: the answer is read as it is, a section for each record."""
    page: str = ""
    """Template or path (`{link}`) of the page on which people read the record."""
    title: str = "title"
    text: tuple[str, ...] = ()
    """Paths of what is read, in order: HTML or plain text."""
    updated: str = ""
    published: str = ""
    author: str = ""
    lang: str = ""
    next: str = ""
    """Path of the next part's address or cursor; a `Link: rel=next` header is followed as well."""
    more: str = ""
    """Path of a flag without which there is no next part."""
    cursor: str = ""
    """The parameter (of GraphQL: the variable) that takes the cursor."""
    query: str = ""
    """A GraphQL query, sent by GET."""
    variables: str = ""
    """Its variables, as JSON."""
    persisted: bool = False
    """Whether the server knows the query already, so that its hash is sent alone."""


@dataclass(frozen=True, slots=True)
class Overrides:
    """A domain's own extraction rules (`--domain-config`)."""

    domain: str = ""
    main_content_selectors: tuple[str, ...] = ()
    remove_selectors: tuple[str, ...] = ()
    identity: Identity = Identity()
    render: RenderMode | None = None
    """The domain's own word on rendering; None leaves it to the run."""
    loaders: tuple[Loader, ...] = ()
    """Collections of its API."""
    own: bool = False
    """Whether the site is ours: only there a GraphQL query may ask for the schema."""


class Pipeline(StrEnum):
    """What a run of a known site is for: the same visits, fed differently."""

    INDEX_SITE = "index-site"
    """Everything again, whatever is known of it."""
    UPDATE_DELTA = "update-delta"
    """What has changed: pages that are said to have, or whatever sitemaps, validators and hashes show."""


@dataclass(frozen=True, slots=True)
class CrawlSettings:
    """Everything that decides what a run fetches and keeps. A pure value: equal settings and an equal site give equal runs."""

    seeds: tuple[str, ...] = ()
    sitemaps: tuple[str, ...] = ()
    scope: Scope = Scope.HOST
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    max_pages: int | None = None
    max_depth: int | None = None
    max_retries: int = 2
    max_redirects: int = 10
    follow_redirects: bool = True
    obey_robots: bool = True
    robots_agents: tuple[str, ...] = ()
    obey_nofollow: bool = True
    discover_sitemaps: bool = True
    user_agent: str = USER_AGENT
    ttl_s: float | None = None
    force: bool = False
    time_limit_s: float | None = None
    tracking_parameters: tuple[str, ...] = ()
    identity: Identity = Identity()
    limits: FetchLimits = FetchLimits()
    pace: Pace = Pace()
    overrides: tuple[Overrides, ...] = ()
    read: ReadMode = ReadMode.FULL
    rendering: Rendering = Rendering()
    documents: bool = True
    """Whether PDF and office files are read like pages."""
    open_origins: tuple[str, ...] = ()
    allow_private: tuple[str, ...] = ()
    keep_snapshots: bool = True
    detect_traps: bool = True
    personal: PersonalPolicy = PersonalPolicy.CHUNKS
    personal_ids: tuple[str, ...] = ()
    """National ids that count as data of persons (`docs/reference/redaction.md`)."""
    keep_contacts: bool = True
    """Whether contact pages, and what a site says of its own business, keep e-mail addresses and phone numbers."""
    pipeline: Pipeline | None = None
    """The pipeline that made the run; None for a crawl that somebody asked for as such."""

    @property
    def sitemap_only(self) -> bool:
        """Sitemaps and no seeds: links are recorded, not followed."""
        return bool(self.sitemaps) and not self.seeds
