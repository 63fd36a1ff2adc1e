"""From a request's body to the settings of a run. A body is untrusted data: whatever is not named here is refused.

Pydantic judges the shape, the address guard the address; what passes becomes `CrawlSettings`, which is all that the rest of
the house ever sees. No field names a file, a command or code, and none opens a private address.
"""

from __future__ import annotations

import hashlib
from typing import Annotated, Literal

import msgspec
from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from sitelore.fetch.guard import AddressGuard
from sitelore.model.listing import Once
from sitelore.model.settings import CrawlSettings, FetchLimits, Pace, PersonalPolicy, ReadMode, Rendering, RenderMode, Scope
from sitelore.model.url import Url
from sitelore.serve.problems import ADDRESS_REFUSED, INVALID, FieldProblem, Refused

_DOCUMENTS = ("pdf", "doc", "docx", "ppt", "pptx", "xls", "xlsx", "odt", "ods", "odp", "rtf", "epub")
_NO_DOCUMENTS = tuple(f"*.{form}" for ending in _DOCUMENTS for form in (ending, ending.upper()))
_SCOPES = {"same_host": Scope.HOST, **{scope.value: scope for scope in Scope}}

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


class QuickCrawl(BaseModel):
    """A crawl in one line."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    url: Address
    max_pages: Annotated[int, Field(ge=1, le=10_000, description="Pages to keep at most.")] = 10


class RunSettings(BaseModel):
    """What decides what a run fetches and keeps."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, alias_generator=to_camel)

    max_pages: Annotated[int, Field(ge=1, le=1_000_000, description="Pages to keep at most.")] = 5000
    max_depth: Annotated[int, Field(ge=0, le=1000, description="Links to follow from the seed at most.")] = 25
    scope_mode: Annotated[
        Literal["host", "origin", "domain", "prefix", "same_host"],
        Field(description="How far to go from the seed. `same_host` is another word for `host`."),
    ] = "host"
    include_documents: Annotated[bool, Field(description="Whether to follow links to PDF and office files, and read them.")] = (
        False
    )
    follow_redirects: Annotated[bool, Field(description="False: a redirecting URL ends as REDIRECT_301 and kin.")] = True
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
    screenshots: Annotated[bool, Field(description="Whether a picture of every page that a browser reads is kept.")] = False
    personal: Annotated[
        Literal["off", "chunks", "everywhere"],
        Field(description="Where data of persons is masked: nowhere, in what is searched, or before anything is kept."),
    ] = "chunks"
    max_retries: Annotated[int, Field(ge=0, le=10, description="Tries after the first one, for what may pass.")] = 2


class NewRun(BaseModel):
    """A run to be made."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, alias_generator=to_camel)

    seed_url: Address
    settings: RunSettings = RunSettings()


def quick_settings(asked: QuickCrawl, allow_private: tuple[str, ...]) -> CrawlSettings:
    """The settings of a quick crawl."""
    seed = _open_url(asked.url, "body.url", allow_private)
    return CrawlSettings(
        seeds=(seed,), max_pages=asked.max_pages, allow_private=allow_private, exclude=_NO_DOCUMENTS, documents=False
    )


def run_settings(asked: NewRun, allow_private: tuple[str, ...]) -> CrawlSettings:
    """The settings of a run."""
    wish = asked.settings
    limits = FetchLimits()
    if wish.request_timeout_ms is not None:
        timeout_s = wish.request_timeout_ms / 1000
        limits = FetchLimits(connect_s=timeout_s, headers_s=timeout_s, body_s=timeout_s)
    return CrawlSettings(
        seeds=(_open_url(asked.seed_url, "body.seedUrl", allow_private),),
        scope=_SCOPES[wish.scope_mode],
        exclude=() if wish.include_documents else _NO_DOCUMENTS,
        documents=wish.include_documents,
        max_pages=wish.max_pages,
        max_depth=wish.max_depth,
        max_retries=wish.max_retries,
        follow_redirects=wish.follow_redirects,
        limits=limits,
        read=ReadMode(wish.read),
        rendering=Rendering(mode=RenderMode(wish.render), screenshots=wish.screenshots),
        personal=PersonalPolicy(wish.personal),
        pace=Pace(delay_s=wish.demo_delay_ms / 1000 if wish.demo_delay_ms else None),
        allow_private=allow_private,
    )


def follows_documents(settings: CrawlSettings) -> bool:
    """Whether links to PDF and office files are followed, and the files read."""
    return settings.documents and not set(_NO_DOCUMENTS).issubset(settings.exclude)


def once_of(key: str | None, caller: str, settings: CrawlSettings) -> Once | None:
    """The idempotency key of a request, apart for each caller; None when it has none."""
    if key is None:
        return None
    asked = msgspec.json.encode(settings)
    return Once(hashlib.sha256(f"{caller}\n{key}".encode()).hexdigest(), hashlib.sha256(asked).hexdigest())


def _open_url(text: str, field: str, allow_private: tuple[str, ...]) -> str:
    url = Url.parse(text) if text.isprintable() and not text[:1].isspace() else None
    if url is None:
        raise Refused(INVALID, errors=(FieldProblem(field, "not an absolute http(s) URL"),))
    why = AddressGuard((), allow_private).judge_url(url)
    if why is not None:
        raise Refused(ADDRESS_REFUSED, why, (FieldProblem(field, why),))
    return str(url)
