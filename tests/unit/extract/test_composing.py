"""Content that compiled code writes is, to the byte, what is written from the tree; what it cannot write so, it declines."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest
from tests.quality.constructs import CONSTRUCTS, Construct

from sitelore.extract import composing, dom
from sitelore.extract.about.links import PageResolver, resolver_for
from sitelore.extract.about.survey import sheets_of
from sitelore.extract.composing import compose, composed
from sitelore.extract.content.main import Content, main_content
from sitelore.extract.content.style_sheets import Hiding, read_hiding
from sitelore.extract.redact import redact, source_of
from sitelore.extract.writing.compiled import WRITER
from sitelore.extract.writing.markdown import Written
from sitelore.model.url import Url

pytestmark = pytest.mark.skipif(WRITER is None, reason="the writer was not compiled")

PAGE = Url("http://site.example/dir/page")
PROSE = "This paragraph of the article goes on for a while about its subject, with commas, clauses and an end that says {}."
TEXT = "".join(f"<p>{PROSE.format(word)}</p>" for word in ("one", "two", "three", "four", "five", "six"))
MENU = "<ul>" + "".join(f'<li><a href="/{n}">Menu {n}</a></li>' for n in range(9)) + "</ul>"
FRAME = (
    '<div class="page"><header>Site name <div class="logo">Logo</div> tag line</header><nav>{menu}</nav><div class="columns">'
    '{main}<aside class="related">{menu}</aside></div><footer>© Site, all rights <p>Imprint</p> Terms of use</footer></div>'
)


def read(html: str) -> tuple[dom.Tree, Content, Hiding, PageResolver]:
    tree = dom.parse(f"<!doctype html><title>t</title>{html}")
    hiding = read_hiding(sheets_of(tree)).beside(tree)
    return (
        tree,
        main_content(tree, source_of(redact(html)[0]), "site.example", ()),
        hiding,
        resolver_for(()).on_page(PAGE),
    )


def from_tree(html: str) -> tuple[Written, Written]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(composing, "WRITER", None)
        return compose(*read(html))


def compiled(html: str) -> tuple[Written, Written] | None:
    _, content, hiding, resolver = read(html)
    return composed(content, hiding, resolver)


def is_written_alike(html: str) -> bool:
    """Whether compiled code wrote the page; it then wrote the same as from the tree."""
    found = compiled(html)
    if found is None:
        return False
    assert [part.text for part in found] == [part.text for part in from_tree(html)]
    return True


@pytest.mark.parametrize("construct", CONSTRUCTS, ids=[construct.name for construct in CONSTRUCTS])
def test_each_construct_is_written_the_same(construct: Construct) -> None:
    is_written_alike(FRAME.format(menu=MENU, main=f"<main><h1>Title</h1>{TEXT}{construct.html}{TEXT}</main>"))
    is_written_alike(f"<main>{construct.html}</main>")


@pytest.mark.parametrize(
    "main",
    [
        f"<main><h1>Title</h1>{TEXT}</main>",
        f'<article><h1>Title</h1><div>{TEXT}Loose text <div class="share">Share this</div> and more loose text</div></article>',
        f"<main>{TEXT}<span>In a line <div>{MENU}</div> that goes on</span>{TEXT}</main>",
        f"<main>{TEXT}<x-box>Custom {MENU}</x-box>{TEXT}</main>",
        f"<main>{TEXT}<table><tr><td>a<td>b<tr><td>c<td>d</table>{TEXT}</main>",
        f'<main>{TEXT}<pre><code class="language-c">x &lt; y</code></pre>{TEXT}</main>',
        f"<main>{TEXT}A &lt; B &amp;amp; C&nbsp;D <b>bold</b><i>x</i> a_b * c<br><br>next{TEXT}</main>",
        f'<main>{TEXT}<p style="overflow:auto">scrolls</p><p style="text-indent:1em">indented</p>{TEXT}</main>',
    ],
)
def test_ordinary_pages_are_written_by_compiled_code(main: str) -> None:
    assert is_written_alike(FRAME.format(menu=MENU, main=main))


def test_text_cut_from_between_kept_blocks_goes_whole_and_nothing_beside_it() -> None:
    # Boxes that go part what stands loose on their two sides, whether they were read or not.
    loose = "".join(f'loose {n} <div class="promo ad">{MENU}</div>' for n in range(5))
    assert is_written_alike(f"<body>{loose}<main>{TEXT}</main>{loose}")


@pytest.mark.parametrize(
    "hidden",
    [
        '<style>.gone{display:none}</style><p class="a gone">nobody sees this</p>',
        '<style>#GONE{display:none}</style><p id="gone">nobody sees this</p>',
        '<p style="height:0;overflow:hidden">nobody sees this</p>',
        '<p style="text-indent:-9999px">nobody sees this</p>',
    ],
)
def test_what_may_hide_text_is_cut_from_the_tree_first(hidden: str, monkeypatch: pytest.MonkeyPatch) -> None:
    html = FRAME.format(menu=MENU, main=f"<main><h1>Title</h1>{TEXT}{hidden}</main>")
    assert compiled(html) is None
    assert "nobody sees" not in from_tree(html.replace("#GONE", "#gone"))[0].text
    plainly = [part.text for part in from_tree(html)]
    if "<style" in html:
        monkeypatch.delattr(composing, "write_markdown")  # compiled code writes what is left
    assert [part.text for part in compose(*read(html))] == plainly


def documents() -> Iterator[str]:
    dice = random.Random(7)
    blocks = [
        "p",
        "div",
        "section",
        "ul",
        "ol",
        "li",
        "blockquote",
        "h2",
        "h3",
        "table",
        "tr",
        "td",
        "pre",
        "figure",
        "article",
    ]
    lines = [
        "a href='/x#y'",
        "b",
        "i",
        "em",
        "strong",
        "span",
        "code",
        "sup",
        "del",
        "img src=/i.png alt=a",
        "br",
        "u",
        "small",
    ]
    for _ in range(400):
        parts: list[str] = []
        for _ in range(dice.randint(5, 60)):
            kind = dice.random()
            if kind < 0.35:
                parts.append(
                    dice.choice(
                        ["word ", "two words", " ", "*", "_x_", "1. ", "- ", "é ", "<!-- c -->", "&lt;b&gt;", "\n", "#"]
                    )
                )
            elif kind < 0.6:
                parts.append(f"<{dice.choice(blocks)}>")
            elif kind < 0.75:
                parts.append(f"<{dice.choice(lines)}>")
            else:
                parts.append(f"</{dice.choice(blocks + [line.split()[0] for line in lines])}>")
        yield "".join(parts)


def test_generated_documents_are_written_the_same() -> None:
    done = sum(is_written_alike(f"<main>{html}{TEXT}</main>") for html in documents())
    assert done > 100
