"""Domain types and state machines: frozen values and enumerations; no I/O, no decisions, standard library only.

`url` is the URL type, its parser, and which URLs are one page; `states` has the states and transitions of URLs and runs,
`errors` the exceptions. `settings` configures a crawl and its redaction, `access` how it gets into a site. `response`
describes requests and their results, `politeness` the rate limit, `document` the results of extraction and sketches
of text, `changes` the differences of pages, `markdown_blocks` the blocks of Markdown, `api_loader` declared APIs. `frontier`
has offers, leases, settlements, runs, events and lists of them, `search` the types of the index. `ids` are the types of keys.
`audit/` has findings and figures of audits, `platform/` the types of hosting for many tenants.

One exception to the standard library: `url` uses `ada_url`, because address guard, frontier, link extraction and HTTP client
must parse a URL in the same way.
"""
