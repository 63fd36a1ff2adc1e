"""Every form of a page: where it sends what, which fields it has and what they demand, and what it is for.

A form is read as a browser would send it (HTML §4.10): controls belong to the form around them, to the form their `form`
attribute names, or, where a table swallowed the form's tags, to the form that stands before them in that table. Hidden
values are kept only when they are the page's own: what guards one visit is left out (`tokens`).
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from typing import Any

from sitelore.extract import dom
from sitelore.extract.metadata.links import PageResolver
from sitelore.extract.offers.form_fields import (
    BUTTONS,
    CONTROLS,
    Field,
    Labels,
    button_of,
    enctype_of,
    field_of,
    grouped,
    label_text,
    method_of,
    one_line,
    options_of,
    type_of,
)
from sitelore.extract.offers.form_kinds import Control, Seen, kind_of
from sitelore.extract.offers.known_forms import remembered
from sitelore.extract.offers.selectors import Selectors, quoted
from sitelore.model.url import Url

Form = dict[str, Any]

_MAX_FORMS = 60
_MAX_CONTROLS = 250
_TABLE_PARTS = frozenset({"table", "tbody", "thead", "tfoot", "tr"})
_SEARCHING = "search,[role~=search i]"
_HEADS = ("legend", "h1", "h2", "h3", "h4", "h5", "h6")


def read_forms(tree: dom.Tree, page: Url, resolver: PageResolver, selectors: Selectors) -> tuple[Form, ...]:
    """The forms of a page in the order they stand in."""
    # What a template holds is not on the page: a script may put copies of it there.
    forms = [form for form in dom.select(tree, "form")[:_MAX_FORMS] if form.closest("template") is None]
    if not forms:
        return ()
    apart = [control for tag in CONTROLS for control in dom.select(tree, tag) if control.attr("form")]
    swallowed = [form for form in forms if _is_swallowed(form)]
    is_nested = any(dom.has_ancestor(form, "form") for form in forms)
    labels = Labels(tree, selectors)

    def resolved(raw: str) -> str:
        target = resolver.target(raw)
        return str(target.url or target.markdown_url)

    if apart or swallowed or is_nested:
        owned = _owned(tree, forms, apart, swallowed, selectors)
        return tuple([_form(form, owned[form], page, labels, selectors, resolved) for form in forms])

    def read(form: dom.Element) -> Form:
        raw = (form.attr("action") or "").strip()
        key = (resolved(raw) if raw else "", "search" if dom.is_inside(form, _SEARCHING) else "")
        found = remembered(form, key, labels, selectors, lambda: _form(form, _within(form), page, labels, selectors, resolved))
        return found if raw else {**found, "action": str(page)}

    return tuple(map(read, forms))


def _within(form: dom.Element) -> list[dom.Element]:
    return list(islice(form.iter_elements(CONTROLS), _MAX_CONTROLS))


def _owned(
    tree: dom.Tree,
    forms: list[dom.Element],
    apart: list[dom.Element],
    swallowed: list[dom.Element],
    selectors: Selectors,
) -> dict[dom.Element, list[dom.Element]]:
    """The controls of each form, in the order of the page."""
    owner: dict[dom.Element, dom.Element] = {}
    # Of forms within forms (broken markup makes them) the inner one stands later and owns what it holds.
    for form in reversed(forms):
        for control in islice(form.iter_elements(CONTROLS), _MAX_CONTROLS):
            owner.setdefault(control, form)
    for control in apart[:_MAX_CONTROLS]:
        named = selectors.element(control.attr("form") or "")
        if named is None or named.tag != "form":
            owner.pop(control, None)
        else:
            owner[control] = named
    if swallowed:
        _claim(swallowed, owner)
    found: dict[dom.Element, list[dom.Element]] = {form: [] for form in forms}
    for control in [one for one in dom.elements_list(tree, *CONTROLS) if one in owner]:
        if owner[control] in found and len(found[owner[control]]) < _MAX_CONTROLS:
            found[owner[control]].append(control)
    return found


def _is_swallowed(form: dom.Element) -> bool:
    parent = dom.as_element(form.parent)
    return parent is not None and parent.tag in _TABLE_PARTS and next(iter(form.children), None) is None


def _claim(forms: list[dom.Element], owner: dict[dom.Element, dom.Element]) -> None:
    """A form that opens between a table's rows is left empty; what follows in that table is its own (HTML §13.2.6.4.9)."""
    for form in forms:
        table = form.closest("table")
        if table is None:
            continue
        is_after = False
        for element in table.iter_elements(("form", *CONTROLS)):
            if element == form:
                is_after = True
            elif is_after and element.tag == "form":
                break
            elif is_after and not element.attr("form"):
                owner.setdefault(element, form)


