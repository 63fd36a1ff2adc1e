"""Sitelore turns websites into clean, current, searchable knowledge.

The rooms, in the order a URL walks through them:

    intake/      where URLs come from: seeds, sitemaps, feeds, API loaders
    frontier/    which URL next, and when: admission, scope, budget, pace, retry, traps, waves  (pure decisions)
    fetch/       URL → Response: address guard, robots, HTTP, browser, limits
    extract/     Response → Document: decode, redact, links, main content, Markdown, metadata, files  (sync, pure)
    index/       Document → answers: chunks, words, vectors, search, snippets
    export/      rows and documents → files people take away: Markdown, JSONL, CSV, WARC, llms.txt
    crawl/       the journey itself: visit, worker, maintenance, runs, indexing, the library
    model/       the nouns and the state machine
    ports.py     every seam, in one file
    store/       where state lives: one ledger and one index over SQLite or Postgres, Redis, blobs, migrations
    app/         composition: settings, embedded and scaled wiring, the application object
    serve/       the HTTP server: REST API, events, metrics, tokens, MCP
    cli/         the command line

Start reading at `crawl/visit.py`: one visit, start to settle.
"""
