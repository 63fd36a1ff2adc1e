"""Every distinct http(s) link of a page, in page order, and what each raw href means there."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import compress, islice
from typing import cast

from sitelore.extract import dom
from sitelore.extract.about.resolving import Mark, PlainAddresses
from sitelore.extract.about.survey import Links
from sitelore.model.url import DEFAULT_RULES, KeyRules, Url

_MAX_TEXT_CHARS = 200
_MAX_TEXTS = 2000  # anchors can nest within tables, and then every text holds all texts below it
_MAX_FRAGMENT = 8192  # longer ones are no addresses, as `Url` sees it
_MEMO_SIZE = 20_000
_FEW = 6  # hrefs, of which a parser has told before compiled code is called
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


@dataclass(frozen=True, slots=True)
class _Known:
    """What is remembered of hrefs."""

    urls: dict[str, Url | None] = field(default_factory=dict)
    targets: dict[str, Target] = field(default_factory=dict)
    """Those of them that somebody wanted to write down."""


class Resolver:
    """Raw href → what it means, remembered: a site's menus repeat the same few hundred links on every page.

    What is remembered never shows in a result, only in its cost, so reading stays pure.
    """

    __slots__ = ("_held", "_known", "plain", "rules")

    def __init__(self, rules: KeyRules) -> None:
        self.rules = rules
        self.plain = PlainAddresses(rules)
        self._known: dict[str, _Known] = {}
        self._held = 0

    def on_page(self, base: str) -> PageResolver:
        """The resolver for one page, whose relative links mean `base`."""
        origin = Url.trusted(base).origin
        known = self._known.get(origin)
        if known is None:
            self.make_room(1)
            known = self._known[origin] = _Known()
        return PageResolver(self, base, origin, known)

    def make_room(self, count: int) -> None:
        """Count more things as remembered; forget everything when that is too much."""
        self._held += count
        if self._held > _MEMO_SIZE:
            for known in self._known.values():
                known.urls.clear()
                known.targets.clear()
            self._known.clear()
            self._held = count


class PageResolver:
    """The same for one page: links and Markdown ask for the same hrefs."""

    __slots__ = ("_here", "_origin", "_own", "_shared", "_site", "base")

    def __init__(self, site: Resolver, base: str, origin: str, shared: _Known) -> None:
        self.base = base
        self._site = site
        self._origin = origin
        self._shared = shared  # with all pages of the origin: what leads to the same place from each of them
        self._own = _Known({"": None})
        self._here: list[Url | None] = []

    def target(self, raw: str) -> Target:
        """What `raw` means on this page."""
        return self._shared.targets.get(raw) or self._own.targets.get(raw) or self._target(raw)

    def urls(self, raws: list[str]) -> list[Url | None]:
        """Where many of them lead. All that are a fragment alone share one object, which is `here`."""
        shared, own = self._shared.urls, self._own.urls
        found = list(map(shared.get, raws))
        if all(found):
            return found
        missing = [at for at, url in enumerate(found) if url is None]
        new = {raws[at] for at in missing}.difference(own)
        self._site.make_room(len(new))
        if len(new) > _FEW:
            self._learn_all(list(new))
        else:
            for raw in new:
                self._learn(raw)
        for at in missing:
            found[at] = shared.get(raws[at]) or own[raws[at]]
        return found

    @property
    def here(self) -> Url | None:
        """What a fragment alone means."""
        if not self._here:
            self._here.append(Url.parse(self.base, None, self._site.rules))
        return self._here[0]

    def _target(self, raw: str) -> Target:
        if raw not in self._own.urls and raw not in self._shared.urls:
            self._site.make_room(1)
            self._learn(raw)
        known = self._own if raw in self._own.urls else self._shared
        target = known.targets[raw] = Target(known.urls[raw], raw.strip())
        return target

    def _learn_all(self, raws: list[str]) -> None:
        """Have a parser tell of none but those that are not plain."""
        own = self._own.urls
        shared = self._shared.urls if len(raws) <= _MEMO_SIZE else own
        for raw, key in zip(raws, self._site.plain.keys(raws, self.base, self._origin), strict=True):
            if key > Mark.LAST:
                shared[raw] = Url.trusted(key)
            elif key[0] == Mark.OF_PAGE:
                own[raw] = Url.trusted(key[1:])
            elif key == Mark.PARSE:
                self._learn(raw)
            else:
                own[raw] = self.here if key == Mark.HERE else None

    def _learn(self, raw: str) -> None:
        """Have a parser tell what `raw` means."""
        href, rules, known = raw.strip(), self._site.rules, self._shared
        if href.startswith(("http://", "https://")):
            url = Url.parse(href, None, rules)
        elif href.startswith("/") and not href.startswith(("//", "/\\")):
            url = Url.below(self._origin, href, rules)
        else:
            known = self._own
            # Each fragment means the page, whatever place of it.
            is_local = href.startswith("#") and len(href) <= _MAX_FRAGMENT
            url = self.here if is_local else Url.parse(href, self.base, rules) if href else None
        (known if url is not None else self._own).urls[raw] = url


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


def find_links(links: Links, page: Url, resolver: PageResolver, *, nofollow: bool) -> Found:
    """The targets of a page's links. `nofollow` is what the whole page says."""
    urls = resolver.urls(links.hrefs)
    first = _firsts(urls)
    others: list[int] = []
    local: set[int] = set()
    # A fragment alone is the page itself, unless a <base> makes it another one.
    if page in first and resolver.base == page:
        here = resolver.here
        local = {at for at, url in enumerate(urls) if url is here}
        if local:
            others = [at for at in sorted(local) if links.hrefs[at].strip() == "#"]
            urls = [None if url is here else url for url in urls]
            first = _firsts(urls)
    if first.pop(None, None) is not None and links.elements:
        others += [at for at, url in enumerate(urls) if url is None and at not in local]
    found, firsts = cast("list[Url]", list(first)), list(first.values())
    texts = _texts(links, firsts[:_MAX_TEXTS])
    if len(found) < len(urls) and not all(texts):
        _fill(texts, first, urls, links)
    texts += [""] * (len(found) - len(texts))
    refused = frozenset(found) if nofollow else _refused(links, urls)
    if not links.elements:
        return Found(found, texts, refused)
    return Found(found, texts, refused, [links.elements[at] for at in firsts], [links.elements[at] for at in others])


