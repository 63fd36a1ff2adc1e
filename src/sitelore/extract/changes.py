"""Decides whether a page has changed since its last fetch, or differs in noise alone.

Two fetches of a page are compared line by line, without markup and link targets, and word by word where lines differ. Volatile
words are no change, nor is another order of a list of links, nor other links in a box of related ones. Other text
can turn out to be noise: where a page differs again and again, the place is recorded as a slot, and later differences in it
are no change either. A slot that stays unchanged is forgotten, step by step. Prices, percentages and versions are never noise.

A slot is a range of words of one line of the document last stored; each comparison carries the slots over to the new one.
"""

from __future__ import annotations

import re
import struct
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from difflib import SequenceMatcher
from enum import IntEnum
from itertools import pairwise

import msgspec
import zstandard

from sitelore.model.document import Blob, Comparison

_MAX_SLOTS = 64
_MAX_SCORE = 8
_LINE_END = 0xFFFF
"""The end of a slot that reaches to the end of its line."""
_MAX_CHARS = 1_000_000
_MAX_LINES = 1_000
_MAX_WORDS = 400
_MAX_PAIRS = 2_500
_MIN_SIMILARITY = 0.4
_SLOT = struct.Struct("<HHHBB")

_RELATED_LABELS = (
    r"related|you (?:may|might) also|recommended|read (?:more|next|also)|see also|trending|what others|customers also",
    r"more (?:from|stories|articles|posts|news|like)|(?:most )?(?:popular|read|viewed)\b|people also|keep reading",
    r"latest (?:posts|articles|news|stories)|recent (?:posts|articles|comments)|similar (?:posts|articles|products|items)",
    r"ähnliche|verwandte|das könnte|mehr zum thema|auch interessant|meistgelesen|articles? (?:liés|similaires)|à lire aussi",
    r"sur le même|relacionad|también te|te puede interesar|más leíd|correlat|potrebbe(?:ro)? interessarti|leggi anche",
    r"leia também|gerelateerd|lees ook|関連|おすすめ|相关|推荐|похожие|читайте также",
)
"""Headings of a box of links to other pages."""

_STAMP_WORDS = (
    "a and at by date from generated in last modified now of on online page posted published server time total updated "
    "am den le um uhr von zuletzt aktualisiert publié mis à jour el actualizado"
)
"""Words around a date or a counter that mean nothing on their own."""

_FENCE = re.compile(r"\s{0,3}(`{3,}|~{3,})")
_PREFIX = re.compile(r"\s*(?:>\s*)*(?:#{1,6}\s+|(?:[-*+]|\d{1,9}[.)])\s+(?:\[[ xX]\]\s+)?)?")
_ITEM = re.compile(r"\s*(?:[-*+]|\d{1,9}[.)])\s")
# Linear: a scan never runs over another place where it could begin (`<` in a target, an unescaped `[` in a label).
_TARGET = re.compile(r"\]\((?:<[^<>\n]*>|(?:\\.|[^\s()\\]|\([^\s()]*\))*)(?:\s+\"(?:\\.|[^\"\\])*\")?\)")
_IMAGE = re.compile(r"!\[(?:\\.|[^\[\]\\])*" + _TARGET.pattern)
_LINK = re.compile(r"(?<!\\)\[((?:\\.|[^\[\]\\])*)" + _TARGET.pattern)
_MARKUP = re.compile(r"[*_`\\\[\]|]+")
_SPACE = re.compile(r"\s+")
_FILLER = re.compile(r"[\W_]+")
_RELATED = re.compile("|".join(_RELATED_LABELS), re.IGNORECASE)
_MAX_LABEL_WORDS = 8
_MIN_LINKS = 3
_LINKED = 0.7
_HALF_LINKED = 0.5
_MAX_MASKED_CHARS = 32_000
_STAMPS = frozenset(_STAMP_WORDS.split())


class Noise(IntEnum):
    """What differed in a slot; its value is the number of differences from which on it is noise."""

    VOLATILE = 0
    """A volatile word: any difference is noise."""
    NUMBER = 1
    """A number: noise when it differs for the second time."""
    WORDS = 2
    """Any text: noise when it differs for the third time."""


@dataclass(frozen=True, slots=True)
class Slot:
    """A range of words in which fetches of a page differ."""

    line: int
    start: int
    end: int
    noise: Noise
    score: int = 1

    def covers(self, start: int, end: int) -> bool:
        """Whether a difference is within the slot."""
        return self.start <= start and end <= self.end

    @property
    def is_noise(self) -> bool:
        """Whether a difference at this place is to be ignored."""
        return self.score >= max(1, self.noise)


