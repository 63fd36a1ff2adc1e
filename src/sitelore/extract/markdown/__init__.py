"""HTML subtrees as Markdown (CommonMark with GFM's tables, strikethrough, task lists and footnotes) and as plain text.

`walk` reads a subtree into `blocks`, with one handler per kind of element; `blocks` writes them, their text by `inline`,
`emphasis` and `escape`. `tables`, `code`, `footnotes`, `admonitions`, `formulas`, `embeds` and `images` decide about one
construct each, `invisible` about characters.
"""

from sitelore.extract.markdown.writer import Written, prepare, write, write_markdown, write_text, write_title

__all__ = ["Written", "prepare", "write", "write_markdown", "write_text", "write_title"]
