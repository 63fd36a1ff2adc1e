"""Derives the metadata of a page: title, description, language, dates, author, canonical URL, robots directives.

Where several places give a value, what was written for machines comes before the visible page, and the path of the URL comes
last. Of JSON-LD only the nodes about the page count: articles, products and web pages at the top, in `@graph`, or as
`mainEntity`; never those of comments, reviews or related items.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from sitelore.extract.metadata.dates import date_in_path, iso_date
from sitelore.extract.metadata.page_facts import NO_OUTLINE, Outline, PageElements
from sitelore.extract.structured.jsonld import Script
from sitelore.model.response import Response
from sitelore.model.url import KeyRules, Url

_AGENT = "sitelore"
_ROBOTS_NAMES = frozenset({"robots", _AGENT})
_VALUED_DIRECTIVES = frozenset({"unavailable_after", "max-snippet", "max-image-preview", "max-video-preview"})
_KEPT_PREFIXES = ("og:", "article:", "book:", "profile:", "product:", "twitter:", "dc.", "dcterms.", "citation_")
_KEPT_NAMES = frozenset({
    "author", "keywords", "date", "pubdate", "publish_date", "last-modified", "revised", "generator", "application-name",
    "subject", "category", "copyright", "news_keywords", "section", "parsely-pub-date", "parsely-author", "theme-color",
})  # fmt: skip
_PUBLISHED = (
    "article:published_time", "og:article:published_time", "article:published", "datepublished", "date.published",
    "parsely-pub-date", "citation_publication_date", "citation_date", "dc.date.issued", "dcterms.issued", "dcterms.created",
    "dc.date.created", "publish_date", "publishdate", "publication_date", "pubdate", "sailthru.date", "article.published",
    "published-date", "dc.date", "dcterms.date", "date",
)  # fmt: skip
_MODIFIED = (
    "article:modified_time", "og:article:modified_time", "article:modified", "datemodified", "og:updated_time",
    "dcterms.modified", "dc.date.modified", "last-modified", "article.updated", "revised",
)  # fmt: skip
_AUTHOR = (
    "author", "article:author", "og:article:author", "parsely-author", "dc.creator", "dcterms.creator", "citation_author",
    "sailthru.author", "byl",
)  # fmt: skip
_IMAGE = ("og:image", "og:image:url", "og:image:secure_url", "twitter:image", "twitter:image:src", "image", "thumbnail")
_SITE_NAME = ("og:site_name", "application-name", "apple-mobile-web-app-title")

_MAX_SCRIPTS = 12
_MAX_NODES = 400
_MAX_NAMES = 8
_INNER = ("@graph", "mainEntity", "mainEntityOfPage")
_PAGES = frozenset({"webpage", "itempage", "aboutpage", "faqpage", "qapage", "profilepage", "collectionpage", "medicalwebpage"})
_SITE = frozenset({"website", "organization", "newsmediaorganization", "corporation", "localbusiness"})
_OTHERS = frozenset({"breadcrumblist", "listitem", "imageobject", "person", "searchaction", "itemlist", "offer", "brand"})

_MAX_META = 64
_MAX_KEY_CHARS = 80
_MAX_TITLE_CHARS = 1000
_MAX_NAME_CHARS = 300
_ADDRESS = re.compile(r"https?:|www\.|//|@\w", re.IGNORECASE)
_BY = re.compile(r"(?:(?:written|posted|published)\s+)?by:?\s+", re.IGNORECASE)
_LANG = re.compile(r"[A-Za-z]{2,3}(?:[-_][A-Za-z0-9]{2,8}){0,3}$")
_LINK_HEADER = re.compile(r"<([^<>]*)>([^<]*)")  # without "<" inside: a header of nothing else would take quadratic time
_REL = re.compile(r";\s*rel\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|([^\s;,]+))", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Robots:
    """The robots directives of a page, of its head and its headers together."""

    noindex: bool = False
    nofollow: bool = False
    noarchive: bool = False


_NO_ROBOTS = Robots()


@dataclass(frozen=True, slots=True)
class _JsonLdMetadata:
    """The metadata in a page's JSON-LD."""

    published: str = ""
    modified: str = ""
    author: str = ""
    site_name: str = ""
    image: str = ""


@dataclass(frozen=True, slots=True)
class Metadata:
    """The metadata of a page, from its redacted source; character references may still hide secrets."""

    title: str = ""
    h1: str = ""
    description: str = ""
    lang: str = ""
    base: str = ""
    """The URL that relative links are resolved against."""
    canonical: Url | None = None
    robots: Robots = _NO_ROBOTS
    meta: dict[str, str] = field(default_factory=dict)
    author: str = ""
    published: str = ""
    """ISO 8601, as precise as the page has it; empty when it has none."""
    modified: str = ""
    site_name: str = ""
    image: str = ""
    outline: Outline = NO_OUTLINE


