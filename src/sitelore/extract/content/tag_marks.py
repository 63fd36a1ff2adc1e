"""What a tag says of itself: its name, its place in the flow, and what its class, id and role hint at.

`walk.c` is told all of it once; `tag_table` reads tags the same way in Python.
"""

from __future__ import annotations

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

# Words of the trade in class names, ids and roles. Each group is one bit of a tag's marks.
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
LEAST_WITHIN = 5
"""Shorter words do not count within others."""

# Elements that tell a part of the page from the others. Each is one bit.
LANDMARKS = (
    b"main", b"article", b"nav", b"header", b"footer", b"aside", b"table", b"ul", b"ol", b"li", b"dl", b"figure", b"blockquote",
    b"pre", b"form",
)  # fmt: skip
LANDMARK = {tag: 1 << bit for bit, tag in enumerate(LANDMARKS)}
IN_TABLE, IN_PRE = LANDMARK[b"table"], LANDMARK[b"pre"]
# The landmarks and the marks that set what is in them apart from the page's own text.
ASIDE = LANDMARK[b"nav"] | LANDMARK[b"footer"] | LANDMARK[b"aside"]
APART = sum(MARK[group] for group in ("nav", "foot", "side", "comment", "related", "modal", "review", "ad"))
ALL_TAGS = 128
"""As many as there may be numbers of tags."""