@dataclass(slots=True)
class Line:
    """One line of Markdown, or a whole list of links. Its text is computed on demand: most lines are equal as they are."""

    source: str
    is_code: bool = False
    is_links: bool = False
    is_literal: bool = False
    """Whether volatile words are not searched, because too much text is searched already."""
    volatile: list[str] = field(default_factory=list)
    """The volatile words, once `key` was computed."""
    _key: str | None = None

    @property
    def key(self) -> str:
        """The text by which lines are compared: without markup, volatile words and capitals. Code is unchanged."""
        if self._key is None:
            if self.is_code:
                self._key = self.source
            else:
                text = self.source if self.is_links else _plain(self.source)
                if not self.is_literal:
                    text, self.volatile = mask_volatile(text)
                self._key = text.lower()
        return self._key

    @property
    def words(self) -> tuple[str, ...]:
        """The words of `key`."""
        return tuple(self.key.split(" "))

    @property
    def is_noise(self) -> bool:
        """Whether the line has nothing but volatile words, such as "3 comments" or "updated on …"."""
        if self.is_code or self.is_links:
            return False
        return all(word in _STAMPS for word in _FILLER.sub(" ", self.key.replace(MARK, " ")).split())


class _ComparedFields(msgspec.Struct):
    """The fields of a stored document that are compared."""

    title: str = ""
    markdown: str = ""
    text: str = ""


_DECODER = msgspec.json.Decoder(_ComparedFields)


def compare_documents(before: bytes, after: Blob, volatile: bytes, *, learn: bool = True) -> Comparison:
    """Compare two stored documents; the later one is still compressed."""
    old = _DECODER.decode(before)
    new = _decoded(after)
    return compare((old.title, old.markdown), (new.title, new.markdown), volatile, learn=learn)


def compare(before: tuple[str, str], after: tuple[str, str], volatile: bytes = b"", *, learn: bool = True) -> Comparison:
    """Compare title and Markdown of two fetches of a page. Without `learn` slots are only carried over."""
    if max(len(before[1]), len(after[1])) > _MAX_CHARS:
        return Comparison(changed=before != after)
    comparison = _LineComparison(_lines_of(*before), _lines_of(*after), _unpack(volatile))
    changed = comparison.run()
    slots = comparison.slots if learn else [slot for slot in comparison.slots if slot.line in comparison.carried]
    return Comparison(changed, _pack(slots))


def words_between(before: bytes, after: Blob) -> tuple[int, int]:
    """The number of words that a page gained and lost between two stored documents."""
    old = Counter(_DECODER.decode(before).text.split())
    new = Counter(_decoded(after).text.split())
    return (new - old).total(), (old - new).total()


def _decoded(blob: Blob) -> _ComparedFields:
    return _DECODER.decode(zstandard.ZstdDecompressor().decompressobj().decompress(blob.data))


def decay_slots(volatile: bytes) -> bytes:
    """The slots after a fetch of an unchanged page: each is a step nearer to being forgotten."""
    return _pack(_decayed(slot) for slot in _unpack(volatile)) if volatile else b""


