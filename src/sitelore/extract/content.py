"""Which part of a page is what it is about.

Plain rules: a domain's own selectors first, then the elements authors mark their content with, else the body without
its frame. Works on the tree itself and cuts it down, so it comes after links and metadata. Hidden text never survives,
and a page with visible text never ends up empty.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

import re2

from sitelore.extract import dom
from sitelore.model.settings import Overrides

_NEVER_TEXT = (
    "script", "style", "template", "svg", "annotation", "annotation-xml", "iframe", "object", "embed", "canvas", "audio",
    "video", "map", "select", "datalist", "textarea", "button", "input", "progress", "meter", "head", "link", "meta",
    "frameset",
)  # fmt: skip
_HIDING_STYLE = re.compile(
    r"display\s*:\s*none|visibility\s*:\s*(?:hidden|collapse)|content-visibility\s*:\s*hidden"
    r"|font-size\s*:\s*0(?:\.0*)?\s*(?:[a-z%]+\s*)?(?:;|!|$)"
)
_SHORT_STYLE = 300  # what is worth remembering
_TELLING = "[style],[hidden],[aria-hidden],[role],[itemprop]"
_FRAME_TAGS = ("nav", "aside", "menu", "header", "footer")
_FRAME_ROLES = frozenset({
    "navigation", "banner", "contentinfo", "search", "complementary", "dialog", "alertdialog", "menu", "menubar", "toolbar",
})  # fmt: skip
_CONTENT_MARKS = "main,article,[role=main i],[itemprop=articleBody i]"
# Tried on every new class and id of a site: re2 takes a tenth of the time that `re` takes over so many words.
_NOISE = re2.compile(
    r"(?i)(?:^|[-_\s])(?:cookies?|consent|gdpr|ccpa|onetrust|cookiebanner|modal|popup|pop-up|lightbox|overlay|newsletter|subscribe|"
    r"signup|sign-up|breadcrumbs?|pagination|pager|share|sharing|sharedaddy|social|socials|addthis|skip-link|skip-to-content|"
    r"screen-reader-text|sr-only|visually-hidden|visuallyhidden|sidebar|side-bar|widget-area|navbar|nav|navigation|menu|"
    r"topbar|masthead|footer|site-header|site-footer|related|related-posts|recommended|recommendations|you-may-also-like|"
    r"advert|advertisement|ads|ad-container|sponsored|promo|banner|toc-toggle|print-only|noprint|no-print|comment-form|"
    r"comment-respond|author-box|author-bio|tags|tag-list|post-navigation|jp-relatedposts|mw-editsection|mw-jump-link|"
    r"catlinks|printfooter|navbox|reflist-toggle|headerlink)(?:$|[-_\s])"
)
_NOISE_TAGS = frozenset({"div", "section", "ul", "ol", "p", "span", "form", "a"})
_NOISE_SHARE = 0.3
_MEMO_SIZE = 20_000
_CMS = (
    "#mw-content-text", ".entry-content", ".post-content", ".article-content", ".article-body",
    ".article__body", ".post-body", ".story-body", ".single-content", ".page-content", ".markdown-body", ".md-content",
    ".rst-content", ".documentwrapper", ".theme-doc-markdown", "#main-content", "#maincontent", ".main-content", "#content",
    "#main", ".content", "#page-content", "#primary",
)  # fmt: skip
_CMS_CLASSES = {name[1:]: rank for rank, name in enumerate(_CMS) if name[0] == "."}
_CMS_IDS = {name[1:]: rank for rank, name in enumerate(_CMS) if name[0] == "#"}
_MIN_SHARE = 0.25
_ARTICLE_SHARE = 0.6
_CMS_SHARE = 0.4
_TINY_CHARS = 120
_MAX_LOOKS = 300  # looking into an element costs what is below it; a page that nests 200,000 of them must not pay that squared
_MAX_CANDIDATES = 50


class _Noisy(dict[str, bool]):
    """Whether a class or an id is one of the frame's, remembered: a site uses the same ones on every page."""

    def __missing__(self, name: str) -> bool:
        noisy = self[name] = _NOISE.search(name) is not None
        return noisy


