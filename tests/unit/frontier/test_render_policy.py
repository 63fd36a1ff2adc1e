from __future__ import annotations

from dataclasses import replace

import pytest

from sitelore.frontier.freshness import request_for
from sitelore.frontier.render_policy import RECHECK_RUNS, RenderPolicy, failed, noted
from sitelore.model.frontier import KnownPage, Lease, RowKind
from sitelore.model.ids import BlobKey, RunId
from sitelore.model.response import RenderDecision, RenderReason, Shell, SiteRendering
from sitelore.model.settings import CrawlSettings, Overrides, Rendering, RenderMode
from sitelore.model.url import Url

SHELL = Shell(1.4, ("nothing stands in <div#root>",))
HALF = Shell(0.9, ("the body holds next to no text",))
AUTO = CrawlSettings()
ALWAYS = CrawlSettings(rendering=Rendering(mode=RenderMode.ALWAYS))
NEVER = CrawlSettings(rendering=Rendering(mode=RenderMode.NEVER))
JS_SITE = SiteRendering(runs=1, browser=19, http=1)


def policy(settings: CrawlSettings = AUTO, site: SiteRendering | None = None, *, has_browser: bool = True) -> RenderPolicy:
    return RenderPolicy(settings, site or SiteRendering(), lambda: has_browser)


def lease(url: str = "http://site.example/page", reason: RenderReason | None = None, *, known: bool = False) -> Lease:
    before = KnownPage(1.0, "hash", "novelty", BlobKey("document"), etag='"1"', render_reason=reason)
    return Lease(RunId("run"), Url(url), 1, 1, 1, RowKind.PAGE, 0, known=before if known or reason else None)


def test_http_is_tried_first_and_suffices_for_a_static_page() -> None:
    assert policy().before_fetch(lease()) is None
    assert policy().after_reading(lease(), HALF) == RenderDecision(False, RenderReason.STATIC)
    assert policy().over_http(lease().url) == RenderDecision()


def test_a_shell_is_looked_at_through_the_browser() -> None:
    assert policy().after_reading(lease(), SHELL) == RenderDecision(True, RenderReason.SHELL, SHELL.evidence)


def test_without_a_browser_the_decision_records_that_one_was_needed() -> None:
    assert policy(has_browser=False).after_reading(lease(), SHELL) == RenderDecision(
        False, RenderReason.NO_BROWSER, SHELL.evidence
    )
    assert policy(has_browser=False).after_reading(lease(), HALF).reason is RenderReason.STATIC
    assert policy(ALWAYS, has_browser=False).after_reading(lease(), HALF).reason is RenderReason.NO_BROWSER
    assert policy(ALWAYS, has_browser=False).before_fetch(lease()) is None


def test_a_browser_is_not_even_looked_for_on_a_static_site() -> None:
    def look() -> bool:
        raise AssertionError("the answer does not matter here")

    static = RenderPolicy(AUTO, SiteRendering(3, 0, 20), look)
    assert static.before_fetch(lease(known=True)) is None
    assert static.after_reading(lease(), HALF).in_browser is False
    assert static.after_not_modified(lease(known=True)).in_browser is False


def test_settings_and_domain_rules_take_precedence() -> None:
    assert policy(ALWAYS).before_fetch(lease()) == RenderDecision(True, RenderReason.ALWAYS, ("the settings say so",))
    assert policy(NEVER).before_fetch(lease(reason=RenderReason.SHELL)) is None
    assert policy(NEVER, JS_SITE).before_fetch(lease()) is None
    assert policy(NEVER).after_reading(lease(), SHELL) == RenderDecision(False, RenderReason.NEVER)
    rules = (Overrides("example", render=RenderMode.NEVER), Overrides("site.example", render=RenderMode.ALWAYS))
    own = replace(AUTO, overrides=(Overrides("site.example"), *rules))
    assert policy(own).before_fetch(lease()) == RenderDecision(True, RenderReason.OVERRIDE, ("the domain's own rules say so",))
    assert policy(own).before_fetch(lease("http://sub.site.example/")) is not None
    assert policy(own).after_reading(lease("http://other.example/"), SHELL) == RenderDecision(False, RenderReason.OVERRIDE)
    assert policy(own).after_reading(lease("http://example.org/"), SHELL).reason is RenderReason.SHELL


