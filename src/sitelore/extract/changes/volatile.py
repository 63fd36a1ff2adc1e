"""Finds the volatile words of a line, which change without the page being edited: dates, times, counters, tokens.

Only lines that differ between two fetches of a page are searched, and none longer than `_MAX_CHARS`, so the patterns may be
expensive. What is never noise (prices, percentages, versions) comes first among them and is kept. The words are in the
languages that much of the web is written in; patterns are in lower case.
"""

from __future__ import annotations

import re
from itertools import pairwise

MARK = "\x00"
"""Replaces a volatile word."""

_MAX_CHARS = 4_000
_TOKEN_DIGITS = 2
_TOKEN_CHARS = 16

_MONTHS = (
    "january february march april may june july august september october november december jan feb mar apr jun jul "
    "aug sep sept oct nov dec januar februar märz mai juni juli oktober dezember okt dez mär janvier février mars "
    "avril juin juillet août septembre octobre novembre décembre janv févr avr juil déc enero febrero marzo abril "
    "mayo junio julio agosto septiembre octubre noviembre diciembre ene dic gennaio febbraio aprile maggio giugno "
    "luglio settembre ottobre dicembre gen mag giu lug ago set ott janeiro fevereiro março junho julho setembro "
    "outubro novembro dezembro januari februari maart mei augustus stycznia lutego marca kwietnia maja czerwca "
    "lipca sierpnia września października listopada grudnia января февраля марта апреля мая июня июля августа "
    "сентября октября ноября декабря"
)

_DAYS = (
    "monday tuesday wednesday thursday friday saturday sunday mon tue tues wed thu thur thurs fri sat sun montag "
    "dienstag mittwoch donnerstag freitag samstag sonnabend sonntag lundi mardi mercredi jeudi vendredi samedi "
    "dimanche lunes martes miércoles jueves viernes sábado domingo lunedì martedì mercoledì giovedì venerdì sabato "
    "domenica maandag dinsdag woensdag donderdag vrijdag zaterdag zondag"
)

_COUNTED = (
    "views? pageviews? likes? comments? shares? reads? readers? visitors? visits? hits? downloads? followers? "
    "subscribers? upvotes? downvotes? votes? repl(?:y|ies) answers? reactions? claps? watchers? reviews? ratings? "
    "clicks? plays? impressions? retweets? results? bookmarks? installs? favou?rites? aufrufe? kommentare? besucher "
    "leser antworten bewertungen downloads gefällt vues? commentaires? partages? lectures? visiteurs? abonnés? avis "
    "réponses? vistas? visitas? comentarios? lecturas? seguidores visualizzazioni commenti visite recensioni "
    "visualizações comentários avaliações reacties weergaven lezers просмотр просмотра просмотров комментарий "
    "комментария комментариев отзыв отзыва отзывов"
)

_SINCE = (
    r"just now|a moment ago|moments ago|\d+\s?(?:s|m|min|h|d|w|mo|y)\s+ago",
    r"(?:an?|one|a few|few|several|\d+)\s+(?:second|sec|minute|min|hour|hr|day|week|month|year)s?\s+ago",
    r"vor\s+(?:\d+|eine[rm]|wenigen|ein paar)\s+(?:sekunde|minute|stunde|tag|woche|monat|jahr)(?:e?n)?",
    r"il y a\s+(?:\d+|une?|quelques)\s+(?:seconde|minute|heure|jour|semaine|mois|an)s?",
    r"hace\s+(?:\d+|una?|unos)\s+(?:segundo|minuto|hora|d[ií]a|semana|mes|año)(?:e?s)?",
    r"há\s+(?:\d+|uma?)\s+(?:segundo|minuto|hora|dia|semana|m[eê]s|ano)(?:e?s)?",
    r"\d+\s+(?:second[oi]|minut[oi]|or[ae]|giorn[oi]|settiman[ae]|mes[ei]|ann[oi])\s+fa",
    r"\d+\s+(?:seconden|minu(?:ut|ten)|uur|dag(?:en)?|we(?:ek|ken)|maand(?:en)?|jaar)\s+geleden",
    r"\d+\s+\w{2,12}\s+назад|\d+\s?(?:秒|分|分钟|分鐘|時間|小时|小時|日|天|か月|个月|年)前",
)
"""Phrases for how long ago something was."""


def _alternatives(words: str) -> str:
    return "|".join(sorted(set(words.split()), key=lambda word: (-len(word), word)))


