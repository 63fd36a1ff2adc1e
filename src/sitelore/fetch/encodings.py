"""Content-Encoding undone while the body arrives, never making more than the caller's cap.

A few hundred bytes can stand for gigabytes, so every decoder here hands out its output in bounded pieces and is
stopped between two of them.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator
from typing import Protocol

import brotli
import zstandard

from sitelore.model.response import Failure

_PIECE = 64 * 1024
_ZSTD_SLICE = 128  # python-zstandard cannot bound its output; four bytes in make at most 128 KiB out
_ZSTD_WINDOW = 8 * 2**20  # RFC 9659 §3
_MAX_PARTS = 1000  # gzip members, zstd frames: empty ones cost time and yield nothing
_MAX_LAYERS = 4
_MAX_BETWEEN = 16 * 2**20  # what one layer may hand to the next, where the cap itself is lower

_GZIP_BITS = 31
_ZLIB_BITS = 15
_RAW_BITS = -15


class _Layer(Protocol):
    complete: bool
    """Whether the stream may end here."""

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Decoded pieces of bounded size."""
        ...


class BodyDecoder:
    """Undoes a stack of encodings. `feed` and `finish` return a failure instead of raising; `detail` says what it was."""

    def __init__(self, layers: list[_Layer], cap: int) -> None:
        self.detail = ""
        self.size = 0
        self._layers = layers
        self._cap = cap
        self._pieces: list[bytes] = []
        self._between_cap = max(cap, _MAX_BETWEEN)
        self._between = [0] * len(layers)
        self._fed = False

    @staticmethod
    def make(header: str, cap: int) -> BodyDecoder | None:
        """A decoder for this Content-Encoding value, or None when it names something unknown."""
        names = encodings_of(header)
        if len(names) > _MAX_LAYERS or any(name not in _LAYERS for name in names):
            return None
        # Encodings are listed in the order they were applied (RFC 9110 §8.4).
        return BodyDecoder([_LAYERS[name]() for name in reversed(names)], cap)

    @property
    def body(self) -> bytes:
        """What has been decoded, at most the cap."""
        return b"".join(self._pieces)[: self._cap]

    @property
    def start(self) -> bytes:
        """The first few hundred bytes decoded."""
        return self._pieces[0][:512] if self._pieces else b""

    def feed(self, data: bytes) -> Failure | None:
        """Take a piece of the wire; a failure ends the body."""
        self._fed = True
        try:
            for piece in self._through(0, data):
                self._pieces.append(piece)
                self.size += len(piece)
                if self.size > self._cap:
                    return self._too_large()
        except zstandard.ZstdError as error:
            if "too much memory" in str(error):
                self.detail = "The body needs a larger decoding window than is allowed."
                return Failure.TOO_LARGE
            return self._broken()
        except (zlib.error, brotli.error):
            return self._broken()
        if any(size > self._between_cap for size in self._between):
            return self._too_large()
        return None

    def finish(self) -> Failure | None:
        """The wire has ended: did the encoded stream end as well? An empty body needs no decoding."""
        if self._fed and not all(layer.complete for layer in self._layers):
            self.detail = "The compressed body ends too early."
            return Failure.TRUNCATED
        return None

    def _through(self, depth: int, data: bytes) -> Iterator[bytes]:
        for piece in self._layers[depth].feed(data):
            if depth + 1 == len(self._layers):
                yield piece
                continue
            self._between[depth] += len(piece)
            if self._between[depth] > self._between_cap:
                return
            yield from self._through(depth + 1, piece)

    def _too_large(self) -> Failure:
        self.detail = f"The decoded body is larger than {self._cap} bytes."
        return Failure.TOO_LARGE

    def _broken(self) -> Failure:
        self.detail = "The body is not what its Content-Encoding says."
        return Failure.DECODING


def encodings_of(header: str) -> list[str]:
    """The encodings a Content-Encoding value names, lower case, without `identity`."""
    names = (name.strip().lower() for name in header.split(","))
    return [name for name in names if name and name != "identity"]


class _Inflate:
    """One zlib stream, or gzip members one after the other."""

    def __init__(self, bits: int, many: bool) -> None:
        self.complete = False
        self._bits = bits
        self._many = many
        self._parts = 0
        self._stream = zlib.decompressobj(bits)

    def feed(self, data: bytes) -> Iterator[bytes]:
        if self.complete and not (data := self._next_member(data)):
            return
        piece = b""
        # A full piece may leave output behind in zlib although all input is taken.
        while data or len(piece) == _PIECE:
            piece = self._stream.decompress(data, _PIECE)
            if piece:
                yield piece
            data = self._stream.unconsumed_tail
            if self._stream.eof:
                self.complete = True
                data = self._next_member(self._stream.unused_data)
                piece = b""

    def _next_member(self, data: bytes) -> bytes:
        """Ready for what follows a finished stream; padding after the last member is nobody's content."""
        if not self._many or data[:1] != b"\x1f":
            return b""
        self._parts += 1
        if self._parts > _MAX_PARTS:
            raise zlib.error("too many members")
        self.complete = False
        self._stream = zlib.decompressobj(self._bits)
        return data


class _Deflate:
    """`deflate` means zlib (RFC 9110 §8.4.1.2), but many servers send the bare stream."""

    def __init__(self) -> None:
        self.complete = False
        self._head = b""
        self._inner: _Inflate | None = None

    def feed(self, data: bytes) -> Iterator[bytes]:
        if self._inner is None:
            data = self._head + data
            if len(data) < 2:
                self._head = data
                return
            is_zlib = data[0] & 0x0F == 8 and int.from_bytes(data[:2], "big") % 31 == 0
            self._inner = _Inflate(_ZLIB_BITS if is_zlib else _RAW_BITS, many=False)
        yield from self._inner.feed(data)
        self.complete = self._inner.complete


class _Brotli:
    def __init__(self) -> None:
        self.complete = False
        self._stream = brotli.Decompressor()

    def feed(self, data: bytes) -> Iterator[bytes]:
        if self.complete:
            return
        while True:
            piece = self._stream.process(data, output_buffer_limit=_PIECE)
            if piece:
                yield piece
            self.complete = self._stream.is_finished()
            # A full piece may leave output behind although all input is taken.
            if self.complete or (self._stream.can_accept_more_data() and len(piece) < _PIECE):
                return
            data = b""


class _Zstd:
    def __init__(self) -> None:
        self.complete = False
        self._parts = 0
        self._stream = self._frame()

    def feed(self, data: bytes) -> Iterator[bytes]:
        for part in _slices(data, _ZSTD_SLICE):
            rest = part
            while rest:
                if self._stream.eof:
                    self._parts += 1
                    if self._parts > _MAX_PARTS:
                        raise zstandard.ZstdError("too many frames")
                    self._stream = self._frame()
                if piece := self._stream.decompress(rest):
                    yield piece
                rest = self._stream.unused_data if self._stream.eof else b""
            self.complete = self._stream.eof

    @staticmethod
    def _frame() -> zstandard.ZstdDecompressionObj:
        return zstandard.ZstdDecompressor(max_window_size=_ZSTD_WINDOW).decompressobj(write_size=_PIECE)


def _slices(data: bytes, size: int) -> Iterable[bytes]:
    return (data[at : at + size] for at in range(0, len(data), size))


def _gzip() -> _Layer:
    return _Inflate(_GZIP_BITS, many=True)


_LAYERS = {
    "gzip": _gzip,
    "x-gzip": _gzip,
    "deflate": _Deflate,
    "br": _Brotli,
    "zstd": _Zstd,
}
