"""Versions of pages with their facts and links, and what changed in a period. Every function is part of one transaction.

A page gets a new version when its content has changed. A fetch that finds it unchanged but with another document, because parts
of the page change with every fetch, replaces document, facts and links of the current version.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from operator import attrgetter, itemgetter
from typing import Any, NamedTuple

import msgspec
import sqlalchemy as sa
import zstandard

from sitelore.model.changes import ChangedVersion, GonePage, ReturnedPage
from sitelore.model.document import PageLink
from sitelore.model.frontier import LinkBetweenPages, LinkColumns, PageUpdate, PageVersion
from sitelore.model.ids import NO_TEXT, CleanText, SiteId, TenantId
from sitelore.model.url import Url
from sitelore.store.pages.site_urls import UrlIds, find_url_id
from sitelore.store.rows import encode
from sitelore.store.schema import key_of, links, page_versions, pages, site_urls
from sitelore.store.statements import (
    BATCH,
    OF_SITE,
    PAGES_WITH_URL,
    SITE,
    TENANT,
    Statement,
    bind,
    execute_many,
    insert_statement,
    next_ids,
    select_in_batches,
)

VERSIONS_PER_PAGE = 500
SOURCES_PER_READ = 100
"""Pages whose links are read at once: some ten thousand links, as pages have about a hundred."""

_links_decoder = msgspec.msgpack.Decoder(list[PageLink])
_counts_decoder = msgspec.json.Decoder(dict[str, int])
_numbers_decoder = msgspec.json.Decoder(list[int])
_texts_decoder = msgspec.json.Decoder(list[CleanText | None])

_is_kept = sa.text("pages.alias_of IS NULL AND pages.presence <> 'GONE'")
_is_current = sa.text("page_versions.ended_at IS NULL")  # spelled as in the partial index


@dataclass(frozen=True)
class PageChange:
    """A page of a site whose document differs from the stored one."""

    url: Url
    page: PageUpdate
    at: float
    is_new_version: bool = True
    """False when the content is the same: the current version gets the new document."""

    @cached_property
    def links(self) -> list[PageLink]:
        """The links of the document, decoded."""
        return _links_decoder.decode(self.page.links) if self.page.links else []

    def mentioned(self) -> set[str]:
        """The URLs of the page and of its links."""
        return {self.url, *(link.url for link in self.links)}


def store_changes(
    conn: sa.Connection, tenant: TenantId, site: int, changes: Sequence[PageChange], url_ids: UrlIds | None = None
) -> None:
    """Store the new versions of a site's pages, or the new documents of their current versions, with facts and links.

    `url_ids`: of this transaction, with the URLs that the changes mention; by default they are looked up here.
    """
    if not changes:
        return
    if url_ids is None:
        url_ids = UrlIds(conn, tenant, site)
        url_ids.add(set().union(*(change.mentioned() for change in changes)))
    own_ids = [url_ids[change.url] for change in changes]
    current = {row[0]: row[1] for row in select_in_batches(conn, _current_versions, own_ids, tenant=tenant, site=site)}
    replaced = [own in current and not change.is_new_version for own, change in zip(own_ids, changes, strict=True)]
    fresh = iter(next_ids(conn, tenant, page_versions, replaced.count(False)))
    version_ids = [current[own] if stays else next(fresh) for own, stays in zip(own_ids, replaced, strict=True)]
    ended, added, updated = [], [], []
    for version, own, stays, change in zip(version_ids, own_ids, replaced, changes, strict=True):
        page = change.page
        values = (page.document, page.content_hash, _counts_text(page.redactions), page.facts or None)
        if stays:
            updated.append((*values, tenant, version))
            continue
        if own in current:
            ended.append((change.at, tenant, current[own]))
        added.append((tenant, version, site, own, change.at, None, *values))
    execute_many(conn, _end_statement, ended)
    execute_many(conn, _version_statement, added)
    execute_many(conn, _update_statement, updated)
    for version in (version for version, stays in zip(version_ids, replaced, strict=True) if stays):
        conn.execute(_delete_links, {"tenant": tenant, "version": version})
    rows = [
        (
            tenant,
            version,
            at,
            url_ids[link.url],
            "nofollow" if link.nofollow else None,
            link.fragment or None,
            link.text.replace("\0", "\ufffd") or None,
        )
        for version, change in zip(version_ids, changes, strict=True)
        for at, link in enumerate(change.links)
    ]
    execute_many(conn, _link_statement, rows)


_current_versions = sa.select(page_versions.c.url_id, page_versions.c.id).where(
    page_versions.c.tenant_id == TENANT, page_versions.c.site_id == SITE, page_versions.c.url_id.in_(BATCH), _is_current
)
_delete_links = sa.delete(links).where(
    links.c.tenant_id == TENANT, links.c.version_id == sa.bindparam("version", type_=sa.BigInteger)
)


def _counts_text(counts: dict[str, int]) -> str | None:
    return encode(counts).decode() if counts else None


def _version_statement(dialect_name: str) -> Statement:
    """Add a version."""
    return insert_statement(dialect_name, page_versions)


def _link_statement(dialect_name: str) -> Statement:
    """Add a link."""
    return insert_statement(dialect_name, links)


def _update_version(*values: tuple[sa.Column[Any], Any]) -> sa.Update:
    c = page_versions.c
    statement = sa.update(page_versions).ordered_values(*values)
    return statement.where(c.tenant_id == sa.bindparam("tenant_key"), c.id == sa.bindparam("version_key"))


def _end_statement(_dialect_name: str) -> Statement:
    """End a version."""
    ended_at = page_versions.c.ended_at
    return _update_version((ended_at, bind(ended_at))), ("ended_at", "tenant_key", "version_key")


def _update_statement(_dialect_name: str) -> Statement:
    """Replace the document of a version."""
    names = ("document", "content_hash", "redactions", "facts")
    statement = _update_version(*((page_versions.c[name], bind(page_versions.c[name])) for name in names))
    return statement, (*names, "tenant_key", "version_key")


_url_id = sa.bindparam("url_id", type_=sa.BigInteger)
_max_rows = sa.bindparam("max_rows", type_=sa.Integer)
_before_version = sa.bindparam("before_version", type_=sa.BigInteger)
_before_position = sa.bindparam("before_position", type_=sa.Integer)
_LAST_ID = 2**63 - 1
_LINK_COLUMNS = (links.c.position, links.c.text, links.c.fragment, links.c.rel)
# The places of links from their index alone, a part at a time, then their pages: a menu links to its pages from everywhere, and
# one statement for all of it would read all links or all pages of the site, on Postgres or on SQLite. Newest versions first:
# most of the older ones are not current.
_places = (
    sa.select(links.c.version_id, links.c.position)
    .where(links.c.tenant_id == TENANT, links.c.target_id == _url_id, links.c.version_id <= _before_version)
    .where(sa.or_(links.c.version_id < _before_version, links.c.position < _before_position))
    .order_by(links.c.version_id.desc(), links.c.position.desc())
    .limit(_max_rows)
).subquery("places")
_at_place = sa.and_(
    links.c.tenant_id == TENANT, links.c.version_id == _places.c.version_id, links.c.position == _places.c.position
)
_links_to = sa.select(links.c.version_id, *_LINK_COLUMNS).select_from(_places.join(links, _at_place))
_current_sources = (
    sa.select(page_versions.c.id, site_urls.c.url, site_urls.c.long_url)
    .select_from(
        page_versions.join(site_urls, sa.and_(site_urls.c.tenant_id == TENANT, site_urls.c.id == page_versions.c.url_id)).join(
            pages,
            sa.and_(
                pages.c.tenant_id == TENANT,
                pages.c.site_id == page_versions.c.site_id,
                pages.c.url_id == page_versions.c.url_id,
            ),
        )
    )
    .where(page_versions.c.tenant_id == TENANT, page_versions.c.id.in_(BATCH), _is_current, _is_kept)
)
_outlinks = (
    sa.select(site_urls.c.url, site_urls.c.long_url, *_LINK_COLUMNS)
    .select_from(
        page_versions.join(links, sa.and_(links.c.tenant_id == TENANT, links.c.version_id == page_versions.c.id)).join(
            site_urls, sa.and_(site_urls.c.tenant_id == TENANT, site_urls.c.id == links.c.target_id)
        )
    )
    .where(page_versions.c.tenant_id == TENANT, page_versions.c.site_id == SITE, page_versions.c.url_id == _url_id, _is_current)
    .order_by(links.c.position)
    .limit(_max_rows)
)


def inlinks(conn: sa.Connection, tenant: TenantId, site: SiteId, url: Url, limit: int = 1_000) -> list[LinkBetweenPages]:
    """Links to a URL from the current versions of the site's pages that were stored last, by source and position."""
    url_id = find_url_id(conn, tenant, site, url)
    values = {"tenant": tenant, "url_id": url_id, "max_rows": limit, "before_version": _LAST_ID, "before_position": 0}
    shown: list[LinkBetweenPages] = []
    while url_id is not None and len(shown) < limit:
        part = sorted(conn.execute(_links_to, values), key=itemgetter(0, 1), reverse=True)
        sources = select_in_batches(conn, _current_sources, {row[0] for row in part}, tenant=tenant)
        names = {version: (key, long_url) for version, key, long_url in sources}
        linked = [_decoded_link((*names[version], *rest)) for version, *rest in part if version in names]
        shown += [LinkBetweenPages(source, url, *rest) for source, *rest in linked]
        if len(part) < limit:
            break
        values["before_version"], values["before_position"] = part[-1][:2]
    return sorted(shown[:limit], key=attrgetter("source", "position"))


