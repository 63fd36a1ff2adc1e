"""The URL noun, and the only URL parser in the house.

A `Url` is a string in frontier-key form: WHATWG-parsed, http(s), lower-case punycode host, no default port, no
credentials, no fragment, no dot segments, no tracking or session parameters, unreserved characters decoded
(RFC 3986 §6.2.2.2). The rest of the query keeps its order. It is at once what the frontier is keyed by and what is fetched.

`model` is standard library only with this one exception: guard, frontier, links and fetch must all see a URL the
same way (two parsers in one product is an SSRF hole), and this is the one module all of them may import.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache

import ada_url

_TRACKING = (
    "utm_*", "gclid", "gclsrc", "gbraid", "wbraid", "dclid", "fbclid", "msclkid", "yclid", "twclid", "ttclid", "igshid",
    "li_fat_id", "mc_cid", "mc_eid", "_hsenc", "_hsmi", "__hstc", "__hssc", "__hsfp", "hsctatracking", "mkt_tok", "vero_id",
    "oly_anon_id", "oly_enc_id", "wickedid", "_openstat", "s_kwcid", "ef_id", "epik", "srsltid", "_ga", "_gl", "pk_campaign",
    "pk_kwd", "pk_source", "pk_medium", "mtm_*", "matomo_*", "piwik_*", "rb_clickid", "sc_cid", "trk_*", "at_campaign",
)  # fmt: skip
_SESSION = ("phpsessid", "jsessionid", "aspsessionid*", "cfid", "cftoken", "sessionid", "session_id", "sessid", "zenid")

# Not where a broken escape stands before: decoding `%%34%31` to `%41` would make an escape that was not there.
_ESCAPE = re.compile(r"(?<!%)(?<!%[0-9A-Fa-f])%([0-9A-Fa-f]{2})")
_UNRESERVED = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
_PATH_SESSION = re.compile(r";(?:jsessionid|phpsessid|sid)=[^/?;]*", re.IGNORECASE)
_DEFAULT_PORTS = {"http": 80, "https": 443}
# What every parser leaves as it is: most links of most pages. Anything a parser could have an opinion on is not in it: dots
# that begin a segment, empty segments, escapes and parameters in a path, ports, names in punycode or with a number for a top
# level. Nothing in them can be read in two ways, so a long URL that is not plain is given up in one pass.
_ODD_IN_PATH = re.compile(r"[^A-Za-z0-9_~!$&'()*+,=:@./-]")
_ODD_IN_QUERY = re.compile(r"[^A-Za-z0-9_~!$&()*+,=:@./?;%-]")
_LABEL = r"(?!xn--)[a-z0-9](?:[a-z0-9]|-(?!-))*"
_PLAIN_ORIGIN = re.compile(rf"https?://(?:{_LABEL}\.)+[a-z]{{2,63}}")
_LONGEST_ORIGIN = 261
_HTTPS = len("https://")  # where the first slash of a path is looked for, after `http://` too: no host is empty
_MAX_LENGTH = 8192  # longer "URLs" are data, not addresses; every server refuses them anyway


@dataclass(frozen=True, slots=True)
class KeyRules:
    """Which query parameters never tell two pages apart. Names are lower case; a trailing `*` matches a prefix."""

    dropped: tuple[str, ...] = _TRACKING + _SESSION
    _exact: frozenset[str] = field(init=False, repr=False, compare=False)
    _prefixes: tuple[str, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_exact", frozenset(n for n in self.dropped if not n.endswith("*")))
        object.__setattr__(self, "_prefixes", tuple(n[:-1] for n in self.dropped if n.endswith("*")))

    def plus(self, names: Iterable[str]) -> KeyRules:
        """The same rules with a site's own parameters added."""
        return KeyRules((*self.dropped, *(name.lower() for name in names)))

    def drops(self, name: str) -> bool:
        """Whether a query parameter of this name is left out of the key."""
        name = name.lower()
        return name in self._exact or name.startswith(self._prefixes)


DEFAULT_RULES = KeyRules()


