"""Media: what pages show, the files behind media URLs, lists, totals, deletion. Every function is part of one transaction."""

from __future__ import annotations

import posixpath
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import unquote

import sqlalchemy as sa

from sitelore.model.frontier import Settlement
from sitelore.model.ids import NO_TEXT, SiteId, TenantId
from sitelore.model.platform.media import (
    MAX_TEXT_CHARS,
    KnownMedia,
    MediaFile,
    MediaListing,
    MediaOrder,
    MediaTotals,
    MediaUpdate,
    MediaUse,
    ShownMedia,
    SiteMedia,
    StoredMedia,
    video_hash,
)
from sitelore.model.settings import MediaType
from sitelore.model.url import Url
from sitelore.store.pages.site_urls import url_ids
from sitelore.store.platform.schema import channels, media, media_sites, media_urls, page_media
from sitelore.store.rows import storable
from sitelore.store.runs.counts import Changes
from sitelore.store.schema import key_of, pages, site_urls, urls
from sitelore.store.statements import (
    BATCH,
    OF_RUN,
    SITE,
    TENANT,
    Statement,
    bind,
    execute_many,
    insert_statement,
    next_ids,
    select_in_batches,
    upsert,
)

MEDIA_PER_READ = 2_000
_MAX_NAME_CHARS = 255
_COUNTED_AS = {MediaType.IMAGE: "images", MediaType.VIDEO: "videos", MediaType.DOCUMENT: "documents"}
_TYPES = {kind.value: kind for kind in MediaType}


class _Content(NamedTuple):
    """The content of a media URL."""

    run: str
    url: Url
    at: float
    update: MediaUpdate
    shown: ShownMedia | None = None
    """A video that is not downloaded."""

    @property
    def content_hash(self) -> str:
        if self.update.file is not None:
            return self.update.file.content_hash
        assert self.shown is not None
        return video_hash(self.shown.provider, self.shown.video_id)


def settle_media(
    conn: sa.Connection, tenant: TenantId, sites: Mapping[str, int], written: Sequence[Settlement], counts: Changes
) -> None:
    """Store the media part of settlements: what their pages show, and what was found at media URLs."""
    by_site: dict[int, list[Settlement]] = defaultdict(list)
    for settlement in written:
        effects = settlement.effects
        if effects.is_oversized_video:
            counts.add_media(settlement.lease.run, "videos_skipped_oversized", 1)
        if effects.shown is not None or effects.media is not None:
            by_site[sites[settlement.lease.run]].append(settlement)
    for site in sorted(by_site):
        _settle_site(conn, tenant, site, by_site[site], counts)


def _settle_site(conn: sa.Connection, tenant: TenantId, site: int, settlements: Sequence[Settlement], counts: Changes) -> None:
    own = {settlement.lease.url for settlement in settlements}
    shown = {item.url for settlement in settlements for item in settlement.effects.shown or ()}
    ids = url_ids(conn, tenant, site, own | shown)
    _store_shown(conn, tenant, site, settlements, ids)
    contents = list(_contents_of(settlements))
    media_ids, new = _media_ids(conn, tenant, contents)
    rows = {}
    for each in contents:
        if each.content_hash in media_ids:
            _count(counts, each, is_new=each.content_hash in new)
            new.discard(each.content_hash)
            validators = storable(each.update.etag or ""), storable(each.update.last_modified or "")
            rows[ids[each.url]] = (tenant, ids[each.url], site, media_ids[each.content_hash], *validators, each.at)
    execute_many(conn, _media_url_statement, [rows[url_id] for url_id in sorted(rows)])
    execute_many(conn, _media_site_statement, [(tenant, site, media_id) for media_id in sorted(set(media_ids.values()))])
    _store_unchanged(conn, tenant, settlements, ids, counts)
    _set_first_alt(conn, tenant, settlements, ids)


