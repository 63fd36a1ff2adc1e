"""Memory and CPU of `sitelore audit` on a large site, beside the CPU of the crawl: 50,000 pages with 100 links each.

    python -m bench.audit [--pages 50000] [--data DIR]

Serves generated pages of 300 words from a process of its own, crawls them with facts for audits as a user does, and audits the
run. The memory is that of the whole process of the command (PSS), the highest of each phase; `--data` uses a directory that was
crawled before, or keeps the new one. Exits 1 when the audit takes more than a fifth of the crawl's CPU or 500 MB.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sqlite3
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack, closing
from pathlib import Path

from bench.long import serving
from bench.measure import ensure, pss_mb, run_measured, tree_cpu_s, tree_of
from bench.site import BENCH_DIR, ROOT

CPU_SHARE = 0.2
MEMORY_MB = 500
_LINKS = 100
_MENU = 60
"""Links that every page has."""
_SECTIONS = 97
_PARAGRAPHS, _WORDS = 6, 50
_POLL_S = 0.2
_VOCABULARY = ["".join(random.Random(n).choices("abcdefghilmnoprstu", k=3 + n % 7)) for n in range(5_000)]


def make_page(number: int, pages: int) -> bytes:
    """A page with a menu of links, links to its two children, so that all are reached, and to others."""
    rng = random.Random(number)
    targets = [at * 7 % pages for at in range(_MENU)]
    targets += [child for child in (2 * number + 1, 2 * number + 2) if child < pages]
    targets += [rng.randrange(pages) for _ in range(_LINKS - len(targets))]
    links = [f'<li><a href="/{target % _SECTIONS}/page-{target}">Page {target % 5_000}</a></li>' for target in targets]
    text = "".join(f"<p>{' '.join(rng.choices(_VOCABULARY, k=_WORDS))}.</p>" for _ in range(_PARAGRAPHS))
    title, menu, rest = f"Page {number}", "".join(links[:_MENU]), "".join(links[_MENU:])
    head = f'<meta charset="utf-8"><title>{title}</title><meta name="description" content="{text[3:90]}">'
    body = f"<nav><ul>{menu}</ul></nav><main><h1>{title}</h1>{text}<ul>{rest}</ul></main>"
    return f'<!doctype html><html lang="en"><head>{head}</head><body>{body}</body></html>'.encode()


def crawl(pages: int, data: Path) -> float:
    """Crawl the site into a directory. Returns the CPU seconds, which are kept beside the data."""
    with serving(pages, make_page) as (url, _):
        command = [sys.executable, "-m", "sitelore", "crawl", url, "--data", str(data), "--json", "--output", "db"]
        command += ["--no-index", "--audit-facts", "--delay", "0", "--concurrency", "16"]
        cost = run_measured(command, data, dict(os.environ, PYTHONPATH=str(ROOT / "src")), 1.0, 7200)
    ensure(cost.exit_code == 0, f"crawl: exit code {cost.exit_code}: {cost.stderr[-2000:]}")
    (data / "crawl-cpu.json").write_text(json.dumps(cost.cpu_s))
    return cost.cpu_s


def audit(data: Path) -> tuple[float, dict[str, float]]:
    """Audit the run. Returns the CPU seconds and the highest memory of each phase."""
    peaks: dict[str, float] = {}
    cpu_s = 0.0
    command = [sys.executable, "-m", "sitelore", "audit", "--data", str(data)]
    with (data / ".stdout").open("wb") as stdout, (data / ".stderr").open("wb") as stderr:
        process = subprocess.Popen(
            command, cwd=data, env=dict(os.environ, PYTHONPATH=str(ROOT / "src")), stdout=stdout, stderr=stderr
        )
        while process.poll() is None:
            phase = _phase(data / "sitelore.db")
            memory = sum(pss_mb(pid) for pid in tree_of(process.pid))
            peaks[phase] = max(peaks.get(phase, 0.0), memory)
            cpu_s = max(cpu_s, tree_cpu_s(process.pid))
            time.sleep(_POLL_S)
    ensure(process.returncode == 0, f"audit: exit code {process.returncode}: {(data / '.stderr').read_text()[-2000:]}")
    return cpu_s, peaks


def _phase(database: Path) -> str:
    """The phase of the audit that runs. It is stored every two seconds."""
    with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as connection:
        row = connection.execute("SELECT phase FROM audits WHERE state = 'running'").fetchone()
    return str(row[0] or "start") if row else "start and end"


def main() -> None:
    """Crawl, then audit."""
    parser = argparse.ArgumentParser(description="Memory and CPU of an audit")
    parser.add_argument("--pages", type=int, default=50_000)
    parser.add_argument("--data", type=Path, default=None)
    options = parser.parse_args()
    BENCH_DIR.mkdir(exist_ok=True)
    with ExitStack() as stack:
        data = (
            options.data or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="audit-", dir=BENCH_DIR)))
        ).resolve()
        data.mkdir(exist_ok=True)
        known = data / "crawl-cpu.json"
        crawl_s = float(json.loads(known.read_text())) if known.exists() else crawl(options.pages, data)
        audit_s, peaks = audit(data)
    for phase, memory in peaks.items():
        print(f"{memory:7.0f} MB  {phase}")
    share, peak = audit_s / crawl_s, max(peaks.values())
    print(f"crawl {crawl_s:.1f} s CPU, audit {audit_s:.1f} s: {share:.0%} (at most {CPU_SHARE:.0%})")
    print(f"memory {peak:.0f} MB (at most {MEMORY_MB})")
    sys.exit(0 if share <= CPU_SHARE and peak <= MEMORY_MB else 1)


if __name__ == "__main__":
    main()
