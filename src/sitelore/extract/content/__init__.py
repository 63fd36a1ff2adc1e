"""Which part of a page is what it is about.

`main` is the ladder: a domain's own selectors, the scored choice of blocks, what the page's markup says (`rungs`). Before it,
`visibility`, `folding` and `style_sheets` tell what nobody sees; after it, `trimming` takes out what was not chosen. `seeing`
asks the same of a page that compiled code holds.

There are two ways to a choice, and both follow the rules of `choice` and ask the same `trees`. The compiled one (`native/`) is
told once what tags and words mean (`teaching`, `describing`) and goes all the way in one step (`choosing`), without numpy. The
plain one is numpy from end to end (`plain_choosing`): `blocks` cuts a page, `block_features` and `wording_features` describe
each block, `scorer` asks the trees and the `network`. Training goes that way too, compiled step by step (`walking`).
"""
