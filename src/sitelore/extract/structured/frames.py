"""What is most often asked of structured data, laid out flat: a product's price, a page's breadcrumbs, an event's dates.

A frame is a view of an entity, with the same fields whatever its page did: names and texts as text, several of them as a
list, prices as numbers with their currency, addresses absolute, lists in their order. A field that the page does not fill
is not there. The entity itself keeps everything.
"""

from __future__ import annotations

from typing import Any

from sitelore.extract.structured.entities import Entity, value_of
from sitelore.extract.structured.frame_kinds import INNER, OPENGRAPH, kind_of
from sitelore.extract.structured.frame_parts import (
    OFFER,
    PLACE,
    RATING,
    REVIEW,
    WHERE,
    calories,
    contacts,
    crumbs,
    geo,
    hours,
    listed,
    offers,
    own_question,
    place,
    places,
    postal,
    questions,
    rating,
    reviews,
    salary,
    search_address,
    steps,
)  # fmt: skip
from sitelore.extract.structured.frame_values import (
    Field,
    Frame,
    Properties,
    address,
    addresses,
    figure,
    plain,
    text,
    texts,
    truth,
    words,
)  # fmt: skip

_THING: tuple[Field, ...] = (
    plain("name", "name", "headline", "title"),
    plain("description", "description", "abstract"),
    plain("url", by=address),
    plain("image", "image", "photo", "thumbnailUrl", "primaryImageOfPage", by=addresses),
)
_JUDGED: tuple[Field, ...] = (
    plain("rating", "aggregateRating", by=rating),
    plain("reviews", "review", "reviews", by=reviews),
)
_WORK: tuple[Field, ...] = (
    *_THING,
    plain("authors", "author", "creator", by=texts),
    plain("publisher"),
    plain("published", "datePublished", "dateCreated"),
    plain("modified", "dateModified"),
    plain("language", "inLanguage"),
    plain("keywords", by=words),
)
_ORGANIZATION: tuple[Field, ...] = (
    *_THING,
    plain("legal_name", "legalName"),
    plain("logo", by=address),
    plain("email"),
    plain("telephone"),
    plain("address", by=postal),
    plain("founded", "foundingDate"),
    plain("same_as", "sameAs", by=addresses),
    plain("contacts", "contactPoint", "contactPoints", by=contacts),
    *_JUDGED,
)
_OPEN = ("openingHours", "openingHoursSpecification")


