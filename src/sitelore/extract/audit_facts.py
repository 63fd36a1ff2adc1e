"""Fills the audit facts of a page from its tree, before anything is cut from it (`model/audit/facts.py`).

Facts are what the markup declares, not what is wrong with it: thresholds belong to the rules. Elements are looked up by tag or
by one attribute, which the parser indexes; only a page that is large or deep is walked whole. Every list and text has a bound.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass, fields
from itertools import islice
from typing import Any, cast
from urllib.parse import unquote

import msgspec
import re2
import zstandard

from sitelore.extract import dom
from sitelore.extract.content.visibility import hiding_technique, is_streamed
from sitelore.extract.links import PageResolver, header_links
from sitelore.extract.metadata import Metadata, PageElements, iso_date
from sitelore.extract.page_objects.forms import Labels
from sitelore.extract.text import detect_language
from sitelore.model.audit.facts import (
    Alt,
    Alternate,
    AuditFacts,
    ControlFact,
    DateFact,
    Declaration,
    HeadingFact,
    HiddenPart,
    IdReference,
    IframeFact,
    ImageFact,
    InsecureResource,
    LinkFact,
    LinkKind,
    Place,
    TableFact,
    VideoFact,
    WidestParent,
    hash_id,
)
from sitelore.model.document import Blob
from sitelore.model.response import Response
from sitelore.model.url import Url

MAX_TEXT_CHARS = 120
"""Of a heading, the name of a link, a label or an id."""
MAX_VALUE_CHARS = 300
"""Of a title, a description and other values of the head; and of the hidden text."""
MAX_URL_CHARS = 1_000
"""A longer address is cut and ends in an ellipsis: it can be shown, but not followed."""
MAX_DATA_URL_CHARS = 40
MAX_DECLARATIONS = 20
MAX_ALTERNATES = 100
MAX_HEADINGS = 200
MAX_LINKS = 2_000
MAX_LINK_CHARS = 48_000
"""Of the addresses of all links."""
MAX_IMAGES = 200
MAX_IMAGE_CHARS = 24_000
MAX_IDS = 2_000
MAX_ID_CHARS = 32_000
"""Of all ids that are kept by name; the rest is kept as hashes."""
MAX_HASHED_IDS = 20_000
MAX_REFERENCES = 50
MAX_EMBEDS = 50
MAX_CONTROLS = 50
MAX_TABLES = 20
MAX_HIDDEN = 20
MAX_FOOTER_CHARS = 4_000
MAX_READ = 300
"""Elements of one kind that are looked into: looking into one costs what is below it."""
MAX_READ_CHARS = 2_000_000
"""Of texts that are read for names of links and for hidden words: elements that nest would be read once for every level."""
MIN_LANGUAGE_BYTES = 1_000
"""The size of a text from which its language is detected."""
MAX_LANGUAGE_CHARS = 600
"""Of the text that the detector reads."""
EARLY_BYTES = 1024
DEEP = 32
"""The depth from which it is measured."""
MANY_ELEMENTS = 3_000
"""The number of elements from which the widest parent is looked for."""

_DEEPER = f"boolean({'/*' * (DEEP + 1)})"
_FIELDS = tuple([field.name for field in fields(AuditFacts)])
_ROBOTS = frozenset({"robots", "googlebot", "bingbot", "sitelore"})
_HEAD_METAS = frozenset({"description", "viewport", "refresh", *_ROBOTS})
_NOT_TEXT = ("script", "style", "template", "noscript")
_NOT_SHOWN = frozenset({*_NOT_TEXT, "html", "body", "head", "input", "img", "iframe", "link", "meta", "svg"})
_SCHEME = re.compile(r"[\s\x00-\x1f]*([a-z][a-z0-9+.-]*):", re.IGNORECASE)
_LINK_KINDS = {
    "javascript": LinkKind.SCRIPT,
    "vbscript": LinkKind.SCRIPT,
    "file": LinkKind.FILE,
    "http": LinkKind.INVALID,
    "https": LinkKind.INVALID,
}
_ACTIVE = (
    ("link", "href"), ("script", "src"), ("iframe", "src"), ("embed", "src"), ("object", "data"), ("form", "action")
)  # fmt: skip
_PASSIVE = (("img", "src"), ("audio", "src"), ("video", "src"), ("video", "poster"), ("source", "src"))
_PRESENTATION = frozenset({"none", "presentation"})
_ARIA_HIDDEN = "[aria-hidden=true i]"
_HIDING_FROM_ALL = frozenset({"display", "visibility"})
_HEADER_ROLES = frozenset({"columnheader", "rowheader"})
_NAMED_BUTTONS = frozenset({"submit", "reset"})
"""Types of inputs that a browser names by itself."""
_KEPT_RELS = frozenset({"nofollow", "ugc", "sponsored"})
_REFERENCES = ("aria-labelledby", "aria-describedby", "aria-controls")
_REFERRING = ",".join(f"[{name}]" for name in _REFERENCES)
_MAIN = "main,article,[role=main i]"
_HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
_LEVELS = frozenset("123456")
_FOOTERS = ("footer", "[role=contentinfo i]", ":is([class*=footer i],[id*=footer i],[class*=copyright i])")
"""From the most to the least explicit."""
_COPYRIGHT_MARKS = ("\u00a9", "(c)", "copyright")
_COPYRIGHT = re.compile(
    r"(?:\u00a9|\(c\)|copyright)[^\d\n]{0,60}?(?:19|20)\d\d(?:\s{0,3}(?:[-\u2013\u2014,/]|to|and)\s{0,3}(?:(?:19|20)\d\d|present)\b){0,20}"
    r"|(?:19|20)\d\d(?:\s{0,3}[-\u2013\u2014]\s{0,3}(?:19|20)\d\d)?\s{0,3}\u00a9",
    re.IGNORECASE,
)
_JSON_WRAPPER = re.compile(r"^\s*(?://|/\*)?\s*(?:<!\[CDATA\[|<!--)\s*(?:\*/)?|(?://|/\*)?\s*(?:\]\]>|-->)\s*(?:\*/)?\s*$")
"""Comment and CDATA marks around a script, which search engines skip."""
_YEAR = re.compile(r"(?:19|20)\d\d")
_CHARSET = re.compile(r"charset\s*=\s*[\"']?([^\s\"';,]+)", re.IGNORECASE)
_EARLY_CHARSET = re.compile(
    rb"<meta[^>]{0,500}charset\s*=|<\?xml[^>]{0,200}encoding\s*=|^(?:\xef\xbb\xbf|\xfe\xff|\xff\xfe)", re.IGNORECASE
)
_DATED = re2.compile(rb"(?i)\b(updated|modified|changed|edited|reviewed|published|posted|created)(?: on)?:?[ \n]")
_MAX_DATE_BYTES = 60
_PUBLISHING = frozenset({b"published", b"posted", b"created"})
_MAX_DATED_BYTES = 3_000
_MAX_DATE_WORDS = 5


@dataclass(frozen=True, slots=True)
class _Head:
    """The facts of the elements that belong in the head."""

    metas: dict[str, list[str]]
    """The contents of the metas in the head by their names."""
    robots: list[Declaration]
    in_body: list[str]
    links: list[tuple[list[str], dom.Element, Place]]
    """Each `link` element with an address: the words of its `rel`, itself, its place."""


def read_audit_facts(
    tree: dom.Tree, page: PageElements, metadata: Metadata, response: Response, resolver: PageResolver
) -> AuditFacts:
    """The facts of an HTML page. `facts_to_record` adds those of its text."""
    head = _read_head(tree, page)
    titles = [title for title in tree.select("title")[:MAX_READ] if _place(title) is Place.HEAD]
    in_body = [*(["title"] if _has_body_title(tree, titles) else []), *head.in_body]
    body = dom.body(tree) if in_body else None
    first = next(iter(dom.child_elements(body)), None) if body is not None else None
    images, ids = tree.select("img"), _Ids.of(tree)
    scripts = [len(dom.raw_text(script)) for script in tree.select("script")]
    styles = [len(sheet) for _, sheet in page.sheets]
    data_urls = [len(src) for image in images if (src := image.attr("src")) and src.startswith("data:")]
    return AuditFacts(
        kind="html",
        title=_line(dom.raw_text(titles[0])) if titles else "",
        description=_first(head.metas, "description"),
        lang=(page.languages[0] if page.languages else "")[:MAX_TEXT_CHARS],
        **_charsets(tree, response),
        base=_address(page.base.strip()),
        titles=len(titles),
        descriptions=len(head.metas.get("description", ())),
        robots_metas=len(head.metas.get("robots", ())),
        viewports=len(head.metas.get("viewport", ())),
        head_in_body=tuple(dict.fromkeys(in_body)),
        head_ended_by=_describe(first) if first is not None else "",
        canonicals=_canonicals(head, response),
        robots=(*head.robots, *_header_robots(response)),
        alternates=_alternates(head, response),
        neighbours=tuple(_neighbours(head)),
        viewport=_first(head.metas, "viewport"),
        refresh=_first(head.metas, "refresh"),
        headings=_headings(tree),
        mains=len(tree.select("main")) + len([each for each in tree.select("[role=main i]") if each.tag != "main"]),
        **ids.facts(),
        id_references=_id_references(tree, ids),
        links=_links(page.links, response.url, resolver, ids),
        link_count=len(page.links),
        images=_images(images),
        image_count=len(images),
        iframes=tuple([_iframe(iframe) for iframe in tree.select("iframe")[:MAX_EMBEDS] if not _is_hidden(iframe)]),
        videos=tuple([_video(video) for video in tree.select("video")[:MAX_EMBEDS] if not _is_silent(video)]),
        insecure=tuple(islice(_insecure(tree), MAX_EMBEDS)) if response.url.startswith("https:") else (),
        controls=tuple(islice(_unnamed_controls(tree), MAX_CONTROLS)),
        tables=tuple(islice(_tables_without_headers(tree), MAX_TABLES)),
        **_sizes(tree),
        **_hidden(tree),
        **_footer(tree),
        dates=tuple([DateFact(*each) for each in metadata.dates]),
        body_bytes=len(response.body),
        script_chars=sum(scripts),
        style_chars=sum(styles),
        largest_inline_chars=max([0, *scripts, *styles, *data_urls]),
        json_ld_errors=tuple(islice(_json_ld_errors(tree), MAX_DECLARATIONS)),
    )


def file_facts(kind: str, metadata: Metadata, response: Response) -> AuditFacts:
    """The facts of a body that is not HTML: a text, a PDF, an office file, the answer of an API."""
    return AuditFacts(
        kind=kind, title=_line(metadata.title), lang=metadata.lang[:MAX_TEXT_CHARS], body_bytes=len(response.body)
    )


def facts_to_record(facts: AuditFacts, text: str) -> dict[str, Any]:
    """The record that is stored: facts without empty values, the size of the document's text, and the dates that it states."""
    entity = {name: value for name in _FIELDS if (value := getattr(facts, name))}
    utf8 = text.encode("utf-8", "replace")
    entity["text_bytes"] = len(utf8)
    if facts.kind == "html" and (dates := (*facts.dates, *_text_dates(utf8))):
        entity["dates"] = dates
    if facts.kind == "html" and len(utf8) >= MIN_LANGUAGE_BYTES and (lang := detect_language(text[:MAX_LANGUAGE_CHARS])):
        entity["detected_lang"] = lang
    return entity


