"""Extraction: a pure function from a response to a document and what the crawl needs to know about it.

`page.read` is the entry point: no I/O, no clock, no randomness. A response passes through it in this order: `content_type`
decides how the body is read, `decode` turns bytes into characters, `redaction/` removes secrets before anything else, `dom`
parses HTML; `metadata/` reads metadata, outline and links, `structured/` structured data, `interactive/` forms and actions,
`page_media` media and, on a home page, `brand/` its brand; `content/` chooses the main content and `markdown/` writes it, as
`plaintext` does with text; `text_stats` counts and hashes the text, `soft_404` estimates whether it is an error page,
`app_shell` whether scripts make it, and `page` packs the document. `changes/` compares two documents of a page, and
`inspection` reports what was kept and cut.

`native/` is compiled: the block scorer, the secret prefilter and the resolution of plain links. It is required.

PDF and office files (`files/`) and answers of a declared API (`api_records`) become HTML first, then they are like pages.

Fetching is done by `fetch`, decisions on links and missing pages by `frontier`, storing by `store`; `crawl` runs extraction in
a pool of processes, and again over stored snapshots.
"""
