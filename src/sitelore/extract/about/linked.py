"""What the page's JSON-LD says of the page itself: dates, author, publisher, picture.

Only the page's own nodes are read: articles, products and web pages at the top, in `@graph`, or as `mainEntity`; never
those of its comments, reviews or related items. `jsonld` has parsed the scripts.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from sitelore.extract.about.dates import iso_date

_MAX_SCRIPTS = 12
_MAX_NODES = 400
_MAX_NAMES = 8
_INNER = ("@graph", "mainEntity", "mainEntityOfPage")
_PAGES = frozenset({"webpage", "itempage", "aboutpage", "faqpage", "qapage", "profilepage", "collectionpage", "medicalwebpage"})
_SITE = frozenset({"website", "organization", "newsmediaorganization", "corporation", "localbusiness"})
_OTHERS = frozenset({"breadcrumblist", "listitem", "imageobject", "person", "searchaction", "itemlist", "offer", "brand"})


@dataclass(frozen=True, slots=True)
class Linked:
    """The page's own account in JSON-LD; empty where it has none."""

    published: str = ""
    modified: str = ""
    author: str = ""
    site_name: str = ""
    image: str = ""


NOTHING = Linked()


def read_linked(values: list[Any]) -> Linked:
    """What all JSON-LD of a page says, the most telling node first. `values` are its scripts, parsed."""
    nodes = _nodes(values)
    if not nodes:
        return NOTHING
    by_id = {node["@id"]: node for node in reversed(nodes) if isinstance(node.get("@id"), str)}
    own = sorted((node for node in nodes if _rank(node) < 2), key=_rank)
    site = next((name for node in nodes if _rank(node) == 2 and (name := _text(node.get("name")))), "")
    return Linked(
        published=_first(iso_date(_text(node.get("datePublished"))) for node in own),
        modified=_first(iso_date(_text(node.get("dateModified"))) for node in own),
        author=_first(_names(node.get("author"), by_id) for node in own),
        site_name=_first(_names(node.get("publisher"), by_id) for node in own) or site,
        image=_first(_address(node.get("image"), by_id) for node in own),
    )


def _nodes(values: list[Any]) -> list[dict[str, Any]]:
    """The nodes that may speak of the page, in the order they are written."""
    nodes: list[dict[str, Any]] = []
    todo = values[_MAX_SCRIPTS - 1 :: -1] if len(values) > _MAX_SCRIPTS else values[::-1]
    while todo and len(nodes) < _MAX_NODES:
        value = todo.pop()
        if isinstance(value, list):
            todo.extend(reversed(value[:_MAX_NODES]))
        elif isinstance(value, dict):
            nodes.append(value)
            todo.extend(value[key] for key in reversed(_INNER) if key in value)
    return nodes


def _rank(node: dict[str, Any]) -> int:
    """0: the thing the page is about. 1: the page. 2: the site. 3: something else."""
    said = node.get("@type")
    types = [said] if isinstance(said, str) else said if isinstance(said, list) else []
    kinds = {kind.rpartition("/")[2].lower() for kind in types if isinstance(kind, str)}
    if not kinds or kinds & _OTHERS:
        return 3
    if kinds & _PAGES:
        return 1
    return 2 if kinds & _SITE else 0


def _first(values: Iterable[str]) -> str:
    return next(filter(None, values), "")


def _text(value: Any) -> str:
    """A string, or the `@value` of one."""
    if isinstance(value, list):
        value = value[0] if value else ""
    if isinstance(value, dict):
        value = value.get("@value", "")
    return " ".join(value.split()) if isinstance(value, str) else ""


def _names(value: Any, by_id: dict[str, dict[str, Any]]) -> str:
    """Who is named: a string, a thing with a name, a reference to one, or several of these."""
    names = [_name(one, by_id) for one in (value if isinstance(value, list) else [value])[:_MAX_NAMES]]
    return ", ".join(dict.fromkeys(filter(None, names)))


def _name(value: Any, by_id: dict[str, dict[str, Any]]) -> str:
    if isinstance(value, dict):
        known = by_id.get(value["@id"], value) if "name" not in value and isinstance(value.get("@id"), str) else value
        return _text(known.get("name"))
    return _text(value)


def _address(value: Any, by_id: dict[str, dict[str, Any]]) -> str:
    if isinstance(value, list):
        value = value[0] if value else ""
    if isinstance(value, dict):
        known = by_id.get(value["@id"], value) if isinstance(value.get("@id"), str) else value
        return _text(known.get("url") or known.get("contentUrl"))
    return _text(value)
