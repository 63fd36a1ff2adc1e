"""Types of rendering in a browser: requests, results, decisions and what is learnt about a site."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from sitelore.model.response import Failure, Response
from sitelore.model.url import Url

if TYPE_CHECKING:
    from sitelore.model.frontier import Hop  # a circular import at run time
    from sitelore.model.settings import PageAction


class RenderReason(StrEnum):
    """Why a page was, or was not, rendered in a browser: the values of a document's `rendering.reason`."""

    ALWAYS = "always"
    """The settings require it."""
    OVERRIDE = "override"
    """The domain's overrides decide, either way."""
    KNOWN_SITE = "known_site"
    """In the last run nearly all pages of this site needed the browser."""
    KNOWN_PAGE = "known_page"
    """An earlier visit of this URL needed it."""
    SHELL = "shell"
    """The HTTP body is only a shell: a mount point for scripts, a notice, almost no text."""
    STATIC = "static"
    """The HTTP body is the page."""
    NEVER = "never"
    NO_BROWSER = "no_browser"
    """The browser was needed, but is not installed."""
    FAILED = "failed"
    """The browser was needed, but failed; the HTTP body was kept."""


@dataclass(frozen=True, slots=True)
class RenderRequest:
    """One page to render."""

    url: Url
    screenshot: bool = False
    probe: str = ""
    """A script to run in the page before it is modified; its result is `Rendered.probed`."""
    expand_frames: bool = False
    expand_shadow_roots: bool = False
    actions: tuple[PageAction, ...] = ()
    """What is done on the page before it is read."""


@dataclass(frozen=True, slots=True)
class RenderMetrics:
    """Measurements of rendering a page."""

    dom_ready_s: float = 0.0
    settled_s: float = 0.0
    elapsed_s: float = 0.0
    nodes: int = 0
    html_bytes: int = 0
    requests: int = 0
    blocked: int = 0
    """Requests that were blocked: images, fonts, media, advertisements, analytics."""
    refused: int = 0
    """Requests that the address guard, robots.txt or the scope refused."""


@dataclass(frozen=True, slots=True)
class Rendered:
    """A rendered page. `response.body` is the DOM serialised as UTF-8 HTML; the headers are those of the document."""

    response: Response
    chain: tuple[Hop, ...] = ()
    """Redirects and script navigations before the final URL."""
    metrics: RenderMetrics = RenderMetrics()
    screenshot: bytes = b""
    """JPEG; empty unless requested."""
    probed: Any = None
    action_problems: tuple[str, ...] = ()
    """Actions that did not work, a sentence for each."""


@dataclass(frozen=True, slots=True)
class RenderFailure:
    """A page that the browser could not render."""

    url: Url
    failure: Failure
    detail: str = ""
    elapsed_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Shell:
    """Evidence that scripts make the page in the browser, as sentences, and its total weight."""

    weight: float = 0.0
    """From 1.0 on the HTTP body counts as a shell, not as the page that people see."""
    evidence: tuple[str, ...] = field(default_factory=tuple)


IN_BROWSER = frozenset(
    {RenderReason.ALWAYS, RenderReason.OVERRIDE, RenderReason.KNOWN_SITE, RenderReason.KNOWN_PAGE, RenderReason.SHELL}
)
"""Reasons of a `RenderNote` with which a browser rendered the page."""
NEEDED = frozenset(
    {RenderReason.KNOWN_SITE, RenderReason.KNOWN_PAGE, RenderReason.SHELL, RenderReason.NO_BROWSER, RenderReason.FAILED}
)
"""Reasons of a `RenderNote` with which the page itself needs a browser, whatever the settings require."""


@dataclass(frozen=True, slots=True)
class RenderDecision:
    """Whether a browser renders a page, the reason, and the evidence."""

    in_browser: bool = False
    reason: RenderReason = RenderReason.STATIC
    evidence: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RenderNote:
    """The ledger's record of a page that a browser rendered, or should have. Other pages have none."""

    reason: RenderReason
    evidence: tuple[str, ...] = ()
    metrics: RenderMetrics | None = None

    @property
    def in_browser(self) -> bool:
        """Whether a browser rendered the page."""
        return self.reason in IN_BROWSER


@dataclass(frozen=True, slots=True)
class SiteRendering:
    """Rendering statistics of a site. A run uses those of its creation, so that all of its workers decide alike."""

    runs: int = 0
    """How many runs have ended."""
    browser: int = 0
    """Pages of the last run that were fetched and needed a browser."""
    http: int = 0
    """Pages of the last run that were fetched and did not."""