class Url(str):
    """An http(s) URL in frontier-key form. Made by `Url.parse` alone; everything inside the house may trust its shape."""

    __slots__ = ()

    @staticmethod
    def parse(raw: str, base: str | None = None, rules: KeyRules = DEFAULT_RULES) -> Url | None:
        """The URL that `raw` means on page `base`, or None when it is not an http(s) URL at all."""
        if len(raw) > _MAX_LENGTH:
            return None
        if base is None:
            end = raw.find("/", 8)
            if 0 < end <= _LONGEST_ORIGIN and _is_plain_origin(raw[:end]) and (plain := _plain(raw[:end], raw[end:], rules)):
                return Url(plain)
        try:
            href = ada_url.join_url(base, raw) if base else ada_url.normalize_url(raw)
        except ValueError:
            return None
        if not href.startswith(("http://", "https://")) or len(href) > _MAX_LENGTH:
            return None
        key = _key(href, rules)
        return Url(key) if key else None

    @staticmethod
    def below(origin: str, target: str, rules: KeyRules = DEFAULT_RULES) -> Url | None:
        """The URL of a target that begins with one slash, at the origin of a URL."""
        if len(origin) + len(target) <= _MAX_LENGTH and (plain := _plain(origin, target, rules)):
            return Url(plain)
        return Url.parse(origin + target, None, rules)

    @staticmethod
    def trusted(text: str) -> Url:
        """A string that already left `parse` once: a row of the ledger, a message from another process."""
        return Url(text)

    @property
    def scheme(self) -> str:
        """`http` or `https`."""
        return "https" if self.startswith("https:") else "http"

    @property
    def authority(self) -> str:
        """`host` or `host:port`, the port only where it is not the scheme's own."""
        start = _HTTPS if self[4] == "s" else _HTTPS - 1
        end = self.find("/", start)
        return self[start:] if end < 0 else self[start:end]

    @property
    def origin(self) -> str:
        """`scheme://authority`, without a slash."""
        end = self.find("/", _HTTPS)
        return str(self) if end < 0 else self[:end]

    @property
    def host(self) -> str:
        """The host alone; an IPv6 address keeps its brackets."""
        authority = self.authority
        if authority.startswith("["):
            return authority[: authority.index("]") + 1]
        return authority.partition(":")[0]

    @property
    def port(self) -> int:
        """The port, the scheme's default where none is written."""
        tail = self.authority[len(self.host) :]
        return int(tail[1:]) if tail else _DEFAULT_PORTS[self.scheme]

    @property
    def target(self) -> str:
        """Path and query, as robots.txt rules and request lines see them."""
        start = self.find("/", _HTTPS)
        return self[start:] if start >= 0 else "/"

    @property
    def path(self) -> str:
        """The path, always starting with a slash."""
        return self.target.partition("?")[0]

    @property
    def query(self) -> str:
        """The query without its question mark; empty when there is none."""
        return self.target.partition("?")[2]

    @property
    def is_root(self) -> bool:
        """Whether this is a site's front door: no path, no query."""
        return self.target == "/"


def whatwg(raw: str, base: str | None = None) -> str | None:
    """What a browser makes of `raw` on page `base`: any scheme, credentials and fragment kept. None when it is no URL."""
    try:
        return ada_url.join_url(base, raw) if base else ada_url.normalize_url(raw)
    except ValueError:
        return None


@lru_cache(maxsize=2048)
def _is_plain_origin(origin: str) -> bool:
    return _PLAIN_ORIGIN.fullmatch(origin) is not None


def _plain(origin: str, target: str, rules: KeyRules) -> str:
    """The key of a target that begins with a slash, at this origin; empty where it takes a parser to tell."""
    path, mark, query = target.partition("#")[0].partition("?")
    if _ODD_IN_PATH.search(path) is not None or "//" in path or "/." in path:
        return ""
    if mark:
        if _ODD_IN_QUERY.search(query) is not None:
            return ""
        query = _kept_query(query, rules)
    return f"{origin}{path}?{query}" if query else origin + path


def _key(href: str, rules: KeyRules) -> str:
    """WHATWG href → frontier key, empty when its host cannot exist. Most links need no work and take the second return."""
    href, _, _ = href.partition("#")
    scheme_end = href.index("//") + 2
    path_start = href.find("/", scheme_end)
    authority = href[scheme_end:path_start]
    if "@" in authority or authority.endswith(".") or ".:" in authority:
        authority = _plain_authority(authority)
        if not authority:
            return ""
        href = f"{href[:scheme_end]}{authority}{href[path_start:]}"
        path_start = href.find("/", scheme_end)
    rest = href[path_start:]
    if "%" not in rest and "?" not in rest and ";" not in rest:
        return href
    path, _, query = rest.partition("?")
    if "%" in path:
        path = _plain_escapes(path)
    if ";" in path:
        path = _without_session(path)
    if query:
        query = _kept_query(query, rules)
    return f"{href[:path_start]}{path}?{query}" if query else href[:path_start] + path


@lru_cache(maxsize=1024)
def _plain_authority(authority: str) -> str:
    """Without credentials and without the root dot of a fully qualified name; empty when a label of the host is missing."""
    authority = authority.rpartition("@")[2]
    if authority.startswith("["):
        return authority
    host, colon, port = authority.partition(":")
    host = host.removesuffix(".")
    return "" if not host or host.endswith(".") else host + colon + port


def _without_session(path: str) -> str:
    plain = _PATH_SESSION.sub("", path)
    if plain == path or "/." not in plain:
        return plain
    # `/..;jsessionid=1/x` has just become `/../x`.
    return ada_url.URL(f"http://host{plain}").pathname


def _plain_escapes(text: str) -> str:
    def one(match: re.Match[str]) -> str:
        char = chr(int(match[1], 16))
        return char if char in _UNRESERVED else match[0].upper()

    return _ESCAPE.sub(one, text)


def _kept_query(query: str, rules: KeyRules) -> str:
    if "%" in query:
        query = _plain_escapes(query)
    return "&".join([p for p in query.split("&") if p and not rules.drops(p.partition("=")[0])])
