import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.corpora import corpus

from sitelore.extract.dom import charset_named, decode_as
from sitelore.extract.response_body import decode

ENCODINGS = (
    "ibm866", "iso-8859-2", "iso-8859-3", "iso-8859-4", "iso-8859-5", "iso-8859-6", "iso-8859-7", "iso-8859-8",
    "iso-8859-8-i", "iso-8859-10", "iso-8859-13", "iso-8859-14", "iso-8859-15", "iso-8859-16", "koi8-r", "koi8-u",
    "macintosh", "windows-874", "windows-1250", "windows-1251", "windows-1252", "windows-1253", "windows-1254",
    "windows-1255", "windows-1256", "windows-1257", "windows-1258", "x-mac-cyrillic", "gbk", "gb18030", "big5",
    "euc-jp", "iso-2022-jp", "shift_jis", "euc-kr", "utf-8", "utf-16be", "utf-16le", "x-user-defined",
)  # fmt: skip


def test_the_charset_prescan_agrees_with_the_standards_cases() -> None:
    cases = json.loads(corpus("encoding_cases.json").read_text())
    wrong = [c for c in cases if decode(c["data_latin1"].encode("latin-1")).charset != c["expected_encoding"]]
    print(f"charset: {len(cases) - len(wrong)} of {len(cases)}")
    assert len(wrong) <= 1  # the one left needs its script to run


@pytest.mark.parametrize(
    ("body", "header", "charset", "text"),
    [
        (b"\xef\xbb\xbfh\xc3\xa9", "text/html; charset=iso-8859-2", "utf-8", "hé"),
        (b"\xff\xfeh\x00i\x00", "text/html; charset=utf-8", "utf-16le", "hi"),
        (b"h\xe9", "text/html; charset=ISO-8859-1", "windows-1252", "hé"),
        (b'<meta charset="utf-8">h\xe9', 'text/html; charset="windows-1250"', "windows-1250", '<meta charset="utf-8">hé'),
        (b"h\xc3\xa9", "text/html; charset=bogus", "utf-8", "hé"),
        (b"h\xc3\xa9", "", "utf-8", "hé"),
        (b"h\xe9\x81", "", "windows-1252", "hé\x81"),
        (b"plain", "", "windows-1252", "plain"),
        (b'<?xml encoding="koi8-r"?>' + "да".encode("koi8-r"), "", "koi8-r", '<?xml encoding="koi8-r"?>да'),
        ("<html>ü".encode("utf-16-le"), "text/html", "utf-16le", "<html>ü"),
        ("<html>ü".encode("utf-16-be"), "text/html", "utf-16be", "<html>ü"),
    ],
)  # fmt: skip
def test_byte_order_mark_header_meta_and_content_decide_in_this_order(
    body: bytes, header: str, charset: str, text: str
) -> None:
    decoded = decode(body, header)
    assert (decoded.charset, decoded.text) == (charset, text)


@pytest.mark.parametrize(
    ("head", "charset"),
    [
        ("<meta charset=koi8-r>", "koi8-r"),
        ("<META CHARSET='KOI8-R'>", "koi8-r"),
        ("<meta charset = koi8-r />", "koi8-r"),
        ('<meta/charset="koi8-r"/>', "koi8-r"),
        ("<meta name=x charset=koi8-r>", "koi8-r"),
        ('<meta http-equiv="Content-Type" content="text/html; charset=koi8-r">', "koi8-r"),
        ('<meta content="text/html;charset=koi8-r" http-equiv=content-type>', "koi8-r"),
        ('<meta http-equiv="Content-Type" content="text/html; charset=\'koi8-r\'">', "koi8-r"),
        ('<meta content="text/html; charset=koi8-r">', "windows-1252"),  # without http-equiv, content says nothing
        ('<meta http-equiv="refresh" content="charset=koi8-r">', "windows-1252"),
        ("<!-- <meta charset=koi8-r> -->", "windows-1252"),
        ("<p title='<meta charset=koi8-r>'>", "windows-1252"),
        ("<meta charset=nonsense><meta charset=koi8-r>", "koi8-r"),
        ("<meta charset=utf-16>", "utf-8"),  # what can be read as ASCII is not UTF-16
        ("<meta charset=koi8-r><meta charset=utf-8>", "koi8-r"),
        ("<metadata charset=koi8-r>", "windows-1252"),
        ("<title>charset=koi8-r</title>", "windows-1252"),
    ],
)
def test_a_page_declares_its_charset_as_the_standard_says(head: str, charset: str) -> None:
    assert decode(f"<!doctype html>{head}<p>text".encode()).charset == charset


def test_a_declaration_far_into_the_page_still_counts() -> None:
    late = b"<!-- " + b"x" * 5000 + b" --><meta charset=windows-1251>" + "Привет".encode("cp1251")
    assert decode(late).text.endswith("Привет")


@pytest.mark.parametrize("name", ENCODINGS)
def test_every_encoding_of_the_standard_is_known_and_decodes_anything(name: str) -> None:
    assert charset_named(f" {name.upper()}\n") == name
    assert isinstance(decode_as(bytes(range(256)) * 2, name), str)


def test_the_encodings_that_the_standard_replaces_are_unknown() -> None:
    assert [charset_named(label) for label in ("hz-gb-2312", "iso-2022-kr", "replacement", "bogus", "")] == [None] * 5


@given(st.binary(max_size=300), st.sampled_from(ENCODINGS))
def test_what_was_decoded_can_always_be_encoded_as_utf8(data: bytes, name: str) -> None:
    decode_as(data, name).encode("utf-8")


@given(st.binary(max_size=400))
def test_no_bytes_stop_the_decoder(data: bytes) -> None:
    decode(b"<meta " + data)
    decoded = decode(data)
    assert not decoded.is_utf8 or decoded.text.encode() == data


def test_the_time_of_the_prescan_is_linear_in_the_length_of_a_tag() -> None:
    # A quadratic pattern would need more than the time limit of a test.
    spaces = b"<p a" + b" " * 64_000 + b'="x><meta charset=koi8-r>'
    assert [decode(spaces).charset for _ in range(40)] == ["windows-1252"] * 40
    assert decode(b"<p a" + b" " * 900 + b'="x"><meta charset=koi8-r>').charset == "koi8-r"