_NOISY = _Noisy()


@dataclass(frozen=True, slots=True)
class Content:
    """The chosen subtrees, in page order, and how they were chosen: `override`, `article`, `main`, `cms`, `body`."""

    nodes: tuple[dom.Node, ...]
    strategy: str


@dataclass(frozen=True, slots=True)
class _Signs:
    """What a page's elements say of themselves, gathered before the first cut: the tree's index lives until then."""

    telling: list[dom.Element]
    """Elements with an attribute that may hide them or say what they are for."""
    dialogs: list[dom.Element]
    frame: list[dom.Element]
    articles: list[dom.Element]
    mains: list[dom.Element]
    bodies: list[dom.Element]
    """Elements marked as the body of an article."""
    has_noscript: bool

    @property
    def any_content(self) -> bool:
        """Whether anything is marked as content."""
        return bool(self.articles or self.mains or self.bodies)


def _signs(tree: dom.Tree) -> _Signs:
    telling = dom.select(tree, _TELLING)
    frame = [element for tag in _FRAME_TAGS for element in dom.select(tree, tag)]
    mains: list[dom.Element] = []
    bodies: list[dom.Element] = []
    for element in telling:
        role = dom.attribute(element, "role").lower()
        if role in _FRAME_ROLES:
            frame.append(element)
        elif role == "main":
            mains.append(element)
        if dom.attribute(element, "itemprop").lower() == "articlebody":
            bodies.append(element)
    # In page order; it takes a walk to know that of both kinds together.
    mains = dom.select(tree, "main,[role=main i]") if mains else dom.select(tree, "main")
    return _Signs(
        telling,
        dom.select(tree, "dialog"),
        frame,
        dom.select(tree, "article"),
        mains,
        bodies,
        has_noscript=dom.first(tree, "noscript") is not None,
    )


def main_content(tree: dom.Tree, source: str, host: str, overrides: tuple[Overrides, ...]) -> Content:
    """The part of the tree that is the page's own. `source` is read again only when pruning left nothing."""
    own = [rules for rules in overrides if _is_for(rules.domain, host)]
    signs = _signs(tree)
    _drop_hidden(tree, signs)
    for rules in own:
        for selector in rules.remove_selectors:
            for element in dom.select_safely(tree, selector):
                dom.drop(element)
    chosen = _overridden(tree, own)
    if chosen:
        return Content(chosen, "override")
    _drop_frame(signs)
    body = dom.body(tree)
    if body is None:
        return Content((tree,), "body")
    named = dom.named(body)
    whole = _drop_noise(body, named, signs)
    if whole == 0:
        return _unpruned(source)
    return _marked(signs, whole) or _of_a_cms(named, signs, whole) or Content((body,), "body")


def _is_for(domain: str, host: str) -> bool:
    domain = domain.lower().strip(".")
    return not domain or host == domain or host.endswith("." + domain)


def _drop_hidden(tree: dom.Tree, signs: _Signs) -> None:
    """Scripts, form controls and everything an author hid. `html` and `body` stay: scripts that fade a page in hide those."""
    hidden = [e for e in signs.telling if _is_hidden(e) and e.tag not in {"html", "body"}]
    hidden += [dialog for dialog in signs.dialogs if not dom.has_attribute(dialog, "open")]
    for element in dom.elements_list(tree, *_NEVER_TEXT):
        dom.drop(element)
    for element in hidden:
        dom.drop(element)
    if signs.has_noscript:
        _drop_noscript(tree)


def _is_hidden(element: dom.Element) -> bool:
    style = element.attr("style")
    if style and (_hides(style) if len(style) < _SHORT_STYLE else _HIDING_STYLE.search(style.lower())):
        return True
    return dom.has_attribute(element, "hidden") or (element.attr("aria-hidden") or "").lower() == "true"


@lru_cache(maxsize=2048)
def _hides(style: str) -> bool:
    return _HIDING_STYLE.search(style.lower()) is not None


