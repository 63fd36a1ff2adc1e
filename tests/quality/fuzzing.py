"""Reads generated documents in a separate process with limits, and returns the outcome of each. Not a test."""

from __future__ import annotations

import hashlib
import json
import lzma
import resource
import signal
import time
import traceback
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from tests.quality.documents import generate

from sitelore.extract.page import read
from sitelore.model.document import ReadOptions
from sitelore.model.settings import Overrides

_ADDRESS_SPACE = 2 * 2**30
_GIVE_UP_S = 8.0
"""CPU seconds after which reading a document counts as endless."""
_REAL_PAGES = 40
_REAL_CHARS = range(2_000, 120_000)
_OPTIONS = (
    ReadOptions(facts=True),
    ReadOptions(full=False),
    ReadOptions(dropped_parameters=("b", "x*"), obey_nofollow=False),
    ReadOptions(overrides=(Overrides("site.example", ("article", ".entry-content"), ("nav", "[hidden]", "p:empty")),)),
)
_REAL: list[str] = []


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of reading one document."""

    seed: int
    kind: str
    size: int
    cpu_s: float
    digest: str
    problem: str
    error: str
    """A traceback; empty without an error."""


class NeverEnds(BaseException):
    """Raised while a document is read. Not an `Exception`, so that no handler in the reader catches it."""


def _ring(signum: int, frame: FrameType | None) -> None:
    raise NeverEnds


def prepare(corpus: Path | None) -> None:
    """Limit this process and load the pages to mutate: the first ones of the corpus that are neither tiny nor huge."""
    resource.setrlimit(resource.RLIMIT_AS, (_ADDRESS_SPACE, _ADDRESS_SPACE))
    signal.signal(signal.SIGPROF, _ring)
    _REAL.clear()
    if corpus is None:
        return
    with lzma.open(corpus, "rt", encoding="utf-8") as lines:
        for line in lines:
            html = json.loads(line)["html"]
            if len(html) in _REAL_CHARS:
                _REAL.append(html)
            if len(_REAL) == _REAL_PAGES:
                break


def outcomes(seeds: list[int]) -> list[Outcome]:
    """Read the documents of these seeds in this order."""
    return [_outcome(seed) for seed in seeds]


def _outcome(seed: int) -> Outcome:
    document = generate(seed, _REAL)
    digest = problem = error = ""
    began = time.process_time()
    signal.setitimer(signal.ITIMER_PROF, _GIVE_UP_S)
    try:
        reading = read(document.response, _OPTIONS[seed % len(_OPTIONS)])
        digest = hashlib.sha256(repr(reading).encode("utf-8", "replace")).hexdigest()
        problem = reading.problem
    except BaseException:  # noqa: BLE001 whatever a document can make the reader raise is what is looked for
        error = traceback.format_exc(limit=-6)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    return Outcome(seed, document.kind, len(document.response.body), time.process_time() - began, digest, problem, error)


def peak_mb() -> float:
    """The peak memory of this process."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM"):
            return int(line.split()[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
