"""Keeps content that would go with the hidden elements of a tree: formulas, players, task boxes, labels of tabs, images."""

from __future__ import annotations

from collections.abc import Iterator

from sitelore.extract import dom
from sitelore.extract.markdown.code import rescue_formulas
from sitelore.extract.markdown.images import rescue_embeds, rescue_icons, rescue_images

_MAX_TABS = 300
_MAX_TAB_CHARS = 60


def prepare(tree: dom.Tree) -> None:
    """Rescue what is dropped from a tree with hidden elements: formulas, embedded content, task boxes, labels, images."""
    rescue_formulas(tree)
    rescue_embeds(tree)
    _rescue_task_boxes(tree)
    _rescue_tab_labels(tree)
    rescue_images(tree)
    rescue_icons(tree)


def _rescue_task_boxes(tree: dom.Tree) -> None:
    """Replace the check boxes that list items start with by `[x]` and `[ ]`. Boxes of a form are questions, not tasks."""
    for box in dom.select(tree, "input[type=checkbox i]"):
        item = box.closest("li")
        if item is None or (box.closest("form") is not None and not dom.has_attribute(box, "disabled")):
            continue
        first = next((node for node in item.descendants if node == box or not _shows_nothing(node)), None)
        if first == box:
            mark = "[x]" if dom.has_attribute(box, "checked") else "[ ]"
            after = dom.as_text(box.next_sibling)
            gap = [] if after is not None and after.data[:1].isspace() else [dom.words(" ")]
            box.replace_with(dom.verbatim(mark, dom.words(mark)), *gap)


def _rescue_tab_labels(tree: dom.Tree) -> None:
    """Move the labels of tabs into the panels that they open: a reader of Markdown sees all panels, one below the other."""
    for panel, tab in _pair_tabs(dom.select(tree, "[role=tablist],[role=tab],[role=tabpanel]")[:_MAX_TABS]):
        label = " ".join(tab.text.split())
        # Panels without code mostly start with their label, or are parts of a menu.
        if any(map(str.isalnum, label)) and len(label) <= _MAX_TAB_CHARS and dom.holds(panel, "pre"):
            panel.children[0].insert_before(dom.made("p", None, dom.made("strong", None, dom.words(label))))
            tab.clear()


def _pair_tabs(elements: list[dom.Element]) -> Iterator[tuple[dom.Element, dom.Element]]:
    """Give each panel its tab: the one that its ids name, or the one at its place in the list before it (Docusaurus)."""
    tabs: dict[str, dom.Element] = {}
    groups: list[tuple[list[dom.Element], list[dom.Element]]] = []
    for element in elements:
        role = element.attr("role")
        if role == "tablist":
            groups.append(([], []))
        elif groups:
            groups[-1][role == "tabpanel"].append(element)
        if role == "tab":
            controlled = element.attr("aria-controls") or (element.attr("href") or "").removeprefix("#")
            tabs |= {f"tab {element.attr('id')}": element, f"panel {controlled}": element}
    for group, panels in groups:
        for at, panel in enumerate(panels):
            name, label = panel.attr("id"), panel.attr("aria-labelledby")
            tab = (tabs.get(f"tab {label}") if label else None) or (tabs.get(f"panel {name}") if name else None)
            if tab is None and len(group) == len(panels) and not name and not label:
                tab = group[at]
            if tab is not None:
                yield panel, tab


def _shows_nothing(node: dom.AnyNode) -> bool:
    """Whether a node is neither text nor a box: a wrapper element, a comment, or white space."""
    element = dom.as_element(node)
    return element.tag not in {"input", "img"} if element is not None else dom.is_blank(node)
