"""The `Url` type, the only URL parser of the program, and functions that decide whether two URLs name one page.

A `Url` is a string in frontier-key form: WHATWG-parsed, http(s), lower-case punycode host, no default port, no
credentials, no fragment, no dot segments, no tracking or session parameters, unreserved characters decoded
(RFC 3986 §6.2.2.2). The rest of the query keeps its order. It is both the key of the frontier and the URL that is fetched.

`identity` and `normalize` return forms that are compared, never fetched. `identity` applies the options of a site's settings.
`normalize` is the strongest form that is safe to compare by: URLs with one normal form differ in nothing that servers are known
to distinguish. `resolve` resolves a link like a browser.

`model` uses the standard library only, with this exception: address guard, frontier, links and HTTP client must all parse a URL
in the same way (two parsers in one product are an SSRF hole), and this is the one module that all of them may import.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache

import ada_url

from sitelore.model.settings import Identity, QueryForm, SlashForm

_TRACKING = (
    "utm_*", "gclid", "gclsrc", "gbraid", "wbraid", "dclid", "fbclid", "msclkid", "yclid", "twclid", "ttclid", "igshid",
    "li_fat_id", "mc_cid", "mc_eid", "_hsenc", "_hsmi", "__hstc", "__hssc", "__hsfp", "hsctatracking", "mkt_tok", "vero_id",
    "oly_anon_id", "oly_enc_id", "wickedid", "_openstat", "s_kwcid", "ef_id", "epik", "srsltid", "_ga", "_gl", "pk_campaign",
    "pk_kwd", "pk_source", "pk_medium", "mtm_*", "matomo_*", "piwik_*", "rb_clickid", "sc_cid", "trk_*", "at_campaign",
)  # fmt: skip
_SESSION = ("phpsessid", "jsessionid", "aspsessionid*", "cfid", "cftoken", "sessionid", "session_id", "sessid", "zenid")

# Not after a broken escape: decoding `%%34%31` to `%41` would create an escape that was not there.
_ESCAPE = re.compile(r"(?<!%)(?<!%[0-9A-Fa-f])%([0-9A-Fa-f]{2})")
_UNRESERVED = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
_PATH_SESSION = re.compile(r";(?:jsessionid|phpsessid|sid)=[^/?;]*", re.IGNORECASE)
_DEFAULT_PORTS = {"http": 80, "https": 443}
# URLs that any parser leaves unchanged, which are most links of most pages. Everything that a parser might change is excluded:
# segments that begin with a dot, empty segments, escapes and parameters in a path, ports, punycode hosts, numeric top-level
# names. The expressions do not backtrack, so a long URL that is not plain is rejected in one pass.
_ODD_IN_PATH = re.compile(r"[^A-Za-z0-9_~!$&'()*+,=:@./-]")
_ODD_IN_QUERY = re.compile(r"[^A-Za-z0-9_~!$&()*+,=:@./?;%-]")
_LABEL = r"(?!xn--)[a-z0-9](?:[a-z0-9]|-(?!-))*"
_PLAIN_ORIGIN = re.compile(rf"https?://(?:{_LABEL}\.)+[a-z]{{2,63}}")
_MAX_ORIGIN_CHARS = 261
_HTTPS = len("https://")  # the path's first slash is searched from here, for `http://` too, because no host is empty
_MAX_LENGTH = 8192  # longer "URLs" are data, and servers refuse them

_SLASHES = re.compile(r"/{2,}")
_BARE_PERCENT = re.compile(r"%(?![0-9A-Fa-f]{2})")
# Left unchanged by WHATWG in a query or path, though RFC 3986 allows it in neither.
_UNSAFE = re.compile(r"""[\[\]"<>^`{|}\\]""")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:(?!\d+(?:[/?#]|$))")
_LOCAL = re.compile(r"(file|ftp):(//[^/?#]*)?", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class KeyRules:
    """Query parameters that never distinguish two pages. Names are lower case; a trailing `*` matches a prefix."""

    dropped: tuple[str, ...] = _TRACKING + _SESSION
    _exact: frozenset[str] = field(init=False, repr=False, compare=False)
    _prefixes: tuple[str, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_exact", frozenset(n for n in self.dropped if not n.endswith("*")))
        object.__setattr__(self, "_prefixes", tuple(n[:-1] for n in self.dropped if n.endswith("*")))

    def plus(self, names: Iterable[str]) -> KeyRules:
        """These rules with a site's own parameters added."""
        return KeyRules((*self.dropped, *(name.lower() for name in names)))

    def drops(self, name: str) -> bool:
        """Whether a query parameter of this name is left out of the key."""
        name = name.lower()
        return name in self._exact or name.startswith(self._prefixes)


DEFAULT_RULES = KeyRules()


class Url(str):
    """An http(s) URL in frontier-key form. Created only by `Url.parse`, so its form can be relied on."""

    __slots__ = ()

    @staticmethod
    def parse(raw: str, base: str | None = None, rules: KeyRules = DEFAULT_RULES) -> Url | None:
        """The URL of `raw` on the page `base`, or None when it is not an http(s) URL."""
        if len(raw) > _MAX_LENGTH:
            return None
        if base is None:
            end = raw.find("/", 8)
            if 0 < end <= _MAX_ORIGIN_CHARS and _is_plain_origin(raw[:end]) and (plain := _plain(raw[:end], raw[end:], rules)):
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
        """The URL of a path and query that begins with one slash, at a given origin."""
        if len(origin) + len(target) <= _MAX_LENGTH and (plain := _plain(origin, target, rules)):
            return Url(plain)
        return Url.parse(origin + target, None, rules)

    @staticmethod
    def trusted(text: str) -> Url:
        """Wrap a string that was parsed before: a row of the ledger, a message from another process."""
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
        """Whether this is the root of a site: no path, no query."""
        return self.target == "/"


def whatwg(raw: str, base: str | None = None) -> str | None:
    """Resolve `raw` on page `base` like a browser: any scheme, credentials and fragment kept. None when it is not a URL."""
    try:
        return ada_url.join_url(base, raw) if base else ada_url.normalize_url(raw)
    except ValueError:
        return None


@lru_cache(maxsize=2048)
def _is_plain_origin(origin: str) -> bool:
    return _PLAIN_ORIGIN.fullmatch(origin) is not None


def _plain(origin: str, target: str, rules: KeyRules) -> str:
    """The key of a path and query at an origin; empty when it is not plain and needs the parser."""
    path, mark, query = target.partition("#")[0].partition("?")
    if _ODD_IN_PATH.search(path) is not None or "//" in path or "/." in path:
        return ""
    if mark:
        if _ODD_IN_QUERY.search(query) is not None:
            return ""
        query = _kept_query(query, rules)
    return f"{origin}{path}?{query}" if query else origin + path


def _key(href: str, rules: KeyRules) -> str:
    """The frontier key of a WHATWG href; empty when its host cannot exist. Most links take the second return."""
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
    """An authority without credentials and trailing dot; empty when a label of the host is missing."""
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
    def decode(match: re.Match[str]) -> str:
        char = chr(int(match[1], 16))
        return char if char in _UNRESERVED else match[0].upper()

    return _ESCAPE.sub(decode, text)


def _kept_query(query: str, rules: KeyRules) -> str:
    if "%" in query:
        query = _plain_escapes(query)
    return "&".join([p for p in query.split("&") if p and not rules.drops(p.partition("=")[0])])


def identity(url: Url, options: Identity) -> str:
    """The form of `url` under the site's identity options."""
    origin, path, query = url.origin, url.path, url.query
    # Only for the default ports: a server on an explicit port speaks one protocol.
    if options.force_https and url.scheme == "http" and url.port == 80:
        origin = f"https://{url.host}"
    if options.slash is SlashForm.ADD and not path.endswith("/") and "." not in path.rpartition("/")[2]:
        path += "/"
    elif options.slash is SlashForm.STRIP and path != "/":
        path = path.rstrip("/") or "/"
    if options.query is QueryForm.DROP:
        query = ""
    elif options.query is QueryForm.SORT and "&" in query:
        query = "&".join(sorted(query.split("&"), key=_name))
    return f"{origin}{path}?{query}" if query else origin + path


def normalize(raw: str) -> str | None:
    """The normal form of `raw`; None when it is not a URL. A missing scheme is http; `file:` and `ftp:` are accepted.

    In addition to the frontier key: repeated slashes are collapsed, query parameters are sorted by name, those without a name
    are dropped, an empty value equals no value, and every character outside RFC 3986 is escaped.
    """
    text = raw.strip()
    if not text:
        return None
    local = _LOCAL.match(text)
    if local is not None:
        return _normal_file(text, local)
    if _SCHEME.match(text) is None:
        text = f"http://{text}"
    url = Url.parse(text)
    if url is None:
        return None
    path = _SLASHES.sub("/", _escaped(url.path))
    query = _normal_query(url.query)
    normal = Url.parse(f"{url.origin}{path}?{query}" if query else url.origin + path)
    return None if normal is None else str(normal)


def resolve(base: str, raw: str) -> str | None:
    """The URL of the link `raw` on the page `base`, with its fragment; None when it cannot be resolved."""
    return whatwg(raw, base or None)


def _name(parameter: str) -> str:
    return parameter.partition("=")[0]


def _escaped(text: str) -> str:
    text = _BARE_PERCENT.sub("%25", text)
    return _UNSAFE.sub(lambda match: f"%{ord(match[0]):02X}", text)


def _normal_query(query: str) -> str:
    kept = []
    for parameter in _escaped(query).split("&"):
        name, equals, value = parameter.partition("=")
        if name:
            kept.append(f"{name}={value}" if equals and value else name)
    return "&".join(sorted(kept, key=_name))


def _normal_file(text: str, local: re.Match[str]) -> str | None:
    """`file:/a`, `file:///a` and `ftp://host/a`: dot segments and repeated slashes go, the form of the root stays."""
    parsed = whatwg(f"http://host{_SLASHES.sub('/', text[local.end() :]) or '/'}")
    if parsed is None:
        return None
    return f"{local[0].lower()}{parsed.removeprefix('http://host').partition('#')[0]}"
