"""Decodes Content-Encoding (gzip, deflate, br, zstd) while the body arrives, within a size limit.

A few hundred bytes can decompress to gigabytes, so every decoder yields bounded pieces and stops between two of them. Only the
start of a large body is decoded as it arrives; the rest is decoded at its end, in a thread, so that the event loop is free.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from typing import Protocol

import brotli
import zstandard

from sitelore.fetch.failures import FailureInfo
from sitelore.model.response import Failure

_PIECE_BYTES = 64 * 1024
_INLINE_BYTES = 256 * 1024  # of output
_ZSTD_INPUT_BYTES = 128  # python-zstandard cannot bound its output; four bytes in make at most 128 KiB out
_ZSTD_WINDOW = 8 * 2**20  # RFC 9659 §3
_MAX_MEMBERS = 1000  # gzip members or zstd frames: empty ones take time and yield nothing
_MAX_LAYERS = 4
_MIN_INTERMEDIATE_CAP = 16 * 2**20  # output of an inner layer may exceed the cap of the body up to this

_GZIP_BITS = 31
_ZLIB_BITS = 15
_RAW_BITS = -15


_BROKEN = FailureInfo(Failure.DECODING, "The body does not match its Content-Encoding.")
_WINDOW_TOO_LARGE = FailureInfo(Failure.TOO_LARGE, "The body needs a larger decompression window than is allowed.")
_TRUNCATED = FailureInfo(Failure.TRUNCATED, "The compressed body ends too early.")


class _Layer(Protocol):
    is_complete: bool
    """Whether the stream may end here."""

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Decoded pieces of bounded size."""
        ...


class BodyDecoder:
    """Decodes a stack of encodings. `feed` and `finish` return a failure instead of raising."""

    def __init__(self, layers: list[_Layer], cap: int) -> None:
        self._layers = layers
        self._cap = cap
        self._pieces: list[bytes] = []
        self._size = 0
        self._intermediate_cap = max(cap, _MIN_INTERMEDIATE_CAP)
        self._intermediate_sizes = [0] * len(layers)
        self._has_input = False
        self._paused: Iterator[bytes] | None = None
        """Output of the bytes that exceeded `_INLINE_BYTES`."""
        self._undecoded: list[bytes] = []

    @staticmethod
    def make(encodings: Sequence[str], cap: int) -> BodyDecoder | None:
        """A decoder for these encodings, listed in the order they were applied (RFC 9110 §8.4); None when one is unknown."""
        if len(encodings) > _MAX_LAYERS or any(name not in _LAYERS for name in encodings):
            return None
        return BodyDecoder([_LAYERS[name]() for name in reversed(encodings)], cap)

    @property
    def body(self) -> bytes:
        """The decoded bytes, at most the cap."""
        return b"".join(self._pieces)[: self._cap]

    @property
    def start(self) -> bytes:
        """The first few hundred decoded bytes."""
        return self._pieces[0][:512] if self._pieces else b""

    @property
    def has_rest(self) -> bool:
        """Whether `decode_rest` has something to do."""
        return self._paused is not None

    def feed(self, data: bytes) -> FailureInfo | None:
        """Take more bytes, and decode them while the output is small; a failure ends the body."""
        self._has_input = True
        if self._paused is not None:
            self._undecoded.append(data)
            return None
        return self._collect(self._decode(0, data), _INLINE_BYTES)

    def decode_rest(self) -> FailureInfo | None:
        """Decode all bytes that `feed` has only taken. May take long: call it in a thread."""
        if self._paused is None:
            return None
        outputs = [self._paused, *(self._decode(0, data) for data in self._undecoded)]
        self._paused, self._undecoded = None, []
        return next(filter(None, (self._collect(pieces, self._cap) for pieces in outputs)), None)

    def _collect(self, pieces: Iterator[bytes], pause_after: int) -> FailureInfo | None:
        """Keep the decoded pieces, up to the cap; pause when there are more than `pause_after` bytes."""
        try:
            for piece in pieces:
                self._pieces.append(piece)
                self._size += len(piece)
                if self._size > self._cap:
                    return self._too_large()
                if self._size > pause_after:
                    self._paused = pieces
                    return None
        except zstandard.ZstdError as error:
            return _WINDOW_TOO_LARGE if "too much memory" in str(error) else _BROKEN
        except (zlib.error, brotli.error):
            return _BROKEN
        if any(size > self._intermediate_cap for size in self._intermediate_sizes):
            return self._too_large()
        return None

    def finish(self) -> FailureInfo | None:
        """The input has ended: check that the compressed stream has ended too. An empty body needs no decoding."""
        return _TRUNCATED if self._has_input and not all(layer.is_complete for layer in self._layers) else None

    def _decode(self, depth: int, data: bytes) -> Iterator[bytes]:
        for piece in self._layers[depth].feed(data):
            if depth + 1 == len(self._layers):
                yield piece
                continue
            self._intermediate_sizes[depth] += len(piece)
            if self._intermediate_sizes[depth] > self._intermediate_cap:
                return
            yield from self._decode(depth + 1, piece)

    def _too_large(self) -> FailureInfo:
        return FailureInfo(Failure.TOO_LARGE, f"The decoded body is larger than {self._cap} bytes.")


