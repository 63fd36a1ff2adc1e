"""The chosen subtree, rewritten until the parser's Markdown writer can do it justice.

One walk finds the elements that any rule is for; children come before what is around them. A rule changes the tree in
place. On an ordinary page that is links, pictures and list items, each with a short look.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import islice

from sitelore.extract import dom
from sitelore.extract.about.links import PageResolver
from sitelore.extract.writing.footnotes import settle_footnotes
from sitelore.extract.writing.formulas import formula_of_image
from sitelore.extract.writing.images import is_pixel, source_of
from sitelore.extract.writing.kept_lines import keep_lines
from sitelore.extract.writing.listings import settle_inline, settle_listing
from sitelore.extract.writing.tables import settle_table

_HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
_BLOCKS = frozenset({
    "p", "div", *_HEADINGS, "ul", "ol", "li", "table", "section", "article", "header", "footer", "figure", "figcaption",
    "blockquote", "pre", "dl", "dt", "dd", "hr", "aside", "main", "address", "form", "fieldset", "details", "summary",
})  # fmt: skip
_BREAKABLE = frozenset({"p", "div", "li", "blockquote", "section", "article", "main", "body", "dd", "figcaption", "address"})
_INLINE = frozenset({"b", "strong", "i", "em", "span", "font", "u", "small", "s", "del", "a"})
_ANCHOR_CLASS = re.compile(
    r"(?:^|[\s_-])(?:headerlink|header-?anchor|anchor|anchor-?link|anchorjs-link|permalink|hash-?link|heading-?(?:anchor|link)|self-?link"
    r"|direct-?link)(?=$|[\s_-])",
    re.IGNORECASE,
)
_RAISED = str.maketrans("0123456789+-\u2212=()bcdfghijklmnprtuvwxyzT", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻⁼⁽⁾ᵇᶜᵈᶠᵍʰⁱʲᵏˡᵐⁿᵖʳᵗᵘᵛʷˣʸᶻᵀ")
_LOWERED = str.maketrans("0123456789+-\u2212=()aehijklmnoprstuvx", "₀₁₂₃₄₅₆₇₈₉₊₋₋₌₍₎ₐₑₕᵢⱼₖₗₘₙₒₚᵣₛₜᵤᵥₓ")
# Numbers and the names of variables; `st`, `th`, `e` and `TM` are no powers.
_RAISABLE = re.compile(
    r"[-+\u2212]?(?:\d{1,6}[bcdfghijklmnprtuvwxyz]?|[bcdfghijklmnprtuvwxyzT])(?:[-+\u2212]\d{0,3})?|[-+\u2212]"
)
_LOWERABLE = re.compile(r"(?:\d{1,6}|[aehijklmnoprstuvx])(?:[-+\u2212]\d{0,3})?")
_LIKE = {"b": ("b", "strong"), "strong": ("b", "strong"), "i": ("i", "em"), "em": ("i", "em")}
_DEEP = 400
_SAMPLED = 64
_MAX_LISTS = 100
_MAX_PICKED = 50_000


class Rewriter:
    """Rewrites one subtree. `is_spliced` says afterwards whether the writer has to look out for verbatim elements."""

    __slots__ = ("_resolver", "_rules", "is_spliced")

    def __init__(self, resolver: PageResolver) -> None:
        self.is_spliced = False
        self._resolver = resolver
        self._rules: dict[str, Callable[[dom.Element], object]] = {
            **_PLAIN_RULES,
            "a": self._link,
            "img": self._image,
            "table": self._table,
            "dd": self._mark,
            dom.VERBATIM: self._mark,
        }

    def rewrite(self, node: dom.Node) -> None:
        """Change a subtree in place. One nested past all reason only gets its links settled."""
        keep_lines(node)
        picked = dom.elements_list(node, *REWRITTEN)
        if _is_too_deep(picked) or len(picked) > _MAX_PICKED:
            picked = [element for element in picked if element.tag in {"a", "img", dom.VERBATIM}]
            self._rules["a"] = self._address
        elif in_page := [link for link in dom.select(node, "a[href^='#']") if link.parent is not None]:
            if settle_footnotes(node, in_page):
                self.is_spliced = True
            _drop_contents_lists(node, in_page)
        rules = self._rules
        for element in reversed(picked):
            # A rule may have renamed or dropped it with something around it.
            if (rule := rules.get(element.tag)) is not None and element.parent is not None:
                rule(element)
        # The writer looks at direct neighbours to choose markers; what stands between them says nothing any more.
        dom.unwrap_all(node, "span,font")
        for mark in dom.elements_list(node, "b", "strong", "i", "em"):
            around = dom.as_element(mark.parent)
            if around is not None and around.tag in _LIKE[mark.tag]:
                mark.unwrap()

    def _mark(self, _element: dom.Element) -> None:
        self.is_spliced = True

    def _address(self, link: dom.Element) -> bool:
        """Make a link's address absolute; one that leads nowhere loses it."""
        href = link.attr("href")
        if href is None:
            return False
        written = self._resolver.target(href).written
        if not written:
            dom.drop_attribute(link, "href")
            return False
        if written != href:
            dom.set_attribute(link, "href", written)
        return True

    def _link(self, link: dom.Element) -> None:
        href = link.attr("href")
        if href is not None and "#" in href and _is_permalink(link, href):
            if any(map(str.isalnum, link.text)) and _is_whole_heading(link):
                link.unwrap()
            else:
                dom.drop(link)
            return
        if not self._address(link):
            return
        inner = list(link.iter_elements())
        if not inner:
            if not link.text.strip():
                link.unwrap()
        elif dom.is_bare(link):
            link.unwrap()
        elif any(element.tag in _BLOCKS for element in inner):
            _link_a_block(link)

    def _image(self, image: dom.Element) -> None:
        if (formula := formula_of_image(image)) is not None:
            image.replace_with(formula)
            self.is_spliced = True
            return
        raw = source_of(image)
        target = self._resolver.target(raw) if raw else None
        if target is None or target.url is None or is_pixel(image):
            dom.drop(image)
            return
        written = target.written.partition("#")[0]
        if written != image.attr("src"):
            dom.set_attribute(image, "src", written)
        for name in ("alt", "title"):
            if (value := image.attr(name)) and ("\n" in value or "\xa0" in value):
                dom.set_attribute(image, name, " ".join(value.split()))

    def _table(self, table: dom.Element) -> None:
        if settle_table(table):
            self.is_spliced = True