def _contents_of(settlements: Sequence[Settlement]) -> Iterator[_Content]:
    """What was found at URLs: downloaded files, and videos that are not downloaded."""
    for settlement in settlements:
        run, update = settlement.lease.run, settlement.effects.media
        for item in settlement.effects.shown or ():
            if item.provider:
                yield _Content(run, item.url, settlement.at, MediaUpdate(), item)
        if update is not None and update.file is not None:
            yield _Content(run, settlement.lease.url, settlement.at, update)


def _store_unchanged(
    conn: sa.Connection, tenant: TenantId, settlements: Sequence[Settlement], ids: Mapping[str, int], counts: Changes
) -> None:
    """Store that known files were found unchanged."""
    touched, seen = [], []
    for settlement in settlements:
        update, known = settlement.effects.media, settlement.lease.known_media
        if update is None or update.file is not None or known is None:
            continue
        counts.add_media(settlement.lease.run, "unchanged", 1)
        counts.add_media(settlement.lease.run, _COUNTED_AS[known.type], 1)
        if settlement.effects.fetched:
            touched.append((settlement.at, tenant, ids[settlement.lease.url]))
        seen.append((settlement.at, tenant, known.media))
    execute_many(conn, _touch_statement, touched)
    execute_many(conn, _seen_statement, seen)


def _store_shown(
    conn: sa.Connection, tenant: TenantId, site: int, settlements: Sequence[Settlement], ids: Mapping[str, int]
) -> None:
    """Replace the joins of pages."""
    rows = []
    for settlement in settlements:
        items = settlement.effects.shown
        if items is None:
            continue
        page = ids[settlement.lease.url]
        conn.execute(sa.delete(page_media).where(page_media.c.tenant_id == tenant, page_media.c.page_id == page))
        rows += [(tenant, page, at, site, ids[item.url], storable(item.alt)) for at, item in enumerate(items)]
    execute_many(conn, _shown_statement, rows)


def _count(counts: Changes, content: _Content, *, is_new: bool) -> None:
    file = content.update.file
    if file is None:
        return
    counts.add_media(content.run, _COUNTED_AS[file.type], 1)
    if not is_new:
        counts.add_media(content.run, "duplicates_skipped", 1)
    elif file.stored_bytes:
        counts.add_media(content.run, "original_bytes", file.original_bytes)
        counts.add_media(content.run, "stored_bytes", file.stored_bytes)


_ids_of_content = sa.select(media.c.content_hash, media.c.id).where(
    media.c.tenant_id == TENANT, media.c.content_hash.in_(BATCH)
)


def _media_ids(conn: sa.Connection, tenant: TenantId, contents: Sequence[_Content]) -> tuple[dict[str, int], set[str]]:
    """The ids of contents, and the contents that are new. Of equal contents the first one names the row.

    Contents that were known and are deleted by now have no id.
    """
    first: dict[str, _Content] = {}
    for each in contents:
        first.setdefault(each.content_hash, each)
    known = {row[0]: row[1] for row in select_in_batches(conn, _ids_of_content, first, tenant=tenant)}
    missing = sorted(key for key in first.keys() - known.keys() if not first[key].update.is_known)
    fresh = dict(zip(missing, next_ids(conn, tenant, media, len(missing)), strict=True))
    execute_many(conn, _media_statement, [_media_tuple(tenant, fresh[key], first[key]) for key in missing])
    if missing:  # read again: another transaction may have been first
        known |= {row[0]: row[1] for row in select_in_batches(conn, _ids_of_content, missing, tenant=tenant)}
    seen = [(first[key].at, tenant, known[key]) for key in sorted(known.keys() - set(missing))]
    execute_many(conn, _seen_statement, seen)
    return known, {key for key in missing if known[key] == fresh[key]}


