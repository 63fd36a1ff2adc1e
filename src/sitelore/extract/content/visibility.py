"""Removes what no reader of the page sees: scripts, form controls, and elements that their author hid for good.

Collapsible text is hidden text that opens within the page with a click (tabs, accordions, answers, slides): it is part of the
content and stays. Hidden text that no click opens in this way (templates, dialogs, menus, notes for machines) is removed.

`drop_unseen` goes by tags and attributes, `drop_hidden` by the page's own `style` elements. External style sheets are not
fetched, and no cascade is computed. Most elements that a rule hides are shown again by a script: tabs, answers, sections that
fade in. So `display: none` counts only when nothing else in the page mentions the class or id and the hidden text is short.
Text that is moved off the screen, shrunk to nothing or painted in its background's colour is never shown again: it is always
cut, except headings, which are there for screen readers. Elements are indexed by class and id once, and selectors are looked
up in that index, so that time grows with the size of the page and not with the number of selectors times the number of
elements.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import accumulate, chain, islice
from typing import TypeAlias

import re2

from sitelore.extract import dom
from sitelore.extract.page_objects.brand_styles import parse_colour

_NEVER_TEXT = (
    "script", "style", "template", "svg", "annotation", "annotation-xml", "iframe", "object", "embed", "canvas", "audio",
    "video", "map", "select", "datalist", "textarea", "button", "input", "progress", "meter", "head", "link", "meta",
    "frameset",
)  # fmt: skip
_HIDING_ATTRIBUTES = ":is([style],[hidden],[aria-hidden],dialog)"
_WHOLE = frozenset({"html", "body"})
_NOT_DISPLAYED = r"display\s*:\s*none"
_NOT_VISIBLE = r"visibility\s*:\s*(?:hidden|collapse)"
_SHRUNK = r"font-size\s*:\s*(?:0(?:\.0*)?\s*(?:[a-z%]+\s*)?|(?:0?\.\d+|1(?:\.0*)?)\s*px\s*)(?:;|!|$)"
# Cut down to nothing. Not `opacity: 0` nor `scale(0)`: scripts fade whole sections in from there.
_CLIPPED = (
    r"(?:^|[;\s])clip\s*:\s*rect\(\s*(?:0|1)(?:px)?(?:[\s,]+(?:0|1)(?:px)?){3}\s*\)|clip-path\s*:\s*inset\(\s*(?:50|100)%"
)
_EDGES = "left|top|right|bottom|margin-left|margin-top"
_FAR_AWAY = r"\s*:\s*-\d{4,}\s*(?:px|pt|em|rem|%|vw|vh)"
# Techniques: the name, a word that a style must hold (most styles hold none of these), and the pattern.
_HIDING = (
    ("display", "none", re.compile(_NOT_DISPLAYED)),
    ("visibility", "visibility", re.compile(_NOT_VISIBLE)),
    ("font-size", "font-size", re.compile(_SHRUNK)),
    ("clip", "clip", re.compile(_CLIPPED)),
)
_FAR = re.compile(r":\s*-\d{4}")
_OFF_SCREEN = re.compile(rf"(?:^|[;\s])(?:{_EDGES}){_FAR_AWAY}")
# These go from what was chosen alone: labels that a picture stands for and menus that unfold tell much of what a page is.
_CLIPPED_STYLE = re.compile(r"overflow(?:-[xy])?\s*:\s*hidden")
_FLAT_STYLE = re.compile(r"(?:^|[;\s])(?:max-)?(?:height|width)\s*:\s*[01](?:px)?\s*(?:;|!|$)")
_INDENTED_STYLE = re.compile(r"text-indent\s*:\s*-(?:\d{4,}\s*(?:px|pt|em|rem|%|vw|vh)|\d{3}\s*(?:%|em|rem))")
_LABELS = frozenset({"a", "button", "h1", "h2", "h3", "h4", "h5", "h6", "label"})
_TEXT_COLOUR = re.compile(r"(?:^|;)\s*color\s*:\s*([^;!]*[^;!\s])")
_PAPER = re.compile(r"(?:^|;)\s*background(?:-color)?\s*:\s*([^;!]*[^;!\s])")
_SHORT_STYLE = 300  # what is worth remembering
_COLOUR = "colour"
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

_COLLAPSIBLE_TAGS = frozenset({"div", "section", "article", "dd", "p", "ul", "ol", "li", "table", "tr", "figure", "blockquote"})
_COLLAPSIBLE_ROLES = frozenset({"tabpanel", "region", "group"})
_OVER_ROLES = frozenset(
    {"dialog", "alertdialog", "menu", "menubar", "listbox", "tooltip", "navigation", "search", "alert", "status"}
)
_COLLAPSIBLE = re2.compile(
    r"(?i)accord|collaps|tab[-_]?(?:pane|content|body|item)|panel|faq|answer|toggle|expand|carousel|slide|slick|swiper|read-?more|"
    r"spoiler"
)
# What opens over the page, is a copy of a part of it, or belongs to its frame.
_OVER = re2.compile(
    r"(?i)modal|pop-?up|overlay|drawer|drop-?down|menu|nav|cookie|consent|tooltip|lightbox|dialog|newsletter|login|sign-?in|search|"
    r"toast|banner|filter|sidebar|clone|duplicate|share|cart"
)
_STATE = "aria-expanded"
_MENUS = "nav,header,[role=navigation i],[role=menu i],[role=menubar i]"
_CONTROL = "[aria-controls],[data-target],[data-bs-target],a[href^='#']"
_NAMES_ITS_TARGET = ("aria-controls", "data-target", "data-bs-target", "href")
_WORD = re.compile(r"[^\W\d_]{2,}")
_LONG_NAME = 200  # what is not worth remembering
_TEASERS = frozenset({"p", "div"})
_FEW_WORDS = 8  # a label or an icon's name, not a text
_TITLE = "h1,h2,h3,h4,h5,h6,dt,summary,[role=heading]"
_IN_TITLES = ",".join(f"{title} button" for title in _TITLE.split(","))
_DOES = re.compile(r"\s*(?:copy|edit|share|save|hide|show|toggle|expand|collapse)\b", re.IGNORECASE)
"""How the label of a button begins that does something with the title beside it."""
_MAX_CHARS = 2_000_000
_TITLE_WORDS = 3
_MAX_WRAPPERS = 3

_MAX_SHEET_CHARS = 16_000  # longer sheets are generated: most of what they hide is shown again by rules only a cascade resolves
_MAX_LONG_SHEET_CHARS = 400_000
_MAX_SCRIPT_CHARS = 300_000
_MAX_SCRIPTS_CHARS = 2_000_000
_MAX_NAME_SEARCHES = 100  # each is a search through the scripts of the page
_MAX_SELECTOR_CHARS = 200
_MAX_CHECKS = 100_000  # of one element against one selector
_MAX_SIZED = 300  # measuring an element takes time in proportion to everything below it
_SHORT_CHARS = 300
_SHORT_SHARE = 0.08

_COMMENT = re.compile(r"/\*.*?(?:\*/|$)", re.DOTALL)
_HINT = re2.compile(
    rb"(?i)display\s*:\s*none|visibility\s*:\s*(?:hidden|collapse)|:\s*-\d{4}|font-size\s*:\s*(?:0|\.|1p|1\.)|clip\s*:\s*rect"
    rb"|clip-path\s*:\s*inset|[;{\s]color\s*:\s*(?:transparent|white|#fff)"
)
_CONCEALED_HINT = re2.compile(rb"(?i):\s*-\d{4}|font-size\s*:\s*(?:0|\.|1p|1\.)|clip\s*:\s*rect|clip-path\s*:\s*inset")
_BRACE = re.compile(r"([{}])")
# One element with its classes and id. Combinators, attributes and pseudo-classes select a state of the page.
_PLAIN = re.compile(r"(?:[a-z][a-z0-9]*)?(?:[.#][a-z_][\w-]*)+$", re.IGNORECASE)
_NAME = re.compile(r"[.#]([a-z_][\w-]*)", re.IGNORECASE)
_KEY = re.compile(r"[.#][a-z_][\w-]*", re.IGNORECASE)
_GONE = re.compile(f"{_NOT_DISPLAYED}|{_NOT_VISIBLE}")
_CONCEALED = re.compile(rf"{_SHRUNK}|(?:^|[;\s])(?:{_EDGES}|text-indent){_FAR_AWAY}|{_CLIPPED}")
_BACK = re.compile(r"display\s*:\s*(?!none)[a-z]|visibility\s*:\s*visible|opacity\s*:\s*(?:1|0?\.[5-9])")
_ALWAYS = re.compile(r"@(?:layer|supports|container|media\s+(?:only\s+)?(?:screen|all)\s*$)", re.IGNORECASE)
_SEEN_MEDIA = frozenset({"", "all", "screen"})
_HEADINGS = frozenset({"h1", "h2", "h3", "h4", "h5", "h6"})

_Index: TypeAlias = dict[str, list[dom.Element]]
"""Elements by `.class` and `#id`, in lower case: whether case matters depends on the page's mode, which the parser checks."""


