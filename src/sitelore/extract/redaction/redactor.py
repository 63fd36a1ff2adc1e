"""Removes secrets from text: from the decoded source, and again from what was derived of it (entities can hide them).

Redacted text has the type `CleanText`, redacted bytes `CleanBytes`. The database and the blob store accept only these types,
and only this module creates them, so that mypy rejects code that would store unredacted text.

One search of google-re2 over the UTF-8 bytes finds the hints of all rules: a page without a hint costs no more than that. At a
hint the rule's exact pattern decides on the text around it. Personal data is removed where that is enabled (`personal_data`).

The built-in rules are written in `secret_rules.toml`. Processes read them from `secret_rules.bin`, because parsing the TOML
takes longer than reading a page.

    python -m sitelore.extract.redaction.redactor

builds the binary file, and a test checks that the two agree. Errors in an operator's own rules name the rule and the key.
"""

from __future__ import annotations

import base64
import binascii
import math
import re
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property, lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import re2

from sitelore.model.errors import BadConfig
from sitelore.model.ids import CleanBytes, CleanText
from sitelore.model.settings import BUILT_IN_ALONE, MARK, Redaction, SecretRule
from sitelore.model.url import Url

if TYPE_CHECKING:
    from sitelore.extract.redaction.personal_data import Contacts

Span = tuple[int, int, str]
"""Start and end of a secret in UTF-8, and the name of its rule."""
OWN_CREDENTIAL = "own-credential"
"""The name under which credentials of the crawl itself are removed."""
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
        self._secrets = tuple(secret.encode() for secret in options.secrets)

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
        for secret in self._secrets:
            spans += _occurrences(secret, data)
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


def declare_clean(data: bytes) -> CleanBytes:
    """Declare bytes (compressed or not) as redacted, without a scan: the caller knows that they hold nothing to remove."""
    return CleanBytes(data)


def as_clean(texts: Sequence[str]) -> list[CleanText]:
    """Declare texts as redacted, without a scan: the caller has scanned them, and there was nothing to remove."""
    return [CleanText(text) for text in texts]


def add_counts(total: dict[str, int], more: dict[str, int]) -> None:
    """Sum counts of redactions in place."""
    for name, count in more.items():
        total[name] = total.get(name, 0) + count


def _occurrences(secret: bytes, data: bytes) -> Iterator[Span]:
    """Every place where a credential of the crawl itself occurs."""
    at = data.find(secret)
    while at >= 0:
        yield at, at + len(secret), OWN_CREDENTIAL
        at = data.find(secret, at + len(secret))


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


# Rules: read from TOML, checked, compiled and applied

BUILT_IN = "secret_rules.toml"
_PACKED = Path(__file__).with_name("secret_rules.bin")
_NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_DOT = "·"
_MARK_BYTES = MARK.encode()
# The last letter or digit of an escape (%3D, \\n, \\u003d) is no part of the word after it.
_ALONE = (
    r"(?:(?<![A-Za-z0-9])|(?<=%[0-9A-Fa-f][0-9A-Fa-f])|(?<=\\[nrt])|(?<=\\u[0-9A-Fa-f]{4}))(",
    r")(?![A-Za-z0-9])",
)
_MAX_BYTES, _MAX_RULES, _MAX_REACH = 2**20, 500, 32_768
_NUMBER_KEYS = {"before": _MAX_REACH, "reach": _MAX_REACH, "near_bytes": 2000}
_TEXT_KEYS = frozenset({"name", "hint", "exact", "description"})
_KEYS = (*(field.name for field in fields(SecretRule)), "found", "left")

Check = Callable[[bytes, int, int], bool]
"""Decides whether a match is a secret, by the text, the start and the end of the match."""