def decode_audit_facts(json: bytes) -> AuditFacts:
    """Parse a stored record of audit facts."""
    return msgspec.json.decode(json, type=AuditFacts)


def decompress_blob(blob: Blob) -> bytes:
    """The content of a blob that extraction made: the record of audit facts, or the document, as JSON."""
    return zstandard.ZstdDecompressor().decompressobj().decompress(blob.data)


# The head


def _read_head(tree: dom.Tree, page: PageElements) -> _Head:
    metas: dict[str, list[str]] = {}
    robots: list[Declaration] = []
    in_body: list[str] = []
    for name, _, content, element in page.head:
        if name not in _HEAD_METAS:
            continue
        if name == "refresh" and element.closest("noscript") is not None:
            continue  # for the few browsers without scripts
        place, value = _place(element), _line(content)
        if name in _ROBOTS and len(robots) < MAX_DECLARATIONS:
            robots.append(Declaration(value.lower(), place, name))
        if place is Place.HEAD:
            metas.setdefault(name, []).append(value)
        else:
            in_body.append(f"meta {name}")
    links: list[tuple[list[str], dom.Element, Place]] = []
    for element in tree.select("link"):
        rel = (element.attr("rel") or "").lower()
        if rel and element.attr("href") is not None:
            links.append((rel.replace(",", " ").split(), element, _place(element)))
    in_body += ["link canonical" for words, _, place in links if place is Place.BODY and "canonical" in words]
    in_body += ["link hreflang" for _, each, place in links if place is Place.BODY and each.attr("hreflang")]
    return _Head(metas, robots, in_body, links)


