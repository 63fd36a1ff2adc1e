"""Unpacks the document of an extracted page."""

from __future__ import annotations

import zstandard

from sitelore.model.document import Reading
from sitelore.model.errors import ExtractionFailed


def document_json(reading: Reading) -> bytes:
    """The JSON of an extracted document. Raises `ExtractionFailed` if there is none."""
    if reading.document is None:
        raise ExtractionFailed(reading.problem or "the page has no document")
    return zstandard.ZstdDecompressor().decompressobj().decompress(reading.document.data)
