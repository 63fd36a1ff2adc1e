"""Executes the declared actions of a domain on a page, before it is read: click, scroll to the end, load more, wait.

A page cannot use them to get out: while they run, no navigation of the main frame is allowed, and whatever they load passes the
address guard like the page itself.
"""

from __future__ import annotations

import json
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

from sitelore.fetch.browser.navigation import Navigation
from sitelore.model.settings import ActionKind, PageAction

ACTIONS_S = 10.0
"""How much longer than its own time limit a page with actions may take."""
_WAIT_S = 4.0
_NO_ELEMENT = "no visible element matches"

_CLICK = """
((selector) => {
  const isUsable = (element) => element.getClientRects().length > 0 && !element.disabled;
  const element = Array.from(document.querySelectorAll(selector)).find(isUsable);
  if (!element) return false;
  element.scrollIntoView({ block: "center", behavior: "instant" });
  element.click();
  return true;
})(SELECTOR)
"""
_WAIT = """
((selector, limit) => new Promise((resolve) => {
  const startedAt = performance.now();
  const look = () => {
    const isShown = Array.from(document.querySelectorAll(selector)).some((element) => element.getClientRects().length > 0);
    if (isShown || performance.now() - startedAt >= limit) return resolve(isShown);
    setTimeout(look, 50);
  };
  look();
}))(SELECTOR, LIMIT)
"""
_COUNT_NODES = "document.getElementsByTagName('*').length"


@dataclass(frozen=True, slots=True)
class ActionRunner:
    """Runs actions in one tab, through the tab's own bounded steps."""

    evaluate: Callable[[str], Awaitable[Any]]
    """The value of a script in the page's isolated world; None when it threw."""
    settle: Callable[[float], Awaitable[Any]]
    """Waits until the page is idle, at the latest at a time."""
    scroll: Callable[[float], Awaitable[None]]
    """Scrolls to the end for as long as the page grows."""
    navigation: Navigation

    async def run(self, actions: Sequence[PageAction], deadline: float) -> tuple[str, ...]:
        """Execute the actions in order. Returns what did not work, a sentence for each such action."""
        problems = []
        self.navigation.is_pinned = True
        try:
            for number, action in enumerate(actions, 1):
                left_before = self.navigation.pinned_refusals
                problem = await self._run(action, deadline) if time.perf_counter() < deadline else "the time limit has passed"
                if self.navigation.pinned_refusals > left_before:
                    problem = "it leads to another page, which was not opened"
                if problem:
                    problems.append(f"action {number} ({action.kind} {action.target!r}): {problem}")
        finally:
            self.navigation.is_pinned = False
        return tuple(problems)

    async def _run(self, action: PageAction, deadline: float) -> str:
        if action.kind is ActionKind.SCROLL:
            await self.scroll(deadline)
            return ""
        selector = json.dumps(action.target)
        if action.kind is ActionKind.WAIT:
            limit_ms = 1e3 * max(0.0, min(_WAIT_S, deadline - time.perf_counter()))
            shown = await self.evaluate(_WAIT.replace("SELECTOR", selector).replace("LIMIT", f"{limit_ms:.0f}"))
            return "" if shown else f"{_NO_ELEMENT} within {_WAIT_S:.0f} s"
        for clicks in range(action.times):
            nodes = await self.evaluate(_COUNT_NODES)
            if not await self.evaluate(_CLICK.replace("SELECTOR", selector)):
                return "" if clicks else _NO_ELEMENT
            await self.settle(deadline)
            if time.perf_counter() >= deadline or await self.evaluate(_COUNT_NODES) == nodes:
                break  # nothing more comes
        return ""