class _LineComparison:
    """Compares the lines of two documents, and updates the slots."""

    def __init__(self, old: Sequence[Line], new: Sequence[Line], known: Iterable[Slot]) -> None:
        self._old = old
        self._new = new
        self._known: dict[int, list[Slot]] = {}
        for slot in known:
            self._known.setdefault(slot.line, []).append(slot)
        self.slots: list[Slot] = []
        self.carried: set[int] = set()
        """Lines of the new document that took over slots."""

    def run(self) -> bool:
        """Whether anything differs that is not noise. Fills `slots`."""
        old, new = self._old, self._new
        start = 0
        while start < min(len(old), len(new)) and old[start].source == new[start].source:
            self._equal(start, start)
            start += 1
        tail = 0
        while tail < min(len(old), len(new)) - start and old[-1 - tail].source == new[-1 - tail].source:
            tail += 1
            self._equal(len(old) - tail, len(new) - tail)
        old_end, new_end = len(old) - tail, len(new) - tail
        for lines in (old[start:old_end], new[start:new_end]):
            _limit_masking(lines)
        if max(old_end, new_end) - start > _MAX_LINES:
            return [line.key for line in old[start:old_end]] != [line.key for line in new[start:new_end]]
        matcher = SequenceMatcher(
            None, [line.key for line in old[start:old_end]], [line.key for line in new[start:new_end]], autojunk=False
        )
        changed = False
        for operation, i1, i2, j1, j2 in matcher.get_opcodes():
            if operation == "equal":
                for i, j in zip(range(i1, i2), range(j1, j2), strict=True):
                    self._equal(start + i, start + j)
            else:
                changed |= self._replaced(range(start + i1, start + i2), range(start + j1, start + j2))
        return changed

    def _equal(self, i: int, j: int) -> None:
        """Carry over the slots of a line that is equal but for volatile words."""
        old, new = self._old[i], self._new[j]
        known = self._known.get(i, ())
        kept = [replace(_decayed(slot), line=j) for slot in known]
        if old.source != new.source and old.volatile and len(old.volatile) == len(new.volatile):
            places = [at for at, word in enumerate(new.words) if MARK in word]
            for before, after, place in zip(old.volatile, new.volatile, places, strict=False):
                if before != after and not any(slot.covers(place, place + 1) for slot in kept):
                    kept.append(Slot(j, place, place + 1, Noise.VOLATILE))
        self._keep(kept, j, carried=bool(known))

    def _replaced(self, old: range, new: range) -> bool:
        """Compare lines that replaced others. Returns whether they are a change; added or removed noise is none."""
        removed, added = list(old), list(new)
        if len(removed) != len(added):
            removed = [i for i in removed if not self._old[i].is_noise]
            added = [j for j in added if not self._new[j].is_noise]
        pairs = _pairs([self._old[i] for i in removed], [self._new[j] for j in added])
        changed = len(pairs) < len(added)
        for i, j in pairs:
            changed |= self._compare_words(removed[i], added[j])
        for at in set(range(len(removed))).difference(i for i, _ in pairs):
            changed |= not any(slot.is_noise and slot.end == _LINE_END for slot in self._known.get(removed[at], ()))
        return changed

    def _compare_words(self, i: int, j: int) -> bool:
        old, new = self._old[i], self._new[j]
        known = self._known.get(i, [])
        changes, moves = _word_changes(old, new)
        changed = False
        updated: list[Slot] = []
        used: set[Slot] = set()
        for a1, a2, b1, b2 in changes:
            before, after = old.words[a1:a2], new.words[b1:b2]
            if _are_amounts(before) and _are_amounts(after):
                changed = True
                continue
            slot = max((slot for slot in known if slot.covers(a1, a2)), key=lambda slot: slot.score, default=None)
            noise = Noise.NUMBER if _are_integers(before) and _are_integers(after) else Noise.WORDS
            changed |= slot is None or not slot.is_noise
            used.update([slot] if slot else [])
            score = 1 if slot is None else min(_MAX_SCORE, slot.score + 1)
            noise = slot.noise if slot is not None and slot.noise is Noise.VOLATILE else noise
            updated.append(Slot(j, b1, _LINE_END if a2 == _LINE_END else b2, noise, score))
        kept = [_moved(_decayed(slot), j, moves) for slot in known if slot not in used]
        self._keep([*updated, *kept], j, carried=bool(known))
        return changed

    def _keep(self, slots: Iterable[Slot], line: int, *, carried: bool) -> None:
        self.slots += [slot for slot in slots if slot.score > 0]
        if carried:
            self.carried.add(line)


def _pairs(old: Sequence[Line], new: Sequence[Line]) -> list[tuple[int, int]]:
    """Pair removed lines with added ones: in order, and where one side has more, the most similar."""
    if len(old) == len(new) or len(old) * len(new) > _MAX_PAIRS:
        return list(zip(range(len(old)), range(len(new)), strict=False))
    if len(old) > len(new):
        return [(i, j) for j, i in _pairs(new, old)]
    pairs: list[tuple[int, int]] = []
    after = 0
    for i, line in enumerate(old):
        words = set(line.words)
        last = len(new) - (len(old) - i)
        best = max(range(after, last + 1), key=lambda j: (len(words & set(new[j].words)), -j))
        pairs.append((i, best))
        after = best + 1
    return pairs


_Change = tuple[int, int, int, int]


def _word_changes(old: Line, new: Line) -> tuple[list[_Change], dict[int, int]]:
    """The ranges of words in which two lines differ, and the new place of each word that stayed."""
    if old.is_links or new.is_links or max(len(old.words), len(new.words)) > _MAX_WORDS:
        return [(0, _LINE_END, 0, _LINE_END)], {}
    matcher = SequenceMatcher(None, old.words, new.words, autojunk=False)
    codes = matcher.get_opcodes()
    moves = {
        i: j
        for operation, i1, i2, j1, j2 in codes
        if operation == "equal"
        for i, j in zip(range(i1, i2), range(j1, j2), strict=True)
    }
    changes = [(i1, i2, j1, j2) for operation, i1, i2, j1, j2 in codes if operation != "equal"]
    figures = [change for change in changes if _are_figures(old, new, change)]
    texts = [change for change in changes if change not in figures]
    if texts and matcher.ratio() < _MIN_SIMILARITY:
        return [*figures, (0, _LINE_END, 0, _LINE_END)] if not figures else [(0, _LINE_END, 0, _LINE_END)], moves
    if len(texts) > 1:
        # Text that is new at each fetch shares words with the last one by chance: one range covers all of it.
        texts = [(texts[0][0], texts[-1][1], texts[0][2], texts[-1][3])]
    return [*figures, *texts], moves


