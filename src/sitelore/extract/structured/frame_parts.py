"""Parts that many frames share: offers, ratings, places, lists in their order, questions, steps, what a job pays."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sitelore.extract.structured.frame_values import (
    MAX_LISTED,
    Frame,
    Properties,
    address,
    address_of,
    all_of,
    figure,
    inner_of,
    one_of,
    plain,
    spoken,
    text,
    texts,
)  # fmt: skip


def offers(properties: Properties, sources: tuple[str, ...]) -> list[dict[str, Any]]:
    """All offers, those within a range of them too."""
    found: list[dict[str, Any]] = []
    for value in all_of(properties, sources):
        if not (inner := inner_of(value)):
            continue
        made = OFFER.read(inner)
        if made:
            found.append(made)
        if "offers" in inner and len(found) < MAX_LISTED:
            found += [one for one in (OFFER.read(inner_of(each)) for each in all_of(inner, ("offers",))) if one]
    return found


def _price(properties: Properties, sources: tuple[str, ...]) -> float | int | None:
    price = figure(properties, sources[:1])
    for each in () if price is not None else all_of(properties, sources[1:]):
        price = figure(inner_of(each), ("price", "minPrice"))
        if price is not None:
            break
    return price


def _currency(properties: Properties, sources: tuple[str, ...]) -> str:
    said = text(properties, sources[:1])
    for each in () if said else all_of(properties, sources[1:]):
        said = said or text(inner_of(each), sources[:1])
    return said.upper() if len(said) == 3 else said


def rating(properties: Properties, sources: tuple[str, ...]) -> dict[str, Any]:
    """A rating with its scale and how many gave it."""
    for value in all_of(properties, sources):
        if found := RATING.read(inner_of(value)):
            return found
        alone = figure({"value": value}, ("value",))
        if alone is not None:
            return {"value": alone}
    return {}


def reviews(properties: Properties, sources: tuple[str, ...]) -> list[dict[str, Any]]:
    """Reviews, each with its author and rating."""
    return [one for each in all_of(properties, sources) if (one := REVIEW.read(inner_of(each)))]


def place(properties: Properties, sources: tuple[str, ...]) -> dict[str, Any]:
    """Where something is."""
    for value in all_of(properties, sources):
        inner = inner_of(value)
        if found := PLACE.read(inner) if inner else {}:
            if "address" not in found and (own := _postal(value)):
                found["address"] = own
            return found
        if said := spoken(value):
            return {"name": said}
    return {}


def places(properties: Properties, sources: tuple[str, ...]) -> list[dict[str, Any]]:
    """The same for several."""
    return [found for value in all_of(properties, sources) if (found := place({"at": value}, ("at",)))]


def postal(properties: Properties, sources: tuple[str, ...]) -> dict[str, Any]:
    """A postal address in its parts."""
    return next(filter(None, map(_postal, all_of(properties, sources))), {})


def _postal(value: Any) -> dict[str, Any]:
    if found := POSTAL.read(inner_of(value)):
        return found
    return {"text": said} if isinstance(value, str) and (said := spoken(value)) else {}


def geo(properties: Properties, sources: tuple[str, ...]) -> dict[str, Any]:
    """A point on earth."""
    own = [*map(inner_of, all_of(properties, sources[:1])), properties]
    return next(filter(None, (GEO.read(one) for one in own)), {})


def _in_order(values: list[Any]) -> Iterator[tuple[int | float, Any]]:
    """Items with their positions: as they say themselves, else as they come."""
    numbered = []
    for at, value in enumerate(values, 1):
        said = inner_of(value).get("position")
        numbered.append((said if isinstance(said, int | float) and not isinstance(said, bool) else at, value))
    return iter(sorted(numbered, key=lambda pair: pair[0]))


def listed(properties: Properties, sources: tuple[str, ...]) -> list[dict[str, Any]]:
    """Items of a list in their order, each with name and address."""
    found = []
    for position, value in _in_order(all_of(properties, sources)):
        inner = inner_of(value)
        target = one_of(inner.get("item"))
        name = text(inner, ("name",)) or (spoken(target) if isinstance(target, dict) else "") or text(inner, ("headline",))
        where = address_of(target) or address(inner, ("url",)) or address_of(value)
        if not inner and isinstance(value, str):
            is_address = value.startswith(("http://", "https://"))
            name, where = ("", value) if is_address else (spoken(value), "")
        made = {"position": position, "name": name, "url": where}
        if name or where:
            found.append({key: said for key, said in made.items() if said != ""})
    return found


def questions(properties: Properties, sources: tuple[str, ...]) -> list[dict[str, str]]:
    """Questions with their answers."""
    found = []
    for value in all_of(properties, sources):
        inner = inner_of(value)
        question = text(inner, ("name", "headline", "text"))
        answer = next(filter(None, map(_answer, all_of(inner, ("acceptedAnswer", "suggestedAnswer")))), "")
        if question:
            found.append({"question": question, "answer": answer})
    return found


def _answer(value: Any) -> str:
    return text(inner_of(value), ("text", "name", "description")) or spoken(value)


def steps(properties: Properties, sources: tuple[str, ...]) -> list[str]:
    """Steps in their order; sections are opened, a step that only has a name is its name."""
    found: list[str] = []
    todo = list(reversed([value for _, value in _in_order(all_of(properties, sources))]))
    while todo and len(found) < MAX_LISTED:
        value = todo.pop()
        inner = inner_of(value)
        below = all_of(inner, ("itemListElement", "steps", "step"))
        own = text(inner, ("text", "name", "description"))
        if below and not text(inner, ("text",)):
            todo += reversed([one for _, one in _in_order(below)])
        elif own or (own := spoken(value)):
            found.append(own)
    return found


def own_question(properties: Properties, _: tuple[str, ...]) -> list[dict[str, str]]:
    """The same for an entity that is a question itself."""
    return questions({"own": {"properties": properties}}, ("own",))


def contacts(properties: Properties, sources: tuple[str, ...]) -> list[dict[str, Any]]:
    """Whom to turn to for what."""
    return [one for value in all_of(properties, sources) if (one := CONTACT.read(inner_of(value)))]


def crumbs(properties: Properties, sources: tuple[str, ...]) -> list[dict[str, Any]]:
    """The breadcrumbs of a page, in their order."""
    return [one for value in all_of(properties, sources) for one in listed(inner_of(value), ("itemListElement",))]


def calories(properties: Properties, sources: tuple[str, ...]) -> str:
    """What a portion holds."""
    return next((text(inner_of(value), ("calories",)) for value in all_of(properties, sources)), "")


def salary(properties: Properties, sources: tuple[str, ...]) -> dict[str, Any]:
    """What a job pays: currency, from, to, per what."""
    for value in all_of(properties, sources):
        inner = inner_of(value)
        amounts = inner_of(one_of(inner.get("value"))) or inner
        found = AMOUNTS.read(amounts)
        if currency := text(inner, ("currency", "priceCurrency")) or text(properties, ("salaryCurrency",)):
            found["currency"] = currency
        if found:
            return found
        if (alone := figure({"value": value}, ("value",))) is not None:
            return {"value": alone}
    return {}


def hours(properties: Properties, sources: tuple[str, ...]) -> list[str]:
    """When something is open: `Mo-Fr 09:00-17:00`, or days and hours put together."""
    found = texts(properties, sources[:1])
    for value in all_of(properties, sources[1:]):
        inner = inner_of(value)
        days = " ".join(texts(inner, ("dayOfWeek",)))
        span = "-".join(filter(None, (text(inner, ("opens",)), text(inner, ("closes",)))))
        if said := " ".join(filter(None, (days, span))):
            found.append(said)
    return found


def search_address(properties: Properties, sources: tuple[str, ...]) -> str:
    """The address that searches a site, with a place for the words."""
    for value in all_of(properties, sources):
        target = one_of(inner_of(value).get("target"))
        if isinstance(target, str):
            return target
        if said := text(inner_of(target), ("urlTemplate",)) or address_of(target):
            return said
    return ""


WHERE = ("geo", "latitude", "longitude")

OFFER = Frame(
    plain("price", "price", "priceSpecification", by=_price),
    plain("low_price", "lowPrice", by=figure),
    plain("high_price", "highPrice", by=figure),
    plain("currency", "priceCurrency", "priceSpecification", by=_currency),
    plain("availability"),
    plain("condition", "itemCondition"),
    plain("count", "offerCount", by=figure),
    plain("name"),
    plain("sku"),
    plain("seller", "seller", "offeredBy"),
    plain("url", by=address),
    plain("valid_from", "validFrom", "availabilityStarts"),
    plain("valid_until", "priceValidUntil", "validThrough", "availabilityEnds"),
)
RATING = Frame(
    plain("value", "ratingValue", by=figure),
    plain("best", "bestRating", by=figure),
    plain("worst", "worstRating", by=figure),
    plain("count", "ratingCount", by=figure),
    plain("reviews", "reviewCount", by=figure),
)
REVIEW = Frame(
    plain("name", "name", "headline"),
    plain("item", "itemReviewed"),
    plain("author"),
    plain("rating", "reviewRating", by=rating),
    plain("body", "reviewBody", "description", "text"),
    plain("published", "datePublished", "dateCreated"),
    plain("url", by=address),
)
GEO = Frame(plain("latitude", by=figure), plain("longitude", by=figure))
POSTAL = Frame(
    plain("street", "streetAddress"),
    plain("box", "postOfficeBoxNumber"),
    plain("locality", "addressLocality"),
    plain("region", "addressRegion"),
    plain("postal_code", "postalCode"),
    plain("country", "addressCountry"),
)
PLACE = Frame(
    plain("name"),
    plain("address", by=postal),
    plain("geo", *WHERE, by=geo),
    plain("url", by=address),
    plain("telephone"),
)
AMOUNTS = Frame(
    plain("value", by=figure),
    plain("min", "minValue", by=figure),
    plain("max", "maxValue", by=figure),
    plain("unit", "unitText", "unitCode"),
)
CONTACT = Frame(
    plain("kind", "contactType"),
    plain("telephone"),
    plain("email"),
    plain("url", by=address),
    plain("area", "areaServed", by=texts),
)
