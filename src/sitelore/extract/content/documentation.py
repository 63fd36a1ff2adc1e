"""Selects the content region of documentation, without its navigation.

Manuals and reference pages are written to be read whole, and their see-also boxes, index tables and short definitions look like
navigation to a scorer trained on the open web. So nothing is cut from them but units that are clearly navigation.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import accumulate, chain, islice, takewhile
from operator import mul
from urllib.parse import unquote

from sitelore.extract import dom
from sitelore.extract.content.block_scorer import LINK, ScoredPage, Units
from sitelore.extract.content.selection import Cut, Selection, mark_bits, tag_bits, threshold_of
from sitelore.extract.content.vocabulary import LANDMARK, MARK_OF_WORD, SHORTEST_PART, TAG_NUMBER

_GENERATOR = re.compile(
    r"asciidoc|bookdown|crystal docs|docbook|docfx|docsify|docusaurus|docutils|dokka|doxygen|exdoc|gi-docgen|gitbook|gtk-doc"
    r"|haddock|hevea"
    r"|javadoc|jsdoc|latex2html|latexml|makeinfo|mdbook|mintlify|mkdocs|odoc|pandoc|publican|quarto|rdoc|rustdoc|scaladoc"
    r"|sphinx|starlight|tex4ht|texi2|typedoc|vitepress|vuepress|yard\b",
    re.IGNORECASE,
)
_FORUM = re.compile(
    r"discourse|flarum|fluxbb|invision|mybb|nodebb|phpbb|smf\b|simple machines|vbulletin|vanilla forums|xenforo", re.IGNORECASE
)
_DOCUMENTATION_HOSTS = frozenset({"doc", "docs", "documentation", "manual", "readthedocs"})
_DOCUMENTATION_FOLDERS = _DOCUMENTATION_HOSTS | {"api", "apidoc", "apidocs", "handbook", "javadoc", "manuals", "reference"}
_DOCUMENTATION_NAMES = (
    ".bd-article,.devsite-article-body,.doc-content,.docs-content,.docs-main,.docstring,.md-content,.nextra-toc,.rst-content"
    ",.sl-markdown-content,.td-content,.theme-doc-markdown,.toctree-wrapper,.vp-doc"
)
"""Classes by which documentation generators and their themes name parts of the content."""
_SOCIAL = ("og:", "twitter:", "fb:")
_COMMERCE = mark_bits("share", "ad", "cart", "review", "price", "carousel")
_CROWD = (*(mark_bits(group) for group in ("share", "ad", "cart", "review", "price", "carousel", "comment", "related")),)
_AUTHOR = mark_bits("author")
_OF_INTEREST = _COMMERCE | _AUTHOR | mark_bits("comment", "related")
_MANY_AUTHORS = 3
_FEW_CROWD_MARKS = 2
_REFERENCE_SHARE = 0.1
_SURE_F1 = 0.65
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")
_HASH = re.compile(r"(?<![A-Za-z0-9])(?=[a-f]*\d)[0-9a-f]{8,}(?![A-Za-z0-9])")
"""Part of a name that a generator computed; letters in it spell no word."""
_MARK_OF_NAME = {word.decode(): marks for word, marks in MARK_OF_WORD.items()}
_MARK_OF_PART = {word: marks for word, marks in _MARK_OF_NAME.items() if len(word) >= SHORTEST_PART}
"""Words that count inside longer ones."""

_ARTICLE, _MAIN = TAG_NUMBER[b"article"], TAG_NUMBER[b"main"]
_FRAME_TAGS = frozenset({TAG_NUMBER[b"nav"], TAG_NUMBER[b"footer"]})
_BODY = TAG_NUMBER[b"body"]
_REFERENCE_TAGS = frozenset({TAG_NUMBER[b"pre"], TAG_NUMBER[b"dl"]})
_NAV_TAG = tag_bits(b"nav")
_EDGE_TAGS = tag_bits(b"footer", b"form")
_ASIDE_TAG, _PARAGRAPH_TAG = tag_bits(b"aside"), tag_bits(b"p")
_BANNER_MARKS = mark_bits("ad", "modal")
_CONTENT_TAGS = frozenset(TAG_NUMBER[tag] for tag in (b"dl", b"p", b"pre", b"section"))
_TABLE_TAGS = frozenset(TAG_NUMBER[tag] for tag in (b"table", b"tbody", b"tr", b"td", b"th"))
_ITEM_TAGS = frozenset(TAG_NUMBER[tag] for tag in (b"li", b"td", b"th"))
_IN_TABLE, _IN_REFERENCE = LANDMARK[b"table"], LANDMARK[b"dl"] | LANDMARK[b"pre"]
_IN_TABLE_OR_CODE = _IN_TABLE | LANDMARK[b"pre"]
_HEADER = TAG_NUMBER[b"header"]
_PARTS = frozenset(TAG_NUMBER[tag] for tag in (b"article", b"section", b"main", b"body"))
_NAV_ROLES = frozenset({"navigation", "search", "banner", "contentinfo", "menu", "menubar", "complementary", "toolbar"})
_REGION_NAMES = frozenset({
    "apicontent", "article-body", "body", "col-content", "content", "contents", "doc-content", "docs-content", "document",
    "entry-content",
    "main", "main-content", "maincontent", "markdown-body", "md-content", "md-content__inner", "mw-content-text",
    "mw-parser-output", "page-content", "post-content", "rst-content", "theme-doc-markdown",
})  # fmt: skip
"""Classes and ids by which documentation generators and publishing systems name the content."""
_CERTAIN_NAVIGATION = re.compile(
    r"(?:^|\s)(?:nav|nav(?:bar|igate|igation|header|footer|links|tabs|menu)|nav-(?:panel|bar|header|footer|links)|docnav"
    r"|(?:\w+-)?breadcrumbs?"
    r"|(?:top|sub|bottom|side|main|site|global|fixed)-?nav(?:bar|igation)?"
    r"|bread-crumbs?|pagination|pager|prev-?next|sphinxsidebar\w*|skip-?(?:links?|nav|to-content)|footer|bottom|page-?footer"
    r"|colophon|(?:pre|site|article|docs?)-?footer|(?:page|doc)-?feedback"
    r"|feedback-{1,2}(?:prompt|form|box|section|question|response)|was-?this-?helpful|search-?(?:box|bar|form)"
    r"|mbrsel|member-?(?:filter|selector)|logo|tagline|slogan|site-?(?:logo|name|tagline)"
    r"|version-?(?:switch\w*|select\w*)|edit-?(?:page|this-?page|on-?github)|sr-only|visually-?hidden)(?:$|\s)",
    re.IGNORECASE,
)
"""Names of navigation and of the edges of a page, whatever is in them."""
_PAGE_HEADER = r"(?:^|\s)(?:(?:page|site|main|top|global|app)[_-]?)?header(?:$|[\s_-])"
"""Names of the header of a page: `method-header` is the header of something in it."""
_NAVIGATION = re.compile(
    r"(?:^|[\s_-])(?:nav\w*|crumbs?|menu(?:bar)?|toolbar|sidebar|side-?nav|related|prev\w*|next\w*)(?:$|[\s_-])"
    rf"|{_PAGE_HEADER}",
    re.IGNORECASE,
)
"""Names of navigation, where most of its words are links."""
_BAR = re.compile(rf"(?:^|[\s_-])(?:nav\w*|docnav|prev\w*|next\w*)(?:$|[\s_-])|{_PAGE_HEADER}", re.IGNORECASE)
"""Names of bars such as "Next: Modules, Up: Contents", where less is linked."""
_CONTENTS = re.compile(
    r"(?:^|\s)(?:toc|toc-\w+|contents|contents-list|table-?of-?contents|local-?toc|page-?toc)(?:$|\s)", re.IGNORECASE
)
"""Names of tables of contents."""
_NOTES = re.compile(r"(?:^|\s)(?:foot|end)-?notes?(?:$|\s)", re.IGNORECASE)
_DIRECTION = r"(?:prev(?:ious)?|next|up)"
_DIRECTIONS = re.compile(
    rf"(?:[\W_]*(?:{_DIRECTION}|home|top|contents|table of contents|index|page|chapter|section))*[\W_]*", re.IGNORECASE
)
"""All of a bar such as "previous | up | next"."""
_ONE_DIRECTION = re.compile(_DIRECTION, re.IGNORECASE)
_FIRST_DIRECTION = re.compile(rf"(?i:\W*{_DIRECTION}\s*:)|(?:Previous|Next)[A-Z]")
"""How a bar such as "Next: Modules, Up: Contents" or a link with a label above its title begins."""
_SOURCES = re.compile(
    r"(?:[\W_]*(?:view |show |see )?(?:source(?: code)?|src|edit|edit (?:on|in) git(?:hub|lab)|edit (?:this|the) page"
    r"|improve this (?:doc|page)))+[\W_]*",
    re.IGNORECASE,
)
"""All of the links beside a signature or below a page that lead to its source."""
_CONTROL = re.compile(
    rb"\W*(?:(?:link |code |url )?copied(?: to (?:the )?clipboard)?|(?:on|in) this (?:page|article)"
    rb"|(?:was|is) this (?:\w+ )?(?:helpful|useful)(?: to you)?)\W*",
    re.IGNORECASE,
)
"""What a button says after a click, titles of tables of contents, and questions about the page."""
_CONTROL_WORDS = 8
_PICTURED = re.compile(rf"\W*(?:{_DIRECTION}|home|top|contents|toc|index|summary|search|help)\W*", re.IGNORECASE)
"""The whole text that means the picture of an arrow."""
_LOGO_ANCESTORS = 3
_PERMALINK_ANCESTORS, _PERMALINK_NODES = 5, 50
_HEADER_ANCESTORS = 20
_WHOLE_PAGE = frozenset({"main", "body", "html"})
_LOGO = re.compile(r"(?:^|[\s_-])logo(?:$|[\s_-])", re.IGNORECASE)
_STRONG_SHARE, _NAMED_SHARE, _ALIKE_SHARE, _ARTICLE_SHARE, _DENSEST_SHARE = 0.3, 0.6, 0.9, 0.6, 0.9
_MANY_LINKS = 0.5
_MOSTLY_LINKS = 0.6
_NOTHING_BUT_LINKS = 0.85
_CONTENTS_LINKS = 0.4
_ALL_CONTENTS = 0.9  # a page that is nothing but its table of contents
_BAR_LINKS, _BAR_WORDS = 0.3, 60
_PROSE_WORDS = 30
_EDGE_SHARE, _LARGE_EDGE_SHARE = 0.3, 0.75
_UNLIKELY = 0.3
_CERTAINLY_NOT = 0.05
_UNLIKELY_OUTSIDE = 0.05
_MENU_WORDS = 20
_LINK_CHARS = 50  # that take as long to read as a link
_MAX_LINKS = 20_000  # read for contents: links that nest would be read once for every level
_TITLE_WORDS = 60
_CONTENTS_REASON, _SOURCE_REASON = "a table of contents", "links to the source"


@dataclass(frozen=True, slots=True)
class PageFacts:
    """What a page's head and its URL say about the kind of page it is."""

    metas: Sequence[tuple[str, str]] = ()
    """Name, in lower case, and content of each `meta`."""
    has_json_ld: bool = False
    host: str = ""
    path: str = ""

    @property
    def is_generated(self) -> bool:
        """Whether a documentation generator says that it wrote the page."""
        return any(name == "generator" and _GENERATOR.search(content) for name, content in self.metas)

    @property
    def is_forum(self) -> bool:
        """Whether forum software says that it wrote the page."""
        return any(name == "generator" and _FORUM.search(content) for name, content in self.metas)

    @property
    def is_among_documentation(self) -> bool:
        """Whether the page's host or a folder of its path is named after documentation."""
        folders = self.path.rpartition("/")[0].lower().split("/")
        return not _DOCUMENTATION_HOSTS.isdisjoint(self.host.split(".")) or not _DOCUMENTATION_FOLDERS.isdisjoint(folders)

    @property
    def is_promoted(self) -> bool:
        """Whether the page describes itself to social networks and search engines, which manuals hardly do."""
        return self.has_json_ld or any(name.startswith(_SOCIAL) for name, _ in self.metas)


