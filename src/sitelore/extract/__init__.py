"""Extraction: a pure function from a response to a document and what the crawl needs to know about it.

`page.read` is the entry point: no I/O, no clock, no randomness. A response passes through it in this order: `response_body`
decides how the body is read and turns bytes into characters, `redaction/` removes secrets before anything else, `dom` parses
HTML; `metadata` reads metadata and outline, `links` links, `structured/` structured data, `page_objects/` forms, actions, media
and, on a home page, the brand; `content/` chooses the main content and `markdown/` writes it; `text` counts and hashes the text
and estimates whether it is an error page, `app_shell` whether scripts make it, and `page` packs the document. `changes`
compares two documents of a page, and `inspection` reports what was kept and cut.

`native/` is compiled: the block scorer and the resolution of plain links. It is required.

PDF and office files and answers of a declared API (`files/`) become HTML first, then they are like pages.

Fetching is done by `fetch`, decisions on links and missing pages by `frontier`, storing by `store`; `crawl` runs extraction in
a pool of processes, and again over stored snapshots.
"""
