"""URL → Response: polite, bounded requests to addresses that the guard allows, over HTTP or through a browser.

`http/` is the HTTP/1.1 client (connection pool, response parser, content encodings, deadlines, cookies). `browser/` renders
pages in Chromium behind a proxy. Neither follows a redirect on behalf of the frontier: a redirect target is a new URL to
admit.

`access.py` decides which origin gets which headers, cookies and client certificate, and holds the run's proxies. `guard.py`
decides which addresses may be connected to, `robots.py` caches robots.txt and `robots_rules.py` matches it,
`politeness.py` makes every request wait for its host's rate limit, `failures.py` holds the failures with their explanations.

Elsewhere: the rate limit of a host (`frontier/gate.py`, `store/redis/gate.py`), retries (`frontier/classify.py`), what a status
means for a URL (`frontier/classify.py`), what the body says (`extract`).
"""
