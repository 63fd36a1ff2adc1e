"""Rules about accessibility: alternative texts, labels, captions, landmarks."""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import unquote, urlsplit

from sitelore.audit.page import AuditPage
from sitelore.audit.rule import Group, Hit, Limits, Needs, RuleTable
from sitelore.model.audit.facts import Alt, LinkKind
from sitelore.model.audit.findings import Severity

TABLE = RuleTable()

_FILE_NAME = re.compile(r"[\w%.-]+\.(?:jpe?g|png|gif|webp|avif|svg|bmp)", re.IGNORECASE)
_TINY = frozenset({"0", "1", "0px", "1px"})


@TABLE.page(
    "image-alt-missing",
    Group.ACCESS,
    Severity.WARNING,
    identity=("src",),
    title="Image without an alt text",
    explanation="The image has no alt attribute. Screen readers read out its file name. An empty alt is right for decoration.",
    fix="Describe the image in alt, or write alt=\u201c\u201d for decoration.",
)
def _image_alt_missing(page: AuditPage, _: Limits) -> Iterator[Hit]:
    for image in page.facts.images:
        is_pixel = image.width in _TINY or image.height in _TINY
        if image.alt is Alt.ABSENT and not image.is_presentation and not is_pixel:
            yield Hit({"src": image.src})


@TABLE.page(
    "image-alt-poor",
    Group.ACCESS,
    Severity.NOTICE,
    needs=(Needs.FACTS, Needs.DOCUMENT),
    identity=("src",),
    thresholds={"max_chars": 125},
    title="Alt text does not help",
    explanation="The alt text is a file name or very long, or it is empty on an image that is all there is in a link.",
    fix="Write in a few words what the image shows, or where its link leads.",
)
def _image_alt_poor(page: AuditPage, limits: Limits) -> Iterator[Hit]:
    for each in page.content.media:
        alt, url = str(each.get("alt") or "").strip(), str(each.get("url") or "")
        name = unquote(urlsplit(url).path.rpartition("/")[2]).lower()
        is_name = bool(alt) and (_FILE_NAME.fullmatch(alt) is not None or alt.lower() == name)
        if each.get("type") == "image" and (is_name or len(alt) > limits["max_chars"]):
            yield Hit({"src": url, "alt": alt[:200], "problem": "file name" if is_name else "long"})
    for image in page.facts.images:
        if image.is_only_in_link and image.alt is Alt.EMPTY and _has_unnamed_link(page):
            yield Hit({"src": image.src, "alt": "", "problem": "empty in a link"})


def _has_unnamed_link(page: AuditPage) -> bool:
    return any(not link.name and link.kind is LinkKind.PAGE for link in page.facts.links)


@TABLE.page(
    "video-without-captions",
    Group.ACCESS,
    Severity.NOTICE,
    identity=("src",),
    title="Video without captions",
    explanation="The video has no track with captions or subtitles for people who do not hear it.",
    fix="Add a track element with captions.",
)
def _video_without_captions(page: AuditPage, _: Limits) -> Iterator[Hit]:
    for video in page.facts.videos:
        if not video.has_captions:
            yield Hit({"src": video.src})


@TABLE.page(
    "frame-without-title",
    Group.ACCESS,
    Severity.NOTICE,
    identity=("src",),
    title="Frame without a title",
    explanation="The iframe has no title that tells users of screen readers what it contains.",
    fix="Add a title attribute to the iframe.",
)
def _frame_without_title(page: AuditPage, _: Limits) -> Iterator[Hit]:
    for frame in page.facts.iframes:
        if not frame.title:
            yield Hit({"src": frame.src})


@TABLE.page(
    "control-without-label",
    Group.ACCESS,
    Severity.WARNING,
    identity=("element", "name"),
    title="Form field or button without a label",
    explanation="Nothing tells users of screen readers what the field or button is for. A placeholder is not a label.",
    fix="Add a label element or aria-label.",
)
def _control_without_label(page: AuditPage, _: Limits) -> Iterator[Hit]:
    for control in page.facts.controls:
        yield Hit({"element": control.element, "type": control.type, "name": control.name, "placeholder": control.placeholder})


@TABLE.page(
    "id-conflict",
    Group.ACCESS,
    Severity.WARNING,
    identity=("id", "attribute"),
    title="Reference to a missing or repeated id",
    explanation=(
        "A label or aria attribute names an id that no element has, or several have, so that it has no effect or a wrong one."
    ),
    fix="Give every element an id of its own, and correct the reference.",
)
def _id_conflict(page: AuditPage, _: Limits) -> Iterator[Hit]:
    for reference in page.facts.id_references:
        # A script may add the element that a button controls.
        if reference.attribute != "aria-controls" or reference.elements > 1:
            yield Hit({"id": reference.id, "attribute": reference.attribute, "elements": reference.elements})
    duplicates = set(page.facts.duplicate_ids)
    for link in page.facts.links:
        fragment = unquote(link.href.partition("#")[2])
        if link.kind is LinkKind.SAME_PAGE and fragment in duplicates:
            yield Hit({"id": fragment, "attribute": "href", "elements": 2})


@TABLE.page(
    "main-missing",
    Group.ACCESS,
    Severity.NOTICE,
    title="Main content is not marked",
    explanation="The page has no main element, or more than one, so that users of screen readers cannot jump to its content.",
    fix="Put the content of the page into one main element.",
)
def _main_missing(page: AuditPage, _: Limits) -> Iterator[Hit]:
    if page.facts.mains != 1:
        yield Hit({"mains": page.facts.mains})


@TABLE.page(
    "table-without-headers",
    Group.ACCESS,
    Severity.NOTICE,
    identity=("first_row",),
    thresholds={"min_rows": 3, "min_columns": 2},
    title="Table without header cells",
    explanation="A table of three rows or more has no th cells, so that screen readers cannot say what a value belongs to.",
    fix="Make the cells of the first row or column th.",
)
def _table_without_headers(page: AuditPage, limits: Limits) -> Iterator[Hit]:
    for table in page.facts.tables:
        is_layout = table.first_row.startswith("|")  # a picture beside a text
        if table.rows >= limits["min_rows"] and table.columns >= limits["min_columns"] and not is_layout:
            yield Hit({"rows": table.rows, "columns": table.columns, "first_row": table.first_row})
