"""Reads the metadata of a page: title, description, language, dates, author, canonical URL, robots directives, outline.

`collect_elements` collects the elements of a tree that say something about it, for this module, `links`, `structured/` and
`content/`; `read_metadata` derives the metadata. Where several places give a value, what was written for machines comes before
the visible page, and the path of the URL comes last. Of JSON-LD only the nodes about the page count: articles, products and web
pages at the top, in `@graph`, or as `mainEntity`; never those of comments, reviews or related items. Landmarks follow the
accessibility mapping of HTML (HTML-AAM §3.5): a `header` or `footer` is one only outside of sectioning content, a `section` or
`form` only when it has a name. Dates become ISO 8601, as precise as they are; ambiguous ones (`05/06/2024`) are not parsed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeAlias

from sitelore.extract import dom
from sitelore.extract.links import header_canonical
from sitelore.model.response import Response
from sitelore.model.url import KeyRules, Url

if TYPE_CHECKING:
    from sitelore.extract.structured.jsonld import Script

# Elements and outline

_LEVELS = {f"h{level}": level for level in range(1, 7)}
_LANDMARKS = {
    "main": "main",
    "nav": "navigation",
    "header": "banner",
    "footer": "contentinfo",
    "aside": "complementary",
    "search": "search",
}
_NAMED_LANDMARKS = {"section": "region", "form": "form"}
_ROLES = frozenset({"main", "navigation", "banner", "contentinfo", "complementary", "search", "region", "form"})
_SECTIONING = "article,aside,main,nav,section,[role=main i],[role=article i],[role=region i]"
_LANDMARK_TAGS = {*_LANDMARKS, *_NAMED_LANDMARKS}
_HEADINGS_AND_TIMES = {*_LEVELS, "time"}
_LANDMARK_CANDIDATES = f":is({','.join((*_LANDMARK_TAGS, '[role]', '[itemprop]'))}):not({','.join(_HEADINGS_AND_TIMES)})"
ANNOTATED = (
    ":is([role],[itemprop],[itemscope],[itemtype],[typeof],[vocab],[about],[data-action],[onclick],a[download],[style*='url('])"
)
"""Elements whose attributes the outline, structured data, actions and media are read from: one walk finds those of all."""
_LANDMARK_OR_ROLE = f"{','.join(_LANDMARKS)},[role]"
_COMMENT_OR_REVIEW = (
    "[itemprop~=comment i],[itemprop~=review i],[itemprop~=suggestedAnswer i],[itemtype*='/Comment'],[itemtype*='/Review']"
)
_PERMALINK = " \u00b6\u00a7\uf0c1"
"""Marks at the end of a heading that link to it: \u00b6, \u00a7 and a character of Font Awesome."""
_MAX_CONTENT_CHARS = 2_000
_MAX_OPEN_GRAPH_CHARS = 5_000
_MAX_TITLES = 50
_MAX_HEADINGS = 100
_MAX_LANDMARK_CANDIDATES = 400
_MAX_LANDMARKS = 24
_MAX_OUTLINE_CHARS = 200
_MAX_PROPERTIES = 40
_MAX_DATES = 8
_MAX_LABEL_IDS = 4

Meta: TypeAlias = tuple[str, str, str, dom.Element]
"""A `meta` element: its name, its Open Graph name (both in lower case, one may be empty), its content on one line, itself."""


@dataclass(frozen=True, slots=True)
class Outline:
    """Headings as (level, text), landmarks as (role, label), and the dates next to the first heading."""

    headings: tuple[tuple[int, str], ...] = ()
    landmarks: tuple[tuple[str, str], ...] = ()
    published: str = ""
    modified: str = ""


NO_OUTLINE = Outline()


@dataclass(frozen=True, slots=True)
class PageElements:
    """The elements and texts of a page that say something about it."""

    title: str
    """The first `title` that is not empty and not part of a drawing, on one line."""
    h1: str
    base: str
    languages: list[str]
    """`lang` and `xml:lang` of the root element."""
    head: list[Meta]
    """Every named `meta`, as `read_head` returns them."""
    relations: list[tuple[str, str]]
    """Each `link`: its `rel` in lower case, and its address."""
    outline: Outline
    links: list[dom.Element]
    """Every `a`, `area` and `link rel=next|prev`, in page order."""
    scripts: list[tuple[str, dom.Element]]
    """Scripts of JSON-LD."""
    sheets: list[tuple[str, str]]
    """`style` elements: media query and content."""
    annotated: list[dom.Element]
    """What `ANNOTATED` selects, in page order."""
    _tree: dom.Tree

    @property
    def metas(self) -> list[tuple[str, str]]:
        """Each `meta`: its `name`, `property` or `http-equiv` in lower case, and its content on one line."""
        return [(name, content) for name, _, content, _ in self.head if name]

    def bylines(self) -> list[str]:
        """The texts of links to an author."""
        if not any("author" in rel.lower() for link in self.links if (rel := link.attr("rel"))):
            return []
        return list(map(dom.one_line_text, dom.select(self._tree, "a[rel~=author i]")[:_MAX_PROPERTIES]))

    def property_values(self, name: str) -> list[str]:
        """The values of a Microdata property, but for those of comments and reviews."""
        elements = [element for element in self.annotated if name in (element.attr("itemprop") or "").lower().split()]
        own = [element for element in elements[:_MAX_PROPERTIES] if not dom.is_inside(element, _COMMENT_OR_REVIEW)]
        return list(map(_author if name == "author" else _date, own))


def collect_elements(tree: dom.Tree) -> PageElements:
    """Collect the facts of a tree, before anything is cut from it."""
    root = dom.first(tree, "html")
    annotated = dom.select(tree, ANNOTATED)
    relations = [((element.attr("rel") or "").lower(), element.attr("href") or "") for element in tree.select("link")]
    titles = (title for title in tree.select("title")[:_MAX_TITLES] if title.closest("svg") is None)
    return PageElements(
        title=_first_line(titles),
        h1=_first_line(tree.select("h1")[:_MAX_TITLES]).rstrip(_PERMALINK),
        base=next(filter(str.strip, [element.attr("href") or "" for element in tree.select("base")]), ""),
        languages=[dom.attribute(root, "lang"), dom.attribute(root, "xml:lang")] if root is not None else [],
        head=read_head(tree),
        relations=relations,
        outline=read_outline(tree, annotated),
        links=_links(tree, has_next=any(_is_next_or_prev(rel) for rel, _ in relations)),
        scripts=_scripts_of(tree),
        sheets=[(style.attr("media") or "", dom.raw_text(style)) for style in dom.select(tree, "style")],
        annotated=annotated,
        _tree=tree,
    )


def links_of(tree: dom.Tree) -> list[dom.Element]:
    """Every `a`, `area` and `link rel=next|prev`, in page order."""
    return _links(tree, has_next=any(_is_next_or_prev(element.attr("rel") or "") for element in tree.select("link")))


def _scripts_of(tree: dom.Tree) -> list[tuple[str, dom.Element]]:
    """The JSON-LD scripts of a page: content and element."""
    return [(dom.raw_text(script), script) for script in dom.select(tree, "script") if _is_json_ld(script.attr("type"))]


def read_head(tree: dom.Tree) -> list[Meta]:
    """Every named `meta` of a page with its Open Graph name, in page order, from head and body."""
    metas: list[Meta] = []
    for element in tree.select("meta"):
        attr = element.attr
        name, shared = attr("name"), attr("property")
        if not (label := name or shared or attr("http-equiv")):
            continue
        key, content = label.strip().lower(), attr("content")
        og_name = (shared.strip().lower() if name and shared else key) if (name or shared) and ":" in (shared or label) else ""
        if content is not None and len(content) <= _MAX_CONTENT_CHARS:
            metas.append((key, og_name, " ".join(content.split()), element))
            continue
        # Open Graph keeps more of a text, and reads the attribute `value` as well.
        metas.append((key, "", " ".join((content or "")[:_MAX_CONTENT_CHARS].split()), element))
        if og_name and (text := attr("value") if content is None else content):
            metas.append(("", og_name, " ".join(text[:_MAX_OPEN_GRAPH_CHARS].split()), element))
    return metas


def read_outline(tree: dom.Tree, annotated: list[dom.Element]) -> Outline:
    """Read headings, landmarks and the dates next to the first heading. `annotated` is what `ANNOTATED` selects."""
    # Selecting by tag or by one attribute is indexed: several such queries cost half of one that asks for everything.
    headings_and_times: list[dom.Element] = []
    landmarks: list[dom.Element] = []
    for element in dom.elements_list(tree, *_HEADINGS_AND_TIMES, *_LANDMARK_TAGS):
        (headings_and_times if element.tag in _HEADINGS_AND_TIMES else landmarks).append(element)
    headings = (
        [element for element in headings_and_times if element.tag != "time"] if tree.select("time") else headings_and_times
    )
    with_role = [element for element in annotated if element.attr("role") is not None]
    properties = sum(element.attr("itemprop") is not None for element in annotated)
    if len(landmarks) + len(with_role) + properties > _MAX_LANDMARK_CANDIDATES:
        landmarks = dom.select(tree, _LANDMARK_CANDIDATES)[:_MAX_LANDMARK_CANDIDATES]
    elif by_role := [element for element in with_role if _is_landmark_by_role(element)]:
        landmarks = _in_page_order(tree, landmarks, by_role)
    published, modified = _dates_by_heading(headings_and_times) if len(headings_and_times) > len(headings) > 0 else ("", "")
    return Outline(_read_headings(headings), _read_landmarks(landmarks), published, modified)


def landmark_around(element: dom.Element) -> str:
    """The role of the landmark that an element is in; empty where it is in none."""
    at = element.closest(_LANDMARK_OR_ROLE)
    while at is not None:
        if role := _role(at, is_named=False):
            return role
        parent = dom.as_element(at.parent)
        at = parent.closest(_LANDMARK_OR_ROLE) if parent is not None else None
    return ""


def _is_next_or_prev(rel: str) -> bool:
    rel = rel.lower()
    return ("next" in rel or "prev" in rel) and not {"next", "prev"}.isdisjoint(rel.replace(",", " ").split())


def _is_json_ld(kind: str | None) -> bool:
    return kind is not None and "json" in (lower := kind.lower()) and ("ld+json" in lower or "json+ld" in lower)


def _first_line(elements: Iterable[dom.Element]) -> str:
    return next(filter(None, map(dom.one_line_text, elements)), "")


def _links(tree: dom.Tree, *, has_next: bool) -> list[dom.Element]:
    # One tag's elements come from the tree's index, which costs far less than a walk; few pages need the walk.
    if not has_next and not tree.select("area"):
        return tree.select("a")
    elements = dom.elements_list(tree, "a", "area", "link")
    return [element for element in elements if element.tag != "link" or _is_next_or_prev(element.attr("rel") or "")]


def _author(element: dom.Element) -> str:
    names = dom.select(element, "[itemprop~=name i]")
    name = names[0] if names else element
    return dom.attribute(name, "content") or dom.one_line_text(name)


def _date(element: dom.Element) -> str:
    return dom.attribute(element, "content") or _time(element)


def _time(element: dom.Element) -> str:
    return dom.attribute(element, "datetime") or dom.one_line_text(element)


def _read_headings(elements: list[dom.Element]) -> tuple[tuple[int, str], ...]:
    headings = []
    for element in elements[:_MAX_HEADINGS]:
        text = " ".join(element.text.split()).rstrip(_PERMALINK)
        if text and element.attr("hidden") is None and element.attr("aria-hidden") != "true":
            headings.append((_LEVELS[element.tag], text[:_MAX_OUTLINE_CHARS]))
    return tuple(headings)


def _is_landmark_by_role(element: dom.Element) -> bool:
    """Whether an element may be a landmark by its role alone."""
    if (element.attr("role") or "").strip().lower() not in _ROLES:
        return False
    return element.tag not in _LANDMARK_TAGS and element.tag not in _HEADINGS_AND_TIMES


def _in_page_order(tree: dom.Tree, landmarks: list[dom.Element], others: list[dom.Element]) -> list[dom.Element]:
    """Two lists of elements as one, in page order."""
    both = {*landmarks, *others}
    tags = {*_LANDMARK_TAGS, *(other.tag for other in others)}
    merged = [element for element in dom.elements_list(tree, *tags) if element in both]
    # The parser may adjust the tag of an SVG element, which is then not found by it.
    return (
        merged
        if len(merged) == len(both)
        else [element for element in dom.select(tree, _LANDMARK_CANDIDATES) if element in both]
    )


def _read_landmarks(elements: list[dom.Element]) -> tuple[tuple[str, str], ...]:
    landmarks: list[tuple[str, str]] = []
    by_id: dict[str, dom.Element] = {}
    for element in elements:
        label = _label(element, by_id)
        if role := _role(element, is_named=bool(label)):
            landmarks.append((role, label[:_MAX_OUTLINE_CHARS]))
            if len(landmarks) == _MAX_LANDMARKS:
                break
    return tuple(landmarks)


def _role(element: dom.Element, *, is_named: bool) -> str:
    """The landmark role of an element: its own, or that of its tag; empty where it has none."""
    if role := (element.attr("role") or "").strip().lower():
        return role if role in _ROLES else ""
    tag = element.tag
    if tag in {"header", "footer"} and dom.has_ancestor(element, _SECTIONING):
        return ""
    return _NAMED_LANDMARKS[tag] if is_named and tag in _NAMED_LANDMARKS else _LANDMARKS.get(tag, "")


def _label(element: dom.Element, by_id: dict[str, dom.Element]) -> str:
    """The accessible name of an element: `aria-labelledby`, else `aria-label`, else `title`, on one line.

    `by_id` are the elements with an id; it is filled when it is first needed.
    """
    attr = element.attr
    if ids := attr("aria-labelledby"):
        if not by_id:
            for named in reversed(dom.select(dom.top_of(element), "[id]")):
                by_id[named.attr("id") or ""] = named
        texts = [by_id[name].text for name in ids.split()[:_MAX_LABEL_IDS] if name in by_id]
        if label := " ".join(" ".join(texts).split()):
            return label
    return " ".join((attr("aria-label") or attr("title") or "").split())


def _dates_by_heading(elements: list[dom.Element]) -> tuple[str, str]:
    """When the page was published and modified, by the `time` elements next to its first `h1`, with no heading between."""
    top = next((at for at, element in enumerate(elements) if element.tag == "h1"), None)
    if top is None:
        return "", ""
    after = next((at for at in range(top + 1, len(elements)) if elements[at].tag != "time"), len(elements))
    before = next((at for at in range(top - 1, -1, -1) if elements[at].tag != "time"), -1)
    near = elements[top + 1 : after] + elements[before + 1 : top]
    published = modified = ""
    for time in near[:_MAX_DATES]:
        if not _is_date_of(elements[top], time) or not (date := iso_date(_time(time))):
            continue
        names = f"{dom.attribute(time, 'itemprop')} {dom.attribute(time, 'class')}".lower()
        if "modif" in names or "updat" in names:
            modified = modified or date
        else:
            published = published or date
    return published, modified


def _is_date_of(heading: dom.Element, time: dom.Element) -> bool:
    """Whether a date belongs to a heading: one in an article that the heading is not part of is that article's date."""
    article = time.closest("article")
    return (article is None or article == heading.closest("article")) and not dom.is_inside(time, "aside,footer,nav")


