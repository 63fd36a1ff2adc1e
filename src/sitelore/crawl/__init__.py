"""The journey itself.

`runs` begins a run from what a person asked for. `worker` claims rows and walks each through `visit`, the one function that
says what a visit is; `settling` writes many visits in one transaction; `maintenance` opens the next wave when one has
settled and ends the run when nothing is left, for one run or, taking turns with other processes, for all of them. `shared`
is what the workers of a process have in common, `foreman` hands them runs, `metrics` counts what they do. `reading` keeps the
processes in which documents are read, `probing` knows what a site answers to paths that cannot exist, `explain` tells why a
URL was or was not crawled, `reprocess` reads a run's pages again from their snapshots.

Decisions are `frontier`'s, asking sites is `fetch`'s, reading bytes is `extract`'s and `intake`'s, remembering is `store`'s.
"""
