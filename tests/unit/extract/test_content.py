import collections
import json
import lzma
import re

import pytest
from tests.support.corpora import corpus

from sitelore.model.document import ReadOptions
from sitelore.model.settings import Overrides

from .conftest import ReadPage

FRAME = (
    "<header><a href=/>Logo</a></header><nav>Menu one two</nav>{}<aside>Aside text</aside>"
    "<div class='cookie-banner'>We use cookies</div><footer>Footer text</footer>"
)
STORY = "<h1>Story</h1><p>" + "A sentence of the story. " * 12 + "</p>"


SOCIAL = "<meta property=og:title content=Story>"


@pytest.mark.parametrize(("head", "strategy"), [("", "documentation"), (SOCIAL, "learned")])
@pytest.mark.parametrize(
    "marked",
    [
        f"<article><header>{STORY}</header></article>",
        f"<main>{STORY}</main>",
        f"<div role=main>{STORY}</div>",
        f"<div class=entry-content>{STORY}</div>",
        f"<div>{STORY}</div>",
    ],
)
def test_the_page_frame_is_cut_and_the_content_is_kept(read_page: ReadPage, marked: str, head: str, strategy: str) -> None:
    page = read_page(head + FRAME.format(marked))
    assert page.document["strategy"] == strategy
    assert page.markdown.startswith("# Story\n\nA sentence")
    assert page.markdown.count("Story\n") == 1
    assert page.text.count("A sentence of the story.") == 12
    for word in ("Menu", "Aside", "cookies", "Footer", "Logo"):
        assert word not in page.text


def test_a_page_of_links_keeps_those_that_are_not_navigation(read_page: ReadPage) -> None:
    links = " ".join(f"<a href=/{number}>Link {number}</a>" for number in range(40))
    page = read_page(f"<nav>{links}</nav><main><p>Three short words</p></main>")
    assert (page.text, page.document["strategy"]) == ("Three short words", "documentation")


def test_selectors_of_the_domain_config_take_precedence(read_page: ReadPage) -> None:
    body = FRAME.format("<main>Main</main><div class=x>Wanted <i class=ad>ad</i></div><div class=x>Also</div>")
    rules = Overrides("site.example", ("p..bad[", ".none", ".x"), (".ad", "also bad["))
    page = read_page(body, options=ReadOptions(overrides=(Overrides("other.example", ("nav",)), rules)))
    assert (page.text, page.document["strategy"]) == ("Wanted\nAlso", "override")
    sub = read_page(body, url="http://www.site.example/", options=ReadOptions(overrides=(rules,)))
    assert sub.document["strategy"] == "override"
    foreign = read_page(body, url="http://notsite.example/", options=ReadOptions(overrides=(rules,)))
    assert foreign.document["strategy"] != "override"


@pytest.mark.parametrize(
    "hidden",
    [
        "<div style='color:red; DISPLAY : none'>secret words</div>",
        "<p hidden>secret words</p>",
        "<p hidden=until-found>secret words</p>",
        "<span aria-hidden=true>secret words</span>",
        "<p style='visibility:hidden'>secret words</p>",
        "<p style='font-size:0px'>secret words</p>",
        "<!-- secret words -->",
        "<template>secret words</template><script>secret words</script><style>secret words</style>",
        "<textarea>secret words</textarea><select><option>secret words</select><dialog>secret words</dialog>",
        "<noscript>secret words</noscript>",
        "<p title='secret words' data-x='secret words'></p>",
    ],
)
def test_hidden_text_and_comments_never_appear(read_page: ReadPage, hidden: str) -> None:
    page = read_page(f"<main><p>The office opens at 9.</p>{hidden}</main>")
    assert "opens at 9" in page.markdown
    assert "secret" not in json.dumps(page.document)


