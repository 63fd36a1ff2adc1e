from sitelore.crawl import extraction_process
from sitelore.crawl.extraction_process import decode_reading, encode_reading
from sitelore.model.document import Reading
from sitelore.model.url import Url


def urls(count: int, path: str = "") -> tuple[Url, ...]:
    return tuple(Url(f"http://site.test/{path}{at}") for at in range(count))


def test_a_reading_survives_the_protocol_unchanged() -> None:
    reading = Reading(links=urls(3), refused_links=urls(2, "refused"), word_count=7)
    again, cpu_s = decode_reading(encode_reading(reading, 0.5))
    assert (again, cpu_s) == (reading, 0.5)
    assert {type(url) for url in (*again.links, *again.refused_links)} == {Url}


def test_an_address_of_many_pages_is_one_object_and_few_are_remembered() -> None:
    (first, _), (second, _) = (decode_reading(encode_reading(Reading(links=urls(3)))) for _ in range(2))
    assert all(one is other for one, other in zip(first.links, second.links, strict=True))
    many = (*urls(extraction_process._MAX_INTERNED + 5), *urls(5, "long/" * 100))
    assert decode_reading(encode_reading(Reading(links=many)))[0].links == many
    assert len(extraction_process._URLS) <= extraction_process._MAX_INTERNED
    assert max(map(len, extraction_process._URLS)) <= extraction_process._MAX_INTERNED_CHARS
