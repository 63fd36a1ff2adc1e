"""Finds the lines of keys in TOML text, which the parser of the standard library does not report."""

from __future__ import annotations

import tomllib
from typing import Any

Path = tuple[str | int, ...]
"""Keys, and positions in arrays of tables from 0: `("site", 1, "max_pages")`."""


def lines_of(text: str) -> dict[Path, int]:
    """The line of every key and table of a valid TOML text, by path."""
    lines: dict[Path, int] = {}
    sizes: dict[Path, int] = {}
    table: Path = ()
    statement, start = "", 0
    for number, line in enumerate(text.splitlines(keepends=True), 1):
        start = start if statement else number
        statement += line
        try:
            parsed = tomllib.loads(statement)
        except tomllib.TOMLDecodeError:
            continue  # a value that goes on in the next line
        if statement.lstrip().startswith("["):
            table = _table(parsed, sizes)
            lines.setdefault(table, start)
        else:
            for path in _paths(parsed, ()):
                lines.setdefault((*table, *path), start)
        statement = ""
    return lines


def line_of(lines: dict[Path, int], path: Path) -> int:
    """The line of a key, of its first element in an array of tables, or of the closest table around it that has one."""
    while path and path not in lines:
        path = (*path, 0) if (*path, 0) in lines else path[:-1]
    return lines.get(path, 1)


def _table(header: dict[str, Any], sizes: dict[Path, int]) -> Path:
    """The path of the table that a header opens. A header of an array of tables adds an element to it."""
    path: Path = ()
    value: Any = header
    while isinstance(value, dict) and value:
        [(name, value)] = value.items()
        path = (*path, name)
        if isinstance(value, list):
            sizes[path] = sizes.get(path, 0) + 1
            value = value[0]
        if path in sizes:
            path = (*path, sizes[path] - 1)
    return path


def _paths(data: dict[str, Any], above: Path) -> list[Path]:
    paths: list[Path] = []
    for name, value in data.items():
        paths.append((*above, name))
        if isinstance(value, dict):
            paths += _paths(value, (*above, name))
    return paths
