"""Turns the links of a page into offers (URLs proposed to the frontier), and refuses those that may not be crawled.

Each target is checked for scope, patterns, address, depth and traps; the reason of every refusal is recorded.

A page has about a hundred links and most were offered before, so this is the hottest loop of a crawl: targets already offered
with an equal or better rank are dropped before any check. That cache is only a saving. It holds only offers that were written,
because a settlement may be rejected and the page visited again elsewhere, and it may be cleared at any time.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable
from itertools import filterfalse

from sitelore.frontier.scope import Refusal, ScopeRule
from sitelore.frontier.url_pattern import endless, url_pattern
from sitelore.model.api_loader import is_loaded
from sitelore.model.document import SitemapEntry
from sitelore.model.frontier import SOURCE_RANK, Hop, Lease, Offer, RowKind, Source
from sitelore.model.platform.media import ShownMedia
from sitelore.model.settings import MARK, CrawlSettings, MediaType
from sitelore.model.states import SkipReason
from sitelore.model.url import Url

AddressRefusal = Callable[[Url], str | None]
"""The address guard's check of a URL without DNS: the reason of a refusal, or None."""

_MAX_CACHED_RANKS = 200_000
_MAX_CACHED_VERDICTS = 5_000
MAX_SOURCES = 50_000
"""Sitemaps and collection pages that one worker accepts in a run: as many as one sitemap index may list."""
MAX_INDEX_LEVELS = 5
"""Sitemap indexes that may list each other. The protocol allows one level; without a limit, two that are made for it would keep
a run busy for ever, because sitemaps are read before pages.
"""
_DOCUMENTS = (".pdf", ".docx", ".doc")
_LOG_OUT = re.compile(r"(?<![a-z])(?:log|sign)[-_]?(?:out|off)(?![a-z])", re.IGNORECASE)
_Rank = tuple[int, int, int, int]
_LOWEST_RANK: _Rank = (-1, 0, 0, 0)
_TOO_MANY_SOURCES: Refusal = (SkipReason.TRAP, f"more than {MAX_SOURCES} sitemaps or parts of collections")
_TOO_MANY_LEVELS: Refusal = (SkipReason.TRAP, f"sitemap indexes list each other over more than {MAX_INDEX_LEVELS} levels")
HELD_A_SECRET: Refusal = (SkipReason.SECRET, "the address holds what may not be kept, so it was not fetched")


