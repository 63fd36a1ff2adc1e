"""Request bodies of the API and their conversion to `CrawlSettings`.

A body is untrusted: Pydantic validates its form and refuses unknown fields, the address guard checks the URL. No field can name
a file, a command or code, and none can open a private address.
"""

from __future__ import annotations

import hashlib
from typing import Annotated, Literal

import msgspec
from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from sitelore.fetch.guard import AddressGuard
from sitelore.model.frontier import IdempotencyKey
from sitelore.model.settings import (
    CrawlSettings,
    FetchLimits,
    MediaPolicy,
    MediaType,
    Pace,
    PersonalPolicy,
    ReadMode,
    Rendering,
    RenderMode,
    Scope,
)
from sitelore.model.url import Url
from sitelore.serve.problems import ADDRESS_REFUSED, INVALID, ApiProblem, FieldProblem

_DOCUMENTS = ("pdf", "doc", "docx", "ppt", "pptx", "xls", "xlsx", "odt", "ods", "odp", "rtf", "epub")
_NO_DOCUMENTS = tuple(f"*.{form}" for ending in _DOCUMENTS for form in (ending, ending.upper()))
_SCOPES = {"same_host": Scope.HOST, **{scope.value: scope for scope in Scope}}

PRINTABLE = r"^[^\x00-\x1f\x7f]*$"
"""Text without control characters, some of which Postgres refuses."""

Address = Annotated[
    str,
    Field(
        min_length=1,
        max_length=8192,
        description="An absolute http(s) URL.",
        examples=["https://example.com/"],
        json_schema_extra={"format": "uri"},
    ),
]


class QuickCrawlRequest(BaseModel):
    """Body of a quick crawl."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    url: Address
    max_pages: Annotated[int, Field(ge=1, le=10_000, description="Maximum number of pages to keep.")] = 10


class RunSettings(BaseModel):
    """Settings of a run in a request."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, alias_generator=to_camel)

    max_pages: Annotated[int, Field(ge=1, le=1_000_000, description="Maximum number of pages to keep.")] = 5000
    max_depth: Annotated[int, Field(ge=0, le=1000, description="Maximum link depth from the seed.")] = 25
    scope_mode: Annotated[
        Literal["host", "origin", "domain", "prefix", "same_host"],
        Field(description="How far to go from the seed. `same_host` is an alias of `host`."),
    ] = "host"
    include_documents: Annotated[bool, Field(description="Whether to follow links to PDF and office files, and read them.")] = (
        False
    )
    include_media: Annotated[
        bool,
        Field(description="Whether images and videos of pages are downloaded; with `includeDocuments` also documents."),
    ] = False
    follow_redirects: Annotated[
        bool, Field(description="False: a redirecting URL ends in the state of its redirect, such as REDIRECT_301.")
    ] = True
    demo_delay_ms: Annotated[
        int, Field(ge=0, le=60_000, description="Milliseconds between requests to a host; 0 adapts to the host.")
    ] = 0
    request_timeout_ms: Annotated[
        int | None,
        Field(ge=100, le=120_000, description="Milliseconds to connect, to the headers, and to the end of the body, each."),
    ] = None
    read: Annotated[
        Literal["full", "content"],
        Field(description="What is extracted from a page: everything, or content, links and metadata alone."),
    ] = "full"
    render: Annotated[
        Literal["auto", "never", "always"],
        Field(description="When a browser runs a page's scripts: where the page as sent is an empty shell, never, or always."),
    ] = "auto"
    screenshots: Annotated[bool, Field(description="Whether screenshots of rendered pages are kept.")] = False
    personal: Annotated[
        Literal["off", "chunks", "everywhere"],
        Field(description="Where personal data is masked: nowhere, in the search index, or before anything is stored."),
    ] = "chunks"
    accept_language: Annotated[
        str, Field(max_length=200, pattern=r"^[ -~]*$", description="The Accept-Language header, sent to every host.")
    ] = ""
    audit: Annotated[bool, Field(description="Whether the site is audited when it is crawled, and its findings stored.")] = (
        False
    )
    max_retries: Annotated[int, Field(ge=0, le=10, description="Retries of a request that failed temporarily.")] = 2


class RunRequest(BaseModel):
    """Body of a new run."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, alias_generator=to_camel)

    seed_url: Address
    settings: RunSettings = RunSettings()


def quick_settings(body: QuickCrawlRequest, allow_private: tuple[str, ...]) -> CrawlSettings:
    """Crawl settings of a quick crawl."""
    seed = open_url(body.url, "body.url", allow_private)
    return CrawlSettings(
        seeds=(seed,), max_pages=body.max_pages, allow_private=allow_private, exclude=_NO_DOCUMENTS, documents=False
    )


def run_settings(body: RunRequest, allow_private: tuple[str, ...]) -> CrawlSettings:
    """Crawl settings of a new run."""
    options = body.settings
    limits = FetchLimits()
    if options.request_timeout_ms is not None:
        timeout_s = options.request_timeout_ms / 1000
        limits = FetchLimits(connect_s=timeout_s, headers_s=timeout_s, body_s=timeout_s)
    return CrawlSettings(
        seeds=(open_url(body.seed_url, "body.seedUrl", allow_private),),
        scope=_SCOPES[options.scope_mode],
        exclude=() if options.include_documents else _NO_DOCUMENTS,
        documents=options.include_documents,
        max_pages=options.max_pages,
        max_depth=options.max_depth,
        max_retries=options.max_retries,
        accept_language=options.accept_language.strip(),
        media=MediaPolicy(types=_media_types(options)),
        audit=options.audit,
        follow_redirects=options.follow_redirects,
        limits=limits,
        read=ReadMode(options.read),
        rendering=Rendering(mode=RenderMode(options.render), screenshots=options.screenshots),
        personal=PersonalPolicy(options.personal),
        pace=Pace(delay_s=options.demo_delay_ms / 1000 if options.demo_delay_ms else None),
        allow_private=allow_private,
    )


def _media_types(options: RunSettings) -> tuple[MediaType, ...]:
    """The media to download. Documents only where the run reads them."""
    if not options.include_media:
        return ()
    return tuple(kind for kind in MediaType if options.include_documents or kind is not MediaType.DOCUMENT)


def follows_documents(settings: CrawlSettings) -> bool:
    """Whether links to PDF and office files are followed, and the files read."""
    return settings.documents and not set(_NO_DOCUMENTS).issubset(settings.exclude)


def idempotency_key_of(key: str | None, caller: str, settings: CrawlSettings) -> IdempotencyKey | None:
    """The idempotency key of a request, scoped to its caller; None without the header."""
    if key is None:
        return None
    encoded = msgspec.json.encode(settings)
    return IdempotencyKey(hashlib.sha256(f"{caller}\n{key}".encode()).hexdigest(), hashlib.sha256(encoded).hexdigest())


def open_url(text: str, field: str, allow_private: tuple[str, ...]) -> str:
    """The URL of a request, whose address may be crawled; raises a problem otherwise."""
    url = Url.parse(text) if text.isprintable() and not text[:1].isspace() else None
    if url is None:
        raise ApiProblem(INVALID, errors=(FieldProblem(field, "not an absolute http(s) URL"),))
    why = AddressGuard((), allow_private).judge_url(url)
    if why is not None:
        raise ApiProblem(ADDRESS_REFUSED, why, (FieldProblem(field, why),))
    return str(url)
