"""Every distinct http(s) link of a page, in page order."""

from __future__ import annotations

from dataclasses import dataclass

from sitelore.extract import dom
from sitelore.model.url import DEFAULT_RULES, KeyRules, Url

_MAX_TEXT_CHARS = 200
_MAX_TEXTS = 2000  # anchors can nest within tables, and then every text holds all texts below it
_MEMO_SIZE = 20_000
_RULES_SIZE = 64


class Resolver:
    """Raw href → `Url`, remembered: a site's menus repeat the same few hundred links on every page.

    What is remembered never shows in a result, only in its cost, so reading stays pure.
    """

    __slots__ = ("_memo", "rules")

    def __init__(self, rules: KeyRules) -> None:
        self.rules = rules
        self._memo: dict[str, Url | None] = {}

    def on_page(self, base: str) -> PageResolver:
        """The resolver for one page, whose relative links mean `base`."""
        return PageResolver(self, base)

    def absolute(self, href: str) -> Url | None:
        """The URL of an href that needs no base."""
        if href in self._memo:
            return self._memo[href]
        if len(self._memo) >= _MEMO_SIZE:
            self._memo.clear()
        url = self._memo[href] = Url.parse(href, None, self.rules)
        return url


class PageResolver:
    """The same for one page: links and Markdown ask for the same hrefs."""

    __slots__ = ("_known", "_origin", "_site", "base")

    def __init__(self, site: Resolver, base: str) -> None:
        self.base = base
        self._site = site
        self._origin = Url.trusted(base).origin
        self._known: dict[str, Url | None] = {}

    def resolve(self, raw: str) -> Url | None:
        """The URL that `raw` means on this page, or None."""
        known = self._known
        if raw in known:
            return known[raw]
        if raw.startswith(("http://", "https://")):
            url = self._site.absolute(raw)
        elif raw.startswith("/") and not raw.startswith(("//", "/\\")):
            url = self._site.absolute(self._origin + raw)
        else:
            url = Url.parse(raw, self.base, self._site.rules)
        known[raw] = url
        return url


_RESOLVERS: dict[tuple[str, ...], Resolver] = {}


def resolver_for(dropped_parameters: tuple[str, ...]) -> Resolver:
    """The process's resolver for a site's own tracking parameters."""
    resolver = _RESOLVERS.get(dropped_parameters)
    if resolver is None:
        if len(_RESOLVERS) >= _RULES_SIZE:
            _RESOLVERS.clear()
        rules = DEFAULT_RULES.plus(dropped_parameters) if dropped_parameters else DEFAULT_RULES
        resolver = _RESOLVERS[dropped_parameters] = Resolver(rules)
    return resolver


@dataclass(slots=True)
class Found:
    """One link target: its first text, and whether every link to it says nofollow."""

    url: Url
    nofollow: bool
    text: str


def find_links(tree: dom.Tree, page: Url, resolver: PageResolver, *, nofollow: bool) -> list[Found]:
    """The targets of `a`, `area` and `link rel=next|prev`. `nofollow` is what the whole page says."""
    found: dict[Url, Found] = {}
    # A fragment alone is the page itself, unless a <base> makes it another one.
    own_fragments = resolver.base == page
    for element, tag, href, rel in dom.links(tree):
        raw = href.strip()
        if not raw or (own_fragments and raw[0] == "#"):
            continue
        rels = rel.lower().replace(",", " ").split() if rel else ()
        if tag == "link" and "next" not in rels and "prev" not in rels:
            continue
        url = resolver.resolve(raw)
        if url is None:
            continue
        refused = nofollow or "nofollow" in rels
        known = found.get(url)
        if known is None:
            found[url] = Found(url, refused, _text_of(element, tag) if len(found) < _MAX_TEXTS else "")
        else:
            if not refused:
                known.nofollow = False
            if not known.text and len(found) < _MAX_TEXTS:
                known.text = _text_of(element, tag)
    return list(found.values())


def _text_of(element: dom.Element, tag: str) -> str:
    text = dom.one_line(element) if tag == "a" else dom.attribute(element, "alt")
    return text[:_MAX_TEXT_CHARS] if len(text) > _MAX_TEXT_CHARS else text
