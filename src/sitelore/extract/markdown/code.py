"""Program listings: their exact text, their language, and nothing that a highlighter drew around them."""

from __future__ import annotations

import re
from itertools import islice

from sitelore.extract import dom
from sitelore.extract.markdown.blocks import CodeBlock

_LANGUAGE = re.compile(
    r"(?:^|\s)(?:lang|language|highlight-source|highlight-text|source|sourceCode|src)-([A-Za-z0-9+#._-]{1,30})(?=\s|$)"
    r"|(?:^|\s)brush:\s*([A-Za-z0-9+#._-]{1,30})"
    r"|(?:^|\s)highlight-([a-z0-9+#]{1,20})(?=\s|$)"
)
_NAME = re.compile(r"[a-z0-9+#._-]{1,30}")
_NO_LANGUAGE = frozenset({
    "none", "nohighlight", "no-highlight", "default", "auto", "line-numbers", "linenums", "copy", "wrapper", "text", "txt",
    "plain", "plaintext", "plain-text", "raw", "output", "literal", "highlight", "code", "pre",
})  # fmt: skip
_ALIASES = {
    "python3": "python", "py": "python", "py3": "python", "ipython": "python", "ipython3": "python", "js": "javascript",
    "ts": "typescript", "rb": "ruby", "rs": "rust", "golang": "go", "yml": "yaml", "shellscript": "shell", "sh": "bash",
}  # fmt: skip
# Names that a class may consist of; others need a prefix.
_KNOWN = frozenset({
    "ada", "apache", "applescript", "arduino", "asm", "assembly", "awk", "bash", "basic", "batch", "c", "c#", "c++",
    "clojure", "cmake", "cobol", "coffeescript", "console", "cpp", "crystal", "csharp", "css", "csv", "cuda", "d",
    "dart", "delphi", "diff", "django", "docker", "dockerfile", "elixir", "elm", "erlang", "fortran", "fsharp", "go",
    "golang", "graphql", "groovy", "haml", "haskell", "hcl", "html", "http", "ini", "java", "javascript", "js", "json",
    "jsx", "julia", "kotlin", "latex", "less", "lisp", "lua", "makefile", "markdown", "matlab", "mysql", "nginx", "nim",
    "objc", "objectivec", "ocaml", "pascal", "perl", "pgsql", "php", "plaintext", "postgresql", "powershell", "prolog",
    "properties", "protobuf", "pycon", "python", "python3", "py", "r", "racket", "rb", "rest", "ruby", "rust", "sas", "scala",
    "scheme", "scss", "sh", "shell", "shellscript", "smalltalk", "solidity", "sql", "stata", "svelte", "swift", "tcl",
    "terraform", "tex", "toml", "ts", "tsx", "typescript", "vb", "vbnet", "verilog", "vhdl", "vim", "vue", "wasm",
    "xml", "xquery", "yaml", "yml", "zig", "zsh",
})  # fmt: skip
_LANGUAGE_ATTRIBUTES = ("data-lang", "data-language", "data-code-language", "data-enlighter-language", "syntax", "lang")
_GUTTER = re.compile(
    r"(?:^|[\s_-])(?:gutter|linenos?|linenodiv|line-?numbers?(?:-rows)?|line-?nums?|blob-num|ln-numbers|crayon-nums?|lnt?|linenum)(?=$|[\s_-])",
    re.IGNORECASE,
)
_NUMBERS = re.compile(r"[\d\s.:|+-]*")
_LINE = re.compile(r"(?:^|[\s_-])(?:line|token-line|view-line|code-line|cl)(?=$|\s)")
_BLOCK_STYLE = re.compile(r"display\s*:\s*(?:block|flex|grid)")
_CODE_HOLDER = re.compile(r"code|highlight|source|listing|snippet", re.IGNORECASE)
_LINE_TAGS = frozenset({"div", "p", "li", "tr"})
_LISTING_PARTS = frozenset({"br", "div", "p", "pre"})
LINES_CLASS, LINE_CLASS = "fragment", "line"
"""Classes of a listing of lines and of each line, as Doxygen writes them."""
_PARENTS_ASKED = 3
_WRAPPER_ELEMENTS = 40
_GUTTER_READS, _GUTTER_CHARS = 4, 10_000


