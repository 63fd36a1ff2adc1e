"""What a document says of itself: title, author, dates, language, pages. And how its HTML is put together."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from sitelore.extract.about.dates import iso_date
from sitelore.extract.files.office_package import Package

_PROGRAM_TITLE = re.compile(
    r"(?i)microsoft (?:word|powerpoint|excel) - |\.(?:docx?|pptx?|xlsx?|pdf|dvi|tex|indd|qxd)$|^(?:untitled|title|slide 1)$"
)
_PDF_DATE = re.compile(r"(?:D:)?(\d{4})(\d\d)?(\d\d)?(?:(\d\d)(\d\d)(\d\d)?)?(?:(Z)|([+-])(\d\d)'?(\d\d)?)?")
_FILETIME_EPOCH = datetime(1601, 1, 1, tzinfo=UTC)
_LANGUAGE = re.compile(r"[A-Za-z]{2,3}(?:-[A-Za-z0-9]{1,8}){0,3}")


@dataclass(frozen=True, slots=True)
class Facts:
    """Metadata of a document, as far as it has any."""

    title: str = ""
    author: str = ""
    description: str = ""
    keywords: str = ""
    published: str = ""
    modified: str = ""
    lang: str = ""
    pages: int = 0
    notes: tuple[str, ...] = ()
    """Sentences on what was left out."""


@dataclass(frozen=True, slots=True)
class Told:
    """A document as HTML that holds nothing but its content, and its facts."""

    html: str
    facts: Facts = Facts()
    links: tuple[str, ...] = ()
    """Addresses that it links to and that do not stand in the HTML."""
    elsewhere: str = field(default="", repr=False)
    """Text that is not part of the content and not kept, but must hold no secret if the file itself is to be kept."""
    holds_files: bool = False
    """Whether other files are packed into it, into which nobody has looked."""


def sensible_title(text: str) -> str:
    """A title, unless a program made it up."""
    plain = " ".join(text.split())
    return "" if _PROGRAM_TITLE.search(plain) else plain[:500]


def language(text: str) -> str:
    """A language tag, or nothing."""
    plain = text.strip()
    return plain if _LANGUAGE.fullmatch(plain) and plain.lower() not in {"und", "x-none"} else ""


def pdf_date(text: str) -> str:
    """`D:20240506070809+02'00'` as ISO 8601, as precise as it is; empty for anything else."""
    found = _PDF_DATE.match(text.strip())
    if found is None:
        return ""
    year, month, day, hour, minute, second, zulu, sign, off_hour, off_minute = found.groups()
    written = "-".join(filter(None, (year, month, day)))
    if hour and minute:
        written += f"T{hour}:{minute}:{second or '00'}"
        written += "Z" if zulu else f"{sign}{off_hour}:{off_minute or '00'}" if sign else ""
    return iso_date(written)


def file_time(ticks: int) -> str:
    """A count of 100 ns since 1601 as ISO 8601."""
    try:
        return (_FILETIME_EPOCH + timedelta(microseconds=ticks // 10)).strftime("%Y-%m-%dT%H:%M:%SZ")
    except (OverflowError, ValueError):
        return ""


def core_facts(package: Package, *, lang: str = "", pages: int = 0, notes: tuple[str, ...] = ()) -> Facts:
    """The properties of an Office Open XML file."""
    said: dict[str, str] = {}
    for part in ("docProps/core.xml", "docProps/app.xml"):
        tree = package.tree(part)
        for one in tree if tree is not None else ():
            if isinstance(one.tag, str) and one.text:
                said.setdefault(one.tag, " ".join(one.text.split())[:1000])
    counted = said.get("Pages") or said.get("Slides") or ""
    return Facts(
        title=sensible_title(said.get("title", "")),
        author=said.get("creator", "")[:300],
        description=said.get("description", "") or said.get("subject", ""),
        keywords=said.get("keywords", ""),
        published=iso_date(said.get("created", "")),
        modified=iso_date(said.get("modified", "")),
        lang=language(said.get("language", "")) or language(lang),
        pages=pages or (int(counted) if counted.isdecimal() and len(counted) < 7 else 0),
        notes=notes,
    )
