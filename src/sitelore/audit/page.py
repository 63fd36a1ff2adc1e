"""One URL of a run as audit rules see it: its row, the head of its response, its stored facts and its document."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from sitelore.model.audit.facts import AuditFacts, Declaration, Place
from sitelore.model.audit.findings import Indexability
from sitelore.model.frontier import Hop, PageVersion, Source, UrlRow
from sitelore.model.ids import NO_TEXT, CleanText
from sitelore.model.response import StoredHead
from sitelore.model.states import KEPT, REDIRECT_STATES, UNCHANGED, Proof, SkipReason, UrlState
from sitelore.model.url import Url, resolve

_REDIRECTS = frozenset(REDIRECT_STATES.values())
_NO_FACTS = AuditFacts()
_NO_HEAD = StoredHead()
_ROBOTS_SKIPS = frozenset({SkipReason.ROBOTS, SkipReason.ROBOTS_UNREACHABLE})
_GENERAL_ROBOTS = frozenset({"robots", "x-robots-tag"})
_AGENT = re.compile(r"\s*(?!max-|unavailable_after)([a-z][a-z0-9_-]*)\s*:")
"""The name before the directives of an `X-Robots-Tag` header that concerns one crawler."""


@dataclass(frozen=True, slots=True)
class PageContent:
    """The parts of a stored document that rules read."""

    text: CleanText = NO_TEXT
    markdown: CleanText = NO_TEXT
    h1: str = ""
    image: str = ""
    meta: Mapping[str, str] = field(default_factory=dict)
    structured: tuple[Mapping[str, Any], ...] = ()
    forms: tuple[Mapping[str, Any], ...] = ()
    media: tuple[Mapping[str, Any], ...] = ()
    rendering: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> PageContent:
        """The content of a document as it is stored in JSON."""
        text, markdown, h1, image = (document.get(name) or NO_TEXT for name in ("text", "markdown", "h1", "image"))
        structured, forms, media = (tuple(document.get(name) or ()) for name in ("structured", "forms", "media"))
        meta, rendering = (document.get(name) or {} for name in ("meta", "rendering"))
        return cls(text, markdown, h1, image, meta, structured, forms, media, rendering)


NO_CONTENT = PageContent()


@dataclass(frozen=True)
class AuditPage:
    """One URL of a run. Build it with `audit_page`."""

    url: Url
    state: UrlState
    status: int | None = None
    content_type: str = ""
    """The media type alone, in lower case."""
    chain: tuple[Hop, ...] = ()
    final_url: Url | None = None
    head: StoredHead = _NO_HEAD
    has_head: bool = False
    """Whether `head` is the head of the page itself: not of a 304, and not missing."""
    facts: AuditFacts = _NO_FACTS
    """Empty for a URL without a stored page."""
    content: PageContent = NO_CONTENT
    """Empty unless the caller has read the document."""
    source: Source = Source.LINK
    parent: Url | None = None
    depth: int = 0
    pattern: str = ""
    word_count: int = 0
    content_hash: str = ""
    noindex: bool = False
    proof: Proof | None = None
    skip_reason: SkipReason | None = None
    detail: str = ""
    error: str = ""
    elapsed_s: float | None = None
    body_bytes: int = 0
    """As received, compressed or not."""
    fetched_at: float | None = None
    lastmod: float | None = None
    fetches: int = 0
    is_rendered: bool = False
    changed: bool | None = None
    redactions: Mapping[str, int] = field(default_factory=dict)

    @cached_property
    def is_kept(self) -> bool:
        """Whether it is a page of the run: read now, or unchanged since it was read."""
        return self.state in KEPT or (self.state is UrlState.SKIPPED and self.skip_reason in UNCHANGED)

    @cached_property
    def is_html(self) -> bool:
        """Whether it is a kept HTML page with facts. Error pages, redirects and duplicates are not."""
        return self.is_kept and self.facts.kind == "html" and (self.status is None or self.status in {200, 203, 304})

    @cached_property
    def is_redirect(self) -> bool:
        """Whether the server redirects this URL."""
        return self.state in _REDIRECTS or self.proof is Proof.REDIRECT or (self.status in REDIRECT_STATES)

    @cached_property
    def base_url(self) -> str:
        """The URL against which the addresses of the page are resolved."""
        return (resolve(self.url, self.facts.base) if self.facts.base else None) or str(self.url)

    @cached_property
    def canonicals(self) -> tuple[Declaration, ...]:
        """The canonical links that count: those in the head and in headers."""
        return tuple(each for each in self.facts.canonicals if each.place is not Place.BODY)

    @cached_property
    def canonical(self) -> Url | None:
        """The URL of the first canonical link that counts; None where there is none or it is invalid."""
        return self.resolved(self.canonicals[0].value) if self.canonicals else None

    @cached_property
    def robots_words(self) -> dict[str, Declaration]:
        """The words for all search engines in robots metas and headers, each with its first declaration."""
        words: dict[str, Declaration] = {}
        for declaration in self.facts.robots:
            agent, directives = robots_directives(declaration)
            if not agent:
                for word in directives:
                    words.setdefault(word, declaration)
        return words

    @cached_property
    def indexability(self) -> Indexability:
        """Whether search engines may list it, and if not, why."""
        if self.is_redirect:
            return Indexability.REDIRECT
        if not self.is_kept:
            return self._not_kept()
        if self.noindex or {"noindex", "none"} & self.robots_words.keys():
            return Indexability.NOINDEX
        if self.facts.kind not in {"html", ""} or (self.content_type and "html" not in self.content_type):
            return Indexability.NOT_HTML
        if self.canonical is not None and self.canonical != self.url:
            return Indexability.CANONICALISED
        return Indexability.INDEXABLE

    def _not_kept(self) -> Indexability:
        if self.state is UrlState.SKIPPED:
            return Indexability.ROBOTS if self.skip_reason in _ROBOTS_SKIPS else Indexability.NOT_FETCHED
        by_state = {
            UrlState.ALIAS: Indexability.ALIAS,
            UrlState.SOFT_404: Indexability.SOFT_404,
            UrlState.FORBIDDEN: Indexability.FORBIDDEN,
            UrlState.NOT_FOUND: Indexability.ERROR,
            UrlState.HTTP_TERMINAL: Indexability.ERROR,
            UrlState.FAILED: Indexability.ERROR,
        }
        return by_state.get(self.state, Indexability.NOT_FETCHED)

    @property
    def is_indexable(self) -> bool:
        """Whether it is an HTML page that search engines may list."""
        return self.is_html and self.indexability is Indexability.INDEXABLE

    def resolved(self, href: str) -> Url | None:
        """The URL of an address on this page, in the form of the frontier; None when it is not http(s)."""
        return Url.parse(href.strip(), self.base_url)

    def header(self, name: str) -> str:
        """The first response header of this (lower-case) name; empty when there is none."""
        return next(self.headers(name), "")

    def headers(self, name: str) -> Iterator[str]:
        """Yield every response header of this (lower-case) name."""
        return (value for key, value in self.head.headers if key == name)


def robots_directives(declaration: Declaration) -> tuple[str, list[str]]:
    """The crawler that a robots meta or header concerns, empty for all, and its directives."""
    agent, value = "" if declaration.name in _GENERAL_ROBOTS else declaration.name, declaration.value
    if declaration.place is Place.HEADER and (match := _AGENT.match(value)) is not None:
        agent, value = match[1], value[match.end() :]
    return agent, [word.strip() for word in value.split(",")]


def audit_page(
    row: UrlRow,
    version: PageVersion | None = None,
    facts: AuditFacts | None = None,
    document: Mapping[str, Any] | None = None,
) -> AuditPage:
    """The page of a row, of the current version of its page, of the facts in that version, and of its decoded document."""
    return AuditPage(
        url=row.url,
        state=row.state,
        status=row.status_code,
        content_type=row.content_type.partition(";")[0].strip().lower(),
        chain=row.redirect_chain,
        final_url=row.final_url,
        head=row.response_head or StoredHead(headers=row.headers),
        has_head=row.response_head is not None and row.status_code == 200,
        facts=facts or _NO_FACTS,
        content=PageContent.of(document) if document is not None else NO_CONTENT,
        source=row.source,
        parent=row.parent,
        depth=row.depth,
        pattern=row.pattern,
        word_count=row.word_count,
        content_hash=row.content_hash or (version.content_hash if version is not None else ""),
        noindex=row.noindex,
        proof=row.proof,
        skip_reason=row.skip_reason,
        detail=row.detail,
        error=row.error,
        elapsed_s=row.elapsed_s,
        body_bytes=row.body_bytes,
        fetched_at=row.fetched_at,
        lastmod=row.lastmod,
        fetches=row.fetches,
        is_rendered=row.render is not None and row.render.in_browser,
        changed=row.changed,
        redactions=version.redactions if version is not None else {},
    )