def _drop_noscript(tree: dom.Tree) -> None:
    spare = dom.elements_list(tree, "noscript")
    size = sum(map(_size, spare[:_MAX_LOOKS]))
    # Forums serve whole threads to readers without scripts, and nothing else.
    if size > _TINY_CHARS and _size(tree) - size < _TINY_CHARS:
        return
    for element in spare:
        dom.drop(element)


def _overridden(tree: dom.Tree, own: list[Overrides]) -> tuple[dom.Node, ...]:
    """What the first selector that holds text matches; of nested matches, the outermost."""
    for rules in own:
        for selector in rules.main_content_selectors:
            nodes = [node for node in dom.select_safely(tree, selector)[:_MAX_LOOKS] if _size(node)]
            if nodes:
                return tuple(node for node in nodes if not dom.has_ancestor(node, selector))
    return ()


def _drop_frame(signs: _Signs) -> None:
    for looks, element in enumerate(signs.frame):
        if looks < _MAX_LOOKS:
            # The header of an article or a section holds its title.
            if element.tag == "header" and dom.is_inside(element, "main,article,[role=main i],section"):
                continue
            if signs.any_content and dom.select(element, _CONTENT_MARKS):
                continue
        dom.drop(element)


def _drop_noise(body: dom.Element, named: list[dom.Named], signs: _Signs) -> int:
    """Drop elements whose class or id names them as frame, unless most of the page is in them. Returns what text is left."""
    whole = _size(body)
    if len(_NOISY) > _MEMO_SIZE:
        _NOISY.clear()
    noisy = [element for element, class_, id_ in named if (_NOISY[class_] or _NOISY[id_]) and element.tag in _NOISE_TAGS]
    kept = _CONTENT_MARKS + ",h1" if signs.any_content else "h1"
    dropped = False
    for element in noisy[:_MAX_LOOKS]:
        if not dom.is_inside(element, "body"):
            continue  # went with one around it
        if _size(element) < whole * _NOISE_SHARE and not dom.select(element, kept):
            dom.drop(element)
            dropped = True
    return _size(body) if dropped else whole


def _marked(signs: _Signs, whole: int) -> Content | None:
    """The one element that says it is the content, when it holds a fair share of the text."""
    articles = _sized(signs.articles)
    if articles:
        largest, size = max(articles, key=lambda pair: pair[1])
        if size >= _ARTICLE_SHARE * sum(each for _, each in articles) and size >= whole * _MIN_SHARE:
            return Content((largest,), "article")
    for node, size in _sized(signs.mains):
        if size >= whole * _MIN_SHARE:
            return Content((node,), "main")
    return None


def _of_a_cms(named: list[dom.Named], signs: _Signs, whole: int) -> Content | None:
    """The first element that a publishing system is known to name its content with, the surest names first."""
    ranked = [(-1, element) for element in signs.bodies]
    for element, class_, id_ in named:
        rank = min(_cms_rank(class_), _CMS_IDS.get(id_, len(_CMS)))
        if rank < len(_CMS):
            ranked.append((rank, element))
    ranked.sort(key=lambda pair: pair[0])
    for node, size in _sized([element for _, element in ranked[:_MAX_CANDIDATES]]):
        if size >= whole * _CMS_SHARE:
            return Content((node,), "cms")
    return None


@lru_cache(maxsize=4096)
def _cms_rank(class_: str) -> int:
    return min([len(_CMS), *(_CMS_CLASSES[name] for name in class_.split() if name in _CMS_CLASSES)])


def _sized(nodes: list[dom.Element]) -> list[tuple[dom.Element, int]]:
    """Those that are still part of the page, with the size of their text."""
    return [(node, _size(node)) for node in nodes[:_MAX_LOOKS] if dom.is_inside(node, "body")]


def _unpruned(source: str) -> Content:
    """Everything visible: pruning a page that is all frame must not make it empty."""
    tree = dom.parse(source)
    _drop_hidden(tree, _signs(tree))
    return Content((dom.body(tree) or tree,), "body")


def _size(node: dom.Node) -> int:
    return len(dom.raw_text(node).strip())
