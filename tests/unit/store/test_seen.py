from __future__ import annotations

from sitelore.model.frontier import Offer, Source
from sitelore.model.ids import RunId
from sitelore.model.states import SkipReason
from sitelore.model.url import Url
from sitelore.store.schema import KEY_CHARS, key_of
from sitelore.store.seen import SeenOffers

RUN = RunId("r")


def offer(name: str, depth: int = 1, refusal: SkipReason | None = None, lastmod: float | None = None) -> Offer:
    return Offer(Url.trusted(f"http://a/{name}"), depth, Source.LINK, refusal=refusal, lastmod=lastmod)


def test_an_offer_no_better_than_a_written_one_is_dropped() -> None:
    seen = SeenOffers()
    seen.written(RUN, [offer("x", 2), offer("refused", 1, SkipReason.SCOPE)])
    assert seen.fresh(RUN, [offer("x", 2), offer("x", 3)]) == []
    better = [offer("x", 1), offer("new"), offer("refused", 5), offer("x", 9, lastmod=1.0)]
    assert seen.fresh(RUN, better) == better


def test_another_run_has_seen_nothing() -> None:
    seen = SeenOffers()
    seen.written(RUN, [offer("x")])
    assert seen.fresh(RunId("other"), [offer("x")]) == [offer("x")]


def test_the_best_rank_stays_when_a_worse_offer_is_written_later() -> None:
    seen = SeenOffers()
    seen.written(RUN, [offer("x", 1)])
    seen.written(RUN, [offer("x", 4)])
    assert seen.fresh(RUN, [offer("x", 2)]) == []


def test_a_full_memory_starts_again_and_never_grows() -> None:
    seen = SeenOffers(capacity=10)
    for n in range(100):
        seen.written(RUN, [offer(str(n))])
        assert sum(len(ranks) for ranks in seen._ranks.values()) <= 10
    assert seen.fresh(RUN, [offer("0"), offer("99")]) == [offer("0")]


def test_the_key_of_a_long_url_is_short_and_its_own() -> None:
    long = ["http://a/" + "x" * KEY_CHARS + end for end in ("1", "2")]
    keys = {key_of(url) for url in long}
    assert len(keys) == 2
    assert all(len(key) == KEY_CHARS for key in keys)
    assert key_of("http://a/") == "http://a/"
