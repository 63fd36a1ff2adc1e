"""Removes secrets from text, right after decoding and once more from what was derived (entities can hide them).

The only module that makes `CleanText` and `CleanBytes`. A prefilter over the UTF-8 bytes finds where hints of any rule may
begin (`redaction/prefilter.py`): a page without a hint costs no more than that. Where one may begin, google-re2 confirms it,
and the rule's exact pattern decides on the text around it. Personal data is removed in the same way where that is enabled
(`redaction/personal_data.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property, lru_cache
from hashlib import blake2b
from typing import TYPE_CHECKING

import re2

from sitelore.extract.charsets import encode_as
from sitelore.extract.redaction.prefilter import Prefilter, prefilter_for
from sitelore.extract.redaction.ready_rules import ready, ready_prefilter
from sitelore.extract.redaction.secret_rules import compiled, found_by
from sitelore.model.ids import CleanBytes, CleanText
from sitelore.model.redaction import BUILT_IN_ALONE, MARK, Redaction, SecretRule
from sitelore.model.url import Url

if TYPE_CHECKING:
    from sitelore.extract.redaction.personal_data import Contacts

Span = tuple[int, int, str]
_HASH_BYTES = 3
_LONG_HINT = 300
_HINT_BYTES = 2000
_MOST_MISSED = 64
_LARGE_PAGE = 2**20
_WIDE = (b"\xf0", b"\xf1", b"\xf2", b"\xf3", b"\xf4")
"""First bytes of characters that make a whole `str` take four bytes a character."""


class Source:
    """A page's redacted source in UTF-8. The `str` of a large one is made on every call: it may take four times the memory."""

    __slots__ = ("_text", "utf8")

    def __init__(self, utf8: CleanBytes, text: str | None = None) -> None:
        """`text` is the same as a `str`, where it is at hand."""
        self.utf8 = utf8
        self._text = CleanText(text) if text is not None else None

    @property
    def text(self) -> CleanText:
        """The source as a `str`."""
        if self._text is not None:
            return self._text
        text = CleanText(self.utf8.decode())
        if len(self.utf8) < _LARGE_PAGE:
            self._text = text
        return text

    def for_parser(self) -> str | bytes:
        """The source as `dom.parse` takes it with the least memory."""
        is_wide = len(self.utf8) >= _LARGE_PAGE and any(self.utf8.find(byte) >= 0 for byte in _WIDE)
        return self.utf8 if is_wide else self.text


