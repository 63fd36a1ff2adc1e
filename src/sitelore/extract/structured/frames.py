"""Frames: flat summaries of entities with the fields that are needed most, such as the price of a product.

A frame has the same fields for every page, whatever its markup: names and texts as strings, several of them as a list, prices
as numbers with their currency, absolute URLs, lists in order. A field without a value is left out. The entity itself keeps
everything.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple, TypeAlias

from sitelore.extract.structured.entities import Entity, parse_amount, parse_prices, typed_value

_MAX_VALUES = 500
_MAX_CHARS = 20_000
_TAG = re.compile(r"<[a-zA-Z/!][^<>]{0,1000}>")

_Properties: TypeAlias = dict[str, Any]
_Reader: TypeAlias = Callable[[_Properties, tuple[str, ...]], Any]


def add_frames(entity: Entity, *, is_top_level: bool = True) -> None:
    """Parse the prices of an entity and of all entities nested in it, and add the frames of those that have one."""
    properties = entity["properties"]
    for part in (properties, entity["reverse"]) if "reverse" in entity else (properties,):
        for value in part.values():
            if type(value) is dict:
                if "properties" in value:
                    add_frames(value, is_top_level=False)
            elif type(value) is list:
                for item in value:
                    if type(item) is dict and "properties" in item:
                        add_frames(item, is_top_level=False)
    parse_prices(properties)
    kind = _kind_of(tuple(entity["types"]))
    if kind and (is_top_level or kind in _NESTED_KINDS):
        entity["frame"] = {"kind": kind, **_FRAMES[kind].read(properties)}


def opengraph_frame(entity: Entity) -> dict[str, Any]:
    """The frame of a page's Open Graph entity, with the field names that other frames have."""
    properties = entity["properties"]
    name = entity["types"][0].lower() if entity["types"] else ""
    kind = _OPENGRAPH_KINDS.get(name) or _OPENGRAPH_KINDS.get(name.partition(".")[0].rpartition(":")[2]) or "WebPage"
    frame = {"kind": kind, **_OPENGRAPH.read(properties)}
    if offer := _OPENGRAPH_OFFER.read(properties):
        frame["offers"] = [offer]
    return frame


class _Field(NamedTuple):
    """A field of a frame, the function that reads it, and its source properties, of which the first with a value counts."""

    name: str
    read: _Reader
    sources: tuple[str, ...]


class _Frame:
    """The fields of one kind. Reading costs by the properties that an entity has, not by the fields of the frame."""

    __slots__ = ("_by_property", "fields")

    def __init__(self, *fields: _Field) -> None:
        self.fields = fields
        self._by_property: dict[str, list[int]] = {}
        for index, each in enumerate(fields):
            for source in each.sources:
                self._by_property.setdefault(source, []).append(index)

    def read(self, properties: _Properties) -> dict[str, Any]:
        indexes: set[int] = set()
        by_property = self._by_property
        for name in properties:
            if name in by_property:
                indexes.update(by_property[name])
        frame: dict[str, Any] = {}
        for index in sorted(indexes):
            name, read, sources = self.fields[index]
            value = read(properties, sources)
            if value or (value is not None and value not in ("", [], {})):
                frame[name] = value
        return frame


# Values: how a field is read from properties


def _values(properties: _Properties, sources: tuple[str, ...]) -> list[Any]:
    """The values of the first of these properties that has any."""
    for name in sources:
        value = properties.get(name)
        if value is not None and value != "":
            return value[:_MAX_VALUES] if isinstance(value, list) else [value]
    return []


def _first(value: Any) -> Any:
    return (value[0] if value else None) if isinstance(value, list) else value


def _inner(value: Any) -> _Properties:
    """The properties of a value that is an entity."""
    properties = value.get("properties") if isinstance(value, dict) else None
    return properties if isinstance(properties, dict) else {}


