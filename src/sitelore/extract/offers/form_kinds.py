"""What a form is for: search, sign in, register, write to someone, pay, subscribe, narrow a list.

Each kind gathers points for what speaks for it and loses some for what speaks against it; every point leaves a sentence.
Names that developers give (`id`, `name`, `action`) and words that visitors read are looked at apart, in the languages that
most of the web is written in.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

KINDS = ("search", "login", "register", "contact", "checkout", "newsletter", "filter", "other")
_ENOUGH = 0.4

_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_GAPS = str.maketrans(dict.fromkeys("_-./:#?=&[](),;|'\"\n\t\u2019", " "))


_SEARCH = (
    "search", "find", "lookup", "suche", "suchfeld", "suchwort", "recherche", "busca", "busqueda", "búsqueda", "cerca",
    "ricerca", "zoek", "pesquis", "szukaj", "wyszuk", "sök", "søg", "søk", "haku", "hled", "keres", "поиск", "найти",
    "искать", "検索", "搜索", "搜尋", "검색", "بحث", "tìm", "arama",
)  # fmt: skip
_LOGIN = (
    "log in ", "login", "logon", "sign in ", "signin", "signon", "anmeld", "einlogg", "connexion", "se connecter",
    "iniciar sesi", "acceder", "accedi", "entrar", "inlogg", "zaloguj", "logowanie", "logga in", "log ind", "kirjaudu",
    "войти", "вход", "авториз", "ログイン", "登录", "登入", "로그인", "auth ", "authenticat",
)  # fmt: skip
_REGISTER = (
    "register", "registr", "sign up", "signup", "create account", "create an account", "create your account",
    "create my account", "create new account", "createaccount", "join us", "join now", "join free", "join today",
    "get started", "konto erstellen", "konto anlegen", "inscri", "créer un compte", "crear cuenta", "crear una cuenta",
    "criar conta", "crea account", "crea un account", "aanmelden", "zarejestruj", "регистрац", "зарегистр", "登録",
    "注册", "註冊", "회원가입",
)  # fmt: skip
_CONTACT = (
    "contact", "enquir", "inquir", "feedback", "kontakt", "get in touch", "message", "nachricht", "anfrage", "contato",
    "mensaje", "mensagem", "messagg", "bericht", "wiadomo", "обратн", "сообщени", "связаться", "お問い合わせ", "联系",
    "聯絡", "문의", "ask us", "ask a question", "write to us", "request a quote", "request a callback", "request a demo",
    "request quote", "wpcf7", "subject", "betreff",
)  # fmt: skip
_CHECKOUT = (
    "checkout", "check out", "payment", "pay ", "billing", "place order", "place your order", "purchase", "kasse",
    "bezahl", "zahlung", "paiement", "commander", "pago", "pagar", "pagamento", "afreken", "betal", "zapłać", "zamów",
    "оплат", "оформить заказ", "支払", "注文", "结账", "付款", "결제",
)  # fmt: skip
_NEWSLETTER = (
    "newsletter", "subscri", "mailing", "mailchimp", "mc embedded", "mc4wp", "klaviyo", "abonn", "suscrib", "iscriviti",
    "inschrijven", "nieuwsbrief", "nyhetsbrev", "nyhedsbrev", "рассылк", "подпис", "メルマガ", "订阅", "구독",
    "stay up to date", "stay in touch", "updates", "email sign", "emailsign",
)  # fmt: skip
_FILTER = (
    "filter", "facet", "refine", "sort", "order by", "orderby", "per page", "perpage", "show results", "trier",
    "filtrer", "filtrar", "ordenar", "filtra", "ordina", "фильтр", "сортир", "絞り込", "筛选", "필터", "currency",
    "locale",
)  # fmt: skip
_COMMENT = ("comment", "reply", "respond", "kommentar", "comentario", "коммент", "review")
_FORGOT = ("forgot", "forget", "reset", "recover", "lost password", "lostpassword", "vergessen", "oubli", "olvid", "dimentic")
_STEMS = {
    "search": _SEARCH,
    "login": _LOGIN,
    "register": _REGISTER,
    "contact": _CONTACT,
    "checkout": _CHECKOUT,
    "newsletter": _NEWSLETTER,
    "filter": _FILTER,
    "comment": _COMMENT,
    "forgot": _FORGOT,
}
_GAPLESS = [(kind, stem) for kind, stems in _STEMS.items() for stem in stems if stem[0] > "\u2fff"]
_BY_START: dict[str, list[tuple[str, str]]] = {}
for _kind, _all in _STEMS.items():
    for _stem in _all:
        _BY_START.setdefault(_stem.split()[0][:3], []).append((_kind, _stem))
_WEIGHTS = {
    "search": (0.35, 0.3),
    "login": (0.3, 0.3),
    "register": (0.35, 0.3),
    "contact": (0.3, 0.2),
    "checkout": (0.35, 0.35),
    "newsletter": (0.4, 0.35),
    "filter": (0.35, 0.25),
}
"""For a word that a developer named a thing with, and for one that visitors read."""
_SEARCH_NAMES = frozenset({
    "q", "s", "query", "search", "keyword", "keywords", "k", "kw", "wd", "searchword", "searchterm", "search_query",
    "search_term", "search_block_form", "searchtext", "searchquery", "sq", "suche", "recherche", "buscar", "text",
    "term", "terms", "qs", "field-keywords", "_nkw", "swrd",
})  # fmt: skip
_PAYING = re.compile(
    r"^cc-|(?:^|[_\[.-])(?:card.?(?:number|no|num)|cvc|cvv|cc.?(?:num|exp|cvc)|expir|iban)|cardnumber", re.IGNORECASE
)
_ADDRESSING = re.compile(
    r"(?:^|[ _\[.-])(?:street-address|address-line\d|postal-code|(?:billing|shipping|delivery)[_\[. -])", re.IGNORECASE
)
_TYPED = frozenset({"text", "search", "email", "tel", "url", "textarea", "password", "number"})
_CHOSEN = frozenset({"select", "checkbox", "radio", "range"})


@dataclass(slots=True)
class _Points:
    """Points for one kind, with what gave them."""

    total: float = 0.0
    evidence: list[str] = field(default_factory=list)

    def add(self, points: float, sentence: str) -> None:
        self.total += points
        if points > 0:
            self.evidence.append(sentence)


class Control(NamedTuple):
    """What a control tells of its form."""

    type: str
    name: str
    autocomplete: str = ""


@dataclass(frozen=True, slots=True)
class Seen:
    """What there is to judge a form by."""

    named: str
    """Ids, names, classes and the path of its action, as developers wrote them."""
    shown: str
    """Headings, labels, placeholders and buttons, as visitors read them."""
    fields: tuple[Control, ...]
    is_get: bool
    is_search: bool
    """Whether the form is, or is within, a search landmark."""


@lru_cache(maxsize=32)
def kind_of(seen: Seen) -> tuple[str, float, tuple[str, ...]]:
    """The kind of a form, how sure that is (0 to 1), and why. Pages of a site have the same forms: they are remembered."""
    visible = [one for one in seen.fields if one.type != "hidden"]
    if not visible and not seen.is_search:
        return "other", 0.0, ()
    named, shown = _told(_HUMP.sub(" ", seen.named)), _told(seen.shown)
    points = {kind: _Points() for kind in KINDS}
    for kind, (when_named, when_shown) in _WEIGHTS.items():
        if kind in named:
            points[kind].add(when_named, f"named {named[kind]!r}")
        if kind in shown:
            points[kind].add(when_shown, f"says {shown[kind]!r}")
    _by_fields(points, visible, seen)
    for against in ("comment" in named, "forgot" in named or "forgot" in shown):
        if against:
            for kind in ("contact", "login", "register", "newsletter"):
                points[kind].add(-0.6, "")
    best = max(KINDS, key=lambda kind: points[kind].total)
    total = points[best].total
    if total < _ENOUGH:
        return "other", 0.0, ()
    return best, round(min(1.0, total), 2), tuple(points[best].evidence)


def _told(text: str) -> dict[str, str]:
    """What a text speaks of, each with the first stem that does. Stems stand at the beginnings of words.

    Most words start like no stem; a pattern of all stems takes ten times as long.
    """
    plain = f" {' '.join(text.lower().translate(_GAPS).split())} "
    found: dict[str, str] = {}
    for word in plain.split():
        for kind, stem in _BY_START.get(word[:3], ()):
            if kind not in found and f" {stem}" in plain:
                found[kind] = stem.strip()
    if not plain.isascii():
        for kind, stem in _GAPLESS:
            if kind not in found and stem in plain:
                found[kind] = stem
    return found


def _by_fields(points: dict[str, _Points], visible: list[Control], seen: Seen) -> None:
    types = [one.type for one in visible]
    typed = [one for one in visible if one.type in _TYPED]
    marks = [f"{one.autocomplete} {one.name}" for one in visible]
    passwords, has_area = types.count("password"), "textarea" in types
    mails = [one for one in typed if one.type == "email" or "mail" in one.name.lower()]
    _by_query(points["search"], types, typed, seen)
    _by_password(points, passwords, marks, len(typed))
    if has_area:
        points["contact"].add(0.35, "has a message field")
        points["newsletter"].add(-0.6, "")
        points["filter"].add(-0.6, "")
    if mails and not passwords:
        points["contact"].add(0.15 if has_area else 0.0, "asks for an e-mail address")
        points["newsletter"].add(0.3 if len(typed) <= 3 else 0.0, "asks for little but an e-mail address")
        points["newsletter"].add(0.1 if len(typed) == 1 else 0.0, "asks for nothing else")
        # Who signs up without a password signs up for mail.
        points["newsletter"].add(min(0.2, max(0.0, points["register"].total)), "offers to sign up")
        points["filter"].add(-0.4, "")
        points["search"].add(-0.3, "")
    elif not mails:
        points["newsletter"].add(-0.3, "")
    if any(_PAYING.search(part) for mark in marks for part in mark.split(" ") if part):
        points["checkout"].add(0.7, "asks for a card")
    if any(map(_ADDRESSING.search, marks)):
        points["checkout"].add(0.25, "asks for a delivery or billing address")
    chosen = sum(one in _CHOSEN for one in types)
    if seen.is_get and chosen and not passwords and not has_area:
        points["filter"].add(0.15, "offers choices and changes nothing (GET)")
        if chosen == len(visible):
            points["filter"].add(0.2, "offers nothing but choices")


def _by_query(points: _Points, types: list[str], typed: list[Control], seen: Seen) -> None:
    if seen.is_search:
        points.add(0.7, "is a search landmark")
    if "search" in types:
        points.add(0.5, "has a search field")
    if any(one.name.lower() in _SEARCH_NAMES for one in typed):
        points.add(0.35, "has a field named like a query")
    if "password" in types or "textarea" in types:
        points.add(-0.8, "")


def _by_password(points: dict[str, _Points], passwords: int, marks: list[str], typed: int) -> None:
    if not passwords:
        points["login"].add(-0.2, "")
        points["register"].add(-0.15, "")
        return
    is_new = passwords > 1 or any("new-password" in mark for mark in marks)
    points["register"].add(0.5 if is_new else 0.0, "asks for a new password")
    points["register"].add(0.2 if typed > 3 else 0.0, "asks for more than a name and a password")
    points["login"].add(-0.4 if is_new else 0.55, "asks for one password")
    points["contact"].add(-0.5, "")
    points["newsletter"].add(-0.6, "")
    points["filter"].add(-0.6, "")
