"""Runs the compiled libraries under AddressSanitizer and UndefinedBehaviorSanitizer on generated inputs: `make fuzz-native`.

    python -m scripts.fuzz_native [DOCUMENTS]

The C sources are built with gcc and its sanitizers, and a second Python process with the sanitizer's runtime preloaded drives
them: serialised pages that were mutated, truncated or made up, hrefs, vectors, and
allocations that fail. Every input is a buffer of exactly its size on the heap, so that reading past its end is noticed. Any
report ends the process.
"""

from __future__ import annotations

import ctypes
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
NATIVE = ROOT / "src" / "sitelore" / "extract" / "native"
INT8_DOT = ROOT / "src" / "sitelore" / "store" / "vectors" / "int8_dot.c"
DOCUMENTS = 2_000
_SANITIZE = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-fno-omit-frame-pointer")
_WRAP = "-Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc"
_FAILING_ALLOCATOR = """
#include <stddef.h>
void *__real_malloc(size_t); void *__real_calloc(size_t, size_t); void *__real_realloc(void *, size_t);
__attribute__((visibility("default"))) long allocations_left = -1; /* negative: never fail */
static int fails(void) { return allocations_left >= 0 && (allocations_left == 0 || !allocations_left--); }
void *__wrap_malloc(size_t n) { return fails() ? NULL : __real_malloc(n); }
void *__wrap_calloc(size_t n, size_t m) { return fails() ? NULL : __real_calloc(n, m); }
void *__wrap_realloc(void *p, size_t n) { return fails() ? NULL : __real_realloc(p, n); }
"""
_TOKENS = (
    b"<", b">", b"</", b"/>", b"<p>", b"</p>", b'<div class="', b'"', b"&amp;", b"&nbsp;", b"&", b'<a href="/">', b"</a>",
    b"<br>", b"<h1>", b"</h1>", b"<h2>Related</h2>", b"<pre>", b"<b>", b"</b>", b"<img>", b"<svg>", b"\0", b"\xff",
    b"\xe3\x81\x82", b' id="', b' role="navigation"', b"<li>" * 40, b"</li>" * 40, b"x" * 500, b"<" + b"q" * 24 + b">",
    b"<" + b"q" * 25 + b">", b"siteFooterNav", b'<div class="' + b"related " * 80 + b'">', b"word " * 30, b"1,234.50 $",
    b"<table><tr><td>", b"</", b"<!", b"<?", b"\xe3", b"\xe3\x81", b"\xf0\xa0\x80", b"\xf0\xa0\x80\x80", b"\xc3", b"\xc2\xbb",
    *map(str.encode, ("<h2>相关推荐</h2>", "<h2>Комментарии", "สวัสดี", "한국어", "東京ABC,東京", "\u3002\u061f", "\ufeff")),
)  # fmt: skip
_HREFS = (
    "/", "//", "..", "../", "./", "?", "#", "%", "%2e", "%zz", "%c3%a9", "http://", "https://site.example", "HTTP:",
    "mailto:", "a", "b.c", "&", "=", "utm_source=1", "\\", ":", "@", "xn--", "é", " ", "-", "x" * 300, "a=1&b=2&", "[::1]",
    ";", "'",
)  # fmt: skip


def main() -> int:
    """Build the libraries, run the driver in its own process, and return its exit code."""
    documents = int(sys.argv[1]) if len(sys.argv) > 1 else DOCUMENTS
    with tempfile.TemporaryDirectory() as folder:
        build(Path(folder))
        runtimes = [_runtime("libasan.so"), _runtime("libubsan.so")]
        environment = {
            **os.environ,
            "LD_PRELOAD": " ".join(runtimes),
            "ASAN_OPTIONS": "detect_leaks=0:allocator_may_return_null=1",  # Python itself never frees everything
            "UBSAN_OPTIONS": "print_stacktrace=1",
            "PYTHONMALLOC": "malloc",
        }
        driver = [sys.executable, "-m", "scripts.fuzz_native", "--drive", folder, str(documents)]
        return subprocess.run(driver, env=environment, cwd=ROOT, check=False).returncode


def build(folder: Path) -> None:
    """Build both libraries with sanitizers, the first with an allocator that can be made to fail."""
    failing = folder / "failing.c"
    failing.write_text(_FAILING_ALLOCATOR)
    sources = [*sorted(NATIVE.rglob("*.c")), failing]
    flags = ["-g", "-O1", "-shared", "-fPIC", "-fvisibility=hidden", "-ffp-contract=off", *_SANITIZE, f"-I{NATIVE}"]
    for target, parts in (("extract.so", [*sources, _WRAP]), ("int8_dot.so", [INT8_DOT])):
        subprocess.run(["gcc", *flags, "-o", str(folder / target), *map(str, parts)], check=True)  # noqa: S607 gcc from the path


def _runtime(name: str) -> str:
    path = subprocess.run(["gcc", f"-print-file-name={name}"], capture_output=True, text=True, check=True)  # noqa: S607 as above
    return str(Path(path.stdout.strip()).resolve())


def exact(data: bytes) -> Any:
    """A buffer of exactly this size, with nothing readable behind it."""
    return (ctypes.c_char * len(data)).from_buffer_copy(data)


