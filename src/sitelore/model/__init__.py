"""The nouns and the state machine. Frozen values and enumerations; no I/O, no decisions, standard library only.

`url` is what a URL is, `states` what may become of one, `errors` what may be raised. `settings` is what a person asks of a
crawl, `response` what a site answers, `document` what reading it gives, `sitemap` what a site lists, `frontier` what is
offered, leased and settled. `identity` and `fingerprint` say when two of a kind are one. Every room speaks in these words.

One exception to the standard library: `url` holds the house's only URL parser, because guard, frontier, links and fetch must
see a URL the same way.
"""
