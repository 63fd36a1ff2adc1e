"""DOCX → HTML: headings by style or outline level, lists by numbering, tables, links, emphasis, footnotes.

Left out: what is deleted, hidden text, comments, headers and footers. Of alternative contents the first counts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from html import escape
from xml.etree import ElementTree as ET

from sitelore.extract.files.office_package import Package, Relation, attribute, core_facts, relation_id
from sitelore.extract.files.reader import FileContent, HtmlBuilder, link, table, wrap

_MAX_CHARS = 8_000_000
_MAX_DEPTH = 60
_PASSED = frozenset(
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
    """As a heading; 0 is none."""
    list_id: str = ""
    is_code: bool = False


@dataclass(slots=True)
class _Reading:
    package: Package
    relations: dict[str, Relation]
    styles: dict[str, _Style]
    numbering: dict[tuple[str, int], str]
    """How a level of a list is numbered (`bullet`, `decimal`, …)."""
    builder: HtmlBuilder = field(default_factory=HtmlBuilder)
    notes: list[str] = field(default_factory=list)
    """Footnotes referred to so far."""
    fields: list[str] = field(default_factory=list)
    """Fields that stand open, each with its instruction; a field's text comes after its instruction."""
    showing: list[bool] = field(default_factory=list)


def read_docx(body: bytes) -> FileContent:
    """The content of a word processor's file."""
    package = Package(body)
    part = package.main_part("word/document.xml")
    root = package.document(part)
    folder = part.rpartition("/")[0]
    styles, lang = _styles(package.tree(f"{folder}/styles.xml"))
    reading = _Reading(package, package.relations(part), styles, _numbering(package.tree(f"{folder}/numbering.xml")))
    content = root.find("body")
    if content is not None:
        _blocks(content, reading, 0)
    _footnotes(package.tree(f"{folder}/footnotes.xml"), reading)
    cut = (f"Only the first {_MAX_CHARS} characters were read.",) if reading.builder.chars > _MAX_CHARS else ()
    return FileContent(
        reading.builder.html(), core_facts(package, lang=lang, notes=cut), has_embedded_files=package.has_embedded_files
    )


def _styles(root: ET.Element | None) -> tuple[dict[str, _Style], str]:
    found: dict[str, _Style] = {}
    lang = attribute(root.find("docDefaults/rPrDefault/rPr/lang"), "val") if root is not None else ""
    for style in root.iter("style") if root is not None else ():
        name = attribute(style.find("name"), "val")
        heading = _HEADING_NAME.fullmatch(name)
        outline = attribute(style.find("pPr/outlineLvl"), "val")
        level = int(heading[1]) if heading else 1 if name.lower() == "title" else _outline(outline)
        found[attribute(style, "styleId")] = _Style(
            attribute(style.find("basedOn"), "val"),
            level,
            attribute(style.find("pPr/numPr/numId"), "val"),
            "preformatted" in name.lower() or name.lower() in {"code", "source code", "macro"},
        )
    return found, lang


def _outline(value: str) -> int:
    return int(value) + 1 if value.isdecimal() and int(value) < 9 else 0


def _numbering(root: ET.Element | None) -> dict[tuple[str, int], str]:
    if root is None:
        return {}
    plans: dict[str, dict[int, str]] = {}
    for plan in root.findall("abstractNum"):
        levels = {attribute(one, "ilvl"): attribute(one.find("numFmt"), "val") for one in plan.findall("lvl")}
        plans[attribute(plan, "abstractNumId")] = {int(at): form for at, form in levels.items() if at.isdecimal()}
    return {
        (attribute(one, "numId"), level): form
        for one in root.findall("num")
        for level, form in plans.get(attribute(one.find("abstractNumId"), "val"), {}).items()
    }


def _blocks(parent: ET.Element, reading: _Reading, depth: int) -> None:
    for block in parent:
        if reading.builder.chars > _MAX_CHARS or depth > _MAX_DEPTH:
            return
        if block.tag == "p":
            _paragraph(block, reading)
        elif block.tag == "tbl":
            reading.builder.block(_table(block, reading, depth + 1))
        elif block.tag in _PASSED:
            _blocks(block, reading, depth + 1)


