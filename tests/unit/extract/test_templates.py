"""What one template wrote stays or goes together; prices stay with their items, and figures with the text around them."""

from __future__ import annotations

import pytest

from .conftest import ReadPage
from .scored import PROSE, SENTENCES, scored

HEAD = "<meta property=og:site_name content='The Valley Post'>"
REPLIES = ("Agreed.", "It was the railway, they say, that took the water away.", "Thanks!", "No idea, ask the church.")


def thread(post: str) -> str:
    return "".join(post.format(n=n, text=text) for n, text in enumerate(REPLIES))


@pytest.mark.parametrize(
    "post",
    [
        "<div class=post id=post-{n}><div class=meta>user{n}</div><div class=body>{text}</div></div>",
        "<li class=comment><b>user{n}</b><p>{text}</p></li>",
        "<article class='reply reply-{n}'><header>user{n}</header><p>{text}</p></article>",
        "<div><div>user{n}</div><div>{text}</div></div>",
    ],
)
def test_the_replies_of_a_thread_stay_or_go_together(post: str) -> None:
    page = scored(f"<h1>The old mill</h1><div>{PROSE}</div><div id=thread>{thread(post)}</div>")
    low = {"Agreed.": 0.1, "Thanks!": 0.05}
    assert set(REPLIES) <= set(page.kept(page.select(low)))
    assert not set(REPLIES) & set(page.kept(page.select(dict.fromkeys(REPLIES, 0.05) | {"Agreed.": 0.9})))


def test_the_same_part_of_each_card_stays_or_goes() -> None:
    cards = "".join(
        f"<div class=card><h3>Mill number {n}</h3><div class=by>by author {n}</div><p>{SENTENCES[n]}</p></div>"
        for n in range(5)
    )
    page = scored(f"<h1>Mills</h1><div>{cards}</div>")
    bylines = [f"by author {n}" for n in range(5)]
    assert not set(bylines) & set(page.kept(page.select(dict.fromkeys(bylines, 0.05) | {"by author 3": 0.8})))
    assert set(bylines) <= set(page.kept(page.select({"by author 3": 0.2})))


def test_an_advertisement_between_cards_goes_without_them() -> None:
    cards = [f"<li class=item><h3>Mill number {n}</h3><p>{SENTENCES[n]}</p></li>" for n in range(5)]
    for advertisement in (
        "<li class='item ad'>Buy watches today</li>",
        "<li class=item><div class=sponsored>Buy watches today</div></li>",
    ):
        page = scored(f"<h1>Mills</h1><ul>{''.join(cards[:3])}{advertisement}{''.join(cards[3:])}</ul>")
        kept = page.kept(page.select({"Buy watches today": 0.05}))
        assert kept == [text for text in page.texts() if text != "Buy watches today"]


def test_paragraphs_are_still_judged_one_by_one() -> None:
    page = scored(f"<article>{PROSE}<p>Subscribe to our letter for more of these stories</p></article>")
    selection = page.select({"Subscribe to our letter for more of these stories": 0.01})
    assert page.kept(selection) == list(SENTENCES)


PRICES = [
    "<p class=price><span itemprop=price content=24>$24.00</span></p>",
    "<div>24,00 €</div>",
    "<form><div class=buy-box><div>Sale price</div><div>£24</div></div><div>Add to cart now</div></form>",
]


@pytest.mark.parametrize("price", PRICES)
def test_the_price_of_a_product_that_is_kept_is_kept(price: str) -> None:
    page = scored(
        f"<div class=cart><div>Total $0.00</div></div><main><div><h1>A mill of oak</h1>{price}</div><div>{PROSE}</div></main>"
        "<div class=related><div class=item><a href=/1>A mill of elm</a><div>$99.00</div></div></div>"
    )
    amounts = {text for text in page.texts() if any(sign in text for sign in "$€£")}
    low = dict.fromkeys([*amounts, "Sale price", "Add to cart now", "A mill of elm"], 0.02)
    kept = page.kept(page.select(low))
    assert amounts & set(kept) == amounts - {"Total $0.00", "$99.00"}
    assert ("Sale price" in kept) == ("Sale price" in price)
    assert "Add to cart now" not in kept