def _media_tuple(tenant: TenantId, media_id: int, content: _Content) -> tuple[Any, ...]:
    file, shown, url = content.update.file, content.shown, content.url
    name = storable(unquote(posixpath.basename(url.path))[:_MAX_NAME_CHARS]) or url.host
    values: tuple[Any, ...]
    if file is None:
        assert shown is not None
        values = (
            MediaType.VIDEO.value, content.content_hash, None, str(url), name, "text/html", 0, 0, None, None,
            storable(shown.alt), shown.provider, shown.video_id, None,
        )  # fmt: skip
    else:
        values = (
            file.type.value, file.content_hash, file.key if file.stored_bytes else None, str(url), name, file.mime_type,
            file.stored_bytes, file.original_bytes, file.width, file.height, None, None, None,
            storable(file.text[:MAX_TEXT_CHARS]),
        )  # fmt: skip
    return (tenant, media_id, *values, content.at, content.at)


def _set_first_alt(conn: sa.Connection, tenant: TenantId, settlements: Sequence[Settlement], ids: Mapping[str, int]) -> None:
    """Give media without an alternative text the first one with which a page shows them."""
    visited = [ids[settlement.lease.url] for settlement in settlements if settlement.effects.media is not None]
    alts = {ids[item.url]: item.alt for each in settlements for item in each.effects.shown or () if item.alt}
    for url_id, alt in select_in_batches(conn, _alts_of_urls, visited, tenant=tenant):
        alts.setdefault(url_id, alt)
    execute_many(conn, _alt_statement, [(storable(alts[url_id]), tenant, tenant, url_id) for url_id in sorted(alts)])


_alts_of_urls = (
    sa.select(page_media.c.url_id, page_media.c.alt)
    .where(page_media.c.tenant_id == TENANT, page_media.c.url_id.in_(BATCH), page_media.c.alt.is_not(None))
    .order_by(page_media.c.url_id, page_media.c.page_id, page_media.c.position)
)


def _shown_statement(dialect_name: str) -> Statement:
    """Add a place of a page that shows a media URL."""
    return insert_statement(dialect_name, page_media)


def _media_statement(dialect_name: str) -> Statement:
    """Add a media row, unless there is one with this content."""
    insert, names = insert_statement(dialect_name, media)
    return insert.on_conflict_do_nothing(index_elements=["tenant_id", "content_hash"]), names


def _media_url_statement(dialect_name: str) -> Statement:
    """Store the content of a media URL."""
    return upsert(dialect_name, media_urls)


def _media_site_statement(dialect_name: str) -> Statement:
    """Store that a site has a media file."""
    insert, names = insert_statement(dialect_name, media_sites)
    return insert.on_conflict_do_nothing(index_elements=["tenant_id", "site_id", "media_id"]), names


def _touch_statement(_dialect_name: str) -> Statement:
    """Store that a media URL was found unchanged."""
    c = media_urls.c
    statement = sa.update(media_urls).values(fetched_at=sa.bindparam("now", type_=sa.Double))
    statement = statement.where(c.tenant_id == sa.bindparam("tenant_key"), c.url_id == sa.bindparam("url_key"))
    return statement, ("now", "tenant_key", "url_key")


def _seen_statement(_dialect_name: str) -> Statement:
    """Store that a known file was found again."""
    c = media.c
    statement = sa.update(media).values(last_crawled_at=bind(c.last_crawled_at))
    statement = statement.where(c.tenant_id == sa.bindparam("tenant_key"), c.id == sa.bindparam("media_key"))
    return statement, ("last_crawled_at", "tenant_key", "media_key")


def _alt_statement(_dialect_name: str) -> Statement:
    """Set the alternative text of the media behind a URL, if it has none."""
    c, of_url = media.c, media_urls.c
    its_media = sa.select(of_url.media_id).where(
        of_url.tenant_id == sa.bindparam("tenant_of_url"), of_url.url_id == sa.bindparam("url_key")
    )
    statement = sa.update(media).values(alt=bind(c.alt))
    statement = statement.where(c.tenant_id == sa.bindparam("tenant_key"), c.alt.is_(None), c.id == its_media.scalar_subquery())
    return statement, ("alt", "tenant_key", "tenant_of_url", "url_key")