def _has_body_title(tree: dom.Tree, titles: list[dom.Element]) -> bool:
    """Whether a `title` is in the body; those of drawings belong there."""
    others = islice((title for title in tree.select("title") if title not in titles), MAX_READ)
    return any(title.closest("svg") is None for title in others)


def _place(element: dom.Element) -> Place:
    parent = dom.as_element(element.parent)
    if parent is not None and parent.tag == "noscript":
        parent = dom.as_element(parent.parent)
    return Place.HEAD if parent is not None and parent.tag == "head" else Place.BODY


def _first(metas: dict[str, list[str]], name: str) -> str:
    """The first value of a name that is not empty."""
    return next(filter(None, metas.get(name, ())), "")


def _charsets(tree: dom.Tree, response: Response) -> dict[str, Any]:
    """The encodings that markup and header declare, as written."""
    labels = [meta.attr("charset") or "" for meta in tree.select("meta[charset]")[:1]]
    if not labels:
        contents = [meta.attr("content") or "" for meta in tree.select("meta[http-equiv='content-type' i]")[:1]]
        labels = [match[1] for content in contents if (match := _CHARSET.search(content[:MAX_VALUE_CHARS]))]
    header = _CHARSET.search(response.header("content-type") or "")
    return {
        "charset": _label(labels[0]) if labels else "",
        "header_charset": _label(header[1]) if header is not None else "",
        "is_charset_early": _EARLY_CHARSET.search(response.body[:EARLY_BYTES]) is not None,
    }


