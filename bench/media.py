"""Compression of photos of 12 megapixels to 1920 pixels: images a second, and CPU compared with bare libvips in the same run.

    python -m bench.media [--images 40] [--processes 2] [--rounds 3]

The pool of a crawl and a plain loop over libvips run alternately, in equally many processes. CPU is that of these processes
and of the parent. The figures are medians over the rounds. Exits 1 when a figure is missed.
"""

from __future__ import annotations

import argparse
import asyncio
import multiprocessing
import os
import resource
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pyvips

from sitelore.crawl.media.image_pool import ImagePool
from sitelore.media.compression import MAX_WIDTH

RATE, RATIO = 15.0, 1.3
_WIDTH, _HEIGHT = 4000, 3000
_PHOTOS = 4


@dataclass(frozen=True, slots=True)
class Turn:
    """One turn over all images."""

    rate: float
    cpu_ms: float
    """Per image."""
    stored_kb: float


def photo(seed: int) -> bytes:
    """A JPEG of 12 megapixels that looks like a photo to a compressor."""
    shapes = pyvips.Image.perlin(_WIDTH, _HEIGHT, cell_size=256, seed=seed) * 90 + 128
    detail = pyvips.Image.perlin(_WIDTH, _HEIGHT, cell_size=16, seed=seed) * 40 + 128
    noise = pyvips.Image.gaussnoise(_WIDTH, _HEIGHT, mean=128, sigma=6, seed=seed)
    image = shapes.bandjoin([detail, (shapes + noise) / 2]).cast("uchar").copy(interpretation="srgb")
    data: bytes = image.write_to_buffer(".jpg", Q=88)
    return data


def _cpu_s() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


async def of_pool(photos: Sequence[bytes], images: int, processes: int) -> Turn:
    """The pool of a crawl. Its processes have started before the clock does."""
    pool = ImagePool(processes)
    await asyncio.gather(*(pool.compress(photos[0], "jpg") for _ in range(processes)))
    busy = asyncio.Semaphore(2 * processes)

    async def compress(number: int) -> int:
        async with busy:
            return len((await pool.compress(photos[number % len(photos)], "jpg")).data)

    before = _tree_cpu_s()
    started_at = time.perf_counter()
    sizes = await asyncio.gather(*map(compress, range(images)))
    took_s = time.perf_counter() - started_at
    cpu_s = _tree_cpu_s() - before
    await pool.close()
    return Turn(images / took_s, cpu_s / images * 1000, sum(sizes) / images / 1000)


def _tree_cpu_s() -> float:
    """CPU seconds of this process and its live children."""
    ticks = 0
    for task in Path("/proc/self/task").iterdir():
        for child in (task / "children").read_text().split():
            fields = Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()
            ticks += int(fields[11]) + int(fields[12])
    return _cpu_s() + ticks / os.sysconf("SC_CLK_TCK")


def _bare(
    paths: Sequence[str], images: int, ready: multiprocessing.synchronize.Barrier, sizes: multiprocessing.Queue[int]
) -> None:
    pyvips.concurrency_set(1)
    pyvips.cache_set_max(0)
    photos = [Path(path).read_bytes() for path in paths]
    total = 0
    ready.wait()
    for number in range(images):
        data = photos[number % len(photos)]
        small = pyvips.Image.thumbnail_buffer(data, MAX_WIDTH, height=16_384, size="down")
        total += len(small.write_to_buffer(".jpg", Q=80, optimize_coding=True, keep="none"))
    sizes.put(total)


def of_libvips(paths: Sequence[str], images: int, processes: int) -> Turn:
    """A plain loop over libvips in each process."""
    context = multiprocessing.get_context("spawn")
    ready, sizes = context.Barrier(processes + 1), context.Queue()
    share = images // processes
    workers = [context.Process(target=_bare, args=(paths, share, ready, sizes)) for _ in range(processes)]
    for worker in workers:
        worker.start()
    ready.wait()
    before = _tree_cpu_s()
    started_at = time.perf_counter()
    total = sum(sizes.get() for _ in workers)
    took_s = time.perf_counter() - started_at
    cpu_s = _tree_cpu_s() - before
    for worker in workers:
        worker.join()
    done = share * processes
    return Turn(done / took_s, cpu_s / done * 1000, total / done / 1000)


def main() -> int:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--images", type=int, default=40)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    photos = [photo(seed) for seed in range(_PHOTOS)]
    ours, bare = [], []
    with tempfile.TemporaryDirectory() as folder:
        paths = [f"{folder}/{number}.jpg" for number in range(_PHOTOS)]
        for path, data in zip(paths, photos, strict=True):
            Path(path).write_bytes(data)
        for _ in range(options.rounds):
            ours.append(asyncio.run(of_pool(photos, options.images, options.processes)))
            bare.append(of_libvips(paths, options.images, options.processes))
    rate = statistics.median(turn.rate for turn in ours)
    ratio = statistics.median(one.cpu_ms / two.cpu_ms for one, two in zip(ours, bare, strict=True))
    original_kb = sum(map(len, photos)) / _PHOTOS / 1000
    print(
        f"{len(ours)} rounds of {options.images} photos, {_WIDTH} x {_HEIGHT}, {original_kb:.0f} KB; "
        f"{options.processes} processes; load {os.getloadavg()[0]:.1f}"
    )
    for name, turns in (("pool", ours), ("libvips", bare)):
        values = [statistics.median(getattr(turn, field) for turn in turns) for field in ("rate", "cpu_ms", "stored_kb")]
        print(f"{name:8} {values[0]:6.1f} images/s  {values[1]:6.1f} ms CPU an image  {values[2]:6.0f} KB stored")
    print(f"images a second: {rate:.1f} (at least {RATE:g}); CPU compared with libvips: {ratio:.2f} (at most {RATIO:g})")
    return 0 if rate >= RATE and ratio <= RATIO else 1


if __name__ == "__main__":
    sys.exit(main())
