"""Finds program listings and formulas in the HTML, and writes them without Markdown escapes.

A listing becomes a code block with its exact text and its language, without the line numbers and the markup of a highlighter. A
formula becomes TeX between dollar signs, from MathML, MathJax's scripts, KaTeX, and delimiters in the text. TeX is the one text
that goes into Markdown unescaped, so anything in it that could be read as HTML or as a link is broken up.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

from sitelore.extract import dom
from sitelore.extract.markdown.blocks import CodeBlock
from sitelore.extract.markdown.inline import is_toggle
from sitelore.extract.page_objects.media import rescue_embeds, rescue_icons, rescue_images

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
    r"(?:^|[\s_-])(?:gutter|linenos?|linenodiv|line-?numbers?(?:-rows)?|line-?nums?|blob-num|listing_lines|ln-numbers|crayon-nums?|lnt?|linenum)(?=$|[\s_-])",
    re.IGNORECASE,
)
_NUMBERS = re.compile(r"[\d\s.:|+-]*")
_LINE = re.compile(r"(?:^|[\s_-])(?:line|token-line|view-line|code-line|cl)(?=$|\s)")
_BLOCK_STYLE = re.compile(r"display\s*:\s*(?:block|flex|grid)")
_CODE_HOLDER = re.compile(r"code|highlight|source|listing|snippet", re.IGNORECASE)
_SPHINX = ".highlight,.highlight-default,.doctest"
_LINE_TAGS = frozenset({"div", "p", "li", "tr"})
_LISTING_PARTS = frozenset({"br", "div", "p", "pre"})
LINES_CLASS = "fragment"
"""Class of a listing of lines, as Doxygen writes them."""
PROTOTYPE_CLASS = "memproto"
"""Class of the signature of a function or a macro, as Doxygen writes it."""
PROMPT_CLASS = "rompt"
"""Part of the class of the number of a notebook's cell: `prompt`, `jp-InputPrompt`."""
_PROMPT = re.compile(r"\s*(?:(?:In|Out)\s*)?\[[\s\d*]*\]:?\s*")
_LISTING_TABLES = frozenset({"RktBlk", "SVerbatim"})
"""Classes of tables that hold the lines of a listing, as Scribble writes them."""
_LINE_CLASS, _FOLD_CLASS, _TOOLTIP_CLASS = "line", "foldopen", "ttc"
_MAX_SPAN_BREAKS = 2
_MAX_PARENTS = 3
_WRAPPER_ELEMENTS = 40
_GUTTER_READS, _GUTTER_CHARS = 4, 10_000


