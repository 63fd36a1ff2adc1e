"""Parser and matcher for robots.txt (RFC 9309), compatible with Google's reference implementation. Pure.

A pattern matches in time linear in the URL, whatever wildcards it holds. Percent-escapes are compared as written, like in
the reference, with two additions. A `Disallow` also matches in its RFC 3986 §6.2.2 form (`/%7Ejoe/` also forbids `/~joe/`),
because the URLs checked here are always in that form. And `*` and `$` are compared escaped, so that a rule can name them as
`%2A` and `%24` (RFC 9309 §2.2.3).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from sitelore.model.response import RobotsVerdict
from sitelore.model.url import Url

MAX_BYTES = 512 * 1024  # RFC 9309 §2.5 asks for at least 500 KiB
_MAX_LINE = 8 * 2083 - 1  # the reference implementation truncates longer lines to this
_BOM = b"\xef\xbb\xbf"

_TOKEN = re.compile(rb"[A-Za-z_-]+")
_TO_ESCAPE = re.compile(rb"%[0-9A-Fa-f]{2}|[\x80-\xff]")
_LITERALS = str.maketrans({"*": "%2A", "$": "%24"})
_ESCAPED_UNRESERVED = re.compile(r"%(?:2D|2E|3[0-9]|4[1-9A-F]|5[0-9AF]|6[1-9A-F]|7[0-9AE])")

# Misspellings that the reference implementation accepts.
_AGENT_KEYS = (b"user-agent", b"useragent", b"user agent")
_DISALLOW_KEYS = (b"disallow", b"dissallow", b"dissalow", b"disalow", b"diasllow", b"disallaw")
_SITEMAP_KEYS = (b"sitemap", b"site-map")


class _Rule(NamedTuple):
    """One Allow or Disallow line."""

    allow: bool
    pattern: str
    line: int
    value: bytes

    @property
    def text(self) -> str:
        return f"{'Allow' if self.allow else 'Disallow'}: {self.value.decode('utf-8', 'replace')}"


@dataclass(slots=True)
class _Group:
    """Rules under consecutive User-agent lines. All its agents share it, so that memory does not grow with their product."""

    rules: list[_Rule] = field(default_factory=list)
    agents: int = 0
    delays: list[tuple[int, float]] = field(default_factory=list)
    """(number of agents before the line, seconds): an agent named after a Crawl-delay line does not inherit it."""


class _Glob(NamedTuple):
    """A pattern with wildcards, split at its asterisks."""

    score: int
    head: str
    middle: tuple[str, ...]
    tail: str | None
    """What the URL must end with (`$`); None when the pattern is not anchored."""
    rule: _Rule

    def matches(self, target: str) -> bool:
        """Whether the pattern matches. The leftmost match of each piece suffices: an asterisk never needs to match more."""
        if not target.startswith(self.head):
            return False
        at = len(self.head)
        for piece in self.middle:
            start = target.find(piece, at)
            if start < 0:
                return False
            at = start + len(piece)
        if self.tail is None:
            return True
        return len(target) - len(self.tail) >= at and target.endswith(self.tail)


class _Matcher:
    """The compiled rules of one agent: plain prefixes in a table by length, wildcards in a list, longest first."""

    __slots__ = ("_exact", "_globs", "_lengths", "_prefixes")

    def __init__(self, rules: Sequence[_Rule]) -> None:
        exact: dict[str, tuple[int, _Rule]] = {}
        prefixes: dict[str, tuple[int, _Rule]] = {}
        globs: list[_Glob] = []
        for rule in rules:
            for pattern in _patterns(rule):
                # The longest pattern wins, an equally long Allow beats a Disallow (RFC 9309 §2.2.2).
                score = 2 * len(pattern) + rule.allow
                is_anchored = pattern.endswith("$")
                plain = (pattern[:-1] if is_anchored else pattern.rstrip("*")).replace("$", "%24")
                if "*" in plain:
                    globs.append(_glob(plain, score, rule, is_anchored=is_anchored))
                    continue
                table, text = (exact if is_anchored else prefixes), plain
                if text not in table or table[text][0] < score:
                    table[text] = (score, rule)
        self._exact = exact
        self._prefixes = prefixes
        self._lengths = tuple(sorted({len(prefix) for prefix in prefixes}))
        self._globs = sorted(globs, key=lambda glob: -glob.score)

    def match(self, target: str) -> _Rule | None:
        """The rule with the longest matching pattern, or None."""
        score, best = self._exact.get(target, (0, None))
        prefixes, limit = self._prefixes, len(target)
        for length in self._lengths:
            if length > limit:
                break
            hit = prefixes.get(target[:length])
            if hit is not None and hit[0] > score:
                score, best = hit
        for glob in self._globs:
            if glob.score <= score:
                break
            if glob.matches(target):
                return glob.rule
        return best


@dataclass(frozen=True, slots=True)
class _AgentRules:
    """The rules for a crawler with several product tokens, compiled once."""

    default: RobotsVerdict
    """The verdict when no rule matches."""
    matchers: tuple[tuple[str, _Matcher], ...]


@dataclass(slots=True)
class RobotsRules:
    """A parsed robots.txt."""

    sitemaps: tuple[str, ...] = ()
    _groups: dict[str, list[tuple[int, _Group]]] = field(default_factory=dict)
    """Lower-case agent → (its position among the group's agents, group), in file order."""
    _compiled: dict[tuple[str, ...], _AgentRules] = field(default_factory=dict)

    @staticmethod
    def parse(body: bytes | str) -> RobotsRules:
        """Parse a robots.txt; invalid lines are ignored. Everything beyond `MAX_BYTES` is dropped, cut at a line."""
        raw = body.encode("utf-8", "replace") if isinstance(body, str) else body
        if len(raw) > MAX_BYTES:
            cut = max(raw.rfind(b"\n", 0, MAX_BYTES), raw.rfind(b"\r", 0, MAX_BYTES))
            raw = raw[: cut if cut >= 0 else MAX_BYTES]
        if raw.startswith((b"\xff\xfe", b"\xfe\xff")) and 0 in raw[:64]:
            raw = raw.decode("utf-16", "replace").encode("utf-8", "replace")
        for length in (3, 2, 1):  # a byte order mark, or the part that a broken editor left
            if raw.startswith(_BOM[:length]):
                raw = raw[length:]
                break
        parser = _Parser()
        for number, line in enumerate(raw.splitlines(), 1):
            parser.feed(number, line)
        return RobotsRules(tuple(dict.fromkeys(parser.sitemaps)), parser.groups)

    def judge(self, url: Url | str, agents: Sequence[str]) -> RobotsVerdict:
        """Whether a crawler that obeys all of `agents` may fetch this URL (or path and query).

        Each agent is checked against its own group, or `*` when it has none; one refusal is enough.
        """
        key = tuple(agents)
        compiled = self._compiled.get(key)
        if compiled is None:
            compiled = self._compiled[key] = self._compile(key)
        target = _target(url)
        verdict = compiled.default
        for label, matcher in compiled.matchers:
            rule = matcher.match(target)
            if rule is None or (rule.allow and verdict.line):
                continue
            verdict = RobotsVerdict(rule.allow, "ok", rule.text, rule.line, label, verdict.crawl_delay_s, self.sitemaps)
            if not rule.allow:
                break
        return verdict

    def crawl_delay(self, agents: Sequence[str]) -> float | None:
        """The longest Crawl-delay for these agents."""
        delays = [delay for agent in agents if (delay := self._delay(self._label(agent))) is not None]
        return max(delays, default=None)

    def _compile(self, agents: tuple[str, ...]) -> _AgentRules:
        labels = dict.fromkeys(self._label(agent) for agent in agents)
        default = RobotsVerdict(
            True, agent=next(iter(labels), ""), crawl_delay_s=self.crawl_delay(agents), sitemaps=self.sitemaps
        )
        return _AgentRules(default, tuple((label, self._matcher(label)) for label in labels))

    def _label(self, agent: str) -> str:
        return agent if agent.lower() in self._groups else "*"

    def _delay(self, label: str) -> float | None:
        for position, group in self._groups.get(label.lower(), ()):
            for agents, delay in group.delays:
                if position < agents:
                    return delay
        return None

    def _matcher(self, label: str) -> _Matcher:
        groups = self._groups.get(label.lower(), ())
        return _Matcher([rule for _, group in groups for rule in group.rules])


class _Parser:
    """State of parsing a robots.txt: the current group, and the groups and sitemaps so far."""

    def __init__(self) -> None:
        self.groups: dict[str, list[tuple[int, _Group]]] = {}
        self.sitemaps: list[str] = []
        self._group: _Group | None = None
        self._has_rules = False

    def feed(self, number: int, line: bytes) -> None:
        """Parse one line, in file order."""
        key, value = _split_line(line)
        if not key:
            return
        if key.startswith(_AGENT_KEYS):
            self._add_agent(value)
        elif key.startswith(_SITEMAP_KEYS):
            self.sitemaps.append(value.decode("utf-8", "replace"))
        elif self._group is None:
            return  # rules before the first User-agent line apply to no agent
        elif key.startswith(b"allow"):
            self._add_rule(True, value, number)
        elif key.startswith(_DISALLOW_KEYS):
            self._add_rule(False, value, number)
        elif key.startswith(b"crawl-delay") and (delay := _parse_seconds(value)) is not None:
            self._group.delays.append((self._group.agents, delay))

    def _add_agent(self, value: bytes) -> None:
        if self._group is None or self._has_rules:
            self._group, self._has_rules = _Group(), False
        if value[:1] == b"*" and not value[1:2].strip():
            name = "*"
        else:
            token = _TOKEN.match(value)
            name = token[0].decode("ascii").lower() if token else ""
        groups = self.groups.setdefault(name, [])
        if not groups or groups[-1][1] is not self._group:  # an agent named twice in a group must not get its rules twice
            groups.append((self._group.agents, self._group))
        self._group.agents += 1

    def _add_rule(self, allow: bool, value: bytes, number: int) -> None:
        assert self._group is not None
        self._has_rules = True
        if value:
            self._group.rules.append(_Rule(allow, _escape(value), number, value))


def _split_line(line: bytes) -> tuple[bytes, bytes]:
    """Lower-case key and value. The colon may be missing when the line has exactly two words."""
    text = line[:_MAX_LINE].partition(b"#")[0].strip()
    key, colon, value = text.partition(b":")
    if not colon:
        words = text.split()
        if len(words) != 2:
            return b"", b""
        key, value = words
    return key.strip().lower(), value.strip()


def _escape(value: bytes) -> str:
    """ASCII with upper-case escapes, so that a rule in raw UTF-8 matches the escaped URL."""
    if b"%" in value or not value.isascii():
        value = _TO_ESCAPE.sub(lambda m: m[0].upper() if m[0][:1] == b"%" else b"%%%02X" % m[0][0], value)
    return value.decode("ascii")


def _patterns(rule: _Rule) -> list[str]:
    """The pattern of a rule and its equivalent forms."""
    patterns = [rule.pattern]
    if rule.allow:
        directory, slash, page = rule.pattern.rpartition("/")
        if slash and page.startswith("index.htm"):
            patterns.append(f"{directory}/$")  # as in the reference: Allow for an index page allows its directory
    elif "%" in rule.pattern:
        plain = _ESCAPED_UNRESERVED.sub(lambda m: chr(int(m[0][1:], 16)), rule.pattern)
        if plain != rule.pattern:
            patterns.append(plain)
    return patterns


def _glob(plain: str, score: int, rule: _Rule, *, is_anchored: bool) -> _Glob:
    head, *rest = plain.split("*")
    tail = rest.pop() if is_anchored else None
    return _Glob(score, head, tuple(piece for piece in rest if piece), tail, rule)


def _parse_seconds(value: bytes) -> float | None:
    try:
        delay = float(value)
    except ValueError:
        return None
    return delay if 0 <= delay < float("inf") else None


def _target(url: str) -> str:
    """Path and query of a URL or path, with `*` and `$` escaped."""
    target = url.target if isinstance(url, Url) else _target_of_text(url)
    return target.translate(_LITERALS) if "*" in target or "$" in target else target


def _target_of_text(url: str) -> str:
    start = 0
    if not url.startswith("/"):
        scheme = url.find("://")
        start = scheme + 3 if scheme >= 0 else 0
    at = min((i for i in (url.find(mark, start) for mark in "/?;") if i >= 0), default=-1)
    fragment = url.find("#", start)
    if at < 0 or 0 <= fragment < at:
        return "/"
    target = url[at:fragment] if fragment >= 0 else url[at:]
    return target if target.startswith("/") else f"/{target}"
