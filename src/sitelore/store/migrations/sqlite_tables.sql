CREATE TABLE tenants (
	id INTEGER NOT NULL,
	name TEXT NOT NULL,
	created_at DOUBLE NOT NULL,
	suspended_at DOUBLE,
	"plan" TEXT DEFAULT 'FREE' NOT NULL,
	crawl_max_pages INTEGER DEFAULT '100' NOT NULL,
	crawl_frequency TEXT DEFAULT 'MONTHLY' NOT NULL,
	max_video_mb INTEGER DEFAULT '50' NOT NULL,
	time_zone TEXT DEFAULT 'UTC' NOT NULL,
	PRIMARY KEY (id),
	UNIQUE (name)
);
CREATE TABLE links (
	tenant_id INTEGER NOT NULL,
	version_id BIGINT NOT NULL,
	position INTEGER NOT NULL,
	target_id BIGINT NOT NULL,
	rel TEXT,
	fragment TEXT,
	text TEXT,
	PRIMARY KEY (tenant_id, version_id, position)
)
 WITHOUT ROWID;
CREATE TABLE chunks (
	tenant_id INTEGER NOT NULL,
	site_id INTEGER NOT NULL,
	number INTEGER NOT NULL,
	page INTEGER NOT NULL,
	id TEXT NOT NULL,
	text_hash TEXT NOT NULL,
	terms_checksum BIGINT NOT NULL,
	metadata_checksum BIGINT NOT NULL,
	PRIMARY KEY (tenant_id, site_id, number)
)
 WITHOUT ROWID;
CREATE TABLE chunk_texts (
	tenant_id INTEGER NOT NULL,
	site_id INTEGER NOT NULL,
	number INTEGER NOT NULL,
	first_byte INTEGER NOT NULL,
	end_byte INTEGER NOT NULL,
	tokens INTEGER NOT NULL,
	overlap INTEGER NOT NULL,
	lead TEXT,
	headings TEXT,
	landmark TEXT,
	fragment TEXT,
	flags TEXT,
	text TEXT,
	anchors TEXT,
	PRIMARY KEY (tenant_id, site_id, number)
);
CREATE TABLE postings (
	tenant_id INTEGER NOT NULL,
	site_id INTEGER NOT NULL,
	segment INTEGER NOT NULL,
	term TEXT NOT NULL,
	packed BLOB NOT NULL,
	PRIMARY KEY (tenant_id, site_id, segment, term)
)
 WITHOUT ROWID;