def _canonicals(head: _Head, response: Response) -> tuple[Declaration, ...]:
    own = [
        Declaration(_address(each.attr("href") or ""), place, "canonical")
        for words, each, place in head.links
        if "canonical" in words
    ]
    headers = [
        Declaration(_address(href), Place.HEADER, "canonical")
        for href, words, _ in header_links(response)
        if "canonical" in words
    ]
    return (*own[:MAX_DECLARATIONS], *headers[:MAX_DECLARATIONS])


def _header_robots(response: Response) -> list[Declaration]:
    headers = response.header_all("x-robots-tag")[:MAX_DECLARATIONS]
    return [Declaration(_line(header).lower(), Place.HEADER, "x-robots-tag") for header in headers]


def _alternates(head: _Head, response: Response) -> tuple[Alternate, ...]:
    own = [
        Alternate(_label(lang), _address(each.attr("href") or ""), place)
        for words, each, place in head.links
        if "alternate" in words and (lang := each.attr("hreflang"))
    ]
    headers = [
        Alternate(_label(lang), _address(href), Place.HEADER)
        for href, words, lang in header_links(response)
        if lang and "alternate" in words
    ]
    return (*own[:MAX_ALTERNATES], *headers[:MAX_ALTERNATES])


def _neighbours(head: _Head) -> list[Declaration]:
    linked = [(words, each, place) for words, each, place in head.links if not {"next", "prev"}.isdisjoint(words)]
    return [
        Declaration(_address(each.attr("href") or ""), place, "next" if "next" in words else "prev")
        for words, each, place in linked[:MAX_DECLARATIONS]
    ]


# Headings, ids, links


def _headings(tree: dom.Tree) -> tuple[HeadingFact, ...]:
    """The headings that are not hidden by an attribute, in page order, empty ones included."""
    headings: list[HeadingFact] = []
    has_main = bool(tree.select("main") or tree.select("article") or tree.select("[role=main i]"))
    has_roles = bool(tree.select("[role=heading i]"))
    elements = tree.select(f"{','.join(_HEADINGS)},[role=heading i]") if has_roles else tree.iter_elements(_HEADINGS)
    for element in islice(elements, MAX_HEADINGS):
        if element.attr("hidden") is None and element.attr("aria-hidden") != "true":
            name = _label(element.text) or _image_text(element)
            headings.append(HeadingFact(_heading_level(element), name, has_main and dom.is_inside(element, _MAIN)))
    return tuple(headings)


def _heading_level(element: dom.Element) -> int:
    """The level that a heading states: `aria-level` goes before the tag, and a heading by role alone has level 2."""
    level = (element.attr("aria-level") or "").strip()
    if level in _LEVELS:
        return int(level)
    return int(element.tag[1]) if element.tag in _HEADINGS else 2