def drop_unseen(tree: dom.Tree) -> None:
    """Drop what tags and attributes keep from being shown. `html` and `body` stay: scripts that fade a page in hide those."""
    candidates = dom.select(tree, _HIDING_ATTRIBUTES)
    _place_streamed(tree, candidates)
    hidden = _without_page(tree, _hidden_among(candidates))
    opened = collapsible(tree, hidden, _is_unseen) if hidden else frozenset[dom.Element]()
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


def _without_page(tree: dom.Tree, hidden: list[dom.Element]) -> list[dom.Element]:
    """The hidden elements without those around the page itself: a script shows them once everything is loaded.

    They hold all of its `main` and `h1` elements, and much text.
    """
    hiding, holders = set(hidden), set[dom.AnyNode]()
    for mark in dom.first_elements(tree, _MAX_LOOKS, "main", "h1") if hidden else ():
        around = hiding.intersection((mark, *mark.ancestors))
        if not around:
            return hidden
        holders |= around
    return [element for element in hidden if element not in holders or _size(element) < _REVEALED_CHARS]


def _without_dialogs(tree: dom.Tree, hidden: list[dom.Element]) -> list[dom.Element]:
    """Drop the dialogs and menus of a page where most text is hidden; what else of it stays hidden without them.

    Not what holds the page's own content, and not where little else is shown.
    """
    body, looked_at = dom.body(tree), hidden[:_MAX_LOOKS]
    inside = set(looked_at)
    outermost = [element for element in looked_at if not dom.has_ancestor_in(element, inside)]
    if body is None or _size(body) - sum(map(_size, outermost)) < _REVEALED_CHARS:
        return []
    over = {
        element for element in looked_at if _opens_over(element) and not dom.has_descendant(element, "main", "article", "h1")
    }
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
        opened = collapsible(node, collapsed) if collapsed else frozenset[dom.Element]()
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
    if (style := attr("style")) and hiding_technique(style):
        return True
    if attr("hidden") is not None:
        return not is_streamed(element)
    value = attr("aria-hidden")
    return value is not None and value.lower() == "true" and not (_is_only_price(element) or _is_only_text(element))


