"""The pool of processes that compress images, with limits on time and memory."""

from __future__ import annotations

import os

from sitelore import metrics
from sitelore.crawl.extraction_pool import ProcessPool
from sitelore.media.compression import CompressedImage
from sitelore.media.image_process import decode_answer, encode_job
from sitelore.model.errors import ReaderCrashed

TIME_LIMIT_S = 20.0
MEMORY_BYTES = 2 * 2**30
_MAX_PROCESSES = 4


class ImagePool(ProcessPool):
    """Image processes, as many as there are cores by default."""

    def __init__(self, size: int = 0, time_limit_s: float = TIME_LIMIT_S, memory_bytes: int = MEMORY_BYTES) -> None:
        size = size or min(_MAX_PROCESSES, os.cpu_count() or 1)
        super().__init__("sitelore.media.image_process", size, time_limit_s, memory_bytes)

    async def compress(self, data: bytes, extension: str) -> CompressedImage:
        """Compress an image. What ends its process is reported as a problem of the image."""
        return await self._run("compress", data, extension)

    async def thumbnail(self, data: bytes, extension: str) -> CompressedImage:
        """A small WebP of an image."""
        return await self._run("thumbnail", data, extension)

    async def _run(self, operation: str, data: bytes, extension: str) -> CompressedImage:
        try:
            with metrics.COMPRESSION.time():
                return decode_answer(await self.submit(encode_job(operation, data, extension)))
        except ReaderCrashed:
            return CompressedImage(problem="the image takes too much time or memory to decode", is_too_large=True)
