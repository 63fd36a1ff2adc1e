"""The rule file for secrets, read and compiled. What is wrong in one is said in a sentence that names the rule and the key."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import lru_cache
from pathlib import Path
from typing import Any

import re2

from sitelore.extract.redaction.secret_checks import CHECKS, Check, entropy
from sitelore.model.errors import BadConfig
from sitelore.model.redaction import MARK, SecretRule

BUILT_IN = "secret_rules.toml"
_NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_DOT = "·"
_MARK = MARK.encode()
# Letters and digits of an escape (%3D, \\n, \\u003d) are no neighbours.
_ALONE = (
    r"(?:(?<![A-Za-z0-9])|(?<=%[0-9A-Fa-f][0-9A-Fa-f])|(?<=\\[nrt])|(?<=\\u[0-9A-Fa-f]{4}))(",
    r")(?![A-Za-z0-9])",
)
_MOST_BYTES, _MOST_RULES, _MOST_REACH = 2**20, 500, 32_768
_NUMBERS = {"before": _MOST_REACH, "reach": _MOST_REACH, "near_bytes": 2000}
_TEXTS = frozenset({"name", "hint", "exact", "description"})
_KNOWN = (*(field.name for field in fields(SecretRule)), "found", "left")


@dataclass(frozen=True, slots=True)
class Examples:
    """A rule with the texts that show what it does."""

    rule: SecretRule
    found: tuple[str, ...] = ()
    left: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Compiled:
    """A rule, ready to be tried on a window."""

    rule: SecretRule
    exact: re.Pattern[bytes]
    checks: tuple[Check, ...]
    near: tuple[bytes, ...]
    far: tuple[bytes, ...]


@lru_cache(maxsize=1)
def built_in_rules() -> tuple[Examples, ...]:
    """What every reading knows, as it is written; `ready_rules.py` has it as it is used."""
    import tomllib  # noqa: PLC0415 most processes read no TOML

    text = Path(__file__).with_name(BUILT_IN).read_text(encoding="utf-8")
    # As a person's own they would be compiled one by one, which costs every process a tenth of a second; a test does it.
    return tuple([_rule_of(rule) for rule in tomllib.loads(text)["rule"]])


def read_rules(text: str, source: str) -> tuple[Examples, ...]:
    """The rules of a file, each checked. Raises `BadConfig` with a sentence."""
    import tomllib  # noqa: PLC0415 as above

    if len(text) > _MOST_BYTES:
        raise BadConfig(f"{source} is larger than {_MOST_BYTES // 2**20} MiB; that is no file of rules")
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
    if len(rules) > _MOST_RULES:
        raise BadConfig(f"{source} has {len(rules)} rules; {_MOST_RULES} is the most")
    return tuple(_read_rule(rule, f"{source}, rule {at}") for at, rule in enumerate(rules, 1))


def checked_rules(text: str, source: str) -> tuple[SecretRule, ...]:
    """A person's own rules: each needs an example of what it finds, and does with its examples what it says."""
    rules = read_rules(text, source)
    for at, each in enumerate(rules, 1):
        where = f"{source}, rule {at} ({each.rule.name})"
        if not each.found:
            raise BadConfig(f"{where}: give an example of what it finds under `found`")
        if (wrong := failed_example(each)) is not None:
            raise BadConfig(f"{where}: {wrong}")
    return tuple(each.rule for each in rules)


def failed_example(each: Examples) -> str | None:
    """Which example a rule does not bear out. The example itself is not repeated: it may be a real one."""
    rule, hint = compiled(each.rule), re.compile(each.rule.hint.encode())
    for key, texts, wanted in (("found", each.found, True), ("left", each.left, False)):
        for at, text in enumerate(texts, 1):
            data = text.encode()
            if any(found_by(rule, data, match.start()) for match in hint.finditer(data)) is not wanted:
                return f"`{key}` example {at} is {'not found' if wanted else 'found'} by it"
    return None


