"""Decides whether a page is fetched over HTTP or rendered in the browser: HTTP first, the browser only when needed.

A page whose HTTP body is only a shell for scripts (`extract/app_shell.py`) is fetched again in the browser. Later runs use what
was learnt: a page that needed the browser is rendered directly, and on a site where nearly every page did, so are new pages.
Learning takes effect between runs only, so that results do not depend on the order of visits or the number of workers. Every
tenth run tries HTTP first again, because sites change.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from sitelore.model.frontier import Lease, RowKind
from sitelore.model.response import IN_BROWSER, NEEDED, RenderDecision, RenderNote, RenderReason, Shell, SiteRendering
from sitelore.model.settings import CrawlSettings, PageAction, RenderMode, rules_for
from sitelore.model.url import Url

SHELL_WEIGHT = 1.0
"""The weight of evidence from which a page counts as a shell."""
RECHECK_RUNS = 10
_MIN_LEARNT_PAGES = 3
_MIN_LEARNT_SHARE = 0.9
_FILE_EXTENSIONS = frozenset({
    "7z", "atom", "avi", "bmp", "bz2", "css", "csv", "doc", "docx", "epub", "gif", "gz", "ico", "ics", "jpeg", "jpg",
    "js", "json", "md", "mov", "mp3", "mp4", "odp", "ods", "odt", "ogg", "pdf", "png", "ppt", "pptx", "rar", "rdf",
    "rss", "rtf", "svg", "tar", "tgz", "tif", "tiff", "tsv", "txt", "wav", "webm", "webp", "xls", "xlsx", "xml", "xz",
    "yaml", "yml", "zip",
})  # fmt: skip
_REQUESTED = IN_BROWSER - NEEDED
_EARLIER_VISIT = "an earlier visit of this URL needed a browser"


@dataclass(frozen=True, slots=True)
class RenderPolicy:
    """The rendering rules of one run. `has_browser` is called only when the answer matters."""

    settings: CrawlSettings
    site: SiteRendering
    has_browser: Callable[[], bool]
    _modes: dict[str, tuple[RenderMode, bool]] = field(default_factory=dict)

    def mode(self, url: Url) -> tuple[RenderMode, bool]:
        """The rendering mode of a URL, and whether it comes from the overrides of its domain."""
        if not self.settings.overrides:
            return self.settings.rendering.mode, False
        host = url.host
        if host not in self._modes:
            nearest = rules_for([rules for rules in self.settings.overrides if rules.render or rules.actions], host)
            mode = None if nearest is None else RenderMode.ALWAYS if nearest.actions else nearest.render
            self._modes[host] = (mode, True) if mode is not None else (self.settings.rendering.mode, False)
        return self._modes[host]

    def actions(self, url: Url) -> tuple[PageAction, ...]:
        """What is done on a page in the browser before it is read."""
        rules = rules_for(self.settings.overrides, url.host) if self.settings.overrides else None
        return rules.actions if rules is not None else ()

    def before_fetch(self, lease: Lease) -> RenderDecision | None:
        """The decision to render without trying HTTP; None: HTTP first."""
        mode, is_own = self.mode(lease.url)
        if mode is RenderMode.NEVER or lease.kind is not RowKind.PAGE:
            return None
        decision = RenderDecision(True, *_requested(is_own)) if mode is RenderMode.ALWAYS else self._learnt(lease)
        return decision if decision is not None and _may_be_page(lease.url) and self.has_browser() else None

    def _learnt(self, lease: Lease) -> RenderDecision | None:
        known, site = lease.known, self.site
        if self.settings.force or (site.runs > 0 and site.runs % RECHECK_RUNS == 0):
            return None
        if known is not None:
            return RenderDecision(True, RenderReason.KNOWN_PAGE, (_EARLIER_VISIT,)) if known.render_reason in NEEDED else None
        if site.browser >= _MIN_LEARNT_PAGES and site.browser >= _MIN_LEARNT_SHARE * (site.browser + site.http):
            evidence = f"{site.browser} of {site.browser + site.http} pages of the last run needed a browser"
            return RenderDecision(True, RenderReason.KNOWN_SITE, (evidence,))
        return None

    def over_http(self, url: Url) -> RenderDecision:
        """The record of a page that was fetched over HTTP, before `after_reading` decides."""
        mode, is_own = self.mode(url)
        if mode is RenderMode.NEVER:
            return RenderDecision(False, RenderReason.OVERRIDE if is_own else RenderReason.NEVER)
        return RenderDecision()

    def after_reading(self, lease: Lease, shell: Shell) -> RenderDecision:
        """Whether the extracted HTTP body is good enough, or the page must be rendered."""
        mode, is_own = self.mode(lease.url)
        if mode is RenderMode.NEVER:
            return self.over_http(lease.url)
        if mode is RenderMode.ALWAYS:
            reason, evidence = _requested(is_own)
        elif shell.weight >= SHELL_WEIGHT:
            reason, evidence = RenderReason.SHELL, shell.evidence
        else:
            return RenderDecision()
        if not self.has_browser():
            return RenderDecision(False, RenderReason.NO_BROWSER, evidence)
        return RenderDecision(True, reason, evidence)

    def after_not_modified(self, lease: Lease) -> RenderDecision:
        """Whether to render after a 304: an unchanged shell says nothing about the content that scripts load."""
        known = lease.known
        if known is None or known.render_reason not in NEEDED or self.mode(lease.url)[0] is RenderMode.NEVER:
            return RenderDecision()
        if not self.has_browser():
            return RenderDecision()
        return RenderDecision(True, RenderReason.KNOWN_PAGE, (_EARLIER_VISIT, "the shell is unchanged, its content may not be"))


def failed(decision: RenderDecision, reason: str) -> RenderDecision:
    """The decision to use HTTP because the browser failed."""
    return RenderDecision(False, RenderReason.FAILED, (*decision.evidence, f"the browser could not: {reason}"))


def needs_full_response(reason: RenderReason | None) -> bool:
    """Whether a page must not be requested conditionally: it was rendered on request, so its HTTP body may be a shell whose
    validators say nothing about the content.
    """
    return reason in _REQUESTED


def noted(decision: RenderDecision) -> RenderNote | None:
    """The record that the ledger keeps of a decision; None for pages fetched over HTTP as intended."""
    if decision.in_browser or decision.reason in {RenderReason.NO_BROWSER, RenderReason.FAILED}:
        return RenderNote(decision.reason, decision.evidence)
    return None


def _requested(is_own: bool) -> tuple[RenderReason, tuple[str, ...]]:
    if is_own:
        return RenderReason.OVERRIDE, ("the domain's own rules say so",)
    return RenderReason.ALWAYS, ("the settings say so",)


def _may_be_page(url: Url) -> bool:
    """Whether the path may be a page: a browser would open other files in a viewer, or download them."""
    name, dot, extension = url.path.rpartition("/")[2].rpartition(".")
    return not dot or not name or extension.lower() not in _FILE_EXTENSIONS
