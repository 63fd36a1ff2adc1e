"""Markup that looks like a fault and is none, and faults in an unusual form."""

from __future__ import annotations

import pytest

from sitelore.audit.findings import merge_findings, rule_cards
from sitelore.audit.shingles import ShingleFile, jaccard, shingles_of, similar_pairs

from .cases import HOME, OTHER
from .sites import BASE, SAFE_HEADERS, Pages, Spec, audit, html, prose


def rules_at_page(page: str | Spec, extra: Pages | None = None) -> set[str]:
    return {finding.rule for finding in audit({"/": HOME, "/other": OTHER, "/page": page, **(extra or {})}).at("/page")}


def json_ld(text: str) -> str:
    return f"<script type=application/ld+json>{text}</script>"


_CRUMBS = '{"@context":"https://schema.org","@type":"BreadcrumbList","itemListElement":[%s]}'
_FAQ = '{"@context":"https://schema.org","@type":"FAQPage","mainEntity":[{"@type":"Question","name":"Why?"%s}]}'


@pytest.mark.parametrize(
    "body",
    [
        "<img src=/a.png aria-hidden=true width=60 height=40>",
        "<span aria-hidden=true><img src=/a.png width=60 height=40></span>",
        "<template><img src=http://cdn.example/a.png></template>",
        "<noscript><iframe src=https://tags.example/ns style='display:none;visibility:hidden'></iframe></noscript>",
        "<iframe src=/frame aria-hidden=true tabindex=-1></iframe>",
        "<video src=/loop.mp4 autoplay muted loop></video>",
        "<table><tr><td scope=col>A<td scope=col>B<tr><td>1<td>2<tr><td>3<td>4</table>",
        "<table><tr><td role=columnheader>A<td role=columnheader>B<tr><td>1<td>2<tr><td>3<td>4</table>",
        "<div role=heading aria-level=2>Part</div><h3>Section</h3>",
        json_ld('//<![CDATA[\n{"@context":"https://schema.org","@type":"WebSite","name":"x"}\n//]]>'),
        json_ld('<!--\n{"@context":"https://schema.org","@type":"WebSite","name":"x"}\n-->'),
        json_ld(_CRUMBS % '{"@type":"ListItem","item":{"@id":"/","name":"Start"}},{"@type":"ListItem","name":"Here"}'),
        json_ld(_FAQ % ',"acceptedAnswer":{"@type":"Answer","text":"So."}'),
    ],
)
def test_no_rule_fires_on_sound_markup(body: str) -> None:
    assert rules_at_page(html(body)) == set()


def test_a_heading_by_its_role_is_the_main_heading() -> None:
    links = "<a href=/>Start of it</a> <a href=/other>Other mills</a>"
    main = f"<div role=heading aria-level=1>How water mills were built</div>{prose(150)}<p>{links}</p>"
    assert rules_at_page(html(main=main)) == set()


def test_a_refresh_for_browsers_without_scripts_is_none() -> None:
    refresh = "<meta http-equiv=refresh content='0; url=/plain'>"
    assert "meta-refresh" not in rules_at_page(html(head=f"<noscript>{refresh}</noscript>"))
    assert "meta-refresh" in rules_at_page(html(head=refresh))


def test_a_poster_over_http_is_mixed_content() -> None:
    captions = "<track kind=captions src=/v.vtt>"
    assert rules_at_page(html(f"<video poster=http://cdn.example/p.png>{captions}</video>")) == {"mixed-passive"}


@pytest.mark.parametrize(
    "missing", [json_ld(_CRUMBS % '{"@type":"ListItem"},{"@type":"ListItem","name":"Here"}'), json_ld(_FAQ % "")]
)
def test_parts_of_structured_data_need_their_properties(missing: str) -> None:
    assert rules_at_page(html(missing)) == {"structured-incomplete"}


@pytest.mark.parametrize("header", ["googlebot: noindex", "noindex", "googlebot: nofollow, noindex"])
def test_a_page_that_is_kept_from_one_large_search_engine_is_reported(header: str) -> None:
    page = Spec(html(), headers=(*SAFE_HEADERS, ("x-robots-tag", header)))
    assert "noindex" in rules_at_page(page)
    assert "noindex" in rules_at_page(html(head="<meta name=googlebot content=noindex>"))


