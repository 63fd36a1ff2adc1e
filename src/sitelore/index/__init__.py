"""Search index: a page's Markdown → chunks, terms and vectors → ranked search results.

`chunking` splits Markdown into chunks and `prompt_injection` flags suspicious ones; `terms` and `languages` turn text into
index terms; `embeddings` turns text into vectors. `search` answers queries: `corpus` holds what is searched,
`lexical` scores by words, `ranking` selects and fuses candidates, `snippets` (with `plain_text`) shows the matching part.

Chunks, terms and vectors are stored by `store` behind the `SearchIndex` port, and `crawl/search/service.py` brings the pages.
The index is derived from pages and can be rebuilt at any time.
"""
