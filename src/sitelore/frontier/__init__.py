"""Which URL next, and when. Decisions only: no database, no network, no clock of its own.

A link found on a page becomes an offer (`admission`), refused at once when it is out of scope (`scope`), too deep, or of a
shape that can only grow (`shape`). Between two waves `waves` decides what is admitted within the budget, which shapes have
stopped bringing anything new, and which pages are one (`merging`). Before a visit `freshness` decides whether fetching is
needed at all; after it `judge` turns what came back into a verdict and `retry` says whether to try again. `gate` keeps pace.

Rows and transactions are `store`'s; asking a site is `fetch`'s; the order of these steps is `crawl`'s.
"""
