"""Chunking: Markdown → chunks of similar size that can be read alone.

`chunker` puts a page's chunks together. `segments` splits Markdown into the smallest pieces (sentences, rows, listings),
`boundaries` chooses where chunks start and how far they overlap, `sentences` finds sentence, clause and word starts,
`text_fragments` writes the URL fragment that leads to a chunk, and `tokens` counts tokens.
"""
