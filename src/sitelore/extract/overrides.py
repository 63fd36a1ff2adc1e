"""A domain's own selectors, checked before a crawl starts: one that is not CSS would otherwise match nothing, in silence."""

from __future__ import annotations

from sitelore.extract import dom

_PLACE = '": '


def selector_problem(selector: str) -> str:
    """What is wrong with a CSS selector, empty when nothing is."""
    try:
        dom.select(dom.parse("<p>"), selector)
    except ValueError as problem:
        said = str(problem)
        return said.rpartition(_PLACE)[2] if _PLACE in said else said
    return ""
