"""The tables of the platform: media. They join the metadata of `store/schema.py` when this is imported."""

from __future__ import annotations

import sqlalchemy as sa

from sitelore.store.schema import ID_SEQUENCES, Key, belongs_to, metadata, of_tenant, tenant_column

media = sa.Table(
    "media",
    metadata,
    tenant_column(),
    sa.Column("id", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("type", sa.Text, nullable=False),
    # SHA-256 of the file as received; of provider and id for a video that is not downloaded.
    sa.Column("content_hash", Key, nullable=False),
    # NULL where no file is stored.
    sa.Column("storage_key", sa.Text),
    sa.Column("source_url", sa.Text, nullable=False),
    sa.Column("file_name", sa.Text, nullable=False),
    sa.Column("mime_type", sa.Text, nullable=False),
    sa.Column("stored_bytes", sa.BigInteger, nullable=False),
    sa.Column("original_bytes", sa.BigInteger, nullable=False),
    sa.Column("width", sa.Integer),
    sa.Column("height", sa.Integer),
    sa.Column("alt", sa.Text),
    sa.Column("provider", sa.Text),
    sa.Column("video_id", sa.Text),
    # The first characters of a document's text.
    sa.Column("text", sa.Text),
    sa.Column("created_at", sa.Double, nullable=False),
    sa.Column("last_crawled_at", sa.Double, nullable=False),
    of_tenant(),
)
"""Images, videos and documents of a tenant; equal content is one row."""
sa.Index("media_of_content", media.c.tenant_id, media.c.content_hash, unique=True)
sa.Index("media_of_type", media.c.tenant_id, media.c.type, media.c.id)
ID_SEQUENCES[media.name] = sa.Sequence("media_ids", metadata=metadata)

media_urls = sa.Table(
    "media_urls",
    metadata,
    tenant_column(),
    # The id of the URL in `site_urls`.
    sa.Column("url_id", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("site_id", sa.Integer, nullable=False),
    sa.Column("media_id", sa.BigInteger, nullable=False),
    sa.Column("etag", sa.Text),
    sa.Column("last_modified", sa.Text),
    sa.Column("fetched_at", sa.Double, nullable=False),
    belongs_to("sites"),
    belongs_to("media"),
)
"""The content that each media URL had when it was last fetched."""
sa.Index("media_urls_of_media", media_urls.c.tenant_id, media_urls.c.media_id, media_urls.c.url_id)
sa.Index("media_urls_of_site", media_urls.c.tenant_id, media_urls.c.site_id, media_urls.c.media_id)

page_media = sa.Table(
    "page_media",
    metadata,
    tenant_column(),
    # The id of the page's URL in `site_urls`.
    sa.Column("page_id", sa.BigInteger, primary_key=True, autoincrement=False),
    # Its place among the media of the page.
    sa.Column("position", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("site_id", sa.Integer, nullable=False),
    sa.Column("url_id", sa.BigInteger, nullable=False),
    sa.Column("alt", sa.Text),
    belongs_to("sites"),
)
"""The media URLs that the current version of each page shows. They join the media by `media_urls`, so that a file that changes
at its URL changes on every page."""
sa.Index("page_media_of_url", page_media.c.tenant_id, page_media.c.url_id, page_media.c.page_id)
sa.Index("page_media_of_site", page_media.c.tenant_id, page_media.c.site_id, page_media.c.url_id)