@pytest.mark.parametrize(
    "body",
    [
        "<nav>only this</nav>",
        "<div class=menu>only this</div>",
        "<main></main><footer>only this</footer>",
        "<header><h1>only this</h1></header>",
        "<article> </article>only this",
        "<body hidden style='display:none'>only this",
        "only this",
    ],
)
def test_a_page_with_visible_text_is_never_empty(read_page: ReadPage, body: str) -> None:
    assert "only this" in read_page(body).text


def test_a_thread_served_to_readers_without_scripts_is_read(read_page: ReadPage) -> None:
    thread = "<p>A post of the thread. </p>" * 20
    assert "A post of the thread" in read_page(f"<div id=app></div><noscript>{thread}</noscript>").text


@pytest.mark.parametrize(
    "frame", ["<iframe src=/tag width=0 />", "<iframe src='/tag'>", "<IFRAME src=/tag style='display:none'>\n"]
)
@pytest.mark.parametrize("place", ["<head>{}</head><body>", "<body>{}"])
def test_a_frame_that_is_not_closed_within_noscript_hides_nothing_after_it(read_page: ReadPage, place: str, frame: str) -> None:
    story = "".join(f"<p>Leaf number {number} of the tea is dried in the sun for a day.</p>" for number in range(30))
    head = place.format(f"<noscript>{frame}</noscript>")
    page = read_page(f"<html>{head}<main><h1>Tea</h1><a href=/more>More</a>{story}</main></html>")
    assert "Leaf number 29" in page.text
    assert [link["url"].rpartition("/")[2] for link in page.document["links"]] == ["more"]


def test_the_page_itself_is_not_taken_for_hidden_where_a_script_shows_it_when_it_is_loaded(read_page: ReadPage) -> None:
    story = "".join(f"<p>Leaf number {number} of the tea is dried in the sun for a day.</p>" for number in range(30))
    menus = "".join(f"<div style='display:none' class=menu>{f'<a href=/{n}>Kind {n} of tea</a> ' * 40}</div>" for n in range(9))
    shut = "<div style='display: none' class=wrapper>"
    notice = "<p>We use cookies for your settings and to count our visitors, as the law of your country lets us.</p>" * 9
    page = read_page(f"<body>{menus}{shut}<h1>Tea</h1>{story}</div><footer>{notice}</footer></body>")
    assert "Leaf number 7" in page.text
    assert "Kind 3" not in page.text
    beside = read_page(f"<body><h1>Tea</h1>{story}{shut}<h1>Coffee</h1>{story.replace('tea', 'coffee')}</div></body>")
    assert "of the coffee" not in beside.text


def test_main_content_of_real_pages_keeps_its_floor(read_page: ReadPage) -> None:
    word = re.compile(r"\w+")
    scores = []
    with lzma.open(corpus("content/wcxb_dev.jsonl.xz"), "rt") as lines:
        for number, line in enumerate(lines):
            if number % 5:
                continue  # the corpus is in order of type: every fifth page has all of them
            row = json.loads(line)
            ours = collections.Counter(word.findall(read_page(row["html"]).text.lower()))
            gold = collections.Counter(word.findall(row["gold"].lower()))
            shared = (ours & gold).total()
            scores.append(2 * shared / (ours.total() + gold.total()) if shared else 0.0)
    print(f"word F1 {sum(scores) / len(scores):.3f} over {len(scores)} pages")
    assert sum(scores) / len(scores) >= 0.81


def test_collapsed_text_is_cut_unless_it_is_nearly_the_whole_page(read_page: ReadPage) -> None:
    story = "".join(f"<p>Leaf number {number} of the tea is dried in the sun for a day.</p>" for number in range(30))
    shut = "<div style='height:0;overflow:hidden'>"
    beside = read_page(f"<body><main><h1>Tea</h1>{story}{shut}<p>Buy cheap watches now.</p></div></main></body>")
    within = read_page(f"<body><main><h1>Tea</h1>{shut}{story}</div></main></body>")
    assert "cheap watches" not in beside.text
    assert "Leaf number 7" in beside.text
    assert "Leaf number 7" in within.text