class Listings:
    """Finds the listings of a page. Each method returns None when an element is not a listing, or an empty one."""

    def __init__(self) -> None:
        self._crowded: dict[dom.Element, bool] = {}

    def from_pre(self, pre: dom.Element) -> CodeBlock | None:
        """Return the code block of a `pre`."""
        code, language = _code_text(pre), self._language_of(pre)
        if not language and code.lstrip().startswith(">>> ") and pre.closest(_SPHINX) is not None:
            language = "pycon"  # a session of Python; those of Haskell look alike
        return _block(code, language)

    def from_code(self, code: dom.Element) -> CodeBlock | None:
        """Return the code block that an inline `code` really is: with breaks or blocks, or with lines shown as lines."""
        inner = dom.child_elements(code)
        parts = {element.tag for element in inner} & _LISTING_PARTS
        if not (parts if inner else _shows_lines(code)):
            return None
        listing = _block(_code_text(code, keeps_lines=False), self._language_of(code))
        if listing is not None:
            listing.is_span = parts == {"br"} and listing.code.count("\n") <= _MAX_SPAN_BREAKS
        return listing

    def from_lines(self, element: dom.Element) -> CodeBlock | None:
        """Return the code block of an element that holds nothing but lines, as Doxygen writes them."""
        lines = _doxygen_lines(element)
        if not lines:
            return None
        gutters = {gutter for line in lines for gutter in dom.elements_list(line, "span") if _is_line_number(gutter)}
        texts = [_text_with_lines(line, gutters, set()).rstrip("\n") for line in lines]
        return _block("\n".join(texts), self._language_of(element))

    def from_prototype(self, element: dom.Element) -> CodeBlock | None:
        """Return the code block of a signature that Doxygen writes as a table of its parts."""
        table = next(
            (table for table in dom.elements_list(element, "table") if "memname" in dom.attribute(table, "class")), None
        )
        if table is None:
            return None
        signature = ""
        for cell in (cell for row in _rows(table) for cell in _cells(row)):
            text = " ".join(cell.text.split())
            is_tight = not signature or signature.endswith("(") or text in {"(", ")"}
            signature += text if is_tight or not text else f" {text}"
        labels = [label.text for label in dom.elements_list(element, "span") if dom.attribute(label, "class") == "mlabel"]
        return _block(" ".join([signature, *(f"[{label}]" for label in labels)]), self._language_of(element))

    def from_table(self, table: dom.Element) -> CodeBlock | None:
        """Return the code block of a table that holds line numbers and lines."""
        rows = _rows(table)
        if not _LISTING_TABLES.isdisjoint((table.attr("class") or "").split()):
            lines = [row for row in dom.elements_list(table, "tr") if not dom.has_descendant(row, "table")]
            return _block("\n".join([_text_with_lines(line, set(), set()).rstrip() for line in lines]), "")
        if not rows or not any(map(_is_gutter, _cells(rows[0]))):
            return None
        cells = [cell for row in rows for cell in _cells(row)]
        code = [cell for cell in cells if cell.tag == "td" and not _is_gutter(cell)]
        if not code or not any(map(_is_code_cell, code)):
            return None
        language = self._language_of(code[0].find("pre") or code[0]) or self._language_of(table)
        texts = [_code_text(cell.find("pre") or cell) for cell in code]
        return _block("\n".join([text.strip("\n") for text in texts] if len(texts) > 1 else texts), language)

    def _language_of(self, listing: dom.Element) -> str:
        """Return the language that a listing, its `code` or an element around them names; empty when none does."""
        inner = listing.find("code")
        elements = [listing] if inner is None else [inner, listing]
        around = dom.as_element(listing.parent)
        # A container of several listings says nothing about one of them.
        while around is not None and len(elements) < _MAX_PARENTS + 2 and not self._is_crowded(around):
            elements.append(around)
            around = dom.as_element(around.parent)
        return next(filter(None, map(_own_language, elements)), "")

    def _is_crowded(self, around: dom.Element) -> bool:
        if around not in self._crowded:
            self._crowded[around] = _holds_several(around)
        return self._crowded[around]


def is_prompt(element: dom.Element) -> bool:
    """Whether all text of an element is the number of a notebook's cell."""
    return _PROMPT.fullmatch(element.text) is not None


def _doxygen_lines(listing: dom.Element) -> list[dom.Element]:
    """Return the lines of a listing of Doxygen, without its tooltips; none when it holds anything else."""
    lines: list[dom.Element] = []
    stack = dom.child_elements(listing)[::-1]
    while stack:
        element = stack.pop()
        classes = (element.attr("class") or "").split()
        if _LINE_CLASS in classes:
            lines.append(element)
        elif _FOLD_CLASS in classes:
            stack += dom.child_elements(element)[::-1]
        elif _TOOLTIP_CLASS not in classes:
            return []
    return lines


def _holds_several(around: dom.Element) -> bool:
    """Whether an element holds more than a gutter and its listing, or is too large to be the wrapper of one."""
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
    # A browser copies no-break spaces of code as spaces, and no compiler reads them as such.
    return CodeBlock(code.removesuffix("\n").replace("\xa0", " "), language)


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


