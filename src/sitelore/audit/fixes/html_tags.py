"""The tags of an HTML text with their places, so that edits keep every other byte. Nothing is ever serialised again."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from html import escape, unescape
from html.parser import HTMLParser

from sitelore.audit.fixes.source import Edit, NoFix

_ATTRIBUTE = re.compile(r"""([^\s=/>"']+)(\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s>"']+)))?""")
_NAME = re.compile(r"</?[^\s/>]+")


@dataclass(frozen=True)
class Tag:
    """A start or end tag."""

    name: str
    start: int
    end: int
    raw: str
    is_end: bool = False

    @cached_property
    def _attributes(self) -> dict[str, re.Match[str]]:
        name = _NAME.match(self.raw)
        attributes: dict[str, re.Match[str]] = {}
        for each in _ATTRIBUTE.finditer(self.raw, name.end() if name else 0):
            attributes.setdefault(each[1].lower(), each)
        return attributes

    def get(self, name: str) -> str | None:
        """The value of an attribute; None when the tag has none."""
        match = self._attributes.get(name)
        if match is None:
            return None
        return unescape(next((each for each in match.groups()[2:] if each is not None), ""))

    def set(self, name: str, value: str) -> Edit:
        """The edit that gives an attribute this value, or adds it after the others."""
        match = self._attributes.get(name)
        text = escape(value, quote=False).replace('"', "&quot;")
        if match is not None:
            return Edit(self.start + match.start(), self.start + match.end(), f'{match[1]}="{text}"')
        at = self.start + len(self.raw.rstrip(">").rstrip().rstrip("/").rstrip())
        return Edit(at, at, f' {name}="{text}"')

    def remove(self, name: str) -> Edit:
        """The edit that removes an attribute with the space before it."""
        match = self._attributes[name]
        before = self.raw[: match.start()]
        return Edit(self.start + len(before.rstrip()), self.start + match.end(), "")


class HtmlText:
    """An HTML text and its tags, in order. Comments, scripts and styles have none inside."""

    def __init__(self, text: str) -> None:
        self.text = text
        scanner = _Scanner(text)
        scanner.feed(text)
        scanner.close()
        self.tags = scanner.tags

    @property
    def newline(self) -> str:
        """How lines end."""
        return "\r\n" if "\r\n" in self.text else "\n"

    def starts(self, *names: str) -> Iterator[Tag]:
        """Yield the start tags with these names."""
        return (tag for tag in self.tags if not tag.is_end and tag.name in names)

    def head_tags(self, *names: str) -> list[Tag]:
        """The start tags with these names in the head."""
        end = next((tag.start for tag in self.tags if tag.name == ("head" if tag.is_end else "body")), len(self.text))
        return [tag for tag in self.starts(*names) if tag.start < end]

    def end_of(self, tag: Tag) -> Tag:
        """The end tag of an element that holds no other of its name."""
        for each in self.tags:
            if each.start > tag.start and each.name == tag.name:
                if each.is_end:
                    return each
                break
        raise NoFix(f"the end of a {tag.name} element is not clear")

    def inner(self, tag: Tag) -> tuple[int, int]:
        """Where the content of an element begins and ends."""
        return tag.end, self.end_of(tag).start

    def words(self, tag: Tag) -> str:
        """The text of an element, without tags."""
        start, end = self.inner(tag)
        return " ".join(unescape(re.sub(r"<[^>]*>", " ", self.text[start:end])).split())

    def insert_into_head(self, element: str) -> Edit:
        """The edit that adds an element to the head: after the declaration of the encoding, else at its start."""
        metas = [tag for tag in self.head_tags("meta") if tag.get("charset") is not None]
        anchor = next(iter(metas), None) or next(self.starts("head"), None) or next(self.starts("html"), None)
        if anchor is None:
            raise NoFix("the file has no head")
        following = re.compile(r"(\r?\n)([ \t]*)").match(self.text, anchor.end)
        if following is None:
            return Edit(anchor.end, anchor.end, element)
        return Edit(anchor.end, anchor.end, f"{following[1]}{following[2]}{element}")

    def remove(self, tag: Tag) -> Edit:
        """The edit that removes a tag, with its line where nothing else is on it."""
        start, end = tag.start, tag.end
        line_start = self.text.rfind("\n", 0, start) + 1
        line_end = self.text.find("\n", end)
        if line_end >= 0 and not self.text[line_start:start].strip() and not self.text[end:line_end].strip():
            return Edit(line_start, line_end + 1, "")
        return Edit(start, end, "")


class _Scanner(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=False)
        self.tags: list[Tag] = []
        self._text = text
        self._line_starts = [0, *(match.end() for match in re.finditer("\n", text))]

    def handle_starttag(self, tag: str, attrs: object) -> None:  # noqa: ARG002 the attributes are read from the text
        self._add(tag, self.get_starttag_text() or "")

    def handle_startendtag(self, tag: str, attrs: object) -> None:
        self.handle_starttag(tag, attrs)

    def handle_endtag(self, tag: str) -> None:
        start = self._offset()
        end = self._text.find(">", start) + 1 or len(self._text)
        self._add(tag, self._text[start:end], is_end=True)

    def _add(self, name: str, raw: str, *, is_end: bool = False) -> None:
        start = self._offset()
        self.tags.append(Tag(name, start, start + len(raw), raw, is_end))

    def _offset(self) -> int:
        line, column = self.getpos()
        return self._line_starts[line - 1] + column
