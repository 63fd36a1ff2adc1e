"""Interfaces (Protocols) of the platform: channels, accounts, audit log, rate limits, webhooks, media, fix requests.

Separate from `ports.py`, because only servers, and crawls with media, need them. Implemented by `store/platform`, `MediaFiles`
by `store/blobs`, `RateLimiter` and `SessionStore` also by `platform`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from sitelore.model.frontier import Tenant
    from sitelore.model.ids import RunId, SiteId, TenantId
    from sitelore.model.platform.accounts import (
        AccountChange,
        AuditEntry,
        AuditFacets,
        AuditListing,
        AuditRecord,
        EntryFor,
        StoredToken,
        Token,
        User,
        UserRole,
    )
    from sitelore.model.platform.channels import (
        Channel,
        ChannelPage,
        ChannelSettings,
        ChannelStatistics,
        CrawlJob,
        NewCrawl,
        Occurrence,
        PageFacets,
        PageListing,
        Planned,
        Schedule,
        StartedCrawl,
        TenantCrawlSettings,
        TenantUsage,
    )
    from sitelore.model.platform.fixes import ConnectedRepository, DueFix, FixLimit, FixRequest
    from sitelore.model.platform.media import MediaFile, MediaListing, MediaTotals, MediaUse, SiteMedia, StoredMedia
    from sitelore.model.platform.operations import ActiveRun, DeadLetters, HeldSite, PlatformStats, WorkerLease
    from sitelore.model.platform.rate_limits import BucketState, RateLimit
    from sitelore.model.platform.signup import Registered, Registration
    from sitelore.model.platform.tenant_settings import StoredBrand
    from sitelore.model.platform.webhooks import (
        Attempt,
        Delivery,
        DeliveryBatch,
        DeliveryListing,
        DeliveryVerdict,
        EndpointChange,
        WebhookEndpoint,
        WebhookQueue,
        WebhookStats,
    )
    from sitelore.model.states import RunState
    from sitelore.model.url import Url

# Channels


class Channels(Protocol):
    """The channels of one tenant: their crawls, pages and schedules, and the tenant's crawl settings and brand."""

    def queue(self) -> ChannelQueue:
        """What the channels of all tenants wait for."""

    def for_tenant(self, tenant: TenantId) -> Channels:
        """The channels of another tenant in the same database."""

    def recording(self, entry_for: EntryFor) -> Channels:
        """These channels, whose next change goes into the audit log in the same transaction."""

    async def create_channel(self, site: str, title: str, url: str, settings: ChannelSettings, now: float) -> Channel | None:
        """Create a channel, and its site if it is new; None when the site has a channel."""

    async def channel(self, channel: str) -> Channel | None:
        """The channel with this id."""

    async def list_channels(self, limit: int, offset: int, only: str = "") -> tuple[list[Channel], int]:
        """A page of the channels, oldest first, and the total. `only`: the only channel that may be listed."""

    async def change_channel(self, channel: str, title: str, url: str, settings: ChannelSettings, now: float) -> Channel | None:
        """Replace title, address and settings; None when the channel does not exist."""

    async def delete_channel(self, channel: str, now: float) -> bool:
        """Delete a channel with everything of its site; runs that have not ended are cancelled. False when there is none."""

    async def secret(self, channel: str) -> str | None:
        """The secret with which change notices of the channel are signed."""

    async def set_secret(self, channel: str, secret: str, now: float) -> bool:
        """Replace the secret. False when the channel does not exist."""

    async def crawl_settings(self) -> TenantCrawlSettings | None:
        """The crawl settings of the tenant; None when the tenant does not exist."""

    async def change_crawl_settings(self, settings: TenantCrawlSettings, plans: Mapping[str, Planned | None]) -> bool:
        """Replace the crawl settings, and the schedules of these channels. False when the tenant does not exist."""

    async def usage(self) -> TenantUsage:
        """How many channels and pages the tenant has."""

    async def start_crawl(self, channel: str, crawl: NewCrawl, now: float) -> StartedCrawl | None:
        """Create the run of a crawl, unless one of the channel is active. None when the channel does not exist."""

    async def jobs(
        self, channel: str, limit: int, offset: int = 0, states: Sequence[RunState] = ()
    ) -> tuple[list[CrawlJob], int]:
        """A page of the channel's crawls, newest first, and the total."""

    async def job(self, run: RunId) -> CrawlJob | None:
        """The crawl of this run; None when the run does not belong to a channel."""

    async def followed_up(self, run: RunId) -> None:
        """Mark a completed crawl as followed up."""

    async def pages(self, site: SiteId, listing: PageListing) -> tuple[list[ChannelPage], int]:
        """A page of the site's pages, sorted as the listing says and then by URL, and the total."""

    async def page_facets(self, site: SiteId, listing: PageListing) -> PageFacets:
        """How many pages each further filter would leave."""

    async def page(self, site: SiteId, page: int) -> ChannelPage | None:
        """The page with this id."""

    async def delete_page(self, site: SiteId, page: int) -> bool:
        """Delete a page with its versions, links, chunks and vectors, until a later run finds it again."""

    async def statistics(self, channel: Channel) -> ChannelStatistics:
        """Figures of a channel over all its crawls."""

    async def schedule(self, channel: str) -> Schedule | None:
        """The schedule of a channel."""

    async def next_scheduled(self) -> float | None:
        """When the next scheduled crawl of the tenant starts."""

    async def crawled_channels(self) -> list[str]:
        """Channels of which a crawl has completed, and those with a schedule."""

    async def store_plans(self, plans: Mapping[str, Planned | None], *, keep: bool = False) -> None:
        """Create or change schedules; None deletes one. `keep`: a schedule of the same rule stays as it is."""

    async def handle_occurrence(
        self, before: Schedule, occurrence: Occurrence, crawl: NewCrawl | None, now: float
    ) -> Schedule | None:
        """Start the crawl of a due occurrence and set the next one; None when another server has done so."""

    async def brand(self) -> StoredBrand:
        """The brand of the tenant."""

    async def enter_brand(self, changes: dict[str, Any], now: float) -> StoredBrand:
        """Store what a person has entered; None removes an entry."""

    async def store_detected_brand(self, channel: str, detected: dict[str, Any], now: float) -> None:
        """Store what a crawl has detected."""


