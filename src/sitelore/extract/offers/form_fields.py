"""The controls of a form: what each is called, what it takes, what it demands, and what its label says."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sitelore.extract import dom
from sitelore.extract.offers.selectors import Selectors, quoted
from sitelore.extract.tokens import is_token

CONTROLS = ("input", "select", "textarea", "button")
_INPUT_TYPES = frozenset({
    "hidden", "text", "search", "tel", "url", "email", "password", "date", "month", "week", "time", "datetime-local",
    "number", "range", "color", "checkbox", "radio", "file", "submit", "image", "reset", "button",
})  # fmt: skip
BUTTONS = frozenset({"submit", "image", "reset", "button"})
_TEXTS = ("min", "max", "step", "accept", "autocomplete", "placeholder", "inputmode", "dirname")
_SIZES = ("minlength", "maxlength")
_FLAGS = ("multiple", "readonly")
METHODS = {"get": "GET", "post": "POST", "dialog": "DIALOG"}
ENCTYPES = ("application/x-www-form-urlencoded", "multipart/form-data", "text/plain")
_NO_LABEL_TAGS = ("select", "textarea", "button", "datalist", "script", "style", "template", "svg")
_NO_LABEL = ",".join(_NO_LABEL_TAGS)
_MAX_OPTIONS = 200
_MAX_CHARS = 200
_MAX_LABELS = 1000
_MAX_PATTERN = 500

Field = dict[str, Any]


def one_line(text: str, most: int = _MAX_CHARS) -> str:
    """A text on one line, cut where it gets long."""
    return " ".join(text[: most * 8].split())[:most].rstrip()


class Labels:
    """The labels of a page, by the control they are for."""

    __slots__ = ("_for", "_selectors")

    def __init__(self, tree: dom.Tree, selectors: Selectors) -> None:
        self._selectors = selectors
        self._for: dict[str, list[dom.Element]] = {}
        for label in dom.select(tree, "label")[:_MAX_LABELS]:
            if target := label.attr("for"):
                self._for.setdefault(target, []).append(label)

    def count(self, identifier: str) -> int:
        """How many labels name this control."""
        return len(self._for.get(identifier, ()))

    def are_within(self, identifier: str, form: dom.Element) -> bool:
        """Whether all labels that name this control stand in this form."""
        return all(label.closest("form") == form for label in self._for.get(identifier, ()))

    def of(self, control: dom.Element) -> tuple[str, str]:
        """What a control is called, and where that stands: the visible label goes before what only machines read."""
        identifier = control.attr("id")
        labels = self._for.get(identifier, []) if identifier else []
        if text := one_line(" ".join(map(label_text, labels[:4]))):
            return text, "for"
        around = control.closest("label")
        if around is not None and around.attr("for") in {None, "", identifier} and (text := label_text(around)):
            return text, "wrapping"
        if (ids := control.attr("aria-labelledby")) and (text := self.referred(ids)):
            return text, "aria-labelledby"
        for name in ("aria-label", "title", "placeholder"):
            if (said := control.attr(name)) and (text := one_line(said)):
                return text, name
        return "", ""

    def referred(self, ids: str) -> str:
        """The texts of the elements with these ids, in that order."""
        found = (self._selectors.element(one) for one in ids.split()[:8])
        return one_line(" ".join([label_text(element) for element in found if element is not None]))


def label_text(label: dom.Element) -> str:
    """What a label says, without what the control within it shows."""
    if not dom.holds(label, *_NO_LABEL_TAGS):
        return one_line(label.text)
    parts = []
    for text in dom.texts(label):
        parent = dom.as_element(text.parent)
        within = parent.closest(_NO_LABEL) if parent is not None else None
        if within is None or dom.has_ancestor_in(label, {within}):
            parts.append(text.data)
    return one_line(" ".join(parts))


def type_of(control: dom.Element) -> str:
    """The type of a control; an unknown one is text (HTML §4.10.5), and a button without one submits."""
    tag = control.tag
    said = (control.attr("type") or "").strip().lower()
    if tag == "input":
        return said if said in _INPUT_TYPES else "text"
    if tag == "button":
        return said if said in {"reset", "button"} else "submit"
    return tag


def field_of(control: dom.Element, kind: str, labels: Labels, selector: str) -> Field:
    """One control as it stands."""
    name = control.attr("name") or ""
    found: Field = {"name": name, "type": kind, "required": is_required(control), "selector": selector}
    if kind == "hidden":
        value = control.attr("value") or ""
        if is_token(name, value):
            found["withheld"] = True
        elif value:
            found["value"] = value
        return found
    label, source = labels.of(control)
    if label:
        found["label"], found["label_from"] = label, source
    if (said := control.attr("aria-describedby")) and (text := labels.referred(said)):
        found["description"] = text
    _add_constraints(control, found)
    _add_value(control, kind, labels, found)
    return found


def _add_value(control: dom.Element, kind: str, labels: Labels, found: Field) -> None:
    """What stands in a control, or can be chosen with it."""
    if kind == "select":
        found["options"], more = options_of(control)
        if more:
            found["options_left_out"] = more
    elif kind in {"checkbox", "radio"}:
        found["value"] = one_line(control.attr("value") or "on")
        if control.attr("checked") is not None:
            found["checked"] = True
        if group := _group_label(control, labels):
            found["group"] = group
    elif kind not in {"password", "file"}:
        value = control.text if kind == "textarea" else control.attr("value") or ""
        if value.strip() and not is_token(found["name"], value):
            found["value"] = one_line(value)


def _group_label(control: dom.Element, labels: Labels) -> str:
    """What the choices around a box or radio button are about."""
    around = control.closest("fieldset,[role=radiogroup i],[role=group i]")
    if around is None:
        return ""
    if ids := around.attr("aria-labelledby"):
        return labels.referred(ids)
    if said := around.attr("aria-label"):
        return one_line(said)
    legend = dom.first(around, "legend")
    return label_text(legend) if legend is not None else ""


def is_required(control: dom.Element) -> bool:
    """Whether a form cannot be sent without it."""
    return control.attr("required") is not None or (control.attr("aria-required") or "").strip().lower() == "true"


def _add_constraints(control: dom.Element, found: Field) -> None:
    for name in _TEXTS:
        if (value := control.attr(name)) and (text := one_line(value)):
            found[name] = text
    pattern = control.attr("pattern")
    if pattern and len(pattern) <= _MAX_PATTERN:
        found["pattern"] = pattern
    for name in _SIZES:
        value = (control.attr(name) or "").strip()
        if value.isascii() and value.isdigit() and len(value) < 10:
            found[name] = int(value)
    for name in _FLAGS:
        if control.attr(name) is not None:
            found[name] = True
    if is_disabled(control):
        found["disabled"] = True


def is_disabled(control: dom.Element) -> bool:
    """Whether it is switched off, by itself or by a fieldset around it (HTML §4.10.19.5)."""
    if control.attr("disabled") is not None:
        return True
    fieldset = control.closest("fieldset[disabled]")
    if fieldset is None:
        return False
    legend = control.closest("legend")
    return legend is None or dom.as_element(legend.parent) != fieldset or dom.first(fieldset, "legend") != legend


def options_of(control: dom.Element) -> tuple[list[Field], int]:
    """The options of a `select` or `datalist`, and how many more there are."""
    every = dom.elements_list(control, "option")
    has_groups = dom.holds(control, "optgroup")
    found: list[Field] = []
    for option in every[:_MAX_OPTIONS]:
        label = one_line(option.attr("label") or option.text)
        value = option.attr("value")
        one: Field = {"value": label if value is None else one_line(value), "label": label}
        group = option.closest("optgroup") if has_groups else None
        if group is not None:
            one["group"] = one_line(group.attr("label") or "")
        if option.attr("selected") is not None:
            one["selected"] = True
        if option.attr("disabled") is not None or (group is not None and group.attr("disabled") is not None):
            one["disabled"] = True
        found.append(one)
    return found, max(0, len(every) - _MAX_OPTIONS)


def button_of(control: dom.Element, kind: str, labels: Labels, resolved: Callable[[str], str], selector: str) -> Field:
    """A button with what it changes about the form it sends."""
    found: Field = {"type": kind, "selector": selector}
    if name := control.attr("name"):
        found["name"] = name
    value = control.attr("value") or ""
    shown = control.text if control.tag == "button" else (control.attr("alt") or "") if kind == "image" else value
    if label := one_line(shown) or labels.of(control)[0]:
        found["label"] = label
    if value and name and not is_token(name, value):
        found["value"] = one_line(value)
    if said := (control.attr("formaction") or "").strip():
        found["action"] = resolved(said)
    found |= {name: meant(said) for name, meant in _OVERRIDES.items() if (said := (control.attr(f"form{name}") or "").strip())}
    if control.attr("formnovalidate") is not None:
        found["novalidate"] = True
    if is_disabled(control):
        found["disabled"] = True
    return found


def method_of(said: str) -> str:
    """A method as browsers take it."""
    return METHODS.get(said.strip().lower(), "GET")


def enctype_of(said: str) -> str:
    """An encoding as browsers take it."""
    plain = said.strip().lower()
    return plain if plain in ENCTYPES else ENCTYPES[0]


_OVERRIDES: dict[str, Callable[[str], str]] = {"method": method_of, "enctype": enctype_of, "target": one_line}


def grouped(fields: list[Field]) -> list[Field]:
    """Radio buttons, and boxes that share a name, as one field each with its options."""
    kept: list[Field] = []
    groups: dict[tuple[str, str], Field] = {}
    boxes = [one["name"] for one in fields if one["type"] == "checkbox"]
    for one in fields:
        kind, name = one["type"], one["name"]
        if not name or (kind != "radio" and (kind != "checkbox" or boxes.count(name) < 2)):
            kept.append(one)
            continue
        group = groups.get((kind, name))
        if group is None:
            selector = f"input[type={quoted(kind)}][name={quoted(name)}]"
            group = groups[kind, name] = {"name": name, "type": kind, "required": False, "selector": selector, "options": []}
            if kind == "checkbox":
                group["multiple"] = True
            if label := one.get("group"):
                group["label"], group["label_from"] = label, "group"
            kept.append(group)
        group["required"] = group["required"] or one["required"]
        choice: Field = {"value": one["value"], "label": one.get("label", one["value"]), "selector": one["selector"]}
        choice |= {mark: True for mark, had in (("selected", "checked"), ("disabled", "disabled")) if one.get(had)}
        group["options"].append(choice)
    return kept