class OfferBuilder:
    """Makes and checks the offers of one run."""

    def __init__(
        self,
        settings: CrawlSettings,
        joined_hosts: tuple[str, ...],
        address_refusal: AddressRefusal,
        logged_in_origins: Collection[str] = (),
    ) -> None:
        """`logged_in_origins`: where the crawl must not follow links that log it out."""
        self._settings = settings
        self._logged_in_origins = logged_in_origins
        self._address_refusal = address_refusal
        self._scope = ScopeRule(settings, joined_hosts)
        self._joined = joined_hosts
        self._since_wave = 0
        self._sources = 0
        self._has_documents = MediaType.DOCUMENT in settings.media.types
        self._best: dict[Url, _Rank] = {}
        self._worst: _Rank = _LOWEST_RANK
        """The worst rank in `_best`."""
        self._best_nofollow: dict[Url, _Rank] = {}
        """Separate, because a link that may be followed beats a nofollow link whatever their ranks."""
        self._verdicts: dict[Url, tuple[Refusal | None, str]] = {}
        """Cache of (refusal, URL pattern) per link at `_verdicts_depth`: concurrent visits find the same links before any of
        them is stored.
        """
        self._verdicts_depth = 0

    def join(self, hosts: tuple[str, ...], wave: int) -> None:
        """Bring hosts that a redirecting seed led to into scope, from this wave on."""
        if hosts != self._joined:
            self._joined = hosts
            self._scope = ScopeRule(self._settings, hosts)
            self._since_wave = wave
            self._forget(self._best)
            self._forget(self._best_nofollow)
            self._verdicts.clear()

    def remember(self, lease: Lease, offers: Iterable[Offer]) -> None:
        """Cache the ranks of written offers: equal or worse ones need not be offered again."""
        if lease.wave < self._since_wave:  # checked against an earlier scope
            return
        for offer in offers:
            cache = self._best_nofollow if offer.refusal is SkipReason.NOFOLLOW else self._best
            if len(cache) >= _MAX_CACHED_RANKS:
                self._forget(cache)
            rank = offer.rank[1:]
            known = cache.get(offer.url)
            if known is None or rank < known:
                cache[offer.url] = rank
                if rank > self._worst and cache is self._best:
                    self._worst = rank

    def _forget(self, cache: dict[Url, _Rank]) -> None:
        cache.clear()
        if cache is self._best:
            self._worst = _LOWEST_RANK

    def links(self, lease: Lease, links: Collection[Url], nofollow: Iterable[Url] = ()) -> list[Offer]:
        """Offers for a page's links. The position of a link is its index among the distinct links that may be followed."""
        depth, seq, best = lease.depth + 1, lease.seq, self._best
        source = SOURCE_RANK[Source.LINK]
        # A tuple without the position: a rank that compares lower is lower at any position.
        here = (depth, source, seq)
        if self._worst < here:  # the usual case, as pages settle nearly in order: every cached rank is better
            unknown = set(filterfalse(best.__contains__, links))
            new = [(position, url) for position, url in enumerate(links) if url in unknown] if unknown else []
        else:
            new = [
                (position, url)
                for position, url in enumerate(links)
                if (known := best.get(url)) is None or not (known < here or known <= (depth, source, seq, position))
            ]
        offers = [self._link(url, depth, lease, position) for position, url in new]
        for position, url in enumerate(nofollow):
            rank = (depth, source, seq, position)
            known = best.get(url) or self._best_nofollow.get(url)
            if known is not None and known <= rank:
                continue
            refusal = (SkipReason.NOFOLLOW, f"linked with nofollow on {lease.url}")
            offers.append(self._offer(url, depth, Source.LINK, lease, position, refusal=refusal, kind=self.kind_of(url)))
        return offers

    def _link(self, url: Url, depth: int, lease: Lease, position: int) -> Offer:
        """An offer for a link. Checks that do not depend on the linking page are cached."""
        if depth != self._verdicts_depth or len(self._verdicts) >= _MAX_CACHED_VERDICTS:
            self._verdicts.clear()
            self._verdicts_depth = depth
        verdict = self._verdicts.get(url)
        if verdict is None:
            verdict = self._verdicts[url] = self.link_refusal(url, depth), url_pattern(url)
        refusal, pattern = verdict
        return Offer(
            url=url,
            depth=depth,
            source=Source.LINK,
            parent=lease.url,
            parent_seq=lease.seq,
            position=position,
            refusal=refusal[0] if refusal else None,
            detail=refusal[1] if refusal else "",
            pattern=pattern,
            kind=self.kind_of(url),
        )

    def canonical(self, lease: Lease, url: Url) -> list[Offer]:
        """An offer for the canonical URL that a page names; it ranks after links."""
        rank = (lease.depth + 1, SOURCE_RANK[Source.CANONICAL], lease.seq, 0)
        known = self._best.get(url)
        if known is not None and known <= rank:
            return []
        return [self._offer(url, lease.depth + 1, Source.CANONICAL, lease, 0)]

    def redirect(self, lease: Lease, target: Url, chain: tuple[Hop, ...]) -> Offer:
        """An offer for the target of a redirect, at the same depth. Never dropped, because a wave may wait for it."""
        if lease.kind is RowKind.MEDIA:
            refusal = self._media_refusal(target)
        else:
            refusal = None if self.is_seed_redirect(lease) else self.refusal(target, lease.depth)
        if refusal is None:
            refusal = self._unsafe(target)
        return self._offer(
            target, lease.depth, Source.REDIRECT, lease, 0, refusal=refusal, is_checked=True, kind=lease.kind, chain=chain
        )

    def media(self, lease: Lease, shown: Iterable[ShownMedia]) -> list[Offer]:
        """Offers for the media of a page, at its depth. Any host is allowed; exclude patterns apply, include patterns do not.

        Videos that are not downloaded are not offered.
        """
        depth, source = lease.depth, SOURCE_RANK[Source.MEDIA]
        offers = []
        for position, item in enumerate(shown):
            known = self._best.get(item.url)
            if item.provider or (known is not None and known <= (depth, source, lease.seq, position)):
                continue
            refusal = self._media_refusal(item.url)
            offers.append(
                self._offer(
                    item.url, depth, Source.MEDIA, lease, position, refusal=refusal, is_checked=True, kind=RowKind.MEDIA
                )
            )
        return offers

    def kind_of(self, url: Url) -> RowKind:
        """Whether a URL is visited as a page or as a media file. Documents are media in a run that downloads those."""
        is_document = self._has_documents and url.path.lower().endswith(_DOCUMENTS)
        return RowKind.MEDIA if is_document else RowKind.PAGE

    def _media_refusal(self, url: Url) -> Refusal | None:
        return self._unsafe(url) or self._scope.exclusion(url)

    def sitemap(self, lease: Lease, entries: Iterable[SitemapEntry]) -> list[Offer]:
        """Offers for the pages that a sitemap lists, at the next depth and ahead of links."""
        return [
            self._offer(
                entry.url,
                lease.depth + 1,
                Source.SITEMAP,
                lease,
                position,
                lastmod=entry.lastmod,
                kind=self.kind_of(entry.url),
            )
            for position, entry in enumerate(entries)
        ]

    def sitemaps(self, lease: Lease, urls: Iterable[Url], *, are_of_index: bool = False) -> list[Offer]:
        """Offers for sitemaps that robots.txt or a sitemap index (`are_of_index`) lists, and for more of an API collection.

        They are read before the next depth opens, so their number is limited, and so are the levels of indexes. The chain of a
        sitemap holds the indexes that led to it.
        """
        chain = (*lease.chain, Hop(lease.url, 200)) if are_of_index else ()
        too_deep = _TOO_MANY_LEVELS if len(chain) > MAX_INDEX_LEVELS else None
        offers = []
        for position, url in enumerate(urls):
            self._sources += 1
            refusal = self._unsafe(url) or too_deep if self._sources <= MAX_SOURCES else _TOO_MANY_SOURCES
            offers.append(
                self._offer(
                    url,
                    lease.depth,
                    Source.SITEMAP,
                    lease,
                    position,
                    is_checked=True,
                    kind=RowKind.SITEMAP,
                    refusal=refusal,
                    chain=chain,
                )
            )
        return offers

    @staticmethod
    def is_seed_redirect(lease: Lease) -> bool:
        """Whether this lease is a seed, or the target of a redirecting seed."""
        if lease.kind is RowKind.MEDIA:
            return False
        return lease.depth == 0 and lease.source in {Source.SEED, Source.REDIRECT}

    def is_offered(self, url: Url) -> bool:
        """Whether a page of this worker has offered the URL. False may also mean that the cache was cleared."""
        return url in self._best

    def link_refusal(self, url: Url, depth: int) -> Refusal | None:
        """Why a link is not admitted, independent of its page."""
        return self.refusal(url, depth) or self._unlisted(url)

    def refusal(self, url: Url, depth: int) -> Refusal | None:
        """Why a URL is not admitted, independent of the linking page. Checks run in the order of `explain`."""
        unsafe = self._unsafe(url)
        if unsafe is not None:
            return unsafe
        out = self._scope.refusal(url)
        if out is not None:
            return out
        if url.origin in self._logged_in_origins and _LOG_OUT.search(url.target):
            return SkipReason.EXCLUDED, "the link would log the crawl out"
        limit = self._settings.max_depth
        if limit is not None and depth > limit and not self._is_declared(url):
            return SkipReason.DEPTH, f"depth {depth} is beyond the limit of {limit}"
        if self._settings.detect_traps and (reason := endless(url)):
            return SkipReason.TRAP, reason
        return None

    def _unlisted(self, url: Url) -> Refusal | None:
        """The refusal of a link when only URLs listed in a sitemap are crawled."""
        if self._settings.sitemap_only and not self._is_declared(url):
            return SkipReason.NOT_IN_SITEMAP, "only what the sitemap lists is crawled"
        return None

    def _is_declared(self, url: Url) -> bool:
        """Whether the settings declare a loader for it; the pages of a collection may be at any depth."""
        overrides = self._settings.overrides
        return bool(overrides) and is_loaded(url, overrides)

    def _unsafe(self, url: Url) -> Refusal | None:
        if MARK in url:
            return HELD_A_SECRET
        reason = self._address_refusal(url)
        return (SkipReason.ADDRESS, reason) if reason else None

    def _offer(
        self,
        url: Url,
        depth: int,
        source: Source,
        lease: Lease,
        position: int,
        *,
        refusal: Refusal | None = None,
        is_checked: bool = False,
        kind: RowKind = RowKind.PAGE,
        chain: tuple[Hop, ...] = (),
        lastmod: float | None = None,
    ) -> Offer:
        if not is_checked:
            refusal = self.refusal(url, depth) or refusal
            if refusal is None and source in {Source.LINK, Source.CANONICAL}:
                refusal = self._unlisted(url)
        return Offer(
            url=url,
            depth=depth,
            source=source,
            parent=lease.url,
            parent_seq=lease.seq,
            position=position,
            kind=kind,
            refusal=refusal[0] if refusal else None,
            detail=refusal[1] if refusal else "",
            pattern=url_pattern(url),
            lastmod=lastmod,
            chain=chain,
        )
