"""The vocabulary of labels: words by which a page tells what stands under them. `wording_features` says how they are used."""

from __future__ import annotations

# Words of labels; translations stand with them where they are unmistakable.
_LABELS = {
    "related": "related similar recommended recommendations recommend also trending popular latest recent recently viewed "
    "bought together pairs picks sponsored promoted advertisement suggested suggestions advertiser verwandte empfohlen "
    "empfehlungen relacionados similaires recommandés correlati gerelateerd",
    "more": "more next read reading previous explore discover see view browse shop keep mehr weitere plus más meer",
    "posts": "stories story posts post articles article news headlines blog blogs artikel beiträge artículos articoli "
    "nachrichten",
    "comment": "comment comments reply replies respond response responses discussion conversation kommentar kommentare "
    "commentaires comentarios comentários commenti reacties",
    "review": "review reviews rating ratings rated stars testimonials customers feedback helpful bewertung bewertungen avis "
    "reseñas opiniones recensioni",
    "letter": "newsletter subscribe subscription signup sign inbox email updates join abonnieren anmelden",
    "share": "share follow tweet facebook twitter linkedin pinterest instagram youtube whatsapp teilen partager compartir",
    "author": "author written posted editor contributor bio by autor auteur autore",
    "tags": "tags tagged categories category topics filed archives schlagwörter kategorien etiquetas",
    "legal": "privacy cookie cookies terms conditions policy policies copyright rights reserved disclaimer legal datenschutz "
    "impressum",
    "about": "description details overview features specifications specs specification summary introduction conclusion "
    "ingredients materials dimensions benefits beschreibung descripción descrizione",
    "faq": "faq faqs questions question answers answer fragen preguntas",
    "shop": "cart checkout shipping delivery returns warranty price quantity wishlist stock add buy versand warenkorb",
    "account": "login log password account register menu search home suche",
    "contact": "contact address phone call location hours directions support help company careers kontakt contacto",
    "refs": "references sources citations notes footnotes bibliography external links quellen",
    "filter": "filter filters sort refine results items products showing",
    "toc": "contents table page inhalt",
}
LABELS = tuple(_LABELS)
LABEL_OF_WORD = {word.encode(): number for number, group in enumerate(LABELS) for word in _LABELS[group].split()}
SINCE = ("related", "comment", "review", "letter", "author", "refs", "legal", "posts", "tags")
SINCE_BITS = tuple(1 << LABELS.index(group) for group in SINCE)
TITLE_NAMES = ("title_said", "title_covered", "title_section", "title_around1", "title_around2", "title_around4", "title_page")
NAMES = (*(f"under_{group}" for group in LABELS), *(f"since_{group}" for group in SINCE), *TITLE_NAMES)
