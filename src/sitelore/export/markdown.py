"""Exports a run as a tree of Markdown files: one file for each page, with YAML front matter.

A list of the written files in `.sitelore/` lets the next export of the same site remove the files of pages that are gone, and
nothing else. `EarlyTree` writes pages while they are crawled; the export at the end completes its files.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Collection, Iterable
from contextlib import suppress
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path, PurePosixPath
from typing import Any, TextIO

import msgspec

from sitelore.export.boilerplate import NO_REPEATS, Repeats
from sitelore.export.filenames import SCREENSHOT_SUFFIX, FilenameAllocator
from sitelore.export.files import disk_errors_for, write_atomic
from sitelore.export.pages import Page, aliases_of, documents, page_of
from sitelore.export.rows import Rows, is_page
from sitelore.model.frontier import UrlRow
from sitelore.model.ids import BlobKey
from sitelore.model.settings import LinkStyle
from sitelore.model.url import Url
from sitelore.ports import Blobs

FRONT_MATTER = {
    "url": "url",
    "title": "title",
    "description": "description",
    "lang": "lang",
    "published": "published",
    "modified": "modified",
    "author": "author",
    "canonical": "canonical_url",
    "status": "status_code",
    "depth": "depth",
    "words": "word_count",
    "content_hash": "content_hash",
    "fetched_at": "fetched_at",
    "aliases": "aliases",
}
"""Key in the front matter → field of the exported page. Everything else about a page is in JSONL and in the API.