def _as_text(value: Any) -> str:
    """A value as text without markup: itself, or the name of an entity."""
    if isinstance(value, str):
        if "<" in value and _TAG.search(value):
            value = html.unescape(_TAG.sub(" ", value))
        return " ".join(value.split())[:_MAX_CHARS]
    if isinstance(value, int | float):
        return "" if isinstance(value, bool) else str(value)
    if not isinstance(value, dict):
        return ""
    if isinstance(value.get("value"), str):
        return _as_text(value["value"])
    inner = _inner(value)
    for name in ("name", "headline", "text", "value", "@value", "alternateName"):
        if name in inner and (text := _as_text(_first(inner[name]))):
            return text
    return ""


def _as_url(value: Any) -> str:
    """A value as a URL: itself, or the URL of an entity."""
    if isinstance(value, str):
        return value.strip()
    inner = _inner(value)
    for name in ("url", "contentUrl", "@id"):
        if isinstance(url := _first(inner.get(name)), str) and url:
            return url
    identifier = value.get("id", "") if isinstance(value, dict) else ""
    return identifier if identifier.startswith(("http://", "https://")) else ""


def _text(properties: _Properties, sources: tuple[str, ...]) -> str:
    for name in sources:
        value = properties.get(name)
        # Most values are one plain text.
        if type(value) is str and value and "<" not in value:
            return " ".join(value.split())[:_MAX_CHARS]
        if value is not None and value != "":
            break
    return next(filter(None, map(_as_text, _values(properties, sources))), "")


def _texts(properties: _Properties, sources: tuple[str, ...]) -> list[str]:
    return list(dict.fromkeys(filter(None, map(_as_text, _values(properties, sources)))))


def _keywords(properties: _Properties, sources: tuple[str, ...]) -> list[str]:
    """Keywords, which pages write as a list or as one text with commas."""
    texts = _texts(properties, sources)
    if len(texts) == 1 and "," in texts[0]:
        texts = [word for part in texts[0].split(",") if (word := part.strip())]
    return list(dict.fromkeys(texts))


def _url(properties: _Properties, sources: tuple[str, ...]) -> str:
    return next(filter(None, map(_as_url, _values(properties, sources))), "")


def _urls(properties: _Properties, sources: tuple[str, ...]) -> list[str]:
    return list(dict.fromkeys(filter(None, map(_as_url, _values(properties, sources)))))


def _number(properties: _Properties, sources: tuple[str, ...]) -> float | int | None:
    for value in _values(properties, sources):
        if isinstance(value, int | float) and not isinstance(value, bool):
            return value
        number = parse_amount(_as_text(value))
        if number is not None:
            return number
    return None


def _boolean(properties: _Properties, sources: tuple[str, ...]) -> bool | None:
    for value in _values(properties, sources):
        if isinstance(value, bool):
            return value
        if (text := _as_text(value).lower()) in {"true", "false"}:
            return text == "true"
    return None


# Parts that several frames share


def _offers(properties: _Properties, sources: tuple[str, ...]) -> list[dict[str, Any]]:
    """All offers, each aggregate offer followed by the offers within it."""
    offers: list[dict[str, Any]] = []
    for value in _values(properties, sources):
        inner = _inner(value)
        if offer := _OFFER.read(inner):
            offers.append(offer)
        if "offers" in inner and len(offers) < _MAX_VALUES:
            offers += filter(None, (_OFFER.read(_inner(nested)) for nested in _values(inner, ("offers",))))
    return offers


def _price(properties: _Properties, sources: tuple[str, ...]) -> float | int | None:
    price = _number(properties, sources[:1])
    if price is None:
        prices = (_number(_inner(value), ("price", "minPrice")) for value in _values(properties, sources[1:]))
        price = next((each for each in prices if each is not None), None)
    return price


def _currency(properties: _Properties, sources: tuple[str, ...]) -> str:
    code = _text(properties, sources[:1])
    if not code:
        codes = (_text(_inner(value), sources[:1]) for value in _values(properties, sources[1:]))
        code = next(filter(None, codes), "")
    return code.upper() if len(code) == 3 else code


def _availability(properties: _Properties, sources: tuple[str, ...]) -> Any:
    return typed_value("availability", _text(properties, sources), "")


