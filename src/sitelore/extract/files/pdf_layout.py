"""Lines of pages → the flow of a document: paragraphs put together again, hyphens healed, headings told by their type.

Pure: it sees lines as they stand on pages (`pdf.py` gets them) and knows nothing of PDF.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from html import escape

from sitelore.extract.files.flow import Flow, linked

_HEADING_SIZE = 1.12
_HEADING_CHARS = 200
_HEADING_LINES = 8
_LOOKED_BACK = 40
_BOLD_HEADING_CHARS = 90
_HEADING_LEVELS = 5
_EDGE_LINES = 2
_SURE_PAGES = 3
_DIGITS = re.compile(r"\d+|\b[ivxlc]{1,6}\b")
_PAGE_NUMBER = re.compile(r"(?i)\W*(?:page|seite|p\.)?\s*(?:\d{1,5}|[ivxlc]{1,6})(?:\s*(?:/|of|von|de)\s*\d{1,5})?\W*")
_EDGE_NUMBER = re.compile(r"(?:(\d{1,4})(?=\s|$))?(?:.*?(?<=\s)(\d{1,4})|.*)")
_LEADERS = re.compile(r"\s?(?:\.\s?){5,}|\s?(?:[\u2026_]\s?){3,}")
_BULLET = re.compile(
    "([\u2022\u2023\u25e6\u25aa\u25ab\u25cf\u25cb\u25a0\u25a1\u2043\u2219\uf0b7\uf0a7\u27a2\u2713\u2714*\u2013-])\\s+(?=\\S)"
)
_NUMBERED = re.compile(r"(?:\(?\d{1,3}[.)]|\(?[a-z][.)])\s+(?=\S)")
_ENDS = (".", "!", "?", ":", ";", "…", "。", "”", '"')
_WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
_LAST_PART = re.compile(r"[^\W\d_]+$")
_FIRST_PART = re.compile(r"[^\W\d_]+")


@dataclass(frozen=True, slots=True)
class Line:
    """A line of text on a page. Coordinates are in points, from the page's bottom left."""

    text: str
    left: float
    right: float
    bottom: float
    top: float
    size: float
    is_bold: bool = False
    is_fixed: bool = False
    """Whether every character is as wide as any other."""
    is_hyphenated: bool = False
    """Whether its last word goes on in the next line."""
    links: tuple[tuple[int, int, str], ...] = ()
    """Where links stand in it: from, to, address."""


Page = list[Line]


def write_pages(pages: list[Page], flow: Flow) -> None:
    """All pages as one flow: what repeats at their edges is left out, and a paragraph may go on over a page's end."""
    lines = [line for page in pages for line in page]
    if not lines:
        return
    body = _body_size(lines)
    lines = [line for page in _without_running_lines(pages, body) for line in page]
    words = {word.lower() for line in lines for word in _WORD.findall(line.text)}
    levels = _levels(lines, body)
    for block in _blocks(lines, levels):
        _write(block, levels, words, flow)


def _without_running_lines(pages: list[Page], body: float) -> Iterator[Page]:
    """Pages without headers, footers and page numbers: lines at an edge that stand at the same height on most pages."""
    seen: Counter[tuple[str, int]] = Counter()
    edges = [_edge_lines(page) for page in pages]
    numbers = [{offset for line in edge for offset in _offsets(line, at, body)} for at, edge in enumerate(edges)]
    for edge in edges:
        seen.update({_running(line) for line in edge})
    offsets = Counter(offset for found in numbers for offset in found)
    enough = max(_SURE_PAGES, len(pages) * 0.4)
    for at, (page, edge) in enumerate(zip(pages, edges, strict=True)):
        gone = {
            id(line)
            for line in edge
            if seen[_running(line)] >= enough or any(offsets[offset] >= enough for offset in _offsets(line, at, body))
        }
        yield [line for line in page if id(line) not in gone] if gone else page


def _offsets(line: Line, page: int, body: float) -> set[int]:
    """How far a number at either end of a line is from the count of pages: the same on most pages for a page number."""
    if len(line.text) >= 100 or line.size >= body * _HEADING_SIZE:  # a heading may begin with a number too
        return set()
    found = _EDGE_NUMBER.fullmatch(line.text)
    return {int(number) - page for number in found.groups() if number} if found else set()


def _edge_lines(page: Page) -> list[Line]:
    ordered = sorted(page, key=lambda line: line.bottom)
    return ordered if len(ordered) <= 2 * _EDGE_LINES else ordered[:_EDGE_LINES] + ordered[-_EDGE_LINES:]


def _running(line: Line) -> tuple[str, int]:
    """What a header has in common with that of the next page: its words without numbers, and its height."""
    words = "#" if _PAGE_NUMBER.fullmatch(line.text) else _DIGITS.sub("#", line.text.lower())
    return words, round(line.bottom / 4)


def _body_size(lines: list[Line]) -> float:
    sizes: Counter[float] = Counter()
    for line in lines:
        sizes[line.size] += len(line.text)
    return sizes.most_common(1)[0][0]


def _levels(lines: list[Line], body: float) -> dict[tuple[float, bool], int]:
    """The heading level of each type that is larger than the text's, the largest first; then that of bold lines of its size."""
    chars: Counter[float] = Counter()
    for line in lines:
        if line.size >= body * _HEADING_SIZE and len(line.text) <= _HEADING_CHARS and not line.is_fixed:
            chars[line.size] += 1
    ranks: list[float] = []
    for size in sorted(chars, reverse=True):
        if not ranks or ranks[-1] - size > 0.04 * size:
            ranks.append(size)
    levels: dict[tuple[float, bool], int] = {}
    for size in chars:
        rank = next((at for at, top in enumerate(ranks) if top - size <= 0.04 * size), len(ranks))
        levels[size, False] = levels[size, True] = min(rank + 1, _HEADING_LEVELS)
    bold = sum(len(line.text) for line in lines if line.is_bold)
    if bold * 3 < sum(len(line.text) for line in lines):  # where a third is bold, bold means nothing
        levels[body, True] = min(len(ranks) + 1, _HEADING_LEVELS)
    return levels