Static site generators read `title`, `description`, `lang`, `author` and `aliases` by these names; Hugo also takes
`published` and `modified` for its dates.
"""
# YAML 1.2 §5.1, in UTF-8: JSON allows these characters unescaped and YAML does not: U+007F to 9F, 2028, 2029, FEFF, FFFE, FFFF.
_UNPRINTABLE = re.compile(rb"\x7f|\xc2[\x80-\x9f]|\xe2\x80[\xa8\xa9]|\xef\xbb\xbf|\xef\xbf[\xbe\xbf]")
_json = msgspec.json.Encoder().encode
_LIST_FOLDER = ".sitelore"
_EARLY_HEADER = "# written while the site was crawled"


@dataclass(frozen=True, slots=True)
class MarkdownTree:
    """The result of an export."""

    folder: Path
    pages: int = 0
    removed: int = 0
    markdown_chars: int = 0
    first: Path | None = None


async def write_markdown(
    rows: Rows,
    blobs: Blobs,
    folder: Path,
    site: str,
    *,
    prune: bool = True,
    repeats: Repeats = NO_REPEATS,
    links: LinkStyle = LinkStyle.ABSOLUTE,
) -> MarkdownTree:
    """Write every page of a run below `folder`. With `prune`, files of pages that are gone since the last export are removed.

    With relative `links`, links to pages of the run lead to their files.
    """
    names, listing = FilenameAllocator(), _FileList(folder, site)
    writer = _FileWriter(folder, listing.temporary)
    pages, chars, first = 0, 0, None
    with disk_errors_for(folder):
        aliases = await aliases_of(rows())
        files = await _file_names(rows, names, aliases) if links is LinkStyle.RELATIVE else {}
        with listing.open() as written:
            async for row, document in documents(rows(), blobs, raw=True):
                name = files.get(row.url) or names.allocate(row.url)
                written.write(f"{name}\n")
                page = page_of(row, document, aliases.get(row.url, []), repeats)
                if links is not LinkStyle.ABSOLUTE:
                    page["markdown"] = _rewrite(page["markdown"], links, name, files)
                if row.screenshot is not None:
                    screenshot = names.allocate_screenshot(name)
                    written.write(f"{screenshot}\n")
                    await _write_screenshot(row.screenshot, screenshot, blobs, writer)
                writer.write(name, file_of(page))
                pages, chars = pages + 1, chars + len(page["markdown"])
                first = first or folder / name
        removed = listing.close(names, prune=prune and pages > 0)
    return MarkdownTree(folder, pages, removed, chars, first)


class EarlyTree:
    """Writes the Markdown files of pages while their site is crawled; `write_markdown` completes the tree at the end.

    Until then a file may contain text that repeats over the site, lack aliases, or belong to a page that turns out to be a
    duplicate. With relative `links`, links to pages that are not yet written stay absolute.
    """

    def __init__(self, folder: Path, site: str, links: LinkStyle) -> None:
        self._folder = folder
        self._links = links
        self._names = FilenameAllocator()
        self._files: dict[str, str] = {}
        self._listing = _FileList(folder, site)
        self._listed: Collection[str] | None = None
        self._writer = _FileWriter(folder, self._listing.early_temporary)

    def write(self, pages: Iterable[tuple[UrlRow, dict[str, Any]]]) -> None:
        """Write these pages, except over files that are better left to the export at the end."""
        named = [(self._names.allocate(row.url), row, document) for row, document in pages]
        if self._links is LinkStyle.RELATIVE:
            self._files.update((row.url, name) for name, row, _ in named)
        with disk_errors_for(self._folder):
            written = [entry for entry in named if self._may_write(entry[0], entry[1])]
            self._listing.add_early([name for name, _, _ in written])
            for name, row, document in written:
                page = page_of(row, document, [])
                if self._links is not LinkStyle.ABSOLUTE:
                    page["markdown"] = _rewrite(page["markdown"], self._links, name, self._files)
                self._writer.write(name, file_of(page))

    def _may_write(self, name: str, row: UrlRow) -> bool:
        """Whether the file is new, or ours and outdated.

        The file of an unchanged page was written with the whole site known. A file that is not ours must not be lost to a
        page that turns out to be a duplicate.
        """
        if not os.path.lexists(f"{self._folder}/{name}"):
            return True
        if self._listed is None:
            self._listed = self._listing.names()
        return row.changed is not False and name in self._listed


async def _file_names(rows: Rows, names: FilenameAllocator, aliases: dict[Url, list[str]]) -> dict[str, str]:
    """Maps the URL of every page, and its aliases, to its file."""
    files: dict[str, str] = {}
    async for row in rows():
        if is_page(row):
            files[row.url] = names.allocate(row.url)
    for url, others in aliases.items():
        if url in files:
            files.update(dict.fromkeys(others, files[url]))
    return files


def _rewrite(markdown: str, links: LinkStyle, name: str, files: dict[str, str]) -> str:
    from sitelore.export.links import file_addresses, rewrite_links  # noqa: PLC0415 the Markdown parser takes 30 ms to load

    return rewrite_links(markdown, links, file_addresses(name, files))


async def _write_screenshot(key: BlobKey, name: str, blobs: Blobs, writer: _FileWriter) -> None:
    """Write the screenshot of a page next to its Markdown file, if the store still has it."""
    with suppress(KeyError):
        writer.write(name, await blobs.get(key))


def file_of(page: Page) -> bytes:
    """The bytes of a page's Markdown file."""
    return _front_matter(page) + b"\n" + str(page["markdown"]).strip("\n").encode("utf-8", "replace") + b"\n"


def _front_matter(page: Page) -> bytes:
    """The front matter of a page as YAML, without empty values.

    Every value is written as JSON, which is valid YAML: no text can end the block or change the type of a value.
    """
    lines = [b"---"]
    for key, field in FRONT_MATTER.items():
        value = page[field]
        if value is None or value in ("", []):
            continue
        if isinstance(value, list):
            lines.append(key.encode() + b":")
            lines.extend(b"  - " + _json(item) for item in value)
        else:
            lines.append(key.encode() + b": " + _json(value))
    lines.append(b"---\n")
    block = b"\n".join(lines)
    return block if block.isascii() and b"\x7f" not in block else _UNPRINTABLE.sub(_escaped, block)


def _escaped(match: re.Match[bytes]) -> bytes:
    return b"\\u%04x" % ord(match[0].decode())


class _FileWriter:
    """Writes files below a folder, each under a temporary name first."""

    def __init__(self, folder: Path, temporary: str) -> None:
        self._folder = folder
        self._temporary = temporary
        self._created: set[str] = set()

    def write(self, name: str, data: bytes) -> None:
        """Write one file, and its folder if there is none. A file that has these bytes stays as it is."""
        path, parent = f"{self._folder}/{name}", name.rpartition("/")[0]
        if parent not in self._created:
            _make_folder(f"{self._folder}/{parent}")
            self._created.add(parent)
        if not _has_bytes(path, data):
            write_atomic(path, data, self._temporary)