_PLACEHOLDER = re.compile(
    rb"x{3,}|X{3,}|\*{3,}|\.{3}|[<>{}\[\]]|[$%][A-Za-z({%]|^[$%](?!\d)|^(?:user(?:name)?|pass(?:word|wd)?|pw|pwd|secret|token"
    rb"|api_?key|your\W|your_|my\W|my_|none|null|true|false|test|tiger$|example|changeme|redacted|insert_|enter_|replace)"
    rb"|example|placeholder|change_?me|dummy|sample|redacted|your[_-]|[_-]here",
    re.IGNORECASE,
)
_SEQUENCES = (b"abcdefghijklmnopqrstuvwxyz", b"12345678901234567890", b"98765432109876543210", b"qwertyuiop")
_SEQUENCE = re.compile(b"|".join(line[at : at + 8] for line in _SEQUENCES for at in range(len(line) - 7)), re.IGNORECASE)
_UUID = re.compile(rb"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_HEXADECIMAL = re.compile(rb"[0-9a-fA-F]+")
_PUBLIC_NAME = re.compile(rb"public|publishable|sitekey|site_key|captcha|client_?token|measurement|boomr", re.IGNORECASE)
_PUBLIC_VALUE = re.compile(rb"(?:pk[_.-]|pub[0-9_-]|phc_|client-|6L[\w-]{38}$)")
_VISIT_NAME = re.compile(rb"csrf|xsrf|authenticity|nonce|theme_|(?<![a-z])form_token|requestverification", re.IGNORECASE)
_WIDGET = re.compile(rb"[,{]apiKey:[\"']$")
_COUNTING = re.compile(rb"(?:1234-){2}")
_PARTS = re.compile(rb"[._-]+")
_WORD = re.compile(rb"[A-Z]?[a-z]{2,}|[A-Z]{3,}|(?:[A-Z][a-z]{2,})+")
_LETTER_DIGIT = re.compile(rb"(?<=[A-Za-z])(?=[0-9])|(?<=[0-9])(?=[A-Za-z])")
_MIN_CHANGES, _MANY_CHANGES = 2, 5
_CAPITALISED_WORDS = re.compile(rb"(?:[A-Z][a-z]{2,}){3}")
_PATH = re.compile(rb"(?:~|\.{1,2})?/(?:\.?[a-z]{2}[a-z_.-]*|Users)/[\w./@~-]*")
_WORD_PATH = re.compile(rb"/?(?:(?:v[0-9]+|[A-Za-z]?[a-z]{2,}(?:[A-Z_-][a-z]*)*)/)+[\w.*~-]*")
_FILE_OR_HOST = re.compile(
    rb"\.(?:png|jpe?g|gif|webp|svg|ico|css|m?js|ts|html?|php|aspx?|json|ya?ml|xml|txt|md|pdf|zip|gz|jar|whl|com|org|net|io|dev|test)$",
    re.IGNORECASE,
)
_DESCRIPTION = re.compile(
    rb"(?:sha(?:1|256|512)?|commit|rev(?:ision)?|hash|digest|checksum|integrity|etag|fingerprint|version|release|ur[il]s?|link|host"
    rb"|domain|name|title|label|text|alt|file|path|dir|branch|tag|image|img|icon|src|href|class|style|colou?r|repo|region|bucket"
    rb"|endpoint|type|kind|date|time|uuid|guid|slug|channel|chat|page|post|video|photo|user|account|profile|author|org|team"
    rb"|project|workspace|site|zone|order|invoice|issue|ticket|event|pixel|tracking|measurement|container|build|job|run)"
    rb"[_ .-]?(?:ids?)?\W*$",
    re.IGNORECASE,
)
_WORKING_DIRECTORY = re.compile(rb"(?<![\w-])pwd[\"']?[ \t]{0,3}(?::|=|:=|=>)[ \t]{0,3}[\"']?$", re.IGNORECASE)
_NAME_BYTES = 40
_DATA_BYTES = 8000
_LONG = 32
_PRINTABLE = re.compile(rb"[ -~]+")


def entropy(value: bytes) -> float:
    """The Shannon entropy of a value, in bits a character."""
    size = len(value)
    return -sum(n / size * math.log2(n / size) for n in Counter(value).values()) if size else 0.0


def _is_mixed(value: bytes) -> bool:
    return any(48 <= c <= 57 for c in value) and any(c > 64 for c in value)


def _is_mixed_case(value: bytes) -> bool:
    return value != value.lower() and value != value.upper()


def _is_scattered(value: bytes) -> bool:
    """Whether letters and digits alternate as in a random value, and not as in a name with a number."""
    changes = len(_LETTER_DIGIT.findall(value))
    return changes >= _MANY_CHANGES or (changes >= _MIN_CHANGES and (len(value) >= _LONG or _is_mixed_case(value)))


def _is_phrase(value: bytes) -> bool:
    """Whether a value is words joined by hyphens, dots or underscores: a name, no random value."""
    words = [part for part in _PARTS.split(value) if _WORD.fullmatch(part)]
    return len(words) > 1 and 2 * sum(map(len, words)) >= len(value.strip(b"._-"))


def _is_plausible(value: bytes) -> bool:
    value = value.strip(b"{}")
    return len(value) >= 8 and _is_mixed(value) and not _PLACEHOLDER.search(value)


def _base64_decoded(value: bytes) -> bytes:
    """The bytes that base64 encodes, with or without padding; empty when it is not base64."""
    plain = value.rstrip(b"=").replace(b"-", b"+").replace(b"_", b"/")
    try:
        return base64.b64decode(plain[: len(plain) - (len(plain) % 4 == 1)] + b"=" * (-len(plain) % 4), validate=True)
    except (binascii.Error, ValueError):
        return b""


def _is_basic(value: bytes) -> bool:
    if len(value) % 4:
        return False
    user, colon, password = _base64_decoded(value).partition(b":")
    plain = _PRINTABLE.fullmatch(user + password)
    return bool(colon and plain) and not (_PLACEHOLDER.search(password) and _PLACEHOLDER.search(user))


def _is_encoded(value: bytes) -> bool:
    return len(value) % 4 == 0 and (value.endswith(b"=") or (_is_mixed(value) and _is_mixed_case(value)))


def _of_value(test: Callable[[bytes], object]) -> Check:
    return lambda data, start, end: bool(test(data[start:end]))


def _not_of_name(pattern: re.Pattern[bytes]) -> Check:
    return lambda data, start, _: not pattern.search(data[max(0, start - _NAME_BYTES) : start])


def _is_not_public(data: bytes, start: int, end: int) -> bool:
    return not _PUBLIC_NAME.search(data[max(0, start - _NAME_BYTES) : start]) and not _PUBLIC_VALUE.match(data[start:end])


def _is_not_path(data: bytes, start: int, end: int) -> bool:
    """Whether a value is neither a file-system path nor the working directory: `pwd` names that as well as a password."""
    value = data[start:end]
    if value.startswith((b"/", b"~", b"$(")) and _WORKING_DIRECTORY.search(data[max(0, start - _NAME_BYTES) : start]):
        return False
    return not _PATH.fullmatch(value) and not _WORD_PATH.fullmatch(value)


def _is_in_data(data: bytes, start: int, _: int) -> bool:
    """Whether a line of YAML is inside `data` or `stringData`: by the nearest line above that is indented less."""
    lines = data[max(0, start - _DATA_BYTES) : start].split(b"\n")
    indent = len(lines[-1]) - len(lines[-1].lstrip())
    for line in reversed(lines[:-1]):
        text = line.strip()
        if text and len(line) - len(line.lstrip()) < indent:
            return text in {b"data:", b"stringData:"}
    return False


CHECKS: Mapping[str, Check] = {
    "mixed": _of_value(_is_mixed),
    "mixed-case": _of_value(_is_mixed_case),
    "mixed-case-or-long": _of_value(lambda value: len(value) >= _LONG or _is_mixed_case(value)),
    "scattered": _of_value(_is_scattered),
    "credible": _of_value(_is_plausible),
    "varied": _of_value(lambda value: len(set(value)) > 2),
    "encoded": _of_value(_is_encoded),
    "basic-credentials": _of_value(_is_basic),
    "holds-jwt": _of_value(lambda value: _base64_decoded(value).startswith(b"eyJ") and b"." in _base64_decoded(value)),
    "holds-private-key": _of_value(lambda value: b"PRIVATE KEY" in _base64_decoded(value)[:200]),
    "not-placeholder": _of_value(lambda value: not _PLACEHOLDER.search(value)),
    "not-sequence": _of_value(lambda value: not _SEQUENCE.search(value)),
    "not-counting": _of_value(lambda value: not _COUNTING.search(value)),
    "not-words": _of_value(lambda value: not _CAPITALISED_WORDS.search(value)),
    "not-phrase": _of_value(lambda value: not _is_phrase(value)),
    "not-letters": _of_value(lambda value: not value.isalpha()),
    "not-hexadecimal": _of_value(lambda value: not _HEXADECIMAL.fullmatch(value)),
    "not-uuid": _of_value(lambda value: not _UUID.fullmatch(value)),
    "not-public": _is_not_public,
    "not-visit": _not_of_name(_VISIT_NAME),
    "not-path": _is_not_path,
    "not-file": _of_value(lambda value: not _FILE_OR_HOST.search(value)),
    "not-description": _not_of_name(_DESCRIPTION),
    "in-data": _is_in_data,
    "not-widget": _not_of_name(_WIDGET),
}
"""The checks that rules name. `mixed`: letters and digits. `not-public`: no key that is meant for browsers. `not-visit`: no
token of one visit (against forgery). `not-widget`: no configuration of a widget in minified script. `not-file`: no name of a
file or host. `not-description`: no hash, version, address or identifier, by its name."""


@dataclass(frozen=True, slots=True)
class Examples:
    """A rule with example texts: those in which it finds a secret, and those in which it finds none."""

    rule: SecretRule
    found: tuple[str, ...] = ()
    left: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CompiledRule:
    """A rule with its patterns compiled."""

    rule: SecretRule
    exact: re.Pattern[bytes]
    checks: tuple[Check, ...]
    near: tuple[bytes, ...]
    far: tuple[bytes, ...]


@lru_cache(maxsize=1)
def read_built_in_rules() -> tuple[Examples, ...]:
    """The built-in rules with their examples, from the TOML file."""
    import tomllib  # noqa: PLC0415 most processes read no TOML

    text = Path(__file__).with_name(BUILT_IN).read_text(encoding="utf-8")
    # Unlike an operator's own they are not checked here: a test does it.
    return tuple([_rule_of(rule) for rule in tomllib.loads(text)["rule"]])


@lru_cache(maxsize=1)
def load_built_in_rules() -> tuple[SecretRule, ...]:
    """The built-in rules, from the binary file."""
    return msgspec.msgpack.decode(zlib.decompress(_PACKED.read_bytes()), type=tuple[SecretRule, ...])


def read_rules(text: str, source: str) -> tuple[Examples, ...]:
    """The rules of a file, each checked. Raises `BadConfig`."""
    import tomllib  # noqa: PLC0415 as above

    if len(text) > _MAX_BYTES:
        raise BadConfig(f"{source} is larger than {_MAX_BYTES // 2**20} MiB; that is no file of rules")
    try:
        data = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as problem:
        raise BadConfig(f"{source} is not TOML: {problem}") from problem
    unknown = sorted(set(data) - {"rule"})
    if unknown:
        raise BadConfig(f"{source}: {unknown[0]!r} is not known here; rules are written as [[rule]]")
    rules = data.get("rule", [])
    if not isinstance(rules, list) or not all(isinstance(rule, dict) for rule in rules):
        raise BadConfig(f"{source}: write each rule under its own [[rule]]")
    if len(rules) > _MAX_RULES:
        raise BadConfig(f"{source} has {len(rules)} rules; {_MAX_RULES} is the most")
    return tuple(_read_rule(rule, f"{source}, rule {at}") for at, rule in enumerate(rules, 1))


def checked_rules(text: str, source: str) -> tuple[SecretRule, ...]:
    """An operator's own rules. Each needs an example of what it finds, and is run on its examples. Raises `BadConfig`."""
    rules = read_rules(text, source)
    for at, each in enumerate(rules, 1):
        where = f"{source}, rule {at} ({each.rule.name})"
        if not each.found:
            raise BadConfig(f"{where}: give an example of what it finds under `found`")
        if (wrong := failed_example(each)) is not None:
            raise BadConfig(f"{where}: {wrong}")
    return tuple(each.rule for each in rules)


def failed_example(each: Examples) -> str | None:
    """The first example that a rule gets wrong, or None. Its text is not shown: it may be a real secret."""
    rule, hint = compile_rule(each.rule), re.compile(each.rule.hint.encode())
    for key, texts, expected in (("found", each.found, True), ("left", each.left, False)):
        for at, text in enumerate(texts, 1):
            data = text.encode()
            if any(find_secrets(rule, data, match.start()) for match in hint.finditer(data)) is not expected:
                return f"`{key}` example {at} is {'not found' if expected else 'found'} by it"
    return None


@lru_cache(maxsize=1024)
def compile_rule(rule: SecretRule) -> CompiledRule:
    """Compile a rule when it is first needed: most processes never need most of them."""
    pattern = re.compile(rule.exact.encode())
    if not pattern.groups:
        pattern = re.compile("".join((_ALONE[0], rule.exact, _ALONE[1])).encode())
    return CompiledRule(
        rule,
        pattern,
        tuple(CHECKS[name] for name in rule.checks),
        tuple(word.encode() for word in rule.near),
        tuple(word.encode() for word in rule.far),
    )


def find_secrets(compiled: CompiledRule, data: bytes, hint_at: int) -> list[tuple[int, int]]:
    """The spans of the secrets that a rule finds around a hint."""
    rule = compiled.rule
    start, end = max(0, hint_at - rule.before), hint_at + rule.reach
    if rule.every:
        matches = list(compiled.exact.finditer(data, start, end))
    else:
        match = (compiled.exact.search if rule.before else compiled.exact.match)(data, start, end)
        matches = [match] if match is not None else []
    return [match.span(1) for match in matches if match[1] and _is_credible(compiled, data, match)]


def _is_credible(compiled: CompiledRule, data: bytes, match: re.Match[bytes]) -> bool:
    start, end = match.span(1)
    value = match[1]
    if _MARK_BYTES in value or entropy(value) < compiled.rule.entropy:
        return False
    if compiled.near or compiled.far:
        ahead = data[max(0, match.start() - compiled.rule.near_bytes) : match.start()].lower()
        if compiled.near and not any(word in ahead for word in compiled.near):
            return False
        if any(word in ahead for word in compiled.far):
            return False
    return all(check(data, start, end) for check in compiled.checks)


def _read_rule(data: Mapping[str, Any], where: str) -> Examples:
    for key in data:
        if key not in _KEYS:
            from difflib import get_close_matches  # noqa: PLC0415 only for a misspelt key

            close = get_close_matches(key, _KEYS, 1)
            raise BadConfig(f"{where}: {key!r} is not known{f'; did you mean {close[0]!r}?' if close else ''}")
    for key in ("name", "hint", "exact"):
        if key not in data:
            raise BadConfig(f"{where}: {key!r} is missing")
    where = f"{where} ({data['name']})" if isinstance(data["name"], str) else where
    values: dict[str, Any] = {key: _checked_value(key, value, where) for key, value in data.items()}
    each = _rule_of(values)
    _check_patterns(each.rule, where)
    return each


def _rule_of(data: Mapping[str, Any]) -> Examples:
    values: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in data.items()}
    found, left = values.pop("found", ()), values.pop("left", ())
    return Examples(SecretRule(**values), *(tuple(text.replace(_DOT, "") for text in texts) for texts in (found, left)))


