"""Offers that cannot change anything never reach the database.

Most links of a page lead where other pages lead already. A row's rank only ever falls and an admitted row takes no offers,
so an offer that is no better than one already written is void, whatever happened since.
"""

from __future__ import annotations

from collections.abc import Sequence

from sitelore.model.frontier import Offer
from sitelore.model.ids import RunId
from sitelore.model.url import Url

_Rank = tuple[int, int, int, int, int]

CAPACITY = 50_000


class SeenOffers:
    """The best rank written of the URLs met lately, by run. Forgets everything when full: it saves time, it decides nothing."""

    def __init__(self, capacity: int = CAPACITY) -> None:
        self._capacity = capacity
        self._ranks: dict[RunId, dict[Url, _Rank]] = {}
        self._size = 0

    def fresh(self, run: RunId, offers: Sequence[Offer]) -> list[Offer]:
        """Those that may change a row. Whoever brings a lastmod may."""
        ranks = self._ranks.get(run)
        if ranks is None:
            return list(offers)
        fresh = []
        for offer in offers:
            best = ranks.get(offer.url)
            if best is None or offer.lastmod is not None or offer.rank < best:
                fresh.append(offer)
        return fresh

    def written(self, run: RunId, offers: Sequence[Offer]) -> None:
        """These offers are committed."""
        if self._size + len(offers) > self._capacity:
            self._ranks.clear()
            self._size = 0
        ranks = self._ranks.setdefault(run, {})
        before = len(ranks)
        for offer in offers:
            rank = offer.rank
            best = ranks.get(offer.url)
            if best is None or rank < best:
                ranks[offer.url] = rank
        self._size += len(ranks) - before
