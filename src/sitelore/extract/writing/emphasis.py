"""Emphasis that the parser's writer gave up on and wrote as HTML, as Markdown again.

CommonMark reads a marker by its neighbours ("left-flanking", "right-flanking"): between a letter and a punctuation mark it
is none. There the letter is written as a character reference, which starts and ends with punctuation and reads the same.
Where that would only break another marker, the words stay and the emphasis goes.
"""

from __future__ import annotations

import re

from sitelore.extract.writing.texts import Sign

# All of these start with a plain character, which `re` finds fast, and look back only from there.
TAG = re.compile(r"<(?<!\\<)(/?)(strong|em|s|del)>")
_CODE = re.compile(r"(\\`)?<(?<!\\<)code>([^\n]*?)</code>")
_ESCAPE = re.compile(r"\\([!-/:-@\[-`{-~])")
_TICKS = re.compile(r"`+")
# Where white space or punctuation is on both sides, a marker is read as one whatever it holds.
_SAFE_STRONG = re.compile(r"<strong>(?<![\w*_~\\>]<strong>)(\S|\S[^<>\n]*\S)</strong>(?![\w*_~<])")
_SAFE_EM = re.compile(r"<em>(?<![\w*_~\\>]<em>)(\S|\S[^<>\n]*\S)</em>(?![\w*_~<])")
_ADJACENT = re.compile(r"</(strong|em|s|del)><\1>")
_MARKERS = {"strong": ("**", "__"), "em": ("*", "_"), "s": ("~~", "~~"), "del": ("~~", "~~")}
_DELIMITERS = frozenset("*_~")
_ROUNDS = 5  # a marker that goes can take its neighbour with it, which rarely takes another


def is_crowded(signs: int) -> bool:
    """Whether emphasis may hold its like, which two kinds of markers can tell apart in few places only."""
    return bool(signs & Sign.DOUBLED or (signs & Sign.ENDS and signs & Sign.CROWDED))


class OpenError(Exception):
    """Tags of a line go on in another one."""


def spell_tags(text: str, *, alone: bool = False) -> str:
    """Markers in place of the tags `strong`, `em`, `s` and `del`, and backticks in place of `code`.

    Every line can be spelled `alone`, unless that raises `OpenError`.
    """
    return spell_crowded_tags(spell_plain_tags(text), alone=alone)


def spell_plain_tags(text: str) -> str:
    """The same for code, and for emphasis with white space or punctuation on both sides. No line matters to another."""
    if "<code>" in text:
        text = _CODE.sub(_code_span, text)
    text = _ADJACENT.sub("", text)
    text = _SAFE_STRONG.sub(lambda found: f"**{found[1]}**", text)
    return _SAFE_EM.sub(lambda found: f"*{found[1]}*", text)


def spell_crowded_tags(text: str, *, alone: bool = False) -> str:
    """The same for what that leaves."""
    if TAG.search(text) is None:
        return text
    line = _Line(text)
    if alone and line.is_open:
        raise OpenError
    return line.spelled()


def _code_span(found: re.Match[str]) -> str:
    """The writer puts no span right after a backtick of the text; that one as a reference allows it."""
    code = _ESCAPE.sub(r"\1", found[2])
    fence = "`" * (max(map(len, _TICKS.findall(code)), default=0) + 1)
    gap = " " if code[:1] in {"`", " "} or code[-1:] in {"`", " "} else ""
    return f"{'&#96;' if found[1] else ''}{fence}{gap}{code}{gap}{fence}"


class _Line:
    """Text with tags in it: `texts[n]` stands before tag `n`, and one more text after the last tag."""

    __slots__ = ("_markers", "_pairs", "_texts", "is_open")

    def __init__(self, text: str) -> None:
        parts = TAG.split(text)
        self._texts = parts[::3]
        self._markers = [""] * (len(self._texts) - 1)
        self._pairs: list[tuple[int, int]] = []
        open_: list[tuple[int, str]] = []
        kinds: list[str] = []
        self.is_open = False
        for at, (closing, tag) in enumerate(zip(parts[1::3], parts[2::3], strict=True)):
            if not closing:
                open_.append((at, tag))
                kinds.append(_MARKERS[tag][0])
            elif open_:
                start, opened = open_.pop()
                # Within its like emphasis adds nothing.
                if _MARKERS[opened][0] not in kinds[:-1]:
                    self._pairs.append((start, at))
                    self._markers[start] = self._markers[at] = opened
                kinds.pop()
            else:
                self.is_open = True
        self.is_open |= bool(open_)
        for start, end in sorted(self._pairs):
            plain, other = _MARKERS[self._markers[start]]
            crowded = plain[0] in {self._before(start)[0], self._after(end)[0]}
            self._markers[start] = self._markers[end] = other if crowded else plain

    def spelled(self) -> str:
        """The text with markers wherever they will be read as such."""
        for _ in range(_ROUNDS):
            kept = [(start, end) for start, end in self._pairs if self._opens(start) and self._closes(end)]
            if len(kept) == len(self._pairs):
                break
            for start, end in set(self._pairs).difference(kept):
                self._markers[start] = self._markers[end] = ""
            self._pairs = kept
        return "".join([part for pair in zip(self._texts, [*self._markers, ""], strict=True) for part in pair])

    def _before(self, at: int) -> tuple[str, int]:
        """The character before a marker, and which text it ends; of another marker's, no text."""
        while not self._texts[at]:
            if at == 0:
                return "", -1
            at -= 1
            if self._markers[at]:
                return self._markers[at][-1], -1
        return self._texts[at][-1], at

    def _after(self, at: int) -> tuple[str, int]:
        """The same for the character after a marker."""
        at += 1
        while not self._texts[at]:
            if at == len(self._markers):
                return "", -1
            if self._markers[at]:
                return self._markers[at][0], -1
            at += 1
        return self._texts[at][0], at

    def _opens(self, at: int) -> bool:
        (before, holder), (after, _) = self._before(at), self._after(at)
        if not after or after.isspace():
            return False
        if not before.isalnum() or (after.isalnum() and self._markers[at][0] != "_"):
            return True
        text = self._texts[holder]
        if holder < 0 or text[-2:-1] in _DELIMITERS:
            return False
        self._texts[holder] = text[:-1] + _reference(before)
        return True

    def _closes(self, at: int) -> bool:
        (before, _), (after, holder) = self._before(at), self._after(at)
        if not before or before.isspace():
            return False
        if not after.isalnum() or (before.isalnum() and self._markers[at][0] != "_"):
            return True
        text = self._texts[holder]
        if holder < 0 or text[1:2] in _DELIMITERS:
            return False
        self._texts[holder] = _reference(after) + text[1:]
        return True


def _reference(char: str) -> str:
    return f"&#{ord(char)};"
