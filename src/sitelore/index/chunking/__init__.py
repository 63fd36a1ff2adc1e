"""Chunking: Markdown → chunks of similar size that can be read alone.

`chunker` puts a page's chunks together. `segments` splits Markdown into the smallest pieces (sentences, rows, listings) and
counts their tokens, `boundaries` chooses where chunks start and how far they overlap, `sentences` finds sentence, clause and
word starts, and `text_fragments` writes the URL fragment that leads to a chunk.
"""
