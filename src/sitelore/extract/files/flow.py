"""The flow of a document: paragraphs, headings, list items and tables, one after another, written as plain HTML."""

from __future__ import annotations

from html import escape

_MAX_LEVEL = 8
_CODE_END = "</code></pre>"


class Flow:
    """Takes blocks in order; `html` closes what is open. Inner parts are HTML already (`escape`, `linked`, `marked`)."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._open: list[str] = []
        """The lists that stand open, outermost first; each has an item open."""
        self.chars = 0

    def paragraph(self, inner: str) -> None:
        """A paragraph; an empty one is left out."""
        self._block(f"<p>{inner}</p>" if inner.strip() else "")

    def heading(self, level: int, inner: str) -> None:
        """A heading of level 1 to 6."""
        level = min(6, max(1, level))
        self._block(f"<h{level}>{inner}</h{level}>" if inner.strip() else "")

    def code(self, text: str) -> None:
        """Lines to be kept as they are; code after code goes on."""
        if text.strip() and not self._open and self._parts and self._parts[-1].endswith(_CODE_END):
            self._parts[-1] = f"{self._parts[-1].removesuffix(_CODE_END)}\n{escape(text)}{_CODE_END}"
            return
        self._block(f"<pre><code>{escape(text)}{_CODE_END}" if text.strip() else "")

    def block(self, html: str) -> None:
        """Anything that stands for itself, such as a table."""
        self._block(html)

    def item(self, level: int, inner: str, *, is_numbered: bool = False) -> None:
        """An item of a list; level 0 is the outermost."""
        if not inner.strip():
            return
        tag = "ol" if is_numbered else "ul"
        depth = min(level, _MAX_LEVEL, len(self._open)) + 1
        while len(self._open) > depth:
            self._close()
        if len(self._open) == depth and self._open[-1] != tag:
            self._close()
        if len(self._open) == depth:
            self._add("</li><li>")
        else:
            self._open.append(tag)
            self._add(f"<{tag}><li>")
        self._add(inner)

    def html(self) -> str:
        """All of it."""
        while self._open:
            self._close()
        return "\n".join(self._parts)

    def _block(self, html: str) -> None:
        if not html:
            return
        while self._open:
            self._close()
        self._add(html)

    def _close(self) -> None:
        self._add(f"</li></{self._open.pop()}>")

    def _add(self, html: str) -> None:
        self._parts.append(html)
        self.chars += len(html)


def linked(inner: str, href: str) -> str:
    """Content within a link."""
    return f'<a href="{escape(href)}">{inner}</a>' if href and inner.strip() else inner


def marked(inner: str, *tags: str) -> str:
    """Content within marks such as `strong`; space at its edges stays outside, where Markdown needs it."""
    core = inner.strip()
    if not core:
        return inner
    start = inner.index(core)
    before, after = inner[:start], inner[start + len(core) :]
    for tag in tags:
        core = f"<{tag}>{core}</{tag}>"
    return f"{before}{core}{after}"


def table(rows: list[list[str]]) -> str:
    """Rows of cells (HTML each) as a table whose first row is its head; edges without any content are left out."""
    width = max((at for row in rows for at, cell in enumerate(row, 1) if cell.strip()), default=0)
    lines = [[*row[:width], *[""] * (width - len(row))] for row in rows if any(cell.strip() for cell in row)]
    if not lines:
        return ""
    head, *rest = lines
    top = "".join(f"<th>{cell}</th>" for cell in head)
    body = "".join(["<tr>" + "".join([f"<td>{cell}</td>" for cell in row]) + "</tr>" for row in rest])
    return f"<table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>"
