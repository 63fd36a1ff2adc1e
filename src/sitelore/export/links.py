"""Rewrites the links of Markdown: relative, as text alone, or without links and images.

Stored documents keep absolute links; exports apply `rewrite_links` to what they write. markdown-it finds the blocks, so code
blocks and HTML blocks are never touched. Links inside a block are found here (CommonMark §6), because the library does not
keep the source position of inline elements. Only inline links are known; the writer of `extract` writes no others.

Removing a link can change how the text around it is parsed: `[_a_](u)b` is emphasis and `_a_b` is not. A block whose visible
text would change is written in a safer form, and stays as it is when none is safe.
"""

from __future__ import annotations

import posixpath
import re
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple
from urllib.parse import quote

from markdown_it import MarkdownIt
from markdown_it.common.utils import unescapeAll
from markdown_it.token import Token

from sitelore.model.settings import LinkStyle
from sitelore.model.url import Url

Address = Callable[[str], str]
"""Maps the absolute URL of a link to the address that is written instead."""

_SPECIAL = re.compile(r"\\.|`+|<|!?\[|\]", re.DOTALL)
_AUTOLINK = re.compile(
    r"<([A-Za-z][A-Za-z0-9+.-]{1,31}:[^\s<>\x00-\x1f\x7f]*|[\w.!#$%&'*+/=?^`{|}~-]+@[A-Za-z0-9.-]+)>", re.ASCII
)
_TAG = re.compile(
    r"</[A-Za-z][A-Za-z0-9-]*\s*>"
    r"|<[A-Za-z][A-Za-z0-9-]*(?>(?:\s+[A-Za-z_:][\w.:-]*(?:\s*=\s*(?:[^\s\"'=<>`]+|'[^']*'|\"[^\"]*\"))?)*)\s*/?>",
    re.ASCII,
)
_DECLARED = {"<!--": "-->", "<?": "?>", "<![CDATA[": "]]>", "<!": ">"}
_ANGLE = re.compile(r"<((?:[^<>\n\\]|\\.)*)>")
_TITLE = re.compile(r"\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'|\((?:[^()\\]|\\.)*\)", re.DOTALL)
_BLANKS = re.compile(r"[ \t\n]*")
_MAX_PARENTHESES = 32
"""Nesting in a bare destination (CommonMark requires three levels at least); the limit keeps scanning linear."""
_BLOCK_START = re.compile(
    r"#{1,6}(?=\s|$)|[-+*](?=\s|$)|>|(?:\d{1,9})(?=[.)](?:\s|$))|(?:([-_*])[ \t]*)(?:\1[ \t]*){2,}$|=+\s*$|-+\s*$|`{3}|~{3}"
)
_DEFINITION = re.compile(r"\[[^\]]+\]:")
_CONTEXT_SENSITIVE = re.compile(r"[*_~<&\[\]`\\]")
"""Characters whose meaning depends on their neighbours; text without them need not be parsed again."""
_ESCAPED = re.compile(r"[\\`*_\[\]<>&~|]")
_MAX_CHECKED_CHARS = 20_000
"""Longer blocks are not compared by their visible text: the parser may take more than linear time."""
_EMPTY_COMMENT = "<!-- -->"
_URL_ESCAPES = {ord(char): f"%{ord(char):02X}" for char in " ()<>\\\n\t"}


class _Node(NamedTuple):
    """A link, image or autolink in the content of a block. An autolink has no destination of its own."""

    start: int
    text: tuple[int, int]
    destination: tuple[int, int] | None
    end: int
    is_image: bool


class _Edit(NamedTuple):
    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class _Block:
    """Inline content: the ranges of its lines in the source, without what containers and headings put before and after."""

    lines: tuple[tuple[int, int], ...]

    def content(self, source: str) -> str:
        return "\n".join(source[start:end] for start, end in self.lines)


def rewrite_links(markdown: str, style: LinkStyle, address: Address | None = None) -> str:
    """Rewrite the links of a text in another style. `address` is needed for `relative` alone.

    Text outside links and images, code and raw HTML stay as they are.
    """
    if style is LinkStyle.ABSOLUTE or ("](" not in markdown and "<" not in markdown):
        return markdown
    source = markdown.replace("\r\n", " \n").replace("\r", "\n").replace("\0", "\ufffd")  # CommonMark §2.3, of equal length
    pieces: list[str] = []
    done = 0
    for block in _blocks(source):
        content = block.content(source)
        rewritten = _rewrite_block(content, style, address or str)
        if rewritten == content:
            continue
        for (start, end), line in zip(block.lines, rewritten.split("\n"), strict=True):
            pieces += (markdown[done:start], line)
            done = end
    pieces.append(markdown[done:])
    return "".join(pieces)


