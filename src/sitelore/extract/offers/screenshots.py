"""What a page looks like, packed as all blobs are."""

from __future__ import annotations

import hashlib

import zstandard

from sitelore.extract.redaction.redactor import sealed
from sitelore.model.document import Blob, Reading
from sitelore.model.ids import BlobKey

_COMPRESSOR = zstandard.ZstdCompressor(level=1)


def screenshot_blob(jpeg: bytes, reading: Reading) -> Blob | None:
    """The picture, unless the page shows a secret (pixels cannot be redacted) or forbids to be kept."""
    if not jpeg or reading.redactions or reading.noarchive:
        return None
    return Blob(BlobKey(hashlib.sha256(jpeg).hexdigest()), sealed(_COMPRESSOR.compress(jpeg)))
