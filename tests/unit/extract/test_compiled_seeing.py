"""What compiled code leaves of a page is, to the byte, what is left of its tree; what it cannot cut so, it declines."""

from __future__ import annotations

import random
from itertools import islice

import pytest
from bench.content_scores import CORPUS, corpus

from sitelore.extract import dom
from sitelore.extract.content.rungs import plain_content
from sitelore.extract.content.seeing import SEER
from sitelore.extract.content.visibility import drop_unseen
from sitelore.extract.markdown import prepare
from sitelore.extract.markup import PARSER

from .compiled_code import held

pytestmark = pytest.mark.skipif(SEER is None, reason="nothing was compiled to compare with")

STORY = "<p>The mill stands where the river bends, and its wheel has not turned since the flood of that year.</p>" * 3
LONG = "Bring the wheel in before noon and we will have it trued and back on the bike by the evening of the same day. " * 8

# What a page may hide, open, embed or be framed by.
_PARTS = (
    STORY, "text", " ", "&nbsp;", "\u2003", "<p>A &lt;b&gt; &amp; c</p>", "<!-- a comment -->", "é漢🏆",
    f"<div hidden>{LONG}</div>", f"<div style='display:none'>{LONG}</div>", "<p style='DISPLAY : none !important'>gone</p>",
    "<span style='font-size:0'>a</span>", "<span style='font-size:14px'>b</span>", "<i style='visibility: hidden'>c</i>",
    "<b style='left:-9999px'>d</b>", "<b style='left: -٤٤٤٤px'>e</b>", "<p style='color:#fff;background:white'>f</p>",
    "<p style='color:transparent'>g</p>", "<p style='color:red'>h</p>", "<p style='clip:rect(0,0,0,0)'>i</p>",
    "<p style='clip-path:inset(50%)'>j</p>", "<p aria-hidden=TRUE>k</p>", "<p aria-hidden=false>l</p>",
    "<p hidden id='S:1'>m</p>",
    f"<div class=faq-answer hidden>{LONG}</div>", f"<div id=a1 hidden>{LONG}</div><a href='#a1'>open</a>",
    f"<div id=a2 hidden>{LONG}</div><b data-bs-target='#a2'>x</b>", f"<div role=tabpanel hidden>{LONG}</div>",
    f"<div aria-labelledby=q hidden>{LONG}</div>", f"<div class=modal hidden>{LONG}</div>", f"<li aria-hidden=true>{LONG}</li>",
    "<dialog>n</dialog>", "<dialog open>o</dialog>", f"<dialog hidden open>{LONG}</dialog>",
    "<button>Send</button>", "<h3><button>Title <b>of it</b></button></h3>", "<div role=heading><button>T</button></div>",
    "<h2 role=button>x</h2>", "<button role=heading>y</button>",
    "<iframe src='https://www.youtube.com/embed/x' title='A  film'></iframe>", "<iframe src='/map?a=1&b=2\"'></iframe>",
    "<iframe src='about:blank' data-src='//player.vimeo.com/1'>&lt;p&gt; raw</iframe>", "<iframe width=1 src=/p></iframe>",
    "<iframe src='https://www.googletagmanager.com/ns.html' style='display:none'></iframe>", "<iframe hidden src=/x></iframe>",
    "<video src=/v.mp4 aria-label=Clip><source src=/w.mp4>no video</video>",
    "<video><source><source src=' '><source src=/v></video>",
    "<audio><source src=/a.ogg><iframe src=/in></iframe></audio>", "<video poster=/p.png></video>",
    "<noscript><img src=/a.png alt=A></noscript>", "<img><noscript><img src=/b.png alt='B \"b\"'></noscript>",
    "<p><img alt=have src='data:x'></p> <noscript><img src=/c.png alt=C></noscript>",
    "<noscript><img src=/d width=1></noscript>",
    f"<noscript><img src=/e.png>{LONG}{LONG}</noscript>", "<noscript>Please turn scripts on.</noscript>",
    "x<noscript><img src=/f.png style='display:block;color:red'></noscript>", "<noscript><iframe src=/n></iframe></noscript>",
    "<div id=onetrust-consent-sdk>Cookies?</div>", "<div class='a cky-modal\u2003b'>Cookies?</div>",
    "<script>if (a < b) '</p>'</script>", "<style>p { color: red }</style>", "<template><p hidden>t</p></template>",
    "<svg><title>s</title><a href=/x>q</a><style>p{}</style></svg>", "<select><option>one<option>two</select>",
    "<textarea>\n\nlines</textarea>", "<input type=checkbox>", "<form><li><input type=checkbox>box</li></form>",
    "<pre>\n\ncode  </pre>", "<annotation>never</annotation>", "<map><area href=/a></map>", "<canvas>c</canvas>",
    "<nav>menu</nav>", "<nav><main>in a menu</main></nav>", "<header>head</header>", "<footer>foot</footer>",
    "<aside>side</aside>",
    "<section><header>kept</header></section>", "<div role=BANNER>b</div>", "<div role='main'>m</div>", "<menu><li>x</menu>",
    "<div itemprop=articleBody>body</div>", f"<article>{STORY}</article>", f"<main>{STORY}</main>",
    f"<article>{STORY * 3}</article>",
    "<div role=dialog><article>in a dialog</article></div>", "<header role=main>h</header>",
)  # fmt: skip
_LEFT = (
    "<math><mi>x</mi></math>", "<script type='Math/TeX; mode=display'>x</script>", "<object data=/o></object>",
    "<embed src=/e>",
    "<ul><li><input type=checkbox checked> done</li></ul>", "<form><li><input type=checkbox disabled>box</li></form>",
)  # fmt: skip


