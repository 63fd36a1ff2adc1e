"""Conversion between database rows and model objects. Columns are read by position: this runs for every page and every link."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import sqlalchemy as sa

from sitelore.model.frontier import SOURCE_RANK, Hop, KnownPage, Lease, Offer, RowKind, Run, Source, UrlRow
from sitelore.model.ids import NO_TEXT, RunId, TenantId
from sitelore.model.response import RenderNote, RenderReason, SiteRendering, StoredHead
from sitelore.model.settings import CrawlSettings
from sitelore.model.states import UNCHANGED, Proof, RunState, SkipReason, UrlState
from sitelore.model.url import Url
from sitelore.store.schema import key_of, pages, runs, site_urls, sites, urls, visits
from sitelore.store.statements import OF_VISIT, TENANT, WITH_URL

PATTERN_CHARS = 500
"""Longest URL pattern that is stored as it is; longer ones are hashed."""

_settings_decoder = msgspec.json.Decoder(CrawlSettings)
_hops_decoder = msgspec.json.Decoder(list[tuple[str, int]])
_headers_decoder = msgspec.json.Decoder(tuple[tuple[str, str], ...])
_head_decoder = msgspec.json.Decoder(StoredHead)
_names_decoder = msgspec.json.Decoder(list[str])
_render_note_decoder = msgspec.json.Decoder(RenderNote)
_site_rendering_decoder = msgspec.json.Decoder(SiteRendering)
encode = msgspec.json.Encoder().encode

_KEPT = (UrlState.VISITED, UrlState.NOT_MODIFIED)
_KEPT_OR_SKIPPED = [state.value for state in (*_KEPT, UrlState.SKIPPED)]
_UNCHANGED = sorted(reason.value for reason in UNCHANGED)


def storable(text: str) -> str | None:
    """Text that both databases accept, so that a hostile title cannot fail a batch: no NUL, no surrogates. Empty is NULL."""
    if text.isascii():
        return (text.replace("\0", "\ufffd") if "\0" in text else str(text)) or None
    return text.encode("utf-8", "replace").decode().replace("\0", "\ufffd")


def offer_tuple(key: tuple[TenantId, int, int], offer: Offer, parent: int | None, lastmod: float | None) -> tuple[Any, ...]:
    """The values of an offer in the order of `OFFER_COLUMNS`. `key`: tenant, number of the run and id of the URL."""
    refusal = offer.refusal
    return (
        *key,
        offer.url.authority,
        offer.kind._value_,
        "DISCOVERED" if refusal is None else "SKIPPED",
        offer.source._value_,
        offer.depth,
        SOURCE_RANK[offer.source],
        parent,
        offer.parent_seq,
        offer.position,
        0 if refusal is None else 1,
        None if offer.pattern == _without_scheme(offer.url) else key_of(offer.pattern, PATTERN_CHARS),
        chain_text(offer.chain),
        lastmod,
        None if refusal is None else refusal._value_,
        storable(offer.detail) if offer.detail else None,
    )


def pattern_of(stored: str | None, url: str) -> str:
    """The URL pattern of a row. Patterns without placeholders are not stored."""
    return key_of(_without_scheme(url), PATTERN_CHARS) if stored is None else stored


def _without_scheme(url: str) -> str:
    return url.partition("://")[2]


def chain_text(chain: Sequence[Hop]) -> str | None:
    """A redirect chain as JSON; NULL when it is empty, which is the usual case."""
    return encode([(str(hop.url), hop.status) for hop in chain]).decode() if chain else None


def hops(text: str | None) -> tuple[Hop, ...]:
    """Decode the redirect chain that `chain_text` encoded."""
    return tuple(Hop(Url.trusted(url), status) for url, status in _hops_decoder.decode(text)) if text else ()


def headers_text(headers: Sequence[tuple[str, str]]) -> str | None:
    """Headers as JSON; NULL when there are none, which is the usual case."""
    return storable(encode(headers).decode()) if headers else None


def headers_of(text: str | None) -> tuple[tuple[str, str], ...]:
    """Decode the headers that `headers_text` encoded."""
    return _headers_decoder.decode(text) if text else ()


def head_text(head: StoredHead | None) -> str | None:
    """The head of a response as JSON; NULL when there was no response."""
    return None if head is None else storable(encode(head).decode())


def render_text(note: RenderNote) -> str | None:
    """Why and how a browser rendered a page, as JSON."""
    return storable(encode(note).decode())


def maybe_url(text: str | None) -> Url | None:
    """The URL of a nullable column."""
    return Url.trusted(text) if text is not None else None


_KINDS = {kind.value: kind for kind in RowKind}
_SOURCES = {source.value: source for source in Source}
LEASE_COLUMNS = (
    *site_urls.c["url", "long_url"],
    *urls.c["token", "depth", "seq", "kind", "attempts", "source", "chain", "lastmod", "wave"],
)
_canonical = site_urls.alias("canonical_url")
KNOWN_COLUMNS = (
    *pages.c["fetched_at", "content_hash", "novelty", "document", "etag", "last_modified", "lastmod", "title"],
    sa.func.coalesce(_canonical.c.long_url, _canonical.c.url),
    *pages.c[
        "snapshot", "word_count", "noindex", "content_type", "headers", "sketch", "volatile", "render_reason", "screenshot"
    ],
)
WITH_CANONICAL = pages.outerjoin(_canonical, sa.and_(_canonical.c.tenant_id == TENANT, _canonical.c.id == pages.c.canonical))
"""Rows of `pages` with what `KNOWN_COLUMNS` needs."""


def lease_of(run: RunId, row: Sequence[Any], known: KnownPage | None) -> Lease:
    """The lease of a row of an id and `LEASE_COLUMNS` that was read before its fencing token was raised."""
    url_id, key, long_url, token, depth, seq, kind, attempts, source, chain, lastmod, wave = row
    return Lease(
        run, Url.trusted(long_url or key), token + 1, depth, seq, _KINDS[kind], attempts, _SOURCES[source], hops(chain),
        lastmod, known, wave, url_id=url_id,
    )  # fmt: skip


def known_of(row: Sequence[Any]) -> KnownPage:
    """The stored page of a row of `KNOWN_COLUMNS`."""
    (fetched_at, content_hash, novelty, document, etag, last_modified, lastmod, title, canonical,
     snapshot, word_count, noindex, content_type, headers, sketch, volatile, render_reason, screenshot) = row  # fmt: skip
    return KnownPage(
        fetched_at, content_hash, novelty, document, etag, last_modified, lastmod, title, maybe_url(canonical),
        snapshot, word_count, bool(noindex), content_type or "", headers_of(headers), sketch or b"", volatile or b"",
        RenderReason(render_reason) if render_reason else None, screenshot,
    )  # fmt: skip


_parent, _target = site_urls.alias("parent_url"), site_urls.alias("target_url")
_NAMES_OF_URLS = {
    "url": site_urls.c.url,
    "long_url": site_urls.c.long_url,
    "parent": sa.func.coalesce(_parent.c.long_url, _parent.c.url),
    "alias_of": sa.func.coalesce(_target.c.long_url, _target.c.url),
    "canonical": sa.func.coalesce(_canonical.c.long_url, _canonical.c.url),
    "word_count": sa.func.coalesce(visits.c.word_count, sa.text("0")),
    "noindex": sa.func.coalesce(visits.c.noindex, sa.text("0")),
    "body_bytes": sa.func.coalesce(visits.c.body_bytes, sa.text("0")),
}
ROW_COLUMNS = tuple(
    _NAMES_OF_URLS[name].label(f"row_{name}") if name in _NAMES_OF_URLS else urls.c[name] if name in urls.c else visits.c[name]
    for name in (
        "url", "long_url", "kind", "state", "depth", "source", "parent", "seq", "wave", "pattern", "status_code",
        "chain", "alias_of", "proof", "title", "content_hash", "canonical", "content_type", "word_count", "noindex",
        "document", "snapshot", "skip_reason", "detail", "error", "attempts", "fetches", "retry_at", "claimed_by",
        "token", "lastmod", "fetched_at", "elapsed_s", "body_bytes", "changed", "etag", "last_modified", "headers",
        "rendering", "screenshot", "response_head",
    )
)  # fmt: skip
WHOLE_ROWS = (
    WITH_URL.outerjoin(visits, OF_VISIT)
    .outerjoin(_parent, sa.and_(_parent.c.tenant_id == TENANT, _parent.c.id == urls.c.parent))
    .outerjoin(_target, sa.and_(_target.c.tenant_id == TENANT, _target.c.id == urls.c.alias_of))
    .outerjoin(_canonical, sa.and_(_canonical.c.tenant_id == TENANT, _canonical.c.id == visits.c.canonical))
)
"""Rows of `urls` with everything that `ROW_COLUMNS` needs."""
_STATES = {state.value: state for state in UrlState}
_REASONS: dict[str | None, SkipReason | None] = {None: None, **{reason.value: reason for reason in SkipReason}}
_PROOFS: dict[str | None, Proof | None] = {None: None, **{proof.value: proof for proof in Proof}}


def url_row(run: RunId, row: Sequence[Any]) -> UrlRow:
    """The URL row of a row of `ROW_COLUMNS`."""
    (key, long_url, kind, state_text, depth, source, parent, seq, wave, pattern, status_code,
     chain, alias_of, proof, title, content_hash, canonical, content_type, word_count, noindex,
     document, snapshot, skip_reason, detail, error, attempts, fetches, retry_at, claimed_by,
     token, lastmod, fetched_at, elapsed_s, body_bytes, changed, etag, last_modified, headers,
     rendering, screenshot, response_head) = row  # fmt: skip
    url = Url.trusted(long_url or key)
    state, reason = _STATES[state_text], _REASONS[skip_reason]
    final = maybe_url(alias_of)
    if is_page(kind, state, reason, seq):
        final = url
    return UrlRow(
        run=run,
        url=url,
        kind=_KINDS[kind],
        state=state,
        depth=depth,
        source=_SOURCES[source],
        parent=maybe_url(parent),
        seq=seq,
        wave=wave,
        pattern=pattern_of(pattern, url),
        status_code=status_code,
        redirect_chain=hops(chain),
        final_url=final,
        proof=_PROOFS[proof],
        title=title or NO_TEXT,
        content_hash=content_hash or "",
        canonical=maybe_url(canonical),
        content_type=content_type or "",
        word_count=word_count,
        noindex=bool(noindex),
        document=document,
        snapshot=snapshot,
        etag=etag,
        last_modified=last_modified,
        skip_reason=reason,
        detail=detail or "",
        error=error or "",
        attempts=attempts,
        fetches=fetches,
        retry_at=retry_at,
        claimed_by=claimed_by,
        token=token,
        lastmod=lastmod,
        fetched_at=fetched_at,
        elapsed_s=elapsed_s,
        body_bytes=body_bytes,
        changed=None if changed is None else bool(changed),
        headers=headers_of(headers),
        render=_render_note_decoder.decode(rendering) if rendering else None,
        screenshot=screenshot,
        response_head=_head_decoder.decode(response_head) if response_head else None,
    )


RUN_COLUMNS = (
    runs.c.id, runs.c.tenant_id, runs.c.site_id, sites.c.name, runs.c.state, runs.c.settings, runs.c.created_at,
    runs.c.started_at, runs.c.finished_at, runs.c.wave, runs.c.depth, runs.c.joined_hosts, runs.c.error, runs.c.wave_hosts,
    runs.c.attempts, runs.c.site_rendering, runs.c.time_limit_from,
)  # fmt: skip
RUNS_WITH_SITES = runs.join(sites, sa.and_(sites.c.tenant_id == runs.c.tenant_id, sites.c.id == runs.c.site_id))


def run_of(row: Sequence[Any]) -> Run:
    """The run of a row of `RUN_COLUMNS`."""
    (run, tenant, site, name, state, settings, created_at, started_at, finished_at, wave, depth, joined, error, hosts, attempts,
     site_rendering, time_limit_from) = row  # fmt: skip
    return Run(
        run, tenant, site, name, RunState(state), settings_of(settings), created_at, started_at, finished_at, wave, depth,
        tuple(names_of(joined)), error, tuple(names_of(hosts)), attempts, site_rendering_of(site_rendering),
        time_limit_from,
    )  # fmt: skip


def settings_of(text: str) -> CrawlSettings:
    """Decode the settings of a run. Settings that were added later get their defaults."""
    return _settings_decoder.decode(text)


def site_rendering_of(text: str | None) -> SiteRendering:
    """Decode the render statistics of a site; empty when no run of it has ended yet."""
    return _site_rendering_decoder.decode(text) if text else SiteRendering()


def names_of(text: str) -> list[str]:
    """Decode a JSON list of names."""
    return _names_decoder.decode(text)


def is_page(kind: str, state: str, skip_reason: str | None, seq: int | None) -> bool:
    """Whether a row counts as a page of its run: visited, not modified, or skipped as unchanged."""
    return kind == "page" and (state in _KEPT or (state == "SKIPPED" and skip_reason in UNCHANGED and seq is not None))


def is_kept() -> sa.ColumnElement[bool]:
    """`is_page` as an SQL condition. Its first two terms select the index on admitted rows."""
    c = urls.c
    return sa.and_(
        c.state.in_(_KEPT_OR_SKIPPED),
        c.seq.is_not(None),
        c.kind == sa.text("'page'"),
        sa.or_(c.state != sa.text("'SKIPPED'"), c.skip_reason.in_(_UNCHANGED)),
    )
