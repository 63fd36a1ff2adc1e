"""The table of all audit rules, and the configuration that switches them and changes their thresholds.

The rules and the defaults of their thresholds are in `audit/rules/`, a module for each topic.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from fnmatch import fnmatchcase
from functools import cached_property
from types import MappingProxyType
from typing import Any

from sitelore.audit.rule import Limits, PageCheck, Rule
from sitelore.audit.rules import (
    accessibility,
    content,
    head,
    indexing,
    language,
    links,
    machine_use,
    media,
    reachability,
    security,
    site_files,
    speed,
    structure,
    structured,
)
from sitelore.model.errors import BadConfig

_MODULES = (
    reachability, links, security, speed, indexing, content, site_files, structure, head, language, media, accessibility,
    structured, machine_use,
)  # fmt: skip

RULES: Mapping[str, Rule] = MappingProxyType({rule.id: rule for module in _MODULES for rule in module.TABLE.rules})
"""All rules by id."""


@dataclass(frozen=True)
class AuditConfig:
    """Which rules are on, and their thresholds. `audit_config` makes it from a mapping."""

    disabled: frozenset[str] = frozenset()
    thresholds: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """Thresholds that differ from those in the table, by rule."""
    excluded_paths: tuple[str, ...] = ()
    """Patterns of paths whose pages are not audited: `/archive/*`."""
    check_links: bool = False
    """Whether the audit requests links to other sites and llms.txt."""

    @cached_property
    def page_rules(self) -> list[tuple[Rule, PageCheck, Limits]]:
        """The rules about single pages that are on, with their checks and thresholds."""
        on = (rule for rule in RULES.values() if self.is_on(rule))
        return [(rule, rule.page_check, self.limits(rule)) for rule in on if rule.page_check is not None]

    def is_on(self, rule: Rule) -> bool:
        """Whether a rule is switched on."""
        return rule.id not in self.disabled

    def limits(self, rule: Rule) -> Limits:
        """The thresholds of a rule."""
        changed = self.thresholds.get(rule.id)
        return {**rule.thresholds, **changed} if changed else rule.thresholds

    def covers(self, path: str) -> bool:
        """Whether pages of this path are audited."""
        return not any(fnmatchcase(path, pattern) for pattern in self.excluded_paths)


def audit_config(options: Mapping[str, Any]) -> AuditConfig:
    """The configuration in a plain mapping; `BadConfig` when it names something that does not exist.

    `{"rules": {"title-length": {"max_chars": 70}, "hreflang-*": False}, "exclude": ["/archive/*"]}`: the later entry wins.
    """
    _check_names(options, ("rules", "exclude", "check_links"), "option")
    disabled: set[str] = set()
    thresholds: dict[str, Mapping[str, float]] = {}
    for name, setting in (options.get("rules") or {}).items():
        ids = [rule_id for rule_id in RULES if fnmatchcase(rule_id, name)]
        if not ids:
            raise BadConfig(f"unknown audit rule {name!r}{_nearest(name, RULES)}")
        if isinstance(setting, bool):
            disabled = disabled - set(ids) if setting else disabled | set(ids)
        elif isinstance(setting, Mapping):
            for rule_id in ids:
                thresholds[rule_id] = _thresholds(RULES[rule_id], setting)
            disabled -= set(ids)
        else:
            raise BadConfig(f"audit rule {name!r}: use true, false or a table of thresholds, not {setting!r}")
    excluded = options.get("exclude") or ()
    if isinstance(excluded, str) or not all(isinstance(each, str) for each in excluded):
        raise BadConfig("audit option 'exclude': use a list of paths such as /archive/*")
    check_links = options.get("check_links", False)
    if not isinstance(check_links, bool):
        raise BadConfig(f"audit option 'check_links': use true or false, not {check_links!r}")
    return AuditConfig(frozenset(disabled), thresholds, tuple(excluded), check_links)


def _thresholds(rule: Rule, setting: Mapping[str, Any]) -> dict[str, float]:
    _check_names(setting, rule.thresholds, f"threshold of {rule.id}")
    for name, value in setting.items():
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise BadConfig(f"audit rule {rule.id!r}: {name} must be a number, not {value!r}")
    return dict(setting)


def _check_names(names: Mapping[str, Any], known: Mapping[str, Any] | tuple[str, ...], kind: str) -> None:
    for name in names:
        if name not in known:
            raise BadConfig(f"unknown audit {kind} {name!r}{_nearest(name, known)}")


def _nearest(name: str, known: Mapping[str, Any] | tuple[str, ...]) -> str:
    nearest = get_close_matches(name, list(known), 1, 0.4)
    return f" (did you mean {nearest[0]!r}?)" if nearest else f" (known: {', '.join(known)})" if len(known) < 10 else ""
