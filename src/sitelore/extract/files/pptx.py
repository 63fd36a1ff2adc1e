"""PPTX → HTML: a heading for each slide, its texts as lists by level, its tables. No hidden slides, no speaker's notes."""

from __future__ import annotations

from html import escape
from xml.etree import ElementTree as ET

from sitelore.extract.files.office_package import Package, Relation, attribute, core_facts, relation_id
from sitelore.extract.files.reader import FileContent, HtmlBuilder, link, table, wrap

_MAX_SLIDES = 2000
_MAX_CHARS = 8_000_000
_MAX_DEPTH = 40
_TITLES = frozenset({"title", "ctrTitle"})
_UNSAID = frozenset({"dt", "ftr", "sldNum", "hdr"})
_OFF = frozenset({"0", "false"})

Relations = dict[str, Relation]


def read_pptx(body: bytes) -> FileContent:
    """The content of a presentation."""
    package = Package(body)
    part = package.main_part("ppt/presentation.xml")
    slides = _slides(package, part)
    builder = HtmlBuilder()
    shown = 0
    for name in slides[:_MAX_SLIDES]:
        root = package.tree(name)
        if root is None or root.get("show") in _OFF or builder.chars > _MAX_CHARS:
            continue
        shown += 1
        _slide(root, package.relations(name), builder, shown)
    notes = [f"Only the first {_MAX_SLIDES} slides were read."] if len(slides) > _MAX_SLIDES else []
    if builder.chars > _MAX_CHARS:
        notes.append(f"Only the first {_MAX_CHARS} characters were read.")
    facts = core_facts(package, pages=len(slides), notes=tuple(notes))
    return FileContent(builder.html(), facts, has_embedded_files=package.has_embedded_files)


def _slides(package: Package, part: str) -> list[str]:
    """The parts that are slides, in the order they are shown."""
    listed = package.document(part).findall("sldIdLst/sldId")
    relations = package.relations(part)
    found = [relations[name].target for one in listed if (name := relation_id(one)) in relations]
    return list(dict.fromkeys(found)) or sorted(one.target for one in relations.values() if one.kind == "slide")


def _slide(root: ET.Element, relations: Relations, builder: HtmlBuilder, number: int) -> None:
    shapes = root.find("cSld/spTree")
    if shapes is None:
        return
    found = list(_shapes(shapes, 0))
    title = next((shape for shape in found if _place(shape) in _TITLES), None)
    lines = _lines(title, relations) if title is not None else []
    builder.heading(1 if number == 1 and _place(title) == "ctrTitle" else 2, " ".join(inner for _, inner in lines))
    for shape in found:
        if shape is title or _place(shape) in _UNSAID:
            continue
        if shape.tag == "graphicFrame":
            _tables(shape, relations, builder)
            continue
        texts = _lines(shape, relations)
        # One paragraph alone is a sentence; several are the points that slides are made of.
        is_list = _place(shape) in {"body", "obj", "plain"} and len(texts) > 1
        for level, inner in texts:
            builder.item(level, inner) if is_list else builder.paragraph(inner)


def _shapes(tree: ET.Element, depth: int) -> list[ET.Element]:
    found: list[ET.Element] = []
    for shape in tree:
        if shape.tag in {"sp", "graphicFrame"} and not _is_hidden(shape):
            found.append(shape)
        elif shape.tag in {"grpSp", "AlternateContent", "Choice"} and depth < _MAX_DEPTH and not _is_hidden(shape):
            found += _shapes(shape, depth + 1)
    return found


def _is_hidden(shape: ET.Element) -> bool:
    return any(attribute(one.find("cNvPr"), "hidden").lower() in {"1", "true"} for one in shape if one.tag.startswith("nv"))


def _place(shape: ET.Element | None) -> str:
    """Which of the layout's places a shape fills: `title`, `body`, …; `plain` for one that names no kind, empty for none."""
    place = shape.find("nvSpPr/nvPr/ph") if shape is not None else None
    return (place.get("type") or "plain") if place is not None else ""


def _lines(shape: ET.Element, relations: Relations) -> list[tuple[int, str]]:
    body = shape.find("txBody")
    return [line for one in body.findall("p") if (line := _line(one, relations))[1].strip()] if body is not None else []


def _line(paragraph: ET.Element, relations: Relations) -> tuple[int, str]:
    level = attribute(paragraph.find("pPr"), "lvl")
    parts: list[tuple[str, tuple[str, ...]]] = []
    for run in paragraph:
        if run.tag == "br":
            parts.append(("<br>", ()))
        if run.tag not in {"r", "fld"}:
            continue
        text, properties = run.find("t"), run.find("rPr")
        inner, marks = escape((text.text if text is not None else "") or ""), _marks(properties)
        click = properties.find("hlinkClick") if properties is not None else None
        relation = relations.get(relation_id(click)) if click is not None else None
        if relation is not None and relation.is_external:
            parts.append((link(inner, relation.target), marks))
        elif parts and parts[-1][1] == marks:
            parts[-1] = (parts[-1][0] + inner, marks)
        else:
            parts.append((inner, marks))
    joined = "".join(wrap(inner, *marks) for inner, marks in parts)
    return (int(level) if level.isdecimal() and len(level) < 3 else 0), joined


def _marks(properties: ET.Element | None) -> tuple[str, ...]:
    if properties is None:
        return ()
    return tuple([tag for name, tag in (("i", "em"), ("b", "strong")) if properties.get(name) in {"1", "true"}])


def _tables(frame: ET.Element, relations: Relations, builder: HtmlBuilder) -> None:
    for found in frame.iter("tbl"):
        builder.block(table([_cells(line, relations) for line in found.findall("tr")]))


def _cells(line: ET.Element, relations: Relations) -> list[str]:
    cells = line.findall("tc")[:200]
    return ["<br>".join(inner for _, inner in _lines(cell, relations)) for cell in cells]
