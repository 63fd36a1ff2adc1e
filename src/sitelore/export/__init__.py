"""Exports: rows and documents of a run as files.

`formats` lists all formats; a new one is added there. `rows` writes the URLs of a run as JSON or CSV, and `compare` compares
two exports; `pages` joins a row with its document and writes JSON Lines, and search results as JSON; `markdown` writes a tree
of Markdown files with front matter, named by `filenames` so that no URL can lead out of it; `links` rewrites the links of
Markdown; `warc` writes a WARC 1.1 archive; `llms_txt` writes the list that language models read first; `action_manifest`
collects the forms and actions of a site, also as tools for function calling. `boilerplate` removes blocks that repeat over a
site from exported pages. `incremental` writes Markdown files and JSON Lines while a crawl runs. `files` makes every write
atomic and turns disk errors into messages.

Every writer streams: it reads rows sorted by key and one small batch of documents at a time. Rows and blobs are passed in by
`cli` and `serve`. Which URL is a page, and which an alias, was decided by `crawl` and `frontier`.
"""
