"""Reads the actions of a page: what a visitor can do there with a link or a button, such as sign in, search or add to the cart.

Each action has a name (`cart.add`), the selector of its element and a confidence.

`data-action` is a declaration by the site's author: it gets full confidence, with parameters from the data attributes next to
it. Everything else is a candidate with a low confidence, found by the label of a link or a button. Forms are read in `forms`.
"""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import product
from typing import Any
from urllib.parse import parse_qsl

import msgspec

from sitelore.extract import dom
from sitelore.extract.dom import Selectors, link_selector
from sitelore.extract.links import PageLinks, PageResolver
from sitelore.extract.metadata import landmark_around
from sitelore.extract.page_objects.forms import is_token
from sitelore.extract.text import short_line

Action = dict[str, Any]

_ACTION_ROLES = frozenset({"button", "menuitem", "link", "switch"})
_ROLES = {
    "a": "link", "area": "link", "button": "button", "summary": "button", "form": "form", "select": "combobox",
    "textarea": "textbox",
}  # fmt: skip
_INPUT_ROLES = {
    "submit": "button", "button": "button", "reset": "button", "image": "button", "checkbox": "checkbox", "radio": "radio",
    "range": "slider", "number": "spinbutton", "search": "searchbox",
}  # fmt: skip
_BUTTON_TYPES = frozenset({"button", "submit", "image", "reset"})
_STIMULUS = re.compile(r"(?:(?P<event>[\w:.@-]+)->)?(?P<controller>[\w-]+)#(?P<method>\w+)(?::[\w:!]+)?$")
_EVENTS = {"form": "submit", "input": "input", "textarea": "input", "select": "change", "details": "toggle"}
_NOT_PARAMS = re.compile(
    r"data-(?:action(?:-params?)?$|params$|test|cy$|qa|controller|target|toggle|dismiss|bs-|v-|react|gtm|ga-|ga4|track|analytics|event"
    r"|aos|turbo|ng-|ember|testid|automation|hydrat|component|module|js-?|ad-|vars-|sentry|dd-|styled|emotion|n-head|astro|svelte)"
)
_MAX_ACTIONS = 150
_MAX_PER_NAME = 5
"""Fifty comments have fifty links to reply; five of a name are enough."""
_MAX_ELEMENTS = 400
_MAX_PARAMS = 24
_MAX_PARAM_CHARS = 300
_MAX_JSON_CHARS = 4000
_MAX_NAME_CHARS = 100

# Labels by the action they name. A label has to be equal to one of them, or to start with one of the openings.

