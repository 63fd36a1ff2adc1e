from __future__ import annotations

import pytest

from sitelore.intake.sitemap import read_date


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1971", 31536000.0),
        ("1970-02", 2678400.0),
        ("1970-01-02", 86400.0),
        (" 1970-1-2\n", 86400.0),
        ("1970-01-02T00:00Z", 86400.0),
        ("1970-01-02T00:00:30Z", 86430.0),
        ("1970-01-02T00:00:30.25Z", 86430.25),
        ("1970-01-02t00:00:30,5z", 86430.5),
        ("1970-01-02T01:00:00+01:00", 86400.0),
        ("1970-01-01T19:30:00-0430", 86400.0),
        ("1970-01-02 00:00:00", 86400.0),
        ("1970-01-02T00:00:00", 86400.0),
        ("1969-12-31", -86400.0),
        ("Fri, 02 Jan 1970 00:00:00 GMT", 86400.0),
        ("Fri, 02 Jan 1970 01:00:00 +0100", 86400.0),
        ("02 Jan 70 00:00:00 +0000", 86400.0),
        ("02 Jan 1970 00:00:00", 86400.0),
    ],
)
def test_dates_of_sitemaps_and_feeds(text: str, expected: float) -> None:
    assert read_date(text) == expected


@pytest.mark.parametrize(
    "text",
    ["", "yesterday", "2024-13-01", "2024-02-30", "2024-01-01T25:00:00Z", "0000-00-00", "2024-01-01T00:00:00+99:99", "1" * 500,
     "٢٠٢٤", "Fri, 99 Jan 2024 00:00:00 GMT", "12.03.2024"],
)  # fmt: skip
def test_invalid_dates_are_none(text: str) -> None:
    assert read_date(text) is None