def _firsts(urls: list[Url | None]) -> dict[Url | None, int]:
    """Where the first link to each target is."""
    first = dict(zip(urls, range(len(urls)), strict=True))
    if len(first) < len(urls):
        first.update(zip(reversed(urls), range(len(urls) - 1, -1, -1), strict=True))
    return first


def _texts(links: Links, places: list[int]) -> list[str]:
    """What links are called, on one line each."""
    texts = list(map(links.text_of, places))
    if max(map(len, texts), default=0) > _MAX_TEXT_CHARS:
        texts = [text if len(text) <= _MAX_TEXT_CHARS else text[:_MAX_TEXT_CHARS].rstrip() for text in texts]
    return texts


def _fill(texts: list[str], first: dict[Url | None, int], urls: list[Url | None], links: Links) -> None:
    """Give targets whose first link is a picture the text of a later one."""
    blank = {url: at for at, url in enumerate(islice(first, len(texts))) if not texts[at]}
    for at in compress(range(len(urls)), map(blank.__contains__, urls)):
        url = urls[at]
        if url in blank and at != first[url] and (text := _texts(links, [at])[0]):
            texts[blank.pop(url)] = text


def _refused(links: Links, urls: list[Url | None]) -> frozenset[Url]:
    refusing = {at for at, rel in links.rels().items() if _refuses(rel)}
    if not refusing:
        return frozenset()
    followed = {url for at, url in enumerate(urls) if at not in refusing}
    return frozenset([url for at in refusing if (url := urls[at]) is not None and url not in followed])


def _refuses(rel: str) -> bool:
    """Whether a link says nofollow."""
    return "nofollow" in rel.lower().replace(",", " ").split()