LABELS: dict[str, tuple[str, ...]] = {
    "cart.add": (
        "add to cart", "add to basket", "add to bag", "in den warenkorb", "ajouter au panier", "añadir al carrito",
        "agregar al carrito", "adicionar ao carrinho", "aggiungi al carrello", "in winkelwagen", "in winkelmand",
        "dodaj do koszyka", "lägg i varukorg", "в корзину", "добавить в корзину", "カートに入れる", "加入购物车",
        "加入購物車", "장바구니 담기", "sepete ekle",
    ),
    "cart.view": (
        "cart", "basket", "bag", "view cart", "view basket", "shopping cart", "my cart", "warenkorb", "panier",
        "carrito", "carrinho", "carrello", "winkelwagen", "koszyk", "корзина", "カート", "购物车", "購物車", "장바구니",
    ),
    "order.buy": (
        "buy now", "buy", "order now", "jetzt kaufen", "acheter", "comprar", "comprar ahora", "acquista", "kup teraz",
        "купить", "今すぐ購入", "立即购买",
    ),
    "order.checkout": (
        "checkout", "check out", "proceed to checkout", "zur kasse", "passer la commande", "finalizar compra",
        "afrekenen", "оформить заказ",
    ),
    "account.sign_in": (
        "sign in", "log in", "login", "signin", "log on", "my account", "anmelden", "einloggen", "mein konto",
        "connexion", "se connecter", "mon compte", "iniciar sesión", "acceder", "mi cuenta", "entrar", "accedi",
        "inloggen", "zaloguj się", "zaloguj", "logga in", "войти", "вход", "ログイン", "登录", "登入", "로그인",
    ),
    "account.sign_up": (
        "sign up", "register", "create account", "create an account", "join", "join now", "join us", "join free",
        "sign up free", "sign up for free", "start free trial", "get started", "registrieren", "s'inscrire",
        "inscription", "créer un compte", "registrarse", "crear cuenta", "cadastre-se", "criar conta", "registrati",
        "aanmelden", "zarejestruj się", "регистрация", "会員登録", "新規登録", "注册", "註冊", "회원가입",
    ),
    "account.sign_out": (
        "sign out", "log out", "logout", "signout", "abmelden", "ausloggen", "déconnexion", "cerrar sesión", "sair",
        "esci", "выйти", "выход", "ログアウト", "退出", "로그아웃",
    ),
    "site.search": (
        "search", "suche", "suchen", "recherche", "rechercher", "buscar", "cerca", "zoeken", "szukaj", "sök", "поиск",
        "найти", "検索", "搜索", "搜尋", "검색",
    ),
    "newsletter.subscribe": (
        "subscribe", "subscribe now", "newsletter", "abonnieren", "s'abonner", "suscribirse", "suscríbete",
        "iscriviti", "подписаться", "订阅", "구독",
    ),
    "file.download": (
        "download", "download now", "herunterladen", "télécharger", "descargar", "baixar", "scarica", "downloaden",
        "pobierz", "скачать", "ダウンロード", "下载", "下載", "다운로드",
    ),
    "contact.open": (
        "contact", "contact us", "get in touch", "contact sales", "talk to sales", "kontakt", "contactez-nous",
        "nous contacter", "contacto", "contáctanos", "contato", "contatti", "контакты", "お問い合わせ", "联系我们",
        "聯絡我們", "문의하기",
    ),
    "booking.start": (
        "book now", "book", "book a table", "reserve", "reserve now", "make a reservation", "schedule a call",
        "book an appointment", "jetzt buchen", "termin buchen", "réserver", "reservar", "prenota", "boeken",
        "zarezerwuj", "забронировать", "записаться", "予約", "预订", "예약",
    ),
    "demo.request": (
        "request a demo", "book a demo", "get a demo", "schedule a demo", "try demo", "request a quote", "get a quote",
        "angebot anfordern", "demander un devis", "solicitar demo",
    ),
    "donation.start": (
        "donate", "donate now", "give now", "spenden", "jetzt spenden", "faire un don", "donar", "doar", "dona ora",
        "пожертвовать", "寄付", "捐款",
    ),
    "wishlist.add": (
        "add to wishlist", "add to favorites", "add to favourites", "save for later", "auf den merkzettel",
        "ajouter aux favoris", "añadir a favoritos", "в избранное",
    ),
    "page.share": ("share", "teilen", "partager", "compartir", "compartilhar", "condividi", "delen", "поделиться"),
    "page.print": ("print", "print this page", "drucken", "imprimer", "imprimir", "stampa", "печать"),
    "chat.open": ("chat", "live chat", "chat with us", "start chat", "chat now"),
    "review.write": ("write a review", "leave a review", "bewertung schreiben", "écrire un avis", "escribir una reseña"),
    "comment.write": ("leave a comment", "post a comment", "add a comment", "reply", "kommentieren"),
    "results.more": (
        "load more", "show more", "view more", "see more results", "mehr laden", "charger plus", "cargar más",
        "показать ещё", "もっと見る", "加载更多",
    ),
}  # fmt: skip
EXACT = {label: name for name, labels in LABELS.items() for label in labels}
_OPENINGS = {
    "add": (r"add (?:\S+ ){0,4}to (?:my |your |the )?(?:cart|basket|bag)\b", "cart.add"),
    "buy": (r"buy (?:it |this )?now\b|buy for\b", "order.buy"),
    "sign": (r"sign[ -]?in (?:to|with)\b", "account.sign_in"),
    "log": (r"log[ -]?in (?:to|with)\b", "account.sign_in"),
    "create": (r"create (?:a |an |your |my )?(?:new |free )?account\b", "account.sign_up"),
    "download": (r"download (?:\S+ ){0,5}(?:pdf|app|brochure|file|csv|catalogue?|guide|now|here)\b", "file.download"),
    "subscribe": (r"subscribe (?:to|for)\b", "newsletter.subscribe"),
    "checkout": (r"checkout\b", "order.checkout"),
    "proceed": (r"proceed to (?:checkout|payment)\b", "order.checkout"),
    "cart": (r"cart \(?\d+\)?", "cart.view"),
    "basket": (r"basket \(?\d+\)?", "cart.view"),
    "book": (r"book (?:a|an|your) \S+", "booking.start"),
    "search": (r"search (?:this )?(?:site|website|our site)\b", "site.search"),
    "share": (r"share (?:on|via|this|to) ", "page.share"),
}  # fmt: skip
OPENINGS = {word: (re.compile(pattern), name) for word, (pattern, name) in _OPENINGS.items()}
MAX_LABEL_CHARS = 60
_MAX_OPENING_CHARS = 32  # a longer label is a sentence
_EDGES = " \t\n.!…»\u203a→>+:"
_CASES = {"k": "kK\u212a", "å": "åÅ\u212b"}  # the kelvin and ångström signs are upper-case letters too
_STARTS = frozenset(
    "".join(letters)
    for label in (*EXACT, *OPENINGS)
    for letters in product(*[_CASES.get(letter, {letter, letter.upper()}) for letter in label[:3]])
)
"""How labels start, in upper and lower case: looking this up is faster than lowering the text of every link."""
_ODD_STARTS = frozenset({"", *_EDGES, *(label[0] for label in EXACT if len(label) < 3)})