def _rating(properties: _Properties, sources: tuple[str, ...]) -> dict[str, Any]:
    """A rating with its scale and the number of votes."""
    for value in _values(properties, sources):
        if rating := _RATING.read(_inner(value)):
            return rating
        if (number := _number({"value": value}, ("value",))) is not None:
            return {"value": number}
    return {}


def _reviews(properties: _Properties, sources: tuple[str, ...]) -> list[dict[str, Any]]:
    return [review for value in _values(properties, sources) if (review := _REVIEW.read(_inner(value)))]


def _place(properties: _Properties, sources: tuple[str, ...]) -> dict[str, Any]:
    for value in _values(properties, sources):
        inner = _inner(value)
        if place := _PLACE.read(inner):
            if "address" not in place and (address := _as_address(value)):
                place["address"] = address
            return place
        if text := _as_text(value):
            return {"name": text}
    return {}


def _places(properties: _Properties, sources: tuple[str, ...]) -> list[dict[str, Any]]:
    return [place for value in _values(properties, sources) if (place := _place({"place": value}, ("place",)))]


def _address(properties: _Properties, sources: tuple[str, ...]) -> dict[str, Any]:
    """A postal address in its parts."""
    return next(filter(None, map(_as_address, _values(properties, sources))), {})


def _as_address(value: Any) -> dict[str, Any]:
    if address := _POSTAL_ADDRESS.read(_inner(value)):
        return address
    return {"text": text} if isinstance(value, str) and (text := _as_text(value)) else {}


def _geo(properties: _Properties, sources: tuple[str, ...]) -> dict[str, Any]:
    """Coordinates of the `geo` property, or of the entity itself."""
    sets = [*map(_inner, _values(properties, sources[:1])), properties]
    return next(filter(None, map(_GEO.read, sets)), {})


def _by_position(values: list[Any]) -> list[tuple[int | float, Any]]:
    """Items sorted by their `position`, which is the place in the list for items without one."""
    numbered = []
    for index, value in enumerate(values, 1):
        position = _inner(value).get("position")
        numbered.append((position if isinstance(position, int | float) and not isinstance(position, bool) else index, value))
    return sorted(numbered, key=lambda pair: pair[0])


def _list_items(properties: _Properties, sources: tuple[str, ...]) -> list[dict[str, Any]]:
    """The items of a list, each with position, name and URL."""
    items = []
    for position, value in _by_position(_values(properties, sources)):
        inner = _inner(value)
        target = _first(inner.get("item"))
        name = _text(inner, ("name",)) or (_as_text(target) if isinstance(target, dict) else "") or _text(inner, ("headline",))
        url = _as_url(target) or _url(inner, ("url",)) or _as_url(value)
        if not inner and isinstance(value, str):
            is_url = value.startswith(("http://", "https://"))
            name, url = ("", value) if is_url else (_as_text(value), "")
        if name or url:
            item = {"position": position, "name": name, "url": url}
            items.append({key: part for key, part in item.items() if part != ""})
    return items


def _breadcrumbs(properties: _Properties, sources: tuple[str, ...]) -> list[dict[str, Any]]:
    return [item for value in _values(properties, sources) for item in _list_items(_inner(value), ("itemListElement",))]


def _questions(properties: _Properties, sources: tuple[str, ...]) -> list[dict[str, str]]:
    """Questions with their answers."""
    questions = []
    for value in _values(properties, sources):
        inner = _inner(value)
        if question := _text(inner, ("name", "headline", "text")):
            answers = map(_answer, _values(inner, ("acceptedAnswer", "suggestedAnswer")))
            questions.append({"question": question, "answer": next(filter(None, answers), "")})
    return questions


def _answer(value: Any) -> str:
    return _text(_inner(value), ("text", "name", "description")) or _as_text(value)


def _own_question(properties: _Properties, _: tuple[str, ...]) -> list[dict[str, str]]:
    """The question of an entity that is a question itself."""
    return _questions({"own": {"properties": properties}}, ("own",))


