"""Each crawl setting changes what a crawl does; not only that its value is accepted.

`EFFECTS` crawls a small site once with the default and once with the value as typed after `--set`. `SHOWN_BY` names the test
elsewhere that shows the effect of a setting, where that needs a browser, a clock or a raw socket.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
from tests.conventions.project import ROOT
from tests.support.crawls import CrawlResult, crawl_in
from tests.support.http_server import Answer, HttpServer, page, prose, redirect, serve_site

from sitelore.app.app import App
from sitelore.app.config.catalogue import BY_NAME
from sitelore.app.config.sources import plain, run_settings, set_values
from sitelore.app.wiring import embedded
from sitelore.model.errors import OutOfTime

XML = "application/xml"


def sitemap(server: str, *targets: str) -> Answer:
    urls = "".join(f"<url><loc>{server}{target}</loc></url>" for target in targets)
    return Answer(
        body=f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{urls}</urlset>'.encode(), content_type=XML
    )


def pages(origin: str) -> dict[str, Answer]:
    """A site in which something is left out, refused or repeated by each of the settings."""
    links = (
        "/a", "/docs/b", "/private/x", "/other/y", "/hop1", "/large", "/ref?ref=1", "/ref?ref=2", "/loop/loop/loop/loop/z",
    )  # fmt: skip
    nofollow = '<a rel="nofollow" href="/unfollowed">n</a>'
    form = '<form action="/send"><input name="mail"></form>'
    return {
        "/robots.txt": Answer(
            body=(
                f"User-agent: *\nDisallow: /private/\n\nUser-agent: Otherbot\nDisallow: /other/\n\nSitemap: {origin}/map.xml\n"
            ).encode(),
            content_type="text/plain",
        ),
        "/map.xml": sitemap(origin, "/listed"),
        "/extra.xml": sitemap(origin, "/extra"),
        "/": page("Home", f"{prose('home')} {nofollow} {form} Write to ann.smith@example.com or 212-55-1234.", links=links),
        "/docs/": page("Docs", prose("docs"), links=("/docs/b", "/a")),
        "/contact": page("Contact", f"{prose('contact')} Write to office@example.com."),
        "/hop1": redirect("/hop2"),
        "/hop2": redirect("/a-moved"),
        "/a-moved": page("Moved", prose("moved")),
        "/large": page("Large", prose("large", 3000)),
        **{
            target: page(target.strip("/") or "Home", prose(target))
            for target in (
                "/a", "/docs/b", "/private/x", "/other/y", "/listed", "/extra", "/island", "/unfollowed", "/ref?ref=1",
                "/ref?ref=2", "/ref", "/loop/loop/loop/loop/z",
            )
        },
    }  # fmt: skip


@dataclass(slots=True)
class Crawled:
    """What a crawl did."""

    result: CrawlResult
    server: HttpServer
    documents: dict[str, dict[str, Any]]

    def has(self, target: str) -> bool:
        """Whether this page was kept."""
        return target in self.result.kept(self.server.origin)

    def state(self, target: str) -> str:
        return self.result.states(self.server.origin).get(target, "unknown")

    def text(self, target: str) -> str:
        return str(self.documents[self.server.url(target)]["text"])


@dataclass(frozen=True, slots=True)
class Effect:
    """What is seen with the default, and with another value."""

    value: str
    see: Callable[[Crawled], Any]
    before: Any
    after: Any
    seed: str = "/"
    base: tuple[str, ...] = ()
    """Other settings of both crawls."""
    again: bool = False
    """Whether the site is crawled a second time, which is then looked at."""
    first: dict[str, int] = field(default_factory=dict)
    """Targets whose first requests are answered with 503."""


def masked(crawled: Crawled) -> list[bool]:
    return [text in crawled.text("/") for text in ("ann.smith@example.com", "212-55-1234")]


EFFECTS = {
    "seeds": Effect("{origin}/island", lambda c: c.has("/island"), False, True),
    "sitemaps": Effect("{origin}/extra.xml", lambda c: c.has("/extra"), False, True),
    "scope": Effect("prefix", lambda c: c.state("/a"), "VISITED", "scope", seed="/docs/"),
    "include": Effect("/docs/", lambda c: c.state("/a"), "VISITED", "excluded"),
    "exclude": Effect("/docs/", lambda c: c.state("/docs/b"), "VISITED", "excluded"),
    "max_pages": Effect("1", lambda c: c.result.counts.pages, 9, 1),
    "max_depth": Effect("0", lambda c: c.state("/a"), "VISITED", "depth"),
    "max_retries": Effect("0", lambda c: c.state("/a"), "VISITED", "HTTP_TERMINAL", first={"/a": 1}),
    "max_redirects": Effect("1", lambda c: c.has("/a-moved"), True, False),
    "follow_redirects": Effect("false", lambda c: c.state("/hop1"), "ALIAS", "REDIRECT_301"),
    "obey_robots": Effect("false", lambda c: c.state("/private/x"), "robots", "VISITED"),
    "robots_agents": Effect("Otherbot", lambda c: c.state("/other/y"), "VISITED", "robots"),
    "obey_nofollow": Effect("false", lambda c: c.state("/unfollowed"), "nofollow", "VISITED"),
    "discover_sitemaps": Effect("false", lambda c: c.state("/listed"), "VISITED", "unknown"),
    "user_agent": Effect("Reader/1", lambda c: {hit.agent[:8] for hit in c.server.hits}, {"Sitelore"}, {"Reader/1"}),
    "ttl_s": Effect("1h", lambda c: c.state("/a"), "NOT_MODIFIED", "within_ttl", again=True),
    "force": Effect("true", lambda c: c.state("/a"), "NOT_MODIFIED", "VISITED", again=True),
    "time_limit_s": Effect("0s", lambda c: c.result.run.state.value, "COMPLETED", "INTERRUPTED"),
    "tracking_parameters": Effect("ref", lambda c: sum("ref=" in target for target in c.server.targets()), 2, 0),
    "limits.wire_bytes": Effect("5KB", lambda c: c.state("/large"), "VISITED", "too_large"),
    "limits.body_bytes": Effect("5KB", lambda c: c.state("/large"), "VISITED", "too_large"),
    "read": Effect("content", lambda c: len(c.documents[c.server.url("/")]["forms"]), 1, 0),
    "keep_snapshots": Effect("false", lambda c: c.result.rows[c.server.url("/")].snapshot is None, False, True),
    "detect_traps": Effect("false", lambda c: c.state("/loop/loop/loop/loop/z"), "trap", "VISITED"),
    "personal": Effect("everywhere", masked, [True, True], [False, True]),
    "personal_ids": Effect("us-ssn", masked, [False, True], [False, False], base=("personal=everywhere",)),
    "keep_contacts": Effect(
        "false", lambda c: "office@" in c.text("/contact"), True, False, seed="/contact", base=("personal=everywhere",)
    ),
}  # fmt: skip

RENDERING, MEDIA = "journeys/test_rendering.py", "journeys/test_media.py"
SHOWN_BY = {
    "accept_language": "journeys/test_access.py test_accept_language_is_sent_to_every_host_and_stored_with_the_run",
    "identity.force_https": "unit/model/test_identity.py test_forcing_https_joins_the_two_default_ports_only",
    "identity.slash": "journeys/test_identity.py test_identity_options_of_a_site_decide_which_urls_are_one_page",
    "identity.query": "journeys/test_identity.py test_identity_options_of_a_site_decide_which_urls_are_one_page",
    "limits.connect_s": "unit/fetch/test_client.py test_a_connection_attempt_times_out",
    "limits.headers_s": "unit/fetch/test_client.py test_slow_headers_time_out",
    "limits.body_s": "unit/fetch/test_client.py test_a_slow_body_times_out",
    "limits.slow_after_s": "unit/fetch/test_client.py test_a_slow_body_times_out",
    "limits.slow_bytes_per_s": "unit/fetch/test_client.py test_a_slow_body_times_out",
    "pace.delay_s": "unit/frontier/test_gate.py test_the_rate_is_never_passed_and_nine_tenths_of_it_are_reached",
    "pace.concurrency": "journeys/test_politeness.py test_active_requests_reach_the_concurrency_and_never_exceed_it",
    "pace.per_host": "unit/frontier/test_gate.py test_no_more_than_per_host_requests_are_under_way",
    "pace.max_crawl_delay_s": "unit/frontier/test_gate.py test_a_crawl_delay_is_honoured_up_to_its_cap",
    "pace.max_retry_after_s": "unit/frontier/test_gate.py test_retry_after_is_honoured_up_to_its_cap",
    "prefetch": "journeys/test_prefetch.py test_without_prefetching_the_next_level_waits_for_the_slow_page",
    "overrides": "journeys/test_page_actions.py test_a_crawl_executes_the_actions_of_its_domain_and_explains_those_that_fail",
    "rendering.mode": f"{RENDERING} test_settings_and_domain_rules_decide_about_rendering_before_the_content_does",
    "rendering.timeout_s": "hostile/test_browser.py test_a_page_that_is_never_idle_is_read_at_the_time_limit",
    "rendering.blocked": "ports/test_renderer.py test_images_and_blocked_urls_are_not_loaded",
    "rendering.expand_frames": "ports/test_renderer.py test_frames_are_expanded_on_request",
    "rendering.expand_shadow_roots": "ports/test_renderer.py test_open_shadow_roots_are_expanded_on_request",
    "rendering.screenshots": f"{RENDERING} test_rendered_pages_can_be_explained_exported_and_reprocessed",
    "rendering.screenshot_height": "ports/test_renderer.py test_a_screenshot_is_a_jpeg_as_tall_as_the_page_up_to_its_cap",
    "rendering.brand": f"{RENDERING} test_the_brand_of_a_home_page_is_read_in_the_browser_and_stored",
    "documents": "journeys/test_documents.py test_a_run_without_documents_does_not_download_them",
    "audit_facts": "journeys/test_audit.py test_a_crawl_is_audited_from_what_it_stored",
    "audit": "journeys/test_audit_life.py test_a_server_audits_completed_runs_that_ask_for_it",
    "open_origins": "interfaces/test_cli_options.py test_only_origins_of_typed_urls_are_open",
    "allow_private": "journeys/test_access.py test_every_way_in_opens_the_site_and_only_the_site",
    "media.types": f"{MEDIA} test_a_run_without_media_asks_for_none",
    "media.file_bytes": f"{MEDIA} test_a_file_larger_than_its_limit_is_not_stored",
    "media.video_bytes": f"{MEDIA} test_images_videos_and_documents_of_pages_are_stored_once",
    "media.per_page": f"{MEDIA} test_a_run_downloads_as_many_files_as_it_may",
    "media.per_run": f"{MEDIA} test_a_run_downloads_as_many_files_as_it_may",
    "pipeline": "journeys/test_pipelines.py test_a_pipeline_visits_everything_or_only_changed_or_named_pages",
}


def test_every_setting_has_a_test_of_its_effect() -> None:
    assert EFFECTS.keys() & SHOWN_BY.keys() == set()
    assert EFFECTS.keys() | SHOWN_BY.keys() == BY_NAME.keys()
    missing = []
    for place in SHOWN_BY.values():
        file, test = place.split(" ")
        if not re.search(rf"^(?:async )?def {test}\(", (ROOT / "tests" / file).read_text(encoding="utf-8"), re.MULTILINE):
            missing.append(place)
    assert missing == []


async def test_every_setting_changes_what_a_crawl_does(tmp_path: Path) -> None:
    seen, expected = {}, {}
    # No server ends before the last crawl: its port could become that of a later site, which would then not be new.
    with ExitStack() as servers:
        async with embedded(tmp_path / "data", writing=True) as app:
            for name, effect in EFFECTS.items():
                expected[name] = (effect.before, effect.after)
                changed = f"{name}={effect.value}"
                seen[name] = (await observed(app, servers, effect), await observed(app, servers, effect, changed))
    assert seen == expected


async def observed(app: App, servers: ExitStack, effect: Effect, *assignments: str) -> Any:
    """Crawl a new copy of the site, whose port makes it another site, with these settings."""
    server = servers.enter_context(serve_site(lambda _: None))
    server.pages = pages(server.origin).get
    typed = ["pace.delay_s=0", *effect.base, *(text.replace("{origin}", server.origin) for text in assignments)]
    values = plain(set_values(typed))
    values["seeds"] = (server.url(effect.seed), *values.get("seeds", ()))
    settings = run_settings(values)
    for target, count in effect.first.items():
        server.answer_first(target, *[Answer(503)] * count)
    for _ in range(2 if effect.again else 1):
        try:
            result = await crawl_in(app, settings)
        except OutOfTime:
            run = (await app.ledger.runs(1))[0]
            result = CrawlResult(run, {}, await app.ledger.counts(run.id))
    documents = {
        url: msgspec.json.decode(await app.blobs.get(row.document)) for url, row in result.rows.items() if row.document
    }
    return effect.see(Crawled(result, server, documents))
