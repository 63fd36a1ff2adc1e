"""The table of all crawl settings: the name, type, limits and meaning of each, and its option, API field and short key.

The command line, the API, the Python API, `sitelore.toml` and the reference are made from it. A setting's name is its field in
`CrawlSettings`, with the group in front (`pace.delay_s`). To add a setting, start here and in `model/settings.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from difflib import get_close_matches
from typing import Any

from sitelore.app.config.kinds import (
    Choice,
    Flag,
    Items,
    Kind,
    Line,
    Schema,
    Seconds,
    Size,
    Whole,
    any_line,
    ascii_line,
    national_id,
    private_address,
    shown,
    size_text,
    type_name,
    web_url,
)
from sitelore.model.settings import (
    CrawlSettings,
    MediaType,
    Overrides,
    PersonalPolicy,
    Prefetch,
    QueryForm,
    ReadMode,
    RenderMode,
    Scope,
    SlashForm,
)

_YEARS_S = 10 * 365 * 86_400.0
_HOUR_S = 3600.0
_DAY_S = 86_400.0
_GIB = 2**30
_MIB = 2**20


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting of a crawl."""

    name: str
    kind: Kind
    meaning: str
    option: str = ""
    """The option of `sitelore crawl`; empty: `--set NAME=VALUE`."""
    short: str = ""
    """A shorter key, which Python, files and `--set` take as well."""
    unset: str = ""
    """The behaviour without a value, where the default is none."""
    api: str = ""
    """The field of the API, where it is not the short key or the name in camel case."""
    api_kind: Kind | None = None
    """The limits of the API, where they are lower."""
    not_in_api: str = ""
    """Why the API cannot set it."""

    @property
    def key(self) -> str:
        """The short key, or the name."""
        return self.short or self.name

    @property
    def field(self) -> str:
        """The field of the API; those of a group have the group in front."""
        return self.api or camel(self.key)

    @property
    def group(self) -> str:
        """`pace` of `pace.delay_s`; empty for other settings."""
        return self.name.rpartition(".")[0]

    def default(self) -> Any:
        """The default value."""
        value: Any = CrawlSettings()
        for part in self.name.split("."):
            value = getattr(value, part)
        return value

    def text(self, value: Any) -> str:
        """Format a value as it is written in options and files."""
        if not (value or isinstance(value, int | float)):
            return self.unset or "none"
        return _text(self.kind, value)

    def check(self, value: Any) -> Any:
        """Validate and normalise a value of the right type. Raises ValueError."""
        return None if value is None and self.default() is None else self.kind.check(value)


def camel(name: str) -> str:
    """`max_pages` as `maxPages`; dots stay."""
    return ".".join(head + "".join(map(str.title, rest)) for head, *rest in (part.split("_") for part in name.split(".")))


def _text(kind: Kind, value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(kind, Size):
        return size_text(value)
    if isinstance(kind, Seconds):
        return f"{value:g} s"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, tuple):
        return ", ".join(item.domain if isinstance(item, Overrides) else str(item) for item in value)
    return str(value)


class DomainRules:
    """Rules of a domain, as objects with the keys of a domain config."""

    def parse(self, text: str) -> Any:
        """Rules are too long for an option."""
        raise ValueError(f"invalid value {shown(text)} (use --domain-config FILE, or [[site]] in sitelore.toml)")

    def check(self, value: Any) -> Overrides:
        """The rules of one domain."""
        from sitelore.app.config.domain_rules import domain_rules  # noqa: PLC0415 imports YAML and the HTML parser
        from sitelore.model.errors import BadConfig  # noqa: PLC0415

        if isinstance(value, Overrides):
            return value
        try:
            return domain_rules(value)
        except BadConfig as problem:
            raise ValueError(str(problem)) from None

    def schema(self) -> Schema:
        """An object; its keys are checked by the reader of domain configs."""
        return {"type": "object", "required": ["domain"], "properties": {"domain": {"type": "string"}}}

    def hint(self) -> str:
        """The kind of value."""
        return "rules of a domain"


_LINE = Line("text", "one line of text", any_line, 400)
_TOKEN = Line("name", "one line of ASCII text", ascii_line, 200)
_AGENT = Line("value", "one line of ASCII text", ascii_line, 400)
_LANGUAGES = Line("value", "languages such as 'de, en;q=0.5'", ascii_line, 200, is_empty_allowed=True)
_PATTERN = Line("pattern", "a path such as /docs/, or a pattern such as *.pdf", any_line, 2000)
_URL = Line("URL", "https://example.com/", web_url)
_PRIVATE = Line("host", "HOST, HOST:PORT, a network such as 10.0.0.0/8, or any", private_address, 300)
_NATIONAL_ID = Line("kind", "us-ssn", national_id, 40)
_UP_TO_MINUTES = Seconds(0.1, 120.0)

