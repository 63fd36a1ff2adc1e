"""Row ↔ noun. Columns are read by position: these conversions run for every page and every link."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import sqlalchemy as sa

from sitelore.model.frontier import SOURCE_RANK, Hop, KnownPage, Lease, Offer, RowKind, Run, Source, UrlRow
from sitelore.model.ids import NO_TEXT, RunId
from sitelore.model.rendering import RenderNote, RenderReason, SiteRendering
from sitelore.model.settings import CrawlSettings
from sitelore.model.states import UNCHANGED, Proof, RunState, SkipReason, UrlState
from sitelore.model.url import Url
from sitelore.store.schema import KEY_CHARS, key_of, pages, runs, sites, urls

SHAPE_CHARS = 500

_settings = msgspec.json.Decoder(CrawlSettings)
_hops = msgspec.json.Decoder(list[tuple[str, int]])
_headers = msgspec.json.Decoder(tuple[tuple[str, str], ...])
_names = msgspec.json.Decoder(list[str])
_note = msgspec.json.Decoder(RenderNote)
_site_rendering = msgspec.json.Decoder(SiteRendering)
encode = msgspec.json.Encoder().encode

_KEPT = (UrlState.VISITED, UrlState.NOT_MODIFIED)
_KEPT_OR_SKIPPED = [state.value for state in (*_KEPT, UrlState.SKIPPED)]
_UNCHANGED = sorted(reason.value for reason in UNCHANGED)


def storable(text: str) -> str | None:
    """Text both databases take: no NUL, no lone surrogate. One hostile title must not stop a batch. Empty is NULL."""
    if text.isascii():
        return (text.replace("\0", "\ufffd") if "\0" in text else str(text)) or None
    return text.encode("utf-8", "replace").decode().replace("\0", "\ufffd")


def offer_tuple(run: str, offer: Offer, lastmod: float | None) -> tuple[Any, ...]:
    """An offer in the order of `OFFER_COLUMNS`."""
    url = str(offer.url)
    is_long = len(url) > KEY_CHARS
    refusal, parent = offer.refusal, offer.parent
    return (
        run,
        key_of(url) if is_long else url,
        url if is_long else None,
        offer.url.authority,
        offer.kind._value_,
        "DISCOVERED" if refusal is None else "SKIPPED",
        offer.source._value_,
        offer.depth,
        SOURCE_RANK[offer.source],
        None if parent is None else str(parent),
        offer.parent_seq,
        offer.position,
        0 if refusal is None else 1,
        key_of(offer.shape, SHAPE_CHARS),
        chain_text(offer.chain),
        lastmod,
        None if refusal is None else refusal._value_,
        storable(offer.detail) if offer.detail else None,
    )


def chain_text(chain: Sequence[Hop]) -> str | None:
    """Hops as JSON; NULL when there are none, which is nearly always."""
    return encode([(str(hop.url), hop.status) for hop in chain]).decode() if chain else None


def hops(text: str | None) -> tuple[Hop, ...]:
    """The reverse of `chain_text`."""
    return tuple(Hop(Url.trusted(url), status) for url, status in _hops.decode(text)) if text else ()


def headers_text(headers: Sequence[tuple[str, str]]) -> str | None:
    """Headers as JSON; NULL when there are none, which is nearly always."""
    return storable(encode(headers).decode()) if headers else None


def headers_of(text: str | None) -> tuple[tuple[str, str], ...]:
    """The reverse of `headers_text`."""
    return _headers.decode(text) if text else ()


def render_text(note: RenderNote) -> str | None:
    """Why and how a browser read a page, as JSON."""
    return storable(encode(note).decode())


def maybe_url(text: str | None) -> Url | None:
    """A URL column that may be NULL."""
    return Url.trusted(text) if text is not None else None


_KINDS = {kind.value: kind for kind in RowKind}
_SOURCES = {source.value: source for source in Source}
LEASE_COLUMNS = tuple(
    urls.c[name]
    for name in ("url", "long_url", "token", "depth", "seq", "kind", "attempts", "source", "chain", "lastmod", "wave")
)  # fmt: skip
KNOWN_COLUMNS = tuple(
    pages.c[name]
    for name in (
        "fetched_at", "content_hash", "novelty", "document", "etag", "last_modified", "lastmod", "title", "canonical",
        "snapshot", "word_count", "noindex", "content_type", "headers", "sketch", "volatile", "render_reason", "screenshot",
    )
)  # fmt: skip


def lease_of(run: RunId, row: Sequence[Any], known: KnownPage | None) -> Lease:
    """A row of `LEASE_COLUMNS` as it stood before it was leased."""
    key, long_url, token, depth, seq, kind, attempts, source, chain, lastmod, wave = row
    return Lease(
        run, Url.trusted(long_url or key), token + 1, depth, seq, _KINDS[kind], attempts, _SOURCES[source], hops(chain),
        lastmod, known, wave,
    )  # fmt: skip


def known_of(row: Sequence[Any]) -> KnownPage:
    """A row of `KNOWN_COLUMNS`."""
    (fetched_at, content_hash, novelty, document, etag, last_modified, lastmod, title, canonical,
     snapshot, word_count, noindex, content_type, headers, sketch, volatile, render_reason, screenshot) = row  # fmt: skip
    return KnownPage(
        fetched_at, content_hash, novelty, document, etag, last_modified, lastmod, title, maybe_url(canonical),
        snapshot, word_count, bool(noindex), content_type or "", headers_of(headers), sketch or b"", volatile or b"",
        RenderReason(render_reason) if render_reason else None, screenshot,
    )  # fmt: skip


ROW_COLUMNS = tuple(
    urls.c[name]
    for name in (
        "run_id", "url", "long_url", "kind", "state", "depth", "source", "parent", "seq", "wave", "shape", "status_code",
        "chain", "alias_of", "proof", "title", "content_hash", "canonical", "content_type", "word_count", "noindex",
        "document", "snapshot", "skip_reason", "detail", "error", "attempts", "fetches", "retry_at", "claimed_by",
        "token", "lastmod", "fetched_at", "elapsed_s", "body_bytes", "changed", "etag", "last_modified", "headers",
        "rendering", "screenshot",
    )
)  # fmt: skip
_STATES = {state.value: state for state in UrlState}
_REASONS: dict[str | None, SkipReason | None] = {None: None, **{reason.value: reason for reason in SkipReason}}
_PROOFS: dict[str | None, Proof | None] = {None: None, **{proof.value: proof for proof in Proof}}


def url_row(row: Sequence[Any]) -> UrlRow:
    """A row of `ROW_COLUMNS`."""
    (run, key, long_url, kind, state_text, depth, source, parent, seq, wave, shape, status_code,
     chain, alias_of, proof, title, content_hash, canonical, content_type, word_count, noindex,
     document, snapshot, skip_reason, detail, error, attempts, fetches, retry_at, claimed_by,
     token, lastmod, fetched_at, elapsed_s, body_bytes, changed, etag, last_modified, headers,
     rendering, screenshot) = row  # fmt: skip
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
        shape=shape,
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
        render=_note.decode(rendering) if rendering else None,
        screenshot=screenshot,
    )


RUN_COLUMNS = (
    runs.c.id, runs.c.site_id, sites.c.name, runs.c.state, runs.c.settings, runs.c.created_at, runs.c.started_at,
    runs.c.finished_at, runs.c.wave, runs.c.depth, runs.c.joined_hosts, runs.c.error, runs.c.wave_hosts, runs.c.attempts,
    runs.c.site_rendering,
)  # fmt: skip
RUNS_WITH_SITES = runs.join(sites, sites.c.id == runs.c.site_id)


def run_of(row: Sequence[Any]) -> Run:
    """A row of `RUN_COLUMNS`."""
    (run, site, name, state, settings, created_at, started_at, finished_at, wave, depth, joined, error, hosts, attempts,
     site_rendering) = row  # fmt: skip
    return Run(
        run, site, name, RunState(state), settings_of(settings), created_at, started_at, finished_at, wave, depth,
        tuple(names_of(joined)), error, tuple(names_of(hosts)), attempts, site_rendering_of(site_rendering),
    )  # fmt: skip


def settings_of(text: str) -> CrawlSettings:
    """The settings a run was asked for. Settings that came later take their defaults."""
    return _settings.decode(text)


def site_rendering_of(text: str | None) -> SiteRendering:
    """What a site's runs have learnt of it; nothing where none has ended yet."""
    return _site_rendering.decode(text) if text else SiteRendering()


def names_of(text: str) -> list[str]:
    """A JSON list of names."""
    return _names.decode(text)


def is_page(kind: str, state: str, skip_reason: str | None, seq: int | None) -> bool:
    """A row is a page of the run: read, not modified, or known to be unchanged."""
    return kind == "page" and (state in _KEPT or (state == "SKIPPED" and skip_reason in UNCHANGED and seq is not None))


def is_kept() -> sa.ColumnElement[bool]:
    """`is_page` as a condition. Its first two terms lead into the index on admitted rows."""
    c = urls.c
    return sa.and_(
        c.state.in_(_KEPT_OR_SKIPPED),
        c.seq.is_not(None),
        c.kind == sa.text("'page'"),
        sa.or_(c.state != sa.text("'SKIPPED'"), c.skip_reason.in_(_UNCHANGED)),
    )