def _blocks(lines: list[Line], levels: dict[tuple[float, bool], int]) -> Iterator[list[Line]]:
    block: list[Line] = []
    for line in lines:
        if block and not _goes_on(block, line, levels):
            yield block
            block = []
        block.append(line)
    if block:
        yield block


def _goes_on(block: list[Line], line: Line, levels: dict[tuple[float, bool], int]) -> bool:
    """Whether a line belongs to the paragraph before it."""
    last = block[-1]
    if last.is_fixed and line.is_fixed:
        return last.bottom - line.bottom < 3 * line.size  # code goes on over an empty line, not over a page
    level = _level([line], levels)
    if last.is_fixed != line.is_fixed or level != _level(block, levels):
        return False
    if abs(last.size - line.size) > (0.5 if level else 3):
        return False
    if last.is_hyphenated:
        return True
    if _LEADERS.search(last.text) or _BULLET.match(line.text) or _NUMBERED.match(line.text):
        return False
    gap = last.bottom - line.bottom
    if gap < 0:  # the next column, or the next page
        return not last.text.endswith(_ENDS) and line.text[:1].islower()
    if gap > 1.75 * max(line.size, _spacing(block)):
        return False
    return bool(level) or not _begins_anew(block, line)


def _begins_anew(block: list[Line], line: Line) -> bool:
    """Whether a line right below another begins a paragraph: it is set in, or the other ends short of the edge."""
    last = block[-1]
    is_listed = _BULLET.match(block[0].text) or _NUMBERED.match(block[0].text)
    if is_listed and line.left < block[0].left - 1:
        return True
    if not last.text.endswith(_ENDS):
        return False
    if not is_listed and line.left > last.left + 0.8 * line.size:
        return True
    room = max(one.right for one in [*block[-_LOOKED_BACK:], line]) - last.right
    return room > 0.18 * (last.right - last.left + line.right - line.left)


def _spacing(block: list[Line]) -> float:
    return (block[-2].bottom - block[-1].bottom) / 1.4 if len(block) > 1 else 0.0


def _level(block: list[Line], levels: dict[tuple[float, bool], int]) -> int:
    first = block[0]
    level = levels.get((first.size, first.is_bold), 0)
    if not level or first.is_fixed or len(block) > _HEADING_LINES:
        return 0
    text = " ".join(line.text for line in block)
    if levels.get((first.size, False)):
        return level if len(text) <= _HEADING_CHARS else 0
    is_title = (
        len(text) <= _BOLD_HEADING_CHARS and all(line.is_bold for line in block) and not text.endswith((".", ",", ";", ":"))
    )
    return level if is_title else 0


def _write(block: list[Line], levels: dict[tuple[float, bool], int], words: set[str], flow: Flow) -> None:
    if block[0].is_fixed:
        flow.code("\n".join(_set_in(block)))
        return
    if _LEADERS.search(block[-1].text):
        flow.item(0, _LEADERS.sub(" … ", _joined(block, words)))
        return
    if level := _level(block, levels):
        flow.heading(level, _joined(block, words))
        return
    first = block[0]
    for pattern, is_numbered in ((_BULLET, False), (_NUMBERED, True)):
        mark = pattern.match(first.text)
        if mark is not None and (not is_numbered or len(block) == 1 or block[1].left > first.left + 1):
            # A number stays part of the text: which one it is matters, and a list starts at one.
            rest = first if is_numbered else _without_start(first, mark.end())
            inner = _joined([rest, *block[1:]], words)
            flow.paragraph(inner) if is_numbered else flow.item(0, inner)
            return
    flow.paragraph(_joined(block, words))


def _set_in(block: list[Line]) -> Iterable[str]:
    """Lines of code with the space that stands before them on the page."""
    edge = min(line.left for line in block)
    for line in block:
        width = (line.right - line.left) / max(1, len(line.text))
        yield " " * min(40, round((line.left - edge) / width) if width > 0 else 0) + line.text


def _without_start(line: Line, count: int) -> Line:
    links = tuple([(max(0, start - count), end - count, href) for start, end, href in line.links if end > count])
    return replace(line, text=line.text[count:], links=links)


def _joined(block: list[Line], words: set[str]) -> str:
    parts: list[str] = []
    for at, line in enumerate(block):
        text = _html(line)
        following = block[at + 1] if at + 1 < len(block) else None
        if following is None:
            parts.append(text)
        elif line.is_hyphenated:
            parts.append(text + _seam(line.text, following.text, words))
        else:
            parts.append(text + " ")
    return "".join(parts)


def _seam(before: str, after: str, words: set[str]) -> str:
    """What stands between two halves of a word: nothing, or the hyphen that belongs to it."""
    head, tail = _LAST_PART.search(before), _FIRST_PART.match(after)
    if head is None or tail is None:
        return "-"
    whole, parted = f"{head[0]}{tail[0]}".lower(), f"{head[0]}-{tail[0]}".lower()
    if whole in words:
        return ""
    return "-" if parted in words or not tail[0][0].islower() else ""


def _html(line: Line) -> str:
    parts: list[str] = []
    at = 0
    for start, end, href in sorted(line.links):
        if start >= at:
            parts += (escape(line.text[at:start]), linked(escape(line.text[start:end]), href))
            at = end
    parts.append(escape(line.text[at:]))
    return "".join(parts)
