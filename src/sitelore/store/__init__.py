"""Where state lives.

The ledger is one set of plain functions over a SQLAlchemy connection, written once for two databases. `engine.py` says how
such a function is run: SQLite has one writer thread and two reader threads, Postgres an asynchronous pool. One function is
one transaction. `ledger.py` puts the functions behind `ports.Ledger`:

    schema.py         the tables, and the key form of a URL
    statements.py     the hot statements, compiled once for each database
    frontier_sql.py   offer, claim, renew, release
    settle_sql.py     settle: everything that visits change, many in one transaction
    waves_sql.py      what happens between two waves: merge, admit, trap
    yields_sql.py     what URLs of one shape have brought so far
    endings_sql.py    what happens to the rows when a run ends
    runs_sql.py       sites, runs and robots files
    rereading_sql.py  pages read again from their snapshots, and sketches
    reading_sql.py    rows and counts, for exports, `explain` and the API
    listing_sql.py    lists with totals, and runs made once per key
    rows.py           row ↔ noun
    migrations/       how an older database becomes a current one
    line_sql.py       the line of runs that wait: sites take turns
    learning_sql.py   what a run teaches about its site
    working_sql.py    which runs may be worked on, how they begin, crash and end
    blobs.py          `ports.Blobs` in a SQLite file of its own
    object_blobs.py   the same in S3, or in a directory that machines share
    signals.py        `ports.Signals` and `ports.Events` within one process
    redis_signals.py  the same between processes
    redis_gate.py     `ports.HostGate` between processes; `gate.lua` is what Redis does of it
    clock.py          the database's clock, by which many machines go

The index stands beside the pages it was made from, on the same engine; `search_index.py` puts it behind `ports.Knowledge`:

    indexing_sql.py   pages that wait, and their chunks in the place of those they had
    postings_sql.py   where terms stand: segments of packed postings, and how they are kept few
    shelves_sql.py    sites in numbers, live chunks as columns, the few that are shown
    reckoning_sql.py  what runs say about pages that are no longer there
    vectors_sql.py    vectors by model and text, and texts that have none
    likeness.py       who compares vectors: the process, the database, or a server beside it
    matrices.py       likeness in the process: a site's vectors as a matrix
    vector_rows.py    vectors in float16 and quantised to eight bits, compared by near.c
    dense_sql.py      likeness by pgvector, where Postgres has it
    qdrant_vectors.py likeness by Qdrant: a copy of the vectors that follows the database
    qdrant_rest.py    the calls that Qdrant is asked by
    mirror_sql.py     what such a copy has to hold

This room decides nothing about a crawl: which offer is admissible, how a visit ends and what a wave admits come from
`frontier` and `crawl` as data or as a pure function, and so does which pages are gone. Only `deploy` opens it.
"""