def _code_text(pre: dom.Element, *, keeps_lines: bool = True) -> str:
    """Return a listing's text: without gutters, with line ends for breaks and for elements that are lines.

    `keeps_lines`: whether line ends are shown as such; elsewhere one after a `br` is white space.
    """
    elements = list(pre.iter_elements())
    if not elements or (len(elements) == 1 and elements[0].tag == "code"):
        return pre.text
    classes = [element.attr("class") or "" for element in elements]
    # A highlighter gives thousands of elements the same few classes.
    gutters = {class_ for class_ in set(classes) if class_ and _GUTTER.search(class_)}
    dropped = _gutters(pre, [element for element, class_ in zip(elements, classes, strict=True) if class_ in gutters])
    lines = {element for element in elements if element.tag in _LINE_TAGS} or _line_spans(elements, classes)
    if not dropped and not lines and not any(element.tag == "br" for element in elements):
        return pre.text
    return _text_with_lines(pre, dropped, lines, keeps_lines=keeps_lines)


def _gutters(pre: dom.Element, named: list[dom.Element]) -> set[dom.Element]:
    """Return the elements that hold nothing but line numbers."""
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
    """Return the spans that are lines; none when there is only one."""
    named = {class_ for class_ in set(classes) if class_ and _LINE.search(class_)}
    lines = {
        element
        for element, class_ in zip(elements, classes, strict=True)
        if element.tag == "span" and (class_ in named or ((style := element.attr("style")) and _BLOCK_STYLE.search(style)))
    }
    return lines if len(lines) > 1 else set()


def _text_with_lines(pre: dom.Element, dropped: set[dom.Element], lines: set[dom.Element], *, keeps_lines: bool = True) -> str:
    """Join the text below an element. A line element starts and ends a line, unless its text does that itself."""
    parts: list[str] = []
    is_due = False  # a line has ended, and its line end is not written yet
    ignored = ""  # the line end after a break, where it is white space
    stack: list[tuple[dom.AnyNode, bool]] = [(child, False) for child in reversed(pre.children)]
    while stack:
        node, is_end = stack.pop()
        if is_end:
            is_due = not (parts and parts[-1].endswith("\n")) or is_due
            continue
        if (text := dom.as_text(node)) is not None:
            if data := text.data.removeprefix(ignored):
                if is_due and data[0] != "\n":
                    parts.append("\n")
                is_due, ignored = False, ""
                parts.append(data)
            continue
        element = dom.as_element(node)
        if element is None or element in dropped:
            continue
        if element.tag == "br":
            parts.append("\n")  # also ends a line that is due
            is_due = False
            ignored = "" if keeps_lines else "\n"
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
    return is_held and all(map(dom.is_blank, code.previous_siblings)) and all(map(dom.is_blank, code.next_siblings))


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
    elements = (cell, *islice(cell.iter_elements(("pre", "div", "span")), 20))
    is_named = any(_GUTTER.search(dom.attribute(element, "class")) or element.attr("data-line-number") for element in elements)
    return is_named and _NUMBERS.fullmatch(cell.text) is not None


def _is_code_cell(cell: dom.Element) -> bool:
    class_ = dom.attribute(cell, "class").lower()
    return "code" in class_ or "content" in class_ or dom.has_descendant(cell, "pre", "code")


# Formulas