_known = (
    sa.select(site_urls.c.url, media.c.id, media.c.type, media_urls.c.fetched_at, media_urls.c.etag, media_urls.c.last_modified)
    .select_from(
        site_urls.join(
            media_urls, sa.and_(media_urls.c.tenant_id == site_urls.c.tenant_id, media_urls.c.url_id == site_urls.c.id)
        ).join(media, sa.and_(media.c.tenant_id == media_urls.c.tenant_id, media.c.id == media_urls.c.media_id))
    )
    .where(site_urls.c.tenant_id == TENANT, site_urls.c.site_id == SITE, site_urls.c.url.in_(BATCH))
)


def known_media(conn: sa.Connection, tenant: TenantId, site: int, keys: Iterable[str]) -> dict[str, KnownMedia]:
    """What earlier visits stored about media URLs of a site, by key."""
    rows = select_in_batches(conn, _known, keys, tenant=tenant, site=site)
    return {row[0]: KnownMedia(row[1], _TYPES[row[2]], *row[3:]) for row in rows}


_aliases = sa.select(urls.c.url_id, urls.c.alias_of).where(
    OF_RUN,
    urls.c.kind == sa.text("'media'"),
    urls.c.state == sa.text("'ALIAS'"),
    urls.c.alias_of.is_not(None),
)
_contents = sa.select(media_urls).where(media_urls.c.tenant_id == TENANT, media_urls.c.url_id.in_(BATCH))


def link_redirects(conn: sa.Connection, tenant: TenantId, site: int, run: str) -> None:
    """Give media URLs that redirect the content of their final targets, which are resolved by now."""
    targets = {row[0]: row[1] for row in conn.execute(_aliases, {"tenant": tenant, "run": run})}
    contents = {row.url_id: row for row in select_in_batches(conn, _contents, set(targets.values()), tenant=tenant)}
    rows = [
        (tenant, url_id, site, row.media_id, None, None, row.fetched_at)
        for url_id, target in targets.items()
        if (row := contents.get(target)) is not None
    ]
    execute_many(conn, _media_url_statement, sorted(rows))


# Pages count while they are kept: not those merged into another page, and not those that are gone.
_kept_uses = (
    page_media.join(
        media_urls, sa.and_(media_urls.c.tenant_id == page_media.c.tenant_id, media_urls.c.url_id == page_media.c.url_id)
    )
    .join(site_urls, sa.and_(site_urls.c.tenant_id == page_media.c.tenant_id, site_urls.c.id == page_media.c.page_id))
    .join(
        pages,
        sa.and_(
            pages.c.tenant_id == site_urls.c.tenant_id, pages.c.site_id == site_urls.c.site_id, pages.c.url_id == site_urls.c.id
        ),
    )
)
_is_kept = sa.text("pages.alias_of IS NULL AND pages.presence <> 'GONE'")
_usage_count = (
    sa.select(sa.func.count(page_media.c.page_id.distinct()))
    .select_from(_kept_uses)
    .where(page_media.c.tenant_id == TENANT, media_urls.c.media_id == media.c.id, _is_kept)
    .correlate(media)
    .scalar_subquery()
)
_is_content = sa.and_(media_urls.c.tenant_id == page_media.c.tenant_id, media_urls.c.url_id == page_media.c.url_id)
_next_place, _poster_url, _poster = page_media.alias("next_place"), media_urls.alias("poster_url"), media.alias("poster")
# The poster of a video is the image that follows it on its page (`extract/page_objects/shown_media.py`).
_poster_key = (
    sa.select(_poster.c.storage_key)
    .select_from(
        page_media.join(media_urls, _is_content)
        .join(
            _next_place,
            sa.and_(
                _next_place.c.tenant_id == page_media.c.tenant_id,
                _next_place.c.page_id == page_media.c.page_id,
                _next_place.c.position == page_media.c.position + 1,
            ),
        )
        .join(
            _poster_url,
            sa.and_(_poster_url.c.tenant_id == _next_place.c.tenant_id, _poster_url.c.url_id == _next_place.c.url_id),
        )
        .join(_poster, sa.and_(_poster.c.tenant_id == _poster_url.c.tenant_id, _poster.c.id == _poster_url.c.media_id))
    )
    .where(page_media.c.tenant_id == TENANT, media_urls.c.media_id == media.c.id, media.c.type == sa.text("'VIDEO'"))
    .where(media.c.provider.is_(None), _poster.c.type == sa.text("'IMAGE'"), _poster.c.storage_key.is_not(None))
    .order_by(page_media.c.page_id, page_media.c.position)
    .limit(1)
    .correlate(media)
    .scalar_subquery()
)
_columns = (
    *media.c["id", "type", "content_hash", "source_url", "file_name", "mime_type", "created_at", "last_crawled_at",
             "storage_key", "stored_bytes", "original_bytes", "width", "height", "alt", "provider", "video_id", "text"],
    _usage_count.label("usage_count"), _poster_key.label("poster_key"),
)  # fmt: skip


