"""HTML subtrees as Markdown and as plain text: one walk over the elements builds blocks, from which both are written.

Each kind of element has one handler, and no other place decides about it (`_HANDLERS`, at the end). The walk keeps its own
stack, so a page may nest elements as deep as it likes. Containers (lists, quotes, tables) nest at most `MAX_DEPTH` deep, and
`_MAX_LEVELS` deep in Markdown; what is deeper becomes blocks of the innermost one. Every element is entered and left once.
"""

# ruff: noqa: SLF001 - the table of handlers is made of methods of the walk
from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import NamedTuple, TypeAlias
from urllib.parse import unquote

from sitelore.extract import dom
from sitelore.extract.links import PageResolver, resolver_for
from sitelore.extract.markdown.blocks import (
    BULLETS,
    DEFINITIONS,
    MAX_DEPTH,
    NUMBERS,
    Admonition,
    Block,
    CodeBlock,
    Item,
    List,
    Note,
    Paragraph,
    ParagraphBuilder,
    Quote,
    Rule,
    admonition_of,
    icon_label,
    is_title,
    markdown_of,
    text_of,
)
from sitelore.extract.markdown.code import (
    LINES_CLASS,
    PROMPT_CLASS,
    PROTOTYPE_CLASS,
    Listings,
    image_formula,
    is_prompt,
    split_formulas,
)
from sitelore.extract.markdown.footnotes import find_footnotes, remove_own_number
from sitelore.extract.markdown.inline import (
    ANCHOR_CLASS,
    EM,
    STRIKE,
    STRONG,
    TEXT,
    Gaps,
    Link,
    escape_label,
    is_control,
    is_separator,
    is_toggle,
    shifted_text,
)
from sitelore.extract.markdown.tables import GRID_CLASS, Cell, TableDraft, grid_rows
from sitelore.extract.page_objects.media import Images, icon_meaning, is_pixel, source_of
from sitelore.extract.text import find_invisible, remove_characters

_SKIPPED = (
    "script", "style", "template", "head", "title", "meta", "link", "base", "svg", "canvas", "iframe", "object", "embed",
    "video", "audio", "map", "datalist", "rp", "colgroup", "col", "param", "source", "track", "input", "textarea",
    "progress", "meter", "frameset", "annotation", "annotation-xml", "wbr",
)  # fmt: skip
_BLOCKS = (
    "p", "div", "figure", "figcaption", "address", "fieldset", "details", "center", "hgroup", "search", "dialog", "legend",
    "body", "html", "menuitem", "noscript",
)  # fmt: skip
_SECTIONS = ("article", "section", "form", "main", "aside", "header", "footer")
_TABLE_SECTIONS = ("thead", "tbody", "tfoot")
_PLAIN_BLOCKS = frozenset({*_BLOCKS, *_SECTIONS, *_TABLE_SECTIONS})
_SEPARATED = ("option", "optgroup", "select", "button", "label", "rtc")
_LISTS = {"ul": BULLETS, "menu": BULLETS, "dir": BULLETS, "ol": NUMBERS, "dl": DEFINITIONS}
_EMPHASIS = {
    "b": STRONG, "strong": STRONG, "i": EM, "em": EM, "var": EM, "s": STRIKE, "del": STRIKE, "strike": STRIKE,
}  # fmt: skip
_KEEPS_LINES = re.compile(r"white-space\s*:\s*(?:pre-wrap|pre-line|break-spaces)", re.ASCII | re.IGNORECASE)
_SET_AS_CODE = re.compile(r"white-space\s*:\s*pre\s*(?:;|!|$)", re.ASCII | re.IGNORECASE)
_MAX_PERMALINK_DEPTH = 50
_MAX_LEVELS = 19  # of which a list takes two and a quote one: below, markdown-it shows nothing in its mode for CommonMark
_NO_PAGE = "http://page.invalid/"  # plain text shows no addresses


class Written(NamedTuple):
    """A document as Markdown and as plain text."""

    markdown: str
    text: str


def write(nodes: Sequence[dom.Node], resolver: PageResolver) -> Written:
    """Write subtrees as Markdown, with absolute links, and as plain text. Leaves them as they are."""
    blocks = _read_blocks(nodes, resolver)
    text = text_of(blocks)
    return Written(markdown_of(blocks), text)


