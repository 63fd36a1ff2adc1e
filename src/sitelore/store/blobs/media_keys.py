"""Keys of media files, and where they are in a store: `webmedia/{tenant}/images/{hash}.{ext}`."""

from __future__ import annotations

import re

from sitelore.model.ids import TenantId

_KEY = re.compile(r"(?:images|videos|documents|thumbnails)/[0-9a-f]{64}\.[a-z0-9]{1,5}")


def tenant_prefix(tenant: TenantId) -> str:
    """What precedes the keys of a tenant's files."""
    return f"webmedia/{tenant}/"


def is_media_key(key: str) -> bool:
    """Whether a text is the key of a media file, and not a path to anything else."""
    return _KEY.fullmatch(key) is not None
