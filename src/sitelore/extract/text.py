"""Functions on plain text: remove invisible characters, escape as Markdown, count words, hash, detect language and error pages.

The hashes and the sketch of `text_stats` recognise equal and similar texts. Language detection is described in
docs/decisions/0016-language-detection.md. `soft_404_score` says how much a page reads like an error page that was served with
status 200; `crawl/soft_404.py` compares its `fingerprint` with that of a path that cannot exist.
"""

# ruff: noqa: RUF001 - words of many languages are in their own letters
from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from functools import cache
from itertools import islice, pairwise
from typing import Any
from zlib import crc32

import re2

from sitelore.model.document import SKETCH_SIZE, sketch_of
from sitelore.model.url import Url

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
    kana, han = len(_KANA.findall(text)), len(_HAN.findall(text))
    # CLD3 is weak on Chinese with Latin words in it, where the script alone decides: Japanese text has kana.
    if kana + han >= _MIN_IDEOGRAPHS and kana + han >= _IDEOGRAPHIC_SHARE * len(_LETTER.findall(text)):
        return "ja" if kana >= _KANA_SHARE * (kana + han) else "zh"
    if next(islice(_LETTER.finditer(text), _MIN_LETTERS - 1, None), None) is None:
        return ""
    result = _detector().FindLanguage(text)
    if result.language == _UNKNOWN or result.probability < _MIN_PROBABILITY:
        return ""
    return _RENAMED.get(result.language, str(result.language))


@cache
def _detector() -> Any:
    import gcld3  # noqa: PLC0415 4 MB, and most pages declare their language

    return gcld3.NNetLanguageIdentifier(0, _MAX_LANGUAGE_CHARS)


# Error pages that were served with status 200 (soft 404)

_SHORT_WORDS = 150
_LONG_WORDS = 500
_SKETCHED_WORDS = 160
_BODY_CHARS = 600

_PHRASES = (
    # English
    r"(?:page|file|document|content|article|resource|url|product|post) (?:(?:was|is|has been|may have been) )?(?:missing|gone)",
    r"(?:page|file|document|content|article|resource|url|product|post) (?:(?:was|has been|may have been) )?(?:removed|deleted)",
    r"(?:page|file|document|content|article|resource|url|product|post) (?:is )?(?:unavailable|not available)",
    r"(?:(?:could|ca)n['’]t|cannot|(?:could|can) not) (?:be (?:found|located)|find|locate)",
    r"(?:does not|doesn['’]t|no longer) exists?|no longer available",
    r"not found|nothing (?:was )?found|unable to (?:find|locate)",
    # German
    r"nicht gefunden|(?:existiert|gibt es) (?:leider )?nicht(?: mehr)?|nicht (?:mehr )?(?:verfügbar|vorhanden)",
    # French
    r"page (?:non trouvée|inexistante)|introuvable|n['’]existe (?:pas|plus)|n['’]a pas été trouvée?",
    # Spanish
    r"página no (?:encontrada|disponible)|no (?:se )?(?:ha |pudo ser )?(?:encontrad[ao]|encontró|encuentra)|no existe",
    # Italian
    r"pagina non (?:trovata|disponibile)|non (?:è stata )?trovat[ao]|non esiste",
    # Portuguese
    r"página não (?:encontrada|disponível)|não (?:foi )?encontrad[ao]|não existe",
    # Dutch
    r"niet gevonden|bestaat niet(?: meer)?|pagina (?:is )?niet beschikbaar",
    # Polish
    r"nie znaleziono(?: strony)?|nie została znaleziona|nie istnieje",
    # Swedish, Norwegian, Danish, Finnish
    r"hittades inte|kunde inte hittas|sidan finns inte|ikke (?:funnet|fundet)|findes ikke|sivua ei löyt\w+|ei löytynyt",
    # Czech, Slovak, Hungarian, Romanian
    r"nebyla nalezena|nenalezen[ao]?|neexistuje|nebola nájdená|nem található|nu (?:a fost găsit[ăa]|există)",
    # Turkish, Greek
    r"bulunamadı|δεν (?:βρέθηκε|υπάρχει)",
    # Ukrainian, Russian
    r"не знайдено|не найден[ао]?|не существует",
    # Japanese
    r"見つかりません(?:でした)?|お探しのページ|存在しません|ページがありません",
    # Chinese
    r"(?:页面|頁面|网页|網頁)(?:不存在|已(?:被)?(?:删除|刪除))|找不到(?:该|您|此)?(?:页面|頁面|网页|網頁)?|未找到|没有找到|不存在",
    # Korean
    r"찾을 수 없(?:습니다|음)|존재하지 않",
    # Arabic, Hebrew, Vietnamese, Indonesian, Thai
    r"غير موجودة?|לא נמצא|không tìm thấy(?: trang)?|tidak ditemukan|ไม่พบหน้า",
)
"""Statements that something is missing, by language. Patterns of google-re2, matched without case."""
_FILLER_WORDS = (
    r"\b(?:error|oops|sorry|uh[- ]?oh|whoops|http|status|code|the|this|that|your|you|we|is|was|be|it|requested|page)\b",
    r"\b(?:fehler|seite|die|leider|wurde|erreur|cette|la|le|errore|pagina|página|erro|fout|błąd|strona|strony|fel|sidan|feil)\b",
    r"\b(?:siden|chyba|stránka|hata|sayfa|oldal|halaman|trang|ошибка|страница|сторінку|40[34]|410)\b",
    r"エラー|ページ|が|错误|錯誤|页面|頁面|페이지를|الصفحة|הדף",
)
"""Words around such a statement on error pages: a headline made of both means nothing else."""

