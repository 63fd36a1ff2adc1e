"""Rules about structured data."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from sitelore.audit.page import AuditPage
from sitelore.audit.rule import Group, Hit, Limits, Needs, RuleTable, listed
from sitelore.audit.site import Site
from sitelore.model.audit.findings import Severity

TABLE = RuleTable()

Required = tuple[tuple[str, ...], ...]
"""Groups of properties of which one each must be there."""

_ARTICLE: Required = (("headline", "name"), ("datePublished", "dateModified", "dateCreated"))
_REQUIRED: dict[str, Required] = {
    "Product": (("name",), ("offers", "review", "aggregateRating")),
    "Article": _ARTICLE,
    "NewsArticle": _ARTICLE,
    "BlogPosting": _ARTICLE,
    "TechArticle": _ARTICLE,
    "BreadcrumbList": (("itemListElement",),),
    "Event": (("name",), ("startDate",), ("location",)),
    "FAQPage": (("mainEntity",),),
    "Recipe": (("name",), ("image",)),
    "JobPosting": (
        ("title",),
        ("description",),
        ("datePosted",),
        ("hiringOrganization",),
        ("jobLocation", "applicantLocationRequirements"),
    ),
    "VideoObject": (("name",), ("thumbnailUrl", "thumbnail"), ("uploadDate",)),
}
_AVAILABILITY = {"outofstock": "OutOfStock", "soldout": "SoldOut", "instock": "InStock", "discontinued": "Discontinued"}
_NOT_AVAILABLE = re.compile(
    r"\b(?:sold out|out of stock|ausverkauft|nicht verf\u00fcgbar|nicht lieferbar|\u00e9puis\u00e9|agotado|esaurito)\b",
    re.IGNORECASE,
)
_DIGITS = re.compile(r"[^\d]")


def _entities(page: AuditPage) -> Iterator[Mapping[str, Any]]:
    """Yield the entities of a page other than its preview for social networks."""
    return (each for each in page.content.structured if each.get("source") != "opengraph")


@TABLE.page(
    "jsonld-invalid",
    Group.STRUCTURED,
    Severity.ERROR,
    needs=(Needs.FACTS, Needs.DOCUMENT),
    identity=("problem", "place"),
    title="Structured data cannot be read",
    explanation=(
        "A JSON-LD script is not valid JSON or has no @type. Search engines ignore it; a repaired reading is kept "
        "where possible."
    ),
    fix="Correct the syntax, and name the type.",
)
def _jsonld_invalid(page: AuditPage, _: Limits) -> Iterator[Hit]:
    repaired = [str(each.get("at", "")) for each in _entities(page) if each.get("source") == "json-ld" and each.get("repaired")]
    for at, message in enumerate(page.facts.json_ld_errors):
        if message != "The script is empty":
            yield Hit({"problem": message, "place": str(at), "was_repaired": bool(repaired)})
    for each in _entities(page):
        properties = each.get("properties") or {}
        if each.get("source") == "json-ld" and not each.get("types") and properties and "@graph" not in properties:
            yield Hit({"problem": "no @type", "place": str(each.get("at", "")), **listed("properties", sorted(properties))})


def missing_properties(entity: Mapping[str, Any]) -> tuple[str, list[str]]:
    """The type of an entity that requires properties, and those it lacks."""
    properties = entity.get("properties") or {}
    for name in entity.get("types", ()):
        required = _REQUIRED.get(name)
        if required is not None:
            missing = [" or ".join(group) for group in required if not any(properties.get(each) for each in group)]
            return name, missing or list(_missing_in_parts(name, properties))
    return "", []


def _missing_in_parts(name: str, properties: Mapping[str, Any]) -> Iterator[str]:
    """Yield what the steps of a breadcrumb and the questions of a FAQ lack; the last step needs no address."""
    if name == "BreadcrumbList":
        steps = _parts(properties["itemListElement"])
        for number, step in enumerate(steps, 1):
            own = step.get("properties") or {}
            item = own.get("item")
            named = item.get("properties") or {} if isinstance(item, Mapping) else {}
            if not own.get("name") and not named.get("name"):
                yield f"name of step {number}"
            if not item and number < len(steps):
                yield f"item of step {number}"
    elif name == "FAQPage":
        for number, question in enumerate(_parts(properties["mainEntity"]), 1):
            own = question.get("properties") or {}
            yield from (f"{each} of question {number}" for each in ("name", "acceptedAnswer") if not own.get(each))


def _parts(value: Any) -> list[Mapping[str, Any]]:
    """The entities of a property that holds one or several."""
    values = value if isinstance(value, list) else [value]
    return [each for each in values if isinstance(each, Mapping)]


@TABLE.page(
    "structured-incomplete",
    Group.STRUCTURED,
    Severity.WARNING,
    needs=(Needs.DOCUMENT,),
    identity=("type", "missing"),
    title="Structured data is incomplete",
    explanation="Properties that search engines require for this type are missing, so the page gets no rich result.",
    fix="Add the missing properties.",
)
def _structured_incomplete(page: AuditPage, _: Limits) -> Iterator[Hit]:
    for entity in _entities(page):
        name, missing = missing_properties(entity)
        if missing:
            yield Hit({"type": name, "missing": missing, "source": entity.get("source"), "place": entity.get("at")})


def _words(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.casefold()))


def _stated(entity: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the values of a product or event that a reader should find in the text."""
    properties = entity.get("properties") or {}
    if isinstance(name := properties.get("name"), str):
        yield "name", name
    offers = properties.get("offers")
    for offer in offers if isinstance(offers, list) else [offers]:
        values = offer.get("properties", {}) if isinstance(offer, Mapping) else {}
        if isinstance(price := values.get("price"), int | float | str):
            yield "price", str(price)
        if isinstance(stock := values.get("availability"), str):
            yield "availability", stock


