"""Response → Reading: everything that is extracted from a page, and what the crawl needs to know about it.

`page.read` is the whole package as one pure function: no I/O, no clock, no randomness. A response passes through it in this
order: `media` tells whether the bytes are text at all, `decode` turns them into characters by the standard's order, `redact`
removes secrets before anything else reads them (by the rules in `redaction/`); of HTML, `dom` makes a tree and `markup` reads
it: `about/` (metadata, outline, links), `structured/`, `interactive/` (forms, actions), `page_media` and, on a home page,
`brand/`; then `content/` chooses the main content and `markdown/` writes it, as `plaintext` does with text; `missing` tells
whether it reads like an error page, and `page` packs the result into blobs. `changes/` compares two documents of a page.

`native/` is compiled: the block scorer, the secret prefilter and the resolution of plain links. It is required.

A PDF or office file becomes HTML of nothing but content first (`files/`, with a reader for each kind), and so does an
answer of a declared API (`records`); from there on both are pages.

The room never fetches (`fetch` does), never decides what happens to a link or a missing page (`frontier` does), never
writes (`store` does) and never starts a process (`crawl` runs it in a pool, and again over stored snapshots).
"""