_TEX_ENCODINGS = frozenset({"application/x-tex", "application/x-latex", "tex", "latex", "text/tex"})
# Elements that a typesetter draws around the MathML with the source; the outermost of them is replaced.
_DRAWN = ".katex-display,.katex,mjx-container,.MathJax_Display,.MathJax,.MathJax_SVG,.MathJax_CHTML,.mwe-math-element"
_DRAWN_AS_BLOCK = ".katex-display,mjx-container[display=true],.MathJax_Display,.MathJax_SVG_Display,.math.display,.display-math"
_DRAWN_NAMES = re.compile(r"(?:^|\s)MathJax(?:_\w+)?(?:\s|$)")
_DELIMITED = re.compile(r"\\\(((?:[^\\]|\\[^()])+)\\\)|\\\[((?:[^\\]|\\[^\[\]])+)\\\]|\$\$([^$]*[\\^_=][^$]*)\$\$", re.DOTALL)
_COMMENT = re.compile(r"(?<!\\)%[^\n]*(?:\n|$)")
_TAG_LIKE = re.compile(r"<(?=[A-Za-z/!?])")
_FORMULA_CLASSES = frozenset({"latex", "tex", "math"})
_MAX_DEPTH = 40
_MAX_FORMULAS = 5000
_TEX_OF_ELEMENTS = {
    "msup": "{%s}^{%s}", "msub": "{%s}_{%s}", "mfrac": "\\frac{%s}{%s}", "munder": "{%s}_{%s}", "mover": "{%s}^{%s}",
    "msubsup": "{%s}_{%s}^{%s}", "munderover": "{%s}_{%s}^{%s}",
}  # fmt: skip
_TEX_OF_SIGNS = {
    "\u00d7": "\\times ", "÷": "\\div ", "±": "\\pm ", "∑": "\\sum ", "∏": "\\prod ", "∫": "\\int ", "∞": "\\infty ",
    "≤": "\\le ", "≥": "\\ge ", "≠": "\\ne ", "→": "\\to ", "⋅": "\\cdot ", "\u2212": "-", "\u2061": "", "\u2062": "",
    "\u2063": "", "π": "\\pi ", "\u03b1": "\\alpha ", "β": "\\beta ", "\u03b3": "\\gamma ", "δ": "\\delta ",
    "θ": "\\theta ", "λ": "\\lambda ", "μ": "\\mu ", "\u03c3": "\\sigma ", "ω": "\\omega ", "∂": "\\partial ",
    "∈": "\\in ", "≈": "\\approx ", "{": "\\{", "}": "\\}",
}  # fmt: skip


def _rescue_formulas(tree: dom.Tree) -> None:
    """Put TeX in the place of formulas. Has to run before hidden elements are dropped: TeX is in scripts and annotations."""
    for script in dom.select(tree, "script[type^='math/tex']")[:_MAX_FORMULAS]:
        _drop_drawing(script)
        if tex := script.text.strip():
            _replace(script, tex, is_block="mode=display" in dom.attribute(script, "type").replace(" ", ""))
        else:
            dom.drop(script)
    for math in dom.select(tree, "math")[:_MAX_FORMULAS]:
        # One that is in no page any more was dropped with the drawing around it.
        if dom.is_inside(math, "html") and (tex := _math_source(math)):
            _replace_math(math, tex)


def split_formulas(text: str) -> Iterator[tuple[str, str, bool]]:
    r"""Split text at its formulas, between `\(…\)`, `\[…\]` or `$$…$$`.

    Yields each formula as the text before it, its Markdown, and whether it is a block; last the rest with no formula.
    """
    end = 0
    for match in _DELIMITED.finditer(text):
        is_block = match[1] is None
        yield text[end : match.start()], _tex_markdown(match[match.lastindex or 0], is_block=is_block), is_block
        end = match.end()
    yield text[end:], "", False


def image_formula(image: dom.Element) -> str | None:
    """Return the formula that a picture shows, when its class says that it shows one; its alternative text is the source."""
    class_ = image.attr("class")
    if not class_ or ("tex" not in class_ and "math" not in class_) or _FORMULA_CLASSES.isdisjoint(class_.split()):
        return None
    alt = dom.attribute(image, "alt").strip()
    return _tex_markdown(alt, is_block=False) if alt else None


def _replace_math(math: dom.Element, tex: str) -> None:
    is_block = dom.attribute(math, "display") == "block" or dom.is_inside(math, _DRAWN_AS_BLOCK)
    outer = math
    while (around := dom.as_element(outer.parent)) is not None and (drawn := around.closest(_DRAWN)) is not None:
        outer = drawn
    _replace(outer, tex, is_block=is_block)