def _is_only_text(element: dom.Element) -> bool:
    """Whether a link hidden only from screen readers is a text of its own: a teaser below a headline with the same target."""
    parent = dom.as_element(element.parent) if element.tag == "a" else None
    if parent is None or parent.tag not in _TEASERS or len(text := dom.one_line_text(element)) > _BESIDE_CHARS:
        return False
    return text.count(" ") >= _FEW_WORDS and dom.one_line_text(parent).count(text) == 1


def _is_only_price(element: dom.Element) -> bool:
    """Whether an element hidden only from screen readers is a price that no neighbouring text repeats.

    Shops mark prices up this way and put a sentence for screen readers into an `aria-label`.
    """
    if element.tag not in _INLINE or len(text := dom.one_line_text(element)) > _PRICE_CHARS or not PRICE.search(text):
        return False
    parent = dom.as_element(element.parent)
    return parent is not None and len(beside := parent.text) < _BESIDE_CHARS and beside.count(text) < 2


def is_streamed(element: dom.Element) -> bool:
    """Whether an element is a part that React streamed after the page, which its script moves into place."""
    return element.attr("hidden") is not None and (element.attr("id") or "").startswith(_STREAMED)


def _place_streamed(tree: dom.Tree, candidates: list[dom.Element]) -> None:
    """Put the parts that React streamed after the page where its script would: in place of `<template id="B:n">`.

    The fallback between the template and the comment `/$` is removed, as the script does.
    """
    streamed = list(filter(is_streamed, candidates))
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
    return element.attr("hidden") is not None or bool(style and hiding_technique(style) not in {"", _COLOUR})


