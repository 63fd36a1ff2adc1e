"""Media of pages: what pages show, the files that were stored, what is known of their URLs, and lists with totals."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from enum import StrEnum

from sitelore.model.ids import NO_TEXT, CleanText, SiteId, TenantId
from sitelore.model.settings import MediaType
from sitelore.model.url import Url

_SCREENSHOTS = "screenshots/"
MAX_TEXT_CHARS = 10_000
"""Characters of a document's text that are stored with it for display. The search index has all of it."""


@dataclass(frozen=True, slots=True)
class ShownMedia:
    """One media URL on a page."""

    url: Url
    type: MediaType
    alt: CleanText = NO_TEXT
    """The alternative text of an image, or the title of a video or document."""
    provider: str = ""
    """`youtube` or `vimeo` for a video that is not downloaded."""
    video_id: str = ""
    """The id of the video at its provider."""
    is_link: bool = False
    """The page links to the file and does not embed it, so that nofollow applies."""


@dataclass(frozen=True, slots=True)
class MediaFile:
    """A downloaded file: what is stored, and what was received."""

    type: MediaType
    content_hash: str
    """SHA-256 of the file as received, in hex. A tenant stores equal files once."""
    mime_type: str
    extension: str
    original_bytes: int
    stored_bytes: int
    """0: the file is not stored, because a secret is in it."""
    width: int | None = None
    height: int | None = None
    text: CleanText = NO_TEXT
    """The first characters of a document's text."""

    @property
    def key(self) -> str:
        """Where the file is stored, below the directory of the tenant."""
        return f"{self.type.lower()}s/{self.content_hash}.{self.extension}"


@dataclass(frozen=True, slots=True)
class KnownMedia:
    """What an earlier visit stored about a media URL."""

    media: int
    type: MediaType
    fetched_at: float
    etag: str | None = None
    last_modified: str | None = None


@dataclass(frozen=True, slots=True)
class MediaUpdate:
    """What a visit stores about a media URL."""

    file: MediaFile | None = None
    """None: the server answered that the known file has not changed."""
    etag: str | None = None
    last_modified: str | None = None
    is_known: bool = False
    """The tenant had the content already, so no file was stored. If it is deleted meanwhile, nothing is stored."""


@dataclass(frozen=True, slots=True)
class StoredMedia:
    """One image, video or document of a tenant."""

    id: int
    type: MediaType
    content_hash: str
    source_url: str
    """The URL at which it was first found."""
    file_name: str
    mime_type: str
    created_at: float
    last_crawled_at: float
    key: str = ""
    """Where the file is stored, below the directory of the tenant; empty when it is not."""
    stored_bytes: int = 0
    original_bytes: int = 0
    width: int | None = None
    height: int | None = None
    alt: CleanText = NO_TEXT
    provider: str = ""
    video_id: str = ""
    text: CleanText = NO_TEXT
    usage_count: int = 0
    """Pages that show it."""
    poster_key: str = ""
    """Where the poster of a local video is stored."""

    @property
    def picture_key(self) -> str:
        """The stored file that thumbnails are made of: the image, or the poster of a video; empty when there is none."""
        return self.key if self.type is MediaType.IMAGE else self.poster_key


@dataclass(frozen=True, slots=True)
class SiteMedia:
    """The file behind a media URL of a site, for audits."""

    url: str
    mime_type: str
    """By its first bytes."""
    original_bytes: int
    stored_bytes: int
    width: int | None = None
    height: int | None = None


@dataclass(frozen=True, slots=True)
class MediaUse:
    """A page that shows a media file."""

    page: int
    """The id of the page's URL."""
    url: Url
    title: CleanText
    position: int
    alt: CleanText


class MediaOrder(StrEnum):
    """By what media are sorted."""

    ADDED = "added"
    NAME = "name"
    SIZE = "size"
    SAVED = "saved"
    """By the bytes that compression has saved."""


@dataclass(frozen=True, slots=True)
class MediaListing:
    """A page of the media of a site, or (None) of the tenant. `type` None: all; `page`: only those that this page shows."""

    site: SiteId | None = None
    type: MediaType | None = None
    page: int | None = None
    limit: int = 100
    offset: int = 0
    text: str = ""
    """Only those with this in their file name, URL or description."""
    order: MediaOrder = MediaOrder.ADDED
    descending: bool = False


@dataclass(frozen=True, slots=True)
class MediaTotals:
    """Numbers and sizes of the media of a site or tenant."""

    counts: dict[str, int] = field(default_factory=dict)
    """By `MediaType`."""
    stored_bytes: int = 0
    original_bytes: int = 0
    uses: int = 0
    """Places on pages that show any of them."""

    @property
    def saved_bytes(self) -> int:
        """Bytes that compression saves."""
        return self.original_bytes - self.stored_bytes


def video_hash(provider: str, video_id: str) -> str:
    """The content hash of a video that is not downloaded."""
    return hashlib.sha256(f"{provider}:{video_id}".encode()).hexdigest()


def screenshot_key(folder: str, page: int) -> str:
    """The key of the screenshot of a page, by the id of its URL. `folder`: the channel of its site, or the id of the site."""
    return f"{_SCREENSHOTS}{folder}/{page}.jpg"


def is_screenshot(key: str) -> bool:
    """Whether this is the key of a screenshot that is a file, and not a blob of an older version."""
    return key.startswith(_SCREENSHOTS)


def place_of(tenant: TenantId, key: str) -> str:
    """Where the file of a key is in a store: `webmedia/{tenant}/images/{hash}.jpg`, and for screenshots
    `webpages/{tenant}/{channel}/screenshots/{page}.jpg`.
    """
    if is_screenshot(key):
        folder, _, name = key.removeprefix(_SCREENSHOTS).partition("/")
        return f"webpages/{tenant}/{folder}/{_SCREENSHOTS}{name}"
    return f"webmedia/{tenant}/{key}"


def content_hash_of(key: str) -> str:
    """The content hash in the key of a media file."""
    return key.rpartition("/")[2].partition(".")[0]


def thumbnail_key(content_hash: str) -> str:
    """Where the thumbnail of an image is cached, below the directory of the tenant."""
    return f"thumbnails/{content_hash}.webp"