def _math_source(math: dom.Element) -> str:
    for annotation in math.iter_elements("annotation"):
        if dom.attribute(annotation, "encoding").lower() in _TEX_ENCODINGS and (tex := annotation.text.strip()):
            return tex
    return dom.attribute(math, "alttext").strip() or _tex_of(math, 0).strip()


def _tex_of(element: dom.Element, depth: int) -> str:
    """Write MathML that has no source as TeX, as far as its common elements go."""
    if depth > _MAX_DEPTH:
        return element.text
    parts = dom.child_elements(element)
    if not parts:
        text = " ".join(element.text.split())
        if element.tag == "mtext":
            return f"\\text{{{text}}}"
        return "".join(_TEX_OF_SIGNS.get(char, char) for char in text)
    inner = [_tex_of(part, depth + 1) for part in parts if part.tag not in {"annotation", "annotation-xml"}]
    pattern = _TEX_OF_ELEMENTS.get(element.tag)
    if pattern is not None and pattern.count("%s") == len(inner):
        return (pattern % tuple(inner)).replace("{}", "")
    if element.tag == "msqrt":
        return f"\\sqrt{{{''.join(inner)}}}"
    if element.tag == "mroot" and len(inner) == len("ab"):
        return f"\\sqrt[{inner[1]}]{{{inner[0]}}}"
    return (" \\\\ " if element.tag == "mtable" else " & " if element.tag == "mtr" else "").join(inner)


def _drop_drawing(script: dom.Element) -> None:
    """Drop what MathJax has drawn before its script: it shows the formula a second time."""
    while (before := script.previous_sibling) is not None:
        drawing = dom.as_element(before)
        if drawing is None or not _DRAWN_NAMES.search(dom.attribute(drawing, "class")):
            return
        dom.drop(drawing)


def _replace(element: dom.Element, tex: str, *, is_block: bool) -> None:
    markdown = _tex_markdown(tex, is_block=is_block)
    formula = dom.new_markdown(markdown, dom.new_text(markdown))
    element.replace_with(dom.new_element("div", None, formula) if is_block else formula)


def _tex_markdown(tex: str, *, is_block: bool) -> str:
    """Write TeX between dollar signs, on one line, with nothing in it that could be read as HTML or as a link."""
    line = " ".join(_COMMENT.sub(" ", tex).split()) if "%" in tex else " ".join(tex.split())
    for opening, closing in (("$$", "$$"), ("$", "$"), ("\\(", "\\)"), ("\\[", "\\]")):
        if line.startswith(opening) and line.endswith(closing) and len(line) > len(opening + closing):
            line = line[len(opening) : -len(closing)].strip()
            break
    line = _TAG_LIKE.sub("< ", line).replace("](", "] (").replace("][", "] [")
    return f"$${line}$$" if is_block else f"${line}$"


# Elements that are replaced before hidden ones are dropped from a tree

_MAX_TABS = 300
_TAB_ROLES = ("tablist", "tab", "tabpanel")
_TAB_PARTS = "[role=tablist],[role=tab],[role=tabpanel],.tablist,.tablist li.tab,.tabpanel"
_MAX_ANCHORS = 5_000
_MAX_ANCHOR_CHARS = 200
_MAX_TAB_CHARS, _MAX_TAB_START = 60, 300
_TOGGLES = "summary:only-child,span[class*=toggle i],span[class*=click i],a[class*=toggle i],label[class*=source i]"
_SECTION_EDITS = "[class*=editsection i]"
_LANGUAGE_LABELS = "span.lang,div.lang,span.language,span.language-name,span[class*=code-lang i],div[class*=code-lang i]"
_MAX_TOGGLES = 2_000
_TOGGLE_WORDS = 3


