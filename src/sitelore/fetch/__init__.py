"""URL → Response: one polite, bounded, guarded GET at a time.

`client.py` sends a request and hands back what came of it, failures as data; it follows no redirect, because a redirect is a
discovery and belongs to the frontier. Below it, `connections.py` lets no socket come to exist that `guard.py` refuses, and
keeps connections; `wire.py` is one of them, `answers.py` takes apart what arrives on it, `receipt.py` takes of it what the run
allows, `attempt.py` keeps the time, `encodings.py` undoes compression without being blown up by it, `cookies.py` carries
cookies within the run.

`renderer.py` gives the page as a browser shows it: `browser.py` keeps the one browser of the house, `finding_browser.py` finds
it, `tab.py` opens a page, waits until it is quiet (`page_scripts.py` in the page, `traffic.py` on the wire) and reads it,
`arrival.py` judges where its main frame goes, `blocking.py` lists what it need not load, `render_failures.py` says what went
wrong. The browser's only way out is `forward_proxy.py` (on `http_framing.py`), where the same guard stands.

`robots.py` learns each origin's robots.txt and `robots_rules.py` reads it.

Not here: when a host may be asked (the host gate, `frontier` and `store`), whether to try again (`frontier/retry.py`),
what a status means for a URL (`frontier/judge.py`), what the bytes say (`extract`).
"""