_NUMBER = r"\d{1,9}(?:[.,'\u00a0\u202f ]\d{3}){0,4}(?:[.,]\d{1,2})?(?:\s?(?:k|m|mio|tsd))?\b\+?"
_TIME = (
    r"\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d{1,9})?)?(?:\s?(?:am|pm|a\.m\.|p\.m\.|uhr))?"
    r"(?:\s?(?:utc|gmt|cet|cest|est|edt|cst|cdt|mst|mdt|pst|pdt|bst|z)\b)?(?:\s?[+-]\d{2}:?\d{2}\b)?"
)
_DATE = (
    rf"(?:(?:{_alternatives(_DAYS)})\.?,?\s+(?:the\s+|den\s+|le\s+|el\s+)?)?(?:"
    r"\d{4}-\d{2}-\d{2}(?:[t ]" + _TIME + r")?"
    r"|\d{4}/\d{1,2}/\d{1,2}|\d{4}\.\d{2}\.\d{2}|\d{1,2}/\d{1,2}/(?:\d{4}|\d{2})|\d{1,2}-\d{1,2}-\d{4}"
    r"|\d{1,2}\.\s?\d{1,2}\.\s?(?:19|20)\d{2}|\d{2}\.\d{2}\.\d{2}"
    rf"|\d{{1,2}}(?:st|nd|rd|th|er|\.|º)?\s+(?:of\s+|de\s+)?(?:{_alternatives(_MONTHS)})\b\.?(?:,?\s+(?:del?\s+)?\d{{4}})?"
    rf"|(?:{_alternatives(_MONTHS)})\.?\s+\d{{1,2}}(?:st|nd|rd|th)?(?:,?\s+\d{{4}})?"
    rf"|(?:{_alternatives(_MONTHS)})\.?,?\s+(?:de\s+)?(?:19|20)\d{{2}}"
    r")(?!\d)"
)
_CURRENCY = r"[$€£¥₹₽₩₺₴₫฿]"
_CURRENCY_NAME = (
    r"(?:usd|eur|gbp|chf|jpy|cny|inr|aud|cad|nzd|sek|nok|dkk|pln|czk|huf|brl|rub|kr|zł|rs|dollars?|euros?|cents?|pounds?"
    r"|yen|円|元)"
)
_AMOUNT = r"\d{1,12}(?:[.,'\u00a0\u202f ]\d{1,3}){0,5}"
_UNIT = r"(?:days?|hours?|hrs?|minutes?|mins?|seconds?|secs?|d|h|m|s)"

