"""Main content and Markdown, side by side: quality, CPU and memory of Sitelore and other libraries, in one run.

    python -m bench.content [--pages N] [--only NAME]... [--cross-validated] [--json FILE]

Every library runs in its own process and is fed one page of `../shared/corpora/content/wcxb_dev.jsonl.xz` at a time, all of
them in turns on every page, so that a slow minute of the machine hits all. How a text is scored: `bench/content_scores.py`; the
text of whoever writes Markdown is taken from the rendered Markdown. CPU is the library's own, from page in memory to output in
memory, after a few pages to warm up; memory is the peak of its process. The peers are installed by this benchmark into
`.bench/content`.

    sitelore               what `sitelore extract` does with a page: redact, parse, links, metadata, content, Markdown, text
    sitelore-all           and what a crawl reads besides: structured data, forms, actions, media, brand
    trafilatura            its default text
    trafilatura-md         its Markdown; -md-meta: with its metadata
    resiliparse            main content as text
    readability            readability-lxml, its HTML
    justext, boilerpy3     paragraphs that are not boilerplate
"""

from __future__ import annotations

import argparse
import compileall
import json
import os
import random
import statistics
import struct
import subprocess
import sys
import venv
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from itertools import islice
from pathlib import Path
from typing import IO, Any

from bench.content_scores import CORPUS, ROOT, TYPES, Figures, Page, Score, by_type, corpus, score, text_of
from bench.measure import ensure

HOME = ROOT / ".bench" / "content"
READER = Path(__file__).resolve().parent / "peers" / "content_reader.py"
PACKAGES = ("trafilatura", "lxml_html_clean", "readability-lxml", "resiliparse", "justext", "boilerpy3")
OPTIONAL = ("rs-trafilatura",)
OURS = ("sitelore", "sitelore-all")
PEERS = ("trafilatura", "trafilatura-md", "trafilatura-md-meta", "resiliparse", "readability", "justext", "boilerpy3")
SEED = 3
WARM_UP = 5