SETTINGS = (
    Setting("seeds", Items(_URL), "Where to start.", "URL..."),
    Setting("sitemaps", Items(_URL), "Crawl the URLs of these sitemaps; without a seed, only those.", "--sitemap"),
    Setting(
        "scope",
        Choice(Scope, (("same_host", "host"),)),
        "URLs to follow. host: the seed's host, with and without www. origin: scheme, host and port. domain: the registrable "
        "domain with its subdomains. prefix: below the path of the seed.",
        "--scope",
        api="scopeMode",
    ),
    Setting("include", Items(_PATTERN), "Follow only URLs that match one of these patterns.", "--include"),
    Setting("exclude", Items(_PATTERN), "Skip URLs that match one of these patterns.", "--exclude"),
    Setting(
        "max_pages", Whole(1, 10**9), "Stop after exactly N pages. Aliases, errors and skips do not count.", "--max-pages",
        unset="no limit", api_kind=Whole(1, 10**6),
    ),
    Setting(
        "max_depth", Whole(0, 10**6), "Follow links up to N steps from a seed.", "--max-depth",
        unset="no limit", api_kind=Whole(0, 1000),
    ),
    Setting("max_retries", Whole(0, 100), "Retries of a request that failed temporarily.", api_kind=Whole(0, 10)),
    Setting("max_redirects", Whole(0, 50), "The longest chain of redirects that is followed."),
    Setting("follow_redirects", Flag(), "False: a redirecting URL ends in the state of its redirect, such as REDIRECT_301."),
    Setting("obey_robots", Flag(), "Whether robots.txt is obeyed.", not_in_api="always true"),
    Setting("robots_agents", Items(_TOKEN, 20), "Names whose rules in robots.txt are obeyed besides those of Sitelore."),
    Setting("obey_nofollow", Flag(), "Whether nofollow keeps links from being followed."),
    Setting("discover_sitemaps", Flag(), "Whether the sitemaps that robots.txt names are read."),
    Setting("user_agent", _AGENT, "User-Agent header. robots.txt is still matched for Sitelore.", "--user-agent"),
    Setting("accept_language", _LANGUAGES, "Accept-Language header, sent to every host: 'de, en;q=0.5'.", "--accept-language"),
    Setting(
        "ttl_s", Seconds(0, _YEARS_S, needs_unit=True), "Skip pages fetched less than this ago: 30m, 24h, 7d.", "--ttl", "ttl"
    ),
    Setting("force", Flag(), "Fetch every page again, even if it is unchanged.", "--force"),
    Setting(
        "time_limit_s", Seconds(0, _YEARS_S, needs_unit=True),
        "Interrupt the run after this time (90s, 30m, 2h). A resumed run has the full time again.",
        "--time-limit", "time_limit", unset="no limit",
    ),
    Setting(
        "tracking_parameters", Items(_LINE),
        "Query parameters that do not identify pages of the site, in addition to the well-known ones.",
    ),
    Setting("identity.force_https", Flag(), "Whether http and https are one page."),
    Setting("identity.slash", Choice(SlashForm), "How page identity treats a trailing slash."),
    Setting("identity.query", Choice(QueryForm), "How page identity treats a query."),
    Setting("limits.connect_s", Seconds(0.1, _HOUR_S), "Time to connect.", api_kind=_UP_TO_MINUTES),
    Setting("limits.headers_s", Seconds(0.1, _HOUR_S), "Time until the headers have arrived.", api_kind=_UP_TO_MINUTES),
    Setting("limits.body_s", Seconds(0.1, _DAY_S), "Time until the body has arrived.", api_kind=_UP_TO_MINUTES),
    Setting(
        "limits.slow_after_s", Seconds(0.1, _HOUR_S), "Time after which a slow body is abandoned.", api_kind=_UP_TO_MINUTES
    ),
    Setting("limits.slow_bytes_per_s", Size(0, _GIB), "Rate per second below which a body is slow."),
    Setting("limits.wire_bytes", Size(1024, _GIB), "The largest body, as sent.", api_kind=Size(1024, 64 * _MIB)),
    Setting("limits.body_bytes", Size(1024, _GIB), "The largest body, decoded.", api_kind=Size(1024, 64 * _MIB)),
    Setting(
        "pace.delay_s", Seconds(0, _HOUR_S), "Time between requests to a host.", "--delay", "delay", unset="adapts to the host"
    ),
    Setting(
        "pace.concurrency", Whole(1, 256), "Concurrent requests. The short key also limits those to one host.",
        "--concurrency", "concurrency", api_kind=Whole(1, 64),
    ),
    Setting("pace.per_host", Whole(1, 256), "Concurrent requests to one host.", api_kind=Whole(1, 64)),
    Setting("pace.max_crawl_delay_s", Seconds(0, _DAY_S), "The longest Crawl-delay that is honoured."),
    Setting("pace.max_retry_after_s", Seconds(0, _DAY_S), "The longest Retry-After that is waited for."),
    Setting(
        "prefetch", Choice(Prefetch),
        "Fetch pages ahead while slow ones load: on (up to 5 % of a page limit may be fetched and not used), "
        "certain (only pages that would be fetched anyway), off. The result is the same.",
        "--prefetch",
    ),
    Setting(
        "overrides", Items(DomainRules(), 200), "Rules of domains: selectors, page identity, rendering, API loaders.",
        "--domain-config",
    ),
    Setting(
        "read", Choice(ReadMode),
        "What to extract: full, or content (no structured data, forms or media; `sitelore reprocess --read full` adds them "
        "later).",
        "--read",
    ),
    Setting(
        "rendering.mode", Choice(RenderMode),
        "Render pages in a browser: auto (only pages that are empty without scripts), never, or always.", "--render", "render",
    ),
    Setting("rendering.timeout_s", Seconds(1, 600), "Timeout of a page in the browser.", api_kind=Seconds(1, 120)),
    Setting(
        "rendering.blocked", Items(_PATTERN, 200),
        "URL patterns that the browser does not load, in addition to images, fonts, media, advertisements and analytics.",
    ),
    Setting(
        "rendering.expand_frames", Flag(), "In a browser: include the content of frames.", "--expand-frames", "expand_frames"
    ),
    Setting("rendering.expand_shadow_roots", Flag(), "In a browser: include the content of open shadow roots."),
    Setting(
        "rendering.screenshots", Flag(),
        "Keep a screenshot of every page that a browser renders (of all with --render always), but never of one that "
        "shows a secret or says noarchive.",
        "--screenshots", "screenshots",
    ),
    Setting("rendering.screenshot_height", Whole(100, 16_384), "Maximum height of a screenshot in pixels."),
    Setting("rendering.brand", Flag(), "Whether the home page's colours, fonts and logo are extracted."),
    Setting(
        "documents", Flag(), "Whether PDF and office files are extracted like pages.", "--documents", api="includeDocuments"
    ),
    Setting(
        "audit_facts", Flag(),
        "Store facts about the markup of pages for audits; extraction takes about a seventh more CPU.", "--audit-facts",
    ),
    Setting("audit", Flag(), "Audit the site when it is crawled, and store the findings. Implies audit_facts.", "--audit"),
    Setting(
        "open_origins", Items(Line("origin", "https://example.com", any_line)),
        "Origins that may have a private address, because the user named them as a seed or sitemap.", "URL...",
        not_in_api="none",
    ),
    Setting(
        "allow_private", Items(_PRIVATE), "Private addresses that links and redirects may reach.", "--allow-private",
        not_in_api="the operator's `SITELORE_ALLOW_PRIVATE`",
    ),
    Setting("keep_snapshots", Flag(), "Whether redacted snapshots are kept, from which pages can be extracted again."),
    Setting(
        "media.types", Items(Choice(MediaType)),
        "Which media of pages are downloaded, from any host. The short key `media` is true for all of them.", "--media",
    ),
    Setting("media.file_bytes", Size(0, 2 * _GIB), "The largest image or document.", api_kind=Size(0, 64 * _MIB)),
    Setting("media.video_bytes", Size(0, 2000 * _MIB), "The largest video.", "--max-video-mb"),
    Setting("media.per_page", Whole(0, 10_000), "Media of one page.", api_kind=Whole(0, 1000)),
    Setting("media.per_run", Whole(0, 10**7), "Media files of one run; the rest is skipped.", api_kind=Whole(0, 100_000)),
    Setting("detect_traps", Flag(), "Whether endless URL patterns are given up."),
    Setting("pipeline", Line("value", "sitelore pipeline", any_line), "The pipeline that created the run.", "pipeline",
            not_in_api="none"),
    Setting(
        "personal", Choice(PersonalPolicy),
        "Where e-mail addresses, phone numbers, cards and IBANs are masked: off, chunks (in search results and logs), or "
        "everywhere (before anything is stored).",
        "--personal",
    ),
    Setting(
        "personal_ids", Items(_NATIONAL_ID, 20), "National ids to mask as well: us-ssn, de-tax-id, fr-nir, …", "--personal-id"
    ),
    Setting(
        "keep_contacts", Flag(),
        "Whether contact pages, and a site's data about its own business, keep e-mail addresses and phone numbers.",
    ),
)  # fmt: skip
"""All settings, in the order of the reference."""

