"""How the ways a visit can end become settlements: verdict plus everything that follows from it."""

from __future__ import annotations

from dataclasses import replace

from sitelore.crawl.page_fetch import PageFetch
from sitelore.crawl.stored_documents import calmed, compare_with_known, stored_links
from sitelore.crawl.visit_context import VisitContext
from sitelore.frontier.classify import Redirected
from sitelore.model.document import READ_HEADERS, Blob, Reading, SitemapReading
from sitelore.model.frontier import Effects, Kind, KnownPage, Lease, Offer, PageFacts, Settlement, Verdict
from sitelore.model.identity import identity
from sitelore.model.rendering import RenderNote
from sitelore.model.response import Fetched, Response, RobotsVerdict
from sitelore.model.settings import Identity
from sitelore.model.states import SkipReason, UrlState
from sitelore.model.url import Url

_HEADER_CHARS = 500
_AS_KEYED = Identity()


async def page(
    lease: Lease, page_fetch: PageFetch, reading: Reading, robots: RobotsVerdict, context: VisitContext
) -> Settlement:
    """A page to keep: its facts, its blobs, and an offer for every link."""
    response, document, snapshot = page_fetch.response, reading.document, reading.snapshot
    if document is None:
        return Settlement(
            lease, Verdict(UrlState.FAILED, response.status, error="parse_error: no document"), measured(response)
        )
    offers = context.admission.links(lease, reading.links, reading.refused_links)
    if reading.canonical is not None and reading.canonical != lease.url:
        offers += context.admission.canonical(lease, reading.canonical)
    offers += _site_sitemaps(lease, robots, context)
    compared = await compare_with_known(context.blobs, lease.known, reading)
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
        identity=_identity(lease, context),
        headers=_kept_headers(response),
        sketch=reading.sketch,
        volatile=compared.volatile,
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
        changed=None if lease.known is None else compared.changed,
    )
    return Settlement(lease, Verdict(UrlState.VISITED, response.status), effects)


def _screenshot(page_fetch: PageFetch, reading: Reading) -> Blob | None:
    if not page_fetch.screenshot:
        return None
    from sitelore.extract.offers.screenshots import screenshot_blob  # noqa: PLC0415 few runs take any

    return screenshot_blob(page_fetch.screenshot, reading)


def _site_sitemaps(lease: Lease, robots: RobotsVerdict, context: VisitContext) -> list[Offer]:
    """Who names a site's front door wants the site: its sitemaps are read too, those robots.txt lists or the usual one."""
    if not context.settings.discover_sitemaps or not lease.url.is_root or lease.depth > 0:
        return []
    named = [url for raw in robots.sitemaps if (url := Url.parse(raw, str(lease.url), context.rules))]
    usual = Url.parse("/sitemap.xml", str(lease.url), context.rules)
    return context.admission.sitemaps(lease, dict.fromkeys(named) if named else [usual] if usual else [])


def sitemap(lease: Lease, response: Response, reading: SitemapReading, context: VisitContext) -> Settlement:
    """A sitemap or feed, asked for or met by chance: what it lists is offered; it is no page itself."""
    offers = context.admission.sitemap(lease, reading.entries)
    offers += context.admission.sitemaps(lease, [child.url for child in reading.children])
    effects = replace(measured(response), offers=tuple(offers))
    if reading.problem and not offers:
        return Settlement(lease, Verdict(UrlState.FAILED, response.status, error=reading.problem), effects)
    detail = f"{reading.kind}: {len(reading.entries) + len(reading.children)} URLs"
    if lease.kind is Kind.SITEMAP:
        return Settlement(lease, Verdict(UrlState.VISITED, response.status, detail=detail, error=reading.problem), effects)
    return Settlement(lease, Verdict(UrlState.SKIPPED, response.status, SkipReason.SITEMAP, detail, reading.problem), effects)


def redirect(lease: Lease, page_fetch: PageFetch, redirected: Redirected, context: VisitContext) -> Settlement:
    """An alias, and an offer for its target; a seed that moved takes the new host into scope."""
    effects = replace(measured(page_fetch.fetched), alias_of=redirected.target, chain=redirected.chain)
    if redirected.verdict.state is UrlState.ALIAS:
        offer = context.admission.redirect(lease, redirected.target, redirected.chain)
        joins = context.admission.is_seed_redirect(lease) and offer.refusal is None
        effects = replace(effects, offers=(offer,), joins_host=redirected.target.authority if joins else None)
    verdict = replace(redirected.verdict, detail="by script") if page_fetch.by_script else redirected.verdict
    return Settlement(lease, verdict, effects)


async def kept_as_known(lease: Lease, verdict: Verdict, context: VisitContext, fetched: Fetched | None = None) -> Settlement:
    """The page stands as it was; its links are followed from the stored document."""
    known = lease.known
    assert known is not None  # `unchanged` and 304 speak of a known page only
    links, nofollow = await stored_links(context.blobs, known.document, context.settings)
    offers = context.admission.links(lease, links, nofollow)
    if known.canonical is not None and known.canonical != lease.url:
        offers += context.admission.canonical(lease, known.canonical)
    if lease.url.is_root:
        offers += _site_sitemaps(lease, await context.robots.judge(lease.url), context)
    effects = measured(fetched) if fetched else Effects()
    volatile = calmed(known.volatile) if fetched else known.volatile
    return Settlement(
        lease,
        verdict,
        replace(
            effects,
            page=replace(_facts_again(known), identity=_identity(lease, context), volatile=volatile),
            offers=tuple(offers),
            chain=lease.chain,
            changed=False,
        ),
    )


def _identity(lease: Lease, context: VisitContext) -> str:
    options = context.settings.identity
    return identity(lease.url, options) if options != _AS_KEYED else ""


def _kept_headers(response: Response) -> tuple[tuple[str, str], ...]:
    """The headers that extraction depends on, shortened. `redact_settlement` redacts them before they are stored."""
    found = [(name, value) for name, value in response.headers if name in READ_HEADERS]
    return tuple([(name, value[:_HEADER_CHARS]) for name, value in found if name != "link" or "canonical" in value.lower()])


def _facts_again(known: KnownPage) -> PageFacts:
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
    """Bytes that are no text, or text that is no document."""
    code, _, detail = reading.problem.partition(": ")
    if code == SkipReason.CONTENT_TYPE:
        return Verdict(UrlState.SKIPPED, response.status, SkipReason.CONTENT_TYPE, detail)
    return Verdict(UrlState.FAILED, response.status, error=reading.problem)


def measured(fetched: Fetched) -> Effects:
    """That a request went out, and what it cost."""
    size = fetched.wire_bytes if isinstance(fetched, Response) else 0
    return Effects(fetched=True, body_bytes=size, elapsed_s=fetched.elapsed_s)