def _has_bytes(path: str, data: bytes) -> bool:
    """Whether this is a plain file with these bytes."""
    try:
        status = os.lstat(path)
        return stat.S_ISREG(status.st_mode) and status.st_size == len(data) and Path(path).read_bytes() == data
    except OSError:
        return False


def _make_folder(path: str) -> None:
    try:
        os.mkdir(path)  # noqa: PTH102 three times as fast as pathlib where the parent exists, as it mostly does
    except OSError:
        Path(path).mkdir(parents=True, exist_ok=True)


class _FileList:
    """The list of files that exports of this site, and crawls before their export, wrote into the folder.

    The new list is written next to the old one, each name before its file, and replaces it at the end: wherever an export is
    interrupted, every file is in one of the two. Names of early files follow a header of their own in the old list.
    """

    def __init__(self, folder: Path, site: str) -> None:
        self._folder = folder
        self._path = folder / _LIST_FOLDER / f"{blake2b(site.encode(), digest_size=8).hexdigest()}.txt"
        self._new_path = self._path.with_suffix(".new")
        self.temporary = str(self._path.with_suffix(".tmp"))
        self.early_temporary = str(self._path.with_suffix(".early.tmp"))
        """Another one, because a run may be exported by another process while it is crawled."""
        self._header = f"# files of {' '.join(site.split())}\n"

    def open(self) -> TextIO:
        """Start the new list; that of an interrupted export is appended to the old one."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        if self._new_path.exists():
            with self._path.open("a", encoding="utf-8") as old, self._new_path.open(encoding="utf-8") as left:
                old.writelines(left)
        new = self._new_path.open("w", encoding="utf-8")
        new.write(self._header)
        return new

    def add_early(self, names: Iterable[str]) -> None:
        """Add files that a crawl is about to write. The list is opened each time, because an export may replace it."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with self._path.open("a", encoding="utf-8") as old:
            old.write("\n".join((_EARLY_HEADER, *names, "")))

    def close(self, names: FilenameAllocator, *, prune: bool) -> int:
        """Finish the export: remove the files of pages that are gone, or keep them in the list. Returns the number removed.

        Early files that no export confirmed are removed in any case.
        """
        is_early = self.names()
        with self._new_path.open("r+", encoding="utf-8") as new:
            for line in new:
                is_early.pop(line.rstrip("\n"), None)
            new.seek(0, os.SEEK_END)
            gone = list(is_early)
            if (self._folder / _LIST_FOLDER.upper()).exists():  # names that differ in case alone are one file here
                gone = [name for name in gone if not names.has(name)]
            if not prune:
                new.writelines(f"{name}\n" for name in gone if not is_early[name])
                gone = [name for name in gone if is_early[name]]
        removed = sum(map(self._remove, gone))
        self._new_path.replace(self._path)
        return removed

    def names(self) -> dict[str, bool]:
        """The names in the old list, and whether only a crawl wrote the file, not an export."""
        is_early: dict[str, bool] = {}
        in_early_part = False
        with suppress(FileNotFoundError), self._path.open(encoding="utf-8", errors="replace") as old:
            for line in old:
                if line.startswith("#"):
                    in_early_part = line.startswith(_EARLY_HEADER)
                    continue
                name = PurePosixPath(line.rstrip("\n"))
                # Anyone may edit the list: its names must not lead out of the folder either.
                is_ours = name.suffix == ".md" or name.name.endswith(SCREENSHOT_SUFFIX)
                if is_ours and not name.is_absolute() and ".." not in name.parts and "\\" not in str(name):
                    is_early[str(name)] = is_early.get(str(name), True) and in_early_part
        return is_early

    def _remove(self, name: str) -> int:
        path = self._folder / name
        if path.is_symlink() or not path.resolve().is_relative_to(self._folder.resolve()):
            return 0
        try:
            path.unlink()
        except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
            return 0
        for parent in path.parents:
            if parent == self._folder:
                break
            try:
                parent.rmdir()
            except OSError:  # other files are in it
                break
        return 1
