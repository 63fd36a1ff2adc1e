"""The texts within what a page says for machines, for whoever looks through them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def as_read(json: bytes) -> bytes:
    """Entities in JSON, close to how their texts read: enough to see that there is nothing to take out."""
    if b"\\" not in json:
        return json
    return json.replace(b'\\"', b'"').replace(b"\\n", b"\n").replace(b"\\\\", b"\\")


def texts_of(found: Any) -> list[str]:
    """Every text in entities, the names of properties too, each once."""
    texts: dict[str, None] = {}
    _collect(found, texts)
    return list(texts)


def _collect(value: Any, texts: dict[str, None]) -> None:
    if isinstance(value, str):
        texts[value] = None
    elif isinstance(value, dict):
        texts.update(dict.fromkeys(value))
        for one in value.values():
            _collect(one, texts)
    elif isinstance(value, list | tuple):
        for one in value:
            _collect(one, texts)


def with_texts(found: Any, by_text: Mapping[str, str]) -> Any:
    """The same with some of its texts replaced: an entity, or a row of them."""
    if isinstance(found, tuple):
        return tuple([_replaced(each, by_text) for each in found])
    return _replaced(found, by_text)


def _replaced(value: Any, by_text: Mapping[str, str]) -> Any:
    if isinstance(value, str):
        return by_text.get(value, value)
    if isinstance(value, dict):
        return {by_text.get(name, name): _replaced(one, by_text) for name, one in value.items()}
    if isinstance(value, list):
        return [_replaced(one, by_text) for one in value]
    return value