def relative_to(page: Url) -> Address:
    """Addresses relative to a page (RFC 3986 §4.2), for URLs of its own origin; others stay as they are."""
    origin, folders = f"{page.origin}/", page.path.split("/")[:-1]

    def address(url: str) -> str:
        if not url.startswith(origin):
            return url
        bare, mark, fragment = url.partition("#")
        if mark and bare == page:
            return f"#{fragment}"
        path, question, query = bare[len(origin) - 1 :].partition("?")
        return _relative_path(folders, path.split("/")) + question + query + mark + fragment

    return address


def _relative_path(folders: Sequence[str], target: Sequence[str]) -> str:
    shared = 0
    while shared < min(len(folders), len(target) - 1) and folders[shared] == target[shared]:
        shared += 1
    path = "../" * (len(folders) - shared) + "/".join(target[shared:])
    # Without `./`, an empty path would mean the page itself, a colon a scheme, and a slash the root.
    return path if path and path[0] != "/" and ":" not in path.partition("/")[0] else f"./{path}"


def file_addresses(name: str, files: Mapping[str, str]) -> Address:
    """Addresses of exported files relative to the file `name`; `files` maps URLs to file names. Other URLs stay absolute."""
    folder = posixpath.dirname(name)

    def address(url: str) -> str:
        bare, mark, fragment = url.partition("#")
        target = files.get(bare) or files.get(Url.parse(bare) or "")
        if target is None:
            return url
        if mark and target == name:
            return f"#{fragment}"
        return quote(posixpath.relpath(target, folder)) + mark + fragment

    return address


def _rewrite_block(content: str, style: LinkStyle, address: Address) -> str:
    if "](" not in content and "<" not in content:
        return content
    scanner = _Scanner(content, images=style is LinkStyle.NONE)
    if not scanner.nodes:
        return content
    if style is LinkStyle.RELATIVE:
        return _apply(content, _address_edits(content, scanner.nodes, address))
    lines = content.split("\n")
    # `[[a](b)](c)`: once the inner link is gone, the outer brackets would be one.
    escapes = [_Edit(at, at, "\\") for at in scanner.not_links]
    for edits in _unlink_variants(content, scanner.nodes, keep_images=style is LinkStyle.TEXT):
        text = _escape_block_starts(lines, _apply(content, escapes + edits))
        if text is not None and (len(content) > _MAX_CHECKED_CHARS or _has_same_visible_text(content, text)):
            return text
    return content


def _address_edits(content: str, nodes: Sequence[_Node], address: Address) -> list[_Edit]:
    edits = []
    for node in nodes:
        if node.is_image or node.destination is None:
            continue
        start, end = node.destination
        known = unescapeAll(content[start:end])
        written = address(known)
        if written != known:
            edits.append(_Edit(start, end, written.translate(_URL_ESCAPES)))
    return edits


def _unlink_variants(content: str, nodes: Sequence[_Node], *, keep_images: bool) -> Iterator[list[_Edit]]:
    """Edits that leave the text of links alone, the plainest first."""
    yield [edit for node in nodes for edit in _unwrap_edits(content, node)]
    flat: list[_Edit] = []
    end = 0
    for node in sorted(nodes):
        if node.start < end:
            continue  # inside one that is replaced by its text
        text = content[slice(*node.text)]
        if keep_images and "![" in text:
            flat += _unwrap_edits(content, node)
        else:
            lines = "\n" * content.count("\n", *node.text)
            visible = "\n".join(map(str.strip, visible_text(text).split("\n")))
            visible = visible if visible.count("\n") == len(lines) else " ".join(visible.split()) + lines
            flat.append(_Edit(node.start, node.end, _escape(visible) + _newlines(content, node.text[1], node.end)))
        end = node.end
    yield flat
    # A comment separates what a bracket separated. At the start of a line it would start an HTML block.
    yield [
        edit._replace(text=f"{_EMPTY_COMMENT if _is_inside(content, edit.start) else ''}{edit.text}{_EMPTY_COMMENT}")
        for edit in flat
    ]


def _is_inside(content: str, at: int) -> bool:
    return at > 0 and content[at - 1] != "\n"


