"""Collections of cases that are not part of this repository: annotated pages, suites of other projects, search judgements.

Tests that need one are skipped where it is absent, and the last lines of a test run say how many. Every behaviour that they
check also has cases in this repository.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

CORPORA = Path(os.environ.get("SITELORE_CORPORA", str(Path(__file__).parents[3] / "shared" / "corpora")))
SHARED = Path(os.environ.get("SITELORE_SHARED", str(CORPORA.parent)))
ABSENT = "corpora not present"


def corpus(name: str) -> Path:
    """A file or folder of the corpora; skips the test where it is absent."""
    return present(CORPORA / name, name.partition("/")[0])


def shared(name: str) -> Path:
    """A file of the folder that holds the corpora; skips the test where it is absent."""
    return present(SHARED / name, name.partition("/")[0])


def present(path: Path, label: str = "") -> Path:
    """The path of a file or folder; skips the test where it is absent."""
    if not path.exists():
        pytest.skip(f"{ABSENT}: {label or path.name}")
    return path
