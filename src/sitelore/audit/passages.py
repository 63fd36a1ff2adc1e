"""Passages that several pages have in common, found by the hashes of their paragraphs."""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Iterator
from typing import NamedTuple

MIN_CHARS = 160
"""A shorter paragraph cannot have enough words to be reported."""
MAX_PARAGRAPHS = 2_000
"""Of one page."""


class Repeated(NamedTuple):
    """A paragraph that several pages have, by its hash."""

    digest: int
    pages: tuple[int, ...]
    """Numbers of pages, ascending."""


def paragraphs(text: str) -> Iterator[tuple[int, str]]:
    """Yield the long paragraphs of a text with their hashes, each once."""
    seen: set[int] = set()
    for line in text.split("\n", MAX_PARAGRAPHS):
        if len(line) >= MIN_CHARS:
            words = " ".join(line.split())
            digest = int.from_bytes(hashlib.blake2b(words.encode("utf-8", "replace"), digest_size=8).digest(), "big")
            if digest not in seen:
                seen.add(digest)
                yield digest, words


class Passages:
    """The hashes of the paragraphs of all pages: twelve bytes each, so that those of a large site fit into memory."""

    def __init__(self) -> None:
        self._digests, self._pages = array("Q"), array("i")

    def add(self, page: int, text: str) -> None:
        """Add the paragraphs of a page."""
        for digest, _ in paragraphs(text):
            self._digests.append(digest)
            self._pages.append(page)

    def repeated(self, min_pages: int, limit: int) -> list[Repeated]:
        """The paragraphs that at least `min_pages` pages have, those of most pages first."""
        import numpy as np  # noqa: PLC0415 part of an extra

        if not self._digests:
            return []
        digests, pages = np.frombuffer(self._digests, np.uint64), np.frombuffer(self._pages, np.int32)
        order = np.argsort(digests, kind="stable")
        values, starts, counts = np.unique(digests[order], return_index=True, return_counts=True)
        often = np.flatnonzero(counts >= min_pages)
        chosen = often[np.argsort(-counts[often], kind="stable")][:limit].tolist()
        return [
            Repeated(int(values[at]), tuple(sorted(pages[order[starts[at] : starts[at] + counts[at]]].tolist())))
            for at in chosen
        ]
