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
        is_text = role == "tabpanel" or next(islice(_WORD.finditer(text), _FEW_WORDS - 1, None), None) is not None
        if is_text and text.strip():
            found.add(element)
    return found


def _kind_of(name: str) -> tuple[bool, bool]:
    """Whether an element with these classes and this id opens over the page, and whether it unfolds within it."""
    return _OVER.search(name) is not None, _FOLDED.search(name) is not None


_named = lru_cache(maxsize=256)(_kind_of)  # pages of a site repeat their names


def keep_titles(tree: dom.Tree, buttons: list[dom.Element]) -> None:
    """A button within a heading is the title of what it opens: its text stays where it is."""
    if any(dom.is_inside(button, _TITLE) for button in buttons[:_MAX_LOOKS]):
        dom.unwrap_all(tree, _IN_TITLES)


def _targets(tree: dom.Node) -> set[str]:
    """The ids that controls of the page name."""
    controls = dom.select(tree, _CONTROL)
    values = [value for control in controls for value in map(control.attr, _NAMES_ITS_TARGET) if value is not None]
    return {value.removeprefix("#") for value in values}
