"""Explains why a URL was crawled or not: every check a URL passes, with its rule and result, read from the ledger."""

from __future__ import annotations

from dataclasses import dataclass

from sitelore.fetch.guard import AddressGuard
from sitelore.fetch.robots import PRODUCT
from sitelore.fetch.robots_rules import RobotsRules
from sitelore.frontier.render_policy import RenderPolicy
from sitelore.frontier.scope import Pattern, ScopeRule
from sitelore.frontier.url_pattern import endless, url_pattern
from sitelore.model.frontier import Run, RunListing, UrlRow
from sitelore.model.response import RenderNote, RenderReason, RobotsFile
from sitelore.model.settings import CrawlSettings, RenderMode
from sitelore.model.states import SkipReason, UrlState
from sitelore.model.url import Url
from sitelore.ports import Ledger


@dataclass(frozen=True, slots=True)
class GateResult:
    """The result of one check. `passed` is None when the check was not reached or does not apply."""

    gate: str
    passed: bool | None
    rule: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Explanation:
    """A URL, the run in question, its row if there is one, and the result of every check."""

    url: Url
    run: Run
    row: UrlRow | None
    gates: tuple[GateResult, ...]


_BEFORE_BUDGET = frozenset({SkipReason.SCOPE, SkipReason.EXCLUDED, SkipReason.ADDRESS, SkipReason.DEPTH, SkipReason.SECRET})


_SEARCHED_RUNS = 100


async def run_that_knows(url: Url, ledger: Ledger) -> Run | None:
    """The latest run with a row for this URL, else the latest run of its host, else the latest run."""
    runs, _ = await ledger.list_runs(RunListing(limit=_SEARCHED_RUNS))
    for run in runs:
        if await ledger.row(run.id, url) is not None:
            return run
    return next((run for run in runs if _starts_at_host(run, url)), next(iter(runs), None))


def _starts_at_host(run: Run, url: Url) -> bool:
    seeds = (Url.parse(seed) for seed in (*run.settings.seeds, *run.settings.sitemaps))
    return any(seed is not None and seed.host == url.host for seed in seeds)


async def unmatched_includes(ledger: Ledger, run: Run) -> list[str]:
    """The include patterns that no URL of the run matches."""
    patterns = {text: Pattern(text) for text in run.settings.include if text.strip()}
    if not patterns:
        return []
    async for row in ledger.rows(run.id):
        for text in [text for text, pattern in patterns.items() if pattern.matches(row.url, row.url.target)]:
            del patterns[text]
    return list(patterns)


async def explain(url: Url, run: Run, ledger: Ledger) -> Explanation:
    """Evaluate every check in the order in which a crawl applies them."""
    row = await ledger.row(run.id, url)
    settings = run.settings
    robots = await ledger.robots(url.origin)
    gates = (
        _discovery(row),
        _address(url, settings),
        _scope(url, run),
        _depth(row, settings),
        _trap(url, row, settings),
        _budget(row, settings),
        _robots(url, robots, settings),
        _rendering(url, row, run),
        _outcome(row),
    )
    return Explanation(url, run, row, gates)


def _discovery(row: UrlRow | None) -> GateResult:
    if row is None:
        return GateResult("discovered", False, "a seed, page or sitemap contains the URL", "not discovered in this run")
    where = f"found on {row.parent}" if row.parent else "given as a seed"
    return GateResult("discovered", True, f"source: {row.source}", f"{where}, depth {row.depth}")


def _address(url: Url, settings: CrawlSettings) -> GateResult:
    guard = AddressGuard(settings.open_origins, settings.allow_private)
    why = guard.judge_url(url)
    return GateResult("address", why is None, "private addresses must be allowed", why or "checked again at every connection")


def _scope(url: Url, run: Run) -> GateResult:
    out = ScopeRule(run.settings, run.joined_hosts).refusal(url)
    rule = f"scope {run.settings.scope}"
    if run.settings.include or run.settings.exclude:
        rule += f", {len(run.settings.include)} include and {len(run.settings.exclude)} exclude patterns"
    return GateResult("scope", out is None, rule, out[1] if out else "")


