"""Which part of the corpus a page belongs to when a scorer is validated: by domain, so that no site is in two parts.

Training leaves the weights that never saw fold N in `.bench/folds/N.*`; `bench.content --cross-validated` reads each page with
the weights of its own fold.
"""

from __future__ import annotations

import sys
from hashlib import blake2b
from pathlib import Path
from urllib.parse import urlsplit

from bench.content_scores import ROOT
from publicsuffixlist import PublicSuffixList

FOLDS = 5
FOLDER = ROOT / ".bench" / "folds"
_SUFFIXES = PublicSuffixList()


def domain_of(url: str) -> str:
    """The registrable domain: `docs.example.co.uk` and `example.co.uk` are one site."""
    host = (urlsplit(url).hostname or "").lower()
    return _SUFFIXES.privatesuffix(host) or host


def fold_of(url: str) -> int:
    """0 to FOLDS-1, the same for all pages of a domain and on every machine."""
    return int.from_bytes(blake2b(domain_of(url).encode(), digest_size=8).digest(), "big") % FOLDS


def weights_of(url: str) -> Path:
    """The weights that were trained without this page's domain."""
    found = sorted(FOLDER.glob(f"{fold_of(url)}.*"))
    if not found:
        sys.exit(f"bench: there are no weights for fold {fold_of(url)} in {FOLDER}; train them first")
    return found[0]
