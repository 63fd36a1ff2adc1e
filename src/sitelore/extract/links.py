"""Finds every distinct http(s) link of a page, in page order, and resolves the hrefs of a page.

Compiled code (`native/links.c`) resolves plain hrefs, many at once; the URL parser resolves the others.

Also finds the anchors of headings and definition terms: what a URL's fragment names, so that a citation can lead there.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import compress, islice
from typing import cast
from urllib.parse import quote

from sitelore.extract import dom
from sitelore.extract.native.library import library
from sitelore.model.response import Response
from sitelore.model.url import DEFAULT_RULES, KeyRules, Url

_NATIVE = library()
_BATCH = 1000  # hrefs at once: the output buffer is sized for the longest answers
_EXTRA_BYTES = 8  # of an answer, besides href and page
_MAX_HREF_BYTES = 4096  # compiled code leaves longer hrefs to the parser, so a longer parameter name cannot be in one
_MAX_TEXT_CHARS = 200
_MAX_TEXTS = 2000  # anchors can nest within tables, and then every text holds all texts below it
_MAX_FRAGMENT = 8192  # `Url` refuses longer ones
_CACHE_SIZE = 20_000
_MAX_RESOLVERS = 64
_KEPT_SCHEMES = re.compile(
    r"(?:mailto:[^\s<>\"'()\\@]{1,200}@[^\s<>\"'()\\@]{1,300}|tel:[+\d().\s-]{3,30}|sms:[+\d().\s-]{3,30})$", re.IGNORECASE
)
_MAX_WRITTEN_FRAGMENT = 200
_FRAGMENT_CHARS = "!$&*+,;=:@/?%"  # besides letters, digits and `._~-`
_LINE_ENDS = str.maketrans("", "", "\t\n\r")  # URL parsers remove them
_UNSAFE = re.compile(r"[()'\\]")
_LINK_HEADER = re.compile(r"<([^<>]*)>([^<]*)")  # without "<" inside: a header of nothing else would take quadratic time
_REL = re.compile(r";\s*rel\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|([^\s;,]+))", re.IGNORECASE)
_HREFLANG = re.compile(r";\s*hreflang\s*=\s*[\"']?([^\s\"';,]+)", re.IGNORECASE)


class Mark:
    """Answers of `PlainHrefs` that are not URLs. All of them sort before any URL."""

    NOWHERE = "\1"
    """Not a page: a mail address, a script, an empty href."""
    HERE = "\2"
    """A fragment of the page itself."""
    PARSE = "\3"
    """Left to the URL parser."""
    OF_PAGE = "\4"
    """Prefix of a URL that was resolved against the path of the page."""
    LAST = "\5"


class PlainHrefs:
    """Resolves hrefs that every URL parser reads alike: most links of most pages."""

    __slots__ = ("_dropped",)

    def __init__(self, rules: KeyRules) -> None:
        names = [name.encode("utf-8", "surrogatepass") for name in rules.dropped]
        self._dropped = b"".join([len(name).to_bytes(2, "little") + name for name in names if len(name) <= _MAX_HREF_BYTES])

    def resolve(self, hrefs: list[str], base: str, origin: str) -> list[str]:
        """For each href its URL on the page `base`, whose origin is `origin`, or a `Mark`."""
        page, path = base.encode("utf-8", "surrogatepass"), len(origin)
        if len(hrefs) <= _BATCH:
            return self._resolve_batch(hrefs, page, path)
        return [key for at in range(0, len(hrefs), _BATCH) for key in self._resolve_batch(hrefs[at : at + _BATCH], page, path)]

    def _resolve_batch(self, hrefs: list[str], page: bytes, path: int) -> list[str]:
        try:
            joined, dropped = "\0".join(hrefs).encode(), self._dropped
        except UnicodeEncodeError:
            return [Mark.PARSE] * len(hrefs)  # a lone surrogate
        if not page.isascii() or joined.count(0) != len(hrefs) - 1:
            return [Mark.PARSE] * len(hrefs)
        capacity = 2 * len(joined) + len(hrefs) * (len(page) + _EXTRA_BYTES)
        out = ctypes.create_string_buffer(1 << capacity.bit_length())  # few sizes: ctypes makes a class for each
        size = _NATIVE.links_resolve(joined, len(joined), page, len(page), path, dropped, len(dropped), out)
        return ctypes.string_at(out, size).decode().split("\0")


class Target:
    """Where an href leads."""

    __slots__ = ("_href", "_markdown_url", "url")

    def __init__(self, url: Url | None, href: str) -> None:
        self.url = url
        self._href = href
        self._markdown_url: str | None = None

    @property
    def markdown_url(self) -> str:
        """The address as Markdown has it: absolute, escaped, with its fragment; empty for one that must not be linked to."""
        if self._markdown_url is None:
            self._markdown_url = _to_markdown(self._href, self.url)
        return self._markdown_url


@dataclass(frozen=True, slots=True)
class _Cache:
    """Resolved hrefs."""

    urls: dict[str, Url | None] = field(default_factory=dict)
    targets: dict[str, Target] = field(default_factory=dict)
    """Those of them that were written into Markdown."""


class Resolver:
    """Resolves the hrefs of pages, with a cache per origin: the menus of a site repeat a few hundred links on every page.

    The cache affects no result, only its cost, so extraction stays pure.
    """

    __slots__ = ("_caches", "_size", "plain", "rules")

    def __init__(self, rules: KeyRules) -> None:
        self.rules = rules
        self.plain = PlainHrefs(rules)
        self._caches: dict[str, _Cache] = {}
        self._size = 0

    def on_page(self, base: str) -> PageResolver:
        """The resolver for one page, whose relative links are resolved against `base`."""
        origin = Url.trusted(base).origin
        cache = self._caches.get(origin)
        if cache is None:
            self.reserve(1)
            cache = self._caches[origin] = _Cache()
        return PageResolver(self, base, origin, cache)

    def reserve(self, count: int) -> None:
        """Count new entries of the caches; empties all caches when there are too many."""
        self._size += count
        if self._size > _CACHE_SIZE:
            for cache in self._caches.values():
                cache.urls.clear()
                cache.targets.clear()
            self._caches.clear()
            self._size = count


class PageResolver:
    """Resolves the hrefs of one page. Links and Markdown ask for the same hrefs, so answers are cached."""

    __slots__ = ("_here", "_origin", "_own", "_shared", "_site", "base")

    def __init__(self, site: Resolver, base: str, origin: str, shared: _Cache) -> None:
        self.base = base
        self._site = site
        self._origin = origin
        self._shared = shared  # with all pages of the origin: hrefs that do not depend on the page's path
        self._own = _Cache({"": None})
        self._here: list[Url | None] = []

    def target(self, raw: str) -> Target:
        """Where `raw` leads from this page."""
        return self._shared.targets.get(raw) or self._own.targets.get(raw) or self._new_target(raw)

    def urls(self, raws: list[str]) -> list[Url | None]:
        """The URLs of many hrefs. All that are nothing but a fragment share one object, which is `here`."""
        shared, own = self._shared.urls, self._own.urls
        urls = list(map(shared.get, raws))
        if all(urls):
            return urls
        missing = [at for at, url in enumerate(urls) if url is None]
        new = {raws[at] for at in missing}.difference(own)
        self._site.reserve(len(new))
        self._resolve(list(new))
        for at in missing:
            urls[at] = shared.get(raws[at]) or own[raws[at]]
        return urls

    @property
    def here(self) -> Url | None:
        """The URL of an href that is nothing but a fragment."""
        if not self._here:
            self._here.append(Url.parse(self.base, None, self._site.rules))
        return self._here[0]

    def _new_target(self, raw: str) -> Target:
        if raw not in self._own.urls and raw not in self._shared.urls:
            self._site.reserve(1)
            self._parse(raw)
        cache = self._own if raw in self._own.urls else self._shared
        target = cache.targets[raw] = Target(cache.urls[raw], raw.strip())
        return target

    def _resolve(self, raws: list[str]) -> None:
        """Cache the URLs of hrefs; the parser resolves only those that are not plain."""
        own = self._own.urls
        shared = self._shared.urls if len(raws) <= _CACHE_SIZE else own
        for raw, key in zip(raws, self._site.plain.resolve(raws, self.base, self._origin), strict=True):
            if key > Mark.LAST:
                shared[raw] = Url.trusted(key)
            elif key[0] == Mark.OF_PAGE:
                own[raw] = Url.trusted(key[1:])
            elif key == Mark.PARSE:
                self._parse(raw)
            else:
                own[raw] = self.here if key == Mark.HERE else None

    def _parse(self, raw: str) -> None:
        """Cache the URL of an href by the parser."""
        href, rules, cache = raw.strip(), self._site.rules, self._shared
        if href.startswith(("http://", "https://")):
            url = Url.parse(href, None, rules)
        elif href.startswith("/") and not href.startswith(("//", "/\\")):
            url = Url.below(self._origin, href, rules)
        else:
            cache = self._own
            is_fragment = href.startswith("#") and len(href) <= _MAX_FRAGMENT
            url = self.here if is_fragment else Url.parse(href, self.base, rules) if href else None
        (cache if url is not None else self._own).urls[raw] = url


def _to_markdown(href: str, url: Url | None) -> str:
    if url is None:
        return href if _KEPT_SCHEMES.match(href) else ""
    # Parentheses and quotes would end a link in Markdown.
    escaped = _UNSAFE.sub(lambda match: f"%{ord(match[0]):02X}", str(url))
    fragment = href.partition("#")[2].translate(_LINE_ENDS)
    if not fragment or len(fragment) > _MAX_WRITTEN_FRAGMENT:
        return escaped
    return f"{escaped}#{quote(fragment, _FRAGMENT_CHARS, errors='replace')}"


_RESOLVERS: dict[tuple[str, ...], Resolver] = {}


def resolver_for(dropped_parameters: tuple[str, ...]) -> Resolver:
    """The process's resolver for a site's own tracking parameters."""
    resolver = _RESOLVERS.get(dropped_parameters)
    if resolver is None:
        if len(_RESOLVERS) >= _MAX_RESOLVERS:
            _RESOLVERS.clear()
        rules = DEFAULT_RULES.plus(dropped_parameters) if dropped_parameters else DEFAULT_RULES
        resolver = _RESOLVERS[dropped_parameters] = Resolver(rules)
    return resolver


@dataclass(frozen=True, slots=True)
class PageLinks:
    """The link targets of a page, each once, with its first text."""

    urls: list[Url]
    texts: list[str]
    nofollow: frozenset[Url]
    """Those to which every link says nofollow."""
    elements: list[dom.Element] = field(default_factory=list)
    """The first link to each of `urls`, while the tree exists."""
    others: list[dom.Element] = field(default_factory=list)
    """Links that lead to no page: mail addresses, telephone numbers, script handlers."""

    def without_nodes(self) -> PageLinks:
        """These links without elements, which would keep the tree in memory."""
        return PageLinks(self.urls, self.texts, self.nofollow)


NO_LINKS = PageLinks([], [], frozenset())


def find_links(elements: list[dom.Element], page: Url, resolver: PageResolver, *, nofollow: bool) -> PageLinks:
    """The targets of a page's link elements. `nofollow` is the directive of the whole page."""
    hrefs = [element.attr("href") or "" for element in elements]
    urls = resolver.urls(hrefs)
    first = _first_places(urls)
    others: list[int] = []
    local: set[int] = set()
    # A fragment alone is the page itself, unless a <base> makes it another one.
    if page in first and resolver.base == page:
        here = resolver.here
        local = {at for at, url in enumerate(urls) if url is here}
        if local:
            others = [at for at in sorted(local) if hrefs[at].strip() == "#"]
            urls = [None if url is here else url for url in urls]
            first = _first_places(urls)
    if first.pop(None, None) is not None:
        others += [at for at, url in enumerate(urls) if url is None and at not in local]
    targets, places = cast("list[Url]", list(first)), list(first.values())
    texts = [_link_text(elements[at]) for at in places[:_MAX_TEXTS]]
    if len(targets) < len(urls) and not all(texts):
        _fill_texts(texts, first, urls, elements)
    texts += [""] * (len(targets) - len(texts))
    refused = frozenset(targets) if nofollow else _nofollow_targets(elements, urls)
    return PageLinks(targets, texts, refused, [elements[at] for at in places], [elements[at] for at in others])


