"""Reads the package of an Office Open XML file: parts of a zip archive, and XML of parts, within limits.

The sizes in an archive are not trusted: limits apply to the bytes that come out. Only stored and deflated entries are read,
because only those can be read up to a limit. XML with a document type is refused, which excludes entity expansion.
"""

from __future__ import annotations

import io
import posixpath
import re
import zipfile
import zlib
from dataclasses import dataclass
from functools import cached_property
from typing import IO
from xml.etree import ElementTree as ET

from sitelore.extract.files.reader import FileFacts, Unreadable, language_tag, sensible_title, small_int
from sitelore.extract.metadata import iso_date

_MAX_ENTRIES = 10_000
_MAX_PART_BYTES = 48 * 2**20
_MAX_BYTES = 128 * 2**20
_UNSUSPICIOUS_BYTES = 8 * 2**20
_MAX_RATIO = 500
_READABLE = frozenset({zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED})
_ENCODING = re.compile(rb"""<\?xml[^>]{0,100}?encoding\s*=\s*["']([A-Za-z0-9._-]{1,40})""")
_DECLARATION = re.compile(r"\s*<\?xml[^>]{0,200}\?>")
_BOMS = ((b"\xef\xbb\xbf", "utf-8-sig"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"))
_RELATION = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}"
_STRICT_RELATION = "{http://purl.oclc.org/ooxml/officeDocument/relationships}"
_HARMLESS = re.compile(
    r"(?i).*\.(?:xml|rels|png|jpe?g|gif|emf|wmf|svg|tiff?|webp|odttf|fntdata|vml)|.*printersettings\d*\.bin|.*/"
)


@dataclass(frozen=True, slots=True)
class Relation:
    """A reference of a part: to another part, or (external) to an address."""

    kind: str
    target: str
    is_external: bool


class Package:
    """The parts of one file. Unpacked bytes are counted."""

    def __init__(self, body: bytes) -> None:
        try:
            self._zip = zipfile.ZipFile(io.BytesIO(body))
        except (zipfile.BadZipFile, ValueError, OSError, NotImplementedError, zlib.error) as error:
            raise Unreadable("the archive is cut off or damaged") from error
        entries = self._zip.infolist()
        if len(entries) > _MAX_ENTRIES:
            raise Unreadable(f"the archive has {len(entries)} entries, {_MAX_ENTRIES} are allowed")
        self._entries = {entry.filename.replace("\\", "/").lstrip("/").lower(): entry for entry in entries}
        self._read_bytes = 0

    def has(self, name: str) -> bool:
        """Whether there is a part of this name."""
        return name.lower() in self._entries

    @cached_property
    def has_embedded_files(self) -> bool:
        """Whether it has a part that is neither markup, nor a picture, nor a font."""
        return any(not _HARMLESS.fullmatch(name) for name in self._entries)

    def markup_parts(self) -> list[str]:
        """The names of all parts that are XML."""
        return [name for name in self._entries if name.endswith((".xml", ".rels", ".vml"))]

    def part(self, name: str) -> bytes:
        """The bytes of a part; empty when there is none."""
        entry = self._entries.get(name.lower())
        if entry is None:
            return b""
        if entry.flag_bits & 1:
            raise Unreadable("the archive is protected by a password", is_unsupported=True)
        if entry.compress_type not in _READABLE:
            raise Unreadable("the archive is compressed in a way that is not read")
        try:
            with self._zip.open(entry) as file:
                data = self._bounded(file, entry)
        except (zipfile.BadZipFile, zlib.error, EOFError, ValueError, OSError, NotImplementedError) as error:
            raise Unreadable("the archive is cut off or damaged") from error
        self._read_bytes += len(data)
        if self._read_bytes > _MAX_BYTES:
            raise Unreadable(f"the archive holds more than {_MAX_BYTES // 2**20} MiB")
        return data

    def _bounded(self, file: IO[bytes], entry: zipfile.ZipInfo) -> bytes:
        start = file.read(_UNSUSPICIOUS_BYTES + 1)
        if len(start) <= _UNSUSPICIOUS_BYTES:
            return start
        # A sheet of figures compresses 20:1; 500:1 is a zip bomb.
        if entry.file_size > _MAX_RATIO * max(1, entry.compress_size):
            raise Unreadable("the archive unpacks to more than 500 times its size")
        data = start + file.read(_MAX_PART_BYTES - len(start) + 1)
        if len(data) > _MAX_PART_BYTES:
            raise Unreadable(f"a part of the archive is larger than {_MAX_PART_BYTES // 2**20} MiB")
        return data

    def tree(self, name: str) -> ET.Element | None:
        """A part as XML; None when the part does not exist, or it is not well-formed."""
        data = self.part(name)
        return parse_xml(data) if data else None

    def document(self, name: str) -> ET.Element:
        """The main part as XML. Raises `Unreadable` without it."""
        root = self.tree(name)
        if root is None:
            raise Unreadable("the text in it is damaged")
        return root

    def relations(self, part: str) -> dict[str, Relation]:
        """The references of a part, by id."""
        folder, _, file = part.rpartition("/")
        tree = self.tree(f"{folder}/_rels/{file}.rels".lstrip("/"))
        relations: dict[str, Relation] = {}
        for element in tree if tree is not None else ():
            target, is_external = element.get("Target", ""), element.get("TargetMode") == "External"
            if not is_external:
                target = posixpath.normpath(posixpath.join("/", folder, target)).lstrip("/")
            relations[element.get("Id", "")] = Relation(element.get("Type", "").rpartition("/")[2], target, is_external)
        return relations

    def main_part(self, usual: str) -> str:
        """The name of the main part: what the package declares, else the usual one."""
        for relation in self.relations("").values():
            if relation.kind == "officeDocument" and self.has(relation.target):
                return relation.target
        return usual


def parse_xml(data: bytes) -> ET.Element | None:
    """XML without a document type as a tree whose names have no namespaces; None when it is not well-formed."""
    text = as_text(data)
    if "<!DOCTYPE" in text or "<!ENTITY" in text:
        raise Unreadable("its XML has a document type, which no office writes")
    try:
        root = ET.fromstring(text)  # noqa: S314 there are no entities without a document type
    except (ET.ParseError, ValueError):
        return None
    for element in root.iter():
        if isinstance(element.tag, str):
            element.tag = element.tag.rpartition("}")[2]
    return root


def as_text(data: bytes) -> str:
    """The text of an XML part, without its declaration."""
    encoding = next((name for mark, name in _BOMS if data.startswith(mark)), "")
    if not encoding:
        declared = _ENCODING.match(data)
        encoding = declared[1].decode() if declared else "utf-8"
    try:
        text = data.decode(encoding, "replace")
    except (LookupError, ValueError):
        text = data.decode("utf-8", "replace")
    return _DECLARATION.sub("", text, count=1)


def attribute(element: ET.Element | None, name: str) -> str:
    """An attribute by its local name, whatever its namespace."""
    if element is None:
        return ""
    value = element.get(name)
    if value is not None:
        return value
    ending = "}" + name
    return next((value for key, value in element.items() if key.endswith(ending)), "")


def relation_id(element: ET.Element, name: str = "id") -> str:
    """The relation that an element names (`r:id`), in either edition of the standard."""
    return element.get(_RELATION + name) or element.get(_STRICT_RELATION + name) or ""


def core_facts(package: Package, *, lang: str = "", pages: int = 0, notes: tuple[str, ...] = ()) -> FileFacts:
    """The metadata of an Office Open XML file."""
    properties: dict[str, str] = {}
    for part in ("docProps/core.xml", "docProps/app.xml"):
        tree = package.tree(part)
        for element in tree if tree is not None else ():
            if isinstance(element.tag, str) and element.text:
                properties.setdefault(element.tag, " ".join(element.text.split())[:1000])
    count = properties.get("Pages") or properties.get("Slides") or ""
    return FileFacts(
        title=sensible_title(properties.get("title", "")),
        author=properties.get("creator", "")[:300],
        description=properties.get("description", "") or properties.get("subject", ""),
        keywords=properties.get("keywords", ""),
        published=iso_date(properties.get("created", "")),
        modified=iso_date(properties.get("modified", "")),
        lang=language_tag(properties.get("language", "")) or language_tag(lang),
        pages=pages or small_int(count),
        notes=notes,
    )
