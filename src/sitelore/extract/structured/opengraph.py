"""Open Graph and Twitter cards → one entity of the page.

Names of Open Graph lose their prefix (`title`, `image`), all others keep theirs (`article:tag`, `product:price:amount`,
`twitter:card`). What is said of a picture, a video or a sound belongs to the last one named (ogp.me, "Structured
properties").
"""

from __future__ import annotations

from typing import Any

from sitelore.extract import dom
from sitelore.extract.metadata.dates import iso_date
from sitelore.extract.metadata.page_facts import Meta
from sitelore.extract.structured.entities import Entity, absolute, add, amount, entity, number, with_place

_PREFIXES = ("og:", "article:", "product:", "twitter:", "book:", "profile:", "music:", "video:", "place:", "business:", "fb:")
_MEDIA = {"image": "ImageObject", "video": "VideoObject", "audio": "AudioObject"}
_ADDRESSES = frozenset({"url", "secure_url", "twitter:image", "twitter:image:src", "twitter:player", "twitter:url"})
_NUMBERS = frozenset({"width", "height", "twitter:player:width", "twitter:player:height", "video:duration", "music:duration"})
_MAX_VALUES = 256


def opengraph_entities(metas: list[Meta], base: str) -> list[Entity]:
    """What `meta` elements say of the page; nothing when none of them does."""
    reader = _Reader(base)
    left = _MAX_VALUES
    for _, name, content, element in metas:
        if name and content and name.startswith(_PREFIXES):
            reader.take(name, content, element)
            left -= 1
            if not left:
                break
    return reader.entities()


class _Reader:
    __slots__ = ("_base", "_first", "_media", "_properties")

    def __init__(self, base: str) -> None:
        self._base = base
        self._first: dom.Element | None = None
        self._properties: dict[str, Any] = {}
        self._media: dict[str, list[dict[str, Any]]] = {}

    def take(self, name: str, content: str, element: dom.Element) -> None:
        """One `meta` element."""
        if self._first is None:
            self._first = element
        name = name.removeprefix("og:")
        kind, _, part = name.partition(":")
        if kind in _MEDIA and not (
            kind == "video" and part in {"duration", "release_date", "tag", "actor", "director", "series"}
        ):
            self._take_media(kind, part or "url", content)
        else:
            add(self._properties, name, self._value(name, content))

    def _take_media(self, kind: str, part: str, content: str) -> None:
        said = self._media.setdefault(kind, [])
        value = self._value(part, content)
        if part == "url" and said and said[-1].keys() == {"url"} and said[-1]["url"] == value:
            return
        # A second address of the same kind is a second picture.
        if not said or (part == "url" and "url" in said[-1]):
            said.append({})
        said[-1].setdefault(part, value)

    def _value(self, name: str, content: str) -> Any:
        if name in _ADDRESSES:
            return absolute(content, self._base) or content
        if name in _NUMBERS:
            plain = number(content.removesuffix("px"))
            return content if plain is None else plain
        if name.endswith(("_time", "_date")):
            return iso_date(content) or content
        if name.endswith("price:amount"):
            plain = amount(content)
            return content if plain is None else plain
        return content

    def entities(self) -> list[Entity]:
        """The page as it presents itself."""
        if self._first is None:
            return []
        properties = self._properties
        for kind, all_of in self._media.items():
            for said in all_of:
                value = said["url"] if said.keys() == {"url"} else entity([_MEDIA[kind]], "", said)
                add(properties, kind, value)
        said_types = properties.get("type")
        types = [one for one in (said_types if isinstance(said_types, list) else [said_types]) if isinstance(one, str)]
        return [with_place(entity(types, "", properties), "opengraph", dom.place(self._first), repaired=False)]
