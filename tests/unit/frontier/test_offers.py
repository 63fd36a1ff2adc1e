import random
from collections.abc import Iterable
from dataclasses import replace

import pytest

from sitelore.frontier import offers as offers_module
from sitelore.frontier.offers import OfferBuilder
from sitelore.model.document import SitemapEntry
from sitelore.model.frontier import Lease, Offer, RowKind, Source
from sitelore.model.ids import RunId
from sitelore.model.platform.media import ShownMedia
from sitelore.model.settings import CrawlSettings, MediaPolicy, MediaType
from sitelore.model.states import SkipReason
from sitelore.model.url import Url

SEED = Url("http://site.test/")


def lease(url: str = SEED, *, depth: int = 0, seq: int = 0, source: Source = Source.SEED) -> Lease:
    return Lease(RunId("r"), Url(url), 1, depth, seq, RowKind.PAGE, 0, source=source)


def offer_builder(**settings: object) -> OfferBuilder:
    made = CrawlSettings(seeds=(SEED,), **settings)  # type: ignore[arg-type] # keywords are the dataclass's own
    return OfferBuilder(made, (), lambda url: "private" if url.host == "10.0.0.1" else None)


def urls(*paths: str) -> list[Url]:
    return [Url(f"http://site.test/{path}") for path in paths]


def reasons(offers: Iterable[Offer]) -> list[SkipReason | None]:
    return [offer.refusal for offer in offers]


def written(builder: OfferBuilder, holder: Lease, offers: list[Offer]) -> list[Offer]:
    builder.remember(holder, offers)
    return offers


def test_links_are_offered_once_in_page_order() -> None:
    builder = offer_builder()
    first = written(builder, lease(), builder.links(lease(), urls("a", "b")))
    assert [(o.url, o.depth, o.position, o.parent) for o in first] == [
        ("http://site.test/a", 1, 0, SEED),
        ("http://site.test/b", 1, 1, SEED),
    ]
    assert builder.links(lease(seq=1), urls("b", "a")) == []


def test_only_new_or_better_offers_are_made_for_any_order_of_pages() -> None:
    rng = random.Random(7)
    for _ in range(50):
        builder, known = offer_builder(), dict[Url, tuple[int, int, int]]()
        for _ in range(30):
            holder = lease(seq=rng.randrange(40), depth=rng.randrange(3))
            links = urls(*map(str, rng.sample(range(25), 6)))
            ranks = {url: (holder.depth + 1, holder.seq, position) for position, url in enumerate(links)}
            offers = written(builder, holder, builder.links(holder, links))
            assert [offer.url for offer in offers] == [url for url in links if url not in known or ranks[url] < known[url]]
            known |= {offer.url: ranks[offer.url] for offer in offers}


def test_a_link_that_is_offered_again_is_judged_by_its_depth_and_by_the_scope_of_now() -> None:
    builder = offer_builder(max_depth=1)
    elsewhere = Url("http://other.test/")
    offered = [builder.links(lease(depth=depth), [*urls("a"), elsewhere]) for depth in (0, 0, 1)]
    assert offered[0] == offered[1]
    assert [reasons(offers) for offers in offered] == [[None, SkipReason.SCOPE]] * 2 + [[SkipReason.DEPTH, SkipReason.SCOPE]]
    builder.links(lease(), [elsewhere])
    builder.join(("other.test",), wave=1)
    assert reasons(builder.links(lease(), [elsewhere])) == [None]


def test_a_better_offer_is_made_again() -> None:
    builder = offer_builder()
    holder = lease(seq=5, depth=1)
    written(builder, holder, builder.links(holder, urls("a")))
    assert len(builder.links(lease(seq=4, depth=1), urls("a"))) == 1
    assert len(builder.links(lease(seq=9, depth=0), urls("a"))) == 1


def test_unwritten_offers_are_made_again() -> None:
    """A visit may be fenced off after another one of the same page, by the same worker, has begun."""
    builder = offer_builder()
    late = builder.links(lease(), urls("a"))
    assert builder.links(lease(), urls("a")) == late


