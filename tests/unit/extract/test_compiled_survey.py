"""What compiled code finds on a page means, to the letter, what its tree says; where it might not, the tree is asked."""

from __future__ import annotations

import json
import lzma
import os
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.quality.documents import made

from sitelore.extract import dom
from sitelore.extract.about.links import Resolver, find_links
from sitelore.extract.about.metadata import read_metadata
from sitelore.extract.about.survey import Survey, surveyed
from sitelore.extract.about.surveying import SURVEYOR
from sitelore.extract.content.style_sheets import read_hiding
from sitelore.extract.structured.jsonld import read_scripts
from sitelore.model.response import Response
from sitelore.model.url import DEFAULT_RULES, Url

from .compiled_code import page_made

pytestmark = pytest.mark.skipif(SURVEYOR is None, reason="the survey was not compiled")

CORPORA = Path(os.environ.get("SITELORE_CORPORA", str(Path(__file__).resolve().parents[4] / "shared" / "corpora")))
CORPUS = CORPORA / "content" / "wcxb_dev.jsonl.xz"
PAGE = Url("http://site.example/dir/page")
LONG = "wörd \u3000 " * 400

HEADS = [
    "<title> The \n title </title><title>Another</title>",
    "<svg><title>Drawing</title></svg><title> </title><title>Real &amp; true</title>",
    f"<title>{'x' * 1500}</title>",
    "<title></title>" * 60 + "<title>too late</title><h1></h1>",
    "<meta name=Author property=' OG:Title ' content='A  B'><meta property=og:title content=T><meta name=author content=B>",
    (
        "<meta http-equiv=Content-Language content=de><meta charset=utf-8><meta name content=x>"
        "<meta property=og:type value=article>"
    ),
    "<meta name='ROBOTS' content='noindex,  nofollow'><meta name=robots content=NOARCHIVE><meta name=sitelore content=none>",
    f"<meta name=description content='{LONG}'><meta name='{'k' * 90}' content=x><meta name=' date ' content='2024-05-06'>",
    "".join(f"<meta name=citation_{n} content={n}>" for n in range(80)),
    "<meta name=ÜBER content=x><meta name=dc.ÜBER content='É  È'><meta name='dc.İ' content='\u2028 a \u1680'>",
    "<meta name=keywords content='\1'><meta name=author content='\1A'><meta name=generator content=''>",
    "<base><base href=' '><base href=' /other/ '><base href=/third><a href=x>x</a><a href='#top'>y</a>",
    (
        "<link rel='x CANONICAL' href=' /c '><link rel=canonical href=/d><link rel=image_src href=/i.png>"
        "<link rel=canonicals href=/e>"
    ),
    "<link rel=image_src href=/i.png><meta property=og:image content=''><link rel='image_src other' href=/j.png>",
    "<link rel=next href=/2><link rel='prev,nofollow' href=/0><link rel=preview href=/p><link rel=NEXT href=/3 alt=more>",
    "<html lang=' de_AT, en '><body>", "<html xml:lang=fr>",
    "<html lang='' xml:lang=pt-BR>", "<html lang=notalanguage>",
    '<script type="application/LD+json">{"@type":"Article","author":{"name":"A"},"datePublished":"2024-01-02"}</script>',
    '<script type=application/json>{"@type":"Article"}</script><script type="json+ld">{"broken": </script>',
    (
        "<style>.a{display:none}</style><style media=print>.b{display:none}</style>"
        "<style media=' SCREEN '>.c{left:-9999px}</style>"
    ),
    f"<style>.a{{display:none}}{'é' * 16000}</style><style>{'é' * 15980}.b{{display:none}}</style><style></style>",
    "<svg><style>.a{display:none}<b>x</b></style></svg>",
]  # fmt: skip
BODIES = [
    (
        "<a href=/a>One</a><a href=/a>Two</a><a href=/b><img src=x alt=pic></a><a href=/b>Later  text</a>"
        "<a>none</a><a href=''>empty</a>"
    ),
    (
        "<a href='#'>top</a><a href='#x'>x</a><a href='/dir/page'>self</a><a href=mailto:a@b.c>mail</a>"
        "<a href='javascript:x()'>js</a>"
    ),
    (
        "<map><area href=/area alt=' An \n area '><area href=/bare></map><a href=/area>area</a>"
        "<a alt=alt href=/alt></a><a alt=no href=/n> </a>"
    ),
    "<a rel=nofollow href=/a>a</a><a href=/a>b</a><a rel='x,NOFOLLOW' href=/b>c</a><a rel=nofollows href=/c>d</a>",
    (
        f"<a href=/long>{LONG}</a><a href=/exact>{'y' * 199} z</a><a href=/cut>{'y' * 200} z</a>"
        f"<a href=/edge>{'日' * 199} 本語</a>"
    ),
    "<a href=/script>a<script>b</script><style>c</style><noscript>d</noscript><template>e</template><!-- f --></a>",
    (
        "<template><a href=/t>in a template</a><h1>T</h1><time>2024-01-01</time></template><svg>"
        "<a href=/svg xlink:href=/x>s</a></svg>"
    ),
    "<a href='/ä?b=ü&amp;amp;c'>\xa0Ü\u2003b\x1f\x85c\u200bd</a><a href=' /spaced '>s</a><a href='/quo\"te'>q</a>",
    "<a href=/1 rel='me AUTHOR'>By Ann</a><a href=/2 rel=author>Ann</a>", "<a rel=author>Ann</a><a rel=author>Bob</a>",
    "<a rel='x\xa0author'>Ann</a><a rel='x\x0bauthor'>Ann</a>", f"<a rel=author>{LONG}</a>",
    "<p itemprop='Author x'><b itemprop=job>J</b><i itemprop='NAME'>In  ner</i></p>",
    "<p itemprop=author content='By Ann'>x</p><div itemprop=comment><p itemprop=author>Bob</p></div>",
    (
        "<div itemtype='http://schema.org/Review'><b itemprop=author>Eve</b></div><b itemprop=author>Ann</b>"
        "<b itemprop=authors>Al</b>"
    ),
    (
        "<b itemprop='author\xa0x'>Ann</b><b itemprop=AUTHOR>Ann</b><div itemprop='x\xa0comment'>"
        "<b itemprop=author>Ann</b></div>"
    ),
    "<b itemprop=author>A</b>" * 45 + "<b itemprop=author>B</b>",
    "<time itemprop=datePublished datetime=2024-05-06>x</time><meta itemprop=dateModified content=2024-05-07>",
    "<p itemprop='x datepublished'> 6 May  2024 </p><p itemprop=datePublished>7 May 2024</p>",
    (
        "<time>2020-01-01</time><h2>x</h2><time class=Updated>2024-05-01</time><h1>T</h1>"
        "<time>2024-05-06</time><h2>y</h2><time>1999-01-01</time>"
    ),
    "<article><h1>T</h1><time datetime=2024-05-06></time></article><article><time>2023-01-01</time></article>",
    "<h1>News</h1><article><time>2023-01-01</time></article><aside><time>2022-02-02</time></aside>",
    "<time>2024-01-0</time>" * 9 + "<time>2024-02-02</time><h1>T</h1>", "<time>2024-01-01</time>",
    "<h1> </h1><h1>First</h1><h2 hidden>H</h2><h3 aria-hidden=true>A</h3><h3 aria-hidden=TRUE>B</h3><h6>\xa0x\u3000y</h6>",
    f"<h1>{LONG}</h1><h2>{'z' * 250}</h2>", "".join(f"<h{n % 6 + 1}>{n}</h{n % 6 + 1}>" for n in range(130)),
    (
        "<header>a</header><main><header>b</header><nav aria-label=' Main  menu '>c</nav></main>"
        "<footer title=F>d</footer><search></search>"
    ),
    (
        "<section>a</section><section aria-label=Named>b</section><form title=Search></form>"
        "<form aria-label=' '></form><aside>x</aside>"
    ),
    (
        "<div role=MAIN><header>x</header></div><div role=' Navigation '>y</div><div role=button>z</div>"
        "<main role=''>w</main><nav role=list></nav>"
    ),
    (
        "<section aria-labelledby='b a none c d e'>s</section><b id=a>A </b><b id=a>not me</b>"
        "<b id=b>B\n</b><b id=c></b><b id=d>D</b><b id=e>E</b>"
    ),
    "<html id=r><section aria-labelledby=r title=T>s</section><nav aria-labelledby='x\xa0y' aria-label=L></nav><i id=y>Y</i>",
    (
        "<h1 role=banner itemprop=x>h</h1><time role=main>t</time><svg role=search>"
        "<linearGradient role=form title=G></linearGradient></svg>"
    ),
    "<i itemprop=x></i>" * 390 + "<nav></nav>" * 9 + "<nav title=late></nav><aside></aside>", "<nav></nav>" * 30,
    "<section aria-label='\1'>s</section><div role='reg\u0130on'></div><div role='\u212A'></div>",
    (
        "<math><mi><a href=/m>m</a></mi></math><iframe><a href=/no></iframe><textarea><a href=/no>"
        "</textarea><xmp><a href=/no></xmp>"
    ),
    "<table><tr><td><a href=/o>o<table><tr><td><a href=/i>i</a></table></a></table>", "<frameset><frame src=x></frameset>",
]  # fmt: skip