def test_directives_for_another_crawler_do_not_count() -> None:
    page = Spec(html(), headers=(*SAFE_HEADERS, ("x-robots-tag", "otherbot: noindex, nofollow")))
    assert rules_at_page(page) == set()


def test_a_page_about_templates_may_show_their_marks() -> None:
    title = "Using {{ value }} in the templates of mills"
    assert "placeholder-text" not in rules_at_page(html("<pre><code>{{ name }}</code></pre>", title=title))
    assert "placeholder-text" in rules_at_page(html(title=title))


def test_pages_that_name_each_other_as_canonical_are_a_chain() -> None:
    pages = {
        path: html(head=f"<link rel=canonical href={BASE}{other}>", seed=9) for path, other in (("/a", "/b"), ("/b", "/a"))
    }
    assert {finding.url for finding in audit({"/": HOME, "/other": OTHER, **pages}).of("canonical-chain")} == {
        f"{BASE}/a",
        f"{BASE}/b",
    }


def test_a_version_of_the_home_page_may_name_it_as_canonical() -> None:
    same = HOME.replace("</main>", "<p>Version for small screens</p></main>")
    version = same.replace("</head>", f"<link rel=canonical href={BASE}/></head>")
    assert "canonical-to-home" not in {finding.rule for finding in audit({"/": HOME, "/amp": version}).at("/amp")}
    other = html(head=f"<link rel=canonical href={BASE}/>")
    assert "canonical-to-home" in rules_at_page(other)


def test_a_login_page_that_every_page_links_to_may_be_noindex() -> None:
    def site(path: str) -> Pages:
        pages = {f"/p{number}": html(links=f"/ {path}", seed=30 + number) for number in range(6)}
        return {"/": html(links=f"{path} {' '.join(pages)}"), path: html(head="<meta name=robots content=noindex>"), **pages}

    assert not audit(site("/login")).of("noindex-hub")
    assert audit(site("/mills")).of("noindex-hub")


def test_a_wrong_translation_is_reported_once() -> None:
    page = html(head=f"<link rel=alternate hreflang=en href={BASE}/page><link rel=alternate hreflang=de href={BASE}/gone>")
    rules = rules_at_page(page, {"/gone": Spec(status=404)})
    assert "hreflang-to-bad" in rules
    assert "hreflang-no-return" not in rules


def test_shingles_in_a_file_give_the_same_pairs() -> None:
    file = ShingleFile()
    texts = {f"/{number}": f"{prose(200, number // 2)} part {number}" for number in range(10)}
    in_memory = {url: shingles_of(text) for url, text in texts.items()}
    stored = {url: file.store(shingles) for url, shingles in in_memory.items()}
    assert similar_pairs(stored) == similar_pairs(in_memory)
    assert len(similar_pairs(stored)) == 5
    assert jaccard(stored["/0"], in_memory["/0"]) == 1
    assert not file.store(b"")


def test_what_the_whole_site_has_in_common_is_one_group() -> None:
    viewport = "<meta name=viewport content='width=device-width, initial-scale=1'>"
    pages = {f"/{folder}/p{n}": html(seed=n).replace(viewport, "") for folder in "abc" for n in range(4)}
    audited = audit(pages)
    records = merge_findings((), audited.findings, (), False, 0.0)
    [card] = [card for card in rule_cards(audited.site, records) if card.rule.id == "viewport-missing"]
    assert [(group.folder, group.pages) for group in card.templates] == [("site.example/", 12)]
    assert card.findings == ()


@pytest.mark.parametrize(
    "reference",
    [
        "<table><tr><th>Name</th><th>Type</th></tr><tr><td>size</td><td>int</td></tr></table>",
        "<pre>make install\nmake test</pre>",
    ],
)
def test_a_short_page_with_a_table_or_a_listing_is_complete(reference: str) -> None:
    # Folders with pages of very different lengths have no norm.
    pages = {f"/p{n}": html(seed=n, words=60 * n * n) for n in range(2, 12)}
    findings = audit({**pages, "/short": html(words=50, seed=90), "/reference": html(reference, words=50, seed=91)}).findings
    assert [each.url for each in findings if each.rule == "thin-page"] == [f"{BASE}/short"]
