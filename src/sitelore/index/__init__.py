"""Document → answers: a page's Markdown is cut into chunks, their words and vectors are kept, and questions find them.

This room decides: where a chunk ends, which of its words count, what reads like an instruction to a machine, how two rankings
become one, what a snippet shows. It is told everything: chunks, words and vectors are kept by `store` behind the `SearchIndex`
port, pages are brought by `crawl/index_pages.py`. The index is derived from pages and can always be made again.
"""
