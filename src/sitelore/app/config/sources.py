"""Merges settings from several places (defaults, a file, options) and turns them into the settings of a run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from sitelore.app.config import catalogue
from sitelore.model.errors import UsageError
from sitelore.model.settings import CrawlSettings, Identity
from sitelore.model.url import Url


@dataclass(frozen=True, slots=True)
class Sourced:
    """A checked value, and where it was written: `sitelore.toml:4`, `--max-pages`."""

    value: Any
    source: str


Values = Mapping[str, Sourced]
"""Values by the name of the setting. Of two mappings, the later one wins: `file | options`."""


def typed_values(options: Mapping[str, Any]) -> Values:
    """The values of options by the key of their setting, as typed: a text, texts or a flag; None: not typed.

    Raises `UsageError`.
    """
    values: dict[str, Sourced] = {}
    for key, typed in options.items():
        if typed is None:
            continue
        option = catalogue.option_of(key)
        try:
            if isinstance(typed, str):
                own = catalogue.parsed(key, typed)
            elif isinstance(typed, list):
                own = catalogue.parsed_items(key, typed)
            else:
                own = catalogue.checked(key, typed)
        except ValueError as problem:
            raise UsageError(f"{option}: {problem}") from None
        values |= {name: Sourced(value, option) for name, value in own.items()}
    return values


def set_values(assignments: Iterable[str]) -> Values:
    """The values of `--set NAME=VALUE`. Raises `UsageError`."""
    values: dict[str, Sourced] = {}
    for assignment in assignments:
        key, equals, text = (part.strip() for part in assignment.partition("="))
        if not equals:
            raise UsageError(f"--set: invalid value {assignment!r} (use NAME=VALUE, such as limits.body_bytes=10MB)")
        try:
            own = catalogue.parsed(key, text)
        except catalogue.UnknownSetting as problem:
            raise UsageError(f"--set: {problem}") from None
        except ValueError as problem:
            raise UsageError(f"--set {key}: {problem}") from None
        values |= {name: Sourced(value, f"--set {key}") for name, value in own.items()}
    return values


def run_settings(values: Mapping[str, Any], *, opens_origins: bool = True) -> CrawlSettings:
    """The settings of a run. `opens_origins`: the URLs may have private addresses, because the user named them."""
    settings = catalogue.crawl_settings(values)
    if not any(name.startswith("identity.") for name in values):
        own = (rules.identity for rules in settings.overrides if rules.identity != Identity())
        settings = replace(settings, identity=next(own, Identity()))
    if not opens_origins:
        return settings
    loaders = (loader.url for rules in settings.overrides for loader in rules.loaders)
    urls = (Url.parse(text) for text in (*settings.seeds, *settings.sitemaps, *loaders))
    origins = dict.fromkeys((*settings.open_origins, *(url.origin for url in urls if url)))
    return replace(settings, open_origins=tuple(origins))


def plain(values: Values) -> dict[str, Any]:
    """The values without their sources."""
    return {name: sourced.value for name, sourced in values.items()}