def _are_figures(old: Line, new: Line, change: _Change) -> bool:
    a1, a2, b1, b2 = change
    before, after = old.words[a1:a2], new.words[b1:b2]
    return all(_are_amounts(words) or _are_integers(words) for words in (before, after))


def _are_amounts(words: Sequence[str]) -> bool:
    return bool(words) and all(is_amount(word) for word in words)


def _are_integers(words: Sequence[str]) -> bool:
    return bool(words) and all(is_integer(word) for word in words)


def _decayed(slot: Slot) -> Slot:
    return slot if slot.noise is Noise.VOLATILE else replace(slot, score=slot.score - 1)


def _moved(slot: Slot, line: int, moves: dict[int, int]) -> Slot:
    """The slot in the new line, placed by the nearest word before it that stayed."""
    start = next((moves[at] + slot.start - at for at in range(slot.start, -1, -1) if at in moves), slot.start)
    end = slot.end if slot.end == _LINE_END else max(start, start + slot.end - slot.start)
    return replace(slot, line=line, start=max(0, start), end=end)


def _pack(slots: Iterable[Slot]) -> bytes:
    best = sorted(
        {slot for slot in slots if slot.score > 0 and slot.line < _LINE_END}, key=lambda s: (-s.score, s.line, s.start, s.end)
    )
    fitting = sorted(best[:_MAX_SLOTS], key=lambda slot: (slot.line, slot.start, slot.end))
    return b"".join(_SLOT.pack(s.line, min(s.start, _LINE_END), min(s.end, _LINE_END), s.noise, s.score) for s in fitting)


def _unpack(volatile: bytes) -> list[Slot]:
    return [Slot(line, start, end, Noise(noise), score) for line, start, end, noise, score in _SLOT.iter_unpack(volatile)]


def _lines_of(title: str, markdown: str) -> list[Line]:
    """Title and lines. A list of links is one line, whatever their order; boxes of related links are left out."""
    lines = [Line(title)]
    fence = ""
    links: list[str] = []
    in_related = False
    for text in markdown.split("\n"):
        if fence:
            fence = "" if _closes_fence(text, fence) else fence
            lines.append(Line(text, is_code=True))
            continue
        if not text or text.isspace():
            continue
        labels = _labels(text) if "](" in text else []
        linked = sum(map(len, labels)) / max(1, len(_plain(text))) if labels else 0.0
        in_related = (in_related and (linked >= _HALF_LINKED or _is_picture(text))) or _is_related(text, linked)
        if in_related and labels:
            continue
        if linked >= _LINKED and (_ITEM.match(text) or len(labels) >= _MIN_LINKS):
            links += labels
            continue
        _flush_links(links, lines)
        if (opened := _FENCE.match(text)) is not None:
            fence = opened[1]
        lines.append(Line(text))
    _flush_links(links, lines)
    return lines


def _limit_masking(lines: Iterable[Line]) -> None:
    """Search only the first lines for volatile words: in a page that is all new the search is useless."""
    left = _MAX_MASKED_CHARS
    for line in lines:
        left -= len(line.source)
        line.is_literal = left < 0


def _flush_links(links: list[str], lines: list[Line]) -> None:
    if links:
        lines.append(Line(" \u00b7 ".join(sorted(links)), is_links=True))
        links.clear()


def _is_related(text: str, linked: float) -> bool:
    """Whether a line is a heading or label of a box of related links."""
    is_label = text.startswith("#") or text.rstrip().endswith((":", "**"))
    return is_label and linked < _HALF_LINKED and text.count(" ") <= _MAX_LABEL_WORDS and _RELATED.search(text) is not None


def _is_picture(text: str) -> bool:
    return "![" in text and not _plain(text)


def _closes_fence(text: str, fence: str) -> bool:
    stripped = text.strip()
    return stripped.startswith(fence) and not stripped.strip(fence[0])


def _labels(text: str) -> list[str]:
    return [label for link in _LINK.findall(_IMAGE.sub(" ", text) if "![" in text else text) if (label := _plain(link))]


def _plain(text: str) -> str:
    """A line without its markup."""
    text = text[_PREFIX.match(text).end() :]  # type: ignore[union-attr]  # the pattern matches the empty string too
    if "![" in text:
        text = _IMAGE.sub(" ", text)
    if "](" in text:
        text = _TARGET.sub("", text)
    return _SPACE.sub(" ", _MARKUP.sub("", text)).strip()


# Volatile words, which change without the page being edited: dates, times, counters, tokens

MARK = "\x00"
"""Replaces a volatile word."""

_MAX_LINE_CHARS = 4_000
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
    if len(line) > _MAX_LINE_CHARS or _POSSIBLE.search(line) is None:
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
