"""What links and buttons say when they do something: the words, by the action they stand for.

A label counts when it is one of these, or starts with one of the openings; a sentence that only holds such a word is text.
"""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import product

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

_OPENINGS: dict[str, tuple[str, str]] = {
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


LONGEST = 60
"""Characters of a label; what is longer is text."""
_LONGEST_OPENED = 32  # longer than that, it is a sentence
_EDGES = " \t\n.!…»\u203a→>+:"
_CASES = {"k": "kK\u212a", "å": "åÅ\u212b"}  # the signs for kelvin and ångström are letters too
_STARTS = frozenset(
    "".join(letters)
    for said in (*EXACT, *OPENINGS)
    for letters in product(*[_CASES.get(letter, {letter, letter.upper()}) for letter in said[:3]])
)
"""How labels begin, in upper and lower case: to change the case of every link's text takes longer than to look it up."""
_ODD_STARTS = frozenset({"", *_EDGES, *(said[0] for said in EXACT if len(said) < 3)})


def may_be_action(label: str) -> bool:
    """Whether `action_of` is worth asking; so of one label in ten."""
    lowered = label.lower().strip(_EDGES)
    return lowered in EXACT or lowered.partition(" ")[0] in OPENINGS


def worth_asking(labels: list[str]) -> list[int]:
    """Places of the labels that may stand for an action, or are empty: most labels start like none."""
    begun = [at for at, label in enumerate(labels) if label[:3] in _STARTS or label[:1] in _ODD_STARTS]
    return [at for at in begun if not (label := labels[at]) or (len(label) <= LONGEST and may_be_action(label))]


@lru_cache(maxsize=256)
def action_of(label: str) -> str:
    """The action a label stands for; empty for most labels."""
    lowered = label.lower().strip(_EDGES)
    if name := EXACT.get(lowered):
        return name
    opening = OPENINGS.get(lowered.partition(" ")[0]) if len(lowered) <= _LONGEST_OPENED else None
    return opening[1] if opening is not None and opening[0].match(lowered) else ""
