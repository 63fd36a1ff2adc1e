"""The walk over an HTML subtree that builds blocks. Each kind of element has one handler, and no other place decides about it.

The walk keeps its own stack, so a page may nest elements as deep as it likes. Containers (lists, quotes, tables) nest at most
`MAX_DEPTH` deep; what is deeper is written as plain blocks of the innermost one. Every element is entered and left once.
"""

# ruff: noqa: SLF001 - the table of handlers is made of methods of the walk
from __future__ import annotations

import re
from collections.abc import Iterator

from sitelore.extract import dom
from sitelore.extract.markdown.code import LINES_CLASS
from sitelore.extract.markdown.containers import Containers, Enter, Leave, nothing
from sitelore.extract.markdown.emphasis import EM, STRIKE, STRONG
from sitelore.extract.markdown.escape import escape_label
from sitelore.extract.markdown.footnotes import find_footnotes
from sitelore.extract.markdown.formulas import formula_of_image
from sitelore.extract.markdown.images import is_pixel, source_of
from sitelore.extract.markdown.inline import RAW, TEXT, Link
from sitelore.extract.markdown.invisible import unseen, without
from sitelore.extract.metadata.links import PageResolver

_SKIPPED = frozenset({
    "script", "style", "template", "head", "title", "meta", "link", "base", "svg", "canvas", "iframe", "object", "embed",
    "video", "audio", "map", "datalist", "rp", "colgroup", "col", "param", "source", "track", "input", "textarea",
    "progress", "meter", "frameset", "annotation", "annotation-xml",
})  # fmt: skip
_BLOCKS = frozenset({
    "p", "div", "section", "article", "header", "footer", "figure", "figcaption", "aside", "main", "address", "form",
    "fieldset", "details", "center", "hgroup", "search", "dialog", "legend", "body", "html", "menuitem", "noscript", "thead",
    "tbody", "tfoot",
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
_KEEPS_LINES = re.compile(r"white-space\s*:\s*(?:pre-wrap|pre-line|break-spaces)", re.ASCII | re.IGNORECASE)
_SET_AS_CODE = re.compile(r"white-space\s*:\s*pre\s*(?:;|!|$)", re.ASCII | re.IGNORECASE)
_MAX_PERMALINK_DEPTH = 50


class Walk(Containers):
    """Builds the blocks of subtrees, one after the other."""

    def __init__(self, resolver: PageResolver, *, with_menus: bool = False) -> None:
        super().__init__()
        self._resolver = resolver
        self._with_menus = with_menus
        self._links = 0
        self._special: dict[dom.Element, Enter] = {}

    def read(self, node: dom.Node) -> None:
        """Add the blocks of a subtree."""
        self._prepare(node)
        element = dom.as_element(node)
        if element is None:
            self._walk(iter(node.children), nothing)
        elif (leave := self._enter_of(element)(self, element)) is not None:
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
                self._special[element] = Walk._kept_lines
            elif element.tag in _BLOCKS and _SET_AS_CODE.search(style):
                self._special[element] = Walk._pre
        if in_page := dom.select(node, "a[href^='#']"):
            footnotes = find_footnotes(node, in_page)
            self._special.update((link, _mark(label)) for link, label in footnotes.marks.items())
            self._special.update((raised, Walk._raised_mark) for raised in footnotes.raised)
            self._special.update((note, Walk._note(label)) for note, label in footnotes.notes.items())
            self._special.update((element, Walk._skip) for element in footnotes.dropped)

    def _enter_of(self, element: dom.Element) -> Enter:
        special = self._special.get(element) if self._special else None
        return special or _ENTER.get(element.tag, Walk._inline)

    def _walk(self, nodes: Iterator[dom.AnyNode], leave: Leave) -> None:
        stack: list[tuple[Iterator[dom.AnyNode], Leave]] = []
        enter, special, add_text, inline = _ENTER.get, self._special, self._text, Walk._inline
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
                handler = enter(node.tag, inline)  # type: ignore[attr-defined]
                if special and node in special:
                    handler = special[node]  # type: ignore[index]
                below = handler(self, node)  # type: ignore[arg-type]
                if below is not None:
                    stack.append((nodes, leave))
                    nodes, leave = iter(node.children), below
                    break
            else:
                leave()
                if not stack:
                    return
                nodes, leave = stack.pop()

    # Handlers: containers without a form of their own

    def _skip(self, _element: dom.Element) -> None:
        return None

    def _inline(self, element: dom.Element) -> Leave | None:
        """Read through an element that changes nothing: a span, or one that is not known."""
        if self._admonition is not None and self._is_at_title(element):
            return self._label()
        if self._heading is not None and "editsection" in (element.attr("class") or ""):
            return None
        if (only := dom.only_text(element)) is not None:
            self._text(only)
            return None
        return nothing

    def _separated(self, _element: dom.Element) -> Leave:
        self._gap()
        return self._gap

    def _block(self, element: dom.Element) -> Leave | None:
        tag = element.tag
        if self._table is not None and tag in {"thead", "tbody", "tfoot"}:
            self._table.section = tag
            self._table.has_head |= tag == "thead"
            return nothing
        if self._level and tag != "div" and self._leaves:
            self._end_heading()
        self._flush()
        self._block_count += 1
        if tag in _SECTIONS:
            self._sections += 1
        if class_ := element.attr("class"):
            if self._admonition is not None and self._is_at_title(element):
                return self._label()
            if LINES_CLASS in class_ and (listing := self._listings.of_lines(element)) is not None:
                self.blocks.append(self._seen_code(listing))
                self._count(len(listing.code))
                return None
            if (admonition := self._admonition_of(element, class_)) is not None:
                return self._admonish(admonition)
        return self._flush

    def _kept_lines(self, element: dom.Element) -> Leave | None:
        """Read an element whose style keeps line ends without being code: posts, descriptions, whole articles."""
        leave = _ENTER.get(element.tag, Walk._inline)(self, element) if element.tag not in {"span", "font"} else nothing
        if leave is None or self._is_code:
            return leave
        before, self._keeps_lines = self._keeps_lines, True

        def end() -> None:
            leave()
            self._keeps_lines = before

        return end

    def _nav(self, element: dom.Element) -> Leave:
        """Read a `nav`; one with nothing but links is a menu, and goes."""
        self._end_heading()
        leave = self._block(element) or nothing
        self._sections += 1
        blocks, size, unlinked = self.blocks, len(self.blocks), self._unlinked

        def end() -> None:
            leave()
            if self._unlinked == unlinked and not self._with_menus:
                del blocks[size:]

        return end

    # Handlers: headings

    def _h(self, element: dom.Element) -> Leave:
        self._end_heading()
        self._flush()
        self._sections += 1
        if self._admonition is not None and self._is_at_title(element):
            return self._label(_HEADINGS[element.tag])
        self._level, self._heading, self._heading_text = _HEADINGS[element.tag], element, element.text.strip()

        def end() -> None:
            if self._heading is element:
                self._end_heading()
            else:
                self._flush()

        return end

    def _summary(self, element: dom.Element) -> Leave:
        self._flush()
        if self._admonition is not None and self._is_at_title(element):
            return self._label()
        before, self._style = self._style, self._style | STRONG

        def end() -> None:
            self._flush()
            self._style = before

        return end

    # Handlers: inline markup

    def _strong(self, element: dom.Element) -> Leave | None:
        return self._styled(element, STRONG)

    def _em(self, element: dom.Element) -> Leave | None:
        return self._styled(element, EM)

    def _strike(self, element: dom.Element) -> Leave | None:
        return self._styled(element, STRIKE)

    def _styled(self, element: dom.Element, bit: int) -> Leave | None:
        before = self._style
        # Code is written as it is, with the emphasis around it alone.
        if not self._is_code:
            self._style = before | bit
        if (only := dom.only_text(element)) is not None:
            self._text(only)
            self._style = before
            return None

        def end() -> None:
            self._style = before

        return end

    def _code(self, element: dom.Element) -> Leave | None:
        if self._is_code:
            return nothing
        only = dom.only_text(element)
        may_be_listing = self._ends_in_space and not self._level and (only is None or "\n" in only)
        if may_be_listing and (block := self._listings.of_code(element)) is not None:
            self._flush()
            self.blocks.append(self._seen_code(block))
            self._count(len(block.code))
            return None
        self._is_code = True
        if only is not None:
            self._text(only)
            self._is_code = False
            return None

        def end() -> None:
            self._is_code = False

        return end

    def _q(self, _element: dom.Element) -> Leave:
        self._quotation_mark(is_start=True)

        def end() -> None:
            self._quotation_mark(is_start=False)

        return end

    def _quotation_mark(self, *, is_start: bool) -> None:
        self._leaves.append((TEXT, '"', self._style, self._link, ""))
        self._ends_in_space = is_start

    def _sup(self, element: dom.Element) -> Leave | None:
        return self._shifted(element, _RAISABLE, _RAISED)

    def _sub(self, element: dom.Element) -> Leave | None:
        return self._shifted(element, _LOWERABLE, _LOWERED)

    def _shifted(self, element: dom.Element, fitting: re.Pattern[str], spelling: dict[int, int]) -> Leave | None:
        """Write raised and lowered numbers as Unicode has them: `10<sup>6</sup>` must not become 106."""
        is_reference = self._link is not None and self._link.in_page
        if not self._is_code and not is_reference and (only := dom.only_text(element)) is not None:
            text = only.strip()
            if text and fitting.fullmatch(text):
                self._text(text.translate(spelling))
                return None
        return nothing

    def _rt(self, element: dom.Element) -> Leave | None:
        parent = dom.as_element(element.parent)
        text = element.text.strip()
        if text and parent is not None and parent.tag in {"ruby", "rtc"}:
            self._text(text if text[0] in "(\uff08" else f"({text})")
            return None
        return nothing

    def _br(self, _element: dom.Element) -> None:
        self._break()

    def _verbatim(self, element: dom.Element) -> None:
        """Add Markdown that was made before the walk: a formula or a task box."""
        self._formula(element.attr("md") or "", is_block=False)

    # Handlers: links and images

    def _a(self, element: dom.Element) -> Leave | None:
        href = element.attr("href")
        if href is None:
            return self._inline(element)
        if "#" in href and self._links < _MAX_PERMALINK_DEPTH:
            if self._is_permalink(element, href):
                return None
            # A heading that links to a place of its own page is a heading.
            if href[0] == "#" and (self._heading is not None or self._is_whole_heading(element)):
                return nothing
        # Without an address, a link is written as its text.
        address = self._resolver.target(href).markdown_url
        before, link = self._link, Link(address, in_page=href[:1] == "#")
        if link.in_page:
            self._in_page.append(href[1:])
        self._link = link
        self._links += 1
        if (only := dom.only_text(element)) is not None:
            self._text(only)
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
        address = target.markdown_url.partition("#")[0]
        alt = " ".join((element.attr("alt") or "").split())
        if self._invisible:
            alt = without(alt, self._invisible)
        self._leaves.append((RAW, f"![{escape_label(alt)}]({address})", self._style, self._link, ""))
        self._ends_in_space = False

    # Handlers: marks of footnotes

    def _footnote_mark(self, label: str) -> None:
        link, self._link = self._link, None
        self._raw(f"[^{label}]", f"[{label}]")
        self._link = link

    def _raised_mark(self, element: dom.Element) -> None:
        """Read the marks in a `sup`; the brackets around them are part of them."""
        for child in element.children:
            text, inner = dom.as_text(child), dom.as_element(child)
            if text is not None:
                self._text(text.data.strip("[]() ,"))
            elif inner is not None and (enter := self._special.get(inner)) is not None:
                enter(self, inner)
            elif inner is not None:
                self._text(inner.text)


def _mark(label: str) -> Enter:
    return lambda walk, _element: walk._footnote_mark(label)


_ENTER: dict[str, Enter] = {
    **dict.fromkeys(_SKIPPED, Walk._skip), **dict.fromkeys(_BLOCKS, Walk._block), **dict.fromkeys(_HEADINGS, Walk._h),
    **dict.fromkeys(("b", "strong"), Walk._strong), **dict.fromkeys(("i", "em", "var"), Walk._em),
    **dict.fromkeys(("s", "del", "strike"), Walk._strike), **dict.fromkeys(("code", "kbd", "samp", "tt"), Walk._code),
    **dict.fromkeys(("ul", "menu", "dir"), Walk._ul), **dict.fromkeys(("td", "th"), Walk._cell),
    **dict.fromkeys(("pre", "xmp", "listing", "plaintext"), Walk._pre), **dict.fromkeys(_SEPARATED, Walk._separated),
    "ol": Walk._ol, "li": Walk._li, "dl": Walk._dl, "dt": Walk._dt, "dd": Walk._dd, "a": Walk._a, "img": Walk._img,
    "br": Walk._br, "wbr": Walk._skip, "hr": Walk._hr, "blockquote": Walk._blockquote, "table": Walk._table_start,
    "caption": Walk._caption, "tr": Walk._row, "nav": Walk._nav, "sup": Walk._sup, "sub": Walk._sub, "rt": Walk._rt,
    "q": Walk._q, "summary": Walk._summary, dom.VERBATIM: Walk._verbatim,
}  # fmt: skip
"""What handles the start of each kind of element."""
