"""HTTP first, the browser when it is needed: decided from settings, what is known of site and page, and what HTTP brought.

Most pages never come near a browser: what HTTP brought is the page. One that is a shell (`extract/shell.py`) is asked for once
more through the browser. What that teaches takes effect between runs only, so that within a run nothing depends on the order of
visits or on the number of workers: a page that needed the browser goes straight there in later runs, and on a site of which
nearly every page did, so do pages that are new. Sites change: every tenth run asks over HTTP first again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from sitelore.model.frontier import Kind, Lease
from sitelore.model.rendering import IN_BROWSER, NEEDED, RenderDecision, RenderNote, RenderReason, Shell, SiteRendering
from sitelore.model.settings import CrawlSettings, RenderMode
from sitelore.model.url import Url

SURE = 1.0
"""The weight of evidence from which on a page is a shell."""
RECHECK_RUNS = 10
_LEARNT_PAGES = 3
_LEARNT_SHARE = 0.9
_NO_PAGES = frozenset({
    "7z", "atom", "avi", "bmp", "bz2", "css", "csv", "doc", "docx", "epub", "gif", "gz", "ico", "ics", "jpeg", "jpg",
    "js", "json", "md", "mov", "mp3", "mp4", "odp", "ods", "odt", "ogg", "pdf", "png", "ppt", "pptx", "rar", "rdf",
    "rss", "rtf", "svg", "tar", "tgz", "tif", "tiff", "tsv", "txt", "wav", "webm", "webp", "xls", "xlsx", "xml", "xz",
    "yaml", "yml", "zip",
})  # fmt: skip
_ASKED = IN_BROWSER - NEEDED
_EARLIER = "an earlier visit of this URL needed a browser"


@dataclass(frozen=True, slots=True)
class RenderPolicy:
    """One run's rules. Whether there is a browser on this machine is asked only where it matters."""

    settings: CrawlSettings
    site: SiteRendering
    has_browser: Callable[[], bool]
    _modes: dict[str, tuple[RenderMode, bool]] = field(default_factory=dict)

    def mode(self, url: Url) -> tuple[RenderMode, bool]:
        """The mode that counts for a URL, and whether it is its domain's own."""
        if not self.settings.overrides:
            return self.settings.rendering.mode, False
        host = url.host
        if host not in self._modes:
            own = [rules for rules in self.settings.overrides if rules.render is not None and _is_for(rules.domain, host)]
            nearest = max(own, key=lambda rules: len(rules.domain), default=None)
            said = nearest.render if nearest is not None else None
            self._modes[host] = (said, True) if said is not None else (self.settings.rendering.mode, False)
        return self._modes[host]

    def at_once(self, lease: Lease) -> RenderDecision | None:
        """The browser without asking over HTTP first; None: HTTP first."""
        mode, is_own = self.mode(lease.url)
        if mode is RenderMode.NEVER or lease.kind is not Kind.PAGE:
            return None
        found = RenderDecision(True, *_asked(is_own)) if mode is RenderMode.ALWAYS else self._from_memory(lease)
        return found if found is not None and _may_be_page(lease.url) and self.has_browser() else None

    def _from_memory(self, lease: Lease) -> RenderDecision | None:
        known, site = lease.known, self.site
        if self.settings.force or (site.runs > 0 and site.runs % RECHECK_RUNS == 0):
            return None
        if known is not None:
            return RenderDecision(True, RenderReason.KNOWN_PAGE, (_EARLIER,)) if known.render_reason in NEEDED else None
        if site.browser >= _LEARNT_PAGES and site.browser >= _LEARNT_SHARE * (site.browser + site.http):
            told = f"{site.browser} of {site.browser + site.http} pages of the last run needed a browser"
            return RenderDecision(True, RenderReason.KNOWN_SITE, (told,))
        return None

    def over_http(self, url: Url) -> RenderDecision:
        """What is said of a page that came over HTTP, unless `after_reading` knows better."""
        mode, is_own = self.mode(url)
        if mode is RenderMode.NEVER:
            return RenderDecision(False, RenderReason.OVERRIDE if is_own else RenderReason.NEVER)
        return RenderDecision()

    def after_reading(self, lease: Lease, shell: Shell) -> RenderDecision:
        """Whether what HTTP brought will do."""
        mode, is_own = self.mode(lease.url)
        if mode is RenderMode.NEVER:
            return self.over_http(lease.url)
        if mode is RenderMode.ALWAYS:
            reason, evidence = _asked(is_own)
        elif shell.weight >= SURE:
            reason, evidence = RenderReason.SHELL, shell.evidence
        else:
            return RenderDecision()
        if not self.has_browser():
            return RenderDecision(False, RenderReason.NO_BROWSER, evidence)
        return RenderDecision(True, reason, evidence)

    def after_no_change(self, lease: Lease) -> RenderDecision:
        """A 304 says of a shell that it is the same shell, and nothing of what scripts put into it."""
        known = lease.known
        if known is None or known.render_reason not in NEEDED or self.mode(lease.url)[0] is RenderMode.NEVER:
            return RenderDecision()
        if not self.has_browser():
            return RenderDecision()
        return RenderDecision(True, RenderReason.KNOWN_PAGE, (_EARLIER, "what scripts fill in has not changed itself"))


def failed(decision: RenderDecision, why: str) -> RenderDecision:
    """The browser was wanted and could not do it."""
    return RenderDecision(False, RenderReason.FAILED, (*decision.evidence, f"the browser could not: {why}"))


def asks_unconditionally(reason: RenderReason | None) -> bool:
    """A page that somebody wanted to see through a browser may be a shell: nobody knows what its validators stand for."""
    return reason in _ASKED


def noted(decision: RenderDecision) -> RenderNote | None:
    """What the ledger keeps of a decision: nothing where HTTP brought the page, or nobody wanted to look."""
    if decision.wanted or decision.reason in {RenderReason.NO_BROWSER, RenderReason.FAILED}:
        return RenderNote(decision.reason, decision.evidence)
    return None


def _asked(is_own: bool) -> tuple[RenderReason, tuple[str, ...]]:
    if is_own:
        return RenderReason.OVERRIDE, ("the domain's own rules say so",)
    return RenderReason.ALWAYS, ("the settings say so",)


def _may_be_page(url: Url) -> bool:
    """Files are for HTTP: a browser would show them in a viewer of its own, or download them."""
    name, dot, ending = url.path.rpartition("/")[2].rpartition(".")
    return not dot or not name or ending.lower() not in _NO_PAGES


def _is_for(domain: str, host: str) -> bool:
    domain = domain.lower().strip(".")
    return not domain or host == domain or host.endswith("." + domain)