@dataclass(frozen=True, slots=True)
class _Ids:
    """The ids of a page."""

    counts: dict[str, int]
    """The number of elements by id, in page order. Names of anchors count as ids where no element has them."""

    @classmethod
    def of(cls, tree: dom.Tree) -> _Ids:
        """Collect the ids of a tree."""
        counts: dict[str, int] = Counter([element.attr("id") or "" for element in tree.select("[id]")])
        for anchor in tree.select("a[name]"):
            counts.setdefault(anchor.attr("name") or "", 1)
        counts.pop("", None)
        return cls(counts)

    def is_target(self, fragment: str) -> bool:
        """Whether exactly one element has this id, as written or with its percent-encoding undone."""
        return self.counts.get(fragment) == 1 or ("%" in fragment and self.counts.get(unquote(fragment)) == 1)

    def facts(self) -> dict[str, Any]:
        """Ids by name, the rest of them by hash, and duplicates."""
        counts = self.counts
        kept = _within_budget(counts, MAX_IDS, MAX_ID_CHARS)
        rest = islice(counts, len(kept), len(kept) + MAX_HASHED_IDS)
        duplicates = [name for name, count in counts.items() if count > 1]
        return {
            "ids": tuple(kept),
            "hashed_ids": tuple(sorted(map(hash_id, rest))),
            "duplicate_ids": tuple(map(_label, duplicates[:MAX_REFERENCES])),
        }


def _within_budget(names: Collection[str], count: int, chars: int) -> list[str]:
    """The first names, as many as a number and a sum of characters allow."""
    kept = list(islice(names, count))
    if sum(map(len, kept)) <= chars:
        return kept
    kept.clear()
    for name in islice(names, count):
        chars -= len(name)
        if chars < 0:
            break
        kept.append(name)
    return kept


def _id_references(tree: dom.Tree, ids: _Ids) -> tuple[IdReference, ...]:
    used = [("for", name) for label in tree.select("label[for]")[:MAX_READ] if (name := label.attr("for"))]
    for element in tree.select(_REFERRING)[:MAX_READ]:
        for attribute in _REFERENCES:
            used += [(attribute, name) for name in (element.attr(attribute) or "")[:MAX_VALUE_CHARS].split()]
    wrong = [(name, attribute) for attribute, name in dict.fromkeys(used) if ids.counts.get(name) != 1]
    return tuple([IdReference(_label(name), attribute, ids.counts.get(name, 0)) for name, attribute in wrong[:MAX_REFERENCES]])


def _links(elements: list[dom.Element], page: Url, resolver: PageResolver, ids: _Ids) -> tuple[LinkFact, ...]:
    """The links that the document does not fully describe (`LinkFact`). An `a` without `href` is not a link."""
    linking = [each for each in elements if each.attr("href") is not None][:MAX_LINKS]
    hrefs = [each.attr("href") or "" for each in linking]
    facts: dict[LinkFact, None] = {}
    chars, unread = MAX_LINK_CHARS, MAX_READ_CHARS
    for element, href, url in zip(linking, hrefs, resolver.urls(hrefs), strict=True):
        text = element.text if unread > 0 else ""
        unread -= len(text)
        rel = element.attr("rel")
        is_plain = url is not None and (rel is None or _KEPT_RELS.isdisjoint(rel.lower().replace(",", " ").split()))
        fragment = href.partition("#")[2] if "#" in href else None
        has_target = fragment is None or (url == page and ids.is_target(fragment))
        if (is_plain and has_target and text and not text.isspace()) or element.tag == "link":
            continue
        kind = (
            _link_kind(href) if url is None else LinkKind.SAME_PAGE if url == page and fragment is not None else LinkKind.PAGE
        )
        name = _label(text) or _name_without_text(element)
        if is_plain and has_target and name:
            continue
        facts[LinkFact(_address(href), name, _label(rel).lower() if rel else "", kind)] = None
        chars -= len(href)
        if len(facts) == MAX_LINKS or chars < 0:
            break
    return tuple(facts)


def _link_kind(href: str) -> LinkKind:
    """The kind of a link that leads to no http(s) URL."""
    if not href.strip():
        return LinkKind.EMPTY
    if href.lstrip().startswith("#"):
        return LinkKind.SAME_PAGE
    scheme = _SCHEME.match(href)
    return _LINK_KINDS.get(scheme[1].lower(), LinkKind.OTHER) if scheme is not None else LinkKind.INVALID


