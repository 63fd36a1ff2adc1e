"""Rules of a domain (selectors, page identity, rendering, API loaders) from a domain config in JSON or YAML, or from an object.

Keys are written in camel case or with underscores. An error is one line that names the file, the entry, the key and what is
expected.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from difflib import get_close_matches
from enum import StrEnum
from pathlib import Path
from typing import Any, TypeVar

import yaml

from sitelore.app.config.kinds import shown, type_name
from sitelore.extract.dom import selector_problem
from sitelore.intake.graphql_limits import graphql_problem
from sitelore.model.api_loader import MAX_URL_CHARS, start_url
from sitelore.model.errors import BadConfig
from sitelore.model.settings import (
    ActionKind,
    Identity,
    Loader,
    LoggedOut,
    Overrides,
    PageAction,
    QueryForm,
    RenderMode,
    SlashForm,
)
from sitelore.model.url import Url

KEYS = ("domain", "mainContentSelectors", "removeSelectors", "identity", "render", "loaders", "own", "loggedOut", "actions")
_LOGGED_OUT_KEYS = ("selector", "text", "url")
_ACTION_KEYS = tuple(kind.value for kind in ActionKind)
_MAX_ACTIONS, _MAX_TIMES = 20, 100
_IDENTITY_KEYS = ("forceHttps", "slash", "query")
_HOST = re.compile(r"(?:[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?\.)*[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?|\[[0-9a-f:.]+\]")
_MAX_BYTES = 2**20

_LOADER_KEYS = (
    "url", "records", "record", "page", "title", "text", "updated", "published", "author", "lang", "next", "more", "cursor",
    "query", "variables", "persisted",
)  # fmt: skip
_PATH_KEYS = ("records", "title", "updated", "published", "author", "lang", "next", "more", "cursor")
_MAX_VALUE_CHARS = 2000
_PATH = re.compile(r"[^\s.{}]+(?:\.[^\s.{}]+)*")
_TEMPLATE = re.compile(r"[^{}]*(?:\{[^\s.{}]+(?:\.[^\s.{}]+)*\}[^{}]*)+")

_Form = TypeVar("_Form", bound=StrEnum)


def read_domain_config(path: Path) -> tuple[Overrides, ...]:
    """Read one object or a list of them. JSON is a subset of YAML, so one parser reads both."""
    data = _load(path)
    if not isinstance(data, list):
        return (domain_rules(data, lambda _: str(path)),)
    if not data:
        raise BadConfig(f"{path} is an empty list; it must contain objects with the keys {', '.join(KEYS)}")
    entries = tuple(
        domain_rules(entry, lambda _, number=number: f"{path}, entry {number}")  # type: ignore[misc]  # its default has no type
        for number, entry in enumerate(data, 1)
    )
    first_use: dict[str, int] = {}
    for number, rules in enumerate(entries, 1):
        if (first := first_use.setdefault(rules.domain, number)) != number:
            raise BadConfig(f"{path}, entry {number}: domain {rules.domain} is already in entry {first}")
    return entries


def domain_rules(data: Any, where: Callable[[str], str] = lambda _: "") -> Overrides:
    """The rules of one domain. `where` names the place of a key for errors. Raises `BadConfig`."""
    return _Entry(where, data).overrides()


def _load(path: Path) -> Any:
    try:
        with path.open("rb") as file:
            source = file.read(_MAX_BYTES + 1)
        if len(source) > _MAX_BYTES:
            raise BadConfig(f"{path} is larger than {_MAX_BYTES // 2**20} MiB; a domain config must be smaller")
        return yaml.load(source.decode("utf-8-sig"), Loader=_StrictLoader)  # noqa: S506 it is a SafeLoader
    except OSError as problem:
        raise BadConfig(f"cannot read {path}: {problem.strerror}") from problem
    except UnicodeDecodeError:
        raise BadConfig(f"{path} is not UTF-8 text") from None
    except yaml.YAMLError as problem:
        mark = getattr(problem, "problem_mark", None)
        where = f" (line {mark.line + 1})" if mark else ""
        reason = getattr(problem, "problem", None)
        raise BadConfig(f"{path} is neither JSON nor YAML{where}{f': {reason}' if reason else ''}") from problem
    except RecursionError:
        raise BadConfig(f"{path} is nested too deeply") from None


class _StrictLoader(yaml.SafeLoader):
    """Refuses duplicate keys, and aliases, which a config does not need and a YAML bomb does."""

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            event = self.peek_event()  # type: ignore[no-untyped-call]  # its stub has no types
            raise yaml.composer.ComposerError(None, None, "aliases are not allowed", event.start_mark)
        return super().compose_node(parent, index)

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen: set[str] = set()
        for key, _ in node.value:
            if key.value in seen:
                raise yaml.constructor.ConstructorError(None, None, f"key {key.value!r} appears twice", key.start_mark)
            seen.add(key.value)
        return super().construct_mapping(node, deep=deep)


def _snake(key: str) -> str:
    """`removeSelectors` with underscores."""
    return re.sub(r"(?<=[a-z])([A-Z])", lambda match: f"_{match[1].lower()}", key)


@dataclass(frozen=True, slots=True)
class _Entry:
    """The rules of one domain as written, and where they are."""

    where: Callable[[str], str]
    data: Any

    def overrides(self) -> Overrides:
        """The rules. Raises `BadConfig` for the first error."""
        if not isinstance(self.data, dict):
            raise self._error(
                "",
                f"must contain an object, or a list of objects, with the keys {', '.join(KEYS)}; "
                f"it contains {type_name(self.data)}",
            )
        self._check_keys(self.data, KEYS, "")
        return Overrides(
            domain=self._domain(),
            main_content_selectors=self._selectors("mainContentSelectors"),
            remove_selectors=self._selectors("removeSelectors"),
            identity=self._identity(),
            render=self._render(),
            loaders=self._loaders(),
            own=self._is_own(),
            logged_out=self._logged_out(),
            actions=self._actions(),
        )

    def _error(self, key: str, message: str) -> BadConfig:
        place = self.where(key)
        return BadConfig(
            f"{place}{' ' if place and not key and message.startswith('must') else ': ' if place else ''}{message}"
        )

    def _value(self, data: dict[Any, Any], key: str, default: Any = None) -> Any:
        return data.get(key, data.get(_snake(key), default))

    def _written(self, data: dict[Any, Any], key: str) -> str:
        """A key as the file has it."""
        return _snake(key) if _snake(key) in data else key

    def _check_keys(self, data: dict[Any, Any], known: tuple[str, ...], inside: str) -> None:
        names = {*known, *map(_snake, known)}
        for key in data:
            if key not in names:
                near = get_close_matches(str(key).lower(), [name.lower() for name in names], 1, 0.5)
                meant = next(
                    (f" (did you mean {name!r}?)" for name in known if near and near[0] in {name.lower(), _snake(name)}), ""
                )
                raise self._error(str(key), f"unknown key {key!r}{inside}{meant}; known keys are {', '.join(known)}")

    def _domain(self) -> str:
        value = self.data.get("domain")
        if value is None:
            raise self._error("", "the key domain is missing; it must be a host name such as example.com")
        domain = value.strip().lower().rstrip(".") if isinstance(value, str) else ""
        if not _HOST.fullmatch(domain):
            host = re.match(r"(?:https?:)?//([^/:?#]+)|([^/]+)/", domain)
            hint = f" (did you mean {host[1] or host[2]}?)" if host else ""
            raise self._error("domain", f"domain must be a host name such as example.com, not {shown(value)}{hint}")
        return domain

    def _selectors(self, key: str) -> tuple[str, ...]:
        value = self._value(self.data, key)
        key = self._written(self.data, key)
        if value is None:
            return ()
        if not isinstance(value, list | tuple):
            raise self._error(key, f"{key} must be a list of CSS selectors, not {type_name(value)}")
        for at, selector in enumerate(value, 1):
            if not isinstance(selector, str) or not selector.strip():
                raise self._error(key, f"{key}, item {at}: {shown(selector)} is not a CSS selector")
            if problem := selector_problem(selector.strip()):
                raise self._error(key, f"{key}, item {at}: {shown(selector)} is not a CSS selector: {problem}")
        return tuple(selector.strip() for selector in value)

    def _identity(self) -> Identity:
        """Which URLs of the site are one page, regardless of their content."""
        value = self.data.get("identity")
        if value is None:
            return Identity()
        if not isinstance(value, dict):
            raise self._error(
                "identity", f"identity must be an object with the keys {', '.join(_IDENTITY_KEYS)}, not {type_name(value)}"
            )
        self._check_keys(value, _IDENTITY_KEYS, " in identity")
        force_https = self._value(value, "forceHttps", default=False)
        if not isinstance(force_https, bool):
            key = self._written(value, "forceHttps")
            raise self._error("identity", f"identity.{key} must be true or false, not {shown(force_https)}")
        return Identity(force_https, self._form(value, "slash", SlashForm), self._form(value, "query", QueryForm))

    def _render(self) -> RenderMode | None:
        """Whether the domain's pages are rendered in a browser, instead of the run's setting."""
        value = self.data.get("render")
        if value is None:
            return None
        if value not in [mode.value for mode in RenderMode]:
            raise self._error("render", f"render must be one of {', '.join(RenderMode)}, not {shown(value)}")
        return RenderMode(value)

    def _is_own(self) -> bool:
        value = self.data.get("own", False)
        if not isinstance(value, bool):
            raise self._error("own", f"own must be true or false, not {shown(value)}")
        return value

    def _loaders(self) -> tuple[Loader, ...]:
        """The API loaders of the domain."""
        value = self.data.get("loaders")
        if value is None:
            return ()
        if not isinstance(value, list | tuple):
            raise self._error("loaders", f"loaders must be a list of objects, not {type_name(value)}")
        loaders = []
        for at, data in enumerate(value, 1):
            if not isinstance(data, dict):
                raise self._error(
                    "loaders",
                    f"loaders, item {at} must be an object with the keys {', '.join(_LOADER_KEYS)}, not {type_name(data)}",
                )
            self._check_keys(data, _LOADER_KEYS, f" in loaders, item {at}")
            try:
                loaders.append(_loader(data, self._domain(), own=self._is_own()))
            except ValueError as problem:
                raise self._error("loaders", f"loaders, item {at}: {problem}") from None
        return tuple(loaders)

    def _logged_out(self) -> LoggedOut:
        """How the domain shows that a visitor is not logged in."""
        value, name = self._value(self.data, "loggedOut"), self._written(self.data, "loggedOut")
        if value is None:
            return LoggedOut()
        if not isinstance(value, dict) or not value:
            raise self._error(name, f"{name} must be an object with the keys {', '.join(_LOGGED_OUT_KEYS)}")
        self._check_keys(value, _LOGGED_OUT_KEYS, f" in {name}")
        for key, text in value.items():
            if not isinstance(text, str) or not text.strip():
                raise self._error(name, f"{name}.{key} must be text, not {shown(text)}")
        if problem := selector_problem(value["selector"].strip()) if "selector" in value else "":
            raise self._error(name, f"{name}.selector: {shown(value['selector'])} is not a CSS selector: {problem}")
        return LoggedOut(**{key: " ".join(text.split()) for key, text in value.items()})

    def _actions(self) -> tuple[PageAction, ...]:
        """What is done on every page of the domain before it is read."""
        value = self._value(self.data, "actions")
        if value is None:
            return ()
        if not isinstance(value, list) or len(value) > _MAX_ACTIONS:
            raise self._error("actions", f"actions must be a list of at most {_MAX_ACTIONS} objects")
        if value and self._render() not in {None, RenderMode.ALWAYS}:
            raise self._error(
                "actions", f"actions need a browser, but render is {self.data['render']}; leave it out or use always"
            )
        return tuple(self._action(data, at) for at, data in enumerate(value, 1))

    def _action(self, data: Any, at: int) -> PageAction:
        kinds = [key for key in data if key in _ACTION_KEYS] if isinstance(data, dict) else []
        if len(kinds) != 1:
            raise self._error("actions", f"actions, item {at} must be an object with one of the keys {', '.join(_ACTION_KEYS)}")
        kind = ActionKind(kinds[0])
        self._check_keys(data, (kind, "times") if kind is ActionKind.LOAD_MORE else (kind,), f" in actions, item {at}")
        target, times = data[kind], data.get("times", 1)
        if kind is ActionKind.SCROLL and target != "end":
            raise self._error("actions", f"actions, item {at}: scroll must be end, not {shown(target)}")
        problem = "not text" if not isinstance(target, str) or not target.strip() else selector_problem(target.strip())
        if problem:
            raise self._error("actions", f"actions, item {at}: {shown(target)} is not a CSS selector: {problem}")
        if isinstance(times, bool) or not isinstance(times, int) or not 1 <= times <= _MAX_TIMES:
            raise self._error(
                "actions", f"actions, item {at}: times must be a number from 1 to {_MAX_TIMES}, not {shown(times)}"
            )
        return PageAction(kind, target.strip(), times)

    def _form(self, identity: dict[Any, Any], key: str, form: type[_Form]) -> _Form:
        value = identity.get(key, "keep")
        if value not in [member.value for member in form]:
            raise self._error("identity", f"identity.{key} must be one of {', '.join(form)}, not {shown(value)}")
        return form(value)


def _loader(data: dict[str, Any], domain: str, *, own: bool) -> Loader:
    """One API loader. Raises ValueError with a message."""
    url = _text(data, "url")
    if url.startswith("/"):
        url = f"https://{domain}{url}"
    if Url.parse(url) is None:
        raise ValueError("url must be an absolute http(s) URL, or a path on the domain")
    _check_paths(data)
    texts = {key: _text(data, key) for key in (*_PATH_KEYS, "record", "page", "query") if key in data}
    loader = Loader(
        url=url,
        text=_paths(data),
        variables=_variables(data),
        persisted=_flag(data, "persisted"),
        **{"title": "title", **texts},
    )
    if not loader.text:
        raise ValueError("text must be a list of paths to the texts of a record")
    problem = graphql_problem(loader.query, own=own) if loader.query else ""
    if problem:
        raise ValueError(f"query: {problem}")
    start = start_url(loader)
    if start is None or len(str(start)) > MAX_URL_CHARS:
        raise ValueError(f"the URL with the query is longer than {MAX_URL_CHARS} characters; use a persisted query")
    return loader


def _check_paths(data: dict[str, Any]) -> None:
    for key in ("record", "page"):
        if _text(data, key) and not _TEMPLATE.fullmatch(_text(data, key)):
            raise ValueError(f"{key} must be a template with a path in braces, such as /api/posts/{{id}}")
    for key in _PATH_KEYS:
        if _text(data, key) and not _PATH.fullmatch(_text(data, key)):
            raise ValueError(f"{key} must be a path such as data.posts, with * for every element of a list")
    if re.fullmatch(r"\{[^{}]+\}", _text(data, "record")):
        raise ValueError("record must contain the fixed part of the records' URLs, such as /api/posts/{id}")


def _text(data: dict[str, Any], key: str) -> str:
    value = data.get(key, "")
    if not isinstance(value, str) or (len(value) > _MAX_VALUE_CHARS and key != "query"):
        raise ValueError(f"{key} must be text")
    return value.strip()


def _paths(data: dict[str, Any]) -> tuple[str, ...]:
    value = data.get("text", [])
    paths = [value] if isinstance(value, str) else value
    if not isinstance(paths, list) or not all(isinstance(path, str) and _PATH.fullmatch(path) for path in paths):
        raise ValueError("text must be a path, or a list of paths, such as content.rendered")
    return tuple(paths)


def _variables(data: dict[str, Any]) -> str:
    value = data.get("variables")
    if value is None:
        return ""
    if not isinstance(value, dict):
        raise ValueError("variables must be an object")  # noqa: TRY004 the caller expects one type of error
    return json.dumps(value, separators=(",", ":"), sort_keys=True)


def _flag(data: dict[str, Any], key: str) -> bool:
    value = data.get(key, False)
    if not isinstance(value, bool):
        raise ValueError(f"{key} must be true or false")  # noqa: TRY004 the caller expects one type of error
    return value
