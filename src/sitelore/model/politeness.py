"""Constants and rules of the per-host rate limit, for `frontier/gate.py` (one process) and `store/redis/gate.py` (several)."""

from __future__ import annotations

import ipaddress
from functools import lru_cache

from sitelore.model.response import Failure
from sitelore.model.settings import Pace

LATENCY_SHARE = 0.5
LATENCY_WEIGHT = 0.3
SHORTEST_GAP_S = 0.1
LONGEST_GAP_S = 5.0
FIRST_COOLDOWN_S = 0.5
LONGEST_COOLDOWN_S = 5.0
STREAK = 5
CLOSED_AFTER_S = 0.5
IGNORED_RETRY_AFTER_S = 86_400.0
SHORTEST_WAIT_S = 0.0001
SLOT_WAIT_S = (0.005, 0.05)

BUSY = frozenset({408, 429, 503})
STRAINED = frozenset({Failure.TIMEOUT, Failure.CONNECTION})


def fixed_gap_s(host: str, pace: Pace) -> float | None:
    """The gap that the settings fix regardless of the host's response time; None where it adapts."""
    if pace.delay_s is not None:
        return pace.delay_s + _allowance_s(pace.delay_s)
    return 0.0 if is_private_host(host) else None


def _allowance_s(delay_s: float) -> float:
    """Added because requests take unequal time to reach the host: the gap counts as the host sees it."""
    return min(0.0005 + 0.02 * delay_s, 0.002) if delay_s > 0 else 0.0


@lru_cache(maxsize=4096)
def is_private_host(authority: str) -> bool:
    """Whether an authority names this machine or an address in a private network."""
    host = authority[1 : authority.index("]")] if authority.startswith("[") else authority.partition(":")[0]
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    return address.is_loopback or address.is_private or address.is_link_local
