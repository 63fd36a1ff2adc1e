"""Links → offers. Each distinct target is judged once: scope, patterns, address, depth, shape; the refusal is recorded.

A page has a hundred links and most of them were offered before, so this is the hottest loop of a crawl: what was offered with
an equal or better rank is left out before anything else is asked. That memory is a saving, never a truth: it holds only offers
that were written (a visit may be fenced off, and whoever visits the page then has to offer its links again), and may be
cleared at any moment.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from itertools import filterfalse

from sitelore.frontier.scope import ScopeRule
from sitelore.frontier.url_pattern import endless, url_pattern
from sitelore.model.api_loader import is_loaded
from sitelore.model.document import SitemapEntry
from sitelore.model.frontier import SOURCE_RANK, Hop, Kind, Lease, Offer, Source
from sitelore.model.redaction import MARK
from sitelore.model.settings import CrawlSettings
from sitelore.model.states import SkipReason
from sitelore.model.url import Url

AddressRefusal = Callable[[Url], str | None]
"""The guard's offline judgement of a URL: a sentence when it is refused."""

_MEMORY = 200_000
_JUDGED = 5_000
MAX_SOURCES = 50_000
"""Sitemaps and parts of collections that one worker takes from a run: as many as one sitemap index may list."""
_Rank = tuple[int, int, int, int]
_NONE: _Rank = (-1, 0, 0, 0)
Refusal = tuple[SkipReason, str]
_ENDLESS: Refusal = (SkipReason.TRAP, f"more than {MAX_SOURCES} sitemaps or parts of collections")
HELD_A_SECRET: Refusal = (SkipReason.SECRET, "the address holds what may not be kept, so it was not fetched")