def write_text(nodes: Sequence[dom.Node], *, with_menus: bool = False) -> str:
    """Write subtrees as plain text: one line per block, single spaces. Leaves them as they are.

    `with_menus`: also what Markdown leaves out, menus and lists of contents.
    """
    return text_of(_read_blocks(nodes, resolver_for(()).on_page(_NO_PAGE), with_menus=with_menus))


def _read_blocks(nodes: Sequence[dom.Node], resolver: PageResolver, *, with_menus: bool = False) -> list[Block]:
    walk = _Walk(resolver, with_menus=with_menus)
    for node in nodes:
        walk.read(node)
    if walk.contents and not with_menus:
        _drop_contents(walk, nodes)
    return walk.blocks


def _drop_contents(walk: _Walk, nodes: Sequence[dom.Node]) -> None:
    """Empty lists of contents: nothing but links to places of this page that are written as well."""
    elements = [element for node in nodes for element in dom.select(node, "[id],a[name]")]
    names = {element.attr(name) or "" for element in elements for name in ("id", "name")}
    for contents in walk.contents:
        targets = contents.in_page_targets
        if sum(unquote(target) in names for target in targets) * 2 >= len(targets) and walk.chars > contents.chars:
            contents.items = []


_Leave: TypeAlias = Callable[[], object]
_Handler: TypeAlias = "Callable[[_Walk, dom.Element], _Leave | None]"
"""Handles the start of an element: None when nothing below it is to be read, else what to do at its end."""


def _do_nothing() -> None:
    """End an element that changes nothing."""


