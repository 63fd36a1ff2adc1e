from __future__ import annotations

import pytest

from sitelore.intake.seeds import parse_user_url
from sitelore.model.errors import BadUrl


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("https://example.com/x?y=1#z", "https://example.com/x?y=1"),
        ("  HTTP://Example.COM  ", "http://example.com/"),
        ("example.com", "https://example.com/"),
        ("example.com/x", "https://example.com/x"),
        ("example.com?x=1", "https://example.com/?x=1"),
        ("example.com:8443/x", "https://example.com:8443/x"),
        ("example.com:80", "http://example.com/"),
        ("example.com/index.html", "https://example.com/index.html"),
        ("//example.com/x", "https://example.com/x"),
        ("localhost", "http://localhost/"),
        ("localhost:8000/docs", "http://localhost:8000/docs"),
        ("app.localhost:3000", "http://app.localhost:3000/"),
        ("wiki", "http://wiki/"),
        ("wiki/Main_Page", "http://wiki/Main_Page"),
        ("127.0.0.1:8900", "http://127.0.0.1:8900/"),
        ("10.0.0.7/x", "http://10.0.0.7/x"),
        ("[::1]:8000/x", "http://[::1]:8000/x"),
        ("localhost:443", "https://localhost/"),
        ("bücher.example/straße", "https://xn--bcher-kva.example/stra%C3%9Fe"),
        ("https://нэб.рф", "https://xn--90ax2c.xn--p1ai/"),
        ("https://user:secret@example.com/", "https://example.com/"),
        ("https://example.com/a;b/~c?next=http://other.example/", "https://example.com/a;b/~c?next=http://other.example/"),
    ],
)
def test_typed_text_becomes_a_url(typed: str, expected: str) -> None:
    assert parse_user_url(typed) == expected


@pytest.mark.parametrize(
    ("typed", "says"),
    [
        ("", "no URL was given"),
        ("   ", "no URL was given"),
        ("https://exa mple.com", "has a space in it"),
        ("a.example b.example", "has a space in it"),
        ("https://example.com/\x07", "control character"),
        ("/etc/passwd", "is a file path"),
        ("./site/index.html", "is a file path"),
        ("../x", "is a file path"),
        ("~/notes", "is a file path"),
        ("C:\\site\\index.html", "is a file path"),
        ("C:/site/index.html", "is a file path"),
        ("file:///etc/passwd", "is a file path"),
        ("index.html", "is a file path"),
        ("docs/index.html", "is a file path"),
        ("ftp://example.com/", "only http and https"),
        ("mailto:a@example.com", "only http and https"),
        ("javascript:alert(1)", "only http and https"),
        ("http:example.com", "write http://example.com"),
        ("http//example.com/a", r"did you mean http://example.com/a\?"),
        ("https/example.com", r"did you mean https://example.com\?"),
        ("htp://example.com", r"did you mean http://example.com\?"),
        ("htps://example.com", r"did you mean https://example.com\?"),
        ("https:/example.com/x", "write https://example.com/x"),
        ("http://", "check its host name and port"),
        ("http://[bad", "check its host name and port"),
        ("example.com:99999", "check its host name and port"),
        ("someone@example.com", "type one such as"),
        ("::1", "type one such as"),
        ("?", "type one such as"),
    ],
)
def test_an_invalid_seed_gives_a_one_line_error(typed: str, says: str) -> None:
    with pytest.raises(BadUrl, match=says) as caught:
        parse_user_url(typed)
    assert caught.value.exit_code == 2
    assert "\n" not in str(caught.value)
    assert str(caught.value).endswith((".", "?"))
