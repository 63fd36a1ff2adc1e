"""Removes secrets from text: from the decoded source, and again from what was derived of it (entities can hide them).

The only module that makes `CleanText` and `CleanBytes`. One search of google-re2 over the UTF-8 bytes finds the hints of all
rules: a page without a hint costs no more than that. At a hint the rule's exact pattern (`rules`) decides on the text around
it. Personal data is removed where that is enabled (`personal_data`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property, lru_cache
from hashlib import blake2b
from typing import TYPE_CHECKING

import re2

from sitelore.extract.redaction.rules import compile_rule, find_secrets, load_built_in_rules
from sitelore.model.ids import CleanBytes, CleanText
from sitelore.model.redaction import BUILT_IN_ALONE, MARK, Redaction, SecretRule
from sitelore.model.url import Url

if TYPE_CHECKING:
    from sitelore.extract.redaction.personal_data import Contacts

Span = tuple[int, int, str]
"""Start and end of a secret in UTF-8, and the name of its rule."""
_UTF8_MARK = b"\xef\xbb\xbf"
_HASH_BYTES = 3
_LONG_HINT = 300
_HINT_BYTES = 2000
_LARGE_PAGE = 2**20
_WIDE_CHAR_BYTES = (b"\xf0", b"\xf1", b"\xf2", b"\xf3", b"\xf4")
"""First bytes of characters that make a whole `str` take four bytes a character."""


class RedactedSource:
    """A page's redacted source in UTF-8. The `str` of a large one is not kept: it may take four times the memory."""

    __slots__ = ("_text", "utf8")

    def __init__(self, utf8: CleanBytes, text: str | None = None) -> None:
        """`text` is `utf8` decoded, where the caller has it."""
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
        is_wide = len(self.utf8) >= _LARGE_PAGE and any(self.utf8.find(byte) >= 0 for byte in _WIDE_CHAR_BYTES)
        return self.utf8 if is_wide else self.text


class Redactor:
    """Removes what the built-in rules and an operator's own rules find."""

    def __init__(self, options: Redaction = BUILT_IN_ALONE, contacts: Contacts | None = None) -> None:
        self._options = options
        self._contacts = contacts
        self._hints = _hints_of(options.rules)

    def for_page(self, source: bytes, path: str) -> Redactor:
        """The redactor for one page: where contact data is kept, the page decides what that is."""
        if not self._options.personal or not self._options.keep_contacts:
            return self
        from sitelore.extract.redaction.personal_data import contacts_in  # noqa: PLC0415 off by default

        return Redactor(self._options, contacts_in(source, path))

    def redact(self, text: str) -> tuple[CleanText, dict[str, int]]:
        """Text without secrets, and the number of each kind that was removed."""
        utf8 = text.encode("utf-8", "replace")
        spans = self._spans(utf8)
        if not spans:
            return CleanText(text), {}
        return CleanText(self.replace(utf8, spans).decode("utf-8")), _count(spans)

    def redact_page(self, utf8: bytes, text: str | None = None) -> tuple[RedactedSource, dict[str, int]]:
        """A page's source without secrets, and the number of each kind that was removed. `text` is `utf8` decoded, if known."""
        spans = self._spans(utf8)
        if spans:
            return RedactedSource(CleanBytes(self.replace(utf8, spans))), _count(spans)
        return RedactedSource(CleanBytes(utf8), text), {}

    def redact_all(self, texts: Sequence[str], utf8: bytes) -> tuple[list[CleanText], dict[str, int]]:
        """Redact many texts of one page, with one scan where there is nothing to remove; `utf8` is all of them together.

        Markdown, plain text and title repeat each other, so a kind counts as often as in the text that has it most.
        """
        if not self._spans(utf8):
            return as_clean(texts), {}
        total: dict[str, int] = {}
        clean = []
        for text in texts:
            redacted, counts = self.redact(text)
            clean.append(redacted)
            for name, count in counts.items():
                total[name] = max(count, total.get(name, 0))
        return clean, total

    def has_secrets(self, text: str | bytes) -> bool:
        """Whether anything would be removed from a text, or from one in UTF-8."""
        return bool(self._spans(text.encode("utf-8", "replace") if isinstance(text, str) else text))

    def count_secrets(self, text: str) -> dict[str, int]:
        """The number of each kind that would be removed from a text."""
        return _count(self._spans(text.encode("utf-8", "replace")))

    def redact_url(self, url: Url) -> Url:
        """A URL that may be stored: unchanged, or with marks in place of secrets."""
        return Url.trusted(self.redact(url)[0]) if self.has_secrets(url) else url

    def replace(self, data: bytes, spans: Iterable[Span]) -> bytes:
        """Bytes with marks in place of these spans, which must not overlap."""
        view = memoryview(data)  # a large page is not copied twice
        parts: list[bytes | memoryview] = []
        at = 0
        for start, end, name in spans:
            parts += (view[at:start], self._mark(name, data[start:end]))
            at = end
        parts.append(view[at:])
        return b"".join(parts)

    def _mark(self, name: str, secret: bytes) -> bytes:
        if not self._options.key:
            return f"{MARK}{name}]".encode()
        digest = blake2b(secret, digest_size=_HASH_BYTES, key=blake2b(self._options.key).digest()).hexdigest()
        return f"{MARK}{name}:{digest}]".encode()

    def _spans(self, data: bytes) -> list[Span]:
        """The secrets in UTF-8, in order, none overlapping."""
        spans: list[Span] = []
        at = 0
        while at < len(data) and (hint := self._hints.any_hint.search(data, at)) is not None:
            at = self._check_hint(data, hint, spans)
        if self._options.personal:
            spans += self._personal_spans(data)
        return _merge_overlaps(spans) if spans else spans

    def _personal_spans(self, data: bytes) -> list[Span]:
        from sitelore.extract.redaction.personal_data import NO_CONTACTS, personal_spans  # noqa: PLC0415 off by default

        return personal_spans(data, self._options.personal_ids, self._contacts or NO_CONTACTS)

    def _check_hint(self, data: bytes, hint: re2._Match, spans: list[Span]) -> int:
        """Adds the secrets at a hint. Returns the offset from which to go on."""
        start: int = hint.start()
        end: int = hint.end()
        secrets = self._secrets_at(data, start)
        spans += secrets
        # A hint without a secret may contain the start of another hint; a long one is not searched again.
        return end if secrets or end - start > _LONG_HINT else start + 1

    def _secrets_at(self, data: bytes, start: int) -> list[Span]:
        """The secrets of the first hint that matches here and whose rules find any."""
        for at in sorted(self._hints.hint_set.Match(data[start : start + _HINT_BYTES]) or ()):
            rules = self._hints.rules[at]
            secrets = [(*span, rule.name) for rule in rules for span in find_secrets(compile_rule(rule), data, start)]
            if secrets:
                return secrets
        return []