BY_NAME: Mapping[str, Setting] = {setting.name: setting for setting in SETTINGS}
RUN_ONLY = frozenset({"pipeline"})
"""Settings that only the program sets."""

NOT_IN_FILES = RUN_ONLY | {"seeds", "overrides", "open_origins"}
"""Settings that `sitelore.toml` has in another form: the URL and the rules of a site."""


def settings_in_files() -> list[Setting]:
    """The settings that `sitelore.toml` takes by their names."""
    return [setting for setting in SETTINGS if setting.name not in NOT_IN_FILES]


@dataclass(frozen=True, slots=True)
class ShortKey:
    """A short key for one or several settings, with its own type."""

    kind: Kind
    settings_of: Callable[[Any], dict[str, Any]]


SHORT_KEYS: Mapping[str, ShortKey] = {
    "concurrency": ShortKey(Whole(1, 256), lambda number: {"pace.concurrency": number, "pace.per_host": number}),
    "media": ShortKey(Flag(), lambda is_on: {"media.types": tuple(MediaType) if is_on else ()}),
    "max_video_mb": ShortKey(Size(0, 2000 * _MIB, unit=_MIB), lambda size: {"media.video_bytes": size}),
} | {setting.short: ShortKey(setting.kind, lambda value, name=setting.name: {name: value})  # type: ignore[misc]
     for setting in SETTINGS if setting.short and setting.short != "concurrency"}  # fmt: skip