@TABLE.page(
    "structured-disagrees",
    Group.STRUCTURED,
    Severity.WARNING,
    needs=(Needs.DOCUMENT,),
    identity=("type", "property"),
    title="Structured data says something else than the page",
    explanation=(
        "The name, price or availability in the structured data is not what readers see. Search engines may penalise this."
    ),
    fix="Take both from one source.",
)
def _structured_disagrees(page: AuditPage, _: Limits) -> Iterator[Hit]:
    text, title = page.content.text, f"{page.facts.title} {page.content.h1}"
    entities = [entity for entity in _entities(page) if {"Product", "Event"} & set(entity.get("types", ()))]
    if not text or not entities:
        return
    words, digits = _words(f"{title} {text}"), _DIGITS.sub("", text)
    for entity in entities:
        for name, value in _stated(entity):
            if not _is_shown(name, value, words, digits, text):
                yield Hit({"type": entity["types"][0], "property": name, "value": value[:100]})


def _is_shown(name: str, value: str, words: str, digits: str, text: str) -> bool:
    if name == "name":
        return _words(value) in words
    if name == "price":
        whole = value.partition(".")[0]
        cents = _DIGITS.sub("", value.partition(".")[2]).rstrip("0")
        return not whole.isdecimal() or whole + cents in digits
    is_gone = _AVAILABILITY.get(value.lower().rpartition("/")[2]) in {"OutOfStock", "SoldOut", "Discontinued"}
    return is_gone or _NOT_AVAILABLE.search(text) is None


@TABLE.site(
    "structured-outlier",
    Group.STRUCTURED,
    Severity.NOTICE,
    (Needs.DOCUMENT, Needs.GRAPH),
    identity=("type",),
    thresholds={"min_pages": 8, "min_share": 0.7},
    title="Structured data is missing on this page",
    explanation="Most pages of the folder carry this type of structured data, this one does not.",
    fix="Add it, by the template of the other pages.",
)
def _structured_outlier(site: Site, limits: Limits) -> Iterator[Hit]:
    counts = Counter((page.group, name) for page in site.indexable for name in page.types)
    usual: dict[str, list[tuple[str, float]]] = {}
    for (group, name), count in counts.items():
        size = site.group_sizes[group]
        if size >= limits["min_pages"] and limits["min_share"] * size <= count < size:
            usual.setdefault(group, []).append((name, count / size))
    for page in site.indexable:
        is_index = page is site.start or page.url.path.endswith(("/", "/index.html"))
        for name, share in () if is_index else usual.get(page.group, ()):
            if name not in page.types:
                yield Hit({"type": name, "share": round(share, 2), "folder": page.group}, page.url)
