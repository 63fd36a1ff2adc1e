"""The one form that all structured data of a page comes to, and the values in it put right.

An entity is plain data that goes into JSON: its types, its id, its properties. A property with one value is that value, one
with several is a list. A value is text, a number, a truth, an entity within this one, a reference (`{"id": …}`), or text in
a language (`{"value": …, "language": …}`). Where it came from (`source`, `at`, `repaired`) only the outermost ones say.

What a property of schema.org means decides how its text is read: addresses become absolute, dates ISO 8601, prices and
ratings numbers, members of enumerations their short names. Text that cannot be read so stays what it was.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any, TypeAlias

from sitelore.extract.metadata.dates import iso_date
from sitelore.extract.structured.vocabularies import short
from sitelore.model.url import whatwg

Entity: TypeAlias = dict[str, Any]

MAX_CHARS = 100_000
"""Of one text."""
MAX_SHOWN_CHARS = 20_000
"""Of a text that stands on the page as well: a whole article is marked up as one value, and the page has it already."""
_MAX_URL_CHARS = 8192
_MAX_DATA_URL_CHARS = 512
_MAX_NUMBER_CHARS = 64

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
_SHY_URLS = frozenset({
    "item", "license", "isPartOf", "hasPart", "mainEntityOfPage", "menu", "map", "documentation", "speakable", "playerType",
    "hasMap", "termsOfService", "photo", "maps", "schemaVersion", "labelDetails",
})  # fmt: skip
"""Those that hold words as often as addresses."""
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
_NOT_A_LETTER = re.compile(r"[\s_-]+")

_AMOUNT = re.compile(r"\d{1,3}(?:[ \u00a0\u202f'\u2019]\d{3})+(?:[.,]\d{1,2})?|\d[\d.,]*")
_PLAIN_NUMBER = re.compile(r"[-+]?(?:\d{1,15}(?:\.\d{0,15})?|\.\d{1,15})")
_GROUPED = re.compile(r"[-+]?\d{1,3}(?:,\d{3})+(?:\.\d+)?")
_DECIMAL_COMMA = re.compile(r"[-+]?\d{1,12},\d{1,2}")
_CODE = re.compile(r"(?<![A-Z])(?:[A-Z]{3})(?![A-Z])")
_SYMBOLS = {
    "€": "EUR", "£": "GBP", "₹": "INR", "₩": "KRW", "₽": "RUB", "₺": "TRY", "₫": "VND", "₴": "UAH", "₪": "ILS", "₱": "PHP",
    "฿": "THB", "₦": "NGN", "zł": "PLN", "Kč": "CZK", "US$": "USD", "A$": "AUD", "C$": "CAD", "CA$": "CAD", "AU$": "AUD",
    "NZ$": "NZD", "HK$": "HKD", "R$": "BRL", "S$": "SGD",
}  # fmt: skip
_BY_LENGTH = sorted(_SYMBOLS, key=len, reverse=True)
_CURRENCIES = frozenset(
    [
        "USD",
        "EUR",
        "GBP",
        "JPY",
        "CNY",
        "INR",
        "AUD",
        "CAD",
        "CHF",
        "SEK",
        "NOK",
        "DKK",
        "PLN",
        "CZK",
        "HUF",
        "RON",
        "BGN",
        "TRY",
        "RUB",
        "UAH",
        "BRL",
        "MXN",
        "ARS",
        "CLP",
        "COP",
        "PEN",
        "ZAR",
        "NGN",
        "KES",
        "EGP",
        "AED",
        "SAR",
        "QAR",
        "KWD",
        "ILS",
        "THB",
        "VND",
        "IDR",
        "MYR",
        "SGD",
        "PHP",
        "KRW",
        "TWD",
        "HKD",
        "NZD",
        "PKR",
        "BDT",
        "LKR",
        "ISK",
        "HRK",
    ]
)


def entity(types: list[str], identifier: str, properties: dict[str, Any]) -> Entity:
    """An entity within another one: no place, and no id where it has none."""
    if identifier:
        return {"types": types, "id": identifier, "properties": properties}
    return {"types": types, "properties": properties}


def with_place(found: Entity, source: str, at: str, *, repaired: bool) -> Entity:
    """An entity that stands on its own, and where it was found."""
    return {
        "types": found["types"],
        "id": found.get("id", ""),
        "properties": found["properties"],
        **{name: found[name] for name in ("reverse", "frame", "truncated") if name in found},
        "source": source,
        "at": at,
        "repaired": repaired,
    }


def add(properties: dict[str, Any], name: str, value: Any) -> None:
    """Give a property one value more. What is there already is not added again."""
    known = properties.get(name)
    if known is None:
        properties[name] = value
    elif isinstance(known, list):
        if len(known) > 64 or value not in known:
            known.append(value)
    elif known != value:
        properties[name] = [known, value]


def type_names(said: str) -> list[str]:
    """The types in an attribute, each once, in order."""
    return list(dict.fromkeys(map(short, said.split()[:32])))


def absolute(text: str, base: str) -> str:
    """An address as the page means it, empty when it is none; what is absolute already is left as it is written."""
    text = text.strip()
    if text.startswith(("https://", "http://")):
        return text[:_MAX_URL_CHARS]
    if not text or len(text) > _MAX_URL_CHARS or text.startswith("_:"):
        return text if text.startswith("_:") else ""
    if text.startswith("data:"):
        return text if len(text) <= _MAX_DATA_URL_CHARS else ""
    return whatwg(text, base) or ""


def value_of(name: str, text: str, base: str) -> Any:
    """What a text means as the value of a property: text, an address, a date, a number, a member of an enumeration."""
    read = _READERS.get(name)
    if read is not None:
        return read(name, text, base)
    if len(text) < 100 and "schema.org/" in text:
        return short(text.strip())
    return text if len(text) <= MAX_CHARS else text[:MAX_CHARS]


def _url(name: str, text: str, base: str) -> str:
    text = text.strip()
    if text.startswith(("https://", "http://")):
        return text[:_MAX_URL_CHARS]
    if any(map(str.isspace, text)) or (name in _SHY_URLS and "/" not in text and "#" not in text):
        return text[:MAX_CHARS]
    return absolute(text, base) or text[:_MAX_DATA_URL_CHARS]


def _date(_: str, text: str, __: str) -> str:
    return (iso_date(text) if len(text) <= _MAX_NUMBER_CHARS else "") or text.strip()[:MAX_CHARS]


def _number(_: str, text: str, __: str) -> float | int | str:
    found = number(text)
    return text.strip()[:MAX_CHARS] if found is None else found


def _member(name: str, text: str, _: str) -> str:
    said = short(text.strip()).removeprefix("schema:")[:MAX_CHARS]
    return _MEMBERS[name].get(_NOT_A_LETTER.sub("", said).lower(), said) if len(said) < 60 else said


_Reader: TypeAlias = Callable[[str, str, str], Any]
_READERS: dict[str, _Reader] = {
    **dict.fromkeys(_URLS, _url),
    **dict.fromkeys(_DATES, _date),
    **dict.fromkeys(_NUMBERS, _number),
    **dict.fromkeys(_MEMBERS, _member),
}


def settle(properties: dict[str, Any]) -> None:
    """Prices become numbers; a currency that stands in one is kept where nothing else says it."""
    if _PRICES.isdisjoint(properties):
        return
    for name in _PRICES & properties.keys():
        said = properties[name]
        if isinstance(said, str) and (found := amount(said)) is not None:
            properties[name] = found
            if "priceCurrency" not in properties and (code := currency(said)):
                properties["priceCurrency"] = code


def number(text: str) -> float | int | None:
    """A number that is written alone: `4.5`, `1,204`, `4,5`. None when it is none, or could be two."""
    return _number_in(text) if len(text) <= _MAX_NUMBER_CHARS else None


@lru_cache(maxsize=256)
def _number_in(text: str) -> float | int | None:
    text = text.strip()
    if _GROUPED.fullmatch(text):
        text = text.replace(",", "")
    elif _DECIMAL_COMMA.fullmatch(text):
        text = text.replace(",", ".")
    elif not _PLAIN_NUMBER.fullmatch(text):
        return None
    return float(text) if "." in text else int(text)


def amount(text: str) -> float | int | None:
    """The amount in a price: `19.99`, `€ 1.299,00`, `1 299,00 kr`, `USD 5`. None when there is none, or more than one."""
    return _amount_in(text) if len(text) <= _MAX_NUMBER_CHARS else None


@lru_cache(maxsize=256)
def _amount_in(text: str) -> float | int | None:
    plain = number(text)
    if plain is not None:
        return plain
    found = _AMOUNT.findall(text)
    if len(found) != 1 or "%" in text:
        return None
    digits = re.sub(r"[ \u00a0\u202f'\u2019]", "", found[0]).rstrip(".,")
    comma, dot = digits.rfind(","), digits.rfind(".")
    if comma >= 0 and dot >= 0:
        thousands = "," if dot > comma else "."
        digits = digits.replace(thousands, "").replace(",", ".")
    elif digits.count(".") > 1:
        digits = digits.replace(".", "")
    return number(digits)


def currency(text: str) -> str:
    """The currency in a price, where its sign or code says which one: a lone `$` is many."""
    if len(text) > _MAX_NUMBER_CHARS:
        return ""
    if (code := _CODE.search(text)) is not None and code[0] in _CURRENCIES:
        return code[0]
    return next((_SYMBOLS[sign] for sign in _BY_LENGTH if sign in text), "")
