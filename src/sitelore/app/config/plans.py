"""The crawls that a command starts: one of its URLs, or one of each site of the configuration file."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from sitelore.app.access import AccessOptions, access_of_credentials, build_access, read_access_file
from sitelore.app.config.sources import Sourced, Values, plain, run_settings
from sitelore.app.settings import environment_value
from sitelore.intake.seeds import parse_user_url, user_url_credentials
from sitelore.model.access import Access
from sitelore.model.errors import UsageError
from sitelore.model.settings import CrawlSettings
from sitelore.model.url import Url

if TYPE_CHECKING:
    from sitelore.app.config.file import ConfigFile, Site

FILE_NAME = "sitelore.toml"


@dataclass(frozen=True, slots=True)
class CrawlPlan:
    """A crawl to start: its settings, the URLs as typed, and the configuration file."""

    settings: CrawlSettings
    urls: tuple[str, ...] = ()
    config: ConfigFile | None = None
    outputs: Values = field(default_factory=dict)
    """Which files the configuration file lets it write."""


def find_config(path: Path | None) -> ConfigFile | None:
    """The file at this path, else the one that `SITELORE_CONFIG` names, else the one in the working directory."""
    if path is None and (name := environment_value("SITELORE_CONFIG")):
        path = Path(name)
    if path is None:
        path = Path(FILE_NAME)
        if not path.is_file():
            return None
    from sitelore.app.config.file import read_config  # noqa: PLC0415 most crawls have no file

    return read_config(path)


def crawl_plans(
    urls: Sequence[str],
    typed: Values,
    config: ConfigFile | None = None,
    domain_config: Path | None = None,
    *,
    starts: Mapping[str, float] | None = None,
    resume: bool = False,
) -> list[CrawlPlan]:
    """The crawls of a command: one of its URLs or, without URLs, one of each site of the file.

    With `starts`, the times at which the last run of each site started, only sites whose schedule is due. With `resume`, the
    URLs only say which site's run to continue.
    """
    if urls or "sitemaps" in typed or resume:
        return [_plan(urls, typed, config, domain_config)]
    sites = [site for site in config.sites if site.url] if config else []
    if not sites:
        raise UsageError(
            "a crawl needs a URL, a --sitemap or --resume, or a [[site]] in sitelore.toml; for example: "
            "sitelore crawl https://example.com"
        )
    if starts is not None:
        sites = [site for site in sites if site.schedule and _is_due(site, starts)]
    return [_plan((site.url,), typed, config, domain_config) for site in sites]


def _plan(urls: Sequence[str], typed: Values, config: ConfigFile | None, domain_config: Path | None) -> CrawlPlan:
    seeds = tuple(str(parse_user_url(text)) for text in urls)
    values = plain(values_in_force(seeds, typed, config, domain_config))
    outputs = config.outputs_for(first_url(seeds, typed)) if config else {}
    return CrawlPlan(run_settings(values | {"seeds": seeds}), tuple(urls), config, outputs)


def first_url(seeds: Sequence[str], typed: Values) -> Url | None:
    """The URL that decides which site of the file is meant: the first seed, else the first sitemap."""
    sources = seeds or (typed["sitemaps"].value if "sitemaps" in typed else ())
    return Url.trusted(sources[0]) if sources else None


def values_in_force(
    seeds: Sequence[str], typed: Values, config: ConfigFile | None = None, domain_config: Path | None = None
) -> Values:
    """All values that are not defaults, with their sources: of the file, the domain config and the options."""
    in_file = config.values_for(first_url(seeds, typed)) if config else {}
    values = {**in_file, **typed}
    if domain_config is not None:
        from sitelore.app.config.domain_rules import read_domain_config  # noqa: PLC0415 imports YAML and the HTML parser

        rules = read_domain_config(domain_config)
        domains = {own.domain for own in rules}
        others = tuple(own for own in in_file["overrides"].value if own.domain not in domains) if "overrides" in in_file else ()
        values["overrides"] = Sourced((*rules, *others), "--domain-config")
    return values


def _is_due(site: Site, starts: Mapping[str, float]) -> bool:
    """Whether a site was never crawled, or its schedule has fired since its last run started."""
    from sitelore.model.platform.channels import ScheduleRule  # noqa: PLC0415 needed only for schedules
    from sitelore.platform.channels.cron import plan  # noqa: PLC0415

    last = starts.get(Url.trusted(site.url).authority)
    return last is None or plan(ScheduleRule(site.schedule, "UTC"), last).next_at <= time.time()


def plan_access(options: AccessOptions, file: Path | None, plan: CrawlPlan, sitemaps: Sequence[str] = ()) -> Access:
    """The access of a crawl: options and typed URLs win over the access file, which wins over the configuration file."""
    access = typed_access(options, file, (*plan.urls, *sitemaps))
    return access if plan.config is None else build_access(plan.config.access_options()).with_other(access)


def typed_access(options: AccessOptions, file: Path | None, urls: Sequence[str]) -> Access:
    """The access of options, of the credentials in URLs, and of an access file."""
    in_urls = access_of_credentials([credentials for text in urls if (credentials := user_url_credentials(text))])
    access = build_access(options).with_other(in_urls)
    return access if file is None else read_access_file(str(file)).with_other(access)