class ChannelQueue(Protocol):
    """What the channels of all tenants wait for."""

    async def due_schedules(self, now: float, limit: int) -> list[Schedule]:
        """Schedules whose next crawl should start by now, the longest overdue first."""

    async def jobs_to_follow_up(self, limit: int) -> list[tuple[TenantId, RunId]]:
        """Crawls that have completed and were not followed up."""

    async def tenant_of_channel(self, channel: str) -> TenantId | None:
        """The tenant that has this channel."""


# Accounts: users, tokens, the audit log, rate limits


class AuditLog(Protocol):
    """The audit log of one tenant: entries are only added."""

    async def record(self, entry: AuditEntry) -> AuditRecord:
        """Add an entry. Adding it again changes nothing."""

    async def audit_records(self, listing: AuditListing) -> tuple[list[AuditRecord], int]:
        """A page of the records, and the total."""

    async def audit_facets(self, listing: AuditListing) -> AuditFacets:
        """How many records pass the other filters of a list, the most frequent actions and actors first."""

    def audit_chain(self) -> AsyncIterator[AuditRecord]:
        """All records in the order of the chain."""


class Accounts(AuditLog, Protocol):
    """Users and tokens of one tenant. Every change writes its entry of the audit log in the same transaction."""

    async def create_token(self, token: Token, secret_hash: bytes, entry: AuditEntry) -> None:
        """Store a token."""

    async def rotate_token(self, token: Token, secret_hash: bytes, old_expires_at: float, entry: AuditEntry) -> bool:
        """Store the replacement of `token.rotated_from`, which expires then. False when that one is missing or not valid."""

    async def revoke_token(self, token_id: str, entry: AuditEntry) -> bool:
        """Revoke a token permanently. False when there is none."""

    async def find_token(self, token_id: str) -> Token | None:
        """The token with this id."""

    async def list_tokens(self, limit: int, offset: int) -> tuple[list[Token], int]:
        """A page of the tokens, newest first, and the total."""

    async def create_user(self, user: User, entry: AuditEntry) -> AccountChange:
        """Store a user."""

    async def change_role(self, user_id: str, role: UserRole, entry: AuditEntry) -> AccountChange:
        """Give a user another role. The last owner keeps theirs."""

    async def delete_user(self, user_id: str, entry: AuditEntry) -> AccountChange:
        """Delete a user, and revoke their tokens. The last owner stays."""

    async def find_user(self, user_id: str) -> User | None:
        """The user with this id."""

    async def list_users(self, limit: int, offset: int) -> tuple[list[User], int]:
        """A page of the users by e-mail address, and the total."""