def _steps(properties: _Properties, sources: tuple[str, ...]) -> list[str]:
    """The texts of steps in order; a section is replaced by its steps."""
    steps: list[str] = []
    todo = [value for _, value in reversed(_by_position(_values(properties, sources)))]
    while todo and len(steps) < _MAX_VALUES:
        value = todo.pop()
        inner = _inner(value)
        nested = _values(inner, ("itemListElement", "steps", "step"))
        if nested and not _text(inner, ("text",)):
            todo += [step for _, step in reversed(_by_position(nested))]
        elif text := _text(inner, ("text", "name", "description")) or _as_text(value):
            steps.append(text)
    return steps


def _contacts(properties: _Properties, sources: tuple[str, ...]) -> list[dict[str, Any]]:
    return [contact for value in _values(properties, sources) if (contact := _CONTACT.read(_inner(value)))]


def _calories(properties: _Properties, sources: tuple[str, ...]) -> str:
    return next((_text(_inner(value), ("calories",)) for value in _values(properties, sources)), "")


def _salary(properties: _Properties, sources: tuple[str, ...]) -> dict[str, Any]:
    """The pay of a job: currency, minimum, maximum, unit."""
    for value in _values(properties, sources):
        inner = _inner(value)
        salary = _AMOUNTS.read(_inner(_first(inner.get("value"))) or inner)
        if currency := _text(inner, ("currency", "priceCurrency")) or _text(properties, ("salaryCurrency",)):
            salary["currency"] = currency
        if salary:
            return salary
        if (number := _number({"value": value}, ("value",))) is not None:
            return {"value": number}
    return {}


def _opening_hours(properties: _Properties, sources: tuple[str, ...]) -> list[str]:
    """Opening hours as texts: `Mo-Fr 09:00-17:00`, or joined from days and times."""
    hours = _texts(properties, sources[:1])
    for value in _values(properties, sources[1:]):
        inner = _inner(value)
        days = " ".join(_texts(inner, ("dayOfWeek",)))
        times = "-".join(filter(None, (_text(inner, ("opens",)), _text(inner, ("closes",)))))
        if text := " ".join(filter(None, (days, times))):
            hours.append(text)
    return hours


def _search_url(properties: _Properties, sources: tuple[str, ...]) -> str:
    """The URL template of a site's search."""
    for value in _values(properties, sources):
        target = _first(_inner(value).get("target"))
        if isinstance(target, str):
            return target
        if url := _text(_inner(target), ("urlTemplate",)) or _as_url(target):
            return url
    return ""


# The fields of each kind


def _field(name: str, *sources: str, by: _Reader = _text) -> _Field:
    """A field with its source properties, by default the property of its own name."""
    return _Field(name, by, sources or (name,))


