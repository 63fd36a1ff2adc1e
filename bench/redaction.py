"""Redaction: secrets found, look-alikes taken for secrets, and speed on ordinary pages.

    python -m bench.redaction [--pages N] [--show]

The cases are `../shared/corpora/secrets_cases.json`, the pages the first of `../shared/corpora/content/wcxb_dev.jsonl.xz`.
Speed is CPU time over UTF-8 bytes, once with everything yet to be built (a process that has just started) and once warm.
"""

from __future__ import annotations

import argparse
import json
import lzma
import os
import time
from itertools import islice
from pathlib import Path

from bench.measure import ensure

from sitelore.extract.redaction.personal_data import personal_spans
from sitelore.extract.redaction.redactor import add_counts, redact, redactor_of
from sitelore.model.settings import BUILT_IN_ALONE

CORPORA = Path(os.environ.get("SITELORE_CORPORA", Path(__file__).resolve().parents[2] / "shared" / "corpora"))


def main() -> None:
    """Print counts and speed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pages", type=int, default=300)
    parser.add_argument("--show", action="store_true", help="show missed secrets and false alarms")
    arguments = parser.parse_args()
    for name in ("secrets_cases.json", "content/wcxb_dev.jsonl.xz"):
        ensure((CORPORA / name).exists(), f"the corpus is not on this machine: {name} (set SITELORE_CORPORA)")
    pages = load_pages(arguments.pages)
    size_mb = sum(len(utf8) for _, utf8 in pages) / 1e6
    cold_s, counts = redacted(pages)
    warm_s, _ = redacted(pages)
    began = time.process_time()
    personal = sum(len(personal_spans(utf8)) for _, utf8 in pages)
    personal_s = time.process_time() - began
    judge_cases(show=arguments.show)
    print(f"ordinary pages   {len(pages)}, {size_mb:.1f} MB")
    print(f"speed, cold      {size_mb / cold_s:.0f} MB/s")
    print(f"speed, warm      {size_mb / warm_s:.0f} MB/s")
    print(f"found on them    {', '.join(f'{name} {count}' for name, count in sorted(counts.items())) or 'nothing'}")
    print(f"personal data    {personal}, {size_mb / personal_s:.0f} MB/s")


def judge_cases(*, show: bool) -> None:
    """Print how many of the shared cases were found, and how many false alarms there were."""
    cases = json.loads((CORPORA / "secrets_cases.json").read_text())
    missed = [text for _, text in cases["tps"] if not redact(text)[1]]
    false = [text for _, text in cases["fps"] if redact(text)[1]]
    print(f"secrets found    {len(cases['tps']) - len(missed)} of {len(cases['tps'])}")
    print(f"false alarms     {len(false)} of {len(cases['fps'])}")
    for what, texts in (("missed", missed), ("false", false)) if show else ():
        for text in texts:
            print(f"  {what}: {text[:120]!r}")


def load_pages(count: int) -> list[tuple[str, bytes]]:
    """Pages as text and as UTF-8."""
    with lzma.open(CORPORA / "content" / "wcxb_dev.jsonl.xz") as lines:
        texts = [str(json.loads(line)["html"]) for line in islice(lines, count)]
    return [(text, text.encode("utf-8", "replace")) for text in texts]


def redacted(pages: list[tuple[str, bytes]]) -> tuple[float, dict[str, int]]:
    """Redact all pages; return seconds of CPU, and counts by rule."""
    counts: dict[str, int] = {}
    began = time.process_time()
    for text, utf8 in pages:
        add_counts(counts, redactor_of(BUILT_IN_ALONE).redact_page(utf8, text)[1])
    return time.process_time() - began, counts


if __name__ == "__main__":
    main()