def _first_places(urls: list[Url | None]) -> dict[Url | None, int]:
    """The index of the first link to each target."""
    first = dict(zip(urls, range(len(urls)), strict=True))
    if len(first) < len(urls):
        first.update(zip(reversed(urls), range(len(urls) - 1, -1, -1), strict=True))
    return first


def _link_text(element: dom.Element) -> str:
    """The text of a link, or that of the image map it is part of, on one line."""
    text = " ".join((element.text or element.attr("alt") or "").split())
    return text if len(text) <= _MAX_TEXT_CHARS else text[:_MAX_TEXT_CHARS].rstrip()


def _fill_texts(texts: list[str], first: dict[Url | None, int], urls: list[Url | None], elements: list[dom.Element]) -> None:
    """Give targets whose first link is a picture the text of a later one."""
    blank = {url: at for at, url in enumerate(islice(first, len(texts))) if not texts[at]}
    for at in compress(range(len(urls)), map(blank.__contains__, urls)):
        url = urls[at]
        if url in blank and at != first[url] and (text := _link_text(elements[at])):
            texts[blank.pop(url)] = text


def _nofollow_targets(elements: list[dom.Element], urls: list[Url | None]) -> frozenset[Url]:
    refused = {at for at, element in enumerate(elements) if (rel := element.attr("rel")) and _is_nofollow(rel)}
    if not refused:
        return frozenset()
    followed = {url for at, url in enumerate(urls) if at not in refused}
    return frozenset([url for at in refused if (url := urls[at]) is not None and url not in followed])