def _form(
    form: dom.Element,
    controls: list[dom.Element],
    page: Url,
    labels: Labels,
    selectors: Selectors,
    resolved: Callable[[str], str],
) -> Form:
    raw = (form.attr("action") or "").strip()
    fields: list[Field] = []
    buttons: list[Field] = []
    own, method = selectors.of(form), method_of(form.attr("method") or "")
    names = [control.attr("name") or "" for control in controls]
    only = {name for name in names if name and names.count(name) == 1} if _holds_all(form, controls) else set()
    for control, known in zip(controls, names, strict=True):
        kind = type_of(control)
        selector = f"{own} [name={quoted(known)}]" if known in only else selectors.of(control)
        if kind in BUTTONS:
            buttons.append(button_of(control, kind, labels, resolved, selector))
            continue
        one = field_of(control, kind, labels, selector)
        if listed := control.attr("list"):
            _add_suggestions(one, selectors.element(listed))
        fields.append(one)
    fields = grouped(fields)
    name = _name(form, labels)
    seen = Seen(
        named=_named(form, raw, fields),
        shown=" \n ".join([name, *_shown(fields), *(one.get("label", "") for one in buttons)]),
        fields=tuple([Control(one["type"], one["name"], one.get("autocomplete", "")) for one in fields]),
        is_get=method == "GET",
        is_search=dom.is_inside(form, _SEARCHING),
    )
    kind, confidence, evidence = kind_of(seen)
    found: Form = {
        "selector": own,
        "kind": kind,
        "confidence": confidence,
        "evidence": list(evidence),
        "action": resolved(raw) if raw else str(page),
        "method": method,
        "enctype": enctype_of(form.attr("enctype") or ""),
        "fields": fields,
        "buttons": buttons,
    }
    found |= {key: one_line(value) for key in ("id", "name", "target") if (value := form.attr(key) or "").strip()}
    if name:
        found["label"] = name
    if charset := one_line(form.attr("accept-charset") or ""):
        found["accept_charset"] = charset
    if (said := (form.attr("autocomplete") or "").strip().lower()) in {"on", "off"}:
        found["autocomplete"] = said
    if form.attr("novalidate") is not None:
        found["novalidate"] = True
    return found


def _holds_all(form: dom.Element, controls: list[dom.Element]) -> bool:
    """Whether every control stands within its form."""
    return not controls or (_is_within(controls[0], form) and _is_within(controls[-1], form))


def _is_within(control: dom.Element, form: dom.Element) -> bool:
    return control.attr("form") is None and control.closest("form") == form


def _add_suggestions(one: Field, listed: dom.Element | None) -> None:
    if listed is not None and listed.tag == "datalist":
        one["suggestions"] = [option["value"] for option in options_of(listed)[0]]


def _name(form: dom.Element, labels: Labels) -> str:
    """What the form is called: by its label, its title, or the first heading or legend within it."""
    if said := one_line(form.attr("aria-label") or ""):
        return said
    if (ids := form.attr("aria-labelledby")) and (text := labels.referred(ids)):
        return text
    if said := one_line(form.attr("title") or ""):
        return said
    head = next(iter(form.iter_elements(_HEADS)), None)
    return label_text(head) if head is not None else ""


def _named(form: dom.Element, raw: str, fields: list[Field]) -> str:
    parts = [form.attr(name) or "" for name in ("id", "name", "class", "role", "data-type")]
    parts += [raw.partition("?")[0] if "//" not in raw else raw.partition("//")[2].partition("/")[2].partition("?")[0]]
    return " ".join([*parts, *(one["name"] for one in fields if one["type"] in {"hidden", "submit"})][:40])[:2000]


def _shown(fields: list[Field]) -> list[str]:
    said = [text for one in fields if one["type"] != "hidden" for text in (one.get("label", ""), one.get("placeholder", ""))]
    return said[:40]
