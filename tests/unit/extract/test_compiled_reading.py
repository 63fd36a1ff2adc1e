"""A page reads the same by compiled code and from its tree: all of it, whatever is asked for."""

from __future__ import annotations

import random
from itertools import islice

import pytest
from bench.content_scores import CORPUS, corpus
from tests.quality.constructs import CONSTRUCTS, Construct

from sitelore.extract import markup
from sitelore.extract.page import read
from sitelore.model.document import Reading, ReadOptions
from sitelore.model.response import Response
from sitelore.model.url import Url

pytestmark = pytest.mark.skipif(markup.PARSER is None, reason="nothing was compiled to compare with")

WAYS = (ReadOptions(offers=False, scored=False), ReadOptions(offers=False), ReadOptions())
TOLD = "tells how the harbour was dredged in spring, and what that cost the town and its people."
PROSE = "".join(f"<p>Paragraph {n} {TOLD}</p>" for n in range(9))
SHEETS = (
    ".x{display:none}", "p.x, .y { display : none !important }", "P.X{display:none}", "#id1{visibility:hidden}",
    "@media screen { .x { display: none } }", ".x{left:-9999px}", ".x{font-size:0}.y{display:none}", "h3.x{clip:rect(0,0,0,0)}",
    ".x{color:#fff;background:#ffffff}", ".x{display:none} .x.open{display:block}", ".x.y{display:none}",
    ".menu .x{display:none}",
    ".é{display:none}", "}}{.x{display:none",
)  # fmt: skip
PARTS = (
    "<p class=x>hidden or not</p>", "<p class='a x\ty'>hidden or not</p>", "<div id=id1 class=é>hidden</div>",
    "<b class=X>case</b>",
    "<p class=x><b class=y>both</b></p>", "<h3 class=x>a heading</h3>", "<div class=x><h3>holds one</h3></div>",
    f"<div class='x faq-answer'>{PROSE}</div>", f"<div class=x id=a1>{PROSE}</div><a href='#a1'>open</a>",
    f"<div class=x role=tabpanel>{PROSE[:600]}</div>", "<script>show('x')</script>", f"<style>{'.y{color:red}' * 2000}</style>",
    PROSE, "<p style='height:0;overflow:hidden'>shut</p>",
)  # fmt: skip


def response(html: str | bytes, kind: str = "text/html") -> Response:
    body = html if isinstance(html, bytes) else html.encode("utf-8", "replace")
    return Response(Url("http://site.example/dir/page"), 200, (("content-type", kind),), body)


def from_tree(page: Response, options: ReadOptions) -> Reading:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(markup, "PARSER", None)
        return read(page, options)


def assert_read_alike(page: Response) -> None:
    for options in WAYS:
        assert read(page, options) == from_tree(page, options)


@pytest.mark.parametrize("construct", CONSTRUCTS, ids=[construct.name for construct in CONSTRUCTS])
def test_each_construct_reads_alike(construct: Construct) -> None:
    assert_read_alike(response(f"<!doctype html><title>t</title><main><h1>Title</h1>{PROSE}{construct.html}{PROSE}</main>"))


def test_a_block_of_nothing_within_a_line_of_an_item_reads_alike() -> None:
    item = "<li><div><label> <div><div></div></div> <span>word</span></label></div></li>"
    assert_read_alike(response(f"<!doctype html><main><h1>Title</h1>{PROSE}<ul>{item * 3}</ul></main>"))


def test_what_style_sheets_hide_is_hidden_alike() -> None:
    rng = random.Random(3)
    for _ in range(150):
        sheets = "".join(f"<style>{sheet}</style>" for sheet in rng.sample(SHEETS, rng.randint(1, 3)))
        body = "".join(rng.choice(PARTS) for _ in range(rng.randint(1, 6)))
        doctype = rng.choice(("<!doctype html>", ""))
        assert_read_alike(response(f"{doctype}<head>{sheets}</head><body><nav>a</nav><article>{PROSE}{body}</article></body>"))


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (f"<title>é</title><main>{PROSE}é漢</main>".encode("utf-16"), "text/html"),
        (f"<title>é</title><main>{PROSE}é</main>".encode("latin-1"), "text/html"),
        (f"<title>é</title><main>{PROSE}é</main>".encode(), "text/html; charset=utf-8"),
        (f"\ufeff\ufeff<title>é</title><main>{PROSE}é</main>".encode(), "text/html; charset=utf-8"),
        (f"<title>é</title><main>{PROSE}\xe9\xff</main>".encode("latin-1"), "text/html; charset=utf-8"),
        (f"<title>0</title><main>{PROSE}a\0b</main>".encode(), "text/html"),
        (b"", "text/html"),
        (b"<", "text/html"),
        (b"\xc3", "text/html; charset=utf-8"),
    ],
)
def test_bytes_of_any_kind_read_alike(body: bytes, kind: str) -> None:
    assert_read_alike(response(body, kind))


@pytest.mark.skipif(not CORPUS.exists(), reason="the corpus is not here")
def test_real_pages_read_alike() -> None:
    for page in islice(corpus(), 0, 300, 6):
        assert_read_alike(response(page.html))
