"""Bodies that are text already: plain text, escaped so that nothing in it becomes markup, and Markdown, defused."""

from __future__ import annotations

import re

from sitelore.extract.invisible import remove_invisible

_SPECIAL = re.compile(r"([\\`*_\[\]<&~|])")
_LINE_START = re.compile(r"^([ \t]*)(?:([#>+=-])|(\d{1,9})([.)]))", re.MULTILINE)
_INDENT = re.compile(r"^[ \t]{4,}", re.MULTILINE)
_NEWLINES = re.compile(r"\r\n?|[\x0b\x0c\x85\u2028\u2029]")
_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})")
_INLINE_CODE = re.compile(r"(`+[^`]*`+)")
_RAW_HTML = re.compile(r"(?<!\\)<(?=[A-Za-z/!?])(?!https?://|mailto:)")
_BAD_TARGET = re.compile(
    r"(\]\([ \t]{0,20}<?|^ {0,3}\[[^\]\n]{0,200}\]:[ \t]{0,20}<?)(?:javascript|vbscript|data)\s*:(?:\([^()]*\)|[^()\s])*",
    re.IGNORECASE | re.MULTILINE,
)
_ATX = re.compile(r"^ {0,3}#{1,2}[ \t]+([^\n]{1,300})", re.MULTILINE)
_MARKS = re.compile(r"[*_`]|!?\[([^\]]*)\]\([^)]*\)")


def normal_lines(text: str) -> str:
    """Text with one kind of line end and nothing invisible in it."""
    return remove_invisible(_NEWLINES.sub("\n", text)).strip("\n")


def escaped(text: str) -> str:
    """Plain text as Markdown that reads the same: markup characters escaped, indents too small to mean code."""
    text = _SPECIAL.sub(r"\\\1", text)
    text = _INDENT.sub("   ", text)
    return _LINE_START.sub(lambda m: f"{m[1]}\\{m[2]}" if m[2] else f"{m[1]}{m[3]}\\{m[4]}", text)


def defused(markdown: str) -> str:
    """Markdown as it is, but raw HTML shown instead of meant, and no link that runs a script. Code stays untouched."""
    lines = []
    fence = ""
    for line in markdown.split("\n"):
        mark = _FENCE.match(line)
        if fence:
            if mark is not None and mark[1].startswith(fence):
                fence = ""
        elif mark is not None:
            fence = mark[1]
        elif "<" in line or ":" in line:
            line = _defused_line(line)  # noqa: PLW2901 - the line is what is kept
        lines.append(line)
    return "\n".join(lines)


def first_heading(markdown: str) -> str:
    """The text of the first heading of level one or two."""
    found = _ATX.search(markdown)
    return " ".join(_MARKS.sub(r"\1", found[1]).rstrip(" \t#").split()) if found else ""


def _defused_line(line: str) -> str:
    parts = _INLINE_CODE.split(line)
    parts[::2] = [_BAD_TARGET.sub(r"\1#", _RAW_HTML.sub(r"\\<", part)) for part in parts[::2]]
    return "".join(parts)