class Listings:
    """Finds the listings of a page."""

    def __init__(self) -> None:
        self._crowded: dict[dom.Element, bool] = {}

    def block(self, pre: dom.Element) -> CodeBlock | None:
        """Return the code block of a `pre`; None when it is empty."""
        return _block(code_text(pre), self._language_of(pre))

    def of_code(self, code: dom.Element) -> CodeBlock | None:
        """Return the code block that an inline `code` really is: with breaks or blocks, or with lines shown as lines."""
        inner = dom.child_elements(code)
        is_listing = any(element.tag in _LISTING_PARTS for element in inner) if inner else _shows_lines(code)
        return self.block(code) if is_listing else None

    def of_lines(self, element: dom.Element) -> CodeBlock | None:
        """Return the listing that an element of nothing but lines is, as Doxygen writes them; None for any other element."""
        lines = dom.child_elements(element)
        if not lines or not all(LINE_CLASS in (line.attr("class") or "").split() for line in lines):
            return None
        gutters = {gutter for line in lines for gutter in dom.elements_list(line, "span") if _is_line_number(gutter)}
        texts = [_text_with_lines(line, gutters, set()).rstrip("\n") for line in lines]
        return _block("\n".join(texts), self._language_of(element))

    def of_table(self, table: dom.Element) -> CodeBlock | None:
        """Return the listing that a table of line numbers and lines is; None for any other table."""
        rows = _rows(table)
        if not rows or not any(map(_is_gutter, _cells(rows[0]))):
            return None
        cells = [cell for row in rows for cell in _cells(row)]
        code = [cell for cell in cells if cell.tag == "td" and not _is_gutter(cell)]
        if not code or not any(map(_is_code_cell, code)):
            return None
        language = self._language_of(code[0].find("pre") or code[0]) or self._language_of(table)
        texts = [code_text(cell.find("pre") or cell) for cell in code]
        return _block("\n".join([text.strip("\n") for text in texts] if len(texts) > 1 else texts), language)

    def _language_of(self, listing: dom.Element) -> str:
        """Return the language that a listing, its `code` or an element around them names; empty when none does."""
        inner = listing.find("code")
        asked = [element for element in (inner, listing) if element is not None]
        around = dom.as_element(listing.parent)
        # A container of several listings says nothing about one of them.
        while around is not None and len(asked) < _PARENTS_ASKED + 2 and not self._is_crowded(around):
            asked.append(around)
            around = dom.as_element(around.parent)
        return next(filter(None, map(_own_language, asked)), "")

    def _is_crowded(self, around: dom.Element) -> bool:
        """Whether an element holds more than a gutter and its listing, or is too large to be the wrapper of one."""
        known = self._crowded.get(around)
        if known is None:
            known = self._crowded[around] = _holds_several(around)
        return known


def _holds_several(around: dom.Element) -> bool:
    listings = visits = 0
    stack = [around]
    while stack:
        for child in dom.child_elements(stack.pop()):
            visits += 1
            if child.tag == "pre":
                listings += 1
            elif child.tag != "table":
                stack.append(child)
            if listings > 2 or visits > _WRAPPER_ELEMENTS:
                return True
    return False


def _is_line_number(span: dom.Element) -> bool:
    class_ = span.attr("class")
    return class_ is not None and _GUTTER.search(class_) is not None and _NUMBERS.fullmatch(span.text) is not None


def _block(code: str, language: str) -> CodeBlock | None:
    if not code.strip():
        return None
    if "\r" in code:
        code = code.replace("\r\n", "\n").replace("\r", "\n")
    return CodeBlock(code.removesuffix("\n"), language)


def _own_language(element: dom.Element) -> str:
    for name in _LANGUAGE_ATTRIBUTES:
        language = _language(raw) if (raw := element.attr(name)) else ""
        # `lang` is a human language more often than not.
        if language and (name != "lang" or language in _KNOWN):
            return language
    class_ = element.attr("class")
    if not class_:
        return ""
    for match in _LANGUAGE.finditer(class_):
        if language := _language(match[match.lastindex or 0]):
            return language
    is_code = element.tag in {"pre", "code"} or _CODE_HOLDER.search(class_) is not None
    return next((_language(token) for token in class_.lower().split() if token in _KNOWN), "") if is_code else ""


def _language(raw: str) -> str:
    name = raw.strip().lower()
    if not name or name in _NO_LANGUAGE or not _NAME.fullmatch(name):
        return ""
    return _ALIASES.get(name, name)


