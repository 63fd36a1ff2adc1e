"""Writes the action manifest of a site: the forms and actions of all its pages, also as tools for language models.

Equal forms and actions of several pages become one entry with the number of pages. Entries are sorted and hashed: equal crawls
give equal files, and the version rises if and only if the actions changed. The format is `action_manifest.schema.json` (JSON
Schema 2020-12).

`tools_of` writes the entries as definitions for function calling (`openai`) and for the Model Context Protocol (`mcp`). Both
take their parameters from one JSON Schema, which demands what the site's own form does. `calls` says how a program carries
out a call. Candidates, which merely look like actions, are not offered as tools.
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
"""The version of the file format, not of the content."""
_MAX_ENTRIES = 5000
_MAX_EXAMPLES = 5
_NOT_IN_NAME = re.compile(r"[^a-z0-9]+")
_CAMEL_CASE = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_NOT_HASHED = frozenset({"pages", "examples"})
_KIND_ORDER = {"form": 0, "declared": 1, "candidate": 2}


@cache
def manifest_schema() -> dict[str, Any]:
    """The JSON Schema of a manifest."""
    schema: dict[str, Any] = msgspec.json.decode(files("sitelore.export").joinpath("action_manifest.schema.json").read_bytes())
    return schema


async def build_manifest(rows: Rows, blobs: Blobs, site: str, previous: Manifest | None = None) -> Manifest:
    """Build the manifest of a run's pages; `previous` is returned unchanged when no action changed."""
    collector = ActionCollector()
    async for url, document in _pages_with_actions(documents(rows(), blobs)):
        collector.add_page(url, document)
    return manifest_of(collector.entries(), site, previous)


async def _pages_with_actions(pages: AsyncIterator[tuple[Any, dict[str, Any]]]) -> AsyncIterator[tuple[str, dict[str, Any]]]:
    async for row, document in pages:
        if document.get("forms") or document.get("actions"):
            yield str(row.url), document


def manifest_of(entries: list[Entry], site: str, previous: Manifest | None = None) -> Manifest:
    """The manifest of these entries. `previous` is returned unchanged when it holds the same actions."""
    content_hash = _hash(entries)
    version = 1
    if previous is not None and previous.get("site") == site:
        if previous.get("content_hash") == content_hash and previous.get("format") == FORMAT:
            return previous
        last_version = previous.get("version")
        version = last_version + 1 if isinstance(last_version, int) and last_version > 0 else 1
    return {"format": FORMAT, "site": site, "version": version, "content_hash": content_hash, "actions": entries}


def encode_manifest(manifest: Manifest) -> bytes:
    """The bytes of the manifest file."""
    return msgspec.json.format(msgspec.json.encode(manifest), indent=2) + b"\n"


def read_manifest(data: bytes) -> Manifest | None:
    """Decode an earlier manifest; None for data that is not a manifest."""
    try:
        manifest = msgspec.json.decode(data)
    except (ValueError, RecursionError):
        return None
    if not isinstance(manifest, dict) or not isinstance(manifest.get("content_hash"), str):
        return None
    return manifest if isinstance(manifest.get("actions"), list) else None


def _hash(entries: list[Entry]) -> str:
    """A hash of the actions without the pages they are on."""
    plain = [{name: value for name, value in entry.items() if name not in _NOT_HASHED} for entry in entries]
    return "sha256:" + hashlib.sha256(msgspec.json.encode(plain, order="sorted")).hexdigest()


class ActionCollector:
    """Collects the forms and actions of pages, and merges equal ones."""

    def __init__(self) -> None:
        self._entries: dict[tuple[str, ...], Entry] = {}
        self._examples: dict[tuple[str, ...], list[str]] = {}
        self._pages: dict[tuple[str, ...], int] = {}

    def add_page(self, url: str, document: dict[str, Any]) -> None:
        """Add the forms and actions of one page."""
        for form in document.get("forms", ()):
            self._add(*_form_entry(form, url), url)
        for action in document.get("actions", ()):
            self._add(*_action_entry(action, url), url)

    def entries(self) -> list[Entry]:
        """All entries with unique ids, sorted."""
        hashed = []
        for identity, entry in self._entries.items():
            complete = {**entry, "pages": self._pages[identity], "examples": sorted(self._examples[identity])}
            hashed.append((complete, hashlib.sha256("\0".join(identity).encode("utf-8", "replace")).hexdigest()[:8]))
        names: dict[str, int] = {}
        for entry, _ in hashed:
            names[entry["name"]] = names.get(entry["name"], 0) + 1
        for entry, identity_hash in hashed:
            entry["id"] = entry["name"] if names[entry["name"]] == 1 else f"{entry['name']}_{identity_hash}"
        order = sorted((entry for entry, _ in hashed), key=lambda entry: (_KIND_ORDER[entry["kind"]], entry["id"]))
        return [{"id": entry.pop("id"), **entry} for entry in order]

    def _add(self, identity: tuple[str, ...], entry: Entry, url: str) -> None:
        known = self._entries.get(identity)
        if known is None:
            if len(self._entries) >= _MAX_ENTRIES:
                return
            self._entries[identity], self._examples[identity], self._pages[identity] = entry, [url], 1
            return
        self._pages[identity] += 1
        if url not in self._examples[identity] and len(self._examples[identity]) < _MAX_EXAMPLES:
            self._examples[identity].append(url)
        _merge(known, entry)


