"""Converts plain text to Markdown, and makes the Markdown of a site safe to render."""

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
_SCRIPT_TARGET = re.compile(
    r"(\]\([ \t]{0,20}<?|^ {0,3}\[[^\]\n]{0,200}\]:[ \t]{0,20}<?)(?:javascript|vbscript|data)\s*:(?:\([^()]*\)|[^()\s])*",
    re.IGNORECASE | re.MULTILINE,
)
_ATX_HEADING = re.compile(r"^ {0,3}#{1,2}[ \t]+([^\n]{1,300})", re.MULTILINE)
_MARKS = re.compile(r"[*_`]|!?\[([^\]]*)\]\([^)]*\)")


def normalise_lines(text: str) -> str:
    """Text with line feeds as line ends, without invisible characters."""
    return remove_invisible(_NEWLINES.sub("\n", text)).strip("\n")


def escape_markdown(text: str) -> str:
    """Plain text as Markdown that renders as the text: markup characters are escaped, indents are too small for code."""
    text = _SPECIAL.sub(r"\\\1", text)
    text = _INDENT.sub("   ", text)
    return _LINE_START.sub(lambda m: f"{m[1]}\\{m[2]}" if m[2] else f"{m[1]}{m[3]}\\{m[4]}", text)


def sanitise_markdown(markdown: str) -> str:
    """Markdown with raw HTML escaped and without links that run scripts. Code is unchanged."""
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
            line = _sanitise_line(line)  # noqa: PLW2901 - the changed line is kept
        lines.append(line)
    return "\n".join(lines)


def first_heading(markdown: str) -> str:
    """The text of the first heading of level one or two."""
    match = _ATX_HEADING.search(markdown)
    return " ".join(_MARKS.sub(r"\1", match[1]).rstrip(" \t#").split()) if match else ""


def _sanitise_line(line: str) -> str:
    parts = _INLINE_CODE.split(line)
    parts[::2] = [_SCRIPT_TARGET.sub(r"\1#", _RAW_HTML.sub(r"\\<", part)) for part in parts[::2]]
    return "".join(parts)
