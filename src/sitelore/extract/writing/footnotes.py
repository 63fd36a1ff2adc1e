"""Footnotes: a mark that links to a note, and the note that it links to, become `[^1]` and `[^1]: …`."""

from __future__ import annotations

import re
from urllib.parse import unquote

from sitelore.extract import dom

_MARK = re.compile(r"[\[(]?\s*(?:(?:note|nb|n\.)\s*)?([A-Za-z]{1,2}|\d{1,4}|[*†‡§¶]{1,3})\s*[\])]?", re.IGNORECASE)
_SAYS_REFERENCE = re.compile(r"(?:^|[\s_-])(?:footnote|fn|fnref|noteref|endnote|reference|sup|citation)", re.IGNORECASE)
_SAYS_NOTES = re.compile(r"(?:^|[\s_:-])(?:footnotes?|endnotes?|fn|references|reflist|notes)(?=$|[\s_:-])", re.IGNORECASE)
_NOTE_TAGS = frozenset({"li", "p", "div", "dd", "aside", "tr", "section", "span"})
_MAX_MARKS = 2000


def settle_footnotes(node: dom.Node, in_page: list[dom.Element]) -> bool:
    """Join marks and notes. `in_page` are the links to places of this page. Says whether there were any."""
    marks: list[tuple[dom.Element, str]] = []
    for link in in_page[:_MAX_MARKS]:
        name = unquote(dom.attribute(link, "href")[1:])
        if name and len(link.text) < 12 and _MARK.fullmatch(link.text.strip()) and _may_refer(link):
            marks.append((link, name))
    if not marks:
        return False
    targets = _targets(node, marks)
    labels: dict[str, str] = {}
    notes: dict[str, dom.Element] = {}
    backs: set[str] = set()
    for link, name in marks:
        note = notes.get(name) or _note_of(targets.get(name), link)
        if note is None:
            continue
        notes[name] = note
        label = labels.setdefault(name, _label(link, labels))
        backs |= _names_of(link)
        _place_mark(link, label)
    for name, note in notes.items():
        _place_note(note, labels[name], backs)
    return bool(notes)


def _may_refer(link: dom.Element) -> bool:
    """Whether a link looks like a mark: raised, or named as one; a plain number may be a page of results."""
    if link.closest("sup") is not None or dom.holds(link, "sup"):
        return True
    role = dom.attribute(link, "role") + dom.attribute(link, "epub:type")
    return "noteref" in role or bool(_SAYS_REFERENCE.search(dom.attribute(link, "class") + " " + dom.attribute(link, "rel")))


def _targets(node: dom.Node, marks: list[tuple[dom.Element, str]]) -> dict[str, dom.Element]:
    """What the marks lead to, further down the page: a link upwards is a note's way back."""
    first: dict[str, dom.Element] = {}
    open_: set[str] = set()
    names = dict(marks)
    for element in dom.select(node, "[id],a"):
        for name in (element.attr("id"), element.attr("name")):
            if name in open_ and name not in first:
                first[name] = element
        if element in names:
            open_.add(names[element])
    return first


def _note_of(target: dom.Element | None, link: dom.Element) -> dom.Element | None:
    """The block that a mark leads to: the target, or what the target opens. A mark within its own target is no mark."""
    if target is None:
        return None
    note = target if target.tag in _NOTE_TAGS and target.tag != "span" else target.closest("li,p,dd,aside,div")
    if note is None or not note.text.strip() or any(around == note for around in link.ancestors):
        return None
    around = note.closest("ol,ul,section,aside,div,footer,dl")
    named = [
        dom.attribute(each, "class") + " " + dom.attribute(each, "id") + " " + dom.attribute(each, "role")
        for each in (note, around)
        if each
    ]
    if note.tag == "li" or any(map(_SAYS_NOTES.search, named)):
        return note
    # A paragraph is a note when it leads back.
    return note if any(dom.attribute(back, "href").startswith("#") for back in dom.elements_list(note, "a")) else None


def _label(link: dom.Element, taken: dict[str, str]) -> str:
    matched = _MARK.fullmatch(link.text.strip())
    own = matched[1] if matched is not None else ""
    used = set(taken.values())
    if own.isalnum() and own.isascii() and own not in used:
        return own
    number = len(used) + 1
    while str(number) in used:
        number += 1
    return str(number)


def _names_of(link: dom.Element) -> set[str]:
    """The ids that a note may lead back to: those of the mark and of what is tightly around it."""
    names = {link.attr("id") or "", link.attr("name") or ""}
    around = dom.as_element(link.parent)
    for _ in range(3):
        if around is None or around.tag not in {"sup", "span", "a", "b", "small"}:
            break
        names.add(around.attr("id") or "")
        around = dom.as_element(around.parent)
    return names - {""}


def _place_mark(link: dom.Element, label: str) -> None:
    mark = dom.verbatim(f"[^{label}]", dom.words(f"[{label}]"))
    raised = dom.as_element(link.parent)
    link.replace_with(mark)
    if raised is not None and raised.tag == "sup":
        for piece in [text for child in raised.children if (text := dom.as_text(child)) is not None]:
            piece.data = piece.data.strip("[]() ,")
        raised.unwrap()


def _place_note(note: dom.Element, label: str, backs: set[str]) -> None:
    for link in dom.elements_list(note, "a"):
        href = dom.attribute(link, "href")
        if not href.startswith("#") or link.parent is None:
            continue
        if unquote(href[1:]) in backs or not any(map(str.isalnum, link.text)):
            around = dom.as_element(link.parent)
            dom.drop(link)
            while around is not None and around != note and not around.text.strip(" ^[]().,\n\t") and around.find("a") is None:
                empty = around
                around = dom.as_element(empty.parent)
                dom.drop(empty)
    _drop_own_number(note, label)
    dom.set_attribute(note, dom.NOTE, label)
    holder = dom.as_element(note.parent)
    if note.tag == "li" and holder is not None and holder.tag in {"ol", "ul"}:
        if all(item.attr(dom.NOTE) or item.tag != "li" for item in dom.child_elements(holder)):
            holder.tag = "div"
        else:
            holder.insert_before(note.extract())
    note.tag = "dd"


def _drop_own_number(note: dom.Element, label: str) -> None:
    """A note that is no list item starts with its own number; the label says it already."""
    if note.tag == "li":
        return
    first = next((piece for piece in dom.texts(note) if piece.data.strip()), None)
    if first is None:
        return
    stripped = first.data.lstrip()
    matched = re.match(rf"[\[(]?{re.escape(label)}[\])]?[.:)]?(?=\s|$)\s*", stripped)
    if matched is not None and (len(matched[0]) < len(stripped) or len(note.text.strip()) > len(stripped.strip())):
        first.data = stripped[matched.end() :]