_GEO_SOURCES = ("geo", "latitude", "longitude")
_HOURS_SOURCES = ("openingHours", "openingHoursSpecification")
_OFFER = _Frame(
    _field("price", "price", "priceSpecification", by=_price), _field("low_price", "lowPrice", by=_number),
    _field("high_price", "highPrice", by=_number), _field("currency", "priceCurrency", "priceSpecification", by=_currency),
    _field("availability"), _field("condition", "itemCondition"), _field("count", "offerCount", by=_number),
    _field("name"), _field("sku"), _field("seller", "seller", "offeredBy"), _field("url", by=_url),
    _field("valid_from", "validFrom", "availabilityStarts"),
    _field("valid_until", "priceValidUntil", "validThrough", "availabilityEnds"),
)  # fmt: skip
_RATING = _Frame(
    _field("value", "ratingValue", by=_number), _field("best", "bestRating", by=_number),
    _field("worst", "worstRating", by=_number), _field("count", "ratingCount", by=_number),
    _field("reviews", "reviewCount", by=_number),
)  # fmt: skip
_REVIEW = _Frame(
    _field("name", "name", "headline"), _field("item", "itemReviewed"), _field("author"),
    _field("rating", "reviewRating", by=_rating), _field("body", "reviewBody", "description", "text"),
    _field("published", "datePublished", "dateCreated"), _field("url", by=_url),
)  # fmt: skip
_GEO = _Frame(_field("latitude", by=_number), _field("longitude", by=_number))
_POSTAL_ADDRESS = _Frame(
    _field("street", "streetAddress"), _field("box", "postOfficeBoxNumber"), _field("locality", "addressLocality"),
    _field("region", "addressRegion"), _field("postal_code", "postalCode"), _field("country", "addressCountry"),
)  # fmt: skip
_PLACE = _Frame(
    _field("name"), _field("address", by=_address), _field("geo", *_GEO_SOURCES, by=_geo), _field("url", by=_url),
    _field("telephone"),
)  # fmt: skip
_AMOUNTS = _Frame(
    _field("value", by=_number), _field("min", "minValue", by=_number), _field("max", "maxValue", by=_number),
    _field("unit", "unitText", "unitCode"),
)  # fmt: skip
_CONTACT = _Frame(
    _field("kind", "contactType"), _field("telephone"), _field("email"), _field("url", by=_url),
    _field("area", "areaServed", by=_texts),
)  # fmt: skip
_THING = (
    _field("name", "name", "headline", "title"), _field("description", "description", "abstract"), _field("url", by=_url),
    _field("image", "image", "photo", "thumbnailUrl", "primaryImageOfPage", by=_urls),
)  # fmt: skip
_RATED = (_field("rating", "aggregateRating", by=_rating), _field("reviews", "review", "reviews", by=_reviews))
_OFFERED = (_field("offers", by=_offers), *_RATED)
_WORK = (
    *_THING, _field("authors", "author", "creator", by=_texts), _field("publisher"),
    _field("published", "datePublished", "dateCreated"), _field("modified", "dateModified"),
    _field("language", "inLanguage"), _field("keywords", by=_keywords),
)  # fmt: skip
_ORGANIZATION = (
    *_THING, _field("legal_name", "legalName"), _field("logo", by=_url), _field("email"), _field("telephone"),
    _field("address", by=_address), _field("founded", "foundingDate"), _field("same_as", "sameAs", by=_urls),
    _field("contacts", "contactPoint", "contactPoints", by=_contacts), *_RATED,
)  # fmt: skip
_FAQ = (*_THING, _field("questions", "mainEntity", "hasPart", by=_questions))
_FRAMES: dict[str, _Frame] = {
    "Product": _Frame(
        *_THING, _field("brand", "brand", "manufacturer"), _field("sku"),
        _field("gtin", "gtin", "gtin13", "gtin14", "gtin12", "gtin8", "isbn"), _field("mpn"), _field("model"),
        _field("category", by=_texts), _field("color", by=_texts), _field("size", by=_texts), _field("material", by=_texts),
        *_OFFERED,
    ),
    "Offer": _OFFER,
    "Event": _Frame(
        *_THING, _field("start", "startDate"), _field("end", "endDate"), _field("doors", "doorTime"),
        _field("status", "eventStatus"), _field("attendance", "eventAttendanceMode"), _field("location", by=_place),
        _field("organizer", by=_texts), _field("performers", "performer", "performers", "actor", by=_texts), *_OFFERED,
    ),
    "Article": _Frame(
        *_WORK, _field("section", "articleSection", by=_texts), _field("word_count", "wordCount", by=_number),
        _field("comments", "commentCount", by=_number), _field("free", "isAccessibleForFree", by=_boolean),
    ),
    "BreadcrumbList": _Frame(_field("items", "itemListElement", by=_list_items)),
    "ItemList": _Frame(*_THING, _field("items", "itemListElement", by=_list_items)),
    "FAQPage": _Frame(*_FAQ),
    "QAPage": _Frame(*_FAQ),
    "Question": _Frame(_field("questions", "name", "text", "acceptedAnswer", "suggestedAnswer", by=_own_question)),
    "Organization": _Frame(*_ORGANIZATION),
    "LocalBusiness": _Frame(
        *_ORGANIZATION, _field("geo", *_GEO_SOURCES, by=_geo), _field("opening_hours", *_HOURS_SOURCES, by=_opening_hours),
        _field("price_range", "priceRange"), _field("menu", "hasMenu", "menu", by=_url),
        _field("cuisine", "servesCuisine", by=_texts), _field("map", "hasMap", "map", by=_url),
    ),
    "Place": _Frame(
        *_THING, *_PLACE.fields[1:], _field("opening_hours", *_HOURS_SOURCES, by=_opening_hours), *_RATED,
    ),
    "Person": _Frame(
        *_THING, _field("given_name", "givenName"), _field("family_name", "familyName"), _field("job_title", "jobTitle"),
        _field("works_for", "worksFor", "affiliation", by=_texts), _field("email"), _field("telephone"),
        _field("address", by=_address), _field("born", "birthDate"), _field("same_as", "sameAs", by=_urls),
    ),
    "Recipe": _Frame(
        *_WORK, _field("prep_time", "prepTime"), _field("cook_time", "cookTime"), _field("total_time", "totalTime"),
        _field("yield", "recipeYield", "yield"), _field("category", "recipeCategory", by=_texts),
        _field("cuisine", "recipeCuisine", by=_texts), _field("ingredients", "recipeIngredient", "ingredients", by=_texts),
        _field("steps", "recipeInstructions", by=_steps), _field("calories", "nutrition", by=_calories), *_RATED,
    ),
    "HowTo": _Frame(
        *_WORK, _field("total_time", "totalTime", "performTime"), _field("supplies", "supply", by=_texts),
        _field("tools", "tool", by=_texts), _field("steps", "step", "steps", "itemListElement", by=_steps),
        _field("cost", "estimatedCost"),
    ),
    "JobPosting": _Frame(
        _field("title", "title", "name"), _field("description"), _field("company", "hiringOrganization"),
        _field("company_url", "hiringOrganization", by=_url), _field("locations", "jobLocation", by=_places),
        _field("location_type", "jobLocationType"), _field("applicants_from", "applicantLocationRequirements", by=_texts),
        _field("employment", "employmentType", by=_texts), _field("salary", "baseSalary", "estimatedSalary", by=_salary),
        _field("industry", by=_texts), _field("posted", "datePosted"), _field("valid_until", "validThrough"),
        _field("identifier"), _field("url", by=_url),
    ),
    "VideoObject": _Frame(
        *_THING, _field("thumbnail", "thumbnailUrl", "thumbnail", by=_urls),
        _field("uploaded", "uploadDate", "datePublished"), _field("duration"), _field("content_url", "contentUrl", by=_url),
        _field("embed_url", "embedUrl", by=_url), _field("transcript"),
    ),
    "Review": _REVIEW,
    "Rating": _Frame(_field("item", "itemReviewed"), *_RATING.fields),
    "WebSite": _Frame(
        *_THING, _field("alternate_names", "alternateName", by=_texts), _field("publisher"),
        _field("language", "inLanguage"), _field("search", "potentialAction", by=_search_url),
    ),
    "WebPage": _Frame(*_WORK, _field("breadcrumbs", "breadcrumb", by=_breadcrumbs)),
    "SoftwareApplication": _Frame(
        *_WORK, _field("category", "applicationCategory", by=_texts), _field("operating_system", "operatingSystem", by=_texts),
        _field("version", "softwareVersion"), _field("download_url", "downloadUrl", "installUrl", by=_url), *_OFFERED,
    ),
    "Book": _Frame(
        *_WORK, _field("isbn"), _field("pages", "numberOfPages", by=_number), _field("edition", "bookEdition"), *_OFFERED,
    ),
    "Movie": _Frame(
        *_WORK, _field("duration"), _field("directors", "director", by=_texts), _field("actors", "actor", by=_texts),
        _field("genres", "genre", by=_texts), *_RATED,
    ),
    "Music": _Frame(
        *_WORK, _field("artists", "byArtist", by=_texts), _field("tracks", "track", "tracks", by=_texts), _field("duration"),
        _field("genres", "genre", by=_texts),
    ),
    "Course": _Frame(*_WORK, _field("provider"), _field("code", "courseCode"), *_OFFERED),
    "Dataset": _Frame(
        *_WORK, _field("license", by=_url), _field("downloads", "distribution", by=_urls),
        _field("measured", "variableMeasured", by=_texts),
    ),
    "Service": _Frame(
        *_THING, _field("provider"), _field("service", "serviceType"), _field("area", "areaServed", by=_texts), *_OFFERED,
    ),
}  # fmt: skip
_OPENGRAPH = _Frame(
    _field("name", "title", "twitter:title"), _field("description", "description", "twitter:description"),
    _field("url", by=_url), _field("image", "image", "twitter:image", "twitter:image:src", by=_urls),
    _field("video", by=_urls), _field("publisher", "site_name"), _field("language", "locale"),
    _field("authors", "article:author", "book:author", by=_texts),
    _field("published", "article:published_time", "book:release_date", "video:release_date"),
    _field("modified", "article:modified_time", "updated_time"), _field("section", "article:section", by=_texts),
    _field("keywords", "article:tag", "book:tag", "video:tag", by=_keywords), _field("brand", "product:brand", "brand"),
    _field("sku", "product:retailer_item_id", "product:sku"),
)  # fmt: skip
_OPENGRAPH_OFFER = _Frame(
    _field("price", "product:price:amount", "price:amount", by=_number),
    _field("currency", "product:price:currency", "price:currency"),
    _field("availability", "product:availability", "availability", by=_availability),
    _field("condition", "product:condition"),
)