# Metadata

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
    dates: list[tuple[str, str, str]] = field(default_factory=list)
    """All dates as (source, `published` or `modified`, date); of each event the most reliable source comes first."""
    site_name: str = ""
    image: str = ""
    outline: Outline = NO_OUTLINE


def read_metadata(page: PageElements, response: Response, rules: KeyRules, scripts: list[Script]) -> Metadata:
    """Derive the metadata of an HTML page. `scripts` are its JSON-LD."""
    canonical, picture = _related_addresses(page.relations)
    base = (Url.parse(href, response.url, rules) if (href := page.base.strip()) else None) or response.url
    json_ld = _read_json_ld([script.value for script in scripts])
    named, outline, h1 = _metas_by_name(page.metas), page.outline, page.h1[:_MAX_TITLE_CHARS]
    dates = _read_dates(page, named, json_ld, response.url.path)
    image = _first_value(named, _IMAGE) or picture or json_ld.image
    return Metadata(
        title=(page.title or named.get("og:title", "") or named.get("twitter:title", "") or h1)[:_MAX_TITLE_CHARS],
        h1=h1,
        description=named.get("description", "") or named.get("og:description", "") or named.get("twitter:description", ""),
        lang=_read_language(page.languages, response, named),
        base=base,
        canonical=_parse_address(canonical, base, rules) if canonical else header_canonical(response, rules),
        robots=read_robots([named.get("robots", ""), named.get(_AGENT, "")], response.header_all("x-robots-tag")),
        meta={name: value for name, value in named.items() if name in _KEPT_NAMES or name.startswith(_KEPT_PREFIXES)},
        author=_read_author(page, named, json_ld),
        published=next((date for _, event, date in dates if event == "published"), ""),
        modified=next((date for _, event, date in dates if event == "modified"), ""),
        dates=dates,
        site_name=(_first_value(named, _SITE_NAME) or json_ld.site_name)[:_MAX_NAME_CHARS],
        image=(_parse_address(image, base, rules) or "") if image else "",
        outline=outline,
    )


