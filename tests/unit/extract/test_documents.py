"""PDF and office files: their Markdown, and damaged or hostile files."""

from __future__ import annotations

import io
import random
import sys
import zipfile

import pytest
from tests.support import files
from tests.support.files import DOCX, PDF, PPTX, XLSX, PdfLine
from tests.unit.extract.conftest import ReadPage

from sitelore.model.document import ReadOptions

SECRET = "sk_live_" + "4eC39HqLyjWDarjtT1zdp7dc"
LINK = (
    '<w:p><w:hyperlink r:id="rL">{}</w:hyperlink></w:p><w:p><w:r><w:fldChar w:fldCharType="begin"/></w:r>'
    '<w:r><w:instrText> HYPERLINK "https://b.example/y" </w:instrText></w:r><w:r><w:fldChar w:fldCharType="separate"/></w:r>'
    '{}<w:r><w:fldChar w:fldCharType="end"/></w:r></w:p>'
)
TABLE = "<w:tbl><w:tr><w:tc>{}</w:tc><w:tc>{}</w:tc></w:tr><w:tr><w:tc>{}</w:tc><w:tc>{}</w:tc></w:tr></w:tbl>"


PARAGRAPH = (
    "A paragraph of which the first line goes up to the very edge, with an international word cut in two, and then on to "
    "the next line, which is as long as that, and ends here."
)


def guide() -> str:
    mixed = "<w:p>" + files.docx_run("First, ") + files.docx_run("bo", "<w:b/>") + files.docx_run("ld", "<w:b/>")
    mixed += (
        files.docx_run(" unseen", "<w:vanish/>")
        + "<w:del>"
        + files.docx_run(" gone")
        + "</w:del>"
        + files.docx_run(" text.")
        + "</w:p>"
    )
    lists = "".join(
        files.docx_paragraph(text, list_id=1, level=level) for text, level in (("one", 0), ("inner", 1), ("two", 0))
    )
    return "".join(
        [
            files.docx_paragraph("Guide", "H1"),
            mixed,
            files.docx_paragraph("Part", "Own"),
            lists,
            files.docx_paragraph("Knotted.", "Knot"),
            LINK.format(files.docx_run("a link"), files.docx_run("a field")),
            TABLE.format(
                files.docx_paragraph("Name"),
                files.docx_paragraph("A|B"),
                files.docx_paragraph("Tea"),
                files.docx_paragraph("3"),
            ),
        ]
    )


@pytest.mark.parametrize("content_type", [DOCX, "application/zip", "application/octet-stream", "", "text/html"])
def test_a_docx_becomes_markdown_under_any_content_type(read_page: ReadPage, content_type: str) -> None:
    page = read_page(files.docx(guide(), "The guide", {"rL": "/there?utm_source=x"}), content_type)
    assert page.markdown.split("\n\n") == [
        "# Guide",
        "First, **bold** text.",
        "## Part",
        "- one\n  - inner\n- two",
        "Knotted.",
        "[a link](http://site.example/there)",
        "[a field](https://b.example/y)",
        "| Name | A\\|B |\n| --- | --- |\n| Tea | 3 |",
    ]
    document = page.document
    assert (document["title"], document["author"], document["lang"], document["strategy"]) == (
        "The guide",
        "Ada Lovelace",
        "en-GB",
        "docx",
    )
    assert (document["published"], document["modified"]) == ("2024-05-06T07:08:09Z", "2024-06-07T08:09:10Z")
    assert page.reading.links == ("http://site.example/there", "https://b.example/y")


def test_a_presentation_becomes_a_heading_and_points_for_each_slide(read_page: ReadPage) -> None:
    table = (
        "<p:graphicFrame><a:graphic><a:graphicData><a:tbl><a:tr><a:tc><a:txBody><a:p><a:r><a:t>Q1</a:t></a:r></a:p></a:txBody></a:tc>"
        "</a:tr><a:tr><a:tc><a:txBody><a:p><a:r><a:t>12</a:t></a:r></a:p></a:txBody></a:tc></a:tr></a:tbl></a:graphicData>"
        "</a:graphic></p:graphicFrame>"
    )
    points = files.pptx_shape("body", (0, "one"), (1, "inner"), (0, "two")) + files.pptx_shape("sldNum", (0, "2"))
    slides = [files.pptx_shape("ctrTitle", (0, "Deck")), files.pptx_shape("title", (0, "Points")) + points + table]
    page = read_page(files.pptx([*slides, files.pptx_shape("title", (0, "Backup"))]), PPTX)
    assert page.markdown == "# Deck\n\n## Points\n\n- one\n  - inner\n- two\n\n| Q1 |\n| --- |\n| 12 |\n\n## Backup"
    assert page.document["meta"] == {"pages": "3"}