class _Hints:
    """The hints of all rules as patterns of google-re2."""

    def __init__(self, rules: Iterable[SecretRule]) -> None:
        by_hint: dict[str, list[SecretRule]] = {}
        for rule in rules:
            by_hint.setdefault(rule.hint, []).append(rule)
        self.texts = tuple(by_hint)
        self.rules = tuple(map(tuple, by_hint.values()))
        """The rules of each hint."""

    @cached_property
    def any_hint(self) -> re2._Regexp:
        """All hints as one pattern."""
        return re2.compile("|".join(f"(?:{hint})" for hint in self.texts).encode(), _re2_options())

    @cached_property
    def hint_set(self) -> re2.Set:
        """All hints as a set, which says which of them match: groups in one pattern would make the scan far slower."""
        hints = re2.Set.MatchSet(_re2_options())
        for hint in self.texts:
            hints.Add(hint.encode())
        hints.Compile()
        return hints


def _re2_options() -> re2.Options:
    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1
    options.max_mem = 64 << 20
    return options


@lru_cache(maxsize=16)
def _hints_of(own: tuple[SecretRule, ...]) -> _Hints:
    """The hints of the built-in rules and an operator's own."""
    return _Hints((*load_built_in_rules(), *own))


@lru_cache(maxsize=16)
def redactor_of(options: Redaction) -> Redactor:
    """The redactor for these options, made once."""
    return Redactor(options)


def redact(text: str) -> tuple[CleanText, dict[str, int]]:
    """Text without what the built-in rules find, and the number of each kind that was removed."""
    return redactor_of(BUILT_IN_ALONE).redact(text)


def redact_all(texts: Sequence[str], utf8: bytes) -> tuple[list[CleanText], dict[str, int]]:
    """Redact many texts of one page by the built-in rules; `utf8` is all of them together."""
    return redactor_of(BUILT_IN_ALONE).redact_all(texts, utf8)


def mark_spans(text: CleanText, spans: list[Span], options: Redaction) -> tuple[CleanText, dict[str, int]]:
    """Clean text with marks in place of these spans of its UTF-8 as well, and the number of each kind."""
    if not spans:
        return text, {}
    spans = _merge_overlaps(spans)
    return CleanText(redactor_of(options).replace(text.encode("utf-8", "replace"), spans).decode("utf-8")), _count(spans)


def source_of(text: CleanText) -> RedactedSource:
    """Clean text as the source of a page."""
    return RedactedSource(CleanBytes(text.encode("utf-8", "replace")))


def snapshot_bytes(body: bytes, source: RedactedSource, charset: str, *, touched: bool) -> CleanBytes:
    """The bytes to store of a body: itself when nothing was removed from its text, else the clean text in its own charset.

    Characters that the charset lacks become character references. Where Python has no such charset, the text is stored in
    UTF-8 with a byte order mark, which overrides what headers and markup say.
    """
    if not touched:
        return CleanBytes(body)
    try:
        return CleanBytes(source.text.encode(charset, "xmlcharrefreplace"))
    except LookupError:
        return CleanBytes(_UTF8_MARK + source.utf8)


def sealed(data: bytes) -> CleanBytes:
    """Bytes (compressed or not) that the caller made out of clean text alone."""
    return CleanBytes(data)


def as_clean(texts: Sequence[str]) -> list[CleanText]:
    """Texts that the caller has scanned, and found nothing in."""
    return [CleanText(text) for text in texts]


def add_counts(total: dict[str, int], more: dict[str, int]) -> None:
    """Sum counts of redactions in place."""
    for name, count in more.items():
        total[name] = total.get(name, 0) + count


def _count(spans: Iterable[Span]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for _, _, name in spans:
        counts[name] = counts.get(name, 0) + 1
    return counts


def _merge_overlaps(spans: list[Span]) -> list[Span]:
    spans.sort()
    merged = [spans[0]]
    for start, end, name in spans[1:]:
        if start >= merged[-1][1]:
            merged.append((start, end, name))
        elif end > merged[-1][1]:
            merged[-1] = (merged[-1][0], end, merged[-1][2])
    return merged