def outlinks(conn: sa.Connection, tenant: TenantId, site: SiteId, url: Url, limit: int = 1_000) -> list[LinkBetweenPages]:
    """Links of the current version of a page, in page order."""
    url_id = find_url_id(conn, tenant, site, url)
    if url_id is None:
        return []
    rows = conn.execute(_outlinks, {"tenant": tenant, "site": site, "url_id": url_id, "max_rows": limit})
    return [LinkBetweenPages(url, target, *rest) for target, *rest in map(_decoded_link, rows)]


# The pages first, by the index of current versions, then their links by the primary key.
_sources_after = (
    sa.select(page_versions.c.url_id, page_versions.c.id, site_urls.c.url, site_urls.c.long_url)
    .select_from(
        page_versions.join(site_urls, sa.and_(site_urls.c.tenant_id == TENANT, site_urls.c.id == page_versions.c.url_id)).join(
            pages,
            sa.and_(
                pages.c.tenant_id == TENANT,
                pages.c.site_id == page_versions.c.site_id,
                pages.c.url_id == page_versions.c.url_id,
            ),
        )
    )
    .where(page_versions.c.tenant_id == TENANT, page_versions.c.site_id == SITE, page_versions.c.url_id > _url_id)
    .where(_is_current, _is_kept)
    .order_by(page_versions.c.url_id)
    .limit(_max_rows)
)
_links_of_versions = (
    sa.select(links.c.version_id, links.c.target_id, *_LINK_COLUMNS)
    .where(links.c.tenant_id == TENANT, links.c.version_id.in_(BATCH))
    .order_by(links.c.version_id, links.c.position)
).subquery("ordered")


