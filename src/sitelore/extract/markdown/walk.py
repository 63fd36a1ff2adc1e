"""The walk over an HTML subtree that builds blocks. Each kind of element has one handler, and no other place decides about it.

The walk keeps its own stack, so a page may nest elements as deep as it likes. Containers (lists, quotes, tables) nest at most
`MAX_DEPTH` deep; what is deeper is written as plain blocks of the innermost one. Every element is entered and left once.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from sitelore.extract import dom
from sitelore.extract.about.links import PageResolver
from sitelore.extract.markdown.admonitions import Admonition, admonition_of, icon_label, is_title
from sitelore.extract.markdown.blocks import (
    BULLETS,
    DEFINITIONS,
    MAX_DEPTH,
    NUMBERS,
    Block,
    CodeBlock,
    Item,
    List,
    Note,
    Paragraph,
    Quote,
    Rule,
    join_paragraphs,
)
from sitelore.extract.markdown.code import Listings
from sitelore.extract.markdown.emphasis import EM, STRIKE, STRONG
from sitelore.extract.markdown.escape import escape_label
from sitelore.extract.markdown.footnotes import find_footnotes, without_own_number
from sitelore.extract.markdown.formulas import formula_of_image, formula_pieces
from sitelore.extract.markdown.images import is_pixel, source_of
from sitelore.extract.markdown.inline import BREAK, CODE, RAW, TEXT, Leaf, Link
from sitelore.extract.markdown.invisible import unseen, without
from sitelore.extract.markdown.tables import Cell, Draft

_SKIPPED = frozenset({
    "script", "style", "template", "head", "title", "meta", "link", "base", "svg", "canvas", "iframe", "object", "embed", "video",
    "audio", "map", "datalist", "rp", "colgroup", "col", "noscript", "param", "source", "track", "input", "textarea", "progress",
    "meter", "frameset", "annotation", "annotation-xml",
})  # fmt: skip
_BLOCKS = frozenset({
    "p", "div", "section", "article", "header", "footer", "figure", "figcaption", "aside", "main", "address", "form", "fieldset",
    "details", "center", "hgroup", "search", "dialog", "legend", "body", "html", "menuitem", "thead", "tbody", "tfoot",
})  # fmt: skip
_SECTIONS = frozenset({"article", "section", "form", "main", "aside", "header", "footer"})
_SEPARATED = frozenset({"option", "optgroup", "select", "button", "label", "rtc"})
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_ANCHOR_CLASS = re.compile(
    r"(?:^|[\s_-])(?:headerlink|header-?anchor|anchor|anchor-?link|anchorjs-link|permalink|hash-?link|heading-?(?:anchor|link)|self-?link"
    r"|direct-?link|edit-?link|edit-?section)(?=$|[\s_-])",
    re.IGNORECASE,
)
_RAISED = str.maketrans("0123456789+-\u2212=()bcdfghijklmnprtuvwxyzT", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻⁼⁽⁾ᵇᶜᵈᶠᵍʰⁱʲᵏˡᵐⁿᵖʳᵗᵘᵛʷˣʸᶻᵀ")
_LOWERED = str.maketrans("0123456789+-\u2212=()aehijklmnoprstuvx", "₀₁₂₃₄₅₆₇₈₉₊₋₋₌₍₎ₐₑₕᵢⱼₖₗₘₙₒₚᵣₛₜᵤᵥₓ")
# Numbers and the names of variables; `st`, `th`, `e` and `TM` are no powers.
_RAISABLE = re.compile(
    r"[-+\u2212]?(?:\d{1,6}[bcdfghijklmnprtuvwxyz]?|[bcdfghijklmnprtuvwxyzT])(?:[-+\u2212]\d{0,3})?|[-+\u2212]"
)
_LOWERABLE = re.compile(r"(?:\d{1,6}|[aehijklmnoprstuvx])(?:[-+\u2212]\d{0,3})?")
_SPACES = re.compile(r"[ \t\n\f\r\xa0\u202f]+")
_KEEPS_LINES = re.compile(r"white-space\s*:\s*(?:pre-wrap|pre-line|break-spaces)", re.ASCII | re.IGNORECASE)
_SET_AS_CODE = re.compile(r"white-space\s*:\s*pre\s*(?:;|!|$)", re.ASCII | re.IGNORECASE)
_MAX_PERMALINK_DEPTH = 50
_MAX_NUMBER_DIGITS = 9
_SPACE_LEAF: Leaf = (TEXT, " ", 0, None, "")
_BREAK_LEAF: Leaf = (BREAK, "", 0, None, "")

_Leave = Callable[[], object]
_Enter = Callable[[dom.Element], _Leave | None]
"""Handles the start of an element: None when nothing below it is to be read, else what to do at its end."""


def _nothing() -> None:
    """Do nothing at the end of an element."""


class Walk:
    """Builds the blocks of subtrees, one after the other."""

    def __init__(self, resolver: PageResolver) -> None:
        self.blocks: list[Block] = []
        """The blocks of the innermost container."""
        self.contents: list[List] = []
        """Lists of nothing but links to places of the same page."""
        self.chars = 0
        """How much text there is."""
        self._resolver = resolver
        self._leaves: list[Leaf] = []
        self._ends_in_space = True
        self._style = 0
        self._link: Link | None = None
        self._links = 0
        self._in_page: list[str] = []
        self._unlinked = self._outside = 0  # characters in no link, and in no link to a place of the page
        self._is_code = False
        self._level = 0
        self._heading: dom.Element | None = None
        self._heading_text = ""
        self._list: List | None = None
        self._notes: list[Note] = []
        self._table: Draft | None = None
        self._admonition: Admonition | None = None
        self._listings = Listings()
        self._depth = 0
        self._keeps_lines = False
        self._own_number = ""
        self._invisible: frozenset[str] = frozenset()
        self._has_formulas = False
        self._sections = self._block_count = self._tables = 0
        self._special: dict[dom.Element, _Enter] = {}
        self._enter: dict[str, _Enter] = {
            **dict.fromkeys(_SKIPPED, self._skip), **dict.fromkeys(_BLOCKS, self._block), **dict.fromkeys(_HEADINGS, self._h),
            **dict.fromkeys(("b", "strong"), self._strong), **dict.fromkeys(("i", "em", "var"), self._em),
            **dict.fromkeys(("s", "del", "strike"), self._strike), **dict.fromkeys(("code", "kbd", "samp", "tt"), self._code),
            **dict.fromkeys(("ul", "menu", "dir"), self._ul), **dict.fromkeys(("td", "th"), self._cell),
            **dict.fromkeys(("pre", "xmp", "listing", "plaintext"), self._pre), **dict.fromkeys(_SEPARATED, self._separated),
            "ol": self._ol, "li": self._li, "dl": self._dl, "dt": self._dt, "dd": self._dd, "a": self._a, "img": self._img,
            "br": self._br, "wbr": self._skip, "hr": self._hr, "blockquote": self._blockquote, "table": self._table_start,
            "caption": self._caption, "tr": self._row, "nav": self._nav, "sup": self._sup, "sub": self._sub, "rt": self._rt,
            "q": self._q, "summary": self._summary, dom.VERBATIM: self._verbatim,
        }  # fmt: skip

    def read(self, node: dom.Node) -> None:
        """Add the blocks of a subtree."""
        self._prepare(node)
        element = dom.as_element(node)
        if element is None:
            self._walk(iter(node.children), _nothing)
        elif (leave := self._enter_of(element)(element)) is not None:
            self._walk(iter(element.children), leave)
        self._flush()

    def _prepare(self, node: dom.Node) -> None:
        """Look at the whole subtree for what is rare and changes how it is read."""
        text = node.text
        # A search for one character that finds nothing takes a tenth of one for two.
        self._has_formulas = ("\\" in text and ("\\(" in text or "\\[" in text)) or ("$" in text and "$$" in text)
        self._invisible = (
            unseen(text.encode("utf-8", "replace")) if not text.isascii() or not text.isprintable() else frozenset()
        )
        self._special = {}
        for element in dom.select(node, "[style*=white-space i]"):
            if _KEEPS_LINES.search(style := element.attr("style") or ""):
                self._special[element] = self._kept_lines
            elif element.tag in _BLOCKS and _SET_AS_CODE.search(style):
                self._special[element] = self._pre
        if in_page := dom.select(node, "a[href^='#']"):
            footnotes = find_footnotes(node, in_page)
            self._special.update((link, self._mark(label)) for link, label in footnotes.marks.items())
            self._special.update((raised, self._raised_mark) for raised in footnotes.raised)
            self._special.update((note, self._note(label)) for note, label in footnotes.notes.items())
            self._special.update((element, self._skip) for element in footnotes.dropped)

    def _enter_of(self, element: dom.Element) -> _Enter:
        special = self._special.get(element) if self._special else None
        return special or self._enter.get(element.tag, self._inline)

    def _walk(self, nodes: Iterator[dom.AnyNode], leave: _Leave) -> None:
        stack: list[tuple[Iterator[dom.AnyNode], _Leave]] = []
        enter, special, add_text, inline = self._enter.get, self._special, self._text, self._inline
        text_type, element_type = dom.Text, dom.Element
        while True:
            for node in nodes:
                kind = type(node)
                if kind is text_type:
                    add_text(node.data)  # type: ignore[attr-defined]
                    continue
                if kind is not element_type:
                    continue
                handler = enter(node.tag, inline)  # type: ignore[attr-defined]
                if special and node in special:
                    handler = special[node]  # type: ignore[index]
                below = handler(node)  # type: ignore[arg-type]
                if below is not None:
                    stack.append((nodes, leave))
                    nodes, leave = iter(node.children), below
                    break
            else:
                leave()
                if not stack:
                    return
                nodes, leave = stack.pop()

    # Text

    def _text(self, data: str) -> None:
        if self._invisible and not (data.isascii() and data.isprintable()):
            data = without(data, self._invisible)
        if self._own_number and data.strip():
            data = without_own_number(data, self._own_number)
            self._own_number = ""
        if self._has_formulas and not self._is_code and ("\\" in data or "$$" in data):
            for is_formula, piece, is_block in formula_pieces(data):
                if is_formula:
                    self._formula(piece, is_block=is_block)
                else:
                    self._plain(piece)
            return
        if self._keeps_lines and "\n" in data:
            self._lines(data)
            return
        self._plain(data)

    def _plain(self, data: str) -> None:
        """Add text with its white space collapsed."""
        if not data:
            return
        if data.isascii():
            words = data.split()
            if not words:
                self._gap()
                return
            text = " ".join(words)
            starts, ends = data[0].isspace(), data[-1].isspace()
        else:
            text = _SPACES.sub(" ", data)
            starts, ends = text[0] == " ", text[-1] == " "
            text = text.strip(" ")
            if not text:
                self._gap()
                return
        size = len(text)
        link = self._link
        self.chars += size
        if link is None:
            self._unlinked += size
            self._outside += size
        elif not link.in_page:
            self._outside += size
        if starts and not self._ends_in_space:
            text = f" {text} " if ends else f" {text}"
        elif ends:
            text += " "
        self._ends_in_space = ends
        self._leaves.append((CODE if self._is_code else TEXT, text, self._style, link, ""))

    def _lines(self, data: str) -> None:
        """Add text whose line ends are shown as such."""
        inner = data.strip("\n")
        for at, line in enumerate(inner.split("\n")):
            if at:
                self._break()
            self._plain(line)

    def _gap(self) -> None:
        """Separate words."""
        if not self._ends_in_space:
            self._leaves.append((CODE if self._is_code else TEXT, " ", self._style, self._link, ""))
            self._ends_in_space = True

    def _raw(self, markdown: str, plain: str) -> None:
        self._leaves.append((RAW, markdown, self._style, self._link, plain))
        self._ends_in_space = False
        size = len(plain)
        self.chars += size
        if self._link is None:
            self._unlinked += size
            self._outside += size

    def _formula(self, markdown: str, *, is_block: bool) -> None:
        if is_block and not self._level:
            self._flush()
        self._raw(markdown, markdown)
        if is_block and not self._level:
            self._flush()

    def _break(self) -> None:
        if self._level:
            self._gap()
        else:
            self._leaves.append((BREAK, "", self._style, None, ""))
            self._ends_in_space = True

    # Paragraphs

    def _flush(self) -> None:
        """End the paragraph. Within a heading, which is one line, only separate the words."""
        if self._level:
            self._gap()
            return
        leaves = self._leaves
        self._ends_in_space = True
        if not leaves:
            return
        self._leaves = []
        # Two breaks are a new paragraph.
        part: list[Leaf] = []
        breaks: list[Leaf] = []
        for leaf in leaves:
            if leaf[0] == BREAK:
                breaks.append(leaf)
                continue
            if breaks:
                if leaf[0] != RAW and not leaf[1].strip():
                    continue
                if len(breaks) > 1:
                    self._add_paragraph(part)
                    part = []
                else:
                    part += breaks
                breaks = []
            part.append(leaf)
        self._add_paragraph(part)

    def _add_paragraph(self, leaves: list[Leaf], level: int = 0) -> None:
        if not any([leaf[0] == RAW or leaf[1].strip() for leaf in leaves]):
            return
        paragraph = Paragraph(leaves, level)
        for leaf in leaves:
            link = leaf[3]
            # Of several paragraphs in one link, its heading links, or else its first line.
            if link is not None and link.home is not paragraph:
                home = link.home
                if (leaf[0] == RAW or leaf[1].strip()) and (
                    home is None or (level and isinstance(home, Paragraph) and not home.level)
                ):
                    link.home = paragraph
        self.blocks.append(paragraph)

    def _end_heading(self) -> None:
        """Write the heading that is open: a block follows in it that no heading can hold."""
        if self._level:
            level, leaves = self._level, self._leaves
            self._level, self._heading = 0, None
            self._leaves, self._ends_in_space = [], True
            self._add_paragraph(leaves, level)

    # Handlers: containers without a form of their own

    def _skip(self, _element: dom.Element) -> None:
        return None

    def _inline(self, element: dom.Element) -> _Leave | None:
        """Read through an element that changes nothing: a span, or one that is not known."""
        if self._admonition is not None and self._is_at_title(element):
            return self._label()
        if self._heading is not None and "editsection" in (element.attr("class") or ""):
            return None
        children = element.children
        if len(children) == 1 and type(children[0]) is dom.Text:
            self._text(children[0].data)
            return None
        return _nothing if children else None

    def _separated(self, _element: dom.Element) -> _Leave:
        self._gap()
        return self._gap

    def _block(self, element: dom.Element) -> _Leave:
        tag = element.tag
        if self._table is not None and tag in {"thead", "tbody", "tfoot"}:
            self._table.section = tag
            self._table.has_head |= tag == "thead"
            return _nothing
        if self._level and tag != "div" and self._leaves:
            self._end_heading()
        self._flush()
        self._block_count += 1
        if tag in _SECTIONS:
            self._sections += 1
        if class_ := element.attr("class"):
            if self._admonition is not None and self._is_at_title(element):
                return self._label()
            if (admonition := self._admonition_of(element, class_)) is not None:
                return self._admonish(admonition)
        return self._flush

    def _kept_lines(self, element: dom.Element) -> _Leave | None:
        """Read an element whose style keeps line ends without being code: posts, descriptions, whole articles."""
        leave = self._enter.get(element.tag, self._inline)(element) if element.tag not in {"span", "font"} else _nothing
        if leave is None or self._is_code:
            return leave
        before, self._keeps_lines = self._keeps_lines, True

        def end() -> None:
            leave()
            self._keeps_lines = before

        return end

    def _nav(self, element: dom.Element) -> _Leave:
        """Read a `nav`; one with nothing but links is a menu, and goes."""
        self._end_heading()
        leave = self._block(element)
        self._sections += 1
        blocks, size, unlinked = self.blocks, len(self.blocks), self._unlinked

        def end() -> None:
            leave()
            if self._unlinked == unlinked:
                del blocks[size:]

        return end

    # Handlers: headings

    def _h(self, element: dom.Element) -> _Leave:
        self._end_heading()
        self._flush()
        self._sections += 1
        if self._admonition is not None and self._is_at_title(element):
            return self._label()
        self._level, self._heading, self._heading_text = _HEADINGS[element.tag], element, element.text.strip()

        def end() -> None:
            if self._heading is element:
                self._end_heading()
            else:
                self._flush()

        return end

    def _summary(self, element: dom.Element) -> _Leave:
        self._flush()
        if self._admonition is not None and self._is_at_title(element):
            return self._label()
        before, self._style = self._style, self._style | STRONG

        def end() -> None:
            self._flush()
            self._style = before

        return end

    # Handlers: inline markup

    def _strong(self, element: dom.Element) -> _Leave | None:
        return self._styled(element, STRONG)

    def _em(self, element: dom.Element) -> _Leave | None:
        return self._styled(element, EM)

    def _strike(self, element: dom.Element) -> _Leave | None:
        return self._styled(element, STRIKE)

    def _styled(self, element: dom.Element, bit: int) -> _Leave | None:
        before = self._style
        # Code is written as it is, with the emphasis around it alone.
        if not self._is_code:
            self._style = before | bit
        children = element.children
        if len(children) == 1 and type(children[0]) is dom.Text:
            self._text(children[0].data)
            self._style = before
            return None

        def end() -> None:
            self._style = before

        return end

    def _code(self, element: dom.Element) -> _Leave | None:
        children = element.children
        is_plain = len(children) == 1 and type(children[0]) is dom.Text
        if self._is_code:
            return _nothing
        may_be_listing = self._ends_in_space and not self._level and (not is_plain or "\n" in children[0].data)
        if may_be_listing and (block := self._listings.of_code(element)) is not None:
            self._flush()
            self.blocks.append(self._seen_code(block))
            self._count(len(block.code))
            return None
        self._is_code = True
        if is_plain:
            self._text(children[0].data)
            self._is_code = False
            return None

        def end() -> None:
            self._is_code = False

        return end

    def _q(self, _element: dom.Element) -> _Leave:
        self._quotation_mark(is_start=True)

        def end() -> None:
            self._quotation_mark(is_start=False)

        return end

    def _quotation_mark(self, *, is_start: bool) -> None:
        self._leaves.append((TEXT, '"', self._style, self._link, ""))
        self._ends_in_space = is_start

    def _sup(self, element: dom.Element) -> _Leave | None:
        return self._shifted(element, _RAISABLE, _RAISED)

    def _sub(self, element: dom.Element) -> _Leave | None:
        return self._shifted(element, _LOWERABLE, _LOWERED)

    def _shifted(self, element: dom.Element, fitting: re.Pattern[str], spelling: dict[int, int]) -> _Leave | None:
        """Write raised and lowered numbers as Unicode has them: `10<sup>6</sup>` must not become 106."""
        children = element.children
        if len(children) == 1 and type(children[0]) is dom.Text and not self._is_code:
            text = children[0].data.strip()
            if text and fitting.fullmatch(text):
                self._text(text.translate(spelling))
                return None
        return _nothing

    def _rt(self, element: dom.Element) -> _Leave | None:
        parent = dom.as_element(element.parent)
        text = element.text.strip()
        if text and parent is not None and parent.tag in {"ruby", "rtc"}:
            self._text(text if text[0] in "(\uff08" else f"({text})")
            return None
        return _nothing

    def _br(self, _element: dom.Element) -> None:
        self._break()

    def _verbatim(self, element: dom.Element) -> None:
        """Add Markdown that was made before the walk: a formula or a task box."""
        self._formula(element.attr("md") or "", is_block=False)

    # Handlers: links and images

    def _a(self, element: dom.Element) -> _Leave | None:
        href = element.attr("href")
        if href is None:
            return self._inline(element)
        if "#" in href and self._links < _MAX_PERMALINK_DEPTH:
            if self._is_permalink(element, href):
                return None
            if href[0] == "#" and self._is_whole_heading(element):
                return _nothing
        # Without an address, a link is written as its text.
        address = self._resolver.target(href).written
        before, link = self._link, Link(address, in_page=href[:1] == "#")
        if link.in_page:
            self._in_page.append(href[1:])
        self._link = link
        self._links += 1
        children = element.children
        if len(children) == 1 and type(children[0]) is dom.Text:
            self._text(children[0].data)
            self._link = before
            self._links -= 1
            return None

        def end() -> None:
            self._link = before
            self._links -= 1

        return end

    def _is_permalink(self, link: dom.Element, href: str) -> bool:
        """Whether a link is the mark by which a heading, or a place in the text, can be linked to."""
        text = link.text
        if not any(map(str.isalnum, text)):
            return (href[0] == "#" or self._heading is not None) and not dom.holds(link, "img", dom.VERBATIM)
        if self._heading is None or self._is_whole_heading(link):
            return False
        return _ANCHOR_CLASS.search(link.attr("class") or "") is not None

    def _is_whole_heading(self, link: dom.Element) -> bool:
        return self._heading is not None and self._heading_text == link.text.strip()

    def _img(self, element: dom.Element) -> None:
        if (formula := formula_of_image(element)) is not None:
            self._formula(formula, is_block=False)
            return
        raw = source_of(element)
        target = self._resolver.target(raw) if raw else None
        if target is None or target.url is None or is_pixel(element):
            return
        address = target.written.partition("#")[0]
        alt = " ".join((element.attr("alt") or "").split())
        if self._invisible:
            alt = without(alt, self._invisible)
        self._leaves.append((RAW, f"![{escape_label(alt)}]({address})", self._style, self._link, ""))
        self._ends_in_space = False

    # Handlers: footnotes

    def _mark(self, label: str) -> _Enter:
        def enter(_element: dom.Element) -> None:
            link, self._link = self._link, None
            self._raw(f"[^{label}]", f"[{label}]")
            self._link = link

        return enter

    def _raised_mark(self, element: dom.Element) -> None:
        """Read the marks in a `sup`; the brackets around them are part of them."""
        for child in element.children:
            text, inner = dom.as_text(child), dom.as_element(child)
            if text is not None:
                self._text(text.data.strip("[]() ,"))
            elif inner is not None and (enter := self._special.get(inner)) is not None:
                enter(inner)
            elif inner is not None:
                self._text(inner.text)

    def _note(self, label: str) -> _Enter:
        def enter(element: dom.Element) -> _Leave:
            self._end_heading()
            self._flush()
            note = Note(label)
            is_item = element.tag in {"li", "dd"} and self._list is not None
            (self._notes if is_item else self.blocks).append(note)
            blocks, self.blocks = self.blocks, note.blocks
            own, self._list = self._list, None
            self._own_number = label if element.tag != "li" else ""

            def end() -> None:
                self._flush()
                self.blocks, self._list, self._own_number = blocks, own, ""

            return end

        return enter

    # Handlers: code, rules, quotes

    def _pre(self, element: dom.Element) -> _Leave | None:
        if not element.text.strip():
            return _nothing if dom.holds(element, "img", dom.VERBATIM) else None
        self._end_heading()
        self._flush()
        self._block_count += 1
        if (block := self._listings.block(element)) is not None:
            self.blocks.append(self._seen_code(block))
            self._count(len(block.code))
        return None

    def _seen_code(self, block: CodeBlock) -> CodeBlock:
        if self._invisible:
            block.code = without(block.code, self._invisible)
        return block

    def _count(self, size: int) -> None:
        self.chars += size
        self._unlinked += size
        self._outside += size

    def _hr(self, _element: dom.Element) -> None:
        self._end_heading()
        self._flush()
        self._block_count += 1
        self.blocks.append(Rule())

    def _blockquote(self, element: dom.Element) -> _Leave:
        if (class_ := element.attr("class")) and (admonition := self._admonition_of(element, class_)) is not None:
            self._end_heading()
            self._flush()
            return self._admonish(admonition)
        quote = Quote([])
        return self._contain(quote.blocks, lambda: [quote])

    def _contain(self, inner: list[Block], finish: Callable[[], list[Block]]) -> _Leave:
        """Read blocks into a container; what `finish` returns takes its place."""
        self._end_heading()
        self._flush()
        self._block_count += 1
        if self._depth >= MAX_DEPTH:
            return self._flush
        self._depth += 1
        outer, self.blocks = self.blocks, inner
        own, self._list = self._list, None
        notes, self._notes = self._notes, []

        def end() -> None:
            self._end_heading()
            self._flush()
            outer.extend(finish())
            outer.extend(self._notes)
            self.blocks, self._list, self._notes = outer, own, notes
            self._depth -= 1

        return end

    # Handlers: admonitions

    def _admonition_of(self, element: dom.Element, class_: str) -> Admonition | None:
        return admonition_of(element, class_) if self._depth < MAX_DEPTH else None

    def _admonish(self, admonition: Admonition) -> _Leave:
        chars = self.chars
        outer, self._admonition = self._admonition, admonition
        leave = self._contain(admonition.blocks, lambda: admonition.finish(self.chars - chars))

        def end() -> None:
            leave()
            self._admonition = outer

        return end

    def _is_at_title(self, element: dom.Element) -> bool:
        """Whether an element is the title of the admonition that has just begun."""
        admonition = self._admonition
        return (
            admonition is not None
            and not admonition.label
            and not admonition.blocks
            and not self._leaves
            and self.blocks is admonition.blocks
            and is_title(element)
        )

    def _label(self) -> _Leave:
        """Read the title of an admonition."""
        admonition = self._admonition
        outer, self.blocks = self.blocks, []

        def end() -> None:
            self._flush()
            for block in self.blocks:
                if isinstance(block, Paragraph) and admonition is not None:
                    admonition.label += block.leaves
            self.blocks = outer

        return end

    # Handlers: lists

    def _ul(self, element: dom.Element) -> _Leave:
        return self._list_start(element, List(BULLETS))

    def _ol(self, element: dom.Element) -> _Leave:
        return self._list_start(element, List(NUMBERS))

    def _list_start(self, element: dom.Element, own: List) -> _Leave:
        before: list[Block] = []
        is_outermost = self._list is None
        outside, in_page, chars = self._outside, len(self._in_page), self.chars

        def finish() -> list[Block]:
            if own.kind == NUMBERS:
                _number(own, element)
            elif own.kind == DEFINITIONS:
                _place_terms(own)
            elif _is_layout(own):
                return [*before, *(block for item in own.items for block in item.blocks)]
            targets = self._in_page[in_page:]
            if is_outermost and self._outside == outside and len(targets) > 1:
                own.in_page_targets, own.chars = targets, self.chars - chars
                self.contents.append(own)
            return [*before, own] if own.items else before

        leave = self._contain(before, finish)
        if leave != self._flush:
            self._list = own
        return leave

    def _li(self, element: dom.Element) -> _Leave:
        self._end_heading()
        self._flush()
        self._block_count += 1
        if self._list is None or self._list.kind == DEFINITIONS:
            return self._flush
        item = Item(_number_of(element.attr("value")))
        self._list.items.append(item)
        self.blocks = item.blocks  # what stands between two items belongs to the first
        own = self._list

        def end() -> None:
            self._end_heading()
            self._flush()
            self._list = own

        return end

    def _dl(self, element: dom.Element) -> _Leave:
        if (class_ := element.attr("class")) and (admonition := self._admonition_of(element, class_)) is not None:
            self._end_heading()
            self._flush()
            return self._admonish(admonition)
        return self._list_start(element, List(DEFINITIONS))

    def _dt(self, element: dom.Element) -> _Leave:
        self._end_heading()
        self._flush()
        self._block_count += 1
        if self._admonition is not None and self._is_at_title(element):
            return self._label()
        own = self._list
        if own is None or own.kind != DEFINITIONS:
            return self._flush
        last = own.items[-1] if own.items else None
        item = last if last is not None and not last.blocks else Item()
        if item is not last:
            own.items.append(item)
        term: list[Block] = []
        self.blocks = term

        def end() -> None:
            self._end_heading()
            self._flush()
            self.blocks = item.blocks
            _add_term(item, term)

        return end

    def _dd(self, _element: dom.Element) -> _Leave:
        self._end_heading()
        self._flush()
        self._block_count += 1
        own = self._list
        if own is None or own.kind != DEFINITIONS:
            return self._flush
        if not own.items:
            own.items.append(Item())
        self.blocks = own.items[-1].blocks

        def end() -> None:
            self._end_heading()
            self._flush()
            self._list = own

        return end

    # Handlers: tables

    def _table_start(self, element: dom.Element) -> _Leave | None:
        if (listing := self._listings.of_table(element)) is not None:
            self._end_heading()
            self._flush()
            self.blocks.append(self._seen_code(listing))
            self._count(len(listing.code))
            return None
        if (class_ := element.attr("class")) and (admonition := self._admonition_of(element, class_)) is not None:
            self._flush()
            return self._admonish(admonition)
        draft = Draft(element)
        if self._admonition is not None and not self._admonition.blocks and self.blocks is self._admonition.blocks:
            draft.is_layout = True
        before: list[Block] = []
        outer = self._table
        counts = self._sections, self._tables
        self._tables += 1

        def finish() -> list[Block]:
            draft.holds_sections = self._sections > counts[0]
            draft.holds_tables = self._tables > counts[1] + 1
            draft.holds_blocks = self._block_count > block_count
            self._table = outer
            return [*before, *draft.blocks()]

        leave = self._contain(before, finish)
        block_count = self._block_count
        if leave != self._flush:
            self._table = draft
        return leave

    def _caption(self, _element: dom.Element) -> _Leave:
        self._flush()
        if self._table is None:
            return self._flush
        outer, self.blocks = self.blocks, self._table.caption
        self._table.has_head = True

        def end() -> None:
            self._flush()
            self.blocks = outer

        return end

    def _row(self, _element: dom.Element) -> _Leave:
        self._flush()
        if self._table is not None:
            self._table.add_row()
        return self._flush

    def _cell(self, element: dom.Element) -> _Leave | None:
        self._end_heading()
        self._flush()
        table, admonition = self._table, self._admonition
        if table is None:
            return self._flush
        if admonition is not None and table.is_layout and not admonition.label and not admonition.blocks:
            class_ = (element.attr("class") or "").split()
            if "icon" in class_ and (label := icon_label(element)):
                admonition.label.append((TEXT, label, 0, None, ""))
                self._count(len(label))
                return None
        cell = Cell(element)
        table.add_cell(cell)
        outer, self.blocks = self.blocks, cell.blocks
        own, self._list = self._list, None
        chars = self.chars

        def end() -> None:
            self._end_heading()
            self._flush()
            cell.chars = self.chars - chars
            self.blocks, self._list = outer, own
            self._table = table

        return end


def _add_term(item: Item, term: list[Block]) -> None:
    """Add a term, on one line, to an item."""
    first = term[0] if term and isinstance(term[0], Paragraph) and not term[0].level else None
    if first is None:
        item.blocks += term
        return
    first.leaves = [leaf if leaf[0] != BREAK else _SPACE_LEAF for leaf in first.leaves]
    others = term[1:]
    while others and isinstance(others[0], Paragraph) and not others[0].level:
        join_paragraphs(first, others[0], _SPACE_LEAF)
        del others[0]
    item.terms.append(first)
    item.blocks += others


def _place_terms(own: List) -> None:
    """Put the terms of a definition list before their definitions, below each other; terms without one are items."""
    items: list[Item] = []
    for item in own.items:
        terms, item.terms = item.terms, []
        if not item.blocks:
            for term in terms:
                items.append(Item())
                items[-1].blocks.append(term)
            continue
        for term in terms[1:]:
            join_paragraphs(terms[0], term, _BREAK_LEAF)
        item.blocks[:0] = terms[:1]
        items.append(item)
    own.items = items


def _is_layout(own: List) -> bool:
    """Whether a list holds sections or cards: every item starts with a heading. They are written as the blocks they are."""
    return own.kind == BULLETS and all(item.blocks and isinstance(item.blocks[0], Paragraph) and item.blocks[0].level for item in own.items)


def _number_of(raw: str | None) -> int | None:
    raw = (raw or "").strip()
    return int(raw) if raw.isdecimal() and len(raw) < _MAX_NUMBER_DIGITS else None


def _number(own: List, element: dom.Element) -> None:
    """Give the items of a list their numbers, where they do not just count up from one."""
    start = _number_of(element.attr("start"))
    if element.attr("reversed") is not None:
        number = start if start is not None else len(own.items)
        for item in own.items:
            number = item.number if item.number is not None else number
            item.number = max(number, 0)
            number -= 1
    else:
        number = start if start is not None else 1
        for item in own.items:
            number = item.number if item.number is not None else number
            item.number = number
            number += 1
