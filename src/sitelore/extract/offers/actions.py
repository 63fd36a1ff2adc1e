"""What can be done on a page: actions it declares, and links and buttons that read like one.

`data-action` is a promise of the site's author: it gets full confidence, its parameters come from the data attributes
beside it. Everything else is a candidate, found by what a link or a button is called, and says so by a low confidence.
Forms are actions too, and have a module of their own.
"""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import parse_qsl

import msgspec

from sitelore.extract import dom
from sitelore.extract.metadata.links import PageLinks, PageResolver
from sitelore.extract.metadata.page_facts import landmark_around
from sitelore.extract.offers.action_words import LONGEST, action_of, may_be_action, worth_asking
from sitelore.extract.offers.form_fields import one_line
from sitelore.extract.offers.selectors import Selectors, link_selector
from sitelore.extract.tokens import is_token

Action = dict[str, Any]

MARKED = (
    ":is([data-action],[role=button i],[role=menuitem i],[role=link i],[role=switch i],[onclick],a[download],[style*='url('])"
)
_ROLES = {
    "a": "link",
    "area": "link",
    "button": "button",
    "summary": "button",
    "form": "form",
    "select": "combobox",
    "textarea": "textbox",
}
_INPUT_ROLES = {
    "submit": "button", "button": "button", "reset": "button", "image": "button", "checkbox": "checkbox", "radio": "radio",
    "range": "slider", "number": "spinbutton", "search": "searchbox",
}  # fmt: skip
_CLICKED = frozenset({"button", "submit", "image", "reset"})
_STIMULUS = re.compile(r"(?:(?P<event>[\w:.@-]+)->)?(?P<controller>[\w-]+)#(?P<method>\w+)(?::[\w:!]+)?$")
_EVENTS = {"form": "submit", "input": "input", "textarea": "input", "select": "change", "details": "toggle"}
_NO_PARAMS = re.compile(
    r"data-(?:action(?:-params?)?$|params$|test|cy$|qa|controller|target|toggle|dismiss|bs-|v-|react|gtm|ga-|ga4|track|analytics|event"
    r"|aos|turbo|ng-|ember|testid|automation|hydrat|component|module|js-?|ad-|vars-|sentry|dd-|styled|emotion|n-head|astro|svelte)"
)
_MAX_ACTIONS = 150
_MAX_OF_A_KIND = 5
_MAX_LOOKS = 400
_MAX_PARAMS = 24
_MAX_PARAM_CHARS = 300
_MAX_JSON_CHARS = 4000
_MAX_NAME = 100


def read_actions(
    tree: dom.Tree, marked: list[dom.Element], links: PageLinks, resolver: PageResolver, selectors: Selectors
) -> tuple[Action, ...]:
    """The actions of a page: declared ones first, then candidates, each in page order. `marked` is what `MARKED` selects."""
    declared: dict[tuple[str, str, str], Action] = {}
    taken: set[dom.Element] = set()
    for element in marked:
        said = element.attr("data-action")
        if said and said.strip() and len(declared) < _MAX_ACTIONS:
            taken.add(element)
            for action in _declared(element, said, resolver, selectors):
                declared.setdefault((action["name"], str(action.get("params", "")), action.get("label", "")), action)
    candidates = _Candidates(resolver, selectors, taken)
    candidates.take_links(links)
    for element in dom.select(tree, "button")[:_MAX_LOOKS]:
        candidates.take(element, _label(element))
    for element in marked[:_MAX_LOOKS]:
        if element.attr("download") is not None or (
            element.tag not in {"a", "button"} and (element.attr("role") or element.attr("onclick"))
        ):
            candidates.take(element, _label(element))
    if not declared and not candidates.found:
        return ()
    return (*declared.values(), *candidates.found.values())


