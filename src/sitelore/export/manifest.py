"""The Action Manifest: everything that can be done on a site, over all its pages, in one JSON file.

Forms and actions of all pages come together: what is the same on many pages is one entry that says on how many. Entries are
sorted and hashed, so that equal crawls give equal files; the version goes up when, and only when, the actions changed. The
shape is `action_manifest.schema.json` (JSON Schema 2020-12).
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import AsyncIterator, Iterable
from functools import cache
from importlib.resources import files
from typing import Any

import msgspec

from sitelore.export.pages import documents
from sitelore.export.rows import Rows
from sitelore.ports import Blobs

Manifest = dict[str, Any]
Entry = dict[str, Any]

FORMAT = 1
"""The version of the file's shape, not of what is in it."""
_MAX_ENTRIES = 5000
_EXAMPLES = 5
_WORD = re.compile(r"[^a-z0-9]+")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_NOT_HASHED = frozenset({"pages", "examples"})
_KINDS = {"form": 0, "declared": 1, "candidate": 2}


@cache
def manifest_schema() -> dict[str, Any]:
    """The JSON Schema of a manifest."""
    schema: dict[str, Any] = msgspec.json.decode(files("sitelore.export").joinpath("action_manifest.schema.json").read_bytes())
    return schema


async def build_manifest(rows: Rows, blobs: Blobs, site: str, previous: Manifest | None = None) -> Manifest:
    """The manifest of a run's pages; the very one before when no action changed since."""
    gathered = Gathered()
    async for row, document in _told(documents(rows(), blobs)):
        gathered.add_page(row, document)
    return made(gathered.entries(), site, previous)


async def _told(pages: AsyncIterator[tuple[Any, dict[str, Any]]]) -> AsyncIterator[tuple[str, dict[str, Any]]]:
    async for row, document in pages:
        if document.get("forms") or document.get("actions"):
            yield str(row.url), document


def made(entries: list[Entry], site: str, previous: Manifest | None = None) -> Manifest:
    """A manifest of these entries. `previous` is given back unchanged when it holds the same actions."""
    content_hash = _hash(entries)
    version = 1
    if previous is not None and previous.get("site") == site:
        if previous.get("content_hash") == content_hash and previous.get("format") == FORMAT:
            return previous
        before = previous.get("version")
        version = before + 1 if isinstance(before, int) and before > 0 else 1
    return {"format": FORMAT, "site": site, "version": version, "content_hash": content_hash, "actions": entries}


def encoded(manifest: Manifest) -> bytes:
    """A manifest as the bytes of its file."""
    return msgspec.json.format(msgspec.json.encode(manifest), indent=2) + b"\n"


def read_manifest(data: bytes) -> Manifest | None:
    """An earlier manifest; None for a file that is none."""
    try:
        found = msgspec.json.decode(data)
    except (ValueError, RecursionError):
        return None
    is_one = isinstance(found, dict) and isinstance(found.get("content_hash"), str) and isinstance(found.get("actions"), list)
    return found if is_one else None


def _hash(entries: list[Entry]) -> str:
    """Over what can be done and how; on how many pages is no change."""
    plain = [{name: value for name, value in entry.items() if name not in _NOT_HASHED} for entry in entries]
    return "sha256:" + hashlib.sha256(msgspec.json.encode(plain, order="sorted")).hexdigest()


