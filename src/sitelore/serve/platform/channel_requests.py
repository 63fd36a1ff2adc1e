"""Request bodies of the routes of channels, crawl settings and brands, and their conversion."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from sitelore.extract.page_objects.brand_styles import parse_colour
from sitelore.model.platform.channels import (
    MAX_PAGES,
    MIN_PAGES,
    Channel,
    ChannelSettings,
    Frequency,
    Plan,
    Screenshots,
    TenantCrawlSettings,
)
from sitelore.model.settings import MediaType, PersonalPolicy, RenderMode
from sitelore.model.url import Url
from sitelore.serve.problems import INVALID, ApiProblem, FieldProblem
from sitelore.serve.run_requests import Address

_BODY = ConfigDict(extra="forbid", strict=True, frozen=True, alias_generator=to_camel)
_MAX_URLS = 100  # more would not fit into the body limit

Title = Annotated[str, Field(min_length=1, max_length=200, pattern=r"\S", description="The name of the channel.")]
MaxDepth = Annotated[int, Field(ge=0, le=100, description="Maximum link depth from the start URL.")]
MaxPages = Annotated[
    int | None, Field(ge=1, le=MAX_PAGES, description="A lower page limit than the tenant's; null: the tenant's.")
]
MediaTypes = Annotated[
    list[Literal["IMAGE", "VIDEO", "DOCUMENT"]], Field(max_length=3, description="Which media are downloaded.")
]
Patterns = Annotated[
    list[Annotated[str, Field(min_length=1, max_length=500, pattern=r"^[!-~]+$")]],
    Field(
        max_length=50,
        description="Patterns of URLs: path and query, or a whole URL; `*` matches anything.",
        examples=[["/blog/*"]],
    ),
]
Render = Annotated[Literal["auto", "never", "always"], Field(description="When pages are rendered in a browser.")]
Personal = Annotated[
    Literal["off", "chunks", "everywhere"], Field(description="Where personal data is masked: nowhere, in search, everywhere.")
]
Cron = Annotated[
    str | None,
    Field(max_length=100, description="Its own schedule, five fields; null: the tenant's frequency.", examples=["30 3 * * 1"]),
]
ScreenshotMode = Annotated[
    Literal["NONE", "RENDERED", "ALL"],
    Field(description="Which pages get a screenshot: none, those that need a browser, or all, which are then rendered."),
]
TimeZone = Annotated[str, Field(max_length=100, description="An IANA time zone.", examples=["Europe/Prague"])]


class NewChannelRequest(BaseModel):
    """Body of a new channel."""

    model_config = _BODY

    type: Annotated[Literal["Website"], Field(description="The type of the channel.")] = "Website"
    title: Title | None = None
    url: Address
    max_depth: MaxDepth = 3
    max_pages: MaxPages = None
    include_media: Annotated[bool, Field(description="Whether images, videos and documents are downloaded.")] = True
    media_types: MediaTypes = ["IMAGE", "VIDEO", "DOCUMENT"]
    screenshots: ScreenshotMode = "RENDERED"
    cron: Cron = None
    time_zone: TimeZone | None = None
    include: Patterns = []
    exclude: Patterns = []
    render: Render = "auto"
    personal: Personal = "chunks"


class ChannelChanges(BaseModel):
    """Changes of a channel. Fields that are left out stay as they are."""

    model_config = _BODY

    title: Title | None = None
    url: Address | None = None
    max_depth: MaxDepth | None = None
    max_pages: MaxPages = None
    include_media: bool | None = None
    media_types: MediaTypes | None = None
    screenshots: ScreenshotMode | None = None
    cron: Cron = None
    time_zone: TimeZone | None = None
    include: Patterns | None = None
    exclude: Patterns | None = None
    render: Render | None = None
    personal: Personal | None = None


class ChannelChangedUrls(BaseModel):
    """URLs of the channel that have changed. Empty: detect changes."""

    model_config = _BODY

    urls: Annotated[list[str], Field(max_length=_MAX_URLS, description="URLs of the website that have changed.")] = Field(
        default_factory=list
    )


class CrawlSettingsChanges(BaseModel):
    """Changes of a tenant's crawl settings. Fields that are left out stay as they are."""

    model_config = _BODY

    website_crawl_max_pages: Annotated[
        int, Field(ge=MIN_PAGES, le=MAX_PAGES, description="Pages of one crawl at most; not above the plan's limit.")
    ] = MIN_PAGES
    website_crawl_frequency: Annotated[
        Literal["MANUAL", "WEEKLY", "MONTHLY"],
        Field(description="How often channels without a schedule of their own are crawled."),
    ] = "MONTHLY"
    website_max_video_size_mb: Annotated[
        int, Field(ge=1, le=10_000, description="Larger local videos are not downloaded (megabytes).")
    ] = 50
    time_zone: TimeZone = "UTC"
    plan: Annotated[Literal["FREE", "STARTER", "PRO", "ENTERPRISE"], Field(description="What the tenant has booked.")] = "FREE"