def _read_dates(page: PageElements, named: dict[str, str], json_ld: _JsonLdMetadata, path: str) -> list[tuple[str, str, str]]:
    """When the page was published and modified, by each source that has a date."""
    sources = (
        ("meta", _first_date(named, _PUBLISHED), _first_date(named, _MODIFIED)),
        ("microdata", _property_date(page, "datepublished"), _property_date(page, "datemodified")),
        ("json-ld", json_ld.published, json_ld.modified),
        ("time", page.outline.published, page.outline.modified),
        ("url", date_in_path(path), ""),
    )
    events = ("published", "modified")
    return [(source, event, date) for source, *pair in sources for event, date in zip(events, pair, strict=True) if date]


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


# Dates

_MAX_CHARS = 64
_YEARS = range(1900, 2100)
_MONTHS = {
    name: number
    for number, names in enumerate(
        (
            "january jan januar janvier enero gennaio janeiro januari",
            "february feb februar février febrero febbraio fevereiro februari",
            "march mar märz mars marzo março maart",
            "april apr avril abril aprile",
            "may mai mayo maggio maio mei",
            "june jun juni juin junio giugno junho",
            "july jul juli juillet julio luglio julho",
            "august aug août agosto augustus",
            "september sep sept septembre septiembre settembre setembro",
            "october oct oktober okt octobre octubre ottobre outubro",
            "november nov novembre noviembre novembro",
            "december dec dezember dez décembre diciembre dicembre dezembro",
        ),
        1,
    )
    for name in names.split()
}
_CLOCK = r"(\d{1,2}):(\d\d)(?::(\d\d)(?:[.,]\d{1,9})?)?\s*([ap]\.?m\.?)?\s*(z|utc|gmt|[+-]\d\d:?(?:\d\d)?)?"
_NUMERIC = re.compile(
    rf"(\d{{4}})([-/.])(\d{{1,2}})(?:\2(\d{{1,2}})(?:(?:\s*t\s*|\s+(?:at\s+)?|,\s*){_CLOCK})?)?", re.IGNORECASE
)
_COMPACT = re.compile(r"(\d{4})(\d\d)(\d\d)(?:t?(\d\d)(\d\d)(\d\d)?(z|[+-]\d\d:?\d\d)?)?", re.IGNORECASE)
_NAMED_DAY = r"(?:[^\W\d_]{2,12}\.?,?\s+)?"
_TAIL = rf"(?:(?:,?\s+(?:at\s+)?|\s*[-\u2013|]\s*){_CLOCK})?"
_DAY_FIRST = re.compile(
    rf"{_NAMED_DAY}(\d{{1,2}})(?:st|nd|rd|th|er|\.)?\s+(?:de\s+|of\s+)?([^\W\d_]{{3,10}})\.?,?\s+(?:de\s+)?(\d{{4}}){_TAIL}",
    re.IGNORECASE,
)
_MONTH_FIRST = re.compile(
    rf"{_NAMED_DAY}([^\W\d_]{{3,10}})\.?\s+(\d{{1,2}})(?:st|nd|rd|th)?,?\s+(\d{{4}}){_TAIL}", re.IGNORECASE
)
_MONTH_ALONE = re.compile(r"([^\W\d_]{3,10})\.?,?\s+(\d{4})")
_YEAR_LAST = re.compile(r"(\d{1,2})([-/.])(\d{1,2})\2(\d{4})")
_UNIX = re.compile(r"(1\d{9})(\d{3})?")
_IN_PATH = re.compile(r"/((?:19|20)\d\d)([/-])(0[1-9]|1[0-2])(?:\2(0[1-9]|[12]\d|3[01])(?=[/_-]|$))?(?=[/_-])")