class AccountDirectory(Protocol):
    """The accounts of all tenants, and the look-up of tokens, which do not name their tenant."""

    def for_tenant(self, tenant: TenantId) -> Accounts:
        """The accounts of one tenant."""

    async def look_up(self, token_id: str) -> StoredToken | None:
        """The token with this id, of any tenant."""

    async def mark_used(self, tenant: TenantId, token_id: str, now: float, address: str) -> None:
        """Record the use of a token, at most once a minute."""

    async def has_tokens(self) -> bool:
        """Whether any tenant has a token."""

    async def tenant(self, tenant: TenantId) -> Tenant | None:
        """The tenant of this id."""

    async def register(self, registration: Registration) -> Registered:
        """Store a sign-up, in one transaction."""

    async def suspend(self, tenant: TenantId, since: float | None, entry: AuditEntry | None = None) -> Tenant | None:
        """Refuse the tokens of a tenant from now on, or (None) accept them again. None when the tenant does not exist.

        The entry goes into the operator's audit log if that is a change.
        """


class SessionStore(Protocol):
    """Sessions of browsers and one-time logins by key, shared by all servers where there are several."""

    async def put(self, key: str, value: bytes, ttl_s: float) -> None:
        """Store a value until it expires."""

    async def get(self, key: str, ttl_s: float) -> bytes | None:
        """The value, which from now on lives for `ttl_s`."""

    async def take(self, key: str) -> bytes | None:
        """Remove and return the value: of two callers, one gets it."""


class RateLimiter(Protocol):
    """Token buckets by name, shared by all processes where there are several."""

    async def take(self, buckets: Sequence[tuple[str, RateLimit]]) -> list[BucketState]:
        """Take one request out of each bucket, or, if one is empty, out of none. The states afterwards."""


class Operations(Protocol):
    """What the operator of an installation sees over all tenants."""

    async def active_runs(self, limit: int) -> list[ActiveRun]:
        """Runs that are crawled, then those that wait, in the order of the queue."""

    async def leases(self) -> list[WorkerLease]:
        """Which workers hold URLs of which runs."""

    async def held_sites(self) -> list[HeldSite]:
        """Sites whose deletions are held back."""

    async def dead_letters(self) -> list[DeadLetters]:
        """Webhook endpoints with dead letters."""

    async def stats(self, now: float) -> PlatformStats:
        """Numbers for metrics."""


# Webhooks