CREATE TABLE vectors (
	tenant_id INTEGER NOT NULL,
	model_id INTEGER NOT NULL,
	text_hash TEXT NOT NULL,
	version INTEGER NOT NULL,
	embedding_f16 BLOB NOT NULL,
	PRIMARY KEY (tenant_id, model_id, text_hash)
);
CREATE TABLE sites (
	tenant_id INTEGER NOT NULL,
	id INTEGER NOT NULL,
	name TEXT NOT NULL,
	created_at DOUBLE NOT NULL,
	rendering TEXT,
	index_version INTEGER DEFAULT '0' NOT NULL,
	index_epoch TEXT,
	next_page INTEGER DEFAULT '1' NOT NULL,
	next_chunk INTEGER DEFAULT '1' NOT NULL,
	indexed_pages INTEGER DEFAULT '0' NOT NULL,
	chunk_count INTEGER DEFAULT '0' NOT NULL,
	PRIMARY KEY (tenant_id, id),
	FOREIGN KEY(tenant_id) REFERENCES tenants (id) ON DELETE CASCADE
);
CREATE TABLE events (
	tenant_id INTEGER NOT NULL,
	id BIGINT NOT NULL,
	run_id TEXT NOT NULL,
	kind TEXT NOT NULL,
	url TEXT,
	facts TEXT,
	created_at DOUBLE NOT NULL,
	PRIMARY KEY (tenant_id, id),
	FOREIGN KEY(tenant_id) REFERENCES tenants (id) ON DELETE CASCADE
);
CREATE TABLE models (
	tenant_id INTEGER NOT NULL,
	id INTEGER NOT NULL,
	name TEXT NOT NULL,
	version INTEGER DEFAULT '0' NOT NULL,
	PRIMARY KEY (tenant_id, id),
	FOREIGN KEY(tenant_id) REFERENCES tenants (id) ON DELETE CASCADE
);
CREATE TABLE robots (
	tenant_id INTEGER NOT NULL,
	origin TEXT NOT NULL,
	fetched_at DOUBLE NOT NULL,
	status INTEGER NOT NULL,
	body TEXT NOT NULL,
	detail TEXT NOT NULL,
	PRIMARY KEY (tenant_id, origin),
	FOREIGN KEY(tenant_id) REFERENCES tenants (id) ON DELETE CASCADE
);
CREATE TABLE idempotency_keys (
	tenant_id INTEGER NOT NULL,
	"key" TEXT NOT NULL,
	fingerprint TEXT NOT NULL,
	run_id TEXT NOT NULL,
	created_at DOUBLE NOT NULL,
	PRIMARY KEY (tenant_id, "key"),
	FOREIGN KEY(tenant_id) REFERENCES tenants (id) ON DELETE CASCADE
);
CREATE TABLE audit_settings (
	tenant_id INTEGER NOT NULL,
	site_id INTEGER NOT NULL,
	options TEXT NOT NULL,
	PRIMARY KEY (tenant_id, site_id),
	FOREIGN KEY(tenant_id) REFERENCES tenants (id) ON DELETE CASCADE
);
CREATE TABLE site_sessions (
	tenant_id INTEGER NOT NULL,
	origin TEXT NOT NULL,
	sealed TEXT NOT NULL,
	created_at DOUBLE NOT NULL,
	renewed_at DOUBLE NOT NULL,
	PRIMARY KEY (tenant_id, origin),
	FOREIGN KEY(tenant_id) REFERENCES tenants (id) ON DELETE CASCADE
);
CREATE TABLE brands (
	tenant_id INTEGER NOT NULL,
	entered TEXT,
	detected TEXT,
	channel_id TEXT,
	detected_at DOUBLE,
	updated_at DOUBLE NOT NULL,
	PRIMARY KEY (tenant_id),
	FOREIGN KEY(tenant_id) REFERENCES tenants (id) ON DELETE CASCADE
);
CREATE TABLE users (
	tenant_id INTEGER NOT NULL,
	id TEXT NOT NULL,
	email TEXT NOT NULL,
	role TEXT NOT NULL,
	created_at DOUBLE NOT NULL,
	PRIMARY KEY (tenant_id, id),
	FOREIGN KEY(tenant_id) REFERENCES tenants (id) ON DELETE CASCADE
);
CREATE TABLE tokens (
	tenant_id INTEGER NOT NULL,
	id TEXT NOT NULL,
	secret_hash BLOB NOT NULL,
	kind TEXT NOT NULL,
	name TEXT NOT NULL,
	scopes TEXT NOT NULL,
	channel_id TEXT NOT NULL,
	user_id TEXT NOT NULL,
	created_at DOUBLE NOT NULL,
	created_by TEXT NOT NULL,
	expires_at DOUBLE,
	revoked_at DOUBLE,
	last_used_at DOUBLE,
	last_address TEXT NOT NULL,
	rotated_from TEXT NOT NULL,
	PRIMARY KEY (tenant_id, id),
	FOREIGN KEY(tenant_id) REFERENCES tenants (id) ON DELETE CASCADE
);
CREATE TABLE audit_log (
	tenant_id INTEGER NOT NULL,
	seq BIGINT NOT NULL,
	id TEXT NOT NULL,
	at DOUBLE NOT NULL,
	actor TEXT NOT NULL,
	token_id TEXT NOT NULL,
	action TEXT NOT NULL,
	object TEXT NOT NULL,
	before_hash TEXT NOT NULL,
	after_hash TEXT NOT NULL,
	address TEXT NOT NULL,
	request_id TEXT NOT NULL,
	previous TEXT NOT NULL,
	hash TEXT NOT NULL,
	PRIMARY KEY (tenant_id, seq),
	FOREIGN KEY(tenant_id) REFERENCES tenants (id) ON DELETE CASCADE
);
CREATE TABLE webhook_endpoints (
	tenant_id INTEGER NOT NULL,
	id TEXT NOT NULL,
	url TEXT NOT NULL,
	types TEXT NOT NULL,
	secret TEXT NOT NULL,
	old_secret TEXT,
	old_secret_until DOUBLE,
	enabled INTEGER NOT NULL,
	disabled_reason TEXT,
	created_at DOUBLE NOT NULL,
	failing_since DOUBLE,
	paused_until DOUBLE,
	PRIMARY KEY (tenant_id, id),
	FOREIGN KEY(tenant_id) REFERENCES tenants (id) ON DELETE CASCADE
);
CREATE TABLE retention (
	tenant_id INTEGER NOT NULL,
	runs_s DOUBLE,
	versions_s DOUBLE,
	events_s DOUBLE,
	deliveries_s DOUBLE,
	PRIMARY KEY (tenant_id),
	FOREIGN KEY(tenant_id) REFERENCES tenants (id) ON DELETE CASCADE
);
CREATE TABLE media (
	tenant_id INTEGER NOT NULL,
	id BIGINT NOT NULL,
	type TEXT NOT NULL,
	content_hash TEXT NOT NULL,
	storage_key TEXT,
	source_url TEXT NOT NULL,
	file_name TEXT NOT NULL,
	mime_type TEXT NOT NULL,
	stored_bytes BIGINT NOT NULL,
	original_bytes BIGINT NOT NULL,
	width INTEGER,
	height INTEGER,
	alt TEXT,
	provider TEXT,
	video_id TEXT,
	text TEXT,
	created_at DOUBLE NOT NULL,
	last_crawled_at DOUBLE NOT NULL,
	PRIMARY KEY (tenant_id, id),
	FOREIGN KEY(tenant_id) REFERENCES tenants (id) ON DELETE CASCADE
);
CREATE TABLE runs (
	tenant_id INTEGER NOT NULL,
	id TEXT NOT NULL,
	site_id INTEGER NOT NULL,
	state TEXT NOT NULL,
	settings TEXT NOT NULL,
	created_at DOUBLE NOT NULL,
	started_at DOUBLE,
	finished_at DOUBLE,
	wave INTEGER NOT NULL,
	depth INTEGER NOT NULL,
	next_seq INTEGER NOT NULL,
	wave_first_seq INTEGER NOT NULL,
	pages_before_wave INTEGER NOT NULL,
	joined_hosts TEXT NOT NULL,
	error TEXT NOT NULL,
	wave_hosts TEXT DEFAULT '[]' NOT NULL,
	attempts INTEGER DEFAULT '0' NOT NULL,
	retry_at DOUBLE,
	queue_round INTEGER DEFAULT '0' NOT NULL,
	site_rendering TEXT,
	presence_checked INTEGER DEFAULT '0' NOT NULL,
	prefetch_unused INTEGER DEFAULT '0' NOT NULL,
	time_limit_from DOUBLE,
	media_admitted INTEGER DEFAULT '0' NOT NULL,
	number BIGINT DEFAULT '0' NOT NULL,
	PRIMARY KEY (tenant_id, id),
	FOREIGN KEY(tenant_id, site_id) REFERENCES sites (tenant_id, id) ON DELETE CASCADE
);
CREATE TABLE pages (
	tenant_id INTEGER NOT NULL,
	site_id INTEGER NOT NULL,
	url_id BIGINT NOT NULL,
	fetched_at DOUBLE NOT NULL,
	content_hash TEXT NOT NULL,
	novelty TEXT NOT NULL,
	document TEXT NOT NULL,
	etag TEXT,
	last_modified TEXT,
	lastmod DOUBLE,
	title TEXT NOT NULL,
	canonical BIGINT,
	snapshot TEXT,
	word_count INTEGER NOT NULL,
	noindex INTEGER NOT NULL,
	content_type TEXT,
	alias_of BIGINT,
	headers TEXT,
	render_reason TEXT,
	screenshot TEXT,
	presence TEXT DEFAULT 'PRESENT' NOT NULL,
	presence_at DOUBLE,
	evidence TEXT,
	soft_misses INTEGER DEFAULT '0' NOT NULL,
	held INTEGER DEFAULT '0' NOT NULL,
	"indexed" TEXT,
	indexed_epoch TEXT,
	number INTEGER,
	indexed_title TEXT,
	lang TEXT,
	indexed_kind TEXT,
	published_at DOUBLE,
	chunk_summary BLOB,
	volatile BLOB,
	sketch BLOB,
	PRIMARY KEY (tenant_id, site_id, url_id),
	FOREIGN KEY(tenant_id, site_id) REFERENCES sites (tenant_id, id) ON DELETE CASCADE
);
CREATE TABLE site_urls (
	tenant_id INTEGER NOT NULL,
	id BIGINT NOT NULL,
	site_id INTEGER NOT NULL,
	url TEXT NOT NULL,
	long_url TEXT,
	PRIMARY KEY (tenant_id, id),
	FOREIGN KEY(tenant_id, site_id) REFERENCES sites (tenant_id, id) ON DELETE CASCADE
)
 WITHOUT ROWID;