def read_metadata(page: PageElements, response: Response, rules: KeyRules, scripts: list[Script]) -> Metadata:
    """Derive the metadata of an HTML page. `scripts` are its JSON-LD."""
    canonical, picture = _related_addresses(page.relations)
    base = (Url.parse(href, response.url, rules) if (href := page.base.strip()) else None) or response.url
    json_ld = _read_json_ld([script.value for script in scripts])
    named, outline, h1 = _metas_by_name(page.metas), page.outline, page.h1[:_MAX_TITLE_CHARS]
    published = (
        _first_date(named, _PUBLISHED) or _property_date(page, "datepublished") or json_ld.published or outline.published
    )
    modified = _first_date(named, _MODIFIED) or _property_date(page, "datemodified") or json_ld.modified or outline.modified
    image = _first_value(named, _IMAGE) or picture or json_ld.image
    return Metadata(
        title=(page.title or named.get("og:title", "") or named.get("twitter:title", "") or h1)[:_MAX_TITLE_CHARS],
        h1=h1,
        description=named.get("description", "") or named.get("og:description", "") or named.get("twitter:description", ""),
        lang=_read_language(page.languages, response, named),
        base=base,
        canonical=_parse_address(canonical, base, rules) if canonical else _header_canonical(response, rules),
        robots=read_robots([named.get("robots", ""), named.get(_AGENT, "")], response.header_all("x-robots-tag")),
        meta={name: value for name, value in named.items() if name in _KEPT_NAMES or name.startswith(_KEPT_PREFIXES)},
        author=_read_author(page, named, json_ld),
        published=published or date_in_path(response.url.path),
        modified=modified,
        site_name=(_first_value(named, _SITE_NAME) or json_ld.site_name)[:_MAX_NAME_CHARS],
        image=(_parse_address(image, base, rules) or "") if image else "",
        outline=outline,
    )


def _parse_address(raw: str, base: str, rules: KeyRules) -> Url | None:
    # An absolute address needs no base, and is mostly in its final form already.
    return Url.parse(raw, None if raw.startswith(("http://", "https://")) else base, rules)


def _first_value(named: dict[str, str], names: tuple[str, ...]) -> str:
    """The value of the first of these names that has one."""
    for name in names:
        if value := named.get(name):
            return value
    return ""


def _first_date(named: dict[str, str], names: tuple[str, ...]) -> str:
    """The value of the first of these names whose value is a date."""
    for name in names:
        if (value := named.get(name)) and (date := iso_date(value)):
            return date
    return ""


def _read_author(page: PageElements, named: dict[str, str], json_ld: _JsonLdMetadata) -> str:
    """The author of a page: from its head, its JSON-LD, a link to the author, or Microdata."""
    for name in _AUTHOR:
        if name in named and (author := _clean_name(named[name])):
            return author
    if json_ld.author:
        return _clean_name(json_ld.author)
    return _only_name(page.bylines()) or _only_name(page.property_values("author"))


def _only_name(texts: list[str]) -> str:
    """The name that all texts agree on: where they differ, they are authors of posts in a list."""
    names = set(map(_clean_name, texts)) - {""}
    return names.pop() if len(names) == 1 else ""


def _property_date(page: PageElements, name: str) -> str:
    """The date in Microdata: where several differ, they belong to comments or other posts."""
    dates = set(map(iso_date, page.property_values(name))) - {""}
    return dates.pop() if len(dates) == 1 else ""


def _clean_name(text: str) -> str:
    """A person's name without "by" before it; empty for an address."""
    text = _BY.sub("", text, count=1) if text[:9].lower().startswith(("by", "written", "posted", "published")) else text
    return "" if len(text) > _MAX_NAME_CHARS or _ADDRESS.search(text) else text.strip(" ,;|")


def _metas_by_name(metas: list[tuple[str, str]]) -> dict[str, str]:
    """The first value of each name; robots directives of several elements are joined."""
    named: dict[str, str] = {}
    for name, content in metas:
        if name in _ROBOTS_NAMES:
            named[name] = f"{named[name]},{content}" if name in named else content
        elif content and name and name not in named and len(name) <= _MAX_KEY_CHARS and len(named) < _MAX_META:
            named[name] = content
    return named


def _related_addresses(relations: list[tuple[str, str]]) -> tuple[str, str]:
    """The first canonical address and the first picture that `link` elements name."""
    canonical = picture = ""
    for rel, href in relations:
        if "canonical" in rel and not canonical and "canonical" in rel.split():
            canonical = href.strip()
        elif rel == "image_src":
            picture = picture or href.strip()
    return canonical, picture


def read_robots(metas: list[str], headers: list[str]) -> Robots:
    """The union of the directives of meta elements and of `X-Robots-Tag` headers."""
    if not headers and not any(metas):
        return _NO_ROBOTS
    directives: set[str] = set()
    for content in metas:
        directives.update(word.strip().lower() for word in content.split(","))
    for header in headers:
        directives |= _header_directives(header)
    is_none = "none" in directives
    return Robots(is_none or "noindex" in directives, is_none or "nofollow" in directives, "noarchive" in directives)


