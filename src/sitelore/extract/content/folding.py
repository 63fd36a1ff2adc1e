"""Recognises hidden text that a click opens: tabs, accordions, answers, slides. It is part of the page's content.

What no control opens (templates, dialogs, menus, notes for machines) is hidden text proper, which `visibility` drops.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from itertools import islice

import re2

from sitelore.extract import dom

_FOLDS = frozenset({"div", "section", "article", "dd", "p", "ul", "ol", "li", "table", "tr", "figure", "blockquote"})
_FOLDED_ROLES = frozenset({"tabpanel", "region", "group"})
_OVER_ROLES = frozenset(
    {"dialog", "alertdialog", "menu", "menubar", "listbox", "tooltip", "navigation", "search", "alert", "status"}
)
_FOLDED = re2.compile(
    r"(?i)accord|collaps|tab[-_]?(?:pane|content|body|item)|panel|faq|answer|toggle|expand|carousel|slide|slick|swiper|read-?more|"
    r"spoiler"
)
# What opens over the page, is a copy of what stands in it, or is a part of its frame.
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
_TITLE_WORDS = 3
_MAX_WRAPPERS = 3
_WHOLE = frozenset({"html", "body"})
_MAX_LOOKS = 300  # looking into an element costs what is below it
_MAX_CHARS = 2_000_000


def folded(
    tree: dom.Node, hidden: list[dom.Element], is_unseen: Callable[[dom.Element], bool] | None = None
) -> set[dom.Element]:
    """Those of the hidden elements of a tree that a reader opens with a click.

    `is_unseen` says of each whether it is hidden from everybody, which is assumed of all without it; the others are only hidden
    from screen readers.
    """
    found: set[dom.Element] = set()
    targets: set[str] | None = None
    chars = looks = 0
    for element in hidden:
        if element.tag not in _FOLDS:
            continue
        attr = element.attr
        own, role = attr("id") or "", (attr("role") or "").lower()
        name = f"{attr('class') or ''} {own}"
        is_over, is_folded = _named(name) if len(name) < _LONG_NAME else _kind_of(name)
        if is_over or role in _OVER_ROLES:
            continue
        opens = is_folded or role in _FOLDED_ROLES or attr("aria-labelledby") is not None
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
            found.add(element)
    return found


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
