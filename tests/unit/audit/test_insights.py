"""Figures about a site."""

from __future__ import annotations

from typing import Any

import pytest

from sitelore.audit.insights import content, links, runs
from sitelore.audit.shingles import shingles_of
from sitelore.audit.site import Site, is_complete_run
from sitelore.model.audit.findings import EarlierPage, ExternalCheck, LlmsTxt
from sitelore.model.frontier import Hop
from sitelore.model.states import Proof, SkipReason, UrlState

from .cases import ANOTHER_PROSE, ARTICLE, HOME, LONG_PROSE, OTHER, linking, many, own_text, sitemap
from .sites import BASE, DAY, NOW, Audited, Spec, address, audit, build_page, html, redirect, state


def site(pages: dict[str, Any], **records: Any) -> Site:
    return audit(pages, **records).site


def before(path: str, **values: Any) -> EarlierPage:
    return EarlierPage(str(address(path)), NOW - 10 * DAY, **values)


def test_run_coverage_adds_up() -> None:
    result = runs.run_coverage(
        site(
            {
                "/": HOME,
                "/page": html(),
                "/304": Spec(html(seed=4), row={"state": UrlState.NOT_MODIFIED}),
                "/ttl": state(UrlState.SKIPPED, skip_reason=SkipReason.TTL),
                "/robots": state(UrlState.SKIPPED, skip_reason=SkipReason.ROBOTS),
                "/budget": state(UrlState.SKIPPED, skip_reason=SkipReason.BUDGET),
                "/old": redirect("/page", "/old"),
                "/lost": Spec(status=404),
                "/error": Spec(status=500),
                "/waiting": state(UrlState.DISCOVERED),
            }
        )
    )
    parts = result.read + result.unchanged + result.merged + result.unfinished
    assert result.discovered == parts + sum(result.skipped.values()) + sum(result.failed.values()) == 10
    assert (result.read, result.unchanged, result.merged, result.unfinished) == (2, 2, 1, 1)
    assert result.skipped == {"robots": 1, "budget": 1}
    assert result.failed == {"NOT_FOUND": 1, "HTTP_TERMINAL": 1}
    assert not result.is_complete


def test_a_run_with_a_limit_is_not_complete() -> None:
    assert is_complete_run(site({"/": HOME, "/page": html()}).pages.values())
    cut = {"/": HOME, "/x": state(UrlState.SKIPPED, skip_reason=SkipReason.DEPTH)}
    assert not is_complete_run(site(cut).pages.values())