def _unwrap_edits(content: str, node: _Node) -> list[_Edit]:
    start, end = node.text
    if node.destination is None:
        return [_Edit(node.start, node.end, _escape(content[start:end]))]
    return [_Edit(node.start, start, ""), _Edit(end, node.end, _newlines(content, end, node.end))]


def _newlines(content: str, start: int, end: int) -> str:
    """The newlines of a removed destination or title, kept so that every line stays in its container."""
    return "\n" * content.count("\n", start, end)


def _escape(text: str) -> str:
    return _ESCAPED.sub(r"\\\g<0>", text)


def _apply(content: str, edits: Sequence[_Edit]) -> str:
    pieces: list[str] = []
    done = 0
    for edit in sorted(edits):
        pieces += (content[done : edit.start], edit.text)
        done = edit.end
    pieces.append(content[done:])
    return "".join(pieces)


def _escape_block_starts(before: Sequence[str], text: str) -> str | None:
    """Escape changed lines that would start a block; None where no escape is possible."""
    after = text.split("\n")
    for number, (old, new) in enumerate(zip(before, after, strict=True)):
        if old == new:
            continue
        line = new.lstrip()
        if (not line and len(before) > 1) or (line.startswith("<") and not _starts_with_same_tag(old, line)):
            return None
        if not _BLOCK_START.match(old) and (start := _BLOCK_START.match(line)) is not None:
            at = start.end() if line[0].isdecimal() else 0
            line = f"{line[:at]}\\{line[at:]}"
        elif _DEFINITION.match(line) and not _DEFINITION.match(old):
            line = f"\\{line}"
        after[number] = line
    return "\n".join(after)


def _starts_with_same_tag(old: str, new: str) -> bool:
    """Whether both lines start with the same HTML tag. A new tag could start an HTML block."""
    tag = _TAG.match(old)
    return tag is not None and new.startswith(tag[0])


def _has_same_visible_text(before: str, after: str) -> bool:
    return not _CONTEXT_SENSITIVE.search(after) or visible_text(before).split() == visible_text(after).split()


def visible_text(content: str) -> str:
    """The visible text of inline Markdown; for images their alternative text."""
    tokens: list[Token] = []
    parser = _parser()
    parser.inline.parse(content, parser, {}, tokens)
    return _visible(tokens)


def _visible(tokens: Sequence[Token]) -> str:
    parts = []
    for token in tokens:
        if token.type in {"text", "text_special", "code_inline"}:
            parts.append(token.content)
        elif token.type in {"softbreak", "hardbreak"}:
            parts.append("\n")
        elif token.type == "image":
            parts.append(_visible(token.children or ()))
    return "".join(parts)


class _Markdown(MarkdownIt):
    """The parser, with links of every scheme."""

    def validateLink(self, url: str) -> bool:  # noqa: N802, ARG002 the library's name
        return True


@lru_cache(maxsize=1)
def _parser() -> MarkdownIt:
    """GFM without reference definitions: the parser would take a footnote's label for one."""
    return _Markdown("commonmark").enable(["table", "strikethrough"]).disable("reference")


def _blocks(source: str) -> Iterator[_Block]:
    """All blocks with inline content."""
    tokens: list[Token] = []
    parser = _parser()
    parser.block.parse(source, parser, {}, tokens)
    starts = [0, *(newline.end() for newline in re.finditer("\n", source)), len(source) + 1]
    in_cell, cell_end = False, 0
    for token in tokens:
        if token.type in {"th_open", "td_open"}:
            in_cell = True
        elif token.type == "inline" and token.map is not None:
            first = token.map[0]
            if in_cell:
                text = token.content.replace("|", "\\|")  # the parser has unescaped them
                at = source.find(text, max(cell_end, starts[first]), starts[first + 1])
                if at >= 0:
                    cell_end = at + len(text)
                    yield _Block(((at, cell_end),))
            elif (lines := _lines(source, starts, first, token.content)) is not None:
                yield _Block(lines)
            in_cell = False


def _lines(source: str, starts: Sequence[int], first: int, content: str) -> tuple[tuple[int, int], ...] | None:
    """The ranges of the lines of a block's content in the source; None when one is not found."""
    lines = []
    for number, line in enumerate(content.split("\n"), first):
        bare = line.strip()
        at = source.rfind(bare, starts[number], starts[number + 1])
        if at < 0:
            return None
        lines.append((at, at + len(bare)))
    return tuple(lines)