class Redactor:
    """Takes out what the built-in rules and an operator's own find."""

    def __init__(self, options: Redaction = BUILT_IN_ALONE, contacts: Contacts | None = None) -> None:
        self._options = options
        self._contacts = contacts
        self._prefilter, self._hints = _hints_of(options.rules)

    def for_page(self, source: bytes, path: str) -> Redactor:
        """The same for one page: where contact data is kept, it depends on the page what that is."""
        if not self._options.personal or not self._options.keep_contacts:
            return self
        from sitelore.extract.redaction.personal_data import contacts_in  # noqa: PLC0415 few ask for it

        return Redactor(self._options, contacts_in(source, path))

    def text(self, text: str) -> tuple[CleanText, dict[str, int]]:
        """Text without secrets, and how many of each kind were taken out."""
        return self.source(text, text.encode("utf-8", "replace"))

    def source(self, text: str, utf8: bytes) -> tuple[CleanText, dict[str, int]]:
        """The same for a caller that already holds the text's UTF-8."""
        spans = self._spans(utf8)
        if not spans:
            return CleanText(text), {}
        return CleanText(self.without(utf8, spans).decode("utf-8")), _counted(spans)

    def page(self, utf8: bytes, text: str | None = None) -> tuple[Source, dict[str, int]]:
        """A page's source without secrets, and how many of each kind were taken out. `text` is its `str`, where at hand."""
        spans = self._spans(utf8)
        if spans:
            return Source(CleanBytes(self.without(utf8, spans))), _counted(spans)
        return Source(CleanBytes(utf8), text), {}

    def many(self, texts: Sequence[str], utf8: bytes) -> tuple[list[CleanText], dict[str, int]]:
        """Many texts of one page for the price of one scan; `utf8` is all of them together.

        Markdown, plain text and title repeat each other, so a kind counts as often as in the text that has it most.
        """
        if not self._spans(utf8):
            return [CleanText(text) for text in texts], {}
        found: dict[str, int] = {}
        clean = []
        for text in texts:
            one, kinds = self.text(text)
            clean.append(one)
            for name, count in kinds.items():
                found[name] = max(count, found.get(name, 0))
        return clean, found

    def holds(self, text: str) -> bool:
        """Whether anything in a text would be taken out of it."""
        return bool(self._spans(text.encode("utf-8", "replace")))

    def kinds_in(self, text: str) -> dict[str, int]:
        """What would be taken out of a text."""
        return _counted(self._spans(text.encode("utf-8", "replace")))

    def url(self, url: Url) -> Url:
        """An address as it may be kept: itself, or with the mark in place of what it must not show."""
        return Url.trusted(self.text(url)[0]) if self.holds(url) else url

    def _spans(self, data: bytes) -> list[Span]:
        """Where the secrets are, in order, none overlapping."""
        spans: list[Span] = []
        at = self._prefiltered(data, spans)
        while at < len(data) and (hint := self._hints.any_of_them.search(data, at)) is not None:
            at = self._settled(data, hint, spans)
        if self._options.personal:
            spans += self._personal(data)
        return _apart(spans) if spans else spans

    def _personal(self, data: bytes) -> list[Span]:
        from sitelore.extract.redaction.personal_data import NO_CONTACTS, personal_spans  # noqa: PLC0415 few ask for it

        return personal_spans(data, self._options.personal_ids, self._contacts or NO_CONTACTS)

    def _prefiltered(self, data: bytes, spans: list[Span]) -> int:
        """Adds the secrets at the hints that the prefilter finds. Returns the offset from which the rest has to be searched."""
        if self._prefilter is None:
            return 0
        at, missed = 0, 0
        places, reached = self._prefilter(data)
        for place in places:
            if place < at:
                continue
            hint = self._hints.any_of_them.match(data, place)
            if hint is not None:
                at = self._settled(data, hint, spans)
            elif (missed := missed + 1) > _MOST_MISSED:
                return place  # searching takes as long as the text is, whatever stands in it
        return max(at, reached)

    def _settled(self, data: bytes, hint: re2._Match, spans: list[Span]) -> int:
        """Adds what stands at a hint. Where to go on."""
        start: int = hint.start()
        end: int = hint.end()
        found = self._exact(data, start)
        spans += found
        # A hint that came to nothing may hold the start of another; a long one is not looked through again.
        return end if found or end - start > _LONG_HINT else start + 1

    def _exact(self, data: bytes, start: int) -> list[Span]:
        """What the first rules find whose hint stands there; those of other hints where they find nothing."""
        for at in sorted(self._hints.which.Match(data[start : start + _HINT_BYTES]) or ()):
            found = [(*span, rule.name) for rule in self._hints.rules[at] for span in found_by(compiled(rule), data, start)]
            if found:
                return found
        return []

    def without(self, data: bytes, spans: Iterable[Span]) -> bytes:
        """Bytes with marks in place of these stretches."""
        held = memoryview(data)  # a large page is not copied twice
        parts: list[bytes | memoryview] = []
        at = 0
        for start, end, name in spans:
            parts += (held[at:start], self._replacement(name, data[start:end]))
            at = end
        parts.append(held[at:])
        return b"".join(parts)

    def _replacement(self, name: str, secret: bytes) -> bytes:
        if not self._options.key:
            return f"{MARK}{name}]".encode()
        told = blake2b(secret, digest_size=_HASH_BYTES, key=blake2b(self._options.key).digest()).hexdigest()
        return f"{MARK}{name}:{told}]".encode()


