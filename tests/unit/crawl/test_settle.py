"""Redaction covers headers, details, errors and URLs of a settlement."""

from __future__ import annotations

import pytest

from sitelore.crawl.runs import refuse_secrets
from sitelore.crawl.settle import redact_settlement, redacting_saver
from sitelore.extract.redaction.redactor import Redactor
from sitelore.model.errors import UsageError
from sitelore.model.frontier import Effects, Hop, Lease, Offer, PageFacts, RowKind, Settlement, Source, Verdict
from sitelore.model.ids import NO_TEXT, BlobKey, RunId
from sitelore.model.rendering import RenderNote, RenderReason
from sitelore.model.response import RobotsFile
from sitelore.model.settings import CrawlSettings
from sitelore.model.states import SkipReason, UrlState
from sitelore.model.url import Url

SECRET = "ghp_" + "a1B2" * 9
MARK = "[REDACTED:github-token]"
AT = "http://site.example"


def url(target: str) -> Url:
    return Url.trusted(AT + target)


LEASE = Lease(RunId("r"), url("/"), 1, 0, 1, RowKind.PAGE, 0)


def test_a_settlement_without_a_secret_is_the_same_object() -> None:
    offers = (Offer(url("/a?b=c"), 1, Source.LINK), Offer(url("/x"), 1, Source.LINK, refusal=SkipReason.SCOPE, detail="out"))
    settlement = Settlement(LEASE, Verdict(UrlState.VISITED, 200), Effects(offers=offers))
    assert redact_settlement(settlement, Redactor()) is settlement


def test_an_offer_of_an_address_with_a_secret_is_refused_and_its_row_has_the_mark() -> None:
    good = Offer(url("/a"), 1, Source.LINK)
    offers = (good, Offer(url(f"/b?t={SECRET}&x=1"), 1, Source.LINK, pattern="old"))
    kept = redact_settlement(Settlement(LEASE, Verdict(UrlState.VISITED, 200), Effects(offers=offers)), Redactor()).effects
    assert kept.offers[0] == good
    assert kept.offers[1].url == f"{AT}/b?t={MARK}&x=1"
    assert kept.offers[1].refusal is SkipReason.SECRET
    assert SECRET not in repr(kept)
    assert kept.redactions == {"github-token": 1}


def test_a_redirect_keeps_its_chain_with_the_mark_and_takes_no_host_into_scope() -> None:
    target, chain = url(f"/to/{SECRET}"), (Hop(url(f"/from/{SECRET}"), 301), Hop(url("/mid"), 302))
    effects = Effects(
        offers=(Offer(target, 0, Source.REDIRECT, chain=chain),), alias_of=target, chain=chain, joins_host="site.example"
    )
    kept = redact_settlement(Settlement(LEASE, Verdict(UrlState.ALIAS, 301), effects), Redactor()).effects
    assert kept.alias_of == f"{AT}/to/{MARK}"
    assert [hop.url for hop in kept.chain] == [f"{AT}/from/{MARK}", f"{AT}/mid"]
    assert kept.offers[0].chain == kept.chain
    assert kept.joins_host is None
    assert SECRET not in repr(kept)


def test_secrets_are_removed_from_headers_details_and_errors_and_validators_with_secrets_are_dropped() -> None:
    page = PageFacts(
        NO_TEXT,
        "hash",
        "novelty",
        BlobKey("document"),
        canonical=url(f"/c/{SECRET}"),
        etag=f'"{SECRET}"',
        last_modified="Mon, 16 Nov 2026 08:12:16 GMT",
        content_type=f"text/html; x={SECRET}",
        identity=f"{AT}/{SECRET}",
        headers=(("link", f"<{SECRET}>"),),
        render=RenderNote(RenderReason.SHELL, (f"says {SECRET}",)),
    )
    verdict = Verdict(UrlState.FAILED, 200, detail=f"d {SECRET}", error=f"e {SECRET}")
    settlement = redact_settlement(Settlement(LEASE, verdict, Effects(page=page)), Redactor())
    assert SECRET not in repr(settlement)
    kept = settlement.effects.page
    assert kept is not None
    assert kept.etag is None
    assert kept.last_modified == page.last_modified
    assert kept.content_type == f"text/html; x={MARK}"
    assert settlement.verdict.error == f"e {MARK}"


async def test_a_robots_file_is_kept_without_it() -> None:
    kept: list[RobotsFile] = []

    async def save(file: RobotsFile) -> None:
        kept.append(file)

    await redacting_saver(save, Redactor())(RobotsFile(AT, 1.0, 200, f"Disallow: /x # {SECRET}", f"not {SECRET}"))
    assert kept == [RobotsFile(AT, 1.0, 200, f"Disallow: /x # {MARK}", f"not {MARK}")]


@pytest.mark.parametrize(
    "settings",
    [
        CrawlSettings(seeds=(f"{AT}/?k={SECRET}",)),
        CrawlSettings(seeds=(AT,), sitemaps=(f"{AT}/s.xml?k={SECRET}",)),
        CrawlSettings(seeds=(AT,), include=(f"*{SECRET}*",)),
        CrawlSettings(seeds=(AT,), user_agent=f"bot {SECRET}"),
    ],
)
def test_a_requested_url_with_a_secret_is_refused_without_repeating_it(settings: CrawlSettings) -> None:
    with pytest.raises(UsageError, match="github-token") as refused:
        refuse_secrets(settings, Redactor())
    assert SECRET not in str(refused.value)
    refuse_secrets(CrawlSettings(seeds=(AT,)), Redactor())
