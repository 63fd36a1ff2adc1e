"""Turns command-line options into crawl settings. Errors are reported before anything starts."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from ipaddress import ip_network
from pathlib import Path

from sitelore.intake.seeds import typed_url
from sitelore.model.errors import UsageError
from sitelore.model.settings import (
    USER_AGENT,
    CrawlSettings,
    Identity,
    LinkStyle,
    Overrides,
    Pace,
    PersonalPolicy,
    ReadMode,
    Rendering,
    Scope,
)
from sitelore.model.url import Url

_AGE = re.compile(r"(?:\d+(?:\.\d+)?[smhdw])+")
_AGE_PART = re.compile(r"(\d+(?:\.\d+)?)([smhdw])")
_UNIT_S = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}
_HOST = re.compile(r"\[?[A-Za-z0-9._:-]+\]?(?::\d{1,5})?")


@dataclass(frozen=True, slots=True)
class Asked:
    """Options of `crawl` that decide what is crawled, as typed."""

    urls: tuple[str, ...] = ()
    sitemaps: tuple[str, ...] = ()
    domain_config: Path | None = None
    max_pages: int | None = None
    max_depth: int | None = None
    scope: Scope = Scope.HOST
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    read: ReadMode = ReadMode.FULL
    rendering: Rendering = field(default_factory=Rendering)
    documents: bool = True
    personal: PersonalPolicy = PersonalPolicy.CHUNKS
    personal_ids: tuple[str, ...] = ()
    delay_s: float | None = None
    concurrency: int = 8
    user_agent: str | None = None
    ttl: str | None = None
    force: bool = False
    time_limit: str | None = None
    allow_private: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Wishes:
    """Output options of `crawl`: where files go, in which form, and what is shown."""

    data: Path
    out: Path
    outputs: frozenset[str]
    links: LinkStyle = LinkStyle.ABSOLUTE
    resume: bool = False
    debug: bool = False
    as_json: bool = False


def settings_of(asked: Asked, *, resume: bool = False) -> CrawlSettings:
    """The settings of a new run; with `resume` the URLs only say which site's run is meant."""
    if not asked.urls and not asked.sitemaps and not resume:
        raise UsageError("a crawl needs a URL, a --sitemap or --resume (try `sitelore crawl https://example.com`)")
    seeds = tuple(typed_url(text) for text in asked.urls)
    sitemaps = tuple(typed_url(text) for text in asked.sitemaps)
    overrides = _overrides(asked.domain_config)
    declared = [url for own in overrides for loader in own.loaders if (url := Url.parse(loader.url))]
    origins = dict.fromkeys(url.origin for url in (*seeds, *sitemaps, *declared))
    return CrawlSettings(
        seeds=tuple(map(str, seeds)),
        sitemaps=tuple(map(str, sitemaps)),
        scope=asked.scope,
        include=asked.include,
        exclude=asked.exclude,
        max_pages=asked.max_pages,
        max_depth=asked.max_depth,
        user_agent=_agent(asked.user_agent),
        ttl_s=None if asked.ttl is None else age_s(asked.ttl, "--ttl"),
        force=asked.force,
        time_limit_s=None if asked.time_limit is None else age_s(asked.time_limit, "--time-limit"),
        pace=Pace(delay_s=asked.delay_s, concurrency=asked.concurrency, per_host=asked.concurrency),
        overrides=overrides,
        read=asked.read,
        rendering=asked.rendering,
        documents=asked.documents,
        personal=asked.personal,
        personal_ids=_known_ids(asked.personal_ids),
        identity=next((own.identity for own in overrides if own.identity != Identity()), Identity()),
        open_origins=tuple(origins),
        allow_private=tuple(map(_private, asked.allow_private)),
    )


def age_s(text: str, option: str) -> float:
    """`24h`, `30m`, `7d`, `1h30m` in seconds."""
    plain = text.replace(" ", "").lower()
    if not _AGE.fullmatch(plain):
        raise UsageError(f"{option} {text!r} is no length of time; write it like 90s, 30m, 24h or 7d")
    return sum(float(amount) * _UNIT_S[unit] for amount, unit in _AGE_PART.findall(plain))


def _agent(text: str | None) -> str:
    if text is None:
        return USER_AGENT
    if not text.strip() or not text.isascii() or not text.isprintable():
        raise UsageError("--user-agent must be one line of plain ASCII text")
    return text.strip()


def _known_ids(names: tuple[str, ...]) -> tuple[str, ...]:
    if not names:
        return ()
    from sitelore.extract.redaction.personal_data import NATIONAL_IDS

    for name in names:
        if name not in NATIONAL_IDS:
            raise UsageError(f"--personal-id {name!r} is not known; there are {', '.join(NATIONAL_IDS)}")
    return tuple(dict.fromkeys(names))


def _private(text: str) -> str:
    if text == "any":
        return text
    if "/" in text:
        try:
            return str(ip_network(text, strict=False))
        except ValueError:
            raise UsageError(f"--allow-private {text!r} is no network; write it like 10.0.0.0/8 or fd00::/8") from None
    if not _HOST.fullmatch(text):
        raise UsageError(f"--allow-private {text!r} is no host, network or `any`")
    return text.lower()


def _overrides(path: Path | None) -> tuple[Overrides, ...]:
    if path is None:
        return ()
    from sitelore.cli.domain_config import read_domain_config

    return read_domain_config(path)