NO_FACTS = PageFacts()


def is_documentation(facts: PageFacts, page: ScoredPage, elements: list[dom.Element]) -> bool:
    """Whether a page is documentation.

    A generator wrote it, its URL or its markup says so, it is plain and sells nothing, or it is full of code or terms.
    """
    if facts.is_generated or facts.is_forum:
        return facts.is_generated
    is_among = facts.is_among_documentation
    is_reference = _reference_share(page) >= _REFERENCE_SHARE and threshold_of(page.blocks.words, page.scores)[1] >= _SURE_F1
    if not is_among and facts.is_promoted:
        is_among = bool(dom.select(elements[0], _DOCUMENTATION_NAMES))
        if not is_reference and not is_among:
            return False
    names = Counter(_marked_names(page, elements))
    marks = {name: _marks_of(name) for name in names}
    # Posts of many authors are a discussion.
    if any(names[name] >= _MANY_AUTHORS for name, mark in marks.items() if mark & _AUTHOR):
        return False
    if is_among:
        return True
    page_marks = 0
    for mark in marks.values():
        page_marks |= mark
    is_plain = not facts.is_promoted and not page_marks & _COMMERCE
    return is_plain or (is_reference and sum(1 for group in _CROWD if page_marks & group) <= _FEW_CROWD_MARKS)


