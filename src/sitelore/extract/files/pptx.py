"""Reads PPTX files: a heading for each slide, its texts as lists by level, its tables. Hidden slides and notes are left out."""

from __future__ import annotations

from html import escape
from xml.etree import ElementTree as ET

from sitelore.extract.files.office_package import Package, Relation, attribute, core_facts, relation_id
from sitelore.extract.files.reader import FileContent, HtmlBuilder, link, small_int, table, wrap

_MAX_SLIDES = 2000
_MAX_CHARS = 8_000_000
_MAX_DEPTH = 40
_TITLES = frozenset({"title", "ctrTitle"})
_SKIPPED_PLACES = frozenset({"dt", "ftr", "sldNum", "hdr"})
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
    slides = [relations[name].target for slide in listed if (name := relation_id(slide)) in relations]
    return list(dict.fromkeys(slides)) or sorted(relation.target for relation in relations.values() if relation.kind == "slide")


def _slide(root: ET.Element, relations: Relations, builder: HtmlBuilder, number: int) -> None:
    shapes = root.find("cSld/spTree")
    if shapes is None:
        return
    visible = list(_shapes(shapes, 0))
    title = next((shape for shape in visible if _place(shape) in _TITLES), None)
    lines = _lines(title, relations) if title is not None else []
    builder.heading(1 if number == 1 and _place(title) == "ctrTitle" else 2, " ".join(inner for _, inner in lines))
    for shape in visible:
        if shape is title or _place(shape) in _SKIPPED_PLACES:
            continue
        if shape.tag == "graphicFrame":
            _tables(shape, relations, builder)
            continue
        texts = _lines(shape, relations)
        # A single paragraph is a sentence; several are bullet points.
        is_list = _place(shape) in {"body", "obj", "plain"} and len(texts) > 1
        for level, inner in texts:
            builder.item(level, inner) if is_list else builder.paragraph(inner)


def _shapes(tree: ET.Element, depth: int) -> list[ET.Element]:
    shapes: list[ET.Element] = []
    for shape in tree:
        if shape.tag in {"sp", "graphicFrame"} and not _is_hidden(shape):
            shapes.append(shape)
        elif shape.tag in {"grpSp", "AlternateContent", "Choice"} and depth < _MAX_DEPTH and not _is_hidden(shape):
            shapes += _shapes(shape, depth + 1)
    return shapes


def _is_hidden(shape: ET.Element) -> bool:
    return any(
        attribute(child.find("cNvPr"), "hidden").lower() in {"1", "true"} for child in shape if child.tag.startswith("nv")
    )


def _place(shape: ET.Element | None) -> str:
    """The placeholder that a shape fills: `title`, `body`, …; `plain` for one without a type, empty for none."""
    place = shape.find("nvSpPr/nvPr/ph") if shape is not None else None
    return (place.get("type") or "plain") if place is not None else ""


def _lines(shape: ET.Element, relations: Relations) -> list[tuple[int, str]]:
    body = shape.find("txBody")
    return (
        [line for paragraph in body.findall("p") if (line := _line(paragraph, relations))[1].strip()]
        if body is not None
        else []
    )


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
    return small_int(level), "".join(wrap(inner, *marks) for inner, marks in parts)


def _marks(properties: ET.Element | None) -> tuple[str, ...]:
    if properties is None:
        return ()
    return tuple([tag for name, tag in (("i", "em"), ("b", "strong")) if properties.get(name) in {"1", "true"}])


def _tables(frame: ET.Element, relations: Relations, builder: HtmlBuilder) -> None:
    for element in frame.iter("tbl"):
        builder.block(table([_cells(row, relations) for row in element.findall("tr")]))


def _cells(row: ET.Element, relations: Relations) -> list[str]:
    cells = row.findall("tc")[:200]
    return ["<br>".join(inner for _, inner in _lines(cell, relations)) for cell in cells]