class Webhooks(Protocol):
    """Webhook endpoints of a tenant, their queues and the delivery log.

    Events are queued in the transaction that stores them. The last methods concern all tenants.
    """

    def for_tenant(self, tenant: TenantId) -> Webhooks:
        """The webhooks of another tenant."""

    def recording(self, entry_for: EntryFor) -> Webhooks:
        """These webhooks, whose next change goes into the audit log in the same transaction."""

    async def add_endpoint(self, endpoint: WebhookEndpoint) -> None:
        """Store a new endpoint. It receives what happens from now on."""

    async def endpoints(self) -> list[WebhookEndpoint]:
        """All endpoints, oldest first."""

    async def endpoint(self, endpoint: str) -> WebhookEndpoint | None:
        """The endpoint with this id."""

    async def change_endpoint(self, endpoint: str, change: EndpointChange, now: float) -> WebhookEndpoint | None:
        """Change an endpoint; pending deliveries of a disabled one become dead letters. None when there is none."""

    async def rotate_secret(self, endpoint: str, secret: str, old_until: float) -> WebhookEndpoint | None:
        """Replace the secret; the one before is valid as well until this time."""

    async def remove_endpoint(self, endpoint: str) -> bool:
        """Delete an endpoint with its delivery log. False when there is none."""

    async def deliveries(self, endpoint: str, listing: DeliveryListing) -> tuple[list[Delivery], int]:
        """A page of the delivery log of an endpoint, newest first, and the number of all entries."""

    async def replay(self, endpoint: str, event: int, now: float) -> bool:
        """Queue a delivery again. False when there is none, or the endpoint is disabled."""

    async def replay_dead(self, endpoint: str, since: float, until: float, now: float) -> int:
        """Queue the dead letters of events in this period again. Returns their number."""

    async def pending_batch(self, queue: WebhookQueue, limit: int) -> DeliveryBatch | None:
        """The first pending deliveries of a leased queue; None when the lease was lost, or the endpoint is gone or disabled."""

    async def record_attempt(
        self, queue: WebhookQueue, event: int, attempt: Attempt, verdict: DeliveryVerdict, lease_until: float
    ) -> bool:
        """Store the result of an attempt, and what follows. True while the queue is leased and has more to send."""

    async def release_queue(self, queue: WebhookQueue) -> None:
        """End the lease of a queue."""

    async def claim_queues(self, worker: str, limit: int, now: float, lease_until: float) -> list[WebhookQueue]:
        """Lease due queues of all tenants, the longest due first, a few of each endpoint at a time."""

    async def next_due(self) -> float | None:
        """When the next delivery of any tenant is due; None when nothing is pending."""

    async def release_all(self) -> None:
        """End the leases of all queues. For the one process of a data directory, when it starts."""

    async def stats(self, now: float) -> WebhookStats:
        """Numbers for metrics, over all tenants."""


# Media


class MediaFiles(Protocol):
    """The media files of one tenant, by key (`images/{hash}.jpg`: equal keys have equal content), and its screenshots
    (`screenshots/{channel}/{page}.jpg`: the last one of a page).
    """

    def place(self, key: str) -> str:
        """Where a file is in the store: `webmedia/{tenant}/images/{hash}.jpg`."""

    def for_tenant(self, tenant: TenantId) -> MediaFiles:
        """The files of another tenant in the same store."""

    async def put(self, key: str, data: bytes) -> None:
        """Store a file; on return it survives a crash of the process."""

    async def get(self, key: str) -> bytes:
        """The bytes of a file; KeyError when there is none."""

    async def get_part(self, key: str, start: int, end: int) -> bytes:
        """The bytes of a file from `start` until before `end`; KeyError when there is none."""

    def keys(self, stored_before: float) -> AsyncIterator[str]:
        """The keys of all files that were last put before this time (seconds since the epoch)."""

    def deleted_keys(self, deleted_before: float) -> AsyncIterator[str]:
        """The keys of files that were deleted before this time and can still be restored."""

    async def delete(self, keys: Sequence[str], stored_before: float) -> int:
        """Delete files, except those that were put again since this time. Returns how many were deleted."""

    async def purge(self, keys: Sequence[str], deleted_before: float) -> int:
        """Permanently remove files that were deleted before this time. Returns the number removed."""

    async def restore(self, keys: Sequence[str]) -> None:
        """Make deleted files ordinary files again."""

    async def close(self) -> None:
        """Close the store."""