def iso_date(text: str) -> str:
    """A date in ISO 8601; empty when the text is not a date, or an ambiguous one."""
    text = " ".join(text.split())
    return _parse(text) if 4 < len(text) <= _MAX_CHARS else ""  # short texts alone are parsed and cached


@lru_cache(maxsize=1024)
def _parse(text: str) -> str:
    if match := _NUMERIC.fullmatch(text):
        year, _, month, day, *clock = match.groups()
        return _iso(year, month, day, *clock)
    if match := _COMPACT.fullmatch(text):
        year, month, day, hour, minute, second, zone = match.groups()
        return _iso(year, month, day, hour, minute, second, None, zone)
    if match := _UNIX.fullmatch(text):
        moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=int(match[1]))
        return moment.strftime("%Y-%m-%dT%H:%M:%SZ")
    return _in_words(text) or _year_last(text)


def _in_words(text: str) -> str:
    if match := _DAY_FIRST.fullmatch(text):
        day, month, year, *clock = match.groups()
    elif match := _MONTH_FIRST.fullmatch(text):
        month, day, year, *clock = match.groups()
    elif match := _MONTH_ALONE.fullmatch(text):
        month, day, year, clock = match[1], None, match[2], []
    else:
        return ""
    number = _MONTHS.get(month.lower())
    return _iso(year, str(number), day, *clock) if number else ""


