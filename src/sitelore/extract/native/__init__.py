"""The compiled part of the room, as C sources beside the library that is built of them, and the way to it.

`parsing/` makes nodes of a page's source, `holding/` is what nodes are and what may be asked of them, `reading/` tells what a
page says of itself and cuts it down to what is seen, `scoring/` judges its blocks, `writing/` writes Markdown and plain text.
Beside them: where secrets may stand (`hints.c`), what plain addresses mean (`resolve.c`), what a text is recognised by
(`measure.c`).

What each function computes is written in Python as well, in the module that calls it: without a compiler everything works, at
more cost, and tests hold both to the same bytes.
"""
