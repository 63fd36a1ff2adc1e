"""Which bytes of a file a `Range` header requests."""

from __future__ import annotations

import pytest

from sitelore.serve.responses import ByteRange, requested_range


@pytest.mark.parametrize(
    ("header", "start", "end"),
    [
        ("bytes=0-0", 0, 1), ("bytes=10-19", 10, 20), ("bytes=90-", 90, 100), ("bytes=-10", 90, 100), ("bytes=-500", 0, 100),
        ("BYTES = 5-500", 5, 100), ("bytes=100-", 100, 100), ("bytes=-0", 100, 100),
    ],
)  # fmt: skip
def test_one_range_is_understood(header: str, start: int, end: int) -> None:
    assert requested_range(header, 100) == ByteRange(start, end, 100)


@pytest.mark.parametrize(
    "header", [None, "", "bytes=", "bytes=-", "bytes=9-1", "bytes=0-1,4-5", "chars=0-1", "bytes=a-b", "bytes=1"]
)
def test_anything_else_is_the_whole_file(header: str | None) -> None:
    assert requested_range(header, 100) is None


def test_a_range_beyond_the_end_has_no_bytes() -> None:
    beyond = requested_range("bytes=100-", 100)
    assert beyond is not None
    assert (beyond.is_satisfiable, beyond.content_range) == (False, "bytes */100")
