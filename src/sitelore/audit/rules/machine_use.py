"""Rules about use by machines: prompt injection of language models (LLMs), and the state of the search index."""

from __future__ import annotations

from collections.abc import Iterator

from sitelore.audit.rule import Group, Hit, Limits, Needs, RuleTable, listed
from sitelore.audit.site import Site
from sitelore.model.audit.findings import Severity

TABLE = RuleTable()

_SEVERITIES = {"hidden": Severity.ERROR, "code": Severity.NOTICE, "quote": Severity.NOTICE}


@TABLE.site(
    "machine-instructions",
    Group.CONTENT,
    Severity.WARNING,
    (Needs.DOCUMENT, Needs.FACTS),
    identity=("kind", "text"),
    title="Text gives orders to language models",
    explanation=(
        "The page contains text that reads like an instruction to a language model. Hidden from readers, it is an attack."
    ),
    fix="Remove the text, and find out how it came there.",
)
def _machine_instructions(site: Site, _: Limits) -> Iterator[Hit]:
    for each in site.instructions:
        page = site.pages.get(each.url)
        if page is not None and page.is_kept:
            yield Hit({"kind": each.rule, "place": each.place, "text": each.text[:200]}, each.url, _SEVERITIES.get(each.place))


@TABLE.site(
    "index-holds-noindex",
    Group.MACHINES,
    Severity.WARNING,
    (Needs.INDEX,),
    title="Search index holds a page that asks not to be kept",
    explanation="The page is in our search index, but the site now says noindex, or noarchive: no copies of its text.",
    fix="Remove it from the index, or decide to keep it.",
)
def _index_holds_noindex(site: Site, _: Limits) -> Iterator[Hit]:
    for each in site.indexed:
        if each.directive and each.chunks:
            severity = Severity.NOTICE if each.directive == "noarchive" else None
            yield Hit({"chunks": each.chunks, "directive": each.directive}, each.url, severity)


@TABLE.site(
    "index-holds-gone",
    Group.MACHINES,
    Severity.NOTICE,
    (Needs.INDEX,),
    thresholds={"min_runs": 2},
    title="Search index holds a page that is gone",
    explanation=(
        "The page was gone in two runs or more and is still in our search index, because a deletion waits for approval."
    ),
    fix="Approve the deletion.",
)
def _index_holds_gone(site: Site, limits: Limits) -> Iterator[Hit]:
    for each in site.indexed:
        if each.chunks and each.gone_runs >= limits["min_runs"]:
            yield Hit({"runs": each.gone_runs, "held_since": each.held_since, "evidence": each.evidence}, each.url)


@TABLE.site(
    "chunk-repeated",
    Group.MACHINES,
    Severity.NOTICE,
    (Needs.DOCUMENT, Needs.GRAPH),
    identity=("text",),
    thresholds={"min_words": 40, "min_pages": 5},
    title="Passage is repeated on many pages",
    explanation="Five pages or more contain this passage. Search returns it several times instead of different answers.",
    fix="Keep it on one page and link to it.",
)
def _chunk_repeated(site: Site, limits: Limits) -> Iterator[Hit]:
    for each in site.repeated_chunks:
        if each.words >= limits["min_words"] and len(each.urls) >= limits["min_pages"]:
            yield Hit(
                {"text": each.text[:200], "words": each.words, "count": len(each.urls), **listed("pages", each.urls)},
                each.urls[0],
            )
