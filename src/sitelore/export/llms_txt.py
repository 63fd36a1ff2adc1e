"""Writes `llms.txt`, a Markdown list of a site's pages for language models (llmstxt.org), and `llms-full.txt`, their content.

H1 with the site's name, a blockquote with its summary, then H2 sections by folder. Titles leave out the name of the site. Pages
that only list others (indexes, tags, numbered pages of a list) and pages that ask not to be indexed are left out.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, BinaryIO
from urllib.parse import unquote

from sitelore.export.boilerplate import NO_REPEATS, Repeats
from sitelore.export.pages import document_of, documents, page_of
from sitelore.export.rows import Rows, is_page
from sitelore.model.frontier import UrlRow
from sitelore.model.url import Url
from sitelore.ports import Blobs

_DEFAULT_SECTION = "Pages"
_MAX_SECTIONS = 40
_MIN_SECTION_PAGES = 2
_MAX_LINE_CHARS = 300
_MAX_HEADING_CHARS = 60
_MAX_SENTENCE_CHARS = 200
_MIN_SENTENCE_WORDS = 6
_BLANKS = re.compile(r"\s+")
_BRACKETS = re.compile(r"([\\\[\]])")
_WORD_BREAKS = re.compile(r"[-_+.\s]+")
_SEPARATOR = re.compile(r"\s+[|·•»:\u2014\u2013-]+\s+")
_SENTENCE = re.compile(
    r".+?(?<!\bi\.e)(?<!\be\.g)(?<!\betc)(?<!\bcf)(?<!\bvs)(?<!\bno)(?<!\bapprox)[.!?](?=\s|$)", re.IGNORECASE
)
"""A sentence, which does not end with an abbreviation."""
_NOTICE = re.compile(r"^(?:©|copyright\b|last updated\b)|\blicensed under\b|\bhistory and license\b", re.IGNORECASE)
_LINK = re.compile(r"(?<!!)\[((?:[^\[\]\\]|\\.)*)\]\(")
_SITE_PARTS = 3
"""So many pages must share a part of their titles to make it the name of the site, and at least half of all."""

_INDEX_FILE = re.compile(r"(?:index|default|home|readme)\.[a-z]+", re.IGNORECASE)
_LIST_FILE = re.compile(r"(?:gen|mod|py-mod)index(?:-[^/]*)?(?:\.\w+)?|(?:contents|site-?map)(?:\.\w+)?", re.IGNORECASE)
_SEARCH_FILE = re.compile(r"search(?:\.\w+)?", re.IGNORECASE)
_MAX_SEARCH_WORDS = 100
_LIST_FOLDERS = frozenset({"tag", "tags", "category", "categories", "author", "authors"})
_PART_OF_LIST = re.compile(r"/page[/-]\d+/?$|[?&](?:page|paged|p|start|offset)=\d+(?:&|$)", re.IGNORECASE)
_MIN_LINKS, _LINK_SHARE = 10, 0.6
"""A page with so many links, which are this share of its words, only lists other pages."""
_MIN_FOLDER_LINKS, _FOLDER_LINK_SHARE = 3, 0.3
"""Limits for the page of a folder."""


@dataclass(frozen=True, slots=True)
class _Entry:
    """A page as it is listed."""

    row: UrlRow
    title: str
    description: str
    is_list: bool

    @property
    def url(self) -> Url:
        return self.row.url


@dataclass(frozen=True, slots=True)
class _SiteList:
    """The pages of a site by section, in their order."""

    name: str
    summary: str
    sections: dict[str, list[_Entry]]

    def head(self) -> bytes:
        return _bytes(f"# {self.name}\n\n> {self.summary}\n")

    @property
    def count(self) -> int:
        return sum(map(len, self.sections.values()))


async def write_llms_txt(rows: Rows, blobs: Blobs, site: str, sink: BinaryIO) -> int:
    """Write the list of a run's pages. Returns the number of pages in it."""
    pages = await _site_list(rows, blobs, site)
    sink.write(pages.head())
    for heading, entries in pages.sections.items():
        sink.write(_bytes(f"\n## {heading}\n\n"))
        sink.writelines(_bytes(_line_of(entry)) for entry in entries)
    return pages.count


async def write_llms_full(rows: Rows, blobs: Blobs, site: str, sink: BinaryIO, repeats: Repeats = NO_REPEATS) -> int:
    """Write the Markdown of the pages in the order of the list. Returns the number of pages."""
    pages = await _site_list(rows, blobs, site)
    sink.write(pages.head())
    for entries in pages.sections.values():
        for entry in entries:
            markdown = page_of(entry.row, await document_of(entry.row, blobs), [], repeats)["markdown"]
            sink.write(_bytes(f"\n---\n\n# {entry.title}\n\nSource: {entry.url}\n\n{_without_title(markdown)}\n"))
    return pages.count


async def _site_list(rows: Rows, blobs: Blobs, site: str) -> _SiteList:
    entries = []
    async for row, document in documents(rows(), blobs):
        if is_page(row) and not row.noindex:
            title = _line(row.title or document.get("title", "")) or row.url
            entries.append(_Entry(row, title, _description(document, title), _is_list(row.url, document)))
    name = _site_name(entry.title for entry in entries)
    entries = [_Entry(entry.row, _without_site(entry.title, name), entry.description, entry.is_list) for entry in entries]
    top = _common_folder([entry.url for entry in entries])
    home = next((entry for entry in entries if entry.url.is_root or entry.url.path == top), None)
    listed = [entry for entry in entries if not entry.is_list]
    summary = (home.description if home else "") or f"{len(listed)} page{'' if len(listed) == 1 else 's'} of {site}."
    return _SiteList(name or (home.title if home else "") or site, summary, _sections(entries, listed))