def _is_nofollow(rel: str) -> bool:
    return "nofollow" in rel.lower().replace(",", " ").split()


def header_links(response: Response) -> Iterator[tuple[str, list[str], str]]:
    """Yield each link of the `Link` headers: its target as written, the words of its `rel` in lower case, its `hreflang`."""
    for header in response.header_all("link"):
        for target, parameters in _LINK_HEADER.findall(header):
            rel, lang = _REL.search(parameters), _HREFLANG.search(parameters)
            words = (rel[1] or rel[2] or rel[3] or "").lower().split() if rel is not None else []
            yield target.strip(), words, (lang[1] if lang is not None else "")


def header_canonical(response: Response, rules: KeyRules) -> Url | None:
    """The canonical URL of the `Link` headers."""
    target = next((target for target, rel, _ in header_links(response) if "canonical" in rel), None)
    return Url.parse(target, response.url, rules) if target is not None else None


# Anchors
#
# The anchor of a heading is its own `id`, that of an element inside it, of the element that it opens (`<section id>`), or of an
# empty element before it. Its permanent link (`<a href="#…">¶</a>`) counts where no `id` does.

_ANCHORED = ("h1", "h2", "h3", "h4", "h5", "h6", "dt")
_PERMALINK_SIGNS = " \u00b6\u00a7#\uf0c1"
_MAX_ANCHORS = 2_000
_MAX_ANCHOR_TEXT_CHARS = 160
_MAX_ANCHOR_CHARS = 200
_MAX_ANCHOR_WRAPPERS = 4