def _name_without_text(element: dom.Element) -> str:
    """The accessible name of a link or button that has no text."""
    if name := _label(element.attr("aria-label") or element.attr("title") or element.attr("alt") or ""):
        return name
    if ids := element.attr("aria-labelledby"):
        return f"#{_label(ids)}"
    return _image_text(element)


def _image_text(element: dom.Element) -> str:
    """The text of the first image or drawing within an element that has one."""
    for image in islice(element.iter_elements(("img", "svg", "i", "span")), MAX_EMBEDS):
        if name := _label(image.attr("alt") or image.attr("aria-label") or image.attr("title") or ""):
            return name
    return ""


# Images, iframes, resources


def _images(elements: list[dom.Element]) -> tuple[ImageFact, ...]:
    """The images that lack a text or a size, or that are all there is in a link."""
    images: dict[ImageFact, None] = {}
    chars = MAX_IMAGE_CHARS
    for element in elements[:MAX_READ]:
        attr = element.attr
        alt, width, height = attr("alt"), attr("width"), attr("height")
        link = element.closest("a[href]")
        is_only_in_link = link is not None and not link.text.strip()
        if (alt and width and height and not is_only_in_link) or element.closest("template") is not None:
            continue
        src = _address(attr("src") or attr("data-src") or "")
        state = Alt.ABSENT if alt is None else Alt.TEXT if alt.strip() else Alt.EMPTY
        is_presentation = (attr("role") or "").strip().lower() in _PRESENTATION or (
            state is Alt.ABSENT and element.closest(_ARIA_HIDDEN) is not None
        )
        size = (_label(width or ""), _label(height or ""), _label(attr("loading") or ""))
        images[ImageFact(src, state, *size, is_only_in_link, is_presentation)] = None
        chars -= len(src)
        if len(images) == MAX_IMAGES or chars < 0:
            break
    return tuple(images)


def _is_hidden(element: dom.Element) -> bool:
    """Whether an attribute or an inline style hides an element from all readers, those with a screen reader included."""
    is_marked = element.attr("hidden") is not None or element.closest(_ARIA_HIDDEN) is not None
    return is_marked or hiding_technique(element.attr("style") or "") in _HIDING_FROM_ALL


def _is_silent(video: dom.Element) -> bool:
    """Whether a video plays without sound, like a moving picture."""
    return video.attr("muted") is not None and video.attr("controls") is None


def _iframe(iframe: dom.Element) -> IframeFact:
    attr = iframe.attr
    title = attr("title") or attr("aria-label") or ""
    return IframeFact(
        _address(attr("src") or attr("data-src") or ""),
        _label(title) or (f"#{ids}" if (ids := _label(attr("aria-labelledby") or "")) else ""),
    )


def _video(video: dom.Element) -> VideoFact:
    sources = [video, *islice(video.iter_elements(("source",)), MAX_DECLARATIONS)]
    tracks = islice(video.iter_elements(("track",)), MAX_DECLARATIONS)
    kinds = {(track.attr("kind") or "subtitles").strip().lower() for track in tracks}
    return VideoFact(
        _address(next(filter(None, [each.attr("src") for each in sources]), "")),
        not kinds.isdisjoint({"captions", "subtitles"}),
    )


def _insecure(tree: dom.Tree) -> Iterator[InsecureResource]:
    """Yield the resources whose address is http, active ones first."""
    for tag, name in _ACTIVE:
        for element in tree.select(f"{tag}[{name}^='http:' i]"):
            if (tag != "link" or "stylesheet" in (element.attr("rel") or "").lower().split()) and _is_loaded(element):
                yield InsecureResource(tag, _address(element.attr(name) or ""), is_active=True)
    for tag, name in _PASSIVE:
        for element in filter(_is_loaded, tree.select(f"{tag}[{name}^='http:' i]")):
            yield InsecureResource(tag, _address(element.attr(name) or ""), is_active=False)
    for tag in ("img", "source"):
        for element in filter(_is_loaded, tree.select(f"{tag}[srcset*='http:' i]")):
            yield InsecureResource(tag, _http_url_in_set(element.attr("srcset") or ""), is_active=False)


def _is_loaded(element: dom.Element) -> bool:
    """Whether browsers load the resource of an element: not in a template."""
    return element.closest("template") is None


def _http_url_in_set(candidates: str) -> str:
    """The first address of a `srcset` that is http."""
    at = candidates.lower().find("http:")
    return _address(candidates[at:].split(None, 1)[0].rstrip(","))


# Controls and tables


