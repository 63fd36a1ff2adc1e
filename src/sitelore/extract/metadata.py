"""What a page says about itself: title, description, language, canonical address, and what robots may do with it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from sitelore.extract import dom
from sitelore.model.response import Response
from sitelore.model.url import KeyRules, Url

_AGENT = "sitelore"
_VALUED_DIRECTIVES = frozenset({"unavailable_after", "max-snippet", "max-image-preview", "max-video-preview"})
_KEPT_PREFIXES = ("og:", "article:", "book:", "profile:", "product:", "twitter:", "dc.", "dcterms.", "citation_")
_KEPT_NAMES = frozenset({
    "author", "keywords", "date", "pubdate", "publish_date", "last-modified", "revised", "generator", "application-name",
    "subject", "category", "copyright", "news_keywords", "section", "parsely-pub-date", "parsely-author", "theme-color",
})  # fmt: skip
_MAX_META = 64
_MAX_HEADINGS = 50
_MAX_META_CHARS = 2000
_MAX_TITLE_CHARS = 1000
_LANG = re.compile(r"[A-Za-z]{2,3}(?:[-_][A-Za-z0-9]{2,8}){0,3}$")
_LINK_HEADER = re.compile(r"<([^>]*)>([^<]*)")
_REL = re.compile(r";\s*rel\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|([^\s;,]+))", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Robots:
    """What the page asks of crawlers, from its head and its headers together, the most restrictive of both."""

    noindex: bool = False
    nofollow: bool = False
    noarchive: bool = False


@dataclass(frozen=True, slots=True)
class Metadata:
    """The page's own account of itself. Nothing here is redacted yet beyond what the source was."""

    title: str = ""
    h1: str = ""
    description: str = ""
    lang: str = ""
    base: str = ""
    """What relative links resolve against."""
    canonical: Url | None = None
    robots: Robots = Robots()
    meta: dict[str, str] = field(default_factory=dict)


def read_metadata(tree: dom.Tree, response: Response, rules: KeyRules) -> Metadata:
    """Everything but links and content, in one look at the tree."""
    head = _Head()
    head.take(tree)
    base = (Url.parse(head.base, response.url, rules) if head.base else None) or response.url
    named = head.named
    return Metadata(
        title=(head.title or named.get("og:title", "") or named.get("twitter:title", "") or head.h1)[:_MAX_TITLE_CHARS],
        h1=head.h1[:_MAX_TITLE_CHARS],
        description=named.get("description", "") or named.get("og:description", ""),
        lang=_lang(tree, response),
        base=base,
        canonical=Url.parse(head.canonical, base, rules) if head.canonical else _header_canonical(response, rules),
        robots=robots_of([named.get("robots", ""), named.get(_AGENT, "")], response.header_all("x-robots-tag")),
        meta={name: value for name, value in named.items() if name in _KEPT_NAMES or name.startswith(_KEPT_PREFIXES)},
    )


@dataclass(slots=True)
class _Head:
    """Collects the first of everything."""

    title: str = ""
    h1: str = ""
    base: str = ""
    canonical: str = ""
    named: dict[str, str] = field(default_factory=dict)

    def take(self, tree: dom.Tree) -> None:
        for element in dom.select(tree, "meta"):
            self._take_meta(element)
        for element in dom.select(tree, "link"):
            rel = dom.attribute(element, "rel").lower()
            if "canonical" in rel and not self.canonical and "canonical" in rel.split():
                self.canonical = dom.attribute(element, "href").strip()
        titles = (dom.one_line(e) for e in dom.select(tree, "title")[:_MAX_HEADINGS] if not dom.is_inside(e, "svg"))
        self.title = next(filter(None, titles), "")
        self.h1 = next(filter(None, map(dom.one_line, dom.select(tree, "h1")[:_MAX_HEADINGS])), "")
        bases = (dom.attribute(element, "href").strip() for element in dom.select(tree, "base"))
        self.base = next(filter(None, bases), "")

    def _take_meta(self, element: dom.Element) -> None:
        """By lower-case name or property; robots directives of several elements are joined."""
        name = (dom.attribute(element, "name") or dom.attribute(element, "property")).strip().lower()
        if not name or len(name) > 80:
            return
        content = " ".join(dom.attribute(element, "content")[:_MAX_META_CHARS].split())
        if name in {"robots", _AGENT}:
            self.named[name] = f"{self.named[name]},{content}" if name in self.named else content
        elif content and name not in self.named and len(self.named) < _MAX_META:
            self.named[name] = content


def robots_of(metas: list[str], headers: list[str]) -> Robots:
    """Directives of meta elements and of `X-Robots-Tag` headers, added up."""
    words: set[str] = set()
    for content in metas:
        words.update(word.strip().lower() for word in content.split(","))
    for header in headers:
        words |= _header_directives(header)
    everything = "none" in words
    return Robots(everything or "noindex" in words, everything or "nofollow" in words, "noarchive" in words)


def _header_directives(header: str) -> set[str]:
    """The directives of one header that speak to us: those before any agent's name, and those after ours."""
    words: set[str] = set()
    ours = True
    for part in header.split(","):
        name, colon, rest = part.partition(":")
        word = name.strip().lower()
        if colon and word not in _VALUED_DIRECTIVES:
            ours = word in {_AGENT, "*", "robots"}
            word = rest.strip().lower()
        if ours:
            words.add(word)
    return words


def _lang(tree: dom.Tree, response: Response) -> str:
    root = dom.first(tree, "html")
    said = dom.attribute(root, "lang") or dom.attribute(root, "xml:lang") if root is not None else ""
    said = (said or (response.header("content-language") or "").partition(",")[0]).strip()
    return said.replace("_", "-") if _LANG.match(said) else ""


def _header_canonical(response: Response, rules: KeyRules) -> Url | None:
    for header in response.header_all("link"):
        for target, parameters in _LINK_HEADER.findall(header):
            rel = _REL.search(parameters)
            if rel is not None and "canonical" in (rel[1] or rel[2] or rel[3] or "").lower().split():
                return Url.parse(target.strip(), response.url, rules)
    return None
