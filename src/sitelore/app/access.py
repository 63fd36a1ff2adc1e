"""Builds `Access` from the options of the command line, the arguments of the Python API and the operator's access file.

All three use the same names. An error names the option and the file, and never repeats a value.
"""

from __future__ import annotations

import base64
import json
import re
import stat
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from http.cookiejar import LoadError, MozillaCookieJar
from pathlib import Path
from typing import Any

import msgspec

from sitelore.fetch.access import RunAccess
from sitelore.fetch.http.proxies import parse_proxy
from sitelore.fetch.http.tls import make_context
from sitelore.model.access import Access, ClientCert, Cookie, Proxies, SiteAccess
from sitelore.model.errors import BadConfig, UsageError
from sitelore.model.url import Url

_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_COOKIE_VALUE = re.compile(r"[^\x00-\x20;\x7f-\uffff]*|\"[^\x00-\x1f;\x7f-\uffff]*\"")
_OWN_HEADERS = frozenset(
    {"host", "connection", "content-length", "transfer-encoding", "te", "trailer", "upgrade", "accept-encoding", "range",
     "if-none-match", "if-modified-since", "proxy-authorization", "proxy-connection", "expect"}
)  # fmt: skip
"""Headers that the client sets itself."""
_MAX_FILE_BYTES = 16 * 2**20


@dataclass(frozen=True, slots=True, repr=False)
class SiteOptions:
    """Access to one site, as written by a user."""

    headers: Mapping[str, str] | Sequence[str] = ()
    """A mapping, or lines `Name: value`."""
    cookie: str | Mapping[str, str] = ""
    """`a=b; c=d`."""
    cookies: str = ""
    """A file in Netscape format."""
    storage_state: str | Mapping[str, Any] = ""
    """A file with Playwright's storage state, or its content."""
    auth: str = ""
    """`USER:PASSWORD`."""
    bearer: str = ""
    client_cert: str = ""
    """`FILE[:KEYFILE]`."""


@dataclass(frozen=True, slots=True, repr=False)
class AccessOptions:
    """Access to the seeds of a run, and the way to all sites, as written by a user."""

    site: SiteOptions = SiteOptions()
    by_origin: Mapping[str, SiteOptions] = field(default_factory=dict)
    proxy: Sequence[str] = ()
    no_proxy: Sequence[str] = ()
    ca_file: str = ""
    insecure: bool = False


def build_access(options: AccessOptions) -> Access:
    """Check the options and read their files. Raises `UsageError`."""
    sites = {_origin(text): site_access(site) for text, site in options.by_origin.items()}
    auths = [options.site.auth, *(site.auth for site in options.by_origin.values())]
    for text in options.proxy:
        parse_proxy(text)
    return Access(
        seeds=site_access(options.site),
        origins=sites,
        passwords=tuple(auth.partition(":")[2] for auth in auths if auth),
        proxies=Proxies(tuple(options.proxy), tuple(options.proxy), tuple(options.no_proxy)),
        ca_file=options.ca_file,
        insecure=options.insecure,
    )


def check_access(access: Access) -> Access:
    """Check proxies and certificate files before a crawl starts. Raises `UsageError`."""
    RunAccess(access)
    if access.ca_file:
        make_context(access.ca_file)
    for site in (access.seeds, *access.origins.values()):
        if site.client_cert is not None:
            make_context(certificate=site.client_cert)
    return access


def site_access(options: SiteOptions) -> SiteAccess:
    """Check the options of one site and read its files. Raises `UsageError`."""
    headers, cookies = _headers(options.headers), _cookie_pairs(options.cookie)
    for name, value in headers:
        if name.lower() == "cookie":
            cookies += _cookie_pairs(value)
    headers = [header for header in headers if header[0].lower() != "cookie"]
    headers += _authorization(options, headers)
    if options.cookies:
        cookies += _netscape_cookies(options.cookies)
    state = _storage_state(options.storage_state) if options.storage_state else _State()
    cookies += [cookie for entry in state.cookies if (cookie := entry.cookie())]
    storage = tuple((entry.origin, item.name, item.value) for entry in state.origins for item in entry.localStorage)
    certificate = _client_cert(options.client_cert) if options.client_cert else None
    return SiteAccess(tuple(headers), tuple(cookies), storage, certificate)


def basic_auth(user: str, password: str) -> tuple[str, str]:
    """The Authorization header of basic auth (RFC 7617)."""
    return "Authorization", f"Basic {base64.b64encode(f'{user}:{password}'.encode()).decode()}"


