"""Compares structured data extraction with extruct: types found and CPU, in one run.

    python -m bench.structured [--pages N] [--json FILE]

Two sets of pages: schema.org's own examples (`../shared/corpora/schemaorg_cases.json`), each with the types that it names, and
a seeded sample of real pages (`../shared/corpora/content`), for CPU alone. Every reader runs in its own process and is fed one
page at a time, all of them in turns, so that a slow minute of the machine hits all. extruct is installed by this benchmark into
`.bench/structured`. All read JSON-LD, Microdata, RDFa and Open Graph.

    sitelore          parses the page and reads it
    sitelore-tree     reads a page that is parsed already, as in a crawl
    extruct           its four syntaxes, from the text of the page
    extruct-no-rdfa   without RDFa, which is most of its cost
"""

from __future__ import annotations

import argparse
import compileall
import json
import os
import statistics
import subprocess
import sys
import venv
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from bench.content import sample
from bench.content_scores import CORPUS as REAL_PAGES
from bench.measure import ensure
from bench.structured_scores import CORPUS, ROOT, named_types, written_types

HOME = ROOT / ".bench" / "structured"
READER = Path(__file__).resolve().parent / "peers" / "structured_reader.py"
PACKAGES = ("extruct",)
NAMES = ("sitelore", "sitelore-tree", "extruct", "extruct-no-rdfa")
WARM_UP = 10
PAGE = "https://site.example/dir/page"
REQUIRED_RATIO = 3.0


@dataclass(frozen=True, slots=True)
class Case:
    """A page, the syntax it uses and the types in it; both are empty for pages that are only timed."""

    url: str
    html: str
    way: str = ""
    types: frozenset[str] = frozenset()


@dataclass(slots=True)
class Contender:
    """An extractor in its own process, and its results so far."""

    name: str
    process: subprocess.Popen[bytes]
    version: str = ""
    correct: dict[str, int] = field(default_factory=dict)
    examples_ms: list[float] = field(default_factory=list)
    pages_ms: list[float] = field(default_factory=list)
    errors: int = 0

    @classmethod
    def start(cls, name: str) -> Contender:
        ours = name.startswith("sitelore")
        python = Path(sys.executable) if ours else HOME / "bin" / "python"
        env = dict(os.environ, PYTHONPATH=str(ROOT / "src")) if ours else dict(os.environ)
        process = subprocess.Popen(
            [python, READER, name], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=env
        )
        contender = cls(name, process)
        contender.version = contender._answer()["version"]
        return contender

    def ask(self, case: Case) -> dict[str, Any]:
        """Extract one page."""
        pipe = _pipe(self.process.stdin)
        pipe.write(json.dumps({"url": case.url, "html": case.html}).encode() + b"\n")
        pipe.flush()
        answer = self._answer()
        self.errors += bool(answer["error"])
        return answer

    def take(self, case: Case) -> None:
        """Extract one page and record the figures."""
        answer = self.ask(case)
        if case.way:
            self.examples_ms.append(answer["cpu_ms"])
            self.correct[case.way] = self.correct.get(case.way, 0) + (case.types <= set(answer["types"][case.way]))
        else:
            self.pages_ms.append(answer["cpu_ms"])

    def end(self) -> None:
        _pipe(self.process.stdin).close()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait(10)

    def _answer(self) -> dict[str, Any]:
        line = _pipe(self.process.stdout).readline()
        ensure(bool(line), f"{self.name} ended in the middle of its work")
        answer: dict[str, Any] = json.loads(line)
        return answer


def _pipe(pipe: IO[bytes] | None) -> IO[bytes]:
    assert pipe is not None
    return pipe


def install_peer() -> None:
    """Install extruct into its own environment."""
    python = str(HOME / "bin" / "python")
    if not Path(python).exists():
        HOME.parent.mkdir(exist_ok=True)
        venv.create(HOME, with_pip=True)
        subprocess.run([python, "-m", "pip", "install", "-q", "--upgrade", "pip"], check=False)
    if subprocess.run([python, "-c", "import extruct"], capture_output=True, check=False).returncode:
        subprocess.run([python, "-m", "pip", "install", "-q", *PACKAGES], check=True)


