"""`sitelore.toml`: defaults for crawls, sites with their settings, rules and schedules, and access to them.

Keys are those of the catalogue. Secrets are written as `env:NAME`, the name of an environment variable. An error names the
file, the line and the key.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sitelore.app.access import AccessOptions, SiteOptions, beside
from sitelore.app.config import catalogue
from sitelore.app.config.command_options import OUTPUT_KINDS
from sitelore.app.config.kinds import type_name
from sitelore.app.config.sources import Sourced, Values
from sitelore.app.settings import environment_value
from sitelore.model.errors import BadConfig, UsageError
from sitelore.model.settings import Overrides
from sitelore.model.url import Url

KeyPath = tuple[str | int, ...]
"""Keys, and positions in arrays of tables from 0: `("site", 1, "max_pages")`."""


def lines_of(text: str) -> dict[KeyPath, int]:
    """The line of every key and table of a valid TOML text, by path."""
    lines: dict[KeyPath, int] = {}
    sizes: dict[KeyPath, int] = {}
    table: KeyPath = ()
    statement, start = "", 0
    for number, line in enumerate(text.splitlines(keepends=True), 1):
        start = start if statement else number
        statement += line
        try:
            parsed = tomllib.loads(statement)
        except tomllib.TOMLDecodeError:
            continue  # a value that goes on in the next line
        if statement.lstrip().startswith("["):
            table = _table(parsed, sizes)
            lines.setdefault(table, start)
        else:
            for path in _paths(parsed, ()):
                lines.setdefault((*table, *path), start)
        statement = ""
    return lines


def line_of(lines: dict[KeyPath, int], path: KeyPath) -> int:
    """The line of a key, of its first element in an array of tables, or of the closest table around it that has one."""
    while path and path not in lines:
        path = (*path, 0) if (*path, 0) in lines else path[:-1]
    return lines.get(path, 1)


def _table(header: dict[str, Any], sizes: dict[KeyPath, int]) -> KeyPath:
    """The path of the table that a header opens. A header of an array of tables adds an element to it."""
    path: KeyPath = ()
    value: Any = header
    while isinstance(value, dict) and value:
        [(name, value)] = value.items()
        path = (*path, name)
        if isinstance(value, list):
            sizes[path] = sizes.get(path, 0) + 1
            value = value[0]
        if path in sizes:
            path = (*path, sizes[path] - 1)
    return path


def _paths(data: dict[str, Any], above: KeyPath) -> list[KeyPath]:
    paths: list[KeyPath] = []
    for name, value in data.items():
        paths.append((*above, name))
        if isinstance(value, dict):
            paths += _paths(value, (*above, name))
    return paths


_MAX_BYTES = 2**20
_TABLES = ("crawl", "site", "access")
_RULE_KEYS = frozenset({"main_content_selectors", "remove_selectors", "loaders", "own", "actions", "logged_out"})
"""Keys of a site that are rules of its domain. Others, such as `render` and `identity`, are settings of its crawls."""
_SECRETS = ("headers", "cookie", "auth", "bearer")
_ACCESS_FILES = ("cookies", "storage_state", "client_cert")
_SITE_KEYS = frozenset({"url", "domain", "schedule", *_RULE_KEYS, *_SECRETS, *_ACCESS_FILES, *OUTPUT_KINDS})
_VARIABLE = re.compile(r"env:([A-Za-z_][A-Za-z0-9_]*)")


@dataclass(frozen=True, slots=True)
class Site:
    """One `[[site]]` of the file."""

    where: str
    """`sitelore.toml, line 12`."""
    url: str = ""
    domain: str = ""
    values: Values = field(default_factory=dict)
    rules: Overrides | None = None
    schedule: str = ""
    """When it is crawled: a cron line."""
    outputs: Values = field(default_factory=dict)
    """Which files its crawls write, by `OUTPUT_KINDS`."""
    access: Mapping[str, Sourced] = field(default_factory=dict)
    """As written, with the names of environment variables."""

    @property
    def host(self) -> str:
        """The host or domain that it is for."""
        return self.domain or Url.trusted(self.url).host

    def precedence(self, url: Url) -> int:
        """How closely it describes this URL: 0 if it is for another one."""
        if not self.url:
            return 1 + len(self.domain) if f".{url.host}".endswith(f".{self.domain}") else 0
        own = Url.trusted(self.url)
        if own.authority.removeprefix("www.") != url.authority.removeprefix("www."):
            return 0
        folder = own.path[: own.path.rfind("/") + 1]
        return 1000 + len(folder) if url.path.startswith(folder) else 0


@dataclass(frozen=True, slots=True)
class ConfigFile:
    """A file that was read and checked."""

    path: Path
    values: Values = field(default_factory=dict)
    outputs: Values = field(default_factory=dict)
    sites: tuple[Site, ...] = ()
    access: Mapping[str, Sourced] = field(default_factory=dict)

    def site_of(self, url: Url) -> Site | None:
        """The site that describes a URL most closely."""
        best = max(self.sites, key=lambda site: site.precedence(url), default=None)
        return best if best is not None and best.precedence(url) else None

    def values_for(self, url: Url | None) -> Values:
        """The defaults, and the settings of the URL's site, which win; the rules of all sites."""
        site = None if url is None else self.site_of(url)
        rules = tuple(site.rules for site in self.sites if site.rules is not None)
        values = {**self.values, **(site.values if site else {})}
        if rules:
            values["overrides"] = Sourced(rules, str(self.path))
        return values

    def outputs_for(self, url: Url | None) -> Values:
        """Which files a crawl writes: the defaults, and those of the URL's site, which win."""
        site = None if url is None else self.site_of(url)
        return {**self.outputs, **(site.outputs if site else {})}

    def access_for(self, url: Url | None) -> Mapping[str, Sourced]:
        """Access as written: that of the URL's site, and the way to all sites."""
        site = None if url is None else self.site_of(url)
        return {**(site.access if site else {}), **self.access}

    def access_options(self) -> AccessOptions:
        """The access of the file, with the values of its environment variables. Raises `BadConfig`."""
        folder = self.path.parent
        by_origin: dict[str, SiteOptions] = {}
        for site in self.sites:
            if site.access:
                origin = Url.trusted(site.url or f"https://{site.domain}/").origin
                by_origin[origin] = SiteOptions(
                    **{name: _resolved(own, name) for name, own in site.access.items() if name in _SECRETS},
                    **{name: beside(folder, site.access[name].value) for name in _ACCESS_FILES if name in site.access},
                )
        proxy = _resolved(self.access["proxy"], "proxy") if "proxy" in self.access else []
        written = {name: own.value for name, own in self.access.items()}
        return AccessOptions(
            by_origin=by_origin,
            proxy=[proxy] if isinstance(proxy, str) else proxy,
            no_proxy=written.get("no_proxy", []),
            ca_file=beside(folder, written.get("ca_file", "")),
            insecure=written.get("insecure", False),
        )