@cache
def _columns_of_versions(dialect_name: str) -> sa.Select[Any]:
    """The links of versions, each column of a version as one JSON array: a row for each link costs three times as much."""
    columns = [_links_of_versions.c[name] for name in ("target_id", "position", "text", "fragment", "rel")]
    if dialect_name == "postgresql":
        from sqlalchemy.dialects.postgresql import aggregate_order_by  # noqa: PLC0415 takes long to import

        in_order = (aggregate_order_by(column, _links_of_versions.c.position) for column in columns)
        arrays: list[Any] = [sa.cast(sa.func.json_agg(column), sa.Text) for column in in_order]
    else:  # in the order of the subquery
        arrays = [sa.func.json_group_array(column) for column in columns]
    return sa.select(_links_of_versions.c.version_id, *arrays).group_by(_links_of_versions.c.version_id)


_urls_with_ids = sa.select(site_urls.c.id, site_urls.c.url, site_urls.c.long_url).where(
    site_urls.c.tenant_id == TENANT, site_urls.c.id.in_(BATCH)
)


class LinksPart(NamedTuple):
    """Links of some pages of a site, and where the next part begins; None after the last."""

    links: LinkColumns
    next: int | None


def links_after(conn: sa.Connection, tenant: TenantId, site: SiteId, after: int, urls: dict[int, Url]) -> LinksPart:
    """Links of the current versions of the next pages that are kept, each page's together and in page order.

    `urls` has the URLs that earlier parts have read, by id: most links of a site lead to the same pages.
    """
    values = {"tenant": tenant, "site": site, "url_id": after, "max_rows": SOURCES_PER_READ}
    stored = conn.execute(_sources_after, values).all()
    source_of = {version: Url.trusted(long_url or key) for _, version, key, long_url in stored}
    statement = _columns_of_versions(conn.dialect.name)
    part = LinkColumns([], [], [], [], [], [])
    target_ids: list[int] = []
    for version, targets, positions, texts, fragments, rels in select_in_batches(conn, statement, source_of, tenant=tenant):
        target_ids += (numbers := _numbers_decoder.decode(targets))
        part.sources.extend([source_of[version]] * len(numbers))
        part.positions.extend(_numbers_decoder.decode(positions))
        part.texts.extend([text or NO_TEXT for text in _texts_decoder.decode(texts)])
        part.fragments.extend([fragment or "" for fragment in _texts_decoder.decode(fragments)])
        part.nofollow.extend([rel is not None and "nofollow" in rel for rel in _texts_decoder.decode(rels)])
    for number, key, long_url in select_in_batches(conn, _urls_with_ids, set(target_ids) - urls.keys(), tenant=tenant):
        urls[number] = Url.trusted(long_url or key)
    part.targets.extend(map(urls.__getitem__, target_ids))
    return LinksPart(part, stored[-1].url_id if len(stored) == SOURCES_PER_READ else None)