@dataclass(slots=True)
class Contender:
    """A library in its process, and what it has done so far."""

    name: str
    process: subprocess.Popen[bytes]
    scores: list[Future[Score]] = field(default_factory=list)
    cpu_ms: list[float] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    empty: int = 0
    facts: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def start(cls, name: str) -> Contender:
        ours = name in OURS
        python = Path(sys.executable) if ours else HOME / "bin" / "python"
        env = dict(os.environ, PYTHONPATH=str(ROOT / "src")) if ours else dict(os.environ)
        process = subprocess.Popen(
            [python, READER, name], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=env
        )
        contender = cls(name, process)
        contender._answer()
        return contender

    def warm_up(self, page: Page) -> None:
        """Have a page read that does not count: some load half of themselves when they see their first date."""
        self._ask(page, "")

    def read(self, page: Page, weights: str, scoring: ThreadPoolExecutor) -> None:
        """Have one page read; its score is worked out while the next library reads."""
        answer = self._ask(page, weights)
        self.cpu_ms.append(answer["cpu_ms"])
        self.empty += not answer["output"].strip()
        if answer["error"]:
            self.errors.append(f"{page.id}: {answer['error']}")
        self.scores.append(scoring.submit(_scored, page, answer["kind"], answer["output"]))

    def finish(self) -> None:
        _pipe(self.process.stdin).close()
        self.facts = self._answer()
        self.process.wait(30)

    def end(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(30)

    def _ask(self, page: Page, weights: str) -> dict[str, Any]:
        url, body, path = page.url.encode(), page.html.encode("utf-8", "replace"), weights.encode()
        pipe = _pipe(self.process.stdin)
        pipe.write(struct.pack(">III", len(url), len(path), len(body)) + url + path)
        pipe.write(body)
        pipe.flush()
        return self._answer()

    def _answer(self) -> dict[str, Any]:
        pipe = _pipe(self.process.stdout)
        head = pipe.read(4)
        ensure(len(head) == 4, f"{self.name} ended in the middle of its work")
        answer: dict[str, Any] = json.loads(pipe.read(struct.unpack(">I", head)[0]))
        return answer


def _pipe(pipe: IO[bytes] | None) -> IO[bytes]:
    assert pipe is not None
    return pipe


def _scored(page: Page, kind: str, output: str) -> Score:
    return score(page, text_of(kind, output))


def install_peers() -> list[str]:
    """The libraries, into an environment of their own. Gives those that can run here."""
    python = str(HOME / "bin" / "python")
    if not Path(python).exists():
        venv.create(HOME, with_pip=True)
        # The pip that comes with a Python may be too old for the extras of these packages.
        subprocess.run([python, "-m", "pip", "install", "-q", "--upgrade", "pip"], check=False)
    probe = "import trafilatura, readability, resiliparse, justext, boilerpy3"
    if subprocess.run([python, "-c", probe], capture_output=True, check=False).returncode:
        subprocess.run([python, "-m", "pip", "install", "-q", *PACKAGES], check=True)
    names = list(PEERS)
    for package in OPTIONAL:
        known = [python, "-c", f"import {package.replace('-', '_')}"]
        if subprocess.run(known, capture_output=True, check=False).returncode:
            wheel = [python, "-m", "pip", "install", "-q", "--only-binary", ":all:", package]
            if subprocess.run(wheel, capture_output=True, check=False).returncode:
                print(f"{package} is left out: there is no wheel of it for this Python")
                continue
        names.append(package)
    return names


def sample(pages: int | None) -> Iterator[Page]:
    """All pages, or a seeded sample with the corpus's own mix of types."""
    if pages is None:
        yield from corpus()
        return
    kinds = [page.type for page in corpus()]
    chosen: set[int] = set()
    for kind in TYPES:
        own = [at for at, other in enumerate(kinds) if other == kind]
        chosen.update(random.Random(f"{SEED}{kind}").sample(own, min(len(own), max(1, round(pages * len(own) / len(kinds))))))
    for at, page in enumerate(corpus()):
        if at in chosen:
            yield page


def run(names: list[str], pages: int | None, *, cross_validated: bool) -> list[Contender]:
    """All contenders over all pages."""
    if cross_validated:
        from bench.folds import weights_of
    with ExitStack() as stack:
        scoring = stack.enter_context(ThreadPoolExecutor(1))
        contenders = []
        for name in names:
            contenders.append(Contender.start(name))
            stack.callback(contenders[-1].end)
            for page in islice(corpus(), WARM_UP):
                contenders[-1].warm_up(page)
        for number, page in enumerate(sample(pages), 1):
            for contender in contenders:
                weights = str(weights_of(page.url)) if cross_validated and contender.name in OURS else ""
                contender.read(page, weights, scoring)
            if sys.stderr.isatty() or number % 250 == 0:
                print(f"{number} pages", file=sys.stderr, end="\r" if sys.stderr.isatty() else "\n")
        for contender in contenders:
            contender.finish()
            [each.result() for each in contender.scores]
    return contenders


HEAD = f"{'F1':>7}{'prec':>7}{'recall':>7}{'with':>7}{'without':>9}"


def _row(found: Figures) -> str:
    return f"{found.f1:>7.4f}{found.precision:>7.3f}{found.recall:>7.3f}{found.with_share:>7.3f}{found.without_share:>9.3f}"


def p95(values: list[float]) -> float:
    return sorted(values)[min(len(values) - 1, int(len(values) * 0.95))]


def report(contenders: list[Contender]) -> dict[str, Any]:
    """The tables; the same as data."""
    found = {c.name: by_type(each.result() for each in c.scores) for c in contenders}
    print(f"\n{'all pages':<22}{HEAD}{'CPU mean':>10}{'p95':>8}{'max':>8}{'peak MB':>9}{'idle':>6}{'empty':>7}{'errors':>7}")
    for c in contenders:
        cpu = f"{statistics.fmean(c.cpu_ms):>10.2f}{p95(c.cpu_ms):>8.1f}{max(c.cpu_ms):>8.0f}"
        memory = f"{c.facts['peak_mb']:>9.0f}{c.facts['idle_mb']:>6.0f}"
        print(f"{c.name:<22}{_row(found[c.name]['all'])}{cpu}{memory}{c.empty:>7}{len(c.errors):>7}  {c.facts['version']}")
    for kind in TYPES:
        rows = [(name, figures[kind]) for name, figures in found.items() if kind in figures]
        if rows:
            print(f"\n{kind} ({rows[0][1].pages}){'':<{max(0, 20 - len(kind) - len(str(rows[0][1].pages)))}}{HEAD}")
            for name, figures in rows:
                print(f"{name:<22}{_row(figures)}")
    _print_ratios(contenders)
    return {
        c.name: {
            "figures": {kind: asdict(figures) for kind, figures in found[c.name].items()},
            "cpu_ms": {"mean": statistics.fmean(c.cpu_ms), "p95": p95(c.cpu_ms), "max": max(c.cpu_ms)},
            **c.facts,
            "empty": c.empty,
            "errors": c.errors,
        }
        for c in contenders
    }


def _print_ratios(contenders: list[Contender]) -> None:
    ours = next((c for c in contenders if c.name == "sitelore"), None)
    if ours is None:
        return
    print()
    for other in contenders:
        if other is not ours:
            ratio = sum(other.cpu_ms) / sum(ours.cpu_ms)
            print(f"{other.name:<22}{ratio:>7.2f} times the CPU of sitelore")


def main() -> None:
    parser = argparse.ArgumentParser(description="Main content and Markdown: Sitelore against other libraries")
    parser.add_argument("--pages", type=int, help="a seeded sample of about this many pages; all when not given")
    parser.add_argument("--only", action="append", help="only this contender; repeatable")
    parser.add_argument("--cross-validated", action="store_true", help="each page by weights that never saw its domain")
    parser.add_argument("--json", type=Path, help="leave the figures in this file as well")
    given = parser.parse_args()
    ensure(CORPUS.exists(), f"the corpus is not on this machine: {CORPUS.name} (set SITELORE_CORPORA)")
    compileall.compile_dir(ROOT / "src", quiet=2)
    HOME.parent.mkdir(exist_ok=True)
    wanted = given.only or []
    names = list(OURS) if wanted == ["sitelore"] else [*OURS, *install_peers()]
    unknown = set(wanted) - set(names)
    ensure(not unknown, f"no contender is called {', '.join(sorted(unknown))}; there are {', '.join(names)}")
    names = [name for name in names if name in wanted or not wanted]
    data = report(run(names, given.pages, cross_validated=given.cross_validated))
    if given.json:
        given.json.write_text(json.dumps(data, indent=1))


if __name__ == "__main__":
    main()