"""Keys that Python, files and `--set` take besides the names."""

GROUPS = frozenset(setting.group for setting in SETTINGS if setting.group)


class UnknownSetting(ValueError):
    """There is no setting of this name."""


def option_of(key: str) -> str:
    """The option of the command line for a key."""
    setting = BY_NAME.get(key) or next((own for own in SETTINGS if own.short == key), None)
    return setting.option if setting else f"--{key.replace('_', '-')}"


def known_keys() -> list[str]:
    """The names of all settings and the short keys."""
    return sorted({*BY_NAME, *SHORT_KEYS} - RUN_ONLY)


def unknown(name: str) -> UnknownSetting:
    """The error for an unknown setting, with the most similar name."""
    keys = known_keys()
    last = {key.rpartition(".")[2]: key for key in keys}
    near = get_close_matches(name.lower(), keys, 1) or [last[key] for key in get_close_matches(name.lower(), list(last), 1)]
    meant = f" (did you mean {near[0]!r}?)" if near else ""
    return UnknownSetting(f"unknown setting {name!r}{meant}")


def checked(key: str, value: Any) -> dict[str, Any]:
    """The settings that a key with a typed value sets, by name. Raises ValueError."""
    if key in SHORT_KEYS and not (key in GROUPS and isinstance(value, Mapping)):
        short = SHORT_KEYS[key]
        names = short.settings_of(None)
        is_none = value is None and all(BY_NAME[name].default() is None for name in names)
        return dict.fromkeys(names) if is_none else short.settings_of(short.kind.check(value))
    if key not in BY_NAME or key in RUN_ONLY:
        raise unknown(key)
    return {key: BY_NAME[key].check(value)}


def parsed(key: str, text: str) -> dict[str, Any]:
    """The settings that a key with the text of an option sets, by name. Raises ValueError."""
    if key in SHORT_KEYS:
        return SHORT_KEYS[key].settings_of(SHORT_KEYS[key].kind.parse(text))
    if key not in BY_NAME or key in RUN_ONLY:
        raise unknown(key)
    return {key: BY_NAME[key].kind.parse(text)}


def parsed_items(key: str, texts: Sequence[str]) -> dict[str, Any]:
    """The setting of a repeated option, by name. Raises ValueError."""
    kind = BY_NAME[key].kind
    assert isinstance(kind, Items)
    return {key: kind.parse_all(texts)}


def flat(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings with groups (`{"pace": {"delay_s": 1}}`) by their keys (`pace.delay_s`)."""
    result: dict[str, Any] = {}
    for key, value in settings.items():
        if key in GROUPS and is_dataclass(value):
            result |= {f"{key}.{field.name}": getattr(value, field.name) for field in fields(value)}
        elif key in GROUPS and isinstance(value, Mapping):
            result |= {f"{key}.{name}": inner for name, inner in value.items()}
        elif key in GROUPS and key not in SHORT_KEYS:
            raise ValueError(f"{key}: invalid value {shown(value)} (use an object, not {type_name(value)})")
        else:
            result[key] = value
    return result


def crawl_settings(values: Mapping[str, Any]) -> CrawlSettings:
    """`CrawlSettings` of checked values by name."""
    default = CrawlSettings()
    plain = {name: value for name, value in values.items() if "." not in name}
    groups: dict[str, dict[str, Any]] = {}
    for name in values.keys() - plain.keys():
        group, _, field = name.partition(".")
        groups.setdefault(group, {})[field] = values[name]
    return replace(default, **plain, **{group: replace(getattr(default, group), **own) for group, own in groups.items()})
