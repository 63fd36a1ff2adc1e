"""Request bodies of the API and their conversion to `CrawlSettings`.

A body is untrusted: Pydantic validates its form and refuses unknown fields, the address guard checks the URL. No field can name
a file, a command or code, and none can open a private address.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
from pydantic import BaseModel, ConfigDict, Field, create_model
from pydantic.alias_generators import to_camel
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from sitelore.app.config.catalogue import BY_NAME, SETTINGS, SHORT_KEYS
from sitelore.app.config.domain_rules import domain_rules
from sitelore.app.config.sources import run_settings as merged_settings
from sitelore.fetch.guard import AddressGuard
from sitelore.intake.seeds import refuse_credentials
from sitelore.model.errors import BadConfig, BadUrl
from sitelore.model.frontier import IdempotencyKey
from sitelore.model.settings import CrawlSettings, MediaType, Overrides, PersonalPolicy, ReadMode, Scope
from sitelore.model.url import Url
from sitelore.serve.problems import ADDRESS_REFUSED, INVALID, ApiProblem, FieldProblem

_DOCUMENTS = ("pdf", "doc", "docx", "ppt", "pptx", "xls", "xlsx", "odt", "ods", "odp", "rtf", "epub")
_NO_DOCUMENTS = tuple(f"*.{form}" for ending in _DOCUMENTS for form in (ending, ending.upper()))

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


def _checked(name: str) -> Any:
    """The type of a field: the check, the schema and the meaning of a setting."""
    setting = BY_NAME[name]
    kind = setting.api_kind or (SHORT_KEYS[setting.short].kind if setting.short else setting.kind)
    is_optional = setting.default() is None

    def check(value: Any) -> Any:
        if value is None and is_optional:
            return None
        try:
            return kind.check(value)
        except ValueError as problem:
            raise PydanticCustomError("setting", "{reason}", {"reason": str(problem)}) from None

    schema = {"anyOf": [kind.schema(), {"type": "null"}]} if is_optional and name not in _OWN_FIELDS else kind.schema()
    return _Checked(check, {**schema, "description": setting.meaning})


@dataclass(frozen=True, slots=True)
class _Checked:
    """Validates a field by a function, with its own JSON schema."""

    check: Callable[[Any], Any]
    schema: dict[str, Any]

    def __get_pydantic_core_schema__(self, _source: Any, _handler: Any) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(self.check)

    def __get_pydantic_json_schema__(self, _schema: CoreSchema, _handler: Any) -> dict[str, Any]:
        return dict(self.schema)


_OWN_FIELDS = frozenset({"max_pages", "max_depth", "scope", "documents"})
"""Settings whose fields have names or defaults of their own."""


class QuickCrawlRequest(BaseModel):
    """Body of a quick crawl."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    url: Address
    max_pages: Annotated[int, Field(ge=1, le=10_000, description="Maximum number of pages to keep.")] = 10


class _RunSettings(BaseModel):
    """Settings of a run in a request: those whose defaults or names differ from those of the other settings."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, alias_generator=to_camel)

    max_pages: Annotated[int, _checked("max_pages")] = 5000
    max_depth: Annotated[int, _checked("max_depth")] = 25
    scope_mode: Annotated[Scope, _checked("scope")] = Scope.HOST
    include_documents: Annotated[bool, Field(description="Whether to follow links to PDF and office files, and read them.")] = (
        False
    )
    include_media: Annotated[
        bool,
        Field(description="Whether images and videos of pages are downloaded; with `includeDocuments` also documents."),
    ] = False
    demo_delay_ms: Annotated[
        int, Field(ge=0, le=60_000, description="Milliseconds between requests to a host; 0 adapts to the host.")
    ] = 0
    request_timeout_ms: Annotated[
        int | None,
        Field(ge=100, le=120_000, description="Milliseconds to connect, to the headers, and to the end of the body, each."),
    ] = None


def _fields(group: str) -> dict[str, Any]:
    """The fields of all settings of the API in a group; empty: those in none."""
    fields: dict[str, Any] = {}
    for setting in SETTINGS:
        if not setting.not_in_api and setting.name not in _OWN_FIELDS and setting.field.rpartition(".")[0] == group:
            name = (setting.short if "." not in setting.field else "") or setting.name.rpartition(".")[2]
            fields[name] = (Annotated[Any, _checked(setting.name)], setting.default())
    return fields


def _group(name: str) -> Any:
    """The model of a group of settings."""
    model = create_model(f"{name.title()}Settings", __config__=_RunSettings.model_config, **_fields(name))
    model.__doc__ = f"Settings of the group `{name}`; those that are left out have their defaults."
    return (model | None, None)


if TYPE_CHECKING:
    RunSettings = _RunSettings
else:
    _groups = sorted({setting.field.rpartition(".")[0] for setting in SETTINGS if not setting.not_in_api} - {""})
    RunSettings = create_model("RunSettings", __base__=_RunSettings, **_fields(""), **{name: _group(name) for name in _groups})
    RunSettings.__doc__ = "Settings of a run in a request; those that are left out have their defaults."


def unknown_setting(path: Sequence[object]) -> str:
    """The message for an unknown field of the settings, with the most similar one."""
    name = ".".join(map(str, path))
    fields = {setting.field for setting in SETTINGS if not setting.not_in_api} | {
        to_camel(n) for n in _RunSettings.model_fields
    }
    last = {field.rpartition(".")[2]: field for field in fields}
    near = get_close_matches(name, sorted(fields), 1) or [
        last[key] for key in get_close_matches(str(path[-1]), sorted(last), 1)
    ]
    return f"unknown setting {name[:100]!r}{f' (did you mean {near[0]!r}?)' if near else ''}"


class RunRequest(BaseModel):
    """Body of a new run. Without `seedUrl`, only the URLs of `settings.sitemaps` are crawled."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, alias_generator=to_camel)

    seed_url: Address | None = None
    settings: RunSettings = RunSettings()