def test_a_worse_offer_that_is_written_later_hides_nothing_better() -> None:
    builder = offer_builder()
    good, poor = lease(seq=1), lease(seq=7)
    offers, others = builder.links(good, urls("a")), builder.links(poor, urls("a"))
    written(builder, good, offers)
    written(builder, poor, others)
    assert builder.links(lease(seq=4), urls("a")) == []


def test_verdicts_of_an_older_scope_are_not_cached() -> None:
    builder = offer_builder()
    offers = builder.links(lease(), [Url("http://moved.test/x")])
    builder.join(("moved.test",), wave=1)
    written(builder, lease(), offers)
    assert reasons(builder.links(lease(), [Url("http://moved.test/x")])) == [None]


def test_every_refusal_is_an_offer_with_its_reason() -> None:
    builder = offer_builder(max_depth=1, exclude=("/private*",))
    offers = builder.links(lease(), [Url("http://else.test/"), Url("http://10.0.0.1/"), *urls("private/x", "x/" * 9)])
    assert reasons(offers) == [SkipReason.SCOPE, SkipReason.ADDRESS, SkipReason.EXCLUDED, SkipReason.TRAP]
    assert reasons(builder.links(lease(depth=1), urls("deep"))) == [SkipReason.DEPTH]
    assert all(offer.detail for offer in offers)


def test_nofollow_is_recorded_and_outdone_by_a_link_that_may_be_followed() -> None:
    builder = offer_builder()
    assert reasons(written(builder, lease(), builder.links(lease(), [], urls("a")))) == [SkipReason.NOFOLLOW]
    assert reasons(written(builder, lease(seq=1), builder.links(lease(seq=1), urls("a")))) == [None]
    assert builder.links(lease(seq=2), [], urls("a")) == []


def test_in_a_sitemap_crawl_links_are_recorded_and_not_followed() -> None:
    made = CrawlSettings(sitemaps=("http://site.test/sitemap.xml",))
    builder = OfferBuilder(made, (), lambda _: None)
    assert reasons(builder.links(lease(), urls("a"))) == [SkipReason.NOT_IN_SITEMAP]
    listed = builder.sitemap(lease(), [SitemapEntry(u, 5.0) for u in urls("a")])
    assert reasons(listed) == [None]
    assert listed[0].lastmod == 5.0


def test_a_redirecting_seed_may_leave_its_host_and_takes_it_into_scope() -> None:
    builder = offer_builder()
    target = Url("http://moved.test/")
    assert builder.redirect(lease(), target, ()).refusal is None
    assert builder.redirect(lease(depth=1, source=Source.LINK), target, ()).refusal is SkipReason.SCOPE
    builder.join(("moved.test",), wave=1)
    assert reasons(builder.links(lease(), [Url("http://moved.test/x")])) == [None]


def test_the_target_of_a_redirect_has_the_depth_of_the_page_that_redirects() -> None:
    builder = offer_builder(max_depth=1)
    offer = builder.redirect(lease(depth=1, source=Source.LINK), Url("http://site.test/moved"), ())
    assert (offer.depth, offer.refusal) == (1, None)


def test_the_second_redirect_of_a_linked_page_stays_in_scope() -> None:
    builder, elsewhere = offer_builder(), Url("http://elsewhere.test/")
    linked = lease("http://site.test/moved", depth=1, source=Source.REDIRECT)
    assert not builder.is_seed_redirect(linked)
    assert builder.redirect(linked, elsewhere, ()).refusal is SkipReason.SCOPE


def test_links_refused_by_an_earlier_scope_are_offered_again_once_their_host_has_joined() -> None:
    builder, elsewhere = offer_builder(), Url("http://elsewhere.test/page")
    assert reasons(written(builder, lease(), builder.links(lease(), [elsewhere]))) == [SkipReason.SCOPE]
    builder.join(("elsewhere.test",), 1)
    assert reasons(builder.links(lease(seq=1), [elsewhere])) == [None]


def test_the_sitemaps_of_a_run_are_limited_over_all_pages_that_list_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(offers_module, "MAX_SOURCES", 3)
    builder = offer_builder()
    assert reasons(builder.sitemaps(lease(), urls("1.xml", "2.xml"))) == [None, None]
    assert reasons(builder.sitemaps(lease(), urls("3.xml", "4.xml"))) == [None, SkipReason.TRAP]