def drive(folder: Path, documents: int) -> None:
    """Run all inputs, in the process that has the sanitizer's runtime."""
    from sitelore.extract.native import library as native  # noqa: PLC0415 the library is chosen before anything loads it

    vars(native)["_FOLDER"] = folder
    assert native.library_path().parent == folder
    int8_dot = ctypes.CDLL(str(folder / "int8_dot.so"))
    pages = _page_fuzzer(native.library())
    others: tuple[Callable[[random.Random], None], ...] = (
        _fuzz_links,
        lambda chance: _fuzz_vectors(int8_dot, chance),
    )
    for seed in range(documents):
        chance = random.Random(seed)  # noqa: S311 no secrets
        print(f"\r{seed}", end="", file=sys.stderr) if seed % 100 == 0 else None
        pages(chance, seed)
        others[seed % len(others)](chance)
    print(f"\r{documents} documents, no report")


def _page_fuzzer(library: ctypes.CDLL) -> Callable[[random.Random, int], None]:
    from tests.quality.documents import generate  # noqa: PLC0415 as above

    from sitelore.extract import dom  # noqa: PLC0415 as above
    from sitelore.extract.content.block_scorer import block_features, load_model, score_page  # noqa: PLC0415 as above

    left = ctypes.c_long.in_dll(library, "allocations_left")
    model = load_model()
    score_page(b"<p>a word</p>", model, max_blocks=9)

    def fuzz(chance: random.Random, seed: int) -> None:
        if seed % 3:
            html = b"".join(chance.choices(_TOKENS, k=chance.randrange(120)))
        else:
            body = dom.body(dom.parse(generate(seed, []).response.body[:200_000].decode("utf-8", "replace")))
            html = dom.serialised(body) if body is not None else b""
        html = _mutated(html, chance)
        if seed % 500 == 0:
            html = b'<div class="x">' * 50_000 + html
        page = score_page(exact(html), model, max_blocks=chance.choice((1, 50, 10_000)))
        if page is not None:
            assert all(0 <= score <= 1 for score in page.scores)
            assert all(
                0 <= begin <= end <= len(page.text) for begin, end in zip(page.blocks.begin, page.blocks.end, strict=True)
            )
        block_features(exact(html))
        left.value = chance.randrange(40)
        try:
            score_page(exact(html), model, max_blocks=10_000)
        except MemoryError:
            pass
        finally:
            left.value = -1

    return fuzz


def _mutated(data: bytes, chance: random.Random) -> bytes:
    """Data with some bytes removed, changed or repeated, or hostile tokens inserted."""
    for _ in range(chance.randrange(4)):
        at = chance.randrange(len(data) + 1)
        kind = chance.randrange(5)
        if kind == 0:
            data = data[:at]
        elif kind == 1:
            data = data[:at] + chance.choice(_TOKENS) + data[at:]
        elif kind == 2:
            data = data[:at] + data[at + chance.randrange(1, 40) :]
        elif kind == 3:
            data = data[:at] + bytes([chance.randrange(256)]) + data[at + 1 :]
        else:
            data = data[:at] + data[at : at + 200] * chance.randrange(1, 4) + data[at:]
    return data


def _fuzz_links(chance: random.Random) -> None:
    from sitelore.extract.native.library import library  # noqa: PLC0415 as above

    base = chance.choice(
        (b"http://site.example/dir/page?q=1", b"https://site.example/", b"http://127.0.0.1:8000/a//b/../c", b"http://x/")
    )
    hrefs = "\0".join("".join(chance.choices(_HREFS, k=chance.randrange(9))) for _ in range(chance.randrange(1, 40))).encode()
    dropped = b"".join(len(name).to_bytes(2, "little") + name for name in chance.sample([b"utm_*", b"a", b"", b"*", b"ref"], 3))
    out = (ctypes.c_char * (2 * len(hrefs) + (hrefs.count(0) + 1) * (len(base) + 8)))()
    path = base.index(b"/", 8)
    parts = (exact(hrefs), len(hrefs), exact(base), len(base), path, exact(dropped), len(dropped))
    size = library().links_resolve(*parts, out)
    assert 0 < size <= len(out)
    assert out.raw[:size].count(0) == hrefs.count(0)


def _fuzz_vectors(int8_dot: ctypes.CDLL, chance: random.Random) -> None:
    count, dims = chance.randrange(20), chance.randrange(1, 400)
    codes = exact(chance.randbytes(count * dims))
    query = (ctypes.c_int16 * dims)(*(chance.randrange(-300, 300) for _ in range(dims)))
    sums = (ctypes.c_int32 * count)()
    int8_dot.dot_products(ctypes.c_int64(count), ctypes.c_int64(dims), codes, query, sums)
    numbers = [byte - 256 if byte > 127 else byte for byte in bytes(codes)]
    for row, total in enumerate(sums):
        assert total == sum(code * each for code, each in zip(numbers[row * dims : (row + 1) * dims], query, strict=True))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--drive"]:
        drive(Path(sys.argv[2]), int(sys.argv[3]))
    else:
        sys.exit(main())
