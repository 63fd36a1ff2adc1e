"""Which part of a page is what it is about.

Plain rules: a domain's own selectors first, then the elements authors mark their content with, else the body without
its frame. Works on the tree itself and cuts it down, so it comes after links and metadata. Hidden text never survives,
and a page with visible text never ends up empty.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

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
_MAYBE_HIDDEN = "[style],[hidden],[aria-hidden],dialog"
_FRAME = "nav,aside,menu,header,footer,[role]"
_FRAME_TAGS = frozenset({"nav", "aside", "menu", "header", "footer"})
_FRAME_ROLES = frozenset({
    "navigation", "banner", "contentinfo", "search", "complementary", "dialog", "alertdialog", "menu", "menubar", "toolbar",
})  # fmt: skip
_CONTENT_MARKS = "main,article,[role=main i],[itemprop=articleBody i]"
_NOISE = re.compile(
    r"(?:^|[-_\s])(?:cookies?|consent|gdpr|ccpa|onetrust|cookiebanner|modal|popup|pop-up|lightbox|overlay|newsletter|subscribe|"
    r"signup|sign-up|breadcrumbs?|pagination|pager|share|sharing|sharedaddy|social|socials|addthis|skip-link|skip-to-content|"
    r"screen-reader-text|sr-only|visually-hidden|visuallyhidden|sidebar|side-bar|widget-area|navbar|nav|navigation|menu|"
    r"topbar|masthead|footer|site-header|site-footer|related|related-posts|recommended|recommendations|you-may-also-like|"
    r"advert|advertisement|ads|ad-container|sponsored|promo|banner|toc-toggle|print-only|noprint|no-print|comment-form|"
    r"comment-respond|author-box|author-bio|tags|tag-list|post-navigation|jp-relatedposts|mw-editsection|mw-jump-link|"
    r"catlinks|printfooter|navbox|reflist-toggle|headerlink)(?:$|[-_\s])",
    re.IGNORECASE,
)
_NOISE_TAGS = ("div", "section", "ul", "ol", "p", "span", "form", "a")
_NOISE_SHARE = 0.3
_NOISE_MEMO: dict[str, bool] = {}
_MEMO_SIZE = 20_000
_CMS = (
    "[itemprop=articleBody i]", "#mw-content-text", ".entry-content", ".post-content", ".article-content", ".article-body",
    ".article__body", ".post-body", ".story-body", ".single-content", ".page-content", ".markdown-body", ".md-content",
    ".rst-content", ".documentwrapper", ".theme-doc-markdown", "#main-content", "#maincontent", ".main-content", "#content",
    "#main", ".content", "#page-content", "#primary",
)  # fmt: skip
_MIN_SHARE = 0.25
_ARTICLE_SHARE = 0.6
_CMS_SHARE = 0.4
_TINY_CHARS = 120
_MAX_LOOKS = 300  # looking into an element costs what is below it; a page that nests 200,000 of them must not pay that squared
_MAX_CANDIDATES = 50


@dataclass(frozen=True, slots=True)
class Content:
    """The chosen subtrees, in page order, and how they were chosen: `override`, `article`, `main`, `cms`, `body`."""

    nodes: tuple[dom.Node, ...]
    strategy: str


def main_content(tree: dom.Tree, source: str, host: str, overrides: tuple[Overrides, ...]) -> Content:
    """The part of the tree that is the page's own. `source` is read again only when pruning left nothing."""
    own = [rules for rules in overrides if _is_for(rules.domain, host)]
    _drop_hidden(tree, source)
    for rules in own:
        for selector in rules.remove_selectors:
            for element in dom.select_safely(tree, selector):
                dom.drop(element)
    chosen = _overridden(tree, own)
    if chosen:
        return Content(chosen, "override")
    _drop_frame(tree)
    body = dom.body(tree)
    if body is None:
        return Content((tree,), "body")
    _drop_noise(body)
    whole = _size(body)
    if whole == 0:
        return _unpruned(source)
    return _marked(body, whole) or Content((body,), "body")


