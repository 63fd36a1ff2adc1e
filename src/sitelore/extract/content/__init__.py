"""Which part of a page is what it is about.

`main` is the ladder: a domain's own selectors, the scored choice of blocks, what the page's markup says (`rungs`). Before it,
`visibility`, `folding` and `style_sheets` tell what nobody sees. `blocks` cuts a page, `block_features` and `wording` describe
each block, `scorer` asks the trees and the `network`, `trimming` takes the rest out of the tree. `walking`, `describing` and
`choosing` are the compiled way through the same steps (`native/`).
"""
