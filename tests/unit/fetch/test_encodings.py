from __future__ import annotations

import gzip
import random
import tracemalloc
import zlib

import brotli
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from sitelore.fetch.http.encodings import BodyDecoder, parse_encodings
from sitelore.model.response import Failure

CAP = 16 * 2**20
PAGE = random.Random(7).randbytes(20_000) + b"<p>the same again and again</p>" * 3000


def raw_deflate(data: bytes) -> bytes:
    stream = zlib.compressobj(9, zlib.DEFLATED, -15)
    return stream.compress(data) + stream.flush()


ENCODED = {
    "gzip": gzip.compress(PAGE),
    "x-gzip": gzip.compress(PAGE),
    "deflate": zlib.compress(PAGE),
    "br": brotli.compress(PAGE),
    "zstd": zstandard.compress(PAGE),
    "gzip, br": brotli.compress(gzip.compress(PAGE)),
    "ZSTD , identity, GZip": gzip.compress(zstandard.compress(PAGE)),
}


def decode(name: str, data: bytes, cap: int = CAP, step: int = 1000) -> tuple[Failure | None, bytes]:
    decoder = BodyDecoder.make(parse_encodings(name), cap)
    assert decoder is not None
    for at in range(0, len(data), step):
        if (failure := decoder.feed(data[at : at + step])) is not None:
            assert failure.detail.endswith(".")
            return failure.failure, decoder.body
    end = decoder.decode_rest() or decoder.finish()
    return end.failure if end else None, decoder.body


@pytest.mark.parametrize("step", [1, 7, 1000, 10**9])
@pytest.mark.parametrize("name", ENCODED)
def test_a_body_is_decoded_in_every_encoding_and_for_every_split(name: str, step: int) -> None:
    assert decode(name, ENCODED[name], step=step) == (None, PAGE)


@pytest.mark.parametrize("step", [1, 1000])
def test_raw_deflate_is_decoded(step: int) -> None:
    assert decode("deflate", raw_deflate(PAGE), step=step) == (None, PAGE)


@pytest.mark.parametrize("name", ENCODED)
def test_a_stream_that_ends_early_is_truncated(name: str) -> None:
    assert decode(name, ENCODED[name][:-9])[0] is Failure.TRUNCATED


@pytest.mark.parametrize("name", ENCODED)
def test_a_body_over_the_cap_is_too_large_and_its_start_is_kept(name: str) -> None:
    assert decode(name, ENCODED[name], cap=5000) == (Failure.TOO_LARGE, PAGE[:5000])


@pytest.mark.parametrize("name", ENCODED)
def test_a_body_of_exactly_the_cap_passes(name: str) -> None:
    assert decode(name, ENCODED[name], cap=len(PAGE)) == (None, PAGE)


@pytest.mark.parametrize("name", ["gzip", "deflate", "br", "zstd"])
def test_plain_text_under_a_false_label_is_a_decoding_error(name: str) -> None:
    assert decode(name, b"<p>plain text, no compression at all</p>" * 10)[0] is Failure.DECODING


LARGE_PAGE = PAGE * 20


@pytest.mark.parametrize(
    ("name", "packed"),
    [
        ("gzip", gzip.compress(LARGE_PAGE)),
        ("deflate", zlib.compress(LARGE_PAGE)),
        ("br", brotli.compress(LARGE_PAGE, quality=5)),
        ("zstd", zstandard.compress(LARGE_PAGE)),
    ],
    ids=["gzip", "deflate", "br", "zstd"],
)
def test_feeding_decodes_only_the_start_of_a_large_body(name: str, packed: bytes) -> None:
    decoder = BodyDecoder.make([name], CAP)
    assert decoder is not None
    for at in range(0, len(packed), 10_000):
        assert decoder.feed(packed[at : at + 10_000]) is None
    assert decoder.has_rest
    assert len(decoder.body) < 512 * 1024
    assert (decoder.decode_rest(), decoder.finish(), decoder.has_rest) == (None, None, False)
    assert decoder.body == LARGE_PAGE