def _reference_share(page: ScoredPage) -> float:
    """The share of words in code blocks and definition lists."""
    elements, reference_words, end = page.elements, 0, 0
    if _REFERENCE_TAGS.isdisjoint(elements.tag):
        return 0.0
    words = [0, *accumulate(page.blocks.words)]
    for tag, first, last in zip(elements.tag, elements.first, elements.last, strict=True):
        if tag in _REFERENCE_TAGS and first >= end:
            reference_words += words[last] - words[first]
            end = last
    return reference_words / max(1, words[-1])


def _marked_names(page: ScoredPage, elements: list[dom.Element]) -> Iterable[str]:
    """Class and role of the elements that may have a mark of interest. Ids do not count: they spell the text of headings."""
    order = page.elements.order
    for row, marks in enumerate(page.elements.marks):
        if marks & _OF_INTEREST:
            attr = elements[order[row]].attr
            yield f"{attr('class') or ''} {attr('role') or ''}"


@lru_cache(maxsize=4096)
def _marks_of(names: str) -> int:
    marks = 0
    for word in _WORD.findall(_HASH.sub("", names)):
        marks |= _marks_of_word(word.lower())
    return marks


@lru_cache(maxsize=4096)
def _marks_of_word(word: str) -> int:
    word_marks = _MARK_OF_NAME.get(word, 0)
    for part, marks in _MARK_OF_PART.items():
        if part in word:
            word_marks |= marks
    return word_marks


