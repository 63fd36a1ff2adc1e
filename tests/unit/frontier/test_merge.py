import random

from sitelore.frontier.waves import merge
from sitelore.model.frontier import KeptPage, Merge
from sitelore.model.states import Proof
from sitelore.model.url import Url

A, B, C = Url("http://a/a"), Url("http://a/b"), Url("http://a/c")


def test_equal_content_merges_into_the_smallest_seq() -> None:
    pages = [KeptPage(B, 5, "h"), KeptPage(A, 2, "h"), KeptPage(C, 9, "other")]
    assert merge(pages) == (Merge(B, A, Proof.EQUAL_CONTENT),)


def test_the_canonical_target_is_the_page_even_when_it_came_later() -> None:
    pages = [KeptPage(A, 1, "h", canonical=B), KeptPage(B, 7, "h", canonical=B), KeptPage(C, 9, "h")]
    assert merge(pages) == (Merge(A, B, Proof.CANONICAL), Merge(C, B, Proof.EQUAL_CONTENT))


def test_a_canonical_link_alone_proves_nothing() -> None:
    assert merge([KeptPage(A, 1, "front"), KeptPage(B, 2, "story", canonical=A), KeptPage(C, 3, "shop", canonical=A)]) == ()


def test_a_canonical_link_that_agrees_merges() -> None:
    pages = [KeptPage(A, 1, "h1"), KeptPage(B, 2, "h2", canonical=A)]
    assert merge(pages, agreed={(B, A)}) == (Merge(B, A, Proof.CANONICAL),)


def test_a_canonical_link_to_a_page_that_names_a_third_is_not_believed() -> None:
    pages = [KeptPage(A, 1, "h1", canonical=C), KeptPage(B, 2, "h2", canonical=A)]
    assert merge(pages, agreed={(B, A)}) == ()


def test_chains_of_merges_end_at_one_page() -> None:
    pages = [KeptPage(A, 1, "h"), KeptPage(B, 2, "h"), KeptPage(C, 3, "x", canonical=B)]
    assert merge(pages, agreed={(C, B)}) == (Merge(B, A, Proof.EQUAL_CONTENT), Merge(C, A, Proof.CANONICAL))


def test_two_pages_that_name_each_other_end_as_one() -> None:
    pages = [KeptPage(A, 1, "h", canonical=B), KeptPage(B, 2, "h", canonical=A)]
    assert merge(pages) == (Merge(B, A, Proof.EQUAL_CONTENT),)


def test_what_the_sites_options_call_one_address_is_one_page() -> None:
    pages = [KeptPage(A, 1, "h1", identity="x"), KeptPage(B, 2, "h2", identity="x"), KeptPage(C, 3, "h2", identity="y")]
    assert merge(pages) == (Merge(B, A, Proof.IDENTITY),)


def test_pages_without_text_never_merge() -> None:
    assert merge([KeptPage(A, 1, ""), KeptPage(B, 2, "")]) == ()


def test_the_order_of_pages_never_matters() -> None:
    rng = random.Random(7)
    for _ in range(200):
        urls = [Url(f"http://a/{i}") for i in range(8)]
        pages = [KeptPage(u, i, rng.choice("xyz"), rng.choice([None, None, *urls])) for i, u in enumerate(urls)]
        agreed = {(p.url, p.canonical) for p in pages if p.canonical and rng.random() < 0.5}
        expected = merge(pages, agreed)
        rng.shuffle(pages)
        assert merge(pages, agreed) == expected
        gone = {m.url for m in expected}
        assert all(m.into not in gone for m in expected)
