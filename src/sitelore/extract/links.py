"""Every distinct http(s) link of a page, in page order, and what each raw href means there."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import cast

from sitelore.extract import dom
from sitelore.extract.head import Head
from sitelore.model.url import DEFAULT_RULES, KeyRules, Url

_MAX_TEXT_CHARS = 200
_MAX_TEXTS = 2000  # anchors can nest within tables, and then every text holds all texts below it
_MAX_FRAGMENT = 1000
_PAGING = frozenset({"next", "prev"})
_MEMO_SIZE = 20_000
_RULES_SIZE = 64
_KEPT_SCHEMES = re.compile(
    r"(?:mailto:[^\s<>\"'()\\@]{1,200}@[^\s<>\"'()\\@]{1,300}|tel:[+\d().\s-]{3,30}|sms:[+\d().\s-]{3,30})$", re.IGNORECASE
)
_FRAGMENT = re.compile(r"[A-Za-z0-9._~!$&*+,;=:@/?%-]{1,200}$")
_UNSAFE = re.compile(r"[()'\\]")


class Target:
    """What an href means."""

    __slots__ = ("_href", "_written", "url")

    def __init__(self, url: Url | None, href: str) -> None:
        self.url = url
        self._href = href
        self._written: str | None = None

    @property
    def written(self) -> str:
        """How Markdown spells it: absolute, harmless, with its fragment; empty for what leads nowhere a reader may go."""
        if self._written is None:
            self._written = _written(self._href, self.url)
        return self._written


class Resolver:
    """Raw href → `Target`, remembered: a site's menus repeat the same few hundred links on every page.

    What is remembered never shows in a result, only in its cost, so reading stays pure.
    """

    __slots__ = ("_held", "_memos", "rules")

    def __init__(self, rules: KeyRules) -> None:
        self.rules = rules
        self._memos: dict[str, dict[str, Target]] = {}
        self._held = 0

    def on_page(self, base: str) -> PageResolver:
        """The resolver for one page, whose relative links mean `base`."""
        origin = Url.trusted(base).origin
        memo = self._memos.get(origin)
        if memo is None:
            self.make_room()
            memo = self._memos[origin] = {}
        return PageResolver(self, base, origin, memo)

    def make_room(self) -> None:
        """Count one more thing remembered; forget everything when that is too much."""
        self._held += 1
        if self._held > _MEMO_SIZE:
            for memo in self._memos.values():
                memo.clear()
            self._memos.clear()
            self._held = 1


class PageResolver:
    """The same for one page: links and Markdown ask for the same hrefs."""

    __slots__ = ("_here", "_memo", "_origin", "_own", "_site", "base")

    def __init__(self, site: Resolver, base: str, origin: str, memo: dict[str, Target]) -> None:
        self.base = base
        self._site = site
        self._origin = origin
        self._memo = memo
        self._own: dict[str, Target] = {}
        self._here: Target | None = None

    def target(self, raw: str) -> Target:
        """What `raw` means on this page."""
        return self._memo.get(raw) or self._own.get(raw) or self._learn(raw)

    def targets(self, raws: list[str]) -> list[Target]:
        """The same for many."""
        known = self._memo.get
        return [known(raw) or self.target(raw) for raw in raws]

    def _learn(self, raw: str) -> Target:
        href, rules = raw.strip(), self._site.rules
        memo = self._memo
        if href.startswith(("http://", "https://")):
            url = Url.parse(href, None, rules)
        elif href.startswith("/") and not href.startswith(("//", "/\\")):
            url = Url.below(self._origin, href, rules)
        else:
            memo = self._own
            if href.startswith("#") and len(href) <= _MAX_FRAGMENT:
                # Each of them means the page, whatever place of it.
                self._here = self._here or Target(Url.parse("#", self.base, rules), "#")
                url = self._here.url
            else:
                url = Url.parse(href, self.base, rules) if href else None
        if memo is self._memo:
            self._site.make_room()
        found = memo[raw] = Target(url, href)
        return found


def _written(href: str, url: Url | None) -> str:
    if url is None:
        return href if _KEPT_SCHEMES.match(href) else ""
    # Markdown must not misread it: parentheses and quotes are escaped.
    plain = _UNSAFE.sub(_escape, str(url))
    hash_at = href.find("#")
    return plain + href[hash_at:] if hash_at >= 0 and _FRAGMENT.match(href, hash_at + 1) else plain


def _escape(found: re.Match[str]) -> str:
    return f"%{ord(found[0]):02X}"


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


@dataclass(frozen=True, slots=True)
class Found:
    """The link targets of a page, each once, with its first text."""

    urls: list[Url]
    texts: list[str]
    refused: frozenset[Url]
    """Those of them to which every link says nofollow."""
    elements: list[dom.Element] = field(default_factory=list)
    """The first link to each of `urls`, while the tree stands."""
    others: list[dom.Element] = field(default_factory=list)
    """Links that lead to no page: mail addresses, telephone numbers, what a script answers."""

    @property
    def untied(self) -> Found:
        """The same without its elements, which would keep the tree."""
        return Found(self.urls, self.texts, self.refused)


NO_LINKS = Found([], [], frozenset())


def find_links(tree: dom.Tree, page: Url, resolver: PageResolver, *, nofollow: bool, head: Head | None = None) -> Found:
    """The targets of `a`, `area` and `link rel=next|prev`. `nofollow` is what the whole page says."""
    elements, hrefs = _plain_links(tree) if head is not None and not _has_paging(head) else dom.links(tree)
    targets = resolver.targets(hrefs)
    first = _firsts(targets, elements)
    others: list[dom.Element] = []
    # A fragment alone is the page itself, unless a <base> makes it another one.
    if page in first and resolver.base == page:
        local = {at for at, href in enumerate(hrefs) if "#" in href and href.lstrip()[:1] == "#"}
        if local:
            others = [element for at, element in enumerate(elements) if at in local and hrefs[at].strip() == "#"]
            kept = [at for at in range(len(hrefs)) if at not in local]
            elements, targets = [elements[at] for at in kept], [targets[at] for at in kept]
            first = _firsts(targets, elements)
    if first.pop(None, None) is not None:
        others += [element for element, target in zip(elements, targets, strict=True) if target.url is None]
    found, firsts = cast("list[Url]", list(first)), list(first.values())
    texts = [" ".join((element.text or element.attr("alt") or "").split()) for element in firsts[:_MAX_TEXTS]]
    if texts and max(map(len, texts)) > _MAX_TEXT_CHARS:
        texts = [text if len(text) <= _MAX_TEXT_CHARS else text[:_MAX_TEXT_CHARS].rstrip() for text in texts]
    if len(found) < len(targets) and not all(texts):
        _fill(texts, found, targets, elements)
    texts += [""] * (len(found) - len(texts))
    refused = frozenset(found) if nofollow else _refused(elements, targets) if dom.any_refuses(tree) else frozenset()
    return Found(found, texts, refused, firsts, others)


def _firsts(targets: list[Target], elements: list[dom.Element]) -> dict[Url | None, dom.Element]:
    """The first link to each target."""
    first: dict[Url | None, dom.Element] = {}
    for target, element in zip(targets, elements, strict=True):
        url = target.url
        if url not in first:
            first[url] = element
    return first


def _plain_links(tree: dom.Tree) -> tuple[list[dom.Element], list[str]]:
    """The same as `dom.links` where no `link` leads on."""
    if tree.select("area"):
        return dom.links(tree)
    elements = tree.select("a")
    return elements, [element.attr("href") or "" for element in elements]


def _has_paging(head: Head) -> bool:
    likely = [rel for rel, _ in head.links if "next" in rel or "prev" in rel]
    return any(not _PAGING.isdisjoint(rel.replace(",", " ").split()) for rel in likely)


def _text(element: dom.Element) -> str:
    line = " ".join(dom.link_text(element).split())
    return line if len(line) <= _MAX_TEXT_CHARS else line[:_MAX_TEXT_CHARS].rstrip()


def _fill(texts: list[str], found: list[Url], targets: list[Target], elements: list[dom.Element]) -> None:
    """Give targets whose first link is a picture the text of a later one."""
    blank: dict[Url | None, int] = {url: at for at, (url, text) in enumerate(zip(found, texts, strict=False)) if not text}
    for target, element in zip(targets, elements, strict=True):
        url = target.url
        if url in blank and (text := _text(element)):
            texts[blank.pop(url)] = text


def _refused(elements: list[dom.Element], targets: list[Target]) -> frozenset[Url]:
    refusing = {at for at, element in enumerate(elements) if dom.refuses(element)}
    if not refusing:
        return frozenset()
    followed = {target.url for at, target in enumerate(targets) if at not in refusing}
    return frozenset([url for at in refusing if (url := targets[at].url) is not None and url not in followed])