def test_a_spreadsheet_becomes_tables_with_dates_and_without_hidden_cells(read_page: ReadPage) -> None:
    rows = (
        '<row r="1"><c r="A1" t="s"><v>0</v></c><c r="B1" t="s"><v>1</v></c><c r="C1" t="s"><v>2</v></c></row>'
        '<row r="2"><c r="A2" t="inlineStr"><is><t>Tea</t></is></c><c r="B2"><v>0.30000000000000004</v></c>'
        '<c r="C2" s="1"><v>45418</v></c></row><row r="3" hidden="1"><c r="A3"><v>99</v></c></row>'
        '<row r="6"><c r="A6" t="str"><v>a line of its own</v></c></row>'
    )
    book = files.xlsx({"Prices": rows, "Hidden": rows}, ("Name", "Price", "Since"), frozenset({"Hidden"}))
    page = read_page(book, XLSX)
    assert page.markdown == (
        "## Prices\n\n| Name | Price | Since |\n| --- | --- | --- |\n| Tea | 0.3 | 2024-05-06 |\n\na line of its own"
    )


@pytest.mark.parametrize("wide", [False, True])
def test_an_old_word_file_keeps_its_headings_links_and_tables(read_page: ReadPage, wide: bool) -> None:
    text = 'Títle\rSee \x13 HYPERLINK "https://c.example/z" \x14that\x15.\rName\x07Price\x07\x07Tea\x073\x07\x07The end\r'
    page = read_page(files.doc(text, (1,), wide=wide), "application/msword")
    assert page.markdown.split("\n\n") == [
        "# Títle",
        "See [that](https://c.example/z).",
        "| Name | Price |\n| --- | --- |\n| Tea | 3 |",
        "The end",
    ]
    assert page.document["strategy"] == "doc"


def test_a_pdf_is_put_together_again(read_page: ReadPage) -> None:
    pages = []
    for number in range(1, 5):
        lines = [
            PdfLine(72, 760, "The Annual Report", 9),
            PdfLine(72, 700, f"Chapter {chr(64 + number)}", 18, bold=True),
            PdfLine(72, 670, "A paragraph of which the first line goes up to the very edge, with an inter-"),
            PdfLine(72, 656, "national word cut in two, and then on to the next line, which is as long as that,"),
            PdfLine(72, 642, "and ends here."),
            PdfLine(72, 612, "\x95 a point"),
            PdfLine(72, 598, "\x95 another, with", href=""),
            PdfLine(80, 584, "a second line"),
            PdfLine(72, 550, f"See site {chr(64 + number)}", href="https://a.example/x"),
            PdfLine(300, 30, str(number + 10), 9),
        ]
        pages.append([*lines[:5], *(replace_bullet(line) for line in lines[5:])])
    info = "/Title(Report 2024)/Author(Ada)/CreationDate(D:20240506070809+02'00')"
    page = read_page(files.pdf(pages, info, catalog="/Lang(en-GB)"), PDF, headers=(("x-robots-tag", "noindex"),))
    blocks = page.markdown.split("\n\n")
    assert blocks[:4] == [
        "# Chapter A",
        PARAGRAPH,
        "- a point\n- another, with a second line",
        "[See site A](https://a.example/x)",
    ]
    assert "Annual" not in page.markdown
    assert not {"11", "12", "13", "14"} & set(page.text.split())
    document = page.document
    assert (document["title"], document["author"], document["published"], document["lang"]) == (
        "Report 2024",
        "Ada",
        "2024-05-06T07:08:09+02:00",
        "en-GB",
    )
    assert (document["meta"], page.reading.noindex, page.reading.links) == ({"pages": "4"}, True, ("https://a.example/x",))