class MediaLibrary(Protocol):
    """The media of one tenant. One call is one transaction; settlements write to it through `Ledger.settle`."""

    def for_tenant(self, tenant: TenantId) -> MediaLibrary:
        """The media of another tenant in the same database."""

    def recording(self, entry_for: EntryFor) -> MediaLibrary:
        """These media, whose next change goes into the audit log in the same transaction."""

    async def find_content(self, content_hash: str) -> MediaFile | None:
        """The stored file with this content."""

    async def list_media(self, listing: MediaListing) -> tuple[list[StoredMedia], int]:
        """A page of the media, oldest first, and the total."""

    async def find_media(self, media_id: int, site: SiteId | None = None) -> StoredMedia | None:
        """The media of this id, if a URL of the site has it."""

    async def uses_of(self, media_id: int, site: SiteId | None = None, limit: int = 100) -> list[MediaUse]:
        """Pages that show it, by URL."""

    async def totals(self, site: SiteId | None = None) -> MediaTotals:
        """Numbers and sizes, of a site or (None) of the tenant."""

    async def page_ids(self, site: SiteId, page_urls: Sequence[Url]) -> dict[Url, int]:
        """The ids under which pages are listed, of those that have one."""

    async def delete_media(self, media_id: int) -> bool:
        """Delete a row that no page uses; its file is deleted by the caller. False when there is none, or a page uses it."""

    async def delete_unused(self, crawled_before: float) -> int:
        """Delete some media that no page uses and that were not found since this time. Returns how many; 0: none is left."""

    async def forget_pages(self, page_ids: Collection[int]) -> None:
        """Forget what these pages show."""

    async def screenshot_folder(self, site: SiteId) -> str:
        """The folder of the screenshots of a site: its channel, or without one the id of the site."""

    def references(self) -> AsyncIterator[set[str]]:
        """All keys of files that rows refer to, thumbnails and screenshots included, in parts."""

    def site_media(self, site: SiteId) -> AsyncIterator[list[SiteMedia]]:
        """The files behind the media URLs of a site, in parts, without videos that are not downloaded."""


# Fix requests


class FixStore(Protocol):
    """Connected repositories and fix requests of one tenant."""

    def for_tenant(self, tenant: TenantId) -> FixStore:
        """Those of another tenant in the same database."""

    def recording(self, entry_for: EntryFor) -> FixStore:
        """These requests, whose next change goes into the audit log in the same transaction."""

    async def save_repository(self, repository: ConnectedRepository) -> None:
        """Connect a repository to its site, in place of the one before."""

    async def repository(self, site: SiteId) -> ConnectedRepository | None:
        """The repository of a site."""

    async def delete_repository(self, site: SiteId) -> bool:
        """Delete the repository of a site with its token. False when there is none. Requests that were opened stay listed."""

    async def request_fix(self, request: FixRequest) -> tuple[FixRequest | None, FixLimit | None]:
        """Queue a request, or the pending one of the same set of findings again. Without one: the limit that refuses it."""

    async def fix(self, site: SiteId, request: str) -> FixRequest | None:
        """The request of a site with this id."""

    async def list_fixes(self, site: SiteId, limit: int, offset: int) -> tuple[list[FixRequest], int]:
        """A page of the requests of a site, newest first, and the total."""

    async def due_fixes(self, now: float, limit: int) -> list[DueFix]:
        """Requests of all tenants that are due, the longest first."""

    async def claim_fix(self, request: str, now: float, until: float) -> FixRequest | None:
        """Lease a request that is due. None when another server has it."""

    async def save_fix(self, request: FixRequest) -> None:
        """Store what became of a request. A request that was deleted stays deleted."""