_MISSING = re2.compile("(?i)" + "|".join(f"(?:{phrase})" for phrase in _PHRASES))
_MISSING_OR_STATUS = re2.compile("|".join(["(?i)40[34]|410", *(f"(?:{phrase})" for phrase in _PHRASES)]).encode())
_STATUS = re.compile(r"(?<![\d.,$€£-])(?:40[34]|410)(?![\d.,%]|-\d)")
_FILLER = re.compile("|".join(_FILLER_WORDS), re.IGNORECASE)
_TITLE_SPLIT = re.compile(r"\s+[|\u2013\u2014·•»:-]\s+|\s*[|»]\s*")
_WORD = re.compile(r"[^\W\d_]+")
_ASCII_LETTERS_ONLY = bytes(byte if byte >= 0x80 or chr(byte).isalpha() else 0x20 for byte in range(256))


def soft_404_score(title: str, h1: str, text: str, word_count: int) -> float:
    """How much a page reads like an error page, from 0 to 1. Long pages that mention errors are articles about them."""
    headlines = f"{title}\n{h1}"
    score = 0.0
    # Bytes, because re2 would encode a str and map offsets back. Most pages need nothing but this search.
    if _MISSING_OR_STATUS.search(headlines.encode("utf-8", "replace")) is not None and _names_error(headlines):
        score = max(_headline_score(title), _headline_score(h1))
    start = text[:_BODY_CHARS]
    if score < 0.9 and word_count <= _SHORT_WORDS and start:
        score = max(score, _body_score(start, word_count))
    if word_count <= _SHORT_WORDS:
        return score
    length = min(1.0, (word_count - _SHORT_WORDS) / (_LONG_WORDS - _SHORT_WORDS))
    return round(score * (1.0 - 0.75 * length), 3)


def _names_error(headlines: str) -> bool:
    return _MISSING.search(headlines) is not None or _STATUS.search(headlines) is not None


def _headline_score(line: str) -> float:
    """Score a title or heading: highest when it is nothing but "not found", lower when it has other words."""
    if not line or len(line) > 300:
        return 0.0
    best = 0.0
    for part in (line, *_TITLE_SPLIT.split(line)):
        phrase, status = _MISSING.search(part), _STATUS.search(part)
        if phrase is None and status is None:
            continue
        rest = part
        for match in (phrase, status):
            if match is not None:
                rest = rest.replace(match[0], " ")
        others = len(_WORD.findall(_FILLER.sub(" ", rest)))
        if others == 0:
            return 0.95
        best = max(best, 0.6 if phrase is not None and others <= 2 else 0.4 if phrase is not None else 0.2)
    return best


def _body_score(start: str, word_count: int) -> float:
    phrase, status = _MISSING.search(start), _STATUS.search(start)
    if phrase is None:
        return 0.35 if status is not None and word_count <= 30 else 0.0
    early = phrase.start() < 200
    score = 0.75 if early and word_count <= 60 else 0.5 if early else 0.35
    return min(0.9, score + 0.15) if status is not None else score


def fingerprint(title: str, text: str, url: Url) -> tuple[int, ...]:
    """A bottom-k sketch of the first words, without digits and the words of the page's path, which error pages repeat."""
    own = frozenset(_plain_words(url.path))
    kept = [word for word in _plain_words(f"{title} {text[: _SKETCHED_WORDS * 8]}")[:_SKETCHED_WORDS] if word not in own]
    if len(kept) < 2:
        return tuple(map(crc32, kept))
    return tuple(sorted({crc32(b, crc32(a)) for a, b in pairwise(kept)})[:SKETCH_SIZE])


def _plain_words(text: str) -> list[bytes]:
    return text.lower().encode("utf-8", "replace").translate(_ASCII_LETTERS_ONLY).split()