def flatten_marks(node: dom.Node) -> None:
    """Take emphasis within its like away: the writer spells it with a second kind of marker, which few places allow."""
    for inner in dom.select(node, "b b,b strong,strong b,strong strong,em em,em i,i em,i i,del del,s s,del s,s del"):
        inner.unwrap()


def _is_too_deep(picked: list[dom.Element]) -> bool:
    """Looking into an element costs what is below it; a page that nests 200,000 of them must not pay that squared."""
    return any(next(islice(element.ancestors, _DEEP, None), None) is not None for element in picked[::-_SAMPLED])


def _is_permalink(link: dom.Element, href: str) -> bool:
    """Whether a link is the mark by which a heading, or a place in the text, can be linked to."""
    text = link.text
    if not any(map(str.isalnum, text)):
        return (href[0] == "#" or link.closest("h1,h2,h3,h4,h5,h6") is not None) and not dom.holds(link, "img", dom.VERBATIM)
    if _is_whole_heading(link):
        return href[0] == "#"
    return _ANCHOR_CLASS.search(link.attr("class") or "") is not None and link.closest("h1,h2,h3,h4,h5,h6") is not None


def _is_whole_heading(link: dom.Element) -> bool:
    heading = dom.as_element(link.parent)
    return heading is not None and heading.tag in _HEADINGS and heading.text.strip() == link.text.strip()


