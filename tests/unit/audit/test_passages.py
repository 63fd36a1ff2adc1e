"""Passages that pages have in common, topics of sections, and what compression of media saves."""

from __future__ import annotations

from sitelore.audit.insights.media import media_savings
from sitelore.audit.insights.topics import TopicCounts, terms_of
from sitelore.audit.passages import Passages, paragraphs
from sitelore.model.audit.findings import MediaFile

from .sites import BASE, audit, html

LONG = "The mill stands at the river and grinds the grain of the whole valley, as it did for three hundred years before. " * 2


def test_a_paragraph_of_many_pages_is_known_with_its_pages() -> None:
    passages = Passages()
    for page in range(6):
        passages.add(page, f"Page {page}\n{LONG if page != 3 else 'Something else'}\n{LONG}")
    passages.add(6, "short\nlines")
    [repeated] = passages.repeated(5, 10)
    assert repeated.pages == (0, 1, 2, 3, 4, 5)
    assert dict(paragraphs(LONG))[repeated.digest] == LONG.strip()
    assert passages.repeated(7, 10) == []
    assert Passages().repeated(1, 10) == []


def test_topics_are_the_words_that_distinguish_a_section() -> None:
    topics = TopicCounts()
    for number in range(10):
        topics.add(
            "/mills/", terms_of("The water wheel", ["Water wheel repair"], f"The valley has water wheels, number {number}.")
        )
        topics.add("/bread/", terms_of("Rye bread", ["Sour dough", "Rye bread"], "The valley bakes rye bread with sour dough."))
    by_name = {each.section: [phrase for phrase, _ in each.phrases] for each in topics.sections()}
    assert by_name["/mills/"][0] == "water wheel"
    assert "sour dough" in by_name["/bread/"]
    assert not {"valley", "the"} & {phrase for phrases in by_name.values() for phrase in phrases}
    assert [each.pages for each in topics.sections()] == [10, 10]


def test_media_savings_add_up_and_name_what_no_page_shows() -> None:
    images = "<img src=/a.png alt=A width=100 height=100><img src=/b.png width=600 height=400>"
    files = {
        f"{BASE}/a.png": MediaFile(f"{BASE}/a.png", detected_type="image/png", size=1000, smaller_size=400),
        f"{BASE}/b.png": MediaFile(f"{BASE}/b.png", detected_type="image/png", size=500),
        f"{BASE}/gone.png": MediaFile(f"{BASE}/gone.png", 404),
    }
    unused = (MediaFile(f"{BASE}/old.jpg", size=70),)
    pages = {"/": html(images, links="/b"), "/b": html(images, title="Another page", seed=2, links="/")}
    result = media_savings(audit(pages, media=files, unused_media=unused).site)
    assert (result.files, result.original_bytes, result.stored_bytes) == (2, 1500, 900)
    assert result.by_type == {"image/png": (2, 1500, 900)}
    assert result.top == ((f"{BASE}/a.png", 1000, 400),)
    assert result.unused == ((f"{BASE}/old.jpg", 70),)
    assert result.most_used == ((f"{BASE}/a.png", 2), (f"{BASE}/b.png", 2))
    assert (result.images, result.without_alt) == (4, 2)
