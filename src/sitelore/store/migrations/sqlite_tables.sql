CREATE TABLE tenants (
	id INTEGER NOT NULL,
	name TEXT NOT NULL,
	created_at DOUBLE NOT NULL,
	PRIMARY KEY (id),
	UNIQUE (name)
);
CREATE TABLE sites (
	id INTEGER NOT NULL,
	name TEXT NOT NULL,
	created_at DOUBLE NOT NULL,
	rendering TEXT,
	tenant_id INTEGER DEFAULT '0' NOT NULL,
	index_version INTEGER DEFAULT '0' NOT NULL,
	index_epoch TEXT,
	next_page INTEGER DEFAULT '1' NOT NULL,
	next_chunk INTEGER DEFAULT '1' NOT NULL,
	indexed_pages INTEGER DEFAULT '0' NOT NULL,
	chunk_count INTEGER DEFAULT '0' NOT NULL,
	PRIMARY KEY (id)
);
CREATE TABLE runs (
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
	wave_seq INTEGER NOT NULL,
	kept_before INTEGER NOT NULL,
	joined_hosts TEXT NOT NULL,
	error TEXT NOT NULL,
	wave_hosts TEXT DEFAULT '[]' NOT NULL,
	attempts INTEGER DEFAULT '0' NOT NULL,
	retry_at DOUBLE,
	turn INTEGER DEFAULT '0' NOT NULL,
	site_rendering TEXT,
	reckoned INTEGER DEFAULT '0' NOT NULL,
	prefetch_unused INTEGER DEFAULT '0' NOT NULL,
	time_limit_from DOUBLE,
	PRIMARY KEY (id)
);
CREATE TABLE redactions (
	run_id TEXT NOT NULL,
	rule TEXT NOT NULL,
	found INTEGER NOT NULL,
	PRIMARY KEY (run_id, rule)
);
CREATE TABLE urls (
	run_id TEXT NOT NULL,
	url TEXT NOT NULL,
	long_url TEXT,
	host TEXT NOT NULL,
	kind TEXT NOT NULL,
	state TEXT NOT NULL,
	source TEXT NOT NULL,
	depth INTEGER NOT NULL,
	source_rank INTEGER NOT NULL,
	parent TEXT,
	parent_seq INTEGER NOT NULL,
	position INTEGER NOT NULL,
	refused INTEGER NOT NULL,
	shape TEXT NOT NULL,
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
	status_code INTEGER,
	error TEXT,
	alias_of TEXT,
	proof TEXT,
	title TEXT,
	content_hash TEXT,
	novelty TEXT,
	canonical TEXT,
	identity TEXT,
	content_type TEXT,
	word_count INTEGER DEFAULT '0' NOT NULL,
	noindex INTEGER DEFAULT '0' NOT NULL,
	document TEXT,
	snapshot TEXT,
	etag TEXT,
	last_modified TEXT,
	fetched_at DOUBLE,
	elapsed_s DOUBLE,
	body_bytes BIGINT DEFAULT '0' NOT NULL,
	changed INTEGER,
	headers TEXT,
	render_reason TEXT,
	rendering TEXT,
	screenshot TEXT,
	sketch BLOB,
	response_head TEXT,
	PRIMARY KEY (run_id, url)
);
CREATE TABLE prefetches (
	run_id TEXT NOT NULL,
	url TEXT NOT NULL,
	worker TEXT NOT NULL,
	lease_until DOUBLE NOT NULL,
	is_bet INTEGER NOT NULL,
	PRIMARY KEY (run_id, url)
);
CREATE TABLE shape_yields (
	run_id TEXT NOT NULL,
	shape TEXT NOT NULL,
	pages INTEGER NOT NULL,
	distinct_pages INTEGER NOT NULL,
	novel_pages INTEGER NOT NULL,
	first_seq INTEGER NOT NULL,
	last_seq INTEGER NOT NULL,
	PRIMARY KEY (run_id, shape)
);
CREATE TABLE pages (
	site_id INTEGER NOT NULL,
	url TEXT NOT NULL,
	fetched_at DOUBLE NOT NULL,
	content_hash TEXT NOT NULL,
	novelty TEXT NOT NULL,
	document TEXT NOT NULL,
	etag TEXT,
	last_modified TEXT,
	lastmod DOUBLE,
	title TEXT NOT NULL,
	canonical TEXT,
	snapshot TEXT,
	word_count INTEGER NOT NULL,
	noindex INTEGER NOT NULL,
	content_type TEXT,
	alias_of TEXT,
	headers TEXT,
	render_reason TEXT,
	screenshot TEXT,
	long_url TEXT,
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
	dated DOUBLE,
	shelved BLOB,
	volatile BLOB,
	sketch BLOB,
	PRIMARY KEY (site_id, url)
);
CREATE TABLE site_urls (
	tenant_id INTEGER NOT NULL,
	id BIGINT NOT NULL,
	site_id INTEGER NOT NULL,
	url TEXT NOT NULL,
	long_url TEXT,
	PRIMARY KEY (tenant_id, id)
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
	PRIMARY KEY (tenant_id, id)
);
CREATE TABLE links (
	tenant_id INTEGER NOT NULL,
	version_id BIGINT NOT NULL,
	position INTEGER NOT NULL,
	target_id BIGINT NOT NULL,
	nofollow INTEGER NOT NULL,
	fragment TEXT,
	text TEXT,
	PRIMARY KEY (tenant_id, version_id, position)
)
 WITHOUT ROWID;
