"""The settings of a crawl, stored with the run so that a resumed run uses the same ones; and the options of redaction."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum

from sitelore.model.errors import UsageError

USER_AGENT = "Sitelore/0.1 (+https://github.com/sitelore/sitelore)"


class Scope(StrEnum):
    """How far from its seeds a crawl may go."""

    HOST = "host"
    ORIGIN = "origin"
    DOMAIN = "domain"
    PREFIX = "prefix"


class SlashForm(StrEnum):
    """How page identity treats a trailing slash."""

    KEEP = "keep"
    ADD = "add"
    STRIP = "strip"


class QueryForm(StrEnum):
    """How page identity treats a query."""

    KEEP = "keep"
    SORT = "sort"
    DROP = "drop"


@dataclass(frozen=True, slots=True)
class Identity:
    """Options that decide when two final URLs are one page. Never applied to the URL that is fetched."""

    force_https: bool = False
    slash: SlashForm = SlashForm.KEEP
    query: QueryForm = QueryForm.KEEP


@dataclass(frozen=True, slots=True)
class FetchLimits:
    """Limits on the time and size of one request."""

    connect_s: float = 10.0
    headers_s: float = 10.0
    body_s: float = 60.0
    slow_after_s: float = 10.0
    slow_bytes_per_s: int = 500
    wire_bytes: int = 16 * 2**20
    body_bytes: int = 16 * 2**20


@dataclass(frozen=True, slots=True)
class Pace:
    """Politeness towards one host. `delay_s` None: adapt to the host's response time."""

    delay_s: float | None = None
    concurrency: int = 8
    per_host: int = 8
    max_crawl_delay_s: float = 30.0
    max_retry_after_s: float = 60.0


class RenderMode(StrEnum):
    """When pages are rendered in a browser."""

    AUTO = "auto"
    NEVER = "never"
    ALWAYS = "always"


@dataclass(frozen=True, slots=True)
class Rendering:
    """How pages are rendered, and which visual data is kept."""

    mode: RenderMode = RenderMode.AUTO
    timeout_s: float = 20.0
    blocked: tuple[str, ...] = ()
    """URL patterns (`*` matches anything) that the browser does not load, in addition to the built-in ones."""
    expand_frames: bool = False
    expand_shadow_roots: bool = True
    screenshots: bool = False
    screenshot_height: int = 8000
    brand: bool = True
    """Whether the home page's colours, fonts and logo are extracted."""


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


class Prefetch(StrEnum):
    """Which pages are fetched ahead of their admission, while the crawl waits for slow pages."""

    ON = "on"
    """Pages that will be admitted, and under a page limit also some (at most 5 % of the limit) that may not be."""
    CERTAIN = "certain"
    """Only pages that will be admitted."""
    OFF = "off"


class LinkStyle(StrEnum):
    """How links are written in exported Markdown. Stored documents keep absolute links."""

    ABSOLUTE = "absolute"
    RELATIVE = "relative"
    """Links within the site are relative; in a Markdown tree, links to exported pages lead to their files."""
    TEXT = "text"
    """Only the text of links; images stay."""
    NONE = "none"
    """Only the text of links, and images as their alternative text."""


class PersonalPolicy(StrEnum):
    """Where personal data (e-mail, phone, card, IBAN, national ids) is masked."""

    OFF = "off"
    CHUNKS = "chunks"
    """In search, in output to language models and in logs; stored documents keep it."""
    EVERYWHERE = "everywhere"
    """Before anything is stored."""


