"""Chooses which part of a page is its main content.

`main` tries a domain's own selectors, then the block scorer, then what the page's markup says (`rungs`). Before that,
`visibility`, `folding` and `style_sheets` remove hidden text; after it, `trimming` removes what was not chosen.
`block_scorer` splits a page into blocks and scores them by compiled code, with the tables in `vocabulary` and the trained
model that `scorer_model` loads.
"""