def examples() -> Iterator[Case]:
    """schema.org's examples, one case for each syntax of an example."""
    for case in json.loads(CORPUS.read_text(encoding="utf-8"))["cases"]:
        if case["jsonld_valid"]:
            text = case["jsonld"]
            html = text if "<script" in text else f'<script type="application/ld+json">{text}</script>'
            yield Case(PAGE, html, "json-ld", frozenset(named_types(case["jsonld_types"])))
        for way, attribute in (("microdata", "itemtype"), ("rdfa", "typeof")):
            if case[way]:
                yield Case(PAGE, case[way], way, frozenset(written_types(case[way], attribute)))


def real_pages(count: int) -> Iterator[Case]:
    """Real pages of all types."""
    return (Case(page.url, page.html) for page in sample(count)) if REAL_PAGES.exists() else iter(())


def run(pages: int) -> tuple[list[Contender], dict[str, int]]:
    """Run all contenders over all pages; return them and the number of cases by syntax."""
    cases = list(examples())
    counts = {way: sum(case.way == way for case in cases) for way in ("json-ld", "microdata", "rdfa")}
    with ExitStack() as stack:
        contenders = []
        for name in NAMES:
            contenders.append(Contender.start(name))
            stack.callback(contenders[-1].end)
            for case in cases[:WARM_UP]:
                contenders[-1].ask(case)
        for case in cases:
            for contender in contenders:
                contender.take(case)
        for case in real_pages(pages):
            for contender in contenders:
                contender.take(case)
    return contenders, counts


def report(contenders: list[Contender], counts: dict[str, int]) -> dict[str, Any]:
    """Print the table and return it as data."""
    heads = "".join(f"{f'{way} /{count}':>16}" for way, count in counts.items())
    print(f"\n{'':<15}{heads}{'example ms':>12}{'page ms':>10}{'errors':>8}")
    for c in contenders:
        correct = "".join(f"{c.correct.get(way, 0):>16}" for way in counts)
        page = f"{statistics.fmean(c.pages_ms):>10.3f}" if c.pages_ms else f"{'-':>10}"
        print(f"{c.name:<15}{correct}{statistics.fmean(c.examples_ms):>12.3f}{page}{c.errors:>8}  {c.version}")
    ours, peers = contenders[:2], contenders[2:]
    for peer in peers:
        for c in ours:
            ratios = [sum(peer.examples_ms) / sum(c.examples_ms)]
            ratios += [sum(peer.pages_ms) / sum(c.pages_ms)] if c.pages_ms else []
            listed = ", ".join(f"{ratio:.1f}" for ratio in ratios)
            print(f"{peer.name} takes {listed} times the CPU of {c.name} (examples, pages); required: {REQUIRED_RATIO:.0f}")
    return {
        c.name: {
            "found": c.correct,
            "example_ms": statistics.fmean(c.examples_ms),
            "page_ms": statistics.fmean(c.pages_ms) if c.pages_ms else None,
            "errors": c.errors,
            "version": c.version,
        }
        for c in contenders
    }


def main() -> None:
    parser = argparse.ArgumentParser(description="Structured data: Sitelore against extruct")
    parser.add_argument("--pages", type=int, default=150, help="about this many real pages")
    parser.add_argument("--json", type=Path, help="leave the figures in this file as well")
    arguments = parser.parse_args()
    ensure(CORPUS.exists(), f"the corpus is not on this machine: {CORPUS.name} (set SITELORE_CORPORA)")
    compileall.compile_dir(ROOT / "src", quiet=2)
    install_peer()
    data = report(*run(arguments.pages))
    if arguments.json:
        arguments.json.write_text(json.dumps(data, indent=1))


if __name__ == "__main__":
    main()