def _stored(row: Any) -> StoredMedia:
    (media_id, kind, content_hash, source_url, file_name, mime_type, created_at, last_crawled_at, key, stored_bytes,
     original_bytes, width, height, alt, provider, video_id, text, usage_count, poster_key) = row  # fmt: skip
    return StoredMedia(
        media_id, _TYPES[kind], content_hash, source_url, file_name, mime_type, created_at, last_crawled_at, key or "",
        stored_bytes, original_bytes, width, height, alt or NO_TEXT, provider or "", video_id or "", text or NO_TEXT,
        usage_count, poster_key or "",
    )  # fmt: skip


def _is_listed(tenant: TenantId, listing: MediaListing) -> sa.ColumnElement[bool]:
    conditions: list[sa.ColumnElement[bool]] = [media.c.tenant_id == tenant]
    if listing.type is not None:
        conditions.append(media.c.type == listing.type.value)
    if listing.site is not None:
        s = media_sites.c
        of_site = sa.select(s.media_id).where(s.tenant_id == tenant, s.site_id == listing.site)
        conditions.append(media.c.id.in_(of_site))
    if listing.page is not None:
        of_page = (
            sa.select(media_urls.c.media_id)
            .join_from(
                page_media,
                media_urls,
                sa.and_(media_urls.c.tenant_id == page_media.c.tenant_id, media_urls.c.url_id == page_media.c.url_id),
            )
            .where(page_media.c.tenant_id == tenant, page_media.c.page_id == listing.page)
        )
        conditions.append(media.c.id.in_(of_page))
    if listing.text:
        named = (media.c.file_name, media.c.source_url, media.c.alt)
        conditions.append(sa.or_(*(each.icontains(listing.text, autoescape=True) for each in named)))
    return sa.and_(*conditions)


_ORDER_COLUMNS: dict[MediaOrder, sa.ColumnElement[Any]] = {
    MediaOrder.ADDED: media.c.id,
    MediaOrder.NAME: sa.func.lower(media.c.file_name),
    MediaOrder.SIZE: media.c.stored_bytes,
    MediaOrder.SAVED: media.c.original_bytes - media.c.stored_bytes,
}


def list_media(conn: sa.Connection, tenant: TenantId, listing: MediaListing) -> tuple[list[StoredMedia], int]:
    """Some of the media, oldest first by default, and the total number."""
    condition = _is_listed(tenant, listing)
    total = conn.scalar(sa.select(sa.func.count()).select_from(media).where(condition)) or 0
    by_value = (_ORDER_COLUMNS[listing.order], media.c.id)
    order = (each.desc() if listing.descending else each for each in by_value)
    query = sa.select(*_columns).where(condition).order_by(*order).limit(listing.limit).offset(listing.offset)
    return [_stored(row) for row in conn.execute(query, {"tenant": tenant})], total


def find_media(conn: sa.Connection, tenant: TenantId, media_id: int, site: SiteId | None = None) -> StoredMedia | None:
    """The media of this id, if it is of the site."""
    query = sa.select(*_columns).where(_is_listed(tenant, MediaListing(site)), media.c.id == media_id)
    row = conn.execute(query, {"tenant": tenant}).one_or_none()
    return None if row is None else _stored(row)