class _Walk(ParagraphBuilder):
    """Builds the blocks of subtrees, one after the other."""

    def __init__(self, resolver: PageResolver, *, with_menus: bool) -> None:
        super().__init__()
        self.contents: list[List] = []
        """Lists of nothing but links to places of the same page."""
        self._resolver = resolver
        self._with_menus = with_menus
        self._special: dict[dom.Element, _Handler] = {}
        self._invisible: frozenset[str] = frozenset()
        self._has_formulas = False
        self._keeps_lines = False
        self._heading_text = ""
        self._heading_ids: tuple[str | None, str | None] = (None, None)
        self._gaps = Gaps()
        self._link_depth = 0
        self._in_page: list[str] = []  # the targets of links to places of the same page
        self._list: List | None = None
        self._notes: list[Note] = []
        self._own_number = ""  # of the footnote whose text begins
        self._table: TableDraft | None = None
        self._admonition: Admonition | None = None
        self._in_title = False  # of the admonition
        self._listings = Listings()
        self._images: Images
        self._depth = self._levels = 0
        self._section_count = self._block_count = self._table_count = 0

    def read(self, node: dom.Node) -> None:
        """Add the blocks of a subtree."""
        self._prepare(node)
        self._walk(iter((node,) if isinstance(node, dom.Element) else node.children))
        self._flush()

    def _prepare(self, node: dom.Node) -> None:
        """Look at the whole subtree for what is rare and changes how it is read."""
        text = node.text
        self._images = Images(node)
        # A search for one character that finds nothing takes a tenth of one for two.
        self._has_formulas = ("\\" in text and ("\\(" in text or "\\[" in text)) or ("$" in text and "$$" in text)
        is_plain = text.isascii() and text.isprintable()
        self._invisible = frozenset() if is_plain else find_invisible(text.encode("utf-8", "replace"))
        self._special = {}
        in_page: list[dom.Element] = []
        for element in dom.select(node, "[style*=white-space i],a[href^='#']"):
            if element.tag == "a" and (element.attr("href") or "").startswith("#"):
                in_page.append(element)
            if _KEEPS_LINES.search(style := element.attr("style") or ""):
                self._special[element] = _Walk._enter_kept_lines
            elif element.tag in _PLAIN_BLOCKS and _SET_AS_CODE.search(style):
                self._special[element] = _Walk._enter_pre
        if in_page:
            footnotes = find_footnotes(node, in_page)
            self._special.update((link, partial(_Walk._add_mark, label=label)) for link, label in footnotes.marks.items())
            self._special.update((raised, _Walk._enter_raised_mark) for raised in footnotes.raised)
            self._special.update((note, partial(_Walk._enter_note, label=label)) for note, label in footnotes.notes.items())
            self._special.update((element, _Walk._skip) for element in footnotes.dropped)

    def _walk(self, nodes: Iterator[dom.AnyNode]) -> None:
        stack: list[tuple[Iterator[dom.AnyNode], _Leave]] = []
        leave: _Leave = _do_nothing
        handler_of, special, inline = _HANDLERS.get, self._special, _Walk._enter_inline
        add_text = self._add_text if self._invisible or self._has_formulas or special else self._add_words
        text_type, element_type = dom.Text, dom.Element
        while True:
            for node in nodes:
                kind = type(node)
                if kind is text_type:
                    data = node.data  # type: ignore[attr-defined]
                    # Most texts of a page are the white space between its elements.
                    if not self._ends_in_space or not data.isspace() or self._keeps_lines:
                        add_text(data)
                    continue
                if kind is not element_type:
                    continue
                handler = handler_of(node.tag, inline)  # type: ignore[attr-defined]
                if special and node in special:
                    handler = special[node]  # type: ignore[index]
                leave_below = handler(self, node)  # type: ignore[arg-type]
                if leave_below is None:
                    continue
                children = node.children
                # Most elements hold one text and nothing else: the stack is not needed.
                if len(children) == 1 and type(children[0]) is text_type and not children[0].data.isspace():
                    add_text(children[0].data)
                    leave_below()
                    continue
                stack.append((nodes, leave))
                nodes, leave = iter(children), leave_below
                break
            else:
                leave()
                if not stack:
                    return
                nodes, leave = stack.pop()

    # Text

    def _add_text(self, data: str) -> None:
        if self._invisible and not (data.isascii() and data.isprintable()):
            data = remove_characters(data, self._invisible)
        if self._own_number and data.strip():
            data = remove_own_number(data, self._own_number)
            self._own_number = ""
        if self._has_formulas and not self._is_code and ("\\" in data or "$$" in data):
            for text, formula, is_block in split_formulas(data):
                self._add_words(text)
                if formula:
                    self._add_formula(formula, is_block=is_block)
        elif self._keeps_lines and "\n" in data:
            for at, line in enumerate(data.strip("\n").split("\n")):
                if at:
                    self._add_break()
                self._add_words(line)
        else:
            self._add_words(data)

    def _add_formula(self, markdown: str, *, is_block: bool) -> None:
        is_block = is_block and not self._level
        if is_block:
            self._flush()
        self._add_raw(markdown, markdown)
        if is_block:
            self._flush()

    # Elements without a form of their own

    def _skip(self, _element: dom.Element) -> None:
        return None

    def _enter_inline(self, element: dom.Element) -> _Leave | None:
        """Read through an element that changes nothing: a span, or one that is not known."""
        if self._admonition is not None and self._is_at_title(element):
            return self._enter_label()
        if not self._ends_in_space and (class_ := element.attr("class")):
            if self._level and is_separator(element, class_):
                self._add_gap()
                return None
            if not self._is_code and (gap := self._gaps.before(element, class_, self._leaves)):
                self._add_words(gap)
        return _do_nothing

    def _enter_separated(self, _element: dom.Element) -> _Leave:
        self._add_gap()
        return self._add_gap

    def _enter_block(self, element: dom.Element) -> _Leave | None:
        if self._leaves:
            if self._level and element.tag != "div":
                self._end_block()
            else:
                self._flush()
        self._block_count += 1
        if class_ := element.attr("class"):
            if self._admonition is not None and self._is_at_title(element):
                return self._enter_label()
            if LINES_CLASS in class_ and self._add_listing(self._listings.from_lines(element)):
                return None
            if GRID_CLASS in class_ and (rows := grid_rows(element)):
                return self._enter_grid(element, rows)
            if PROMPT_CLASS in class_ and is_prompt(element):
                return None
            if PROTOTYPE_CLASS in class_ and self._add_listing(self._listings.from_prototype(element)):
                return None
            if (admonition := admonition_of(element, class_)) is not None:
                return self._enter_admonition(admonition)
        return self._flush

    def _enter_section(self, element: dom.Element) -> _Leave | None:
        self._section_count += 1
        return self._enter_block(element)

    def _enter_kept_lines(self, element: dom.Element) -> _Leave | None:
        """Read an element whose style keeps line ends without being code: posts, descriptions, whole articles."""
        leave = _HANDLERS.get(element.tag, _Walk._enter_inline)(self, element)
        if leave is None or self._is_code:
            return leave
        before, self._keeps_lines = self._keeps_lines, True

        def end() -> None:
            leave()
            self._keeps_lines = before

        return end

    def _enter_nav(self, element: dom.Element) -> _Leave:
        """Read a `nav`; one with nothing but links is a menu, and goes."""
        self._end_block()
        leave = self._enter_section(element) or _do_nothing
        blocks, size, unlinked = self.blocks, len(self.blocks), self._unlinked_chars

        def end() -> None:
            leave()
            if self._unlinked_chars == unlinked and not self._with_menus:
                del blocks[size:]

        return end

    # Headings

    def _enter_heading(self, element: dom.Element) -> _Leave:
        self._end_block()
        self._section_count += 1
        level = int(element.tag[1])
        if self._admonition is not None and self._is_at_title(element):
            return self._enter_label(level)
        self._level, self._heading_text = level, element.text.strip()
        around = dom.as_element(element.parent)
        self._heading_ids = element.attr("id"), around.attr("id") if around is not None else None
        return self._end_block

    def _enter_summary(self, element: dom.Element) -> _Leave | None:
        self._flush()
        if self._admonition is not None and self._is_at_title(element):
            return self._enter_label()
        if is_toggle(element):
            return None
        blocks, size = self.blocks, len(self.blocks)

        def end() -> None:
            self._flush()
            # One with headings, lists or several paragraphs is no label, but a part of the text.
            if len(blocks) == size + 1 and isinstance(only := blocks[size], Paragraph) and not only.level:
                only.add_style(STRONG)

        return end

    # Inline elements

    def _enter_emphasis(self, element: dom.Element) -> _Leave:
        before = self._style
        # Code is written as it is, with the emphasis around it alone.
        if not self._is_code:
            self._style = before | _EMPHASIS[element.tag]

        def end() -> None:
            self._style = before

        return end

    def _enter_code(self, element: dom.Element) -> _Leave | None:
        if self._is_code:
            return _do_nothing
        if self._ends_in_space and not self._level and self._add_listing(self._listings.from_code(element)):
            return None
        self._is_code = True
        return self._end_code

    def _end_code(self) -> None:
        self._is_code = False
        if self._leaves and self._leaves[-1][1].endswith(" "):
            self._ends_in_space = True

    def _enter_quotation(self, _element: dom.Element) -> _Leave:
        self._add_quotation_mark(is_start=True)
        return partial(self._add_quotation_mark, is_start=False)

    def _add_quotation_mark(self, *, is_start: bool) -> None:
        self._leaves.append((TEXT, '"', self._style, self._link, ""))
        self._ends_in_space = is_start

    def _enter_shifted(self, element: dom.Element) -> _Leave | None:
        """Write raised and lowered numbers as Unicode has them: `10<sup>6</sup>` must not become 106."""
        is_reference = self._link is not None and self._link.in_page
        only = None if self._is_code or is_reference else dom.only_text(element)
        if only is not None and (shifted := shifted_text(element.tag, only.strip())):
            self._add_text(shifted)
            return None
        return _do_nothing

    def _enter_ruby_text(self, element: dom.Element) -> _Leave | None:
        parent = dom.as_element(element.parent)
        text = element.text.strip()
        if text and parent is not None and parent.tag in {"ruby", "rtc"}:
            self._add_text(text if text[0] in "(\uff08" else f"({text})")
            return None
        return _do_nothing

    def _enter_markdown(self, element: dom.Element) -> None:
        """Add Markdown that was made before the walk: a formula or a task box."""
        self._add_formula(element.attr("md") or "", is_block=False)

    # Links and images

    def _enter_link(self, element: dom.Element) -> _Leave | None:
        href = element.attr("href")
        if href is None:
            return self._enter_inline(element)
        if "#" in href and self._link_depth < _MAX_PERMALINK_DEPTH:
            if self._is_permalink(element, href):
                return None
            # A heading or a title that links to a place of its own page is not written as a link.
            if href[0] == "#" and (self._level or self._in_title):
                return _do_nothing
        is_after_code = not self._leaves and bool(self.blocks) and isinstance(self.blocks[-1], CodeBlock)
        if is_control(element, href, is_after_code=is_after_code):
            return None
        # Without an address, a link is written as its text.
        before, link = self._link, Link(self._resolver.target(href).markdown_url, in_page=href[:1] == "#")
        if link.in_page:
            self._in_page.append(href[1:])
        self._link = link
        self._link_depth += 1

        def end() -> None:
            self._link = before
            self._link_depth -= 1

        return end

    def _is_permalink(self, link: dom.Element, href: str) -> bool:
        """Whether a link is the mark by which a heading, or a place in the text, can be linked to."""
        text = link.text
        if not any(map(str.isalnum, text)):
            return (href[0] == "#" or self._level > 0) and not dom.has_descendant(link, "img", dom.MARKDOWN_TAG)
        if not self._level:
            # Directly after the heading (Starlight).
            last = self.blocks[-1] if self.blocks and not self._leaves else None
            return isinstance(last, Paragraph) and last.level > 0 and unquote(href[1:]) in self._heading_ids
        return self._heading_text != text.strip() and ANCHOR_CLASS.search(link.attr("class") or "") is not None

    def _enter_image(self, element: dom.Element) -> None:
        if (formula := image_formula(element)) is not None:
            self._add_formula(formula, is_block=False)
            return
        raw = source_of(element)
        target = self._resolver.target(raw) if raw else None
        if target is None or target.url is None or is_pixel(element):
            return
        address = target.markdown_url.partition("#")[0]
        alt = " ".join((element.attr("alt") or "").split())
        if self._invisible:
            alt = remove_characters(alt, self._invisible)
        place = self.chars, self._table, self._link.href if self._link is not None else ""
        if self._images.shows(element, raw, alt, place):
            self._add_raw(f"![{escape_label(alt)}]({address})", "")

    # Code, rules, quotes

    def _enter_pre(self, element: dom.Element) -> _Leave | None:
        if not element.text.strip():
            return _do_nothing if dom.has_descendant(element, "img", dom.MARKDOWN_TAG) else None
        self._start_block()
        self._add_listing(self._listings.from_pre(element))
        return None

    def _add_listing(self, listing: CodeBlock | None) -> bool:
        """Add a code block, if there is one. Returns whether there is."""
        if listing is None:
            return False
        self._end_block()
        if self._invisible:
            listing.code = remove_characters(listing.code, self._invisible)
        self.blocks.append(listing)
        self._count_unlinked(len(listing.code))
        return True

    def _enter_rule(self, _element: dom.Element) -> None:
        self._start_block()
        self.blocks.append(Rule())

    def _enter_blockquote(self, element: dom.Element) -> _Leave:
        if (admonition := admonition_of(element, element.attr("class"))) is not None:
            return self._enter_admonition(admonition)
        quote = Quote([])
        return self._enter_container(quote.blocks, lambda: [quote], 1)

    def _enter_container(self, inner: list[Block], finish: Callable[[], list[Block]], levels: int = 0) -> _Leave:
        """Read blocks into a container; what `finish` returns takes its place. `levels`: how deep Markdown nests by it."""
        self._start_block()
        if self._depth >= MAX_DEPTH or self._levels + levels > _MAX_LEVELS:
            return self._flush
        self._depth += 1
        self._levels += levels
        outer = self.blocks
        notes, self._notes = self._notes, []

        def add_finished() -> None:
            outer.extend(finish())
            outer.extend(self._notes)
            self._notes = notes
            self._depth -= 1
            self._levels -= levels

        return self._collect(inner, add_finished)

    def _start_block(self) -> None:
        self._end_block()
        self._block_count += 1

    def _collect(self, inner: list[Block], finish: _Leave = _do_nothing) -> _Leave:
        """Read blocks into a list until the element ends."""
        before = self.blocks, self._list
        self.blocks, self._list = inner, None

        def end() -> None:
            self._end_block()
            finish()
            self.blocks, self._list = before

        return end

    # Footnotes

    def _add_mark(self, _element: dom.Element, label: str) -> None:
        link, self._link = self._link, None
        self._add_raw(f"[^{label}]", f"[{label}]")
        self._link = link

    def _enter_raised_mark(self, element: dom.Element) -> None:
        """Read the marks in a `sup`; the brackets around them are part of them."""
        for child in element.children:
            if isinstance(child, dom.Text):
                self._add_text(child.data.strip("[]() ,"))
            elif isinstance(child, dom.Element):
                if child in self._special:
                    self._special[child](self, child)
                else:
                    self._add_text(child.text)

    def _enter_note(self, element: dom.Element, label: str) -> _Leave:
        self._end_block()
        note = Note(label)
        is_item = element.tag in {"li", "dd"} and self._list is not None
        (self._notes if is_item else self.blocks).append(note)
        self._own_number = label if element.tag != "li" else ""

        def forget_number() -> None:
            self._own_number = ""

        return self._collect(note.blocks, forget_number)

    # Admonitions

    def _enter_admonition(self, admonition: Admonition) -> _Leave:
        chars = self.chars
        outer, self._admonition = self._admonition, admonition
        leave = self._enter_container(admonition.blocks, lambda: admonition.finish(self.chars - chars), 1)

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

    def _enter_label(self, level: int = 0) -> _Leave:
        """Read the title of an admonition, which may be a heading."""
        admonition = self._admonition
        title: list[Block] = []
        self._in_title = True

        def take_title() -> None:
            self._in_title = False
            for block in title:
                if isinstance(block, Paragraph) and admonition is not None:
                    admonition.label += block.leaves
                    admonition.level = level

        return self._collect(title, take_title)

    # Lists

    def _enter_list(self, element: dom.Element) -> _Leave:
        this_list = List(_LISTS[element.tag])
        if this_list.kind == DEFINITIONS and (admonition := admonition_of(element, element.attr("class"))) is not None:
            return self._enter_admonition(admonition)
        before: list[Block] = []
        is_outermost = self._list is None
        outside, targets_before, chars = self._outside_chars, len(self._in_page), self.chars

        def finish() -> list[Block]:
            if this_list.kind == NUMBERS:
                this_list.number_items(element)
            elif this_list.kind == DEFINITIONS:
                this_list.place_terms()
            elif this_list.is_layout():
                return [*before, *(block for item in this_list.items for block in item.blocks)]
            targets = self._in_page[targets_before:]
            if is_outermost and self._outside_chars == outside and len(targets) > 1:
                this_list.in_page_targets, this_list.chars = targets, self.chars - chars
                self.contents.append(this_list)
            return [*before, this_list] if this_list.items else before

        leave = self._enter_container(before, finish, 2)
        if self.blocks is before:  # not nested too deep
            self._list = this_list
        return leave

    def _enter_item(self, element: dom.Element) -> _Leave:
        self._start_block()
        if self._list is None or self._list.kind == DEFINITIONS:
            return self._flush
        item = Item(element.attr("value"))
        self._list.items.append(item)
        self.blocks = item.blocks  # text between two items belongs to the first
        return self._end_block

    def _enter_term(self, element: dom.Element) -> _Leave:
        self._start_block()
        if self._admonition is not None and self._is_at_title(element):
            return self._enter_label()
        definitions = self._list
        if definitions is None or definitions.kind != DEFINITIONS:
            return self._flush
        if not definitions.items or definitions.items[-1].blocks or definitions.items[-1].is_defined:
            definitions.items.append(Item())
        item = definitions.items[-1]
        term: list[Block] = []
        self.blocks = term

        def end() -> None:
            self._end_block()
            self.blocks = item.blocks
            item.add_term(term)

        return end

    def _enter_definition(self, _element: dom.Element) -> _Leave:
        self._start_block()
        definitions = self._list
        if definitions is None or definitions.kind != DEFINITIONS:
            return self._flush
        if not definitions.items:
            definitions.items.append(Item())
        item = definitions.items[-1]
        item.is_defined = True
        self.blocks = item.blocks
        return self._end_block

    # Tables

    def _enter_table(self, element: dom.Element) -> _Leave | None:
        if self._add_listing(self._listings.from_table(element)):
            return None
        if (admonition := admonition_of(element, element.attr("class"))) is not None:
            return self._enter_admonition(admonition)
        draft = TableDraft(element)
        if self._admonition is not None and not self._admonition.blocks and self.blocks is self._admonition.blocks:
            draft.is_layout = True
        return self._enter_draft(draft)

    def _enter_grid(self, element: dom.Element, rows: list[list[dom.Element]]) -> _Leave:
        """Read a table that is a grid of `div` elements."""
        draft = TableDraft(element)
        draft.has_head = True
        for first, *others in rows:
            self._special[first] = _Walk._enter_first_cell
            self._special.update(dict.fromkeys(others, _Walk._enter_cell))
        return self._enter_draft(draft)

    def _enter_first_cell(self, element: dom.Element) -> _Leave | None:
        if self._table is not None:
            self._table.add_row()
        return self._enter_cell(element)

    def _enter_draft(self, draft: TableDraft) -> _Leave:
        before: list[Block] = []
        outer = self._table
        self._table_count += 1
        sections, tables = self._section_count, self._table_count

        def finish() -> list[Block]:
            draft.holds_sections = self._section_count > sections
            draft.holds_tables = self._table_count > tables
            draft.holds_blocks = self._block_count > block_count
            self._table = outer
            return [*before, *draft.finish()]

        leave = self._enter_container(before, finish)
        block_count = self._block_count
        if self.blocks is before:  # not nested too deep
            self._table = draft
        return leave

    def _enter_table_section(self, element: dom.Element) -> _Leave | None:
        if self._table is None:
            return self._enter_block(element)
        self._table.start_group(element.tag)
        return _do_nothing

    def _enter_caption(self, _element: dom.Element) -> _Leave:
        self._flush()
        if self._table is None:
            return self._flush
        self._table.has_head = True
        return self._collect(self._table.caption)

    def _enter_row(self, _element: dom.Element) -> _Leave:
        self._flush()
        if self._table is not None:
            self._table.add_row()
        return self._flush

    def _enter_cell(self, element: dom.Element) -> _Leave | None:
        self._end_block()
        table, admonition = self._table, self._admonition
        if table is None:
            return self._flush
        if admonition is not None and table.is_layout and not admonition.label and not admonition.blocks:
            class_ = (element.attr("class") or "").split()
            if "icon" in class_ and (label := icon_label(element)):
                admonition.label.append((TEXT, label, 0, None, ""))
                self._count_unlinked(len(label))
                return None
        cell = Cell(element)
        table.add_cell(cell)
        chars = self.chars

        def end() -> None:
            cell.chars = self.chars - chars
            if not cell.blocks and (meaning := icon_meaning(element)):
                cell.blocks.append(Paragraph([(TEXT, meaning, 0, None, "")]))

        return self._collect(cell.blocks, end)