def access_of_credentials(credentials: Iterable[tuple[str, str, str]]) -> Access:
    """Access for credentials that were part of a URL: (origin, user, password)."""
    entries = tuple(credentials)
    return Access(
        origins={origin: SiteAccess(headers=(basic_auth(user, password),)) for origin, user, password in entries},
        passwords=tuple(password for _, _, password in entries),
    )


def read_access_file(name: str) -> Access:
    """Read an access file (TOML, or JSON when its name ends in `.json`). Raises `BadConfig`."""
    path = Path(name).expanduser()
    data = _private_text(path)
    try:
        parsed = json.loads(data) if path.suffix.lower() == ".json" else tomllib.loads(data)
        file = msgspec.convert(parsed, _AccessFile)
    except (ValueError, tomllib.TOMLDecodeError, msgspec.ValidationError) as problem:
        reason = str(problem) if isinstance(problem, msgspec.ValidationError) else "not valid TOML or JSON"
        raise BadConfig(f"{name}: {reason}") from None
    folder = path.parent
    try:
        return build_access(
            AccessOptions(
                by_origin={origin: site.options(folder) for origin, site in file.origins.items()},
                proxy=[file.proxy] if isinstance(file.proxy, str) else file.proxy,
                no_proxy=file.no_proxy,
                ca_file=beside(folder, file.ca_file),
                insecure=file.insecure,
            )
        )
    except UsageError as problem:
        raise BadConfig(f"{name}: {problem}") from None


class _SiteEntry(msgspec.Struct, forbid_unknown_fields=True):
    """Access to one origin, in an access file."""

    headers: dict[str, str] = {}
    cookie: str = ""
    cookies: str = ""
    storage_state: str = ""
    auth: str = ""
    bearer: str = ""
    client_cert: str = ""

    def options(self, folder: Path) -> SiteOptions:
        files = {name: beside(folder, getattr(self, name)) for name in ("cookies", "storage_state")}
        certificate = ":".join(beside(folder, part) for part in self.client_cert.split(":")) if self.client_cert else ""
        return SiteOptions(
            headers=self.headers, cookie=self.cookie, auth=self.auth, bearer=self.bearer, client_cert=certificate, **files
        )


class _AccessFile(msgspec.Struct, forbid_unknown_fields=True):
    """An access file. Secrets stand below the origin that they are for."""

    origins: dict[str, _SiteEntry] = {}
    proxy: str | list[str] = []
    no_proxy: list[str] = []
    ca_file: str = ""
    insecure: bool = False


class _StateCookie(msgspec.Struct):
    name: str
    value: str
    domain: str = ""
    path: str = "/"
    expires: float = -1
    secure: bool = False

    def cookie(self) -> Cookie | None:
        """The cookie; None when it cannot be sent."""
        if not _NAME.fullmatch(self.name) or not _COOKIE_VALUE.fullmatch(self.value):
            return None
        expires = self.expires if self.expires > 0 else None
        return Cookie(self.name, self.value, self.domain, self.path or "/", self.secure, expires)


class _StorageItem(msgspec.Struct):
    name: str
    value: str


class _StateOrigin(msgspec.Struct):
    origin: str
    localStorage: list[_StorageItem] = []  # noqa: N815 the name in Playwright's file


class _State(msgspec.Struct):
    """Playwright's storage state; only its cookies and local storage are used."""

    cookies: list[_StateCookie] = []
    origins: list[_StateOrigin] = []


def beside(folder: Path, name: str) -> str:
    """A file named in a configuration file: relative names are relative to that file's folder."""
    return str(folder / Path(name).expanduser()) if name else ""


def _private_text(path: Path) -> str:
    """The text of a file that no other user can read."""
    try:
        mode = path.stat().st_mode
        if stat.S_ISREG(mode) and mode & (stat.S_IRWXG | stat.S_IRWXO):
            raise BadConfig(f"{path}: other users can read this file; run `chmod 600 {path}`")
        return _limited_text(path)
    except (OSError, UnicodeDecodeError) as problem:
        raise BadConfig(f"cannot read the access file {path}: {_reason(problem)}") from None


def _limited_text(path: Path) -> str:
    with path.open("rb") as file:
        data = file.read(_MAX_FILE_BYTES + 1)
    if len(data) > _MAX_FILE_BYTES:
        raise UsageError(f"{path}: larger than {_MAX_FILE_BYTES >> 20} MiB")
    return data.decode("utf-8-sig")


def _reason(problem: Exception) -> str:
    return (problem.strerror or "unknown error") if isinstance(problem, OSError) else "not UTF-8 text"