def told(survey: Survey, response: Response) -> tuple[Any, ...]:
    scripts = read_scripts(survey.scripts)
    metadata = read_metadata(survey, response, DEFAULT_RULES, scripts)
    resolver = Resolver(DEFAULT_RULES).on_page(metadata.base)
    found = find_links(survey.links, response.url, resolver, nofollow=metadata.robots.nofollow).untied
    return metadata, found, read_hiding(survey.sheets), [(script.value, script.repaired) for script in scripts]


def means_the_same(source: str, url: Url = PAGE) -> bool:
    """Whether compiled code read the page; if so, it found what its tree says."""
    tree, response = dom.parse(source), Response(url, 200, (), b"")
    by_tree = told(surveyed(tree), response)
    root = dom.first(tree, "html")
    assert root is not None
    assert SURVEYOR is not None
    html = dom.serialised(root)  # what is held are pieces of it
    survey = SURVEYOR.survey() if page_made("read_page", html) is not None else None
    if survey is not None:
        assert told(survey, response) == by_tree
    return survey is not None


@pytest.mark.parametrize("source", [part for part in HEADS + BODIES if "\1" not in part])
def test_each_construct_means_the_same_and_is_read(source: str) -> None:
    assert means_the_same(source)
    assert means_the_same(f"<!doctype html><title>T</title><main><p>Text <!-- c --> more</p>{source}</main><h2>End</h2>")


