"""What a tag says of itself: its name, its place in the flow, and what its class, id and role hint at.

Read once per distinct tag and kept in tables that numpy can look a whole page up in: a site writes the same few hundred
tags on every page. What is remembered never shows in a result, only in its cost.
"""

from __future__ import annotations

import re
import zlib

import numpy as np
from numpy.typing import NDArray

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
_LONG_WORDS = sorted((word for word in MARK_OF_WORD if len(word) >= LEAST_WITHIN), key=lambda word: (-len(word), word))
_LONG_WORD = re.compile(b"|".join(_LONG_WORDS))  # also within words that have no joint: `sitefooter`
_SHORT_COMPOUND = 6
_NAMES = re.compile(rb' (?:class|id|role|itemprop|data-testid|data-component|data-qa)="([^"]*)"')
_WORD = re.compile(rb"[A-Z]?[a-z]+|[A-Z]+")
_DIGITS = re.compile(rb"[0-9]+")
_NAMES_BYTES = 400
_MAX_TAGS = 30_000


class _Marks(dict[bytes, int]):
    """The marks of one word of a name."""

    def __missing__(self, word: bytes) -> int:
        plain = word.lower()
        marks = MARK_OF_WORD.get(plain, 0)
        if not marks and len(plain) >= _SHORT_COMPOUND:
            for part in _LONG_WORD.findall(plain):
                marks |= MARK_OF_WORD[part]
        self[word] = marks
        return marks


class TagTable(dict[bytes, int]):
    """A tag as it stands between `<` and `>` → its row in the columns below."""

    def __init__(self) -> None:
        super().__init__()
        self._forget()

    def _forget(self) -> None:
        self.clear()
        self._rows: dict[tuple[bytes, bytes], int] = {}
        self._marks = _Marks()
        self.step: NDArray[np.int8] = np.zeros(0, np.int8)
        """+1 where an element begins, -1 where it ends, 0 for one that cannot hold anything."""
        self.number: NDArray[np.int8] = np.zeros(0, np.int8)
        self.breaks: NDArray[np.bool_] = np.zeros(0, np.bool_)
        """Whether it ends a block of text."""
        self.opens: NDArray[np.bool_] = np.zeros(0, np.bool_)
        self.marks: NDArray[np.int64] = np.zeros(0, np.int64)
        self.signature: NDArray[np.int64] = np.zeros(0, np.int64)
        self._grow(2048)

    def _grow(self, rows: int) -> None:
        for name in ("step", "number", "breaks", "opens", "marks", "signature"):
            column = getattr(self, name)
            setattr(self, name, np.concatenate([column, np.zeros(rows - len(column), column.dtype)]))

    def rows(self, tags: list[bytes]) -> NDArray[np.intp]:
        """The row of every tag of a page."""
        if len(self) > _MAX_TAGS:
            self._forget()
        return np.fromiter(map(self.__getitem__, tags), np.intp, len(tags))

    def __missing__(self, tag: bytes) -> int:
        name = tag.partition(b" ")[0]
        # What a link or an image is called is never asked for, and every one of them is another tag.
        names = b" ".join(_NAMES.findall(tag))[:_NAMES_BYTES] if b'="' in tag and name not in INLINE else b""
        row = self._rows.get((name, names))
        if row is None:
            row = self._rows[name, names] = self._learn(name, names)
        self[tag] = row
        return row

    def _learn(self, name: bytes, names: bytes) -> int:
        row = len(self._rows)
        ends = name[:1] == b"/"
        name = name.removeprefix(b"/")
        if row >= len(self.step):
            self._grow(2 * row)
        marks = 0
        for word in _WORD.findall(names):
            marks |= self._marks[word]
        self.step[row] = -1 if ends else 0 if name in VOID else 1
        self.number[row] = TAG_NUMBER.get(name, 0)
        self.breaks[row] = name not in INLINE
        self.opens[row] = not ends
        self.marks[row] = marks
        self.signature[row] = zlib.crc32(name + b"|" + _DIGITS.sub(b"", names))
        return row
