"""Actions, landmarks and media of a page."""

from __future__ import annotations

from typing import Any

import pytest

from sitelore.extract import dom
from sitelore.extract.dom import Selectors
from sitelore.extract.page_objects.actions import EXACT, MAX_LABEL_CHARS, OPENINGS, candidate_labels, may_name_action

from .conftest import ReadPage


def actions(read_page: ReadPage, html: str) -> list[dict[str, Any]]:
    return list(read_page(html).document["actions"])


def test_a_declared_action_has_its_parameters_and_a_stable_selector(read_page: ReadPage) -> None:
    [action] = actions(
        read_page,
        "<main><button id=buy class='css-1a2b3c' data-action=product.addToCart data-product-id=42 data-testid=x"
        """ data-action-params='{"size": "m", "count": 2}' data-csrf-token=abc>Add it</button></main>""",
    )
    assert (action["name"], action["source"], action["confidence"]) == ("product.addToCart", "declared", 1.0)
    assert (action["selector"], action["role"], action["label"], action["zone"]) == ("button#buy", "button", "Add it", "main")
    assert action["params"] == {"productId": "42", "size": "m", "count": 2}


def test_parameters_may_be_written_as_pairs(read_page: ReadPage) -> None:
    first, second, third = actions(
        read_page,
        "<a href=/x data-action=a data-action-params='id=3&size=m'>1</a>"
        "<i data-action=b data-action-params='id: 3, size: m'>2</i><i data-action=c data-action-params=plain>3</i>",
    )
    assert third["params"] == {"value": "plain"}
    assert first["params"] == second["params"] == {"id": "3", "size": "m"}
    assert (first["url"], "url" in second) == ("http://site.example/x", False)


def test_a_stimulus_descriptor_names_its_actions(read_page: ReadPage) -> None:
    html = "<form><input data-action='input->search#update keydown.enter->search#go' data-search-url-param=/s></form>"
    first, second = actions(read_page, html)
    assert (first["name"], first["event"], first["params"]) == ("search.update", "input", {"url": "/s"})
    assert (second["name"], second["event"]) == ("search.go", "keydown.enter")
    assert first["form"] == "body > form"


def test_links_and_buttons_that_read_like_actions_are_candidates(read_page: ReadPage) -> None:
    candidates = actions(
        read_page,
        "<header><nav><a href=/login>Sign in</a><a href=/cart aria-label=Cart><svg></svg></a></nav></header><main>"
        "<p>You can <a href=/story>sign in to history with this story</a>.</p><button>Add to basket</button>"
        "<a href='mailto:info@site.example?subject=x'>Write</a><a href=tel:+4912345>Call</a><a href='#'>Log out</a>"
        "<a href=/f.zip download>Archive</a><div role=button>Subscribe</div><form><button>Buy now</button></form></main>",
    )
    by_name = {action["name"]: action for action in candidates}
    assert set(by_name) == {
        "account.sign_in", "cart.view", "cart.add", "contact.email", "contact.phone", "account.sign_out", "file.download",
        "newsletter.subscribe", "order.buy",
    }  # fmt: skip
    assert all(action["source"] == "candidate" and action["confidence"] <= 0.6 and action["evidence"] for action in candidates)
    assert (by_name["account.sign_in"]["url"], by_name["account.sign_in"]["zone"]) == (
        "http://site.example/login",
        "navigation",
    )
    assert by_name["contact.email"]["url"] == "mailto:info@site.example"
    assert by_name["order.buy"]["form"] == "main > form"
    assert by_name["newsletter.subscribe"]["role"] == "button"


def test_a_declared_action_is_not_also_a_candidate(read_page: ReadPage) -> None:
    [action] = actions(read_page, "<button data-action=cart.add>Add to cart</button>")
    assert action["source"] == "declared"


@pytest.mark.parametrize(
    "html",
    [
        "<a data-action='x'>y</a>" * 5000,
        "<a href=/%d>Sign in</a>" * 3000,
        "<b data-action='" + "a#b " * 4000 + "'>x</b>",
        "<b data-action=x data-action-params='" + "[" * 3000 + "'>x</b>",
        '<b data-action=x data-action-params=\'{"a":' + '{"a":' * 60 + "1" + "}" * 61 + "'>x</b>",
        "<b data-action=x " + " ".join(f"data-p{n}=1" for n in range(2000)) + ">x</b>",
        "<b data-action=' '>x</b><b data-action>y</b>",
    ],
)
def test_odd_actions_are_read_within_bounds(read_page: ReadPage, html: str) -> None:
    result = actions(read_page, html)
    assert len(result) <= 220
    assert len(str(result)) < 500_000


def test_landmarks_are_named_by_the_elements_they_refer_to(read_page: ReadPage) -> None:
    page = read_page(
        "<nav aria-labelledby='t u'><h2 id=t>Site</h2><b id=u>menu</b></nav><section aria-labelledby=none><p>x</section>"
        "<section aria-labelledby=t><p>x</section><form title=Find></form><aside aria-label=More></aside>"
    )
    assert [(mark["role"], mark["label"]) for mark in page.document["landmarks"]] == [
        ("navigation", "Site menu"),
        ("region", "Site"),
        ("form", "Find"),
        ("complementary", "More"),
    ]


def media(read_page: ReadPage, html: str) -> dict[str, dict[str, Any]]:
    return {one["url"]: one for one in read_page(html).document["media"]}


