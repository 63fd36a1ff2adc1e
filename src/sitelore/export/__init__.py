"""The way out: rows and documents become files that people take away.

`rows` writes the frontier as JSON or CSV and tells two exports apart; `pages` joins a row with its document and writes
JSON Lines; `markdown` lays a tree of Markdown files with front matter, named by `names` so that no URL can break out of
it; `warc` writes a WARC 1.1 archive; `llms_txt` writes the list that language models read first; `manifest`
gathers what can be done on a site, and `tools` says it as definitions for function calling. `repeats` finds what
repeats over a site and `cutting` takes it out of what is shown; `blocks` knows where Markdown can be cut. `files` makes every
write atomic and turns what the disk says into one sentence.

Every writer streams: it reads rows sorted by key and one small batch of documents at a time. The room asks nobody for
rows: `deploy` built the ledger and the blobs behind the ports, `cli` and `serve` hand them in. It decides nothing about
pages either: which URL is a page, and which is an alias, was settled by `crawl` and `frontier`.
"""