# Kinds: the schema.org types that pages use, by the frame that they get

_TYPES = {
    "Product": "ProductGroup ProductModel IndividualProduct SomeProducts Vehicle Car Motorcycle Drug",
    "Offer": "AggregateOffer OfferForLease OfferForPurchase Demand",
    "Event": "Festival Hackathon CourseInstance EventSeries EventSeason",
    "Article": (
        "NewsArticle BlogPosting TechArticle ScholarlyArticle MedicalScholarlyArticle Report SocialMediaPosting "
        "DiscussionForumPosting LiveBlogPosting AnalysisNewsArticle AskPublicNewsArticle BackgroundNewsArticle "
        "OpinionNewsArticle ReportageNewsArticle ReviewNewsArticle AdvertiserContentArticle SatiricalArticle APIReference "
        "CreativeWork"
    ),
    "BreadcrumbList": "",
    "ItemList": "OfferCatalog",
    "FAQPage": "",
    "QAPage": "",
    "Question": "",
    "Organization": (
        "Corporation NGO NewsMediaOrganization EducationalOrganization CollegeOrUniversity School HighSchool MiddleSchool "
        "ElementarySchool Preschool GovernmentOrganization MedicalOrganization SportsOrganization SportsTeam "
        "PerformingGroup MusicGroup DanceGroup TheaterGroup Airline Consortium FundingScheme LibrarySystem Project "
        "ResearchProject OnlineBusiness ResearchOrganization PoliticalParty WorkersUnion OnlineMarketplace Brand "
        "FundingAgency SearchRescueOrganization"
    ),
    "LocalBusiness": (
        "Restaurant CafeOrCoffeeShop BarOrPub Bakery Brewery Distillery FastFoodRestaurant IceCreamShop Winery Hotel "
        "Motel Hostel Resort SkiResort BedAndBreakfast LodgingBusiness Campground VacationRental AnimalShelter "
        "ArchiveOrganization AutomotiveBusiness AutoDealer AutoRepair AutoRental AutoBodyShop AutoWash GasStation "
        "MotorcycleDealer ChildCare Dentist DryCleaningOrLaundry EmergencyService FireStation Hospital PoliceStation "
        "EmploymentAgency EntertainmentBusiness AdultEntertainment AmusementPark ArtGallery Casino ComedyClub "
        "MovieTheater NightClub FinancialService AccountingService AutomatedTeller BankOrCreditUnion InsuranceAgency "
        "HealthAndBeautyBusiness BeautySalon DaySpa HairSalon HealthClub NailSalon TattooParlor "
        "HomeAndConstructionBusiness Electrician GeneralContractor HVACBusiness HousePainter Locksmith MovingCompany "
        "Plumber RoofingContractor LegalService Attorney Notary Library MedicalBusiness MedicalClinic Optician Pharmacy "
        "Physician Dermatology VeterinaryCare PublicSwimmingPool ProfessionalService RadioStation RealEstateAgent "
        "RecyclingCenter SelfStorage ShoppingCenter SportsActivityLocation BowlingAlley ExerciseGym GolfCourse SportsClub "
        "StadiumOrArena TennisComplex TelevisionStation TouristInformationCenter TravelAgency OnlineStore "
        "FoodEstablishment DiagnosticLab CovidTestingFacility Florist InternetCafe"
    ),
    "Place": (
        "AdministrativeArea City Country State LandmarksOrHistoricalBuildings TouristAttraction TouristDestination "
        "Accommodation Apartment House Residence CivicStructure Park Museum Airport Beach Landform Lake Mountain"
    ),
    "Person": "Patient",
    "Recipe": "",
    "HowTo": "",
    "JobPosting": "",
    "VideoObject": "Clip VideoObjectSnapshot",
    "Review": "CriticReview EmployerReview UserReview MediaReview ClaimReview Recommendation",
    "Rating": "AggregateRating EmployerAggregateRating EndorsementRating",
    "WebSite": "",
    "WebPage": (
        "AboutPage CheckoutPage CollectionPage ContactPage ItemPage MedicalWebPage ProfilePage RealEstateListing "
        "SearchResultsPage MediaGallery ImageGallery Blog"
    ),
    "SoftwareApplication": "MobileApplication WebApplication VideoGame SoftwareSourceCode OperatingSystem",
    "Book": "Audiobook Chapter ComicIssue PublicationVolume",
    "Movie": ("TVSeries TVEpisode TVSeason MovieSeries Episode CreativeWorkSeries PodcastEpisode PodcastSeries RadioSeries"),
    "Music": "MusicAlbum MusicRecording MusicPlaylist MusicRelease MusicComposition",
    "Course": "EducationalOccupationalProgram LearningResource",
    "Dataset": "DataCatalog DataFeed",
    "Service": (
        "GovernmentService FinancialProduct BroadcastService CableOrSatelliteService FoodService Taxi TaxiService WebAPI"
    ),
}
_KIND = {name: kind for kind, names in _TYPES.items() for name in (kind, *names.split())}
_KIND_BY_ENDING = {
    "Event": "Event", "Store": "LocalBusiness", "Shop": "LocalBusiness", "Restaurant": "LocalBusiness",
    "Business": "LocalBusiness", "Article": "Article", "Posting": "Article", "Review": "Review", "Page": "WebPage",
    "Organization": "Organization", "Application": "SoftwareApplication", "Product": "Product",
}  # fmt: skip
_GENERIC_KINDS = frozenset({"Place", "Organization", "WebPage", "Article", "Service", "ItemList"})
"""Kinds that give way to a second, more specific type of the entity."""
_NESTED_KINDS = frozenset({
    "Product", "Event", "Recipe", "HowTo", "JobPosting", "VideoObject", "BreadcrumbList", "FAQPage", "QAPage", "Article",
    "SoftwareApplication", "Course", "Book", "LocalBusiness",
})  # fmt: skip
"""Kinds that get a frame within another entity too: the subject of a page is often nested."""
_OPENGRAPH_KINDS = {
    "article": "Article", "product": "Product", "book": "Book", "books": "Book", "profile": "Person", "video": "VideoObject",
    "video.movie": "Movie", "video.tv_show": "Movie", "video.episode": "Movie", "music": "Music", "website": "WebSite",
    "blog": "WebSite", "event": "Event", "recipe": "Recipe", "business": "LocalBusiness", "place": "Place",
    "restaurant": "LocalBusiness",
}  # fmt: skip


@lru_cache(maxsize=256)
def _kind_of(types: tuple[str, ...]) -> str:
    """The kind of the first type that has one, or of a later one that is more specific; empty if none has."""
    best = ""
    for name in types:
        kind = _KIND.get(name) or next((kind for ending, kind in _KIND_BY_ENDING.items() if name.endswith(ending)), "")
        if kind and (not best or (best in _GENERIC_KINDS and kind not in _GENERIC_KINDS)):
            best = kind
    return best