def test_pictures_have_their_alt_caption_and_size(read_page: ReadPage) -> None:
    images = media(
        read_page,
        "<figure><img src=/a.png alt='A  cat' width=300 height=200px><figcaption>The cat</figcaption></figure><img src=/a.png>"
        "<img src=data:image/gif;base64,R0 data-src=../lazy.jpg><img src=/p.gif width=1 height=1>"
        "<div style=\"color: red; background-image: url('/bg.webp')\"></div><img src='https://cdn.example/x/../y.png'>",
    )
    assert images["http://site.example/a.png"] == {
        "type": "image",
        "url": "http://site.example/a.png",
        "width": 300,
        "height": 200,
        "alt": "A cat",
        "caption": "The cat",
    }
    assert list(images) == [
        "http://site.example/a.png",
        "http://site.example/lazy.jpg",
        "https://cdn.example/y.png",
        "http://site.example/bg.webp",
    ]


def test_an_image_seen_before_has_the_url_of_the_current_page(read_page: ReadPage) -> None:
    html = "<img src=near.png alt=Near><img src=/root.png><img src='https://cdn.example/far.png' width=9>"
    for url in ("http://site.example/a/", "http://site.example/b/", "http://other.example/b/"):
        urls = [image["url"] for image in read_page(html, url=url).document["media"]]
        assert urls == [
            f"{url}near.png",
            f"{url.removesuffix('a/').removesuffix('b/')}root.png",
            "https://cdn.example/far.png",
        ]
    chosen = "<picture><source srcset='/{0}.png'><img alt=one></picture>"
    for name in ("large", "small"):
        assert list(media(read_page, chosen.format(name))) == [f"http://site.example/{name}.png"]


def test_labels_are_prefiltered_by_their_first_characters() -> None:
    labels = [*EXACT, *(f"» {label.upper()} →" for label in EXACT), "Sign in to read", "Download", "", "About us", "x" * 61]
    candidates = [
        at for at, label in enumerate(labels) if len(label) <= MAX_LABEL_CHARS and (not label or may_name_action(label))
    ]
    assert candidate_labels(labels) == candidates
    assert len(candidates) == len(labels) - 2


def test_a_label_may_begin_in_any_case() -> None:
    first = {label[0]: label for label in (*EXACT, *OPENINGS)}
    letters = [letter for letter in map(chr, range(0x11_0000)) if letter.lower() in first]
    labels = [letter + first[letter.lower()][1:] for letter in letters]
    assert "\u212a" in letters
    assert candidate_labels(labels) == list(range(len(labels)))


@pytest.mark.parametrize(
    "html",
    [
        "<main><p>a</p><p><button>b</button><button>c</button></p></main>",
        "<div><a[1]><i>x</i></a[1]><a>y</a><a>z</a></div>",
        '<div><o:p>x</o:p><a"b>y</a"b><o:p><i>q</i><i>r</i></o:p></div>',
        "<svg><g><foreignObject><p>x<p>y</foreignObject></g><g></g></svg>",
        "<section><div id=a><i>x</i></div><div id=a><i>y</i></div><div id='b c'><i>z</i></div></section>",
        "<table><form><tr><td><input><td><input></form></table>",
    ],
)
def test_a_selector_finds_its_element_again(html: str) -> None:
    tree = dom.parse(html)
    body = dom.body(tree)
    assert body is not None
    selectors = Selectors(tree)
    for element in dom.all_elements(body):
        assert dom.select(tree, selectors.of(element))[0] == element


@pytest.mark.parametrize("depth", [200, 200_000])
def test_an_element_that_is_nested_too_deep_has_no_selector(depth: int) -> None:
    tree = dom.parse("<main>" + "<div>" * depth + "<button>x</button>")
    [button] = dom.select(tree, "button")
    assert Selectors(tree).of(button) == ""


def test_the_selector_of_a_deep_element_starts_at_a_near_ancestor() -> None:
    tree = dom.parse("<main>" + "<div>" * 200 + "<p id=near><b>1</b><b>2</b>")
    selectors = Selectors(tree)
    paths = [selectors.of(element) for element in dom.select(tree, "b")]
    assert paths == ["p#near > b:nth-of-type(1)", "p#near > b:nth-of-type(2)"]


def test_players_and_files_are_media(read_page: ReadPage) -> None:
    items = media(
        read_page,
        "<video poster=/p.jpg title=Tour width=640><source src=/v.mp4 type=video/mp4><source src=/v.webm>"
        "<track src=/en.vtt srclang=en></video><audio src=/s.mp3></audio>"
        "<iframe src=https://www.youtube-nocookie.com/embed/dQw4w9WgXcQ title=Clip></iframe>"
        "<iframe src=https://ads.example/x></iframe><a href='/doc.PDF?v=2'>The paper</a>"
        "<a href=/sheet.xlsx type=x/y>Data</a><a href=/page.pdfs>no</a>",
    )
    video = items["http://site.example/v.mp4"]
    assert (video["type"], video["poster"], video["title"]) == ("video", "http://site.example/p.jpg", "Tour")
    assert video["also"] == ["http://site.example/v.webm"]
    assert video["tracks"] == [{"url": "http://site.example/en.vtt", "kind": "subtitles", "lang": "en"}]
    clip = items["https://www.youtube-nocookie.com/embed/dQw4w9WgXcQ"]
    assert (clip["type"], clip["provider"], clip["id"], clip["title"]) == ("video", "youtube", "dQw4w9WgXcQ", "Clip")
    paper = items["http://site.example/doc.PDF?v=2"]
    assert (paper["type"], paper["format"], paper["title"]) == ("document", "pdf", "The paper")
    assert [one["type"] for one in items.values()] == ["video", "audio", "video", "document", "document"]
