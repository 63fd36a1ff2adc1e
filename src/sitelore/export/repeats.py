"""What repeats over a site: lines that stand on many pages that are otherwise different.

A pure function of a run's pages and their sketches: the order in which pages were read, and by how many workers, cannot matter.
Nothing is removed here; `cutting` decides what of a page may go.
"""

from __future__ import annotations

import heapq
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Iterable, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b

from sitelore.model.frontier import PageSketch
from sitelore.model.sketch import line_numbers, lines_of
from sitelore.model.url import Url

PAGES = 4_096
"""Pages that are looked at, at most. On a larger site it is a sample, the same one each time."""

_WITNESSES = 3
_SHARE = 0.2
_MANY = 5
_FOLDER_SHARE = 0.5
_FOLDER_PAGES = 4
_WIDE = 0.5
_ALIKE = 0.6
_ASKED = 64
[_EMPTY] = line_numbers("")

Lines = frozenset[int]


@dataclass(frozen=True, slots=True)
class Repeats:
    """Lines that repeat, by their numbers: over the whole site, and over the pages of one folder."""

    everywhere: Lines = frozenset()
    folders: dict[str, Lines] = field(default_factory=dict)
    wide: Lines = frozenset()
    """Those that are on at least half of the pages of the site, or of a folder."""

    def on(self, url: Url) -> Lines:
        """Lines that repeat as far as this page is concerned."""
        return self.everywhere | self.folders.get(folder_of(url), frozenset())


NO_REPEATS = Repeats()


@dataclass(frozen=True, slots=True)
class _Page:
    folder: str
    lines: Lines


async def find_repeats(pages: AsyncIterator[PageSketch]) -> Repeats:
    """What repeats over the pages of a run."""
    # The pages whose URLs have the smallest hashes: a sample that does not depend on the order they come in.
    kept: list[tuple[int, str, PageSketch]] = []
    async for page in pages:
        entry = (-int.from_bytes(blake2b(page.url.encode(), digest_size=8).digest(), "big"), str(page.url), page)
        if len(kept) < PAGES:
            heapq.heappush(kept, entry)
        else:
            heapq.heappushpop(kept, entry)
    return repeats_among([page for _, _, page in sorted(kept, key=lambda entry: entry[1])])


def repeats_among(pages: Iterable[PageSketch]) -> Repeats:
    """The same for pages at hand."""
    read = [_Page(folder_of(page.url), frozenset(lines_of(page.sketch)) - {_EMPTY}) for page in pages]
    counts = _counts(read)
    everywhere = _repeating(read, counts, _SHARE)
    wide = {line for line in everywhere if counts[line] >= _WIDE * len(read)}
    folders: dict[str, Lines] = {}
    by_folder: dict[str, list[_Page]] = defaultdict(list)
    for page in read:
        by_folder[page.folder].append(page)
    for folder, some in by_folder.items():
        if _FOLDER_PAGES <= len(some) < len(read):
            found = _repeating(some, _counts(some), _FOLDER_SHARE)
            wide |= found
            if found - everywhere:
                folders[folder] = found - everywhere
    return Repeats(everywhere, folders, frozenset(wide))


def folder_of(url: Url) -> str:
    """Everything up to the last slash of the path."""
    return f"{url.authority}{url.path.rpartition('/')[0]}"


def _counts(pages: Iterable[_Page]) -> Counter[int]:
    counts: Counter[int] = Counter()
    for page in pages:
        counts.update(page.lines)
    return counts


def _repeating(pages: Sequence[_Page], counts: Counter[int], share: float) -> Lines:
    """Lines on a fair share of these pages, among them three that are otherwise different."""
    # An article's first lines stand in the few lists of a small site too: there, a fair share is half of the pages.
    least = max(_WITNESSES, share * len(pages), min(_MANY, len(pages) / 2))
    holders: dict[int, list[_Page]] = {line: [] for line, count in counts.items() if count >= least}
    if not holders:
        return frozenset()
    for page in pages:
        for line in holders.keys() & page.lines:
            holders[line].append(page)
    everywhere = max(2.0, _WIDE * len(pages))
    own: dict[int, Lines] = {}
    found = set()
    for line, some in holders.items():
        step = max(1, len(some) // _ASKED)
        if _differ(some[::step], own, counts, everywhere):
            found.add(line)
    return frozenset(found)


def _differ(pages: Iterable[_Page], own: dict[int, Lines], counts: Counter[int], everywhere: float) -> bool:
    """Whether three of these pages are no versions of one another: what they do not share with the whole site differs."""
    different: list[Lines] = []
    for page in pages:
        lines = own.get(id(page))
        if lines is None:
            lines = own[id(page)] = frozenset(line for line in page.lines if counts[line] < everywhere)
        if lines and all(len(lines & other) < _ALIKE * min(len(lines), len(other)) for other in different):
            different.append(lines)
            if len(different) == _WITNESSES:
                return True
    return False
