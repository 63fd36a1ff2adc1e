"""Memory and CPU of an audit of a large site: 50,000 pages with 100 links each, all rules about the site and all insights.

    python -m bench.audit [PAGES LINKS_OF_A_PAGE]

The pages are summaries as `summarise` makes them of pages with 300 words; reading the store is not part of it.
"""

from __future__ import annotations

import random
import resource
import sys
import time

from sitelore.audit.checks import check_site
from sitelore.audit.graph import SiteGraph
from sitelore.audit.insights.figures import INSIGHTS
from sitelore.audit.shingles import shingles_of
from sitelore.audit.site import PageSummary, Site, folder_of
from sitelore.model.audit.findings import Indexability
from sitelore.model.frontier import Source
from sitelore.model.states import UrlState
from sitelore.model.url import Url

_STEMS = ("water", "mill", "river", "stone", "wheel", "grain", "bread", "farm", "road", "timber")
WORDS = [f"{stem}{number}" for stem in _STEMS for number in range(200)]
MENU = 60
"""Links that every page has."""


def summary(number: int, chance: random.Random) -> PageSummary:
    """A page of the site."""
    url = Url.trusted(f"https://site.example/{number % 200}/page-{number}.html")
    text = " ".join(chance.choices(WORDS, k=300))
    return PageSummary(
        url,
        UrlState.VISITED,
        status=200,
        is_kept=True,
        is_html=True,
        is_redirect=False,
        indexability=Indexability.INDEXABLE,
        source=Source.LINK if number else Source.SEED,
        depth=1,
        group=sys.intern(folder_of(url)),
        title=f"Page {number} about {text[:20]}",
        h1=text[:30],
        description=text[:90],
        lang="en",
        word_count=300,
        content_hash=f"{chance.getrandbits(128):032x}",
        elapsed_s=0.1,
        body_bytes=9_000,
        text_bytes=1_900,
        html_bytes=20_000,
        fetched_at=1.8e9,
        shingles=shingles_of(text),
    )


def build(pages: int, links: int) -> Site:
    """A site of this size."""
    chance = random.Random(1)
    summaries = {str(page.url): page for page in (summary(number, chance) for number in range(pages))}
    urls = list(summaries)
    graph = SiteGraph()
    for number, url in enumerate(urls):
        for position in range(links):
            at = position * 7 if position < MENU else chance.randrange(pages)
            graph.add_link(url, urls[at % pages], position, f"text {at % 5_000}")
        if not number % 10_000:
            report(f"{number:,} pages built")
    return Site(summaries, graph, 1.8e9)


def report(name: str) -> None:
    """Print the CPU time and the highest memory so far."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{time.process_time():8.1f} s CPU  {peak:7.0f} MB  {name}", flush=True)


def main() -> None:
    """Build, check, compute."""
    pages, links = map(int, sys.argv[1:3]) if len(sys.argv) > 2 else (50_000, 100)
    report("start")
    site = build(pages, links)
    report(f"built: {len(site.graph):,} links")
    began = time.process_time()
    findings = check_site(site)
    report(f"{len(findings):,} findings of the rules about the site")
    for name, compute in INSIGHTS.items():
        compute(site)
        report(name)
    print(f"rules and insights: {time.process_time() - began:.1f} s CPU")


if __name__ == "__main__":
    main()