CREATE TABLE chunks (
	site_id INTEGER NOT NULL,
	number INTEGER NOT NULL,
	page INTEGER NOT NULL,
	id TEXT NOT NULL,
	text_hash TEXT NOT NULL,
	terms_sum BIGINT NOT NULL,
	told_sum BIGINT NOT NULL,
	PRIMARY KEY (site_id, number)
)
 WITHOUT ROWID;
CREATE TABLE chunk_texts (
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
	PRIMARY KEY (site_id, number)
);
CREATE TABLE segments (
	site_id INTEGER NOT NULL,
	segment INTEGER NOT NULL,
	last_number INTEGER NOT NULL,
	size INTEGER NOT NULL,
	dead INTEGER NOT NULL,
	PRIMARY KEY (site_id, segment)
);
CREATE TABLE postings (
	site_id INTEGER NOT NULL,
	segment INTEGER NOT NULL,
	term TEXT NOT NULL,
	packed BLOB NOT NULL,
	PRIMARY KEY (site_id, segment, term)
)
 WITHOUT ROWID;
CREATE TABLE models (
	id INTEGER NOT NULL,
	name TEXT NOT NULL,
	version INTEGER DEFAULT '0' NOT NULL,
	PRIMARY KEY (id),
	UNIQUE (name)
);
CREATE TABLE vectors (
	model_id INTEGER NOT NULL,
	text_hash TEXT NOT NULL,
	version INTEGER NOT NULL,
	half BLOB NOT NULL,
	PRIMARY KEY (model_id, text_hash)
);
CREATE TABLE robots (
	origin TEXT NOT NULL,
	fetched_at DOUBLE NOT NULL,
	status INTEGER NOT NULL,
	body TEXT NOT NULL,
	detail TEXT NOT NULL,
	PRIMARY KEY (origin)
);
CREATE TABLE once_keys (
	"key" TEXT NOT NULL,
	fingerprint TEXT NOT NULL,
	run_id TEXT NOT NULL,
	created_at DOUBLE NOT NULL,
	PRIMARY KEY ("key")
);
CREATE TABLE alembic_version (
	version_num VARCHAR(32) NOT NULL,
	CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)
);
CREATE INDEX chunks_of_page ON chunks (site_id, page);
CREATE INDEX chunks_of_text ON chunks (text_hash);
CREATE INDEX ix_once_keys_created_at ON once_keys (created_at);
CREATE INDEX links_to ON links (tenant_id, target_id, version_id);
CREATE INDEX page_versions_seen ON page_versions (tenant_id, site_id, url_id, seen_at);
CREATE INDEX pages_held ON pages (site_id) WHERE held = 1;
CREATE INDEX pages_numbered ON pages (site_id, number) WHERE number IS NOT NULL;
CREATE INDEX pages_stale ON pages (site_id, number) WHERE indexed IS NOT NULL AND (indexed <> document OR alias_of IS NOT NULL OR noindex <> 0 OR presence = 'GONE');
CREATE INDEX pages_to_index ON pages (site_id, url) WHERE alias_of IS NULL AND noindex = 0 AND presence <> 'GONE' AND (indexed IS NULL OR indexed <> document OR indexed_epoch IS NULL);
CREATE INDEX runs_in_line ON runs (turn, created_at, id, site_id) WHERE state = 'QUEUED';
CREATE INDEX runs_made ON runs (created_at, id);
CREATE INDEX runs_queued ON runs (site_id, turn) WHERE state = 'QUEUED';
CREATE INDEX runs_running ON runs (site_id) WHERE state = 'RUNNING';
CREATE INDEX runs_state ON runs (state);
CREATE INDEX runs_to_reckon ON runs (site_id, finished_at, id) WHERE reckoned = 0;
CREATE INDEX urls_admitted ON urls (run_id, state, seq, retry_at) WHERE seq IS NOT NULL;
CREATE INDEX urls_candidates ON urls (run_id, depth, source_rank, parent_seq, position) WHERE state = 'DISCOVERED';
CREATE INDEX urls_canonical ON urls (run_id, canonical) WHERE canonical <> url;
CREATE INDEX urls_content ON urls (run_id, content_hash, shape, seq) WHERE content_hash IS NOT NULL;
CREATE INDEX urls_identity ON urls (run_id, identity) WHERE identity IS NOT NULL;
CREATE INDEX urls_shape ON urls (run_id, shape, novelty, seq) WHERE content_hash IS NOT NULL;
CREATE INDEX vectors_put ON vectors (model_id, version);
CREATE UNIQUE INDEX page_versions_current ON page_versions (tenant_id, site_id, url_id) WHERE ended_at IS NULL;
CREATE UNIQUE INDEX site_urls_named ON site_urls (tenant_id, site_id, url);
CREATE UNIQUE INDEX sites_named ON sites (tenant_id, name);