def prepare(tree: dom.Tree) -> None:
    """Rescue what is dropped from a tree with hidden elements: formulas, embedded content, task boxes, labels, images.

    And close the anchors that the parser left open, and drop the controls that open something.
    """
    _close_anchors(tree)
    _drop_toggles(tree)
    _rescue_formulas(tree)
    rescue_embeds(tree)
    _rescue_task_boxes(tree)
    _rescue_tab_labels(tree)
    _rescue_listing_titles(tree)
    _drop_language_labels(tree)
    rescue_images(tree)
    rescue_icons(tree)


def _close_anchors(tree: dom.Tree) -> None:
    """Take the text out of anchors that are written as in XML (`<a id="x"/>`): in HTML they stay open, over many paragraphs.

    Text within `a` counts as linked. The parser opens such an anchor again in each paragraph, with the same `id`.
    """
    names: set[str] = set()
    for anchor in dom.select(tree, "a:not([href])")[:_MAX_ANCHORS]:
        name = anchor.attr("id") or anchor.attr("name") or ""
        if name and name in names:
            anchor.replace_with(*dom.children(anchor))
        elif len(anchor.text) > _MAX_ANCHOR_CHARS:
            anchor.replace_with(dom.new_element("a", dom.attributes(anchor)), *dom.children(anchor))
        names.add(name)


def _drop_toggles(tree: dom.Tree) -> None:
    """Drop labels that only say that a click opens something, short titles of what opens nothing, links to edit a section."""
    for element in dom.select(tree, _TOGGLES)[:_MAX_TOGGLES]:
        if element.tag == "summary":
            around = dom.as_element(element.parent)
            shown = [] if around is None else [node for node in around.children if not dom.is_blank(node)]
            if len(shown) == 1 and len(element.text.split()) <= _TOGGLE_WORDS:
                dom.drop(element)
        elif is_toggle(element):
            dom.drop(element)
    for element in dom.select(tree, _SECTION_EDITS)[:_MAX_TOGGLES]:
        dom.drop(element)


def _rescue_task_boxes(tree: dom.Tree) -> None:
    """Replace the check boxes that list items start with by `[x]` and `[ ]`. Boxes of a form are questions, not tasks."""
    for box in dom.select(tree, "input[type=checkbox i]"):
        item = box.closest("li")
        if item is None or (box.closest("form") is not None and not dom.has_attribute(box, "disabled")):
            continue
        first = next((node for node in item.descendants if node == box or not _shows_nothing(node)), None)
        if first == box:
            mark = "[x]" if dom.has_attribute(box, "checked") else "[ ]"
            after = dom.as_text(box.next_sibling)
            gap = [] if after is not None and after.data[:1].isspace() else [dom.new_text(" ")]
            box.replace_with(dom.new_markdown(mark, dom.new_text(mark)), *gap)


def _rescue_tab_labels(tree: dom.Tree) -> None:
    """Move the labels of tabs into the panels that they open: a reader of Markdown sees all panels, one below the other."""
    has_panels = bool(dom.select(tree, "[role=tabpanel],.tabpanel"))
    pairs = _pair_tabs(dom.select(tree, _TAB_PARTS)[:_MAX_TABS]) if has_panels else iter(())
    for panel, tab in [*pairs, *_pair_radio_tabs(tree)]:
        label = " ".join(tab.text.split())
        # Panels without code often start with their label, or are parts of a menu.
        is_needed = dom.has_descendant(panel, "pre") or _begins_otherwise(panel, label)
        if is_needed and any(map(str.isalnum, label)) and len(label) <= _MAX_TAB_CHARS and panel.children:
            panel.children[0].insert_before(dom.new_element("p", None, dom.new_element("strong", None, dom.new_text(label))))
            tab.clear()


def _begins_otherwise(panel: dom.Element, label: str) -> bool:
    """Whether a panel holds text that does not begin with its label, and not a menu."""
    if not dom.has_descendant(panel, "p") or dom.is_inside(panel, "nav,header,footer,form,dialog"):
        return False
    return not " ".join(panel.text[:_MAX_TAB_START].split()).casefold().startswith(label.casefold())


