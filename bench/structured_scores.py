"""Scoring of structured data on schema.org's examples: the share of a page's types that were extracted."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
CORPUS = Path(os.environ.get("SITELORE_CORPORA", ROOT.parent / "shared" / "corpora")) / "schemaorg_cases.json"
_SCRIPT = re.compile(r"<script.*?</script>|<!--.*?-->", re.DOTALL)
_END = re.compile(r"[/#:]")


def short(name: str) -> str:
    """The name of a type without its URL or prefix."""
    return _END.split(name.rstrip("/"))[-1]


def named_types(names: Iterable[str]) -> set[str]:
    """The types in a list of names."""
    return {short(name) for name in names}


def written_types(html: str, attribute: str) -> set[str]:
    """The types in an attribute of a page's source."""
    plain = _SCRIPT.sub("", html)
    values = re.findall(rf"\s{attribute}\s*=\s*[\"']([^\"']*)", plain)
    return {short(name) for value in values for name in value.split()}


def types_within(value: Any, keys: tuple[str, ...] = ("types",)) -> set[str]:
    """Every type in nested data, under any of these keys."""
    types: set[str] = set()
    if isinstance(value, dict):
        for key, inner in value.items():
            if key in keys:
                types |= {short(name) for name in (inner if isinstance(inner, list) else [inner]) if isinstance(name, str)}
            else:
                types |= types_within(inner, keys)
    elif isinstance(value, list | tuple):
        for inner in value:
            types |= types_within(inner, keys)
    return types
