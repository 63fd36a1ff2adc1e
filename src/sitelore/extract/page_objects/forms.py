"""The forms of a page: where each sends its data, its fields with their constraints, and what it is for.

A form is read as a browser submits it (HTML §4.10): a control belongs to the form around it, to the form that its `form`
attribute names, or, where the parser moved a form's tags out of a table, to the form before it in that table. Hidden values
are kept unless they belong to one visit, such as CSRF tokens.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from sitelore.extract import dom
from sitelore.extract.dom import Selectors, quoted
from sitelore.extract.links import PageResolver
from sitelore.extract.text import short_line
from sitelore.model.url import Url

Form = dict[str, Any]
Field = dict[str, Any]

_MAX_FORMS = 60
_MAX_CONTROLS = 250
_MAX_OPTIONS = 200
_MAX_LABELS = 1000
_MAX_PATTERN_CHARS = 500
_CONTROLS = ("input", "select", "textarea", "button")
_INPUT_TYPES = frozenset({
    "hidden", "text", "search", "tel", "url", "email", "password", "date", "month", "week", "time", "datetime-local",
    "number", "range", "color", "checkbox", "radio", "file", "submit", "image", "reset", "button",
})  # fmt: skip
_BUTTON_TYPES = frozenset({"submit", "image", "reset", "button"})
_TEXT_CONSTRAINTS = ("min", "max", "step", "accept", "autocomplete", "placeholder", "inputmode", "dirname")
_METHODS = {"get": "GET", "post": "POST", "dialog": "DIALOG"}
_ENCTYPES = ("application/x-www-form-urlencoded", "multipart/form-data", "text/plain")
_NOT_LABEL_TAGS = ("select", "textarea", "button", "datalist", "script", "style", "template", "svg")
_NOT_LABEL = ",".join(_NOT_LABEL_TAGS)
_TABLE_PARTS = frozenset({"table", "tbody", "thead", "tfoot", "tr"})
_SEARCH_LANDMARK = "search,[role~=search i]"
_HEADINGS = ("legend", "h1", "h2", "h3", "h4", "h5", "h6")


def read_forms(tree: dom.Tree, page: Url, resolver: PageResolver, selectors: Selectors) -> tuple[Form, ...]:
    """The forms of a page, in page order."""
    # The content of a template is not part of the page until a script copies it.
    forms = [form for form in dom.select(tree, "form")[:_MAX_FORMS] if form.closest("template") is None]
    if not forms:
        return ()
    reader = _FormReader(tree, page, resolver, selectors)
    remote = [control for tag in _CONTROLS for control in dom.select(tree, f"{tag}[form]") if control.attr("form")]
    emptied = [form for form in forms if _is_emptied(form)]
    if remote or emptied or dom.select(tree, "form form"):
        controls = _controls_by_form(tree, forms, remote, emptied, selectors)
        return tuple([reader.read(form, controls[form]) for form in forms])
    return tuple([reader.read(form, _controls_within(form)) for form in forms])


def _controls_by_form(
    tree: dom.Tree,
    forms: list[dom.Element],
    remote: list[dom.Element],
    emptied: list[dom.Element],
    selectors: Selectors,
) -> dict[dom.Element, list[dom.Element]]:
    """The controls of each form, in page order."""
    owner: dict[dom.Element, dom.Element] = {}
    # Of forms within forms (broken markup makes them), the inner one comes later and owns the controls within it.
    for form in reversed(forms):
        for control in _controls_within(form):
            owner.setdefault(control, form)
    for control in remote[:_MAX_CONTROLS]:
        named = selectors.element(control.attr("form") or "")
        if named is None or named.tag != "form":
            owner.pop(control, None)
        else:
            owner[control] = named
    for form in emptied:
        _claim_table_controls(form, owner)
    controls: dict[dom.Element, list[dom.Element]] = {form: [] for form in forms}
    for control in dom.elements_list(tree, *_CONTROLS) if owner else ():
        own = controls.get(owner[control]) if control in owner else None
        if own is not None and len(own) < _MAX_CONTROLS:
            own.append(control)
    return controls


def _controls_within(form: dom.Element) -> list[dom.Element]:
    return list(islice(form.iter_elements(_CONTROLS), _MAX_CONTROLS))


def _is_emptied(form: dom.Element) -> bool:
    parent = dom.as_element(form.parent)
    return parent is not None and parent.tag in _TABLE_PARTS and next(iter(form.children), None) is None


def _claim_table_controls(form: dom.Element, owner: dict[dom.Element, dom.Element]) -> None:
    """Give a form that opens between table rows, which the parser leaves empty, the controls after it (HTML §13.2.6.4.9)."""
    table = form.closest("table")
    is_after = False
    for element in table.iter_elements(("form", *_CONTROLS)) if table is not None else ():
        if element == form:
            is_after = True
        elif is_after and element.tag == "form":
            break
        elif is_after and not element.attr("form"):
            owner.setdefault(element, form)


class _FormReader:
    """Reads the forms of one page."""

    __slots__ = ("_labels", "_page", "_resolver", "_selectors")

    def __init__(self, tree: dom.Tree, page: Url, resolver: PageResolver, selectors: Selectors) -> None:
        self._labels = Labels(tree, selectors)
        self._page = page
        self._resolver = resolver
        self._selectors = selectors

    def read(self, form: dom.Element, controls: list[dom.Element]) -> Form:
        """A form with these controls."""
        raw, method = (form.attr("action") or "").strip(), _method(form.attr("method") or "")
        fields, buttons = self._fields_and_buttons(form, controls)
        name = self._name(form)
        texts = [
            text for each in fields if each["type"] != "hidden" for text in (each.get("label", ""), each.get("placeholder", ""))
        ]
        kind, confidence, evidence = _classify(
            _developer_names(form, raw, fields),
            " \n ".join([name, *texts[:40], *(each.get("label", "") for each in buttons)]),
            fields,
            is_get=method == "GET",
            is_search=dom.is_inside(form, _SEARCH_LANDMARK),
        )
        result: Form = {
            "selector": self._selectors.of(form),
            "kind": kind,
            "confidence": confidence,
            "evidence": evidence,
            "action": self._resolved(raw) if raw else str(self._page),
            "method": method,
            "enctype": _enctype(form.attr("enctype") or ""),
            "fields": fields,
            "buttons": buttons,
        }
        result |= {key: short_line(value) for key in ("id", "name", "target") if (value := form.attr(key) or "").strip()}
        if name:
            result["label"] = name
        if charset := short_line(form.attr("accept-charset") or ""):
            result["accept_charset"] = charset
        if (autocomplete := (form.attr("autocomplete") or "").strip().lower()) in {"on", "off"}:
            result["autocomplete"] = autocomplete
        if form.attr("novalidate") is not None:
            result["novalidate"] = True
        return result

    def _resolved(self, raw: str) -> str:
        target = self._resolver.target(raw)
        return str(target.url or target.markdown_url)

    def _fields_and_buttons(self, form: dom.Element, controls: list[dom.Element]) -> tuple[list[Field], list[Field]]:
        fields: list[Field] = []
        buttons: list[Field] = []
        base = self._selectors.of(form)
        names = [control.attr("name") or "" for control in controls]
        counts = Counter(names) if _holds_all(form, controls) else {}
        for control, name in zip(controls, names, strict=True):
            selector = f"{base} [name={quoted(name)}]" if name and counts.get(name) == 1 else self._selectors.of(control)
            kind = _control_type(control)
            if kind in _BUTTON_TYPES:
                buttons.append(self._button(control, kind, selector))
            else:
                fields.append(self._field(control, name, kind, selector))
        return _grouped(fields), buttons

    def _name(self, form: dom.Element) -> str:
        """The label or title of a form, or the first heading or legend within it."""
        if label := short_line(form.attr("aria-label") or ""):
            return label
        if (ids := form.attr("aria-labelledby")) and (text := self._labels.texts_of(ids)):
            return text
        if title := short_line(form.attr("title") or ""):
            return title
        heading = next(iter(form.iter_elements(_HEADINGS)), None)
        return _label_text(heading) if heading is not None else ""

    def _field(self, control: dom.Element, name: str, kind: str, selector: str) -> Field:
        result: Field = {"name": name, "type": kind, "required": _is_required(control), "selector": selector}
        if kind == "hidden":
            value = control.attr("value") or ""
            if is_token(name, value):
                result["withheld"] = True
            elif value:
                result["value"] = value
        else:
            label, source = self._labels.of(control)
            if label:
                result["label"], result["label_from"] = label, source
            if (ids := control.attr("aria-describedby")) and (text := self._labels.texts_of(ids)):
                result["description"] = text
            _add_constraints(control, result)
            self._add_value(control, kind, result)
        if ids := control.attr("list"):
            datalist = self._selectors.element(ids)
            if datalist is not None and datalist.tag == "datalist":
                result["suggestions"] = [option["value"] for option in _options(datalist)[0]]
        return result

    def _add_value(self, control: dom.Element, kind: str, result: Field) -> None:
        """Add the value of a control, or the values that it offers."""
        if kind == "select":
            result["options"], left_out = _options(control)
            if left_out:
                result["options_left_out"] = left_out
        elif kind in {"checkbox", "radio"}:
            result["value"] = short_line(control.attr("value") or "on")
            if control.attr("checked") is not None:
                result["checked"] = True
            if group := self._group_label(control):
                result["group"] = group
        elif kind not in {"password", "file"}:
            value = control.text if kind == "textarea" else control.attr("value") or ""
            if value.strip() and not is_token(result["name"], value):
                result["value"] = short_line(value)

    def _group_label(self, control: dom.Element) -> str:
        """The label of the group that a checkbox or radio button is in."""
        group = control.closest("fieldset,[role=radiogroup i],[role=group i]")
        if group is None:
            return ""
        if ids := group.attr("aria-labelledby"):
            return self._labels.texts_of(ids)
        if label := group.attr("aria-label"):
            return short_line(label)
        legend = dom.first(group, "legend")
        return _label_text(legend) if legend is not None else ""

    def _button(self, control: dom.Element, kind: str, selector: str) -> Field:
        """A button with the attributes of the form that it overrides."""
        result: Field = {"type": kind, "selector": selector}
        if name := control.attr("name"):
            result["name"] = name
        value = control.attr("value") or ""
        shown = control.text if control.tag == "button" else (control.attr("alt") or "") if kind == "image" else value
        if label := short_line(shown) or self._labels.of(control)[0]:
            result["label"] = label
        if value and name and not is_token(name, value):
            result["value"] = short_line(value)
        if action := (control.attr("formaction") or "").strip():
            result["action"] = self._resolved(action)
        for key, parse in _BUTTON_OVERRIDES.items():
            if raw := (control.attr(f"form{key}") or "").strip():
                result[key] = parse(raw)
        if control.attr("formnovalidate") is not None:
            result["novalidate"] = True
        if _is_disabled(control):
            result["disabled"] = True
        return result


def _developer_names(form: dom.Element, action: str, fields: list[Field]) -> str:
    """Names that the developers of a page gave: of the form, its path and its hidden fields."""
    names = [form.attr(name) or "" for name in ("id", "name", "class", "role", "data-type")]
    path = action.partition("//")[2].partition("/")[2] if "//" in action else action
    names += [path.partition("?")[0], *(each["name"] for each in fields if each["type"] in {"hidden", "submit"})]
    return " ".join(names[:40])[:2000]


def _holds_all(form: dom.Element, controls: list[dom.Element]) -> bool:
    """Whether all controls are within their form, judged by the first and the last."""
    return all(each.attr("form") is None and each.closest("form") == form for each in (*controls[:1], *controls[-1:]))


class Labels:
    """The labels of a page, by the id of the control they are for."""

    __slots__ = ("_for", "_selectors")

    def __init__(self, tree: dom.Tree, selectors: Selectors) -> None:
        self._selectors = selectors
        self._for: dict[str, list[dom.Element]] = {}
        for label in dom.select(tree, "label")[:_MAX_LABELS]:
            if target := label.attr("for"):
                self._for.setdefault(target, []).append(label)

    def of(self, control: dom.Element) -> tuple[str, str]:
        """The label of a control and where it comes from; a visible label is preferred."""
        identifier = control.attr("id")
        labels = self._for.get(identifier, []) if identifier else []
        if text := short_line(" ".join(map(_label_text, labels[:4]))):
            return text, "for"
        around = control.closest("label")
        if around is not None and around.attr("for") in {None, "", identifier} and (text := _label_text(around)):
            return text, "wrapping"
        if (ids := control.attr("aria-labelledby")) and (text := self.texts_of(ids)):
            return text, "aria-labelledby"
        for name in ("aria-label", "title", "placeholder"):
            if (raw := control.attr(name)) and (text := short_line(raw)):
                return text, name
        return "", ""

    def texts_of(self, ids: str) -> str:
        """The texts of the elements with these ids, in that order."""
        elements = (self._selectors.element(identifier) for identifier in ids.split()[:8])
        return short_line(" ".join([_label_text(element) for element in elements if element is not None]))


def _label_text(label: dom.Element) -> str:
    """The text of a label without the text of controls within it."""
    if not dom.has_descendant(label, *_NOT_LABEL_TAGS):
        return short_line(label.text)
    parts = []
    for text in dom.text_nodes(label):
        parent = dom.as_element(text.parent)
        control = parent.closest(_NOT_LABEL) if parent is not None else None
        if control is None or dom.has_ancestor_in(label, {control}):
            parts.append(text.data)
    return short_line(" ".join(parts))


def _control_type(control: dom.Element) -> str:
    """The type of a control. An unknown type is text (HTML §4.10.5), and a button without a type submits."""
    tag = control.tag
    kind = (control.attr("type") or "").strip().lower()
    if tag == "input":
        return kind if kind in _INPUT_TYPES else "text"
    if tag == "button":
        return kind if kind in {"reset", "button"} else "submit"
    return tag


def _is_required(control: dom.Element) -> bool:
    return control.attr("required") is not None or (control.attr("aria-required") or "").strip().lower() == "true"


def _add_constraints(control: dom.Element, result: Field) -> None:
    attr = control.attr
    for name in _TEXT_CONSTRAINTS:
        if (value := attr(name)) and (text := short_line(value)):
            result[name] = text
    pattern = attr("pattern")
    if pattern and len(pattern) <= _MAX_PATTERN_CHARS:
        result["pattern"] = pattern
    for name in ("minlength", "maxlength"):
        value = (attr(name) or "").strip()
        if value.isascii() and value.isdigit() and len(value) < 10:
            result[name] = int(value)
    for name in ("multiple", "readonly"):
        if attr(name) is not None:
            result[name] = True
    if _is_disabled(control):
        result["disabled"] = True


def _is_disabled(control: dom.Element) -> bool:
    """Whether a control is disabled, by itself or by a fieldset around it (HTML §4.10.19.5)."""
    if control.attr("disabled") is not None:
        return True
    fieldset = control.closest("fieldset[disabled]")
    if fieldset is None:
        return False
    legend = control.closest("legend")
    return legend is None or dom.as_element(legend.parent) != fieldset or dom.first(fieldset, "legend") != legend


def _options(control: dom.Element) -> tuple[list[Field], int]:
    """The options of a `select` or `datalist`, and how many were left out."""
    elements = dom.elements_list(control, "option")
    has_groups = dom.has_descendant(control, "optgroup")
    options: list[Field] = []
    for element in elements[:_MAX_OPTIONS]:
        attr = element.attr
        label, value = short_line(attr("label") or element.text), attr("value")
        option: Field = {"value": label if value is None else short_line(value), "label": label}
        group = element.closest("optgroup") if has_groups else None
        if group is not None:
            option["group"] = short_line(group.attr("label") or "")
        if attr("selected") is not None:
            option["selected"] = True
        if attr("disabled") is not None or (group is not None and group.attr("disabled") is not None):
            option["disabled"] = True
        options.append(option)
    return options, max(0, len(elements) - _MAX_OPTIONS)


def _method(raw: str) -> str:
    return _METHODS.get(raw.strip().lower(), "GET")


def _enctype(raw: str) -> str:
    enctype = raw.strip().lower()
    return enctype if enctype in _ENCTYPES else _ENCTYPES[0]


_BUTTON_OVERRIDES: dict[str, Callable[[str], str]] = {"method": _method, "enctype": _enctype, "target": short_line}


def _grouped(fields: list[Field]) -> list[Field]:
    """Merge radio buttons, and checkboxes that share a name, into one field each with its options."""
    result: list[Field] = []
    groups: dict[tuple[str, str], Field] = {}
    boxes = Counter([each["name"] for each in fields if each["type"] == "checkbox"])
    for each in fields:
        kind, name = each["type"], each["name"]
        if not name or (kind != "radio" and (kind != "checkbox" or boxes[name] < 2)):
            result.append(each)
            continue
        group = groups.get((kind, name))
        if group is None:
            selector = f"input[type={quoted(kind)}][name={quoted(name)}]"
            group = groups[kind, name] = {"name": name, "type": kind, "required": False, "selector": selector, "options": []}
            if kind == "checkbox":
                group["multiple"] = True
            if label := each.get("group"):
                group["label"], group["label_from"] = label, "group"
            result.append(group)
        group["required"] = group["required"] or each["required"]
        option: Field = {"value": each["value"], "label": each.get("label", each["value"]), "selector": each["selector"]}
        option |= {key: True for key, own_key in (("selected", "checked"), ("disabled", "disabled")) if each.get(own_key)}
        group["options"].append(option)
    return result


# Kinds: each kind gets points for what indicates it and loses points for what contradicts it

_KINDS = ("search", "login", "register", "contact", "checkout", "newsletter", "filter", "other")
_MIN_SCORE = 0.4
_CAMEL_CASE = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_SEPARATORS = str.maketrans(dict.fromkeys("_-./:#?=&[](),;|'\"\n\t\u2019", " "))
_STEMS = {
    "search": (
        "search", "find", "lookup", "suche", "suchfeld", "suchwort", "recherche", "busca", "busqueda", "búsqueda", "cerca",
        "ricerca", "zoek", "pesquis", "szukaj", "wyszuk", "sök", "søg", "søk", "haku", "hled", "keres", "поиск", "найти",
        "искать", "検索", "搜索", "搜尋", "검색", "بحث", "tìm", "arama",
    ),
    "login": (
        "log in ", "login", "logon", "sign in ", "signin", "signon", "anmeld", "einlogg", "connexion", "se connecter",
        "iniciar sesi", "acceder", "accedi", "entrar", "inlogg", "zaloguj", "logowanie", "logga in", "log ind", "kirjaudu",
        "войти", "вход", "авториз", "ログイン", "登录", "登入", "로그인", "auth ", "authenticat",
    ),
    "register": (
        "register", "registr", "sign up", "signup", "create account", "create an account", "create your account",
        "create my account", "create new account", "createaccount", "join us", "join now", "join free", "join today",
        "get started", "konto erstellen", "konto anlegen", "inscri", "créer un compte", "crear cuenta", "crear una cuenta",
        "criar conta", "crea account", "crea un account", "aanmelden", "zarejestruj", "регистрац", "зарегистр", "登録",
        "注册", "註冊", "회원가입",
    ),
    "contact": (
        "contact", "enquir", "inquir", "feedback", "kontakt", "get in touch", "message", "nachricht", "anfrage", "contato",
        "mensaje", "mensagem", "messagg", "bericht", "wiadomo", "обратн", "сообщени", "связаться", "お問い合わせ", "联系",
        "聯絡", "문의", "ask us", "ask a question", "write to us", "request a quote", "request a callback", "request a demo",
        "request quote", "wpcf7", "subject", "betreff",
    ),
    "checkout": (
        "checkout", "check out", "payment", "pay ", "billing", "place order", "place your order", "purchase", "kasse",
        "bezahl", "zahlung", "paiement", "commander", "pago", "pagar", "pagamento", "afreken", "betal", "zapłać", "zamów",
        "оплат", "оформить заказ", "支払", "注文", "结账", "付款", "결제",
    ),
    "newsletter": (
        "newsletter", "subscri", "mailing", "mailchimp", "mc embedded", "mc4wp", "klaviyo", "abonn", "suscrib", "iscriviti",
        "inschrijven", "nieuwsbrief", "nyhetsbrev", "nyhedsbrev", "рассылк", "подпис", "メルマガ", "订阅", "구독",
        "stay up to date", "stay in touch", "updates", "email sign", "emailsign",
    ),
    "filter": (
        "filter", "facet", "refine", "sort", "order by", "orderby", "per page", "perpage", "show results", "trier",
        "filtrer", "filtrar", "ordenar", "filtra", "ordina", "фильтр", "сортир", "絞り込", "筛选", "필터", "currency",
        "locale",
    ),
    "comment": ("comment", "reply", "respond", "kommentar", "comentario", "коммент", "review"),
    "forgot": (
        "forgot", "forget", "reset", "recover", "lost password", "lostpassword", "vergessen", "oubli", "olvid", "dimentic",
    ),
}  # fmt: skip
_CJK_STEMS = [(kind, stem) for kind, stems in _STEMS.items() for stem in stems if stem[0] > "\u2fff"]
_STEMS_BY_START: dict[str, list[tuple[str, str]]] = {}
for _kind, _stems in _STEMS.items():
    for _stem in _stems:
        _STEMS_BY_START.setdefault(_stem.split()[0][:3], []).append((_kind, _stem))
_WEIGHTS = {
    "search": (0.35, 0.3),
    "login": (0.3, 0.3),
    "register": (0.35, 0.3),
    "contact": (0.3, 0.2),
    "checkout": (0.35, 0.35),
    "newsletter": (0.4, 0.35),
    "filter": (0.35, 0.25),
}
"""Points for a stem in the names that developers gave, and in the texts that visitors read."""
_SEARCH_NAMES = frozenset({
    "q", "s", "query", "search", "keyword", "keywords", "k", "kw", "wd", "searchword", "searchterm", "search_query",
    "search_term", "search_block_form", "searchtext", "searchquery", "sq", "suche", "recherche", "buscar", "text",
    "term", "terms", "qs", "field-keywords", "_nkw", "swrd",
})  # fmt: skip
_CARD_NAME = re.compile(
    r"^cc-|(?:^|[_\[.-])(?:card.?(?:number|no|num)|cvc|cvv|cc.?(?:num|exp|cvc)|expir|iban)|cardnumber", re.IGNORECASE
)
_ADDRESS_NAME = re.compile(
    r"(?:^|[ _\[.-])(?:street-address|address-line\d|postal-code|(?:billing|shipping|delivery)[_\[. -])", re.IGNORECASE
)
_TYPED = frozenset({"text", "search", "email", "tel", "url", "textarea", "password", "number"})
_CHOSEN = frozenset({"select", "checkbox", "radio", "range"})


@dataclass(slots=True)
class _Score:
    """The points of one kind, and the reasons for them."""

    total: float = 0.0
    evidence: list[str] = field(default_factory=list)

    def add(self, points: float, reason: str = "") -> None:
        self.total += points
        if points > 0:
            self.evidence.append(reason)


def _classify(named: str, shown: str, fields: list[Field], *, is_get: bool, is_search: bool) -> tuple[str, float, list[str]]:
    """The kind of a form, the confidence in it (0 to 1), and the reasons.

    `named` holds ids, names, classes and the path of the action, as developers wrote them; `shown` the headings, labels,
    placeholders and buttons that visitors read. `is_search` says that the form is in a search landmark.
    """
    visible = [each for each in fields if each["type"] != "hidden"]
    if not visible and not is_search:
        return "other", 0.0, []
    named_stems, shown_stems = _stems_in(_CAMEL_CASE.sub(" ", named)), _stems_in(shown)
    scores = {kind: _Score() for kind in _KINDS}
    for kind, (if_named, if_shown) in _WEIGHTS.items():
        if kind in named_stems:
            scores[kind].add(if_named, f"named {named_stems[kind]!r}")
        if kind in shown_stems:
            scores[kind].add(if_shown, f"says {shown_stems[kind]!r}")
    _score_fields(scores, visible, is_get=is_get, is_search=is_search)
    for is_against in ("comment" in named_stems, "forgot" in named_stems or "forgot" in shown_stems):
        if is_against:
            for kind in ("contact", "login", "register", "newsletter"):
                scores[kind].add(-0.6)
    best = max(_KINDS, key=lambda kind: scores[kind].total)
    if scores[best].total < _MIN_SCORE:
        return "other", 0.0, []
    return best, round(min(1.0, scores[best].total), 2), scores[best].evidence


def _stems_in(text: str) -> dict[str, str]:
    """The kinds whose stems occur at the start of words, each with the first such stem.

    Words are looked up by their first letters: one pattern of all stems takes ten times as long.
    """
    plain = f" {' '.join(text.lower().translate(_SEPARATORS).split())} "
    stems: dict[str, str] = {}
    for word in plain.split():
        for kind, stem in _STEMS_BY_START.get(word[:3], ()):
            if kind not in stems and f" {stem}" in plain:
                stems[kind] = stem.strip()
    if not plain.isascii():
        for kind, stem in _CJK_STEMS:
            if kind not in stems and stem in plain:
                stems[kind] = stem
    return stems


def _score_fields(scores: dict[str, _Score], visible: list[Field], *, is_get: bool, is_search: bool) -> None:
    types = [each["type"] for each in visible]
    typed = [each["name"].lower() for each in visible if each["type"] in _TYPED]
    hints = [f"{each.get('autocomplete', '')} {each['name']}" for each in visible]
    passwords, has_textarea = types.count("password"), "textarea" in types
    has_email = "email" in types or any("mail" in name for name in typed)
    _score_search(scores["search"], types, typed, is_search=is_search)
    _score_passwords(scores, passwords, hints, len(typed))
    if has_textarea:
        scores["contact"].add(0.35, "has a message field")
        scores["newsletter"].add(-0.6)
        scores["filter"].add(-0.6)
    if has_email and not passwords:
        scores["contact"].add(0.15 if has_textarea else 0.0, "asks for an e-mail address")
        scores["newsletter"].add(0.3 if len(typed) <= 3 else 0.0, "asks for little but an e-mail address")
        scores["newsletter"].add(0.1 if len(typed) == 1 else 0.0, "asks for nothing else")
        # A sign-up without a password is one for mail.
        scores["newsletter"].add(min(0.2, max(0.0, scores["register"].total)), "offers to sign up")
        scores["filter"].add(-0.4)
        scores["search"].add(-0.3)
    elif not has_email:
        scores["newsletter"].add(-0.3)
    if any(_CARD_NAME.search(part) for hint in hints for part in hint.split(" ") if part):
        scores["checkout"].add(0.7, "asks for a card")
    if any(map(_ADDRESS_NAME.search, hints)):
        scores["checkout"].add(0.25, "asks for a delivery or billing address")
    chosen = sum(kind in _CHOSEN for kind in types)
    if is_get and chosen and not passwords and not has_textarea:
        scores["filter"].add(0.15, "offers choices and changes nothing (GET)")
        if chosen == len(visible):
            scores["filter"].add(0.2, "offers nothing but choices")


def _score_search(score: _Score, types: list[str], typed: list[str], *, is_search: bool) -> None:
    if is_search:
        score.add(0.7, "is a search landmark")
    if "search" in types:
        score.add(0.5, "has a search field")
    if not _SEARCH_NAMES.isdisjoint(typed):
        score.add(0.35, "has a field named like a query")
    if "password" in types or "textarea" in types:
        score.add(-0.8)


def _score_passwords(scores: dict[str, _Score], passwords: int, hints: list[str], typed: int) -> None:
    if not passwords:
        scores["login"].add(-0.2)
        scores["register"].add(-0.15)
        return
    is_new = passwords > 1 or any("new-password" in hint for hint in hints)
    scores["register"].add(0.5 if is_new else 0.0, "asks for a new password")
    scores["register"].add(0.2 if typed > 3 else 0.0, "asks for more than a name and a password")
    scores["login"].add(-0.4 if is_new else 0.55, "asks for one password")
    scores["contact"].add(-0.5)
    scores["newsletter"].add(-0.6)
    scores["filter"].add(-0.6)


# Values that are made for one visit: tokens against request forgery, session ids, view state

_TOKEN_NAME = re.compile(
    r"csrf|xsrf|token|nonce|authenticity|__viewstate|__eventvalidation|__requestverif|(?:^|[_.\[-])(?:sid|sess(?:ion)?(?:_?id)?)(?:$|[_.\]-])"
    r"|session_?id|phpsessid|jsessionid|secret|signature|captcha|(?:^|_)hash(?:$|_)|_wpnonce|formkey|form_key|form_build_id|fingerprint"
    r"|(?:^|_)(?:api_?)?key$|timestamp|(?:^|_)ts$|password|passwd|honeypot",
    re.IGNORECASE,
)
_TOKEN_VALUE = re.compile(
    r"(?=[^\d]*\d)(?=[^A-Za-z]*[A-Za-z])[A-Za-z0-9+/_=.-]{20,}$"
    r"|[0-9a-fA-F]{8}-?[0-9a-fA-F]{4}-?[0-9a-fA-F]{4}-?[0-9a-fA-F]{4}-?[0-9a-fA-F]{12}$"
    r"|(?=[a-f]*\d)[0-9a-f]{16,}$|\d{10}(?:\d{3}|\.\d+)?$"
)
_PLAIN_WORDS = re.compile(r"[a-z]+(?:[-_./][a-z0-9]+)*$")
_MAX_KEPT_CHARS = 120


def is_token(name: str, value: str) -> bool:
    """Whether a value is made for one visit, by its name or its form."""
    if not value:
        return False
    if len(value) > _MAX_KEPT_CHARS or (name and _TOKEN_NAME.search(name)):
        return True
    return _TOKEN_VALUE.match(value) is not None and not (
        _PLAIN_WORDS.match(value) and value.count("-") + value.count("_") >= 2
    )
