"""Heads of responses as they are stored: no credentials, within the limits."""

from __future__ import annotations

import pytest

from sitelore.model.document import PROBED_HEADER
from sitelore.model.response import MAX_STORED_HEAD_CHARS, MAX_STORED_HEADERS, Response, StoredHead
from sitelore.model.url import Url

URL = Url.trusted("http://site.example/")


def stored(*headers: tuple[str, str]) -> tuple[tuple[str, str], ...]:
    """The headers of a response as they are stored when they hold no secret."""
    return StoredHead.of(Response(URL, 200, headers, b"")).limited().headers


def test_version_reason_and_address_are_stored() -> None:
    response = Response(URL, 200, (("server", "nginx"),), b"", remote="192.0.2.7", version="1.1", reason="Fine")
    assert StoredHead.of(response).limited() == StoredHead("1.1", "Fine", "192.0.2.7", (("server", "nginx"),))


@pytest.mark.parametrize(
    ("sent", "expected"),
    [
        ("id=secret; Path=/; Domain=a.example; Max-Age=9; Secure; HttpOnly", "id=; Secure; HttpOnly"),
        ("id=a=b;samesite=Lax ; Partitioned", "id=; samesite=Lax; Partitioned"),
        ("id=x; SameSite=secret; Secure=secret", "id="),
        ("secret", "="),
        ("secret; HttpOnly", "=; HttpOnly"),
        ("=secret", "="),
        ("", "="),
    ],
)
def test_a_cookie_is_stored_by_name_and_flags(sent: str, expected: str) -> None:
    assert stored(("set-cookie", sent)) == (("set-cookie", expected),)


@pytest.mark.parametrize(
    "name",
    [
        "authorization", "www-authenticate", "proxy-authentication-info", "x-api-key", "x-apikey", "x-csrf-token", "cookie",
        "set-cookie2", "x-amz-security-token", "x-session-id", "x-client-secret", PROBED_HEADER,
    ],
)  # fmt: skip
def test_headers_with_credentials_and_our_own_are_not_stored(name: str) -> None:
    assert stored(("server", "a"), (name, "value"), ("vary", "*")) == (("server", "a"), ("vary", "*"))


def test_a_long_value_is_cut_off_but_not_the_target_of_a_redirect() -> None:
    target = "http://site.example/" + "a" * 1000
    assert stored(("x-long", "b" * 201), ("location", target)) == (("x-long", "b" * 200), ("location", target))


def test_of_too_many_headers_the_audited_ones_are_stored_in_the_order_received() -> None:
    others = [(f"x-{number}", "1") for number in range(50)]
    headers = stored(*others, ("etag", '"1"'), ("x-frame-options", "DENY"))
    assert len(headers) == MAX_STORED_HEADERS
    assert headers == (*others[:38], ("etag", '"1"'), ("x-frame-options", "DENY"))


def test_all_headers_together_are_limited_in_size() -> None:
    headers = stored(("n" * 5000, "too long"), *((f"x-{number}", "v" * 300) for number in range(39)), ("server", "nginx"))
    assert sum(len(name) + len(value) for name, value in headers) <= MAX_STORED_HEAD_CHARS
    assert headers[-1] == ("server", "nginx")
    assert len(headers) == 21  # 11 characters, ten times 203 and ten times 204; one more would exceed 4,096