def _sections(entries: list[_Entry], listed: list[_Entry]) -> dict[str, list[_Entry]]:
    """The listed pages by the heading of their section: pages at the top, then a section for each folder with several."""
    top = _common_folder([entry.url for entry in listed])
    sizes = Counter(_folder(entry.url, top) for entry in listed)
    largest = sorted(sizes, key=lambda folder: (-sizes[folder], folder))[:_MAX_SECTIONS]
    kept = sorted(folder for folder in largest if folder and sizes[folder] >= _MIN_SECTION_PAGES)
    fronts = {_folder(entry.url, top): entry.title for entry in entries if _is_front(entry.url, top)}
    sections: dict[str, list[_Entry]] = {_DEFAULT_SECTION: []}
    by_folder = {}
    for folder in kept:
        heading = _heading(folder, fronts.get(folder, ""))
        by_folder[folder] = sections.setdefault(heading, [])
    for entry in listed:
        by_folder.get(_folder(entry.url, top), sections[_DEFAULT_SECTION]).append(entry)
    return {heading: own for heading, own in sections.items() if own}


def _common_folder(urls: list[Url]) -> str:
    """The folder that all pages are in: `/manual/`."""
    folders = [url.path[: url.path.rfind("/") + 1].split("/") for url in urls] or [["", ""]]
    common = []
    for names in zip(*folders, strict=False):
        if len(set(names)) > 1:
            break
        common.append(names[0])
    return "/".join(common).rstrip("/") + "/"


def _folder(url: Url, top: str) -> str:
    """The first folder below `top`; empty for pages in `top` itself."""
    first, slash, _ = url.path.removeprefix(top).partition("/")
    return first if slash else ""


def _is_front(url: Url, top: str) -> bool:
    """Whether this is the page of a folder right below `top`."""
    _, slash, rest = url.path.removeprefix(top).partition("/")
    return bool(slash) and "?" not in url.target and (not rest or _INDEX_FILE.fullmatch(rest) is not None)


def _heading(folder: str, title: str) -> str:
    """The title of the folder's page, or the name of the folder in words."""
    if title and len(title) <= _MAX_HEADING_CHARS:
        return title
    words = _line(_WORD_BREAKS.sub(" ", unquote(folder)))
    return words[:1].upper() + words[1:] or folder


def _is_list(url: Url, document: dict[str, Any]) -> bool:
    """Whether a page only lists others."""
    *folders, file = url.path.strip("/").lower().split("/")
    words = document.get("word_count") or len(document.get("text", "").split())
    if _LIST_FILE.fullmatch(file) or _PART_OF_LIST.search(url.target) or not _LIST_FOLDERS.isdisjoint((*folders, file)):
        return True
    if _SEARCH_FILE.fullmatch(file) and words < _MAX_SEARCH_WORDS:
        return True
    labels = _LINK.findall(document.get("markdown", ""))
    linked = sum(len(label.split()) for label in labels)
    if len(labels) >= _MIN_LINKS and linked >= _LINK_SHARE * words:
        return True
    is_folder = not url.is_root and (url.path.endswith("/") or _INDEX_FILE.fullmatch(file) is not None)
    return is_folder and len(labels) >= _MIN_FOLDER_LINKS and linked >= _FOLDER_LINK_SHARE * words


def _site_name(titles: Iterable[str]) -> str:
    """The part that most titles begin or end with: the name of the site."""
    parted = [parts for title in titles if len(parts := _SEPARATOR.split(title)) > 1]
    counts = Counter(parts[-1] for parts in parted) + Counter(parts[0] for parts in parted)
    name, count = min(counts.items(), key=lambda item: (-item[1], item[0]), default=("", 0))
    return name if count >= _SITE_PARTS and 2 * count >= len(parted) else ""


def _without_site(title: str, name: str) -> str:
    """A title without the name of the site at its end or its beginning."""
    if not name:
        return title
    match = re.fullmatch(rf"(.+?){_SEPARATOR.pattern}{re.escape(name)}|{re.escape(name)}{_SEPARATOR.pattern}(.+)", title)
    return (match[1] or match[2]) if match else title


def _description(document: dict[str, Any], title: str) -> str:
    """The page's own description, or its first sentence."""
    own = _line(document.get("description", ""))
    if own and own != title:
        return own
    for line in document.get("text", "").splitlines():
        sentence = _SENTENCE.match(_BLANKS.sub(" ", line).strip(" -*•"))
        if sentence and len(sentence[0].split()) >= _MIN_SENTENCE_WORDS and not _NOTICE.search(sentence[0]):
            return _cut(sentence[0], _MAX_SENTENCE_CHARS)
    return ""


def _cut(text: str, max_chars: int) -> str:
    """The text, or its first words with an ellipsis."""
    return text if len(text) <= max_chars else f"{text[:max_chars].rpartition(' ')[0].rstrip(' ,;:')} …"


def _without_title(markdown: str) -> str:
    first, _, rest = markdown.lstrip().partition("\n")
    return (rest if first.startswith("# ") else markdown).strip()


def _line_of(entry: _Entry) -> str:
    target = entry.url.replace("(", "%28").replace(")", "%29")
    note = f": {entry.description}" if entry.description else ""
    label = _BRACKETS.sub(r"\\\1", entry.title)
    return f"- [{label}]({target}){note}\n"


def _line(text: str) -> str:
    line = _BLANKS.sub(" ", text).strip()
    return line if len(line) <= _MAX_LINE_CHARS else f"{line[:_MAX_LINE_CHARS].rstrip()}…"


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "replace")
