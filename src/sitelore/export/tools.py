"""A site's actions as tools that language models call: the two spellings in use, and how each call is carried out.

`openai` is a list for function calling, `mcp` one for the Model Context Protocol; both take their parameters from the same
JSON Schema, which says what the site's own form would demand. `calls` tells a program what to do with the arguments.
Candidates are no tools: what only reads like an action is not offered to be called.
"""

from __future__ import annotations

import re
from typing import Any

import msgspec

from sitelore.export.manifest import Entry, Manifest

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
_SAFE = frozenset({"search", "filter"})
_LONGEST_NAME = 64
_UNSAFE = re.compile(r"[^A-Za-z0-9_.-]+")
_CARRIED = (
    "kind", "method", "url", "enctype", "selector", "event", "fixed", "live", "same_page", "url_varies", "submits", "examples",
)  # fmt: skip


def tools_of(manifest: Manifest) -> dict[str, Any]:
    """All tools of a site, in the order of its manifest."""
    callable_ = [entry for entry in manifest["actions"] if entry["kind"] != "candidate"]
    schemas = [(entry, parameters_of(entry), _description(entry, manifest["site"])) for entry in callable_]
    return {
        "site": manifest["site"],
        "version": manifest["version"],
        "content_hash": manifest["content_hash"],
        "openai": [
            {"type": "function", "function": {"name": entry["id"], "description": said, "parameters": schema}}
            for entry, schema, said in schemas
        ],
        "mcp": [
            {
                "name": entry["id"],
                "title": entry.get("label") or entry["id"].replace("_", " "),
                "description": said,
                "inputSchema": schema,
                "annotations": {"readOnlyHint": _is_reading(entry), "openWorldHint": True},
            }
            for entry, schema, said in schemas
        ],
        "calls": {entry["id"]: _call(entry) for entry in callable_},
    }


def encoded_tools(manifest: Manifest) -> bytes:
    """The tools of a manifest as the bytes of their file."""
    return msgspec.json.format(msgspec.json.encode(tools_of(manifest)), indent=2) + b"\n"


def parameters_of(entry: Entry) -> Schema:
    """What a call must and may give."""
    properties: dict[str, Schema] = {}
    required: list[str] = []
    names = _names(entry)
    for one in entry.get("fields", ()):
        name = names[one["name"]]
        properties[name] = _property(one)
        if one["required"] and not one.get("readonly"):
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


def _names(entry: Entry) -> dict[str, str]:
    """What each field is called in a call: models take letters, digits and few marks, `tags[]` becomes `tags`."""
    own = [one["name"] for one in entry.get("fields", ())] + [
        name for name, value in entry.get("params", {}).items() if value is None
    ]
    taken: dict[str, str] = {}
    for name in dict.fromkeys(own):
        plain = _UNSAFE.sub("_", name).strip("_.")[: _LONGEST_NAME - 4] or "field"
        spare = (plain if not at else f"{plain}_{at}" for at in range(len(own) + 1))
        taken[name] = next(one for one in spare if one not in taken.values())
    return taken


def _property(one: Entry) -> Schema:
    kind = one["type"]
    schema = _choices(one) if one.get("options") else _typed(one, kind)
    if kind == "password":
        schema["writeOnly"] = True
    if one.get("readonly") and "value" in one:
        schema["const"] = one["value"]
    elif "value" in one and kind not in {"checkbox", "radio"} and schema.get("type") == "string":
        schema["default"] = one["value"]
    if said := _said(one):
        schema["description"] = said
    if suggestions := one.get("suggestions"):
        schema["examples"] = suggestions[:10]
    return schema


def _typed(one: Entry, kind: str) -> Schema:
    if kind in {"number", "range"}:
        return _numeric(one)
    if kind == "checkbox":
        return {"type": "boolean", **({"const": True} if one["required"] else {})}
    schema: Schema = {"type": "string"}
    if kind == "select":
        return schema
    if form := _FORMATS.get(kind):
        schema["format"] = form
    if pattern := _pattern(one.get("pattern", "")) or _PATTERNS.get(kind, ""):
        schema["pattern"] = pattern
    for name, keyword in (("minlength", "minLength"), ("maxlength", "maxLength")):
        if name in one:
            schema[keyword] = one[name]
    if one["required"] and not schema.get("minLength") and kind != "file":
        schema["minLength"] = 1
    if kind == "file":
        schema["contentEncoding"] = "base64"
    return {"type": "array", "items": schema} if one.get("multiple") and kind in {"email", "file"} else schema


def _numeric(one: Entry) -> Schema:
    low, high, step = (_number(one.get(name, "")) for name in ("min", "max", "step"))
    # Without a step, a whole number away from the minimum is asked for (HTML §4.10.5.3.8).
    is_whole = (step is None and one.get("step") != "any") or (step is not None and step.is_integer())
    schema: Schema = {"type": "integer" if is_whole and (low is None or low.is_integer()) else "number"}
    for value, keyword in ((low, "minimum"), (high, "maximum")):
        if value is not None:
            schema[keyword] = int(value) if value.is_integer() else value
    if step is not None and step > 0 and step != 1 and not (low or 0.0) % step:
        schema["multipleOf"] = int(step) if step.is_integer() else step
    return schema


def _choices(one: Entry) -> Schema:
    # An empty value stands for no choice: where one must be made it is none.
    values = [option["value"] for option in one["options"] if option["value"] or not one["required"]]
    choice: Schema = {"type": "string", "enum": list(dict.fromkeys(values))} if values else {"type": "string"}
    if one.get("multiple"):
        return {"type": "array", "items": choice, "uniqueItems": True, **({"minItems": 1} if one["required"] else {})}
    return choice


def _said(one: Entry) -> str:
    parts = [one.get("label", "").rstrip(" *:"), one.get("description", "")]
    placeholder = one.get("placeholder", "")
    if placeholder and placeholder != one.get("label"):
        parts.append(f"For example: {placeholder}")
    options = [option for option in one.get("options", ()) if option["value"] != option["label"]]
    if options:
        parts.append("; ".join(f"{option['value'] or '(empty)'} = {option['label']}" for option in options[:40]))
    if accept := one.get("accept"):
        parts.append(f"Accepts {accept}")
    return ". ".join(filter(None, parts))


def _pattern(raw: str) -> str:
    """A pattern of a form holds for the whole value (HTML §4.10.5.3.6). One that is no regular expression says nothing."""
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
        said = f"{_VERBS[entry['purpose']]} {site}."
        label = entry.get("label", "")
        return f"{said} {label}".strip() if label else said
    label = entry.get("label", "")
    return f"{entry['purpose']} on {site}." + (f" {label}" if label else "")


def _is_reading(entry: Entry) -> bool:
    return entry["kind"] == "form" and entry["method"] == "GET" and entry["purpose"] in _SAFE


def _call(entry: Entry) -> Entry:
    call = {name: entry[name] for name in _CARRIED if entry.get(name)}
    if known := {name: value for name, value in entry.get("params", {}).items() if value is not None}:
        call["params"] = known
    if renamed := {plain: own for own, plain in _names(entry).items() if plain != own}:
        call["names"] = renamed
    return call
