"""Durations as users write them: `90s`, `30m`, `24h`, `7d`, `1h30m`."""

from __future__ import annotations

import re

from sitelore.model.errors import UsageError

_DURATION = re.compile(r"(?:\d+(?:\.\d+)?[smhdw])+")
_DURATION_PART = re.compile(r"(\d+(?:\.\d+)?)([smhdw])")
_UNIT_S = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}


def parse_duration(text: str, option: str) -> float:
    """`24h`, `30m`, `7d`, `1h30m` in seconds. An error names the option, or the variable, that has the value."""
    compact = text.replace(" ", "").lower()
    if not _DURATION.fullmatch(compact):
        raise UsageError(f"{option}: invalid duration {text!r} (use 90s, 30m, 24h or 7d)")
    return sum(float(amount) * _UNIT_S[unit] for amount, unit in _DURATION_PART.findall(compact))
