"""Scores how much a page reads like an error page that was served with status 200 (a soft 404), by its title, heading and text.

`fingerprint` summarises the first words of a page. `crawl/soft_404.py` compares it with that of a path that cannot exist.
"""

# ruff: noqa: RUF001 - words of many languages are in their own letters
from __future__ import annotations

import re
from itertools import pairwise
from zlib import crc32

import re2

from sitelore.model.document import SKETCH_SIZE
from sitelore.model.url import Url

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
