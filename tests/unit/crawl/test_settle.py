"""Settlements: redaction of headers, details, errors and URLs, scope of redirects, and the order of writes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
from tests.ports.frontier import NOW, W2, leases, started, the_row, visited

from sitelore.crawl.context import VisitContext
from sitelore.crawl.page_fetch import PageFetch
from sitelore.crawl.runs import refuse_secrets
from sitelore.crawl.settle import Settler, redact_settlement, redacting_saver, settle_redirect
from sitelore.extract.redaction.redactor import Redactor
from sitelore.fetch.guard import AddressGuard
from sitelore.frontier.classify import Redirected
from sitelore.frontier.offers import OfferBuilder
from sitelore.model.document import Blob
from sitelore.model.errors import DiskFull, UsageError
from sitelore.model.frontier import Effects, Hop, Lease, Offer, PageUpdate, RowKind, Settlement, Source, Verdict
from sitelore.model.ids import DEFAULT_TENANT, NO_TEXT, BlobKey, CleanBytes, RunId
from sitelore.model.response import MAX_STORED_VALUE_CHARS, RenderNote, RenderReason, Response, RobotsFile, StoredHead
from sitelore.model.settings import CrawlSettings
from sitelore.model.states import SkipReason, UrlState
from sitelore.model.url import Url
from sitelore.store.blobs.sqlite import SqliteBlobs
from sitelore.store.engine import open_sqlite
from sitelore.store.ledger import SqlLedger

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
    page = PageUpdate(
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


def test_secrets_in_the_head_of_a_response_are_removed_before_values_are_cut_off() -> None:
    before_limit = "x" * (MAX_STORED_VALUE_CHARS - 12)
    head = StoredHead("1.1", "OK", "192.0.2.7", (("x-debug", f"{before_limit} {SECRET}"), ("server", SECRET), ("vary", "*")))
    effects = Effects(fetched=True, response_head=head)
    settlement = redact_settlement(Settlement(LEASE, Verdict(UrlState.NOT_FOUND, 404), effects), Redactor())
    stored = settlement.effects.response_head
    assert stored is not None
    assert stored.headers == (("x-debug", f"{before_limit} {MARK}"[:MAX_STORED_VALUE_CHARS]), ("server", MARK), ("vary", "*"))
    assert (stored.address, settlement.effects.redactions) == ("192.0.2.7", {})


def test_the_head_of_a_response_without_a_secret_is_limited_in_size() -> None:
    effects = Effects(fetched=True, response_head=StoredHead(headers=(("server", "x" * 999),)))
    settlement = redact_settlement(Settlement(LEASE, Verdict(UrlState.NOT_FOUND, 404), effects), Redactor())
    assert settlement.effects.response_head == StoredHead(headers=(("server", "x" * MAX_STORED_VALUE_CHARS),))


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


@pytest.mark.parametrize(
    ("target", "refusal", "joins_host"),
    [("http://moved.test/", None, "moved.test"), ("http://10.0.0.1/", SkipReason.ADDRESS, None)],
)
def test_a_redirecting_seed_takes_the_host_of_an_admitted_target_into_scope(
    target: str, refusal: SkipReason | None, joins_host: str | None
) -> None:
    seed = url("/")
    offer_builder = OfferBuilder(CrawlSettings(seeds=(seed,)), (), AddressGuard().judge_url)
    context = cast("VisitContext", SimpleNamespace(offer_builder=offer_builder))
    lease = Lease(RunId("r"), seed, 1, 0, 1, RowKind.PAGE, 0, source=Source.SEED)
    redirected = Redirected(Verdict(UrlState.ALIAS, 301), Url(target), (Hop(seed, 301),))
    effects = settle_redirect(lease, PageFetch(Response(seed, 301, (), b"")), redirected, context).effects
    assert [offer.refusal for offer in effects.offers] == [refusal]
    assert (effects.alias_of, effects.joins_host) == (target, joins_host)


@pytest.fixture
async def ledger(tmp_path: Path) -> AsyncIterator[SqlLedger]:
    ledger = SqlLedger(await open_sqlite(tmp_path / "ledger.db"), DEFAULT_TENANT)
    yield ledger
    await ledger.close()


class Results:
    """Records what a settler reports, and ends it after a number of settlements."""

    def __init__(self, count: int) -> None:
        self.accepted: dict[Url, bool] = {}
        self._count = count
        self.complete = asyncio.Event()

    def __call__(self, settlement: Settlement, is_accepted: bool) -> None:
        self.accepted[settlement.lease.url] = is_accepted
        if len(self.accepted) == self._count:
            self.complete.set()


async def test_no_row_points_to_a_blob_that_could_not_be_written(ledger: SqlLedger, tmp_path: Path) -> None:
    run, [lease] = await started(ledger, "p")
    blobs, results = SqliteBlobs(tmp_path / "no such directory" / "blobs.db"), Results(1)
    settler = Settler(ledger, blobs, lambda: NOW, results)
    settler.add(visited(lease, "page", blobs=(Blob(BlobKey("docpage"), CleanBytes(b"data")),)))
    settler.flush()
    with pytest.raises(DiskFull):
        await settler.write_forever()
    await blobs.close()
    row = await the_row(ledger, run, "p")
    assert (row.state, row.document) == (UrlState.IN_PROGRESS, None)
    assert not results.accepted


async def test_a_settlement_whose_lease_was_lost_is_reported_as_rejected(ledger: SqlLedger, tmp_path: Path) -> None:
    run, [lost, held] = await started(ledger, "lost", "held")
    await ledger.release(run.id, NOW + 60.0)
    await leases(ledger, run, W2, limit=1, now=NOW + 60.0)
    [held] = await leases(ledger, run, limit=1, now=NOW + 60.0)
    blobs, results = SqliteBlobs(tmp_path / "blobs.db"), Results(2)
    settler = Settler(ledger, blobs, lambda: NOW, results)
    settler.add(visited(lost, "page"))
    settler.add(visited(held, "other"))
    settler.flush()
    writer = asyncio.create_task(settler.write_forever())
    await results.complete.wait()
    writer.cancel()
    await blobs.close()
    assert results.accepted == {lost.url: False, held.url: True}


async def test_settlements_are_pending_until_they_are_durable(
    ledger: SqlLedger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, [lease] = await started(ledger, "p")
    writing, may_write, settle = asyncio.Event(), asyncio.Event(), ledger.settle

    async def settle_when_allowed(settlements: Sequence[Settlement]) -> list[bool]:
        writing.set()
        await may_write.wait()
        return await settle(settlements)

    monkeypatch.setattr(ledger, "settle", settle_when_allowed)
    blobs, results = SqliteBlobs(tmp_path / "blobs.db"), Results(1)
    settler = Settler(ledger, blobs, lambda: NOW, results)
    settler.add(visited(lease, "page"))
    settler.flush()
    writer = asyncio.create_task(settler.write_forever())
    await writing.wait()
    assert settler.pending == 1
    may_write.set()
    await results.complete.wait()
    assert settler.pending == 0
    writer.cancel()
    await blobs.close()
