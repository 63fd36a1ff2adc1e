"""Program listings: their bytes, their language, and nothing of what a highlighter drew around them."""

from __future__ import annotations

import re
from itertools import islice

from sitelore.extract import dom

_LANGUAGE = re.compile(
    r"(?:^|\s)(?:lang|language|highlight-source|highlight-text|source|sourceCode|src)-([A-Za-z0-9+#._-]{1,30})(?=\s|$)"
    r"|(?:^|\s)brush:\s*([A-Za-z0-9+#._-]{1,30})"
    r"|(?:^|\s)highlight-([a-z0-9+#]{1,20})(?=\s|$)"
)
_NAME = re.compile(r"[a-z0-9+#._-]{1,30}")
_NO_LANGUAGE = frozenset(
    {"none", "nohighlight", "no-highlight", "default", "auto", "line-numbers", "linenums", "copy", "wrapper"}
)
# Names that a class may consist of; others need a prefix.
_KNOWN = frozenset({
    "ada", "apache", "applescript", "arduino", "asm", "assembly", "awk", "bash", "basic", "batch", "c", "c#", "c++",
    "clojure", "cmake", "cobol", "coffeescript", "console", "cpp", "crystal", "csharp", "css", "csv", "cuda", "d",
    "dart", "delphi", "diff", "django", "docker", "dockerfile", "elixir", "elm", "erlang", "fortran", "fsharp", "go",
    "golang", "graphql", "groovy", "haml", "haskell", "hcl", "html", "http", "ini", "java", "javascript", "js", "json",
    "jsx", "julia", "kotlin", "latex", "less", "lisp", "lua", "makefile", "markdown", "matlab", "mysql", "nginx", "nim",
    "objc", "objectivec", "ocaml", "pascal", "perl", "pgsql", "php", "plaintext", "postgresql", "powershell", "prolog",
    "properties", "protobuf", "python", "python3", "py", "r", "racket", "rb", "rest", "ruby", "rust", "sas", "scala",
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
_BLOCKS = ("div", "p", "li", "tr")
_PARENTS_ASKED = 3
_MAX_LINES_LOOKED_AT = 20_000


def settle_listing(pre: dom.Element) -> None:
    """Make a `pre` hold one `code` with its exact text and its language."""
    if dom.holds(pre, "img") and not pre.text.strip():
        pre.unwrap()
        return
    language = language_of(pre)
    text = text_of(pre)
    if not text.strip():
        dom.drop(pre)
        return
    pre.clear()
    pre.append(dom.made("code", {"class": f"language-{language}"} if language else None, dom.words(text)))
    if not _GUTTER.search(dom.attribute(pre, "class")):  # a table around it is told by that
        dom.drop_attribute(pre, "class")


def language_of(pre: dom.Element) -> str:
    """The language that the listing, its `code` or what stands around them names; empty when none does."""
    inner = pre.find("code")
    asked = [element for element in (inner, pre) if element is not None]
    around = dom.as_element(pre.parent)
    # A container of several listings says nothing about one of them.
    while around is not None and len(asked) < _PARENTS_ASKED + 2 and not _holds_several(around):
        asked.append(around)
        around = dom.as_element(around.parent)
    for element in asked:
        for name in _LANGUAGE_ATTRIBUTES:
            found = _named(raw) if (raw := element.attr(name)) else ""
            # `lang` is a human language more often than not.
            if found and (name != "lang" or found in _KNOWN):
                return found
        if class_ := dom.attribute(element, "class"):
            for match in _LANGUAGE.finditer(class_):
                if found := _named(match[match.lastindex or 0]):
                    return found
            is_code = element.tag in {"pre", "code"} or _CODE_HOLDER.search(class_) is not None
            if is_code and (known := [token for token in class_.lower().split() if token in _KNOWN]):
                return known[0]
    return ""


def _holds_several(around: dom.Element) -> bool:
    """Whether there is more than a gutter and its listing."""
    return next(islice(around.iter_elements("pre"), 2, None), None) is not None


def _named(raw: str) -> str:
    name = raw.strip().lower()
    return name if name and name not in _NO_LANGUAGE and _NAME.fullmatch(name) else ""


def text_of(pre: dom.Element) -> str:
    """The listing's text: gutters dropped, line breaks and per-line elements made into line ends."""
    inner = list(pre.iter_elements())
    if not inner:
        return pre.text
    if len(inner) == 1 and inner[0].tag == "code":
        return pre.text
    classes = [element.attr("class") for element in inner]
    # A highlighter gives thousands of elements the same few names.
    named = {class_ for class_ in set(classes) if class_ and _GUTTER.search(class_)}
    if named or dom.select(pre, "[data-line-number]"):
        for element, class_ in zip(inner, classes, strict=True):
            if (class_ in named or _has_number(element)) and _NUMBERS.fullmatch(element.text):
                dom.drop(element)
    for element in _within(pre, len(inner), "br"):
        element.replace_with(dom.words("\n"))
    blocks = _within(pre, len(inner), *_BLOCKS)
    lines = blocks or _spans_of_lines(_within(pre, len(inner), "span"))
    _end_lines(lines, always=bool(blocks))
    return pre.text


def _within(pre: dom.Element, size: int, *tags: str) -> list[dom.Element]:
    """The elements with these tags; of a listing that holds too many, those among the first of them."""
    if size <= _MAX_LINES_LOOKED_AT:
        return dom.elements_list(pre, *tags)
    return [element for element in islice(pre.iter_elements(), _MAX_LINES_LOOKED_AT) if element.tag in tags]


def _spans_of_lines(spans: list[dom.Element]) -> list[dom.Element]:
    looks = [(span.attr("class") or "", span.attr("style") or "") for span in spans]
    lines = {look for look in set(looks) if _LINE.search(look[0]) or _BLOCK_STYLE.search(look[1])}
    return [span for span, look in zip(spans, looks, strict=True) if look in lines] if lines else []


def _has_number(element: dom.Element) -> bool:
    return element.attr("data-line-number") is not None and element.attr("data-line") is None


def _end_lines(lines: list[dom.Element], *, always: bool) -> None:
    """End each line element with a line end, where neither it nor what follows it has one."""
    if len(lines) < 2 and not always:
        return
    for line in lines[:-1]:
        after = line.next_sibling
        follower = dom.as_text(after)
        text = line.text
        if text.endswith("\n") or (follower is not None and follower.data[:1] == "\n"):
            continue
        if after is None and dom.as_element(line.parent) in lines:
            continue
        line.insert_after(dom.words("\n"))


def settle_inline(code: dom.Element) -> None:
    """Inline code: a link in it goes around it, and what is really a listing becomes one."""
    parent = dom.as_element(code.parent)
    if parent is None or parent.tag == "pre" or code.closest("pre") is not None:
        return
    before = dom.as_element(code.previous_sibling)
    if before is not None and before.tag == "code":
        before.extend(list(code.children))  # two spans of backticks would run into each other
        dom.drop(code)
        return
    inner = dom.child_elements(code)
    if not inner:
        if "\n" in code.text.strip() and _shows_lines(code, parent):
            _make_listing(code)
        return
    if len(inner) == 1 and inner[0].tag == "a" and inner[0].text == code.text:
        link = inner[0].extract()
        link.wrap_children(dom.made("code"))
        code.replace_with(link)
    elif any(each.tag in {"br", "div", "pre"} for each in inner):
        _make_listing(code)


def _shows_lines(code: dom.Element, parent: dom.Element) -> bool:
    """Whether the lines of this code are shown as lines, though no `pre` says so."""
    if "white-space" in dom.attribute(code, "style"):
        return True
    is_held = parent.tag in {"div", "figure"} and _CODE_HOLDER.search(dom.attribute(parent, "class")) is not None
    return is_held and all(child == code or dom.is_blank(child) for child in parent.children)


def _make_listing(code: dom.Element) -> None:
    pre = dom.made("pre")
    code.replace_with(pre)
    pre.append(code)
    settle_listing(pre)


def listing_of_table(table: dom.Element, cells: list[dom.Element]) -> dom.Element | None:
    """The listing that a table of line numbers and lines is; nothing for any other table."""
    gutters = [cell for cell in cells if _is_gutter_cell(cell)]
    rest = [cell for cell in cells if cell not in gutters and cell.tag == "td"]
    if not gutters or not rest or not any(_is_code_cell(cell) for cell in rest):
        return None
    language = language_of(rest[0].find("pre") or rest[0]) or language_of(table)
    lines = []
    for cell in rest:
        text = text_of(cell.find("pre") or cell)
        lines.append(text.strip("\n") if len(rest) > 1 else text)
    code = dom.made("code", {"class": f"language-{language}"} if language else None, dom.words("\n".join(lines)))
    return dom.made("pre", None, code)


def _is_gutter_cell(cell: dom.Element) -> bool:
    if not _NUMBERS.fullmatch(cell.text):
        return False
    named = (cell, *cell.iter_elements(("pre", "div", "span")))
    return any(_GUTTER.search(dom.attribute(element, "class")) or element.attr("data-line-number") for element in named)


def _is_code_cell(cell: dom.Element) -> bool:
    class_ = dom.attribute(cell, "class").lower()
    return "code" in class_ or "content" in class_ or dom.holds(cell, "pre", "code")
