"""Rules about the links of a page. Each sits on the page that has the link, where it can be fixed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import groupby
from typing import Any

from sitelore.audit.graph import GraphLink
from sitelore.audit.page import AuditPage
from sitelore.audit.rule import Group, Hit, Limits, Needs, RuleTable
from sitelore.audit.site import PageIds, PageSummary, Site, TargetKind
from sitelore.model.audit.facts import LinkKind
from sitelore.model.audit.findings import Severity
from sitelore.model.states import UrlState
from sitelore.model.url import Url

TABLE = RuleTable()

_TOLERATED = frozenset({401, 403, 405, 429, 999})
"""Statuses with which servers turn away programs while people can read the page."""
_DAY_S = 86_400
_PERMANENT = frozenset({301, 308})
_HANDLER = re.compile(r"\s*javascript:\s*(?:;|void\s*\(?\s*0?\s*\)?\s*;?|//)?\s*$", re.IGNORECASE)
_GENERIC = frozenset(
    text
    for line in (
        "click here|click|here|go|this|this page|this link|start|right here|more|learn more|read more|more info",
        "more information|see more|find out more|details|link",
        "hier|hier klicken|klicken sie hier|mehr|mehr erfahren|mehr lesen|weiterlesen|weitere informationen|mehr infos",
        "cliquez ici|ici|en savoir plus|lire la suite|plus d'informations|voir plus",
        "haz clic aquí|aquí|clic aquí|leer más|más información|ver más|saber más",
        "clicca qui|qui|leggi tutto|scopri di più|continua a leggere|per saperne di più",
        "clique aqui|aqui|saiba mais|leia mais|ver mais",
        "klik hier|lees meer|meer informatie|meer lezen",
        "kliknij tutaj|tutaj|czytaj więcej|więcej|dowiedz się więcej",
        "klicka här|här|läs mer|mer information",
        "こちら|ここをクリック|詳細|続きを読む|点击这里|点击此处|这里|更多|阅读更多",
    )
    for text in line.split("|")
)


def link_evidence(link: GraphLink) -> dict[str, Any]:
    """A link as evidence."""
    return {"target": link.target, "text": link.text, "position": link.position}


def site_links(site: Site, targets: set[str]) -> Iterator[tuple[PageSummary, GraphLink]]:
    """Yield every link of an HTML page to one of these URLs, the first of a page to each."""
    for target in sorted(targets):
        seen: set[str] = set()
        for link in site.graph.inlinks(target):
            page = site.pages.get(link.source)
            if page is not None and page.is_html and link.source not in seen:
                seen.add(link.source)
                yield page, link


@TABLE.site(
    "broken-internal-link",
    Group.LINKS,
    Severity.ERROR,
    (Needs.LINKS,),
    identity=("target",),
    title="Link to a page that does not exist",
    explanation="The page links to a URL of the site that answers with an error, redirects to one, or does not answer.",
    fix="Correct the link: use the new address of the page or the closest page, or remove it.",
)
def _broken_internal_link(site: Site, _: Limits) -> Iterator[Hit]:
    states = {url: state for url in site.pages if (state := site.broken(url)) is not None}
    for page, link in site_links(site, set(states)):
        state = states[link.target]
        evidence = {**link_evidence(link), "state": state.kind.value, "status": state.status, "final": state.final_url}
        yield Hit({**evidence, "error": state.reason}, page.url)


@TABLE.site(
    "broken-external-link",
    Group.LINKS,
    Severity.WARNING,
    (Needs.LINKS, Needs.EXTERNAL),
    identity=("target",),
    thresholds={"min_checks": 2, "min_days": 1},
    title="Link to a page of another site that does not exist",
    explanation="The target answered with an error, or not at all, in two checks on different days.",
    fix="Update the link, link to an archived copy, or remove it.",
)
def _broken_external_link(site: Site, limits: Limits) -> Iterator[Hit]:
    bad: dict[str, dict[str, Any]] = {}
    for url, checks in site.external.items():
        latest = sorted(checks, key=lambda check: check.at)[-int(limits["min_checks"]) :]
        is_bad = all(check.status == 0 or (check.status >= 400 and check.status not in _TOLERATED) for check in latest)
        if len(latest) >= limits["min_checks"] and is_bad and latest[-1].at - latest[0].at >= limits["min_days"] * _DAY_S:
            bad[url] = {"status": latest[-1].status, "error": latest[-1].error, "checked": [check.at for check in latest]}
    for page, link in site_links(site, set(bad)):
        yield Hit({**link_evidence(link), **bad[link.target]}, page.url)


@TABLE.site(
    "broken-anchor",
    Group.LINKS,
    Severity.WARNING,
    (Needs.LINKS, Needs.FACTS),
    identity=("target", "fragment"),
    title="Link to a part of a page that does not exist",
    explanation=(
        "The link names a fragment (#…) that no element of the target has. The browser shows the top of the page instead."
    ),
    fix="Use the id of the element that is meant; the nearest ones are listed.",
)
def _broken_anchor(site: Site, _: Limits) -> Iterator[Hit]:
    for target, links in groupby(site.graph.anchors(), key=lambda link: link.target):
        page = site.final(target)
        ids = PageIds(page.ids) if page is not None and page.ids else None
        for link in links if ids is not None else ():
            source = site.pages.get(link.source)
            if ids is not None and source is not None and source.is_html and not ids.has_anchor(link.fragment):
                evidence = {"target": target, "fragment": link.fragment, "text": link.text}
                yield Hit({**evidence, "nearest": ids.nearest(link.fragment)}, source.url)


@TABLE.site(
    "redirected-internal-link",
    Group.LINKS,
    Severity.NOTICE,
    (Needs.LINKS,),
    identity=("target",),
    title="Link to an address that has moved",
    explanation="The page links to a URL of the site that redirects permanently. The detour costs time with every click.",
    fix="Link to the final URL.",
)
def _redirected_internal_link(site: Site, _: Limits) -> Iterator[Hit]:
    moved = {
        str(page.url)
        for page in site.pages.values()
        if page.is_redirect
        and page.status in _PERMANENT
        and page.state is not UrlState.FAILED
        and site.broken(page.url) is None
    }
    for page, link in site_links(site, moved):
        target = site.pages[link.target]
        evidence = {"status": target.status, "final": str(target.final_url or ""), "hops": max(1, len(target.chain))}
        yield Hit({**link_evidence(link), **evidence}, page.url)


@TABLE.page(
    "invalid-href",
    Group.LINKS,
    Severity.NOTICE,
    identity=("href",),
    title="Link without a usable address",
    explanation=(
        "The address of a link is empty, so that it leads to the page itself, or it is a file on one computer, a script, or no "
        "URL. Crawlers find nothing behind it."
    ),
    fix="Give the link a real URL, or make it a button.",
)
def _invalid_href(page: AuditPage, _: Limits) -> Iterator[Hit]:
    for link in page.facts.links:
        is_script = link.kind is LinkKind.SCRIPT and not _HANDLER.match(link.href)
        if is_script or link.kind in {LinkKind.EMPTY, LinkKind.FILE, LinkKind.INVALID}:
            yield Hit({"href": link.href, "text": link.name, "kind": link.kind.value})


@TABLE.site(
    "generic-link-text",
    Group.LINKS,
    Severity.NOTICE,
    (Needs.LINKS,),
    identity=("target",),
    title="Link text says nothing about the target",
    explanation="Texts such as \u201cclick here\u201d do not tell readers or search engines where a link leads.",
    fix="Use words that describe the target, such as its title.",
)
def _generic_link_text(site: Site, _: Limits) -> Iterator[Hit]:
    for link in site.graph.links_with_text(is_generic):
        page, target = site.pages.get(link.source), site.pages.get(link.target)
        if page is not None and page.is_html and not link.nofollow and target is not page:
            yield Hit({**link_evidence(link), "title": target.title if target is not None else ""}, page.url)


def is_generic(text: str) -> bool:
    """Whether the text of a link says nothing about its target."""
    return len(text) < 40 and text.strip(" \t\n.:>\u00bb\u203a\u2192\u2026!").lower() in _GENERIC


@TABLE.page(
    "link-without-name",
    Group.ACCESS,
    Severity.WARNING,
    identity=("href",),
    title="Link without a text",
    explanation="The link has no text, label, title or image with a text. A screen reader can only read out its address.",
    fix="Write a text into the link, or give its image an alt text.",
)
def _link_without_name(page: AuditPage, _: Limits) -> Iterator[Hit]:
    for link in page.facts.links:
        if not link.name and link.kind in {LinkKind.PAGE, LinkKind.OTHER, LinkKind.SCRIPT} and link.href.strip():
            yield Hit({"href": link.href})


@TABLE.site(
    "nofollow-internal",
    Group.GRAPH,
    Severity.NOTICE,
    (Needs.LINKS,),
    identity=("target",),
    title="Nofollow on a link within the site",
    explanation="The link to an indexable page of the site is marked nofollow, so search engines give the page less weight.",
    fix="Remove nofollow from links within the site.",
)
def _nofollow_internal(site: Site, _: Limits) -> Iterator[Hit]:
    for link in site.graph.nofollow_links():
        page, target = site.pages.get(link.source), site.final(link.target)
        if page is None or target is None or page is target:
            continue
        if page.is_html and not page.nofollow and target.is_indexable:
            yield Hit(link_evidence(link), page.url)
    for page in site.indexable:
        if page.nofollow:
            yield Hit({"target": "", "directive": "meta robots nofollow"}, page.url)


@TABLE.site(
    "link-downgrade",
    Group.SECURITY,
    Severity.WARNING,
    (Needs.LINKS,),
    identity=("target",),
    title="Link from https to http",
    explanation="A page on https links to the site over http. The request can be read and changed on its way.",
    fix="Link to the https address.",
)
def _link_downgrade(site: Site, _: Limits) -> Iterator[Hit]:
    hosts = site.authorities
    if not any(page.url.scheme == "https" for page in site.html_pages):
        return
    for link in site.graph.links_to(lambda url: url.startswith("http:") and Url.trusted(url).authority in hosts):
        page = site.pages.get(link.source)
        if page is not None and page.is_html and page.url.scheme == "https":
            yield Hit(link_evidence(link), page.url)


@TABLE.site(
    "dead-end",
    Group.GRAPH,
    Severity.NOTICE,
    (Needs.LINKS,),
    title="Page without a link into the site",
    explanation="The page has no link to another page of the site. Readers can only go back.",
    fix="Add the navigation of the site, or links to related pages.",
)
def _dead_end(site: Site, _: Limits) -> Iterator[Hit]:
    if len(site.html_pages) < 2:
        return
    counts = site.graph.distinct_targets(lambda url: site.target(url).kind is not TargetKind.EXTERNAL)
    for page in site.html_pages:
        if not counts[page.url]:
            yield Hit({"title": page.title}, page.url)


@TABLE.site(
    "too-many-links",
    Group.GRAPH,
    Severity.NOTICE,
    (Needs.LINKS,),
    thresholds={"max_links": 300},
    title="Very many links",
    explanation="The page has so many distinct links that readers lose track and each of them weighs little.",
    fix="Divide the page, or remove links that are not needed.",
)
def _too_many_links(site: Site, limits: Limits) -> Iterator[Hit]:
    counts = site.graph.distinct_targets()
    for page in site.html_pages:
        if counts[page.url] > limits["max_links"]:
            yield Hit({"links": counts[page.url]}, page.url)


@TABLE.site(
    "pagination-unlinked",
    Group.GRAPH,
    Severity.NOTICE,
    (Needs.LINKS, Needs.FACTS),
    identity=("target",),
    title="Next or previous page is not linked",
    explanation=(
        "The head names a next or previous page, but no link in the page leads there. Crawlers and readers need the link."
    ),
    fix="Add a visible link to that page.",
)
def _pagination_unlinked(site: Site, _: Limits) -> Iterator[Hit]:
    for page in site.html_pages:
        if page.neighbours:
            linked = {link.target for link in site.graph.outlinks(page.url) if link.text}  # elements of the head have no text
            for rel, url in page.neighbours:
                if url not in linked and url != page.url:
                    yield Hit({"target": str(url), "rel": rel}, page.url)
