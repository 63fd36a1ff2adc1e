"""Secrets leave the text here, right after decoding and once more from what was derived (entities can hide one).

The only module that makes `CleanText` and `CleanBytes`. One google-re2 scan over the UTF-8 bytes looks for hints of every
rule at once; a page without a hint costs that scan and nothing else. Around a hint the rule's exact pattern decides.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import re2

from sitelore.extract.charsets import encode_as
from sitelore.extract.secret_rules import RULES, Rule, entropy
from sitelore.model.ids import CleanBytes, CleanText

_AWS_SECRET = re.compile(rb"(?<![A-Za-z0-9/+=])([A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=])")
_AWS_SECRET_DISTANCE = 300


def _compiled() -> re2._Regexp:
    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1
    options.max_mem = 32 << 20
    return re2.compile("|".join(f"(?:{rule.hint})" for rule in RULES).encode(), options)


_HINTS = _compiled()
# Groups cost re2 far more than the scan itself, so the few hints it finds are told apart here.
_WHICH = re.compile("|".join(f"({rule.hint})" for rule in RULES).encode())

Span = tuple[int, int, str]


def redact(text: str) -> tuple[CleanText, dict[str, int]]:
    """Text without secrets, and how many of each kind were taken out."""
    return redact_source(text, text.encode("utf-8", "replace"))


def redact_source(text: str, utf8: bytes) -> tuple[CleanText, dict[str, int]]:
    """The same for a caller that already holds the text's UTF-8."""
    spans = _spans(utf8)
    if not spans:
        return CleanText(text), {}
    found: dict[str, int] = {}
    for _, _, name in spans:
        found[name] = found.get(name, 0) + 1
    return CleanText(_without(utf8, spans).decode("utf-8")), found


def redact_all(texts: Sequence[str], utf8: bytes) -> tuple[list[CleanText], dict[str, int]]:
    """Many texts of one page for the price of one scan; `utf8` is all of them together.

    Markdown, plain text and title repeat each other, so a kind counts as often as in the text that has it most.
    """
    if not _spans(utf8):
        return [CleanText(text) for text in texts], {}
    found: dict[str, int] = {}
    clean = []
    for text in texts:
        one, kinds = redact(text)
        clean.append(one)
        for name, count in kinds.items():
            found[name] = max(count, found.get(name, 0))
    return clean, found


def holds_secret(text: str) -> bool:
    """Whether anything in a text would be taken out of it."""
    return bool(_spans(text.encode("utf-8", "replace")))


def snapshot_bytes(body: bytes, source: CleanText, charset: str, *, touched: bool) -> CleanBytes:
    """What may be kept of a body: itself when nothing was taken out of its text, else the clean text in its own charset."""
    return CleanBytes(encode_as(source, charset) if touched else body)


def sealed(data: bytes) -> CleanBytes:
    """Bytes (compressed or not) that the caller made out of clean text alone."""
    return CleanBytes(data)


def add_counts(total: dict[str, int], more: dict[str, int]) -> None:
    """Sum counts of redactions in place."""
    for name, count in more.items():
        total[name] = total.get(name, 0) + count


def _spans(data: bytes) -> list[Span]:
    """Where the secrets are, in order, none overlapping."""
    spans: list[Span] = []
    for hint in _HINTS.finditer(data):
        start = hint.start()
        which = _WHICH.match(data, start)
        if which is not None and which.lastindex is not None:
            spans += _exact(data, RULES[which.lastindex - 1], start)
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


def _exact(data: bytes, rule: Rule, start: int) -> Iterable[Span]:
    if rule.before:
        match = rule.exact.search(data, max(0, start - rule.before), start + rule.reach)
    else:
        match = rule.exact.match(data, start, start + rule.reach)
    if match is None or entropy(match[1]) < rule.min_entropy or (rule.accept is not None and not rule.accept(data, match)):
        return
    yield *match.span(1), rule.name
    if rule.name == "aws-access-key":
        near = max(0, start - _AWS_SECRET_DISTANCE), match.end() + _AWS_SECRET_DISTANCE
        for secret in _AWS_SECRET.finditer(data, *near):
            if entropy(secret[1]) >= 3.5 and not secret[1].isalpha():
                yield *secret.span(1), "aws-secret-key"


def _without(data: bytes, spans: Iterable[Span]) -> bytes:
    parts: list[bytes] = []
    at = 0
    for start, end, name in spans:
        parts += (data[at:start], f"[REDACTED:{name}]".encode())
        at = end
    parts.append(data[at:])
    return b"".join(parts)
