"""Footnotes: finds references (marks, mostly superscript links) and the notes they lead to; written as `[^1]`, `[^1]: …`."""

from __future__ import annotations

import re
from collections import Counter
from itertools import islice
from urllib.parse import unquote

from sitelore.extract import dom

_MARK = re.compile(r"[\[(]?\s*(?:(?:note|nb|n\.)(?:\s+|(?=\d)))?([A-Za-z]{1,2}|\d{1,4}|[*†‡§¶]{1,3})\s*[\])]?", re.IGNORECASE)
_REFERENCE_NAME = re.compile(r"(?:^|[\s_-])(?:footnote|fn|fnref|noteref|endnote|reference|sup|citation)", re.IGNORECASE)
_NOTES_NAME = re.compile(r"(?:^|[\s_:-])(?:footnotes?|endnotes?|fn|references|reflist|notes)(?=$|[\s_:-])", re.IGNORECASE)
_NOTE_TAGS = frozenset({"li", "p", "div", "dd", "aside", "section"})
_WRAPPERS = frozenset({"sup", "span", "a", "b", "small"})
_PUNCTUATION = " ^[]().,\n\t"
_MAX_MARKS = 2000
_MAX_MARK_CHARS = 12
_MAX_ANCESTORS = 200


class Footnotes:
    """The footnotes of a subtree."""

    def __init__(self) -> None:
        self.marks: dict[dom.Element, str] = {}
        """The label of each link that is a mark."""
        self.notes: dict[dom.Element, str] = {}
        """The label of each element that is a note."""
        self.raised: set[dom.Element] = set()
        """The superscript (`sup`) elements around marks: brackets in them are part of the mark."""
        self.dropped: set[dom.Element] = set()
        """Links from notes back to the text, with the elements that hold nothing else."""


def find_footnotes(node: dom.Node, in_page: list[dom.Element]) -> Footnotes:
    """Find the marks among the links to places of the same page (`in_page`), and their notes."""
    footnotes = Footnotes()
    candidates: list[tuple[dom.Element, str]] = []
    for link in in_page[:_MAX_MARKS]:
        name = unquote(dom.attribute(link, "href")[1:])
        text = link.text
        if name and len(text) < _MAX_MARK_CHARS and _MARK.fullmatch(text.strip()) and _looks_like_mark(link):
            candidates.append((link, name))
    if not candidates:
        return footnotes
    targets = _find_targets(node, candidates)
    notes = _find_notes(targets)
    labels: dict[str, str] = {}
    back_names: set[str] = set()
    for link, name in candidates:
        note = notes.get(name)
        if note is None or any(around == note for around in islice(link.ancestors, _MAX_ANCESTORS)):
            continue
        if name not in labels:
            labels[name] = _choose_label(link, set(labels.values()))
        footnotes.marks[link] = labels[name]
        back_names |= _names_of(link)
        raised = dom.as_element(link.parent)
        if raised is not None and raised.tag == "sup":
            footnotes.raised.add(raised)
    for name, label in labels.items():
        footnotes.notes[notes[name]] = label
        numbers = _title_of_note(targets[name]), _own_label(notes[name], label)
        footnotes.dropped.update(element for element in numbers if element is not None)
        _drop_back_links(footnotes, notes[name], back_names)
    return footnotes


def _looks_like_mark(link: dom.Element) -> bool:
    """Whether a link looks like a mark: raised, or named as one. A plain number may be a page of results."""
    if link.closest("sup") is not None or dom.has_descendant(link, "sup"):
        return True
    role = dom.attribute(link, "role") + dom.attribute(link, "epub:type")
    return "noteref" in role or bool(_REFERENCE_NAME.search(dom.attribute(link, "class") + " " + dom.attribute(link, "rel")))


def _find_targets(node: dom.Node, candidates: list[tuple[dom.Element, str]]) -> dict[str, dom.Element]:
    """Return the elements that the marks lead to, each after its mark: a link upwards leads from a note back to the text."""
    targets: dict[str, dom.Element] = {}
    expected: set[str] = set()
    names = dict(candidates)
    for element in dom.select(node, "[id],a"):
        for name in (element.attr("id"), element.attr("name")):
            if name in expected and name not in targets:
                targets[name] = element
        if element in names:
            expected.add(names[element])
    return targets


