"""Faults that are written into a site without faults: each is found with all its sources, and nothing else."""

from __future__ import annotations

from collections import Counter
from functools import cache

from sitelore.model.states import UrlState

from .cases import many
from .sites import BASE, Audited, Spec, audit, html, redirect, state

PAGES = 40


@cache
def sound_pages() -> dict[str, str]:
    """Forty pages that all link to each other's neighbours and to the start page."""
    pages = many(PAGES, words=200)
    paths = list(pages)
    linked = {
        path: page.replace(
            "</main>",
            f"<p id=end><a href={paths[at - 1]}>Before</a> <a href={paths[(at + 1) % PAGES]}#end>After it</a></p></main>",
        )
        for at, (path, page) in enumerate(pages.items())
    }
    start = html(
        title="Water mills of the north",
        description="All about mills, with every part explained and shown in use.",
        links=" ".join(paths),
        seed=2,
    )
    return {
        "/": start,
        "/other": html(
            title="Wind mills of the south", description="Wind mills, for those who have seen all the water mills.", seed=3
        ),
        **linked,
    }


@cache
def seeded() -> Audited:
    pages: dict[str, str | Spec] = dict(sound_pages())

    def add(number: int, markup: str) -> None:
        path = f"/many/p{number}"
        pages[path] = str(pages[path]).replace("</main>", f"<p>{markup}</p></main>")

    for number in range(20):
        add(number, f"<a href=/lost/{number % 4}>Broken number {number}</a>")
    for number in range(4):
        pages[f"/lost/{number}"] = Spec(status=404)
    for number in range(10):
        pages[f"/moved/{number}"] = redirect("/other", f"/moved/{number}", f"/step/{number}", status=302)
        add(number, f"<a href=/moved/{number}>Moved number {number}</a>")
    for number in range(5):
        pages[f"/loop/{number}"] = state(
            UrlState.FAILED, 301, error=f"redirect_loop: the redirect leads back to /loop/{number}"
        )
        add(number + 10, f"<a href=/loop/{number}>Loop number {number}</a>")
    for number in range(20, 35):
        path = f"/many/p{number}"
        pages[path] = str(pages[path]).replace(
            f"<title>Part {number} of a large mill</title>", "<title>Parts of a large mill</title>"
        )
    for number in range(10):
        pages[f"/alone/{number}"] = html(
            title=f"Forgotten mill number {number}",
            description=f"What became of the forgotten mill number {number} by the river.",
            links="/ /other",
            seed=300 + number,
        )
    for number in range(30):
        add(number, f"<img src=/images/{number}.png width=600 height=400>")
    for number in range(5):
        add(number + 30, f"<a href=/other#part-{number}>Part {number} of it</a>")
    return audit(pages)


def test_a_site_without_faults_has_no_findings() -> None:
    assert audit(sound_pages()).findings == []


def test_every_seeded_fault_is_found_and_nothing_else() -> None:
    assert Counter(each.rule for each in seeded().findings) == {
        "page-gone": 4,
        "broken-internal-link": 20 + 5,
        "redirect-chain": 10,
        "redirect-loop": 5,
        "title-duplicate": 15,
        "orphan-page": 10,
        "image-alt-missing": 30,
        "broken-anchor": 5,
    }


def test_a_page_that_is_gone_names_every_page_that_links_to_it() -> None:
    for finding in seeded().of("page-gone"):
        number = int(finding.url.rpartition("/")[2])
        sources = {(each["page"], each["text"]) for each in finding.evidence["sources"]}
        assert sources == {(f"{BASE}/many/p{at}", f"Broken number {at}") for at in range(number, 20, 4)}


def test_a_broken_link_names_its_target_and_text() -> None:
    links = {(each.url, each.evidence["target"], each.evidence["text"]) for each in seeded().of("broken-internal-link")}
    broken = {(f"{BASE}/many/p{at}", f"{BASE}/lost/{at % 4}", f"Broken number {at}") for at in range(20)}
    loops = {(f"{BASE}/many/p{at + 10}", f"{BASE}/loop/{at}", f"Loop number {at}") for at in range(5)}
    assert links == broken | loops


def test_a_chain_names_its_steps_its_end_and_its_sources() -> None:
    for finding in seeded().of("redirect-chain"):
        number = finding.url.rpartition("/")[2]
        assert finding.evidence["hops"] == [f"302 {BASE}/moved/{number}", f"302 {BASE}/step/{number}"]
        assert finding.evidence["final"] == f"{BASE}/other"
        assert [each["page"] for each in finding.evidence["sources"]] == [f"{BASE}/many/p{number}"]