def select_documentation(page: ScoredPage, units: Units, elements: list[dom.Element]) -> Selection:
    """The content region of a page of documentation, without navigation."""
    return _Documentation(page, units, elements).select()


class _Documentation:
    def __init__(self, page: ScoredPage, units: Units, elements: list[dom.Element]) -> None:
        self._page, self._units = page, units
        self._attr = [elements[order].attr for order in page.elements.order]
        self._mass = [0.0, *accumulate(map(mul, page.scores, page.blocks.words))]
        self._elements = elements
        self._headings = [0, *accumulate([level > 0 for level in page.heading])]
        self._references = [0, *accumulate([bits & _IN_REFERENCE > 0 for bits in page.landmarks])]
        """Running counts of headings, and of blocks in code or definition lists."""
        self._links_left = _MAX_LINKS
        prose = self._prose()
        region = self._named_region(prose)
        self._is_named = region is not None
        if region is None:
            region = self._densest(prose)
        self._first, self._last, self._parent = (
            column[region] for column in (page.elements.first, page.elements.last, page.elements.parent)
        )

    def select(self) -> Selection:
        units = self._units
        kept = [False] * len(self._page.heading)
        cuts = []
        title_first, title_last = self._title_range()
        open_units = [(0, False)]
        while open_units:
            unit, is_accepted = open_units.pop()
            first, last = units.first[unit], units.last[unit]
            # Between the title and the region stand a summary, a signature, the path of an endpoint.
            is_accepted = is_accepted or 0 < title_last <= first < last <= self._first
            is_outside = not is_accepted and (last <= self._first or first >= self._last)
            reason = self._reason(unit, is_outside=is_outside) if unit else ""
            if reason:
                cuts.append(Cut(first, last, units.element[unit], reason))
                continue
            is_accepted = is_accepted or is_outside or (first >= self._first and last <= self._last)
            for begin, end, level in units.own[unit]:
                is_inside = begin >= self._first and end <= self._last
                is_heading = level > 0 and not self._is_named
                if is_accepted or is_inside or is_heading or self._is_likely_text(begin, end):
                    kept[begin:end] = [True] * (end - begin)
            # A dialog after the last section is a child of it, and judged by itself.
            is_continued = is_outside and self._is_named
            open_units += [
                (child, is_accepted and not (is_continued and self._has_heading(child))) for child in units.children[unit]
            ]
        kept[title_first:title_last] = [True] * (title_last - title_first)
        cuts = [cut for cut in cuts if cut.first < title_first or cut.last > title_last]
        cuts += self._drop_controls(kept)
        self._drop_contents_headings(kept, cuts)
        return Selection(kept, cuts, dropped=self._pictured_bars(), is_named=self._is_named)

    def _drop_controls(self, kept: list[bool]) -> list[Cut]:
        """Drop the kept blocks that are nothing but controls: bars to the pages before and after, links to the source."""
        blocks, text = self._page.blocks, self._page.text
        cuts = []
        for block, (words, linked) in enumerate(zip(blocks.words, blocks.linked, strict=True)):
            if not kept[block] or words > _BAR_WORDS:
                continue
            shown = text[blocks.begin[block] : blocks.end[block]]
            if linked >= _BAR_LINKS * words > 0:
                reason = _control_reason(shown.decode("utf-8", "replace"))
                # An item or a cell with one link is the text of its list or table.
                if reason == _SOURCE_REASON and self._page.elements.tag[blocks.element[block]] in _ITEM_TAGS:
                    continue
            else:
                reason = "a control" if words <= _CONTROL_WORDS and _CONTROL.fullmatch(shown) else ""
            if reason:
                kept[block] = False
                cuts.append(Cut(block, block + 1, blocks.element[block], reason))
        return cuts

    def _drop_contents_headings(self, kept: list[bool], cuts: list[Cut]) -> None:
        """Drop the headings of tables of contents that were cut, where nothing else is under them."""
        levels = self._page.heading
        for cut in cuts:
            heading = cut.first - 1
            if cut.reason != _CONTENTS_REASON or heading < 0 or not levels[heading]:
                continue
            following = next((levels[block] for block in range(cut.last, len(kept)) if kept[block]), 1)
            kept[heading] = kept[heading] and not 0 < following <= levels[heading]

    def _pictured_bars(self) -> list[int]:
        """Rows of the elements that hold nothing but pictures of arrows to other pages or to the top of this one, or logos."""
        rows, bars = self._page.elements, list[int]()
        for row, (first, last, order) in enumerate(zip(rows.first, rows.last, rows.order, strict=True)):
            up = max(rows.parent[row], 0)
            if first != last or rows.first[up] == rows.last[up] or self._links_left < 0:
                continue
            pictures = dom.elements_list(self._elements[order], "img")
            self._links_left -= len(pictures)
            if pictures and all(dom.is_inside(picture, "a") and _leads_away(picture) for picture in pictures):
                bars.append(row)
        return bars

    def _is_likely_text(self, first: int, last: int) -> bool:
        """Whether loose text outside a region that nothing names may be content all the same."""
        words = sum(self._page.blocks.words[first:last])
        return not self._is_named and self._mass[last] - self._mass[first] >= _UNLIKELY_OUTSIDE * words

    def _named_region(self, text: list[int]) -> int | None:
        """Row of the element that is the content: `main` or an article, else one with a name that is known for it.

        Of nested ones with about the same text, the innermost. `text` is the running count of prose.
        """
        rows = self._page.elements
        strong, named, articles = [], [], []
        for row, (first, last, tag) in enumerate(zip(rows.first, rows.last, rows.tag, strict=True)):
            if first == last or tag == _BODY:
                continue
            candidate = (text[last] - text[first], first - last, row)
            attr = self._attr[row]
            if tag == _MAIN or (attr("role") or "").lower() == "main":
                strong.append(candidate)
            elif tag == _ARTICLE:
                articles.append(candidate)
            elif (attr("id") or "").lower() in _REGION_NAMES or not _REGION_NAMES.isdisjoint(
                (attr("class") or "").lower().split()
            ):
                named.append(candidate)
        whole = text[-1]
        if articles and max(articles)[0] >= _ARTICLE_SHARE * whole:
            # Without `main`, an article may be one entry of a region that a name tells.
            (strong if strong or not named else named).extend(articles)
        for candidates, least in ((strong, _STRONG_SHARE), (named, _NAMED_SHARE)):
            most = max((size for size, _, _ in candidates), default=-1)
            if most >= least * whole:
                return max((length, row) for size, length, row in candidates if size >= _ALIKE_SHARE * most)[1]
        return None

    def _densest(self, text: list[int]) -> int:
        """Row of the innermost element that holds nearly all prose."""
        rows = self._page.elements
        wide = [row for row in range(len(rows)) if text[rows.last[row]] - text[rows.first[row]] >= _DENSEST_SHARE * text[-1]]
        return wide[-1] if wide else 0

    def _prose(self) -> list[int]:
        """Running count of words that are neither in links nor in navigation or a footer."""
        page = self._page
        counts = [count - linked for count, linked in zip(page.blocks.words, page.blocks.linked, strict=True)]
        rows = page.elements
        end = 0
        for row, (first, last, tag) in enumerate(zip(rows.first, rows.last, rows.tag, strict=True)):
            if first >= end and (tag in _FRAME_TAGS or (self._attr[row]("role") or "").lower() in _NAV_ROLES):
                counts[first:last] = [0] * (last - first)
                end = last
        return [0, *accumulate(counts)]

    def _reason(self, unit: int, *, is_outside: bool) -> str:
        """Why a unit is cut; empty where it stays."""
        units = self._units
        first, last, row = units.first[unit], units.last[unit], units.element[unit]
        if is_outside and not (self._is_continued(unit) if self._is_named else self._is_likely(unit)):
            return "outside the content region"
        if units.kind[unit] == LINK and self._mass[last] - self._mass[first] < _CERTAINLY_NOT * units.words[unit]:
            return "" if self._is_permalink_alone(first) else "a link between elements"
        if row < 0 or (first <= self._first and last >= self._last):
            return ""
        words, tags, tag = units.words[unit], units.tags[unit], self._page.elements.tag[row]
        attr, name = self._attr[row], self._name(row)
        if tags & _NAV_TAG or (attr("role") or "").lower() in _NAV_ROLES:
            return "navigation by its tag or role"
        score = (self._mass[last] - self._mass[first]) / words
        # On a page with little text, a footer may be most of it.
        is_small = words <= (_EDGE_SHARE if score >= _UNLIKELY else _LARGE_EDGE_SHARE) * units.words[0]
        is_edge = (tags & _EDGE_TAGS and score < _UNLIKELY) or (tag not in _CONTENT_TAGS and self._is_named_navigation(row))
        # The header of an article holds its title, and one of a part of it what that part is about.
        is_header = tag == _HEADER and score < _CERTAINLY_NOT and self._headings[first] == self._headings[last]
        is_edge = is_edge or (is_header and not self._is_inner_header(row))
        if is_small and is_edge:
            return "navigation, a footer or a form"
        is_secondary = tags & _ASIDE_TAG or _marks_of(attr("class") or "") & _BANNER_MARKS
        if is_small and is_secondary and not self._is_named and score < _UNLIKELY:
            return "an aside or a banner"
        reason = self._link_reason(unit, units.linked[unit], name, score)
        own = self._permalink_words(row) if reason else 0
        return self._link_reason(unit, max(0, units.linked[unit] - own), name, score) if own else reason

    def _link_reason(self, unit: int, linked: int, name: str, score: float) -> str:
        """Why a unit is cut because of its links, with so many words in them; empty where it stays."""
        units = self._units
        first, last, words = units.first[unit], units.last[unit], units.words[unit]
        tag = self._page.elements.tag[units.element[unit]]
        is_named = tag not in _CONTENT_TAGS and _NAVIGATION.search(name) and ("nav" in name.lower() or tag not in _TABLE_TAGS)
        if linked > _MANY_LINKS * words and is_named:
            return "named as navigation, and mostly links"
        is_bar = words <= _BAR_WORDS and linked > _BAR_LINKS * words and score < _UNLIKELY
        if is_bar and tag not in _CONTENT_TAGS and _BAR.search(name) and self._headings[first] == self._headings[last]:
            return "a navigation bar"
        if self._is_contents(unit, linked, name):
            return _CONTENTS_REASON
        return "a menu" if not self._is_named and self._is_menu(unit, linked, tag, score) else ""

    def _permalink_words(self, row: int) -> int:
        """Words in an element's links to the place that they are at."""
        if self._links_left < 0:
            return 0
        links = dom.elements_list(self._elements[self._page.elements.order[row]], "a")
        texts = [link.text for link in links if _is_permalink(link)]
        self._links_left -= len(links) + sum(map(len, texts)) // _LINK_CHARS
        return sum(len(text.split()) for text in texts)

    def _is_permalink_alone(self, block: int) -> bool:
        """Whether a block is nothing but a link to the place that it is at."""
        blocks, text = self._page.blocks, self._page.text
        inside = dom.child_elements(self._elements[self._page.elements.order[blocks.element[block]]])
        self._links_left -= len(inside)
        if self._links_left < 0:
            return False
        shown = "".join(text[blocks.begin[block] : blocks.end[block]].decode("utf-8", "replace").split())
        return any("".join(link.text.split()) == shown for link in inside if link.tag == "a" and _is_permalink(link))

    def _is_menu(self, unit: int, linked: int, tag: int, score: float) -> bool:
        """Whether an element is a list of links, or a table of nothing but links above the first heading."""
        words = self._units.words[unit]
        if tag in _TABLE_TAGS:
            return linked == words <= _MENU_WORDS and self._units.first[unit] < self._first_heading
        return linked > _MOSTLY_LINKS * words and words >= _MENU_WORDS and score < _CERTAINLY_NOT and tag not in _CONTENT_TAGS

    def _name(self, row: int) -> str:
        """Class and id of an element. An id that spells the heading of a section, such as "Pagination", tells nothing."""
        class_, id_ = self._attr[row]("class") or "", self._attr[row]("id") or ""
        first, blocks = self._page.elements.first[row], self._page.blocks
        if id_ and self._page.heading[first]:
            heading = self._page.text[blocks.begin[first] : blocks.end[first]].decode("utf-8", "replace")
            if "".join(filter(str.isalnum, id_)).lower() in "".join(filter(str.isalnum, heading)).lower():
                return class_
        return f"{class_} {id_}"

    def _is_named_navigation(self, row: int) -> bool:
        """Whether an element, or one in it with all of its text, has a name that is certainly navigation's."""
        rows = self._page.elements
        first, last = rows.first[row], rows.last[row]
        while row < len(rows) and rows.first[row] == first and rows.last[row] == last and rows.tag[row] not in _CONTENT_TAGS:
            if _CERTAIN_NAVIGATION.search(self._name(row)):
                return True
            row += 1
        return False

    def _is_inner_header(self, row: int) -> bool:
        """Whether a header is that of a part of the content: it has text before it, or a smaller article around it."""
        rows, first = self._page.elements, self._page.elements.first[row]
        if self._mass[first] - self._mass[self._first] >= _TITLE_WORDS:
            return True
        around = rows.parent[row]
        for _ in range(_HEADER_ANCESTORS):
            if around < 0 or rows.tag[around] in _PARTS:
                break
            around = rows.parent[around]
        return around >= 0 and self._first <= rows.first[around] and rows.last[around] < self._last

    def _has_heading(self, unit: int) -> bool:
        return self._headings[self._units.last[unit]] > self._headings[self._units.first[unit]]

    def _is_continued(self, unit: int) -> bool:
        """Whether a unit outside the named region continues the content: footnotes, or sections right below the region."""
        units = self._units
        first, last, row = units.first[unit], units.last[unit], units.element[unit]
        if row >= 0 and _NOTES.search(self._name(row)):
            return True
        is_below = first >= self._last and (row < 0 or self._page.elements.parent[row] == self._parent)
        is_linked = units.linked[unit] > _MANY_LINKS * units.words[unit]
        is_section = is_below and not is_linked and self._has_heading(unit)
        is_likely = self._mass[last] - self._mass[first] >= _UNLIKELY * units.words[unit]
        return is_section and (is_likely or self._references[last] > self._references[first])

    def _is_likely(self, unit: int) -> bool:
        """Whether a unit outside a region that nothing names may be content all the same: footnotes, a last section."""
        first, last, words = self._units.first[unit], self._units.last[unit], self._units.words[unit]
        if first >= self._last and self._headings[last] > self._headings[first]:
            return True
        if self._references[last] > self._references[first]:
            return True
        is_linked = self._units.linked[unit] > _MANY_LINKS * words
        return not is_linked and self._mass[last] - self._mass[first] >= _UNLIKELY_OUTSIDE * words

    def _is_contents(self, unit: int, linked: int, name: str) -> bool:
        """Whether a unit is a table of contents, by its name or because it links to this page alone, on a page with text."""
        units = self._units
        words = units.words[unit]
        if units.words[0] - units.linked[0] < _PROSE_WORDS or words >= _ALL_CONTENTS * units.words[0]:
            return False
        first, last = units.first[unit], units.last[unit]
        if _CONTENTS.search(name):
            has_rows = self._in_tables[last] > self._in_tables[first]
            return linked >= _CONTENTS_LINKS * words and not has_rows
        is_index = self._headings[last] > self._headings[first] or self._page.landmarks[first] & _IN_TABLE_OR_CODE
        # A paragraph with a word of its own is a sentence, however many links are in it.
        least = words if units.tags[unit] & _PARAGRAPH_TAG else _NOTHING_BUT_LINKS * words
        if linked < least or is_index:
            return False
        element = self._elements[self._page.elements.order[units.element[unit]]]
        link = dom.first(element, "a")
        if link is None or not (link.attr("href") or "").startswith("#") or self._links_left < 0:
            return False
        targets = [link.attr("href") or "" for link in dom.elements_list(element, "a")]
        self._links_left -= len(targets)
        if len(targets) < 2 or not all(target.startswith("#") for target in targets):
            return False
        return sum(target[1:] in self._names for target in targets) * 2 >= len(targets)

    @cached_property
    def _first_heading(self) -> int:
        """The first block that is a heading; 0 without one."""
        return next((block for block, level in enumerate(self._page.heading) if level), 0)

    @cached_property
    def _in_tables(self) -> list[int]:
        """Running count of blocks in tables."""
        return [0, *accumulate([bits & _IN_TABLE > 0 for bits in self._page.landmarks])]

    @cached_property
    def _names(self) -> set[str]:
        """Names of places on the page that a link can lead to."""
        named = dom.select(self._elements[0], "[id],a[name]")
        return {name for element in named for name in (element.attr("id"), element.attr("name")) if name}

    def _title_range(self) -> tuple[int, int]:
        """The blocks of the page's title where it is outside the region: its `h1`, with the element that is all about it."""
        levels, units = self._page.heading, self._units
        if 1 in levels[self._first : self._last] or 1 not in levels[: self._first]:
            return 0, 0
        title = levels.index(1)
        for unit in range(1, len(units)):
            if units.first[unit] <= title < units.last[unit] <= self._first and units.element[unit] >= 0:
                attr = self._attr[units.element[unit]]
                name = f"{attr('class') or ''} {attr('id') or ''}"
                is_short = units.words[unit] <= _TITLE_WORDS and units.linked[unit] <= _MANY_LINKS * units.words[unit]
                is_menu = units.tags[unit] & _NAV_TAG or (attr("role") or "").lower() in _NAV_ROLES or "nav" in name.lower()
                if is_short and not is_menu and "menu" not in name.lower():
                    return units.first[unit], units.last[unit]
        return 0, 0


