"""The last look at Markdown, as text: what no rule on the tree can see.

Fenced code is never touched. On an ordinary page this is a handful of searches that find nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from sitelore.extract import dom
from sitelore.extract.emphasis import TAG, spell_tags
from sitelore.extract.texts import repeats

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


def tidy(markdown: str, utf8: bytes) -> str:
    """Markdown without repeated lines, stray tags and needless escapes. `utf8` is the same text."""
    if dom.JOINED in markdown:
        markdown = _JOIN.sub(r"\n\1", markdown).replace(dom.JOINED, "")
    if b"\\_" in utf8:
        markdown = _on_prose(markdown, lambda lines: [_unescaped(line) if "\\_" in line else line for line in lines])
    if b"  \n" in utf8 and _RULE.search(markdown) is not None:
        markdown = _on_prose(markdown, lambda lines: _RULE.sub(r"\1\\", "\n".join(lines)).split("\n"))
    if b"</" in utf8 and (b"</code>" in utf8 or TAG.search(markdown) is not None):
        markdown = _on_prose(markdown, lambda lines: _around_spans("\n".join(lines), spell_tags).split("\n"))
    if b"<br>" in utf8:
        markdown = _on_prose(markdown, lambda lines: [_broken(line) if "<br>" in line else line for line in lines])
    if repeats(utf8):
        markdown = _without_repeats(markdown)
    return markdown


def _on_prose(markdown: str, rule: Callable[[list[str]], list[str]]) -> str:
    """Apply a rule to everything but fenced code."""
    lines = markdown.split("\n")
    if "```" not in markdown:
        return "\n".join(rule(lines))
    parts = [held if is_code else rule(held) for is_code, held in _stretches(lines)]
    return "\n".join(["\n".join(part) for part in parts])


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


def _stretches(lines: list[str]) -> list[tuple[bool, list[str]]]:
    """The lines in turn outside and inside fences; the fences are part of the code."""
    stretches: list[tuple[bool, list[str]]] = [(False, [])]
    fence = ""
    for line in lines:
        if fence:
            stretches[-1][1].append(line)
            if line.strip(" >") == fence:
                fence = ""
                stretches.append((False, []))
        elif "```" in line and (opened := _FENCE.match(line)) is not None:
            fence = opened[1]
            stretches.append((True, [line]))
        else:
            stretches[-1][1].append(line)
    return [(is_code, held) for is_code, held in stretches if held]


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
    for is_code, lines in _stretches(markdown.split("\n")):
        text = "\n".join(lines)
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
