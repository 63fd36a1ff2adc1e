"""Sites for audit tests: pages as HTML, extracted for real, with the rows and links that a crawl would store."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec
import zstandard

from sitelore.audit.catalogue import AuditConfig
from sitelore.audit.checks import check_page, check_site
from sitelore.audit.graph import SiteGraph
from sitelore.audit.page import AuditPage, audit_page
from sitelore.audit.site import Site, add_anchors, summarise
from sitelore.extract.audit_facts import decode_audit_facts
from sitelore.extract.page import read
from sitelore.model.audit.findings import Finding
from sitelore.model.document import PageLink, ReadOptions
from sitelore.model.frontier import Hop, LinkBetweenPages, LinkColumns, PageVersion, RowKind, Source, UrlRow
from sitelore.model.ids import BlobKey, CleanText, RunId
from sitelore.model.response import RenderDecision, Response, StoredHead
from sitelore.model.states import Proof, UrlState
from sitelore.model.url import Url

BASE = "https://site.example"
NOW = 1_780_000_000.0
"""In May 2026."""
DAY = 86_400.0
SAFE_HEADERS = (
    ("content-encoding", "gzip"),
    ("strict-transport-security", "max-age=31536000"),
    ("content-security-policy", "default-src 'self'; frame-ancestors 'none'"),
    ("x-content-type-options", "nosniff"),
    ("referrer-policy", "no-referrer"),
)
_VOCABULARY = [
    word
    for line in (
        "water mill river stone wheel grain bread farmer village bridge winter summer market road timber iron craft guild",
        "baker harvest stream valley mountain forest history museum repair engine pump channel sluice meadow weather family",
    )
    for word in line.split()
]


def prose(words: int = 130, seed: int = 1) -> str:
    """Paragraphs of English with this number of words, different for every seed."""
    chosen = random.Random(seed)
    sentences = []
    left = words
    while left > 0:
        size = min(left, 12)
        picked = [chosen.choice(_VOCABULARY) for _ in range(size)]
        if size > 6:
            picked[1], picked[3], picked[5] = "was", "the", "and"
        sentences.append(" ".join(picked).capitalize() + ".")
        left -= size
    return "".join(f"<p>{' '.join(sentences[at : at + 4])}</p>" for at in range(0, len(sentences), 4))


def html(
    body: str = "",
    *,
    head: str = "",
    title: str = "How water mills were built",
    description: str = "A short history of water mills, and of the people who built and used them.",
    attributes: str = "lang=en",
    main: str | None = None,
    words: int = 130,
    seed: int = 1,
    links: str = "/ /other",
) -> str:
    """A page on which no rule fires, with additions."""
    anchors = " ".join(f"<a href='{link}'>Link to {link.strip('/#') or 'start'}</a>" for link in links.split())
    content = f"<h1>{title}</h1>{prose(words, seed)}{body}<p>{anchors}</p>" if main is None else main
    named = f"<title>{title}</title>" if title else ""
    named += f"<meta name=description content='{description}'>" if description else ""
    og = "<meta property=og:title content='Water mills'><meta property=og:image content='https://site.example/mill.png'>"
    viewport = "<meta name=viewport content='width=device-width, initial-scale=1'>"
    return (
        f"<!doctype html><html {attributes}><head><meta charset=utf-8>{named}{og}{viewport}{head}</head>"
        f"<body><main>{content}</main></body></html>"
    )


@dataclass(frozen=True)
class Spec:
    """A page of a test site: what the server answers, and what the crawl recorded."""

    body: str = ""
    status: int = 200
    content_type: str = "text/html; charset=utf-8"
    headers: tuple[tuple[str, str], ...] = SAFE_HEADERS
    row: Mapping[str, Any] = field(default_factory=dict)
    redactions: Mapping[str, int] = field(default_factory=dict)
    rendering: RenderDecision = field(default_factory=RenderDecision)


def redirect(target: str, *hops: str, status: int = 301) -> Spec:
    """A URL that redirects, by way of other URLs, to a target."""
    chain = tuple(Hop(address(hop), status) for hop in hops)
    values = {"state": UrlState.ALIAS, "proof": Proof.REDIRECT, "final_url": address(target), "redirect_chain": chain}
    return Spec(status=status, row=values)


def state(value: UrlState, status: int | None = None, **row: Any) -> Spec:
    """A URL that was not kept as a page."""
    return Spec(status=status or 0, row={"state": value, "status_code": status, **row})


Pages = Mapping[str, str | Spec]


def address(path: str) -> Url:
    url = Url.parse(path, BASE)
    assert url is not None, path
    return url


@dataclass(frozen=True)
class Audited:
    """A test site with its findings."""

    site: Site
    pages: dict[str, AuditPage]
    findings: list[Finding]

    def of(self, rule: str) -> list[Finding]:
        return [finding for finding in self.findings if finding.rule == rule]

    def at(self, path: str) -> list[Finding]:
        return [finding for finding in self.findings if finding.url == address(path)]


def audit(pages: Pages, config: AuditConfig | None = None, **records: Any) -> Audited:
    """Extract the pages of a site, and run all rules over them. The first page is the start."""
    graph = SiteGraph()
    built: dict[str, AuditPage] = {}
    for number, (path, spec) in enumerate(pages.items()):
        page, links = build_page(path, spec if isinstance(spec, Spec) else Spec(spec), is_start=number == 0)
        built[page.url] = page
        add_anchors(graph, page)
        graph.add(columns_of(linked(page.url, link.url, at, *link[1:]) for at, link in enumerate(links)))
    site = Site({url: summarise(page) for url, page in built.items()}, graph, records.pop("now", NOW), **records)
    settings = config or AuditConfig()
    findings = [finding for page in built.values() for finding in check_page(page, settings)]
    return Audited(site, built, findings + check_site(site, settings))


def linked(
    source: str, target: str, position: int = 0, fragment: str = "", text: str = "", nofollow: bool = False
) -> LinkBetweenPages:
    return LinkBetweenPages(Url.trusted(source), Url.trusted(target), position, CleanText(text), fragment, nofollow)


def columns_of(links: Iterable[LinkBetweenPages]) -> LinkColumns:
    """The columns of some links."""
    columns = list(zip(*links, strict=True)) or [()] * len(LinkColumns._fields)
    return LinkColumns(*map(list, columns))


def build_page(path: str, spec: Spec, *, is_start: bool = False) -> tuple[AuditPage, list[PageLink]]:
    """The page and the links of one URL."""
    url = address(path)
    values: dict[str, Any] = {
        "state": _STATES.get(spec.status, UrlState.VISITED),
        "status_code": spec.status,
        "fetched_at": NOW,
        "elapsed_s": 0.2,
        "depth": 0 if is_start else 1,
        "source": Source.SEED if is_start else Source.LINK,
    }
    head = (("content-type", spec.content_type), *spec.headers)
    row = UrlRow(RunId("run"), url, RowKind.PAGE, **{**values, **spec.row, "response_head": StoredHead(headers=head)})
    if spec.status != 200 or not spec.body:
        return audit_page(row), []
    plain = tuple(each for each in head if each[0] != "content-encoding")
    reading = read(Response(url, 200, plain, spec.body.encode()), ReadOptions(facts=True, rendering=spec.rendering))
    assert reading.document is not None, reading.problem
    assert reading.facts is not None
    document = json.loads(zstandard.decompress(reading.document.data))
    facts = decode_audit_facts(zstandard.decompress(reading.facts.data))
    row = replace(
        row,
        content_hash=reading.content_hash,
        word_count=reading.word_count,
        noindex=reading.noindex,
        content_type=spec.content_type,
    )
    row = replace(row, **{name: value for name, value in spec.row.items() if name in {"content_hash", "word_count", "noindex"}})
    redactions = {**reading.redactions, **spec.redactions}
    version = PageVersion(url, NOW, None, BlobKey("document"), reading.content_hash, redactions)
    links = msgspec.msgpack.decode(reading.page_links, type=list[PageLink]) if reading.page_links else []
    return audit_page(row, version, facts, document), links


_STATES = {404: UrlState.NOT_FOUND, 410: UrlState.NOT_FOUND, 403: UrlState.FORBIDDEN, 500: UrlState.HTTP_TERMINAL}
