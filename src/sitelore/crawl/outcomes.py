"""Builds the settlement of each way a visit can end: page, unchanged page, redirect, sitemap, unreadable body."""

from __future__ import annotations

from dataclasses import replace

from sitelore.crawl.page_fetch import PageFetch
from sitelore.crawl.stored_documents import compare_with_known, decay_volatile, stored_links
from sitelore.crawl.visit_context import VisitContext
from sitelore.frontier.classify import Redirected
from sitelore.model.document import READ_HEADERS, Blob, Reading, SitemapReading
from sitelore.model.frontier import Effects, KnownPage, Lease, Offer, PageFacts, RowKind, Settlement, Verdict
from sitelore.model.identity import identity
from sitelore.model.rendering import RenderNote
from sitelore.model.response import Fetched, Response, RobotsVerdict
from sitelore.model.settings import Identity
from sitelore.model.states import SkipReason, UrlState
from sitelore.model.url import Url

_MAX_HEADER_CHARS = 500
_DEFAULT_IDENTITY = Identity()


async def settle_page(
    lease: Lease, page_fetch: PageFetch, reading: Reading, robots: RobotsVerdict, context: VisitContext
) -> Settlement:
    """Settle a page that is kept: its facts, its blobs, and an offer for every link."""
    response, document, snapshot = page_fetch.response, reading.document, reading.snapshot
    if document is None:
        return Settlement(
            lease, Verdict(UrlState.FAILED, response.status, error="parse_error: no document"), fetch_cost(response)
        )
    offers = context.admission.links(lease, reading.links, reading.refused_links)
    if reading.canonical is not None and reading.canonical != lease.url:
        offers += context.admission.canonical(lease, reading.canonical)
    offers += _sitemaps_of_site(lease, robots, context)
    comparison = await compare_with_known(context.blobs, lease.known, reading)
    screenshot = _screenshot(page_fetch, reading)
    facts = PageFacts(
        title=reading.title,
        content_hash=reading.content_hash,
        novelty=reading.novelty,
        document=document.key,
        canonical=reading.canonical,
        snapshot=snapshot.key if snapshot else None,
        word_count=reading.word_count,
        noindex=reading.noindex,
        etag=response.header("etag"),
        last_modified=response.header("last-modified"),
        content_type=response.header("content-type") or "",
        identity=_identity_of(lease, context),
        headers=_kept_headers(response),
        sketch=reading.sketch,
        volatile=comparison.volatile,
        render=page_fetch.note,
        screenshot=screenshot.key if screenshot else None,
    )
    effects = Effects(
        page=facts,
        offers=tuple(offers),
        chain=lease.chain,
        blobs=tuple(blob for blob in (document, snapshot, screenshot) if blob is not None),
        redactions=reading.redactions,
        fetched=True,
        body_bytes=response.wire_bytes,
        elapsed_s=response.elapsed_s,
        changed=None if lease.known is None else comparison.changed,
    )
    return Settlement(lease, Verdict(UrlState.VISITED, response.status), effects)


def _screenshot(page_fetch: PageFetch, reading: Reading) -> Blob | None:
    if not page_fetch.screenshot:
        return None
    from sitelore.extract.page_objects.media import screenshot_blob  # noqa: PLC0415 few runs take screenshots

    return screenshot_blob(page_fetch.screenshot, reading)


def _sitemaps_of_site(lease: Lease, robots: RobotsVerdict, context: VisitContext) -> list[Offer]:
    """Seeds at the site root also read its sitemaps: those that robots.txt lists, or `/sitemap.xml`."""
    if not context.settings.discover_sitemaps or not lease.url.is_root or lease.depth > 0:
        return []
    listed = [url for raw in robots.sitemaps if (url := Url.parse(raw, str(lease.url), context.rules))]
    default = Url.parse("/sitemap.xml", str(lease.url), context.rules)
    return context.admission.sitemaps(lease, dict.fromkeys(listed) if listed else [default] if default else [])