def _paragraph(block: ET.Element, reading: _Reading) -> None:
    inner = _inline(block, reading, 0)
    builder = reading.builder
    properties = block.find("pPr")
    style = _style(attribute(properties.find("pStyle"), "val") if properties is not None else "", reading.styles)
    own = _outline(attribute(properties.find("outlineLvl"), "val")) if properties is not None else 0
    if style.is_code:
        return builder.code("".join(_verbatim(block)))
    if (level := own or style.level) and "<br><br>" not in inner:
        return builder.heading(level, inner)
    listed = properties.find("numPr") if properties is not None else None
    number = attribute(listed.find("numId"), "val") if listed is not None else style.list_id
    if number and number != "0":
        said = attribute(listed.find("ilvl"), "val") if listed is not None else ""
        at = int(said) if said.isdecimal() and len(said) < 3 else 0
        form = reading.numbering.get((number, at), "bullet")
        return builder.item(at, inner, is_numbered=form not in {"bullet", "none"})
    builder.paragraph(inner)
    return None


def _verbatim(block: ET.Element) -> Iterator[str]:
    for part in block.iter():
        if part.tag == "t":
            yield part.text or ""
        elif part.tag in {"br", "cr", "tab"}:
            yield "\t" if part.tag == "tab" else "\n"


def _style(name: str, styles: dict[str, _Style]) -> _Style:
    """A style with what it takes over from those it is based on, however they are tied into a knot."""
    level, list_id, is_code = 0, "", False
    seen: set[str] = set()
    while name in styles and name not in seen:
        seen.add(name)
        style = styles[name]
        level, list_id, is_code = level or style.level, list_id or style.list_id, is_code or style.is_code
        name = style.based_on
    return _Style("", level, list_id, is_code)


def _inline(parent: ET.Element, reading: _Reading, depth: int) -> str:
    """What stands within a paragraph. Neighbouring runs that look alike become one, or a word cut in two would stay so."""
    parts: list[tuple[str, tuple[str, ...]]] = []
    for child in parent:
        if child.tag == "r":
            for inner, marks in _run(child, reading, depth):
                if parts and parts[-1][1] == marks:
                    parts[-1] = (parts[-1][0] + inner, marks)
                else:
                    parts.append((inner, marks))
        elif child.tag == "hyperlink" and depth < _MAX_DEPTH:
            relation = reading.relations.get(relation_id(child))
            href = relation.target if relation is not None and relation.is_external else ""
            parts.append((link(_inline(child, reading, depth + 1), href), ()))
        elif child.tag in {"oMath", "oMathPara"}:
            parts.append((escape("".join(text.text or "" for text in child.iter("t"))), ()))
        elif child.tag in _PASSED and depth < _MAX_DEPTH:
            parts.append((_inline(child, reading, depth + 1), ()))
    return "".join(wrap(inner, *marks) for inner, marks in parts)


def _run(run: ET.Element, reading: _Reading, depth: int) -> Iterator[tuple[str, tuple[str, ...]]]:
    properties = run.find("rPr")
    if properties is not None and (_is_on(properties, "vanish") or _is_on(properties, "webHidden")):
        return
    marks = _marks(properties)
    for child in run:
        if child.tag == "fldChar":
            _field(attribute(child, "fldCharType"), reading)
        elif child.tag == "instrText":
            if reading.fields:
                reading.fields[-1] += (child.text or "")[:4000]
        elif all(reading.showing):
            is_note = child.tag == "footnoteReference"
            yield _piece(child, reading, depth), () if is_note else marks


def _piece(child: ET.Element, reading: _Reading, depth: int) -> str:
    if child.tag == "t":
        return _in_field(escape(child.text or ""), reading)
    if child.tag in _BREAKS:
        return _BREAKS[child.tag]
    if child.tag == "sym":
        return _symbol(attribute(child, "char"))
    if child.tag == "footnoteReference":
        reading.notes.append(attribute(child, "id"))
        return f"[{len(reading.notes)}]"
    return _boxed(child, reading, depth) if child.tag not in _SKIPPED and depth < _MAX_DEPTH else ""


