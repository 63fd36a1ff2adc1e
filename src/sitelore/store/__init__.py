"""Where state lives.

The ledger is one set of plain functions over a SQLAlchemy connection, written once for two databases. `engine.py` says how
such a function is run: SQLite has one writer thread and one reader thread, Postgres an asynchronous pool. One function is
one transaction. `ledger.py` puts the functions behind `ports.Ledger`:

    schema.py         the tables, and the key form of a URL
    statements.py     the hot statements, compiled once for each database
    frontier_sql.py   offer, claim, renew, release
    settle_sql.py     settle: everything that visits change, many in one transaction
    waves_sql.py      what happens between two waves: merge, admit, trap
    endings_sql.py    what happens to the rows when a run ends
    runs_sql.py       sites, runs and robots files
    reading_sql.py    rows and counts, for exports, `explain` and the API
    rows.py           row ↔ noun
    migrations/       how an older database becomes a current one
    blobs.py          `ports.Blobs` in a SQLite file of its own

This room decides nothing about a crawl: which offer is admissible, how a visit ends and what a wave admits come from
`frontier` and `crawl` as data or as a pure function. Only `deploy` opens it.
"""