def _form_entry(form: dict[str, Any], url: str) -> tuple[tuple[str, ...], Entry]:
    purpose = form["kind"]
    target = "" if form["action"] == url else form["action"]
    field_types = [f"{field['name']}:{field['type']}" for field in form["fields"]]
    base = purpose if purpose != "other" else _identifier(form.get("name") or form.get("id") or form.get("label") or "form")
    entry: Entry = {
        "name": _identifier(base) or "form",
        "kind": "form",
        "purpose": purpose,
        "confidence": form["confidence"] if purpose != "other" else 1.0,
        "selector": form["selector"],
        "method": form["method"],
        "url": target,
        "enctype": form["enctype"],
        "fields": [
            _exported_field(field)
            for field in form["fields"]
            if field["type"] != "hidden" and field["name"] and not field.get("disabled")
        ],
    }
    if not target:
        entry["same_page"] = True
    fixed = {
        field["name"]: field.get("value", "")
        for field in form["fields"]
        if field["type"] == "hidden" and not field.get("withheld")
    }
    live = sorted({field["name"] for field in form["fields"] if field.get("withheld")})
    if fixed := {name: value for name, value in sorted(fixed.items()) if name}:
        entry["fixed"] = fixed
    if live:
        entry["live"] = live
    if label := form.get("label"):
        entry["label"] = label
    submits = [button for button in form["buttons"] if button["type"] in {"submit", "image"}]
    if submits:
        entry["submits"] = [{name: value for name, value in button.items() if name != "type"} for button in submits]
    return ("form", purpose, target, form["method"], *field_types), entry


def _exported_field(field: dict[str, Any]) -> Entry:
    kept = {name: value for name, value in field.items() if name not in {"label_from", "disabled", "group"}}
    if "options" in kept:
        kept["options"] = [
            {name: value for name, value in option.items() if name != "selector"}
            for option in kept["options"]
            if not option.get("disabled")
        ]
    return kept