class _Scanner:
    """Finds the links, autolinks and (with `images`) images of inline content in one pass, in linear time.

    Follows the bracket stack of CommonMark's appendix "A parsing strategy". Without `images`, links inside an image are left
    out as well: they belong to its alternative text.
    """

    def __init__(self, content: str, *, images: bool) -> None:
        self.nodes: list[_Node] = []
        self.not_links: list[int] = []
        """Positions of brackets that would open a link if there were none inside them."""
        self._content = content
        self._images = images
        self._openers: list[tuple[int, bool]] = []
        self._inactive = 0
        """The number of openers, from the bottom, before a finished link: of those only images can still be closed."""
        self._runs: dict[int, list[int]] = {}
        for run in re.finditer("`+", content):
            self._runs.setdefault(len(run[0]), []).append(run.start())
        self._missing: set[str] = set()
        at = 0
        while (special := _SPECIAL.search(content, at)) is not None:
            at = self._process(special)

    def _process(self, special: re.Match[str]) -> int:
        """Process a special character; returns the position to continue at."""
        mark, start, end = special[0], special.start(), special.end()
        if mark[0] == "`":
            return self._code_end(end, len(mark)) or end
        if mark == "<":
            return self._html_end(start) or end
        if mark[-1] == "[" and mark[0] != "\\":
            self._openers.append((start, mark == "!["))
        elif mark == "]":
            return self._close(start)
        return end

    def _code_end(self, start: int, length: int) -> int | None:
        closing = self._runs.get(length, [])
        at = bisect_left(closing, start)
        return closing[at] + length if at < len(closing) else None

    def _html_end(self, start: int) -> int | None:
        """The end of an autolink or a piece of raw HTML that starts here."""
        content = self._content
        if (link := _AUTOLINK.match(content, start)) is not None:
            self.nodes.append(_Node(start, link.span(1), None, link.end(), is_image=False))
            return link.end()
        if (tag := _TAG.match(content, start)) is not None:
            return tag.end()
        for opening, closing in _DECLARED.items():
            if content.startswith(opening, start):
                return self._declared_end(start, opening, closing)
        return None

    def _declared_end(self, start: int, opening: str, closing: str) -> int | None:
        if opening == "<!" and not self._content[start + 2 : start + 3].isalpha():
            return None
        if closing in self._missing:
            return None
        at = self._content.find(closing, start + len(opening))
        if at < 0:
            self._missing.add(closing)  # nor after any later start
            return None
        return at + len(closing)

    def _close(self, start: int) -> int:
        if not self._openers:
            return start + 1
        opened, is_image = self._openers.pop()
        is_active = is_image or len(self._openers) >= self._inactive
        self._inactive = min(self._inactive, len(self._openers))
        target = _target(self._content, start + 1)
        if target is not None and not is_active:
            self.not_links.append(opened)
        if target is None or not is_active:
            return start + 1
        destination, end = target
        if is_image:
            while not self._images and self.nodes and self.nodes[-1].start > opened:
                self.nodes.pop()
        else:
            self._inactive = len(self._openers)
        if self._images or not is_image:
            text = opened + (2 if is_image else 1), start
            self.nodes.append(_Node(opened, text, destination, end, is_image))
        return end


def _target(content: str, start: int) -> tuple[tuple[int, int], int] | None:
    """The range of the destination in `(destination "title")` at this position, and where it ends."""
    if not content.startswith("(", start):
        return None
    at = _after_blanks(content, start + 1)
    if content.startswith("<", at):
        if (angle := _ANGLE.match(content, at)) is None:
            return None
        destination, at = angle.span(1), angle.end()
    else:
        end = _bare_end(content, at)
        if end is None:
            return None
        destination, at = (at, end), end
    after = _after_blanks(content, at)
    if after > at and (title := _TITLE.match(content, after)) is not None:
        after = _after_blanks(content, title.end())
    return (destination, after + 1) if content.startswith(")", after) else None


def _bare_end(content: str, start: int) -> int | None:
    depth, at = 0, start
    while at < len(content):
        char = content[at]
        if char <= " " or char == "\x7f":
            break
        if char == "\\" and content[at + 1 : at + 2] > " ":
            at += 1
        elif char == "(":
            depth += 1
            if depth > _MAX_PARENTHESES:
                return None
        elif char == ")":
            if depth == 0:
                break
            depth -= 1
        at += 1
    return at if depth == 0 else None


def _after_blanks(content: str, at: int) -> int:
    blanks = _BLANKS.match(content, at)
    assert blanks is not None
    return blanks.end()
