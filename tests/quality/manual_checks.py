"""Compares the Markdown of a marked page with the content of the page: used by test_manuals.py.

A marked page carries `data-mark` attributes, which are taken out before the page is read:

    content   the element that holds the content; exactly one
    frame     navigation, tables of contents, buttons, footers: not content, even inside the content element
    title     the page's title, where it is not the first heading of the content
    text      a text that must be kept and is neither heading, code, term, paragraph nor row (a signature, for example)
    code      a listing that is not a `pre` element: one line for each child element

Texts are compared by their letters and digits alone, so that spaces and markup do not matter; code is compared line by line.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass

import turbohtml
from markdown_it import MarkdownIt

_MARK = re.compile(r'\sdata-mark="[a-z]+"')
_NOT_WORDS = re.compile(r"[\W_]+")
_RENDERER = MarkdownIt("commonmark", {"html": True}).enable("table")
_HEADINGS = "h1,h2,h3,h4,h5,h6"
_NOTES = ".note,.caution,.warning,.tip,.important"
_LABELS = ",".join(f"{note} {heading}" for note in _NOTES.split(",") for heading in _HEADINGS.split(","))
_SHORTEST = {"heading": 2, "term": 2, "paragraph": 12, "row": 2, "text": 2}
"""Shorter texts (in bytes of letters and digits) are not checked: "1" is found anywhere."""
_SHORTEST_FRAME = 8
_DEFINITION_START = 60


def letters(text: str) -> str:
    """The letters and digits of a text, in lower case."""
    return _NOT_WORDS.sub("", text.lower())


def _is_frame(node: turbohtml.Node) -> bool:
    return any(isinstance(each, turbohtml.Element) and each.attr("data-mark") == "frame" for each in (node, *node.ancestors))


def _content_text(element: turbohtml.Element) -> str:
    """The text of an element without its frames."""
    return " ".join(
        node.data
        for node in element.descendants
        if isinstance(node, turbohtml.Text) and not _is_frame(node) and not _is_script(node)
    )


def _is_script(node: turbohtml.Node) -> bool:
    return isinstance(node.parent, turbohtml.Element) and node.parent.tag in {"script", "style", "noscript", "template"}


def _code_lines(text: str) -> str:
    lines = [line.rstrip() for line in text.replace("\xa0", " ").splitlines()]
    return textwrap.dedent("\n".join(lines)).strip("\n")


def _code(element: turbohtml.Element) -> str:
    if element.attr("data-mark") == "code":
        return _code_lines("\n".join(child.text for child in element.children if isinstance(child, turbohtml.Element)))
    parts = []
    for node in element.descendants:
        if isinstance(node, turbohtml.Text):
            parts.append(node.data)
        elif isinstance(node, turbohtml.Element) and node.tag == "br":
            parts.append("\n")
    return _code_lines("".join(parts))


@dataclass(frozen=True, slots=True)
class Rendered:
    """Rendered Markdown."""

    text: str
    blocks: tuple[tuple[str, str], ...]
    """(tag, letters) of headings, paragraphs, list items, code and cells with text, in order."""
    codes: frozenset[str]

    @classmethod
    def of(cls, markdown: str) -> Rendered:
        tree = turbohtml.parse("<!doctype html><body>" + _RENDERER.render(markdown))
        blocks = [(each.tag, letters(_content_text(each))) for each in tree.select(f"{_HEADINGS},p,li,pre,th,td")]
        codes = frozenset(_code(each) for each in tree.select("pre"))
        body = tree.select_one("body")
        assert body is not None
        return cls(letters(_content_text(body)), tuple(block for block in blocks if block[1]), codes)


class MarkedPage:
    """A page of `manuals/` with what must and what must not be in its Markdown."""

    def __init__(self, source: str) -> None:
        self.html = _MARK.sub("", source)
        self._tree = turbohtml.parse(source)
        contents = self._tree.select('[data-mark="content"]')
        assert len(contents) == 1, "a marked page has exactly one content element"
        self._content = contents[0]

    def _inside(self, selector: str) -> Iterator[turbohtml.Element]:
        return (each for each in self._content.select(selector) if not _is_frame(each))

    @property
    def title(self) -> str:
        marked = self._tree.select_one('[data-mark="title"]')
        element = marked if marked is not None else next(self._inside(_HEADINGS))
        return " ".join(_content_text(element).split())

    def texts(self, kind: str) -> list[str]:
        """All texts of a kind that must be kept: heading, code, term, paragraph, row or text."""
        if kind == "code":
            return [_code(each) for each in self._inside('pre,[data-mark="code"]')]
        selectors = {
            "heading": _HEADINGS,
            "term": "dt",
            "paragraph": "p,li,dd,caption,.para",
            "row": "tr",
            "text": f'[data-mark="text"],[data-mark="title"],{_LABELS}',
        }
        texts_ = []
        for element in self._inside(selectors[kind]):
            if kind == "heading" and element.closest(f"table,{_NOTES}") is not None:
                continue  # the row of a cell is checked instead, and the label of a note as text
            if kind == "paragraph" and element.select_one("p,ul,ol,dl,pre,table,div,.para") is not None:
                continue  # its parts are checked
            if kind == "row" and element.select_one("table,pre,[data-mark]") is not None:
                continue
            text = " ".join(_content_text(element).split())
            if len(letters(text).encode()) >= _SHORTEST[kind]:
                texts_.append(text)
        return texts_

    def definitions(self) -> list[tuple[str, str]]:
        """(all terms of a definition, the definition), for every definition list."""
        pairs = []
        for each in self._inside("dl"):
            terms: list[str] = []
            for child in each.children:
                if not isinstance(child, turbohtml.Element) or _is_frame(child):
                    continue
                text = " ".join(_content_text(child).split())
                if child.tag == "dt":
                    terms.append(text)
                elif child.tag == "dd" and terms:
                    if text:
                        pairs.append((" ".join(terms), text))
                    terms = []
        return pairs

    def frame_texts(self) -> list[str]:
        """Texts of navigation and footers that are not in the content."""
        content = letters(_content_text(self._content))
        texts = {
            " ".join(node.data.split())
            for node in self._tree.descendants
            if isinstance(node, turbohtml.Text) and _is_frame(node) and not _is_script(node)
        }
        return sorted(text for text in texts if len(letters(text).encode()) >= _SHORTEST_FRAME and letters(text) not in content)


def title_problems(page: MarkedPage, rendered: Rendered) -> list[str]:
    """Whether the title is the first block, a heading, and there only once."""
    title = letters(page.title)
    first = rendered.blocks[0] if rendered.blocks else ("nothing", "")
    problems = []
    if first[0] not in _HEADINGS.split(",") or first[1] != title:
        problems.append(f"the Markdown begins with {first[0]} {first[1][:60]!r}, not with the title {page.title!r}")
    times = sum(text == title for tag, text in rendered.blocks if tag != "li")
    if times > 1:
        problems.append(f"the title {page.title!r} is there {times} times")
    return problems


def loss_problems(page: MarkedPage, rendered: Rendered, kind: str) -> list[str]:
    """Missing texts of one kind. A heading has to be a heading, and code a code block with unchanged lines."""
    headings = {text for tag, text in rendered.blocks if tag in _HEADINGS.split(",")}
    problems = []
    for text in page.texts(kind):
        if kind == "code":
            is_kept = text in rendered.codes
        elif kind == "heading":
            is_kept = letters(text) in headings
        else:
            is_kept = letters(text) in rendered.text
        if not is_kept:
            problems.append(f"{kind} lost: {text[:100]!r}")
    return problems


def definition_problems(page: MarkedPage, rendered: Rendered) -> list[str]:
    """Terms that are not directly followed by their own definition."""
    return [
        f"term {terms!r} is not directly before its definition {definition[:60]!r}"
        for terms, definition in page.definitions()
        if letters(terms) + letters(definition)[:_DEFINITION_START] not in rendered.text
    ]


def frame_problems(page: MarkedPage, rendered: Rendered) -> list[str]:
    """Texts of navigation and footers that were kept."""
    return [f"navigation kept: {text!r}" for text in page.frame_texts() if letters(text) in rendered.text]