def replace_bullet(line: PdfLine) -> PdfLine:
    """A bullet by its place in the font's encoding."""
    return PdfLine(line.x, line.y, line.text.replace("\x95", "\u2022"), line.size, line.bold, line.href)


@pytest.mark.parametrize(
    ("body", "content_type"),
    [
        (files.prose_pdf("Keys", "words " * 30, secret=SECRET), PDF),
        (files.pdf([[PdfLine(72, 700, "Harmless")]], f"/Keywords({SECRET})"), PDF),
        (files.docx(files.docx_paragraph("See ") + files.docx_paragraph(SECRET)), DOCX),
        (files.docx(files.docx_paragraph("Harmless"), f"Title {SECRET}"), DOCX),
        (files.docx(files.docx_paragraph("Harmless"), parts={"word/comments.xml": f"<c><t>{SECRET}</t></c>"}), DOCX),
        (
            files.docx(
                files.docx_paragraph("x", "") + LINK.format(files.docx_run("l"), files.docx_run("f")),
                links={"rL": f"/?k={SECRET}"},
            ),
            DOCX,
        ),
        (files.xlsx({"S": f'<row r="1"><c r="A1" t="str"><v>{SECRET}</v></c></row>'}), XLSX),
        (files.pptx([files.pptx_shape("title", (0, SECRET))]), PPTX),
        (files.doc(f"Key {SECRET}\r"), "application/msword"),
    ],
)
def test_a_secret_in_a_file_is_kept_nowhere_and_neither_is_the_file(
    read_page: ReadPage, body: bytes, content_type: str
) -> None:
    page = read_page(body, content_type)
    assert page.document["strategy"]
    assert SECRET not in str(page.document) + str(page.reading)
    assert page.reading.snapshot is None


def test_a_file_without_a_secret_is_kept_as_it_is(read_page: ReadPage) -> None:
    body = files.docx(files.docx_paragraph("Plain text"))
    assert read_page(body, DOCX).snapshot == body
    with_files = files.docx(files.docx_paragraph("Plain text"), parts={"word/embeddings/data.bin": b"whatever"})
    assert read_page(with_files, DOCX).reading.snapshot is None


def test_reading_a_stored_file_again_gives_the_same_document(read_page: ReadPage) -> None:
    first = read_page(files.prose_pdf("Title", "words " * 40, "/next"), "application/octet-stream")
    assert read_page(first.snapshot, "application/octet-stream").reading.document == first.reading.document


def bomb(size: int) -> bytes:
    return files.docx(files.docx_paragraph("x"), parts={"word/styles.xml": b"<a>" + b" " * size + b"</a>"})


def many_entries() -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for number in range(10_001):
            archive.writestr(f"word/{number}.xml", b"")
    return out.getvalue()


LAUGHS = '<!DOCTYPE l [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]><w:document>&b;</w:document>'


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        (bomb(30 * 2**20), "parse_error: the archive unpacks to more than 500 times its size"),
        (many_entries(), "parse_error: the archive has 10001 entries, 10000 are allowed"),
        (files.package({"word/document.xml": LAUGHS}), "parse_error: its XML has a document type, which no office writes"),
        (files.package({"word/document.xml": LAUGHS.encode("utf-16")}), "parse_error: its XML has a document type"),
        (files.package({"word/document.xml": "<w:document>"}), "parse_error: the text in it is damaged"),
        (files.package({"data/a.xml": "<a/>"}), "content_type: it is an archive, not a document"),
        (files.docx(files.docx_paragraph("x"))[:-30], "parse_error: the archive is cut off or damaged"),
        (files.doc("x\r", flags=0x100), "content_type: the document is protected by a password"),
        (files.compound({"EncryptedPackage": b"x"}), "content_type: the document is protected by a password"),
        (files.compound({"Workbook": b"x"}), "content_type: no Word document"),
        (files.doc("x\r")[:600], "parse_error: "),
        (
            files.pdf([[PdfLine(1, 1, "x")]], trailer=files.ENCRYPTED_PDF_TRAILER),
            "content_type: the PDF is protected by a password",
        ),
        (b"%PDF-1.7\n" + b"0" * 500, "parse_error: the PDF is cut off or damaged"),
    ],
)
def test_unreadable_files_have_a_reason(read_page: ReadPage, body: bytes, problem: str) -> None:
    reading = read_page(body, "application/octet-stream").reading
    assert reading.problem.startswith(problem)
    assert reading.document is None