def settle_sitemap(lease: Lease, response: Response, reading: SitemapReading, context: VisitContext) -> Settlement:
    """Settle a sitemap or feed, requested as one or served in place of a page: its entries are offered, it is not kept."""
    offers = context.admission.sitemap(lease, reading.entries)
    offers += context.admission.sitemaps(lease, [child.url for child in reading.children])
    effects = replace(fetch_cost(response), offers=tuple(offers))
    if reading.problem and not offers:
        return Settlement(lease, Verdict(UrlState.FAILED, response.status, error=reading.problem), effects)
    detail = f"{reading.kind}: {len(reading.entries) + len(reading.children)} URLs"
    if lease.kind is RowKind.SITEMAP:
        return Settlement(lease, Verdict(UrlState.VISITED, response.status, detail=detail, error=reading.problem), effects)
    return Settlement(lease, Verdict(UrlState.SKIPPED, response.status, SkipReason.SITEMAP, detail, reading.problem), effects)


def settle_redirect(lease: Lease, page_fetch: PageFetch, redirected: Redirected, context: VisitContext) -> Settlement:
    """Settle a redirect as an alias and offer its target. The target host of a redirecting seed comes into scope."""
    effects = replace(fetch_cost(page_fetch.fetched), alias_of=redirected.target, chain=redirected.chain)
    if redirected.verdict.state is UrlState.ALIAS:
        offer = context.admission.redirect(lease, redirected.target, redirected.chain)
        joins = context.admission.is_seed_redirect(lease) and offer.refusal is None
        effects = replace(effects, offers=(offer,), joins_host=redirected.target.authority if joins else None)
    verdict = replace(redirected.verdict, detail="by script") if page_fetch.by_script else redirected.verdict
    return Settlement(lease, verdict, effects)


async def settle_known_page(
    lease: Lease, verdict: Verdict, context: VisitContext, fetched: Fetched | None = None
) -> Settlement:
    """Keep a page as stored, because it is unchanged; the links of the stored document are offered."""
    known = lease.known
    assert known is not None  # only known pages are found unchanged or answered with 304
    links, nofollow = await stored_links(context.blobs, known.document, context.settings)
    offers = context.admission.links(lease, links, nofollow)
    if known.canonical is not None and known.canonical != lease.url:
        offers += context.admission.canonical(lease, known.canonical)
    if lease.url.is_root:
        offers += _sitemaps_of_site(lease, await context.robots.judge(lease.url), context)
    effects = fetch_cost(fetched) if fetched else Effects()
    volatile = decay_volatile(known.volatile) if fetched else known.volatile
    return Settlement(
        lease,
        verdict,
        replace(
            effects,
            page=replace(_stored_facts(known), identity=_identity_of(lease, context), volatile=volatile),
            offers=tuple(offers),
            chain=lease.chain,
            changed=False,
        ),
    )


def _identity_of(lease: Lease, context: VisitContext) -> str:
    options = context.settings.identity
    return identity(lease.url, options) if options != _DEFAULT_IDENTITY else ""


def _kept_headers(response: Response) -> tuple[tuple[str, str], ...]:
    """The headers that extraction depends on, truncated. `redact_settlement` redacts them before they are stored."""
    headers = [(name, value) for name, value in response.headers if name in READ_HEADERS]
    return tuple(
        [(name, value[:_MAX_HEADER_CHARS]) for name, value in headers if name != "link" or "canonical" in value.lower()]
    )


def _stored_facts(known: KnownPage) -> PageFacts:
    return PageFacts(
        title=known.title,
        content_hash=known.content_hash,
        novelty=known.novelty,
        document=known.document,
        canonical=known.canonical,
        snapshot=known.snapshot,
        word_count=known.word_count,
        noindex=known.noindex,
        etag=known.etag,
        last_modified=known.last_modified,
        content_type=known.content_type,
        headers=known.headers,
        sketch=known.sketch,
        volatile=known.volatile,
        render=None if known.render_reason is None else RenderNote(known.render_reason),
        screenshot=known.screenshot,
    )


def unreadable(reading: Reading, response: Response) -> Verdict:
    """The verdict of a body that extraction could not read: binary content is skipped, anything else failed."""
    code, _, detail = reading.problem.partition(": ")
    if code == SkipReason.CONTENT_TYPE:
        return Verdict(UrlState.SKIPPED, response.status, SkipReason.CONTENT_TYPE, detail)
    return Verdict(UrlState.FAILED, response.status, error=reading.problem)


def fetch_cost(fetched: Fetched) -> Effects:
    """Effects that record only the request: its size and duration."""
    size = fetched.wire_bytes if isinstance(fetched, Response) else 0
    return Effects(fetched=True, body_bytes=size, elapsed_s=fetched.elapsed_s)