def _header_directives(header: str) -> set[str]:
    """The directives of one header that are for us: those before any agent's name, and those after ours."""
    directives: set[str] = set()
    is_ours = True
    for part in header.split(","):
        name, colon, rest = part.partition(":")
        directive = name.strip().lower()
        if colon and directive not in _VALUED_DIRECTIVES:
            is_ours = directive in {_AGENT, "*", "robots"}
            directive = rest.strip().lower()
        if is_ours:
            directives.add(directive)
    return directives


def _read_language(own: list[str], response: Response, named: dict[str, str]) -> str:
    """The first language tag of: root element, header, its equivalent in the head, Open Graph."""
    candidates = [
        *own,
        response.header("content-language") or "",
        named.get("content-language", ""),
        named.get("og:locale", ""),
    ]
    for text in candidates:
        tag = text.partition(",")[0].strip()
        if _LANG.match(tag):
            return tag.replace("_", "-")
    return ""


def _header_canonical(response: Response, rules: KeyRules) -> Url | None:
    for header in response.header_all("link"):
        for target, parameters in _LINK_HEADER.findall(header):
            rel = _REL.search(parameters)
            if rel is not None and "canonical" in (rel[1] or rel[2] or rel[3] or "").lower().split():
                return Url.parse(target.strip(), response.url, rules)
    return None


def _read_json_ld(values: list[Any]) -> _JsonLdMetadata:
    """The metadata in the parsed JSON-LD scripts of a page: nodes about its topic first, then those about the page."""
    nodes = _json_ld_nodes(values)
    if not nodes:
        return _JsonLdMetadata()
    by_id = {node["@id"]: node for node in reversed(nodes) if isinstance(node.get("@id"), str)}
    own = sorted((node for node in nodes if _rank(node) < 2), key=_rank)
    site = next((name for node in nodes if _rank(node) == 2 and (name := _text(node.get("name")))), "")
    return _JsonLdMetadata(
        published=_first_text(iso_date(_text(node.get("datePublished"))) for node in own),
        modified=_first_text(iso_date(_text(node.get("dateModified"))) for node in own),
        author=_first_text(_names(node.get("author"), by_id) for node in own),
        site_name=_first_text(_names(node.get("publisher"), by_id) for node in own) or site,
        image=_first_text(_image_address(node.get("image"), by_id) for node in own),
    )


def _json_ld_nodes(values: list[Any]) -> list[dict[str, Any]]:
    """The nodes that may be about the page, in the order they are written."""
    nodes: list[dict[str, Any]] = []
    waiting = values[:_MAX_SCRIPTS][::-1]
    while waiting and len(nodes) < _MAX_NODES:
        value = waiting.pop()
        if isinstance(value, list):
            waiting.extend(reversed(value[:_MAX_NODES]))
        elif isinstance(value, dict):
            nodes.append(value)
            waiting.extend(value[key] for key in reversed(_INNER) if key in value)
    return nodes


def _rank(node: dict[str, Any]) -> int:
    """0: the thing that the page is about. 1: the page. 2: the site. 3: something else."""
    value = node.get("@type")
    types = [value] if isinstance(value, str) else value if isinstance(value, list) else []
    names = {name.rpartition("/")[2].lower() for name in types if isinstance(name, str)}
    if not names or names & _OTHERS:
        return 3
    if names & _PAGES:
        return 1
    return 2 if names & _SITE else 0


def _first_text(values: Iterable[str]) -> str:
    return next(filter(None, values), "")


def _text(value: Any) -> str:
    """A string, or the `@value` of an object, on one line."""
    if isinstance(value, list):
        value = value[0] if value else ""
    if isinstance(value, dict):
        value = value.get("@value", "")
    return " ".join(value.split()) if isinstance(value, str) else ""


def _names(value: Any, by_id: dict[str, dict[str, Any]]) -> str:
    """The names in a string, a node, a reference to a node, or a list of these."""
    names = [_name(item, by_id) for item in (value if isinstance(value, list) else [value])[:_MAX_NAMES]]
    return ", ".join(dict.fromkeys(filter(None, names)))


def _name(value: Any, by_id: dict[str, dict[str, Any]]) -> str:
    if isinstance(value, dict):
        node = by_id.get(value["@id"], value) if "name" not in value and isinstance(value.get("@id"), str) else value
        return _text(node.get("name"))
    return _text(value)


def _image_address(value: Any, by_id: dict[str, dict[str, Any]]) -> str:
    if isinstance(value, list):
        value = value[0] if value else ""
    if isinstance(value, dict):
        node = by_id.get(value["@id"], value) if isinstance(value.get("@id"), str) else value
        return _text(node.get("url") or node.get("contentUrl"))
    return _text(value)