class _Hints:
    """The hints of all rules as google-re2 knows them, compiled when the prefilter finds one: few texts have any."""

    def __init__(self, rules: Iterable[SecretRule]) -> None:
        by_hint: dict[str, list[SecretRule]] = {}
        for rule in rules:
            by_hint.setdefault(rule.hint, []).append(rule)
        self.texts = tuple(by_hint)
        self.rules = tuple(map(tuple, by_hint.values()))
        """Of each hint."""

    @cached_property
    def any_of_them(self) -> re2._Regexp:
        """All of them as one pattern."""
        return re2.compile("|".join(f"(?:{hint})" for hint in self.texts).encode(), _options())

    @cached_property
    def which(self) -> re2.Set:
        """The same apart. Groups cost re2 far more than the scan itself, so what is found is told apart in a second look."""
        which = re2.Set.MatchSet(_options())
        for hint in self.texts:
            which.Add(hint.encode())
        which.Compile()
        return which


def _options() -> re2.Options:
    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1
    options.max_mem = 64 << 20
    return options


@lru_cache(maxsize=16)
def _hints_of(own: tuple[SecretRule, ...]) -> tuple[Prefilter | None, _Hints]:
    """The prefilter for the hints of the built-in rules and of these, and the hints themselves."""
    hints = _Hints((*ready().rules, *own))
    return prefilter_for(hints.texts) if own else ready_prefilter(), hints


@lru_cache(maxsize=16)
def redactor_of(options: Redaction) -> Redactor:
    """Made once for each set of options."""
    return Redactor(options)


def redact(text: str) -> tuple[CleanText, dict[str, int]]:
    """Text without what the built-in rules find, and how many of each kind were taken out."""
    return redactor_of(BUILT_IN_ALONE).text(text)


def redact_source(text: str, utf8: bytes) -> tuple[CleanText, dict[str, int]]:
    """The same for a caller that already holds the text's UTF-8."""
    return redactor_of(BUILT_IN_ALONE).source(text, utf8)


def redact_all(texts: Sequence[str], utf8: bytes) -> tuple[list[CleanText], dict[str, int]]:
    """The same for many texts of one page; `utf8` is all of them together."""
    return redactor_of(BUILT_IN_ALONE).many(texts, utf8)


def with_marks(text: CleanText, spans: list[Span], options: Redaction) -> tuple[CleanText, dict[str, int]]:
    """Clean text with marks in place of these stretches of its UTF-8 as well, and how many of each kind there were."""
    spans = _apart(spans)
    if not spans:
        return text, {}
    return CleanText(redactor_of(options).without(text.encode("utf-8", "replace"), spans).decode("utf-8")), _counted(spans)


def source_of(text: CleanText) -> Source:
    """Clean text as the source of a page."""
    return Source(CleanBytes(text.encode("utf-8", "replace")))


def snapshot_bytes(body: bytes, source: Source, charset: str, *, touched: bool) -> CleanBytes:
    """What may be kept of a body: itself when nothing was taken out of its text, else the clean text in its own charset."""
    return CleanBytes(encode_as(source.text, charset) if touched else body)


def sealed(data: bytes) -> CleanBytes:
    """Bytes (compressed or not) that the caller made out of clean text alone."""
    return CleanBytes(data)


def add_counts(total: dict[str, int], more: dict[str, int]) -> None:
    """Sum counts of redactions in place."""
    for name, count in more.items():
        total[name] = total.get(name, 0) + count


def _counted(spans: Iterable[Span]) -> dict[str, int]:
    found: dict[str, int] = {}
    for _, _, name in spans:
        found[name] = found.get(name, 0) + 1
    return found


def _apart(spans: list[Span]) -> list[Span]:
    if not spans:
        return spans
    spans.sort()
    kept = [spans[0]]
    for start, end, name in spans[1:]:
        if start >= kept[-1][1]:
            kept.append((start, end, name))
        elif end > kept[-1][1]:
            kept[-1] = (kept[-1][0], end, kept[-1][2])
    return kept
