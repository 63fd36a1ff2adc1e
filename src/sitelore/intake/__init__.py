"""Where URLs come from, other than links: what a person typed, and what a site lists of itself.

`seeds` turns the words on a command line into a `Url`, or says in one sentence why it cannot. `sitemap` reads a sitemap,
sitemap index, text list or feed of any origin and in any state of repair; `markup` is the forgiving tag scanner under it,
`unpack` the bounded stream of text under that, `dates` reads what such files call a date. `sniff` tells a page from a
sitemap that was served where a page was expected. `loaders` reads what a declared collection of an API lists, and
`graphql_limits` measures a query before anybody sends it.

Everything here is a pure function of its arguments: no network, no clock, no files. Fetching a sitemap is `fetch`'s work,
deciding which of its URLs are visited is `frontier`'s, and links in pages are `extract`'s.
"""