def _find_notes(targets: dict[str, dom.Element]) -> dict[str, dom.Element]:
    """Return the blocks that marks lead to and that are notes. A block that several marks lead into holds more than a note."""
    blocks: dict[str, dom.Element] = {}
    for name, target in targets.items():
        title = _title_of_note(target)
        if title is not None:
            block = next(filter(None, map(dom.as_element, islice(title.next_siblings, 3))), None)
        else:
            block = target if target.tag in _NOTE_TAGS else target.closest("li,p,dd,aside,div")
        if block is not None and block.tag in _NOTE_TAGS:
            blocks[name] = block
    names = Counter(blocks.values())
    return {name: block for name, block in blocks.items() if names[block] == 1 and _is_note(block)}


def _title_of_note(target: dom.Element) -> dom.Element | None:
    """Return the heading (Texinfo) or the term (Sphinx 4) that is the number of a note: the note follows."""
    title = target.closest("h1,h2,h3,h4,h5,h6,dt")
    return title if title is not None and _MARK.fullmatch(title.text.strip()) else None


def _own_label(note: dom.Element, label: str) -> dom.Element | None:
    """Return the element that a note starts with when it holds the number of the note alone."""
    first = next((node for node in islice(note.children, 3) if not dom.is_blank(node)), None)
    element = dom.as_element(first)
    if element is None or element.tag not in _WRAPPERS or element.text.strip(_PUNCTUATION) != label:
        return None
    return element


def _is_note(block: dom.Element) -> bool:
    # A cell of a table cannot hold a footnote.
    if not block.text.strip() or block.closest("td,th") is not None:
        return False
    if block.tag == "li":
        return True
    around = block.closest("ol,ul,section,aside,div,footer,dl")
    for element in (block, around):
        if element is not None and any(_NOTES_NAME.search(element.attr(name) or "") for name in ("class", "id", "role")):
            return True
    # A paragraph is a note when it leads back.
    return any(dom.attribute(back, "href").startswith("#") for back in dom.elements_list(block, "a"))


def _choose_label(link: dom.Element, used: set[str]) -> str:
    match = _MARK.fullmatch(link.text.strip())
    label = match[1] if match is not None else ""
    if label.isalnum() and label.isascii() and label not in used:
        return label
    number = len(used) + 1
    while str(number) in used:
        number += 1
    return str(number)


def _names_of(link: dom.Element) -> set[str]:
    """Return the ids that a note may lead back to: those of the mark and of the elements tightly around it."""
    names = {link.attr("id") or "", link.attr("name") or ""}
    around = dom.as_element(link.parent)
    for _ in range(3):
        if around is None or around.tag not in _WRAPPERS:
            break
        names.add(around.attr("id") or "")
        around = dom.as_element(around.parent)
    return names - {""}


def _drop_back_links(footnotes: Footnotes, note: dom.Element, back_names: set[str]) -> None:
    dropped: list[dom.Element] = []
    for link in dom.elements_list(note, "a"):
        href = dom.attribute(link, "href")
        if href.startswith("#") and (unquote(href[1:]) in back_names or not any(map(str.isalnum, link.text))):
            dropped.append(link)
    footnotes.dropped.update(dropped)
    for link in dropped:
        around = dom.as_element(link.parent)
        while around is not None and around != note and _holds_only(around, footnotes.dropped):
            footnotes.dropped.add(around)
            around = dom.as_element(around.parent)


def _holds_only(element: dom.Element, dropped: set[dom.Element]) -> bool:
    """Whether nothing but dropped links, brackets and punctuation is in an element."""
    for child in element.children:
        text = dom.as_text(child)
        if text is not None:
            if text.data.strip(_PUNCTUATION):
                return False
        elif (inner := dom.as_element(child)) is not None and inner not in dropped and inner.text.strip(_PUNCTUATION):
            return False
    return True


def remove_own_number(text: str, label: str) -> str:
    """Remove the number that a note starts with, when its label says it already, or the full stop after a linked number."""
    stripped = text.lstrip()
    match = re.match(rf"(?:[\[(]?{re.escape(label)}[\])]?[.:)]?|[.:)])(?=\s|$)\s*", stripped)
    return stripped[match.end() :] if match is not None else text