def code_text(pre: dom.Element) -> str:
    """Return a listing's text: without gutters, with line ends for breaks and for elements that are lines."""
    elements = list(pre.iter_elements())
    if not elements or (len(elements) == 1 and elements[0].tag == "code"):
        return pre.text
    classes = [element.attr("class") or "" for element in elements]
    # A highlighter gives thousands of elements the same few classes.
    gutters = {class_ for class_ in set(classes) if class_ and _GUTTER.search(class_)}
    dropped = _gutters(pre, [element for element, class_ in zip(elements, classes, strict=True) if class_ in gutters])
    lines = {element for element in elements if element.tag in _LINE_TAGS}
    if not lines:
        lines = _line_spans(elements, classes)
        if len(lines) < 2:
            lines = set()
    if not dropped and not lines and not any(element.tag == "br" for element in elements):
        return pre.text
    return _text_with_lines(pre, dropped, lines)


def _gutters(pre: dom.Element, named: list[dom.Element]) -> set[dom.Element]:
    """The elements that hold nothing but line numbers."""
    named += [element for element in dom.select(pre, "[data-line-number]") if element.attr("data-line") is None]
    if not named:
        return set()
    dropped = set()
    left = _GUTTER_READS * len(pre.text) + _GUTTER_CHARS  # elements nested without end would be read again and again
    for element in named:
        text = element.text
        left -= len(text) + 1
        if left < 0:
            break
        if _NUMBERS.fullmatch(text):
            dropped.add(element)
    return dropped


def _line_spans(elements: list[dom.Element], classes: list[str]) -> set[dom.Element]:
    named = {class_ for class_ in set(classes) if class_ and _LINE.search(class_)}
    return {
        element
        for element, class_ in zip(elements, classes, strict=True)
        if element.tag == "span" and (class_ in named or ((style := element.attr("style")) and _BLOCK_STYLE.search(style)))
    }


def _text_with_lines(pre: dom.Element, dropped: set[dom.Element], lines: set[dom.Element]) -> str:
    """Join the text below an element. A line element starts and ends a line, unless its text does that itself."""
    parts: list[str] = []
    is_due = False  # a line has ended, and its line end is not written yet
    stack: list[tuple[dom.AnyNode, bool]] = [(child, False) for child in reversed(pre.children)]
    while stack:
        node, is_end = stack.pop()
        if is_end:
            is_due = not (parts and parts[-1].endswith("\n")) or is_due
            continue
        if (text := dom.as_text(node)) is not None:
            if text.data:
                if is_due and text.data[0] != "\n":
                    parts.append("\n")
                is_due = False
                parts.append(text.data)
            continue
        element = dom.as_element(node)
        if element is None or element in dropped:
            continue
        if element.tag == "br":
            parts.append("\n")  # also ends a line that is due
            is_due = False
            continue
        if element in lines:
            if is_due:
                parts.append("\n")
                is_due = False
            stack.append((element, True))
        stack += [(child, False) for child in reversed(element.children)]
    return "".join(parts)


def _shows_lines(code: dom.Element) -> bool:
    """Whether line ends in an inline `code` are shown as such, though no `pre` says so."""
    parent = dom.as_element(code.parent)
    if parent is None or "\n" not in code.text.strip():
        return False
    if "white-space" in dom.attribute(code, "style"):
        return True
    is_held = parent.tag in {"div", "figure"} and _CODE_HOLDER.search(dom.attribute(parent, "class")) is not None
    return is_held and _stands_alone(code)


def _stands_alone(code: dom.Element) -> bool:
    before, after = code.previous_sibling, code.next_sibling
    while before is not None and dom.is_blank(before):
        before = before.previous_sibling
    while after is not None and dom.is_blank(after):
        after = after.next_sibling
    return before is None and after is None


def _rows(table: dom.Element) -> list[dom.Element]:
    rows = []
    for part in dom.child_elements(table):
        if part.tag == "tr":
            rows.append(part)
        elif part.tag in {"thead", "tbody", "tfoot"}:
            rows += [row for row in dom.child_elements(part) if row.tag == "tr"]
    return rows


def _cells(row: dom.Element) -> list[dom.Element]:
    return [cell for cell in dom.child_elements(row) if cell.tag in {"td", "th"}]


def _is_gutter(cell: dom.Element) -> bool:
    named = (cell, *islice(cell.iter_elements(("pre", "div", "span")), 20))
    is_named = any(_GUTTER.search(dom.attribute(element, "class")) or element.attr("data-line-number") for element in named)
    return is_named and _NUMBERS.fullmatch(cell.text) is not None


def _is_code_cell(cell: dom.Element) -> bool:
    class_ = dom.attribute(cell, "class").lower()
    return "code" in class_ or "content" in class_ or dom.holds(cell, "pre", "code")