def _decoded_link(row: Sequence[Any]) -> tuple[Any, ...]:
    """The URL at the other end of a link, its position, text, fragment and whether it says nofollow."""
    key, long_url, position, text, fragment, rel = row
    return Url.trusted(long_url or key), position, text or NO_TEXT, fragment or "", rel is not None and "nofollow" in rel


_versions = (
    sa.select(site_urls.c.url, site_urls.c.long_url, *page_versions.c["seen_at", "ended_at", "document", "content_hash",
                                                                    "redactions", "facts"])
    .select_from(
        site_urls.join(
            page_versions,
            sa.and_(
                page_versions.c.tenant_id == site_urls.c.tenant_id,
                page_versions.c.site_id == site_urls.c.site_id,
                page_versions.c.url_id == site_urls.c.id,
            ),
        )
    )
    .where(site_urls.c.tenant_id == TENANT, site_urls.c.site_id == SITE)
)  # fmt: skip
_versions_of_page = _versions.where(site_urls.c.url == sa.bindparam("key")).order_by(page_versions.c.seen_at.desc())
_current_after = (
    _versions.join(
        pages, sa.and_(pages.c.tenant_id == TENANT, pages.c.site_id == site_urls.c.site_id, pages.c.url_id == site_urls.c.id)
    )
    .where(_is_current, _is_kept, site_urls.c.url > sa.bindparam("after", type_=sa.Text))
    .order_by(site_urls.c.url)
    .limit(VERSIONS_PER_PAGE)
)


def page_history(conn: sa.Connection, tenant: TenantId, site: SiteId, url: Url) -> list[PageVersion]:
    """All stored versions of a page, the current one first."""
    values = {"tenant": tenant, "site": site, "key": key_of(url)}
    return [_version_of(row) for row in conn.execute(_versions_of_page, values)]


def current_versions_after(conn: sa.Connection, tenant: TenantId, site: SiteId, after: str) -> list[tuple[str, PageVersion]]:
    """The current versions of the next pages in key order; fewer than `VERSIONS_PER_PAGE` when these are the last."""
    values = {"tenant": tenant, "site": site, "after": after}
    return [(row[0], _version_of(row)) for row in conn.execute(_current_after, values)]


