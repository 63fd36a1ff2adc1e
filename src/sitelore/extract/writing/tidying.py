"""The last look at Markdown, as text: what no rule on the tree can see.

Fenced code is never touched. On an ordinary page this is a handful of searches that find nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from sitelore.extract import dom
from sitelore.extract.writing.emphasis import OpenError, spell_tags
from sitelore.extract.writing.texts import Sign

_FENCE = re.compile(r"[ >]*(?:(?:[-*+]|\d{1,9}[.)]) +)*(`{3,})[^`]*$")
_CODE_SPAN = re.compile(r"(`(?<![\\`]`)`*)(?!`)(?:.*?[^`])\1(?!`)")
_UNDERSCORES = re.compile(r"\\_(?:\\_)*(?=[^\W_])")
_HIDDEN = "\ufdd1"
# A broken line that would make the one before it the head of a table.
_RULE = re.compile(r"(  \n[ >]*)(?=[|:][ |:-]*-[ |:-]*(?:\n|$))")
_JOIN = re.compile(rf"\n[ >]*\n([ >]*){dom.JOINED}")
_BR = re.compile(r" *<(?<!\\<)br> *")
_CONTAINER = re.compile(r"[ >]*(?:(?:[-*+]|\d{1,9}[.)]) +)*")
_ITEM = re.compile(r"[ >]*(?:[-*+]|\d{1,9}[.)]) +")
_ITEM_WORDS = 4  # shorter items repeat with reason: scores, sizes, stars


def tidy(markdown: str, signs: int) -> str:
    """Markdown without repeated lines, stray tags and needless escapes. `signs` is what is in it.

    Compiled code (`tidying.c`) has done the plain lines already of what it wrote, and leaves those signs out.
    """
    if signs & Sign.JOINED:
        markdown = _JOIN.sub(r"\n\1", markdown).replace(dom.JOINED, "")
    if signs & Sign.ESCAPED:
        markdown = _on_prose(markdown, lambda text: _by_line(text, "\\_", _unescaped))
    if signs & Sign.RULED and _RULE.search(markdown) is not None:
        markdown = _on_prose(markdown, lambda text: _RULE.sub(r"\1\\", text))
    if signs & Sign.ENDS and signs & (Sign.CODE | Sign.OPENS | Sign.CLOSES):
        markdown = _on_prose(markdown, _spelled)
    if signs & Sign.BROKEN:
        markdown = _on_prose(markdown, lambda text: _by_line(text, "<br>", _broken))
    if signs & Sign.REPEATED:
        markdown = _without_repeats(markdown)
    return markdown


def _on_prose(markdown: str, rule: Callable[[str], str]) -> str:
    """Apply a rule to everything but fenced code."""
    if "```" not in markdown:
        return rule(markdown)
    return "\n".join([text if is_code else rule(text) for is_code, text in _stretches(markdown)])


def _by_line(text: str, sign: str, rule: Callable[[str], str]) -> str:
    """Apply a rule to the lines that hold a sign."""
    parts: list[str] = []
    done, at = 0, text.find(sign)
    while at >= 0:
        start, end = text.rfind("\n", done, at) + 1, text.find("\n", at)
        end = end if end >= 0 else len(text)
        parts += (text[done:start], rule(text[start:end]))
        done, at = end, text.find(sign, end)
    return "".join([*parts, text[done:]])


def _spelled(text: str) -> str:
    """Emphasis in place of tags. What a line says of that never depends on other lines, where it closes what it opens."""
    try:
        return _by_line(text, "<", lambda line: _around_spans(line, lambda part: spell_tags(part, alone=True)))
    except OpenError:
        return _around_spans(text, spell_tags)


def _around_spans(text: str, rule: Callable[[str], str]) -> str:
    """Apply a rule to everything but code spans, which never go over a line's end."""
    if "`" not in text:
        return rule(text)
    spans: list[str] = []

    def hide(found: re.Match[str]) -> str:
        spans.append(found[0])
        return _HIDDEN

    hidden = rule(_CODE_SPAN.sub(hide, text.replace(_HIDDEN, "")))
    first, *rest = hidden.split(_HIDDEN)
    return "".join([first, *(span + part for span, part in zip(spans, rest, strict=True))])


def _stretches(markdown: str) -> list[tuple[bool, str]]:
    """The text in turn outside and inside fences, each without its last line end; the fences are part of the code."""
    stretches: list[tuple[bool, str]] = []
    fence = ""
    start = at = 0
    while (at := markdown.find("```", at)) >= 0:
        line_start, line_end = markdown.rfind("\n", 0, at) + 1, markdown.find("\n", at)
        at = line_end if line_end >= 0 else len(markdown)
        line = markdown[line_start:at]
        if fence:
            if line.strip(" >") == fence:
                stretches.append((True, markdown[start:at]))
                start, fence = at + 1, ""
        elif (opened := _FENCE.match(line)) is not None:
            if line_start > start:
                stretches.append((False, markdown[start : line_start - 1]))
            start, fence = line_start, opened[1]
    if start <= len(markdown):
        stretches.append((bool(fence), markdown[start:]))
    return stretches


def _unescaped(line: str) -> str:
    """An underscore between letters is never emphasis; names and addresses stay as they are."""
    return _around_spans(line, lambda text: _UNDERSCORES.sub(_bare_within_word, text))


def _broken(line: str) -> str:
    """Line breaks that the writer gave up on. A heading and a row of a table have one line; our own HTML keeps its own."""
    own = line.lstrip(" >")
    if own.startswith("<t"):
        return line
    indent = _CONTAINER.match(line)
    prefix = re.sub(r"[^ >]", " ", indent[0]) if indent is not None else ""
    end = " " if own.startswith(("|", "#")) else "  \n" + prefix
    return _around_spans(line, lambda text: _BR.sub(lambda _: end, text))


def _bare_within_word(found: re.Match[str]) -> str:
    text, at = found.string, found.start()
    return found[0].replace("\\", "") if at and text[at - 1].isalnum() else found[0]


def _without_repeats(markdown: str) -> str:
    """Drop blocks and list items that stand directly after their like, outside code and tables."""
    parts: list[str] = []
    last = ""
    for is_code, text in _stretches(markdown):
        if is_code:
            parts.append(text)
            last = ""
            continue
        kept: list[str] = []
        for block in text.split("\n\n"):
            own = block.strip("\n")
            if own and own == last and not own.lstrip(" >").startswith(("|", "<")):
                continue
            kept.append(_without_repeated_items(block))
            last = own or last
        written = "\n\n".join(kept)
        # A fence must not follow without an empty line because the block before it went.
        parts.append(written if written.endswith("\n") or not text.endswith("\n") else written + "\n")
    return "\n".join(parts)


def _without_repeated_items(block: str) -> str:
    lines = block.split("\n")
    if len(lines) == 1:
        return block
    pairs = zip(["", *lines], lines, strict=False)
    return "\n".join(
        [line for before, line in pairs if line != before or len(line.split()) <= _ITEM_WORDS or not _ITEM.match(line)]
    )
