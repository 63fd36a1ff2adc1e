"""Source files, edits of their text, and unified diffs that `git apply` accepts."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from enum import StrEnum
from typing import NamedTuple

from sitelore.model.audit.findings import Finding
from sitelore.model.url import Url

_CONTEXT_LINES = 3


class NoFix(Exception):
    """Why a finding has no proposal."""


class SourceKind(StrEnum):
    """The language of a source file."""

    HTML = "html"
    MARKDOWN = "markdown"
    RST = "rst"
    ROBOTS = "robots"


_KINDS = {
    ".html": SourceKind.HTML,
    ".htm": SourceKind.HTML,
    ".xhtml": SourceKind.HTML,
    ".md": SourceKind.MARKDOWN,
    ".markdown": SourceKind.MARKDOWN,
    ".rst": SourceKind.RST,
}


def kind_of(path: str) -> SourceKind | None:
    """The kind of a source file by its name; None for files that are never changed."""
    name = posixpath.basename(path)
    if any(part.startswith(".") for part in path.split("/")):
        return None
    return SourceKind.ROBOTS if name == "robots.txt" else _KINDS.get(posixpath.splitext(name)[1].lower())


class Edit(NamedTuple):
    """The text from `start` to `end` is replaced."""

    start: int
    end: int
    text: str


def apply_edits(text: str, edits: Iterable[Edit]) -> str:
    """The text after all edits, which must not overlap. Equal ones count once."""
    parts: list[str] = []
    at = 0
    for edit in sorted(set(edits)):
        if edit.start < at:
            raise NoFix("its changes overlap")
        parts += (text[at : edit.start], edit.text)
        at = edit.end
    return "".join((*parts, text[at:]))


@dataclass(frozen=True, slots=True)
class FixContext:
    """Input of a fix besides the text: the page, the URLs of the site, and texts that people have written."""

    finding: Finding
    page_url: Url
    year: int
    is_live: Callable[[str], bool]
    """Whether a URL is a page of the site that can be read."""
    live_urls: Sequence[str] = ()
    words: Mapping[str, str] = field(default_factory=dict)
    """Texts by the key of the finding."""
    site_lang: str = ""
    """The language that nearly all pages of the site declare."""
    path: str = ""
    """The source file in the checkout."""
    sources_of: Callable[[str], Sequence[str]] = lambda _: ()
    """The files that may be the source of a URL, whether they exist or not."""
    source_exists: Callable[[str], bool] = lambda _: False

    def source_of(self, url: str) -> str | None:
        """The source file of a URL; None when it has none or several."""
        known = [path for path in self.sources_of(url) if self.source_exists(path)]
        return known[0] if len(known) == 1 else None

    def text(self, proposal: str = "") -> str:
        """The text that a person has written for this finding, else a proposal."""
        words = " ".join((self.words.get(self.finding.key) or proposal).split())
        if not words:
            raise NoFix("it needs words of a person; give them with --words")
        return words

    def resolved(self, href: str, base: str = "") -> Url | None:
        """The URL of an address on the page, without its fragment."""
        return Url.parse(href.strip(), base or str(self.page_url))

    def styled(self, href: str, url: str) -> str:
        """The address of a URL, written like the address that it replaces: absolute, from the root, or relative."""
        target = Url.trusted(url)
        fragment = f"#{href.partition('#')[2]}" if "#" in href else ""
        if href.startswith(("http:", "https:", "//")) or target.authority != self.page_url.authority:
            return f"{url}{fragment}"
        path = url.removeprefix(target.origin)
        if href.startswith("/"):
            return f"{path}{fragment}"
        folder = self.page_url.path.rpartition("/")[0] or "/"
        relative = posixpath.relpath(path, folder)
        return f"{relative}/{fragment}" if path.endswith("/") and relative != "." else f"{relative}{fragment}"


def closest(target: str, urls: Sequence[str], bar: float = 0.85) -> str | None:
    """The URL that is most like a missing one; None unless one is clearly the closest."""
    path = Url.trusted(target).path
    scored = sorted(((_path_similarity(path, Url.trusted(url).path), url) for url in urls), reverse=True)[:2]
    if not scored or scored[0][0] < bar or (len(scored) > 1 and scored[0][0] - scored[1][0] < 0.05):
        return None
    return scored[0][1]


def _path_similarity(first: str, second: str) -> float:
    matcher = SequenceMatcher(None, first, second, autojunk=False)
    return matcher.ratio() if matcher.real_quick_ratio() >= 0.8 and matcher.quick_ratio() >= 0.8 else 0.0


# Diffs


def changed_lines(before: str, after: str) -> int:
    """The number of lines that a change removes or adds."""
    old, new = _lines(before), _lines(after)
    codes = SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    return sum(max(old_end - old_at, new_end - new_at) for tag, old_at, old_end, new_at, new_end in codes if tag != "equal")


def unified_diff(path: str, before: str, after: str) -> str:
    """The change of a file as a unified diff; empty when nothing changes."""
    old, new = _lines(before), _lines(after)
    matcher = SequenceMatcher(None, old, new, autojunk=False)
    parts: list[str] = []
    for group in matcher.get_grouped_opcodes(_CONTEXT_LINES):
        first, last = group[0], group[-1]
        parts.append(f"@@ -{_range(first[1], last[2])} +{_range(first[3], last[4])} @@\n")
        for tag, old_at, old_end, new_at, new_end in group:
            if tag == "equal":
                parts += map(_line(" "), old[old_at:old_end])
            else:
                parts += map(_line("-"), old[old_at:old_end])
                parts += map(_line("+"), new[new_at:new_end])
    return f"--- a/{path}\n+++ b/{path}\n{''.join(parts)}" if parts else ""


def _lines(text: str) -> list[str]:
    """Lines with their ends. Only a line feed ends a line, as in git."""
    lines = text.split("\n")
    ended = [f"{line}\n" for line in lines[:-1]]
    return [*ended, lines[-1]] if lines[-1] else ended


def _line(sign: str) -> Callable[[str], str]:
    return lambda line: f"{sign}{line}" if line.endswith("\n") else f"{sign}{line}\n\\ No newline at end of file\n"


def _range(start: int, end: int) -> str:
    length = end - start
    return f"{start + 1 if length else start},{length}"
