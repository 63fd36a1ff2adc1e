"""Reads all structured data of a page (JSON-LD, Microdata, RDFa, Open Graph) into entities of one form.

An entity is a JSON object with types, an id and properties. A property with one value holds that value, one with several
holds a list. A value is a string, a number, a boolean, a nested entity, a reference (`{"id": …}`) or text with its language
(`{"value": …, "language": …}`). Only top-level entities have a place (`source`, `at`, `repaired`).

The schema.org meaning of a property decides how its text is parsed (`typed_value`): URLs become absolute, dates ISO 8601,
prices and ratings numbers, members of enumerations short names. Text that cannot be parsed stays as it is. Open Graph and
Microdata are read here; `jsonld`, `rdfa` and `frames` build on this module.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeAlias

from sitelore.extract import dom
from sitelore.extract.metadata import Meta, PageElements, collect_elements, iso_date
from sitelore.model.url import whatwg

if TYPE_CHECKING:
    from sitelore.extract.structured.jsonld import Script


Entity: TypeAlias = dict[str, Any]

MAX_CHARS = 100_000
"""Longest text of one value."""
MAX_ELEMENT_CHARS = 20_000
"""Longest text taken from an element: pages mark up whole articles as one value, and have their text as content."""
VALUE_ATTRIBUTES = {"data": "value", "meter": "value", "time": "datetime"}
"""Attributes that hold the value of an element, by tag."""
_MAX_ENTITIES = 500
_MAX_URL_CHARS = 8192
_MAX_DATA_URL_CHARS = 512
_MAX_NUMBER_CHARS = 64
_MAX_OPENGRAPH_VALUES = 256


def read_structured(
    tree: dom.Tree, base: str, page: PageElements | None = None, scripts: list[Script] | None = None
) -> tuple[Entity, ...]:
    """Read every entity of a page, in the order JSON-LD, Microdata, RDFa, Open Graph.

    `page` are the elements of the tree if the caller has collected them, `scripts` its JSON-LD if the caller parsed it. Each
    reader stops at bounds of its own, and none raises.
    """
    from sitelore.extract.structured import frames, jsonld  # noqa: PLC0415 the readers import this module

    page = page or collect_elements(tree)
    scripts = jsonld.read_scripts(page.scripts) if scripts is None else scripts
    entities = jsonld.jsonld_entities(scripts, base) if scripts else []
    entities += _markup_entities(tree, page.annotated, base)
    del entities[_MAX_ENTITIES:]
    for entity in entities:
        frames.add_frames(entity)
    if opengraph := opengraph_entity(page.head, base):
        opengraph["frame"] = frames.opengraph_frame(opengraph)
        entities.append(opengraph)
    return tuple(entities)


def _markup_entities(tree: dom.Tree, annotated: list[dom.Element], base: str) -> list[Entity]:
    """Microdata and RDFa. The reader of RDFa is imported when a page has such markup, since hardly any page has."""
    entities: list[Entity] = []
    if any(element.attr("itemscope") is not None or element.attr("itemtype") for element in annotated):
        entities += microdata_entities(tree, annotated, base)
    if any(e.attr("typeof") is not None or e.attr("vocab") or e.attr("about") is not None for e in annotated):
        from sitelore.extract.structured.rdfa import rdfa_entities  # noqa: PLC0415 see above

        entities += rdfa_entities(tree, base)
    return entities


# Entities and their values


def new_entity(types: list[str], identifier: str, properties: dict[str, Any]) -> Entity:
    """Make a nested entity, which has an `id` only where the page gives one."""
    if identifier:
        return {"types": types, "id": identifier, "properties": properties}
    return {"types": types, "properties": properties}


def with_place(entity: Entity, source: str, at: str, *, repaired: bool) -> Entity:
    """Make a top-level entity, which says where it was read. `at` is a CSS selector."""
    return {
        "types": entity["types"],
        "id": entity.get("id", ""),
        "properties": entity["properties"],
        **{name: entity[name] for name in ("reverse", "frame", "truncated") if name in entity},
        "source": source,
        "at": at,
        "repaired": repaired,
    }


def add_value(properties: dict[str, Any], name: str, value: Any) -> None:
    """Add a value to a property unless the property has it already."""
    known = properties.get(name)
    if known is None:
        properties[name] = value
    elif isinstance(known, list):
        if len(known) > 64 or value not in known:
            known.append(value)
    elif known != value:
        properties[name] = [known, value]


def text_for_redaction(json: bytes) -> bytes:
    """Entities in JSON with the common escapes undone, to search them for secrets without decoding them."""
    if b"\\" not in json:
        return json
    return json.replace(b'\\"', b'"').replace(b"\\n", b"\n").replace(b"\\\\", b"\\")


def texts_of(entities: Any) -> list[str]:
    """Every string in entities, names of properties included, without repeats."""
    texts: dict[str, None] = {}
    _collect_texts(entities, texts)
    return list(texts)


def _collect_texts(value: Any, texts: dict[str, None]) -> None:
    if isinstance(value, str):
        texts[value] = None
    elif isinstance(value, dict):
        texts.update(dict.fromkeys(value))
        for inner in value.values():
            _collect_texts(inner, texts)
    elif isinstance(value, list | tuple):
        for inner in value:
            _collect_texts(inner, texts)


def with_texts(value: Any, replacements: Mapping[str, str]) -> Any:
    """A copy of entities with strings replaced, names of properties included."""
    if isinstance(value, str):
        return replacements.get(value, value)
    if isinstance(value, dict):
        return {replacements.get(name, name): with_texts(inner, replacements) for name, inner in value.items()}
    if isinstance(value, list):
        return [with_texts(inner, replacements) for inner in value]
    if isinstance(value, tuple):
        return tuple([with_texts(inner, replacements) for inner in value])
    return value


# Names: schema.org names are short (`Product`, `name`), names of other vocabularies are whole URLs

SCHEMA_ORG = "https://schema.org/"
_PREFIXES = {
    "schema": SCHEMA_ORG, "as": "https://www.w3.org/ns/activitystreams#",
    "brick": "https://brickschema.org/schema/Brick#", "cc": "http://creativecommons.org/ns#",
    "csvw": "http://www.w3.org/ns/csvw#", "ctag": "http://commontag.org/ns#", "dc": "http://purl.org/dc/terms/",
    "dc11": "http://purl.org/dc/elements/1.1/", "dcam": "http://purl.org/dc/dcam/", "dcat": "http://www.w3.org/ns/dcat#",
    "dcmitype": "http://purl.org/dc/dcmitype/", "dct": "http://purl.org/dc/terms/",
    "dcterms": "http://purl.org/dc/terms/", "doap": "http://usefulinc.com/ns/doap#", "dqv": "http://www.w3.org/ns/dqv#",
    "duv": "http://www.w3.org/ns/duv#", "foaf": "http://xmlns.com/foaf/0.1/", "gr": "http://purl.org/goodrelations/v1#",
    "grddl": "http://www.w3.org/2003/g/data-view#", "gs1": "https://ref.gs1.org/voc/",
    "ical": "http://www.w3.org/2002/12/cal/icaltzd#", "ldp": "http://www.w3.org/ns/ldp#",
    "ma": "http://www.w3.org/ns/ma-ont#", "oa": "http://www.w3.org/ns/oa#", "odrl": "http://www.w3.org/ns/odrl/2/",
    "og": "http://ogp.me/ns#", "org": "http://www.w3.org/ns/org#", "owl": "http://www.w3.org/2002/07/owl#",
    "prof": "http://www.w3.org/ns/dx/prof/", "prov": "http://www.w3.org/ns/prov#",
    "qb": "http://purl.org/linked-data/cube#", "rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "rdfa": "http://www.w3.org/ns/rdfa#", "rdfs": "http://www.w3.org/2000/01/rdf-schema#",
    "rev": "http://purl.org/stuff/rev#", "rif": "http://www.w3.org/2007/rif#", "rr": "http://www.w3.org/ns/r2rml#",
    "sd": "http://www.w3.org/ns/sparql-service-description#", "sh": "http://www.w3.org/ns/shacl#",
    "sioc": "http://rdfs.org/sioc/ns#", "skos": "http://www.w3.org/2004/02/skos/core#",
    "skosxl": "http://www.w3.org/2008/05/skos-xl#", "sosa": "http://www.w3.org/ns/sosa/",
    "ssn": "http://www.w3.org/ns/ssn/", "time": "http://www.w3.org/2006/time#", "unece": "http://unece.org/vocab#",
    "v": "http://rdf.data-vocabulary.org/#", "vann": "http://purl.org/vocab/vann/",
    "vcard": "http://www.w3.org/2006/vcard/ns#", "void": "http://rdfs.org/ns/void#",
    "wdr": "http://www.w3.org/2007/05/powder#", "wdrs": "http://www.w3.org/2007/05/powder-s#",
    "xhv": "http://www.w3.org/1999/xhtml/vocab#", "xml": "http://www.w3.org/XML/1998/namespace",
    "xsd": "http://www.w3.org/2001/XMLSchema#",
}  # fmt: skip
"""The initial context of RDFa 1.1, and the prefixes that the schema.org context adds."""
_MAX_NAME_CHARS = 200
_SCHEMA_ORG_NAME = re.compile(r"(?:https?:)?/*(?:[a-z0-9-]+\.)*schema\.org/+(?:#?)([A-Za-z][\w-]*)/?", re.IGNORECASE)
_SCHEMA_ORG_ROOT = re.compile(
    r"(?:https?:)?/*(?:[a-z0-9-]+\.)*schema\.org(?:/*#?|/+docs/jsonldcontext\.json(?:ld)?|/+version/[\w./-]*)", re.IGNORECASE
)


def is_schema_org(url: str) -> bool:
    """Whether a context, vocabulary or prefix URL means schema.org as a whole."""
    return url == SCHEMA_ORG or (len(url) < _MAX_NAME_CHARS and _is_schema_org(url))


@lru_cache(maxsize=64)
def _is_schema_org(url: str) -> bool:
    return _SCHEMA_ORG_ROOT.fullmatch(url.strip()) is not None


def short_name(url: str) -> str:
    """The short form of a schema.org name; any other name unchanged."""
    return _short_name(url) if len(url) < _MAX_NAME_CHARS else url


@lru_cache(maxsize=512)
def _short_name(url: str) -> str:
    match = _SCHEMA_ORG_NAME.fullmatch(url)
    return match[1] if match is not None else url


def name_in(vocabulary: str, name: str) -> str:
    """A name of a vocabulary, short if that is schema.org."""
    return name.lstrip("/#") if is_schema_org(vocabulary) else short_name(vocabulary + name)


def expand_prefix(name: str, prefixes: dict[str, str]) -> str | None:
    """The name that `prefix:name` means, None if the prefix is unknown."""
    prefix, _, rest = name.partition(":")
    if rest.startswith("//"):
        return short_name(name)
    if (vocabulary := prefixes.get(prefix)) is None and (vocabulary := _PREFIXES.get(prefix.lower())) is None:
        return None
    return name_in(vocabulary, rest)


# Values by the schema.org meaning of their property

_URLS = frozenset({
    "acquireLicensePage", "actionableFeedbackPolicy", "archivedAt", "codeRepository", "contentUrl", "correctionsPolicy",
    "discussionUrl", "diversityPolicy", "documentation", "downloadUrl", "embedUrl", "ethicsPolicy", "hasMap", "image", "images",
    "installUrl", "isBasedOnUrl", "labelDetails", "logo", "mainEntityOfPage", "map", "masthead", "menu", "merchantReturnLink",
    "missionCoveragePrioritiesPolicy", "ownershipFundingInfo", "paymentUrl", "photo", "playerType", "primaryImageOfPage",
    "publishingPrinciples", "relatedLink", "replyToUrl", "sameAs", "schemaVersion", "screenshot", "sdLicense",
    "serviceUrl", "shippingSettingsLink", "significantLink", "speakable", "targetUrl", "termsOfService", "thumbnail",
    "thumbnailUrl", "trackingUrl", "unnamedSourcesPolicy", "url", "usageInfo", "verificationFactCheckingPolicy", "item",
    "license", "isPartOf", "hasPart", "significantLinks", "tourBookingPage", "maps",
})  # fmt: skip
_URLS_OR_WORDS = frozenset({
    "item", "license", "isPartOf", "hasPart", "mainEntityOfPage", "menu", "map", "documentation", "speakable", "playerType",
    "hasMap", "termsOfService", "photo", "maps", "schemaVersion", "labelDetails",
})  # fmt: skip
"""URL properties that often hold plain words."""
_DATES = frozenset({
    "arrivalTime", "availabilityEnds", "availabilityStarts", "birthDate", "bookingTime", "checkinTime", "checkoutTime",
    "commentTime", "contentReferenceTime", "copyrightDate", "coverageEndTime", "coverageStartTime", "dateCreated",
    "dateDeleted", "dateIssued", "dateModified", "datePosted", "datePublished", "dateReceived", "dateRead", "dateSent",
    "dateVehicleFirstRegistered", "deathDate", "departureTime", "dissolutionDate", "doorTime", "endDate", "expectedArrivalFrom",
    "expectedArrivalUntil", "expires", "foundingDate", "jobStartDate", "lastReviewed", "modelDate", "modifiedTime",
    "orderDate", "paymentDueDate", "previousStartDate", "priceValidFrom", "priceValidUntil", "productionDate", "publishedAt",
    "purchaseDate", "releaseDate", "releasedEvent", "scheduledTime", "startDate", "uploadDate", "validFrom", "validThrough",
    "validUntil", "vehicleModelDate", "webCheckinTime",
})  # fmt: skip
_PRICES = frozenset({"price", "lowPrice", "highPrice", "minPrice", "maxPrice", "priceAmount", "totalPrice"})
_NUMBERS = frozenset({
    "bestRating", "commentCount", "interactionCount", "itemCount", "latitude", "longitude",
    "numberOfItems", "numberOfPages", "offerCount", "position", "ratingCount", "ratingValue", "reviewCount", "upvoteCount",
    "userInteractionCount", "answerCount", "downvoteCount", "wordCount", "worstRating", "minValue", "maxValue",
    "maximumAttendeeCapacity", "remainingAttendeeCapacity", "inventoryLevel", "copyrightYear", "episodeNumber", "seasonNumber",
    "numberOfEpisodes", "numberOfSeasons", "numberOfEmployees",
})  # fmt: skip
_ENUMERATIONS = {
    "availability": (
        "BackOrder Discontinued InStock InStoreOnly LimitedAvailability MadeToOrder OnlineOnly OutOfStock PreOrder PreSale "
        "Reserved SoldOut"
    ),
    "itemCondition": "DamagedCondition NewCondition RefurbishedCondition UsedCondition",
    "eventStatus": "EventCancelled EventMovedOnline EventPostponed EventRescheduled EventScheduled",
    "eventAttendanceMode": "MixedEventAttendanceMode OfflineEventAttendanceMode OnlineEventAttendanceMode",
    "dayOfWeek": "Monday Tuesday Wednesday Thursday Friday Saturday Sunday PublicHolidays",
}
_MEMBERS = {name: {member.lower(): member for member in members.split()} for name, members in _ENUMERATIONS.items()}
_MEMBERS["itemCondition"] |= {
    word: f"{name}Condition"
    for name, words in {"New": "new", "Used": "used", "Refurbished": "refurbished renewed", "Damaged": "damaged"}.items()
    for word in words.split()
}
_MEMBERS["availability"] |= {
    "available": "InStock", "unavailable": "OutOfStock", "notinstock": "OutOfStock", "oos": "OutOfStock", "pending": "PreOrder",
    "availablefororder": "BackOrder",
}  # fmt: skip
_SEPARATORS = re.compile(r"[\s_-]+")


def absolute_url(text: str, base: str) -> str:
    """A URL resolved against the page, empty if it is invalid. An absolute URL stays as written."""
    text = text.strip()
    if text.startswith(("https://", "http://")):
        return text[:_MAX_URL_CHARS]
    if text.startswith("_:"):
        return text
    if not text or len(text) > _MAX_URL_CHARS:
        return ""
    if text.startswith("data:"):
        return text if len(text) <= _MAX_DATA_URL_CHARS else ""
    return whatwg(text, base) or ""


def typed_value(name: str, text: str, base: str) -> Any:
    """Parse a text as the value of a property: a URL, a date, a number, a member of an enumeration, or plain text."""
    parse = _PARSERS.get(name)
    if parse is not None:
        return parse(name, text, base)
    if len(text) < 100 and "schema.org/" in text:
        return short_name(text.strip())
    return text if len(text) <= MAX_CHARS else text[:MAX_CHARS]


def _parse_url(name: str, text: str, base: str) -> str:
    text = text.strip()
    if text.startswith(("https://", "http://")):
        return text[:_MAX_URL_CHARS]
    if any(map(str.isspace, text)) or (name in _URLS_OR_WORDS and "/" not in text and "#" not in text):
        return text[:MAX_CHARS]
    return absolute_url(text, base) or text[:_MAX_DATA_URL_CHARS]


def _parse_date(_: str, text: str, __: str) -> str:
    return (iso_date(text) if len(text) <= _MAX_NUMBER_CHARS else "") or text.strip()[:MAX_CHARS]


def _parse_number(_: str, text: str, __: str) -> float | int | str:
    value = parse_number(text)
    return text.strip()[:MAX_CHARS] if value is None else value


def _parse_member(name: str, text: str, _: str) -> str:
    member = short_name(text.strip()).removeprefix("schema:")[:MAX_CHARS]
    return _MEMBERS[name].get(_SEPARATORS.sub("", member).lower(), member) if len(member) < 60 else member


_PARSERS: dict[str, Callable[[str, str, str], Any]] = {
    **dict.fromkeys(_URLS, _parse_url),
    **dict.fromkeys(_DATES, _parse_date),
    **dict.fromkeys(_NUMBERS, _parse_number),
    **dict.fromkeys(_MEMBERS, _parse_member),
}


# Numbers and prices

_AMOUNT = re.compile(r"\d{1,3}(?:[ \u00a0\u202f'\u2019]\d{3})+(?:[.,]\d{1,2})?|\d[\d.,]*")
_GROUP_SEPARATORS = re.compile(r"[ \u00a0\u202f'\u2019]")
_PLAIN_NUMBER = re.compile(r"[-+]?(?:\d{1,15}(?:\.\d{0,15})?|\.\d{1,15})")
_GROUPED = re.compile(r"[-+]?\d{1,3}(?:,\d{3})+(?:\.\d+)?")
_DECIMAL_COMMA = re.compile(r"[-+]?\d{1,12},\d{1,2}")
_CODE = re.compile(r"(?<![A-Z])(?:[A-Z]{3})(?![A-Z])")
_SYMBOLS = {
    "€": "EUR", "£": "GBP", "₹": "INR", "₩": "KRW", "₽": "RUB", "₺": "TRY", "₫": "VND", "₴": "UAH", "₪": "ILS", "₱": "PHP",
    "฿": "THB", "₦": "NGN", "zł": "PLN", "Kč": "CZK", "US$": "USD", "A$": "AUD", "C$": "CAD", "CA$": "CAD", "AU$": "AUD",
    "NZ$": "NZD", "HK$": "HKD", "R$": "BRL", "S$": "SGD",
}  # fmt: skip
_SYMBOLS_LONGEST_FIRST = sorted(_SYMBOLS, key=len, reverse=True)
_CURRENCIES = frozenset({
    "USD", "EUR", "GBP", "JPY", "CNY", "INR", "AUD", "CAD", "CHF", "SEK", "NOK", "DKK", "PLN", "CZK", "HUF", "RON", "BGN",
    "TRY", "RUB", "UAH", "BRL", "MXN", "ARS", "CLP", "COP", "PEN", "ZAR", "NGN", "KES", "EGP", "AED", "SAR", "QAR", "KWD",
    "ILS", "THB", "VND", "IDR", "MYR", "SGD", "PHP", "KRW", "TWD", "HKD", "NZD", "PKR", "BDT", "LKR", "ISK", "HRK",
})  # fmt: skip


def parse_prices(properties: dict[str, Any]) -> None:
    """Turn price texts into numbers. A currency in the text becomes `priceCurrency` where the page does not give one."""
    if _PRICES.isdisjoint(properties):
        return
    for name in _PRICES & properties.keys():
        text = properties[name]
        if isinstance(text, str) and (amount := parse_amount(text)) is not None:
            properties[name] = amount
            if "priceCurrency" not in properties and (code := currency_in(text)):
                properties["priceCurrency"] = code


@lru_cache(maxsize=256)
def _parse_short_number(text: str) -> float | int | None:
    text = text.strip()
    if _GROUPED.fullmatch(text):
        text = text.replace(",", "")
    elif _DECIMAL_COMMA.fullmatch(text):
        text = text.replace(",", ".")
    elif not _PLAIN_NUMBER.fullmatch(text):
        return None
    return float(text) if "." in text else int(text)


def parse_number(text: str) -> float | int | None:
    """Parse a text that is one number: `4.5`, `1,204`, `4,5`. None for any other text."""
    return _parse_short_number(text) if len(text) <= _MAX_NUMBER_CHARS else None


@lru_cache(maxsize=256)
def _parse_short_amount(text: str) -> float | int | None:
    number = parse_number(text)
    if number is not None:
        return number
    amounts = _AMOUNT.findall(text)
    if len(amounts) != 1 or "%" in text:
        return None
    digits = _GROUP_SEPARATORS.sub("", amounts[0]).rstrip(".,")
    comma, dot = digits.rfind(","), digits.rfind(".")
    if comma >= 0 and dot >= 0:
        thousands = "," if dot > comma else "."
        digits = digits.replace(thousands, "").replace(",", ".")
    elif digits.count(".") > 1:
        digits = digits.replace(".", "")
    return parse_number(digits)


def parse_amount(text: str) -> float | int | None:
    """Find the amount in a price: `19.99`, `€ 1.299,00`, `1 299,00 kr`, `USD 5`. None if there is not exactly one."""
    return _parse_short_amount(text) if len(text) <= _MAX_NUMBER_CHARS else None


def currency_in(text: str) -> str:
    """Find the currency code in a price by its code or symbol. A lone `$` is ambiguous and gives none."""
    if len(text) > _MAX_NUMBER_CHARS:
        return ""
    if (code := _CODE.search(text)) is not None and code[0] in _CURRENCIES:
        return code[0]
    return next((_SYMBOLS[symbol] for symbol in _SYMBOLS_LONGEST_FIRST if symbol in text), "")


# Open Graph and Twitter cards

_META_PREFIXES = (
    "og:", "article:", "product:", "twitter:", "book:", "profile:", "music:", "video:", "place:", "business:", "fb:",
)  # fmt: skip
_META_MEDIA = {"image": "ImageObject", "video": "VideoObject", "audio": "AudioObject"}
_VIDEO_FACTS = frozenset({"duration", "release_date", "tag", "actor", "director", "series"})
"""Parts of `video:` that describe the page itself and not one of its videos."""
_META_URLS = frozenset({"url", "secure_url", "twitter:image", "twitter:image:src", "twitter:player", "twitter:url"})
_META_NUMBERS = frozenset({
    "width", "height", "twitter:player:width", "twitter:player:height", "video:duration", "music:duration",
})  # fmt: skip


def opengraph_entity(metas: list[Meta], base: str) -> Entity | None:
    """Read Open Graph and Twitter cards as one entity of the page, None if the page has neither.

    Open Graph names lose their prefix (`title`, `image`), other names keep it (`article:tag`, `twitter:card`). Facts about an
    image, a video or a sound belong to the last one named before (ogp.me, "Structured properties").
    """
    own = [
        (name, content, element) for _, name, content, element in metas if name and content and name.startswith(_META_PREFIXES)
    ]
    if not own:
        return None
    properties: dict[str, Any] = {}
    media: dict[str, list[dict[str, Any]]] = {}
    for prefixed, content, _ in own[:_MAX_OPENGRAPH_VALUES]:
        name = prefixed.removeprefix("og:")
        kind, _, part = name.partition(":")
        if kind in _META_MEDIA and not (kind == "video" and part in _VIDEO_FACTS):
            _add_media_fact(media.setdefault(kind, []), part or "url", _meta_value(part or "url", content, base))
        else:
            add_value(properties, name, _meta_value(name, content, base))
    for kind, items in media.items():
        for item in items:
            add_value(properties, kind, item["url"] if item.keys() == {"url"} else new_entity([_META_MEDIA[kind]], "", item))
    types = properties.get("type")
    types = [name for name in (types if isinstance(types, list) else [types]) if isinstance(name, str)]
    return with_place(new_entity(types, "", properties), "opengraph", dom.css_path(own[0][2]), repaired=False)


def _add_media_fact(items: list[dict[str, Any]], part: str, value: Any) -> None:
    if part == "url" and items and items[-1].keys() == {"url"} and items[-1]["url"] == value:
        return
    # A second URL starts a second image.
    if not items or (part == "url" and "url" in items[-1]):
        items.append({})
    items[-1].setdefault(part, value)


def _meta_value(name: str, content: str, base: str) -> Any:
    value: Any = None
    if name in _META_URLS:
        value = absolute_url(content, base) or None
    elif name in _META_NUMBERS:
        value = parse_number(content.removesuffix("px"))
    elif name.endswith(("_time", "_date")):
        value = iso_date(content) or None
    elif name.endswith("price:amount"):
        value = parse_amount(content)
    return content if value is None else value


# Microdata (HTML standard, "Microdata"), with common mistakes accepted
#
# A `content` attribute counts on every element, as for search engines. A type without `itemscope` makes an item. An item that
# is a property of nothing is a top-level entity. Items may refer to each other in a circle (`itemref`): none then contains
# itself, and none is lost.

_MAX_ELEMENTS = 20_000
_MAX_VALUES = 10_000
_MAX_TEXT_CHARS = 1_000_000
_MAX_DEPTH = 32
_MAX_REFS = 64
_MAX_TYPES = 32
_ATTRIBUTES = ("itemprop", "itemscope", "itemtype")
_URL_ATTRIBUTES = {
    "a": "href", "area": "href", "link": "href", "audio": "src", "embed": "src", "iframe": "src", "img": "src",
    "source": "src", "track": "src", "video": "src", "object": "data",
}  # fmt: skip
_DATA_TYPES = frozenset({"Text", "URL", "Number", "Integer", "Float", "Boolean", "Date", "DateTime", "Time"})


@dataclass(slots=True, eq=False)
class _Group:
    """An item, or an element that an `itemref` names. Its properties are indexes into the elements of the page."""

    element: dom.Element
    is_item: bool
    index: int = -1
    """Index of an item's own element."""
    members: list[int] = field(default_factory=list)
    nested: list[_Group] = field(default_factory=list)
    """Groups below that are not items: their properties belong to this group as well."""
    refs: list[_Group] = field(default_factory=list)