def test_movement_tells_new_gone_moved_changed_and_equal_pages_apart() -> None:
    pages = {
        "/": HOME,
        "/same": html(seed=5),
        "/changed": own_text(LONG_PROSE),
        "/new": own_text(ANOTHER_PROSE),
        "/fresh": html(seed=9),
    }
    now = audit(pages)
    moved = shingles_of(now.pages[address("/new")].content.text)
    hashes = {path: now.site.pages[address(path)].content_hash for path in pages}
    half = build_page("/changed", Spec(own_text(LONG_PROSE[: len(LONG_PROSE) // 2])))[0].content.text
    earlier = {
        each.url: each
        for each in (
            before("/", content_hash=hashes["/"]),
            before("/same", content_hash=hashes["/same"]),
            before("/changed", content_hash="other", shingles=shingles_of(half)),
            before("/old", content_hash="gone", shingles=moved),
            before("/lost", content_hash="lost"),
        )
    }
    result = runs.movement(now.site, earlier)
    assert result.new == (f"{BASE}/fresh",)
    assert result.gone == (f"{BASE}/lost",)
    assert result.moved == ((f"{BASE}/old", f"{BASE}/new", 1.0),)
    assert result.same == 2
    assert [url for url, _ in result.changed] == [f"{BASE}/changed"]
    assert result.buckets == {">50 %": 1}


def test_after_a_partial_run_unread_pages_are_not_gone() -> None:
    earlier = {f"{BASE}/lost": before("/lost")}
    assert runs.movement(site({"/": HOME}), earlier).gone == (f"{BASE}/lost",)
    assert runs.movement(site({"/": HOME}, is_complete=False), earlier).gone == ()


def test_the_best_page_has_a_scaled_rank_of_100_and_the_worst_of_0() -> None:
    ranked = links.scaled_ranks(site({**linking(many(4)), **many(4, links="/")}))
    assert (ranked[0].url, ranked[0].scaled) == (f"{BASE}/", 100)
    assert ranked[-1].scaled == pytest.approx(0, abs=1e-6)
    assert sum(page.rank for page in ranked) == pytest.approx(1)
    assert links.scaled_ranks(site({"/": Spec(status=404)})) == []


def test_redirects_and_duplicates_pass_rank_to_their_final_page() -> None:
    direct = site({"/": html(links="/a"), "/a": html(links="/", seed=2)})
    detour = site({"/": html(links="/old"), "/a": html(links="/", seed=2), "/old": redirect("/a", "/old")})
    assert list(detour.ranks.values()) == pytest.approx(list(direct.ranks.values()))
    assert detour.click_depths[address("/a")] == 1


def test_rank_is_counted_by_section() -> None:
    shares = links.rank_by_section(site({**linking(many(4)), **many(4, links="/")}))
    assert set(shares) == {"/", "/many/"}
    assert sum(shares.values()) == pytest.approx(1)


def test_rank_sinks_name_urls_that_are_not_indexable() -> None:
    pages = {
        **linking(many(6), "/login"),
        **many(6, links="/ /login"),
        "/login": html(head="<meta name=robots content=noindex>", links="/"),
    }
    sinks = links.rank_sinks(site(pages))
    assert 0.05 < sinks.shares["noindex"] < 0.5
    assert sinks.pages[0][:2] == (f"{BASE}/login", "noindex")


def test_starved_pages_come_with_pages_that_could_link_to_them() -> None:
    pages = {
        **linking(many(6), "/hub"),
        **many(6, links="/"),
        "/hub": html(links="/poor", title="Overview of pages"),
        "/poor": html(words=600, title="Overshot wheels explained", links="/"),
        "/related": html(title="Overshot wheels in pictures", links="/", seed=50),
    }
    starved = links.starved_pages(site(pages, sitemaps=sitemap({"/related": None})))
    by_url = {page.url: page for page in starved}
    assert by_url[f"{BASE}/related"].suggestions == (f"{BASE}/poor",)
    assert by_url[f"{BASE}/related"].in_sitemap


def test_click_depth_is_counted_with_indexability() -> None:
    pages = {
        "/": html(links="/a"),
        "/a": html(links="/b", seed=2, head="<meta name=robots content=noindex>"),
        "/b": html(seed=3),
        "/alone": html(seed=4),
    }
    assert links.click_depth(site(pages)) == {
        "0": {"indexable": 1},
        "1": {"noindex": 1},
        "2": {"indexable": 1},
        "-": {"indexable": 1},
    }


def test_orphans_are_suspected_after_a_run_that_was_cut_short() -> None:
    pages = {
        "/": HOME,
        "/page": html(links="/"),
        "/alone": html(seed=4),
        "/cut": state(UrlState.SKIPPED, skip_reason=SkipReason.BUDGET),
    }
    sure, unsure = links.orphans(site(pages)), links.orphans(site(pages, is_complete=False))
    assert sure.pages == unsure.pages == ((f"{BASE}/alone", "link"),)
    assert (sure.is_confirmed, sure.reasons) == (True, {})
    assert (unsure.is_confirmed, unsure.reasons) == (False, {"budget": 1})


def test_link_health_counts_by_target_chain_and_host() -> None:
    pages = {
        "/": html(links="/a /lost https://far.example/x"),
        "/a": html(links="/lost /old https://far.example/y", seed=2),
        "/lost": Spec(status=404),
        "/old": redirect("/a", "/old", "/older"),
    }
    checks = {"https://far.example/x": [ExternalCheck("https://far.example/x", NOW, 404)]}
    health = links.link_health(site(pages, external=checks))
    assert health.broken_targets == ((f"{BASE}/lost", "gone", 2),)
    assert health.chains == {"2": 1}
    assert health.external_hosts == (("far.example", 2, 1),)


def duplicates() -> Audited:
    return audit(
        {
            **linking({}, "/a", "/c"),
            "/a": own_text(LONG_PROSE),
            "/a?print": own_text(LONG_PROSE),
            "/b": own_text(f"{LONG_PROSE}<p>One more sentence.</p>"),
            "/c": own_text(ANOTHER_PROSE),
        }
    )


def test_exact_and_near_duplicates_are_separate() -> None:
    result = duplicates().site
    assert [(each.primary, each.pages) for each in content.exact_duplicates(result)] == [
        (f"{BASE}/a", (f"{BASE}/a", f"{BASE}/a?print"))
    ]
    near = content.near_duplicates(result)
    assert len(near) == 1
    assert f"{BASE}/b" in near[0].pages
    assert f"{BASE}/c" not in near[0].pages
    assert 0.9 <= near[0].similarity < 1
    assert content.near_duplicates(result, 0.999) == []


def test_thin_pages_are_those_far_below_the_norm_of_their_folder() -> None:
    pages = {**linking(many(9, words=400), "/many/thin"), **many(9, words=400), "/many/thin": html(words=100)}
    norms = content.thin_pages(site(pages))
    assert [(norm.folder, norm.pages, norm.has_norm) for norm in norms] == [("site.example/many/", 10, True)]
    assert [url for url, _ in norms[0].thin] == [f"{BASE}/many/thin"]


def test_decay_counts_pages_by_the_age_of_their_last_change() -> None:
    pages = {"/": HOME, "/a": html(seed=4), "/b": html(seed=5, words=150)}
    earlier = {
        f"{BASE}/a": [before("/a", changed_at=NOW - 100 * DAY)],
        f"{BASE}/b": [before("/b", changed_at=NOW - 400 * DAY, word_count=1000)],
    }
    result = content.decay(site(pages, earlier=earlier))
    assert result.ages == {"unknown": 1, "<180 d": 1, "older": 1}
    assert [url for url, *_ in result.shrunk] == [f"{BASE}/b"]
    assert dict(result.queue) == {f"{BASE}/a": 100.0, f"{BASE}/b": 400.0}


def test_the_hreflang_matrix_has_a_state_for_every_language() -> None:
    def alternates(*pairs: tuple[str, str]) -> str:
        return "".join(f"<link rel=alternate hreflang={lang} href={BASE}{path}>" for lang, path in pairs)

    pages = {
        "/": html(head=alternates(("en", "/"), ("de", "/de"), ("fr", "/fr"), ("it", "/it"), ("es", "/es"))),
        "/de": html(head=alternates(("de", "/de"), ("en", "/")), attributes="lang=de", seed=2),
        "/fr": html(attributes="lang=fr", seed=3),
        "/it": Spec(status=404),
    }
    rows = {row.page: row.cells for row in content.hreflang_matrix(site(pages))}
    assert rows[f"{BASE}/"] == {"en": "ok", "de": "ok", "fr": "no return", "it": "error", "es": "not known"}
    assert rows[f"{BASE}/de"] == {"de": "ok", "en": "ok"}


def test_structured_data_is_counted_by_type_and_folder() -> None:
    pages = {
        **linking(many(3)),
        **many(2, head=ARTICLE),
        "/many/p2": html(head="<script type=application/ld+json>{broken</script>"),
    }
    coverage = content.structured_coverage(site(pages))
    assert coverage.types == {"TechArticle": {"site.example/many/": 2}}
    assert coverage.pages["site.example/many/"] == 3
    assert coverage.broken == 1


def test_machine_readiness_counts_pages_and_tokens() -> None:
    pages = {"/": HOME, "/page": html(), "/x": state(UrlState.SKIPPED, skip_reason=SkipReason.ROBOTS)}
    result = content.machine_readiness(site(pages, llms_txt=LlmsTxt(f"{BASE}/llms.txt", 404)))
    assert (result.pages, result.readable_without_scripts, result.refused_by_robots, result.llms_txt) == (2, 2, 1, "missing")
    assert result.html_tokens > result.text_tokens > 100
    assert content.machine_readiness(site(pages)).llms_txt == "unknown"


def test_the_inventory_counts_every_url_once() -> None:
    result = content.inventory(site({"/": HOME, "/docs/page": html(), "/lost": Spec(status=404)}))
    assert result["state"] == {"VISITED": 2, "NOT_FOUND": 1}
    assert result["section"] == {"/": 1, "/docs/": 1}
    assert result["language"] == {"en": 2}


def test_a_merged_page_counts_as_its_final_page() -> None:
    merged = Spec(
        row={"state": UrlState.ALIAS, "proof": Proof.EQUAL_CONTENT, "final_url": address("/other"), "redirect_chain": ()}
    )
    result = site({"/": html(links="/copy"), "/other": OTHER, "/copy": merged})
    assert result.final(f"{BASE}/copy") is result.pages[f"{BASE}/other"]
    assert result.followed_inlinks[f"{BASE}/other"] == 1


def test_redirects_in_a_circle_have_no_final_page() -> None:
    chain = (Hop(address("/a"), 301),)
    circle = {
        path: Spec(
            status=301,
            row={"state": UrlState.ALIAS, "proof": Proof.REDIRECT, "final_url": address(to), "redirect_chain": chain},
        )
        for path, to in (("/a", "/b"), ("/b", "/a"))
    }
    assert site({"/": HOME, **circle}).final(f"{BASE}/a") is None