class ScrapeRequest(BaseModel):
    """Body of a request for one page."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, alias_generator=to_camel)

    url: Address
    ttl: Annotated[float, _checked("ttl_s")] = 3600.0
    read: Annotated[ReadMode, _checked("read")] = ReadMode.FULL
    accept_language: Annotated[str, _checked("accept_language")] = ""
    personal: Annotated[PersonalPolicy, _checked("personal")] = PersonalPolicy.CHUNKS
    main_content_selectors: Annotated[
        list[str], Field(max_length=50, description="CSS selectors; the first that contains text is the content.")
    ] = []
    remove_selectors: Annotated[list[str], Field(max_length=50, description="CSS selectors of elements to leave out.")] = []


def scrape_settings(body: ScrapeRequest, allow_private: tuple[str, ...]) -> CrawlSettings:
    """Crawl settings for one page."""
    url = open_url(body.url, "body.url", allow_private)
    rules = {
        "domain": Url.trusted(url).host,
        "mainContentSelectors": body.main_content_selectors,
        "removeSelectors": body.remove_selectors,
    }
    has_rules = bool(body.main_content_selectors or body.remove_selectors)
    values = {
        "seeds": (url,),
        "max_pages": 1,
        "read": body.read,
        "accept_language": body.accept_language,
        "personal": body.personal,
        "overrides": _rules(rules) if has_rules else (),
        "allow_private": allow_private,
    }
    return merged_settings(values, opens_origins=False)


def _rules(rules: dict[str, Any]) -> tuple[Overrides, ...]:
    try:
        return (domain_rules(rules),)
    except BadConfig as problem:
        raise ApiProblem(INVALID, errors=(FieldProblem("body", str(problem)),)) from None


def quick_settings(body: QuickCrawlRequest, allow_private: tuple[str, ...]) -> CrawlSettings:
    """Crawl settings of a quick crawl."""
    seed = open_url(body.url, "body.url", allow_private)
    return CrawlSettings(
        seeds=(seed,), max_pages=body.max_pages, allow_private=allow_private, exclude=_NO_DOCUMENTS, documents=False
    )


def run_settings(body: RunRequest, allow_private: tuple[str, ...]) -> CrawlSettings:
    """Crawl settings of a new run."""
    options = body.settings
    values = {
        "max_pages": options.max_pages,
        "max_depth": options.max_depth,
        "scope": options.scope_mode,
        "documents": options.include_documents,
        "media.types": _media_types(options),
        "allow_private": allow_private,
        **_older_values(options),
        **_set_values(options),
    }
    if not options.include_documents:
        values["exclude"] = tuple(dict.fromkeys((*values.get("exclude", ()), *_NO_DOCUMENTS)))
    first = () if body.seed_url is None else (open_url(body.seed_url, "body.seedUrl", allow_private),)
    for name in ("seeds", "sitemaps"):
        values[name] = tuple(open_url(url, f"body.settings.{name}", allow_private) for url in values.get(name, ()))
    values["seeds"] = tuple(dict.fromkeys((*first, *values["seeds"])))
    if not values["seeds"] and not values["sitemaps"]:
        raise ApiProblem(INVALID, errors=(FieldProblem("body.seedUrl", "a run needs a seedUrl or a sitemap"),))
    return merged_settings(values, opens_origins=False)


def _set_values(options: BaseModel, group: str = "") -> dict[str, Any]:
    """The settings that the request has, by name."""
    values: dict[str, Any] = {}
    for name in options.model_fields_set - _RunSettings.model_fields.keys():
        value = getattr(options, name)
        if isinstance(value, BaseModel):
            values |= _set_values(value, f"{name}.")
        elif name in SHORT_KEYS and not group:
            values |= SHORT_KEYS[name].settings_of(value)
        elif f"{group}{name}" in BY_NAME:
            values[f"{group}{name}"] = value
    return values


def _older_values(options: RunSettings) -> dict[str, Any]:
    """Settings that have fields of their own from before all settings could be named."""
    values: dict[str, Any] = {}
    if options.demo_delay_ms:
        values["pace.delay_s"] = options.demo_delay_ms / 1000
    if options.request_timeout_ms is not None:
        names = ("limits.connect_s", "limits.headers_s", "limits.body_s")
        values |= dict.fromkeys(names, options.request_timeout_ms / 1000)
    return values


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
    try:
        refuse_credentials(text)
    except BadUrl as problem:
        raise ApiProblem(INVALID, errors=(FieldProblem(field, str(problem).rstrip(".")),)) from None
    return str(url)
