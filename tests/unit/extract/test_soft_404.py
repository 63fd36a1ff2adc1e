import pytest

from sitelore.extract.text import fingerprint, soft_404_score
from sitelore.model.document import SKETCH_SIZE, similarity
from sitelore.model.url import Url

from .conftest import ReadPage

ADDRESS = Url("http://site.example/some/lost-thing")


def test_a_short_page_with_a_not_found_text_is_a_soft_404_candidate(read_page: ReadPage) -> None:
    body = (
        "<title>Page Not Found</title><main><h1>Page Not Found</h1><p>Sorry, the page you requested could not be found (404)."
    )
    assert read_page(body).reading.looks_missing >= 0.9


@pytest.mark.parametrize(
    "title",
    [
        "404", "404 Not Found", "Error 404 | ACME", "Seite nicht gefunden - ACME", "Page introuvable", "Página no encontrada",
        "Pagina non trovata", "Página não encontrada", "Pagina niet gevonden", "Nie znaleziono strony", "Страница не найдена",
        "ページが見つかりません", "页面不存在", "페이지를 찾을 수 없습니다", "Sidan hittades inte", "Sayfa bulunamad\u0131",
    ],
)  # fmt: skip
def test_not_found_is_understood_in_many_languages(title: str) -> None:
    assert soft_404_score(title, "", "", 0) >= 0.9


@pytest.mark.parametrize(
    ("title", "h1", "text", "words"),
    [
        ("How to fix a 404 page not found error", "How to fix a 404 page not found error", "Check the address. " * 300, 900),
        ("How to fix a 404 page not found error", "Fixing it", "Check the address. " * 10, 30),
        ("Room 404", "Room 404", "A room with a view.", 5),
        ("Peugeot 404 - ACME", "", "A car of the sixties.", 5),
        ("Contact", "Contact", "Call us at 555-404-1234.", 4),
        ("Home", "Welcome", "", 0),
    ],
)
def test_pages_with_content_are_not_soft_404_candidates(title: str, h1: str, text: str, words: int) -> None:
    assert soft_404_score(title, h1, text, words) < 0.5


def test_a_not_found_text_in_a_short_body_is_weaker_evidence() -> None:
    score = soft_404_score("ACME", "Oops!", "We can't find the page you are looking for.", 9)
    assert 0.5 <= score < 0.9


def test_error_pages_of_one_site_have_one_fingerprint() -> None:
    text = "Oops. We looked for {} everywhere but it is not on this server. Try the search or go back to the home page. Ref {}."
    one = fingerprint("Not here", text.format("lost thing", 17), ADDRESS)
    other = fingerprint("Not here", text.format("zq81xv", 4411), Url("http://site.example/zq81xv"))
    assert similarity(one, other) >= 0.8
    article = fingerprint(
        "Bread", "Mix flour with water and salt, then wait. Bake it in a hot oven until it sounds hollow.", ADDRESS
    )
    assert similarity(one, article) <= 0.1


def _words(count: int) -> str:
    return " ".join(f"word{chr(97 + i % 26)}{chr(97 + i // 26 % 26)}" for i in range(count))


def test_pages_that_may_be_error_pages_have_a_fingerprint(read_page: ReadPage) -> None:
    short = read_page(f"<p>{_words(250)}").reading.fingerprint
    assert len(short) == SKETCH_SIZE
    assert list(short) == sorted(short)
    # Three pairs of words: the title, and the text, which begins with the title.
    assert len(read_page("<title>T</title><p>two words").reading.fingerprint) == 3
    assert read_page("").reading.fingerprint == ()
    says_so = read_page(f"<title>Page not found</title><p>{_words(400)}").reading
    assert says_so.looks_missing >= 0.3
    assert len(says_so.fingerprint) == SKETCH_SIZE
    assert read_page(f"<title>Words</title><p>{_words(400)}").reading.fingerprint == ()


def test_similarity_is_exact_for_small_sketches() -> None:
    assert similarity((1, 2, 3), (1, 2, 3)) == 1.0
    assert similarity((1, 2), (2, 3)) == pytest.approx(1 / 3)
    assert similarity((), (1,)) == 0.0
    assert similarity((), ()) == 0.0