def _is_for(domain: str, host: str) -> bool:
    domain = domain.lower().strip(".")
    return not domain or host == domain or host.endswith("." + domain)


def _drop_hidden(tree: dom.Tree, source: str) -> None:
    """Scripts, form controls and everything an author hid. `html` and `body` stay: scripts that fade a page in hide those."""
    for element in dom.elements_list(tree, *_NEVER_TEXT):
        dom.drop(element)
    for element in dom.select(tree, _MAYBE_HIDDEN):
        if _is_hidden(element) and element.tag not in {"html", "body"}:
            dom.drop(element)
    if "<noscript" in source or "<NOSCRIPT" in source or "<NoScript" in source:
        _drop_noscript(tree)


def _is_hidden(element: dom.Element) -> bool:
    style = dom.attribute(element, "style").lower()
    if ("none" in style or "hidden" in style or "collapse" in style or "font-size" in style) and _HIDING_STYLE.search(style):
        return True
    if dom.has_attribute(element, "hidden") or dom.attribute(element, "aria-hidden").lower() == "true":
        return True
    return element.tag == "dialog" and not dom.has_attribute(element, "open")


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


def _drop_frame(tree: dom.Tree) -> None:
    frame = [e for e in dom.select(tree, _FRAME) if e.tag in _FRAME_TAGS or dom.attribute(e, "role").lower() in _FRAME_ROLES]
    for looks, element in enumerate(frame):
        if looks < _MAX_LOOKS:
            # The header of an article or a section holds its title.
            if element.tag == "header" and dom.is_inside(element, "main,article,[role=main i],section"):
                continue
            if dom.select(element, _CONTENT_MARKS):
                continue
        dom.drop(element)


def _drop_noise(body: dom.Element) -> None:
    """Elements whose class or id names them as frame, unless most of the page is in them."""
    whole = 0
    noisy = [element for element, names in dom.named(body, _NOISE_TAGS) if _is_noise(names)]
    for element in noisy[:_MAX_LOOKS]:
        whole = whole or _size(body)
        if _size(element) < whole * _NOISE_SHARE and not dom.select(element, _CONTENT_MARKS + ",h1"):
            dom.drop(element)


def _is_noise(name: str) -> bool:
    known = _NOISE_MEMO.get(name)
    if known is None:
        if len(_NOISE_MEMO) >= _MEMO_SIZE:
            _NOISE_MEMO.clear()
        known = _NOISE_MEMO[name] = _NOISE.search(name) is not None
    return known


def _marked(body: dom.Element, whole: int) -> Content | None:
    """The one element that says it is the content, when it holds a fair share of the text."""
    sized = [(node, _size(node)) for node in dom.select(body, "article,main,[role=main i]")[:_MAX_LOOKS]]
    articles = [(node, size) for node, size in sized if node.tag == "article"]
    if articles:
        largest, size = max(articles, key=lambda pair: pair[1])
        if size >= _ARTICLE_SHARE * sum(each for _, each in articles) and size >= whole * _MIN_SHARE:
            return Content((largest,), "article")
    for node, size in sized:
        if node.tag != "article" and size >= whole * _MIN_SHARE:
            return Content((node,), "main")
    candidates = dom.select(body, ",".join(_CMS))[:_MAX_CANDIDATES]
    for selector in _CMS if candidates else ():
        for node in candidates:
            if dom.matches(node, selector) and _size(node) >= whole * _CMS_SHARE:
                return Content((node,), "cms")
    return None


def _unpruned(source: str) -> Content:
    """Everything visible: pruning a page that is all frame must not make it empty."""
    tree = dom.parse(source)
    _drop_hidden(tree, source)
    return Content((dom.body(tree) or tree,), "body")


def _size(node: dom.Node) -> int:
    return len(dom.raw_text(node).strip())