def find_content(conn: sa.Connection, tenant: TenantId, content_hash: str) -> MediaFile | None:
    """The stored file with this content."""
    c = media.c
    row = conn.execute(sa.select(media).where(c.tenant_id == tenant, c.content_hash == content_hash)).one_or_none()
    if row is None or row.provider is not None:
        return None
    extension = (row.storage_key or "").rpartition(".")[2]
    return MediaFile(
        _TYPES[row.type], content_hash, row.mime_type, extension, row.original_bytes, row.stored_bytes, row.width, row.height,
        row.text or NO_TEXT,
    )  # fmt: skip


def uses_of(
    conn: sa.Connection, tenant: TenantId, media_id: int, site: SiteId | None = None, limit: int = 100
) -> list[MediaUse]:
    """Pages that show a file, by URL, each with its first place there."""
    query = (
        sa.select(
            page_media.c.page_id, site_urls.c.url, site_urls.c.long_url, pages.c.title, page_media.c.position, page_media.c.alt
        )
        .select_from(_kept_uses)
        .where(page_media.c.tenant_id == tenant, media_urls.c.media_id == media_id, _is_kept)
        .order_by(site_urls.c.url, page_media.c.position)
    )
    if site is not None:
        query = query.where(page_media.c.site_id == site)
    uses: dict[int, MediaUse] = {}
    for page, key, long_url, title, position, alt in conn.execute(query):
        if page not in uses and len(uses) >= limit:
            break
        uses.setdefault(page, MediaUse(page, Url.trusted(long_url or key), title or NO_TEXT, position, alt or NO_TEXT))
    return list(uses.values())


def totals(conn: sa.Connection, tenant: TenantId, site: SiteId | None = None) -> MediaTotals:
    """Numbers and sizes of the media of a site, or (None) of the tenant."""
    sizes = sa.func.coalesce(sa.func.sum(media.c.stored_bytes), 0), sa.func.coalesce(sa.func.sum(media.c.original_bytes), 0)
    query = sa.select(media.c.type, sa.func.count(), *sizes).where(_is_listed(tenant, MediaListing(site)))
    rows = conn.execute(query.group_by(media.c.type)).all()
    places = sa.select(sa.func.count()).select_from(_kept_uses).where(page_media.c.tenant_id == tenant, _is_kept)
    if site is not None:
        places = places.where(page_media.c.site_id == site)
    return MediaTotals(
        counts={row[0]: row[1] for row in rows},
        stored_bytes=int(sum(row[2] for row in rows)),
        original_bytes=int(sum(row[3] for row in rows)),
        uses=conn.scalar(places) or 0,
    )


def delete_media(conn: sa.Connection, tenant: TenantId, media_id: int) -> bool:
    """Delete a media row that no page uses. False when there is none, or a page uses it. The file is deleted by the caller."""
    this_media = sa.and_(media.c.tenant_id == tenant, media.c.id == media_id)
    if conn.execute(sa.select(media.c.id).where(this_media).with_for_update()).first() is None:
        return False
    if conn.scalar(sa.select(_usage_count).select_from(media).where(this_media), {"tenant": tenant}):
        return False
    conn.execute(sa.delete(media).where(this_media))
    return True


def delete_unused(conn: sa.Connection, tenant: TenantId, crawled_before: float) -> int:
    """Delete media that no page uses and that were not found since this time. Returns how many were deleted."""
    old = sa.and_(media.c.tenant_id == tenant, media.c.last_crawled_at < crawled_before)
    unused = sa.select(media.c.id).where(old, _usage_count == 0).order_by(media.c.id).limit(MEDIA_PER_READ)
    return _delete(conn, tenant, conn.scalars(unused, {"tenant": tenant}).all())


def delete_without_sites(conn: sa.Connection, tenant: TenantId) -> None:
    """Delete media that no site has any more. To be called after a site was deleted."""
    has_site = sa.exists().where(media_sites.c.tenant_id == tenant, media_sites.c.media_id == media.c.id).correlate(media)
    conn.execute(sa.delete(media).where(media.c.tenant_id == tenant, ~has_site))