def may_name_action(label: str) -> bool:
    """Whether a label may name an action: a quick check before `action_name`, which rules out most labels."""
    lowered = label.lower().strip(_EDGES)
    return lowered in EXACT or lowered.partition(" ")[0] in OPENINGS


def candidate_labels(labels: list[str]) -> list[int]:
    """Indexes of the labels that may name an action or are empty."""
    started = [index for index, label in enumerate(labels) if label[:3] in _STARTS or label[:1] in _ODD_STARTS]
    return [
        index for index in started if not (label := labels[index]) or (len(label) <= MAX_LABEL_CHARS and may_name_action(label))
    ]


@lru_cache(maxsize=256)
def action_name(label: str) -> str:
    """The action that a label names; empty for most labels."""
    lowered = label.lower().strip(_EDGES)
    if name := EXACT.get(lowered):
        return name
    opening = OPENINGS.get(lowered.partition(" ")[0]) if len(lowered) <= _MAX_OPENING_CHARS else None
    return opening[1] if opening is not None and opening[0].match(lowered) else ""


def marked_elements(annotated: list[dom.Element]) -> list[dom.Element]:
    """Elements that may be actions or have a background image. `annotated` is what `metadata.ANNOTATED` selects."""
    return [
        element
        for element in annotated
        if (attr := element.attr)("data-action") is not None
        or attr("onclick") is not None
        or (attr("role") or "").lower() in _ACTION_ROLES
        or "url(" in (attr("style") or "")
        or (element.tag == "a" and attr("download") is not None)
    ]


def read_actions(
    tree: dom.Tree, marked: list[dom.Element], links: PageLinks, resolver: PageResolver, selectors: Selectors
) -> tuple[Action, ...]:
    """The actions of a page: declared ones first, then candidates, each in page order.

    `marked` is what `marked_elements` returns.
    """
    declared: dict[tuple[str, str, str], Action] = {}
    declaring: set[dom.Element] = set()
    for element in marked:
        raw = element.attr("data-action")
        if raw and raw.strip() and len(declared) < _MAX_ACTIONS:
            declaring.add(element)
            for action in _declared_actions(element, raw, resolver, selectors):
                declared.setdefault((action["name"], str(action.get("params", "")), action.get("label", "")), action)
    candidates = _Candidates(resolver, selectors, declaring)
    candidates.add_links(links)
    for element in dom.select(tree, "button")[:_MAX_ELEMENTS]:
        candidates.add_labelled(element, _label(element))
    for element in marked[:_MAX_ELEMENTS]:
        if element.attr("download") is not None or (
            element.tag not in {"a", "button"} and (element.attr("role") or element.attr("onclick"))
        ):
            candidates.add_labelled(element, _label(element))
    return (*declared.values(), *candidates.actions.values())