def _drop_contents_lists(node: dom.Node, in_page: list[dom.Element]) -> None:
    """Lists of nothing but links to places of the same page, unless they are all there is."""
    lists: dict[dom.Element, None] = {}
    for link in in_page:
        if len(lists) > _MAX_LISTS:
            break
        holder = link.closest("ul,ol")
        while (
            holder is not None and (around := dom.as_element(holder.parent)) is not None and (outer := around.closest("ul,ol"))
        ):
            holder = outer
        if holder is not None:
            lists[holder] = None
    known = set(in_page)
    for holder in lists:
        links = dom.elements_list(holder, "a")
        if len(links) < 2 or not known.issuperset(links):
            continue
        size = _size(holder)
        if size == sum(map(_size, links)) and size < _size(node):
            dom.drop(holder)


def _size(node: dom.Node) -> int:
    return len("".join(node.text.split()))


def _link_a_block(link: dom.Element) -> None:
    """A link around blocks: its heading, or else its first line, is what links. One block alone the writer can do."""
    attributes = {name: value for name in ("href", "title") if (value := link.attr(name))}
    heading = next(iter(link.iter_elements(_HEADINGS)), None)
    if heading is not None:
        if not dom.is_bare(heading):
            heading.wrap_children(dom.made("a", attributes))
            link.unwrap()
        return
    run = _first_run(link)
    text = "".join(node.data if (node := dom.as_text(each)) is not None else _text_of(each) for each in run)
    if run and len("".join(text.split())) < _size(link):
        inner = dom.made("a", attributes)
        run[0].insert_before(inner)
        inner.extend(run)
        link.unwrap()


def _holds_block(element: dom.Element) -> bool:
    # To have the parser look for that many tags takes longer than to look at the few elements of a line.
    return any(inner.tag in _BLOCKS for inner in element.iter_elements())


def _text_of(node: dom.AnyNode) -> str:
    element = dom.as_element(node)
    return element.text if element is not None else ""


def _first_run(container: dom.Element) -> list[dom.AnyNode]:
    """The first line with text: inline nodes next to each other, no block among them."""
    while True:
        run: list[dom.AnyNode] = []
        below: dom.Element | None = None
        for child in container.children:
            element = dom.as_element(child)
            is_block = element is not None and (element.tag in _BLOCKS or _holds_block(element))
            if not is_block:
                run.append(child)
                continue
            if any(not dom.is_blank(each) and (dom.as_text(each) or _text_of(each).strip()) for each in run):
                return run
            run = []
            if element is not None and element.text.strip():
                below = element
                break
        if below is None:
            return run if any(_text_of(each).strip() or not dom.is_blank(each) for each in run) else []
        container = below


def _item(item: dom.Element) -> None:
    if dom.is_bare(item):
        dom.drop(item)


def _list(holder: dom.Element) -> None:
    if dom.is_bare(holder):
        dom.drop(holder)
        return
    _gather_items(holder)
    if holder.tag == "ol" and dom.has_attribute(holder, "reversed"):
        items = [child for child in dom.child_elements(holder) if child.tag == "li"]
        start = holder.attr("start") or ""
        number = int(start) if start.isdecimal() and len(start) < 9 else len(items)
        for item in items:
            value = item.attr("value") or ""
            number = int(value) if value.isdecimal() and len(value) < 9 else number
            dom.set_attribute(item, "value", str(max(number, 0)))
            number -= 1


def _gather_items(holder: dom.Element) -> None:
    """Make a list hold items alone: what stands between them goes into the item before, or before the list."""
    others = [child for child in holder.children if _tag_of(child) != "li" and not dom.is_blank(child)]
    if not others:
        return
    for stranger in filter(None, map(dom.as_element, others)):
        if stranger.tag not in {"ul", "ol"} and dom.holds(stranger, "li") and not dom.holds(stranger, "ul", "ol"):
            stranger.unwrap()
    item: dom.Element | None = None
    for child in list(holder.children):
        element = dom.as_element(child)
        if element is not None and element.tag == "li":
            item = element
        elif dom.is_blank(child):
            continue
        elif item is not None:
            item.append(child.extract())
        elif element is None or element.tag not in {"ul", "ol"}:
            holder.insert_before(child.extract())


