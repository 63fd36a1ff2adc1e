"""Between waves and at the end: recover lost leases, merge by proof, open the next wave, complete the run.

Safe from any number of processes at once: opening a wave is a compare-and-set, ending a run is a move that only one makes.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from functools import partial

from sitelore.crawl.stored import share_of_words
from sitelore.crawl.tools import Tools
from sitelore.frontier.merging import SIMILAR
from sitelore.frontier.waves import plan_wave
from sitelore.model.ids import RunId
from sitelore.model.states import ENDED, RunState
from sitelore.model.url import Url
from sitelore.ports import Blobs, Ledger

_WAIT_S = 0.25


class Tending(Enum):
    """What a look at the run led to."""

    WAITING = "waiting"
    OPENED = "opened"
    ENDED = "ended"


@dataclass(frozen=True, slots=True)
class Tended:
    """What happened, and after how long another look is worthwhile."""

    what: Tending
    wait_s: float = 0.0
    admitted: int = 0


async def tend(run_id: RunId, ledger: Ledger, tools: Tools) -> Tended:
    """One maintenance cycle of one run."""
    run = await ledger.run(run_id)
    if run is None or run.state in ENDED:
        return Tended(Tending.ENDED)
    now = tools.clock()
    if await ledger.release(run_id, now):
        return Tended(Tending.WAITING)
    pulse = await ledger.pulse(run_id, now)
    if pulse.ready:
        return Tended(Tending.WAITING)
    if pulse.waiting or pulse.in_progress:
        next_at = pulse.next_retry_at
        return Tended(Tending.WAITING, wait_s=_WAIT_S if next_at is None else max(0.01, min(next_at - now, _WAIT_S)))
    agreed = await _agreed(run_id, run.wave, ledger, tools.blobs)
    opened = await ledger.open_wave(run_id, run.wave, partial(plan_wave, agreed=agreed))
    if opened is None:
        return Tended(Tending.WAITING, wait_s=0.01)
    if opened.admitted:
        return Tended(Tending.OPENED, admitted=opened.admitted)
    return await _complete(run_id, ledger, tools)


async def _complete(run_id: RunId, ledger: Ledger, tools: Tools) -> Tended:
    """A run ends when nothing waits over two looks in a row, never because it once looked empty."""
    pulse = await ledger.pulse(run_id, tools.clock())
    if pulse.ready or pulse.waiting or pulse.in_progress:
        return Tended(Tending.WAITING)
    await ledger.finish_rows(run_id, tools.clock())
    await ledger.move_run(run_id, RunState.COMPLETED, tools.clock())
    return Tended(Tending.ENDED)


async def _agreed(run_id: RunId, wave: int, ledger: Ledger, blobs: Blobs) -> frozenset[tuple[Url, Url]]:
    """Canonical links between pages whose content is not equal but nearly so."""
    agreed = set()
    for page, target in await ledger.canonical_claims(run_id, wave):
        if page.document is None or target.document is None:
            continue
        if await share_of_words(blobs, page.document, target.document) >= SIMILAR:
            agreed.add((page.url, target.url))
    return frozenset(agreed)
