"""`--domain-config`: a domain's own extraction rules, from JSON or YAML."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from sitelore.model.errors import BadConfig
from sitelore.model.settings import Identity, Overrides, QueryForm, SlashForm

_KNOWN = ("domain", "mainContentSelectors", "removeSelectors", "identity")
_IDENTITY = ("forceHttps", "slash", "query")


def read_domain_config(path: Path) -> tuple[Overrides, ...]:
    """One object or a list of them. JSON is read by the YAML reader: it is a subset."""
    try:
        data = yaml.safe_load(path.read_text(encoding="utf-8-sig"))
    except OSError as problem:
        raise BadConfig(f"cannot read {path}: {problem.strerror}") from problem
    except UnicodeDecodeError:
        raise BadConfig(f"{path} is not UTF-8 text") from None
    except yaml.YAMLError as problem:
        mark = getattr(problem, "problem_mark", None)
        where = f" (line {mark.line + 1})" if mark else ""
        raise BadConfig(f"{path} is neither JSON nor YAML{where}") from problem
    entries = data if isinstance(data, list) else [data]
    return tuple(_entry(entry, path) for entry in entries)


def _entry(entry: Any, path: Path) -> Overrides:
    if not isinstance(entry, dict):
        raise BadConfig(f"{path} must hold an object, or a list of objects, with the keys {', '.join(_KNOWN)}")
    for key in entry:
        if key not in _KNOWN:
            raise BadConfig(f"{path}: unknown key {key!r}; known keys are {', '.join(_KNOWN)}")
    domain = entry.get("domain")
    if not isinstance(domain, str) or not domain.strip():
        raise BadConfig(f"{path}: domain must be a host name such as example.com")
    return Overrides(
        domain=domain.strip().lower().rstrip("."),
        main_content_selectors=_selectors(entry, "mainContentSelectors", path),
        remove_selectors=_selectors(entry, "removeSelectors", path),
        identity=_identity(entry.get("identity") or {}, path),
    )


def _identity(entry: Any, path: Path) -> Identity:
    """When two addresses of the site are one page, whatever they show."""
    if not isinstance(entry, dict):
        raise BadConfig(f"{path}: identity must be an object with the keys {', '.join(_IDENTITY)}")
    for key in entry:
        if key not in _IDENTITY:
            raise BadConfig(f"{path}: unknown key {key!r} in identity; known keys are {', '.join(_IDENTITY)}")
    force_https = entry.get("forceHttps", False)
    if not isinstance(force_https, bool):
        raise BadConfig(f"{path}: identity.forceHttps must be true or false")
    try:
        return Identity(force_https, SlashForm(entry.get("slash", "keep")), QueryForm(entry.get("query", "keep")))
    except ValueError:
        raise BadConfig(f"{path}: identity.slash is one of keep, add, strip; identity.query one of keep, sort, drop") from None


def _selectors(entry: dict[Any, Any], key: str, path: Path) -> tuple[str, ...]:
    found = entry.get(key) or []
    if not isinstance(found, list) or not all(isinstance(item, str) and item.strip() for item in found):
        raise BadConfig(f"{path}: {key} must be a list of CSS selectors")
    return tuple(item.strip() for item in found)
