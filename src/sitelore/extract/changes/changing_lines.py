"""A document's Markdown as the lines that `change` compares: what they say, without markup and without the targets of links."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from sitelore.extract.changes.volatile import MARK, masked
from sitelore.extract.changes.volatile_words import RELATED, STAMPS

_FENCE = re.compile(r"\s{0,3}(`{3,}|~{3,})")
_PREFIX = re.compile(r"\s*(?:>\s*)*(?:#{1,6}\s+|(?:[-*+]|\d{1,9}[.)])\s+(?:\[[ xX]\]\s+)?)?")
_ITEM = re.compile(r"\s*(?:[-*+]|\d{1,9}[.)])\s")
_TARGET = re.compile(r"\]\((?:<[^>\n]*>|(?:\\.|[^\s()\\]|\([^\s()]*\))*)(?:\s+\"(?:\\.|[^\"\\])*\")?\)")
_IMAGE = re.compile(r"!\[(?:\\.|[^\[\]\\])*" + _TARGET.pattern)
_LINK = re.compile(r"\[((?:\\.|[^\[\]\\])*)" + _TARGET.pattern)
_MARKUP = re.compile(r"[*_`\\\[\]|]+")
_SPACE = re.compile(r"\s+")
_FILLER = re.compile(r"[\W_]+")
_RELATED = re.compile("|".join(RELATED), re.IGNORECASE)
_LABEL_WORDS = 8
_LINKS_IN_A_ROW = 3
_LINKED = 0.7
_HALF_LINKED = 0.5
_MASKED_CHARS = 32_000
_STAMPS = frozenset(STAMPS.split())


@dataclass(slots=True)
class Line:
    """One line, or a whole list of links. What it says is found out when asked for: most lines are equal as they stand."""

    source: str
    is_code: bool = False
    is_links: bool = False
    is_literal: bool = False
    """Taken word for word: what is beyond the measure of what is looked at closely."""
    found: list[str] = field(default_factory=list)
    """The volatile words, once `key` was asked for."""
    _key: str | None = None

    @property
    def key(self) -> str:
        """What two lines are equal by: everything but markup, volatile words and capitals. Code is taken literally."""
        if self._key is None:
            if self.is_code:
                self._key = self.source
            else:
                text = self.source if self.is_links else _said(self.source)
                if not self.is_literal:
                    text, self.found = masked(text)
                self._key = text.lower()
        return self._key

    @property
    def words(self) -> tuple[str, ...]:
        """The words of `key`."""
        return tuple(self.key.split(" "))

    @property
    def is_noise(self) -> bool:
        """Whether the line says nothing but volatile words: "3 comments" or "updated on …" comes and goes."""
        if self.is_code or self.is_links:
            return False
        return all(word in _STAMPS for word in _FILLER.sub(" ", self.key.replace(MARK, " ")).split())


def lines_of(title: str, markdown: str) -> list[Line]:
    """Title and lines. Neighbouring links of a list are one line in which order means nothing; related ones are left out."""
    lines = [Line(title)]
    fence = ""
    links: list[str] = []
    in_related = False
    for text in markdown.split("\n"):
        if fence:
            fence = "" if _closes(text, fence) else fence
            lines.append(Line(text, is_code=True))
            continue
        if not text or text.isspace():
            continue
        labels = _labels(text) if "](" in text else []
        linked = sum(map(len, labels)) / max(1, len(_said(text))) if labels else 0.0
        in_related = (in_related and (linked >= _HALF_LINKED or _is_picture(text))) or _is_related(text, linked)
        if in_related and labels:
            continue
        if linked >= _LINKED and (_ITEM.match(text) or len(labels) >= _LINKS_IN_A_ROW):
            links += labels
            continue
        _end_list(links, lines)
        if (opened := _FENCE.match(text)) is not None:
            fence = opened[1]
        lines.append(Line(text))
    _end_list(links, lines)
    return lines


def limit_masking(lines: Iterable[Line]) -> None:
    """Take word for word what is beyond the measure: to look for volatile words in a page that is all new is no use."""
    left = _MASKED_CHARS
    for line in lines:
        left -= len(line.source)
        line.is_literal = left < 0


def _end_list(links: list[str], lines: list[Line]) -> None:
    if links:
        lines.append(Line(" \u00b7 ".join(sorted(links)), is_links=True))
        links.clear()


def _is_related(text: str, linked: float) -> bool:
    """A heading or a short line of its own that announces related links."""
    is_label = text.startswith("#") or text.rstrip().endswith((":", "**"))
    return is_label and linked < _HALF_LINKED and text.count(" ") <= _LABEL_WORDS and _RELATED.search(text) is not None


def _is_picture(text: str) -> bool:
    return "![" in text and not _said(text)


def _closes(text: str, fence: str) -> bool:
    stripped = text.strip()
    return stripped.startswith(fence) and not stripped.strip(fence[0])


def _labels(text: str) -> list[str]:
    return [label for found in _LINK.findall(_IMAGE.sub(" ", text) if "![" in text else text) if (label := _said(found))]


def _said(text: str) -> str:
    """A line without its markup."""
    text = text[_PREFIX.match(text).end() :]  # type: ignore[union-attr]  # the pattern matches the empty string too
    if "![" in text:
        text = _IMAGE.sub(" ", text)
    if "](" in text:
        text = _TARGET.sub("", text)
    return _SPACE.sub(" ", _MARKUP.sub("", text)).strip()