def _boxed(child: ET.Element, reading: _Reading, depth: int) -> str:
    """The text of a text box, within the line that it hangs on."""
    texts = [_inline(block, reading, depth + 1) for box in _boxes(child) for block in _within(box, "p")]
    return "".join(f" {text} " for text in texts if text.strip())


def _boxes(element: ET.Element) -> Iterator[ET.Element]:
    """Text boxes in what a run holds, but none within another: whoever reads the outer one meets the inner one there."""
    waiting = [element]
    while waiting:
        for child in waiting.pop():
            if child.tag == "txbxContent":
                yield child
            elif child.tag != "Fallback":
                waiting.append(child)


def _field(kind: str, reading: _Reading) -> None:
    if kind == "begin" and len(reading.fields) < _MAX_DEPTH:
        reading.fields.append("")
        reading.showing.append(False)
    elif kind == "separate" and reading.showing:
        reading.showing[-1] = True
    elif kind == "end" and reading.fields:
        reading.fields.pop()
        reading.showing.pop()


def _in_field(inner: str, reading: _Reading) -> str:
    """Text that a HYPERLINK field shows is a link."""
    for instruction in reversed(reading.fields):
        found = _HYPERLINK.match(instruction)
        if found is not None and "\\l" not in instruction[: found.end()]:
            return link(inner, found[1] or found[2])
    return inner


def _marks(properties: ET.Element | None) -> tuple[str, ...]:
    if properties is None:
        return ()
    names = (("strike", "del"), ("i", "em"), ("b", "strong"))
    return tuple([tag for name, tag in names if _is_on(properties, name)])


def _is_on(properties: ET.Element, name: str) -> bool:
    found = properties.find(name)
    return found is not None and attribute(found, "val").lower() not in _OFF


def _symbol(code: str) -> str:
    """A character of a symbol font; those of private use mean nothing elsewhere."""
    value = int(code, 16) if re.fullmatch(r"[0-9A-Fa-f]{1,5}", code) else 0
    return escape(chr(value)) if 0x20 <= value < 0xD800 else ""


def _table(block: ET.Element, reading: _Reading, depth: int) -> str:
    rows = []
    for line in _within(block, "tr"):
        if reading.builder.chars > _MAX_CHARS or depth > _MAX_DEPTH:
            break
        cells: list[str] = []
        for cell in _within(line, "tc"):
            cells += _cell(cell, reading, depth)
        rows.append(cells[:200])
    if len(rows) == 1 and len(rows[0]) == 1:
        return f"<div>{rows[0][0]}</div>"  # a frame around a text
    return table(rows)


def _within(parent: ET.Element, tag: str, depth: int = 0) -> Iterator[ET.Element]:
    """Children of this name, also those within wrappers."""
    for child in parent:
        if child.tag == tag:
            yield child
        elif child.tag in _PASSED and depth < _MAX_DEPTH:
            yield from _within(child, tag, depth + 1)


def _cell(cell: ET.Element, reading: _Reading, depth: int) -> list[str]:
    properties = cell.find("tcPr")
    merged = properties.find("vMerge") if properties is not None else None
    span = attribute(properties.find("gridSpan"), "val") if properties is not None else ""
    inner = HtmlBuilder()
    if merged is None or attribute(merged, "val") == "restart":
        outer, reading.builder = reading.builder, inner
        _blocks(cell, reading, depth + 1)
        reading.builder = outer
    html = inner.html()
    if html.count("<p>") == 1 and html.startswith("<p>") and html.endswith("</p>"):
        html = html[3:-4]
    wide = int(span) if span.isdecimal() and len(span) < 4 else 1
    return [html, *[""] * (min(wide, 60) - 1)]


def _footnotes(root: ET.Element | None, reading: _Reading) -> None:
    if root is None or not reading.notes:
        return
    texts = {attribute(note, "id"): note for note in root.findall("footnote")}
    for number, name in enumerate(list(reading.notes), 1):
        if name in texts:
            inner = " ".join(_inline(block, reading, 0) for block in _within(texts[name], "p"))
            reading.builder.paragraph(f"[{number}] {inner.strip()}")