def _drop_consent(tree: dom.Tree) -> None:
    body = dom.body(tree)
    for element in dom.child_elements(body) if body is not None else ():
        own, names = element.attr("id"), element.attr("class")
        is_consent = own in CONSENT or (names and not CONSENT.isdisjoint(names.split()))
        if is_consent and body is not None and _size(element) < _size(body):
            dom.drop(element)


def hiding_technique(style: str) -> str:
    """How an inline style hides an element: `display`, `visibility`, `font-size`, `clip`, `off-screen`, `colour`, or empty if
    it hides nothing. Colours of a long style are not checked.
    """
    return _technique_of_short_style(style) if len(style) < _SHORT_STYLE else _technique(style.lower())


@lru_cache(maxsize=256)
def _technique_of_short_style(style: str) -> str:
    lowered = style.lower()
    return _technique(lowered) or (_COLOUR if "color" in style and _is_unpainted(lowered) else "")


def _technique(style: str) -> str:
    for name, word, pattern in _HIDING:
        if word in style and pattern.search(style):
            return name
    return "off-screen" if _FAR.search(style) and _OFF_SCREEN.search(style) else ""


def _is_unpainted(style: str) -> bool:
    """Whether text is transparent, or has the colour of its own background.

    Not with `background-clip: text`, which paints transparent text with the background image behind it.
    """
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
    whole: int | None = None  # measured only where a fallback is long enough
    for size in accumulate(map(_size, fallbacks[:_MAX_LOOKS])):
        if size > _FALLBACK_CHARS:
            whole = _size(tree) if whole is None else whole
            if whole - size < max(_FALLBACK_CHARS, size // 2):
                return
    for element in fallbacks:
        dom.drop(element)


def _size(node: dom.Node) -> int:
    return len(dom.raw_text(node).strip())


def collapsible(
    tree: dom.Node, hidden: list[dom.Element], is_unseen: Callable[[dom.Element], bool] | None = None
) -> set[dom.Element]:
    """The hidden elements that are collapsible text: a reader opens them within the page with a click.

    `is_unseen` says whether an element is hidden from all readers, the default for every element; the others are hidden from
    screen readers only.
    """
    opened: set[dom.Element] = set()
    targets: set[str] | None = None
    chars = looks = 0
    for element in hidden:
        if element.tag not in _COLLAPSIBLE_TAGS:
            continue
        if _opens_over(element):
            continue
        attr = element.attr
        own, role = attr("id") or "", (attr("role") or "").lower()
        opens = _is_named(_COLLAPSIBLE, _name_of(element)) or role in _COLLAPSIBLE_ROLES or attr("aria-labelledby") is not None
        opens = opens or (is_unseen is not None and not is_unseen(element)) or _follows_control(element)
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


def _follows_control(element: dom.Element) -> bool:
    """Whether an element comes right after the control that opens it, or after the heading around that. Not in a menu."""
    before = dom.element_before(element)
    if before is None or dom.is_inside(element, _MENUS):
        return False
    return dom.has_attribute(before, _STATE) or (before.tag in _HEADINGS and bool(dom.select(before, f"[{_STATE}]")))


def _opens_over(element: dom.Element) -> bool:
    """Whether a hidden element opens over the page, as a dialog or a menu does."""
    return _is_named(_OVER, _name_of(element)) or (element.attr("role") or "").lower() in _OVER_ROLES


def _is_named(pattern: re2._Regexp, name: str) -> bool:
    """Whether a name matches a pattern: `_OVER` for what opens over the page, `_COLLAPSIBLE` for what a click opens in it."""
    return _is_known_name(pattern, name) if len(name) < _LONG_NAME else pattern.search(name) is not None


@lru_cache(maxsize=512)  # pages of a site repeat their names
def _is_known_name(pattern: re2._Regexp, name: str) -> bool:
    return pattern.search(name) is not None


def keep_titles(tree: dom.Tree, buttons: list[dom.Element]) -> None:
    """Keep the text of buttons that are titles of what they open: those within headings, and questions above their answers."""
    looked_at = []
    for button in buttons[:_MAX_LOOKS]:
        if any(map(str.isalnum, button.text)):
            looked_at.append(button)
        else:  # an icon, whose picture is no title
            dom.drop(button)
    if in_titles := [button for button in looked_at if dom.is_inside(button, _TITLE)]:
        for button in in_titles:
            if _is_beside_title(button):
                dom.drop(button)
        dom.unwrap_all(tree, _IN_TITLES)
    for button in looked_at:
        has_heading = dom.has_descendant(button, *_HEADINGS) and _has_words(button, _TITLE_WORDS)
        if button.parent is not None and (has_heading or _is_title_of_next(button)):
            inner = dom.children(button)
            has_blocks = dom.has_descendant(button, *_HEADINGS, "a")
            button.replace_with(dom.new_element("div", None, *inner) if has_blocks else _bold_paragraph(inner))


def _is_beside_title(button: dom.Element) -> bool:
    """Whether a button within a title does something with it, and the title has words of its own."""
    title = button.closest(_TITLE)
    return (
        title is not None
        and _DOES.match(button.text) is not None
        and _WORD.search(title.text.replace(button.text, "", 1)) is not None
    )


def _bold_paragraph(inner: list[dom.AnyNode]) -> dom.Element:
    return dom.new_element("p", None, dom.new_element("strong", None, *inner))


def _is_title_of_next(button: dom.Element) -> bool:
    """Whether a button says in words what it opens right below it, as in an accordion of questions."""
    is_question = dom.one_line_text(button).endswith(("?", "\uff1f"))
    has_state = is_question or button.attr(_STATE) is not None or button.attr("aria-controls") is not None
    if not has_state and not _is_named(_COLLAPSIBLE, _name_of(button)[:_LONG_NAME]):
        return False
    opened = _next_block(button)
    if opened is None or opened.tag not in _COLLAPSIBLE_TAGS:
        return False
    name = _name_of(opened)[:_LONG_NAME]
    is_collapsible = opened.attr("hidden") is not None or (opened.attr("role") or "") in _COLLAPSIBLE_ROLES
    is_collapsible = is_collapsible or _is_named(_COLLAPSIBLE, name)
    # A button that opens nothing else holds no link: this is the head of what is open below it.
    is_collapsible = is_collapsible or (button.attr("aria-expanded") == "true" and dom.has_descendant(button, "a"))
    if _is_named(_OVER, name) or not (is_question or (is_collapsible and _has_words(button, _TITLE_WORDS))):
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
    return f"{element.attr('class') or ''} {element.attr('id') or ''}"


def _targets(tree: dom.Node) -> set[str]:
    """The ids that controls of the page name."""
    controls = dom.select(tree, _CONTROL)
    values = [value for control in controls for value in map(control.attr, _NAMES_ITS_TARGET) if value is not None]
    return {value.removeprefix("#") for value in values}


@dataclass(frozen=True, slots=True)
class _Rules:
    """The plain selectors of a sheet that hide something, and the names that other rules show again."""

    gone: tuple[str, ...] = ()
    concealed: tuple[str, ...] = ()
    shown_again: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Hiding:
    """The style sheets of a page that may hide something, and other places that may mention the same names."""

    sheets: tuple[str, ...] = ()
    long_sheets: tuple[str, ...] = ()
    """Sheets that are too long to be read whole: only their rules that conceal text count."""
    unread: tuple[str, ...] = ()
    """All sheets of that length, whatever media they are for."""
    scripts: tuple[dom.Element, ...] = ()

    @property
    def names(self) -> set[str]:
        """Classes and ids, without their sign: every element that the sheets hide has one of them."""
        names = {name for sheet in self.sheets for name in _candidate_names(sheet)}
        return names.union(*(_concealed_names(sheet) for sheet in self.long_sheets))


NO_HIDING = Hiding()


def read_hiding(tree: dom.Tree, sheets: list[tuple[str, str]]) -> Hiding:
    """Keep the sheets that may hide something on a screen, with the scripts of the tree; call it before they are cut.

    Each of `sheets` is given with its `media` attribute.
    """
    seen = [sheet for media, sheet in sheets if media.strip().lower() in _SEEN_MEDIA]
    hiding = tuple([sheet for sheet in seen if len(sheet) <= _MAX_SHEET_CHARS and _may_hide(sheet)])
    long_sheets = tuple([sheet for sheet in seen if _MAX_SHEET_CHARS < len(sheet) <= _MAX_LONG_SHEET_CHARS])
    if not hiding and not long_sheets:
        return NO_HIDING
    unread = tuple([sheet for _, sheet in sheets if len(sheet) > _MAX_SHEET_CHARS])
    return Hiding(hiding, long_sheets, unread, tuple(dom.select(tree, "script")))


@lru_cache(maxsize=64)
def _may_hide(sheet: str) -> bool:
    return _HINT.search(sheet.encode("utf-8", "replace")) is not None


def drop_hidden(hiding: Hiding, tree: dom.Tree, nodes: Sequence[dom.Node]) -> None:
    """Cut from the chosen nodes of a tree what the page's style sheets hide."""
    names = {name.lower() for name in hiding.names}
    if not names:
        return
    named = _named_elements(nodes)
    # Parsing a sheet takes as long as writing the page: do it only when a name of it occurs.
    if not any(own.lower() in names or not names.isdisjoint(classes.lower().split()) for _, classes, own in named):
        return
    index = _indexed(named)
    sheets = [_read_sheet(sheet) for sheet in hiding.sheets]
    shown_again = {name for sheet in sheets for name in sheet.shown_again}
    mentions = _Mentions(shown_again, hiding.unread, hiding.scripts)
    concealed = _matching([one for sheet in sheets for one in sheet.concealed], index, mentions)
    if hiding.long_sheets:
        named_once = [selector for sheet in hiding.long_sheets for selector in _concealed_selectors(sheet)]
        concealed += _matching(named_once, index, _Mentions(shown_again, (), hiding.scripts))
    if concealed:
        heads = _around_headings(nodes)
        for element in concealed:
            if element not in heads:
                dom.drop(element)
        index = _indexed(_named_elements(nodes))
    if gone := _matching([one for sheet in sheets for one in sheet.gone], index, mentions):
        _drop_gone(tree, nodes, gone)


def _named_elements(nodes: Sequence[dom.Node]) -> list[dom.ClassAndId]:
    """The elements below the nodes that have a class or an id."""
    return [each for node in nodes for each in dom.elements_with_class_or_id(node) if each[0] is not node]


def _indexed(named: list[dom.ClassAndId]) -> _Index:
    """Index elements by their classes and ids."""
    index: _Index = {}
    for element, classes, own in named:
        for name in set(classes.lower().split()):
            index.setdefault(f".{name}", []).append(element)
        if own:
            index.setdefault(f"#{own.lower()}", []).append(element)
    return index


def _matching(selectors: Iterable[str], index: _Index, mentions: _Mentions) -> list[dom.Element]:
    """The elements that plain selectors match, without names that the page mentions elsewhere."""
    matching: dict[dom.Element, None] = {}
    checks = 0
    for selector in dict.fromkeys(selectors):
        # An element that matches has all of the names: look only at those that have the rarest one.
        candidates = min((index.get(key.lower(), []) for key in _KEY.findall(selector)), key=len)
        checks += len(candidates)
        if checks > _MAX_CHECKS:
            break
        matched = [element for element in candidates if dom.matches(element, selector)]
        if matched and not any(map(mentions.has, _NAME.findall(selector))):
            matching.update(dict.fromkeys(matched))
    return list(matching)


class _Mentions:
    """Names that the page shows again, or mentions in scripts and in sheets that are not read."""

    def __init__(self, shown_again: set[str], sheets: Sequence[str], scripts: Sequence[dom.Element]) -> None:
        self._shown_again = shown_again
        self._sheets = sheets
        self._scripts = scripts
        self._known: dict[str, bool] = {}

    def has(self, name: str) -> bool:
        """Whether a name is mentioned. After too many searches every further name counts as mentioned, and nothing is cut."""
        if name in self._shown_again:
            return True
        if name not in self._known:
            self._known[name] = len(self._known) >= _MAX_NAME_SEARCHES or self._search(name)
        return self._known[name]

    def _search(self, name: str) -> bool:
        return any(name in text for text in self._texts)

    @cached_property
    def _texts(self) -> list[str]:
        """The start of every sheet and script."""
        texts: list[str] = []
        left = _MAX_SCRIPTS_CHARS
        for text in chain(self._sheets, map(dom.raw_text, self._scripts)):
            texts.append(text[: min(left, _MAX_SCRIPT_CHARS)])
            left -= len(texts[-1])
            if left <= 0:
                break
        return texts


def _around_headings(nodes: Sequence[dom.Node]) -> set[dom.Element]:
    """Headings and every element that holds one."""
    around: set[dom.Element] = set()
    for node in nodes:
        for heading in dom.elements_list(node, *_HEADINGS):
            around.add(heading)
            for ancestor in heading.ancestors:
                element = dom.as_element(ancestor)
                if element is None or element in around:
                    break
                around.add(element)
    return around


def _drop_gone(tree: dom.Tree, nodes: Sequence[dom.Node], gone: list[dom.Element]) -> None:
    """Drop hidden elements, unless a click opens them or they hold so much text that something must show them."""
    opened = collapsible(tree, gone)
    gone = [element for element in gone if element not in opened]
    whole = sum(len(dom.raw_text(node)) for node in nodes)
    limit = min(max(_SHORT_CHARS, _SHORT_SHARE * whole), whole / 2)
    size = 0
    for element in gone[:_MAX_SIZED]:
        size += len(dom.raw_text(element).strip())
        if size > limit:
            return
    if size < whole / 2:
        for element in gone:
            dom.drop(element)


@lru_cache(maxsize=64)
def _candidate_names(css: str) -> frozenset[str]:
    """The first name of every plain selector whose rule looks as if it hides something."""
    return frozenset(_NAME.findall(selector)[0] for selector in _candidates(css))


def _candidates(css: str) -> tuple[str, ...]:
    """Plain selectors of rules that look as if they hide something, found without parsing the sheet."""
    names: dict[str, None] = {}
    for selectors, _, _ in _hinted_rules(css.encode("utf-8", "replace"), _HINT):
        names.update(dict.fromkeys(_plain(selectors)))
    return tuple(names)


@lru_cache(maxsize=64)
def _concealed_names(css: str) -> frozenset[str]:
    return frozenset(name for selector in _concealed_selectors(css) for name in _NAME.findall(selector))


@lru_cache(maxsize=64)
def _concealed_selectors(css: str) -> tuple[str, ...]:
    """Plain selectors of rules of a long sheet that conceal text: rules outside at-rules, with names that occur only there."""
    utf8 = css.encode("utf-8", "replace")
    selectors: dict[str, None] = {}
    for listed, declarations, start in _hinted_rules(utf8, _CONCEALED_HINT):
        plain = _plain(listed) if _conceals(declarations.lower()) else []
        if plain and utf8.count(b"{", 0, start) == utf8.count(b"}", 0, start):
            selectors.update(dict.fromkeys(one for one in plain if all(_is_named_once(key, utf8) for key in _KEY.findall(one))))
    return tuple(selectors)


def _is_named_once(key: str, css: bytes) -> bool:
    """Whether a sheet mentions a class or id a single time, so that no other rule shows it again."""
    return len(re2.findall(re2.escape(key.encode()) + rb"(?:[^\w-]|$)", css)) == 1


def _hinted_rules(css: bytes, hint: re2._Regexp[bytes]) -> Iterator[tuple[str, str, int]]:
    """Yield selectors, declarations and the place of the opening brace of each rule that a pattern matches in."""
    past = 0
    for match in hint.finditer(css):
        if match.end() > past:
            start, past = css.rfind(b"{", 0, match.end()), css.find(b"}", match.end())
            past = len(css) if past < 0 else past
            before = -1
            for mark in (b"}", b"{", b";", b"*/"):
                before = max(before, css.rfind(mark, before + 1, max(start, 0)))
            selectors = css[before + 1 : start].decode("utf-8", "replace").lstrip("/")
            yield selectors, css[start + 1 : past].decode("utf-8", "replace"), start


def _plain(selectors: str) -> list[str]:
    return [plain for one in selectors.split(",") if len(plain := one.strip()) < _MAX_SELECTOR_CHARS and _PLAIN.match(plain)]


@lru_cache(maxsize=16)
def _read_sheet(css: str) -> _Rules:
    gone: list[str] = []
    concealed: list[str] = []
    shown_again: set[str] = set()
    for selectors, declarations, is_always in _rules(css):
        kept = gone if _GONE.search(declarations) else concealed if _conceals(declarations) else None
        if kept is not None and is_always:
            kept += _plain(selectors)
        if _BACK.search(declarations):
            shown_again.update(_NAME.findall(selectors))
    return _Rules(tuple(gone), tuple(concealed), frozenset(shown_again))


def _conceals(declarations: str) -> bool:
    return _CONCEALED.search(declarations) is not None or ("color" in declarations and _is_unpainted(declarations))


def _rules(css: str) -> Iterator[tuple[str, str, bool]]:
    """Yield selectors, declarations, and whether the rule applies on every screen and without condition."""
    around: list[str] = []
    parts = _BRACE.split(_COMMENT.sub("", css) if "/*" in css else css)
    for before, brace in zip(parts[::2], parts[1::2], strict=False):
        if brace == "{":
            around.append(before.rpartition(";")[2].strip())
        elif around:
            selectors = around.pop()
            if not selectors.startswith("@"):
                yield selectors, before.lower(), all(map(_ALWAYS.match, around))