def microdata_entities(tree: dom.Tree, annotated: list[dom.Element], base: str) -> list[Entity]:
    """The top-level items of a page, in page order. `annotated` is what `metadata.ANNOTATED` selects."""
    elements = [element for element in annotated if any(element.attr(name) is not None for name in _ATTRIBUTES)]
    return _ItemReader(elements[:_MAX_ELEMENTS], tree, base).entities()


class _ItemReader:
    """The items of one page, and how much more may be read."""

    __slots__ = ("_base", "_chars", "_elements", "_groups", "_left", "_names", "_nested", "_read")

    def __init__(self, elements: list[dom.Element], tree: dom.Tree, base: str) -> None:
        self._base = base
        self._elements = elements
        self._left = _MAX_VALUES
        self._chars = _MAX_TEXT_CHARS
        self._names = [element.attr("itemprop") for element in elements]
        self._groups = {e: _Group(e, is_item=True, index=index) for index, e in enumerate(elements) if _is_item(e)}
        self._read: set[dom.Element] = set()
        self._nested: set[dom.Element] = set()
        """Elements of items that are a property of another item."""
        self._resolve_refs(tree)
        self._assign_members()

    def _resolve_refs(self, tree: dom.Tree) -> None:
        """Look up the elements that each `itemref` names."""
        refs = [(group, raw.split()[:_MAX_REFS]) for e, group in self._groups.items() if (raw := e.attr("itemref"))]
        if not refs:
            return
        by_id: dict[str, dom.Element] = {}
        for element in dom.select(tree, "[id]"):
            by_id.setdefault(element.attr("id") or "", element)
        for group, ids in refs:
            for identifier in dict.fromkeys(ids):
                if (target := by_id.get(identifier)) is not None:
                    group.refs.append(self._groups.setdefault(target, _Group(target, is_item=False)))

    def _assign_members(self) -> None:
        """Give every property to the nearest group around it. Elements in between are visited once, however deep the page."""
        owners: dict[dom.Element, _Group | None] = {}
        for index, (element, name) in enumerate(zip(self._elements, self._names, strict=True)):
            if name:
                own = self._groups.get(element)
                if own is not None and not own.is_item:
                    own.members.append(index)
                elif (owner := self._owner(element, owners)) is not None:
                    owner.members.append(index)
                    if own is not None:
                        self._nested.add(element)
        for group in list(self._groups.values()):
            if not group.is_item and (owner := self._owner(group.element, owners)) is not None:
                owner.nested.append(group)

    def _owner(self, element: dom.Element, owners: dict[dom.Element, _Group | None]) -> _Group | None:
        """The nearest group above an element. `owners` caches the answer for every element on the way."""
        passed: list[dom.Element] = []
        owner: _Group | None = None
        at: dom.Element | None = element
        while at is not None:
            if at in owners:
                owner = owners[at]
                break
            passed.append(at)
            at = dom.as_element(at.parent)
            if at is not None and (group := self._groups.get(at)) is not None:
                owner = group
                break
        for each in passed:
            owners[each] = owner
        return owner

    def entities(self) -> list[Entity]:
        """Items that are no property first; then items that were not reached from these (in a circle, or too deep)."""
        items = [group for group in self._groups.values() if group.is_item]
        for item in items:
            for group in item.refs:
                self._mark_nested(group)
        entities = [self._top_level(group) for group in items if group.element not in self._nested]
        entities += [
            self._top_level(group) for group in items if group.element in self._nested and group.element not in self._read
        ]
        return [entity for entity in entities if entity["types"] or entity["properties"] or entity["id"]]

    def _mark_nested(self, group: _Group) -> None:
        if group.is_item:
            if group.element.attr("itemprop"):
                self._nested.add(group.element)
            return
        self._nested.update(self._elements[index] for index in group.members if self._elements[index] in self._groups)

    def _top_level(self, group: _Group) -> Entity:
        entity = self._entity(group, [])
        if self._left <= 0:
            entity["truncated"] = True
        repaired = group.element.attr("itemscope") is None
        return with_place(entity, "microdata", dom.css_path(group.element), repaired=repaired)

    def _entity(self, group: _Group, path: list[_Group]) -> Entity:
        element = group.element
        self._read.add(element)
        properties: dict[str, Any] = {}
        path.append(group)
        for index in self._members(group):
            if self._left <= 0:
                break
            self._put(properties, index, path)
        path.pop()
        types = list(dict.fromkeys(map(short_name, (element.attr("itemtype") or "").split()[:_MAX_TYPES])))
        return new_entity(types, absolute_url(element.attr("itemid") or "", self._base), properties)

    def _members(self, group: _Group) -> list[int]:
        """The properties of an item in page order: those below it, and below the elements it refers to."""
        if not group.refs and not group.nested:
            return group.members
        members = set(group.members)
        visited = {group}
        todo = [*group.refs, *group.nested]
        while todo:
            other = todo.pop()
            if other in visited:
                continue
            visited.add(other)
            if other.is_item:
                if other.element.attr("itemprop"):
                    members.add(other.index)
            else:
                members.update(other.members)
                todo += other.nested
        return sorted(members)

    def _put(self, properties: dict[str, Any], index: int, path: list[_Group]) -> None:
        names = [short_name(name) for name in (self._names[index] or "").split()[:8]]
        element = self._elements[index]
        group = self._groups.get(element)
        self._left -= 1
        if group is None or not group.is_item:
            self._put_text(properties, names, self._text(element))
            return
        if group in path or len(path) >= _MAX_DEPTH:
            return
        inner = self._entity(group, path)
        if not inner["properties"] and element.attr("itemscope") is None:
            text = self._text(element)
            if not set(inner["types"]) - _DATA_TYPES:
                self._put_text(properties, names, text)
                return
            inner["properties"] = {"name": text} if text else {}
        add_value(properties, names[0], inner)
        for name in names[1:]:
            # Nested items with two names each would double at every level, so only the first name gets the whole item.
            add_value(properties, name, inner if _is_flat(inner) else new_entity(inner["types"], inner.get("id", ""), {}))

    def _put_text(self, properties: dict[str, Any], names: list[str], text: str) -> None:
        for name in names:
            add_value(properties, name, typed_value(name, text, self._base))

    def _text(self, element: dom.Element) -> str:
        """The value of a property by its element (HTML standard, "Values: the content attribute, …")."""
        tag, content = element.tag, element.attr("content")
        if content is not None:
            return content.strip()
        if tag in _URL_ATTRIBUTES:
            url = element.attr(_URL_ATTRIBUTES[tag]) or (element.attr("data-src") if tag == "img" else "") or ""
            return absolute_url(url, self._base)
        if tag in VALUE_ATTRIBUTES and (value := element.attr(VALUE_ATTRIBUTES[tag])) is not None:
            return value.strip()
        # Texts can be nested, and then each holds all texts below it.
        if tag == "meta" or self._chars <= 0:
            return ""
        text = dom.one_line_text(element)[:MAX_ELEMENT_CHARS]
        self._chars -= len(text)
        return text


def _is_flat(entity: Entity) -> bool:
    return not any(isinstance(value, dict | list) for value in entity["properties"].values())


def _is_item(element: dom.Element) -> bool:
    return element.attr("itemscope") is not None or bool(element.attr("itemtype"))