class Admission:
    """One run's view of what may be offered."""

    def __init__(self, settings: CrawlSettings, joined_hosts: tuple[str, ...], address_refusal: AddressRefusal) -> None:
        self._settings = settings
        self._address_refusal = address_refusal
        self._scope = ScopeRule(settings, joined_hosts)
        self._joined = joined_hosts
        self._since_wave = 0
        self._sources = 0
        self._best: dict[Url, _Rank] = {}
        self._worst: _Rank = _NONE
        """No rank in memory is worse than this one."""
        self._best_nofollow: dict[Url, _Rank] = {}
        """Kept apart: a link that may be followed outdoes one with nofollow whatever their ranks."""
        self._judged: dict[Url, tuple[Refusal | None, str]] = {}
        self._judged_depth = 0
        """Pages that are visited side by side find the same new links, each before those of any other are written."""

    def join(self, hosts: tuple[str, ...], wave: int) -> None:
        """Hosts that a redirecting seed led to are in scope from this wave on."""
        if hosts != self._joined:
            self._joined = hosts
            self._scope = ScopeRule(self._settings, hosts)
            self._since_wave = wave
            self._forget(self._best)
            self._forget(self._best_nofollow)
            self._judged.clear()

    def remember(self, lease: Lease, offers: Iterable[Offer]) -> None:
        """These offers of a visit are written: what is no better need not be offered again."""
        if lease.wave < self._since_wave:  # judged by another scope
            return
        for offer in offers:
            memory = self._best_nofollow if offer.refusal is SkipReason.NOFOLLOW else self._best
            if len(memory) >= _MEMORY:
                self._forget(memory)
            rank = offer.rank[1:]
            known = memory.get(offer.url)
            if known is None or rank < known:
                memory[offer.url] = rank
                if rank > self._worst and memory is self._best:
                    self._worst = rank

    def _forget(self, memory: dict[Url, _Rank]) -> None:
        memory.clear()
        if memory is self._best:
            self._worst = _NONE

    def links(self, lease: Lease, links: Collection[Url], nofollow: Iterable[Url] = ()) -> list[Offer]:
        """Offers for a page's links. Position is the index among the distinct links that may be followed."""
        depth, seq, best = lease.depth + 1, lease.seq, self._best
        source = SOURCE_RANK[Source.LINK]
        # A rank that is lower than this, which lacks the position, is lower at any position.
        here = (depth, source, seq)
        if self._worst < here:  # pages come in nearly in their order, so this is the rule: what is known is known as better
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
            offers.append(self._offer(url, depth, Source.LINK, lease, position, refusal=refusal))
        return offers

    def _link(self, url: Url, depth: int, lease: Lease, position: int) -> Offer:
        """An offer for a link; what is no matter of the page that has it is found out once."""
        if depth != self._judged_depth or len(self._judged) >= _JUDGED:
            self._judged.clear()
            self._judged_depth = depth
        judged = self._judged.get(url)
        if judged is None:
            judged = self._judged[url] = self.refusal(url, depth) or self._unlisted(url), url_pattern(url)
        refusal, shape = judged
        return Offer(
            url=url,
            depth=depth,
            source=Source.LINK,
            parent=lease.url,
            parent_seq=lease.seq,
            position=position,
            refusal=refusal[0] if refusal else None,
            detail=refusal[1] if refusal else "",
            shape=shape,
        )

    def canonical(self, lease: Lease, url: Url) -> list[Offer]:
        """A page names another URL as its own: worth a visit, after everything that is linked."""
        rank = (lease.depth + 1, SOURCE_RANK[Source.CANONICAL], lease.seq, 0)
        known = self._best.get(url)
        if known is not None and known <= rank:
            return []
        return [self._offer(url, lease.depth + 1, Source.CANONICAL, lease, 0)]

    def redirect(self, lease: Lease, target: Url, chain: tuple[Hop, ...]) -> Offer:
        """The target of a redirect: same depth, never left out, since a wave may wait for it."""
        refusal = None if self.is_seed_redirect(lease) else self.refusal(target, lease.depth)
        if refusal is None:
            refusal = self._unsafe(target)
        return self._offer(
            target, lease.depth, Source.REDIRECT, lease, 0, refusal=refusal, judged=True, kind=lease.kind, chain=chain
        )

    def sitemap(self, lease: Lease, entries: Iterable[SitemapEntry]) -> list[Offer]:
        """Pages that a sitemap lists: ahead of links at the next depth."""
        return [
            self._offer(entry.url, lease.depth + 1, Source.SITEMAP, lease, position, lastmod=entry.lastmod)
            for position, entry in enumerate(entries)
        ]

    def sitemaps(self, lease: Lease, urls: Iterable[Url]) -> list[Offer]:
        """Sitemaps that robots.txt or a sitemap index names, and further parts of an API's collection: read before the next
        depth opens, so there must be an end to them.
        """
        offers = []
        for position, url in enumerate(urls):
            self._sources += 1
            refusal = self._unsafe(url) if self._sources <= MAX_SOURCES else _ENDLESS
            offers.append(
                self._offer(url, lease.depth, Source.SITEMAP, lease, position, judged=True, kind=Kind.SITEMAP, refusal=refusal)
            )
        return offers

    @staticmethod
    def is_seed_redirect(lease: Lease) -> bool:
        """Whether this lease is a seed, or what a seed redirected to: a person asked for it by name."""
        return lease.depth == 0 and lease.source in {Source.SEED, Source.REDIRECT}

    def refusal(self, url: Url, depth: int) -> Refusal | None:
        """Why a URL is not admitted, whatever links to it: the gates in the order `explain` shows them."""
        unsafe = self._unsafe(url)
        if unsafe is not None:
            return unsafe
        out = self._scope.refusal(url)
        if out is not None:
            return out
        limit = self._settings.max_depth
        if limit is not None and depth > limit and not self._is_declared(url):
            return SkipReason.DEPTH, f"depth {depth} is beyond the limit of {limit}"
        if self._settings.detect_traps and (why := endless(url)):
            return SkipReason.TRAP, why
        return None

    def _unlisted(self, url: Url) -> Refusal | None:
        """Why a link is not followed that nothing else speaks against."""
        if self._settings.sitemap_only and not self._is_declared(url):
            return SkipReason.NOT_IN_SITEMAP, "only what the sitemap lists is crawled"
        return None

    def _is_declared(self, url: Url) -> bool:
        """Whether a loader of the site's config speaks of it: parts of a collection follow one another however deep."""
        overrides = self._settings.overrides
        return bool(overrides) and is_loaded(url, overrides)

    def _unsafe(self, url: Url) -> Refusal | None:
        if MARK in url:
            return HELD_A_SECRET
        why = self._address_refusal(url)
        return (SkipReason.ADDRESS, why) if why else None

    def _offer(
        self,
        url: Url,
        depth: int,
        source: Source,
        lease: Lease,
        position: int,
        *,
        refusal: Refusal | None = None,
        judged: bool = False,
        kind: Kind = Kind.PAGE,
        chain: tuple[Hop, ...] = (),
        lastmod: float | None = None,
    ) -> Offer:
        if not judged:
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
            shape=url_pattern(url),
            lastmod=lastmod,
            chain=chain,
        )