class _Candidates:
    """Links and buttons whose labels name actions, without repeats."""

    def __init__(self, resolver: PageResolver, selectors: Selectors, declaring: set[dom.Element]) -> None:
        self.actions: dict[tuple[str, str], Action] = {}
        self._left: dict[str, int] = {}
        self._resolver = resolver
        self._selectors = selectors
        self._declaring = declaring

    def add_links(self, links: PageLinks) -> None:
        for index in candidate_labels(links.texts):
            element = links.elements[index]
            # A link without text, such as an icon, may have a label for assistive technology.
            label = links.texts[index] or short_line(element.attr("aria-label") or element.attr("title") or "")
            if may_name_action(label):
                is_link = element.tag == "a"
                selector, url = (link_selector(element.attr("href") or ""), str(links.urls[index])) if is_link else ("", "")
                self.add_labelled(element, label, selector, url)
        for element in links.others[:_MAX_ELEMENTS]:
            href = (element.attr("href") or "").strip()
            scheme = href[:7].lower()
            if scheme.startswith("mailto:"):
                self._add("contact.email", element, 0.6, "mailto link", url=short_line(href.partition("?")[0]))
            elif scheme.startswith(("tel:", "sms:")):
                self._add("contact.phone", element, 0.6, f"{scheme[:3]} link", url=short_line(href.partition("?")[0]))
            else:
                self.add_labelled(element, _label(element))

    def add_labelled(self, element: dom.Element, label: str, selector: str = "", url: str = "") -> None:
        """Add an element if its label names an action, or if it is a download link."""
        if label and len(label) <= MAX_LABEL_CHARS and (name := action_name(label)):
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
        if element in self._declaring or self._left.setdefault(name, _MAX_PER_NAME) == 0:
            return
        href = element.attr("href") if element.tag in {"a", "area"} else None
        if href and not url:
            url = str(self._resolver.target(href).url or "")
        label = label or _label(element)
        if (name, url or label.lower()) in self.actions:
            return
        action = _action(name, "candidate", confidence, element, selector or self._selectors.of(element), label)
        action["evidence"] = evidence
        if url:
            action["url"] = url
        if (form := element.closest("form")) is not None:
            action["form"] = self._selectors.of(form)
        self.actions[name, url or label.lower()] = action
        self._left[name] -= 1


def _declared_actions(element: dom.Element, raw: str, resolver: PageResolver, selectors: Selectors) -> list[Action]:
    """The action that an element declares, or one for each Stimulus descriptor (`click->cart#add`)."""
    attributes, selector = dom.attributes(element), selectors.of(element)
    descriptors = [match for word in raw.split()[:8] if (match := _STIMULUS.match(word)) is not None]
    actions = []
    for match in descriptors:
        controller = match["controller"]
        action = _action(f"{controller}.{match['method']}"[:_MAX_NAME_CHARS], "declared", 1.0, element, selector)
        action["event"] = match["event"] or _EVENTS.get(element.tag, "click")
        prefix = f"data-{controller}-"
        params = {
            name[len(prefix) : -len("-param")]: value
            for name, value in attributes.items()
            if name.startswith(prefix) and name.endswith("-param")
        }
        if named := _without_tokens(params):
            action["params"] = named
        actions.append(action)
    if not descriptors:
        action = _action(" ".join(raw.split())[:_MAX_NAME_CHARS], "declared", 1.0, element, selector)
        if named := _params(attributes):
            action["params"] = named
        actions.append(action)
    if element.tag in {"a", "area"} and (href := attributes.get("href")) and (url := resolver.target(href).url):
        for action in actions:
            action["url"] = str(url)
    if (form := element.closest("form")) is not None:
        for action in actions:
            action["form"] = selectors.of(form)
    return actions


