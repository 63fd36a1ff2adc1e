"""Small real files for tests: PDF written by hand, office files zipped from hand-written XML, an old DOC in a compound file."""

from __future__ import annotations

import io
import struct
import zipfile
from dataclasses import dataclass
from html import escape

PDF = "application/pdf"
DOCX = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
PPTX = "application/vnd.openxmlformats-officedocument.presentationml.presentation"
XLSX = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
_RELS = "http://schemas.openxmlformats.org/package/2006/relationships"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_W = f'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main" xmlns:r="{_OFFICE}"'
_S = f'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main" xmlns:r="{_OFFICE}"'
_P = (
    'xmlns:p="http://schemas.openxmlformats.org/presentationml/2006/main" '
    f'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main" xmlns:r="{_OFFICE}"'
)


@dataclass(frozen=True, slots=True)
class PdfLine:
    """A line of text on a page of a PDF."""

    x: float
    y: float
    text: str
    size: float = 11
    bold: bool = False
    href: str = ""


def pdf(pages: list[list[PdfLine]], info: str = "", trailer: str = "", catalog: str = "") -> bytes:
    """A PDF with two fonts, uncompressed streams, and links for lines with an `href`."""
    objects: list[str] = [
        "",
        "",
        "<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>",
        "<</Type/Font/Subtype/Type1/BaseFont/Helvetica-Bold/Encoding/WinAnsiEncoding>>",
        f"<<{info}>>",
    ]
    kids = []
    for page in pages:
        stream = "".join(
            f"BT /F{2 if line.bold else 1} {line.size} Tf {line.x} {line.y} Td ({_literal(line.text)}) Tj ET\n" for line in page
        )
        notes = []
        for line in page:
            if line.href:
                box = f"{line.x} {line.y - 3} {line.x + len(line.text) * line.size * 0.6} {line.y + line.size}"
                action = f"/A<</S/URI/URI({_literal(line.href)})>>"
                objects.append(f"<</Type/Annot/Subtype/Link/Rect[{box}]{action}>>")
                notes.append(f"{len(objects)} 0 R")
        objects.append(f"<</Length {len(stream.encode('cp1252'))}>>\nstream\n{stream}endstream")
        fonts = "/Resources<</Font<</F1 3 0 R/F2 4 0 R>>>>"
        objects.append(
            f"<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]{fonts}/Contents {len(objects)} 0 R/Annots[{' '.join(notes)}]>>"
        )
        kids.append(f"{len(objects)} 0 R")
    objects[0] = f"<</Type/Catalog/Pages 2 0 R{catalog}>>"
    objects[1] = f"<</Type/Pages/Kids[{' '.join(kids)}]/Count {len(kids)}>>"
    return _assembled(objects, trailer)


def _literal(text: str) -> str:
    return text.replace("\\", "\\\\").replace("(", "\\(").replace(")", "\\)")


def _assembled(objects: list[str], trailer: str) -> bytes:
    out = bytearray(b"%PDF-1.4\n")
    places = []
    for number, body in enumerate(objects, 1):
        places.append(len(out))
        out += f"{number} 0 obj\n".encode() + body.encode("cp1252") + b"\nendobj\n"
    start = len(out)
    out += f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n".encode()
    out += "".join(f"{place:010d} 00000 n \n" for place in places).encode()
    out += f"trailer<</Size {len(objects) + 1}/Root 1 0 R/Info 5 0 R{trailer}>>\nstartxref\n{start}\n%%EOF\n".encode()
    return bytes(out)


def prose_pdf(title: str, text: str, href: str = "", secret: str = "") -> bytes:
    """A page with a title, a paragraph of several lines, and a link."""
    words = text.split()
    lines = [" ".join(words[at : at + 12]) for at in range(0, len(words), 12)]
    page = [PdfLine(72, 720, title, 20, bold=True), *(PdfLine(72, 680 - 14 * at, line) for at, line in enumerate(lines))]
    if secret:
        page.append(PdfLine(72, 200, f"Use the key {secret} for it."))
    if href:
        page.append(PdfLine(72, 100, "read on here", href=href))
    return pdf([page])


