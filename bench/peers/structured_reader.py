# mypy: ignore-errors
# (extruct lives in the benchmark's own environment, .bench/structured, so its types are not at hand here.)
"""One reader of structured data in a process of its own: a line of JSON in for every page, a line out with what it found.

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
    """`sitelore` parses the page for nothing else; in a crawl the tree is there already, which is `sitelore-tree`."""
    from sitelore.extract import dom
    from sitelore.extract.structured.entities import read_structured

    def prepare(url: str, html: str) -> Callable[[], Any]:
        tree = dom.parse(html) if is_parsed else None
        return lambda: read_structured(dom.parse(html) if tree is None else tree, url)

    def types(found: Any) -> dict[str, set[str]]:
        return {way: types_within([one for one in found if one["source"] == way]) for way in WAYS}

    return "sitelore", prepare, types


def extruct(*ways: str) -> Reader:
    """The syntaxes that are asked for, in one call."""
    import logging

    import extruct as library

    logging.disable(logging.CRITICAL)

    def prepare(url: str, html: str) -> Callable[[], Any]:
        return lambda: library.extract(html, base_url=url, syntaxes=list(ways), errors="ignore")

    def types(found: Any) -> dict[str, set[str]]:
        return {way: types_within(found.get(way, []), ("@type", "type")) for way in WAYS}

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
    os.dup2(2, 1)  # whatever a library prints must not stand between two answers

    def write(answer: dict[str, Any]) -> None:
        sink.write(json.dumps(answer).encode() + b"\n")
        sink.flush()

    gc.freeze()
    gc.set_threshold(20_000, 20, 20)  # as Sitelore's reading processes have it; the same for all
    write({"version": f"{package} {version(package)}"})
    for line in source:
        page = json.loads(line)
        read = prepare(page["url"], page["html"])
        error, found = "", None
        began = time.process_time_ns()
        try:
            found = read()
        except Exception as problem:  # noqa: BLE001 whatever a library raises is a figure of its own
            error = f"{type(problem).__name__}: {str(problem)[:200]}"
        cpu_ms = (time.process_time_ns() - began) / 1e6
        named = {way: sorted(names) for way, names in types(found).items()} if found is not None else {way: [] for way in WAYS}
        write({"types": named, "cpu_ms": cpu_ms, "error": error})


if __name__ == "__main__":
    main()
