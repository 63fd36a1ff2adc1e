"""Reads DOCX files: headings by style or outline level, lists by numbering, tables, links, emphasis, footnotes.

Deleted and hidden text, comments, headers and footers are left out. Of alternative contents the first is read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from html import escape
from xml.etree import ElementTree as ET

from sitelore.extract.files.office_package import Package, Relation, attribute, core_facts, relation_id
from sitelore.extract.files.reader import FileContent, HtmlBuilder, link, small_int, table, wrap

_MAX_CHARS = 8_000_000
_MAX_DEPTH = 60
_WRAPPERS = frozenset(
    {"sdt", "sdtContent", "smartTag", "customXml", "ins", "moveTo", "Choice", "AlternateContent", "bdo", "dir", "fldSimple"}
)
_SKIPPED = frozenset({"del", "moveFrom", "Fallback", "instrText", "delText", "pPr", "rPr", "tblPr", "trPr", "tcPr"})
_BREAKS = {"tab": " ", "ptab": " ", "br": "<br>", "cr": "<br>", "noBreakHyphen": "-", "softHyphen": ""}
_HYPERLINK = re.compile(r"""\s*HYPERLINK\s+(?:\\[lmnot]\s+)?(?:"([^"]{1,4000})"|(\S{1,4000}))""", re.IGNORECASE)
_HEADING_NAME = re.compile(r"heading ([1-9])", re.IGNORECASE)
_OFF = frozenset({"0", "false", "off", "none"})


@dataclass(frozen=True, slots=True)
class _Style:
    based_on: str = ""
    level: int = 0
    """The heading level; 0 for no heading."""
    list_id: str = ""
    is_code: bool = False


@dataclass(slots=True)
class _State:
    """What is known of a document while it is read."""

    package: Package
    relations: dict[str, Relation]
    styles: dict[str, _Style]
    numbering: dict[tuple[str, int], str]
    """The number format of each level of a list (`bullet`, `decimal`, …)."""
    builder: HtmlBuilder = field(default_factory=HtmlBuilder)
    notes: list[str] = field(default_factory=list)
    """The footnotes that were referred to so far."""
    fields: list[str] = field(default_factory=list)
    """The instructions of open fields; the text of a field comes after its instruction."""
    is_result: list[bool] = field(default_factory=list)


def read_docx(body: bytes) -> FileContent:
    """The content of a DOCX file."""
    package = Package(body)
    part = package.main_part("word/document.xml")
    root = package.document(part)
    folder = part.rpartition("/")[0]
    styles, lang = _styles(package.tree(f"{folder}/styles.xml"))
    state = _State(package, package.relations(part), styles, _numbering(package.tree(f"{folder}/numbering.xml")))
    content = root.find("body")
    if content is not None:
        _blocks(content, state, 0)
    _footnotes(package.tree(f"{folder}/footnotes.xml"), state)
    cut = (f"Only the first {_MAX_CHARS} characters were read.",) if state.builder.chars > _MAX_CHARS else ()
    return FileContent(
        state.builder.html(), core_facts(package, lang=lang, notes=cut), has_embedded_files=package.has_embedded_files
    )


def _styles(root: ET.Element | None) -> tuple[dict[str, _Style], str]:
    styles: dict[str, _Style] = {}
    lang = attribute(root.find("docDefaults/rPrDefault/rPr/lang"), "val") if root is not None else ""
    for style in root.iter("style") if root is not None else ():
        name = attribute(style.find("name"), "val")
        heading = _HEADING_NAME.fullmatch(name)
        outline = attribute(style.find("pPr/outlineLvl"), "val")
        level = int(heading[1]) if heading else 1 if name.lower() == "title" else _outline(outline)
        styles[attribute(style, "styleId")] = _Style(
            attribute(style.find("basedOn"), "val"),
            level,
            attribute(style.find("pPr/numPr/numId"), "val"),
            "preformatted" in name.lower() or name.lower() in {"code", "source code", "macro"},
        )
    return styles, lang


def _outline(value: str) -> int:
    level = small_int(value, 9)
    return level + 1 if level < 9 else 0