def _depth(row: UrlRow | None, settings: CrawlSettings) -> GateResult:
    limit = settings.max_depth
    if row is None or limit is None:
        return GateResult("depth", None if row is None else True, "no limit" if limit is None else f"at most {limit}")
    return GateResult("depth", row.depth <= limit, f"at most {limit}", f"depth {row.depth}")


def _trap(url: Url, row: UrlRow | None, settings: CrawlSettings) -> GateResult:
    if not settings.detect_traps:
        return GateResult("trap", None, "trap detection is off")
    reason = endless(url)
    if row is not None and row.skip_reason is SkipReason.TRAP:
        reason = row.detail
    return GateResult("trap", reason is None, f"URL pattern {url_pattern(url)}", reason or "")


def _budget(row: UrlRow | None, settings: CrawlSettings) -> GateResult:
    rule = "no limit" if settings.max_pages is None else f"at most {settings.max_pages} pages"
    if row is None or row.skip_reason in _BEFORE_BUDGET:
        return GateResult("budget", None, rule)
    if row.skip_reason is SkipReason.BUDGET:
        return GateResult("budget", False, rule, "the page limit was reached before")
    admitted = f"admitted as number {row.seq} in wave {row.wave}" if row.seq is not None else "not admitted"
    return GateResult("budget", row.seq is not None, rule, admitted)


def _robots(url: Url, file: RobotsFile | None, settings: CrawlSettings) -> GateResult:
    if not settings.obey_robots:
        return GateResult("robots", None, "robots.txt is ignored in this run")
    if file is None:
        return GateResult("robots", None, f"{url.origin}/robots.txt", "not fetched")
    if file.status in {0, 429} or file.status >= 500:
        return GateResult(
            "robots",
            False,
            f"{url.origin}/robots.txt",
            f"could not be read ({str(file.detail or file.status).rstrip('.')}): nothing may be fetched",
        )
    if file.status >= 400:
        return GateResult("robots", True, f"{url.origin}/robots.txt", f"HTTP {file.status}: everything is allowed")
    verdict = RobotsRules.parse(file.body).judge(url.target, (PRODUCT, *settings.robots_agents))
    if not verdict.line:
        return GateResult("robots", verdict.allowed, f"{url.origin}/robots.txt", "no rule matches")
    return GateResult("robots", verdict.allowed, f"line {verdict.line}: {verdict.rule}", f"for agent {verdict.agent or '*'}")


def _rendering(url: Url, row: UrlRow | None, run: Run) -> GateResult:
    """Whether a browser rendered the page, and why. This check stops nothing: a page is kept either way."""
    mode, is_own = RenderPolicy(run.settings, run.site_rendering, bool).mode(url)
    rule = f"mode {mode}" + (", by the domain's own rules" if is_own else "")
    if row is None or row.document is None:
        return GateResult("rendering", None, rule)
    note = row.render
    if note is None:
        why = RenderReason.NEVER if mode is RenderMode.NEVER else RenderReason.STATIC
        return GateResult("rendering", True, rule, f"fetched over HTTP ({why})")
    fetched = "rendered in a browser" if note.in_browser else "fetched over HTTP"
    if row.state is not UrlState.VISITED:
        return GateResult("rendering", True, rule, f"unchanged since it was {fetched} ({note.reason})")
    detail = "; ".join((f"{fetched} ({note.reason})", *note.evidence, *_measures(note)))
    return GateResult("rendering", note.in_browser, rule, detail)


def _measures(note: RenderNote) -> tuple[str, ...]:
    metrics = note.metrics
    if metrics is None:
        return ()
    return (f"{metrics.elapsed_s:.2f} s, {metrics.nodes} nodes, {metrics.requests} requests, {metrics.blocked} blocked",)


def _outcome(row: UrlRow | None) -> GateResult:
    if row is None:
        return GateResult("outcome", None, "not in this run")
    parts = [f"HTTP {row.status_code}" if row.status_code else "", row.detail, row.error]
    if row.skip_reason:
        parts.insert(0, f"reason: {row.skip_reason}")
    if row.state is UrlState.ALIAS:
        parts.insert(0, f"alias of {row.final_url} by {row.proof}")
    reached = row.state not in {UrlState.SKIPPED, UrlState.FAILED}
    return GateResult("outcome", reached, str(row.state), "; ".join(part for part in parts if part))
