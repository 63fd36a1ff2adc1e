"""Response → Reading: what a page says, and what the crawl needs to know of it.

`page.read` is the whole room as one pure function: no I/O, no clock, no randomness. A response walks through it in this
order: `media` asks whether the bytes are text at all, `decode` turns them into characters by the standard's order,
`redact` takes secrets out before anything else looks (by the rules in `redaction/`); of HTML, `markup` reads what it says:
`about/` (metadata, outline, links), `structured/` and `offers/` (forms, actions, media and, on a home page, its brand), then
`content/` chooses what the page is about and `composing` has `markdown/` write it, as `plaintext` does with text; `missing`
asks whether it reads like an error page, and `page` packs the result into blobs. `changes/` compares two documents of a page.

Most pages are held and read by compiled code (`native/`), which tells facts and leaves decisions to the modules here; where it
declines, `dom` makes a tree, and everything is read from that. Both ways give the same bytes.

A PDF or office file becomes HTML of nothing but content first (`files/`, with a reader for each kind), and so does an
answer of a declared API (`records`); from there on both are pages.

The room never fetches (`fetch` does), never decides what happens to a link or a missing page (`frontier` does), never
writes (`store` does) and never starts a process (`crawl` runs it in a pool, and again over stored snapshots).
"""
