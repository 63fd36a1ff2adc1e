"""`--domain-config`: a domain's own extraction rules, from JSON or YAML.

Whatever is wrong is said in one sentence that names the file, the entry, the key and what would be right.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import get_close_matches
from enum import StrEnum
from pathlib import Path
from typing import Any, TypeVar

import yaml

from sitelore.cli.loader_config import LOADER_KEYS, loader_of
from sitelore.extract.dom import selector_problem
from sitelore.model.errors import BadConfig
from sitelore.model.settings import Identity, Loader, Overrides, QueryForm, RenderMode, SlashForm

_KNOWN = ("domain", "mainContentSelectors", "removeSelectors", "identity", "render", "loaders", "own")
_IDENTITY = ("forceHttps", "slash", "query")
_HOST = re.compile(r"(?:[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?\.)*[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?|\[[0-9a-f:.]+\]")
_MAX_BYTES = 2**20
_SHOWN = 60

_Form = TypeVar("_Form", bound=StrEnum)


def read_domain_config(path: Path) -> tuple[Overrides, ...]:
    """One object or a list of them. JSON is read by the YAML reader: it is a subset."""
    data = _loaded(path)
    if not isinstance(data, list):
        return (_Entry(str(path), data).overrides(),)
    if not data:
        raise BadConfig(f"{path} is an empty list; it must hold objects with the keys {', '.join(_KNOWN)}")
    found = tuple(_Entry(f"{path}, entry {at}", entry).overrides() for at, entry in enumerate(data, 1))
    for at, rules in enumerate(found, 1):
        first = next(number for number, other in enumerate(found, 1) if other.domain == rules.domain)
        if first != at:
            raise BadConfig(f"{path}, entry {at}: domain {rules.domain} is in entry {first} already")
    return found


def _loaded(path: Path) -> Any:
    try:
        with path.open("rb") as file:
            source = file.read(_MAX_BYTES + 1)
        if len(source) > _MAX_BYTES:
            raise BadConfig(f"{path} is larger than {_MAX_BYTES // 2**20} MiB; that is no domain config")
        return yaml.load(source.decode("utf-8-sig"), Loader=_Reader)  # noqa: S506 _Reader is a SafeLoader
    except OSError as problem:
        raise BadConfig(f"cannot read {path}: {problem.strerror}") from problem
    except UnicodeDecodeError:
        raise BadConfig(f"{path} is not UTF-8 text") from None
    except yaml.YAMLError as problem:
        mark = getattr(problem, "problem_mark", None)
        where = f" (line {mark.line + 1})" if mark else ""
        said = getattr(problem, "problem", None)
        raise BadConfig(f"{path} is neither JSON nor YAML{where}{f': {said}' if said else ''}") from problem
    except RecursionError:
        raise BadConfig(f"{path} is nested too deep") from None


class _Reader(yaml.SafeLoader):
    """YAML that takes a key written twice for the mistake it is, and no aliases: a bomb needs them, a config does not."""

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            event = self.peek_event()  # type: ignore[no-untyped-call]  # its stub has no types
            raise yaml.composer.ComposerError(None, None, "aliases are not read here", event.start_mark)
        return super().compose_node(parent, index)

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen: set[str] = set()
        for key, _ in node.value:
            if key.value in seen:
                raise yaml.constructor.ConstructorError(None, None, f"key {key.value!r} is there twice", key.start_mark)
            seen.add(key.value)
        return super().construct_mapping(node, deep=deep)


@dataclass(frozen=True, slots=True)
class _Entry:
    """One domain's rules as they were written, and where."""

    where: str
    data: Any

    def overrides(self) -> Overrides:
        """The rules, or the first thing that is wrong with them."""
        if not isinstance(self.data, dict):
            raise BadConfig(
                f"{self.where} must hold an object, or a list of objects, with the keys {', '.join(_KNOWN)}; "
                f"it holds {_kind(self.data)}"
            )
        self._check_keys(self.data, _KNOWN, "")
        return Overrides(
            domain=self._domain(),
            main_content_selectors=self._selectors("mainContentSelectors"),
            remove_selectors=self._selectors("removeSelectors"),
            identity=self._identity(),
            render=self._render(),
            loaders=self._loaders(),
            own=self._is_own(),
        )

    def _wrong(self, sentence: str) -> BadConfig:
        return BadConfig(f"{self.where}: {sentence}")

    def _check_keys(self, data: dict[Any, Any], known: tuple[str, ...], inside: str) -> None:
        for key in data:
            if key not in known:
                near = get_close_matches(str(key).lower(), [name.lower() for name in known], 1, 0.5)
                meant = next((f" (did you mean {name!r}?)" for name in known if near and name.lower() == near[0]), "")
                raise self._wrong(f"unknown key {key!r}{inside}{meant}; known keys are {', '.join(known)}")

    def _domain(self) -> str:
        said = self.data.get("domain")
        if said is None:
            raise self._wrong("the key domain is missing; it must be a host name such as example.com")
        plain = said.strip().lower().rstrip(".") if isinstance(said, str) else ""
        if not _HOST.fullmatch(plain):
            host = re.match(r"(?:https?:)?//([^/:?#]+)|([^/]+)/", plain)
            hint = f" (did you mean {host[1] or host[2]}?)" if host else ""
            raise self._wrong(f"domain must be a host name such as example.com, not {_shown(said)}{hint}")
        return plain

    def _selectors(self, key: str) -> tuple[str, ...]:
        found = self.data.get(key)
        if found is None:
            return ()
        if not isinstance(found, list):
            raise self._wrong(f"{key} must be a list of CSS selectors, not {_kind(found)}")
        for at, selector in enumerate(found, 1):
            if not isinstance(selector, str) or not selector.strip():
                raise self._wrong(f"{key}, item {at}: {_shown(selector)} is no CSS selector")
            if problem := selector_problem(selector.strip()):
                raise self._wrong(f"{key}, item {at}: {_shown(selector)} is no CSS selector: {problem}")
        return tuple(selector.strip() for selector in found)

    def _identity(self) -> Identity:
        """When two addresses of the site are one page, whatever they show."""
        said = self.data.get("identity")
        if said is None:
            return Identity()
        if not isinstance(said, dict):
            raise self._wrong(f"identity must be an object with the keys {', '.join(_IDENTITY)}, not {_kind(said)}")
        self._check_keys(said, _IDENTITY, " in identity")
        force_https = said.get("forceHttps", False)
        if not isinstance(force_https, bool):
            raise self._wrong(f"identity.forceHttps must be true or false, not {_shown(force_https)}")
        return Identity(force_https, self._form(said, "slash", SlashForm), self._form(said, "query", QueryForm))

    def _render(self) -> RenderMode | None:
        """When a browser reads the domain's pages, whatever the run says."""
        said = self.data.get("render")
        if said is None:
            return None
        if said not in [mode.value for mode in RenderMode]:
            raise self._wrong(f"render is one of {', '.join(RenderMode)}, not {_shown(said)}")
        return RenderMode(said)

    def _is_own(self) -> bool:
        said = self.data.get("own", False)
        if not isinstance(said, bool):
            raise self._wrong(f"own must be true or false, not {_shown(said)}")
        return said

    def _loaders(self) -> tuple[Loader, ...]:
        """Collections of the domain's API."""
        said = self.data.get("loaders")
        if said is None:
            return ()
        if not isinstance(said, list):
            raise self._wrong(f"loaders must be a list of objects, not {_kind(said)}")
        found = []
        for at, data in enumerate(said, 1):
            if not isinstance(data, dict):
                raise self._wrong(
                    f"loaders, item {at} must be an object with the keys {', '.join(LOADER_KEYS)}, not {_kind(data)}"
                )
            self._check_keys(data, LOADER_KEYS, f" in loaders, item {at}")
            try:
                found.append(loader_of(data, self._domain(), own=self._is_own()))
            except ValueError as problem:
                raise self._wrong(f"loaders, item {at}: {problem}") from None
        return tuple(found)

    def _form(self, said: dict[Any, Any], key: str, form: type[_Form]) -> _Form:
        value = said.get(key, "keep")
        if value not in [one.value for one in form]:
            raise self._wrong(f"identity.{key} is one of {', '.join(form)}, not {_shown(value)}")
        return form(value)


def _kind(value: Any) -> str:
    names = {dict: "an object", list: "a list", str: "text", bool: "true or false", type(None): "nothing"}
    return names.get(type(value), "a number" if isinstance(value, int | float) else f"a {type(value).__name__}")


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