def forget_pages(conn: sa.Connection, tenant: TenantId, page_ids: Collection[int]) -> None:
    """Delete the joins of pages, by the ids of their URLs."""
    conn.execute(sa.delete(page_media).where(page_media.c.tenant_id == tenant, page_media.c.page_id.in_(sorted(page_ids))))


def _delete(conn: sa.Connection, tenant: TenantId, ids: Sequence[int]) -> int:
    if ids:
        conn.execute(sa.delete(media).where(media.c.tenant_id == tenant, media.c.id.in_(ids)))
    return len(ids)


def references_after(conn: sa.Connection, tenant: TenantId, after: int) -> list[tuple[int, str, str]]:
    """The next media by id: id, content hash, and key of the file; fewer than `MEDIA_PER_READ` at the end."""
    c = media.c
    query = sa.select(c.id, c.content_hash, c.storage_key).where(c.tenant_id == tenant, c.id > after)
    return [(row[0], row[1], row[2] or "") for row in conn.execute(query.order_by(c.id).limit(MEDIA_PER_READ))]


def screenshot_folder(conn: sa.Connection, tenant: TenantId, site: SiteId) -> str:
    """The folder of the screenshots of a site: its channel, or without one the id of the site."""
    c = channels.c
    channel = conn.scalar(sa.select(c.id).where(c.tenant_id == tenant, c.site_id == site))
    return str(channel or site)


def screenshots_after(conn: sa.Connection, tenant: TenantId, after: tuple[int, int]) -> list[tuple[int, int, str]]:
    """The next screenshots in the order of site and page, with these; fewer than `MEDIA_PER_READ` at the end."""
    c = pages.c
    query = sa.select(c.site_id, c.url_id, c.screenshot).where(c.tenant_id == tenant, c.screenshot.is_not(None))
    last = sa.tuple_(sa.literal(after[0], c.site_id.type), sa.literal(after[1], c.url_id.type))
    later = query.where(sa.tuple_(c.site_id, c.url_id) > last)
    return [(row[0], row[1], row[2]) for row in conn.execute(later.order_by(c.site_id, c.url_id).limit(MEDIA_PER_READ))]


_of_site = (
    sa.select(
        media_urls.c.url_id, site_urls.c.url, site_urls.c.long_url, media.c.mime_type, media.c.original_bytes,
        media.c.stored_bytes, media.c.width, media.c.height,
    )
    .select_from(
        media_urls.join(media, sa.and_(media.c.tenant_id == media_urls.c.tenant_id, media.c.id == media_urls.c.media_id)).join(
            site_urls, sa.and_(site_urls.c.tenant_id == media_urls.c.tenant_id, site_urls.c.id == media_urls.c.url_id)
        )
    )
    .where(media_urls.c.tenant_id == TENANT, media_urls.c.site_id == SITE, media.c.provider.is_(None))
    .where(media_urls.c.url_id > sa.bindparam("after", type_=sa.BigInteger))
    .order_by(media_urls.c.url_id)
    .limit(MEDIA_PER_READ)
)  # fmt: skip


def site_media_after(conn: sa.Connection, tenant: TenantId, site: SiteId, after: int) -> list[tuple[int, SiteMedia]]:
    """The next files of a site by the id of their URL; fewer than `MEDIA_PER_READ` when these are the last."""
    rows = conn.execute(_of_site, {"tenant": tenant, "site": site, "after": after})
    return [(row[0], SiteMedia(row[2] or row[1], *row[3:])) for row in rows]


def page_ids(conn: sa.Connection, tenant: TenantId, site: SiteId, page_urls: Iterable[Url]) -> dict[Url, int]:
    """The ids of URLs of a site, of those that have one."""
    by_key = {key_of(url): url for url in page_urls}
    c = site_urls.c
    query = sa.select(c.url, c.id).where(c.tenant_id == TENANT, c.site_id == SITE, c.url.in_(BATCH))
    return {by_key[row[0]]: row[1] for row in select_in_batches(conn, query, by_key, tenant=tenant, site=site)}