@pytest.mark.parametrize("reason", RenderReason)
def test_a_page_that_needed_the_browser_is_rendered_at_once(reason: RenderReason) -> None:
    needed = {"known_site", "known_page", "shell", "no_browser", "failed"}
    decision = policy().before_fetch(lease(reason=reason))
    assert (decision is not None) == (reason in needed)
    if decision is not None:
        assert decision.reason is RenderReason.KNOWN_PAGE


def test_a_new_page_of_a_rendered_site_is_rendered_at_once_too() -> None:
    decision = policy(AUTO, JS_SITE).before_fetch(lease())
    assert decision == RenderDecision(True, RenderReason.KNOWN_SITE, ("19 of 20 pages of the last run needed a browser",))
    assert policy(AUTO, JS_SITE).before_fetch(lease(known=True)) is None, "this one was known not to"
    assert policy(AUTO, SiteRendering(1, 17, 3)).before_fetch(lease()) is None
    assert policy(AUTO, SiteRendering(1, 2, 0)).before_fetch(lease()) is None


def test_every_tenth_run_and_a_forced_one_ask_over_http_again() -> None:
    known = lease(reason=RenderReason.SHELL)
    rechecked = [runs for runs in range(31) if policy(AUTO, replace(JS_SITE, runs=runs)).before_fetch(known) is None]
    assert rechecked == [RECHECK_RUNS, 2 * RECHECK_RUNS, 3 * RECHECK_RUNS]
    assert policy(replace(AUTO, force=True), JS_SITE).before_fetch(known) is None


def test_a_304_does_not_cover_rendered_content() -> None:
    assert policy().after_not_modified(lease(reason=RenderReason.SHELL)).reason is RenderReason.KNOWN_PAGE
    assert not policy().after_not_modified(lease(known=True)).in_browser
    assert not policy(NEVER).after_not_modified(lease(reason=RenderReason.SHELL)).in_browser
    assert not policy(has_browser=False).after_not_modified(lease(reason=RenderReason.SHELL)).in_browser


def test_validators_of_a_page_rendered_on_request_are_not_trusted() -> None:
    assert request_for(lease(reason=RenderReason.ALWAYS), AUTO).etag is None
    assert request_for(lease(reason=RenderReason.SHELL), AUTO).etag == '"1"'
    assert request_for(lease(known=True), AUTO).etag == '"1"'


@pytest.mark.parametrize("path", ["/a.pdf", "/feed.xml", "/data.JSON", "/logo.svg"])
def test_files_are_for_http(path: str) -> None:
    assert policy(ALWAYS).before_fetch(lease(f"http://site.example{path}")) is None
    assert policy(ALWAYS).before_fetch(replace(lease(), kind=RowKind.SITEMAP)) is None


@pytest.mark.parametrize("path", ["/", "/a.html", "/v1.2/guide", "/.well-known", "/a.php?x=1", "/node.js-guide"])
def test_pages_are_for_either(path: str) -> None:
    assert policy(ALWAYS).before_fetch(lease(f"http://site.example{path}")) is not None


def test_the_ledger_records_the_render_decision_and_its_result() -> None:
    wanted = RenderDecision(True, RenderReason.SHELL, SHELL.evidence)
    gone = failed(wanted, "timeout")
    assert gone == RenderDecision(False, RenderReason.FAILED, (*SHELL.evidence, "the browser could not: timeout"))
    notes = [noted(wanted), noted(gone), noted(RenderDecision()), noted(RenderDecision(False, RenderReason.NEVER))]
    assert [note and (note.reason.value, note.in_browser) for note in notes] == [("shell", True), ("failed", False), None, None]