def _numbering(root: ET.Element | None) -> dict[tuple[str, int], str]:
    if root is None:
        return {}
    plans: dict[str, dict[int, str]] = {}
    for plan in root.findall("abstractNum"):
        levels = {
            small_int(attribute(level, "ilvl"), -1): attribute(level.find("numFmt"), "val") for level in plan.findall("lvl")
        }
        plans[attribute(plan, "abstractNumId")] = levels
    return {
        (attribute(number, "numId"), level): form
        for number in root.findall("num")
        for level, form in plans.get(attribute(number.find("abstractNumId"), "val"), {}).items()
    }


def _blocks(parent: ET.Element, state: _State, depth: int) -> None:
    for block in parent:
        if state.builder.chars > _MAX_CHARS or depth > _MAX_DEPTH:
            return
        if block.tag == "p":
            _paragraph(block, state)
        elif block.tag == "tbl":
            state.builder.block(_table(block, state, depth + 1))
        elif block.tag in _WRAPPERS:
            _blocks(block, state, depth + 1)


def _paragraph(block: ET.Element, state: _State) -> None:
    inner = _inline(block, state, 0)
    builder = state.builder
    properties = block.find("pPr")
    style = _style(attribute(properties.find("pStyle"), "val") if properties is not None else "", state.styles)
    own = _outline(attribute(properties.find("outlineLvl"), "val")) if properties is not None else 0
    if style.is_code:
        return builder.code("".join(_verbatim(block)))
    if (level := own or style.level) and "<br><br>" not in inner:
        return builder.heading(level, inner)
    listed = properties.find("numPr") if properties is not None else None
    number = attribute(listed.find("numId"), "val") if listed is not None else style.list_id
    if number and number != "0":
        level = small_int(attribute(listed.find("ilvl"), "val")) if listed is not None else 0
        form = state.numbering.get((number, level), "bullet")
        return builder.item(level, inner, is_numbered=form not in {"bullet", "none"})
    builder.paragraph(inner)
    return None


def _verbatim(block: ET.Element) -> Iterator[str]:
    for part in block.iter():
        if part.tag == "t":
            yield part.text or ""
        elif part.tag in {"br", "cr", "tab"}:
            yield "\t" if part.tag == "tab" else "\n"


def _style(name: str, styles: dict[str, _Style]) -> _Style:
    """A style with what it inherits from those it is based on, which may form a circle."""
    level, list_id, is_code = 0, "", False
    seen: set[str] = set()
    while name in styles and name not in seen:
        seen.add(name)
        style = styles[name]
        level, list_id, is_code = level or style.level, list_id or style.list_id, is_code or style.is_code
        name = style.based_on
    return _Style("", level, list_id, is_code)


def _inline(parent: ET.Element, state: _State, depth: int) -> str:
    """The content of a paragraph. Neighbouring runs of one format are joined, because words may be divided between them."""
    parts: list[tuple[str, tuple[str, ...]]] = []
    for child in parent:
        if child.tag == "r":
            for inner, marks in _run(child, state, depth):
                if parts and parts[-1][1] == marks:
                    parts[-1] = (parts[-1][0] + inner, marks)
                else:
                    parts.append((inner, marks))
        elif child.tag == "hyperlink" and depth < _MAX_DEPTH:
            relation = state.relations.get(relation_id(child))
            href = relation.target if relation is not None and relation.is_external else ""
            parts.append((link(_inline(child, state, depth + 1), href), ()))
        elif child.tag in {"oMath", "oMathPara"}:
            parts.append((escape("".join(text.text or "" for text in child.iter("t"))), ()))
        elif child.tag in _WRAPPERS and depth < _MAX_DEPTH:
            parts.append((_inline(child, state, depth + 1), ()))
    return "".join(wrap(inner, *marks) for inner, marks in parts)


def _run(run: ET.Element, state: _State, depth: int) -> Iterator[tuple[str, tuple[str, ...]]]:
    properties = run.find("rPr")
    if properties is not None and (_is_on(properties, "vanish") or _is_on(properties, "webHidden")):
        return
    marks = _marks(properties)
    for child in run:
        if child.tag == "fldChar":
            _field(attribute(child, "fldCharType"), state)
        elif child.tag == "instrText":
            if state.fields:
                state.fields[-1] += (child.text or "")[:4000]
        elif all(state.is_result):
            is_note = child.tag == "footnoteReference"
            yield _piece(child, state, depth), () if is_note else marks