@pytest.mark.parametrize("price", PRICES)
def test_every_card_that_is_kept_has_its_price(price: str) -> None:
    cards = "".join(f"<li class=card><h3><a href=/{n}>A mill of oak, number {n}</a></h3>{price}</li>" for n in range(20))
    page = scored(f"<main><h1>All mills</h1><p>{SENTENCES[0]}</p><ul>{cards}</ul></main>")
    amounts = [text for text in page.texts() if any(sign in text for sign in "$€£")]
    low = dict.fromkeys([*amounts, "Sale price", "Add to cart now"], 0.02)
    kept = page.kept(page.select(low))
    assert [text for text in kept if text in amounts] == amounts
    names = [f"A mill of oak, number {n}" for n in range(20)]
    assert not set(amounts) & set(page.kept(page.select(low | dict.fromkeys(names, 0.01))))


def test_an_amount_far_below_the_title_is_not_taken_for_the_price_of_an_article() -> None:
    page = scored(f"<main><h1>The old mill</h1>{PROSE}<div>Only $1 a week</div></main>")
    assert "Only $1 a week" not in page.kept(page.select({"Only $1 a week": 0.02}))


@pytest.mark.parametrize(
    "figure",
    [
        "<figure><img src=a.jpg><figcaption>{}</figcaption></figure>",
        "<div class=wp-caption><img src=a.jpg><p class=wp-caption-text>{}</p></div>",
        "<div class=gallery>" + "<figure><img src=a.jpg><figcaption>{}</figcaption></figure>" * 3 + "</div>",
    ],
)
def test_a_figure_between_kept_paragraphs_stays_with_its_caption(figure: str) -> None:
    caption = "The mill in 1912, before the flood."
    half = len(SENTENCES) // 2
    parts = ["".join(f"<p>{text}</p>" for text in texts) for texts in (SENTENCES[:half], SENTENCES[half:])]
    page = scored(f"<article><h1>The old mill</h1>{figure.format(caption, caption, caption).join(parts)}</article>")
    assert caption in page.kept(page.select({caption: 0.02}))


def test_a_figure_among_dropped_text_goes_with_it() -> None:
    cards = "".join(
        f"<figure><a href=/{n}><img src={n}.jpg></a><figcaption>The next mill, {n}</figcaption></figure>" for n in range(3)
    )
    page = scored(
        f"<article><h1>The old mill</h1>{PROSE}</article><div class=related><p>More mills</p>{cards}<p>All mills</p></div>"
    )
    low = dict.fromkeys(["More mills", "All mills", *(f"The next mill, {n}" for n in range(3))], 0.02)
    assert page.kept(page.select(low)) == ["The old mill", *SENTENCES]


@pytest.mark.parametrize("post", ["<div class=post>{}</div>", "<div class='comment reply'>{}</div>", "<article>{}</article>"])
@pytest.mark.parametrize("text", ["<p>{0}</p>{1}", "{1}<p>{0}</p>", "<p>{0}</p><div class=code>{1}</div>"])
def test_a_long_log_stays_with_the_text_beside_it(post: str, text: str) -> None:
    log = " ".join(["12:01:07 ERROR mill.wheel stopped 0x7f3a"] * 60)
    content = text.format("This is part of the log, I hope it is enough.", f"<pre><code>{log}</code></pre>")
    page = scored(f"<h1>The wheel stops</h1><div>{PROSE}</div>{post.format(content)}<div class=ad><pre>Ad: {log}</pre></div>")
    assert [each for each in page.kept(page.select({log: 0.01, f"Ad: {log}": 0.01})) if "ERROR" in each] == [log]


def test_the_price_of_a_product_page_is_in_its_markdown(read_page: ReadPage) -> None:
    menu = "<nav><a href=/a>Shop</a> <a href=/b>Sale</a></nav>"
    page = read_page(
        f"{HEAD}<title>A mill of oak</title>{menu}<main><div class=product><h1>A mill of oak</h1>"
        "<div class=product-price><span class=amount>$24.00</span></div><form class=cart><button>Add to cart</button></form>"
        f"<div class=description>{PROSE}</div></div></main><footer>© 2024 Mills</footer>"
    )
    assert "$24.00" in page.markdown