class _Candidates:
    """Links and buttons that read like actions, each kind of target once."""

    def __init__(self, resolver: PageResolver, selectors: Selectors, taken: set[dom.Element]) -> None:
        self.found: dict[tuple[str, str], Action] = {}
        self._left: dict[str, int] = {}
        self._resolver = resolver
        self._selectors = selectors
        self._taken = taken

    def take_links(self, links: PageLinks) -> None:
        for at in worth_asking(links.texts):
            element = links.elements[at]
            # A picture or an icon for a link is named for machines alone.
            label = links.texts[at] or one_line(element.attr("aria-label") or element.attr("title") or "")
            if may_be_action(label):
                is_link = element.tag == "a"
                selector, url = (link_selector(element.attr("href") or ""), str(links.urls[at])) if is_link else ("", "")
                self.take(element, label, selector, url)
        for element in links.others[:_MAX_LOOKS]:
            href = (element.attr("href") or "").strip()
            scheme = href[:7].lower()
            if scheme.startswith("mailto:"):
                self._add("contact.email", element, 0.6, "mailto link", url=_address(href))
            elif scheme.startswith(("tel:", "sms:")):
                self._add("contact.phone", element, 0.6, f"{scheme[:3]} link", url=_address(href))
            else:
                self.take(element, _label(element))

    def take(self, element: dom.Element, label: str, selector: str = "", url: str = "") -> None:
        if label and len(label) <= LONGEST and (name := action_of(label)):
            is_button = element.tag != "a" or element.attr("role") == "button"
            confidence = 0.5 if is_button else 0.4
            self._add(name, element, confidence, f"says {label.lower()!r}", label, url=url, selector=selector)
        elif element.tag == "a" and element.attr("download") is not None:
            self._add("file.download", element, 0.5, "download link", label)

    def _add(
        self,
        name: str,
        element: dom.Element,
        confidence: float,
        evidence: str,
        label: str = "",
        *,
        url: str = "",
        selector: str = "",
    ) -> None:
        # Fifty comments have fifty links to reply; five of a kind tell as much.
        if element in self._taken or self._left.setdefault(name, _MAX_OF_A_KIND) == 0:
            return
        href = element.attr("href") if element.tag in {"a", "area"} else None
        if href and not url:
            url = str(self._resolver.target(href).url or "")
        label = label or _label(element)
        if (name, url or label.lower()) in self.found:
            return
        action = _facts(name, "candidate", confidence, element, selector or self._selectors.of(element), label)
        action["evidence"] = evidence
        if url:
            action["url"] = url
        if (form := element.closest("form")) is not None:
            action["form"] = self._selectors.of(form)
        self.found[name, url or label.lower()] = action
        self._left[name] -= 1


def _declared(element: dom.Element, said: str, resolver: PageResolver, selectors: Selectors) -> list[Action]:
    """One action, or as many as a Stimulus descriptor names (`click->cart#add`)."""
    attributes, selector = dom.attributes(element), selectors.of(element)
    described = [found for word in said.split()[:8] if (found := _STIMULUS.match(word)) is not None]
    actions = []
    for found in described:
        controller = found["controller"]
        action = _facts(f"{controller}.{found['method']}"[:_MAX_NAME], "declared", 1.0, element, selector)
        action["event"] = found["event"] or _EVENTS.get(element.tag, "click")
        prefix = f"data-{controller}-"
        raw = {
            name[len(prefix) : -len("-param")]: value
            for name, value in attributes.items()
            if name.startswith(prefix) and name.endswith("-param")
        }
        if params := _plain(raw):
            action["params"] = params
        actions.append(action)
    if not described:
        action = _facts(" ".join(said.split())[:_MAX_NAME], "declared", 1.0, element, selector)
        if params := _params(attributes):
            action["params"] = params
        actions.append(action)
    if element.tag in {"a", "area"} and (href := attributes.get("href")) and (url := resolver.target(href).url):
        for action in actions:
            action["url"] = str(url)
    if (form := element.closest("form")) is not None:
        for action in actions:
            action["form"] = selectors.of(form)
    return actions