def _action_entry(action: dict[str, Any], url: str) -> tuple[tuple[str, ...], Entry]:
    target = action.get("url", "")
    entry: Entry = {
        "name": _identifier(action["name"]) or "action",
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
    # Values that differ between pages (a product's number) are parameters of one action, not several actions.
    label = action.get("label", "").lower() if action["source"] == "candidate" else ""
    local_target = target if action["source"] == "candidate" and not target.startswith("http") else ""
    params_names = ",".join(sorted(action.get("params", ())))
    return ("action", action["source"], action["name"], label, local_target, params_names), entry


def _merge(known: Entry, entry: Entry) -> None:
    """Merge a second occurrence: texts and targets that differ are dropped, values that differ become parameters."""
    for name in ("label", "url", "zone", "form", "selector", "evidence"):
        if name in known and known[name] != entry.get(name):
            if name == "selector":
                known[name] = min(known[name], entry[name], key=lambda selector: (len(selector), selector))
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


def _identifier(name: str) -> str:
    """A snake-case identifier: `product.addToCart` → `product_add_to_cart`."""
    return _NOT_IN_NAME.sub("_", _CAMEL_CASE.sub("_", name).lower()).strip("_")[:48].rstrip("_")


def entries_of(pages: Iterable[tuple[str, dict[str, Any]]]) -> list[Entry]:
    """The entries of these pages."""
    collector = ActionCollector()
    for url, document in pages:
        collector.add_page(url, document)
    return collector.entries()


Schema = dict[str, Any]

_FORMATS = {"email": "email", "url": "uri", "date": "date", "tel": "", "password": "password"}
_PATTERNS = {
    "month": r"^\d{4,}-(?:0[1-9]|1[0-2])$",
    "week": r"^\d{4,}-W[0-5]\d$",
    "time": r"^[0-2]\d:[0-5]\d(?::[0-5]\d(?:\.\d{1,3})?)?$",
    "datetime-local": r"^\d{4,}-\d\d-\d\d[T ][0-2]\d:[0-5]\d(?::[0-5]\d(?:\.\d{1,3})?)?$",
    "color": r"^#[0-9a-fA-F]{6}$",
}
_VERBS = {
    "search": "Search",
    "login": "Sign in to",
    "register": "Create an account on",
    "contact": "Send a message to",
    "checkout": "Check out on",
    "newsletter": "Subscribe to the newsletter of",
    "filter": "Filter a list on",
    "other": "Fill in a form on",
}
_READ_ONLY_PURPOSES = frozenset({"search", "filter"})
_MAX_NAME_CHARS = 64
_NOT_IN_PARAMETER = re.compile(r"[^A-Za-z0-9_.-]+")
_CALL_FIELDS = (
    "kind", "method", "url", "enctype", "selector", "event", "fixed", "live", "same_page", "url_varies", "submits", "examples",
)  # fmt: skip


def tools_of(manifest: Manifest) -> dict[str, Any]:
    """The tools of a site, in the order of its manifest."""
    callable_ = [entry for entry in manifest["actions"] if entry["kind"] != "candidate"]
    schemas = [(entry, parameters_of(entry), _description(entry, manifest["site"])) for entry in callable_]
    return {
        "site": manifest["site"],
        "version": manifest["version"],
        "content_hash": manifest["content_hash"],
        "openai": [
            {"type": "function", "function": {"name": entry["id"], "description": description, "parameters": schema}}
            for entry, schema, description in schemas
        ],
        "mcp": [
            {
                "name": entry["id"],
                "title": entry.get("label") or entry["id"].replace("_", " "),
                "description": description,
                "inputSchema": schema,
                "annotations": {"readOnlyHint": _is_read_only(entry), "openWorldHint": True},
            }
            for entry, schema, description in schemas
        ],
        "calls": {entry["id"]: _call(entry) for entry in callable_},
    }


def encode_tools(manifest: Manifest) -> bytes:
    """The bytes of the tools file of a manifest."""
    return msgspec.json.format(msgspec.json.encode(tools_of(manifest)), indent=2) + b"\n"


def parameters_of(entry: Entry) -> Schema:
    """The JSON Schema of the arguments of a call."""
    properties: dict[str, Schema] = {}
    required: list[str] = []
    names = _parameter_names(entry)
    for field in entry.get("fields", ()):
        name = names[field["name"]]
        properties[name] = _property(field)
        if field["required"] and not field.get("readonly"):
            required.append(name)
    for own, value in entry.get("params", {}).items():
        if value is None:
            properties[names[own]] = {"type": "string", "description": "Differs from page to page."}
            required.append(names[own])
    if entry.get("same_page") or entry.get("url_varies"):
        properties["page_url"] = {"type": "string", "format": "uri", "description": "The page to do this on."}
        if entry["pages"] > 1:
            required.append("page_url")
    return {
        "type": "object",
        "properties": properties,
        "required": list(dict.fromkeys(required)),
        "additionalProperties": False,
    }


def _parameter_names(entry: Entry) -> dict[str, str]:
    """Parameter names by field name. Models accept letters, digits and few other characters: `tags[]` becomes `tags`."""
    field_names = [field["name"] for field in entry.get("fields", ())] + [
        name for name, value in entry.get("params", {}).items() if value is None
    ]
    parameters: dict[str, str] = {}
    for name in dict.fromkeys(field_names):
        plain = _NOT_IN_PARAMETER.sub("_", name).strip("_.")[: _MAX_NAME_CHARS - 4] or "field"
        numbered = (plain if not at else f"{plain}_{at}" for at in range(len(field_names) + 1))
        parameters[name] = next(candidate for candidate in numbered if candidate not in parameters.values())
    return parameters


def _property(field: Entry) -> Schema:
    kind = field["type"]
    schema = _choices(field) if field.get("options") else _typed(field, kind)
    if kind == "password":
        schema["writeOnly"] = True
    if field.get("readonly") and "value" in field:
        schema["const"] = field["value"]
    elif "value" in field and kind not in {"checkbox", "radio"} and schema.get("type") == "string":
        schema["default"] = field["value"]
    if description := _field_description(field):
        schema["description"] = description
    if suggestions := field.get("suggestions"):
        schema["examples"] = suggestions[:10]
    return schema


def _typed(field: Entry, kind: str) -> Schema:
    if kind in {"number", "range"}:
        return _numeric(field)
    if kind == "checkbox":
        return {"type": "boolean", **({"const": True} if field["required"] else {})}
    schema: Schema = {"type": "string"}
    if kind == "select":
        return schema
    if form := _FORMATS.get(kind):
        schema["format"] = form
    if pattern := _pattern(field.get("pattern", "")) or _PATTERNS.get(kind, ""):
        schema["pattern"] = pattern
    for name, keyword in (("minlength", "minLength"), ("maxlength", "maxLength")):
        if name in field:
            schema[keyword] = field[name]
    if field["required"] and not schema.get("minLength") and kind != "file":
        schema["minLength"] = 1
    if kind == "file":
        schema["contentEncoding"] = "base64"
    return {"type": "array", "items": schema} if field.get("multiple") and kind in {"email", "file"} else schema


def _numeric(field: Entry) -> Schema:
    low, high, step = (_number(field.get(name, "")) for name in ("min", "max", "step"))
    # Without a step, values must be whole numbers away from the minimum (HTML §4.10.5.3.8).
    is_whole = (step is None and field.get("step") != "any") or (step is not None and step.is_integer())
    schema: Schema = {"type": "integer" if is_whole and (low is None or low.is_integer()) else "number"}
    for value, keyword in ((low, "minimum"), (high, "maximum")):
        if value is not None:
            schema[keyword] = int(value) if value.is_integer() else value
    if step is not None and step > 0 and step != 1 and not (low or 0.0) % step:
        schema["multipleOf"] = int(step) if step.is_integer() else step
    return schema


def _choices(field: Entry) -> Schema:
    # An empty value means "nothing chosen", so it is invalid in a required field.
    values = [option["value"] for option in field["options"] if option["value"] or not field["required"]]
    choice: Schema = {"type": "string", "enum": list(dict.fromkeys(values))} if values else {"type": "string"}
    if field.get("multiple"):
        return {"type": "array", "items": choice, "uniqueItems": True, **({"minItems": 1} if field["required"] else {})}
    return choice


def _field_description(field: Entry) -> str:
    parts = [field.get("label", "").rstrip(" *:"), field.get("description", "")]
    placeholder = field.get("placeholder", "")
    if placeholder and placeholder != field.get("label"):
        parts.append(f"For example: {placeholder}")
    options = [option for option in field.get("options", ()) if option["value"] != option["label"]]
    if options:
        parts.append("; ".join(f"{option['value'] or '(empty)'} = {option['label']}" for option in options[:40]))
    if accept := field.get("accept"):
        parts.append(f"Accepts {accept}")
    return ". ".join(filter(None, parts))


def _pattern(raw: str) -> str:
    """The pattern of a field, anchored as it applies to the whole value (HTML §4.10.5.3.6); empty when it is invalid."""
    if not raw:
        return ""
    try:
        re.compile(raw)
    except (re.error, RecursionError, OverflowError):
        return ""
    return f"^(?:{raw})$"


def _number(raw: str) -> float | None:
    try:
        value = float(raw)
    except ValueError:
        return None
    return value if abs(value) < 1e15 else None


def _description(entry: Entry, site: str) -> str:
    if entry["kind"] == "form":
        sentence = f"{_VERBS[entry['purpose']]} {site}."
        label = entry.get("label", "")
        return f"{sentence} {label}".strip() if label else sentence
    label = entry.get("label", "")
    return f"{entry['purpose']} on {site}." + (f" {label}" if label else "")


def _is_read_only(entry: Entry) -> bool:
    return entry["kind"] == "form" and entry["method"] == "GET" and entry["purpose"] in _READ_ONLY_PURPOSES


def _call(entry: Entry) -> Entry:
    call = {name: entry[name] for name in _CALL_FIELDS if entry.get(name)}
    if known := {name: value for name, value in entry.get("params", {}).items() if value is not None}:
        call["params"] = known
    if renamed := {plain: own for own, plain in _parameter_names(entry).items() if plain != own}:
        call["names"] = renamed
    return call
