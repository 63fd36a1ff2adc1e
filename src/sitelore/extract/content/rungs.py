"""The lower rungs of the ladder: what a page's own markup calls its content, for pages where the scorer finds next to nothing.

`article` and `main`, then the containers publishing systems are known for, then the body without its frame.
"""

from __future__ import annotations

from functools import lru_cache

import re2

from sitelore.extract import dom

_FRAME = (
    "nav,aside,menu,header,footer,[role=navigation i],[role=banner i],[role=contentinfo i],[role=search i],"
    "[role=complementary i],[role=dialog i],[role=alertdialog i],[role=menu i],[role=menubar i],[role=toolbar i]"
)
_CONTENT_MARKS = "main,article,[role=main i],[itemprop=articleBody i]"
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
_MAX_LOOKS = 300  # looking into an element costs what is below it; a page that nests 200,000 of them must not pay that squared
_MAX_CANDIDATES = 50


def marked_content(body: dom.Element) -> tuple[tuple[dom.Node, ...], str] | None:
    """The element that is the content and the rung that found it; None when pruning leaves no text. Cuts the tree down."""
    _drop_frame(body)
    named = dom.named(body)
    whole = _drop_noise(body, named)
    if whole == 0:
        return None
    return _marked(body, whole) or _of_a_cms(named, whole) or ((body,), "body")


def plain_content(body: dom.Element) -> tuple[tuple[dom.Node, ...], str] | None:
    """The same by tags and roles alone, whatever elements are called: half the cost, and more of what stands around content."""
    _drop_frame(body)
    whole = _size(body)
    return (_marked(body, whole) or ((body,), "body")) if whole else None


def _drop_frame(body: dom.Element) -> None:
    any_content = bool(dom.select(body, _CONTENT_MARKS))
    for looks, element in enumerate(dom.select(body, _FRAME)):
        if looks < _MAX_LOOKS:
            # The header of an article or a section holds its title.
            if element.tag == "header" and dom.is_inside(element, "main,article,[role=main i],section"):
                continue
            if any_content and dom.select(element, _CONTENT_MARKS):
                continue
        dom.drop(element)


def _drop_noise(body: dom.Element, named: list[dom.Named]) -> int:
    """Drop elements whose class or id names them as frame, unless most of the page is in them. Returns what text is left."""
    whole = _size(body)
    noisy = [element for element, class_, id_ in named if (_is_noisy(class_) or _is_noisy(id_)) and element.tag in _NOISE_TAGS]
    for element in noisy[:_MAX_LOOKS]:
        if not dom.is_inside(element, "body"):
            continue  # went with one around it
        if _size(element) < whole * _NOISE_SHARE and not dom.select(element, _CONTENT_MARKS + ",h1"):
            dom.drop(element)
    return _size(body)


@lru_cache(maxsize=4096)
def _is_noisy(name: str) -> bool:
    return _NOISE.search(name) is not None


def _marked(body: dom.Element, whole: int) -> tuple[tuple[dom.Node, ...], str] | None:
    """The one element that says it is the content, when it holds a fair share of the text."""
    articles = _sized(dom.select(body, "article"))
    if articles:
        largest, size = max(articles, key=lambda pair: pair[1])
        if size >= _ARTICLE_SHARE * sum(each for _, each in articles) and size >= whole * _MIN_SHARE:
            return (largest,), "article"
    for node, size in _sized(dom.select(body, "main,[role=main i]")):
        if size >= whole * _MIN_SHARE:
            return (node,), "main"
    return None


def _of_a_cms(named: list[dom.Named], whole: int) -> tuple[tuple[dom.Node, ...], str] | None:
    """The first element that a publishing system is known to name its content with, the surest names first."""
    ranked = []
    for element, class_, id_ in named:
        rank = min(_cms_rank(class_), _CMS_IDS.get(id_, len(_CMS)))
        if rank < len(_CMS):
            ranked.append((rank, element))
    ranked.sort(key=lambda pair: pair[0])
    for node, size in _sized([element for _, element in ranked[:_MAX_CANDIDATES]]):
        if size >= whole * _CMS_SHARE:
            return (node,), "cms"
    return None


@lru_cache(maxsize=4096)
def _cms_rank(class_: str) -> int:
    return min([len(_CMS), *(_CMS_CLASSES[name] for name in class_.split() if name in _CMS_CLASSES)])


def _sized(nodes: list[dom.Element]) -> list[tuple[dom.Element, int]]:
    """Those that are still part of the page, with the size of their text."""
    return [(node, _size(node)) for node in nodes[:_MAX_LOOKS] if dom.is_inside(node, "body")]


def _size(node: dom.Node) -> int:
    return len(dom.raw_text(node).strip())