CREATE TABLE page_versions (
	tenant_id INTEGER NOT NULL,
	id BIGINT NOT NULL,
	site_id INTEGER NOT NULL,
	url_id BIGINT NOT NULL,
	seen_at DOUBLE NOT NULL,
	ended_at DOUBLE,
	document TEXT NOT NULL,
	content_hash TEXT NOT NULL,
	redactions TEXT,
	facts BLOB,
	PRIMARY KEY (tenant_id, id),
	FOREIGN KEY(tenant_id, site_id) REFERENCES sites (tenant_id, id) ON DELETE CASCADE
);
CREATE TABLE segments (
	tenant_id INTEGER NOT NULL,
	site_id INTEGER NOT NULL,
	segment INTEGER NOT NULL,
	last_number INTEGER NOT NULL,
	size INTEGER NOT NULL,
	dead INTEGER NOT NULL,
	PRIMARY KEY (tenant_id, site_id, segment),
	FOREIGN KEY(tenant_id, site_id) REFERENCES sites (tenant_id, id) ON DELETE CASCADE
);
CREATE TABLE findings (
	tenant_id INTEGER NOT NULL,
	site_id INTEGER NOT NULL,
	"key" TEXT NOT NULL,
	rule TEXT NOT NULL,
	url TEXT NOT NULL,
	severity TEXT NOT NULL,
	status TEXT NOT NULL,
	evidence TEXT NOT NULL,
	first_seen DOUBLE NOT NULL,
	last_seen DOUBLE NOT NULL,
	resolved_at DOUBLE,
	opened_run TEXT NOT NULL,
	seen_run TEXT NOT NULL,
	resolved_run TEXT NOT NULL,
	ignored TEXT,
	ignored_until DOUBLE,
	PRIMARY KEY (tenant_id, site_id, "key"),
	FOREIGN KEY(tenant_id, site_id) REFERENCES sites (tenant_id, id) ON DELETE CASCADE
);
CREATE TABLE ignored_findings (
	tenant_id INTEGER NOT NULL,
	site_id INTEGER NOT NULL,
	rule TEXT NOT NULL,
	scope TEXT NOT NULL,
	target TEXT NOT NULL,
	decision TEXT NOT NULL,
	ignored_until DOUBLE,
	PRIMARY KEY (tenant_id, site_id, rule, scope, target),
	FOREIGN KEY(tenant_id, site_id) REFERENCES sites (tenant_id, id) ON DELETE CASCADE
);
CREATE TABLE url_checks (
	tenant_id INTEGER NOT NULL,
	site_id INTEGER NOT NULL,
	url TEXT NOT NULL,
	checks TEXT NOT NULL,
	PRIMARY KEY (tenant_id, site_id, url),
	FOREIGN KEY(tenant_id, site_id) REFERENCES sites (tenant_id, id) ON DELETE CASCADE
);
CREATE TABLE search_log (
	tenant_id INTEGER NOT NULL,
	site_id INTEGER NOT NULL,
	"query" TEXT NOT NULL,
	searches INTEGER NOT NULL,
	without_results INTEGER NOT NULL,
	weak INTEGER NOT NULL,
	last_at DOUBLE NOT NULL,
	PRIMARY KEY (tenant_id, site_id, "query"),
	FOREIGN KEY(tenant_id, site_id) REFERENCES sites (tenant_id, id) ON DELETE CASCADE
);
CREATE TABLE channels (
	tenant_id INTEGER NOT NULL,
	id TEXT NOT NULL,
	site_id INTEGER NOT NULL,
	host TEXT NOT NULL,
	title TEXT NOT NULL,
	url TEXT NOT NULL,
	settings TEXT NOT NULL,
	secret TEXT,
	created_at DOUBLE NOT NULL,
	updated_at DOUBLE NOT NULL,
	PRIMARY KEY (tenant_id, id),
	FOREIGN KEY(tenant_id, site_id) REFERENCES sites (tenant_id, id) ON DELETE CASCADE
);
CREATE TABLE page_deletions (
	tenant_id INTEGER NOT NULL,
	site_id INTEGER NOT NULL,
	url_id BIGINT NOT NULL,
	run_id TEXT NOT NULL,
	PRIMARY KEY (tenant_id, site_id, url_id),
	FOREIGN KEY(tenant_id, site_id) REFERENCES sites (tenant_id, id) ON DELETE CASCADE
);
CREATE TABLE webhook_queues (
	tenant_id INTEGER NOT NULL,
	endpoint_id TEXT NOT NULL,
	run_id TEXT NOT NULL,
	due_at DOUBLE NOT NULL,
	lease_until DOUBLE,
	claimed_by TEXT,
	PRIMARY KEY (tenant_id, endpoint_id, run_id),
	FOREIGN KEY(tenant_id, endpoint_id) REFERENCES webhook_endpoints (tenant_id, id) ON DELETE CASCADE
);
CREATE TABLE webhook_deliveries (
	tenant_id INTEGER NOT NULL,
	endpoint_id TEXT NOT NULL,
	event_id BIGINT NOT NULL,
	run_id TEXT NOT NULL,
	type TEXT NOT NULL,
	state TEXT NOT NULL,
	created_at DOUBLE NOT NULL,
	attempts INTEGER DEFAULT '0' NOT NULL,
	attempted_at DOUBLE,
	status INTEGER,
	elapsed_ms INTEGER,
	answer TEXT,
	error TEXT,
	PRIMARY KEY (tenant_id, endpoint_id, event_id),
	FOREIGN KEY(tenant_id, endpoint_id) REFERENCES webhook_endpoints (tenant_id, id) ON DELETE CASCADE
);
CREATE TABLE media_urls (
	tenant_id INTEGER NOT NULL,
	url_id BIGINT NOT NULL,
	site_id INTEGER NOT NULL,
	media_id BIGINT NOT NULL,
	etag TEXT,
	last_modified TEXT,
	fetched_at DOUBLE NOT NULL,
	PRIMARY KEY (tenant_id, url_id),
	FOREIGN KEY(tenant_id, site_id) REFERENCES sites (tenant_id, id) ON DELETE CASCADE,
	FOREIGN KEY(tenant_id, media_id) REFERENCES media (tenant_id, id) ON DELETE CASCADE
);
CREATE TABLE media_sites (
	tenant_id INTEGER NOT NULL,
	site_id INTEGER NOT NULL,
	media_id BIGINT NOT NULL,
	PRIMARY KEY (tenant_id, site_id, media_id),
	FOREIGN KEY(tenant_id, site_id) REFERENCES sites (tenant_id, id) ON DELETE CASCADE,
	FOREIGN KEY(tenant_id, media_id) REFERENCES media (tenant_id, id) ON DELETE CASCADE
);
CREATE TABLE page_media (
	tenant_id INTEGER NOT NULL,
	page_id BIGINT NOT NULL,
	position INTEGER NOT NULL,
	site_id INTEGER NOT NULL,
	url_id BIGINT NOT NULL,
	alt TEXT,
	PRIMARY KEY (tenant_id, page_id, position),
	FOREIGN KEY(tenant_id, site_id) REFERENCES sites (tenant_id, id) ON DELETE CASCADE
);
CREATE TABLE connected_repositories (
	tenant_id INTEGER NOT NULL,
	site_id INTEGER NOT NULL,
	host TEXT NOT NULL,
	url TEXT NOT NULL,
	base TEXT NOT NULL,
	token TEXT NOT NULL,
	created_at DOUBLE NOT NULL,
	created_by TEXT NOT NULL,
	PRIMARY KEY (tenant_id, site_id),
	FOREIGN KEY(tenant_id, site_id) REFERENCES sites (tenant_id, id) ON DELETE CASCADE
);
CREATE TABLE fix_requests (
	tenant_id INTEGER NOT NULL,
	id TEXT NOT NULL,
	site_id INTEGER NOT NULL,
	repository TEXT NOT NULL,
	subject TEXT NOT NULL,
	branch TEXT NOT NULL,
	rules TEXT NOT NULL,
	chosen TEXT NOT NULL,
	findings TEXT NOT NULL,
	state TEXT NOT NULL,
	created_at DOUBLE NOT NULL,
	created_by TEXT NOT NULL,
	updated_at DOUBLE NOT NULL,
	due_at DOUBLE NOT NULL,
	attempts INTEGER DEFAULT '0' NOT NULL,
	number INTEGER,
	url TEXT NOT NULL,
	merged_at DOUBLE,
	error TEXT NOT NULL,
	PRIMARY KEY (tenant_id, id),
	FOREIGN KEY(tenant_id, site_id) REFERENCES sites (tenant_id, id) ON DELETE CASCADE
);
CREATE TABLE redactions (
	tenant_id INTEGER NOT NULL,
	run_id TEXT NOT NULL,
	rule TEXT NOT NULL,
	found INTEGER NOT NULL,
	PRIMARY KEY (tenant_id, run_id, rule),
	FOREIGN KEY(tenant_id, run_id) REFERENCES runs (tenant_id, id) ON DELETE CASCADE
);
CREATE TABLE run_counts (
	tenant_id INTEGER NOT NULL,
	run_id TEXT NOT NULL,
	name TEXT NOT NULL,
	value BIGINT NOT NULL,
	PRIMARY KEY (tenant_id, run_id, name),
	FOREIGN KEY(tenant_id, run_id) REFERENCES runs (tenant_id, id) ON DELETE CASCADE
);
CREATE TABLE urls (
	tenant_id INTEGER NOT NULL,
	run_number BIGINT NOT NULL,
	url_id BIGINT NOT NULL,
	host TEXT NOT NULL,
	kind TEXT NOT NULL,
	state TEXT NOT NULL,
	source TEXT NOT NULL,
	depth INTEGER NOT NULL,
	source_rank INTEGER NOT NULL,
	parent BIGINT,
	parent_seq INTEGER NOT NULL,
	position INTEGER NOT NULL,
	refused INTEGER NOT NULL,
	pattern TEXT,
	chain TEXT,
	lastmod DOUBLE,
	skip_reason TEXT,
	detail TEXT,
	seq INTEGER,
	wave INTEGER,
	token INTEGER DEFAULT '0' NOT NULL,
	claimed_by TEXT,
	lease_until DOUBLE,
	attempts INTEGER DEFAULT '0' NOT NULL,
	fetches INTEGER DEFAULT '0' NOT NULL,
	retry_at DOUBLE,
	alias_of BIGINT,
	proof TEXT,
	PRIMARY KEY (tenant_id, run_number, url_id),
	FOREIGN KEY(tenant_id, run_number) REFERENCES runs (tenant_id, number) ON DELETE CASCADE
);
CREATE TABLE visits (
	tenant_id INTEGER NOT NULL,
	run_number BIGINT NOT NULL,
	url_id BIGINT NOT NULL,
	seq INTEGER NOT NULL,
	pattern TEXT NOT NULL,
	status_code INTEGER,
	error TEXT,
	fetched_at DOUBLE,
	elapsed_s DOUBLE,
	body_bytes BIGINT DEFAULT '0' NOT NULL,
	changed INTEGER,
	title TEXT,
	content_hash TEXT,
	novelty TEXT,
	canonical BIGINT,
	identity TEXT,
	content_type TEXT,
	word_count INTEGER DEFAULT '0' NOT NULL,
	noindex INTEGER DEFAULT '0' NOT NULL,
	document TEXT,
	snapshot TEXT,
	etag TEXT,
	last_modified TEXT,
	headers TEXT,
	render_reason TEXT,
	rendering TEXT,
	screenshot TEXT,
	sketch BLOB,
	response_head TEXT,
	PRIMARY KEY (tenant_id, run_number, url_id),
	FOREIGN KEY(tenant_id, run_number) REFERENCES runs (tenant_id, number) ON DELETE CASCADE
);
CREATE TABLE prefetches (
	tenant_id INTEGER NOT NULL,
	run_number BIGINT NOT NULL,
	url_id BIGINT NOT NULL,
	worker TEXT NOT NULL,
	lease_until DOUBLE NOT NULL,
	is_bet INTEGER NOT NULL,
	PRIMARY KEY (tenant_id, run_number, url_id),
	FOREIGN KEY(tenant_id, run_number) REFERENCES runs (tenant_id, number) ON DELETE CASCADE
);
CREATE TABLE pattern_stats (
	tenant_id INTEGER NOT NULL,
	run_id TEXT NOT NULL,
	pattern TEXT NOT NULL,
	pages INTEGER NOT NULL,
	distinct_pages INTEGER NOT NULL,
	novel_pages INTEGER NOT NULL,
	first_seq INTEGER NOT NULL,
	last_seq INTEGER NOT NULL,
	PRIMARY KEY (tenant_id, run_id, pattern),
	FOREIGN KEY(tenant_id, run_id) REFERENCES runs (tenant_id, id) ON DELETE CASCADE
);
CREATE TABLE audits (
	tenant_id INTEGER NOT NULL,
	run_id TEXT NOT NULL,
	site_id INTEGER NOT NULL,
	state TEXT NOT NULL,
	phase TEXT,
	pages INTEGER DEFAULT '0' NOT NULL,
	attempts INTEGER DEFAULT '0' NOT NULL,
	lease_until DOUBLE,
	started_at DOUBLE,
	finished_at DOUBLE,
	is_complete INTEGER DEFAULT '0' NOT NULL,
	clean_pages INTEGER,
	indexable_pages INTEGER,
	counts TEXT,
	error TEXT,
	PRIMARY KEY (tenant_id, run_id),
	FOREIGN KEY(tenant_id, run_id) REFERENCES runs (tenant_id, id) ON DELETE CASCADE
);
CREATE TABLE insights (
	tenant_id INTEGER NOT NULL,
	run_id TEXT NOT NULL,
	name TEXT NOT NULL,
	figures TEXT NOT NULL,
	PRIMARY KEY (tenant_id, run_id, name),
	FOREIGN KEY(tenant_id, run_id) REFERENCES runs (tenant_id, id) ON DELETE CASCADE
);
CREATE TABLE crawl_jobs (
	tenant_id INTEGER NOT NULL,
	run_id TEXT NOT NULL,
	channel_id TEXT NOT NULL,
	trigger_type TEXT NOT NULL,
	triggered_by TEXT NOT NULL,
	scheduled_for DOUBLE,
	config TEXT NOT NULL,
	active INTEGER NOT NULL,
	follow_up INTEGER NOT NULL,
	PRIMARY KEY (tenant_id, run_id),
	FOREIGN KEY(tenant_id, run_id) REFERENCES runs (tenant_id, id) ON DELETE CASCADE,
	FOREIGN KEY(tenant_id, channel_id) REFERENCES channels (tenant_id, id) ON DELETE CASCADE
);
CREATE TABLE schedules (
	tenant_id INTEGER NOT NULL,
	channel_id TEXT NOT NULL,
	cron TEXT NOT NULL,
	time_zone TEXT NOT NULL,
	jitter_s INTEGER NOT NULL,
	next_at DOUBLE NOT NULL,
	due_at DOUBLE NOT NULL,
	last_at DOUBLE,
	last_outcome TEXT,
	last_missed INTEGER DEFAULT '0' NOT NULL,
	last_run TEXT,
	missed INTEGER DEFAULT '0' NOT NULL,
	skipped INTEGER DEFAULT '0' NOT NULL,
	PRIMARY KEY (tenant_id, channel_id),
	FOREIGN KEY(tenant_id, channel_id) REFERENCES channels (tenant_id, id) ON DELETE CASCADE
);
CREATE TABLE alembic_version (
	version_num VARCHAR(32) NOT NULL,
	CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)
);
CREATE INDEX audits_of_site ON audits (tenant_id, site_id, finished_at);
CREATE INDEX audits_unfinished ON audits (run_id) WHERE state IN ('waiting', 'running');
CREATE INDEX channels_created ON channels (tenant_id, created_at, id);
CREATE INDEX chunks_of_page ON chunks (tenant_id, site_id, page);
CREATE INDEX chunks_of_text ON chunks (tenant_id, text_hash);
CREATE INDEX crawl_jobs_of_channel ON crawl_jobs (tenant_id, channel_id, run_id);
CREATE INDEX crawl_jobs_to_follow_up ON crawl_jobs (tenant_id, run_id) WHERE follow_up = 1;
CREATE INDEX events_created ON events (tenant_id, created_at);
CREATE INDEX events_of_run ON events (tenant_id, run_id, id);
CREATE INDEX findings_by_rule ON findings (tenant_id, site_id, rule, status);
CREATE INDEX fix_requests_due ON fix_requests (due_at) WHERE state IN ('queued', 'open');
CREATE INDEX idempotency_keys_created ON idempotency_keys (tenant_id, created_at);
CREATE INDEX links_to ON links (tenant_id, target_id, version_id);
CREATE INDEX media_of_type ON media (tenant_id, type, id);
CREATE INDEX media_sites_of_media ON media_sites (tenant_id, media_id, site_id);
CREATE INDEX media_urls_of_media ON media_urls (tenant_id, media_id, url_id);
CREATE INDEX page_media_of_site ON page_media (tenant_id, site_id, url_id);
CREATE INDEX page_media_of_url ON page_media (tenant_id, url_id, page_id);
CREATE INDEX page_versions_seen ON page_versions (tenant_id, site_id, url_id, seen_at);
CREATE INDEX pages_held ON pages (tenant_id, site_id) WHERE held = 1;
CREATE INDEX pages_numbered ON pages (tenant_id, site_id, number) WHERE number IS NOT NULL;
CREATE INDEX pages_stale ON pages (tenant_id, site_id, number) WHERE indexed IS NOT NULL AND (indexed <> document OR alias_of IS NOT NULL OR noindex <> 0 OR presence = 'GONE');
CREATE INDEX pages_to_index ON pages (tenant_id, site_id, url_id) WHERE alias_of IS NULL AND noindex = 0 AND presence <> 'GONE' AND (indexed IS NULL OR indexed <> document OR indexed_epoch IS NULL);
CREATE INDEX runs_created ON runs (tenant_id, created_at, id);
CREATE INDEX runs_of_site ON runs (tenant_id, site_id, created_at);
CREATE INDEX runs_queue ON runs (queue_round, created_at, id, site_id) WHERE state = 'QUEUED';
CREATE INDEX runs_queued ON runs (tenant_id, site_id, queue_round) WHERE state = 'QUEUED';
CREATE INDEX runs_running ON runs (site_id) WHERE state = 'RUNNING';
CREATE INDEX runs_state ON runs (state);
CREATE INDEX runs_unchecked ON runs (tenant_id, site_id, finished_at, id) WHERE presence_checked = 0;
CREATE INDEX schedules_due ON schedules (due_at);
CREATE INDEX tokens_of_user ON tokens (tenant_id, user_id);
CREATE INDEX urls_admitted ON urls (tenant_id, run_number, state, seq, retry_at) WHERE seq IS NOT NULL;
CREATE INDEX urls_candidates ON urls (tenant_id, run_number, depth, source_rank, parent_seq, position) WHERE state = 'DISCOVERED' AND kind <> 'media';
CREATE INDEX urls_media_candidates ON urls (tenant_id, run_number, depth, source_rank, parent_seq, position) WHERE state = 'DISCOVERED' AND kind = 'media';
CREATE INDEX vectors_put ON vectors (tenant_id, model_id, version);
CREATE INDEX visits_canonical ON visits (tenant_id, run_number, canonical) WHERE canonical <> url_id;
CREATE INDEX visits_content ON visits (tenant_id, run_number, content_hash, pattern, seq) WHERE content_hash IS NOT NULL;
CREATE INDEX visits_identity ON visits (tenant_id, run_number, identity) WHERE identity IS NOT NULL;
CREATE INDEX visits_pattern ON visits (tenant_id, run_number, pattern, novelty, seq) WHERE content_hash IS NOT NULL;
CREATE INDEX webhook_deliveries_created ON webhook_deliveries (tenant_id, created_at);
CREATE INDEX webhook_deliveries_dead ON webhook_deliveries (tenant_id, endpoint_id, event_id) WHERE state = 'DEAD';
CREATE INDEX webhook_deliveries_of_run ON webhook_deliveries (tenant_id, run_id);
CREATE INDEX webhook_deliveries_pending ON webhook_deliveries (tenant_id, endpoint_id, run_id, event_id) WHERE state = 'PENDING';
CREATE INDEX webhook_queues_due ON webhook_queues (due_at);
CREATE UNIQUE INDEX audit_log_entries ON audit_log (tenant_id, id);
CREATE UNIQUE INDEX channels_of_host ON channels (tenant_id, host);
CREATE UNIQUE INDEX channels_of_site ON channels (tenant_id, site_id);
CREATE UNIQUE INDEX crawl_jobs_active ON crawl_jobs (tenant_id, channel_id) WHERE active = 1;
CREATE UNIQUE INDEX fix_requests_of_branch ON fix_requests (tenant_id, site_id, repository, branch);
CREATE UNIQUE INDEX media_of_content ON media (tenant_id, content_hash);
CREATE UNIQUE INDEX models_named ON models (tenant_id, name);
CREATE UNIQUE INDEX page_versions_current ON page_versions (tenant_id, site_id, url_id) WHERE ended_at IS NULL;
CREATE UNIQUE INDEX runs_numbered ON runs (tenant_id, number);
CREATE UNIQUE INDEX site_urls_named ON site_urls (tenant_id, site_id, url);
CREATE UNIQUE INDEX sites_named ON sites (tenant_id, name);
CREATE UNIQUE INDEX tokens_by_id ON tokens (id);
CREATE UNIQUE INDEX users_named ON users (tenant_id, email);