def seen_both_ways(html: str) -> bool:
    """Holds the two to each other; whether compiled code did it all."""
    assert SEER is not None
    source = html.encode("utf-8", "replace")
    if PARSER(source, len(source)) != 0 or not SEER.drop_unseen():
        return False
    tree = dom.parse(source.decode())
    prepare(tree)
    drop_unseen(tree)
    body = dom.body(tree)
    assert body is not None
    assert SEER.choose_body() == (dom.serialised(body), len(dom.all_elements(body)))
    found, chosen = SEER.choose_plainly(), plain_content(body)
    if found is None:
        return False
    assert chosen is not None
    (node,), rung = chosen
    assert isinstance(node, dom.Element)
    assert (held("page_as_html"), found) == (dom.serialised(node), rung)
    return True


@pytest.mark.parametrize("part", _PARTS)
def test_a_part_is_seen_alike(part: str) -> None:
    assert seen_both_ways(f"<title>t</title><body><main><h1>Title</h1>{STORY}{part}{STORY}</main></body>")
    seen_both_ways(f"<title>t</title><body><h1>Title</h1>{part}</body>")
    seen_both_ways(f"<body>{part}{part}")


@pytest.mark.parametrize("part", _LEFT)
def test_what_only_the_trees_way_keeps_is_left_to_it(part: str) -> None:
    assert not seen_both_ways(f"<body><main><h1>Title</h1>{STORY}{part}{STORY}</main></body>")


def test_generated_pages_are_seen_alike() -> None:
    rng = random.Random(11)
    done = [seen_both_ways(_grown(rng)) for _ in range(1200)]
    assert sum(done) > 600  # task boxes, and pages that are nearly all hidden, are left to the tree


def _grown(rng: random.Random) -> str:
    def parts(depth: int) -> str:
        made = []
        for _ in range(rng.randint(1, 5)):
            inner = parts(depth - 1) if depth and rng.random() < 0.4 else rng.choice(_PARTS)
            tag = rng.choice(
                ("div", "section", "article", "main", "nav", "header", "aside", "p", "li", "h2", "noscript", "form", "button")
            )
            hiding = rng.choice(
                ("", "", "", " hidden", " style='display:none'", " aria-hidden=true", " role=main", " class=panel")
            )
            made.append(f"<{tag}{hiding}>{inner}</{tag}>" if rng.random() < 0.5 else inner)
        return "".join(made)

    return f"<html><head><title>t</title><noscript><img src=/h></noscript></head><body>{STORY}{parts(3)}</body></html>"


@pytest.mark.skipif(not CORPUS.exists(), reason="the corpus is not here")
def test_real_pages_are_seen_alike() -> None:
    done = [seen_both_ways(page.html) for page in islice(corpus(), 0, 400, 4)]
    assert sum(done) > 0.85 * len(done)
