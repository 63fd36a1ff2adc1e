"""STOPGAP by the integrator until the owner's version lands: replace freely."""

from __future__ import annotations

import re

from sitelore.model.settings import CrawlSettings, Scope
from sitelore.model.states import SkipReason
from sitelore.model.url import Url


class ScopeRule:
    """Stopgap."""

    def __init__(self, settings: CrawlSettings, joined_hosts: tuple[str, ...] = ()) -> None:
        self._settings = settings
        seeds = [u for raw in (settings.seeds or settings.sitemaps) if (u := Url.parse(raw))]
        self._hosts = {_bare(u.authority) for u in seeds} | {_bare(h) for h in joined_hosts}
        self._origins = {u.origin for u in seeds}
        self._prefixes = [(_bare(u.authority), u.path.rpartition("/")[0] + "/") for u in seeds]
        self._include = [_glob(p) for p in settings.include]
        self._exclude = [(p, _glob(p)) for p in settings.exclude]

    def refusal(self, url: Url) -> tuple[SkipReason, str] | None:
        """Stopgap."""
        if self._settings.scope is Scope.ORIGIN:
            if url.origin not in self._origins:
                return SkipReason.SCOPE, "another origin"
        elif _bare(url.authority) not in self._hosts:
            return SkipReason.SCOPE, f"{url.authority} is another host"
        text = url.target
        for pattern, rx in self._exclude:
            if rx.match(text):
                return SkipReason.EXCLUDED, f"matches --exclude {pattern}"
        if self._include and not any(rx.match(text) for rx in self._include):
            return SkipReason.EXCLUDED, "matches no --include"
        return None


def _bare(authority: str) -> str:
    return authority.removeprefix("www.")


def _glob(pattern: str) -> re.Pattern[str]:
    return re.compile(".*".join(re.escape(p) for p in pattern.split("*")) + ("" if "*" not in pattern else "$"))
