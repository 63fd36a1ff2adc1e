"""Settlements (the results of visits, as they are stored): build, redact, and write many in one transaction.

`settle_page`, `settle_known_page`, `settle_redirect` and `settle_sitemap` collect everything that a visit changes. A page that
was stored before is compared with its last document. The screenshot of a page is stored here.

`redact_settlement` is the last check for secrets. Page text is redacted during extraction; URLs, headers, redirect targets,
sitemap entries and error messages are redacted here, with one scan over all strings of a settlement.

`Settler` collects settlements and writes them in batches, blobs first, because a transaction costs more than the rows in it.
A batch is written when it is full, when a short window has passed, or at once when no visit is active that could join it, so
that a chain of single pages does not pay the window for every page. `kill -9` loses only active visits and pending
settlements; their rows are visited again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterator
from dataclasses import dataclass, replace

import msgspec

from sitelore.background import wait
from sitelore.crawl.context import VisitContext
from sitelore.crawl.page_fetch import PageFetch
from sitelore.extract.redaction.redactor import Redactor, add_counts
from sitelore.frontier.classify import Redirected
from sitelore.frontier.offers import HELD_A_SECRET
from sitelore.frontier.url_pattern import url_pattern
from sitelore.model.document import READ_HEADERS, Blob, Comparison, Reading, SitemapReading
from sitelore.model.frontier import Effects, Hop, KnownPage, Lease, Offer, PageUpdate, RowKind, Settlement, Verdict
from sitelore.model.ids import BlobKey
from sitelore.model.platform.media import MediaUpdate, ShownMedia
from sitelore.model.response import Fetched, Response, RobotsFile, RobotsVerdict, StoredHead
from sitelore.model.settings import CrawlSettings, Identity, MediaPolicy
from sitelore.model.states import SkipReason, UrlState
from sitelore.model.url import Url, identity
from sitelore.ports import Blobs, Clock, Ledger

_MAX_HEADER_CHARS = 500
_DEFAULT_IDENTITY = Identity()
_UNKNOWN = Comparison(changed=False)

MAX_PENDING = 64
_BATCH = MAX_PENDING // 2  # the next batch can fill while this one is written
_BATCH_WINDOW_S = 0.4


async def settle_page(
    lease: Lease, page_fetch: PageFetch, reading: Reading, robots: RobotsVerdict, context: VisitContext
) -> Settlement:
    """Settle a page that is kept: its facts, its blobs, and an offer for every link."""
    response, document, snapshot = page_fetch.response, reading.document, reading.snapshot
    if document is None:
        return Settlement(
            lease, Verdict(UrlState.FAILED, response.status, error="parse_error: no document"), fetch_cost(response)
        )
    offers = context.offer_builder.links(lease, reading.links, reading.refused_links)
    if reading.canonical is not None and reading.canonical != lease.url:
        offers += context.offer_builder.canonical(lease, reading.canonical)
    offers += _sitemaps_of_site(lease, robots, context)
    shown = _shown_media(document, context.settings.media, reading.refused_links)
    offers += context.offer_builder.media(lease, shown or ())
    comparison = await compare_with_known(context.blobs, lease.known, reading)
    screenshot = await _store_screenshot(lease, page_fetch, reading, context)
    facts = replace(
        page_update(response, reading, document.key, comparison),
        snapshot=snapshot.key if snapshot else None,
        identity=_identity_of(lease, context),
        render=page_fetch.note,
        screenshot=screenshot,
    )
    effects = replace(
        fetch_cost(response),
        page=facts,
        offers=tuple(offers),
        chain=lease.chain,
        blobs=tuple(blob for blob in (document, snapshot) if blob is not None),
        redactions=reading.redactions,
        changed=None if lease.known is None else comparison.changed,
        shown=shown,
    )
    return Settlement(lease, Verdict(UrlState.VISITED, response.status), effects)


def page_update(response: Response, reading: Reading, document: BlobKey, comparison: Comparison) -> PageUpdate:
    """What is stored about a page or document that was extracted."""
    return PageUpdate(
        title=reading.title,
        content_hash=reading.content_hash,
        novelty=reading.novelty,
        document=document,
        canonical=reading.canonical,
        word_count=reading.word_count,
        noindex=reading.noindex,
        etag=response.header("etag"),
        last_modified=response.header("last-modified"),
        content_type=response.header("content-type") or "",
        headers=_kept_headers(response),
        sketch=reading.sketch,
        volatile=comparison.volatile,
        links=reading.page_links,
        facts=reading.facts.data if reading.facts else b"",
        redactions=reading.redactions,
    )


def _shown_media(document: Blob, policy: MediaPolicy, nofollow: Collection[Url]) -> tuple[ShownMedia, ...] | None:
    """The media that a page shows; None in a run that downloads none."""
    if not policy.types:
        return None
    from sitelore.extract.page_objects.shown_media import media_of_blob  # noqa: PLC0415 few runs download media

    return media_of_blob(document, policy, nofollow)


async def _store_screenshot(lease: Lease, page_fetch: PageFetch, reading: Reading, context: VisitContext) -> BlobKey | None:
    """Store the screenshot of a page, except where the page shows a secret (pixels cannot be redacted) or forbids archiving."""
    if context.screenshots is None or not page_fetch.screenshot or reading.redactions or reading.noarchive:
        return None
    return await context.screenshots.store(lease.url_id, page_fetch.screenshot)


def _sitemaps_of_site(lease: Lease, robots: RobotsVerdict, context: VisitContext) -> list[Offer]:
    """Seeds at the site root also read its sitemaps: those that robots.txt lists, or `/sitemap.xml`."""
    if not context.settings.discover_sitemaps or not lease.url.is_root or lease.depth > 0:
        return []
    listed = [url for raw in robots.sitemaps if (url := Url.parse(raw, str(lease.url), context.rules))]
    default = Url.parse("/sitemap.xml", str(lease.url), context.rules)
    return context.offer_builder.sitemaps(lease, dict.fromkeys(listed) if listed else [default] if default else [])


def settle_sitemap(lease: Lease, response: Response, reading: SitemapReading, context: VisitContext) -> Settlement:
    """Settle a sitemap or feed, requested as one or served in place of a page: its entries are offered, it is not kept."""
    offers = context.offer_builder.sitemap(lease, reading.entries)
    children = [child.url for child in reading.children]
    offers += context.offer_builder.sitemaps(lease, children, are_of_index=reading.kind == "index")
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
        offer = context.offer_builder.redirect(lease, redirected.target, redirected.chain)
        joins = context.offer_builder.is_seed_redirect(lease) and offer.refusal is None
        effects = replace(effects, offers=(offer,), joins_host=redirected.target.authority if joins else None)
    verdict = replace(redirected.verdict, detail="by script") if page_fetch.by_script else redirected.verdict
    return Settlement(lease, verdict, effects)


async def settle_known_page(
    lease: Lease, verdict: Verdict, context: VisitContext, fetched: Fetched | None = None
) -> Settlement:
    """Keep a page as stored, because it is unchanged; the links of the stored document are offered."""
    known = lease.known
    assert known is not None  # only known pages are found unchanged or answered with 304
    content = await context.blobs.get(known.document)
    links, nofollow = _stored_links(content, context.settings)
    offers = context.offer_builder.links(lease, links, nofollow)
    shown = None
    if context.settings.media.types:
        from sitelore.extract.page_objects.shown_media import media_of_document  # noqa: PLC0415 few runs download media

        shown = media_of_document(content, context.settings.media, nofollow)
        offers += context.offer_builder.media(lease, shown)
    if known.canonical is not None and known.canonical != lease.url:
        offers += context.offer_builder.canonical(lease, known.canonical)
    if lease.url.is_root:
        offers += _sitemaps_of_site(lease, await context.robots.judge(lease.url), context)
    effects = fetch_cost(fetched) if fetched else Effects()
    volatile = _decay_volatile(known.volatile) if fetched else known.volatile
    return Settlement(
        lease,
        verdict,
        replace(
            effects,
            page=replace(known.unchanged(), identity=_identity_of(lease, context), volatile=volatile),
            offers=tuple(offers),
            chain=lease.chain,
            changed=False,
            shown=shown,
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


def unreadable(reading: Reading, response: Response) -> Verdict:
    """The verdict of a body that extraction could not read: binary content is skipped, anything else failed."""
    code, _, detail = reading.problem.partition(": ")
    if code == SkipReason.CONTENT_TYPE:
        return Verdict(UrlState.SKIPPED, response.status, SkipReason.CONTENT_TYPE, detail)
    return Verdict(UrlState.FAILED, response.status, error=reading.problem)


def fetch_cost(fetched: Fetched) -> Effects:
    """Effects that record only the request: its size and duration, and the head of its response."""
    if not isinstance(fetched, Response):
        return Effects(fetched=True, elapsed_s=fetched.elapsed_s)
    head = StoredHead.of(fetched)
    return Effects(fetched=True, body_bytes=fetched.wire_bytes, elapsed_s=fetched.elapsed_s, response_head=head)


@dataclass(frozen=True, slots=True)
class _StoredLink:
    url: str
    nofollow: bool = False


@dataclass(frozen=True, slots=True)
class _StoredDocument:
    """The part of a stored `Document` that a crawl needs."""

    links: tuple[_StoredLink, ...] = ()
    nofollow: bool = False


_DECODER = msgspec.json.Decoder(_StoredDocument)


def _stored_links(content: bytes, settings: CrawlSettings) -> tuple[list[Url], list[Url]]:
    """The links to follow, and the links that nofollow excludes, of a stored document."""
    document = _DECODER.decode(content)
    followed: list[Url] = []
    refused: list[Url] = []
    for link in document.links:
        kept_out = settings.obey_nofollow and (document.nofollow or link.nofollow)
        (refused if kept_out else followed).append(Url.trusted(link.url))
    return followed, refused


def _decay_volatile(volatile: bytes) -> bytes:
    """Update the record of volatile places after a fetch in which the page did not change."""
    if not volatile:
        return b""
    from sitelore.extract.changes import decay_slots  # noqa: PLC0415 slow to import, and a first crawl does not need it

    return decay_slots(volatile)


async def compare_with_known(blobs: Blobs, known: KnownPage | None, reading: Reading) -> Comparison:
    """Whether a page has changed since it was last stored. Equal content hashes need no comparison."""
    if known is None or reading.document is None:
        return _UNKNOWN
    if known.content_hash == reading.content_hash:
        return Comparison(changed=False, volatile=_decay_volatile(known.volatile))
    try:
        before = await blobs.get(known.document)
    except KeyError:
        return Comparison(changed=True)
    from sitelore.extract.changes import compare_documents  # noqa: PLC0415 as above

    # In a thread: comparing a page made to be slow must not block the other visits.
    return await asyncio.to_thread(compare_documents, before, reading.document, known.volatile)


class Settler:
    """Writes settlements in batches and reports each result to `on_settled`."""

    def __init__(self, ledger: Ledger, blobs: Blobs, clock: Clock, on_settled: Callable[[Settlement, bool], None]) -> None:
        self._ledger = ledger
        self._blobs = blobs
        self._clock = clock
        self._on_settled = on_settled
        self._queue: list[Settlement] = []
        self._wake = asyncio.Event()
        self._flush_requested = asyncio.Event()
        self._writing = 0

    @property
    def pending(self) -> int:
        """How many settlements are not yet durable."""
        return len(self._queue) + self._writing

    @property
    def is_full(self) -> bool:
        """Whether new visits should wait, because a crash would lose everything that is pending."""
        return self.pending >= MAX_PENDING

    def add(self, settlement: Settlement) -> None:
        """Queue a settlement. `on_settled` is called once it is durable or was rejected."""
        self._queue.append(Settlement(settlement.lease, settlement.verdict, settlement.effects, self._clock()))
        self._wake.set()
        if len(self._queue) >= _BATCH:
            self._flush_requested.set()

    def flush(self) -> None:
        """Write the queued settlements now instead of waiting for a full batch."""
        self._flush_requested.set()

    async def write_forever(self) -> None:
        """Write batches until cancelled, which the worker does once nothing is pending."""
        while True:
            await self._wake.wait()
            if not self._flush_requested.is_set():
                await wait(self._flush_requested, _BATCH_WINDOW_S)
            batch, self._queue = self._queue[:MAX_PENDING], self._queue[MAX_PENDING:]
            if not self._queue:
                self._wake.clear()
                self._flush_requested.clear()
            if batch:
                await self._write(batch)

    async def _write(self, batch: list[Settlement]) -> None:
        self._writing = len(batch)
        blobs = {blob.key: blob for settlement in batch for blob in settlement.effects.blobs}
        if blobs:
            await self._blobs.put(list(blobs.values()))
        accepted = await self._ledger.settle(batch)
        self._writing = 0
        for settlement, is_accepted in zip(batch, accepted, strict=True):
            self._on_settled(settlement, is_accepted)


def redact_settlement(settlement: Settlement, redactor: Redactor) -> Settlement:
    """Replace every secret in a settlement by the redaction mark; offered URLs that contain one are refused.

    Secrets in the stored head of the response are not counted: it repeats the page's headers and the target of a redirect.
    """
    joined = "\n".join(_texts(settlement))
    verdict, effects = settlement.verdict, settlement.effects
    head = effects.response_head
    has_secrets = redactor.has_secrets("\n".join((joined, *_head_lines(head))))
    if head is not None:
        head = (_redacted_head(head, redactor) if has_secrets else head).limited()
        effects = replace(effects, response_head=head)
        settlement = replace(settlement, effects=effects)
    if not has_secrets:
        return settlement
    counts = dict(effects.redactions)
    add_counts(counts, redactor.count_secrets(joined))
    effects = replace(
        effects,
        page=_facts(effects.page, redactor) if effects.page else None,
        offers=tuple(_offer(offer, redactor) for offer in effects.offers),
        alias_of=redactor.redact_url(effects.alias_of) if effects.alias_of else None,
        chain=_chain(effects.chain, redactor),
        redactions=counts,
        media=_media(effects.media, redactor) if effects.media else None,
        joins_host=None if effects.alias_of and redactor.has_secrets(effects.alias_of) else effects.joins_host,
    )
    return replace(
        settlement,
        verdict=replace(verdict, detail=redactor.redact(verdict.detail)[0], error=redactor.redact(verdict.error)[0]),
        effects=effects,
    )


def redacting_saver(
    save: Callable[[RobotsFile], Awaitable[None]], redactor: Redactor
) -> Callable[[RobotsFile], Awaitable[None]]:
    """Wrap `save` so that a robots.txt is stored without secrets."""

    async def save_redacted(file: RobotsFile) -> None:
        await save(replace(file, body=redactor.redact(file.body)[0], detail=redactor.redact(file.detail)[0]))

    return save_redacted


def _texts(settlement: Settlement) -> Iterator[str]:
    """All strings of a settlement that could contain a secret."""
    verdict, effects = settlement.verdict, settlement.effects
    yield verdict.detail
    yield verdict.error
    if effects.alias_of is not None:
        yield effects.alias_of
    for hop in effects.chain:
        yield hop.url
    for offer in effects.offers:
        yield offer.url
        if offer.detail:
            yield offer.detail
    if effects.media is not None:
        yield from (effects.media.etag or "", effects.media.last_modified or "")
    page = effects.page
    if page is not None:
        yield from (page.canonical or "", page.etag or "", page.last_modified or "", page.content_type, page.identity)
        for _, value in page.headers:
            yield value
        if page.render is not None:
            yield from page.render.evidence


def _head_lines(head: StoredHead | None) -> list[str]:
    """The head as text. Names and values stay together, because some rules look at both."""
    return [] if head is None else [head.reason, *(f"{name}: {value}" for name, value in head.headers)]


def _redacted_head(head: StoredHead, redactor: Redactor) -> StoredHead:
    """Redact the head of a response. A header whose name is part of a secret is dropped."""
    reason, *lines = (str(redactor.redact(line)[0]) for line in _head_lines(head))
    pairs = [(name, line.removeprefix(f"{name}: "), line) for (name, _), line in zip(head.headers, lines, strict=True)]
    return replace(head, reason=reason, headers=tuple((name, value) for name, value, line in pairs if value != line))


def _offer(offer: Offer, redactor: Redactor) -> Offer:
    url = redactor.redact_url(offer.url)
    offer = replace(offer, chain=_chain(offer.chain, redactor), detail=redactor.redact(offer.detail)[0])
    if url == offer.url:
        return offer
    return replace(offer, url=url, pattern=url_pattern(url), refusal=HELD_A_SECRET[0], detail=HELD_A_SECRET[1])


def _chain(chain: tuple[Hop, ...], redactor: Redactor) -> tuple[Hop, ...]:
    return tuple(Hop(redactor.redact_url(hop.url), hop.status) for hop in chain)


def _media(media: MediaUpdate, redactor: Redactor) -> MediaUpdate:
    """What is stored about a media file, without validators that contain a secret."""
    etag, last_modified = (None if redactor.has_secrets(text or "") else text for text in (media.etag, media.last_modified))
    return replace(media, etag=etag, last_modified=last_modified)


def _facts(page: PageUpdate, redactor: Redactor) -> PageUpdate:
    """Redact page facts. An ETag or Last-Modified that contains a secret is dropped, because a redacted one never matches."""
    return replace(
        page,
        canonical=redactor.redact_url(page.canonical) if page.canonical else None,
        etag=None if redactor.has_secrets(page.etag or "") else page.etag,
        last_modified=None if redactor.has_secrets(page.last_modified or "") else page.last_modified,
        content_type=redactor.redact(page.content_type)[0],
        identity=redactor.redact(page.identity)[0],
        headers=tuple((name, str(redactor.redact(value)[0])) for name, value in page.headers),
        render=replace(page.render, evidence=tuple(str(redactor.redact(line)[0]) for line in page.render.evidence))
        if page.render
        else None,
    )
