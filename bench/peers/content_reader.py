# mypy: ignore-errors
# (The libraries are installed in the benchmark's own environment, .bench/content, so their types are not available.)
"""One extractor in a process of its own: pages in one at a time over a pipe, what it makes of each out again.

    python content_reader.py sitelore|trafilatura|trafilatura-md|trafilatura-md-meta|resiliparse|readability|justext|boilerpy3|…

In:  three lengths (big-endian, 4 bytes each), then URL, weights and HTML (UTF-8). Weights are a path, empty for the usual ones.
Out: a length, then JSON with `kind` (text, markdown, html), `output`, `cpu_ms`, `error`. When the input ends, one more with
     `idle_mb` (after a first small page), `peak_mb` and `version`.
CPU is the process's own between having the page in memory and having the output in memory.
"""

from __future__ import annotations

import gc
import json
import os
import struct
import sys
import time
from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path

Steps = Iterator["str | None"]
"""First the work, then its output: unpacking one's own format is not what is measured."""
Extract = Callable[[str, bytes, str], Steps]
_SMALL = b"<html><title>Small</title><body><main><h1>Small</h1><p>A first page, so that all is loaded.</p></main></body></html>"


def sitelore(*, full: bool = False) -> Extract:
    """What `sitelore extract` does: decode, redact, parse, links, metadata, content, Markdown, text, hash, compress."""
    import zstandard

    from sitelore.extract.content import block_scorer
    from sitelore.extract.page import read
    from sitelore.extract.process_memory import give_back_large_blocks
    from sitelore.model.document import ReadOptions
    from sitelore.model.response import Response
    from sitelore.model.url import Url

    give_back_large_blocks()
    options, unzip = ReadOptions(keep_snapshot=False, full=full), zstandard.ZstdDecompressor()
    headers = (("content-type", "text/html; charset=utf-8"),)
    load_model, current = block_scorer.load_model, ""

    def extract(url: str, body: bytes, weights: str) -> Steps:
        nonlocal current
        if weights != current:
            model = load_model(weights)
            block_scorer.load_model = lambda: model
            current = weights
        reading = read(Response(Url.parse(url) or Url.trusted("http://localhost/"), 200, headers, body), options)
        yield
        data = unzip.decompressobj().decompress(reading.document.data) if reading.document else b"{}"
        yield json.loads(data).get("markdown", "")

    return extract


def trafilatura(output_format: str = "txt", *, metadata: bool = False) -> Extract:
    from trafilatura import extract as by_trafilatura

    def extract(url: str, body: bytes, _: str) -> Steps:
        yield from _plain(by_trafilatura(body.decode(), url=url, output_format=output_format, with_metadata=metadata) or "")

    return extract


def resiliparse() -> Extract:
    from resiliparse.extract.html2text import extract_plain_text

    def extract(_: str, body: bytes, __: str) -> Steps:
        yield from _plain(extract_plain_text(body.decode(), main_content=True, preserve_formatting=True))

    return extract


def readability() -> Extract:
    from readability import Document

    def extract(url: str, body: bytes, _: str) -> Steps:
        yield from _plain(Document(body.decode(), url=url).summary(html_partial=True))

    return extract


def justext() -> Extract:
    import justext as library

    words = library.get_stoplist("English")

    def extract(_: str, body: bytes, __: str) -> Steps:
        yield from _plain("\n".join(p.text for p in library.justext(body.decode(), words) if not p.is_boilerplate))

    return extract


def boilerpy3() -> Extract:
    from boilerpy3.extractors import ArticleExtractor

    extractor = ArticleExtractor(raise_on_failure=False)

    def extract(_: str, body: bytes, __: str) -> Steps:
        yield from _plain(extractor.get_content(body.decode()))

    return extract


def rs_trafilatura() -> Extract:
    import rs_trafilatura as library

    def extract(url: str, body: bytes, _: str) -> Steps:
        yield from _plain(library.extract(body.decode(), url=url).main_content or "")

    return extract


def _plain(output: str) -> Steps:
    """The two steps of an extractor whose output needs no unpacking."""
    yield
    yield output


LIBRARIES = {
    "sitelore": ("markdown", "sitelore", sitelore),
    "sitelore-all": ("markdown", "sitelore", lambda: sitelore(full=True)),
    "trafilatura": ("text", "trafilatura", trafilatura),
    "trafilatura-md": ("markdown", "trafilatura", lambda: trafilatura("markdown")),
    "trafilatura-md-meta": ("markdown", "trafilatura", lambda: trafilatura("markdown", metadata=True)),
    "resiliparse": ("text", "resiliparse", resiliparse),
    "readability": ("html", "readability-lxml", readability),
    "justext": ("text", "justext", justext),
    "boilerpy3": ("text", "boilerpy3", boilerpy3),
    "rs-trafilatura": ("text", "rs-trafilatura", rs_trafilatura),
}


def _memory_mb(field: str) -> float:
    """From /proc, where `VmHWM` is this program's own peak; `ru_maxrss` would count what the parent had when it started us."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field):
            return int(line.split()[1]) / 1024
    return 0.0


def _answer(extract: Extract, kind: str, url: str, body: bytes, weights: str) -> dict:
    began = time.process_time_ns()
    cpu_ms, output, error = 0.0, "", ""
    try:
        steps = extract(url, body, weights)
        next(steps)
        cpu_ms = (time.process_time_ns() - began) / 1e6
        output = next(steps)
    except Exception as problem:  # noqa: BLE001 whatever a library raises is a figure of its own
        cpu_ms = cpu_ms or (time.process_time_ns() - began) / 1e6
        error = f"{type(problem).__name__}: {str(problem)[:200]}"
    return {"kind": kind, "output": output, "cpu_ms": cpu_ms, "error": error}


def main() -> None:
    kind, package, make = LIBRARIES[sys.argv[1]]
    source, sink = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # output that a library prints must not mix with the answers

    def write(answer: dict) -> None:
        data = json.dumps(answer).encode("utf-8", "replace")
        sink.write(struct.pack(">I", len(data)) + data)
        sink.flush()

    extract = make()
    _answer(extract, kind, "http://localhost/", _SMALL, "")
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)  # as in Sitelore's extraction processes; equal for all
    idle_mb = _memory_mb("VmRSS")
    write({"ready": True})
    while len(head := source.read(12)) == 12:
        sizes = struct.unpack(">III", head)
        url, weights, body = (source.read(size) for size in sizes)
        write(_answer(extract, kind, url.decode(), body, weights.decode()))
        del body
    write({"idle_mb": idle_mb, "peak_mb": _memory_mb("VmHWM"), "version": version(package)})


if __name__ == "__main__":
    main()
