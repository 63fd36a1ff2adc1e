"""Records for audit rules: sitemaps and media files of a run, and instructions to language models in its pages."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field, replace

from sitelore.audit.page import AuditPage
from sitelore.audit.rules.security import PERSONAL_KINDS
from sitelore.export.rows import is_page
from sitelore.extract.redaction.personal_data import personal_spans
from sitelore.extract.redaction.redactor import redact
from sitelore.index.prompt_injection import find_flags
from sitelore.model.audit.findings import Instruction, MediaFile, SitemapFile
from sitelore.model.frontier import RowKind, Source, UrlRow
from sitelore.model.platform.media import SiteMedia
from sitelore.model.response import OFFICE_TYPES, PDF_TYPES
from sitelore.model.search import FLAGGED, ChunkTable
from sitelore.model.settings import Redaction
from sitelore.model.states import KEPT, TERMINAL, UNCHANGED, SkipReason, UrlState

MAX_INSTRUCTIONS = 1_000
_SITEMAP_KINDS = frozenset({"urlset", "index", "text", "rss", "atom", "news"})
_DOCUMENTS = PDF_TYPES | OFFICE_TYPES
_REFUSED = frozenset({401, 403, 405, 407, 429, 451, 999})
"""Statuses with which servers turn away programs while people can see the file."""
_NOT_WANTED = ": this run downloads no "
"""In the detail of a file of a type that the settings exclude."""
_CODE = re.compile(r"^ *(?P<fence>`{3,}|~{3,}).*?^ *(?P=fence)|`[^`\n]+`|^ {4,}.*$", re.MULTILINE | re.DOTALL)
_DIGITS = re.compile(r"\d(?:[ -]?\d){7}")
"""Every number of a card or an account has this many digits in a row."""
_QUOTATION_MARKS = frozenset("\"'\u201c\u201d\u201e\u00ab\u00bb\u2018\u2019")


@dataclass(slots=True)
class SiteFiles:
    """The sitemaps and media in the rows of a run, and the origins of its URLs."""

    origins: set[str] = field(default_factory=set)
    sitemaps: list[UrlRow] = field(default_factory=list)
    entries: dict[str, dict[str, float | None]] = field(default_factory=dict)
    """The URLs that were found in each sitemap."""
    maybe_listed: dict[str, float | None] = field(default_factory=dict)
    """Pages that were known before a sitemap was read, so that their rows do not say whether one lists them."""
    media: dict[str, MediaFile] = field(default_factory=dict)
    redirects: dict[str, str] = field(default_factory=dict)
    """The final targets of media URLs that redirect."""

    def add(self, row: UrlRow) -> None:
        """Add one row."""
        if row.kind is RowKind.SITEMAP:
            self.sitemaps.append(row)
            return
        if row.kind is RowKind.MEDIA:
            self._add_media(row)
            return
        if row.skip_reason is not SkipReason.SCOPE:
            self.origins.add(row.url.origin)
        if row.source is Source.SITEMAP and row.parent is not None:
            self.entries.setdefault(str(row.parent), {})[str(row.url)] = row.lastmod
        elif row.source in {Source.SEED, Source.REDIRECT} and is_page(row):
            self.maybe_listed[str(row.url)] = row.lastmod
        if _media_type(row) in _DOCUMENTS:
            self._add_media(row)

    def _add_media(self, row: UrlRow) -> None:
        if row.final_url is not None and row.final_url != row.url:
            self.redirects[str(row.url)] = str(row.final_url)
        elif (file := media_file(row)) is not None:
            self.media[file.url] = file

    def sitemap_files(self) -> tuple[SitemapFile, ...] | None:
        """The sitemaps; None when the run looked for none."""
        files = [_sitemap_file(row, self.entries.get(str(row.url), {})) for row in self.sitemaps if _is_sitemap(row)]
        for number, each in enumerate(files):
            if each.entries:
                files[number] = replace(each, entries={**self.maybe_listed, **each.entries})
                break
        return tuple(files) if self.sitemaps else None

    async def media_files(self, stored: AsyncIterator[list[SiteMedia]]) -> tuple[dict[str, MediaFile], list[MediaFile]]:
        """The media of the run by URL, with what is stored of their files, and stored files that the run did not meet."""
        unused = []
        async for part in stored:
            for each in part:
                known = self.media.get(each.url)
                file = _with_content(known or MediaFile(each.url), each)
                if known is not None:
                    self.media[each.url] = file
                elif each.url not in self.redirects and each.stored_bytes:
                    unused.append(file)
        for url, target in self.redirects.items():
            if (final := self.media.get(target)) is not None:
                self.media[url] = replace(final, url=url)
        return self.media, unused


def media_file(row: UrlRow) -> MediaFile | None:
    """The media file or document of a row; None when the row holds nothing about it."""
    file = MediaFile(str(row.url), row.status_code or 0, _media_type(row), size=row.body_bytes)
    if row.state in KEPT or row.skip_reason in UNCHANGED:
        is_empty = file.content_type in _DOCUMENTS and row.kind is RowKind.PAGE and not row.word_count
        return replace(file, status=200, is_readable=not is_empty, problem="no text" if is_empty else "")
    if row.state is UrlState.SKIPPED:
        is_unreadable = row.skip_reason is SkipReason.CONTENT_TYPE and _NOT_WANTED not in row.detail and row.status_code == 200
        return replace(file, is_readable=False, problem=row.detail) if is_unreadable else None
    if row.error.startswith("parse_error"):
        return replace(file, status=200, is_readable=False, problem=row.error.partition(": ")[2])
    return None if file.status in _REFUSED or row.state not in TERMINAL else file


def _with_content(file: MediaFile, stored: SiteMedia) -> MediaFile:
    if file.status not in {0, 200}:
        return file
    is_smaller = 0 < stored.stored_bytes < stored.original_bytes
    return replace(
        file, status=200, detected_type=stored.mime_type, size=stored.original_bytes, width=stored.width or 0,
        height=stored.height or 0, smaller_size=stored.stored_bytes if is_smaller else 0,
    )  # fmt: skip


def _media_type(row: UrlRow) -> str:
    headers = row.response_head.headers if row.response_head is not None else ()
    declared = row.content_type or next((value for name, value in headers if name == "content-type"), "")
    return declared.partition(";")[0].strip().lower()


def _is_sitemap(row: UrlRow) -> bool:
    """Whether a row is a sitemap or should be one: not a collection of an API, and not skipped."""
    return row.state is not UrlState.SKIPPED and (row.state is not UrlState.VISITED or _sitemap_kind(row) in _SITEMAP_KINDS)


def _sitemap_kind(row: UrlRow) -> str:
    return row.detail.partition(":")[0] if row.state is UrlState.VISITED else ""


def _sitemap_file(row: UrlRow, entries: dict[str, float | None]) -> SitemapFile:
    return SitemapFile(str(row.url), row.status_code or 0, _sitemap_kind(row), row.error, row.body_bytes, entries)


# Text: personal data, and instructions to language models


def personal_data_of(page: AuditPage, options: Redaction) -> dict[str, int]:
    """The numbers of cards, accounts and identity documents in the text of a page whose run did not remove them."""
    is_possible = options.personal_ids or _DIGITS.search(page.content.text) is not None
    if options.personal or not page.is_kept or not is_possible:
        return {}
    spans = personal_spans(page.content.text.encode("utf-8", "replace"), options.personal_ids)
    return dict(Counter(name for _, _, name in spans if name in PERSONAL_KINDS))


def urls_without_instructions(table: ChunkTable) -> set[str]:
    """The pages whose chunks in the search index are current and without a flag, so that their text needs no other scan."""
    numbers = memoryview(table.page_numbers).cast("I")
    flagged = {number for number, mark in zip(numbers, table.marks, strict=True) if mark & FLAGGED}
    return {page.url for page in table.pages if page.number not in flagged}


def instructions_of(page: AuditPage, *, is_scanned: bool) -> Iterator[Instruction]:
    """Yield instructions to language models, in the visible and in the hidden text of a page.

    `is_scanned`: the search index says that there is none in the text.
    """
    url, markdown = str(page.url), page.content.markdown
    for flag in () if is_scanned else find_flags(markdown):
        yield Instruction(url, flag.rule, str(flag.evidence), _place(markdown, str(flag.evidence)))
    if page.facts.hidden_text:
        for flag in find_flags(redact(page.facts.hidden_text)[0]):
            yield Instruction(url, flag.rule, str(flag.evidence), "hidden")


def _place(markdown: str, evidence: str) -> str:
    """The place of a text: code, a quotation, or the running text."""
    at = markdown.find(evidence)
    if any(match.start() <= at < match.end() for match in _CODE.finditer(markdown)):
        return "code"
    line = markdown[markdown.rfind("\n", 0, at) + 1 : at].strip()
    return "quote" if line.startswith(">") or line[-1:] in _QUOTATION_MARKS else "text"