class BrandChanges(BaseModel):
    """Values that a person enters. Null removes an entry, so that what a crawl has detected shows again."""

    model_config = _BODY

    primary_color: Annotated[str | None, Field(max_length=100, examples=["#3355ff"])] = None
    secondary_color: Annotated[str | None, Field(max_length=100)] = None
    font_primary: Annotated[str | None, Field(min_length=1, max_length=100)] = None
    font_secondary: Annotated[str | None, Field(min_length=1, max_length=100)] = None
    logo: Annotated[str | None, Field(max_length=2000, description="The URL of the logo.")] = None
    favicon: Annotated[str | None, Field(max_length=2000, description="The URL of the icon.")] = None


_SETTINGS = frozenset(ChannelSettings.__dataclass_fields__)
_ENUMS = {"render": RenderMode, "screenshots": Screenshots, "personal": PersonalPolicy}


def new_settings(body: NewChannelRequest) -> ChannelSettings:
    """The settings of a new channel."""
    return ChannelSettings(**{name: _converted(name, getattr(body, name)) for name in _SETTINGS})


def changed_settings(body: ChannelChanges, channel: Channel) -> ChannelSettings:
    """The settings of a channel after changes."""
    changes: dict[str, Any] = {name: getattr(body, name) for name in body.model_fields_set if name in _SETTINGS}
    optional = {"max_pages", "cron", "time_zone"}
    if wrong := [name for name, value in changes.items() if value is None and name not in optional]:
        raise ApiProblem(INVALID, errors=(FieldProblem(f"body.{to_camel(wrong[0])}", "must not be null"),))
    return replace(channel.settings, **{name: _converted(name, value) for name, value in changes.items()})


def _converted(name: str, value: Any) -> Any:
    """A value of a request as the domain type has it; lists without repetitions."""
    if isinstance(value, list):
        kind = MediaType if name == "media_types" else str
        return tuple(dict.fromkeys(map(kind, value)))
    return _ENUMS[name](value) if name in _ENUMS else value


def changed_crawl_settings(body: CrawlSettingsChanges, before: TenantCrawlSettings) -> TenantCrawlSettings:
    """The crawl settings of a tenant after changes. Refuses a page limit above that of the plan."""
    values = {name: getattr(body, name) for name in body.model_fields_set}
    after = TenantCrawlSettings(
        plan=Plan(values.get("plan", before.plan)),
        max_pages=values.get("website_crawl_max_pages", before.max_pages),
        frequency=Frequency(values.get("website_crawl_frequency", before.frequency)),
        max_video_mb=values.get("website_max_video_size_mb", before.max_video_mb),
        time_zone=values.get("time_zone", before.time_zone),
    )
    if "website_crawl_max_pages" in values and after.max_pages > after.plan_pages:
        detail = f"the plan {after.plan} allows {after.plan_pages} pages"
        raise ApiProblem(INVALID, errors=(FieldProblem("body.websiteCrawlMaxPages", detail),))
    return after


def brand_changes(body: BrandChanges) -> dict[str, Any]:
    """The entries of a person; colours in hexadecimal notation."""
    changes: dict[str, Any] = {name: getattr(body, name) for name in body.model_fields_set}
    for name, text in changes.items():
        if text is None:
            continue
        if name.endswith("_color"):
            changes[name] = parse_colour(text)
            problem = "" if changes[name] else "not a colour (use #rrggbb, rgb() or hsl())"
        elif name in {"logo", "favicon"}:
            problem = "" if Url.parse(text) is not None else "not an absolute http(s) URL"
        else:
            problem = "" if text.isprintable() and text.strip() else "not the name of a font"
        if problem:
            raise ApiProblem(INVALID, errors=(FieldProblem(f"body.{to_camel(name)}", problem),))
    return changes