def _year_last(text: str) -> str:
    """Parse `25/12/2024`. `05/06/2024` is ambiguous; with dots the day comes first."""
    match = _YEAR_LAST.fullmatch(text)
    if match is None:
        return ""
    first, separator, second, year = match.groups()
    if separator == "." or int(first) > 12 or first == second:
        return _iso(year, second, first)
    return _iso(year, first, second) if int(second) > 12 else ""


def _iso(
    year: str,
    month: str,
    day: str | None,
    hour: str | None = None,
    minute: str | None = None,
    second: str | None = None,
    meridiem: str | None = None,
    zone: str | None = None,
) -> str:
    """The date made of these parts; empty for one that does not exist."""
    hours = _hours(hour, meridiem) if hour is not None else 0
    try:
        moment = datetime(int(year), int(month), int(day or 1), hours, int(minute or 0), int(second or 0))  # noqa: DTZ001 a zone is added where one was written
    except ValueError:
        return ""
    if moment.year not in _YEARS:
        return ""
    if day is None:
        return moment.strftime("%Y-%m")
    if hour is None:
        return moment.strftime("%Y-%m-%d")
    offset = _offset(zone)
    return moment.strftime("%Y-%m-%dT%H:%M:%S") + offset if offset is not None else ""


def _hours(hour: str, meridiem: str | None) -> int:
    hours = int(hour)
    if meridiem is None:
        return hours
    if not 1 <= hours <= 12:
        return 24  # no such hour, so that the date is refused
    return hours % 12 + (12 if meridiem[0] in "pP" else 0)


def _offset(zone: str | None) -> str | None:
    if zone is None:
        return ""
    if zone[0] not in "+-":
        return "Z"
    digits = zone[1:].replace(":", "").ljust(4, "0")
    if int(digits[:2]) > 15 or int(digits[2:]) > 59:
        return None
    return "Z" if digits == "0000" else f"{zone[0]}{digits[:2]}:{digits[2:]}"


def date_in_path(path: str) -> str:
    """The date in a path: `/2024/05/06/title`, `/2024/05/title`, `/blog/2024-05-06-title`."""
    match = _IN_PATH.search(path)
    if match is None or not path[match.end() :].strip("/_-"):
        return ""  # the path of an archive, not of one page in it
    return _iso(match[1], match[3], match[4])