@dataclass(frozen=True, slots=True)
class Loader:
    """A collection of an API whose records are extracted like pages. Paths and templates: `model/api_loader.py`."""

    url: str
    """The first page of the collection; for GraphQL the endpoint."""
    records: str = ""
    """Path of the list of records; empty: the response is the list."""
    record: str = ""
    """URL template of a record: each record is fetched. Empty: the response is one page with a section per record."""
    page: str = ""
    """Template or path (`{link}`) of the page on which people read the record."""
    title: str = "title"
    text: tuple[str, ...] = ()
    """Paths of the content, in order: HTML or plain text."""
    updated: str = ""
    published: str = ""
    author: str = ""
    lang: str = ""
    next: str = ""
    """Path of the next page's URL or cursor; a `Link: rel=next` header is followed as well."""
    more: str = ""
    """Path of a flag that must be true for a next page to exist."""
    cursor: str = ""
    """The parameter (in GraphQL: the variable) that takes the cursor."""
    query: str = ""
    """A GraphQL query, sent by GET."""
    variables: str = ""
    """Its variables, as JSON."""
    persisted: bool = False
    """Whether the server already knows the query, so that only its hash is sent."""


@dataclass(frozen=True, slots=True)
class LoggedOut:
    """How a domain shows that a visitor is not logged in. A crawl that sees it stops and can be resumed."""

    selector: str = ""
    """An element with this CSS selector is on the page."""
    text: str = ""
    """The page contains this text."""
    url: str = ""
    """Pages redirect to a URL that this pattern matches (like those of `--exclude`)."""


class ActionKind(StrEnum):
    """What is done on a page before it is read."""

    CLICK = "click"
    SCROLL = "scroll"
    LOAD_MORE = "load_more"
    WAIT = "wait"


@dataclass(frozen=True, slots=True)
class PageAction:
    """One action in the browser on every page of a domain, before it is read."""

    kind: ActionKind
    target: str
    """A CSS selector; for `scroll` the word `end`."""
    times: int = 1
    """How often `load_more` clicks, at most."""


@dataclass(frozen=True, slots=True)
class Overrides:
    """A domain's own extraction rules (`--domain-config`)."""

    domain: str = ""
    main_content_selectors: tuple[str, ...] = ()
    remove_selectors: tuple[str, ...] = ()
    identity: Identity = Identity()
    render: RenderMode | None = None
    """The rendering mode of the domain; None: the mode of the run."""
    loaders: tuple[Loader, ...] = ()
    """Collections of the domain's API."""
    own: bool = False
    """Whether the user owns the site: only then may a GraphQL query request the schema."""
    logged_out: LoggedOut = LoggedOut()
    """How the domain shows that a visitor is not logged in."""
    actions: tuple[PageAction, ...] = ()
    """What is done on every page before it is read. Such pages are rendered in a browser."""


def rules_for(overrides: Iterable[Overrides], host: str) -> Overrides | None:
    """The rules of the nearest domain of a host: its own, or one that it is a subdomain of."""
    domains = {rules.domain.lower().strip("."): rules for rules in overrides}
    matching = [domain for domain in domains if not domain or host == domain or host.endswith(f".{domain}")]
    return domains[max(matching, key=len)] if matching else None


class Pipeline(StrEnum):
    """How a run of a known site selects the pages to fetch."""

    INDEX_SITE = "index-site"
    """Fetch everything again."""
    UPDATE_DELTA = "update-delta"
    """Fetch what has changed: the URLs given, or what sitemaps, validators and hashes show."""


class MediaType(StrEnum):
    """The kind of a media file."""

    IMAGE = "IMAGE"
    VIDEO = "VIDEO"
    DOCUMENT = "DOCUMENT"


@dataclass(frozen=True, slots=True)
class MediaPolicy:
    """Which media of pages are downloaded, and their limits."""

    types: tuple[MediaType, ...] = ()
    """Empty: none."""
    file_bytes: int = 16 * 2**20
    """The largest image or document."""
    video_bytes: int = 50 * 2**20
    per_page: int = 200
    per_run: int = 20_000


