"""Rules about headings."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from sitelore.audit.page import AuditPage
from sitelore.audit.rule import Group, Hit, Limits, RuleTable, listed
from sitelore.model.audit import Severity
from sitelore.model.audit_facts import HeadingFact

TABLE = RuleTable()


def main_headings(page: AuditPage) -> list[HeadingFact]:
    """The headings of the main content: those in `main` or `article`, or all where the page has neither."""
    inside = [each for each in page.facts.headings if each.in_main]
    return inside or list(page.facts.headings)


@TABLE.page(
    "h1-missing",
    Group.HEADINGS,
    Severity.WARNING,
    thresholds={"min_words": 100},
    title="Page without a main heading",
    explanation="No h1 with a text tells readers, screen readers and search engines what the page is about.",
    fix="Make the headline of the page its h1.",
)
def _h1_missing(page: AuditPage, limits: Limits) -> Iterator[Hit]:
    headings = [each for each in page.facts.headings if each.text]
    if page.word_count >= limits["min_words"] and not any(each.level == 1 for each in headings):
        yield Hit({"first_heading": headings[0].text if headings else "", "title": page.facts.title, "words": page.word_count})


@TABLE.page(
    "h1-repeated",
    Group.HEADINGS,
    Severity.NOTICE,
    title="Several main headings",
    explanation="The main content has more than one h1 with different texts, so its subject is not clear.",
    fix="Keep one h1 and make the others h2.",
)
def _h1_repeated(page: AuditPage, _: Limits) -> Iterator[Hit]:
    texts = dict.fromkeys(each.text.rstrip("\u00b6# ") for each in main_headings(page) if each.level == 1 and each.text)
    if len(texts) > 1:
        yield Hit(listed("headings", texts))


@TABLE.page(
    "heading-skip",
    Group.HEADINGS,
    Severity.NOTICE,
    identity=("heading",),
    title="Heading skips a level",
    explanation="A heading is more than one level below the one before it (an h4 after an h2), so the outline has a gap.",
    fix="Use the next level, and style sheets for its size.",
)
def _heading_skip(page: AuditPage, _: Limits) -> Iterator[Hit]:
    headings = main_headings(page)
    for before, heading in pairwise(headings):
        if heading.level > before.level + 1:
            after = f"h{before.level} {before.text}"
            yield Hit({"heading": heading.text, "level": heading.level, "after": after})


@TABLE.page(
    "heading-empty",
    Group.HEADINGS,
    Severity.NOTICE,
    title="Empty heading",
    explanation="A heading has neither text nor an image with one. Screen readers announce a heading and then nothing.",
    fix="Write a text into it, or remove it.",
)
def _heading_empty(page: AuditPage, _: Limits) -> Iterator[Hit]:
    levels = [f"h{each.level}" for each in page.facts.headings if not each.text]
    if levels:
        yield Hit({"count": len(levels), **listed("levels", levels)})
