"""The vocabulary of the block scorer: tag numbers, words in class names and ids, words of labels, and the names of all
features.

The compiled scorer (`native/scoring`) gets these tables once per process (`block_scorer`); the trained model depends on their
order, so a change here needs a new training (`make train-content`).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

INLINE = frozenset(
    b"a abbr acronym area b bdi bdo big blink br cite code data del dfn em font i img input ins kbd label mark math mfrac mi "
    b"mn mo mrow msqrt msub msup mtext nobr picture q rb rp rt rtc ruby s samp semantics small source span strike strong sub "
    b"sup time track tt u var wbr _md".split()
)
VOID = frozenset(b"area base br col embed hr img input link meta param source track wbr".split())
TAGS = tuple(
    b"div p li ul ol h1 h2 h3 h4 h5 h6 td th tr table dl dt dd pre blockquote figure figcaption article section main aside nav "
    b"header footer form fieldset details summary a img b strong em code span body address tbody thead caption hr br label "
    b"time".split()
)
TAG_NUMBER = {tag: number + 1 for number, tag in enumerate(TAGS)}

# Words that web pages use in class names, ids and roles. Each group is one bit of an element's marks.
_GROUPS = {
    "nav": "nav navbar navigation menu submenu megamenu topbar toolbar tabs tab breadcrumb breadcrumbs crumb",
    "head": "header masthead banner top",
    "foot": "footer bottom copyright legal colophon",
    "side": "sidebar aside rail secondary side widget widgets",
    "comment": "comment comments disqus reply replies respond discussion",
    "related": "related recommend recommended recommendation recommendations similar suggested suggestion also upsell "
    "crosssell more next trending popular latest recirc mostread read readmore recent",
    "share": "share sharing social socials follow addthis sharedaddy facebook twitter",
    "ad": "ad ads advert advertisement sponsor sponsored promo promotion outbrain taboola dfp adslot promoted",
    "modal": "modal popup overlay lightbox dialog drawer offcanvas tooltip dropdown flyout toast cookie "
    "cookies consent gdpr onetrust",
    "page": "pagination pager paging pages prev previous",
    "author": "author byline bio contributor avatar profile user",
    "meta": "meta date time timestamp published info credit credits views stats",
    "tags": "tag tags category categories topic topics labels keywords",
    "form": "newsletter subscribe signup subscription email optin form login signin search input register auth account",
    "cart": "cart basket checkout wishlist buy purchase add quantity shipping delivery sku",
    "review": "review reviews rating ratings stars star testimonial testimonials feedback",
    "filter": "filter filters facet facets sort sorting refine refinement swatch variant variants option options selector",
    "carousel": "carousel slider slideshow swiper slick gallery slide thumb thumbnail thumbnails",
    "card": "card cards tile tiles grid teaser item items product products list listing results result",
    "price": "price prices pricing cost sale discount",
    "caption": "caption figcaption",
    "hidden": "hidden sr visually screenreader print noprint mobile desktop skip offscreen assistive hide collapse collapsed",
    "toc": "toc tableofcontents contents outline anchor",
    "action": "cta button btn action actions callout download",
    "body": "articlebody entry prose richtext rte markdown storybody bodytext postbody wysiwyg article story post single body "
    "text copy paragraph",
    "content": "content main primary maincontent page center central",
    "about": "description desc summary details detail overview specification specifications spec specs features about excerpt "
    "intro lead abstract dek",
    "faq": "faq faqs accordion question answer questions answers qa thread message messages",
    "doc": "doc docs documentation api reference guide wiki mw rst highlight code",
    "hero": "hero jumbotron splash cover title heading headline",
    "vote": "helpful vote votes voting like likes upvote score report flag edit editsection",
    "place": "map hours location locations directions contact phone tel language languages locale country region logo "
    "brand icon",
}
GROUPS = tuple(_GROUPS)
MARK = {group: 1 << number for number, group in enumerate(GROUPS)}
MARK_OF_WORD: dict[bytes, int] = {}
for _group, _words in _GROUPS.items():
    for _word in _words.encode().split():
        MARK_OF_WORD[_word] = MARK_OF_WORD.get(_word, 0) | MARK[_group]
_ROLE_WORDS = {b"navigation": "nav", b"banner": "head", b"contentinfo": "foot", b"complementary": "side", b"search": "form"}
MARK_OF_WORD.update({word: MARK[group] for word, group in _ROLE_WORDS.items()})
SHORTEST_PART = 5
"""Shorter mark words do not count inside longer words."""

# Elements that divide a page into parts. Each is one bit.
LANDMARKS = (
    b"main", b"article", b"nav", b"header", b"footer", b"aside", b"table", b"ul", b"ol", b"li", b"dl", b"figure", b"blockquote",
    b"pre", b"form",
)  # fmt: skip
LANDMARK = {tag: 1 << bit for bit, tag in enumerate(LANDMARKS)}
# Landmarks and marks that set a block apart from the page's own text.
SECONDARY_LANDMARKS = LANDMARK[b"nav"] | LANDMARK[b"footer"] | LANDMARK[b"aside"]
SECONDARY_MARKS = sum(MARK[group] for group in ("nav", "foot", "side", "comment", "related", "modal", "review", "ad"))
TAG_NUMBERS = 128
"""Tag numbers are below this."""

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
COUNTED_LABELS = ("related", "comment", "review", "letter", "author", "refs", "legal", "posts", "tags")
COUNTED_LABEL_BITS = tuple(1 << LABELS.index(group) for group in COUNTED_LABELS)
"""Groups for which the distance to the last label is a feature."""

BYTE_CLASSES = {
    0: b"\t\n\v\f\r ",  # what `bytes.split` splits at
    2: b"0123456789",
    3: b"!.?",
    4: b",;",
    5: b"|\xbb",
    6: b"@\xa9",
    7: b"$\x82",
}
"""Bytes by class, as `sitelore_native.h` numbers them; all others are of class 1."""
BOLD = (b"b", b"strong", b"em")
_ROOTS = ("root0.4", "root0.6", "root0.8", "own_root0.5", "own_root0.7", "own_words0.5", "own_words0.7")


def _with(names: Sequence[str], parts: str) -> list[str]:
    return [f"{name}_{part}" for name in names for part in parts.split()]


def _split(text: str) -> list[str]:
    return text.split()


def _names() -> tuple[str, ...]:
    steps = ("-2", "-1", "+1", "+2")
    return tuple(
        chain(
            _split("tag outer heading level words linked word_length digits stops commas bars signs currency"),
            _split("links images breaks bold ends_with begins_with"),
            [f"{what}{step}" for step in steps for what in ("words", "linked", "tag")],
            ["heading-1", "heading+1"],
            [f"{what}_within{reach}" for reach in (3, 8, 20) for what in ("good", "linked", "words")],
            _split("good_after8 good_before8 to_next_good to_previous_good to_next_long to_previous_long"),
            _split("place words_place good_left good_before good_after"),
            _with(["section"], "words good good_share linked blocks level number"),
            _split("sections_left since_heading words_since_heading"),
            [f"named_{group}" for group in GROUPS],
            [f"in_{tag.decode()}" for tag in LANDMARKS],
            _with([f"around{step}" for step in (1, 2, 3, 5)], "share good_share linked blocks good"),
            _split("cards card_tag card_words card_linked card_place cards_share cards_good_share cards_linked cards_mean"),
            _with(["holder"], "tag good_share linked good blocks stops"),
            _with(_ROOTS, "blocks words to_end linked share"),
            _split("marked marked_share marked_to_end marked_from_start"),
            _split("titles title_blocks title_words title_share title_steps copy copies"),
            _split("alike alike_share alike_good_share alike_linked alike_mean alike_span since_first_alike"),
            _with(
                ["page"], "words good linked blocks headings paragraphs articles code currency good_blocks good_mean longest"
            ),
            [f"under_{group}" for group in LABELS],
            [f"since_{group}" for group in COUNTED_LABELS],
            _split("title_said title_covered title_section title_around1 title_around2 title_around4 title_page"),
        )
    )


FEATURE_NAMES = _names()
"""The features of a block, in the order in which `features.c` and `wording.c` compute them."""