@pytest.mark.parametrize("source", [part for part in HEADS + BODIES if "\1" in part])
def test_what_stands_between_facts_may_stand_in_them(source: str) -> None:
    means_the_same(source)


def test_all_constructs_on_one_page() -> None:
    assert means_the_same("".join(HEADS + [part for part in BODIES if "\1" not in part and "frameset" not in part]))


def test_a_text_that_ends_at_the_bound_is_not_cut_otherwise() -> None:
    for size in range(196, 204):
        for last in ("x", " x", "\xa0 y z", "日本", " 日", "🙂 🙂"):
            text = f"{'é' * size}{last}"
            assert means_the_same(f"<title>{text}</title><h1>{text}</h1><a href=/x>{text}</a><nav aria-label='{text}'></nav>")
    for size in range(996, 1004):
        assert means_the_same(f"<title>{'é' * size} x</title><h1>{'🙂' * size} x</h1>")
    for size in range(1990, 2010, 3):
        assert means_the_same(
            f"<meta name=author content='{'é' * size}  x y  z'><meta name=description content='{' é' * size} x'>"
        )


def test_nesting_that_is_too_deep_is_left_to_the_tree() -> None:
    assert not means_the_same("<div>" * 400 + "<a href=/x>x</a>")
    assert SURVEYOR is not None
    assert SURVEYOR.survey() is None


def test_text_that_is_plain_to_the_end_is_left_to_the_tree() -> None:
    assert not means_the_same("<h1><b>a<p>b<plaintext>c<a href=/x>")


def documents() -> Iterator[str]:
    dice = random.Random(11)
    for _ in range(300):
        parts = dice.choices(HEADS + BODIES, k=dice.randint(1, 6))
        tags = [
            dice.choice(("div", "article", "aside", "svg", "template", "b", "section role=main", "table", "h2")) for _ in parts
        ]
        opened = "".join(f"<{tag}>{part}" for tag, part in zip(tags, parts, strict=True))
        at = dice.randrange(len(opened))
        yield opened if dice.random() < 0.6 else opened[:at] + opened[at + dice.randint(1, 9) :]


def test_generated_documents_mean_the_same() -> None:
    assert sum(map(means_the_same, documents())) > 200


def test_documents_that_nobody_would_write_mean_the_same() -> None:
    for seed in range(250):
        means_the_same(made(seed, ()).response.body.decode("utf-8", "replace"))


@pytest.mark.skipif(not CORPUS.exists(), reason="the corpus is not here")
def test_real_pages_mean_the_same_and_are_seldom_declined() -> None:
    with lzma.open(CORPUS, "rt", encoding="utf-8") as lines:
        pages = [json.loads(line) for at, line in enumerate(lines) if at % 15 == 0]
    done = [means_the_same(page["html"], Url.parse(page.get("url") or "") or PAGE) for page in pages]
    assert sum(done) >= 0.97 * len(done)