def test_without_the_library_a_pdf_names_the_package_to_install(read_page: ReadPage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pypdfium2", None)
    assert read_page(files.prose_pdf("a", "b"), PDF).reading.problem == (
        "content_type: reading PDF needs one more library: pip install 'sitelore[documents]'"
    )


def test_a_page_tree_that_runs_in_a_circle_ends(read_page: ReadPage) -> None:
    knotted = (
        files.pdf([[PdfLine(72, 700, "one page")]]).replace(b"/Count 1", b"/Count 9").replace(b"Kids[7 0 R]", b"Kids[2 0 R]")
    )
    assert read_page(knotted, PDF).reading.problem in {"", "parse_error: the PDF is cut off or damaged"}


def test_of_a_pdf_with_very_many_pages_the_first_are_read(read_page: ReadPage) -> None:
    one = files.pdf([[PdfLine(72, 700, "the same page")]])
    many = one.replace(b"/Kids[7 0 R]/Count 1", b"/Kids[" + b"7 0 R " * 10_000 + b"]/Count 10000")
    page = read_page(many, PDF)
    assert page.document["meta"] == {"pages": "10000", "note": "Only the first 1000 of 10000 pages were read."}


def test_a_run_that_wants_no_documents_reads_none(read_page: ReadPage) -> None:
    page = read_page(files.prose_pdf("a", "b"), PDF, options=ReadOptions(documents=False))
    assert page.reading.problem == "content_type: application/pdf is not a page"


def test_a_damaged_file_never_raises(read_page: ReadPage) -> None:
    chance = random.Random(7)
    whole = [
        files.docx(guide(), "t", {"rL": "/x"}),
        files.doc("Head\rText \x13 HYPERLINK x \x14l\x15\rA\x07B\x07\x07\r", (1,)),
        files.prose_pdf("Title", "words " * 40, "https://a.example/"),
    ]
    for _ in range(150):
        body = bytearray(chance.choice(whole))
        for _ in range(chance.choice((1, 3, 20))):
            body[chance.randrange(8, len(body))] = chance.randrange(256)
        reading = read_page(bytes(body[: chance.randrange(20, len(body) + 1)]), "application/octet-stream").reading
        assert reading.problem or reading.document is not None


def test_endless_nesting_is_bounded(read_page: ReadPage) -> None:
    boxes = "<w:p><w:r><w:pict><w:txbxContent>" * 3000, "</w:txbxContent></w:pict></w:r></w:p>" * 3000
    tables = "<w:tbl><w:tr><w:tc>" * 3000, "</w:tc></w:tr></w:tbl>" * 3000
    for start, end in (boxes, tables, ("<w:sdt>" * 9000, "</w:sdt>" * 9000)):
        page = read_page(files.docx(files.docx_paragraph("Before") + start + files.docx_paragraph("within") + end), DOCX)
        assert page.text.startswith("Before")


def test_unexpected_markup_never_raises(read_page: ReadPage) -> None:
    chance = random.Random(8)
    source = guide()
    for _ in range(60):
        at, to = sorted(chance.randrange(len(source)) for _ in range(2))
        mixed = source[:at] + source[to : to + 40] + source[at + chance.randrange(9) :]
        reading = read_page(files.docx(mixed, "t", {"rL": "/x"}), DOCX).reading
        assert reading.problem or reading.document is not None


def test_a_number_of_thousands_of_digits_never_raises(read_page: ReadPage) -> None:
    number = "9" * 5000
    outline = f'<w:p><w:pPr><w:outlineLvl w:val="{number}"/></w:pPr><w:r><w:t>A line of text</w:t></w:r></w:p>'
    assert read_page(files.docx(outline), DOCX).text == "A line of text"