def test_sitemap_indexes_that_list_each_other_are_followed_over_a_few_levels() -> None:
    builder, holder = offer_builder(), lease()
    for level in range(offers_module.MAX_INDEX_LEVELS):
        (offer,) = builder.sitemaps(holder, urls(f"{level}.xml"), are_of_index=True)
        assert offer.refusal is None
        holder = replace(lease(offer.url), kind=RowKind.SITEMAP, chain=offer.chain)
    assert reasons(builder.sitemaps(holder, urls("last.xml"), are_of_index=True)) == [SkipReason.TRAP]
    assert reasons(builder.sitemaps(holder, urls("next.json?page=7"))) == [None], "parts of a collection list each other"


def test_no_redirect_reaches_a_refused_address() -> None:
    assert offer_builder().redirect(lease(), Url("http://10.0.0.1/"), ()).refusal is SkipReason.ADDRESS


def test_a_canonical_link_ranks_after_ordinary_links() -> None:
    builder = offer_builder()
    (offer,) = builder.canonical(lease(), urls("c")[0])
    (link,) = builder.links(lease(seq=99), urls("c"))
    assert link.rank < offer.rank


def test_a_url_with_a_secret_is_refused_from_every_source() -> None:
    builder, marked = offer_builder(), Url("http://site.test/a?t=[REDACTED:jwt]")
    offers = [
        *builder.links(lease(), [marked]),
        *builder.canonical(lease(), marked),
        builder.redirect(lease(), marked, ()),
        *builder.sitemap(lease(), [SitemapEntry(marked)]),
        *builder.sitemaps(lease(), [marked]),
    ]
    assert reasons(offers) == [SkipReason.SECRET] * 5


def test_media_of_any_host_are_offered_at_the_depth_of_their_page_unless_they_are_excluded() -> None:
    policy = MediaPolicy(types=tuple(MediaType))
    made = CrawlSettings(seeds=("http://a.test/",), exclude=("/private",), include=("/docs",), max_depth=0, media=policy)
    builder = OfferBuilder(made, (), lambda url: "private" if url.host == "10.0.0.1" else None)
    page = lease("http://a.test/", depth=3, seq=5)
    shown_urls = ("http://cdn.test/a.png", "http://a.test/private/b.png", "http://10.0.0.1/c.png", "http://v.test/embed")
    shown = [ShownMedia(Url(url), MediaType.IMAGE, provider="youtube" if "embed" in url else "") for url in shown_urls]
    offers = builder.media(page, shown)
    assert [(offer.url, offer.refusal, offer.kind, offer.depth, offer.position) for offer in offers] == [
        ("http://cdn.test/a.png", None, RowKind.MEDIA, 3, 0),
        ("http://a.test/private/b.png", SkipReason.EXCLUDED, RowKind.MEDIA, 3, 1),
        ("http://10.0.0.1/c.png", SkipReason.ADDRESS, RowKind.MEDIA, 3, 2),
    ]
    builder.remember(page, offers)
    assert builder.media(replace(page, seq=9), shown) == []
    redirected = replace(page, depth=0, kind=RowKind.MEDIA, source=Source.REDIRECT)
    assert not builder.is_seed_redirect(redirected), "a redirected picture must not bring its host into scope"
    assert builder.redirect(redirected, Url("http://other.test/x.png"), ()).refusal is None


@pytest.mark.parametrize(("types", "kind"), [((), RowKind.PAGE), ((MediaType.DOCUMENT,), RowKind.MEDIA)])
def test_a_link_to_a_document_is_media_where_documents_are_downloaded(types: tuple[MediaType, ...], kind: RowKind) -> None:
    made = CrawlSettings(seeds=("http://a.test/",), media=MediaPolicy(types=types))
    builder = OfferBuilder(made, (), lambda _: None)
    page = lease("http://a.test/", seq=1)
    [link] = builder.links(page, [Url("http://a.test/Paper.PDF")])
    [entry] = builder.sitemap(page, [SitemapEntry(Url("http://a.test/other.docx"))])
    assert (link.kind, entry.kind) == (kind, kind)
    assert builder.kind_of(Url("http://a.test/pdf")) is RowKind.PAGE