def _action(name: str, source: str, confidence: float, element: dom.Element, selector: str, label: str | None = None) -> Action:
    action: Action = {"name": name, "source": source, "confidence": confidence, "selector": selector, "element": element.tag}
    if role := _role(element):
        action["role"] = role
    if label := _label(element) if label is None else label:
        action["label"] = label
    if zone := landmark_around(element):
        action["zone"] = zone
    if element.attr("disabled") is not None or element.attr("aria-disabled") == "true":
        action["disabled"] = True
    return action


def _role(element: dom.Element) -> str:
    roles = (element.attr("role") or "").split()
    if roles:
        return roles[0].lower()[:40]
    tag = element.tag
    if tag == "input":
        return _INPUT_ROLES.get((element.attr("type") or "text").strip().lower(), "textbox")
    return "" if tag == "a" and element.attr("href") is None else _ROLES.get(tag, "")


def _label(element: dom.Element) -> str:
    """The label of an element; visible text is preferred."""
    tag = element.tag
    if tag == "input":
        shown = element.attr("value") if (element.attr("type") or "").lower() in _BUTTON_TYPES else ""
        return short_line(shown or element.attr("aria-label") or element.attr("title") or element.attr("placeholder") or "")
    has_text = tag not in {"form", "select", "textarea"}
    if has_text and (text := short_line(element.text)):
        return text
    label = short_line(element.attr("aria-label") or element.attr("title") or "")
    if label or not has_text:
        return label
    image = dom.first(element, "img")
    return short_line(image.attr("alt") or "") if image is not None else ""


def _params(attributes: dict[str, str]) -> dict[str, Any]:
    """The parameters of an action: its own, and the data attributes next to it."""
    data = {name[5:]: value for name, value in attributes.items() if name.startswith("data-") and not _NOT_PARAMS.match(name)}
    params = _without_tokens({name.removeprefix("action-param-").removeprefix("param-"): value for name, value in data.items()})
    for name in ("data-params", "data-action-param", "data-action-params"):
        if raw := attributes.get(name, "").strip():
            params |= _parse_params(raw)
    return params


def _without_tokens(raw: dict[str, str]) -> dict[str, Any]:
    """Parameters with the names that `dataset` gives them, without values that belong to one visit."""
    params: dict[str, Any] = {}
    for name, value in raw.items():
        if name and len(name) <= _MAX_NAME_CHARS and len(params) < _MAX_PARAMS and not is_token(name, value):
            first, *others = name.split("-")
            params[first + "".join([part.capitalize() for part in others])] = value.strip()[:_MAX_PARAM_CHARS]
    return params


def _parse_params(raw: str) -> dict[str, Any]:
    """Parse parameters that are JSON or pairs: `id=3&size=m`, `id: 3, size: m`."""
    if len(raw) > _MAX_JSON_CHARS or raw.count("{") + raw.count("[") > _MAX_PARAMS:
        return {}
    if raw[0] in "{[":
        try:
            value = msgspec.json.decode(raw)
        except (ValueError, RecursionError):
            value = None
        if isinstance(value, dict):
            members = list(value.items())[:_MAX_PARAMS]
            return {name: inner for name, inner in members if not (isinstance(inner, str) and is_token(name, inner))}
        if isinstance(value, list):
            return {"values": value[:_MAX_PARAMS]}
    if "=" in raw:
        pairs = parse_qsl(raw.replace(";", "&").replace(", ", "&"), keep_blank_values=True, max_num_fields=None)
        return _without_tokens(dict(pairs))
    if ":" in raw:
        parts = [part.partition(":") for part in re.split(r"[,;]", raw) if ":" in part]
        return _without_tokens({name.strip(): value.strip() for name, _, value in parts})
    return {"value": short_line(raw)}
