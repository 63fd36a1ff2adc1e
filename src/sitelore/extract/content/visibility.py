"""Removes what no reader of the page sees: scripts, form controls, and elements that their author hid for good.

Hidden text that a click opens (tabs, accordions, answers, slides) is part of the page's content and stays. What no control
opens (templates, dialogs, menus, notes for machines) is hidden text proper.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from itertools import accumulate, islice

import re2

from sitelore.extract import dom
from sitelore.extract.brand.styles import parse_colour

_NEVER_TEXT = (
    "script", "style", "template", "svg", "annotation", "annotation-xml", "iframe", "object", "embed", "canvas", "audio",
    "video", "map", "select", "datalist", "textarea", "button", "input", "progress", "meter", "head", "link", "meta",
    "frameset",
)  # fmt: skip
_HIDING_ATTRIBUTES = ":is([style],[hidden],[aria-hidden],dialog)"
_WHOLE = frozenset({"html", "body"})
# What a style that hides must hold, and then how it hides: most styles hold none of these words.
_HIDING = (
    ("none", re.compile(r"display\s*:\s*none")),
    ("visibility", re.compile(r"visibility\s*:\s*(?:hidden|collapse)")),
    (
        "font-size",
        re.compile(r"font-size\s*:\s*(?:0(?:\.0*)?\s*(?:[a-z%]+\s*)?|(?:0?\.\d+|1(?:\.0*)?)\s*px\s*)(?:;|!|$)"),
    ),
    # Cut down to nothing. Not `opacity: 0` nor `scale(0)`: scripts fade whole sections in from there.
    (
        "clip",
        re.compile(
            r"(?:^|[;\s])clip\s*:\s*rect\(\s*(?:0|1)(?:px)?(?:[\s,]+(?:0|1)(?:px)?){3}\s*\)|clip-path\s*:\s*inset\(\s*(?:50|100)%"
        ),
    ),
)
_FAR = re.compile(r":\s*-\d{4}")
_OFF_SCREEN = re.compile(
    r"(?:^|[;\s])(?:left|top|right|bottom|margin-left|margin-top)\s*:\s*-\d{4,}\s*(?:px|pt|em|rem|%|vw|vh)"
)
# These go from what was chosen alone: labels that a picture stands for and menus that unfold tell much of what a page is.
_CLIPPED_STYLE = re.compile(r"overflow(?:-[xy])?\s*:\s*hidden")
_FLAT_STYLE = re.compile(r"(?:^|[;\s])(?:max-)?(?:height|width)\s*:\s*[01](?:px)?\s*(?:;|!|$)")
_INDENTED_STYLE = re.compile(r"text-indent\s*:\s*-(?:\d{4,}\s*(?:px|pt|em|rem|%|vw|vh)|\d{3}\s*(?:%|em|rem))")
_LABELS = frozenset({"a", "button", "h1", "h2", "h3", "h4", "h5", "h6", "label"})
_TEXT_COLOUR = re.compile(r"(?:^|;)\s*color\s*:\s*([^;!]*[^;!\s])")
_PAPER = re.compile(r"(?:^|;)\s*background(?:-color)?\s*:\s*([^;!]*[^;!\s])")
_SHORT_STYLE = 300  # what is worth remembering
_REMOVED, _UNPAINTED = "removed", "unpainted"
_STREAMED, _PLACE, _END_OF_PLACE = "S:", "B:", "/$"
"""React streams parts of a page hidden under ids `S:n`, and moves each in place of `<template id="B:n">`."""
_INLINE = frozenset({"span", "b", "strong", "em", "s", "del", "ins", "small", "bdi", "data"})
PRICE = re.compile(
    r"[$\u20ac\u00a3\u00a5\u20b9\u20a9\u20bd\u20ba\u20ab]\s?\d|\d\s?(?:[$\u20ac\u00a3\u00a5\u20b9\u20bd\u20ba\u20ab]|z\u0142|kr\b|CHF|USD|EUR|GBP)|(?:CHF|USD|EUR|GBP)\s?\d"
)
"""An amount of money."""
_PRICE_CHARS = 40
_BESIDE_CHARS = 400
_REVEALED_SHARE = 0.15
_REVEALED_CHARS = 600
_FALLBACK_CHARS = 120
# Dialogs that ask for consent, by the names their vendors give them. They stand at the end of the body, or at its start.
CONSENT = frozenset({
    "onetrust-consent-sdk", "onetrust-banner-sdk", "onetrust-pc-sdk", "CybotCookiebotDialog", "usercentrics-root",
    "usercentrics-cmp-ui", "didomi-host", "qc-cmp2-container", "truste-consent-track", "consent_blackbar",
    "cookie-law-info-bar", "cookie-law-info-again", "cliSettingsPopup", "cmplz-cookiebanner-container", "iubenda-cs-banner",
    "cookiescript_injected", "cookie-notice", "gdpr-cookie-message", "moove_gdpr_cookie_modal",
    "moove_gdpr_cookie_info_bar", "BorlabsCookieBox", "axeptio_overlay", "tarteaucitronRoot", "shopify-pc__banner",
    "shopify-pc__prefs", "klaro", "cmpbox", "cmpwrapper", "sp-cc", "hs-eu-cookie-confirmation", "coiOverlay",
    "fc-consent-root", "osano-cm-window", "cli-modal", "cky-consent-container", "cky-modal", "cc-window",
})  # fmt: skip
_MAX_LOOKS = 300  # looking into an element costs what is below it; a page that nests 200,000 of them must not pay that squared

_FOLDS = frozenset({"div", "section", "article", "dd", "p", "ul", "ol", "li", "table", "tr", "figure", "blockquote"})
_FOLDED_ROLES = frozenset({"tabpanel", "region", "group"})
_OVER_ROLES = frozenset(
    {"dialog", "alertdialog", "menu", "menubar", "listbox", "tooltip", "navigation", "search", "alert", "status"}
)
_FOLDED = re2.compile(
    r"(?i)accord|collaps|tab[-_]?(?:pane|content|body|item)|panel|faq|answer|toggle|expand|carousel|slide|slick|swiper|read-?more|"
    r"spoiler"
)
# What opens over the page, is a copy of a part of it, or belongs to its frame.
_OVER = re2.compile(
    r"(?i)modal|pop-?up|overlay|drawer|drop-?down|menu|nav|cookie|consent|tooltip|lightbox|dialog|newsletter|login|sign-?in|search|"
    r"toast|banner|filter|sidebar|clone|duplicate|share|cart"
)
_CONTROL = "[aria-controls],[data-target],[data-bs-target],a[href^='#']"
_NAMES_ITS_TARGET = ("aria-controls", "data-target", "data-bs-target", "href")
_WORD = re.compile(r"[^\W\d_]{2,}")
_LONG_NAME = 200  # what is not worth remembering
_FEW_WORDS = 8  # a label or an icon's name, not a text
_TITLE = "h1,h2,h3,h4,h5,h6,dt,summary,[role=heading]"
_IN_TITLES = ",".join(f"{title} button" for title in _TITLE.split(","))
_MAX_CHARS = 2_000_000
_TITLE_WORDS = 3
_MAX_WRAPPERS = 3


def drop_unseen(tree: dom.Tree) -> None:
    """Drop what is not shown. `html` and `body` stay: scripts that fade a page in hide those."""
    candidates = dom.select(tree, _HIDING_ATTRIBUTES)
    _place_streamed(tree, candidates)
    hidden = _hidden_among(candidates)
    opened = folded(tree, hidden, _is_unseen) if hidden else frozenset[dom.Element]()
    # Most of what is never text stands in the head, which goes at once.
    if (head := dom.first(tree, "head")) is not None:
        dom.drop(head)
    never: dict[str, list[dom.Element]] = {}
    for element in dom.elements_list(tree, *_NEVER_TEXT, "noscript"):
        never.setdefault(element.tag, []).append(element)
    fallbacks = never.pop("noscript", None)
    if "button" in never:
        keep_titles(tree, never["button"])
    for elements in never.values():
        for element in elements:
            dom.drop(element)
    if hidden and _is_revealed_later(dom.body(tree), hidden):
        hidden = _without_dialogs(tree, hidden)
    for element in hidden:
        if element not in opened:
            dom.drop(element)
    _drop_consent(tree)
    if fallbacks:
        _drop_fallbacks(tree)


def _without_dialogs(tree: dom.Tree, hidden: list[dom.Element]) -> list[dom.Element]:
    """Drop the dialogs and menus of a page where most text is hidden; what else of it stays hidden without them.

    Not what holds the page's own content, whatever it is named, and not where little is shown beside it.
    """
    body, looked_at = dom.body(tree), hidden[:_MAX_LOOKS]
    inside = set(looked_at)
    outermost = [element for element in looked_at if not dom.has_ancestor_in(element, inside)]
    if body is None or _size(body) - sum(map(_size, outermost)) < _REVEALED_CHARS:
        return []
    over = {element for element in looked_at if _opens_over(element) and not dom.holds(element, "main", "article", "h1")}
    others = [element for element in looked_at if element not in over and not dom.has_ancestor_in(element, over)]
    for element in over:
        dom.drop(element)
    return others + hidden[_MAX_LOOKS:] if over and not _is_revealed_later(body, others) else []


def _hidden_among(candidates: list[dom.Element]) -> list[dom.Element]:
    """The hidden ones among elements that may be."""
    hidden = [element for element in candidates if _is_hidden(element) and element.tag not in _WHOLE]
    return hidden + [element for element in candidates if element.tag == "dialog" and element.attr("open") is None]


def shown(nodes: tuple[dom.Node, ...]) -> tuple[dom.Node, ...]:
    """The selected nodes without elements that a style collapses or indents off the screen."""
    for node in nodes:
        candidates = dom.select(node, ":is([style*=overflow],[style*=text-indent])")
        collapsed = [element for element in candidates if element is not node and _is_collapsed(element)]
        # An accordion that is shut is no taller than nothing either.
        opened = folded(node, collapsed) if collapsed else frozenset[dom.Element]()
        gone = [element for element in collapsed if element not in opened]
        if gone and not _is_revealed_later(node, gone):
            for element in gone:
                dom.drop(element)
    return tuple([node for node in nodes if not _is_collapsed(node)])


def _is_collapsed(node: dom.Node) -> bool:
    """Whether a style collapses an element. Not one that unfolds by a transition, nor a label that a picture replaces."""
    element = dom.as_element(node)
    style = (element.attr("style") or "").lower() if element is not None else ""
    if element is None or not style:
        return False
    if "text-indent" in style and element.tag not in _LABELS and _INDENTED_STYLE.search(style):
        return True
    if "overflow" not in style or "transition" in style:
        return False
    return _CLIPPED_STYLE.search(style) is not None and _FLAT_STYLE.search(style) is not None


def _is_hidden(element: dom.Element) -> bool:
    attr = element.attr
    if (style := attr("style")) and _hiding_of(style):
        return True
    if attr("hidden") is not None:
        return not _is_streamed(element)
    value = attr("aria-hidden")
    return value is not None and value.lower() == "true" and not _is_only_price(element)


def _is_only_price(element: dom.Element) -> bool:
    """Whether an element hidden only from screen readers is a price that no neighbouring text repeats.

    Shops mark prices up this way and put a sentence for screen readers into an `aria-label`.
    """
    if element.tag not in _INLINE or len(text := dom.one_line(element)) > _PRICE_CHARS or not PRICE.search(text):
        return False
    parent = dom.as_element(element.parent)
    return parent is not None and len(beside := parent.text) < _BESIDE_CHARS and beside.count(text) < 2


def _is_streamed(element: dom.Element) -> bool:
    return element.attr("hidden") is not None and (element.attr("id") or "").startswith(_STREAMED)


def _place_streamed(tree: dom.Tree, candidates: list[dom.Element]) -> None:
    """Put the parts that React streamed after the page where its script would: in place of `<template id="B:n">`.

    The fallback between the template and the comment `/$` is removed, as the script does.
    """
    streamed = list(filter(_is_streamed, candidates))
    places = {element.attr("id"): element for element in dom.elements_list(tree, "template")} if streamed else {}
    for part in streamed:
        template = places.pop(_PLACE + (part.attr("id") or "")[len(_STREAMED) :], None)
        if template is None or template.parent is None:  # it went with what was shown until another part came
            continue
        for node in list(template.next_siblings):
            if dom.comment_of(node) == _END_OF_PLACE:
                break
            dom.drop(node)
        template.replace_with(*dom.children(part))


def _is_unseen(element: dom.Element) -> bool:
    """Whether a hidden element is hidden from all readers, not only from screen readers."""
    style = element.attr("style")
    return element.attr("hidden") is not None or bool(style and _hiding_of(style) == _REMOVED)


def _drop_consent(tree: dom.Tree) -> None:
    body = dom.body(tree)
    for element in dom.child_elements(body) if body is not None else ():
        own, names = element.attr("id"), element.attr("class")
        is_consent = own in CONSENT or (names and not CONSENT.isdisjoint(names.split()))
        if is_consent and body is not None and _size(element) < _size(body):
            dom.drop(element)


def _hiding_of(style: str) -> str:
    """`_REMOVED`, `_UNPAINTED`, or nothing where a style hides nothing. Colours of a long style are not checked."""
    if len(style) < _SHORT_STYLE:
        return _hiding_of_short_style(style)
    return _REMOVED if _is_gone(style.lower()) else ""


@lru_cache(maxsize=256)
def _hiding_of_short_style(style: str) -> str:
    lowered = style.lower()
    if _is_gone(lowered):
        return _REMOVED
    return _UNPAINTED if "color" in style and is_unpainted(lowered) else ""


def _is_gone(style: str) -> bool:
    for word, pattern in _HIDING:
        if word in style and pattern.search(style):
            return True
    return _FAR.search(style) is not None and _OFF_SCREEN.search(style) is not None


def is_unpainted(style: str) -> bool:
    """Whether text has no colour, or that of its own background. Text that a picture shows through has its colour from that."""
    text, paper = _TEXT_COLOUR.search(style), _PAPER.search(style)
    if text is None or "clip" in style:
        return False
    if text[1] == "transparent":
        return True
    return paper is not None and parse_colour(text[1]) == parse_colour(paper[1]) != ""


def _is_revealed_later(whole_of: dom.Node | None, hidden: list[dom.Element]) -> bool:
    """Whether nearly all text is hidden: then a script reveals it later, and it counts as visible."""
    looked_at = hidden[:_MAX_LOOKS]
    # Nested texts count twice here, so this only rules pages out. On most pages hidden text is short, and the page need not be
    # measured to see that.
    whole: int | None = None
    for size in accumulate(map(_size, looked_at)):
        if whole_of is None or size < (1 - _REVEALED_SHARE) * _REVEALED_CHARS:
            continue
        whole = _size(whole_of) if whole is None else whole
        if whole < _REVEALED_CHARS:
            return False
        if size >= (1 - _REVEALED_SHARE) * whole:
            break
    else:
        return False
    inside: set[dom.Element] = set(looked_at)
    outermost = [element for element in looked_at if not dom.has_ancestor_in(element, inside)]
    return sum(map(_size, outermost)) >= (1 - _REVEALED_SHARE) * whole


def _drop_fallbacks(tree: dom.Tree) -> None:
    """Drop `noscript` elements, which mostly hold a notice. Keep those of forums that serve whole threads only there."""
    fallbacks = dom.elements_list(tree, "noscript")
    whole = _size(tree)
    for size in accumulate(map(_size, fallbacks[:_MAX_LOOKS])):
        if size > _FALLBACK_CHARS and whole - size < max(_FALLBACK_CHARS, size // 2):
            return
    for element in fallbacks:
        dom.drop(element)


def _size(node: dom.Node) -> int:
    return len(dom.raw_text(node).strip())


def folded(
    tree: dom.Node, hidden: list[dom.Element], is_unseen: Callable[[dom.Element], bool] | None = None
) -> set[dom.Element]:
    """Those of the hidden elements of a tree that a reader opens with a click.

    `is_unseen` says whether an element is hidden from all readers, the default for every element; the others are hidden from
    screen readers only.
    """
    opened: set[dom.Element] = set()
    targets: set[str] | None = None
    chars = looks = 0
    for element in hidden:
        if element.tag not in _FOLDS:
            continue
        if _opens_over(element):
            continue
        attr = element.attr
        own, role = attr("id") or "", (attr("role") or "").lower()
        opens = _kind_of_element(element)[1] or role in _FOLDED_ROLES or attr("aria-labelledby") is not None
        opens = opens or (is_unseen is not None and not is_unseen(element))
        if not opens and own:
            targets = _targets(tree) if targets is None else targets
            opens = own in targets
        if not opens:
            continue
        text = element.text
        looks, chars = looks + 1, chars + len(text)
        if looks > _MAX_LOOKS or chars > _MAX_CHARS:
            break
        # A panel of tabs is a text, however short; elsewhere few words are a label or the name of an icon.
        is_text = role == "tabpanel" or _has_words(element, _FEW_WORDS)
        if is_text and text.strip():
            opened.add(element)
    return opened


def _opens_over(element: dom.Element) -> bool:
    """Whether a hidden element opens over the page, as a dialog or a menu does."""
    return _kind_of_element(element)[0] or (element.attr("role") or "").lower() in _OVER_ROLES


def _kind_of_element(element: dom.Element) -> tuple[bool, bool]:
    name = f"{element.attr('class') or ''} {element.attr('id') or ''}"
    return _named(name) if len(name) < _LONG_NAME else _kind_of(name)


def _kind_of(name: str) -> tuple[bool, bool]:
    """Whether an element with these classes and this id opens over the page, and whether it unfolds within it."""
    return _OVER.search(name) is not None, _FOLDED.search(name) is not None


_named = lru_cache(maxsize=256)(_kind_of)  # pages of a site repeat their names


def keep_titles(tree: dom.Tree, buttons: list[dom.Element]) -> None:
    """Keep the text of buttons that are titles of what they open: those within headings, and questions above their answers."""
    looked_at = buttons[:_MAX_LOOKS]
    if any(dom.is_inside(button, _TITLE) for button in looked_at):
        dom.unwrap_all(tree, _IN_TITLES)
    for button in looked_at:
        if button.parent is not None and _is_title_of_next(button):
            inner = dom.children(button)
            has_heading = dom.holds(button, "h1", "h2", "h3", "h4", "h5", "h6")
            button.replace_with(dom.made("div", None, *inner) if has_heading else _bold_paragraph(inner))


def _bold_paragraph(inner: list[dom.AnyNode]) -> dom.Element:
    return dom.made("p", None, dom.made("strong", None, *inner))


def _is_title_of_next(button: dom.Element) -> bool:
    """Whether a button says in words what it opens right below it, as in an accordion of questions."""
    if button.attr("aria-expanded") is None and button.attr("aria-controls") is None and not _named(_name_of(button))[1]:
        return False
    opened = _next_block(button)
    if opened is None or opened.tag not in _FOLDS:
        return False
    is_over, is_folded = _named(_name_of(opened))
    is_folded = is_folded or opened.attr("hidden") is not None or (opened.attr("role") or "") in _FOLDED_ROLES
    is_question = dom.one_line(button).endswith(("?", "\uff1f"))
    if is_over or not (is_question or (is_folded and _has_words(button, _TITLE_WORDS))):
        return False
    return _has_words(opened, _FEW_WORDS)


def _next_block(button: dom.Element) -> dom.Element | None:
    """The element after a button, or after the wrapper that holds nothing but the button."""
    element = button
    for _ in range(_MAX_WRAPPERS):
        following = next((node for node in element.next_siblings if not dom.is_blank(node)), None)
        if following is not None:
            return dom.as_element(following)
        parent = dom.as_element(element.parent)
        if parent is None or parent.tag in _WHOLE or len([node for node in parent.children if not dom.is_blank(node)]) > 1:
            return None
        element = parent
    return None


def _has_words(element: dom.Element, count: int) -> bool:
    return next(islice(_WORD.finditer(element.text), count - 1, None), None) is not None


def _name_of(element: dom.Element) -> str:
    return f"{element.attr('class') or ''} {element.attr('id') or ''}"[:_LONG_NAME]


def _targets(tree: dom.Node) -> set[str]:
    """The ids that controls of the page name."""
    controls = dom.select(tree, _CONTROL)
    values = [value for control in controls for value in map(control.attr, _NAMES_ITS_TARGET) if value is not None]
    return {value.removeprefix("#") for value in values}