_KEPT = (
    rf"{_CURRENCY}\s?{_AMOUNT}|\b{_CURRENCY_NAME}\.?\s?{_AMOUNT}|(?<![\w.,]){_AMOUNT}\s?(?:{_CURRENCY}|{_CURRENCY_NAME}\b)"
    r"|\b\d{1,6}(?:[.,]\d{1,6})?\s?%"
)
_VERSIONS = r"\bv?\d{1,6}(?:\.\d{1,6}){1,4}\b"
_VOLATILE = (
    r"(?:©|\(c\)|\bcopyright)\s*(?:\d{4}\s*[-\u2013]\s*)?\d{4}\b",
    rf"(?<![\w.]){_DATE}(?:,?\s+(?:at\s+|um\s+|à\s+|a las\s+|@\s*)?{_TIME})?",
    r"\d{2,4}年\d{1,2}月(?:\d{1,2}日)?|\d{1,2}月\d{1,2}日",
    rf"\b(?:today|yesterday|heute|gestern|aujourd'hui|hier|hoy|ayer)(?:,|\s+(?:at|um|à|a las))?\s+{_TIME}",
    r"\b(?:updated|posted|published|modified|edited|refreshed|checked)(?:\s+on)?:?\s+(?:today|yesterday|now)\b",
    rf"\btoday is\s+(?:{_alternatives(_DAYS)})\b",
    rf"(?<![\w.:]){_TIME}(?![\w:])|(?<![\w.])\d{{1,2}}\s?(?:am|pm)\b|(?<![\w.])\d{{1,2}}[.h]\d{{2}}\s?(?:uhr|h)\b",
    rf"(?<!\w)(?:{'|'.join(_SINCE)})(?![^\W\d_])",
    rf"(?:\b\d{{1,4}}\s?{_UNIT}\b[\s,:]*(?:and\s+)?){{1,4}}(?:left|remaining)\b",
    rf"\b(?:ends|starts|expires|closes|begins)\s+in\s+(?:\d{{1,4}}\s?{_UNIT}\b[\s,:]*(?:and\s+)?){{1,4}}",
    r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b",
    (
        r"\b(?:csrf|xsrf|nonce|token|session|request|trace|ray|correlation|transaction|visitor|sid|guid|uuid|hash|etag)"
        r"(?:[\s_-]?(?:token|id|key|number|no))?\b\.?\s*(?:is\s+|[:=#]\s*)?(?=[\w-]*\d)[\w-]{4,}"
    ),
    r"\byour ip(?:\s+address)?(?:\s+is)?:?\s*[0-9a-f:.]{7,39}",
    r"\b(?:served|generated|rendered) by\s+[\w.-]*\d[\w.-]*",
    (
        r"\b(?:generated|rendered|loaded|served|executed|completed|processed|took|time)\b[^.\d]{0,30}\d{1,6}(?:[.,]\d{1,9})?\s?"
        r"(?:milliseconds?|seconds?|secs?|ms|µs|s)\b"
    ),
    r"\b\d{1,6}\s+(?:sql\s+|db\s+|database\s+)?queries\b",
    (
        rf"\b{_NUMBER}\s+(?:people|users|others|visitors|guests|members|customers|shoppers|readers|players)\s+(?:are\s+|is\s+)?"
        r"(?:currently\s+|now\s+|also\s+|right now\s+)?(?:online|viewing|watching|reading|browsing|looking|here|active)\b"
    ),
    (
        r"\b(?:viewed|read|seen|downloaded|shared|visited|played|watched|opened|accessed|liked)"
        rf"(?:\s+by\s+{_NUMBER}|\s*:\s*{_NUMBER}|\s+{_NUMBER}\s+times\b)"
    ),
    rf"\b(?:users|visitors|guests|members|people|players)\s+online\s*:?\s*{_NUMBER}|\bonline(?:\s+now)?\s*:\s*{_NUMBER}",
    rf"\b(?:visitor|page hits?|visit)\s+(?:number|no\.?|nr\.?|#)\s*:?\s*#?{_NUMBER}",
    rf"(?<![\w.,])(?:{_NUMBER})\s?(?:{_alternatives(_COUNTED)})\b|\d{{1,9}}\s?(?:次浏览|次阅读|条评论|回視聴|件のコメント|閲覧)",
    rf"\b(?:{_alternatives(_COUNTED)})\s*[:(#]\s*(?:{_NUMBER})\)?|\b(?:views|likes|comments|shares|downloads|hits|votes|replies)\s+(?:{_NUMBER})",
    rf"(?<![\w.,]){_NUMBER}\s+(?:stars|points|forks)\b(?<!\b\d stars)(?<!\b\d points)(?<!\b\d forks)",
    r"\bgood\s+(?:morning|afternoon|evening|night)\b|\bguten\s+(?:morgen|tag|abend)\b",
    r"(?<![\w.])1[5-9]\d{8}(?:\d{3})?(?![\w.])",
)
_PATTERN = re.compile(
    # No match begins within a word or at most signs: this check spares most positions the long list.
    rf"(?<![A-Za-z0-9_])(?=[^\W_]|{_CURRENCY}|©|\(c)"
    f"(?:(?P<kept>{_KEPT})|(?P<volatile>{'|'.join(_VOLATILE)})|(?P<version>{_VERSIONS})|(?P<token>[A-Za-z0-9_+/-]{{12,}}={{0,2}}))",
    re.IGNORECASE,
)
_POSSIBLE = re.compile(r"[\d©]|\bago\b|\bnow\b|\btoday\b|\byesterday\b|\bgood\b|\bguten\b|\ba moment\b", re.IGNORECASE)
_AMOUNTS = re.compile(f"(?:{_KEPT}|{_VERSIONS}|\\d[.,]\\d)", re.IGNORECASE)
_INTEGER = re.compile(r"[^\w]*\d{1,3}(?:[.,']?\d{3})*[^\w]*")


def mask_volatile(line: str) -> tuple[str, list[str]]:
    """Replace the volatile words of a line by marks. Returns the line and these words."""
    if len(line) > _MAX_CHARS or _POSSIBLE.search(line) is None:
        return line, []
    words: list[str] = []

    def mark(match: re.Match[str]) -> str:
        text = match[0]
        if match["kept"] or match["version"] or (match["token"] and not _is_random(text)):
            return text
        words.append(text)
        return MARK

    return _PATTERN.sub(mark, line), words


def is_amount(word: str) -> bool:
    """Whether a word has a price, a percentage, a version or another exact figure: a difference in it is always a change."""
    return _AMOUNTS.search(word) is not None


def is_integer(word: str) -> bool:
    """Whether a word is a whole number, which may or may not be a counter."""
    return _INTEGER.fullmatch(word) is not None


def _is_random(text: str) -> bool:
    """Whether a word is random: hexadecimal with letters and digits, or letters and digits that alternate as in no name."""
    kinds = ["d" if char.isdigit() else "u" if char.isupper() else "l" for char in text if char.isalnum()]
    digits = kinds.count("d")
    if digits in {0, len(kinds)}:
        return False
    if all(char in "0123456789abcdefABCDEF" for char in text):
        return digits >= _TOKEN_DIGITS
    if len(kinds) < _TOKEN_CHARS:
        return False
    turns = sum(left != right for left, right in pairwise(kinds))
    if "u" in kinds and "l" in kinds:
        return turns >= 0.4 * len(kinds)
    return digits > _TOKEN_DIGITS and turns >= 0.3 * len(kinds)