@dataclass(frozen=True, slots=True)
class CrawlSettings:
    """Everything that decides what a run fetches and keeps. Equal settings and an equal site give equal runs."""

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
    accept_language: str = ""
    """The Accept-Language header, sent to every host; empty: none."""
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
    """Whether PDF and office files are extracted like pages."""
    audit_facts: bool = False
    """Whether facts about the markup of pages are stored for audits. They take about a seventh of the CPU of extraction."""
    audit: bool = False
    """Whether the run is audited when it is complete, and its findings stored. Its pages get facts for audits."""
    open_origins: tuple[str, ...] = ()
    allow_private: tuple[str, ...] = ()
    keep_snapshots: bool = True
    media: MediaPolicy = MediaPolicy()
    detect_traps: bool = True
    prefetch: Prefetch = Prefetch.ON
    personal: PersonalPolicy = PersonalPolicy.CHUNKS
    personal_ids: tuple[str, ...] = ()
    """National ids that count as personal data (`docs/reference/redaction.md`)."""
    keep_contacts: bool = True
    """Whether contact pages, and a site's own business details, keep e-mail addresses and phone numbers."""
    pipeline: Pipeline | None = None
    """The pipeline that created the run; None for an ordinary crawl."""

    @property
    def sitemap_only(self) -> bool:
        """Sitemaps and no seeds: links are recorded, not followed."""
        return bool(self.sitemaps) and not self.seeds


# Redaction

MARK = "[REDACTED:"
"""The start of every replacement. A URL that contains it is not the original one, and is never fetched."""


@dataclass(frozen=True, slots=True)
class SecretRule:
    """One kind of secret, as written in a rule file (`extract/redaction/secret_rules.toml`)."""

    name: str
    hint: str
    """RE2 syntax: where the rule looks; one search finds the hints of all rules."""
    exact: str
    """Python syntax, over bytes: its group is replaced; without a group the whole match is, and it must stand alone."""
    description: str = ""
    entropy: float = 0.0
    """The minimum entropy of the secret, in bits per character."""
    before: int = 0
    """How many bytes before the hint the secret may start; 0 when `exact` starts where the hint does."""
    reach: int = 400
    """How many bytes from the start of the hint are searched."""
    every: bool = False
    """Whether every match in the window counts, or only the first."""
    checks: tuple[str, ...] = ()
    near: tuple[str, ...] = ()
    """Lower-case words, one of which must occur before the match."""
    far: tuple[str, ...] = ()
    """Lower-case words, none of which may occur before the match."""
    near_bytes: int = 100
    """How far before the match these words are searched."""


@dataclass(frozen=True, slots=True)
class Redaction:
    """Options of redaction. The built-in rules always apply."""

    rules: tuple[SecretRule, ...] = ()
    """The operator's rules, in addition to the built-in ones."""
    key: bytes = field(default=b"", repr=False)
    """With a key, replacements of equal secrets carry equal keyed hashes. Never stored."""
    secrets: tuple[str, ...] = field(default=(), repr=False)
    """Values that are removed wherever they occur: the credentials of the crawl itself. Never stored."""
    personal: bool = False
    """Whether personal data is masked too."""
    personal_ids: tuple[str, ...] = ()
    """National ids that count as personal data (`extract/redaction/personal_data.py`)."""
    keep_contacts: bool = True
    """Whether contact pages, and a site's own business details, keep e-mail addresses and phone numbers."""


BUILT_IN_ALONE = Redaction()
"""Only the built-in rules for secrets."""


_DURATION = re.compile(r"(?:\d+(?:\.\d+)?[smhdw])+")
_DURATION_PART = re.compile(r"(\d+(?:\.\d+)?)([smhdw])")
_UNIT_S = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}


def parse_duration(text: str, option: str) -> float:
    """`24h`, `30m`, `7d`, `1h30m` in seconds. An error names the option, or the variable, that has the value."""
    compact = text.replace(" ", "").lower()
    if not _DURATION.fullmatch(compact):
        raise UsageError(f"{option}: invalid duration {text!r} (use 90s, 30m, 24h or 7d)")
    return sum(float(amount) * _UNIT_S[unit] for amount, unit in _DURATION_PART.findall(compact))