class Gathered:
    """Entries of many pages, those that are the same merged into one."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, ...], Entry] = {}
        self._on: dict[tuple[str, ...], list[str]] = {}
        self._count: dict[tuple[str, ...], int] = {}

    def add_page(self, url: str, document: dict[str, Any]) -> None:
        """Take the forms and actions of one page."""
        for form in document.get("forms", ()):
            self._add(*_of_form(form, url), url)
        for action in document.get("actions", ()):
            self._add(*_of_action(action, url), url)

    def entries(self) -> list[Entry]:
        """All entries, named and sorted."""
        found = []
        for identity, entry in self._known.items():
            told = {**entry, "pages": self._count[identity], "examples": sorted(self._on[identity])}
            found.append((told, hashlib.sha256("\0".join(identity).encode("utf-8", "replace")).hexdigest()[:8]))
        names: dict[str, int] = {}
        for entry, _ in found:
            names[entry["name"]] = names.get(entry["name"], 0) + 1
        for entry, mark in found:
            entry["id"] = entry["name"] if names[entry["name"]] == 1 else f"{entry['name']}_{mark}"
        order = sorted((entry for entry, _ in found), key=lambda entry: (_KINDS[entry["kind"]], entry["id"]))
        return [{"id": entry.pop("id"), **entry} for entry in order]

    def _add(self, identity: tuple[str, ...], entry: Entry, url: str) -> None:
        known = self._known.get(identity)
        if known is None:
            if len(self._known) >= _MAX_ENTRIES:
                return
            self._known[identity], self._on[identity], self._count[identity] = entry, [url], 1
            return
        self._count[identity] += 1
        if url not in self._on[identity] and len(self._on[identity]) < _EXAMPLES:
            self._on[identity].append(url)
        _merge(known, entry)


def _of_form(form: dict[str, Any], url: str) -> tuple[tuple[str, ...], Entry]:
    purpose = form["kind"]
    target = "" if form["action"] == url else form["action"]
    shape = [f"{one['name']}:{one['type']}" for one in form["fields"]]
    base = purpose if purpose != "other" else _plain(form.get("name") or form.get("id") or form.get("label") or "form")
    entry: Entry = {
        "name": _plain(base) or "form",
        "kind": "form",
        "purpose": purpose,
        "confidence": form["confidence"] if purpose != "other" else 1.0,
        "selector": form["selector"],
        "method": form["method"],
        "url": target,
        "enctype": form["enctype"],
        "fields": [
            _field(one) for one in form["fields"] if one["type"] != "hidden" and one["name"] and not one.get("disabled")
        ],
    }
    if not target:
        entry["same_page"] = True
    fixed = {one["name"]: one.get("value", "") for one in form["fields"] if one["type"] == "hidden" and not one.get("withheld")}
    live = sorted({one["name"] for one in form["fields"] if one.get("withheld")})
    if fixed := {name: value for name, value in sorted(fixed.items()) if name}:
        entry["fixed"] = fixed
    if live:
        entry["live"] = live
    if label := form.get("label"):
        entry["label"] = label
    submits = [one for one in form["buttons"] if one["type"] in {"submit", "image"}]
    if submits:
        entry["submits"] = [{name: value for name, value in one.items() if name != "type"} for one in submits]
    return ("form", purpose, target, form["method"], *shape), entry


def _field(one: dict[str, Any]) -> Entry:
    kept = {name: value for name, value in one.items() if name not in {"label_from", "disabled", "group"}}
    if "options" in kept:
        kept["options"] = [
            {name: value for name, value in option.items() if name != "selector"}
            for option in kept["options"]
            if not option.get("disabled")
        ]
    return kept


def _of_action(action: dict[str, Any], url: str) -> tuple[tuple[str, ...], Entry]:
    target = action.get("url", "")
    entry: Entry = {
        "name": _plain(action["name"]) or "action",
        "kind": action["source"],
        "purpose": action["name"],
        "confidence": action["confidence"],
        "selector": action["selector"],
    }
    entry |= {name: action[name] for name in ("label", "role", "zone", "event", "form", "evidence") if action.get(name)}
    if target and target != url:
        entry["url"] = target
    if params := action.get("params"):
        entry["params"] = params
    # What differs from page to page of one action (a product's number) is its parameters, not another action.
    told = action.get("label", "").lower() if action["source"] == "candidate" else ""
    at = target if action["source"] == "candidate" and not target.startswith("http") else ""
    return ("action", action["source"], action["name"], told, at, ",".join(sorted(action.get("params", ())))), entry


def _merge(known: Entry, entry: Entry) -> None:
    """What differs between pages is not the action's own: texts and targets go, values become open."""
    for name in ("label", "url", "zone", "form", "selector", "evidence"):
        if name in known and known[name] != entry.get(name):
            if name == "selector":
                known[name] = min(known[name], entry[name], key=lambda one: (len(one), one))
            elif name == "url":
                known["url_varies"] = True
            else:
                del known[name]
    if known.get("params") != entry.get("params"):
        mine, other = known.get("params", {}), entry.get("params", {})
        known["params"] = {name: value if other.get(name) == value else None for name, value in mine.items()}
    if "fixed" in known:
        varying = [name for name, value in known["fixed"].items() if entry.get("fixed", {}).get(name) != value]
        known["live"] = sorted({*known.get("live", []), *entry.get("live", []), *varying})
        known["fixed"] = {name: value for name, value in known["fixed"].items() if name not in varying}
        for name in ("live", "fixed"):
            if not known[name]:
                del known[name]
    for mine, other in zip(known.get("fields", ()), entry.get("fields", ()), strict=False):
        _merge_field(mine, other)


def _merge_field(mine: Entry, other: Entry) -> None:
    if mine.get("options") != other.get("options") and "options" in mine:
        del mine["options"]
        mine["options_vary"] = True
    own = {"name", "type", "required", "options_vary", "selector"}
    for name in [name for name, value in mine.items() if name not in own and other.get(name) != value]:
        del mine[name]
    mine["required"] = bool(mine["required"] and other.get("required"))


def _plain(name: str) -> str:
    """A name that programs take: `product.addToCart` → `product_add_to_cart`."""
    return _WORD.sub("_", _HUMP.sub("_", name).lower()).strip("_")[:48].rstrip("_")


def all_of(pages: Iterable[tuple[str, dict[str, Any]]]) -> list[Entry]:
    """The entries of pages that are at hand."""
    gathered = Gathered()
    for url, document in pages:
        gathered.add_page(url, document)
    return gathered.entries()