def _origin(text: str) -> str:
    url = Url.parse(text)
    if url is None or url.target != "/" or "@" in text:
        raise UsageError(f"origins: {text.rpartition('@')[2]!r} is not an origin (use https://example.com or http://host:8080)")
    return url.origin


def _headers(source: Mapping[str, str] | Sequence[str]) -> list[tuple[str, str]]:
    if isinstance(source, Mapping):
        pairs = [(str(name), str(value)) for name, value in source.items()]
    else:
        pairs = [(name, value) for name, _, value in (line.partition(":") for line in source)]
    headers = []
    for raw_name, raw_value in pairs:
        name, value = raw_name.strip(), raw_value.strip()
        if not _NAME.fullmatch(name) or not value or not value.isascii() or not value.isprintable():
            shown = f" {name!r}" if _NAME.fullmatch(name) and value else ""
            raise UsageError(f"header: invalid header{shown} (use 'Name: value' in printable ASCII)")
        if name.lower() in _OWN_HEADERS:
            raise UsageError(f"header: {name} cannot be set (the client sets it)")
        headers.append((name, value))
    return headers


def _cookie_pairs(source: str | Mapping[str, str]) -> list[Cookie]:
    if isinstance(source, str):
        pairs = [pair.strip().partition("=")[::2] for pair in source.split(";") if pair.strip()]
        is_valid = all("=" in pair for pair in source.split(";") if pair.strip())
    else:
        pairs, is_valid = [(str(name), str(value)) for name, value in source.items()], True
    if not is_valid or not all(_NAME.fullmatch(name) and _COOKIE_VALUE.fullmatch(value) for name, value in pairs):
        raise UsageError("cookie: invalid cookies (use 'name=value; name=value' in printable ASCII)")
    return [Cookie(name, value) for name, value in pairs]


def _authorization(options: SiteOptions, headers: list[tuple[str, str]]) -> list[tuple[str, str]]:
    ways = [bool(options.auth), bool(options.bearer), any(name.lower() == "authorization" for name, _ in headers)]
    if sum(ways) > 1:
        raise UsageError("auth, bearer and an Authorization header exclude each other; use one of them")
    if options.auth:
        user, colon, password = options.auth.partition(":")
        if not colon or not user or not options.auth.isprintable():
            raise UsageError("auth: invalid credentials (use USER:PASSWORD)")
        return [basic_auth(user, password)]
    if options.bearer:
        if not options.bearer.isascii() or not options.bearer.isprintable() or " " in options.bearer:
            raise UsageError("bearer: invalid token (use printable ASCII without spaces)")
        return [("Authorization", f"Bearer {options.bearer}")]
    return []


def _netscape_cookies(name: str) -> list[Cookie]:
    jar = MozillaCookieJar()
    try:
        jar.load(str(Path(name).expanduser()), ignore_discard=True, ignore_expires=True)
    except LoadError:
        raise UsageError(f"cookies: {name} is not a cookie file in Netscape format (its first line names the format)") from None
    except (OSError, UnicodeDecodeError) as problem:
        raise UsageError(f"cookies: cannot read {name}: {_reason(problem)}") from None
    cookies = []
    for entry in jar:
        value = entry.value or ""
        if _NAME.fullmatch(entry.name) and _COOKIE_VALUE.fullmatch(value):
            domain = f".{entry.domain.lstrip('.')}" if entry.domain_specified else entry.domain
            cookies.append(Cookie(entry.name, value, domain, entry.path or "/", entry.secure, entry.expires or None))
    return cookies


def _storage_state(source: str | Mapping[str, Any]) -> _State:
    try:
        if not isinstance(source, str):
            return msgspec.convert(dict(source), _State)
        return msgspec.json.decode(_limited_text(Path(source).expanduser()), type=_State)
    except (OSError, UnicodeDecodeError) as problem:
        raise UsageError(f"storage_state: cannot read {source}: {_reason(problem)}") from None
    except msgspec.DecodeError:
        name = f"{source} is " if isinstance(source, str) else ""
        raise UsageError(
            f"storage_state: {name}not a storage state of Playwright (context.storage_state() writes one)"
        ) from None


def _client_cert(text: str) -> ClientCert:
    if Path(text).expanduser().is_file() or ":" not in text:
        return ClientCert(str(Path(text).expanduser()))
    certificate, _, key = text.rpartition(":")
    return ClientCert(str(Path(certificate).expanduser()), str(Path(key).expanduser()))