def test_an_empty_body_needs_no_decoding() -> None:
    assert decode("gzip", b"") == (None, b"")


@pytest.mark.parametrize("names", [["compress"], ["gzip", "rot13"], ["gzip"] * 5])
def test_an_unknown_encoding_or_too_many_have_no_decoder(names: list[str]) -> None:
    assert BodyDecoder.make(names, CAP) is None


def test_only_known_content_encodings_are_applied() -> None:
    assert parse_encodings("GZIP, utf-8,identity ,, br") == ["gzip", "br"]


@pytest.mark.parametrize("step", [1, 50, 10**9])
def test_members_and_frames_one_after_the_other_are_one_body(step: int) -> None:
    members = gzip.compress(PAGE[:100]) + gzip.compress(PAGE[100:]) + b"\0\0padding"
    assert decode("gzip", members, step=step) == (None, PAGE)
    frames = zstandard.compress(PAGE[:100]) + zstandard.compress(PAGE[100:])
    assert decode("zstd", frames, step=step) == (None, PAGE)


@pytest.mark.parametrize(("name", "part"), [("gzip", gzip.compress(b"", mtime=0)), ("zstd", zstandard.compress(b""))])
def test_too_many_empty_members_are_a_decoding_error(name: str, part: bytes) -> None:
    assert decode(name, part * 50_000, step=2**18)[0] is Failure.DECODING


def test_a_bomb_in_an_intermediate_layer_is_too_large() -> None:
    inner = gzip.compress(gzip.compress(b"", mtime=0) * 900 + b"\0" * (64 * 2**20), compresslevel=1)
    assert decode("gzip, gzip", inner)[0] in {Failure.TOO_LARGE, Failure.DECODING}


def test_an_intermediate_layer_is_limited_even_where_the_body_is_small() -> None:
    padded = gzip.compress(gzip.compress(b"small") + bytes(CAP + 1), compresslevel=1)
    assert decode("gzip, gzip", padded)[0] is Failure.TOO_LARGE


def test_a_window_larger_than_the_web_allows_is_too_large() -> None:
    parameters = zstandard.ZstdCompressionParameters.from_level(3, window_log=25)
    stream = zstandard.ZstdCompressor(compression_params=parameters).compressobj()
    assert decode("zstd", stream.compress(PAGE) + stream.flush())[0] is Failure.TOO_LARGE


def bomb_of(name: str) -> bytes:
    """100 MiB of zeros."""
    block = bytes(2**20)
    if name == "br":
        packer = brotli.Compressor(quality=3)
        return b"".join(packer.process(block) for _ in range(100)) + bytes(packer.finish())
    stream = zlib.compressobj(9, zlib.DEFLATED, 31) if name == "gzip" else zstandard.ZstdCompressor(level=1).compressobj()
    return b"".join(stream.compress(block) for _ in range(100)) + stream.flush()


@pytest.mark.parametrize("name", ["gzip", "br", "zstd"])
def test_a_bomb_of_100_mib_ends_at_the_cap_in_little_memory(name: str) -> None:
    bomb = bomb_of(name)
    tracemalloc.start()
    try:
        decoder = BodyDecoder.make(parse_encodings(name), CAP)
        assert decoder is not None
        assert decoder.feed(bomb) is None
        failure = decoder.decode_rest()
        assert failure is not None
        assert failure.failure is Failure.TOO_LARGE
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 32 * 10**6


@given(st.sampled_from(["gzip", "deflate", "br", "zstd", "gzip, zstd"]), st.binary(max_size=300))
def test_random_bytes_never_raise(name: str, data: bytes) -> None:
    failure, _ = decode(name, data, step=50)
    assert failure in {None, Failure.DECODING, Failure.TRUNCATED, Failure.TOO_LARGE}