def _facts(name: str, source: str, confidence: float, element: dom.Element, selector: str, label: str | None = None) -> Action:
    found: Action = {"name": name, "source": source, "confidence": confidence, "selector": selector, "element": element.tag}
    if role := _role(element):
        found["role"] = role
    if label := _label(element) if label is None else label:
        found["label"] = label
    if zone := landmark_around(element):
        found["zone"] = zone
    if element.attr("disabled") is not None or element.attr("aria-disabled") == "true":
        found["disabled"] = True
    return found


def _role(element: dom.Element) -> str:
    said = (element.attr("role") or "").split()
    if said:
        return said[0].lower()[:40]
    tag = element.tag
    if tag == "input":
        return _INPUT_ROLES.get((element.attr("type") or "text").strip().lower(), "textbox")
    return "" if tag == "a" and element.attr("href") is None else _ROLES.get(tag, "")


def _label(element: dom.Element) -> str:
    """What an element is called, visible words first."""
    if element.tag == "input":
        shown = element.attr("value") if (element.attr("type") or "").lower() in _CLICKED else ""
        return one_line(shown or element.attr("aria-label") or element.attr("title") or element.attr("placeholder") or "")
    if element.tag in {"form", "select", "textarea"}:
        return one_line(element.attr("aria-label") or element.attr("title") or "")
    text = one_line(element.text)
    if text:
        return text
    if said := one_line(element.attr("aria-label") or element.attr("title") or ""):
        return said
    image = dom.first(element, "img")
    return one_line(image.attr("alt") or "") if image is not None else ""


def _params(attributes: dict[str, str]) -> dict[str, Any]:
    """What an action is told: its own parameters, and the data that stand beside it."""
    beside = {name[5:]: value for name, value in attributes.items() if name.startswith("data-") and not _NO_PARAMS.match(name)}
    found: dict[str, Any] = _plain(
        {name.removeprefix("action-param-").removeprefix("param-"): text for name, text in beside.items()}
    )
    for name in ("data-params", "data-action-param", "data-action-params"):
        if raw := attributes.get(name, "").strip():
            found |= _written(raw)
    return found


def _plain(raw: dict[str, str]) -> dict[str, Any]:
    """Named as `dataset` names them; without what belongs to one visit."""
    found: dict[str, Any] = {}
    for name, value in raw.items():
        if name and len(name) <= _MAX_NAME and len(found) < _MAX_PARAMS and not is_token(name, value):
            head, *tail = name.split("-")
            found[head + "".join([part.capitalize() for part in tail])] = value.strip()[:_MAX_PARAM_CHARS]
    return found


def _written(raw: str) -> dict[str, Any]:
    """Parameters written as JSON, or as pairs: `id=3&size=m`, `id: 3, size: m`."""
    if len(raw) > _MAX_JSON_CHARS or raw.count("{") + raw.count("[") > _MAX_PARAMS:
        return {}
    if raw[0] in "{[":
        try:
            value = msgspec.json.decode(raw)
        except (ValueError, RecursionError):
            value = None
        if isinstance(value, dict):
            return {
                name: inner
                for name, inner in list(value.items())[:_MAX_PARAMS]
                if not (isinstance(inner, str) and is_token(name, inner))
            }
        if isinstance(value, list):
            return {"values": value[:_MAX_PARAMS]}
    if "=" in raw:
        return _plain(dict(parse_qsl(raw.replace(";", "&").replace(", ", "&"), keep_blank_values=True, max_num_fields=None)))
    pairs = [part.partition(":") for part in re.split(r"[,;]", raw) if ":" in part]
    if pairs:
        return _plain({name.strip(): value.strip() for name, _, value in pairs})
    return {"value": one_line(raw)}


def _address(href: str) -> str:
    return one_line(href.partition("?")[0])