def _control_reason(line: str) -> str:
    """Why a line with links is no content; empty where it is."""
    line = line.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
    is_bar = len(_ONE_DIRECTION.findall(line)) > 1 and _DIRECTIONS.fullmatch(line)
    if is_bar or _FIRST_DIRECTION.match(line):
        return "a navigation bar"
    return _SOURCE_REASON if _SOURCES.fullmatch(line) else ""


def _is_permalink(link: dom.Element) -> bool:
    """Whether a link leads to the place that it is at: to itself, to an element in it, or to a near one around it."""
    target = unquote((link.attr("href") or "").partition("#")[2]) if (link.attr("href") or "").startswith("#") else ""
    if not target:
        return False
    around = takewhile(lambda element: element.tag not in _WHOLE_PAGE, filter(None, map(dom.as_element, link.ancestors)))
    inside = filter(None, map(dom.as_element, islice(link.descendants, _PERMALINK_NODES)))
    near = chain((link,), inside, islice(around, _PERMALINK_ANCESTORS))
    return any(target in {element.attr("id"), element.attr("name")} for element in near)


def _leads_away(picture: dom.Element) -> bool:
    """Whether a linked picture is an arrow to another page or a logo."""
    if _PICTURED.fullmatch(alt := picture.attr("alt") or ""):
        return True
    around = [dom.as_element(node) for node in islice(picture.ancestors, _LOGO_ANCESTORS)]
    names = [alt, *(each.attr("class") or "" for each in (picture, *filter(None, around)))]
    return any(_LOGO.search(name) for name in names)
