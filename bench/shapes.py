"""Time and memory of reading hostile pages at sizes n, 2n and 4n.

    python -m bench.shapes [NAME ...] [--times 4]

The pages are those of `tests/hostile/shapes.py`. Each is read in a process of its own, three times per size; the least CPU time
counts. The growth exponent is that between the smallest and the largest page: 1 is linear, 2 quadratic. Above 1.3 it is flagged
where the largest page takes at least 50 ms (less is noise), and the exit code is 1.
"""

from __future__ import annotations

import argparse
import math
import resource
import subprocess
import sys
import time

from tests.hostile.shapes import SHAPES, Shape

from sitelore.extract.page import read
from sitelore.model.document import ReadOptions
from sitelore.model.response import Response
from sitelore.model.url import Url

LIMIT = 1.3
NOISE_MS = 50.0
TIMEOUT_S = 300


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="shapes to read; all of them by default")
    parser.add_argument("--times", type=int, default=8, help="n is so many times the size of the tests")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        measure(options.one, SHAPES[options.one], options.times)
        return
    print(f"{'shape':36}{'KB at 4n':>9}{'ms n':>9}{'2n':>9}{'4n':>9}{'exponent':>10}{'peak MB':>9}")
    failed = [name for name in options.names or SHAPES if not _measured_apart(name, options.times)]
    print(f"over-linear: {', '.join(failed) or 'none'}")
    sys.exit(bool(failed))


def _measured_apart(name: str, times: int) -> bool:
    command = [sys.executable, "-m", "bench.shapes", "--one", name, "--times", str(times)]
    try:
        return subprocess.run(command, check=False, timeout=TIMEOUT_S).returncode == 0
    except subprocess.TimeoutExpired:
        print(f"{name:36} more than {TIMEOUT_S} s")
        return False


def measure(name: str, shape: Shape, times: int) -> None:
    """Print one line; exit with 1 when time grows faster than the page."""
    cpu_ms("<p>Loads what is loaded late.</p>" * 100)
    pages = [shape.html(shape.size * times * factor) for factor in (1, 2, 4)]
    taken = [cpu_ms(page) for page in pages]
    exponent = math.log(taken[2] / taken[0]) / math.log(len(pages[2]) / len(pages[0]))
    is_over = exponent > LIMIT and taken[2] >= NOISE_MS
    peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    figures = "".join([f"{ms:9.1f}" for ms in taken])
    flag = "  over-linear" if is_over else ""
    print(f"{name:36}{len(pages[2]) / 1024:9.0f}{figures}{exponent:10.2f}{peak_mb:9.0f}{flag}", flush=True)
    sys.exit(is_over)


def cpu_ms(html: str) -> float:
    response = Response(Url("http://site.example/"), 200, (("content-type", "text/html; charset=utf-8"),), html.encode())
    least = math.inf
    for _ in range(3):
        began = time.process_time()
        read(response, ReadOptions())
        least = min(least, (time.process_time() - began) * 1000)
    return least


if __name__ == "__main__":
    main()
