# mypy: ignore-errors
# (extruct is installed in the benchmark's own environment, .bench/structured, so its types are not available.)
"""One extractor of structured data in its own process: reads a line of JSON for every page, writes a line with its result.

    python structured_reader.py sitelore|sitelore-tree|extruct|extruct-no-rdfa

In: `{"url", "html"}`. Out: `{"types": {"json-ld": […], "microdata": […], "rdfa": […]}, "cpu_ms", "error"}`; before the first
of them `{"version"}`. CPU is the process's own between having the page in memory and having the entities in memory.
"""

from __future__ import annotations

import gc
import json
import os
import sys
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from bench.structured_scores import types_within

WAYS = ("json-ld", "microdata", "rdfa")
Prepare = Callable[[str, str], Callable[[], Any]]
"""Gives the work that is measured."""
Types = Callable[[Any], dict[str, set[str]]]
Reader = tuple[str, Prepare, Types]


def sitelore(*, is_parsed: bool) -> Reader:
    """Sitelore's extractor: `sitelore` parses the page, `sitelore-tree` gets a parsed page, as in a crawl."""
    from sitelore.extract import dom
    from sitelore.extract.structured.entities import read_structured

    def prepare(url: str, html: str) -> Callable[[], Any]:
        tree = dom.parse(html) if is_parsed else None
        return lambda: read_structured(dom.parse(html) if tree is None else tree, url)

    def types(entities: Any) -> dict[str, set[str]]:
        return {way: types_within([entity for entity in entities if entity["source"] == way]) for way in WAYS}

    return "sitelore", prepare, types


def extruct(*ways: str) -> Reader:
    """extruct with these syntaxes, in one call."""
    import logging

    import extruct as library

    logging.disable(logging.CRITICAL)

    def prepare(url: str, html: str) -> Callable[[], Any]:
        return lambda: library.extract(html, base_url=url, syntaxes=list(ways), errors="ignore")

    def types(syntaxes: Any) -> dict[str, set[str]]:
        return {way: types_within(syntaxes.get(way, []), ("@type", "type")) for way in WAYS}

    return "extruct", prepare, types


READERS = {
    "sitelore": lambda: sitelore(is_parsed=False),
    "sitelore-tree": lambda: sitelore(is_parsed=True),
    "extruct": lambda: extruct("json-ld", "microdata", "rdfa", "opengraph"),
    "extruct-no-rdfa": lambda: extruct("json-ld", "microdata", "opengraph"),
}


def main() -> None:
    package, prepare, types = READERS[sys.argv[1]]()
    source, sink = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # output that a library prints must not mix with the answers

    def write(answer: dict[str, Any]) -> None:
        sink.write(json.dumps(answer).encode() + b"\n")
        sink.flush()

    gc.freeze()
    gc.set_threshold(20_000, 20, 20)  # as in Sitelore's extraction processes; equal for all
    write({"version": f"{package} {version(package)}"})
    for line in source:
        page = json.loads(line)
        read = prepare(page["url"], page["html"])
        error, result = "", None
        began = time.process_time_ns()
        try:
            result = read()
        except Exception as problem:  # noqa: BLE001 whatever a library raises is a figure of its own
            error = f"{type(problem).__name__}: {str(problem)[:200]}"
        cpu_ms = (time.process_time_ns() - began) / 1e6
        named = (
            {way: sorted(names) for way, names in types(result).items()} if result is not None else {way: [] for way in WAYS}
        )
        write({"types": named, "cpu_ms": cpu_ms, "error": error})


if __name__ == "__main__":
    main()
