"""URL sources other than links: seeds, sitemaps, feeds and API collections.

`seeds` parses a URL as a user types it. `sitemap` reads sitemaps, sitemap indexes, text lists and feeds, including broken
ones, and the records that a declared API collection lists; `xml_scanner` is its forgiving tag scanner, `decompress` its
bounded stream of text. `sitemap_detection` recognises a sitemap that was served where a page was expected, and `graphql_limits`
checks a query before it is sent.

Everything here is a pure function of its arguments: no network, no clock, no files. Sitemaps are fetched by `fetch`, their URLs
are admitted by `frontier`, and links in pages are found by `extract`.
"""
