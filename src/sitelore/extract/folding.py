"""What a page folds away and a click opens: tabs, accordions, answers to questions, slides. It is part of the page.

Hidden text proper is what no control opens: templates, dialogs, menus, notes to machines. `visibility` drops that.
"""

from __future__ import annotations

import re

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
_FEW_WORDS = 8  # a label or an icon's name, not a text
_TITLE = "h1,h2,h3,h4,h5,h6,dt,summary,[role=heading]"
_IN_TITLES = ",".join(f"{title} button" for title in _TITLE.split(","))
_MAX_LOOKS = 300  # looking into an element costs what is below it
_MAX_CHARS = 2_000_000


def folded(tree: dom.Node, hidden: list[dom.Element], is_unseen: list[bool]) -> set[dom.Element]:
    """Those of the hidden elements that a reader opens with a click.

    `is_unseen` says of each whether nobody sees it; the others are only kept from having themselves read aloud.
    """
    found: set[dom.Element] = set()
    targets: set[str] | None = None
    chars = looks = 0
    for element, unseen in zip(hidden, is_unseen, strict=True):
        if element.tag not in _FOLDS:
            continue
        own, role = dom.attribute(element, "id"), dom.attribute(element, "role").lower()
        name = f"{dom.attribute(element, 'class')} {own}"
        if role in _OVER_ROLES or _OVER.search(name):
            continue
        opens = not unseen or role in _FOLDED_ROLES or dom.has_attribute(element, "aria-labelledby") or _FOLDED.search(name)
        if not opens and own:
            targets = _targets(tree) if targets is None else targets
            opens = own in targets
        if not opens:
            continue
        text = dom.raw_text(element)
        looks, chars = looks + 1, chars + len(text)
        if looks > _MAX_LOOKS or chars > _MAX_CHARS:
            break
        if len(_WORD.findall(text)) >= _FEW_WORDS:
            found.add(element)
    return found


def keep_titles(tree: dom.Tree) -> None:
    """A button within a heading is the title of what it opens: its text stays where it is."""
    if any(dom.is_inside(button, _TITLE) for button in dom.select(tree, "button")[:_MAX_LOOKS]):
        dom.unwrap_all(tree, _IN_TITLES)


def _targets(tree: dom.Node) -> set[str]:
    """The ids that controls of the page name."""
    return {
        value.removeprefix("#")
        for control in dom.select(tree, _CONTROL)
        for value in map(control.attr, _NAMES_ITS_TARGET)
        if value is not None
    }
