"""Options that are plainly right, read without typer's help.

Typer hands every value of a command to pydantic, the defaults of options that were not given too, and pydantic takes longer to
load than ten pages take to crawl. Whatever is not plainly right goes to typer, which has the words for what is wrong with it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import Any, get_args, get_origin

from typer.core import TyperCommand, TyperGroup

_NUMBER = re.compile(r"[0-9]{1,9}(?:\.[0-9]{1,9})?")
_PATH_RULES = ("exists", "writable", "resolve_path", "allow_dash", "path_type")


class PlainCommand(TyperCommand):
    """A command that starts at once."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Its options and arguments."""
        return _read_plainly(super().get_params(ctx))


class PlainGroup(TyperGroup):
    """The same for the options that stand before a command."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Its options."""
        return _read_plainly(super().get_params(ctx))


def _read_plainly(params: list[Any]) -> list[Any]:
    for param in params:
        # What typer calls its parts is its own affair: where it has other names for them, it reads everything itself.
        thorough = getattr(param, "get_runtime_param", None)
        if hasattr(param, "type_descriptor") and thorough is not None and not isinstance(thorough, _Reading):
            param.get_runtime_param = _Reading(thorough)
    return params


class _Reading:
    """Stands where typer asks for what turns the words of one option into its value."""

    def __init__(self, thorough: Callable[[], Any]) -> None:
        self._thorough = thorough

    def __call__(self) -> _Reading:
        return self

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        """The value; an error of typer's where there is none."""
        takes_many = param.multiple or param.nargs == -1
        if value is None:
            return () if takes_many else None
        annotation, rules = param.type_descriptor.annotation, param.type_descriptor.parameter_info
        if not takes_many:
            read = _plain(value, annotation, rules)
        elif get_origin(annotation) is list and isinstance(value, list | tuple):
            read = [_plain(one, get_args(annotation)[0], rules) for one in value]
        else:
            read = None
        if read is None or (takes_many and None in read):
            return self._thorough().coerce(value, param=param, ctx=ctx)
        return read


def _plain(value: Any, kind: Any, rules: Any) -> Any:
    """The value as its kind; None where that takes more than a look."""
    if rules.parser is not None or not isinstance(kind, type):
        return None
    if kind in {int, float}:
        return _number(value, kind, rules)
    if kind is Path:
        return _path(value, rules)
    if isinstance(value, kind):
        return value
    if isinstance(value, str) and issubclass(kind, StrEnum):
        return next((member for member in kind if member.value == value), None)
    return None


def _number(value: Any, kind: Any, rules: Any) -> Any:
    text = str(value)
    if rules.clamp or not _NUMBER.fullmatch(text) or (kind is int and "." in text):
        return None
    number = kind(text)
    is_within = (rules.min is None or number >= rules.min) and (rules.max is None or number <= rules.max)
    return number if is_within else None


def _path(value: Any, rules: Any) -> Path | None:
    if not value or not isinstance(value, str | Path) or any(getattr(rules, rule) for rule in _PATH_RULES):
        return None
    path = Path(value)
    is_fine = not path.exists() or (rules.file_okay and rules.dir_okay and os.access(path, os.R_OK))
    return path if is_fine else None
