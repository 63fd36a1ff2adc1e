"""Keys of media files and screenshots, and the paths where a store has them (`model/platform/media.py` has the layout)."""

from __future__ import annotations

import re

from sitelore.model.ids import TenantId
from sitelore.model.platform.media import place_of, screenshot_key

ROOTS = ("webmedia", "webpages")
"""The directories of all files: in a data directory, in an object store and in a backup."""
_SCREENSHOT = r"screenshots/[0-9a-z-]{1,40}/\d{1,19}\.jpg"
_KEY = re.compile(rf"(?:images|videos|documents|thumbnails)/[0-9a-f]{{64}}\.[a-z0-9]{{1,5}}|{_SCREENSHOT}")
_SCREENSHOT_PATH = re.compile(r"webpages/(\d+)/([^/]+)/screenshots/(\d+)\.jpg")
_MEDIA_PATH = re.compile(r"webmedia/(\d+)/(.+)")


def directories_of(tenant: TenantId) -> tuple[str, ...]:
    """The directories that hold all files of a tenant, with a slash at the end."""
    return tuple(f"{root}/{tenant}/" for root in ROOTS)


def is_media_key(key: str) -> bool:
    """Whether a text is the key of a file, and not a path to anything else."""
    return _KEY.fullmatch(key) is not None


def key_at(path: str) -> str | None:
    """The key of the file at a path of a store; None for the path of anything else."""
    screenshot = _SCREENSHOT_PATH.fullmatch(path)
    if screenshot is not None:
        key = screenshot_key(screenshot[2], int(screenshot[3]))
        tenant = screenshot[1]
    else:
        media = _MEDIA_PATH.fullmatch(path)
        if media is None:
            return None
        tenant, key = media[1], media[2]
    return key if is_media_key(key) and place_of(TenantId(int(tenant)), key) == path else None


def is_replaceable(path: str) -> bool:
    """Whether the file at a path may get other content: screenshots, as opposed to files that are named by their content."""
    return _SCREENSHOT_PATH.fullmatch(path) is not None