FRAMES: dict[str, Frame] = {
    "Product": Frame(
        *_THING,
        plain("brand", "brand", "manufacturer"),
        plain("sku"),
        plain("gtin", "gtin", "gtin13", "gtin14", "gtin12", "gtin8", "isbn"),
        plain("mpn"),
        plain("model"),
        plain("category", by=texts),
        plain("color", by=texts),
        plain("size", by=texts),
        plain("material", by=texts),
        plain("offers", by=offers),
        *_JUDGED,
    ),
    "Offer": OFFER,
    "Event": Frame(
        *_THING,
        plain("start", "startDate"),
        plain("end", "endDate"),
        plain("doors", "doorTime"),
        plain("status", "eventStatus"),
        plain("attendance", "eventAttendanceMode"),
        plain("location", by=place),
        plain("organizer", by=texts),
        plain("performers", "performer", "performers", "actor", by=texts),
        plain("offers", by=offers),
        *_JUDGED,
    ),
    "Article": Frame(
        *_WORK,
        plain("section", "articleSection", by=texts),
        plain("word_count", "wordCount", by=figure),
        plain("comments", "commentCount", by=figure),
        plain("free", "isAccessibleForFree", by=truth),
    ),
    "BreadcrumbList": Frame(plain("items", "itemListElement", by=listed)),
    "ItemList": Frame(*_THING, plain("items", "itemListElement", by=listed)),
    "FAQPage": Frame(*_THING, plain("questions", "mainEntity", "hasPart", by=questions)),
    "QAPage": Frame(*_THING, plain("questions", "mainEntity", "hasPart", by=questions)),
    "Question": Frame(plain("questions", "name", "text", "acceptedAnswer", "suggestedAnswer", by=own_question)),
    "Organization": Frame(*_ORGANIZATION),
    "LocalBusiness": Frame(
        *_ORGANIZATION,
        plain("geo", *WHERE, by=geo),
        plain("opening_hours", *_OPEN, by=hours),
        plain("price_range", "priceRange"),
        plain("menu", "hasMenu", "menu", by=address),
        plain("cuisine", "servesCuisine", by=texts),
        plain("map", "hasMap", "map", by=address),
    ),
    "Place": Frame(*_THING, *PLACE.fields[1:], plain("opening_hours", *_OPEN, by=hours), *_JUDGED),
    "Person": Frame(
        *_THING,
        plain("given_name", "givenName"),
        plain("family_name", "familyName"),
        plain("job_title", "jobTitle"),
        plain("works_for", "worksFor", "affiliation", by=texts),
        plain("email"),
        plain("telephone"),
        plain("address", by=postal),
        plain("born", "birthDate"),
        plain("same_as", "sameAs", by=addresses),
    ),
    "Recipe": Frame(
        *_WORK,
        plain("prep_time", "prepTime"),
        plain("cook_time", "cookTime"),
        plain("total_time", "totalTime"),
        plain("yield", "recipeYield", "yield"),
        plain("category", "recipeCategory", by=texts),
        plain("cuisine", "recipeCuisine", by=texts),
        plain("ingredients", "recipeIngredient", "ingredients", by=texts),
        plain("steps", "recipeInstructions", by=steps),
        plain("calories", "nutrition", by=calories),
        *_JUDGED,
    ),
    "HowTo": Frame(
        *_WORK,
        plain("total_time", "totalTime", "performTime"),
        plain("supplies", "supply", by=texts),
        plain("tools", "tool", by=texts),
        plain("steps", "step", "steps", "itemListElement", by=steps),
        plain("cost", "estimatedCost"),
    ),
    "JobPosting": Frame(
        plain("title", "title", "name"),
        plain("description"),
        plain("company", "hiringOrganization"),
        plain("company_url", "hiringOrganization", by=address),
        plain("locations", "jobLocation", by=places),
        plain("location_type", "jobLocationType"),
        plain("applicants_from", "applicantLocationRequirements", by=texts),
        plain("employment", "employmentType", by=texts),
        plain("salary", "baseSalary", "estimatedSalary", by=salary),
        plain("industry", by=texts),
        plain("posted", "datePosted"),
        plain("valid_until", "validThrough"),
        plain("identifier"),
        plain("url", by=address),
    ),
    "VideoObject": Frame(
        *_THING,
        plain("thumbnail", "thumbnailUrl", "thumbnail", by=addresses),
        plain("uploaded", "uploadDate", "datePublished"),
        plain("duration"),
        plain("content_url", "contentUrl", by=address),
        plain("embed_url", "embedUrl", by=address),
        plain("transcript"),
    ),
    "Review": REVIEW,
    "Rating": Frame(plain("item", "itemReviewed"), *RATING.fields),
    "WebSite": Frame(
        *_THING,
        plain("alternate_names", "alternateName", by=texts),
        plain("publisher"),
        plain("language", "inLanguage"),
        plain("search", "potentialAction", by=search_address),
    ),
    "WebPage": Frame(*_WORK, plain("breadcrumbs", "breadcrumb", by=crumbs)),
    "SoftwareApplication": Frame(
        *_WORK,
        plain("category", "applicationCategory", by=texts),
        plain("operating_system", "operatingSystem", by=texts),
        plain("version", "softwareVersion"),
        plain("download_url", "downloadUrl", "installUrl", by=address),
        plain("offers", by=offers),
        *_JUDGED,
    ),
    "Book": Frame(
        *_WORK,
        plain("isbn"),
        plain("pages", "numberOfPages", by=figure),
        plain("edition", "bookEdition"),
        plain("offers", by=offers),
        *_JUDGED,
    ),
    "Movie": Frame(
        *_WORK,
        plain("duration"),
        plain("directors", "director", by=texts),
        plain("actors", "actor", by=texts),
        plain("genres", "genre", by=texts),
        *_JUDGED,
    ),
    "Music": Frame(
        *_WORK,
        plain("artists", "byArtist", by=texts),
        plain("tracks", "track", "tracks", by=texts),
        plain("duration"),
        plain("genres", "genre", by=texts),
    ),
    "Course": Frame(*_WORK, plain("provider"), plain("code", "courseCode"), plain("offers", by=offers), *_JUDGED),
    "Dataset": Frame(
        *_WORK,
        plain("license", by=address),
        plain("downloads", "distribution", by=addresses),
        plain("measured", "variableMeasured", by=texts),
    ),
    "Service": Frame(
        *_THING,
        plain("provider"),
        plain("service", "serviceType"),
        plain("area", "areaServed", by=texts),
        plain("offers", by=offers),
        *_JUDGED,
    ),
}

_SHARED = Frame(
    plain("name", "title", "twitter:title"),
    plain("description", "description", "twitter:description"),
    plain("url", by=address),
    plain("image", "image", "twitter:image", "twitter:image:src", by=addresses),
    plain("video", by=addresses),
    plain("publisher", "site_name"),
    plain("language", "locale"),
    plain("authors", "article:author", "book:author", by=texts),
    plain("published", "article:published_time", "book:release_date", "video:release_date"),
    plain("modified", "article:modified_time", "updated_time"),
    plain("section", "article:section", by=texts),
    plain("keywords", "article:tag", "book:tag", "video:tag", by=words),
    plain("brand", "product:brand", "brand"),
    plain("sku", "product:retailer_item_id", "product:sku"),
)


def _availability(properties: Properties, sources: tuple[str, ...]) -> Any:
    return value_of("availability", text(properties, sources), "")


_SHARED_OFFER = Frame(
    plain("price", "product:price:amount", "price:amount", by=figure),
    plain("currency", "product:price:currency", "price:currency"),
    plain("availability", "product:availability", "availability", by=_availability),
    plain("condition", "product:condition"),
)


def frame_of(found: Entity, *, is_root: bool) -> dict[str, Any] | None:
    """The frame of an entity, None when it is of no kind that has one, or part of another's frame."""
    if found.get("source") == "opengraph":
        return _of_opengraph(found)
    kind = kind_of(tuple(found["types"]))
    if not kind or not (is_root or kind in INNER):
        return None
    return {"kind": kind, **FRAMES[kind].read(found["properties"])}


def _of_opengraph(found: Entity) -> dict[str, Any]:
    """What a page presents itself as, in the fields that other frames have."""
    properties = found["properties"]
    said = found["types"][0].lower() if found["types"] else ""
    kind = OPENGRAPH.get(said) or OPENGRAPH.get(said.partition(".")[0].rpartition(":")[2]) or "WebPage"
    frame = {"kind": kind, **_SHARED.read(properties)}
    if offer := _SHARED_OFFER.read(properties):
        frame["offers"] = [offer]
    return frame
