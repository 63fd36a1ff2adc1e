"""Storage: repositories over SQLite and Postgres, blobs, notifications and rate limits between processes.

A repository is a set of plain functions over a SQLAlchemy connection, written once for both databases. One function is one
transaction; `engine.py` runs it in SQLite's writer or reader threads, or on a connection of the Postgres connection pool.

    engine.py                engines, transactions, retries, the leader lock, the database's clock, which all machines use
    schema.py                the tables, and the key of a URL
    statements.py            hot statements, compiled once; batches
    rows.py                  conversion between rows and model objects
    tenants.py               tenants, and row-level security on Postgres
    ledger.py                `ports.Ledger`: the functions of `runs/`, `frontier/` and `pages/`
    runs/                    create, start, crash and end runs; the run queue; lists; events; deletion; idempotency keys
    frontier/                offers, claims and leases; settle; waves; counts by URL pattern
    pages/                   current pages, their versions and changes, deletion detection, ids of URLs
    audits/                  findings, audits of runs, requests for draft pull requests
    index/                   `ports.SearchIndex` (`search_index.py`): chunks, postings, reads of the search index
    vectors/                 embeddings, and vector search in memory, by pgvector or by Qdrant
    blobs/                   `ports.Blobs` and files of media, in a SQLite file, a directory, S3 or a shared directory
    site_sessions.py         encrypted sessions of sites behind a login
    platform/                accounts, channels, media, webhooks and their tables
    local_notifications.py   `ports.Notifier` and `ports.Events` within a process
    redis/                   the same between processes; rate limits of hosts and callers, and sessions, for many processes
    backup/                  copies of databases and media files
    migrations/              upgrade of older databases

Nothing here decides about a crawl: which offer is admissible, how a visit ends, what a wave admits and which pages are gone
comes from `frontier` and `crawl` as data or as a pure function. Only `app` imports this package.
"""
