"""What a browser is asked for, and what it gives back."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from sitelore.model.response import Failure, Response
from sitelore.model.url import Url

if TYPE_CHECKING:
    from sitelore.model.frontier import Hop  # which imports documents, which say how they were read


class RenderReason(StrEnum):
    """Why a page was, or was not, read through a browser. The words are what `rendering.reason` of a page says."""

    ALWAYS = "always"
    """The settings ask for it."""
    OVERRIDE = "override"
    """The domain's own rules ask for it, either way."""
    KNOWN_SITE = "known_site"
    """Earlier runs found that this site's pages are made in the browser."""
    KNOWN_PAGE = "known_page"
    """An earlier visit of this URL needed it."""
    SHELL = "shell"
    """What came over HTTP is a shell: a script's mounting point, a notice, next to no text."""
    STATIC = "static"
    """What came over HTTP is the page."""
    NEVER = "never"
    NO_BROWSER = "no_browser"
    """It was needed, and there is none on this machine."""
    FAILED = "failed"
    """It was needed, and the browser could not do it; the page is what came over HTTP."""


@dataclass(frozen=True, slots=True)
class RenderRequest:
    """One page to be read through a browser."""

    url: Url
    screenshot: bool = False
    probe: str = ""
    """A script to run in the page before anything is changed in it; what it returns comes back as `Rendered.probed`."""
    expand_frames: bool = False
    expand_shadow_roots: bool = False


@dataclass(frozen=True, slots=True)
class RenderMetrics:
    """What rendering a page took."""

    dom_ready_s: float = 0.0
    settled_s: float = 0.0
    elapsed_s: float = 0.0
    nodes: int = 0
    html_bytes: int = 0
    requests: int = 0
    blocked: int = 0
    """Requests that were not let out: images, fonts, media, advertisements, analytics."""
    refused: int = 0
    """Requests that the address guard, robots.txt or the scope refused."""


@dataclass(frozen=True, slots=True)
class Rendered:
    """A page as a browser shows it. `response.body` is the DOM written as UTF-8 HTML; its headers are the document's own."""

    response: Response
    chain: tuple[Hop, ...] = ()
    """Redirects on the way, over HTTP and by script."""
    metrics: RenderMetrics = RenderMetrics()
    screenshot: bytes = b""
    """JPEG; empty when none was asked for."""
    probed: Any = None


@dataclass(frozen=True, slots=True)
class RenderFailure:
    """A browser that could not give the page."""

    url: Url
    failure: Failure
    detail: str = ""
    elapsed_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Shell:
    """What speaks for a page being made in the browser: sentences for people, and how much they weigh together."""

    weight: float = 0.0
    """1.0 and more: it is; the page as it came over HTTP is not what people see."""
    evidence: tuple[str, ...] = field(default_factory=tuple)


IN_BROWSER = frozenset(
    {RenderReason.ALWAYS, RenderReason.OVERRIDE, RenderReason.KNOWN_SITE, RenderReason.KNOWN_PAGE, RenderReason.SHELL}
)
"""Reasons of a `RenderNote` that say that a browser read the page."""
NEEDED = frozenset(
    {RenderReason.KNOWN_SITE, RenderReason.KNOWN_PAGE, RenderReason.SHELL, RenderReason.NO_BROWSER, RenderReason.FAILED}
)
"""Reasons of a `RenderNote` that say that the page itself needs one, whatever anybody asked for."""


@dataclass(frozen=True, slots=True)
class RenderDecision:
    """Whether a browser reads a page, why, and what speaks for it."""

    wanted: bool = False
    reason: RenderReason = RenderReason.STATIC
    evidence: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RenderNote:
    """What the ledger keeps of a page that a browser read, or should have read. Other pages have none."""

    reason: RenderReason
    evidence: tuple[str, ...] = ()
    metrics: RenderMetrics | None = None

    @property
    def in_browser(self) -> bool:
        """Whether a browser read the page."""
        return self.reason in IN_BROWSER


@dataclass(frozen=True, slots=True)
class SiteRendering:
    """What runs of a site have learnt about it. A run goes by what was known when it was made, so workers cannot differ."""

    runs: int = 0
    """How many have ended."""
    browser: int = 0
    """Pages of the last run that were read anew and needed a browser."""
    http: int = 0
    """Those that did not."""