def _piece(child: ET.Element, state: _State, depth: int) -> str:
    if child.tag == "t":
        return _in_field(escape(child.text or ""), state)
    if child.tag in _BREAKS:
        return _BREAKS[child.tag]
    if child.tag == "sym":
        return _symbol(attribute(child, "char"))
    if child.tag == "footnoteReference":
        state.notes.append(attribute(child, "id"))
        return f"[{len(state.notes)}]"
    return _boxed(child, state, depth) if child.tag not in _SKIPPED and depth < _MAX_DEPTH else ""


def _boxed(child: ET.Element, state: _State, depth: int) -> str:
    """The text of text boxes, within the line that they are anchored to."""
    texts = [_inline(block, state, depth + 1) for box in _boxes(child) for block in _within(box, "p")]
    return "".join(f" {text} " for text in texts if text.strip())


def _boxes(element: ET.Element) -> Iterator[ET.Element]:
    """The outermost text boxes in a run; inner ones are read with them."""
    waiting = [element]
    while waiting:
        for child in waiting.pop():
            if child.tag == "txbxContent":
                yield child
            elif child.tag != "Fallback":
                waiting.append(child)


def _field(kind: str, state: _State) -> None:
    if kind == "begin" and len(state.fields) < _MAX_DEPTH:
        state.fields.append("")
        state.is_result.append(False)
    elif kind == "separate" and state.is_result:
        state.is_result[-1] = True
    elif kind == "end" and state.fields:
        state.fields.pop()
        state.is_result.pop()


def _in_field(inner: str, state: _State) -> str:
    """The result of a HYPERLINK field is a link."""
    for instruction in reversed(state.fields):
        address = _HYPERLINK.match(instruction)
        if address is not None and "\\l" not in instruction[: address.end()]:
            return link(inner, address[1] or address[2])
    return inner


def _marks(properties: ET.Element | None) -> tuple[str, ...]:
    if properties is None:
        return ()
    names = (("strike", "del"), ("i", "em"), ("b", "strong"))
    return tuple([tag for name, tag in names if _is_on(properties, name)])


def _is_on(properties: ET.Element, name: str) -> bool:
    toggle = properties.find(name)
    return toggle is not None and attribute(toggle, "val").lower() not in _OFF


def _symbol(code: str) -> str:
    """A character of a symbol font; empty for one of the private use area."""
    value = int(code, 16) if re.fullmatch(r"[0-9A-Fa-f]{1,5}", code) else 0
    return escape(chr(value)) if 0x20 <= value < 0xD800 else ""


def _table(block: ET.Element, state: _State, depth: int) -> str:
    rows = []
    for line in _within(block, "tr"):
        if state.builder.chars > _MAX_CHARS or depth > _MAX_DEPTH:
            break
        cells: list[str] = []
        for cell in _within(line, "tc"):
            cells += _cell(cell, state, depth)
        rows.append(cells[:200])
    if len(rows) == 1 and len(rows[0]) == 1:
        return f"<div>{rows[0][0]}</div>"  # a frame around a text
    return table(rows)


def _within(parent: ET.Element, tag: str, depth: int = 0) -> Iterator[ET.Element]:
    """Children with this tag, also those within wrappers."""
    for child in parent:
        if child.tag == tag:
            yield child
        elif child.tag in _WRAPPERS and depth < _MAX_DEPTH:
            yield from _within(child, tag, depth + 1)


def _cell(cell: ET.Element, state: _State, depth: int) -> list[str]:
    properties = cell.find("tcPr")
    merged = properties.find("vMerge") if properties is not None else None
    span = attribute(properties.find("gridSpan"), "val") if properties is not None else ""
    inner = HtmlBuilder()
    if merged is None or attribute(merged, "val") == "restart":
        outer, state.builder = state.builder, inner
        _blocks(cell, state, depth + 1)
        state.builder = outer
    html = inner.html()
    if html.count("<p>") == 1 and html.startswith("<p>") and html.endswith("</p>"):
        html = html[3:-4]
    return [html, *[""] * (min(small_int(span, 1), 60) - 1)]


def _footnotes(root: ET.Element | None, state: _State) -> None:
    if root is None or not state.notes:
        return
    texts = {attribute(note, "id"): note for note in root.findall("footnote")}
    for number, name in enumerate(list(state.notes), 1):
        if name in texts:
            inner = " ".join(_inline(block, state, 0) for block in _within(texts[name], "p"))
            state.builder.paragraph(f"[{number}] {inner.strip()}")
