"""The chosen part as Markdown and as plain text.

`markdown` is the way through: `rewriting` changes the subtree until the parser's writer can do it justice, with a module for
each thing that takes more than a line (`tables`, `listings`, `kept_lines`, `formulas`, `footnotes`, `embeds`, `images`,
`emphasis`), and `tidying` evens out what was written.
"""