def _checked_value(key: str, value: Any, where: str) -> Any:
    if key in _TEXT_KEYS:
        return _checked_text(key, value, where)
    if key in _NUMBER_KEYS:
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= _NUMBER_KEYS[key]:
            raise BadConfig(f"{where}: {key!r} is a number of bytes from 0 to {_NUMBER_KEYS[key]}")
        return value
    if key == "every":
        if not isinstance(value, bool):
            raise BadConfig(f"{where}: 'every' is true or false")
        return value
    if key == "entropy":
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 8:
            raise BadConfig(f"{where}: 'entropy' is a number of bits from 0 to 8")
        return float(value)
    return _checked_texts(key, value, where)


def _checked_text(key: str, value: Any, where: str) -> str:
    if not isinstance(value, str) or not value or not value.isascii():
        raise BadConfig(f"{where}: {key!r} must be plain ASCII text")
    if key == "name" and not _NAME.fullmatch(value):
        raise BadConfig(f"{where}: a name is small letters, digits and single hyphens, such as acme-token")
    return value


def _checked_texts(key: str, value: Any, where: str) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(text, str) and text for text in value):
        raise BadConfig(f"{where}: {key!r} is a list of texts")
    for name in value if key == "checks" else ():
        if name not in CHECKS:
            raise BadConfig(f"{where}: there is no check {name!r}; there are {', '.join(CHECKS)}")
    return tuple(text.lower() for text in value) if key in {"near", "far"} else tuple(value)


def _check_patterns(rule: SecretRule, where: str) -> None:
    try:
        exact = re.compile(rule.exact.encode())
    except re.error as problem:
        raise BadConfig(f"{where}: 'exact' is no regular expression: {problem}") from problem
    if exact.groups > 1:
        raise BadConfig(f"{where}: 'exact' has {exact.groups} groups; put what is secret in one, and write others as (?:…)")
    try:
        options = re2.Options()
        options.encoding = re2.Options.Encoding.LATIN1
        options.log_errors = False
        re2.compile(rule.hint.encode(), options)
        hint = re.compile(rule.hint.encode())
    except (re.error, re2.error) as problem:
        raise BadConfig(f"{where}: 'hint' is no regular expression that RE2 knows: {_error_text(problem)}") from problem
    if hint.groups or hint.match(b"") is not None:
        raise BadConfig(f"{where}: 'hint' must not have groups, nor match an empty text")


def _error_text(problem: Exception) -> str:
    text = problem.args[0] if problem.args else ""
    return text.decode("utf-8", "replace") if isinstance(text, bytes) else str(text)


if __name__ == "__main__":
    _PACKED.write_bytes(zlib.compress(msgspec.msgpack.encode([each.rule for each in read_built_in_rules()]), 9))
