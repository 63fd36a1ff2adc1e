"""robots.txt as rules: RFC 9309, read the way the reference implementation reads it. Pure.

A pattern matches in time linear in the URL, whatever wildcards it holds. Percent-escapes are compared as written, as
the reference does, with one restriction on top: a `Disallow` also matches in its RFC 3986 §6.2.2 form
(`/%7Ejoe/` keeps us out of `/~joe/`), because the URLs judged here are always in that form.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from sitelore.model.response import RobotsVerdict
from sitelore.model.url import Url

MAX_BYTES = 512 * 1024  # RFC 9309 §2.5 asks for at least 500 KiB
_MAX_LINE = 8 * 2083 - 1  # what the reference implementation keeps of an over-long line
_BOM = b"\xef\xbb\xbf"

_TOKEN = re.compile(rb"[A-Za-z_-]+")
_TO_ESCAPE = re.compile(rb"%[0-9A-Fa-f]{2}|[\x80-\xff]")
_ESCAPED_UNRESERVED = re.compile(r"%(?:2D|2E|3[0-9]|4[1-9A-F]|5[0-9AF]|6[1-9A-F]|7[0-9AE])")

# The misspellings the reference implementation takes for what they mean.
_AGENT_KEYS = (b"user-agent", b"useragent", b"user agent")
_DISALLOW_KEYS = (b"disallow", b"dissallow", b"dissalow", b"disalow", b"diasllow", b"disallaw")
_SITEMAP_KEYS = (b"sitemap", b"site-map")


class _Rule(NamedTuple):
    allow: bool
    pattern: str
    line: int
    value: bytes

    @property
    def text(self) -> str:
        return f"{'Allow' if self.allow else 'Disallow'}: {self.value.decode('utf-8', 'replace')}"


@dataclass(slots=True)
class _Group:
    """Rules under a run of User-agent lines. Shared by all its agents: agents times rules must stay a sum."""

    rules: list[_Rule] = field(default_factory=list)
    agents: int = 0
    delays: list[tuple[int, float]] = field(default_factory=list)
    """(how many agents the group had by then, seconds): an agent named after a Crawl-delay line does not inherit it."""


class _Glob(NamedTuple):
    """A pattern with wildcards, split at its stars."""

    score: int
    head: str
    middle: tuple[str, ...]
    tail: str | None
    """What the URL must end with (`$`); None when anything may follow."""
    rule: _Rule

    def matches(self, target: str) -> bool:
        """Leftmost matching of each piece is enough: a star may always take more, never needs to."""
        if not target.startswith(self.head):
            return False
        at = len(self.head)
        for piece in self.middle:
            found = target.find(piece, at)
            if found < 0:
                return False
            at = found + len(piece)
        if self.tail is None:
            return True
        return len(target) - len(self.tail) >= at and target.endswith(self.tail)


class _Matcher:
    """The rules of one agent, compiled: plain prefixes in a table by length, wildcards in a list, best first."""

    __slots__ = ("_exact", "_globs", "_lengths", "_prefixes")

    def __init__(self, rules: Sequence[_Rule]) -> None:
        exact: dict[str, tuple[int, _Rule]] = {}
        prefixes: dict[str, tuple[int, _Rule]] = {}
        globs: list[_Glob] = []
        for rule in rules:
            for pattern in _spellings(rule):
                # The longest pattern wins, an equally long Allow beats a Disallow (RFC 9309 §2.2.2).
                score = 2 * len(pattern) + rule.allow
                plain = pattern.rstrip("*")
                if "*" in plain:
                    globs.append(_glob(pattern, score, rule))
                    continue
                table, text = (exact, plain[:-1]) if pattern.endswith("$") else (prefixes, plain)
                if text not in table or table[text][0] < score:
                    table[text] = (score, rule)
        self._exact = exact
        self._prefixes = prefixes
        self._lengths = tuple(sorted({len(prefix) for prefix in prefixes}))
        self._globs = sorted(globs, key=lambda glob: -glob.score)

    def match(self, target: str) -> _Rule | None:
        """The rule that decides, or None."""
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
class _Panel:
    """The groups that bind a crawler of several names, compiled once."""

    silent: RobotsVerdict
    """What is said when no rule matches."""
    matchers: tuple[tuple[str, _Matcher], ...]


@dataclass(slots=True)
class RobotsRules:
    """One robots.txt, parsed."""

    sitemaps: tuple[str, ...] = ()
    _groups: dict[str, list[tuple[int, _Group]]] = field(default_factory=dict)
    """Lower-case agent → (its place among the group's agents, group), in file order."""
    _panels: dict[tuple[str, ...], _Panel] = field(default_factory=dict)

    @staticmethod
    def parse(body: bytes | str) -> RobotsRules:
        """Read a robots.txt; nothing in it is an error. What lies past `MAX_BYTES` is left out, cut at a line."""
        raw = body.encode("utf-8", "replace") if isinstance(body, str) else body
        if len(raw) > MAX_BYTES:
            cut = max(raw.rfind(b"\n", 0, MAX_BYTES), raw.rfind(b"\r", 0, MAX_BYTES))
            raw = raw[: cut if cut >= 0 else MAX_BYTES]
        if raw.startswith((b"\xff\xfe", b"\xfe\xff")) and 0 in raw[:64]:
            raw = raw.decode("utf-16", "replace").encode("utf-8", "replace")
        for length in (3, 2, 1):  # a byte order mark, or what a broken editor left of it
            if raw.startswith(_BOM[:length]):
                raw = raw[length:]
                break
        reading = _Reading()
        for number, line in enumerate(raw.splitlines(), 1):
            reading.line(number, line)
        return RobotsRules(tuple(dict.fromkeys(reading.sitemaps)), reading.groups)

    def judge(self, url: Url | str, agents: Sequence[str]) -> RobotsVerdict:
        """May this URL (or path and query) be fetched by a crawler that answers to all of `agents`?

        Each agent is judged by its own group, or by `*` when it has none; one refusal refuses.
        """
        key = tuple(agents)
        panel = self._panels.get(key)
        if panel is None:
            panel = self._panels[key] = self._panel(key)
        target = _target(url)
        verdict = panel.silent
        for label, matcher in panel.matchers:
            rule = matcher.match(target)
            if rule is None or (rule.allow and verdict.line):
                continue
            verdict = RobotsVerdict(rule.allow, "ok", rule.text, rule.line, label, verdict.crawl_delay_s, self.sitemaps)
            if not rule.allow:
                break
        return verdict

    def crawl_delay(self, agents: Sequence[str]) -> float | None:
        """The longest gap between requests that a group of these agents asks for."""
        delays = [delay for agent in agents if (delay := self._delay(self._label(agent))) is not None]
        return max(delays, default=None)

    def _panel(self, agents: tuple[str, ...]) -> _Panel:
        labels = dict.fromkeys(self._label(agent) for agent in agents)
        silent = RobotsVerdict(
            True, agent=next(iter(labels), ""), crawl_delay_s=self.crawl_delay(agents), sitemaps=self.sitemaps
        )
        return _Panel(silent, tuple((label, self._matcher(label)) for label in labels))

    def _label(self, agent: str) -> str:
        return agent if agent.lower() in self._groups else "*"

    def _delay(self, label: str) -> float | None:
        for place, group in self._groups.get(label.lower(), ()):
            for agents, delay in group.delays:
                if place < agents:
                    return delay
        return None

    def _matcher(self, label: str) -> _Matcher:
        groups = self._groups.get(label.lower(), ())
        return _Matcher([rule for _, group in groups for rule in group.rules])


class _Reading:
    """A robots.txt while it is read: the open group, and what has been collected."""

    def __init__(self) -> None:
        self.groups: dict[str, list[tuple[int, _Group]]] = {}
        self.sitemaps: list[str] = []
        self._group: _Group | None = None
        self._closed = False

    def line(self, number: int, line: bytes) -> None:
        """Take one line, in file order."""
        key, value = _split(line)
        if not key:
            return
        if key.startswith(_AGENT_KEYS):
            self._agent(value)
        elif key.startswith(_SITEMAP_KEYS):
            self.sitemaps.append(value.decode("utf-8", "replace"))
        elif self._group is None:
            return  # rules before the first User-agent line bind nobody
        elif key.startswith(b"allow"):
            self._rule(True, value, number)
        elif key.startswith(_DISALLOW_KEYS):
            self._rule(False, value, number)
        elif key.startswith(b"crawl-delay") and (delay := _seconds(value)) is not None:
            self._group.delays.append((self._group.agents, delay))

    def _agent(self, value: bytes) -> None:
        if self._group is None or self._closed:
            self._group, self._closed = _Group(), False
        if value[:1] == b"*" and not value[1:2].strip():
            name = "*"
        else:
            token = _TOKEN.match(value)
            name = token[0].decode("ascii").lower() if token else ""
        groups = self.groups.setdefault(name, [])
        if not groups or groups[-1][1] is not self._group:  # a name repeated in one group must not repeat its rules
            groups.append((self._group.agents, self._group))
        self._group.agents += 1

    def _rule(self, allow: bool, value: bytes, number: int) -> None:
        assert self._group is not None
        self._closed = True
        if value:
            self._group.rules.append(_Rule(allow, _escaped(value), number, value))


def _split(line: bytes) -> tuple[bytes, bytes]:
    """Lower-case key and value. A missing colon is forgiven where exactly two words stand on the line."""
    text = line[:_MAX_LINE].partition(b"#")[0].strip()
    key, colon, value = text.partition(b":")
    if not colon:
        words = text.split()
        if len(words) != 2:
            return b"", b""
        key, value = words
    return key.strip().lower(), value.strip()


def _escaped(value: bytes) -> str:
    """ASCII with upper-case escapes, so that a rule written in raw UTF-8 meets the URL's escaped spelling."""
    if b"%" in value or not value.isascii():
        value = _TO_ESCAPE.sub(lambda m: m[0].upper() if m[0][:1] == b"%" else b"%%%02X" % m[0][0], value)
    return value.decode("ascii")


def _spellings(rule: _Rule) -> list[str]:
    spellings = [rule.pattern]
    if rule.allow:
        directory, slash, page = rule.pattern.rpartition("/")
        if slash and page.startswith("index.htm"):
            spellings.append(f"{directory}/$")  # the reference takes a directory's index page for the directory
    elif "%" in rule.pattern:
        plain = _ESCAPED_UNRESERVED.sub(lambda m: chr(int(m[0][1:], 16)), rule.pattern)
        if plain != rule.pattern:
            spellings.append(plain)
    return spellings


def _glob(pattern: str, score: int, rule: _Rule) -> _Glob:
    anchored = pattern.endswith("$")
    head, *rest = (pattern[:-1] if anchored else pattern).split("*")
    tail = rest.pop() if anchored else None
    return _Glob(score, head, tuple(piece for piece in rest if piece), tail, rule)


def _seconds(value: bytes) -> float | None:
    try:
        delay = float(value)
    except ValueError:
        return None
    return delay if 0 <= delay < float("inf") else None


def _target(url: str) -> str:
    """Path and query of a URL; a path is taken as it is."""
    if isinstance(url, Url):
        return url.target
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