ENCRYPTED_PDF_TRAILER = (
    "/Encrypt<</Filter/Standard/V 1/R 2/Length 40/P -4"
    f"/O<{'28bf4e5e4e758a4164004e56fffa01082e2e00b6d0683e802f0ca9fe6453697a'}>"
    f"/U<{'8a' * 32}>>>/ID[<{'00' * 16}><{'00' * 16}>]"
)
"""A trailer entry that marks the file as encrypted with an unknown password."""


def package(parts: dict[str, str | bytes], relations: dict[str, str] | None = None) -> bytes:
    """A zip archive of parts, each deflated; relations are XML by the part they belong to."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("[Content_Types].xml", "<Types/>")
        for part, links in (relations or {}).items():
            folder, _, name = part.rpartition("/")
            archive.writestr(
                f"{folder}/_rels/{name}.rels".lstrip("/"), f'<Relationships xmlns="{_RELS}">{links}</Relationships>'
            )
        for name, data in parts.items():
            archive.writestr(name, data)
    return out.getvalue()


def relationship(number: str, kind: str, target: str, *, external: bool = False) -> str:
    """One relation of a part."""
    mode = ' TargetMode="External"' if external else ""
    return f'<Relationship Id="{number}" Type="{_OFFICE}/{kind}" Target="{escape(target)}"{mode}/>'


CORE = (
    '<cp:coreProperties xmlns:cp="http://schemas.openxmlformats.org/package/2006/metadata/core-properties" '
    'xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:dcterms="http://purl.org/dc/terms/"><dc:title>{title}</dc:title>'
    "<dc:creator>Ada Lovelace</dc:creator><dcterms:created>2024-05-06T07:08:09Z</dcterms:created>"
    "<dcterms:modified>2024-06-07T08:09:10Z</dcterms:modified></cp:coreProperties>"
)
STYLES = (
    f'<w:styles {_W}><w:docDefaults><w:rPrDefault><w:rPr><w:lang w:val="en-GB"/></w:rPr></w:rPrDefault></w:docDefaults>'
    '<w:style w:styleId="H1"><w:name w:val="heading 1"/></w:style><w:style w:styleId="H2"><w:name w:val="heading 2"/></w:style>'
    '<w:style w:styleId="Own"><w:name w:val="My own"/><w:basedOn w:val="H2"/></w:style>'
    '<w:style w:styleId="Knot"><w:name w:val="Knot"/><w:basedOn w:val="Knot"/></w:style></w:styles>'
)
NUMBERING = (
    f'<w:numbering {_W}><w:abstractNum w:abstractNumId="0"><w:lvl w:ilvl="0"><w:numFmt w:val="bullet"/></w:lvl>'
    '<w:lvl w:ilvl="1"><w:numFmt w:val="bullet"/></w:lvl></w:abstractNum><w:abstractNum w:abstractNumId="1">'
    '<w:lvl w:ilvl="0"><w:numFmt w:val="decimal"/></w:lvl></w:abstractNum>'
    '<w:num w:numId="1"><w:abstractNumId w:val="0"/></w:num>'
    '<w:num w:numId="2"><w:abstractNumId w:val="1"/></w:num></w:numbering>'
)


def docx_paragraph(text: str, style: str = "", *, list_id: int = 0, level: int = 0, marks: str = "") -> str:
    """A paragraph of a DOCX."""
    numbered = f'<w:numPr><w:ilvl w:val="{level}"/><w:numId w:val="{list_id}"/></w:numPr>' if list_id else ""
    named = f'<w:pStyle w:val="{style}"/>' if style else ""
    return f"<w:p><w:pPr>{named}{numbered}</w:pPr>{docx_run(text, marks)}</w:p>"


def docx_run(text: str, marks: str = "") -> str:
    """A run of a DOCX."""
    return f'<w:r><w:rPr>{marks}</w:rPr><w:t xml:space="preserve">{escape(text)}</w:t></w:r>'


def docx(body: str, title: str = "", links: dict[str, str] | None = None, parts: dict[str, str | bytes] | None = None) -> bytes:
    """A DOCX with this body."""
    relations = "".join(relationship(number, "hyperlink", url, external=True) for number, url in (links or {}).items())
    return package(
        {
            "word/document.xml": f'<?xml version="1.0" encoding="UTF-8"?><w:document {_W}><w:body>{body}</w:body></w:document>',
            "word/styles.xml": STYLES,
            "word/numbering.xml": NUMBERING,
            "docProps/core.xml": CORE.format(title=escape(title)),
            **(parts or {}),
        },
        {"": relationship("rId1", "officeDocument", "word/document.xml"), "word/document.xml": relations},
    )


def pptx(slides: list[str]) -> bytes:
    """A PPTX of these slides (the content of their shape trees)."""
    listed = "".join(f'<p:sldId id="{255 + at}" r:id="rId{at}"/>' for at in range(1, len(slides) + 1))
    links = "".join(relationship(f"rId{at}", "slide", f"slides/slide{at}.xml") for at in range(1, len(slides) + 1))
    parts: dict[str, str | bytes] = {
        f"ppt/slides/slide{at}.xml": f"<p:sld {_P}><p:cSld><p:spTree>{inner}</p:spTree></p:cSld></p:sld>"
        for at, inner in enumerate(slides, 1)
    }
    parts["ppt/presentation.xml"] = f"<p:presentation {_P}><p:sldIdLst>{listed}</p:sldIdLst></p:presentation>"
    slide_links = {
        f"ppt/slides/slide{at}.xml": relationship("rId9", "hyperlink", "https://a.example/x", external=True) for at in (1,)
    }
    return package(
        parts,
        {"": relationship("rId1", "officeDocument", "ppt/presentation.xml"), "ppt/presentation.xml": links, **slide_links},
    )


def pptx_shape(place: str, *lines: tuple[int, str]) -> str:
    """A shape with text; `place` is its kind of placeholder."""
    texts = "".join(f'<a:p><a:pPr lvl="{level}"/><a:r><a:t>{escape(text)}</a:t></a:r></a:p>' for level, text in lines)
    kind = f'<p:ph type="{place}"/>' if place else ""
    return f'<p:sp><p:nvSpPr><p:cNvPr id="2" name="x"/><p:nvPr>{kind}</p:nvPr></p:nvSpPr><p:txBody>{texts}</p:txBody></p:sp>'


def xlsx(sheets: dict[str, str], strings: tuple[str, ...] = (), hidden: frozenset[str] = frozenset()) -> bytes:
    """An XLSX of these sheets (the rows of each, as XML)."""
    listed = "".join(
        f'<sheet name="{escape(name)}" sheetId="{at}" r:id="rId{at}" state="{"hidden" if name in hidden else "visible"}"/>'
        for at, name in enumerate(sheets, 1)
    )
    links = "".join(relationship(f"rId{at}", "worksheet", f"worksheets/sheet{at}.xml") for at in range(1, len(sheets) + 1))
    shared_strings = "".join(f"<si><t>{escape(text)}</t></si>" for text in strings)
    parts: dict[str, str | bytes] = {
        "xl/workbook.xml": f"<workbook {_S}><sheets>{listed}</sheets></workbook>",
        "xl/sharedStrings.xml": f"<sst {_S}>{shared_strings}</sst>",
        "xl/styles.xml": f'<styleSheet {_S}><cellXfs><xf numFmtId="0"/><xf numFmtId="14"/></cellXfs></styleSheet>',
    }
    for at, rows in enumerate(sheets.values(), 1):
        parts[f"xl/worksheets/sheet{at}.xml"] = f"<worksheet {_S}><sheetData>{rows}</sheetData></worksheet>"
    return package(parts, {"": relationship("rId1", "officeDocument", "xl/workbook.xml"), "xl/workbook.xml": links})


def compound(streams: dict[str, bytes]) -> bytes:
    """A compound file of these streams, each padded so that it takes whole sectors."""
    sectors: list[bytes] = []
    table: list[int] = []
    entries = [_entry("Root Entry", 5, 0xFFFFFFFE, 0)]
    for name, data in streams.items():
        padded = data.ljust(max(4096, -(-len(data) // 512) * 512), b"\0")
        first = len(sectors)
        parts = [padded[at : at + 512] for at in range(0, len(padded), 512)]
        sectors += parts
        table += [*range(first + 1, first + len(parts)), 0xFFFFFFFE]
        entries.append(_entry(name, 2, first, len(padded)))
    directory = len(sectors)
    listed = b"".join(entries).ljust(-(-len(entries) * 128 // 512) * 512, b"\0")
    parts = [listed[at : at + 512] for at in range(0, len(listed), 512)]
    sectors += parts
    table += [*range(directory + 1, directory + len(parts)), 0xFFFFFFFE]
    fat_at = len(sectors)
    count = -(-(len(table) + 4) // 128)
    table += [0xFFFFFFFD] * count
    table += [0xFFFFFFFF] * (count * 128 - len(table))
    head = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(16) + struct.pack("<HHHHH", 0x3E, 3, 0xFFFE, 9, 6) + bytes(6)
    head += struct.pack("<9I", 0, count, directory, 0, 4096, 0xFFFFFFFE, 0, 0xFFFFFFFE, 0)
    head += struct.pack("<109I", *range(fat_at, fat_at + count), *[0xFFFFFFFF] * (109 - count))
    return head + b"".join(sectors) + struct.pack(f"<{len(table)}I", *table)


def _entry(name: str, kind: int, start: int, size: int) -> bytes:
    raw = name.encode("utf-16-le") + b"\0\0"
    head = raw.ljust(64, b"\0") + struct.pack("<HBB", len(raw), kind, 1) + b"\xff" * 12
    return head + bytes(36) + struct.pack("<IQ", start, size)


def doc(text: str, styles: tuple[int, ...] = (), *, flags: int = 0, wide: bool = False) -> bytes:
    """A Word 97 file of this text; `styles` are those of its paragraphs in order (1 is heading 1)."""
    data = text.encode("utf-16-le" if wide else "cp1252")
    width = 2 if wide else 1
    main = bytearray(1536)
    struct.pack_into("<H", main, 0, 0xA5EC)
    struct.pack_into("<H", main, 0x0A, flags)
    struct.pack_into("<i", main, 0x4C, len(text))
    offset = len(main)
    main += data
    main += bytes(-len(main) % 512)
    clx = b"\x02" + struct.pack("<I", 16) + struct.pack("<II", 0, len(text))
    clx += struct.pack("<HIH", 0, offset if wide else (offset * 2) | 0x40000000, 0)
    ends = [at + 1 for at, char in enumerate(text) if char in "\r\x07"]
    plan = struct.pack("<III", offset, offset + len(data), len(main) // 512)
    main += _format_page([offset, *(offset + end * width for end in ends)], styles, text, ends)
    struct.pack_into("<II", main, 0x1A2, 0, len(clx))
    struct.pack_into("<II", main, 0x102, len(clx), len(plan))
    return compound({"WordDocument": bytes(main), "0Table": clx + plan})


def _format_page(places: list[int], styles: tuple[int, ...], text: str, ends: list[int]) -> bytes:
    count = len(places) - 1
    page = bytearray(512)
    struct.pack_into(f"<{count + 1}I", page, 0, *places)
    at = 510
    for number in range(count):
        style = styles[number] if number < len(styles) else 0
        settings = b""
        if text[ends[number] - 1] == "\x07":
            is_row_end = ends[number] < 2 or text[ends[number] - 2] == "\x07"
            settings = b"\x16\x24\x01" + (b"\x17\x24\x01" if is_row_end else b"")
        body = struct.pack("<H", style) + settings
        body += bytes((len(body) + 1) % 2)
        at -= (len(body) + 1 + 1) // 2 * 2
        page[at] = (len(body) + 1) // 2
        page[at + 1 : at + 1 + len(body)] = body
        page[4 * (count + 1) + 13 * number] = at // 2
    page[511] = count
    return bytes(page)
