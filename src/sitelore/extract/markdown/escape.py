"""Escaping of text: a backslash before what CommonMark or GFM would read as markup, and nowhere else."""

from __future__ import annotations

import re

_SPECIAL = re.compile(r"[\\`*_\[\]<&~]")
_ALNUM = r"[^\W_]"
# A lone star between spaces and underscores within a word never open or close emphasis (CommonMark 6.2).
_MARKUP_RULES = rf"""
      \\(?=[!-/:-@\[-`{{-~]|\Z)
    | `
    | (?<!\s)\*(?!\s) | (?<!\s)\* | \*(?!\s)
    | (?<!{_ALNUM})(?<!_)_++ | (?<!_)_++(?!{_ALNUM})
    | \[(?=\^)
    | \](?=\()
    | <(?=[A-Za-z/!?])
    | &(?=\#?\w{{1,40}};)
    | (?<=\S)~ | ~(?=~)
    """
_MARKUP = re.compile(_MARKUP_RULES, re.VERBOSE)
_LABEL_MARKUP = re.compile(rf"[\[\]] | {_MARKUP_RULES}", re.VERBOSE)
# What opens a block at the start of a line: headings, quotes, list items, rules, fences, link definitions, task boxes.
_LINE_START = re.compile(
    r"""
      (?P<before>\#{1,6}(?=\s|\Z) | > | [-+*](?=\s|\Z) | -{2,}\s*\Z | ~{3,}
        | \[(?:[^\]\\]|\\.){1,999}\]: | \[[\ xX]\](?=\s|\Z))
    | \d{1,9}(?P<number>[.)](?=\s|\Z))
    """,
    re.VERBOSE,
)
# After a line of text these make it a heading or the head of a table.
_UNDERLINE = re.compile(r"=+\s*\Z|[|:\-][|:\-\s]*\Z")
_LINE_STARTERS = frozenset("#>-+*~[0123456789=|:")
_CLOSING_HASHES = re.compile(r"#+\Z")
_TICKS = re.compile(r"`+")


def escape_text(text: str) -> str:
    """Escape inline markup."""
    return _MARKUP.sub(_with_backslashes, text) if _SPECIAL.search(text) is not None else text


def _with_backslashes(match: re.Match[str]) -> str:
    return "\\_" * len(match[0]) if match[0][0] == "_" else f"\\{match[0]}"


def escape_label(text: str) -> str:
    """Escape text within the brackets of a link or an image."""
    return _LABEL_MARKUP.sub(_with_backslashes, text) if _SPECIAL.search(text) is not None else text


def escape_lines(markdown: str) -> str:
    """Escape what would open a block at the start of each line of a paragraph."""
    if "\n" not in markdown:
        return _escape_line_start(markdown) if markdown[:1] in _LINE_STARTERS else markdown
    first, *rest = markdown.split("\n")
    others = [f"\\{line}" if _UNDERLINE.match(line) is not None else _escape_line_start(line) for line in rest]
    return "\n".join([_escape_line_start(first), *others])


def _escape_line_start(line: str) -> str:
    match = _LINE_START.match(line)
    if match is None:
        return line
    if match["before"]:
        return f"\\{line}"
    at = match.start("number")
    return f"{line[:at]}\\{line[at:]}"


def escape_heading(markdown: str) -> str:
    """Escape the hashes that would close a heading (CommonMark 4.2)."""
    match = _CLOSING_HASHES.search(markdown)
    if match is None or (match.start() and not markdown[match.start() - 1].isspace()):
        return markdown
    return f"{markdown[: match.start()]}\\{match[0]}"


def code_span(code: str) -> str:
    """Write a code span."""
    if "`" not in code:
        return f"`{code}`" if code[0] != " " or code[-1] != " " else f"` {code} `"
    fence = "`" * (max(map(len, _TICKS.findall(code))) + 1)
    gap = " " if code[0] in "` " or code[-1] in "` " else ""
    return f"{fence}{gap}{code}{gap}{fence}"


def fence_for(code: str) -> str:
    """Return a fence longer than every run of backticks in a code block."""
    return "`" * max(3, max(map(len, _TICKS.findall(code)), default=0) + 1) if "```" in code else "```"
