"""Functions on plain text: remove invisible characters, escape as Markdown, count words, hash, detect the language.

The hashes and the sketch of `text_stats` recognise equal and similar texts. Language detection is described in
docs/decisions/0016-language-detection.md.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from functools import cache
from typing import Any

import re2

from sitelore.model.document import sketch_of

# Characters that show nothing: zero-width, bidi and tag characters, variation selectors 17-256, controls

# Text can be smuggled past a reader in all of these.
_RANGES = (
    (0x00, 0x08), (0x0B, 0x0C), (0x0E, 0x1F), (0x7F, 0x9F), (0xAD, 0xAD), (0x34F, 0x34F), (0x61C, 0x61C), (0x115F, 0x1160),
    (0x17B4, 0x17B5), (0x180B, 0x180F), (0x200B, 0x200F), (0x202A, 0x202E), (0x2060, 0x206F), (0xFEFF, 0xFEFF),
    (0xFFF9, 0xFFFB), (0x1BCA0, 0x1BCA3), (0x1D173, 0x1D17A), (0xE0000, 0xE0FFF),
)  # fmt: skip
INVISIBLE = frozenset(chr(code) for low, high in _RANGES for code in range(low, high + 1))
_JOINERS = frozenset("\u200c\u200d")
_JOINER = re.compile("[\u200c\u200d]")
_ALL_BUT_JOINERS = dict.fromkeys(map(ord, INVISIBLE - _JOINERS))
_ANY_INVISIBLE = re2.compile("".join(["[", *(f"\\x{{{low:X}}}-\\x{{{high:X}}}" for low, high in _RANGES), "]"]).encode())
_MAX_KINDS = 16


def remove_invisible(text: str) -> str:
    """Remove the invisible characters of a text."""
    return (
        text
        if text.isascii() and text.isprintable()
        else remove_characters(text, find_invisible(text.encode("utf-8", "replace")))
    )


def find_invisible(utf8: bytes) -> frozenset[str]:
    """Return the invisible characters that a UTF-8 text contains; all of them when it contains many different ones."""
    kinds: list[bytes] = []
    start = 0
    while (match := _ANY_INVISIBLE.search(utf8, start)) is not None:
        if len(kinds) > _MAX_KINDS:
            return INVISIBLE
        start = match.start()
        kinds.append(match[0])
        utf8 = utf8.replace(match[0], b"")
    return frozenset(b"".join(kinds).decode())


def remove_characters(text: str, chars: frozenset[str]) -> str:
    """Remove these characters. Joiners that shape Persian, Indic scripts or emoji stay: those with no ASCII neighbour."""
    if len(chars) > _MAX_KINDS:
        text = text.translate(_ALL_BUT_JOINERS)
    else:
        for char in chars - _JOINERS:
            text = text.replace(char, "")
    return _JOINER.sub(_keep_shaping_joiner, text) if chars & _JOINERS else text


def _keep_shaping_joiner(match: re.Match[str]) -> str:
    text, at = match.string, match.start()
    shapes = 0 < at < len(text) - 1 and not text[at - 1].isascii() and not text[at + 1].isascii()
    return match[0] if shapes else ""


_MAX_LABEL_CHARS = 200


def short_line(text: str) -> str:
    """A text on one line, cut to the length of a label."""
    return " ".join(text[: _MAX_LABEL_CHARS * 8].split())[:_MAX_LABEL_CHARS].rstrip()


# Plain text as Markdown

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
_INLINE_MARKS = re.compile(r"[*_`]|!?\[([^\]]*)\]\([^)]*\)")


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
    return " ".join(_INLINE_MARKS.sub(r"\1", match[1]).rstrip(" \t#").split()) if match else ""


def _sanitise_line(line: str) -> str:
    parts = _INLINE_CODE.split(line)
    parts[::2] = [_SCRIPT_TARGET.sub(r"\1#", _RAW_HTML.sub(r"\\<", part)) for part in parts[::2]]
    return "".join(parts)


# Words and hashes

_SOUTH_EAST_ASIAN = r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"
_LAST_SOUTH_EAST_ASIAN = "\u17ff"
_HAN_OR_KANA = (
    r"\u3005-\u3007\u3041-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003fffd"
)
_UNSPACED = re.compile(f"[{_SOUTH_EAST_ASIAN}]+|[{_HAN_OR_KANA}]+")
# Searches UTF-8 for these characters: RE2 is ten times as fast.
_ANY_UNSPACED = re2.compile(
    r"[\x{e00}-\x{eff}\x{1000}-\x{109f}\x{1780}-\x{17ff}\x{3005}-\x{30ff}\x{31f0}-\x{9fff}\x{f900}-\x{faff}\x{ff66}-\x{ff9f}\x{20000}-\x{3fffd}]"
)
_LETTER_OR_DIGIT = re.compile(r"[^\W_]")
_DIGITS = b"0123456789"


@dataclass(frozen=True, slots=True)
class TextStats:
    """The number of words of a text, and its hashes."""

    words: int
    content_hash: str
    """SHA-256 of title and text in lower case, with single spaces."""
    novelty: str
    """SHA-256 of that without digits: equal for pages that differ in a date or a counter alone."""
    sketch: bytes = b""


def text_stats(title: str, text: str, utf8: bytes, *, has_single_spaces: bool) -> TextStats:
    """Count the words of a text and hash it together with its title. `utf8` is `text` encoded.

    `has_single_spaces` says that words of `text` are separated by exactly one space or line feed, which saves a pass.
    """
    if not text or text.isspace():
        return TextStats(0, "", "")
    body = utf8.lower()
    normal = (b"%b %b" % (title.encode("utf-8", "replace").lower(), body)).replace(b"\n", b" ").strip()
    if not has_single_spaces:
        normal = b" ".join(normal.split())
    count = normal.count(b" ") + 1 - len(title.split()) + _words_without_spaces(text, utf8)
    plain = normal.translate(None, _DIGITS)
    return TextStats(count, hashlib.sha256(normal).hexdigest(), hashlib.sha256(plain).hexdigest(), sketch_of(body))


def _words_without_spaces(text: str, utf8: bytes) -> int:
    """Count the words of scripts without spaces between words, beyond the one that each piece between spaces counts as.

    A Han or kana character counts as one word, as in word processors. A word of Thai, Lao, Burmese and Khmer has about four
    characters. Text between them is a word if it has a letter or digit. Korean has spaces between words.
    """
    if len(text) == len(utf8) or _ANY_UNSPACED.search(utf8) is None:
        return 0
    return sum([_words_in(piece) - 1 for piece in text.split() if not piece.isascii() and _UNSPACED.search(piece) is not None])


def _words_in(piece: str) -> int:
    runs = _UNSPACED.findall(piece)
    unspaced = sum([len(run) if run[0] > _LAST_SOUTH_EAST_ASIAN else -(-len(run) // 4) for run in runs])
    return unspaced + sum([_LETTER_OR_DIGIT.search(part) is not None for part in _UNSPACED.split(piece) if part])


# Language

_MAX_LANGUAGE_CHARS = 4_000  # more text does not change the result
_MIN_LETTERS = 40  # a shorter text is often a menu or a name
_MIN_IDEOGRAPHS = 10
_MIN_PROBABILITY = 0.9
_UNKNOWN = "und"
_RENAMED = {"iw": "he", "no": "nb"}  # codes that CLD3 uses, and those of BCP 47 that pages use
_LETTER = re.compile(r"[^\W\d_]")
_KANA = re.compile("[\u3041-\u30ff]")
_HAN = re.compile("[\u3400-\u4dbf\u4e00-\u9fff]")
_IDEOGRAPHIC_SHARE = 0.3
_KANA_SHARE = 0.1


def detect_language(text: str) -> str:
    """The BCP 47 tag of a text's language; empty where it is too short, or the detector is not sure."""
    text = text[:_MAX_LANGUAGE_CHARS]
    letters = len(_LETTER.findall(text))
    kana, han = len(_KANA.findall(text)), len(_HAN.findall(text))
    # CLD3 is weak on Chinese with Latin words in it, where the script alone decides: Japanese text has kana.
    if kana + han >= max(_MIN_IDEOGRAPHS, _IDEOGRAPHIC_SHARE * letters):
        return "ja" if kana >= _KANA_SHARE * (kana + han) else "zh"
    if letters < _MIN_LETTERS:
        return ""
    result = _detector().FindLanguage(text)
    if result.language == _UNKNOWN or result.probability < _MIN_PROBABILITY:
        return ""
    return _RENAMED.get(result.language, str(result.language))


@cache
def _detector() -> Any:
    import gcld3  # noqa: PLC0415 4 MB, and most pages declare their language

    return gcld3.NNetLanguageIdentifier(0, _MAX_LANGUAGE_CHARS)