@lru_cache(maxsize=1024)
def compiled(rule: SecretRule) -> Compiled:
    """When a rule is first needed: most processes never need most of them."""
    pattern = re.compile(rule.exact.encode())
    if not pattern.groups:
        pattern = re.compile("".join((_ALONE[0], rule.exact, _ALONE[1])).encode())
    return Compiled(
        rule,
        pattern,
        tuple(CHECKS[name] for name in rule.checks),
        tuple(word.encode() for word in rule.near),
        tuple(word.encode() for word in rule.far),
    )


def found_by(each: Compiled, data: bytes, hint_at: int) -> list[tuple[int, int]]:
    """Where a rule sees its secret around a hint."""
    rule = each.rule
    start, end = max(0, hint_at - rule.before), hint_at + rule.reach
    if rule.every:
        matches = list(each.exact.finditer(data, start, end))
    else:
        one = (each.exact.search if rule.before else each.exact.match)(data, start, end)
        matches = [one] if one is not None else []
    return [match.span(1) for match in matches if match[1] and _is_credible(each, data, match)]


def _is_credible(each: Compiled, data: bytes, match: re.Match[bytes]) -> bool:
    start, end = match.span(1)
    value = match[1]
    if _MARK in value or entropy(value) < each.rule.entropy:
        return False
    if each.near or each.far:
        ahead = data[max(0, match.start() - each.rule.near_bytes) : match.start()].lower()
        if each.near and not any(word in ahead for word in each.near):
            return False
        if any(word in ahead for word in each.far):
            return False
    return all(check(data, start, end) for check in each.checks)


def _read_rule(data: Mapping[str, Any], where: str) -> Examples:
    for key in data:
        if key not in _KNOWN:
            from difflib import get_close_matches  # noqa: PLC0415 for those who misspell

            close = get_close_matches(key, _KNOWN, 1)
            raise BadConfig(f"{where}: {key!r} is not known{f'; did you mean {close[0]!r}?' if close else ''}")
    for key in ("name", "hint", "exact"):
        if key not in data:
            raise BadConfig(f"{where}: {key!r} is missing")
    where = f"{where} ({data['name']})" if isinstance(data["name"], str) else where
    values: dict[str, Any] = {key: _value(key, value, where) for key, value in data.items()}
    each = _rule_of(values)
    _check_patterns(each.rule, where)
    return each


def _rule_of(data: Mapping[str, Any]) -> Examples:
    values: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in data.items()}
    found, left = values.pop("found", ()), values.pop("left", ())
    return Examples(SecretRule(**values), *(tuple(text.replace(_DOT, "") for text in texts) for texts in (found, left)))


def _value(key: str, value: Any, where: str) -> Any:
    if key in _TEXTS:
        return _text(key, value, where)
    if key in _NUMBERS:
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= _NUMBERS[key]:
            raise BadConfig(f"{where}: {key!r} is a number of bytes from 0 to {_NUMBERS[key]}")
        return value
    if key == "every":
        if not isinstance(value, bool):
            raise BadConfig(f"{where}: 'every' is true or false")
        return value
    if key == "entropy":
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 8:
            raise BadConfig(f"{where}: 'entropy' is a number of bits from 0 to 8")
        return float(value)
    return _texts(key, value, where)


def _text(key: str, value: Any, where: str) -> str:
    if not isinstance(value, str) or not value or not value.isascii():
        raise BadConfig(f"{where}: {key!r} must be plain ASCII text")
    if key == "name" and not _NAME.fullmatch(value):
        raise BadConfig(f"{where}: a name is small letters, digits and single hyphens, such as acme-token")
    return value


def _texts(key: str, value: Any, where: str) -> tuple[str, ...]:
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
        raise BadConfig(f"{where}: 'hint' is no regular expression that RE2 knows: {_said(problem)}") from problem
    if hint.groups or hint.match(b"") is not None:
        raise BadConfig(f"{where}: 'hint' must not have groups, nor match an empty text")


def _said(problem: Exception) -> str:
    said = problem.args[0] if problem.args else ""
    return said.decode("utf-8", "replace") if isinstance(said, bytes) else str(said)
