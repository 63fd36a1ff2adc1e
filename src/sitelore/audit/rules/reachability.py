"""Rules about reachability: errors of URLs, soft 404s, and redirects."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from sitelore.audit.graph import GraphLink
from sitelore.audit.page import AuditPage
from sitelore.audit.rule import AppliesTo, Group, Hit, Limits, Needs, RuleTable, listed
from sitelore.audit.site import BROKEN, PageSummary, Site, TargetKind
from sitelore.model.audit.findings import Severity
from sitelore.model.frontier import Hop, Source
from sitelore.model.response import Failure
from sitelore.model.states import UrlState

TABLE = RuleTable()

_LOOPS = ("redirect_loop", "too_many_redirects")
_TEMPORARY = frozenset({302, 303, 307})
_DAY_S = 86_400
_DELAY = re.compile(r"\s*(\d+)")
_FAILURES = tuple(str(each) for each in Failure)


def source_list(links: list[GraphLink]) -> dict[str, Any]:
    """The pages that link to a URL, as evidence."""
    sources = [{"page": link.source, "text": link.text, "position": link.position} for link in links]
    return {"inlinks": len(links), **listed("sources", sources)}


def hops(chain: tuple[Hop, ...]) -> list[str]:
    """Redirects as evidence."""
    return [f"{hop.status} {hop.url}" for hop in chain]


@TABLE.site(
    "page-gone",
    Group.REACH,
    Severity.ERROR,
    (Needs.GRAPH, Needs.SITEMAP),
    title="Page is gone",
    explanation=(
        "The URL is linked or listed in a sitemap, and the server answers 404 or 410. Readers and crawlers get nothing."
    ),
    fix="Restore the page, or redirect it with 301 to the nearest page, and correct the links to it.",
)
def _page_gone(site: Site, _: Limits) -> Iterator[Hit]:
    for page in site.pages.values():
        if site.target(page.url).kind is TargetKind.GONE:
            links = site.sources(page.url)
            is_listed = page.url in site.listed or page.source in {Source.SITEMAP, Source.SEED}
            if links or is_listed:
                yield Hit({"status": page.status, "in_sitemap": is_listed, **source_list(links)}, page.url)


@TABLE.page(
    "server-error",
    Group.REACH,
    Severity.ERROR,
    AppliesTo.ANY,
    needs=(),
    title="Server error",
    explanation=(
        "The server answers with a 5xx status, also after several attempts. Search engines drop such pages after a while."
    ),
    fix="Repair the route on the server. If the page is not wanted any more, answer 410.",
)
def _server_error(page: AuditPage, _: Limits) -> Iterator[Hit]:
    if page.state is UrlState.HTTP_TERMINAL and page.status is not None and page.status >= 500:
        yield Hit({"status": page.status, "attempts": page.fetches, "error": page.error})


@TABLE.page(
    "fetch-failed",
    Group.REACH,
    Severity.ERROR,
    AppliesTo.ANY,
    needs=(),
    title="No answer",
    explanation="The URL gave no usable answer in any attempt: the name, the connection, TLS or a time-out failed.",
    fix="Check the host name, the certificate, the firewall and the load of the server.",
)
def _fetch_failed(page: AuditPage, _: Limits) -> Iterator[Hit]:
    if page.state is UrlState.FAILED and page.error.startswith(_FAILURES):
        yield Hit({"error": page.error, "attempts": page.fetches})


@TABLE.site(
    "crawler-forbidden",
    Group.REACH,
    Severity.NOTICE,
    (Needs.GRAPH,),
    title="Crawler is not admitted",
    explanation="Pages link to this URL, but the server answers 401, 403 or 429 to the crawler.",
    fix="Admit the crawler, or exclude the path from the crawl.",
)
def _crawler_forbidden(site: Site, _: Limits) -> Iterator[Hit]:
    for page in site.pages.values():
        is_refused = page.state is UrlState.HTTP_TERMINAL and page.status in {401, 429}
        if (page.state is UrlState.FORBIDDEN or is_refused) and (links := site.sources(page.url)):
            yield Hit({"status": page.status, **source_list(links)}, page.url)


@TABLE.page(
    "soft-404",
    Group.REACH,
    Severity.WARNING,
    AppliesTo.ANY,
    needs=(),
    title="Error page with status 200",
    explanation="The page reads like an error page, but the server answers 200. Search engines list it as a page.",
    fix="Answer 404 or 410 for pages that do not exist.",
)
def _soft_404(page: AuditPage, _: Limits) -> Iterator[Hit]:
    if page.state is UrlState.SOFT_404:
        yield Hit({"status": page.status, "signals": page.detail, "words": page.word_count})


@TABLE.site(
    "redirect-chain",
    Group.REACH,
    Severity.WARNING,
    (Needs.GRAPH,),
    thresholds={"min_hops": 2},
    title="Several redirects in a row",
    explanation="The URL redirects to a URL that redirects again. Every step costs readers time; crawlers give up after some.",
    fix="Redirect the first URL, and the links to it, straight to the final URL.",
)
def _redirect_chain(site: Site, limits: Limits) -> Iterator[Hit]:
    for page in site.pages.values():
        if page.is_redirect and page.state is not UrlState.FAILED and len(page.chain) >= limits["min_hops"]:
            links = source_list(site.sources(page.url))
            yield Hit({"hops": hops(page.chain), "final": str(page.final_url or ""), **links}, page.url)


@TABLE.site(
    "redirect-loop",
    Group.REACH,
    Severity.ERROR,
    (Needs.GRAPH,),
    title="Redirects lead in a circle",
    explanation="The redirects of the URL come back to a URL before, or do not end. No browser can open it.",
    fix="Let one of the redirects lead to a page.",
)
def _redirect_loop(site: Site, _: Limits) -> Iterator[Hit]:
    entries: dict[str, list[PageSummary]] = {}
    for page in site.pages.values():
        if page.is_redirect and not _is_loop(page) and (final := site.final(page.url)) is not None and _is_loop(final):
            entries.setdefault(final.url, []).append(page)
    for loop in filter(_is_loop, site.pages.values()):
        # A step in a circle that pages enter elsewhere is the same problem.
        is_step = loop.url in entries and not site.sources(loop.url)
        for page in (*([] if is_step else [loop]), *entries.get(loop.url, ())):
            yield Hit({"error": loop.error, "hops": hops(page.chain), **source_list(site.sources(page.url))}, page.url)


def _is_loop(page: PageSummary) -> bool:
    return page.state is UrlState.FAILED and page.error.startswith(_LOOPS)


@TABLE.site(
    "redirect-to-error",
    Group.REACH,
    Severity.ERROR,
    (Needs.GRAPH,),
    title="Redirect to an error",
    explanation="The URL redirects to a URL that answers with an error, or not at all.",
    fix="Redirect to a page that exists, or remove the redirect.",
)
def _redirect_to_error(site: Site, _: Limits) -> Iterator[Hit]:
    for page in site.pages.values():
        if page.is_redirect and page.state is not UrlState.FAILED and (final := site.final(page.url)) is not None:
            target = site.target(final.url)
            if target.kind in BROKEN - {TargetKind.SOFT_404} and not _is_loop(final):
                evidence = {"hops": hops(page.chain), "final": str(final.url), "status": target.status, "error": target.reason}
                yield Hit({**evidence, **source_list(site.sources(page.url))}, page.url)


@TABLE.site(
    "temporary-redirect-settled",
    Group.REACH,
    Severity.NOTICE,
    (Needs.HISTORY,),
    thresholds={"min_days": 7},
    title="Temporary redirect that stays",
    explanation="The redirect is declared temporary, but has led to the same target for a week or longer.",
    fix="Make it permanent: 301 or 308.",
)
def _temporary_redirect_settled(site: Site, limits: Limits) -> Iterator[Hit]:
    for page in site.pages.values():
        if not page.is_redirect or page.status not in _TEMPORARY or page.final_url is None:
            continue
        equal = [
            each for each in site.earlier.get(page.url, ()) if (each.status, each.final_url) == (page.status, page.final_url)
        ]
        since = min((each.seen_at for each in equal), default=site.now)
        if site.now - since >= limits["min_days"] * _DAY_S:
            yield Hit({"status": page.status, "target": str(page.final_url), "first_seen": since}, page.url)


@TABLE.page(
    "meta-refresh",
    Group.REACH,
    Severity.WARNING,
    thresholds={"max_delay_s": 72_000},
    title="Page reloads or redirects by itself",
    explanation="A meta element reloads the page or leads to another one. It takes readers by surprise and hides the redirect.",
    fix="Redirect on the server with a 3xx status, or remove the element.",
)
def _meta_refresh(page: AuditPage, limits: Limits) -> Iterator[Hit]:
    delay = _DELAY.match(page.facts.refresh)
    if delay is not None and int(delay[1][:9]) < limits["max_delay_s"]:
        yield Hit({"refresh": page.facts.refresh})
