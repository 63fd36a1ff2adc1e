"""Converts Markdown to plain text on one line, for snippets and headings."""

from __future__ import annotations

import html
import re

MAX_TEXT = 20_000
"""Characters that are converted; a chunk is far shorter."""
_MAX_NESTING = 3

_FENCE = re.compile(r"\s{0,3}(`{3,}|~{3,})")
_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_DROPPED = re.compile(
    r"""\s*(?:
        (?:[-*_=]\s*){3,}                               # a thematic break, or the underline of a heading
        |\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)*\|?          # the rule under a table's header
        |\[[^\]]{1,200}\]:\s+\S+.*                      # a link reference definition
    )\s*""",
    re.VERBOSE,
)
_LEADING = re.compile(r"\s*(?:>\s?|\#{1,6}\s+|(?:[-*+]|\d{1,9}[.)])\s+(?:\[[ xX]\]\s+)?)")
_ROW = re.compile(r"\s*\|(.*)\|\s*")
_CELLS = re.compile(r"\s*(?<!\\)\|\s*")
_INLINE = re.compile(
    r"""
    (?P<ticks>`+)(?P<code>.{1,2000}?)(?P=ticks)(?!`)
    |\\(?P<literal>[!-/:-@\[-`{-~])
    |!?\[(?P<label>(?:[^\[\]\\]|\\.|!?\[[^\[\]]{0,300}\](?:\([^()\s]{0,2000}\))?){0,300})\](?:\((?:[^()\\]|\\.|\([^()]{0,500}\)){0,2000}\)|\[[^\[\]]{0,100}\])
    |<(?P<address>[a-z][a-z0-9+.-]{1,20}:[^<>\s]{1,2000}|[^<>\s@]{1,200}@[^<>\s]{1,200})>
    |</?[a-zA-Z][^<>]{0,300}>
    |\*+(?=\S)|(?<=\S)\*+|~~|(?<!\w)_+(?=\S)|(?<=[^\s_])_+(?!\w)
    """,
    re.VERBOSE,
)
_MARK = re.compile(r"[`\\!\[<*~_]")
"""Characters that `_INLINE` can start with; searching for them first is many times faster."""


def plain_text(markdown: str) -> str:
    """Remove the markup of Markdown. The content of code is left as it is."""
    lines: list[str] = []
    fence = ""
    text = markdown[:MAX_TEXT]
    for line in (_COMMENT.sub(" ", text) if "<!--" in text else text).splitlines():
        mark = _FENCE.match(line) if "```" in line or "~~~" in line else None
        if fence:
            if mark and mark[1].startswith(fence):
                fence = ""
            else:
                lines.append(line)
        elif mark:
            fence = mark[1]
        elif not _DROPPED.fullmatch(line):
            lines.append(_line(line))
    return " ".join(" ".join(lines).split())


def _line(line: str) -> str:
    while (leading := _LEADING.match(line)) and leading.end():
        line = line[leading.end() :]
    if "|" in line and (row := _ROW.fullmatch(line)):
        line = " · ".join(cell for cell in _CELLS.split(row[1]) if cell)
    return html.unescape(_inline(line)) if "&" in line else _inline(line)


def _inline(text: str, depth: int = 0) -> str:
    parts: list[str] = []
    done = at = 0
    while mark := _MARK.search(text, at):
        element = _INLINE.match(text, mark.start())
        if element is None:
            at = mark.end()
            continue
        parts += (text[done : element.start()], _content(element, depth))
        done = at = element.end()
    return "".join((*parts, text[done:])) if parts else text


def _content(element: re.Match[str], depth: int) -> str:
    if element["code"] is not None:
        return element["code"]
    if element["label"] is not None:
        return _inline(element["label"], depth + 1) if depth < _MAX_NESTING else element["label"]
    return element["literal"] or element["address"] or ""