def _tag_of(node: dom.AnyNode) -> str:
    return node.tag if isinstance(node, dom.Element) else ""


def _heading(heading: dom.Element) -> None:
    for span in dom.elements_list(heading, "span"):
        if "editsection" in (span.attr("class") or ""):
            dom.drop(span)
    if dom.is_bare(heading):
        dom.drop(heading)


def _menu(nav: dom.Element) -> None:
    if _size(nav) == sum(map(_size, dom.elements_list(nav, "a"))):
        dom.drop(nav)


def _break(br: dom.Element) -> None:
    """Two breaks are a new paragraph; one at an edge of inline elements goes outside them, where it breaks no marker."""
    before, parent = _beside(br, -1), dom.as_element(br.parent)
    while parent is not None and parent.tag in _INLINE and (before is None or _beside(br, 1) is None):
        if before is None:
            parent.insert_before(br.extract())
        else:
            parent.insert_after(br.extract())
        before, parent = _beside(br, -1), dom.as_element(br.parent)
    if before is None or _tag_of(before) != "br":
        return
    while parent is not None and parent.tag in {"span", "font"}:
        parent = dom.as_element(parent.parent)
    if parent is not None and parent.tag in _BREAKABLE:
        br.replace_with(dom.made("div"))


def _beside(node: dom.Element, step: int) -> dom.AnyNode | None:
    """The neighbour that shows something, on the left or on the right."""
    beside = node.previous_sibling if step < 0 else node.next_sibling
    while beside is not None and dom.is_blank(beside):
        beside = beside.previous_sibling if step < 0 else beside.next_sibling
    return beside


def _raised(sup: dom.Element) -> None:
    _shift(sup, _RAISABLE, _RAISED)


def _lowered(sub: dom.Element) -> None:
    _shift(sub, _LOWERABLE, _LOWERED)


def _shift(element: dom.Element, fitting: re.Pattern[str], spelling: dict[int, int]) -> None:
    """Markdown has no raised numbers; Unicode has. `10<sup>6</sup>` must not become 106."""
    text = element.text.strip()
    if text and fitting.fullmatch(text) and not dom.child_elements(element) and not element.closest("pre,code"):
        element.replace_with(dom.words(text.translate(spelling)))


def _ruby(reading: dom.Element) -> None:
    text = reading.text.strip()
    around = dom.as_element(reading.parent)
    if text and around is not None and around.tag in {"ruby", "rtc"}:
        reading.set_text(text if text[0] in "(\uff08" else f"({text})")


def _summary(summary: dom.Element) -> None:
    if not dom.is_bare(summary) and not _holds_block(summary) and not dom.holds(summary, "b", "strong"):
        summary.wrap_children(dom.made("strong"))


def _as_code(element: dom.Element) -> None:
    element.tag = "code"


def _as_listing(element: dom.Element) -> None:
    element.tag = "pre"
    settle_listing(element)


_PLAIN_RULES: dict[str, Callable[[dom.Element], object]] = {
    "li": _item, "ul": _list, "ol": _list, "nav": _menu, "br": _break, "sup": _raised, "sub": _lowered, "rt": _ruby,
    "rp": dom.drop, "summary": _summary, "tt": _as_code, "code": settle_inline, "pre": settle_listing, "xmp": _as_listing,
    "listing": _as_listing, **dict.fromkeys(_HEADINGS, _heading),
}  # fmt: skip
REWRITTEN = ("a", "img", "table", "dd", dom.VERBATIM, *_PLAIN_RULES)
