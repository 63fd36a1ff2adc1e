"""What the operator decides by environment, as opposed to what a person asks of one crawl (`model/settings.py`)."""

from __future__ import annotations

import os
from dataclasses import dataclass

from sitelore.model.errors import UsageError

_MAX_READERS = 64


@dataclass(frozen=True, slots=True)
class OperatorSettings:
    """Read from `SITELORE_*` variables."""

    readers: int = 1
    """`SITELORE_READERS`: processes that read documents."""


def operator_settings() -> OperatorSettings:
    """The environment as it is now."""
    text = os.environ.get("SITELORE_READERS", "1")
    if not text.isdecimal() or not 1 <= int(text) <= _MAX_READERS:
        raise UsageError(f"SITELORE_READERS is {text!r}; it takes a number from 1 to {_MAX_READERS}")
    return OperatorSettings(readers=int(text))
