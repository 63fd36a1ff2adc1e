"""The OpenAPI document is consistent: every reference resolves, and one name means one schema."""

from __future__ import annotations

import json
from collections import Counter

from scripts.openapi import description

from sitelore.serve.openapi import DECLARED

_PREFIX = "#/components/schemas/"


def references(value: object) -> set[str]:
    if isinstance(value, list):
        return {name for item in value for name in references(item)}
    if isinstance(value, dict):
        own = {value["$ref"].removeprefix(_PREFIX)} if isinstance(value.get("$ref"), str) else set()
        return own | {name for item in value.values() for name in references(item)}
    return set()


def test_every_reference_resolves() -> None:
    document = json.loads(description())
    assert references(document) - document["components"]["schemas"].keys() == set()


def test_no_two_schemas_have_one_name() -> None:
    description()  # imports all routes
    assert [name for name, count in Counter(schema.__name__ for schema in DECLARED).items() if count > 1] == []
