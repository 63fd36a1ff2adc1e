"""Markdown → plain text, for eyes: what a reader of the page would read, in one line."""

from __future__ import annotations

import html
import re

MAX_TEXT = 20_000
"""Characters that are looked at; a chunk is far shorter."""
_DEEP = 3

_FENCE = re.compile(r"\s{0,3}(`{3,}|~{3,})")
_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_DROPPED = re.compile(
    r"""\s*(?:
        (?:[-*_=]\s*){3,}                               # a rule, or the line under a heading
        |\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)*\|?          # the line under a table's header
        |\[[^\]]{1,200}\]:\s+\S+.*                      # where a link leads that stands elsewhere
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
"""What `_INLINE` may begin with: looking for it passes over text many times faster."""


def plain_text(markdown: str) -> str:
    """The text without its marks; what stands in code is left as it is."""
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
        found = _INLINE.match(text, mark.start())
        if found is None:
            at = mark.end()
            continue
        parts += (text[done : found.start()], _read(found, depth))
        done = at = found.end()
    return "".join((*parts, text[done:])) if parts else text


def _read(found: re.Match[str], depth: int) -> str:
    if found["code"] is not None:
        return found["code"]
    if found["label"] is not None:
        return _inline(found["label"], depth + 1) if depth < _DEEP else found["label"]
    return found["literal"] or found["address"] or ""