def read_config(path: Path) -> ConfigFile:
    """Read and check a file. Raises `BadConfig` for its first error."""
    try:
        with path.open("rb") as file:
            source = file.read(_MAX_BYTES + 1)
        if len(source) > _MAX_BYTES:
            raise BadConfig(f"{path} is larger than {_MAX_BYTES // 2**20} MiB; a configuration file must be smaller")
        text = source.decode("utf-8-sig")
        data = tomllib.loads(text)
    except OSError as problem:
        raise BadConfig(f"cannot read {path}: {problem.strerror}") from problem
    except UnicodeDecodeError:
        raise BadConfig(f"{path} is not UTF-8 text") from None
    except tomllib.TOMLDecodeError as problem:
        raise BadConfig(_syntax_error(path, str(problem))) from None
    except RecursionError:
        raise BadConfig(f"{path} is nested too deeply") from None
    return _Reader(path, data, lines_of(text)).config()


def _syntax_error(path: Path, message: str) -> str:
    match = re.fullmatch(r"(.*?) \(at (?:line (\d+), column \d+|end of document)\)", message, re.DOTALL)
    where = f", line {match[2]}" if match and match[2] else ""
    return f"{path}{where}: not valid TOML: {match[1] if match else message}"


@dataclass(frozen=True, slots=True)
class _Reader:
    """Reads the tables of one file."""

    path: Path
    data: dict[str, Any]
    lines: dict[KeyPath, int]

    def config(self) -> ConfigFile:
        for name in self.data:
            if name not in _TABLES:
                raise self._error((name,), f"unknown table {name!r} (use [crawl], [[site]] and [access])")
        defaults, sites = self._table(self.data.get("crawl", {}), ("crawl",)), self.data.get("site", [])
        if not isinstance(sites, list) or not all(isinstance(site, dict) for site in sites):
            raise self._error(("site",), "site must be an array of tables (use [[site]])")
        settings = {name: value for name, value in defaults.items() if name not in OUTPUT_KINDS}
        return ConfigFile(
            self.path,
            self._values(settings, ("crawl",)),
            self._outputs(defaults, ("crawl",)),
            self._distinct([self._site(site, ("site", number)) for number, site in enumerate(sites)]),
            self._access(self._table(self.data.get("access", {}), ("access",))),
        )

    def _where(self, path: KeyPath) -> str:
        return f"{self.path}, line {line_of(self.lines, path)}"

    def _error(self, path: KeyPath, message: str) -> BadConfig:
        return BadConfig(f"{self._where(path)}: {message}")

    def _table(self, value: Any, path: KeyPath) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise self._error(path, f"{path[0]} must be a table (use [{path[0]}])")
        return value

    def _values(self, data: Mapping[str, Any], above: KeyPath) -> Values:
        """Settings of a table, by name."""
        values: dict[str, Sourced] = {}
        for key, value in self._flat(data, above).items():
            path = (*above, *key.split("."))
            try:
                if key in catalogue.NOT_IN_FILES:
                    raise catalogue.unknown(key)
                own = catalogue.checked(key, value)
            except catalogue.UnknownSetting as problem:
                raise self._error(path, str(problem)) from None
            except ValueError as problem:
                raise self._error(path, f"{key}: {problem}") from None
            values |= {name: self._sourced(path, checked) for name, checked in own.items()}
        return values

    def _outputs(self, data: Mapping[str, Any], above: KeyPath) -> Values:
        """Which files a crawl writes. A relative directory is relative to the file."""
        values: dict[str, Sourced] = {}
        for name, kind in OUTPUT_KINDS.items():
            if name in data:
                value = [data[name]] if name == "output" and isinstance(data[name], str) else data[name]
                try:
                    checked = kind.check(value)
                except ValueError as problem:
                    raise self._error((*above, name), f"{name}: {problem}") from None
                checked = beside(self.path.parent, checked) if name == "out" else checked
                values[name] = self._sourced((*above, name), checked)
        return values

    def _sourced(self, path: KeyPath, value: Any) -> Sourced:
        return Sourced(value, f"{self.path}:{line_of(self.lines, path)}")

    def _flat(self, data: Mapping[str, Any], above: KeyPath) -> dict[str, Any]:
        try:
            return catalogue.flat(data)
        except ValueError as problem:
            raise self._error(above, str(problem)) from None

    def _site(self, data: dict[str, Any], path: KeyPath) -> Site:
        url, domain = data.get("url", ""), data.get("domain", "")
        if bool(url) == bool(domain):
            raise self._error(path, "a site needs either url (to crawl it) or domain (for its settings)")
        for name in ("url", "domain", "schedule"):
            if not isinstance(data.get(name, ""), str):
                raise self._error((*path, name), f"{name} must be text, not {type_name(data[name])}")
        if url:
            url = self._url(url, path)
        rules = {name: value for name, value in data.items() if name in _RULE_KEYS}
        return Site(
            self._where(path),
            url,
            domain and self._rules({"domain": domain}, path).domain,
            self._values({name: value for name, value in data.items() if name not in _SITE_KEYS}, path),
            self._rules({**rules, "domain": domain or Url.trusted(url).host}, path) if rules else None,
            self._schedule(data, path),
            self._outputs(data, path),
            self._site_access(data, path),
        )

    def _url(self, text: str, path: KeyPath) -> str:
        try:
            [url] = catalogue.BY_NAME["seeds"].kind.check([text])
        except ValueError as problem:
            raise self._error((*path, "url"), f"url: {problem}") from None
        return str(url)

    def _rules(self, data: dict[str, Any], path: KeyPath) -> Overrides:
        from sitelore.app.config.domain_rules import domain_rules  # noqa: PLC0415 imports YAML and the HTML parser

        return domain_rules(data, lambda key: self._where((*path, key)))

    def _schedule(self, data: Mapping[str, Any], path: KeyPath) -> str:
        schedule = data.get("schedule", "")
        if schedule:
            from sitelore.platform.channels.cron import check_cron  # noqa: PLC0415 needed only for schedules

            try:
                check_cron(schedule)
            except UsageError as problem:
                raise self._error((*path, "schedule"), f"schedule: {problem}") from None
            if not data.get("url"):
                raise self._error((*path, "schedule"), "schedule: a site that is crawled needs url")
        return str(schedule)

    def _site_access(self, data: Mapping[str, Any], path: KeyPath) -> dict[str, Sourced]:
        """Access to the site. Secrets must be names of variables."""
        access = {name: data[name] for name in (*_SECRETS, *_ACCESS_FILES) if name in data}
        for name, value in access.items():
            if name == "headers":
                is_valid = isinstance(value, dict) and all(_is_variable(text) for text in value.values())
            else:
                is_valid = _is_variable(value) if name in _SECRETS else isinstance(value, str)
            if not is_valid:
                hint = "the name of a file" if name in _ACCESS_FILES else "env:NAME, an environment variable with the secret"
                raise self._error((*path, name), f"{name}: invalid value (use {hint})")
        return {name: self._sourced((*path, name), value) for name, value in access.items()}

    def _access(self, data: dict[str, Any]) -> dict[str, Sourced]:
        kinds = {"proxy": (str, list), "no_proxy": (list,), "ca_file": (str,), "insecure": (bool,)}
        for name, value in data.items():
            if name not in kinds:
                raise self._error(("access", name), f"unknown key {name!r} in [access] (use {', '.join(kinds)})")
            if not isinstance(value, kinds[name]) or (isinstance(value, list) and not all(isinstance(i, str) for i in value)):
                hint = "true or false" if name == "insecure" else "text"
                raise self._error(("access", name), f"{name}: invalid value (use {hint})")
        for proxy in [data["proxy"]] if isinstance(data.get("proxy"), str) else data.get("proxy", []):
            if "@" in proxy and not _is_variable(proxy):
                raise self._error(
                    ("access", "proxy"), "proxy: a proxy with a password must be env:NAME, an environment variable"
                )
        return {name: self._sourced(("access", name), value) for name, value in data.items()}

    def _distinct(self, sites: list[Site]) -> tuple[Site, ...]:
        first: dict[str, Site] = {}
        for site in sites:
            if (other := first.setdefault(site.url or site.domain, site)) is not site:
                raise BadConfig(f"{site.where}: {site.url or site.domain} is already a site ({other.where})")
        return tuple(sites)


def _is_variable(value: Any) -> bool:
    return isinstance(value, str) and _VARIABLE.fullmatch(value) is not None


def _resolved(own: Sourced, name: str) -> Any:
    """A value with the environment variables in it. An error never has the value of one."""
    value = own.value
    if isinstance(value, dict):
        return {key: _resolved(Sourced(text, own.source), name) for key, text in value.items()}
    if isinstance(value, list):
        return [_resolved(Sourced(text, own.source), name) for text in value]
    if not _is_variable(value):
        return value
    variable = value.removeprefix("env:")
    text = environment_value(variable)
    if not text:
        file, _, line = own.source.rpartition(":")
        raise BadConfig(f"{file}, line {line}: {name}: the environment variable {variable} is not set")
    return text
