"""A tree of Markdown files, one per page however many URLs lead there, with the page's facts as YAML front matter.

The folder mirrors the run: a list of the files written (`.sitelore/`) lets the next export of the same site remove the
files of pages that are gone, and nothing else.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path, PurePosixPath
from typing import TextIO

import msgspec

from sitelore.export.files import saying_where, write_whole
from sitelore.export.names import PICTURE, Names
from sitelore.export.pages import Page, aliases_of, documents, page_of
from sitelore.export.repeats import NO_REPEATS, Repeats
from sitelore.export.rows import Rows
from sitelore.model.ids import BlobKey
from sitelore.ports import Blobs

# The Markdown below shows its own headings.
_NOT_IN_FRONT_MATTER = frozenset({"markdown", "text", "excerpt", "headings", "landmarks"})
# YAML 1.2 §5.1: what JSON may hold as it is and YAML may not, in UTF-8: U+007F to 9F, 2028, 2029, FEFF, FFFE, FFFF.
_UNPRINTABLE = re.compile(rb"\x7f|\xc2[\x80-\x9f]|\xe2\x80[\xa8\xa9]|\xef\xbb\xbf|\xef\xbf[\xbe\xbf]")
_json = msgspec.json.Encoder().encode
_LISTS = ".sitelore"


@dataclass(frozen=True, slots=True)
class MarkdownTree:
    """What an export left on the disk."""

    folder: Path
    pages: int = 0
    removed: int = 0
    markdown_chars: int = 0
    first: Path | None = None


async def write_markdown(
    rows: Rows, blobs: Blobs, folder: Path, site: str, *, prune: bool = True, repeats: Repeats = NO_REPEATS
) -> MarkdownTree:
    """Write every page of a run below `folder`. With `prune`, files of pages that are gone since the last export go too."""
    names, listing = Names(), _Listing(folder, site)
    made: set[str] = set()
    pages, chars, first = 0, 0, None
    with saying_where(folder):
        aliases = await aliases_of(rows())
        with listing.open() as written:
            async for row, document in documents(rows(), blobs, passing=True):
                name = names.name(row.url)
                written.write(f"{name}\n")
                page = page_of(row, document, aliases.get(row.url, []), repeats)
                parent = name.rpartition("/")[0]
                if parent not in made:
                    _make_folder(f"{folder}/{parent}")
                    made.add(parent)
                if row.screenshot is not None:
                    picture = names.picture(name)
                    written.write(f"{picture}\n")
                    page["screenshot"] = await _write_picture(row.screenshot, f"{folder}/{picture}", blobs, listing.temporary)
                write_whole(f"{folder}/{name}", file_of(page), listing.temporary)
                pages, chars = pages + 1, chars + len(page["markdown"])
                first = first or folder / name
        removed = listing.close(names, prune=prune and pages > 0)
    return MarkdownTree(folder, pages, removed, chars, first)


async def _write_picture(key: BlobKey, path: str, blobs: Blobs, temporary: str) -> str | None:
    """The picture of a page beside its Markdown. Gives the name that the page calls it by."""
    try:
        jpeg = await blobs.get(key)
    except KeyError:
        return None
    write_whole(path, jpeg, temporary)
    return path.rpartition("/")[2]


def file_of(page: Page) -> bytes:
    """A page as a Markdown file."""
    return _front_matter(page) + b"\n" + str(page["markdown"]).strip("\n").encode("utf-8", "replace") + b"\n"


def _front_matter(page: Page) -> bytes:
    """The page's facts as YAML. Every value is written as JSON, which YAML reads the same, so no text can end the block."""
    lines = [b"---"]
    for name, value in page.items():
        if name in _NOT_IN_FRONT_MATTER:
            continue
        if name == "aliases" and value:
            lines.append(b"aliases:")
            lines.extend(b"  - " + _json(alias) for alias in value)
        else:
            lines.append(name.encode() + b": " + _json(value))
    lines.append(b"---\n")
    block = b"\n".join(lines)
    return block if block.isascii() and b"\x7f" not in block else _UNPRINTABLE.sub(_escaped, block)


def _escaped(match: re.Match[bytes]) -> bytes:
    return b"\\u%04x" % ord(match[0].decode())


def _make_folder(path: str) -> None:
    try:
        os.mkdir(path)  # noqa: PTH102 mostly the one above is there, and then this is a third of the time
    except OSError:
        Path(path).mkdir(parents=True, exist_ok=True)


class _Listing:
    """The names of the files that earlier exports of this site wrote here, and of those this one writes.

    The new list grows beside the old one, name before file, and takes its place at the end: whatever stops an export,
    every file it wrote is in one of the two.
    """

    def __init__(self, folder: Path, site: str) -> None:
        self._folder = folder
        self._path = folder / _LISTS / f"{blake2b(site.encode(), digest_size=8).hexdigest()}.txt"
        self._growing = self._path.with_suffix(".new")
        self.temporary = str(self._path.with_suffix(".tmp"))
        self._site = site

    def open(self) -> TextIO:
        """Start the new list; one that an interrupted export left is kept as part of the old."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        if self._growing.exists():
            with self._path.open("a", encoding="utf-8") as old, self._growing.open(encoding="utf-8") as left:
                old.writelines(left)
        growing = self._growing.open("w", encoding="utf-8")
        growing.write(f"# files of {' '.join(self._site.split())}\n")
        return growing

    def close(self, names: Names, *, prune: bool) -> int:
        """End the export: remove what is gone, or else remember it as still there. Gives the number of files removed."""
        gone = [name for name in dict.fromkeys(self._old_names()) if not names.has(name)]
        if not prune:
            with self._growing.open("a", encoding="utf-8") as growing:
                growing.writelines(f"{name}\n" for name in gone)
            gone = []
        removed = sum(map(self._remove, gone))
        self._growing.replace(self._path)
        return removed

    def _old_names(self) -> Iterator[str]:
        with suppress(FileNotFoundError), self._path.open(encoding="utf-8", errors="replace") as old:
            for line in old:
                name = PurePosixPath(line.rstrip("\n"))
                # The list is a file anyone may edit: a name in it must not lead elsewhere either.
                is_ours = name.suffix == ".md" or name.name.endswith(PICTURE)
                if is_ours and not name.is_absolute() and ".." not in name.parts and "\\" not in str(name):
                    yield str(name)

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