def _unnamed_controls(tree: dom.Tree) -> Iterator[ControlFact]:
    """Yield inputs, selections and text areas without a label, and buttons without a name."""
    fields_ = [*tree.select("input")[:MAX_READ], *tree.select("select")[:MAX_READ], *tree.select("textarea")[:MAX_READ]]
    buttons = tree.select("button")[:MAX_READ]
    if not fields_ and not buttons:
        return
    labels = Labels(tree, dom.Selectors(tree))
    for control in fields_:
        kind = (control.attr("type") or "").strip().lower() if control.tag == "input" else ""
        if kind == "hidden" or kind in _NAMED_BUTTONS or (kind in {"image", "button"} and _name_of_input(control)):
            continue
        if labels.of(control)[1] in {"", "placeholder"}:
            yield _control(control, kind)
    for button in buttons:
        if not button.text.strip() and not _name_without_text(button) and not labels.of(button)[0]:
            yield _control(button, "")


def _name_of_input(control: dom.Element) -> str:
    return (control.attr("alt") or control.attr("value") or "").strip()


def _control(control: dom.Element, kind: str) -> ControlFact:
    attr = control.attr
    return ControlFact(_describe(control), _label(kind), _label(attr("name") or ""), _label(attr("placeholder") or ""))


def _tables_without_headers(tree: dom.Tree) -> Iterator[TableFact]:
    """Yield the tables that have no `th`, more than one row and column, no table within, and are not marked as layout."""
    for table in tree.select("table")[:MAX_READ]:
        if (table.attr("role") or "").strip().lower() in _PRESENTATION or dom.has_descendant(table, "th", "table"):
            continue
        rows = list(islice(table.iter_elements(("tr",)), MAX_READ))
        cells = [len(dom.child_elements(row)) for row in rows]
        columns = max(cells, default=0)
        if len(rows) > 1 and columns > 1 and not any(map(_is_header_cell, islice(_cells(rows), MAX_READ))):
            yield TableFact(len(rows), columns, _label(" | ".join([cell.text for cell in dom.child_elements(rows[0])])))


def _cells(rows: list[dom.Element]) -> Iterator[dom.Element]:
    return (cell for row in rows for cell in dom.child_elements(row))


def _is_header_cell(cell: dom.Element) -> bool:
    """Whether an attribute marks a `td` as the header of a row or column."""
    return cell.attr("scope") is not None or (cell.attr("role") or "").strip().lower() in _HEADER_ROLES


def _json_ld_errors(tree: dom.Tree) -> Iterator[str]:
    """Yield what is wrong with the JSON-LD scripts that are not valid JSON."""
    for script in tree.select("script")[:MAX_READ]:
        if (script.attr("type") or "").strip().lower() != "application/ld+json":
            continue
        text = _JSON_WRAPPER.sub("", dom.raw_text(script))
        try:
            msgspec.json.decode(text)
        except (ValueError, RecursionError) as error:
            yield _label(str(error)) if text.strip() else "The script is empty"


# Size, hidden text, footer, dates


def _sizes(tree: dom.Tree) -> dict[str, Any]:
    """The number of elements; the depth of a page that is deep; the widest parent of one that is large or deep."""
    count = int(cast("float", tree.xpath("count(//*)")))
    is_deep = bool(tree.xpath(_DEEPER))
    if count <= MANY_ELEMENTS and not is_deep:
        return {"elements": count}
    elements = list(tree.iter_elements(None, True))
    parents = [element.parent for element in elements]
    wide, most = Counter(parents).most_common(1)[0]
    widest = dom.as_element(wide)
    return {
        "elements": count,
        "depth": _depth(elements, parents) if is_deep else 0,
        "widest": WidestParent(_describe(widest), most) if widest is not None else None,
    }


def _depth(elements: list[dom.Element], parents: list[Any]) -> int:
    """The depth of the deepest element; the root has depth 1."""
    depths: dict[Any, int] = {}
    for element, parent in zip(elements, parents, strict=True):
        depths[element] = depths.get(parent, 0) + 1
    return max(depths.values())


