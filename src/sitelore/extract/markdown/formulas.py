"""Mathematics as TeX between dollar signs: from MathML, MathJax's scripts, KaTeX, and delimiters in the text.

TeX is the one text that goes into Markdown unescaped, so anything in it that could be read as HTML or as a link is broken up.
"""

from __future__ import annotations

import re

from sitelore.extract import dom

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
_PAIRED = {"msup": "{%s}^{%s}", "msub": "{%s}_{%s}", "mfrac": "\\frac{%s}{%s}", "munder": "{%s}_{%s}", "mover": "{%s}^{%s}"}
_TRIPLE = {"msubsup": "{%s}_{%s}^{%s}", "munderover": "{%s}_{%s}^{%s}"}
_SPELLED = {
    "\u00d7": "\\times ", "÷": "\\div ", "±": "\\pm ", "∑": "\\sum ", "∏": "\\prod ", "∫": "\\int ", "∞": "\\infty ",
    "≤": "\\le ", "≥": "\\ge ", "≠": "\\ne ", "→": "\\to ", "⋅": "\\cdot ", "\u2212": "-", "\u2061": "", "\u2062": "",
    "\u2063": "", "π": "\\pi ", "\u03b1": "\\alpha ", "β": "\\beta ", "\u03b3": "\\gamma ", "δ": "\\delta ",
    "θ": "\\theta ", "λ": "\\lambda ", "μ": "\\mu ", "\u03c3": "\\sigma ", "ω": "\\omega ", "∂": "\\partial ",
    "∈": "\\in ", "≈": "\\approx ", "{": "\\{", "}": "\\}",
}  # fmt: skip


def rescue_formulas(tree: dom.Tree) -> None:
    """Put TeX in the place of formulas. Has to run before hidden elements are dropped: TeX is in scripts and annotations."""
    for script in dom.select(tree, "script[type^='math/tex']")[:_MAX_FORMULAS]:
        _drop_drawing(script)
        _put(script, script.text, is_block="mode=display" in dom.attribute(script, "type").replace(" ", ""))
    for math in dom.select(tree, "math")[:_MAX_FORMULAS]:
        _keep_math(math)


def formula_pieces(text: str) -> list[tuple[bool, str, bool]]:
    r"""Split text at its formulas, between `\(…\)`, `\[…\]` or `$$…$$`.

    Of each piece: whether it is a formula, its text, and whether it is a block.
    """
    pieces: list[tuple[bool, str, bool]] = []
    end = 0
    for match in _DELIMITED.finditer(text):
        is_block = match[1] is None
        pieces.append((False, text[end : match.start()], False))
        pieces.append((True, tex_markdown(match[match.lastindex or 0], is_block=is_block), is_block))
        end = match.end()
    return [*pieces, (False, text[end:], False)]


def formula_of_image(image: dom.Element) -> str | None:
    """Return the formula that a picture shows, when its class says that it shows one; its alternative text is the source."""
    class_ = image.attr("class")
    if not class_ or ("tex" not in class_ and "math" not in class_) or _FORMULA_CLASSES.isdisjoint(class_.split()):
        return None
    alt = dom.attribute(image, "alt").strip()
    return tex_markdown(alt, is_block=False) if alt else None


def _keep_math(math: dom.Element) -> None:
    if not dom.is_inside(math, "html"):
        return  # dropped with the drawing around it
    tex = _source_of(math)
    if not tex:
        return
    is_block = dom.attribute(math, "display") == "block" or dom.is_inside(math, _DRAWN_AS_BLOCK)
    outer = math
    while (around := dom.as_element(outer.parent)) is not None and (drawn := around.closest(_DRAWN)) is not None:
        outer = drawn
    _put(outer, tex, is_block=is_block)


def _source_of(math: dom.Element) -> str:
    for note in math.iter_elements("annotation"):
        if dom.attribute(note, "encoding").lower() in _TEX_ENCODINGS and (tex := note.text.strip()):
            return tex
    return dom.attribute(math, "alttext").strip() or _spelled(math, 0).strip()


def _spelled(element: dom.Element, depth: int) -> str:
    """Write MathML that has no source as TeX, as far as its common elements go."""
    if depth > _MAX_DEPTH:
        return element.text
    parts = dom.child_elements(element)
    if not parts:
        text = " ".join(element.text.split())
        if element.tag == "mtext":
            return f"\\text{{{text}}}"
        return "".join(_SPELLED.get(char, char) for char in text)
    inner = [_spelled(part, depth + 1) for part in parts if part.tag not in {"annotation", "annotation-xml"}]
    pattern = _PAIRED.get(element.tag) or _TRIPLE.get(element.tag)
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
        drawn = dom.as_element(before)
        if drawn is None or not _DRAWN_NAMES.search(dom.attribute(drawn, "class")):
            return
        dom.drop(drawn)


def _put(element: dom.Element, tex: str, *, is_block: bool) -> None:
    if tex.strip():
        element.replace_with(_formula(tex, is_block=is_block))
    else:
        dom.drop(element)


def _formula(tex: str, *, is_block: bool) -> dom.Element:
    written = tex_markdown(tex, is_block=is_block)
    formula = dom.verbatim(written, dom.words(written))
    return dom.made("div", None, formula) if is_block else formula


def tex_markdown(tex: str, *, is_block: bool) -> str:
    """Write TeX between dollar signs, on one line, with nothing in it that could be read as HTML or as a link."""
    line = " ".join(_COMMENT.sub(" ", tex).split()) if "%" in tex else " ".join(tex.split())
    for opening, closing in (("$$", "$$"), ("$", "$"), ("\\(", "\\)"), ("\\[", "\\]")):
        if line.startswith(opening) and line.endswith(closing) and len(line) > len(opening + closing):
            line = line[len(opening) : -len(closing)].strip()
            break
    line = _TAG_LIKE.sub("< ", line).replace("](", "] (").replace("][", "] [")
    return f"$${line}$$" if is_block else f"${line}$"