_HANDLERS: dict[str, _Handler] = {
    **dict.fromkeys(_SKIPPED, _Walk._skip),
    **dict.fromkeys(_BLOCKS, _Walk._enter_block),
    **dict.fromkeys(_SECTIONS, _Walk._enter_section),
    **dict.fromkeys(_TABLE_SECTIONS, _Walk._enter_table_section),
    **dict.fromkeys(_SEPARATED, _Walk._enter_separated),
    **dict.fromkeys(_EMPHASIS, _Walk._enter_emphasis),
    **dict.fromkeys(_LISTS, _Walk._enter_list),
    **dict.fromkeys(("sup", "sub"), _Walk._enter_shifted),
    **dict.fromkeys(("h1", "h2", "h3", "h4", "h5", "h6"), _Walk._enter_heading),
    **dict.fromkeys(("code", "kbd", "samp", "tt"), _Walk._enter_code),
    **dict.fromkeys(("pre", "xmp", "listing", "plaintext"), _Walk._enter_pre),
    **dict.fromkeys(("td", "th"), _Walk._enter_cell),
    "a": _Walk._enter_link,
    "blockquote": _Walk._enter_blockquote,
    "br": lambda walk, _element: walk._add_break(),
    "caption": _Walk._enter_caption,
    "dd": _Walk._enter_definition,
    "dt": _Walk._enter_term,
    "hr": _Walk._enter_rule,
    "img": _Walk._enter_image,
    "li": _Walk._enter_item,
    "nav": _Walk._enter_nav,
    "q": _Walk._enter_quotation,
    "rt": _Walk._enter_ruby_text,
    "summary": _Walk._enter_summary,
    "table": _Walk._enter_table,
    "tr": _Walk._enter_row,
    dom.MARKDOWN_TAG: _Walk._enter_markdown,
}
