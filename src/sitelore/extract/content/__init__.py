"""Chooses which part of a page is its main content.

`main_content` tries a domain's own selectors, then the content region of documentation, then the units that the block scorer
rates as content (`selection`), and puts the page's title first. Before that, `visibility` removes hidden text. `block_scorer`
splits a page into blocks, scores them by compiled code and a trained model, with the tables of `vocabulary`, and groups them
into units, which are kept or cut as a whole.
"""
