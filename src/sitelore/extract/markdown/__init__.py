"""HTML subtrees as Markdown (CommonMark with GFM's tables, strikethrough, task lists and footnotes) and as plain text.

`writer` walks over a subtree, with one handler per kind of element, and builds `blocks`; these write themselves, their text by
`inline`. `tables`, `code` and `footnotes` decide about one construct each. `code.prepare` changes a tree before that.
"""

from sitelore.extract.markdown.code import prepare
from sitelore.extract.markdown.writer import Written, write, write_text

__all__ = ["Written", "prepare", "write", "write_text"]
