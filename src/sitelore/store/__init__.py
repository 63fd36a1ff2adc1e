"""Storage: repositories over SQLite and Postgres, blobs, notifications and rate limits between processes.

A repository is a set of plain functions over a SQLAlchemy connection, written once for both databases. One function is one
transaction; `engine.py` runs it in SQLite's writer or reader threads, or on a connection of the Postgres connection pool.

    engine.py                engines, transactions, retries, the leader lock, the database's clock, which all machines use
    schema.py                the tables, and the key of a URL
    migrations/              upgrade of older databases
    statements.py            hot statements, compiled once; batches
    rows.py                  conversion between rows and model objects
    ledger.py                `ports.Ledger`: the functions of `runs/`, `frontier/` and `pages.py`
    runs/                    create, start, crash and end runs; the run queue; lists; idempotency keys
    frontier/                offers, claims and leases; settle; waves; counts by URL pattern
    pages.py                 rows and counts for exports and the API; reprocessed documents; robots.txt
    presence.py              deletion detection
    index/                   `ports.SearchIndex` (`search_index.py`): chunks, postings, reads of the search index
    vectors/                 embeddings, and vector search in memory, by pgvector or by Qdrant
    sqlite_blobs.py          `ports.Blobs` in a SQLite file
    object_blobs.py          `ports.Blobs` in S3 or a shared directory
    local_notifications.py   `ports.Notifier` and `ports.Events` within a process
    redis_notifications.py   `ports.Notifier` and `ports.Events` between processes
    redis_gate.py            `ports.HostGate` for many processes; the rate limit itself is `gate.lua`

Nothing here decides about a crawl: which offer is admissible, how a visit ends, what a wave admits and which pages are gone
comes from `frontier` and `crawl` as data or as a pure function. Only `app` imports this package.
"""