def _pair_radio_tabs(tree: dom.Tree) -> Iterator[tuple[dom.Element, dom.Element]]:
    """Give each panel its label, where radio buttons choose between the elements that follow (MkDocs, VitePress)."""
    radios = {radio.attr("id") for radio in dom.select(tree, "input[type=radio][id]")[:_MAX_TABS]}
    groups: dict[dom.Element, list[dom.Element]] = {}
    for label in dom.select(tree, "label[for]")[:_MAX_TABS] if radios else ():
        if label.attr("for") in radios and (holder := dom.as_element(label.parent)) is not None:
            groups.setdefault(holder, []).append(label)
    for holder, labels in groups.items():
        after = next((element for node in holder.next_siblings if (element := dom.as_element(node)) is not None), None)
        panels = dom.child_elements(after) if after is not None else []
        if len(panels) == len(labels) > 1 and all(dom.has_descendant(panel, "pre", "p", "ul", "ol") for panel in panels):
            yield from zip(panels, labels, strict=True)


def _rescue_listing_titles(tree: dom.Tree) -> None:
    """Move the title in the first row of a table of line numbers and lines in front of it, where it is no listing."""
    for title in dom.select(tree, "table[class*=highlight i] tr:first-child > th:only-child")[:_MAX_TABS]:
        table, row = title.closest("table"), title.closest("tr")
        if table is not None and row is not None and dom.has_descendant(table, "pre"):
            table.insert_before(dom.new_element("p", None, *dom.children(title)))
            dom.drop(row)


def _drop_language_labels(tree: dom.Tree) -> None:
    """Drop the names of languages that stand right before listings: fences have them."""
    for label in dom.select(tree, _LANGUAGE_LABELS)[:_MAX_TABS]:
        name = label.text.strip().lower()
        if (_ALIASES.get(name, name) in _KNOWN or name in _NO_LANGUAGE) and _is_before_listing(label):
            dom.drop(label)


def _is_before_listing(label: dom.Element) -> bool:
    """Whether the element after a label, or after a wrapper that holds no other text, is a listing."""
    for element in (label, dom.as_element(label.parent)):
        if element is None:
            return False
        following = next((each for node in element.next_siblings if (each := dom.as_element(node)) is not None), None)
        if following is not None and following.tag == "pre":
            return True
    return False


def _pair_tabs(elements: list[dom.Element]) -> Iterator[tuple[dom.Element, dom.Element]]:
    """Give each panel its tab: the one that its ids name, or the one at its place in the list before it (Docusaurus)."""
    tabs: dict[str, dom.Element] = {}
    groups: list[tuple[list[dom.Element], list[dom.Element]]] = []
    for element in elements:
        role = element.attr("role")
        if role not in _TAB_ROLES:  # Antora names them by classes alone
            role = next((name for name in (element.attr("class") or "").split() if name in _TAB_ROLES), role)
        if role == "tablist":
            groups.append(([], []))
        elif groups:
            groups[-1][role == "tabpanel"].append(element)
        if role == "tab":
            controlled = element.attr("aria-controls") or (element.attr("href") or "").removeprefix("#")
            tabs |= {f"tab {element.attr('id')}": element, f"panel {controlled}": element}
    for group, panels in groups:
        for at, panel in enumerate(panels):
            name, label = panel.attr("id"), panel.attr("aria-labelledby")
            tab = (tabs.get(f"tab {label}") if label else None) or (tabs.get(f"panel {name}") if name else None)
            if tab is None and len(group) == len(panels) and not name and not label:
                tab = group[at]
            if tab is not None:
                yield panel, tab


def _shows_nothing(node: dom.AnyNode) -> bool:
    """Whether a node is neither text nor a box: a wrapper element, a comment, or white space."""
    element = dom.as_element(node)
    return element.tag not in {"input", "img"} if element is not None else dom.is_blank(node)