def parse_encodings(header: str) -> list[str]:
    """The known encodings in a Content-Encoding value, in lower case.

    Others are ignored, as browsers and other clients do: servers send `utf-8` or `none` with bodies that are not encoded.
    """
    names = (name.strip().lower() for name in header.split(","))
    return [name for name in names if name in _LAYERS]


class _Inflate:
    """Decodes one zlib stream, or consecutive gzip members."""

    def __init__(self, bits: int, *, has_members: bool) -> None:
        self.is_complete = False
        self._bits = bits
        self._has_members = has_members
        self._members = 0
        self._stream = zlib.decompressobj(bits)

    def feed(self, data: bytes) -> Iterator[bytes]:
        if self.is_complete and not (data := self._next_member(data)):
            return
        piece = b""
        # After a full piece zlib may hold more output although it has consumed all input.
        while data or len(piece) == _PIECE_BYTES:
            piece = self._stream.decompress(data, _PIECE_BYTES)
            if piece:
                yield piece
            data = self._stream.unconsumed_tail
            if self._stream.eof:
                self.is_complete = True
                data = self._next_member(self._stream.unused_data)
                piece = b""

    def _next_member(self, data: bytes) -> bytes:
        """Start the next gzip member; returns its bytes, none when the rest is padding."""
        if not self._has_members or data[:1] != b"\x1f":
            return b""
        self._members += 1
        if self._members > _MAX_MEMBERS:
            raise zlib.error("too many members")
        self.is_complete = False
        self._stream = zlib.decompressobj(self._bits)
        return data


class _Deflate:
    """Decodes `deflate`: zlib by RFC 9110 §8.4.1.2, but many servers send raw deflate."""

    def __init__(self) -> None:
        self.is_complete = False
        self._prefix = b""
        self._inner: _Inflate | None = None

    def feed(self, data: bytes) -> Iterator[bytes]:
        if self._inner is None:
            data = self._prefix + data
            if len(data) < 2:
                self._prefix = data
                return
            is_zlib = data[0] & 0x0F == 8 and int.from_bytes(data[:2], "big") % 31 == 0
            self._inner = _Inflate(_ZLIB_BITS if is_zlib else _RAW_BITS, has_members=False)
        yield from self._inner.feed(data)
        self.is_complete = self._inner.is_complete


class _Brotli:
    """Decodes a brotli stream."""

    def __init__(self) -> None:
        self.is_complete = False
        self._stream = brotli.Decompressor()

    def feed(self, data: bytes) -> Iterator[bytes]:
        if self.is_complete:
            return
        while True:
            piece = self._stream.process(data, output_buffer_limit=_PIECE_BYTES)
            if piece:
                yield piece
            self.is_complete = self._stream.is_finished()
            # After a full piece brotli may hold more output although it has consumed all input.
            if self.is_complete or (self._stream.can_accept_more_data() and len(piece) < _PIECE_BYTES):
                return
            data = b""


class _Zstd:
    """Decodes consecutive zstd frames."""

    def __init__(self) -> None:
        self.is_complete = False
        self._members = 0
        self._stream = self._new_frame()

    def feed(self, data: bytes) -> Iterator[bytes]:
        for at in range(0, len(data), _ZSTD_INPUT_BYTES):
            rest = data[at : at + _ZSTD_INPUT_BYTES]
            while rest:
                if self._stream.eof:
                    self._members += 1
                    if self._members > _MAX_MEMBERS:
                        raise zstandard.ZstdError("too many frames")
                    self._stream = self._new_frame()
                if piece := self._stream.decompress(rest):
                    yield piece
                rest = self._stream.unused_data if self._stream.eof else b""
            self.is_complete = self._stream.eof

    @staticmethod
    def _new_frame() -> zstandard.ZstdDecompressionObj:
        return zstandard.ZstdDecompressor(max_window_size=_ZSTD_WINDOW).decompressobj(write_size=_PIECE_BYTES)


def _gzip() -> _Layer:
    return _Inflate(_GZIP_BITS, has_members=True)


_LAYERS = {
    "gzip": _gzip,
    "x-gzip": _gzip,
    "deflate": _Deflate,
    "br": _Brotli,
    "zstd": _Zstd,
}
