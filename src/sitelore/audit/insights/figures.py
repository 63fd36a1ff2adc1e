"""All insights of a run as plain data, by name. They are stored after each run, so that trends need no computing."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from sitelore.audit.insights import content, links, media, runs
from sitelore.audit.site import Site
from sitelore.model.audit.findings import SearchLog

MAX_ITEMS = 200
"""Items of a list that is stored; `MORE` has the number of those left out."""
MORE = "more"
_RANK_STEPS = 10


def figures_of(site: Site) -> dict[str, Any]:
    """Every insight of a run by its name, as values that JSON can hold."""
    return {name: _bounded(compute(site)) for name, compute in INSIGHTS.items()}


def _internal_rank(site: Site) -> dict[str, Any]:
    pages = links.scaled_ranks(site)
    histogram = [0] * _RANK_STEPS
    for page in pages:
        histogram[min(_RANK_STEPS - 1, int(page.scaled) // _RANK_STEPS)] += 1
    top = [{"url": page.url, "rank": page.rank, "scaled": page.scaled} for page in pages[: links.TOP]]
    return {"pages": len(pages), "histogram": histogram, "top": top, "sections": links.rank_by_section(site)}


def _movement(site: Site) -> dict[str, Any] | None:
    """None without an earlier run."""
    if not site.earlier:
        return None
    before = {url: seen[0] for url, seen in site.earlier.items() if seen[0].is_html}
    return asdict(runs.movement(site, before))


def _unanswered(log: SearchLog | None) -> dict[str, Any] | None:
    """The queries that the search of this site could not answer; None where no searches are recorded."""
    if log is None or not log.searches:
        return None
    return {"searches": log.searches, "queries": log.queries, "unanswered": [each._asdict() for each in log.unanswered]}


def _listed(compute: Callable[[Site], Sequence[Any]], name: str) -> Callable[[Site], dict[str, Any]]:
    return lambda site: {name: [asdict(each) for each in compute(site)]}


INSIGHTS: Mapping[str, Callable[[Site], Any]] = {
    "run_honesty": lambda site: asdict(runs.run_coverage(site)),
    "movement": _movement,
    "internal_rank": _internal_rank,
    "rank_sinks": lambda site: asdict(links.rank_sinks(site)),
    "starved_pages": _listed(links.starved_pages, "pages"),
    "click_depth": links.click_depth,
    "orphans": lambda site: asdict(links.orphans(site)),
    "exact_duplicates": _listed(content.exact_duplicates, "sets"),
    "near_duplicates": _listed(content.near_duplicates, "sets"),
    "thin_pages": _listed(content.thin_pages, "folders"),
    "decay": lambda site: asdict(content.decay(site)),
    "hreflang": _listed(content.hreflang_matrix, "pages"),
    "structured_data": lambda site: asdict(content.structured_coverage(site)),
    "link_health": lambda site: asdict(links.link_health(site)),
    "machine_readiness": lambda site: asdict(content.machine_readiness(site)),
    "media": lambda site: asdict(media.media_savings(site)),
    "topics": lambda site: {"sections": [asdict(each) for each in site.topics.sections()] if site.topics is not None else []},
    "chunk_clusters": lambda site: asdict(site.clusters) if site.clusters is not None else None,
    "unanswered_queries": lambda site: _unanswered(site.searches),
    "inventory": content.inventory,
}
"""The insights by name."""


def _bounded(value: Any) -> Any:
    """The value with at most `MAX_ITEMS` items in each list of a mapping."""
    if isinstance(value, Mapping):
        bounded = {str(name): _bounded(each) for name, each in value.items()}
        lists = {name: each for name, each in value.items() if isinstance(each, list | tuple)}
        more = {str(name): len(each) - MAX_ITEMS for name, each in lists.items() if len(each) > MAX_ITEMS}
        return {**bounded, MORE: more} if more else bounded
    if isinstance(value, list | tuple):
        return [_bounded(each) for each in value[:MAX_ITEMS]]
    return str(value) if isinstance(value, str) else value