def read_anchors(nodes: Iterable[dom.Node]) -> tuple[tuple[str, str], ...]:
    """(anchor, text) of every heading and definition term that has an anchor, in page order."""
    anchors: list[tuple[str, str]] = []
    for node in nodes:
        for element in dom.elements_list(node, *_ANCHORED):
            anchor = _anchor_of(element)
            if anchor and len(anchor) <= _MAX_ANCHOR_CHARS and not any(map(str.isspace, anchor)):
                text = " ".join(element.text.split()).rstrip(_PERMALINK_SIGNS)[:_MAX_ANCHOR_TEXT_CHARS]
                if text:
                    anchors.append((anchor, text))
            if len(anchors) >= _MAX_ANCHORS:
                return tuple(anchors)
    return tuple(anchors)


def _anchor_of(element: dom.Element) -> str:
    if own := element.attr("id"):
        return own
    if within := dom.select(element, "[id],a[name]"):
        return within[0].attr("id") or within[0].attr("name") or ""
    before = dom.element_before(element)
    at, wrapper = element, dom.as_element(element.parent)
    for _ in range(_MAX_ANCHOR_WRAPPERS):
        if dom.element_before(at) is not None or wrapper is None or wrapper.tag in {"body", "main", "dl"}:
            break
        if anchor := wrapper.attr("id"):
            return anchor
        at, wrapper = wrapper, dom.as_element(wrapper.parent)
    if before is not None and not before.text.strip() and (anchor := before.attr("id") or before.attr("name")):
        return anchor
    links = [link.attr("href") or "" for link in dom.select(element, 'a[href^="#"]')]
    return links[-1][1:] if links else ""
