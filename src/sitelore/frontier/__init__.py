"""Crawl decisions: which URL is visited next, and when. Pure functions: no database, no network, no clock.

`offers` turns the links of a page into offers; a URL is refused when it is out of `scope`, too deep, or of a form that only
an endless loop of links produces (`url_pattern`). Between two waves, `admission` merges duplicate pages, gives up traps and
admits the next rows within the page limit; `prefetch` chooses rows that may be fetched ahead of that. Before a visit,
`freshness` decides whether a request is needed and `render_policy` whether the browser is; after it, `classify` turns the
response into a verdict, and `retry` decides whether and when to try again. `gate` is the rate limit of each host. `presence`
decides after a run which pages are gone.

Rows and transactions belong to `store`, requests to `fetch`, the order of these steps to `crawl`.
"""