def _hidden(tree: dom.Tree) -> dict[str, Any]:
    """The outermost elements that an attribute or an inline style hides, with the words in them."""
    styled = [(each, hiding_technique(each.attr("style") or "")) for each in tree.select("[style]")]
    marked = [(each, "hidden") for each in tree.select("[hidden]") if not is_streamed(each)]
    candidates = [(each, technique) for each, technique in (*styled, *marked) if technique and each.tag not in _NOT_SHOWN]
    techniques = dict(candidates[:MAX_READ])
    if not techniques:
        return {}
    hidden = set(techniques)
    parts: list[HiddenPart] = []
    texts: list[str] = []
    words, unread = 0, MAX_READ_CHARS
    for element, technique in techniques.items():
        if unread < 0 or dom.has_ancestor_in(element, hidden):
            continue
        text = _shown_text(element)
        unread -= len(text)
        count = len(text.split())
        links = len(dom.elements_list(element, "a"))
        if not count and not links:
            continue
        words += count
        texts.append(text)
        if len(parts) < MAX_HIDDEN:
            parts.append(HiddenPart(technique, _describe(element), count, links))
    return {"hidden": tuple(parts), "hidden_words": words, "hidden_text": _line(" ".join(texts))}


def _shown_text(element: dom.Element) -> str:
    """The text of an element without that of scripts and templates in it."""
    if not dom.has_descendant(element, *_NOT_TEXT):
        return element.text
    parents = [(text, dom.as_element(text.parent)) for text in dom.text_nodes(element)]
    return "".join([text.data for text, parent in parents if parent is None or parent.closest(",".join(_NOT_TEXT)) is None])


def _footer(tree: dom.Tree) -> dict[str, Any]:
    """The last copyright notice in a footer, and the last year in it."""
    for footer in _footers(tree):
        text = " ".join(footer.text[-MAX_FOOTER_CHARS:].split())
        lowered = text.lower()
        at = max([lowered.rfind(mark) for mark in _COPYRIGHT_MARKS])
        # The pattern is tried beside the last mark alone: on all of a long footer it takes longer than reading its links.
        notices = _COPYRIGHT.findall(text, max(0, at - MAX_TEXT_CHARS), at + MAX_TEXT_CHARS) if at >= 0 else []
        if notices:
            notice = notices[-1]
            return {"footer": notice[:MAX_TEXT_CHARS], "footer_year": max(map(int, _YEAR.findall(notice)))}
    return {}


def _footers(tree: dom.Tree) -> Iterator[dom.Element]:
    """Yield what may be the footer of the page, at last its last paragraph."""
    for selector in _FOOTERS:
        yield from reversed(tree.select(selector)[-MAX_DECLARATIONS:])
    yield from tree.select("p")[-1:]


def _text_dates(utf8: bytes) -> Iterator[DateFact]:
    """Yield the first date of each event that the start or the end of a text states in words: `Last updated: 6 May 2024`."""
    seen: set[str] = set()
    ends = utf8 if len(utf8) <= 2 * _MAX_DATED_BYTES else utf8[:_MAX_DATED_BYTES] + b"\n" + utf8[-_MAX_DATED_BYTES:]
    for match in islice(_DATED.finditer(ends), MAX_DECLARATIONS):
        event = "published" if match[1].lower() in _PUBLISHING else "modified"
        if event in seen:
            continue
        words = ends[match.end() : match.end() + _MAX_DATE_BYTES].decode("utf-8", "ignore").split()[:_MAX_DATE_WORDS]
        dates = (iso_date(" ".join(words[:count]).rstrip(".,;)")) for count in range(len(words), 0, -1))
        if date := next(filter(None, dates), ""):
            seen.add(event)
            yield DateFact("text", event, date)


# Texts


def _label(text: str) -> str:
    """A text on one line, cut to the length of a label."""
    return " ".join(text[: 8 * MAX_TEXT_CHARS].split())[:MAX_TEXT_CHARS]


def _line(text: str, chars: int = MAX_VALUE_CHARS) -> str:
    return " ".join(text[: 8 * chars].split())[:chars]


def _address(raw: str) -> str:
    """An address as written, cut where it is too long; of inlined data only its type."""
    if raw.startswith("data:"):
        return raw[:MAX_DATA_URL_CHARS].partition(",")[0]
    return raw if len(raw) <= MAX_URL_CHARS else f"{raw[:MAX_TEXT_CHARS]}\u2026"


def _describe(element: dom.Element) -> str:
    """An element as in a selector: tag, id, classes, role."""
    attr = element.attr
    name, classes, role = attr("id"), (attr("class") or "")[:MAX_VALUE_CHARS].split(), attr("role")
    parts = [element.tag, f"#{name}" if name else "", *(f".{each}" for each in classes), f"[role={role}]" if role else ""]
    return _label("".join(parts))