def _version_of(row: Sequence[Any]) -> PageVersion:
    key, long_url, seen_at, ended_at, document, content_hash, redactions, facts = row
    counts = _counts_decoder.decode(redactions) if redactions else {}
    plain = zstandard.decompress(facts) if facts else b""
    return PageVersion(Url.trusted(long_url or key), seen_at, ended_at, document, content_hash, counts, plain)


_of_url = sa.and_(site_urls.c.tenant_id == page_versions.c.tenant_id, site_urls.c.id == page_versions.c.url_id)
_VERSION = (page_versions.c.url_id, page_versions.c.seen_at, page_versions.c.document, page_versions.c.content_hash)
_earlier = (
    sa.select(*_VERSION)
    .where(page_versions.c.tenant_id == TENANT, page_versions.c.site_id == SITE, page_versions.c.url_id.in_(BATCH))
    .where(page_versions.c.seen_at <= sa.bindparam("since", type_=sa.Double))
    .order_by(page_versions.c.seen_at)
)


def changed_versions(conn: sa.Connection, tenant: TenantId, site: SiteId, since: float, until: float) -> list[ChangedVersion]:
    """Pages whose content at the end of the period differs from that before it, by URL. New pages have none before."""
    c = page_versions.c
    query = sa.select(*_VERSION, site_urls.c.url, site_urls.c.long_url).select_from(page_versions.join(site_urls, _of_url))
    query = query.where(c.tenant_id == tenant, site_urls.c.tenant_id == tenant, c.site_id == site)
    query = query.where(c.seen_at > since, c.seen_at <= until)
    latest: dict[int, Any] = {row.url_id: row for row in conn.execute(query.order_by(c.seen_at))}
    rows = select_in_batches(conn, _earlier, latest, tenant=tenant, site=site, since=since)
    before = {row.url_id: row for row in rows}
    changed = [
        ChangedVersion(
            Url.trusted(row.long_url or row.url), row.seen_at, row.document, row.content_hash,
            before[url_id].document if url_id in before else None,
        )
        for url_id, row in latest.items()
        if url_id not in before or before[url_id].content_hash != row.content_hash
    ]  # fmt: skip
    return sorted(changed, key=lambda change: change.url)


_target = site_urls.alias("target_url")
_gone = (
    sa.select(
        *site_urls.c["url", "long_url"], *pages.c["presence_at", "content_hash", "evidence"],
        sa.func.coalesce(_target.c.long_url, _target.c.url).label("target"),
    )
    .select_from(PAGES_WITH_URL.outerjoin(_target, sa.and_(_target.c.tenant_id == TENANT, _target.c.id == pages.c.alias_of)))
    .where(OF_SITE, sa.text("presence = 'GONE'"))
    .order_by(site_urls.c.url)
)  # fmt: skip


def gone_pages(conn: sa.Connection, tenant: TenantId, site: SiteId, since: float, until: float) -> list[GonePage]:
    """Pages that were found to be gone in the period, by URL."""
    gone = _gone.where(pages.c.presence_at > since, pages.c.presence_at <= until)
    return [
        GonePage(
            Url.trusted(row.long_url or row.url), row.presence_at, row.content_hash,
            Url.trusted(row.target) if row.target else None, row.evidence or "",
        )
        for row in conn.execute(gone, {"tenant": tenant, "site": site})
    ]  # fmt: skip


_returned = (
    sa.select(*site_urls.c["url", "long_url"], *pages.c["presence_at", "content_hash"])
    .select_from(PAGES_WITH_URL)
    .where(OF_SITE, sa.text("presence = 'PRESENT' AND evidence IS NOT NULL"))
    .order_by(site_urls.c.url)
)
"""Only pages that were gone before have evidence of their presence (`frontier/presence.py`)."""


def returned_pages(conn: sa.Connection, tenant: TenantId, site: SiteId, since: float, until: float) -> list[ReturnedPage]:
    """Pages that were gone, and were found to exist again in the period, by URL."""
    returned = _returned.where(pages.c.presence_at > since, pages.c.presence_at <= until)
    return [
        ReturnedPage(Url.trusted(row.long_url or row.url), row.presence_at, row.content_hash)
        for row in conn.execute(returned, {"tenant": tenant, "site": site})
    ]
